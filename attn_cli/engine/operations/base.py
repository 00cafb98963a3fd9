"""Named values, and what every operation can do: its value, formula, cell arithmetic and gradient, in ONE place."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attn_cli.engine.arrays import Array, Cell
from attn_cli.engine.expression import Expr, Num, Sym, symbol

quietly = np.errstate(over="ignore", under="ignore", invalid="ignore")
"""Decorates what applies operations: numbers that grow too large are refused by name afterwards, so NumPy need not warn of them."""


@dataclass(eq=False, slots=True)  # never changed after construction, yet not frozen: that takes as long as a small matrix product
class Named:
    """An array that knows how it is written and what it was computed from."""

    value: Array
    expr: Expr
    """Its symbol, once it is recorded; until then the formula that computes it."""
    operation: Operation | None = None
    """None for an input."""
    operands: tuple[Named, ...] = ()
    name: str = ""
    """The step or input it is recorded under; empty while it is only on the way to one."""
    exact: bool = False
    """An input, so that its numbers print as they were written."""

    @property
    def known(self) -> bool:
        """Whether the arithmetic of a cell may stop here, at its number."""
        return bool(self.name) or self.operation is None

    def cell(self, at: Cell) -> Expr:
        """The arithmetic of one cell, opened until it meets recorded values or inputs."""
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


def renamed(x: Named, expr: Expr) -> Named:
    """The same values, written as `expr` from here on."""
    return Named(x.value, expr, x.operation, x.operands, x.name, x.exact)


def revalued(x: Named, value: Array) -> Named:
    """Other numbers, written and computed as `x` is."""
    return Named(value, x.expr, x.operation, x.operands, x.name, x.exact)


def of_head(x: Expr, index: str = "ₕ", tex: str = "h") -> Sym:
    """The symbol with the index of its head: B -> Bₕ."""
    return symbol(f"{x.plain(str)}{index}", f"{x.tex(str)}_{tex}")


class Operation:
    """One operation. A subclass keeps only what it needs besides its operands, and never changes it."""

    copies: bool = False
    """Whether it only copies cells, so that numbers of an input stay as they were written."""

    def __call__(self, *operands: Named) -> Named:
        value = self.value(*[o.value for o in operands])
        formula = self.formula(*[o.expr for o in operands])
        return Named(value, formula, self, operands, exact=self.copies and operands[0].exact)

    def value(self, *arrays: Array) -> Array:
        """The array that it computes."""
        raise NotImplementedError

    def formula(self, *exprs: Expr) -> Expr:
        """How it is written."""
        raise NotImplementedError

    def cell(self, out: Named, at: Cell) -> Expr:
        """The arithmetic of cell `at` of `out`, which this operation computed."""
        raise NotImplementedError

    def pull(self, g: Named, out: Named) -> tuple[Named | None, ...]:
        """The gradient with respect to each operand, from the gradient `g` with respect to `out`; None where there is none.

        Where an operand was repeated along an axis, the gradient has that axis still; `backward` adds it up.
        """
        return (None,) * len(out.operands)
