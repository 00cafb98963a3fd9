"""`attn grad`: the backward pass, step by step."""

from __future__ import annotations

from attn_cli.commands.options import Look, Matrices, ProblemCommand, Reading, Settings, application, grouped
from attn_cli.commands.trace import Cell, Full
from attn_cli.commands.walkthrough import File, Output, walk

app = application()


@app.command(cls=ProblemCommand)
@grouped
def run(
    settings: Settings,
    matrices: Matrices,
    look: Look,
    reading: Reading,
    file: File = None,
    output: Output = None,
    cell: Cell = None,
    full: Full = False,
) -> None:
    """
    \b
    attn grad                               the worked example of the textbook, forwards and backwards
    attn grad problem.yaml --only dS        one step of the backward pass
    attn grad --cell 'dW_Q[1,1]'            one number, down to the inputs

    Print the backward pass of an attention problem with the arithmetic of its cells. `upstream` in the file is the
    gradient of the loss with respect to the output; without it the loss is the sum of the output.
    """
    from attn_cli.engine.training import differentiate

    walk(file, settings, matrices, reading, look, output, "trace", cell or (), full, differentiate)
