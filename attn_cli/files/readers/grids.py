"""Rows of plain numbers in a large text, read all at once into one array (a `Grid`), without an object for each cell.

A reader may give a grid only where reading cell by cell would give the same rows. What is not plain is left to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attn_cli.engine.arrays import all_finite
from attn_cli.files.tree import Grid

LARGE = 4096
"""Characters in a text from which on this pays; a smaller text is read cell by cell."""
CELLS = r"\[[-+.0-9eE, \n]++\]"
"""A row in brackets, without tabs, comments, and letters that Python takes for a float though it is no plain decimal (nan, 1_000)."""
_DASHED = re.compile(rf"( *- *){CELLS}(?:\n\1{CELLS})*")
"""Rows of one list, each on a line of its own behind the same dash."""
_FLOW = re.compile(rf"\[[ \n]*+{CELLS}(?:[ \n]*+,[ \n]*+{CELLS})*[ \n]*+\]")
"""A list of rows in brackets."""
_ROW = re.compile(r"\[([-+.0-9eE, \n]++)\]")
_TINY = re.compile(r"[eE]-[0-9]{3}|0{200}")
"""Without this no number is too small for a float."""


def dashed(text: str, start: int, line: int, column: int) -> tuple[Grid, int] | None:
    """The rows on the lines from `start` on, and where they end."""
    match = _DASHED.match(text, start)
    return _found(match, line, column) if match else None


def flow(text: str, start: int, line: int, column: int) -> tuple[Grid, int] | None:
    """The list of rows that opens at `start`, and where it ends."""
    match = _FLOW.match(text, start)
    return _found(match, line, column) if match else None


def _found(match: re.Match[str], line: int, column: int) -> tuple[Grid, int] | None:
    text, (start, end) = match.string, match.span()
    inside = start + 1 if text[start] == "[" else start
    rows = (row[1].replace("\n", " ") for row in _ROW.finditer(text, inside, end))
    grid = from_lines(rows, text, inside, end, line, column)
    return (grid, end) if grid else None


def from_lines(lines: Iterable[str], text: str, start: int, end: int, line: int, column: int, separator: str | None = ",") -> Grid | None:
    """The rows that stand in that part of a text, whose cells hold none but the letters of plain decimals.

    None unless every cell is a number that a float can hold, and every row as long as the first.
    """
    try:
        array = np.loadtxt(lines, delimiter=separator, comments=None, ndmin=2)
    except ValueError:
        return None
    return held(array, text, start, end, line, column)


def held(array: NDArray[Any], text: str, start: int, end: int, line: int, column: int) -> Grid | None:
    """The grid of an array; None if a number was too large, or so small that it became 0."""
    lost = not all_finite(array) or (np.count_nonzero(array) < array.size and _TINY.search(text, start, end))
    return Grid(array, text, start, end, line, column) if array.size and not lost else None


def lines_of(text: str, start: int = 0) -> Iterator[str]:
    """The lines that are not blank, one at a time."""
    while start < len(text):
        end = text.find("\n", start)
        end = end if end >= 0 else len(text)
        line = text[start:end]
        if line.strip():
            yield line
        start = end + 1
