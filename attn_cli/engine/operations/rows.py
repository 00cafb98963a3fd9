"""Sums, largest entries and lengths of rows, and how a row of scores becomes a row of weights."""

from __future__ import annotations

from itertools import product

import numpy as np

from attn_cli.engine.arrays import Array, Cell
from attn_cli.engine.expression import Expr, constant, summed
from attn_cli.engine.operations.base import Named, Operation, term
from attn_cli.engine.operations.cellwise import divide, multiply, subtract
from attn_cli.engine.operations.reindexing import Reindex


class RowSum(Operation):
    """The sum of each row: (n, m) -> (n,), or (n, 1) where the axis is kept."""

    def __init__(self, keep: bool = False):
        self.keep = keep

    def value(self, *arrays: Array) -> Array:
        sums = np.asarray(arrays[0].sum(axis=-1))
        return sums[..., None] if self.keep else sums

    def formula(self, *exprs: Expr) -> Expr:
        return Expr("row sum", exprs)

    def cell(self, out: Named, at: Cell) -> Expr:
        x = out.operands[0]
        row = at[:-1] if self.keep else at
        return summed(term(x, (*row, j)) for j in range(x.value.shape[-1]))

    def pull(self, g: Named, out: Named) -> tuple[Named | None, ...]:
        shape = out.operands[0].value.shape
        return (Reindex(lambda a: np.broadcast_to(a if self.keep else a[..., None], shape), back=lambda e: Expr("row sum", (e,)))(g),)


class SumTo(Operation):
    """A gradient added up over the axes along which its operand was repeated, to the shape of that operand.

    Leading axes are dropped: heads, (h, n, m) -> (n, m); rows, (n, d) -> (d,); all vectors, (n, m, a) -> (a,). An axis that the
    operand has with length 1 is kept: rows, (n, m) -> (n, 1); of a layer (n, m, a) the keys, -> (n, 1, a), or the queries.
    """

    def __init__(self, shape: tuple[int, ...], of: tuple[int, ...]):
        self.shape, self.of = shape, of
        """The operand's shape, and that of the gradient."""
        lead = len(of) - len(shape)
        self.dropped = tuple(range(lead))
        self.kept = tuple(i - len(of) for i in range(lead, len(of)) if shape[i - lead] == 1 and of[i] > 1)

    def value(self, *arrays: Array) -> Array:
        return np.asarray(arrays[0].sum(axis=(*self.dropped, *self.kept), keepdims=True).reshape(self.shape))

    def formula(self, *exprs: Expr) -> Expr:
        return Expr(self._name(), exprs)

    def _name(self) -> str:
        if not self.dropped and len(self.kept) == 1:
            return ("query sum", "key sum", "row sum")[self.kept[0] + 3]
        if self.kept:
            return "sum"
        if len(self.shape) > 1:
            return "head sum"
        return "column sum" if len(self.dropped) == 1 else "vector sum"

    def cell(self, out: Named, at: Cell) -> Expr:
        fixed = (*[0] * len(self.dropped), *at)
        added = [i in self.dropped or i - len(self.of) in self.kept for i in range(len(self.of))]
        along = product(*(range(size) if add else [i] for size, add, i in zip(self.of, added, fixed, strict=True)))
        return summed(term(out.operands[0], cell) for cell in along)

    def pull(self, g: Named, out: Named) -> tuple[Named | None, ...]:
        return (Reindex(lambda a: np.broadcast_to(a, self.of), back=lambda e: Expr(self._name(), (e,)))(g),)


class RowMax(Operation):
    """The largest of each row, 0 where all of it is masked: (n, m) -> (n, 1). Taken off before exp, it changes no weight."""

    def value(self, *arrays: Array) -> Array:
        largest = arrays[0].max(axis=-1, keepdims=True)
        return np.where(np.isfinite(largest), largest, 0)

    def formula(self, *exprs: Expr) -> Expr:
        return Expr("row max", exprs)

    def cell(self, out: Named, at: Cell) -> Expr:
        x = out.operands[0]
        row = x.value[at[:-1]]
        return term(x, (*at[:-1], int(np.argmax(row)))) if np.isfinite(row).any() else constant(0)


class RowSize(Operation):
    """The size of the largest entry of each row: (n, d) -> (n, 1). A row divided by it has no square that overflows."""

    def value(self, *arrays: Array) -> Array:
        return np.asarray(np.abs(arrays[0]).max(axis=-1, keepdims=True))

    def formula(self, *exprs: Expr) -> Expr:
        return Expr("size", exprs)

    def cell(self, out: Named, at: Cell) -> Expr:
        x = out.operands[0]
        largest = term(x, (*at[:-1], int(np.argmax(np.abs(x.value[at[:-1]])))))
        return largest if largest.evaluate() >= 0 else Expr("scale", (constant(-1), largest))


class RowNorm(Operation):
    """The length of each row: (n, d) -> (n, 1)."""

    def value(self, *arrays: Array) -> Array:
        return np.asarray(np.sqrt(np.sum(np.square(arrays[0]), axis=-1, keepdims=True)))

    def formula(self, *exprs: Expr) -> Expr:
        return Expr("norm", exprs)

    def cell(self, out: Named, at: Cell) -> Expr:
        x = out.operands[0]
        return Expr("root", (summed(Expr("square", (term(x, (*at[:-1], c)),)) for c in range(x.value.shape[-1])),))

    def pull(self, g: Named, out: Named) -> tuple[Named | None, ...]:
        """g·x / ‖x‖, and 0 for a zero row."""
        return (multiply(g, divide(out.operands[0], out)),)


row_max, row_size, row_norm, row_sum, row_sum_kept = RowMax(), RowSize(), RowNorm(), RowSum(), RowSum(keep=True)


class Softmax(Operation):
    """E / Z, each exponential by its row's sum, differentiated in S: (n, m), (n,), (n, m) -> (n, m).

    With A = E / Z, dS = A ∘ (dA − row sums of dA ∘ A). A row of zeros stays zeros.
    """

    def value(self, *arrays: Array) -> Array:
        e, z, _ = arrays
        z = z[..., None]
        return np.divide(e, z, out=np.zeros_like(e), where=z != 0)

    def formula(self, *exprs: Expr) -> Expr:
        e, z, _ = exprs
        return Expr("divide", (e, z))

    def cell(self, out: Named, at: Cell) -> Expr:
        e, z, _ = out.operands
        return Expr("divide", (term(e, at), term(z, at[:-1])))

    def pull(self, g: Named, out: Named) -> tuple[Named | None, ...]:
        return None, None, multiply(out, subtract(g, row_sum_kept(multiply(g, out))))


softmax = Softmax()


class OneHot(Operation):
    """1 at the first of the largest scores of each row, 0 elsewhere, 0 where a whole row is masked: (n, m) -> (n, m). No gradient."""

    def value(self, *arrays: Array) -> Array:
        return one_hot(arrays[0])

    def formula(self, *exprs: Expr) -> Expr:
        return Expr("one-hot", (Expr("row argmax", exprs),))

    def cell(self, out: Named, at: Cell) -> Expr:
        x = out.operands[0]
        return Expr("is largest", (constant(at[-1]), *(term(x, (*at[:-1], j)) for j in range(x.value.shape[-1]))))


def ties(scores: Array) -> Array:
    """True at every key whose score equals its row's largest, to within 1e-12 × max(1, |largest|): (n, m) -> (n, m) bool."""
    largest = np.max(scores, axis=-1, keepdims=True)
    size = np.max(np.where(np.isfinite(scores), np.abs(scores), 0), axis=-1, keepdims=True)
    with np.errstate(invalid="ignore"):
        return np.asarray((scores >= largest - 1e-12 * np.maximum(1, size)) & np.isfinite(scores))


def one_hot(scores: Array) -> Array:
    """1 at the first tied largest score of each row: (n, m) -> (n, m)."""
    best = ties(scores)
    first = np.zeros_like(scores)
    np.put_along_axis(first, np.argmax(best, axis=-1)[..., None], 1, axis=-1)
    return np.where(best.any(axis=-1, keepdims=True), first, 0).astype(scores.dtype)
