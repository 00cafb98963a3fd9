"""Rounding as people do it: to a unit, or to significant digits; and which numbers agree to the digits that were written."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from attn_cli.engine import operations as op
from attn_cli.engine.arrays import Array
from attn_cli.engine.operations import Named
from attn_cli.homework.habits import KEPT_DIGITS, TIE

PROPORTIONS = ("exponentials", "row_sums")
"""Steps of which only the proportions matter for what follows."""


class Rounding(NamedTuple):
    """How the writer of an answer rounds on the way: to a unit, to significant digits, or to the finer of both; by default not at all."""

    unit: float = 0.0
    digits: int = 0
    how: str = "even"
    """What becomes of half a unit: `even` as NumPy does it, `up` as people do it, or `cut` off with all that is less than a unit."""

    @property
    def rounds(self) -> bool:
        return bool(self.unit or self.digits)

    def units(self, value: Array) -> Array:
        """The unit to which each number is rounded."""
        if not self.digits:
            return np.full(np.shape(value), self.unit)
        units = unit_of_digit(value, self.digits)
        return np.minimum(units, self.unit) if self.unit else units


def unit_of_digit(value: Array, digits: int) -> Array:
    """The unit of the significant digit of that number, counted from 1; 0 for 0."""
    known = np.isfinite(value) & (value != 0)
    size = np.floor(np.log10(np.abs(np.where(known, value, 1.0))))
    return np.where(known, 10.0 ** (size - digits + 1), 0.0)


def kept_units(name: str, value: Array, rounding: Rounding, kept: tuple[str, ...] = PROPORTIONS) -> Array:
    """The unit to which the numbers of a hidden step are rounded; those of the steps in `kept` keep two significant digits, at least."""
    units = rounding.units(value)
    return np.minimum(units, unit_of_digit(value, KEPT_DIGITS)) if name in kept else units


def rounded(value: Array, unit: Array | float, how: str = "even") -> Array:
    """The numbers rounded to a unit each. What is half a unit, or a whole one, but for the last bits is just that."""
    unit = np.asarray(unit)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        count = value / unit
        halves = np.round(2 * count) / 2
        count = np.where(np.abs(count - halves) <= TIE * np.maximum(1, np.abs(count)), halves, count)
        up = np.copysign(np.floor(np.abs(count) + (0.5 if how == "up" else 0.0)), count)
        whole = np.round(count) if how == "even" else up
        return np.where((unit > 0) & np.isfinite(value), whole * unit, value)


def near(theirs: Array, ours: Array, half: Array | float) -> Array:
    """Whether numbers agree to within half a unit of the last digit, ties settled in the writer's favour."""
    with np.errstate(invalid="ignore"):
        slack = half + TIE * np.maximum(np.abs(theirs), np.abs(ours))
        close = np.abs(theirs - ours) <= slack
    return np.asarray(np.where(np.isfinite(ours) & np.isfinite(theirs), close, theirs == ours))


def rounded_step(made: Named, name: str, rounding: Rounding, ties: set[str] | None = None) -> Named:
    """A hidden step as its writer would have rounded it. Its name joins `ties` where a number is just half a unit from two others."""
    if copied(made):
        return made
    units = kept_units(name, made.value, rounding)
    value = rounded(made.value, units, rounding.how)
    if ties is not None and np.any(np.abs(np.abs(made.value - value) - units / 2) <= 2 * TIE * np.maximum(units, np.abs(made.value))):
        ties.add(name)
    return op.revalued(made, value)


def hidden_half(made: Named, name: str, rounding: Rounding) -> Array:
    """Half a unit wherever rounding would change the number of a hidden step: how far its writer's number may be from ours."""
    value = made.value
    if copied(made):
        return np.zeros(value.shape)
    unit = kept_units(name, value, rounding, (*PROPORTIONS, "weights"))
    return np.where(near(rounded(value, unit), value, 0.0), 0.0, unit / 2)


def copied(made: Named) -> bool:
    """Whether nothing rounds the numbers: the problem gives them, at most cut into heads, and they are copied by hand."""
    while isinstance(made.operation, op.Reindex):
        made = made.operands[0]
    return made.operation is None
