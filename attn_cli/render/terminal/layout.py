"""A page in the fixed-width cells of a terminal: lines of words, each with the role that it plays.

`plain` joins the words; `table` draws rules and colours them by role. Numbers are never cut: what is too wide is
split into blocks of columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple

from attn_cli.render.lang import text
from attn_cli.render.page import Block, Formula, Line, Matrix, Page
from attn_cli.render.style import Style
from attn_cli.render.terminal.text import common_width, left, right, shortened, visible, width, wrapped

if TYPE_CHECKING:
    from attn_cli.render.derivation import Derivation

Word = tuple[str, str]
"""A text and its role: title, conventions, step, formula, numbers, label, rule, number, zero, sum, chosen, bar, shade0 … shade8,
caption, name, arithmetic, remark, or nothing."""
Row = list[Word]

GAP = 4
"""Blanks between blocks that stand side by side."""
BARS = " ▁▂▃▄▅▆▇█"
NAMED = 3
"""No label is shortened to fewer cells."""


class Skin(NamedTuple):
    """What is drawn around the numbers."""

    rules: bool = False
    bars: bool = False
    """Whether a bar beside each weight shows its size without colour."""


def walkthrough(page: Page, skin: Skin) -> Iterator[Row]:
    """The whole page, line by line."""
    style = page.style
    yield from _wrapped(visible(page.title), style.width, "title")
    yield from _conventions(page.conventions, style.width)
    if style.cells:
        from attn_cli.render.derivation import derivations

        for one in derivations(page.trace, style):
            yield []
            yield from _tree(one, style)
        return
    for group in _groups([_drawn(block, style, skin) for block in page.blocks], style):
        yield []
        yield from group


def size(row: Row) -> int:
    """How many cells a row takes."""
    return sum(width(word) for word, _ in row)


# ------------------------------------------------------------------ the page
def _wrapped(told: str, cells: int, role: str, indent: str = "") -> Iterator[Row]:
    return ([(line, role)] for line in wrapped(told, cells, indent))


def _conventions(parts: Sequence[str], cells: int) -> Iterator[Row]:
    """One line; where it is too long, broken between the parts first."""
    line = ""
    for part in parts:
        joined = f"{line} · {part}" if line else part
        if line and width(joined) > cells:
            yield from _wrapped(line, cells, "conventions")
            joined = part
        line = joined
    yield from _wrapped(line, cells, "conventions")


def _groups(blocks: Sequence[list[Row]], style: Style) -> Iterator[list[Row]]:
    """Blocks that fit stand side by side; in a trace each stands alone."""
    group: list[list[Row]] = []
    for block in blocks:
        if group and (style.detail == "trace" or _breadth([*group, block]) > style.width):
            yield beside(group)
            group = []
        group.append(block)
    if group:
        yield beside(group)


def _breadth(blocks: Sequence[list[Row]]) -> int:
    return sum(max(map(size, block), default=0) for block in blocks) + GAP * (len(blocks) - 1)


def beside(blocks: Sequence[list[Row]]) -> list[Row]:
    """Blocks side by side, their tops level."""
    if len(blocks) == 1:
        return blocks[0]
    breadths = [max(map(size, block), default=0) for block in blocks]
    rows: list[Row] = []
    for parts in zip_longest(*blocks, fillvalue=[]):
        row: Row = []
        at = start = 0
        for part, breadth in zip(parts, breadths, strict=True):
            if part:
                if start > at:
                    row.append((" " * (start - at), ""))
                row += part
                at = start + size(part)
            start += breadth + GAP
        rows.append(row)
    return rows


def _tree(derivation: Derivation, style: Style) -> Iterator[Row]:
    """A number's derivation, each line under the one that it belongs to."""
    nodes, rest = derivation.shown()
    narrow = style.width < 60
    turn, last, bar, gap = ("├ ", "└ ", "│ ", "  ") if narrow else ("├─ ", "└─ ", "│  ", "   ")
    open_: list[bool] = []
    for i, (depth, node) in enumerate(nodes):
        more = next((d == depth for d, _ in nodes[i + 1 :] if d <= depth), False)
        open_[depth:] = [more]
        guide = "".join(bar if on else gap for on in open_[1:depth]) + ((turn if more else last) if depth else "")
        under = "".join(bar if on else gap for on in open_[1 : depth + 1])
        below = bar if i + 1 < len(nodes) and nodes[i + 1][0] > depth else gap
        cells = style.width - width(guide)
        rows = worked_line(node.line.name.plain(), node.line, style, max(cells, 12), below.rstrip().ljust(2) + "  ")
        for j, row in enumerate(rows):
            yield [(under if j else guide, "rule"), *row]
    if rest:
        yield from _wrapped(text("more_lines", style.lang, count=rest), style.width, "remark")


# ------------------------------------------------------------------ one step
def _drawn(block: Block, style: Style, skin: Skin) -> list[Row]:
    rows = [*_heading(block, style)]
    trace = style.detail == "trace"
    drawn = [_figure(matrix, style, skin, indent=2 if trace and style.width >= 40 else 0) for matrix in (*block.masks, *block.matrices)]
    for i, group in enumerate(_groups(drawn, style)):
        rows += [[], *group] if i else group
    return rows


def _heading(block: Block, style: Style) -> Iterator[Row]:
    """`5 Scores  S = P / √d_k  √d_k = √4 = 2`, on several lines where it is too wide."""
    number, title = f"{block.number} ", block.title[:1].upper() + block.title[1:]
    words: list[Word] = [(title, "step"), *_formula(block.formula)]
    row: Row = [(number, "number_of_step")]
    at = width(number)
    for i, (told, role) in enumerate(words):
        gap = 0 if i == 0 else 2
        if at + gap + width(told) > style.width and i:
            yield row
            row, at, gap = [("  ", "")], 2, 0
        lines = wrapped(told, max(style.width - at - gap, 8))
        row += [(" " * gap, ""), (lines[0], role)] if gap else [(lines[0], role)]
        at += gap + width(lines[0])
        for line in lines[1:]:
            yield row
            row, at = [("  ", ""), (line, role)], 2 + width(line)
    yield row


def _formula(formula: Formula) -> list[Word]:
    return [(formula.plain(), "formula"), *((told, "numbers") for told in (*formula.with_numbers(), *formula.where()))]


def _figure(matrix: Matrix, style: Style, skin: Skin, indent: int) -> list[Row]:
    """A matrix with its caption, and in a trace the arithmetic of its cells."""
    rows: list[Row] = []
    if matrix.caption:
        rows += _wrapped(visible(matrix.caption), style.width - indent, "caption")
    rows += Grid(matrix, style.width - indent, skin, style.whole_labels).rows()
    if style.detail == "trace" and (lines := _lines(matrix, style, style.width - indent)):
        rows += [[], *lines]
    return [[(" " * indent, ""), *row] if row and indent else row for row in rows]


def _lines(matrix: Matrix, style: Style, cells: int) -> list[Row]:
    lines, rest = matrix.worked(style.full)
    rows = worked_lines(lines, style, cells)
    if rest:
        rows += _wrapped(text("more_cells", style.lang, count=rest), cells, "remark")
    return rows


def worked_lines(lines: Sequence[Line], style: Style, cells: int) -> list[Row]:
    """Worked lines with their first equals signs under one another, wrapped with a hanging indent."""
    names = [line.name.plain() for line in lines]
    pad = max((n for n in map(width, names) if n <= cells // 3), default=0)
    rows: list[Row] = []
    for name, line in zip(names, lines, strict=True):
        head = left(name, pad)
        rows += worked_line(head, line, style, cells, " " * min(width(head) + 1, cells // 3))
    return rows


def worked_line(head: str, line: Line, style: Style, cells: int, indent: str) -> list[Row]:
    """`Q[x1,1] = 1·1 + 0·0 = 1` and a remark; what is too wide breaks before `=`, and then before `+`."""
    told, remark = line.arithmetic(style.fold, style.lang), line.remark
    told = told.removesuffix(remark).rstrip()
    whole = f"{head} {told}   {remark}" if remark else f"{head} {told}"
    if width(whole) <= cells:
        return [[(head, "name"), (" ", ""), *_terms(told), *([("   ", ""), (remark, "remark")] if remark else [])]]
    rows: list[Row] = []
    start: Row = [(head, "name"), (" ", "")]
    for more in _broken(told, cells - width(head) - 1, cells - width(indent)):
        rows.append([*start, *_terms(more)])
        start = [(indent, "")]
    if remark:
        rows += _wrapped(indent + remark, cells, "remark", indent)
    return rows


def _broken(told: str, first: int, later: int) -> Iterator[str]:
    """A chain of equations in lines of so many cells."""
    line, room = "", first
    for equation in re.split(r" (?=[=≈] )", told):
        whole = f"{line} {equation}" if line else equation
        if width(whole) <= room:
            line = whole
            continue
        if line:
            yield line
            room = later
        line = ""
        for term in re.split(r" (?=[+/-] |max|… )", equation):
            joined = f"{line} {term}" if line else term
            if line and width(joined) > room:
                yield line
                joined, room = term, later
            line = joined
    yield line


def _terms(told: str) -> Row:
    """Arithmetic with its zero terms set apart, so that a format can dim them."""
    if "·" not in told:
        return [(told, "arithmetic")]
    row: Row = []
    for word in told.split(" "):
        role = "zero" if "·" in word and any(factor.strip("()") in ("0", "0.0") for factor in word.split("·")) else "arithmetic"
        if row and row[-1][1] == role:
            row[-1] = (f"{row[-1][0]} {word}", role)
        elif row:
            row += [(" ", "arithmetic"), (word, role)]
        else:
            row.append((word, role))
    return row


# ------------------------------------------------------------------ one matrix
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
            numbers = [cell for row in matrix.texts for cell in row] + ([title] if beside else [])
            named = margin is not None and not margin.numbers
            room_left, room = self._rooms(rows, [*columns, *told] if named else columns, numbers if named else [*numbers, *told])
            if named:  # keys that were chosen are called as they are in their own place
                short = dict(zip(keys, shortened(keys, room), strict=True))
                told = [short.get(key, key) for key in told]
            rows, columns = shortened(rows, room_left), shortened(columns, room)
        self.row_labels = rows
        self.below, self.beside = ([title, *told] if there else None for there in (below, beside))
        self.columns = [
            _Column(label, [row[j] for row in matrix.texts], [told[j]] if below else [], self.bars) for j, label in enumerate(columns)
        ]
        self.label_width = common_width(self.row_labels)

    def _rooms(self, rows: Sequence[str], columns: Sequence[str], numbers: Sequence[str]) -> tuple[int, int]:
        """How many cells the labels of rows and of columns may take, so that a column fits; each has half where both are too long."""
        room = self.cells - len(self.joint)
        asked, narrowest = common_width(rows), common_width(numbers) + self.bars
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
        told = right(column.texts[i], column.number_width)
        if not self.matrix.shaded:
            return [(told, "number")]
        level = _level(float(self.matrix.value[i, j]))
        role = f"shade{level}" if not chosen or level < 8 else "chosen"
        if not self.bars:
            return [(told, role)]
        return [(f"{told}{BARS[level]}", role)]

    def _rule(self, columns: Sequence[_Column], margin_width: int) -> Row:
        inner = sum(c.width for c in columns) + 2 * (len(columns) - 1) if columns else 0
        line = "─" * (self.label_width + 1) + "┼" + "─" * (inner + 1)
        if margin_width:
            line += ("─┼─" if columns else "") + "─" * margin_width
        return [(line, "rule")]


class _Column:
    """One column of a grid."""

    def __init__(self, label: str, texts: list[str], under: list[str], bars: bool):
        self.label, self.texts, self.under = label, texts, under
        self.number_width = max(common_width(texts), width(label), common_width(under))
        self.tail = " " if bars else ""
        self.width = self.number_width + bars


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


def joined(rows: Iterable[Row]) -> str:
    """The words alone."""
    return "\n".join("".join(word for word, _ in row).rstrip() for row in rows) + "\n"
