"""Markdown that GitHub and Jupyter render: a heading and a table a step, formulas as `$…$`.

The worked lines stand in a block of plain text, equals signs under one another: it reads the same raw and rendered, and
nothing in a label can disturb it (mathematics on GitHub goes through Markdown first, which takes the backslash off `\\_`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from attn_cli.render.lang import text
from attn_cli.render.page import Block, Formula, Line, Matrix, Page, Paragraph
from attn_cli.render.style import Style
from attn_cli.render.terminal import layout
from attn_cli.render.terminal.grid import Skin
from attn_cli.render.terminal.text import common_width, left, right, visible
from attn_cli.render.typeset.tex import root

WIDE = 96
"""Characters; longer worked lines wrap."""


def draw(page: Page) -> str:
    return "\n\n".join(_paragraphs(page)) + "\n"


def _paragraphs(shown: Page) -> Iterator[str]:
    """Its paragraphs."""
    style = shown.style
    yield f"# {escaped(shown.title)}"
    if shown.conventions:
        yield " · ".join(f"${math}$" if (math := root(part)) else escaped(part) for part in shown.conventions)
    for paragraph in shown.lead:
        yield from _said(paragraph, style)
    if style.cells:
        rows = list(layout.laid_out(shown, Skin()))
        start = next((i for i, row in enumerate(rows) if not row), 0)
        yield _fenced(layout.joined(rows[start + 1 :]).rstrip("\n"))
    else:
        for block in shown.blocks:
            yield from _block(block, style)
    if shown.notes:
        yield f"## {text('notes', style.lang)}"
        yield "\n".join(f"- {escaped(note.text)}" for note in shown.notes)


def _block(block: Block, style: Style) -> Iterator[str]:
    sign = f"{block.sign}{'' if block.verdict else '.'} " if block.sign else ""
    aside = f" · {escaped(block.aside)}" if block.aside else ""
    yield f"## {sign}{escaped(block.heading)}{aside}{_heading(block.formula)}"
    asides = _asides(block.formula) if block.formula else []
    if asides:
        yield ", ".join(asides)
    for paragraph in block.before:
        yield from _said(paragraph, style)
    for matrix in block.matrices:
        if matrix.caption:
            yield f"*{escaped(matrix.caption)}*"
        yield "\n".join(_table(matrix))
        if style.detail == "trace":
            lines, rest = matrix.worked(style.full)
            if lines:
                yield _worked(lines, style)
            if rest:
                yield escaped(text("more_cells", style.lang, count=rest))
    for paragraph in block.after:
        yield from _said(paragraph, style)


def _heading(formula: Formula | None) -> str:
    """What stands in a heading beside the title."""
    if formula is None:
        return ""
    return f" ({escaped(formula.plain())})" if formula.expr is None else f": ${_math(formula.tex())}$"


def _asides(formula: Formula) -> list[str]:
    formulas = [f"${_math(one)}$" for one in (*formula.where_tex(), *formula.with_numbers_tex())]
    return [*formulas, escaped(text("mask", formula.lang))] if formula.masked else formulas


def _said(paragraph: Paragraph, style: Style) -> Iterator[str]:
    """A sentence, and its worked lines."""
    if paragraph.text:
        sentence = escaped(paragraph.text)
        yield f"**{sentence}**" if paragraph.role == "title" else sentence
    if paragraph.lines:
        lines = (line.plain(0 if style.full else style.fold, style.lang) for line in paragraph.lines)
        yield "\n".join(f"- {escaped(line)}" for line in lines)


def _worked(lines: Sequence[Line], style: Style) -> str:
    return _fenced(layout.joined(layout.worked_lines(lines, style, WIDE)).rstrip("\n"))


def _table(matrix: Matrix) -> Iterator[str]:
    """A pipe table, its columns padded so that it reads well raw."""
    margin = matrix.margin
    rows = [["", *matrix.columns], *([label, *_cells(matrix, i)] for i, label in enumerate(matrix.rows))]
    align = [left, *([right] * len(matrix.columns))]
    if margin and margin.along == "rows":
        for row, aside in zip(rows, (margin.title, *margin.texts), strict=True):
            row.append(aside)
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


def _cells(matrix: Matrix, i: int) -> list[str]:
    """The numbers of a row, each with its mark and the number as it should be."""
    if matrix.marks is None:
        return matrix.texts[i]
    marks = matrix.marks
    return [f"{number} {marks.sign(i, j)} {marks.right[i][j]}".strip() for j, number in enumerate(matrix.texts[i])]


def escaped(plain: str) -> str:
    """A text that shows as it is, in a table too. What GitHub would turn into emoji, people or issues is kept apart by a comment."""
    plain = re.sub(r"[\\`*_\[\]<>|~&]", r"\\\g<0>", visible(plain)).replace("$", r"<span>\$</span>")
    return re.sub(r":(?=[\w+-]+:)|@(?=\w)|#(?=\d)", r"\g<0><!-- -->", plain)


def _math(tex: str) -> str:
    """GitHub does not allow \\operatorname."""
    return tex.replace(r"\operatorname", r"\mathrm")


def _fenced(content: str) -> str:
    """A block of plain text, in a fence longer than any in it."""
    fence = "`" * max([3, *(len(run) + 1 for run in re.findall("`+", content))])
    return f"{fence}text\n{content}\n{fence}"
