"""Rows of plain numbers, read straight from the text: the quick way through a big matrix.

A reader that meets a row such as `[1, 0.5, -2e3]` need not make an object of each cell, with its place and its text: `Rows`
holds many of them as one array. This is quick only because it is careless about everything else: places are not kept,
and whatever is not plain is left to the strict readers. Hence one rule, which the tests hold it to: the quick way may fail
wherever it likes, for then the strict way decides; but where it succeeds, the strict way gives the same.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attn_cli.errors import InputError
from attn_cli.files.tree import Items, Node

ROW = re.compile(r"\[([-+.0-9eE, \n]++)\]")
"""Without tabs and comments, and without letters that `float` would take for more than a plain decimal (nan, 1_000)."""
_BETWEEN = re.compile(r",[ \n]*+|\n *- *")
"""What stands between two rows of a matrix: a comma, or a new line with the dash that the row before has, too."""
_NONZERO = re.compile(r"[-+.0 \n]*[1-9]")
_MANY_ZEROS = "0" * 300
_TRUTHS = re.compile(r"(?:[01](?:\.0*)?(?![0-9.eE])|[\[\],; \t\n]|-(?= ))*+")
_MARK = "\ue000"
"""Of the private use area: it stands for nothing in any text, and a text that holds it goes the strict way."""


class Unusual(InputError):
    """Something that the quick way does not read. Nobody sees this: the strict way is tried next."""


class Rows(Items):
    """Consecutive rows of plain numbers, all of one length; where no list surrounds it, one flat list.

    To anyone who knows no more than that it is a list, it is unusual.
    """

    __slots__ = ("array", "end", "source", "start")
    line = column = 0
    array: NDArray[Any]
    """(rows, width)"""
    source: str
    """The whole text; the part that these were read from would be a copy."""
    start: int
    end: int

    def __init__(self, array: NDArray[Any], source: str, start: int, end: int):
        self.array, self.source, self.start, self.end = array, source, start, end

    @property
    def items(self) -> list[Node]:  # type: ignore[override]
        raise Unusual("rows of numbers")

    def are_truths(self) -> bool:
        """Whether every cell is written as a mask wants it, 1 or 0 (`1.0`, too)."""
        return _TRUTHS.fullmatch(self.source, self.start, self.end) is not None


def floats(row: str, separator: str | None = ",") -> array[float] | None:
    """The values of a row that holds none but the letters of `ROW`; None unless all are plain decimals that a float can hold.

    One that is too large becomes infinite; `as_array` looks for those, all at once.
    """
    try:
        values = array("d", map(float, row.split(separator)))
    except ValueError:
        return None
    return values if all_held(values, row, separator) else None


def all_held(values: array[float], row: str, separator: str | None = ",") -> bool:
    """Whether no number of the row was too small, so that it became 0."""
    if 0.0 not in values or not ("e" in row or "E" in row or _MANY_ZEROS in row):
        return True
    return not any(value == 0 and _NONZERO.match(cell) for value, cell in zip(values, row.split(separator), strict=True))


def as_array(values: array[float], width: int) -> NDArray[Any] | None:
    """The same memory as a matrix; None if a number was too large."""
    matrix = np.frombuffer(values).reshape(-1, width)
    return matrix if np.isfinite(matrix).all() else None


def blocks(text: str) -> Iterator[Rows]:
    """Every run of rows in a YAML text that are neighbours in one list, if they stand in a list at all."""
    values, width, first, start, end = array("d"), 0, 0, 0, 0

    def block() -> Iterator[Rows]:
        if values and (matrix := as_array(values, width)) is not None:
            yield Rows(matrix, text, first, end)

    for match in ROW.finditer(text):
        row = floats(match[1])
        if row is None:
            continue
        if len(row) == width and _neighbours(text, start, end, match.start()):
            values += row
        else:
            yield from block()
            values, width, first = row, len(row), match.start()
        start, end = match.span()
    yield from block()


def _neighbours(text: str, start: int, end: int, after: int) -> bool:
    """Whether the row that starts at `after` follows the row from `start` to `end` in the same list."""
    if _BETWEEN.fullmatch(text, end, after) is None:
        return False
    between = text[end:after]
    return between[0] == "," or text.endswith(between, 0, start)


def replaced(text: str) -> tuple[str, list[Rows]]:
    """The text with `[MARK]` in place of every block, and the blocks: short, and made of the same lists and mappings."""
    pieces: list[str] = []
    found: list[Rows] = []
    end = 0
    if _MARK not in text:
        for block in blocks(text):
            pieces += text[end : block.start], f"[{_MARK}{len(found)}]"
            found.append(block)
            end = block.end
    pieces.append(text[end:])
    return "".join(pieces), found


def marked(text: str) -> int | None:
    """Which block a text stands for."""
    return int(text[1:]) if text.startswith(_MARK) and text[1:].isdecimal() else None
