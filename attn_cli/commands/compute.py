"""`attn compute`: each step as a table."""

from __future__ import annotations

from attn_cli.commands.options import Look, Matrices, ProblemCommand, Reading, Settings, application, grouped
from attn_cli.commands.walkthrough import File, Output, walk

app = application()


@app.command(cls=ProblemCommand)
@grouped
def run(settings: Settings, matrices: Matrices, look: Look, reading: Reading, file: File = None, output: Output = None) -> None:
    """
    \b
    attn compute                              the worked example of the textbook
    attn compute problem.yaml --mode hard     your own problem
    attn compute --x x.csv --wq wq.csv --wk wk.csv --wv wv.csv
    attn compute problem.yaml -o result.json

    Print each step of an attention problem as a table: Q, K, V, scores, weights, output.
    """
    walk(file, settings, matrices, reading, look, output, "compute")
