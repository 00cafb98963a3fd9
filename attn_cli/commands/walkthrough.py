"""What `compute` and `trace` share: load a problem, solve it, show every step."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from attn_cli.commands.options import Look, Matrices, Reading, Settings, given, load
from attn_cli.commands.shelf import sample
from attn_cli.engine.notes import Note
from attn_cli.errors import InputError, UsageError

if TYPE_CHECKING:
    from attn_cli.engine.problem import Problem
    from attn_cli.engine.trace import Trace
    from attn_cli.files.load import Loaded
    from attn_cli.render.formats import Format

File = Annotated[
    str | None, typer.Argument(metavar="[FILE]", help="A problem: YAML, JSON, NPZ, a folder of CSVs, or - for standard input.")
]
Output = Annotated[str | None, typer.Option("--output", "-o", metavar="FILE", help="Write to a file; its suffix tells the format.")]

EXAMPLE = "textbook"

MEMORY = "ATTN_MEMORY"
"""The environment variable that says how much memory the steps of a problem may take."""
UNITS = {"k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
DEFAULT_MEMORY = 2 * UNITS["g"]
LONG = 2**20
"""With so many scores it pays to work out the output without them, where only that is asked for."""
STEPS_HELD = 12
"""More steps than that never hold a number for each query and key."""


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
) -> None:
    output = None if output == "-" else output
    form = format_for(look.format, output)
    example = file is None and not given(matrices)
    if example:
        file = str(sample(EXAMPLE))
        say((Note("built_in", {"name": EXAMPLE}),), look.language())
    loaded = load(file, settings, matrices, reading)
    if output is not None:
        _spare_inputs(loaded, output)
    try:
        trace = worked(loaded.problem, tuple(look.only or ()), detail)
    except InputError as error:
        raise loaded.locate(error) from error
    notes = (*loaded.notes, *trace.notes)
    style = replace(look.style(detail, on_screen=output is None), written=loaded.written, cells=tuple(cells), full=full)
    result = form.compute(trace, style, notes)
    say(notes, look.language())
    write(result, output)


def _spare_inputs(loaded: Loaded, output: str) -> None:
    """No result may take the place of a file that the problem is read from."""
    if os.path.isfile(output):
        inputs = {value.file for value in loaded.again().values.values() if not value.option}
        if any(os.path.exists(name) and os.path.samefile(name, output) for name in inputs):
            raise UsageError(f"{output}: the problem is read from this file, which its result would replace; choose another name")


def worked(problem: Problem, only: Sequence[str], detail: str) -> Trace:
    """The problem with its steps; without those of a number for each query and key where nobody asks for them, or where
    they would not fit into the memory budget."""
    from attn_cli.engine.attention import solve

    longest, widest = _extent(problem)
    asks_less = detail == "compute" and list(only) == ["output"] and longest**2 >= LONG
    if not asks_less and STEPS_HELD * longest**2 * widest * 8 <= DEFAULT_MEMORY and not os.environ.get(MEMORY):
        return solve(problem)
    from attn_cli.engine.fused import full_bytes, long_steps, solve_long

    if asks_less:
        return solve_long(problem)
    needed, budget = full_bytes(problem), _budget()
    if needed <= budget:
        return solve(problem)
    left_out = long_steps(problem)
    told = f"the steps with a number for each query and key take about {_size(needed)}, more than {MEMORY} allows ({_size(budget)})"
    asked = [name for name in only if name in left_out]
    if asked or (problem.V is None and problem.X is None and problem.context is None):
        raise UsageError(f"{told}; set {MEMORY} higher to work out {', '.join(asked) or 'the weights'}")
    if not only:
        print(f"note: {told}, so these are left out: {', '.join(left_out)}", file=sys.stderr)
    return solve_long(problem)


def _extent(problem: Problem) -> tuple[int, int]:
    """At least as many as the queries or keys, and at least as many as the heads or hidden units of a query and key."""
    given = [problem.X, problem.context, problem.Q, problem.K, problem.V, problem.scores]
    shapes = [array.shape for array in given if array is not None]
    parameters = [size for arrays in problem.parameters.values() for array in arrays.values() for size in array.shape]
    longest = max((max(shape[-2:]) for shape in shapes), default=1)
    return longest, max([problem.heads or 1, *parameters, *(size for shape in shapes for size in (shape[0], shape[-1]))], default=1)


def _budget() -> float:
    text = os.environ.get(MEMORY, "").strip()
    if not text:
        return DEFAULT_MEMORY
    number, unit = text.rstrip("bB").rstrip("kKmMgGtT"), text.rstrip("bB")[-1:].lower()
    try:
        return float(number) * UNITS.get(unit, 1)
    except ValueError:
        raise UsageError(f"{MEMORY}: found {text!r}, expected a size such as 500M or 2G") from None


def _size(count: float) -> str:
    unit = max((unit for unit in UNITS if count >= UNITS[unit]), key=lambda unit: UNITS[unit], default="")
    return f"{count / UNITS.get(unit, 1):.3g} {unit.upper()}B"


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
