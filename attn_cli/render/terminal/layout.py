"""A page in the fixed-width cells of a terminal: lines of words, each with the role that it plays.

`plain` joins the words; `table` draws rules and colours them by role. Numbers are never cut: what is too wide is
split into blocks of columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple

from attn_cli.render.lang import text
from attn_cli.render.page import Block, Formula, Line, Matrix, Page, Paragraph
from attn_cli.render.style import Style
from attn_cli.render.terminal.grid import Grid, Row, Skin, Word
from attn_cli.render.terminal.text import left, visible, width, wrapped

if TYPE_CHECKING:
    from attn_cli.render.derivation import Derivation

GAP = 4
"""Blanks between blocks that stand side by side."""


def laid_out(page: Page, skin: Skin) -> Iterator[Row]:
    """The whole page, line by line."""
    style = page.style
    yield from _wrapped(visible(page.title), style.width, "title")
    if page.conventions:
        yield from _conventions(page.conventions, style.width)
    for paragraph in page.lead:
        yield from _paragraph(paragraph, style)
    if style.cells:
        from attn_cli.render.derivation import derivations

        for one in derivations(page.trace, style):
            yield []
            yield from _tree(one, style)
        return
    for group in _groups([(_drawn(block, style, skin), block.apart) for block in page.blocks], style.width):
        yield []
        yield from group


def size(row: Row) -> int:
    """How many cells a row takes."""
    return sum(width(word) for word, _ in row)


# ------------------------------------------------------------------ the page
def _wrapped(sentence: str, cells: int, role: str, indent: str = "") -> Iterator[Row]:
    return ([(line, role)] for line in wrapped(sentence, cells, indent))


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


def _groups(blocks: Sequence[tuple[list[Row], bool]], cells: int) -> Iterator[list[Row]]:
    """Blocks that fit stand side by side, but for those that stand apart."""
    group: list[list[Row]] = []
    alone = False
    for block, apart in blocks:
        if group and (apart or alone or _breadth([*group, block]) > cells):
            yield beside(group)
            group = []
        group.append(block)
        alone = apart
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


class _Branches(NamedTuple):
    """What the branches of a tree are drawn with."""

    turn: str
    last: str
    bar: str
    gap: str


TREE = _Branches("├─ ", "└─ ", "│  ", "   ")
NARROW_TREE = _Branches("├ ", "└ ", "│ ", "  ")


def _guides(depths: Sequence[int], drawn: _Branches) -> Iterator[tuple[str, str, str]]:
    """The branches before each line of a tree: before its first row, before its later rows, and down to its own parts."""
    follows: list[bool] = []
    """Whether a brother of the present line, and of each line above it in the tree, is still to come."""
    for i, depth in enumerate(depths):
        brother = next((later == depth for later in depths[i + 1 :] if later <= depth), False)
        follows[depth:] = [brother]
        bars = [drawn.bar if on else drawn.gap for on in follows[1:]]
        turn = [] if not depth else [drawn.turn if brother else drawn.last]
        has_parts = i + 1 < len(depths) and depths[i + 1] > depth
        yield "".join([*bars[: depth - 1], *turn] if depth else []), "".join(bars), drawn.bar if has_parts else drawn.gap


def _tree(derivation: Derivation, style: Style) -> Iterator[Row]:
    """A number's derivation, each line under the one that it belongs to."""
    nodes, rest = derivation.shown()
    guides = _guides([depth for depth, _ in nodes], NARROW_TREE if style.width < 60 else TREE)
    for (_, node), (first, later, below) in zip(nodes, guides, strict=True):
        cells = style.width - width(first)
        rows = worked_line(node.line.name.plain(), node.line, style, max(cells, 12), below.rstrip().ljust(2) + "  ")
        for j, row in enumerate(rows):
            yield [(later if j else first, "rule"), *row]
    if rest:
        yield from _wrapped(text("more_lines", style.lang, count=rest), style.width, "remark")


# ------------------------------------------------------------------ one step
def _drawn(block: Block, style: Style, skin: Skin) -> list[Row]:
    rows = [*_heading(block, style)]
    indent = 2 if style.detail == "trace" and block.step is not None and style.width >= 40 else 0
    for paragraph in block.before:
        lines = _paragraph(paragraph, replace(style, width=style.width - indent))
        rows += [[(" " * indent, ""), *row] if indent else row for row in lines]
    drawn = [_figure(matrix, style, skin, indent) for matrix in block.matrices]
    alone = style.detail == "trace" and block.step is not None
    for i, group in enumerate(_groups([(figure, alone) for figure in drawn], style.width)):
        rows += [[], *group] if i else group
    for paragraph in block.after:
        rows += _paragraph(paragraph, style)
    return rows


def _paragraph(paragraph: Paragraph, style: Style) -> Iterator[Row]:
    """A sentence, and its worked lines under it."""
    if paragraph.text:
        yield from _wrapped(visible(paragraph.text), style.width, paragraph.role, "  ")
    for row in worked_lines(paragraph.lines, style, max(style.width - 2, 8)):
        yield [("  ", ""), *row]


def _heading(block: Block, style: Style) -> Iterator[Row]:
    """`5 Scores  S = P / √d_k  √d_k = √4 = 2`, on several lines where it is too wide."""
    number = f"{block.sign} " if block.sign else ""
    role = block.verdict or "step"
    words: list[Word] = [(visible(block.heading), role)]
    words += [(block.aside, role)] if block.aside else []
    words += _formula(block.formula) if block.formula else []
    row: Row = [(number, block.verdict or "number_of_step")] if number else []
    at = width(number)
    for i, (word, role) in enumerate(words):
        gap = 0 if i == 0 else 2
        if at + gap + width(word) > style.width and i:
            yield row
            row, at, gap = [("  ", "")], 2, 0
        lines = wrapped(word, max(style.width - at - gap, 8))
        row += [(" " * gap, ""), (lines[0], role)] if gap else [(lines[0], role)]
        at += gap + width(lines[0])
        for line in lines[1:]:
            yield row
            row, at = [("  ", ""), (line, role)], 2 + width(line)
    yield row


def _formula(formula: Formula) -> list[Word]:
    return [(formula.plain(), "formula"), *((part, "numbers") for part in (*formula.with_numbers(), *formula.where()))]


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
    arithmetic, remark = line.arithmetic(style.fold, style.lang), line.remark
    arithmetic = arithmetic.removesuffix(remark).rstrip()
    whole = f"{head} {arithmetic}   {remark}" if remark else f"{head} {arithmetic}"
    if width(whole) <= cells:
        return [[(head, "name"), (" ", ""), *_terms(arithmetic), *([("   ", ""), (remark, "remark")] if remark else [])]]
    rows: list[Row] = []
    start: Row = [(head, "name"), (" ", "")]
    for more in _broken(arithmetic, cells - width(head) - 1, cells - width(indent)):
        rows.append([*start, *_terms(more)])
        start = [(indent, "")]
    if remark:
        rows += _wrapped(indent + remark, cells, "remark", indent)
    return rows


def _broken(arithmetic: str, first: int, later: int) -> Iterator[str]:
    """A chain of equations in lines of at most `first` cells, then `later`."""
    line, room = "", first
    for equation in re.split(r" (?=[=≈] )", arithmetic):
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


def _terms(arithmetic: str) -> Row:
    """Arithmetic with its zero terms set apart, so that a format can dim them."""
    if "·" not in arithmetic:
        return [(arithmetic, "arithmetic")]
    row: Row = []
    for word in arithmetic.split(" "):
        role = "zero" if "·" in word and any(factor.strip("()") in ("0", "0.0") for factor in word.split("·")) else "arithmetic"
        if row and row[-1][1] == role:
            row[-1] = (f"{row[-1][0]} {word}", role)
        elif row:
            row += [(" ", "arithmetic"), (word, role)]
        else:
            row.append((word, role))
    return row


def joined(rows: Iterable[Row]) -> str:
    """The words alone."""
    return "\n".join("".join(word for word, _ in row).rstrip() for row in rows) + "\n"
