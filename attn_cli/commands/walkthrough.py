"""What `compute` and `trace` share: load a problem, solve it, show every step."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from attn_cli.commands.options import Look, Matrices, Reading, Settings, given, load
from attn_cli.commands.shelf import sample
from attn_cli.engine.notes import Note
from attn_cli.errors import InputError, UsageError

if TYPE_CHECKING:
    from attn_cli.engine.problem import Problem
    from attn_cli.engine.steps import Trace
    from attn_cli.files.load import Loaded
    from attn_cli.render.formats import Format

File = Annotated[
    str | None, typer.Argument(metavar="[FILE]", help="A problem: YAML, JSON, NPZ, a folder of CSVs, or - for standard input.")
]
Output = Annotated[str | None, typer.Option("--output", "-o", metavar="FILE", help="Write to a file; its suffix tells the format.")]

EXAMPLE = "textbook"


def walk(
    file: str | None,
    settings: Settings,
    matrices: Matrices,
    reading: Reading,
    look: Look,
    output: str | None,
    detail: Literal["compute", "trace"],
    cells: Sequence[str] = (),
    full: bool = False,
    work: Callable[[Problem], Trace] | None = None,
) -> None:
    """`work` is done in place of the forward pass alone."""
    output = None if output == "-" else output
    form = format_for(look.format, output)
    example = file is None and not given(matrices)
    loaded = load(str(sample(EXAMPLE)) if example else file, settings, matrices, reading)
    if output is not None:
        spare(output, loaded)
    from attn_cli.engine.large.memory import solve_within

    try:
        trace = (
            work(loaded.problem)
            if work is not None
            else solve_within(loaded.problem, (*(look.only or ()), *(cell.partition("[")[0] for cell in cells)), detail)
        )
    except InputError as error:
        raise loaded.locate(error) from error
    notes = (*loaded.notes, *trace.notes)
    style = replace(look.style(detail, on_screen=output is None), written=loaded.written, cells=tuple(cells), full=full)
    write(form.compute(trace, style, notes), output)
    say((Note("built_in", {"name": EXAMPLE}), *notes) if example else notes, look.language())


def spare(output: str, loaded: Loaded, answers: Iterable[str] = ()) -> None:
    """No result may take the place of a file that it is made from."""
    if os.path.isfile(output):
        inputs = {value.file for value in loaded.again().values.values() if not value.option}
        for path in answers:
            inputs |= {os.path.join(path, name) for name in os.listdir(path)} if os.path.isdir(path) else {path}
        if any(os.path.exists(name) and os.path.samefile(name, output) for name in inputs):
            raise UsageError(f"{output}: is one of the files read for this, and the result would replace it; choose another name")


def format_for(name: str | None, output: str | None) -> Format:
    """The one that is named, else what the suffix of the file says, else a table."""
    from attn_cli.render.formats import FORMATS, format_of

    if name is None:
        return FORMATS["table"] if output is None else format_of(output)
    if name not in FORMATS:
        from attn_cli.names import did_you_mean

        raise UsageError(f"no format {name!r}{did_you_mean(name, list(FORMATS))}; there are {', '.join(FORMATS)}")
    return FORMATS[name]


def say(notes: Iterable[Note], lang: str, where: str = "") -> None:
    """Remarks go to standard error, so that standard output holds the result alone."""
    from attn_cli.render.lang import note_text

    for note in notes:
        print(f"{'warning' if note.warning else 'note'}: {where}{note_text(note, lang)}", file=sys.stderr)


def write(result: str | bytes, output: str | None) -> None:
    """Deliver a result. Remarks come after it, so that where it cannot be delivered that is the one thing said."""
    if output is not None:
        from attn_cli.files.save import save

        save(output, result)
    elif isinstance(result, bytes):
        if sys.stdout.isatty():
            raise UsageError("this format is binary: name a file with -o, or send standard output into one")
        sys.stdout.buffer.write(result)
    else:
        sys.stdout.write(result if result.endswith("\n") else result + "\n")
    sys.stdout.flush()
