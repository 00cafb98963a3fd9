"""CSV, as spreadsheets like it: a matrix with its labels, in full precision.

One matrix stands alone, with an empty corner. Several follow one another, a blank line between them, and above each a
line that names its step (and, with several heads, the head): `attn check` reads both.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from attn_cli.engine.notes import Note
from attn_cli.engine.steps import Step, Trace
from attn_cli.render.page import Matrix, Names, page
from attn_cli.render.style import Style
from attn_cli.render.terminal.text import visible


def render(trace: Trace, style: Style, notes: Sequence[Note]) -> str:
    tables = [(block.step, matrix) for block in page(trace, style, notes, read=False).blocks for matrix in block.matrices]
    if len(tables) == 1:
        return "".join(_table(tables[0][1]))
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
    told = "".join(visible(c) if _acts(c) else c for c in label) if label.strip() else visible(label)
    told = told if told.strip() else f'"{told}"'
    return told if re.fullmatch(r"\w+", told) else '"' + told.replace('"', '""') + '"'


def _acts(c: str) -> bool:
    return c not in "\t\n" and (c == "\ufeff" or unicodedata.category(c) in ("Cc", "Cs"))


def _number(value: float) -> str:
    """With all its digits; what is not a number is left empty."""
    if not math.isfinite(value):
        return "" if math.isnan(value) else "inf" if value > 0 else "-inf"
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)
