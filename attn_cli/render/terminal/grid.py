"""The numbers of one matrix under their labels, in the fixed-width cells of a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from attn_cli.render.page import Matrix
from attn_cli.render.terminal.text import common_width, left, right, shortened, visible, width

Word = tuple[str, str]
"""A text and its role: title, conventions, step, formula, numbers, label, rule, number, zero, sum, chosen, bar, shade0 … shade8,
caption, name, arithmetic, remark, exact, a verdict, or nothing."""
Row = list[Word]

BARS = " ▁▂▃▄▅▆▇█"
NAMED = 3
"""No label is shortened to fewer cells."""


class Skin(NamedTuple):
    """What is drawn around the numbers."""

    rules: bool = False
    bars: bool = False
    """Whether a bar beside each weight shows its size without colour."""


class Grid:
    """The numbers of a matrix under their labels, in blocks of columns that fit.

    Labels are shortened only where not even one column would fit beside those of the rows; `whole`: not even there.
    """

    def __init__(self, matrix: Matrix, cells: int, skin: Skin, whole: bool = False):
        self.matrix, self.cells, self.skin = matrix, cells, skin
        margin = matrix.margin
        self.bars = skin.bars and matrix.shaded and (margin is None or margin.numbers)
        self.joint = " │ " if skin.rules else "  "
        rows, columns = ([visible(label) for label in labels] for labels in (matrix.rows, matrix.columns))
        title, told = ("", []) if margin is None else (visible(margin.title), [visible(t) for t in margin.texts])
        below, beside = (margin is not None and margin.along == along for along in ("columns", "rows"))
        rows, keys = [*rows, *([title] if below else [])], rows if below else columns
        if not whole:
            numbers = [self._whole(i, j) for i, row in enumerate(matrix.texts) for j in range(len(row))] + ([title] if beside else [])
            named = margin is not None and not margin.numbers
            room_left, room = self._rooms(rows, [*columns, *told] if named else columns, numbers if named else [*numbers, *told])
            if named:  # keys that were chosen are called as they are in their own place
                short = dict(zip(keys, shortened(keys, room), strict=True))
                told = [short.get(key, key) for key in told]
            rows, columns = shortened(rows, room_left), shortened(columns, room)
        self.row_labels = rows
        self.below, self.beside = ([title, *told] if there else None for there in (below, beside))
        self.columns = [
            _Column(label, [row[j] for row in matrix.texts], [told[j]] if below else [], self._tails(j)) for j, label in enumerate(columns)
        ]
        self.label_width = common_width(self.row_labels)

    def _tail(self, i: int, j: int) -> str:
        """What follows a number in its cell: the bar of a weight; the sign of a verdict, and the number as it should be."""
        marks = self.matrix.marks
        if marks is not None:
            return f" {marks.sign(i, j)} {marks.right[i][j]}".rstrip()
        return BARS[_level(float(self.matrix.value[i, j]))] if self.bars else ""

    def _tails(self, j: int) -> list[str]:
        return [self._tail(i, j) for i in range(len(self.matrix.rows))]

    def _whole(self, i: int, j: int) -> str:
        return self.matrix.texts[i][j] + self._tail(i, j)

    def _rooms(self, rows: Sequence[str], columns: Sequence[str], numbers: Sequence[str]) -> tuple[int, int]:
        """How many cells the labels of rows and of columns may take, so that a column fits; each has half where both are too long."""
        room = self.cells - len(self.joint)
        asked, narrowest = common_width(rows), common_width(numbers)
        widest = max(narrowest, common_width(columns) + self.bars)
        granted = asked if asked + widest <= room else max(NAMED, min(asked, room - narrowest, max(room // 2, room - widest)))
        return granted, max(narrowest, room - granted) - self.bars

    def rows(self) -> list[Row]:
        """Every block of columns, one under the other."""
        rows: list[Row] = []
        for i, (first, last) in enumerate(self._blocks()):
            if i:
                rows.append([])
            rows += self._block(first, last)
        return rows

    def _blocks(self) -> Iterator[tuple[int, int]]:
        """Where each block of columns starts and ends. The sums stand beside the last."""
        room = self.cells - self.label_width - len(self.joint)
        extra = len(self.joint) + common_width(self.beside) if self.beside else 0
        first, used = 0, 0
        for j, column in enumerate(self.columns):
            needed = column.width + (2 if j > first else 0)
            if j > first and used + needed + (extra if j == len(self.columns) - 1 else 0) > room:
                yield first, j
                first, used, needed = j, 0, column.width
            used += needed
        yield first, len(self.columns)

    def _block(self, first: int, last: int) -> Iterator[Row]:
        columns, end = self.columns[first:last], last == len(self.columns)
        beside = self.beside if end else None
        if beside is not None and first + 1 == last:  # a single column and its sums may still be too wide
            needed = self.label_width + len(self.joint) * 2 + columns[0].width + common_width(beside)
            if needed > self.cells:
                yield from self._table(columns, first, None)
                yield []
                yield from self._table([], first, beside)
                return
        yield from self._table(columns, first, beside)

    def _table(self, columns: Sequence[_Column], first: int, beside: Sequence[str] | None) -> Iterator[Row]:
        numbers = self.matrix.margin is not None and self.matrix.margin.numbers
        margin_width = common_width(beside or ())
        fit = right if numbers else left

        def row(label: str, cells: Iterable[Row], last: str | None, label_role: str = "label", last_role: str = "sum") -> Row:
            line: Row = [(left(label, self.label_width), label_role), (self.joint, "rule")]
            for j, cell in enumerate(cells):
                line += [("  ", ""), *cell] if j else cell
            if last is not None:
                line += [(self.joint if columns else "", "rule"), (fit(last, margin_width), last_role)]
            return _trimmed(line)

        yield row(
            "", ([(right(c.label, c.number_width) + c.tail, "label")] for c in columns), beside[0] if beside else None, last_role="label"
        )
        if self.skin.rules:
            yield self._rule(columns, margin_width if beside else 0)
        chosen = self.matrix.margin is not None and not numbers
        for i, label in enumerate(self.row_labels[: len(self.matrix.rows)]):
            cells = (self._cell(c, i, first + j, chosen) for j, c in enumerate(columns))
            yield row(label, cells, beside[i + 1] if beside else None, last_role="sum" if numbers else "chosen")
        if self.below:
            if self.skin.rules:
                yield self._rule(columns, 0)
            role = "sum" if numbers else "chosen"
            yield row(self.row_labels[-1], ([(right(c.under[0], c.number_width) + c.tail, role)] for c in columns), None)

    def _cell(self, column: _Column, i: int, j: int, chosen: bool) -> Row:
        told, tail = right(column.texts[i], column.number_width), left(column.tails[i], column.tail_width)
        marks = self.matrix.marks
        if marks is not None:
            verdict = marks.verdicts[i][j]
            return [(told + tail[:2], verdict), (tail[2:], "exact")] if verdict else [(told + tail, "")]
        if not self.matrix.shaded:
            return [(told, "number")]
        level = _level(float(self.matrix.value[i, j]))
        role = f"shade{level}" if not chosen or level < 8 else "chosen"
        if not self.bars:
            return [(told, role)]
        return [(f"{told}{tail}", role)]

    def _rule(self, columns: Sequence[_Column], margin_width: int) -> Row:
        inner = sum(c.width for c in columns) + 2 * (len(columns) - 1) if columns else 0
        line = "─" * (self.label_width + 1) + "┼" + "─" * (inner + 1)
        if margin_width:
            line += ("─┼─" if columns else "") + "─" * margin_width
        return [(line, "rule")]


class _Column:
    """One column of a grid."""

    def __init__(self, label: str, texts: list[str], under: list[str], tails: list[str]):
        self.label, self.texts, self.under, self.tails = label, texts, under, tails
        self.number_width = max(common_width(texts), width(label), common_width(under))
        self.tail_width = common_width(tails)
        self.tail = " " * self.tail_width
        self.width = self.number_width + self.tail_width


def _level(weight: float) -> int:
    """How full the bar of a weight is, 0 to 8; next to nothing shows nothing."""
    return 0 if not weight >= 0.03 else max(1, min(8, round(weight * 8)))


def _trimmed(row: Row) -> Row:
    """Without blanks at the end, unless they are shaded."""
    while row and (not row[-1][0].strip()) and not row[-1][1].startswith("shade"):
        row.pop()
    if row and not row[-1][1].startswith("shade"):
        row[-1] = (row[-1][0].rstrip(), row[-1][1])
    return row
