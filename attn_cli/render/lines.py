"""The arithmetic of the cells of a step, in the order in which one writes it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from attn_cli.engine.arrays import Cell
from attn_cli.engine.expression import Expr, Num
from attn_cli.engine.modes import MODES
from attn_cli.engine.operations import Masked, OneHot, Reindex, Weighted
from attn_cli.engine.steps import Step, Trace
from attn_cli.render.labels import Names
from attn_cli.render.lang import text
from attn_cli.render.page import CellName, Line
from attn_cli.render.style import Style
from attn_cli.render.terminal.text import visible


def picks_one(trace: Trace) -> bool:
    """Whether the mode puts all weight of a row on one key."""
    return not MODES[trace.problem.mode].differentiable


class StepLines(NamedTuple):
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
        worked = self.style.worked(Expr("max", scores) if len(scores) > 1 else scores[0], largest, self.trace.problem.written)
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
        remark = text("masked", style.lang)
    if expr.op == "divide" and expr.args[1].evaluate() == 0:  # 0 / 0: nothing to attend to, or a zero row under the cosine
        return Line(names.cell(step, at), style.worked(Num(value=value, exact=True), value), at)
    name, copied = names.cell(step, at), names.of(expr) if isinstance(expr, Num) else None
    if copied == name:
        copied, remark = None, text("as_given", style.lang)
    worked = style.worked(expr, value, names.trace.problem.written)
    return Line(name, worked, at, copied, remark, names.of if named and copied is None else None)
