"""Which step an answer is about, and how its cells lie in that step."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from attn_cli.engine.arrays import Array
from attn_cli.engine.scores import gradient_names
from attn_cli.engine.shapes import open_cells
from attn_cli.engine.steps import STEPS, Step, Trace, gradient_of, turned
from attn_cli.errors import InputError
from attn_cli.homework.claims import CLOSED, Answer, ArrayAnswer, unreadable
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

MAY_BE_LEFT_OUT = ("scores", "tempered", "exponentials", "weights")
"""Steps of which nobody need write the masked cells."""

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
    """Codes of what is said about its shape."""
    need_not: Array | None = None
    """True at the cells that are masked and need not be written, in row layout."""

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
        """Half a unit of each last digit."""
        return self.unit / 2

    @cached_property
    def digits(self) -> Array:
        return self.fit(self.answer.digits)

    @cached_property
    def given(self) -> Array:
        return self.fit(self.answer.given)

    @cached_property
    def exponent(self) -> Array:
        return self.fit(self.answer.exponent)

    @cached_property
    def left_out(self) -> Array:
        """The masked cells that were rightly not written: those in rows whose other cells are all given."""
        if self.need_not is None or not self.given.any():
            return np.zeros(self.shape, bool)
        whole = (self.given | self.need_not).all(-1, keepdims=True)
        return np.asarray(self.need_not & ~self.given & whole)

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


@dataclass(frozen=True, eq=False)
class Layout:
    """One way in which the cells of a step may be written down."""

    numbers: Array
    """The number of each cell, as row layout counts them."""
    tokens: int | None
    """The axis of the tokens; None where fewer of them cannot be told from another shape."""
    columns: bool = False
    """Whether every token is a column here."""


def place(answer: Answer, trace: Trace) -> Placed:
    """Where the cells of an answer lie in its step. Raises InputError where there is no such step, or no such token."""
    step = trace.step(holder(answer.name, trace))
    shape, need_not = step.made.value.shape, _need_not(step, trace)
    layouts = list(_layouts(step))
    answer = _by_token(answer, step, _labels(step, trace))
    for layout in layouts:
        if answer.shape == layout.numbers.shape:
            return _laid(answer, step, layout.numbers, need_not)
    narrower = _without_empty_column(answer)
    if narrower is not None and any(narrower.shape == layout.numbers.shape for layout in layouts):
        return replace(place(narrower, trace), notes=("empty_column",))
    for layout in layouts:
        at = _fitted(answer, layout, need_not, _labels(step, trace))
        if at is not None:
            notes = ("first_tokens",) if _fewer(answer, layout) else ()
            return _laid(answer.laid_out(at), step, layout.numbers, need_not, notes)
    return Placed(answer, step.name, shape, None, _told(answer.name, answer.shape, trace))


def _laid(answer: Answer, step: Step, numbers: Array, need_not: Array | None, notes: tuple[str, ...] = ()) -> Placed:
    """An answer that has the shape of a layout. An `x` where nothing is masked cannot be read."""
    source = numbers.ravel()
    masked = np.zeros(numbers.size, bool) if need_not is None else need_not.ravel()[source]
    claims = answer.claims
    if any(claim.text == CLOSED for claim in claims):
        claims = tuple(unreadable(c.text) if c.text == CLOSED and not m else c for c, m in zip(claims, masked, strict=True))
        answer = answer.but(claims)
    return Placed(answer, step.name, step.made.value.shape, source, notes, need_not)


def array_place(answer: ArrayAnswer, trace: Trace) -> tuple[str, Array | None, tuple[str, ...]]:
    """The step that holds an array's value, the number of the step's cell for each of its cells, and notes; no numbers where it has
    another shape. An array may have a leading axis of one, and the cells of the first tokens only."""
    step = trace.step(holder(answer.name, trace))
    found = answer.shape
    layouts = list(_layouts(step))
    for layout in layouts:
        if found == layout.numbers.shape:
            return step.name, layout.numbers, ()
        if found[1:] == layout.numbers.shape and found[:1] == (1,):
            return step.name, layout.numbers, ("batch_of_one",)
    for layout in layouts:
        first = _first_tokens(found, layout)
        if first is not None:
            return step.name, first, ("first_tokens",)
    return step.name, None, _told(answer.name, found, trace)


def _told(name: str, shape: tuple[int, ...] | None, trace: Trace) -> tuple[str, ...]:
    """What is said of an answer of another shape than its step's: that it has the shape of `heads`, if so."""
    heads = trace["heads"].shape if name == "output" and "heads" in trace else None
    return ("output_is_heads",) if shape is not None and shape == heads else ()


def _need_not(step: Step, trace: Trace) -> Array | None:
    """True at the cells of a step that are masked and need not be written."""
    if step.name not in MAY_BE_LEFT_OUT:
        return None
    return np.broadcast_to(~open_cells(trace.problem, trace.sizes), step.made.value.shape)


# ------------------------------------------------------------------ the ways to write a step down
def _layouts(step: Step) -> Iterator[Layout]:
    numbers: Array = np.arange(step.made.value.size).reshape(step.made.value.shape)
    width = len(step.kind.axes) or numbers.ndim
    axis = numbers.ndim - width
    turns = step.columns and width > 1
    yield Layout(turned(step.name, numbers) if step.columns else numbers, axis + turns if step.kind.axes else None, turns)
    if step.name in ("Q", "K", "V") and numbers.ndim == 3:
        joined = np.moveaxis(numbers, 0, -2).reshape(numbers.shape[1], -1)
        yield Layout(joined.T if step.columns else joined, int(step.columns), step.columns)
        if len(joined) == 1:
            yield Layout(joined.ravel(), None)
    if numbers.ndim == 1:
        yield Layout(numbers[:, None], 0)
        yield Layout(numbers[None], None)
    elif all(size == 1 for size in numbers.shape[:-1]):
        yield Layout(numbers.ravel(), None)


def _labels(step: Step, trace: Trace) -> tuple[str, ...]:
    """The names of the tokens that a step has a row for."""
    return trace.key_labels if step.kind.axes[:1] == ("key",) else trace.query_labels


def _by_token(answer: Answer, step: Step, labels: Sequence[str]) -> Answer:
    """The same with its rows under their tokens' names, where a table names tokens before its rows in another order than the step's."""
    names = answer.labels
    in_order = names == tuple(labels[: len(names)])
    distinct = len(set(names)) == len(names) and len(set(labels)) == len(labels)
    if in_order or step.columns or not distinct or not set(names) <= set(labels) or len(answer.form) != len(names):
        return answer
    return replace(answer, form=dict(zip(names, answer.form, strict=True)), labels=())


def _fewer(answer: Answer, layout: Layout) -> bool:
    """Whether an answer of equally long rows holds the first tokens only."""
    return answer.shape is not None and _first_tokens(answer.shape, layout) is not None


def _first_tokens(shape: tuple[int, ...], layout: Layout) -> Array | None:
    """The numbers of the first tokens' cells, where a shape is that of a layout with fewer tokens."""
    if layout.tokens is None or len(shape) != layout.numbers.ndim or not 0 < shape[layout.tokens] < layout.numbers.shape[layout.tokens]:
        return None
    first = np.take(layout.numbers, np.arange(shape[layout.tokens]), axis=layout.tokens)
    return first if first.shape == shape else None


def _fitted(answer: Answer, layout: Layout, need_not: Array | None, labels: Sequence[str]) -> Array | None:
    """The number of the written cell at each place of a layout, -1 where nothing was written; None where it does not fit.

    Rows and heads may be left out whole, the last tokens too; rows may stand under their token's name, and stop where all that follows
    is masked; a single number needs no brackets.
    """
    numbers = layout.numbers
    if layout.columns and _named(answer.form):  # a name stands before one token's numbers, which are a column here
        across = np.swapaxes(numbers, layout.tokens or 0, (layout.tokens or 0) - 1)
        at = _fitted(answer, Layout(across, (layout.tokens or 0) - 1), need_not, labels)
        return None if at is None else np.swapaxes(at, layout.tokens or 0, (layout.tokens or 0) - 1)
    single, fewer = numbers.size == 1, _fewer(answer, layout) or not layout.columns
    masked = np.zeros(numbers.shape, bool) if need_not is None else need_not.ravel()[numbers]

    def stands_alone(form: Any, shape: tuple[int, ...]) -> bool:
        """Whether something without brackets may stand here: a number in its place, or nothing in place of all that is missing."""
        return form is None or (not isinstance(form, list) and (single or not shape or not answer.given[form]))

    def may_stop(form: list[Any], at: tuple[int, ...]) -> bool:
        """Whether a list may be shorter than the layout: it holds the first tokens, or all that follows is masked."""
        return bool(form and len(at) == layout.tokens and fewer) or bool(masked[at].ndim == 1 and masked[at][len(form) :].all())

    def spread(form: Any, at: tuple[int, ...]) -> Array:
        shape: tuple[int, ...] = numbers.shape[len(at) :]
        if isinstance(form, Mapping):
            form = _in_order(form, labels) if len(at) == layout.tokens else []
        if stands_alone(form, shape):
            return np.full(shape, -1 if form is None else form)
        short = shape[0] - len(form) if isinstance(form, list) and shape else -1
        if short < 0 or (short and not may_stop(form, at)):
            raise _Unfit
        return np.stack([spread(part, (*at, i)) for i, part in enumerate([*form, *[None] * short])])

    try:
        return spread(answer.form, ())
    except _Unfit:
        return None


class _Unfit(Exception):
    """Raised where an answer's lists do not have the shape of a layout."""


def _named(form: Any) -> bool:
    """Whether rows stand under names anywhere."""
    return isinstance(form, Mapping) or (isinstance(form, list) and any(_named(part) for part in form))


def _in_order(rows: Mapping[str, Any], labels: Sequence[str]) -> list[Any]:
    """Rows that stand under their token's name, in the tokens' order; None for those that are left out."""
    for label in rows:
        if label not in labels:
            raise InputError(f"there is no token {label!r}{did_you_mean(label, list(labels))}; there are {', '.join(labels)}")
        if list(labels).count(label) > 1:
            raise InputError(f"several tokens are called {label!r}; write the rows as a list, [] around each")
    return [rows.get(label) for label in labels]


def _without_empty_column(answer: Answer) -> Answer | None:
    """The same without its last column, if nothing is given there: a separator at the end of every line makes one."""
    shape = answer.shape
    if not shape or shape[-1] < 2 or math.prod(shape) == 0:
        return None
    at = np.arange(len(answer.claims)).reshape(shape)
    return None if answer.given[at[..., -1]].any() else answer.laid_out(at[..., :-1])
