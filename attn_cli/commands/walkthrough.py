"""What `compute` and `trace` share: load a problem, solve it, show every step."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from attn_cli.commands.options import Look, Matrices, Reading, Settings, given, load
from attn_cli.commands.shelf import sample
from attn_cli.errors import InputError, UsageError

if TYPE_CHECKING:
    from attn_cli.engine.notes import Note
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
) -> None:
    from attn_cli.engine.attention import solve

    output = None if output == "-" else output
    form = format_for(look.format, output)
    if file is None and not given(matrices):
        file = str(sample(EXAMPLE))
        print(f"note: no file given, so this is the built-in example; attn samples {EXAMPLE} prints it", file=sys.stderr)
    loaded = load(file, settings, matrices, reading)
    try:
        trace = solve(loaded.problem)
    except InputError as error:
        raise loaded.locate(error) from error
    notes = (*loaded.notes, *trace.notes)
    style = replace(look.style(detail, on_screen=output is None), written=loaded.written)
    result = form.compute(trace, style, notes)
    say(notes, look.language())
    write(result, output)


def format_for(name: str | None, output: str | None) -> Format:
    """The one that is named, else what the suffix of the file says, else a table."""
    from attn_cli.render.formats import FORMATS, format_of

    if name is None:
        return FORMATS["table"] if output is None else format_of(output)
    if name not in FORMATS:
        from attn_cli.engine.registry import did_you_mean

        raise UsageError(f"no format {name!r}{did_you_mean(name, list(FORMATS))}; there are {', '.join(FORMATS)}")
    return FORMATS[name]


def say(notes: Iterable[Note], lang: str, where: str = "") -> None:
    """Remarks go to standard error, so that standard output holds the result alone."""
    from attn_cli.render.lang import note_text

    for note in notes:
        print(f"{'warning' if note.warning else 'note'}: {where}{note_text(note, lang)}", file=sys.stderr)


def write(result: str | bytes, output: str | None) -> None:
    if output is not None:
        from attn_cli.files.save import save

        save(output, result)
    elif isinstance(result, bytes):
        if sys.stdout.isatty():
            raise UsageError("this format is binary: name a file with -o, or send standard output into one")
        sys.stdout.buffer.write(result)
    else:
        sys.stdout.write(result if result.endswith("\n") else result + "\n")
