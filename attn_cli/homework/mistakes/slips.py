"""Slips of copying and writing: they are seen in a step's numbers, whatever was worked out before it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from attn_cli.engine.arrays import Array
from attn_cli.homework.rounding import near

LAST_DIGIT_DIGITS = 3
"""Significant digits. With fewer, a unit of the last one is too much to be a slip of rounding; raised, fewer slips are called so."""
POINTS = (-3, -2, -1, 1, 2, 3)
"""Places by which a decimal point may have moved."""


@dataclass(frozen=True, eq=False)
class Seen:
    """A step as it was written beside what it should be, in row layout."""

    ours: Array
    theirs: Array
    """NaN where nothing was given."""
    unit: Array
    """Of each number's last digit."""
    digits: Array
    """Significant digits of each number."""
    wrong: Array
    """True at the cells to be explained."""

    @cached_property
    def cells(self) -> tuple[Array, Array, Array]:
        """What was written in the wrong cells, what should stand there, and the unit of the last digit."""
        return self.theirs[self.wrong], self.ours[self.wrong], self.unit[self.wrong]

    @cached_property
    def rows(self) -> bool:
        """Whether it has more than one row."""
        return self.ours.ndim > 1 and self.ours.shape[-2] > 1

    def agrees(self, other: Array) -> bool:
        """Whether all that was given is another matrix to within a unit."""
        return other.shape == self.theirs.shape and bool((near(self.theirs, other, self.unit) | np.isnan(self.theirs)).all())


Slip = Callable[[Seen], bool]
SLIPS: dict[str, Slip] = {}
"""By code: whether all the wrong cells look like this slip. Those that say where, not what, stand in PLACES."""
PLACES: dict[str, Slip] = {}
"""The same for what no other mistake explains: where the wrong cells are."""


def slip(table: dict[str, Slip]) -> Callable[[Slip], Slip]:
    """Decorator that adds a slip to one of the tables under its function's name."""

    def add(function: Slip) -> Slip:
        table[function.__name__] = function
        return function

    return add


@slip(SLIPS)
def answer_transposed(seen: Seen) -> bool:
    """Of more than one row and column; a single one is only written the other way."""
    return seen.rows and seen.ours.shape[-1] > 1 and seen.agrees(np.swapaxes(seen.ours, -1, -2))


@slip(SLIPS)
def rows_shifted(seen: Seen) -> bool:
    """By one, around; of two rows that is a swap."""
    return seen.rows and seen.ours.shape[-2] > 2 and any(seen.agrees(np.roll(seen.ours, by, axis=-2)) for by in (1, -1))


@slip(SLIPS)
def rows_swapped(seen: Seen) -> bool:
    if not seen.rows or seen.ours.shape[-1] < 2:
        return False
    rows = np.argwhere(seen.wrong.any(-1))
    if len(rows) != 2 or (rows[0][:-1] != rows[1][:-1]).any():
        return False
    swapped, (one, other) = seen.ours.copy(), map(tuple, rows)
    swapped[one], swapped[other] = seen.ours[other], seen.ours[one]
    return seen.agrees(swapped)


@slip(SLIPS)
def cells_swapped(seen: Seen) -> bool:
    theirs, ours, unit = seen.cells
    return len(ours) == 2 and bool(near(theirs, ours[::-1], unit).all()) and ours[0] != ours[1]


@slip(SLIPS)
def sign(seen: Seen) -> bool:
    theirs, ours, unit = seen.cells
    return bool(near(-theirs, ours, unit).all())


@slip(SLIPS)
def decimal_point(seen: Seen) -> bool:
    """Digits right, at least two of them, times a power of ten."""
    theirs, ours, unit = seen.cells
    moved = []
    for by in POINTS:
        half = np.maximum(unit / 2, unit * 10.0**by)
        moved.append(near(theirs, ours * 10.0**by, half) & (np.abs(theirs) >= 10 * half))
    return bool(np.any(moved, axis=0).all())


@slip(SLIPS)
def digits_swapped(seen: Seen) -> bool:
    """Two neighbouring digits of each wrong number changed places."""
    return all(unit > 0 and _neighbours_swapped(theirs, ours, unit) for theirs, ours, unit in zip(*seen.cells, strict=True))


def _neighbours_swapped(theirs: float, ours: float, unit: float) -> bool:
    if not np.isfinite([theirs, ours]).all() or theirs * ours < 0:
        return False
    count = round(abs(ours) / unit)
    for meant in (count, count - 1, count + 1):
        right, wrong = str(max(meant, 0)), str(round(abs(theirs) / unit))
        width = max(len(right), len(wrong))
        right, wrong = right.zfill(width), wrong.zfill(width)
        off = [i for i in range(width) if right[i] != wrong[i]]
        if len(off) == 2 and off[1] == off[0] + 1 and right[off[0]] == wrong[off[1]] and right[off[1]] == wrong[off[0]]:
            return True
    return False


@slip(PLACES)
def last_digit(seen: Seen) -> bool:
    """Off by one unit of the last of three significant digits or more."""
    theirs, ours, unit = seen.cells
    with np.errstate(invalid="ignore"):
        off = np.abs(theirs - ours) / np.where(unit > 0, unit, np.inf)
    return bool((seen.digits[seen.wrong] >= LAST_DIGIT_DIGITS).all() and ((off > 0.5) & (off <= 1.5 + 1e-6)).all())


@slip(PLACES)
def one_cell(seen: Seen) -> bool:
    return int(seen.wrong.sum()) == 1


@slip(PLACES)
def one_row(seen: Seen) -> bool:
    """Of several rows in which something was given."""
    rows = seen.wrong.any(-1)
    return seen.ours.ndim > 1 and int(seen.wrong.sum()) > 1 and int(rows.sum()) == 1 and int((~np.isnan(seen.theirs)).any(-1).sum()) > 1
