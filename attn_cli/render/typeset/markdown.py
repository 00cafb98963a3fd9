"""Markdown that GitHub and Jupyter render: a heading and a table a step, formulas as `$…$`.

The worked lines stand in a block of plain text, equals signs under one another: it reads the same raw and rendered, and
nothing in a label can disturb it (mathematics on GitHub goes through Markdown first, which takes the backslash off `\\_`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from attn_cli.engine.notes import Note
from attn_cli.engine.steps import Trace
from attn_cli.render.lang import text
from attn_cli.render.page import Block, Matrix, Page, page
from attn_cli.render.style import Style
from attn_cli.render.terminal import layout
from attn_cli.render.terminal.text import common_width, left, right, visible
from attn_cli.render.typeset.tex import root

WIDE = 96
"""Worked lines wrap beyond so many characters."""


def render(trace: Trace, style: Style, notes: Sequence[Note]) -> str:
    return "\n\n".join(_page(page(trace, style, notes))) + "\n"


def _page(shown: Page) -> Iterator[str]:
    """Its paragraphs."""
    style = shown.style
    yield f"# {escaped(shown.title)}"
    yield " · ".join(f"${math}$" if (math := root(part)) else escaped(part) for part in shown.conventions)
    if style.cells:
        rows = list(layout.walkthrough(shown, layout.Skin()))
        start = next((i for i, row in enumerate(rows) if not row), 0)
        yield _fenced(layout.joined(rows[start + 1 :]).rstrip("\n"))
    else:
        for block in shown.blocks:
            yield from _block(block, style)
    if shown.notes:
        yield f"## {text('notes', style.lang)}"
        yield "\n".join(f"- {escaped(note.text)}" for note in shown.notes)


def _block(block: Block, style: Style) -> Iterator[str]:
    title, formula = block.title[:1].upper() + block.title[1:], block.formula
    given = formula.expr is None
    yield f"## {block.number}. {escaped(title)}" + (f" ({escaped(formula.plain())})" if given else f": ${_math(formula.tex())}$")
    told = [f"${_math(one)}$" for one in (*formula.where_tex(), *formula.with_numbers_tex())]
    if formula.masked:
        told.append(escaped(text("mask", style.lang)))
    if told:
        yield ", ".join(told)
    for matrix in (*block.masks, *block.matrices):
        if matrix.caption:
            yield f"*{escaped(matrix.caption)}*"
        yield "\n".join(_table(matrix))
        if style.detail == "trace":
            lines, rest = matrix.worked(style.full)
            if lines:
                yield _fenced(layout.joined(layout.worked_lines(lines, style, WIDE)).rstrip("\n"))
            if rest:
                yield escaped(text("more_cells", style.lang, count=rest))


def _table(matrix: Matrix) -> Iterator[str]:
    """A pipe table, its columns padded so that it reads well raw."""
    margin = matrix.margin
    rows = [["", *matrix.columns], *([label, *texts] for label, texts in zip(matrix.rows, matrix.texts, strict=True))]
    align = [left, *([right] * len(matrix.columns))]
    if margin and margin.along == "rows":
        for row, told in zip(rows, (margin.title, *margin.texts), strict=True):
            row.append(told)
        align.append(right if margin.numbers else left)
    elif margin:
        rows.append([margin.title, *margin.texts])
    cells = [[escaped(cell) for cell in row] for row in rows]
    cells[0][0] = ""
    widths = [max(3, common_width(column)) for column in zip(*cells, strict=True)]
    ruled = ["-" * w if fit is left else "-" * (w - 1) + ":" for w, fit in zip(widths, align, strict=True)]
    for i, row in enumerate(cells):
        yield f"| {' | '.join(fit(cell, w) for cell, w, fit in zip(row, widths, align, strict=True))} |"
        if not i:
            yield f"| {' | '.join(ruled)} |"


def escaped(told: str) -> str:
    """A text that shows as it is, in a table too. What GitHub would turn into emoji, people or issues is kept apart by a comment."""
    told = re.sub(r"[\\`*_\[\]<>|~&]", r"\\\g<0>", visible(told)).replace("$", r"<span>\$</span>")
    return re.sub(r":(?=[\w+-]+:)|@(?=\w)|#(?=\d)", r"\g<0><!-- -->", told)


def _math(tex: str) -> str:
    """GitHub does not allow \\operatorname."""
    return tex.replace(r"\operatorname", r"\mathrm")


def _fenced(told: str) -> str:
    """A block of plain text, in a fence longer than any in it."""
    fence = "`" * max([3, *(len(run) + 1 for run in re.findall("`+", told))])
    return f"{fence}text\n{told}\n{fence}"
