"""What a walkthrough says, whatever its format: a title, the conventions in force, and one block a step.

Every format is a view of a `Page`. Its numbers are text already; its labels are as the user wrote them, so each
format escapes them in its own way (`visible` for terminals).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Literal, NamedTuple

import numpy as np

from attn_cli.engine.arrays import Array
from attn_cli.engine.expression import Expr, Num, Origin, Sym
from attn_cli.engine.modes import MODES
from attn_cli.engine.notes import Note
from attn_cli.engine.operations import Masked, OneHot, Reindex, Weighted
from attn_cli.engine.steps import STEPS, Step, Trace, turned
from attn_cli.errors import UsageError
from attn_cli.render.lang import known, note_text, text
from attn_cli.render.style import Cell, Style, Worked
from attn_cli.render.terminal.text import visible

READABLE = 2**19
"""Numbers on a page: a text of more takes minutes and gigabytes to lay out."""

LINES = 24
"""A trace writes out the arithmetic of so many cells of a matrix, and says how many follow."""

Escape = Callable[[str], str]


# ------------------------------------------------------------------ the parts of a page
class CellName(NamedTuple):
    """The name of a cell, `S[x1,x3]`, or of a row, `A[x1,·]`."""

    symbol: str
    symbol_tex: str
    places: tuple[str, ...]

    def plain(self, escape: Escape = visible) -> str:
        return f"{self.symbol}[{','.join(map(escape, self.places))}]" if self.places else self.symbol

    def tex(self, escape: Escape) -> str:
        """For TeX's math mode; `escape` writes a label."""
        return f"{self.symbol_tex}[{','.join(map(escape, self.places))}]" if self.places else self.symbol_tex


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
        told = _unfolded(self._told(fold, lambda n: n.plain(), lambda w: w.plain(fold), lambda e, num: e.plain(num, fold), "≈"), lang)
        return f"{told}   {self.remark}" if self.remark else told

    def tex(self, escape: Escape, fold: int = 0) -> str:
        """For TeX's math mode, the remark left out."""
        told = self._told(fold, lambda n: n.tex(escape), lambda w: w.tex(fold), lambda e, num: e.tex(num, fold), r"\approx")
        return f"{self.name.tex(escape)} {told}"

    def _told(
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


class Margin(NamedTuple):
    """What stands beside each row (or under each column) of a matrix: its sum, or the key that it chose."""

    title: str
    texts: tuple[str, ...]
    along: Literal["rows", "columns"]
    numbers: bool


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

    def worked(self, full: bool) -> tuple[list[Line], int]:
        """The lines to show, and how many cells follow that are not shown."""
        lines = list(islice(self.cells(), None if full else LINES + 1))
        if full or len(lines) <= LINES:
            return lines, 0
        shown = sum(1 for line in lines[:LINES] if line.worked is not None)
        rest = self.value.size - shown
        return (lines[:LINES], rest) if rest > 0 else (lines, 0)


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


class Block(NamedTuple):
    """One step."""

    number: int
    step: Step
    name: str
    title: str
    formula: Formula
    matrices: tuple[Matrix, ...]
    masks: tuple[Matrix, ...] = ()
    """In a trace, who may attend to whom, where the step closes cells: 1 where a query may attend."""

    @property
    def symbol(self) -> str:
        return self.step.symbol.text


class Remark(NamedTuple):
    """A note as a sentence."""

    code: str
    text: str
    warning: bool


class Page(NamedTuple):
    """A walkthrough, ready to be set."""

    title: str
    conventions: tuple[str, ...]
    """Joined by ` · ` they make the line under the title."""
    blocks: tuple[Block, ...]
    notes: tuple[Remark, ...]
    style: Style
    trace: Trace


def page(trace: Trace, style: Style, notes: Sequence[Note] | None = None, *, read: bool = True) -> Page:
    """The page of a trace. Raises InputError for a step in `style.only` that is not there; where it will be `read` by
    people, UsageError for one too long for that."""
    numbers = sum(step.value.size for step in shown_steps(trace, style))
    if read and numbers > READABLE and not style.cells:
        raise UsageError(
            f"these steps have {numbers:,} numbers, more than anyone reads; "
            "write them to a .npz, .json or .csv file, or name fewer with --only"
        )
    names = Names(trace)
    return Page(
        trace.problem.title or default_title(trace, style.lang),
        tuple(_conventions(trace, style)),
        tuple(_block(number, step, trace, style, names) for number, step in enumerate(shown_steps(trace, style), 1)),
        tuple(Remark(n.code, note_text(n, style.lang), n.warning) for n in (trace.notes if notes is None else notes)),
        style,
        trace,
    )


def shown_steps(trace: Trace, style: Style) -> list[Step]:
    """The steps asked for. Exponentials and row sums are shown in a trace, or where they are named."""
    if style.only:
        asked = {trace.step(name).name for name in style.only}
        return [step for step in trace if step.name in asked]
    return [step for step in trace if style.detail == "trace" or not step.kind.detail]


def step_title(step: Step, trace: Trace, lang: str) -> str:
    """What a step is called: "dot products"; of a gradient, what it is the gradient of."""
    if step.of:
        inner = f"step.{step.of}"
        of = text(inner, lang, str(trace.settings.get("score"))) if known(inner, lang) else step.of
        return text("step.gradient", lang, of=of)
    key = f"step.{step.name}"
    if not known(key, lang):
        return step.name
    return text(key, lang, "columns" if step.columns and step.name == "row_sums" else str(trace.settings.get("score")))


def step_formula(step: Step, trace: Trace, style: Style) -> Formula:
    """How a step is made."""
    expr = step.formula
    shown = {other.name for other in shown_steps(trace, style)}
    symbols = {e.text for e in _leaves(expr) if isinstance(e, Sym)} if expr is not None else set()
    hidden = [other for other in trace if other.kind.detail and other.name not in shown and other.symbol.text in symbols]
    masked = isinstance(step.made.operation, Masked)
    numbers = {e.plain(str_of): e for e in _numeric_parts(expr)} if expr is not None else {}
    worked = tuple((e, style.worked(e.substituted(), e.evaluate())) for e in numbers.values())
    return Formula(step.symbol, expr, worked, tuple(step_formula(other, trace, style) for other in hidden), masked, style.lang)


# ------------------------------------------------------------------ names
class Names:
    """How rows, columns and cells of a trace are called."""

    def __init__(self, trace: Trace):
        self.trace = trace
        self.columns = trace.problem.vectors == "columns"

    def labels(self, axis: str, size: int) -> tuple[str, ...]:
        """The labels along one axis of a step."""
        own = {"query": self.trace.query_labels, "key": self.trace.key_labels}.get(axis)
        return own if own is not None and len(own) == size else tuple(str(i + 1) for i in range(size))

    def cell(self, step: Step, at: Cell) -> CellName:
        """The name of the cell that is shown at `at`; -1 stands for all of an axis."""
        axes, shape = step.axes, step.value.shape
        places = [("·" if i < 0 else self.labels(axis, size)[i]) for i, axis, size in zip(at, axes, shape, strict=True)]
        symbol, tex = step.symbol.text, step.symbol.latex
        if axes[0] == "head":
            head = at[0] + 1
            symbol, tex = f"{step.kind.plain}{subscript(head)}", f"{step.kind.tex}_{{{head}}}"
            places = places[1:]
        return CellName(symbol, tex, tuple(places))

    def step_of(self, n: Num) -> Step | None:
        """The step that a number is a cell of; None for inputs and constants."""
        source = n.source
        if source is None or source.name not in self.trace:
            return None
        step = self.trace.step(source.name)
        # An input may have a step's name: the given scores, before bias and mask make the step `scores` of them.
        same = source.operation is not None or (step.made.operation is None and step.made.value is source.value)
        return step if same and len(n.at) == step.value.ndim else None

    def of(self, n: Num) -> CellName | None:
        """The name of the cell that a number was taken from; None for a constant."""
        if n.source is None or not n.source.name:
            return None
        step = self.step_of(n)
        return self._input(n.source, n.at) if step is None else self.cell(step, step.row_cell(n.at))

    def _input(self, source: Origin, at: Cell) -> CellName:
        name = source.name.rpartition(".")[2]
        symbol = source.expr if isinstance(source.expr, Sym) else Sym(text=name, latex=name)
        rows = {"X": "query", "context": "key", "Q": "query", "K": "key", "V": "key", "noise": "query", "bias": "query", "scores": "query"}
        axes = [rows.get(name, ""), "key" if name in ("noise", "bias", "scores") else ""]
        axes = ["query"] if name == "draw" else axes[: source.value.ndim]
        axes = [*[""] * (source.value.ndim - len(axes)), *axes]
        places = [self.labels(axis, size)[i] for i, axis, size in zip(at, axes, source.value.shape, strict=True)]
        if self.columns and len(places) > 1 and symbol.flips:
            places[-2:] = reversed(places[-2:])
        return CellName(symbol.text, symbol.latex, tuple(places))


def subscript(number: int) -> str:
    return str(number).translate(str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉"))


def str_of(n: Num) -> str:
    """A constant in a formula."""
    return str(int(n.value)) if math.isfinite(n.value) and n.value == int(n.value) else repr(n.value)


# ------------------------------------------------------------------ title and conventions
def default_title(trace: Trace, lang: str) -> str:
    """The title of a problem that has none."""
    score, mode = trace.settings.get("score"), trace.problem.mode
    told = text(f"mode.{mode}", lang) if known(f"mode.{mode}", lang) else mode
    if score is None:
        return _capital(text("title.given", lang, mode=told))
    return _capital(text("title", lang, score=text(f"score.{score}", lang) if known(f"score.{score}", lang) else score, mode=told))


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def _conventions(trace: Trace, style: Style) -> Iterator[str]:
    problem, sizes, lang = trace.problem, trace.sizes, style.lang
    columns = "columns" if problem.vectors == "columns" else ""
    yield text("columns" if columns else "rows", lang)
    along = f"along.{problem.mode}"
    yield text(along, lang, columns) if known(along, lang) else problem.mode
    if problem.mask is not None and problem.mask.in_force:
        yield text("may_attend", lang)
    if sizes.h > 1:
        key = "heads" if sizes.kv_heads == sizes.h else "heads.shared"
        yield text(key, lang, h=sizes.h, kv=sizes.kv_heads)
    if problem.scale is not None and problem.scores is None:
        yield text("scale", lang, scale=style.exact(problem.scale))
    elif trace.settings.get("score") == "scaled" and sizes.d_k:
        root = Expr("root", (Sym(text="d_k", latex="d_k", number=sizes.d_k),))
        yield f"√d_k = {style.worked(root.substituted(), math.sqrt(sizes.d_k)).plain()}"
    if problem.temperature != 1:
        yield text("temperature", lang, temperature=style.exact(problem.temperature))
    if MODES[problem.mode].random:
        yield text("seed", lang, seed=problem.seed)


# ------------------------------------------------------------------ blocks
def _block(number: int, step: Step, trace: Trace, style: Style, names: Names) -> Block:
    formula = step_formula(step, trace, style)
    masks = _masks(step, style, names) if style.detail == "trace" else ()
    return Block(number, step, step.name, step_title(step, trace, style.lang), formula, _matrices(step, trace, style, names), masks)


def _masks(step: Step, style: Style, names: Names) -> tuple[Matrix, ...]:
    """The mask that closes cells of a step, once where every head has the same."""
    if not isinstance(step.made.operation, Masked):
        return ()
    allowed = np.broadcast_to(step.made.operation.allowed, step.made.value.shape)
    blocks = (turned(step.name, allowed) if step.columns else allowed).reshape(-1, *step.value.shape[-2:])
    blocks = blocks[:1] if (blocks == blocks[:1]).all() else blocks
    rows, columns = (names.labels(axis, size) for axis, size in zip(step.axes[-2:], step.value.shape[-2:], strict=True))
    captions = (
        [text("mask.picture", style.lang)]
        if len(blocks) == 1
        else [f"{text('mask.picture', style.lang)}, {text('head', style.lang, number=i + 1)}" for i in range(len(blocks))]
    )
    return tuple(
        Matrix(caption, block.astype(float), [[str(int(may)) for may in row] for row in block], rows, columns, None, False, _no_lines)
        for caption, block in zip(captions, blocks, strict=True)
    )


def _no_lines() -> Iterator[Line]:
    return iter(())


def _numeric_parts(expr: Expr) -> Iterator[Expr]:
    """The largest parts that stand for one number and contain a symbol: √d_k."""
    if _is_numeric(expr):
        if any(isinstance(e, Sym) for e in _leaves(expr)):
            yield expr
        return
    for a in expr.args:
        yield from _numeric_parts(a)


def _is_numeric(expr: Expr) -> bool:
    return all(isinstance(e, Num) or (isinstance(e, Sym) and e.number is not None) for e in _leaves(expr))


def _leaves(expr: Expr) -> Iterator[Expr]:
    if not expr.args:
        yield expr
    for a in expr.args:
        yield from _leaves(a)


def _matrices(step: Step, trace: Trace, style: Style, names: Names) -> tuple[Matrix, ...]:
    value = step.value
    whole = all_whole(value)
    vector = len(step.axes) == 1 or len(step.kind.axes) == 1
    axes = step.axes
    lead = axes[:-1] if vector else axes[:-2]
    return tuple(_matrix(step, prefix, lead, vector, whole, trace, style, names) for prefix in np.ndindex(*value.shape[: len(lead)]))


def _matrix(step: Step, prefix: Cell, lead: Sequence[str], vector: bool, whole: bool, trace: Trace, style: Style, names: Names) -> Matrix:
    value = step.value[prefix]
    captions = {"head": "head", "query": "of_query", "key": "of_key"}
    caption = ", ".join(
        text(captions[axis], style.lang, number=i + 1, label=names.labels(axis, step.value.shape[k])[i])
        for k, (axis, i) in enumerate(zip(lead, prefix, strict=True))
    )
    if vector:
        labels, own = names.labels(step.axes[-1], len(value)), (step.symbol.text.replace("ₕ", ""),)
        shown = value[None, :] if step.columns else value[:, None]
        rows, columns = (own, labels) if step.columns else (labels, own)
        around = ("", step.axes[-1]) if step.columns else (step.axes[-1], "")
    else:
        shown = value
        rows, columns = (names.labels(axis, size) for axis, size in zip(step.axes[-2:], value.shape, strict=True))
        around = (step.axes[-2], step.axes[-1])
    write = style.whole if whole else style.number
    texts = [[write(v) for v in row] for row in shown.tolist()]
    margin = _margin(step, value, trace, style) if step.name == "weights" else None
    make = _Lines(step, prefix, trace, style, names)
    return Matrix(caption, shown, texts, rows, columns, margin, step.name == "weights", make.lines, around, prefix)


def all_whole(value: Array) -> bool:
    """Whether all cells are whole numbers (or masked), so that they are shown without decimals."""
    finite = value[np.isfinite(value)]
    return bool(finite.size and np.all(finite == np.trunc(finite)) and np.all(np.abs(finite) < 10**10))


def picks_one(trace: Trace) -> bool:
    """Whether the mode puts all weight of a row on one key."""
    return not MODES[trace.problem.mode].differentiable


def _margin(step: Step, value: Array, trace: Trace, style: Style) -> Margin:
    axis = 0 if step.columns else 1
    along: Literal["rows", "columns"] = "columns" if step.columns else "rows"
    if not picks_one(trace):
        return Margin("Σ", tuple(style.number(v) for v in value.sum(axis=axis).tolist()), along, True)
    chosen = np.where(value.any(axis=axis), value.argmax(axis=axis), -1).tolist()
    return Margin(text("chosen", style.lang), tuple(trace.key_labels[j] if j >= 0 else "-" for j in chosen), along, False)


class _Lines(NamedTuple):
    """The worked lines of one matrix of a step, in the order in which one writes them."""

    step: Step
    prefix: Cell
    trace: Trace
    style: Style
    names: Names

    def lines(self) -> Iterator[Line]:
        if self.step.made.operation is None or (self.step.given and not isinstance(self.step.made.operation, Reindex)):
            return
        if len(self.step.axes) == 1 or len(self.step.kind.axes) == 1:
            yield from (self.line((*self.prefix, i)) for i in range(self.step.value.shape[-1]))
            return
        for row in self._rows():
            yield from self._row(row)

    def _rows(self) -> Iterator[list[Cell]]:
        """The cells of each query or key in turn, also where every token is a column."""
        rows, columns = self.step.value.shape[-2:]
        if self.step.columns and self.step.name != "hidden":
            yield from ([(*self.prefix, i, j) for i in range(rows)] for j in range(columns))
        else:
            yield from ([(*self.prefix, i, j) for j in range(columns)] for i in range(rows))

    def _row(self, cells: list[Cell]) -> Iterator[Line]:
        made = self.step.made
        if self.step.name == "weights" and isinstance(made.operation, OneHot):
            yield self._comparison(cells)
            return
        if isinstance(made.operation, Weighted) and picks_one(self.trace) and (copy := self._copy(cells[0])) is not None:
            yield copy
        yield from map(self.line, cells)
        if self.step.name == "weights":
            yield self._sum(cells)

    def line(self, at: Cell) -> Line:
        """One cell's arithmetic."""
        return worked_line(self.step, at, self.style, self.names)

    def _whole_row(self, at: Cell) -> CellName:
        """The name of all the cells of a query: S[x1,·], or S[·,x1] where tokens are columns."""
        return self.names.cell(self.step, (*at[:-2], -1, at[-1]) if self.step.columns else (*at[:-1], -1))

    def _query(self, at: Cell) -> Cell:
        """Whose row (or column, where tokens are columns) a cell stands in."""
        return (*at[:-2], at[-1]) if self.step.columns else at[:-1]

    def _sum(self, cells: list[Cell]) -> Line:
        """The check that a row of weights adds up to 1."""
        nums = tuple(self._num(at) for at in cells)
        total = math.fsum(n.value for n in nums)
        name = self._whole_row(cells[0])
        worked = self.style.worked(Expr("add", nums) if len(nums) > 1 else nums[0], round(total, 12))
        return Line(CellName(f"Σ {name.symbol}", rf"\sum {name.symbol_tex}", name.places), worked, self._query(cells[0]))

    def _num(self, at: Cell) -> Num:
        return Num(value=float(self.step.value[at]), source=self.step.made, at=self.step.row_cell(at))

    def _comparison(self, cells: list[Cell]) -> Line:
        """The comparison of a row's scores that picks the key."""
        expr = self.step.cell(cells[0])
        scores = expr.args[1:]
        chosen = next((j for j, at in enumerate(cells) if self.step.value[at]), None)
        largest = max((s.evaluate() for s in scores), default=-math.inf)
        key = text("nothing", self.style.lang) if chosen is None else visible(self.trace.key_labels[chosen])
        source = scores[0].source if isinstance(scores[0], Num) else None
        name = self._whole_row(cells[0])
        worked = self.style.worked(Expr("max", scores) if len(scores) > 1 else scores[0], largest)
        if source is not None and source.name in self.trace:
            step = self.trace.step(source.name)
            at = (*cells[0][:-2], -1, cells[0][-1]) if step.columns else (*cells[0][:-1], -1)
            name = self.names.cell(step, at)
            name = CellName(f"max {name.symbol}", rf"\max {name.symbol_tex}", name.places)
        return Line(name, worked, self._query(cells[0]), remark=f"→ {key}")

    def _copy(self, at: Cell) -> Line | None:
        """The value row that a hard choice copies."""
        query = at[-1] if self.step.columns else at[-2]
        weights = self.trace.step("weights")
        row = weights.made.value[(*self.prefix, query)]
        if not row.any() or "V" not in self.trace:
            return None
        key, v = int(row.argmax()), self.trace.step("V")
        head = tuple(i // (self.trace.sizes.h // self.trace.sizes.kv_heads) for i in self.prefix) if v.value.ndim > 2 else ()
        copied = self.names.cell(v, (*head, -1, key) if self.step.columns else (*head, key, -1))
        remark = text("copied", self.style.lang, "columns" if self.step.columns else "", key=visible(self.trace.key_labels[key]))
        return Line(self._whole_row(at), None, self._query(at), copied=copied, remark=remark)


def worked_line(step: Step, at: Cell, style: Style, names: Names, named: bool = False) -> Line:
    """The arithmetic of the cell that is shown at `at`; `named` also names its operands."""
    expr, value = step.cell(at), float(step.value[at])
    remark = ""
    if isinstance(step.made.operation, Masked) and value == -math.inf:
        remark = text("closed", style.lang)
    if expr.op == "divide" and expr.args[1].evaluate() == 0:  # 0 / 0: nothing to attend to, or a zero row under the cosine
        return Line(names.cell(step, at), style.worked(Num(value=value, exact=True), value), at)
    name, copied = names.cell(step, at), names.of(expr) if isinstance(expr, Num) else None
    if copied == name:
        copied, remark = None, text("as_given", style.lang)
    return Line(name, style.worked(expr, value), at, copied, remark, names.of if named and copied is None else None)


def _unfolded(told: str, lang: str) -> str:
    """Folded sums in the language of the page."""
    if lang == "en" or "more)" not in told:
        return told
    import re

    return re.sub(r"… \((\d+) more\) …", lambda m: text("more_terms", lang, count=m[1]), told)


__all__ = ["STEPS", "Block", "CellName", "Formula", "Line", "Margin", "Matrix", "Names", "Page", "Remark", "page", "shown_steps"]
