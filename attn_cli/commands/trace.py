"""`attn trace`: each step with the arithmetic of its cells."""

from __future__ import annotations

from typing import Annotated

import typer

from attn_cli.commands.help_page import Command
from attn_cli.commands.options import FileOptions, Look, Matrices, Settings, application, grouped
from attn_cli.commands.output import Output
from attn_cli.commands.walkthrough import File, walk

app = application()

Cells = Annotated[list[str] | None, typer.Option(metavar="STEP[ROW,COLUMN]", help="Derive this number from the inputs; may be repeated.")]
Full = Annotated[bool, typer.Option("--full", help="Every cell and every term, however many there are.")]
Depth = Annotated[int | None, typer.Option(metavar="N", min=0, help="How many levels --cell goes down (default 3).")]
Terse = Annotated[bool, typer.Option("--terse", help="Leave out what each step does and why.")]


@app.command(cls=Command)
@grouped
def run(
    settings: Settings,
    matrices: Matrices,
    look: Look,
    files: FileOptions,
    file: File = None,
    output: Output = None,
    cell: Cells = None,
    depth: Depth = None,
    full: Full = False,
    terse: Terse = False,
) -> None:
    """
    \b
    attn trace                                the worked example of the textbook
    attn trace problem.yaml --only weights    how the weights came about
    attn trace --cell 'output[1,1]'           one number, down to the inputs

    Print each step of an attention problem with the arithmetic of its cells, as one would write it by hand.
    """
    walk(file, settings, matrices, files, look, output, "trace", cell or (), full, terse=terse, depth=depth)
