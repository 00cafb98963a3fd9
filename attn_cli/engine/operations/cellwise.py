"""Operations cell by cell: sums, products, quotients and functions of the cells that stand at the same place."""

from __future__ import annotations

import numpy as np

from attn_cli.engine.arrays import Array, Cell
from attn_cli.engine.expression import Expr, constant, summed, symbol
from attn_cli.engine.operations.base import Named, Operation, of_head, term


class Elementwise(Operation):
    """A function of the cells that stand at the same place, with NumPy's broadcasting."""

    op: str = ""

    def operand_cells(self, out: Named, at: Cell) -> tuple[Expr, ...]:
        """Each operand's cell for cell `at` of the result."""
        return tuple(term(o, repeated_from(at, o.value.shape)) for o in out.operands)

    def formula(self, *exprs: Expr) -> Expr:
        return Expr(self.op, exprs)

    def cell(self, out: Named, at: Cell) -> Expr:
        return Expr(self.op, self.operand_cells(out, at))


def repeated_from(at: Cell, shape: tuple[int, ...]) -> Cell:
    """The cell of an operand of that shape that stands at `at` after broadcasting."""
    return tuple(i if size > 1 else 0 for i, size in zip(at[len(at) - len(shape) :], shape, strict=True))


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
        return g, g


class Subtract(Elementwise):
    """a − b"""

    op: str = "subtract"

    def value(self, *arrays: Array) -> Array:
        a, b = arrays
        return a - b

    def pull(self, g: Named, out: Named) -> tuple[Named | None, ...]:
        return g, times(constant(-1))(g)


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
        return multiply(g, b), multiply(g, a)


class Divide(Elementwise):
    """a / b, where 0 / 0 is 0."""

    op: str = "divide"

    def value(self, *arrays: Array) -> Array:
        a, b = arrays
        nothing = np.zeros(np.broadcast_shapes(a.shape, b.shape), np.result_type(a, b))
        return np.asarray(np.divide(a, b, out=nothing, where=b != 0))

    def pull(self, g: Named, out: Named) -> tuple[Named | None, ...]:
        _, b = out.operands
        return divide(g, b), times(constant(-1))(divide(multiply(g, out), b))


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


add, subtract, multiply, divide, square, tanh, exp = Add(), Subtract(), Multiply(), Divide(), Square(), Tanh(), Exp()


class Masked(Elementwise):
    """Scores with −∞ wherever the mask does not let a query attend: (n, m) -> (n, m)."""

    def __init__(self, allowed: Array):
        self.allowed = allowed

    def value(self, *arrays: Array) -> Array:
        return np.where(self.allowed, arrays[0], -np.inf)

    def formula(self, *exprs: Expr) -> Expr:
        mask = symbol("M")
        return summed((*exprs, of_head(mask) if self.allowed.ndim == 3 else mask))

    def cell(self, out: Named, at: Cell) -> Expr:
        if self.allowed[repeated_from(at, self.allowed.shape)]:
            return self.operand_cells(out, at)[0]
        return constant(-np.inf)

    def pull(self, g: Named, out: Named) -> tuple[Named | None, ...]:
        may_attend = Named(self.allowed.astype(g.value.dtype), symbol("[M = 0]", "[M = 0]"), exact=True)
        return (multiply(g, may_attend),)


class Zeroed(Elementwise):
    """The same with 0 in place of the rows that are zero but for rounding: (n, d) -> (n, d)."""

    def __init__(self, rows: Array):
        self.rows = rows
        """True for those rows: (n, 1)"""

    def value(self, *arrays: Array) -> Array:
        return np.where(self.rows, 0, arrays[0]).astype(arrays[0].dtype)

    def formula(self, *exprs: Expr) -> Expr:
        return exprs[0]

    def cell(self, out: Named, at: Cell) -> Expr:
        return constant(0) if self.rows[(*at[:-1], 0)] else self.operand_cells(out, at)[0]

    def pull(self, g: Named, out: Named) -> tuple[Named | None, ...]:
        return (self(g),)
