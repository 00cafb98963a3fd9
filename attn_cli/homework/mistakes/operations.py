"""Operations that only mistakes need."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from attn_cli.engine import operations as op
from attn_cli.engine.arrays import Array, Cell
from attn_cli.engine.expression import Expr, constant, summed
from attn_cli.engine.operations import Named

turn = op.Reindex(lambda a: np.swapaxes(a, -1, -2), *[lambda e: Expr("transpose", (e,))] * 2)
"""(n, m) -> (m, n)"""


def over_rows(x: Named) -> Named:
    """Each row divided by its sum: (n, m) -> (n, m)."""
    return op.divide(x, op.row_sum_kept(x))


def in_one_row(x: Named) -> Named:
    """(n, m) -> (1, n·m)"""
    return moved(x, lambda a: a.reshape(*a.shape[:-2], 1, -1))


def shaped(x: Named, shape: tuple[int, ...]) -> Named:
    """The same cells, row after row, in another shape."""
    return moved(x, lambda a: a.reshape(shape))


def moved(x: Named, move: Callable[[Array], Array]) -> Named:
    """Cells moved, repeated or left out."""
    return op.Reindex(move)(x)


class OverHeads(op.Operation):
    """The sum over the heads, or their mean: (h, n, m) -> (n, m)."""

    def __init__(self, mean: bool):
        self.mean = mean

    def value(self, *arrays: Array) -> Array:
        return np.asarray(arrays[0].mean(axis=0) if self.mean else arrays[0].sum(axis=0))

    def formula(self, *exprs: Expr) -> Expr:
        return exprs[0]

    def cell(self, out: Named, at: Cell) -> Expr:
        x = out.operands[0]
        total = summed(op.term(x, (head, *at)) for head in range(len(x.value)))
        return Expr("divide", (total, constant(len(x.value)))) if self.mean else total

    def pull(self, g: Named, out: Named) -> tuple[Named | None, ...]:
        shape = out.operands[0].value.shape
        each = g.value / shape[0] if self.mean else g.value
        return (op.revalued(g, np.broadcast_to(each, shape)),)


mean_of_heads, sum_of_heads = OverHeads(mean=True), OverHeads(mean=False)


class Sigmoid(op.Elementwise):
    """1 / (1 + exp(−S)), cell by cell: (n, m) -> (n, m)."""

    def value(self, *arrays: Array) -> Array:
        return np.asarray(1 / (1 + np.exp(-arrays[0])))

    def formula(self, *exprs: Expr) -> Expr:
        return Expr("divide", (constant(1), Expr("add", (constant(1), Expr("exp", (Expr("scale", (constant(-1), *exprs)),))))))

    def cell(self, out: Named, at: Cell) -> Expr:
        return self.formula(*self.operand_cells(out, at))

    def pull(self, g: Named, out: Named) -> tuple[Named | None, ...]:
        return (op.revalued(g, g.value * out.value * (1 - out.value)),)


class Logarithm(op.Elementwise):
    """log a, −∞ where a is 0: (n, m) -> (n, m)."""

    op = "log"

    def value(self, *arrays: Array) -> Array:
        return np.log(arrays[0], out=np.full_like(arrays[0], -np.inf), where=arrays[0] > 0)

    def pull(self, g: Named, out: Named) -> tuple[Named | None, ...]:
        a = out.operands[0].value
        return (op.revalued(g, np.divide(g.value, a, out=np.zeros_like(a), where=a > 0)),)


sigmoid, logarithm = Sigmoid(), Logarithm()
