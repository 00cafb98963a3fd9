"""Two results beside one another, step by step: where they part first, and by how much."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from attn_cli.engine.arrays import Array
from attn_cli.engine.comparison import CLOSE, Apart
from attn_cli.engine.steps import Trace
from attn_cli.homework.arrays import Kernel
from attn_cli.homework.claims import Answer, ArrayAnswer
from attn_cli.homework.places import ORDER, holder, place


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


def against(trace: Trace, answers: Sequence[Answer | ArrayAnswer]) -> tuple[list[Apart], Apart | None]:
    """A worked problem and numbers from elsewhere, as far as they were given: each step's largest difference, and the first that departs.

    A number departs by more than half a unit of the last digit that it claims, an array by more than a program of its dtype may lose.
    """
    kernel = Kernel(trace)
    found, first = [], None
    for answer in sorted(answers, key=lambda answer: ORDER.index(holder(answer.name, trace))):
        one, beyond = _array(trace, kernel, answer) if isinstance(answer, ArrayAnswer) else _written(trace, answer)
        found.append(one)
        if beyond and first is None:
            first = one
    return found, first


def _written(trace: Trace, answer: Answer) -> tuple[Apart, bool]:
    placed = place(answer, trace)
    if not placed.fits:
        return Apart(placed.name, np.nan, (), "shapes"), True
    step = trace.step(placed.step)
    ours, theirs = step.made.value, np.where(placed.given, placed.value, step.made.value)
    one = apart(step.name, ours, theirs)
    beyond = (_off(ours, theirs) > placed.half * (1 + CLOSE) + CLOSE * _size(ours)).any()
    return one._replace(cell=step.row_cell(one.cell) if one.cell else ()), bool(beyond)


def _array(trace: Trace, kernel: Kernel, answer: ArrayAnswer) -> tuple[Apart, bool]:
    marked = kernel.mark([answer])[0]
    if not marked.fits:
        return Apart(answer.name, np.nan, (), "shapes"), True
    return Apart(marked.step, marked.precision.error, marked.precision.worst or ()), marked.precision.departs


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


def _size(values: Array) -> float:
    """The largest number of a step, at least 1."""
    return max(1.0, float(np.max(np.abs(values), initial=0.0, where=np.isfinite(values))))
