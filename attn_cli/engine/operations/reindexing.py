"""Moving cells about: cutting and joining heads, repeating and flattening; and adding cells up where they came from."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from attn_cli.engine.arrays import Array, Cell
from attn_cli.engine.expression import Expr, first_head, summed, symbol
from attn_cli.engine.operations.base import Named, Operation, term


def _same(e: Expr) -> Expr:
    return e


class Reindex(Operation):
    """Cells moved, repeated or left out, none changed: cutting and joining heads, repeating them, flattening.

    `move` is any NumPy indexing or reshaping; applied to the cells' numbers, it shows where each came from.
    `shown` says how the moved array is written, and `back` how the gradient is written that moves the other way; by default
    both are written like the array itself.
    """

    copies = True

    def __init__(self, move: Callable[[Array], Array], shown: Callable[[Expr], Expr] = _same, back: Callable[[Expr], Expr] = _same):
        self.move, self.shown, self.back = move, shown, back

    def value(self, *arrays: Array) -> Array:
        return self.move(arrays[0])

    def formula(self, *exprs: Expr) -> Expr:
        return self.shown(exprs[0])

    def source(self, shape: tuple[int, ...]) -> Array:
        """The number of the cell that each cell came from."""
        return self.move(np.arange(int(np.prod(shape))).reshape(shape))

    def cell(self, out: Named, at: Cell) -> Expr:
        x = out.operands[0]
        return term(x, tuple(int(i) for i in np.unravel_index(int(self.source(x.value.shape)[at]), x.value.shape)))

    def pull(self, g: Named, out: Named) -> tuple[Named | None, ...]:
        shape = out.operands[0].value.shape
        return (Scatter(self.source(shape), shape, self.back, self.shown)(g),)


class Scatter(Operation):
    """Cells added up where they came from: the gradient of a reindexing."""

    def __init__(self, source: Array, shape: tuple[int, ...], shown: Callable[[Expr], Expr], back: Callable[[Expr], Expr]):
        self.source, self.shape, self.shown, self.back = source, shape, shown, back

    def value(self, *arrays: Array) -> Array:
        added = np.bincount(self.source.ravel(), arrays[0].ravel(), int(np.prod(self.shape)))
        return added.reshape(self.shape).astype(arrays[0].dtype)

    def formula(self, *exprs: Expr) -> Expr:
        return self.shown(exprs[0])

    def cell(self, out: Named, at: Cell) -> Expr:
        here = np.argwhere(self.source == np.ravel_multi_index(at, self.shape))
        return summed(term(out.operands[0], tuple(int(i) for i in where)) for where in here)

    def pull(self, g: Named, out: Named) -> tuple[Named | None, ...]:
        return (Reindex(lambda a: a.ravel()[self.source], self.back, self.shown)(g),)


# ------------------------------------------------------------------ heads
def _block(e: Expr) -> Expr:
    return Expr("block", (e,))


def _joined(e: Expr) -> Expr:
    return Expr("join", (first_head(e), e))


def cut_heads(h: int) -> Reindex:
    """(n, h·d) -> (h, n, d): consecutive groups of columns."""
    return Reindex(lambda a: a.reshape(len(a), h, -1).swapaxes(0, 1), _block, _joined)


join_heads = Reindex(lambda a: a.swapaxes(0, 1).reshape(a.shape[1], -1), _joined, _block)
"""(h, n, d) -> (n, h·d)"""


def repeat_heads(times_each: int) -> Reindex:
    """(kv_heads, m, d) -> (h, m, d): each key and value head serves consecutive query heads."""
    return Reindex(lambda a: np.repeat(a, times_each, axis=0), back=lambda e: Expr("group sum", (e,)))


unchanged = Reindex(lambda a: a)
"""X where it serves as Q, K or V itself: (n, d) -> (n, d)"""


def shown_as(x: Named, expr: Expr) -> Named:
    """The same value, written as `expr` where it is used next."""
    return Reindex(lambda a: a, lambda e: expr)(x)


# ------------------------------------------------------------------ pairs of a query and a key
every_key = Reindex(lambda x: x[..., :, None, :])
"""A vector of each query, for every key: (n, d) -> (n, 1, d)"""
every_query = Reindex(lambda x: x[..., None, :, :])
"""A vector of each key, for every query: (m, d) -> (1, m, d)"""


class Pairs(Operation):
    """[q; k] for every query and key: (n, 1, d_q), (1, m, d_k) -> (n, m, d_q + d_k)."""

    def value(self, *arrays: Array) -> Array:
        q, k = arrays
        grid = (*q.shape[:-2], k.shape[-2])
        return np.concatenate([np.broadcast_to(x, (*grid, x.shape[-1])) for x in (q, k)], axis=-1)

    def formula(self, *exprs: Expr) -> Expr:
        return Expr("pair", exprs)

    def cell(self, out: Named, at: Cell) -> Expr:
        q, k = out.operands
        *head, i, j, c = at
        width = q.value.shape[-1]
        return term(q, (*head, i, 0, c)) if c < width else term(k, (*head, 0, j, c - width))

    def pull(self, g: Named, out: Named) -> tuple[Named | None, ...]:
        q, k = out.operands
        width = q.value.shape[-1]
        of_q = Reindex(lambda a: a[..., :width], lambda e: Expr("part", (e, symbol("q"))))
        of_k = Reindex(lambda a: a[..., width:], lambda e: Expr("part", (e, symbol("k"))))
        return of_q(g), of_k(g)


pairs = Pairs()
