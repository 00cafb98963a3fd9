"""A page, whatever its format: a title, the conventions in force, and one block a section.

A worked problem, a report of marking and a class of reports become pages (`walkthrough`, `marked`, `classes`), and every
page format draws a page. Its numbers are text already; its labels are as the user wrote them, so each format escapes them in
its own way (`visible` for terminals).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Literal, NamedTuple

from attn_cli.engine.arrays import Array, Cell
from attn_cli.engine.expression import Expr, Num, Sym
from attn_cli.engine.steps import Step, Trace
from attn_cli.render.lang import text
from attn_cli.render.style import Style, Worked
from attn_cli.render.terminal.text import visible

LINES = 24
"""A trace writes out the arithmetic of this many cells of a matrix, and counts those that follow."""

MARKS = {"right": "✓", "rounded": "≈", "carried": "→", "wrong": "✗", "missing": "·"}
"""The sign of each verdict."""

Escape = Callable[[str], str]


# ------------------------------------------------------------------ arithmetic
class CellName(NamedTuple):
    """The name of a cell, `S[x1,x3]`, or of a row, `A[x1,·]`."""

    symbol: str
    symbol_tex: str
    places: tuple[str, ...]

    def plain(self, escape: Escape = visible) -> str:
        return f"{self.symbol}[{','.join(map(escape, self.places))}]" if self.places else self.symbol

    def tex(self, escape: Escape) -> str:
        """For TeX's math mode; `escape` writes a label."""
        if not self.places:
            return self.symbol_tex
        symbol, _, index = self.symbol_tex.partition("_")
        places = ",".join(map(escape, self.places))
        if not index:
            return f"{symbol}_{{{places}}}"
        within = index.removeprefix("{").removesuffix("}")
        return f"{symbol}_{{{within};{places}}}" if within.isalnum() else f"({self.symbol_tex})_{{{places}}}"


class Line(NamedTuple):
    """One worked line: the name of a cell, its arithmetic, and perhaps a remark."""

    name: CellName
    worked: Worked | None
    at: Cell = ()
    """The cell, as shown, from 0; shorter for a line about a whole row."""
    copied: CellName | None = None
    """Where the number was copied from."""
    remark: str = ""
    names: Callable[[Num], CellName | None] | None = None
    """Names the operands, where the line shows them before their numbers."""

    def plain(self, fold: int = 0, lang: str = "en") -> str:
        return f"{self.name.plain()} {self.arithmetic(fold, lang)}"

    def arithmetic(self, fold: int = 0, lang: str = "en") -> str:
        """All but the name: `= 1 / √4 = 1 / 2 = 0.5`."""
        arithmetic = _unfolded(
            self._written(fold, lambda n: n.plain(), lambda w: w.plain(fold), lambda e, num: e.plain(num, fold), "≈"), lang
        )
        return f"{arithmetic}   {self.remark}" if self.remark else arithmetic

    def tex(self, escape: Escape, fold: int = 0) -> str:
        """For TeX's math mode, the remark left out."""
        arithmetic = self._written(fold, lambda n: n.tex(escape), lambda w: w.tex(fold), lambda e, num: e.tex(num, fold), r"\approx")
        return f"{self.name.tex(escape)} {arithmetic}"

    def _written(
        self,
        fold: int,
        name: Callable[[CellName], str],
        write: Callable[[Worked], str],
        expression: Callable[[Expr, Callable[[Num], str]], str],
        about: str,
    ) -> str:
        parts = []
        if self.copied is not None:
            parts.append(f"= {name(self.copied)}")
        worked = self.worked
        if worked is None:
            return " ".join(parts)
        if self.names is not None and worked.parts and any(self.names(n) for n in worked.parts[0].numbers()):
            of = self.names
            parts.append("= " + expression(worked.parts[0], lambda n: name(found) if (found := of(n)) else worked.num(n)))
        sign = "=" if worked.parts else worked.sign
        return " ".join([*parts, about if sign == "≈" else "=", write(worked)])


def _unfolded(arithmetic: str, lang: str) -> str:
    """Folded sums in the language of the page."""
    if lang == "en" or "more)" not in arithmetic:
        return arithmetic
    return re.sub(r"… \((\d+) more\) …", lambda m: text("more_terms", lang, count=m[1]), arithmetic)


def str_of(n: Num) -> str:
    """A constant in a formula."""
    return str(int(n.value)) if math.isfinite(n.value) and n.value == int(n.value) else repr(n.value)


class Formula(NamedTuple):
    """`S = P / √d_k`, and the values of the symbols in it that stand for one number."""

    symbol: Sym
    expr: Expr | None
    """None where the step was given."""
    numbers: tuple[tuple[Expr, Worked], ...]
    hidden: tuple[Formula, ...]
    """How the steps in it that the page does not show are made: E = exp(S)."""
    masked: bool
    """Whether the mask M stands in it."""
    lang: str

    def plain(self) -> str:
        if self.expr is None:
            return text("given", self.lang, symbol=self.symbol.text)
        return f"{self.symbol.text} = {self.expr.plain(str_of)}"

    def tex(self) -> str:
        if self.expr is None:
            return self.symbol.latex
        return f"{self.symbol.latex} = {self.expr.tex(str_of)}"

    def with_numbers(self) -> list[str]:
        """`√d_k = √4 = 2`, one for each such symbol."""
        return [f"{expr.plain(str_of)} {'=' if w.parts else w.sign} {w.plain()}" for expr, w in self.numbers]

    def where(self) -> list[str]:
        """What else it speaks of: `E = exp(S)`, `M = -∞ where closed`."""
        mask = [text("mask", self.lang)] if self.masked else []
        return [*(formula.plain() for formula in self.hidden), *mask]

    def where_tex(self) -> list[str]:
        """The formulas among `where`, as TeX."""
        return [formula.tex() for formula in self.hidden]

    def with_numbers_tex(self) -> list[str]:
        signs = {"=": "=", "≈": r"\approx"}
        return [f"{expr.tex(str_of)} {'=' if w.parts else signs[w.sign]} {w.tex()}" for expr, w in self.numbers]


# ------------------------------------------------------------------ matrices
class Margin(NamedTuple):
    """What stands beside each row (or under each column) of a matrix: its sum, or the key that it chose."""

    title: str
    texts: tuple[str, ...]
    along: Literal["rows", "columns"]
    numbers: bool


class Marks(NamedTuple):
    """What marking says of the cells of a matrix."""

    verdicts: list[list[str]]
    """One of MARKS for each cell; empty where a row is shorter than the others."""
    right: list[list[str]]
    """The number as it should be, where it differs from what is written and may be shown; else empty."""

    def sign(self, i: int, j: int) -> str:
        return MARKS.get(self.verdicts[i][j], " ")


class Matrix(NamedTuple):
    """A matrix as it is shown: numbers as text, with a label for each row and column."""

    caption: str
    value: Array
    texts: list[list[str]]
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    margin: Margin | None
    shaded: bool
    """Whether its numbers run from 0 to 1 and are shaded by their size."""
    cells: Callable[[], Iterator[Line]]
    """The worked lines, each made when it is asked for."""
    axes: tuple[str, str] = ("", "")
    """What the rows and columns are: query, key or feature; empty for none."""
    prefix: Cell = ()
    """Which head (and query) it belongs to: cell (i, j) of it is cell (*prefix, i, j) of the step."""
    marks: Marks | None = None
    """What marking says of each cell, where its numbers are somebody's."""
    source: str = ""
    """What its block shows it of, where that holds several: the name of an input, or of a step of a class."""
    links: tuple[str, ...] = ()
    """Where the label of each row leads, in pages that have links."""

    def worked(self, full: bool) -> tuple[list[Line], int]:
        """The lines to show, and how many cells follow that are not shown."""
        lines = list(islice(self.cells(), None if full else LINES + 1))
        if full or len(lines) <= LINES:
            return lines, 0
        shown = sum(1 for line in lines[:LINES] if line.worked is not None)
        rest = self.value.size - shown
        return (lines[:LINES], rest) if rest > 0 else (lines, 0)


# ------------------------------------------------------------------ the page
class Paragraph(NamedTuple):
    """A sentence, and the worked lines that it introduces."""

    text: str
    role: str = "said"
    """A verdict, or what else it is."""
    lines: tuple[Line, ...] = ()


class Block(NamedTuple):
    """One section: a step, the inputs, a step as it was marked, a table of a class."""

    name: str
    title: str
    sign: str = ""
    """The number of a step, or the sign of its verdict."""
    verdict: str = ""
    """Of a step as it was marked."""
    aside: str = ""
    """What stands beside the title: the points."""
    formula: Formula | None = None
    before: tuple[Paragraph, ...] = ()
    matrices: tuple[Matrix, ...] = ()
    after: tuple[Paragraph, ...] = ()
    symbol: str = ""
    step: Step | None = None
    apart: bool = False
    """Whether it stands alone, even where another block would fit beside it."""

    @property
    def heading(self) -> str:
        """Its title with a capital letter, where it is no name."""
        return self.title if self.verdict else self.title[:1].upper() + self.title[1:]


class Remark(NamedTuple):
    """A note as a sentence."""

    code: str
    text: str
    warning: bool


class Page(NamedTuple):
    """A page, ready to be set."""

    title: str
    conventions: tuple[str, ...]
    """Joined by ` · ` they make the line under the title."""
    blocks: tuple[Block, ...]
    notes: tuple[Remark, ...]
    style: Style
    trace: Trace | None = None
    """What the names and sources of its cells are found in; None for a class."""
    lead: tuple[Paragraph, ...] = ()
    """What is said first of all."""
