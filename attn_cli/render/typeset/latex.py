"""LaTeX: tables, and the arithmetic aligned at its equals signs. A fragment for a document of one's own, or a whole one.

The fragment needs amsmath, and one with the marks of a report amssymb. A whole document compiles with pdflatex, or with
xelatex where it holds characters that pdflatex does not know, such as Chinese; its first line says which.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator

from attn_cli.render.lang import text
from attn_cli.render.page import Block, Formula, Line, Margin, Matrix, Page, Paragraph
from attn_cli.render.style import Style
from attn_cli.render.terminal.text import visible, width
from attn_cli.render.typeset.tex import equation, escaped, prose, root

WIDE = 78
"""Characters that a line holds, about."""

NAME = 26
"""The name of a cell that is longer stands in a row of its own."""

PREAMBLE = r"""\documentclass[11pt]{article}
\usepackage[a4paper,margin=22mm]{geometry}
\usepackage{amsmath,amssymb,textcomp}
\usepackage{iftex}
\ifPDFTeX
  \usepackage[utf8]{inputenc}
  \IfFileExists{lmodern.sty}{\usepackage[T1]{fontenc}\usepackage{lmodern}}{}
\fi
"""
CHINESE = r"\usepackage[scheme=plain]{ctex}" + "\n"
BODY = r"""\setlength{\parindent}{0pt}
\setlength{\parskip}{6pt plus 2pt}
\allowdisplaybreaks
\begin{document}
"""


def draw(page: Page) -> str:
    body = "\n".join(_lines(page)) + "\n"
    if not page.style.standalone:
        packages = "amsmath,amssymb" if r"\checkmark" in body else "amsmath"
        return f"% needs \\usepackage{{{packages}}}; attn --standalone makes a whole document\n" + body
    engine = "xelatex" if any(_foreign(c) for c in body) else "pdflatex"
    chinese = CHINESE if any(unicodedata.east_asian_width(c) in "WF" for c in body) else ""
    return f"% compile with {engine}\n" + PREAMBLE + chinese + BODY + body + "\\end{document}\n"


def _foreign(c: str) -> bool:
    """Whether pdflatex has no such letter."""
    return ord(c) > 0x17F


def _lines(shown: Page) -> Iterator[str]:
    style = shown.style
    yield rf"\section*{{{prose(shown.title)}}}"
    yield " \\textperiodcentered{} ".join(f"${math}$" if (math := root(part)) else prose(part) for part in shown.conventions)
    for paragraph in shown.lead:
        yield from _said(paragraph, style)
    if style.cells:
        yield from _derivations(shown)
    else:
        for block in shown.blocks:
            yield from _block(block, style)
    if shown.notes:
        yield ""
        yield rf"\subsection*{{{prose(text('notes', style.lang))}}}"
        yield r"\begin{itemize}"
        for note in shown.notes:
            yield rf"\item {prose(note.text)}"
        yield r"\end{itemize}"


def _block(block: Block, style: Style) -> Iterator[str]:
    yield ""
    sign = rf"{prose(block.sign)}\quad " if block.sign else ""
    aside = rf" \textperiodcentered{{}} {prose(block.aside)}" if block.aside else ""
    yield rf"\subsection*{{{sign}{prose(block.heading)}{aside}}}"
    if block.formula is not None:
        yield from _formula(block.formula)
    for paragraph in block.before:
        yield from _said(paragraph, style)
    for matrix in block.matrices:
        yield from _matrix(matrix, style)
    for paragraph in block.after:
        yield from _said(paragraph, style)


def _formula(formula: Formula) -> Iterator[str]:
    if formula.expr is None:
        yield prose(formula.plain())
    else:
        parts = r",\qquad ".join([formula.tex(), *formula.where_tex(), *formula.with_numbers_tex()])
        yield rf"\[ {parts} \]"
    if formula.masked:
        yield prose(text("mask", formula.lang))
        yield ""


def _said(paragraph: Paragraph, style: Style) -> Iterator[str]:
    """A sentence, and its worked lines."""
    if paragraph.text:
        yield ""
        yield prose(paragraph.text)
    yield from _arithmetic(paragraph.lines, style)


# ------------------------------------------------------------------ matrices
def _matrix(matrix: Matrix, style: Style) -> Iterator[str]:
    if matrix.caption:
        yield ""
        yield rf"\textit{{{prose(matrix.caption)}}}"
    for first, last in _blocks(matrix):
        yield r"\nopagebreak\begin{center}"
        yield from _table(matrix, first, last)
        yield r"\end{center}"
    if style.detail == "trace":
        lines, rest = matrix.worked(style.full)
        yield from _arithmetic(lines, style)
        if rest:
            yield prose(text("more_cells", style.lang, count=rest))


def _blocks(matrix: Matrix) -> Iterator[tuple[int, int]]:
    """Where each block of columns starts and ends: a table wider than the page is split."""
    wide = 2 + (0 if matrix.marks is None else 3 + max((len(number) for row in matrix.marks.right for number in row), default=0))
    widths = [max([*(len(row[j]) for row in matrix.texts), _label_width(matrix, j)]) + wide for j in range(len(matrix.columns))]
    room = WIDE - max((width(visible(row)) for row in matrix.rows), default=0) - 8
    first, used = 0, 0
    for j, cells in enumerate(widths):
        if j > first and used + cells > room:
            yield first, j
            first, used = j, 0
        used += cells
    yield first, len(widths)


def _label_width(matrix: Matrix, j: int) -> int:
    return min(width(visible(matrix.columns[j])), WIDE // 3)


def _table(matrix: Matrix, first: int, last: int) -> Iterator[str]:
    margin = matrix.margin
    beside = margin if margin and margin.along == "rows" and last == len(matrix.columns) else None
    below = margin if margin and margin.along == "columns" else None
    sums = "|r" if margin and margin.numbers else "|l"
    yield rf"\begin{{tabular}}{{l|{'r' * (last - first)}{sums if beside else ''}}}"
    head = ["", *map(escaped, matrix.columns[first:last]), *([_title(beside.title)] if beside else [])]
    yield rf"{' & '.join(head)} \\ \hline"
    aside = _margin(beside)
    for i, row in enumerate(matrix.rows):
        cells = [escaped(row), *(_cell(matrix, i, j) for j in range(first, last)), *aside[i : i + 1]]
        yield rf"{' & '.join(cells)} \\"
    if below:
        yield rf"\hline {' & '.join([_title(below.title), *_margin(below)[first:last]])} \\"
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
    mantissa, e, power = number.partition("e")
    if e:
        return rf"${mantissa} \cdot 10^{{{power}}}$"
    return f"${number}$".replace("∞", r"\infty") if number.startswith("-") or "∞" in number else number


# ------------------------------------------------------------------ arithmetic
def _arithmetic(lines: Iterable[Line], style: Style) -> Iterator[str]:
    lines = list(lines)
    indent = max((n for n in (width(line.name.plain()) for line in lines) if n <= NAME), default=0)
    yield from _aligned(f"{left} & {right}" for line in lines for left, right in _rows(line, style, indent))


def _aligned(rows: Iterable[str]) -> Iterator[str]:
    """Rows one under the other, those with fractions a little apart."""
    rows = list(rows)
    if rows:
        yield r"\begin{align*}"
        yield from (row + (r" \\[4pt]" if r"\frac" in row else r" \\") for row in rows[:-1])
        yield rows[-1]
        yield r"\end{align*}"


def _rows(line: Line, style: Style, indent: int) -> Iterator[tuple[str, str]]:
    """One equation in rows that fit, each as what stands left and right of the alignment: broken before its equals signs, and
    within a long side before + and -."""
    one = equation(line, style.fold, style.lang, WIDE - 12)
    left, right, used = one.name, "", indent
    if indent < width(line.name.plain()):
        yield rf"\rlap{{${one.name}$}}", ""
        left = ""
    for k, (sign, terms) in enumerate(one.sides):
        if k and used + sum(map(_size, terms)) + 3 > WIDE:
            yield left, right
            left, right, used = "", "", indent
        right, used = f"{right} {sign}".strip(), used + 3
        for t, term in enumerate(terms):
            if t and used + _size(term) > WIDE:
                yield left, right
                left, right, used = "", r"\quad", indent + 3
            right, used = f"{right} {term}", used + _size(term)
    yield left, rf"{right} \quad \text{{{prose(one.remark)}}}" if one.remark else right


def _size(term: str) -> int:
    """About how many characters wide it will be."""
    term = re.sub(r"\\frac\{([^{}]*)\}\{([^{}]*)\}", lambda m: max(m[1], m[2], key=len), term)
    return len(re.sub(r"\\[a-zA-Z]+\s?|[{}]", ".", term).replace("..", "."))


def _derivations(shown: Page) -> Iterator[str]:
    """Each number's way from the inputs, a line under the one that it belongs to."""
    from attn_cli.render.derivation import derivations

    style = shown.style
    for one in derivations(shown.trace, style):
        nodes, rest = one.shown()
        rows = [
            rf"&\hspace{{{2 * depth + 2 * (i > 0)}em}} {left} {right}"
            for depth, node in nodes
            for i, (left, right) in enumerate(_rows(node.line, style, min(width(node.line.name.plain()), NAME)))
        ]
        yield from _aligned(rows)
        if rest:
            yield prose(text("more_lines", style.lang, count=rest))
