"""Which step an answer is about, and how its cells lie in that step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from attn_cli.engine.arrays import Array
from attn_cli.engine.steps import STEPS, Step, Trace, gradient_of, turned
from attn_cli.engine.training import gradient_names
from attn_cli.errors import InputError
from attn_cli.homework.claims import Answer
from attn_cli.names import did_you_mean

STANDS_FOR = {
    "products": ("raw_scores", "scores"),
    "raw_scores": ("scores",),
    "capped": ("raw_scores", "scores"),
    "tempered": ("scores",),
    "heads": ("concat", "output"),
    "concat": ("output",),
}
"""Where the value of a step stands that was left out because it changes nothing: in the first of these that is there."""

STANDS_FOR |= {gradient_of(name): tuple(map(gradient_of, others)) for name, others in STANDS_FOR.items()}

ORDER = [*STEPS, *gradient_names()]


def holder(name: str, trace: Trace) -> str:
    """The step that holds the value of the step called `name`. Raises InputError where there is none."""
    found = next((step for step in (name, *STANDS_FOR.get(name, ())) if step in trace), None)
    if found is None or (name == "heads" and found == "output" and "concat" in trace):
        names = [step.name for step in trace]
        raise InputError(f"this problem has no step {name!r}{did_you_mean(name, names)}; there are {', '.join(names)}")
    return found


@dataclass(frozen=True, eq=False)
class Placed:
    """An answer and where its cells lie. Whatever is worked out is in row layout; `show` and `fit` change over."""

    answer: Answer
    step: str
    """The step that holds its value."""
    shape: tuple[int, ...]
    """Of that step, in row layout."""
    source: Array | None
    """For each written cell the number of the step's cell in row layout; None where the answer has another shape."""
    notes: tuple[str, ...] = ()
    """Codes of what was done to make it fit."""

    @property
    def fits(self) -> bool:
        return self.source is not None

    @property
    def name(self) -> str:
        return self.answer.name

    @cached_property
    def value(self) -> Array:
        """What was written, in row layout, as all of these are."""
        return self.fit(self.answer.value)

    @cached_property
    def unit(self) -> Array:
        return self.fit(self.answer.unit)

    @cached_property
    def half(self) -> Array:
        return self.fit(self.answer.half)

    @cached_property
    def digits(self) -> Array:
        return self.fit(self.answer.digits)

    @cached_property
    def given(self) -> Array:
        return self.fit(self.answer.given)

    def fit(self, cells: Array) -> Array:
        """Written cells, in row layout."""
        assert self.source is not None
        array = np.empty(self.source.size, cells.dtype)
        array[self.source] = cells
        return array.reshape(self.shape)

    def show(self, array: Array) -> Array:
        """An array in row layout as written cells."""
        assert self.source is not None
        return np.asarray(array).ravel()[self.source]


def place(answer: Answer, trace: Trace) -> Placed:
    step = trace.step(holder(answer.name, trace))
    shape = step.made.value.shape
    numbers = np.arange(step.made.value.size).reshape(shape)
    layouts: dict[Any, Array] = {layout.shape: layout.ravel() for layout in _layouts(step, numbers)}
    if answer.shape in layouts:
        return Placed(answer, step.name, shape, layouts[answer.shape])
    narrower = answer.without_empty_column()
    if narrower is not None and narrower.shape in layouts:
        return Placed(narrower, step.name, shape, layouts[narrower.shape], ("empty_column",))
    for layout, source in layouts.items():
        filled = answer.filled(layout)
        if filled is not None:
            return Placed(filled, step.name, shape, source)
    return Placed(answer, step.name, shape, None)


def _layouts(step: Step, numbers: Array) -> Iterator[Array]:
    """The ways in which the cells of a step may be written down."""
    yield turned(step.name, numbers) if step.columns else numbers
    if (step.of or step.name) in ("Q", "K", "V") and numbers.ndim == 3:
        joined = np.moveaxis(numbers, 0, -2).reshape(numbers.shape[1], -1)
        yield joined.T if step.columns else joined
        if len(joined) == 1:
            yield joined.ravel()
    if numbers.ndim == 1:
        yield numbers[:, None]
        yield numbers[None]
    elif all(size == 1 for size in numbers.shape[:-1]):
        yield numbers.ravel()
