"""What somebody wrote, as plain records: each number with the last digit that it claims."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from attn_cli.engine.arrays import Array

TIE = 1e-9
"""Relative; settles whether a number lies exactly on half a unit."""
MOST_DIGITS = 12
"""More significant digits than these are not claimed."""
WHOLE_DECIMALS, WHOLE_DIGITS = 2, 3
"""A whole number claims so many decimals or so many significant digits, whichever is looser."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One cell."""

    value: float = math.nan
    unit: float = 0.0
    """Of its last digit; 0 for what is exact, such as 1/3."""
    digits: int = 0
    """Significant digits written."""
    rounds_to: float | None = None
    """The unit to which its writer rounds on the way; None where the cell does not tell."""
    given: bool = True
    text: str = ""
    """As it was written."""


MISSING = Claim(given=False)


def decimal_claim(value: float, text: str, *, decimals: int, digits: int, whole: bool, exponent: bool) -> Claim:
    """What a decimal number claims.

    >>> decimal_claim(20.0, "20", decimals=0, digits=2, whole=True, exponent=False).unit
    0.1
    """
    size = math.floor(math.log10(abs(value))) if value else 0
    if whole:
        unit = max(_power(-WHOLE_DECIMALS), _power(size - WHOLE_DIGITS + 1))
        return Claim(value, unit, digits, None, True, text)
    unit = max(_power(-decimals), _power(size - MOST_DIGITS + 1) if value else 0.0)
    return Claim(value, unit, min(digits, MOST_DIGITS), None if exponent else unit, True, text)


def exact_claim(value: float, text: str) -> Claim:
    return Claim(value, 0.0, 0, None, True, text)


def _power(exponent: int) -> float:
    return float(f"1e{exponent}")


@dataclass(frozen=True, eq=False)
class Answer:
    """Somebody's numbers for one step, cell after cell as they were written."""

    name: str
    """The step as its writer calls it."""
    form: Any
    """The nested lists as they were written, with the number of the cell at each place."""
    value: Array
    """NaN where nothing was given."""
    unit: Array
    digits: Array
    given: Array
    texts: tuple[str, ...]
    rounds_to: Array
    """The unit to which its writer rounds on the way; NaN where the cell does not tell, as a whole number."""
    rounding: float | np.dtype[Any]
    """How its writer rounds on the way: to a unit, or to a dtype."""

    @property
    def half(self) -> Array:
        return self.unit / 2

    @property
    def shape(self) -> tuple[int, ...] | None:
        """None where the rows are not equally long."""
        return shape_of(self.form)

    def without_empty_column(self) -> Answer | None:
        """The same without its last column, if nothing is given there: a separator at the end of every line makes one."""
        shape = self.shape
        if not shape or shape[-1] < 2:
            return None
        at = np.arange(self.value.size).reshape(shape)
        return None if self.given[at[..., -1]].any() else self._laid_out(at[..., :-1])

    def filled(self, shape: tuple[int, ...]) -> Answer | None:
        """The same in a shape that differs only by rows or heads left out whole, or by the brackets about a single number."""
        single = math.prod(shape) == 1

        def spread(form: Any, shape: tuple[int, ...]) -> Array:
            if not isinstance(form, list) and (single or not shape or not self.given[form]):
                return np.full(shape, form)
            if not isinstance(form, list) or not shape or len(form) != shape[0]:
                raise ValueError("another shape")
            return np.stack([spread(part, shape[1:]) for part in form])

        try:
            return self._laid_out(spread(self.form, shape))
        except ValueError:
            return None

    def _laid_out(self, at: Array) -> Answer:
        """Its cells of these numbers, in lists like these."""
        kept = at.ravel()
        return Answer(
            self.name,
            np.arange(kept.size).reshape(at.shape).tolist(),
            self.value[kept],
            self.unit[kept],
            self.digits[kept],
            self.given[kept],
            tuple(self.texts[i] for i in kept),
            self.rounds_to[kept],
            self.rounding,
        )

    def nested(self, cells: Any) -> Any:
        """One thing for each cell, in the lists as they were written."""
        return _nested(self.form, cells)


def _nested(form: Any, cells: Any) -> Any:
    return [_nested(part, cells) for part in form] if isinstance(form, list) else cells[form]


def shape_of(form: Any) -> tuple[int, ...] | None:
    if not isinstance(form, list):
        return ()
    inner = {shape_of(part) for part in form}
    if len(inner) > 1 or None in inner:
        return None
    return (len(form), *(inner.pop() or ())) if inner else (0,)


def answer(name: str, nested: Any) -> Answer:
    """From nested lists of Claims, or a single one."""
    claims: list[Claim] = []

    def number(part: Any) -> Any:
        if isinstance(part, list):
            return [number(p) for p in part]
        claims.append(part)
        return len(claims) - 1

    form = number(nested)
    return Answer(
        name,
        form,
        np.array([c.value for c in claims], float),
        np.array([c.unit for c in claims], float),
        np.array([c.digits for c in claims], int),
        np.array([c.given for c in claims], bool),
        tuple(c.text for c in claims),
        np.array([c.rounds_to for c in claims], float),
        _rounding(claims),
    )


def _rounding(claims: list[Claim]) -> float:
    """The finest unit among plain decimals, else two decimals beside whole numbers, else the coarsest unit; 0 where all is exact."""
    given = [c for c in claims if c.given and c.unit]
    plain = [c.rounds_to for c in given if c.rounds_to is not None]
    if plain:
        return min(plain)
    written_out = [c for c in given if "e" not in c.text.lower()]
    if written_out:
        return _power(-WHOLE_DECIMALS)
    return max((c.unit for c in given), default=0.0)


def array_answer(name: str, array: Array) -> Answer:
    """An array of full precision, which claims that of its dtype."""
    value = np.asarray(array, float).ravel()
    form = np.arange(value.size).reshape(array.shape).tolist()
    floating = array.dtype.kind == "f"
    unit = units(value, array.dtype) if floating else np.zeros(value.shape)
    digits = np.full(value.shape, np.finfo(array.dtype).precision + 1 if floating else 0)
    return Answer(
        name,
        form,
        value,
        np.maximum(unit, _twelfth(value)) if floating else unit,
        np.minimum(digits, MOST_DIGITS),
        np.ones(value.shape, bool),
        tuple(map(str, np.asarray(array).ravel())),
        np.full(value.shape, np.nan),
        array.dtype if floating else 0.0,
    )


def _twelfth(value: Array) -> Array:
    """The unit of the twelfth significant digit."""
    size = np.abs(np.where(np.isfinite(value) & (value != 0), value, 1))
    return np.asarray(np.where(value == 0, 0, 10.0 ** (np.floor(np.log10(size)) - MOST_DIGITS + 1)))


def units(value: Array, rounding: float | np.dtype[Any]) -> Array:
    """The unit to which each number is rounded."""
    if isinstance(rounding, np.dtype):
        with np.errstate(over="ignore", invalid="ignore"):
            spacing = np.spacing(np.abs(value).astype(rounding)).astype(float)
        return np.where(np.isfinite(spacing), spacing, 0.0)
    return np.full(np.shape(value), float(rounding))


def rounded(value: Array, rounding: float | np.dtype[Any], up: bool = False) -> Array:
    """The numbers as their writer would round them: half a unit to even, as NumPy does, or up, as people do."""
    unit = units(value, rounding)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        count = value / unit
        whole = np.copysign(np.floor(np.abs(count) * (1 + TIE) + 0.5), count) if up else np.round(count)
        return np.where((unit > 0) & np.isfinite(value), whole * unit, value)


def near(theirs: Array, ours: Array, half: Array | float) -> Array:
    """Whether each claim holds: within half a unit of its last digit, ties settled in its favour."""
    with np.errstate(invalid="ignore"):
        slack = half + TIE * np.maximum(np.abs(theirs), np.abs(ours))
        close = np.abs(theirs - ours) <= slack
    return np.asarray(np.where(np.isfinite(ours) & np.isfinite(theirs), close, theirs == ours))
