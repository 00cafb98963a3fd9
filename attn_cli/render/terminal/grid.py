"""The numbers of one matrix under their labels, in the fixed-width cells of a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
        self.margin_role = "sum" if margin is None or margin.numbers else "chosen"
        below, beside = (margin is not None and margin.along == along for along in ("columns", "rows"))
        labels = _labels(matrix)
        if not whole:
            labels = self._fitting(labels)
        self.row_labels, margin_texts = labels.rows, labels.margin
        self.below, self.beside = ([labels.title, *margin_texts] if there else None for there in (below, beside))
        self.columns = [
            _Column(label, [row[j] for row in matrix.texts], [margin_texts[j]] if below else [], self._tails(j))
            for j, label in enumerate(labels.columns)
        ]
        self.label_width = common_width(self.row_labels)

    def _fitting(self, labels: _Labels) -> _Labels:
        """The labels shortened to the room that there is; keys that were chosen are called as they are in their own place."""
        margin = self.matrix.margin
        numbers = [self._whole(i, j) for i, row in enumerate(self.matrix.texts) for j in range(len(row))]
        if margin is not None and margin.along == "rows":
            numbers.append(labels.title)
        if margin is None or margin.numbers:
            room_left, room = self._rooms(labels.rows, labels.columns, [*numbers, *labels.margin])
            return labels._replace(rows=shortened(labels.rows, room_left), columns=shortened(labels.columns, room))
        room_left, room = self._rooms(labels.rows, [*labels.columns, *labels.margin], numbers)
        keys = labels.columns if margin.along == "rows" else labels.rows
        short = dict(zip(keys, shortened(keys, room), strict=True))
        chosen = [short.get(key, key) for key in labels.margin]
        return _Labels(shortened(labels.rows, room_left), shortened(labels.columns, room), labels.title, chosen)

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
        margin_width = common_width(beside or ())
        fit = left if self.margin_role == "chosen" else right
        last = [fit(word, margin_width) for word in beside or ()]
        yield self._line("", [[(right(c.label, c.number_width) + c.tail, "label")] for c in columns], last[:1], "label")
        if self.skin.rules:
            yield self._rule(columns, margin_width)
        for i, label in enumerate(self.row_labels[: len(self.matrix.rows)]):
            yield self._line(label, [self._cell(c, i, first + j) for j, c in enumerate(columns)], last[i + 1 : i + 2], self.margin_role)
        if self.below:
            if self.skin.rules:
                yield self._rule(columns, 0)
            under = [[(right(c.under[0], c.number_width) + c.tail, self.margin_role)] for c in columns]
            yield self._line(self.row_labels[-1], under, [], self.margin_role)

    def _line(self, label: str, cells: Sequence[Row], last: Sequence[str], role: str) -> Row:
        """A row: its label, its cells, and what stands beside them, if anything."""
        line: Row = [(left(label, self.label_width), "label"), (self.joint, "rule")]
        for j, cell in enumerate(cells):
            line += [("  ", ""), *cell] if j else cell
        for word in last:
            line += [(self.joint if cells else "", "rule"), (word, role)]
        return _trimmed(line)

    def _cell(self, column: _Column, i: int, j: int) -> Row:
        number, tail = right(column.texts[i], column.number_width), left(column.tails[i], column.tail_width)
        marks = self.matrix.marks
        if marks is not None:
            verdict = marks.verdicts[i][j]
            return [(number + tail[:2], verdict), (tail[2:], "exact")] if verdict else [(number + tail, "")]
        if not self.matrix.shaded:
            return [(number, "number")]
        level = _level(float(self.matrix.value[i, j]))
        role = f"shade{level}" if self.margin_role == "sum" or level < 8 else "chosen"
        if not self.bars:
            return [(number, role)]
        return [(f"{number}{tail}", role)]

    def _rule(self, columns: Sequence[_Column], margin_width: int) -> Row:
        inner = sum(c.width for c in columns) + 2 * (len(columns) - 1) if columns else 0
        line = "─" * (self.label_width + 1) + "┼" + "─" * (inner + 1)
        if margin_width:
            line += ("─┼─" if columns else "") + "─" * margin_width
        return [(line, "rule")]


class _Labels(NamedTuple):
    """What a grid calls its rows and columns, and what stands in its margin."""

    rows: list[str]
    """Those of the rows; after them, that of a margin below the columns."""
    columns: list[str]
    title: str
    """That of the margin."""
    margin: list[str]


def _labels(matrix: Matrix) -> _Labels:
    rows, columns = ([visible(label) for label in labels] for labels in (matrix.rows, matrix.columns))
    margin = matrix.margin
    if margin is None:
        return _Labels(rows, columns, "", [])
    title = visible(margin.title)
    return _Labels([*rows, title] if margin.along == "columns" else rows, columns, title, list(map(visible, margin.texts)))


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
