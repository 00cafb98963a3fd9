"""What `compute` and `trace` share: load a problem, solve it, show every step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from attn_cli.commands.options import FileOptions, Look, Matrices, Settings, given, load
from attn_cli.commands.output import format_for, say, spare, target, waiting, write
from attn_cli.commands.shelf import sample
from attn_cli.engine.notes import Note
from attn_cli.errors import InputError

if TYPE_CHECKING:
    from attn_cli.engine.problem import Problem
    from attn_cli.engine.steps import Trace

File = Annotated[str | None, typer.Argument(metavar="[FILE]", help="YAML, JSON, NPZ, a folder of CSVs, or - (standard input).")]
EXAMPLE = "textbook"
"""The sample that is worked where no problem is given."""


def walk(
    file: str | None,
    settings: Settings,
    matrices: Matrices,
    files: FileOptions,
    look: Look,
    output: str | None,
    detail: Literal["compute", "trace"],
    cells: Sequence[str] = (),
    full: bool = False,
    work: Callable[[Problem], Trace] | None = None,
    terse: bool = False,
    depth: int | None = None,
) -> Trace:
    """Load, work and show a problem; `work` is done in place of the forward pass alone."""
    from attn_cli.engine.large.memory import solve_within

    output = target(output)
    form = format_for(look.format, output)
    example = file is None and not given(matrices)
    with waiting():
        loaded = load(str(sample(EXAMPLE)) if example else file, settings, matrices, files)
        if output is not None:
            spare(output, loaded)
        steps = (*(look.only or ()), *(cell.partition("[")[0] for cell in cells))
        try:
            trace = work(loaded.problem) if work is not None else solve_within(loaded.problem, steps, detail)
        except InputError as error:
            raise loaded.locate(error) from error
        style = replace(look.style(detail, on_screen=output is None), cells=tuple(cells), full=full, terse=terse, depth=depth)
        result = form.trace(trace, style)
    write(result, output, form.utf_8)
    say((Note("built_in", {"name": EXAMPLE}), *trace.notes) if example else trace.notes, look.language())
    return trace
