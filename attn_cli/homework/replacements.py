"""Other ways to do a step, right and wrong ones alike. Each takes the step as it should be, with its operands, and gives another value."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from attn_cli.engine import operations as op
from attn_cli.engine.arrays import Array, Cell
from attn_cli.engine.expression import Expr, constant, symbol
from attn_cli.engine.gradient import ordered
from attn_cli.engine.operations import Named
from attn_cli.engine.steps import Instead

Replacements = Mapping[str, Instead]
"""What is done in place of some steps, by their names."""


def before(made: Named, name: str) -> Named | None:
    """The step of that name that a value comes from."""
    return next((node for node in ordered(made) if node.name == name), None)


def needed(made: Named, name: str) -> Named:
    """The same; raises ValueError where the value does not come from such a step."""
    found = before(made, name)
    if found is None:
        raise ValueError(f"nothing here comes from {name}")
    return found


def scaled_by(divisor: float) -> Instead:
    """The products divided by a number: P / c."""
    return lambda made: needed(made, "products") if divisor == 1 else op.over(constant(divisor))(needed(made, "products"))


class Power(op.Elementwise):
    """b^S for a constant b: (n, m) -> (n, m)."""

    def __init__(self, base: float):
        self.base = base

    def value(self, *arrays: Array) -> Array:
        return np.asarray(self.base ** arrays[0])

    def formula(self, *exprs: Expr) -> Expr:
        return Expr("power", (constant(self.base), *exprs))

    def cell(self, out: Named, at: Cell) -> Expr:
        return self.formula(*self.operand_cells(out, at))

    def pull(self, g: Named, out: Named) -> tuple[Named | None, ...]:
        return (op.revalued(g, g.value * out.value * math.log(self.base)),)


def to_the_power(base: float) -> Instead:
    """Exponentials of another base, b^S."""
    return lambda made: Power(base)(made.operands[0])


class Finite(op.Elementwise):
    """Scores with 0 wherever the mask has −∞: (n, m) -> (n, m)."""

    def value(self, *arrays: Array) -> Array:
        return np.where(np.isfinite(arrays[0]), arrays[0], 0.0)

    def formula(self, *exprs: Expr) -> Expr:
        return exprs[0]

    def cell(self, out: Named, at: Cell) -> Expr:
        return self.operand_cells(out, at)[0] if np.isfinite(out.operands[0].value[at]) else constant(0)

    def pull(self, g: Named, out: Named) -> tuple[Named | None, ...]:
        return (op.revalued(g, np.where(np.isfinite(out.operands[0].value), g.value, 0.0)),)


def minus_max(made: Named, rows: Array | None = None) -> Named:
    """exp(S − row maximum) in place of exp(S), in all rows or in those where `rows` is true."""
    scores = made.operands[0]
    first = np.argmax(scores.value, axis=-1)[..., None]
    largest = Finite()(op.Reindex(lambda a: np.take_along_axis(a, first, -1))(scores))
    used = op.given("rows", np.ones(first.shape) if rows is None else rows[..., None].astype(float), symbol("1"))
    return op.exp(op.subtract(scores, op.multiply(largest, used)))
