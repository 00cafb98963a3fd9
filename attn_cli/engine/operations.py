"""The operations that attention is made of, each in ONE place: its value, formula, cell arithmetic and gradient.

An operation applied to named values gives a named value:

    scores = over(product_t(q, k), root_of_width)        # Q·Kᵀ / √d_k

Every shape below may have leading head axes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from attn_cli.engine.expression import Expr, Num, Sym, constant, symbol
from attn_cli.engine.problem import Array, all_finite

Cell = tuple[int, ...]

quietly = np.errstate(over="ignore", under="ignore", invalid="ignore")
"""Decorates what applies operations: numbers that grow too large are refused by name afterwards, so NumPy need not warn of them."""


@dataclass(eq=False, slots=True)  # never changed once made, yet not frozen: that takes as long as a small matrix product
class Named:
    """An array that knows how it is written and what it was made of."""

    value: Array
    expr: Expr
    """Its symbol, once it is recorded; until then the formula that makes it."""
    operation: Operation | None = None
    """None for what was given."""
    operands: tuple[Named, ...] = ()
    name: str = ""
    """The step or input it is recorded under; empty while it is only on the way to one."""
    exact: bool = False
    """Given, so that its numbers print as they were written."""

    @property
    def known(self) -> bool:
        """Whether the arithmetic of a cell may stop here, at its number."""
        return bool(self.name) or self.operation is None

    def cell(self, at: Cell) -> Expr:
        """The arithmetic of one cell, opened until it meets recorded or given values."""
        return term(self, at) if self.operation is None else self.operation.cell(self, at)


def given(name: str, value: Array, expr: Expr) -> Named:
    """An input of the problem."""
    return Named(value, expr, name=name, exact=True)


def term(x: Named, at: Cell) -> Expr:
    """A cell of an operand as it stands inside somebody else's arithmetic."""
    if x.known:
        return Num(value=float(x.value[at]), exact=x.exact, source=x, at=at)
    assert x.operation is not None
    return x.operation.cell(x, at)


class Operation:
    """One operation. A subclass keeps only what it needs besides its operands, and never changes it."""

    copies: bool = False
    """Whether it only copies cells, so that numbers that were given stay as they were written."""

    def __call__(self, *operands: Named) -> Named:
        value = self.value(*[o.value for o in operands])
        formula = self.formula(*[o.expr for o in operands])
        return Named(value, formula, self, operands, exact=self.copies and operands[0].exact)

    def value(self, *arrays: Array) -> Array:
        """The array it makes."""
        raise NotImplementedError

    def formula(self, *exprs: Expr) -> Expr:
        """How it is written."""
        raise NotImplementedError

    def cell(self, out: Named, at: Cell) -> Expr:
        """The arithmetic of cell `at` of `out`, which this operation made."""
        raise NotImplementedError

    def pull(self, g: Named, out: Named) -> tuple[Named | None, ...]:
        """The gradient with respect to each operand, from the gradient `g` with respect to `out`; None where there is none."""
        return (None,) * len(out.operands)


# ------------------------------------------------------------------ products
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
        return Expr("multiply", (_transpose(a) if self.left else a, _transpose(b) if self.right else b))

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
        return _unbroadcast(da, a), _unbroadcast(db, b)


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


class Linear(Operation):
    """W·x for every vector x: (…, d), (a, d) -> (…, a). Read one vector at a time, so it does not turn with the layout."""

    def value(self, *arrays: Array) -> Array:
        x, w = arrays
        return np.asarray(np.matmul(x, w.T))

    def formula(self, *exprs: Expr) -> Expr:
        x, w = exprs
        return Expr("linear", (w, x))

    def cell(self, out: Named, at: Cell) -> Expr:
        x, w = out.operands
        return summed(Expr("linear", (term(w, (at[-1], c)), term(x, (*at[:-1], c)))) for c in range(w.value.shape[1]))

    def pull(self, g: Named, out: Named) -> tuple[Named | None, ...]:
        x, w = out.operands
        return product(g, w), Product(left=True)(flattened(g), flattened(x))


linear = Linear()


class Weigh(Operation):
    """vᵀ·x for every vector x: (…, a), (a,) -> (…)."""

    def value(self, *arrays: Array) -> Array:
        x, v = arrays
        return np.asarray(np.matmul(x, v))

    def formula(self, *exprs: Expr) -> Expr:
        x, v = exprs
        return Expr("linear", (Expr("transpose", (v,)), x))

    def cell(self, out: Named, at: Cell) -> Expr:
        x, v = out.operands
        return summed(Expr("linear", (term(v, (c,)), term(x, (*at, c)))) for c in range(v.value.shape[0]))

    def pull(self, g: Named, out: Named) -> tuple[Named | None, ...]:
        x, v = out.operands
        column = Reindex(lambda a: a[..., None], "column")(g)
        return multiply(column, v), Reindex(lambda a: a[0], "row")(Product(left=True)(flattened(column), flattened(x)))


weigh = Weigh()


# ------------------------------------------------------------------ cell by cell
class Elementwise(Operation):
    """A function of the cells that stand at the same place, with NumPy's broadcasting."""

    op: str = ""

    def operand_cells(self, out: Named, at: Cell) -> tuple[Expr, ...]:
        """Each operand's cell for cell `at` of the result."""
        return tuple(term(o, _broadcast(at, o.value.shape)) for o in out.operands)

    def formula(self, *exprs: Expr) -> Expr:
        return Expr(self.op, exprs)

    def cell(self, out: Named, at: Cell) -> Expr:
        return Expr(self.op, self.operand_cells(out, at))


class Add(Elementwise):
    """a + b"""

    op: str = "add"

    def value(self, *arrays: Array) -> Array:
        a, b = arrays
        return a + b

    def formula(self, *exprs: Expr) -> Expr:
        return summed(exprs)

    def cell(self, out: Named, at: Cell) -> Expr:
        return summed(self.operand_cells(out, at))

    def pull(self, g: Named, out: Named) -> tuple[Named | None, ...]:
        a, b = out.operands
        return _unbroadcast(g, a), _unbroadcast(g, b)


class Subtract(Elementwise):
    """a − b"""

    op: str = "subtract"

    def value(self, *arrays: Array) -> Array:
        a, b = arrays
        return a - b

    def pull(self, g: Named, out: Named) -> tuple[Named | None, ...]:
        a, b = out.operands
        return _unbroadcast(g, a), _unbroadcast(times(constant(-1))(g), b)


class Multiply(Elementwise):
    """a ∘ b"""

    op: str = "hadamard"

    def value(self, *arrays: Array) -> Array:
        a, b = arrays
        return a * b

    def cell(self, out: Named, at: Cell) -> Expr:
        return Expr("scale", self.operand_cells(out, at))

    def pull(self, g: Named, out: Named) -> tuple[Named | None, ...]:
        a, b = out.operands
        return _unbroadcast(multiply(g, b), a), _unbroadcast(multiply(g, a), b)


class Divide(Elementwise):
    """a / b, where 0 / 0 is 0."""

    op: str = "divide"

    def value(self, *arrays: Array) -> Array:
        a, b = arrays
        return np.divide(a, b, out=np.zeros(np.broadcast_shapes(a.shape, b.shape), np.result_type(a, b)), where=b != 0)

    def pull(self, g: Named, out: Named) -> tuple[Named | None, ...]:
        a, b = out.operands
        return _unbroadcast(divide(g, b), a), _unbroadcast(times(constant(-1))(divide(multiply(g, out), b)), b)


class Square(Elementwise):
    """a²"""

    op: str = "square"

    def value(self, *arrays: Array) -> Array:
        return np.square(arrays[0])

    def pull(self, g: Named, out: Named) -> tuple[Named | None, ...]:
        return (times(constant(2))(multiply(g, out.operands[0])),)


class Tanh(Elementwise):
    """tanh(a)"""

    op: str = "tanh"

    def value(self, *arrays: Array) -> Array:
        return np.tanh(arrays[0])

    def pull(self, g: Named, out: Named) -> tuple[Named | None, ...]:
        """g ∘ (1 − tanh²)"""
        one = Named(np.ones((), out.value.dtype), constant(1), exact=True)
        return (multiply(g, subtract(one, square(out))),)


class Exp(Elementwise):
    """exp(a)"""

    op: str = "exp"

    def value(self, *arrays: Array) -> Array:
        return np.exp(arrays[0])

    def pull(self, g: Named, out: Named) -> tuple[Named | None, ...]:
        return (multiply(g, out),)


class ClipAtZero(Elementwise):
    """max(a, 0)"""

    op: str = "max"

    def value(self, *arrays: Array) -> Array:
        return np.maximum(arrays[0], 0)

    def formula(self, *exprs: Expr) -> Expr:
        return Expr("max", (*exprs, constant(0)))

    def cell(self, out: Named, at: Cell) -> Expr:
        return Expr("max", (*self.operand_cells(out, at), constant(0)))


class Scale(Elementwise):
    """c·a, or a / c, for a constant c that keeps its own expression (√d_k, 0.5, T)."""

    def __init__(self, by: Expr, divide: bool = False):
        self.by, self.divide = by, divide

    def value(self, *arrays: Array) -> Array:
        c = arrays[0].dtype.type(self.by.evaluate())
        return np.asarray(arrays[0] / c if self.divide else arrays[0] * c)

    def formula(self, *exprs: Expr) -> Expr:
        return Expr("divide", (exprs[0], self.by)) if self.divide else Expr("scale", (self.by, exprs[0]))

    def cell(self, out: Named, at: Cell) -> Expr:
        a, by = self.operand_cells(out, at)[0], self.by.substituted()
        return Expr("divide", (a, by)) if self.divide else Expr("scale", (by, a))

    def pull(self, g: Named, out: Named) -> tuple[Named | None, ...]:
        return (self(g),)


def times(c: Expr) -> Scale:
    return Scale(by=c)


def over(c: Expr) -> Scale:
    return Scale(by=c, divide=True)


add, subtract, multiply, divide, square, tanh, exp, clip_at_zero = (
    Add(),
    Subtract(),
    Multiply(),
    Divide(),
    Square(),
    Tanh(),
    Exp(),
    ClipAtZero(),
)


class Close(Elementwise):
    """Scores with −∞ wherever the mask does not let a query attend: (n, m) -> (n, m)."""

    def __init__(self, allowed: Array):
        self.allowed = allowed

    def value(self, *arrays: Array) -> Array:
        return np.where(self.allowed, arrays[0], -np.inf)

    def formula(self, *exprs: Expr) -> Expr:
        mask = symbol("M")
        return summed((*exprs, of_head(mask) if self.allowed.ndim == 3 else mask))

    def cell(self, out: Named, at: Cell) -> Expr:
        if self.allowed[_broadcast(at, self.allowed.shape)]:
            return self.operand_cells(out, at)[0]
        return constant(-np.inf)

    def pull(self, g: Named, out: Named) -> tuple[Named | None, ...]:
        open_ = Named(self.allowed.astype(g.value.dtype), symbol("[M = 0]", "[M = 0]"), exact=True)
        return (multiply(g, open_),)


# ------------------------------------------------------------------ over rows
class RowSum(Operation):
    """The sum of each row: (n, m) -> (n,), or (n, 1) where the axis is kept."""

    def __init__(self, keep: bool = False):
        self.keep = keep

    def value(self, *arrays: Array) -> Array:
        return np.asarray(arrays[0].sum(axis=-1, keepdims=self.keep))

    def formula(self, *exprs: Expr) -> Expr:
        return Expr("row sum", exprs)

    def cell(self, out: Named, at: Cell) -> Expr:
        x = out.operands[0]
        row = at[:-1] if self.keep else at
        return summed(term(x, (*row, j)) for j in range(x.value.shape[-1]))

    def pull(self, g: Named, out: Named) -> tuple[Named | None, ...]:
        shape = out.operands[0].value.shape
        return (Reindex(lambda a: np.broadcast_to(a if self.keep else a[..., None], shape), "row sums")(g),)


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


row_max, row_norm, row_sum, row_sum_kept = RowMax(), RowNorm(), RowSum(), RowSum(keep=True)


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
    """1 at the first of the largest scores of each row, 0 elsewhere; a closed row stays 0: (n, m) -> (n, m). It has no gradient."""

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


# ------------------------------------------------------------------ moving cells about
class Reindex(Operation):
    """Cells moved, repeated or left out, none changed: cutting and joining heads, repeating them, flattening.

    `move` is any NumPy indexing or reshaping; applied to the numbers of the cells it tells where each came from.
    `shown` says how the moved array is written; by default like the array itself.
    """

    copies = True

    def __init__(self, move: Callable[[Array], Array], what: str = "", shown: Callable[[Expr], Expr] = lambda e: e):
        self.move, self.what, self.shown = move, what, shown

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
        return (Scatter(self.source(shape), shape)(g),)


class Scatter(Operation):
    """Cells added up where they came from: the gradient of a reindexing, and of broadcasting."""

    def __init__(self, source: Array, shape: tuple[int, ...]):
        self.source, self.shape = source, shape

    def value(self, *arrays: Array) -> Array:
        added = np.bincount(self.source.ravel(), arrays[0].ravel(), int(np.prod(self.shape)))
        return added.reshape(self.shape).astype(arrays[0].dtype)

    def formula(self, *exprs: Expr) -> Expr:
        return exprs[0]

    def cell(self, out: Named, at: Cell) -> Expr:
        here = np.argwhere(self.source == np.ravel_multi_index(at, self.shape))
        return summed(term(out.operands[0], tuple(int(i) for i in where)) for where in here)

    def pull(self, g: Named, out: Named) -> tuple[Named | None, ...]:
        return (Reindex(lambda a: a.ravel()[self.source], "scatter")(g),)


class Pairs(Operation):
    """[q; k] for every query and key: (n, d_q), (m, d_k) -> (n, m, d_q + d_k)."""

    def value(self, *arrays: Array) -> Array:
        q, k = arrays
        *head, n, d_q = q.shape
        m, d_k = k.shape[-2:]
        return np.concatenate(
            [np.broadcast_to(q[..., :, None, :], (*head, n, m, d_q)), np.broadcast_to(k[..., None, :, :], (*head, n, m, d_k))], axis=-1
        )

    def formula(self, *exprs: Expr) -> Expr:
        return Expr("pair", exprs)

    def cell(self, out: Named, at: Cell) -> Expr:
        q, k = out.operands
        *head, i, j, c = at
        width = q.value.shape[-1]
        return term(q, (*head, i, c)) if c < width else term(k, (*head, j, c - width))

    def pull(self, g: Named, out: Named) -> tuple[Named | None, ...]:
        q, k = out.operands
        width = q.value.shape[-1]
        dq = _along(Reindex(lambda a: a[..., :width], "first part")(g), -2, q.value.shape)
        dk = _along(Reindex(lambda a: a[..., width:], "second part")(g), -3, k.value.shape)
        return dq, dk


pairs = Pairs()


def cut_heads(h: int) -> Reindex:
    """(n, h·d) -> (h, n, d): consecutive groups of columns."""
    return Reindex(lambda a: a.reshape(len(a), h, -1).swapaxes(0, 1), "cut", lambda e: Expr("block", (e,)))


join_heads = Reindex(
    lambda a: a.swapaxes(0, 1).reshape(a.shape[1], -1),
    "join",
    lambda e: Expr("join", (symbol("O₁", "O_1"), e)),
)
"""(h, n, d) -> (n, h·d)"""


def repeat_heads(times_each: int) -> Reindex:
    """(kv_heads, m, d) -> (h, m, d): each key and value head serves consecutive query heads."""
    return Reindex(lambda a: np.repeat(a, times_each, axis=0), "repeat")


unchanged = Reindex(lambda a: a, "unchanged")
"""X where it serves as Q, K or V itself: (n, d) -> (n, d)"""


def flattened(x: Named) -> Named:
    """(…, d) -> (rows, d)"""
    return x if x.value.ndim == 2 else Reindex(lambda a: a.reshape(-1, a.shape[-1]), "flatten")(x)


# ------------------------------------------------------------------ helpers
def _transpose(e: Expr) -> Expr:
    return e.args[0] if e.op == "transpose" else Expr("transpose", (e,))


def summed(terms: Any) -> Expr:
    """The terms added up; sums inside it are opened, and a single term stands alone."""
    flat = [part for term in terms for part in (term.args if term.op == "add" else (term,))]
    return flat[0] if len(flat) == 1 else Expr("add", tuple(flat))


def _broadcast(at: Cell, shape: tuple[int, ...]) -> Cell:
    """The cell of an operand of that shape that stands at `at` after broadcasting."""
    return tuple(i if size > 1 else 0 for i, size in zip(at[len(at) - len(shape) :], shape, strict=True))


def _unbroadcast(g: Named, like: Named) -> Named:
    """`g` added up over the axes along which an operand was repeated."""
    if g.value.shape == like.value.shape:
        return g
    shape = like.value.shape
    source = np.broadcast_to(np.arange(like.value.size).reshape(shape), g.value.shape)
    return Scatter(source, shape)(g)


def _along(g: Named, axis: int, shape: tuple[int, ...]) -> Named:
    """`g` added up along one axis, which is not kept."""
    source = np.broadcast_to(np.expand_dims(np.arange(int(np.prod(shape))).reshape(shape), axis), g.value.shape)
    return Scatter(source, shape)(g)


def written(x: Named, expr: Expr) -> Named:
    """The same value, written as `expr` where it is used next."""
    return Reindex(lambda a: a, "written", lambda e: expr)(x)


def of_head(x: Expr) -> Sym:
    """The symbol with the index of its head: B -> Bₕ."""
    return symbol(f"{x.plain(str)}ₕ", f"{x.tex(str)}_h")


def renamed(x: Named, expr: Expr) -> Named:
    """The same values, written as `expr` from here on."""
    return Named(x.value, expr, x.operation, x.operands, x.name, x.exact)


def revalued(x: Named, value: Array) -> Named:
    """Other numbers, written and made as `x` is."""
    return Named(value, x.expr, x.operation, x.operands, x.name, x.exact)
