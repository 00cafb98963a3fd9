"""Rows of plain numbers, read straight from the text: the quick way through a big matrix.

A reader that meets a row such as `[1, 0.5, -2e3]` need not make an object of each cell, with its place and its text: `Rows`
holds many of them as one array. This is quick only because it is careless about everything else: places are not kept,
and whatever is not plain is left to the strict readers. Hence one rule, which the tests hold it to: the quick way may fail
wherever it likes, for then the strict way decides; but where it succeeds, the strict way gives the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attn_cli.engine.arrays import all_finite
from attn_cli.errors import InputError
from attn_cli.files.tree import Items, Node

CELLS = r"\[[-+.0-9eE, \n]++\]"
"""Without tabs and comments, and without letters that a float may be written with though it is no plain decimal (nan, 1_000)."""
BLOCK = re.compile(rf"\n( *- *){CELLS}(?:\n\1{CELLS})*|{CELLS}(?:(,[ \n]*+){CELLS}(?:\2{CELLS})*)?")
"""Rows that are neighbours in one list, if they stand in a list at all: each on a line of its own behind the same dash, or with
the same comma between them."""
_TINY = re.compile(r"[eE]-[0-9]{3}|0{200}")
"""Without this no number is too small for a float."""
_NO_TRUTH = re.compile(r"(?<![0-9.])(?![01](?:\.0*)?(?![0-9.eE]))[0-9.]|[^0-9.\[\],; \t\n-]|-(?! )")
"""A number other than 0 and 1 (`1.0`, too), or what stands neither in a number nor between two."""
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
        return _NO_TRUTH.search(self.source, self.start, self.end) is None


def rows(lines: Iterable[str], source: str, start: int, end: int, separator: str | None = ",") -> Rows | None:
    """The rows that stand in that part of the source, whose cells hold none but the letters of plain decimals.

    None unless every cell is a number that a float can hold, and every row as long as the first.
    """
    try:
        matrix = np.loadtxt(lines, delimiter=separator, comments=None, ndmin=2)
    except ValueError:
        return None
    return held(matrix, source, start, end)


def held(matrix: NDArray[Any], source: str, start: int, end: int) -> Rows | None:
    """The matrix that was read from that part of the source; None if a number was too large, or so small that it became 0."""
    if not all_finite(matrix) or (np.count_nonzero(matrix) < matrix.size and _TINY.search(source, start, end)):
        return None
    return Rows(matrix, source, start, end)


def block(match: re.Match[str]) -> Rows | None:
    """The rows that match `BLOCK`."""
    dash, comma = match.groups()
    start, end = match.start() if dash is None else match.end(1), match.end()
    between = len(comma or "") if dash is None else len(dash) + 1
    return rows(_lines(match.string, start, end, between), match.string, start, end)


def _lines(text: str, start: int, end: int, between: int) -> Iterator[str]:
    """What stands within each pair of brackets, which are so many characters apart; one at a time, as there may be very many."""
    while start < end:
        stop = text.index("]", start)
        yield text[start + 1 : stop].replace("\n", " ")
        start = stop + 1 + between


def replaced(text: str) -> tuple[str, list[Rows]]:
    """The text with `[MARK]` in place of every block, and the blocks: short, and made of the same lists and mappings."""
    pieces: list[str] = []
    found: list[Rows] = []
    end = 0
    if _MARK not in text:
        for match in BLOCK.finditer(text):
            if (read := block(match)) is not None:
                pieces += text[end : read.start], f"[{_MARK}{len(found)}]"
                found.append(read)
                end = read.end
    pieces.append(text[end:])
    return "".join(pieces), found


def marked(text: str) -> int | None:
    """Which block a text stands for."""
    return int(text[1:]) if text.startswith(_MARK) and text[1:].isdecimal() else None
