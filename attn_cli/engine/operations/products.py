"""Products: of matrices, of weights with values, and of vectors one at a time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from attn_cli.engine.arrays import Array, Cell, all_finite
from attn_cli.engine.expression import Expr, constant, summed, transposed
from attn_cli.engine.operations.base import Named, Operation, revalued, term


class Product(Operation):
    """a·b, with either factor turned: (n, d), (d, m) -> (n, m).

    left: aᵀ·b, (d, n), (d, m) -> (n, m); right: a·bᵀ, (n, d), (m, d) -> (n, m).
    """

    def __init__(self, left: bool = False, right: bool = False):
        self.left, self.right = left, right

    def value(self, *arrays: Array) -> Array:
        a, b = arrays
        return np.asarray(np.matmul(a.mT if self.left else a, b.mT if self.right else b))

    def formula(self, *exprs: Expr) -> Expr:
        a, b = exprs
        return Expr("multiply", (transposed(a) if self.left else a, transposed(b) if self.right else b))

    def cell(self, out: Named, at: Cell) -> Expr:
        a, b = out.operands
        *head, i, j = at
        inner = a.value.shape[-2 if self.left else -1]

        def factor(x: Named, row: int, column: int) -> Expr:
            return term(x, (*head[len(head) - (x.value.ndim - 2) :], row, column))

        return summed(
            Expr("multiply", (factor(a, k, i) if self.left else factor(a, i, k), factor(b, j, k) if self.right else factor(b, k, j)))
            for k in range(inner)
        )

    def pull(self, g: Named, out: Named) -> tuple[Named | None, ...]:
        a, b = out.operands
        da = Product(self.right, True)(b, g) if self.left else Product(False, not self.right)(g, b)
        db = Product(True, self.left)(g, a) if self.right else Product(not self.left, False)(a, g)
        return da, db


product = Product()
product_t = Product(right=True)


class Weighted(Product):
    """A·V, (n, m), (m, d) -> (n, d), where a weight of exactly 0 skips its value row, so that 0·NaN is nothing."""

    def value(self, *arrays: Array) -> Array:
        a, v = arrays
        if all_finite(v):
            return np.asarray(np.matmul(a, v))
        read = np.matmul((a != 0).astype(v.dtype), (~np.isfinite(v)).astype(v.dtype)) > 0
        return np.where(read, np.nan, np.matmul(a, np.where(np.isfinite(v), v, 0)))

    def pull(self, g: Named, out: Named) -> tuple[Named | None, ...]:
        a, v = out.operands
        if all_finite(v.value):
            return super().pull(g, out)
        readable = revalued(v, np.where(np.isfinite(v.value), v.value, 0).astype(v.value.dtype))
        return super().pull(g, replace(out, operands=(a, readable)))

    def cell(self, out: Named, at: Cell) -> Expr:
        whole = super().cell(out, at)
        terms = whole.args if whole.op == "add" else (whole,)
        kept = [t for t in terms if all(np.isfinite(f.evaluate()) for f in t.args)]
        return summed(kept) if kept else constant(0)


weighted = Weighted()


# ------------------------------------------------------------------ one vector at a time, so that nothing turns with the layout
class Linear(Operation):
    """W·x for every vector x, or Wᵀ·x: (…, d), (a, d) -> (…, a)."""

    def __init__(self, turned: bool = False):
        self.turned = turned

    def value(self, *arrays: Array) -> Array:
        x, w = arrays
        return np.asarray(np.matmul(x, w if self.turned else w.T))

    def formula(self, *exprs: Expr) -> Expr:
        x, w = exprs
        return Expr("linear", (transposed(w) if self.turned else w, x))

    def cell(self, out: Named, at: Cell) -> Expr:
        x, w = out.operands
        row = at[-1]
        return summed(
            Expr("linear", (term(w, (c, row) if self.turned else (row, c)), term(x, (*at[:-1], c)))) for c in range(x.value.shape[-1])
        )

    def pull(self, g: Named, out: Named) -> tuple[Named | None, ...]:
        x, w = out.operands
        return Linear(not self.turned)(g, w), outer_sum(x, g) if self.turned else outer_sum(g, x)


class OuterSum(Operation):
    """The sum of a·bᵀ over all pairs of vectors: (…, a), (…, b) -> (a, b)."""

    def value(self, *arrays: Array) -> Array:
        a, b = (x.reshape(-1, x.shape[-1]) for x in arrays)
        return np.asarray(np.matmul(a.T, b))

    def formula(self, *exprs: Expr) -> Expr:
        a, b = exprs
        return Expr("outer sum", (Expr("linear", (a, transposed(b))),))

    def cell(self, out: Named, at: Cell) -> Expr:
        a, b = out.operands
        return summed(Expr("linear", (term(a, (*i, at[0])), term(b, (*i, at[1])))) for i in np.ndindex(a.value.shape[:-1]))

    def pull(self, g: Named, out: Named) -> tuple[Named | None, ...]:
        a, b = out.operands
        return Linear()(b, g), Linear(turned=True)(a, g)


class Weigh(Operation):
    """vᵀ·x for every vector x: (…, a), (a,) or (…, a) -> (…)."""

    def value(self, *arrays: Array) -> Array:
        x, v = arrays
        return np.asarray(np.matmul(x, v) if v.ndim == 1 else (x * v).sum(axis=-1))

    def formula(self, *exprs: Expr) -> Expr:
        x, v = exprs
        return Expr("linear", (transposed(v), x))

    def cell(self, out: Named, at: Cell) -> Expr:
        x, v = out.operands
        return summed(
            Expr("linear", (term(v, (c,) if v.value.ndim == 1 else (*at, c)), term(x, (*at, c)))) for c in range(v.value.shape[-1])
        )

    def pull(self, g: Named, out: Named) -> tuple[Named | None, ...]:
        x, v = out.operands
        return each(g, v), each(g, x)


class Each(Operation):
    """s·x, a number for each place times the vector there: (…), (…, a) or (a,) -> (…, a)."""

    def value(self, *arrays: Array) -> Array:
        s, x = arrays
        return np.asarray(s[..., None] * x)

    def formula(self, *exprs: Expr) -> Expr:
        return Expr("each", exprs)

    def cell(self, out: Named, at: Cell) -> Expr:
        s, x = out.operands
        return Expr("each", (term(s, at[:-1]), term(x, at[-1:] if x.value.ndim == 1 else at)))

    def pull(self, g: Named, out: Named) -> tuple[Named | None, ...]:
        s, x = out.operands
        return weigh(g, x), each(s, g)


linear, outer_sum, weigh, each = Linear(), OuterSum(), Weigh(), Each()
