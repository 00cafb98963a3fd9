"""What somebody wrote, as plain records: each number with the last digit that it claims, or an array as a program left it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from attn_cli.engine.arrays import Array, as_array
from attn_cli.homework.habits import EXPONENT_DIGITS, MOST_DIGITS, WHOLE_DECIMALS, WHOLE_DIGITS
from attn_cli.homework.rounding import Rounding

CLOSED = "x"
"""What people write, besides the signs for nothing, where a cell is masked."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One cell."""

    value: float = math.nan
    unit: float = 0.0
    """Of its last digit; 0 for what is exact, such as 1/3."""
    digits: int = 0
    """Significant digits claimed."""
    exponent: bool = False
    """Whether it was written with an exponent, so that its writer keeps significant digits on the way."""
    given: bool = True
    text: str = ""
    """As it was written."""


MISSING = Claim(given=False)


def decimal_claim(value: float, text: str, *, decimals: int, digits: int, whole: bool, exponent: bool) -> Claim:
    """What a decimal number claims. With an exponent, `decimals` counts it in and `whole` is said of the mantissa.

    >>> decimal_claim(20.0, "20", decimals=0, digits=2, whole=True, exponent=False).unit
    0.1
    >>> decimal_claim(2000.0, "2e3", decimals=-3, digits=1, whole=True, exponent=True).unit
    10.0
    """
    size = math.floor(math.log10(abs(value))) if value else -decimals
    if whole:
        unit = max(_power(-WHOLE_DECIMALS - decimals), _power(size - WHOLE_DIGITS + 1))
        digits = max(1, size - round(math.log10(unit)) + 1)
    else:
        unit = max(_power(-decimals), _power(size - MOST_DIGITS + 1) if value else 0.0)
    return Claim(value, unit, min(digits, MOST_DIGITS), exponent, True, text)


def expression_claim(value: float, text: str, *, digits: int) -> Claim:
    """What an expression of decimal numbers claims, such as 2.72/3.72: the fewest significant digits among them.

    >>> expression_claim(2.72 / 3.72, "2.72/3.72", digits=3).unit
    0.001
    """
    digits = min(digits, MOST_DIGITS)
    size = math.floor(math.log10(abs(value))) if value else 0
    return Claim(value, _power(size - digits + 1), digits, False, True, text)


def exact_claim(value: float, text: str) -> Claim:
    """What a fraction or a root claims: that very number."""
    return Claim(value, text=text)


def unreadable(text: str) -> Claim:
    """A cell that cannot be read: it is wrong, and quoted."""
    return Claim(text=text)


def _power(exponent: int) -> float:
    return float(f"1e{exponent}")


@dataclass(frozen=True, eq=False)
class Answer:
    """Somebody's numbers for one step, cell after cell as they were written."""

    name: str
    """The step as its writer calls it."""
    form: Any
    """The nested lists as they were written, with the number of the cell at each place; rows may stand under their token's name."""
    claims: tuple[Claim, ...]
    value: Array
    """NaN where nothing was given."""
    unit: Array
    digits: Array
    given: Array
    exponent: Array
    labels: tuple[str, ...] = ()
    """What a table says before its rows: they are taken by these names where all of them are tokens."""

    @cached_property
    def shape(self) -> tuple[int, ...] | None:
        """None where the rows are not equally long, or stand under names."""
        return shape_of(self.form)

    @property
    def texts(self) -> list[str]:
        return [claim.text for claim in self.claims]

    @property
    def says_something(self) -> bool:
        """Whether a number was given, or a list that is empty where numbers belong."""
        return bool(self.given.any()) or not self.claims

    @cached_property
    def rounding(self) -> Rounding:
        """How its writer rounds on the way: to the finest unit among the plain numbers; where there are none as `scientific`."""
        plain = self.unit[self.given & ~self.exponent & (self.unit > 0)]
        return Rounding(float(plain.min())) if plain.size else self.scientific

    @cached_property
    def scientific(self) -> Rounding:
        """How the writer of its numbers with exponents rounds on the way: to as many significant digits as the longest mantissa has."""
        digits = self.digits[self.given & self.exponent]
        return Rounding(digits=max(EXPONENT_DIGITS, int(digits.max()))) if digits.size else Rounding()

    @cached_property
    def coarsest(self) -> float:
        """The coarsest unit among its numbers with exponents: beyond it, nobody's hidden numbers are known to have been rounded."""
        return float(self.unit[self.given & self.exponent].max(initial=0.0))

    def laid_out(self, at: Array) -> Answer:
        """Its cells of these numbers, in lists like these; -1 for a cell that was not written."""
        claims = (*self.claims, MISSING)
        form = np.arange(at.size).reshape(at.shape).tolist()
        return _collected(self.name, form, [claims[i] for i in at.ravel().tolist()])

    def but(self, claims: Sequence[Claim]) -> Answer:
        """The same lists with other cells."""
        return _collected(self.name, self.form, claims)

    def nested(self, cells: Any) -> Any:
        """One thing for each cell, in the lists as they were written."""
        return shaped(self.form, lambda number: cells[number])


def shaped(form: Any, cell: Callable[[Any], Any]) -> Any:
    """Nested lists (rows may stand under names) with something in place of each cell."""
    if isinstance(form, Mapping):
        return {label: shaped(part, cell) for label, part in form.items()}
    return [shaped(part, cell) for part in form] if isinstance(form, list) else cell(form)


def shape_of(form: Any) -> tuple[int, ...] | None:
    if isinstance(form, Mapping):
        return None
    if not isinstance(form, list):
        return ()
    inner = {shape_of(part) for part in form}
    if len(inner) > 1 or None in inner:
        return None
    return (len(form), *(inner.pop() or ())) if inner else (0,)


def answer(name: str, nested: Any, labels: Sequence[str] | None = None) -> Answer:
    """From nested lists of claims (rows may stand under their token's name), or a single one."""
    claims: list[Claim] = []

    def number(claim: Claim) -> int:
        claims.append(claim)
        return len(claims) - 1

    return replace(_collected(name, shaped(nested, number), claims), labels=tuple(labels or ()))


def _collected(name: str, form: Any, claims: Sequence[Claim]) -> Answer:
    return Answer(
        name,
        form,
        tuple(claims),
        np.array([c.value for c in claims], float),
        np.array([c.unit for c in claims], float),
        np.array([c.digits for c in claims], int),
        np.array([c.given for c in claims], bool),
        np.array([c.exponent for c in claims], bool),
    )


@dataclass(frozen=True, eq=False)
class ArrayAnswer:
    """An array for one step, as a program left it: it claims the precision of its dtype."""

    name: str
    array: Array

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.array.shape)

    @property
    def says_something(self) -> bool:
        return True


def array_answer(name: str, array: Array) -> ArrayAnswer:
    return ArrayAnswer(name, as_array(array))
