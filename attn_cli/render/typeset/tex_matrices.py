"""Matrices in LaTeX: in brackets where their labels only count, else as tables. Those that are small stand side by side."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from attn_cli.render.page import Margin, Matrix
from attn_cli.render.style import tex_number
from attn_cli.render.terminal.text import visible, width
from attn_cli.render.typeset.tex import escaped, prose

COLUMNS, ROWS = 10, 20
"""The most columns that amsmath sets in brackets, and the most rows that look well in them."""
CORNER = 26
"""A longer caption stands in a row of its own, above the labels of a table."""
GAP = 3
"""Characters between what stands side by side."""

NUMBER = re.compile(r"(?:[\d./()+ ∞√-]|sqrt|NaN|e-?\d)+")
"""What can be set as a number."""
TABLE = r"\begin{tabular}"


class Piece(NamedTuple):
    """A part of a line, and about how many characters wide it is."""

    tex: str
    wide: int


def side_by_side(pieces: Sequence[Piece], wide: int) -> Iterator[list[Piece]]:
    """Pieces in lines `wide` characters wide, each as full as can be."""
    line: list[Piece] = []
    for piece in pieces:
        if line and sum(one.wide + GAP for one in line) + piece.wide > wide:
            yield line
            line = []
        line.append(piece)
    if line:
        yield line


# ------------------------------------------------------------------ in brackets
def in_brackets(matrix: Matrix, wide: int) -> bool:
    """Whether the numbers of a matrix say all: its rows and columns are only counted, and nothing stands beside it."""
    bare = matrix.margin is None and matrix.marks is None and any(matrix.axes)
    labels = zip((matrix.rows, matrix.columns), matrix.axes, strict=True)
    fits = len(matrix.columns) <= COLUMNS and len(matrix.rows) <= ROWS and _breadth(matrix) <= wide // 2
    numbers = all(NUMBER.fullmatch(number) for row in matrix.texts for number in row)
    return bare and fits and numbers and all(_only_count(own, axis) for own, axis in labels)


def _only_count(labels: Sequence[str], axis: str) -> bool:
    """Whether labels are 1, 2, 3 or x1, x2, x3, or there is nothing to tell apart."""
    return not axis or all(re.fullmatch(rf"[A-Za-z]?{i}", label) for i, label in enumerate(labels, 1))


def brackets(matrix: Matrix, caption: str = "") -> Piece:
    """A matrix in brackets, its caption above it."""
    signed = [any(row[j].startswith("-") for row in matrix.texts) for j in range(len(matrix.columns))]
    rows = [
        " & ".join(
            rf"\phantom{{-}}{tex_number(number)}" if sign and not number.startswith("-") else tex_number(number)
            for number, sign in zip(row, signed, strict=True)
        )
        for row in matrix.texts
    ]
    tex = "\n".join([r"\begin{bmatrix}", *(row + r" \\" for row in rows[:-1]), rows[-1], r"\end{bmatrix}"])
    if not caption:
        return Piece(tex, _breadth(matrix))
    return Piece(rf"\overset{{\text{{{prose(caption)}}}}}{{{tex}}}", max(_breadth(matrix), width(caption)))


def _breadth(matrix: Matrix) -> int:
    return 3 + sum(max(len(row[j]) for row in matrix.texts) + 2 for j in range(len(matrix.columns)))


# ------------------------------------------------------------------ tables
def tables(matrix: Matrix, corner: str, corner_width: int, wide: int) -> Iterator[Piece]:
    """A matrix under its labels, with what it is in the corner: in several tables where it is wider than the page."""
    sizes = [_column_width(matrix, j, wide // 3) for j in range(len(matrix.columns))]
    left = max([*(width(visible(row)) for row in matrix.rows), corner_width if corner_width <= CORNER else 0]) + 2
    margin = matrix.margin if matrix.margin and matrix.margin.along == "rows" else None
    beside = 0 if margin is None else max(map(width, (margin.title, *margin.texts))) + 3
    first, used = 0, 0
    for j, size in enumerate(sizes):
        if j > first and left + used + size + (beside if j + 1 == len(sizes) else 0) > wide - 4:
            yield Piece("\n".join(_table(matrix, first, j, corner, corner_width)), left + used)
            first, used = j, 0
        used += size
    yield Piece("\n".join(_table(matrix, first, len(sizes), corner, corner_width)), max(left + used + beside, corner_width))


def _column_width(matrix: Matrix, j: int, longest: int) -> int:
    marks = matrix.marks
    around = 2 + (0 if marks is None else 3 + max((len(number) for row in marks.right for number in row), default=0))
    return max([*(len(row[j]) for row in matrix.texts), min(width(visible(matrix.columns[j])), longest)]) + around


def _table(matrix: Matrix, first: int, last: int, corner: str, corner_width: int) -> Iterator[str]:
    margin = matrix.margin
    beside = margin if margin and margin.along == "rows" and last == len(matrix.columns) else None
    below = margin if margin and margin.along == "columns" else None
    sums = r"@{\qquad}r" if margin and margin.numbers else r"@{\qquad}l"
    yield rf"{TABLE}{{l{'r' * (last - first)}{sums if beside else ''}}}"
    yield r"\toprule"
    if corner_width > CORNER:
        yield rf"\multicolumn{{{last - first + 1 + bool(beside)}}}{{l}}{{{corner}}} \\"
        corner = ""
    head = [corner, *map(escaped, matrix.columns[first:last]), *([_title(beside.title)] if beside else [])]
    yield rf"{' & '.join(head)} \\ \midrule"
    aside = _margin(beside)
    for i, row in enumerate(matrix.rows):
        cells = [escaped(row), *(_cell(matrix, i, j) for j in range(first, last)), *aside[i : i + 1]]
        yield rf"{' & '.join(cells)} \\"
    if below:
        yield rf"\midrule {' & '.join([_title(below.title), *_margin(below)[first:last]])} \\"
    yield r"\bottomrule"
    yield r"\end{tabular}"


def _margin(margin: Margin | None) -> list[str]:
    """The sums of rows or columns, or the labels that they chose; nothing where there is no margin."""
    return [] if margin is None else [_number(cell) if margin.numbers else escaped(cell) for cell in margin.texts]


def _cell(matrix: Matrix, i: int, j: int) -> str:
    """A number; one that was marked with its sign and the number as it should be."""
    number = matrix.texts[i][j]
    if matrix.marks is None:
        return _number(number)
    right = matrix.marks.right[i][j]
    return " ".join([escaped(number) if number else "", escaped(matrix.marks.sign(i, j)), *([_number(right)] if right else [])]).strip()


def _title(title: str) -> str:
    return r"$\sum$" if title == "Σ" else prose(title)


def _number(number: str) -> str:
    """A number for TeX's text mode; what is none, as text."""
    if re.fullmatch(r"[\d.]+", number):
        return number
    return f"${tex_number(number)}$" if NUMBER.fullmatch(number) else escaped(number) if number else ""
