"""`attn compute`: each step as a table."""

from __future__ import annotations

from attn_cli.commands.help_page import Command
from attn_cli.commands.options import FileOptions, Look, Matrices, Settings, application, grouped
from attn_cli.commands.output import Output
from attn_cli.commands.walkthrough import File, walk

app = application()


@app.command(cls=Command)
@grouped
def run(settings: Settings, matrices: Matrices, look: Look, files: FileOptions, file: File = None, output: Output = None) -> None:
    """
    \b
    attn compute                              the worked example of the textbook
    attn compute problem.yaml --mode hard     your own problem
    attn compute --x x.csv --wq wq.csv --wk wk.csv --wv wv.csv
    attn compute problem.yaml -o result.json

    Print each step of an attention problem as a table: Q, K, V, scores, weights, output.
    """
    walk(file, settings, matrices, files, look, output, "compute")
