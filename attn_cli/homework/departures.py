"""Two results beside one another, step by step: where they part first, and by how much."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from attn_cli.engine.arrays import Array
from attn_cli.engine.comparison import CLOSE, Apart
from attn_cli.engine.steps import Trace
from attn_cli.homework.claims import Answer
from attn_cli.homework.places import ORDER, place

LOST = 64
"""Units in the last place of a step's largest number, in the dtype of the array, that a plain program may lose without departing."""


def between(ours: Trace, theirs: Trace) -> tuple[list[Apart], Apart | None]:
    """Two worked problems: every step that either has, and the first that departs."""
    names = [step.name for step in ours] + [step.name for step in theirs if step.name not in ours]
    found, first = [], None
    for name in sorted(names, key=ORDER.index):
        one = Apart(name, np.nan, (), "only_b" if name not in ours else "only_a")
        scale = 1.0
        if name in ours and name in theirs:
            one, scale = apart(name, ours[name], theirs[name]), _size(ours[name])
        found.append(one)
        if first is None and (one.reason == "shapes" or one.largest > CLOSE * scale):
            first = one
    return found, first


def against(trace: Trace, answers: Sequence[Answer]) -> tuple[list[Apart], Apart | None]:
    """A worked problem and numbers from elsewhere, as far as they were given: each step's largest difference, and the first that departs.

    A number departs by more than half a unit of the last digit that it claims, or than an array of its dtype may lose.
    """
    found, first = [], None
    for placed in sorted((place(answer, trace) for answer in answers), key=lambda p: ORDER.index(p.step)):
        step = trace.step(placed.step)
        if not placed.fits:
            one, beyond = Apart(placed.name, np.nan, (), "shapes"), True
        else:
            theirs = np.where(placed.given, placed.value, step.made.value)
            one = apart(step.name, step.made.value, theirs)
            one = one._replace(cell=step.row_cell(one.cell) if one.cell else ())
            beyond = bool((_off(step.made.value, theirs) > _allowed(placed.half, placed.answer.rounding, step.made.value)).any())
        found.append(one)
        if beyond and first is None:
            first = one
    return found, first


def apart(name: str, ours: Array, theirs: Array) -> Apart:
    """The largest difference between two arrays of the same layout, and where it is."""
    if ours.shape != theirs.shape:
        return Apart(name, np.nan, (), "shapes")
    off = _off(ours, theirs)
    cell = tuple(int(i) for i in np.unravel_index(int(np.argmax(off)), off.shape)) if off.size else ()
    return Apart(name, float(off.max(initial=0.0)), cell)


def _off(ours: Array, theirs: Array) -> Array:
    """How far each cell is off; a masked score may be −∞ or any number up to −1000 on either side."""
    with np.errstate(invalid="ignore"):
        same = (
            (ours == theirs)
            | (np.isnan(ours) & np.isnan(theirs))
            | ((np.maximum(ours, theirs) <= -1000) & np.isinf(np.minimum(ours, theirs)))
        )
        off = np.where(same, 0.0, np.abs(ours - theirs))
    return np.where(np.isnan(off), np.inf, off)


def _allowed(half: Array, rounding: object, ours: Array) -> Array:
    """How far each number may be off without departing."""
    if isinstance(rounding, np.dtype):
        return (
            np.full(ours.shape, LOST * float(np.finfo(rounding).eps) * _size(ours)) if rounding.kind == "f" else np.full(ours.shape, CLOSE)
        )
    return np.asarray(half * (1 + CLOSE) + CLOSE * _size(ours))


def _size(values: Array) -> float:
    """The largest number of a step, at least 1."""
    return max(1.0, float(np.max(np.abs(values), initial=0.0, where=np.isfinite(values))))
