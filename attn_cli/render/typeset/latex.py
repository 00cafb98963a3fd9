"""LaTeX: tables, and the arithmetic aligned at its equals signs. A fragment for a document of one's own, or a whole one.

Its first line says which packages a fragment needs. A whole document compiles with pdflatex, or with
xelatex where it holds characters that pdflatex does not know, such as Chinese; its first line says which.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from attn_cli.render.lang import text
from attn_cli.render.page import Block, Formula, Line, Matrix, Page, Paragraph
from attn_cli.render.style import Style
from attn_cli.render.terminal.text import visible, width
from attn_cli.render.typeset.tex import equation, prose, root
from attn_cli.render.typeset.tex_matrices import GAP, TABLE, Piece, brackets, in_brackets, side_by_side, tables

DOCUMENT, FRAGMENT = 92, 66
"""About how many digits a line holds: of a document of ours, and of one whose page we do not know."""

SET = (
    (r"\\(?:left|right)(?![a-z])|\\[,;]", ""),
    (r"\\text[a-z]+\{\}", "x"),
    (r"\\(?:text|mathit|operatorname)\{([^{}]*)\}", r"\1"),
    (r"\\sqrt\{([^{}]*)\}", r"x\1"),
)
"""What commands of TeX leave of the text that they stand before, in the order in which they are taken away."""

MOST_ACROSS = 4
"""No more equations stand on one line."""

NAME = 26
"""The name of a cell that is longer stands in a row of its own."""

PREAMBLE = r"""\documentclass[10pt]{article}
\usepackage[a4paper,margin=20mm]{geometry}
\usepackage{amsmath,amssymb,booktabs,textcomp}
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
\abovedisplayskip=8pt plus 3pt minus 2pt
\abovedisplayshortskip=\abovedisplayskip
\belowdisplayskip=\abovedisplayskip
"""


def draw(page: Page) -> str:
    body = "\n".join(_lines(page)) + "\n"
    if not page.style.standalone:
        needed = {"amssymb": r"\checkmark", "booktabs": r"\toprule"}
        packages = ",".join(["amsmath", *(name for name, sign in needed.items() if sign in body)])
        if r"\begin{align*}" in body:
            body = "\\begingroup\\allowdisplaybreaks\n" + body + "\\endgroup\n"
        return f"% needs \\usepackage{{{packages}}}; attn --standalone makes a whole document\n" + body
    engine = "xelatex" if any(_foreign(c) for c in body) else "pdflatex"
    chinese = CHINESE if any(unicodedata.east_asian_width(c) in "WF" for c in body) else ""
    return f"% compile with {engine}\n" + PREAMBLE + chinese + BODY + body + "\\end{document}\n"


def _foreign(c: str) -> bool:
    """Whether pdflatex has no such letter."""
    return ord(c) > 0x17F


def _room(style: Style) -> int:
    return DOCUMENT if style.standalone else FRAGMENT


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
    formula = block.formula
    if formula is not None and formula.expr is None:
        yield prose(formula.plain())
    if formula is not None and formula.masked:
        yield prose(text("mask", formula.lang))
    for paragraph in block.before:
        yield from _said(paragraph, style)
    yield from _figures(block, _room(style))
    if style.detail == "trace":
        yield from _worked(block.matrices, style)
    for paragraph in block.after:
        yield from _said(paragraph, style)


def _formula(formula: Formula) -> list[Piece]:
    """A formula, and what it speaks of."""
    parts = [formula.tex(), *formula.where_tex(), *formula.with_numbers_tex()]
    return [Piece(part, _set_size(part)) for part in parts]


def _said(paragraph: Paragraph, style: Style) -> Iterator[str]:
    """A sentence, and its worked lines."""
    if paragraph.text:
        yield ""
        yield prose(paragraph.text)
    yield from _arithmetic(paragraph.lines, style)


# ------------------------------------------------------------------ matrices
def _figures(block: Block, wide: int) -> Iterator[str]:
    """The formula of a step and its matrices, side by side as far as they fit."""
    formula = block.formula
    pieces = [] if formula is None or formula.expr is None else _formula(formula)
    symbol = "" if formula is None else formula.symbol.latex
    if len(block.matrices) == 1 and formula is not None and in_brackets(block.matrices[0], wide):
        (matrix,) = block.matrices
        first, *asides = pieces or [Piece(symbol, _size(symbol))]
        yield from _display([_equal(first, brackets(matrix, matrix.caption)), *asides], wide)
        return
    for matrix in block.matrices:
        pieces += [_named(matrix)] if in_brackets(matrix, wide) else tables(matrix, *_corner(matrix, symbol), wide)
    yield from _display(pieces, wide)


def _display(pieces: Sequence[Piece], wide: int) -> Iterator[str]:
    """Pieces of mathematics on a line of their own, or on several."""
    lines = []
    for line in side_by_side(pieces, wide):
        commas = ["" if piece.tex.startswith(TABLE) or after.tex.startswith(TABLE) else "," for piece, after in pairwise(line)]
        lines.append("".join(rf"{piece.tex}{comma}\qquad " for piece, comma in zip(line, commas, strict=False)) + line[-1].tex)
    if len(lines) == 1:
        yield rf"\[ {lines[0]} \]"
    elif lines:
        yield r"\begin{gather*}"
        yield " \\\\[6pt]\n".join(lines)
        yield r"\end{gather*}"


def _equal(left: Piece, right: Piece) -> Piece:
    return Piece(f"{left.tex} = {right.tex}", left.wide + right.wide + 3)


def _named(matrix: Matrix) -> Piece:
    """A matrix in brackets behind its symbol, or under its caption."""
    symbol = _symbol(matrix)
    return brackets(matrix, matrix.caption) if symbol is None else _equal(Piece(symbol, len(matrix.caption)), brackets(matrix))


def _symbol(matrix: Matrix) -> str | None:
    """For math mode, a caption that is a symbol: W_Q."""
    found = re.fullmatch(r"([A-Za-z])(?:_([A-Za-z0-9]+))?", matrix.caption)
    return None if found is None else f"{found[1]}_{{{found[2]}}}" if found[2] else found[1]


def _corner(matrix: Matrix, symbol: str) -> tuple[str, int]:
    """What stands in the corner of a table, and how wide it is: the caption, or the symbol of the step."""
    own = _symbol(matrix) if matrix.caption else symbol
    if own is not None:
        return f"${own}$" if own else "", len(matrix.caption) or _size(own)
    return rf"\textit{{{prose(matrix.caption)}}}", width(visible(matrix.caption))


# ------------------------------------------------------------------ arithmetic
def _worked(matrices: Sequence[Matrix], style: Style) -> Iterator[str]:
    """The arithmetic of the matrices of a step, short lines side by side."""
    found = [matrix.worked(style.full) for matrix in matrices]
    lines = [line for shown, _ in found for line in shown]
    rows = [list(_rows(line, style, width(line.name.plain()))) for line in lines]
    across = (
        _across([row[0] for row in rows], sum(len(matrix.rows) for matrix in matrices), _room(style))
        if all(len(row) == 1 for row in rows)
        else 1
    )
    if across == 1:
        yield from _arithmetic(lines, style)
    else:
        cells = [f"{left} & {right}" for ((left, right),) in rows]
        yield from _aligned(" & ".join(cells[i : i + across]) for i in range(0, len(cells), across))
    if rest := sum(more for _, more in found):
        yield prose(text("more_cells", style.lang, count=rest))


def _across(rows: Sequence[tuple[str, str]], groups: int, wide: int) -> int:
    """How many equations stand on one line: as many as fit, and if possible so that a row of the matrix ends with a line."""
    most = max((_set_size(" ".join(row)) for row in rows), default=wide)
    fit = max(1, min(MOST_ACROSS, wide // (most + GAP), len(rows)))
    if fit < len(rows) <= 3:
        return 1
    each, odd = divmod(len(rows), groups)
    return fit if odd else max((n for n in range(2, fit + 1) if each % n == 0), default=fit)


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
    wide = _room(style)
    one = equation(line, style.fold, style.lang, wide - 12)
    left, right, used = one.name, "", indent
    if indent < width(line.name.plain()):
        yield rf"\rlap{{${one.name}$}}", ""
        left = ""
    for k, (sign, terms) in enumerate(one.sides):
        if k and used + sum(map(_size, terms)) + 3 > wide:
            yield left, right
            left, right, used = "", "", indent
        right, used = f"{right} {sign}".strip(), used + 3
        for t, term in enumerate(terms):
            if t and used + _size(term) > wide:
                yield left, right
                left, right, used = "", r"\quad", indent + 3
            right, used = f"{right} {term}", used + _size(term)
    yield left, rf"{right} \quad \text{{{prose(one.remark)}}}" if one.remark else right


def _size(term: str) -> int:
    """About how many characters wide it will be."""
    term = re.sub(r"\\frac\{([^{}]*)\}\{([^{}]*)\}", lambda m: max(m[1], m[2], key=len), term)
    return len(re.sub(r"\\[a-zA-Z]+\s?|[{}]", ".", term).replace("..", "."))


def _set_size(tex: str) -> int:
    """About how many digits wide a piece of mathematics is when it is set: its blanks count half, of a fraction the wider half."""
    for found, shown in SET:
        tex = re.sub(found, shown, tex)
    tex = re.sub(r"\\frac\{([^{}]*)\}\{([^{}]*)\}", lambda m: max(m[1], m[2], key=len), tex)
    letters = re.sub(r"\\[a-zA-Z]+\s?", "x", tex)
    return width(re.sub(r"[\\{}_^]", "", letters)) - letters.count(" ") * 2 // 5


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
