"""`attn trace`: each step with the arithmetic of its cells."""

from __future__ import annotations

from attn_cli.commands.options import Look, Matrices, ProblemCommand, Reading, Settings, application, grouped
from attn_cli.commands.walkthrough import File, Output, walk

app = application()


@app.command(cls=ProblemCommand)
@grouped
def run(settings: Settings, matrices: Matrices, look: Look, reading: Reading, file: File = None, output: Output = None) -> None:
    """
    \b
    attn trace                                the worked example of the textbook
    attn trace problem.yaml --only weights    how the weights came about

    Print each step of an attention problem with the arithmetic of its cells, as one would write it by hand.
    """
    walk(file, settings, matrices, reading, look, output, "trace")
