"""CSV, as spreadsheets like it: a matrix with its labels, in full precision; of marks, a gradebook.

Every matrix has an empty corner, and above it a line that names its step (and, with several heads, the head); several follow one
another, a blank line between them. `attn check` reads that as answers, and a single one can be read as a matrix again.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from attn_cli.engine.notes import Note
from attn_cli.engine.steps import Step, Trace
from attn_cli.render.data.spreadsheet import Value, sheet
from attn_cli.render.labels import Names
from attn_cli.render.page import Matrix
from attn_cli.render.style import Style
from attn_cli.render.terminal.text import visible
from attn_cli.render.walkthrough import shown_steps, step_matrices

if TYPE_CHECKING:
    from attn_cli.homework.report import Failed, Report


def trace(trace: Trace, style: Style, notes: Sequence[Note]) -> str:
    tables = [(step, matrix) for step in shown_steps(trace, style) for matrix in step_matrices(step, trace, style)]
    return "\n".join("".join([line([step.name, *_which(step, matrix, trace)]), *_table(matrix)]) for step, matrix in tables)


def _which(step: Step, matrix: Matrix, trace: Trace) -> Iterator[str]:
    """Which of the step's matrices it is: `head 1`, `query x1`."""
    names = Names(trace)
    for axis, size, i in zip(step.axes, step.value.shape, matrix.prefix, strict=False):
        yield quoted(f"{axis} {names.labels(axis, size)[i]}")


def _table(matrix: Matrix) -> Iterator[str]:
    yield line(["", *map(quoted, matrix.columns)])
    for label, row in zip(matrix.rows, matrix.value.tolist(), strict=True):
        yield line([quoted(label), *map(_number, row)])


def line(cells: Iterable[str]) -> str:
    return ",".join(cells) + "\n"


def quoted(label: str) -> str:
    """A label, in quotes unless it is a plain word or number: it stays a label, whatever it holds.

    A CSV is data, so marks of direction, tabs and line breaks are written as they are. Spelled out is what a terminal
    could act on, and what no reader would take for a label: one of blanks alone, and a byte-order mark.
    """
    shown = "".join(visible(c) if _acts(c) else c for c in label) if label.strip() else visible(label)
    shown = shown if shown.strip() else f'"{shown}"'
    return shown if re.fullmatch(r"\w+", shown) else '"' + shown.replace('"', '""') + '"'


def _acts(c: str) -> bool:
    return c not in "\t\n" and (c == "\ufeff" or unicodedata.category(c) in ("Cc", "Cs"))


def _number(value: float) -> str:
    """With all its digits; what is not a number is left empty."""
    if not math.isfinite(value):
        return "" if math.isnan(value) else "inf" if value > 0 else "-inf"
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)


# ------------------------------------------------------------------ a gradebook
COLUMNS = ("file", "right", "complete", "earned", "possible", "first_wrong_step", "first_wrong_cell", "mistake", "error")
"""Of a gradebook; one for each step follows."""


def report(found: Report | Failed, style: Style) -> str:
    return reports([found], style)


def reports(found: Sequence[Report | Failed], style: Style) -> str:
    """A row a submission."""
    from attn_cli.homework.report import Report

    steps = list(dict.fromkeys(step.name for one in found if isinstance(one, Report) for step in one.steps))
    rows: list[list[Value]] = [[*COLUMNS, *steps], *(_row(one, steps) for one in found)]
    return sheet(rows, style.decimal, style.bom)


def _row(found: Report | Failed, steps: Sequence[str]) -> list[Value]:
    from attn_cli.homework.report import Failed, tidy

    if isinstance(found, Failed):
        return [found.file, *[None] * (len(COLUMNS) - 2), found.error, *[None] * len(steps)]
    marks = marks_of(found)
    earned = {step.name: tidy(step.points * step.share) for step in found.steps}
    cells = [found.file, *(marks[name] for name in COLUMNS[1:-1]), None]
    return [*cells, *(earned.get(name) for name in steps)]


def marks_of(found: Report) -> dict[str, Any]:
    """What a gradebook says of a submission, by column; a mistake only beside the step that it explains."""
    first = found.first_wrong
    mistake = first.mistake if first is not None else None
    return {
        "right": found.right,
        "complete": found.complete,
        "earned": found.earned,
        "possible": found.possible,
        "first_wrong_step": first.name if first is not None else None,
        "first_wrong_cell": list(first.first_wrong) if first is not None and first.first_wrong else None,
        "mistake": mistake.code if mistake is not None else None,
    }
