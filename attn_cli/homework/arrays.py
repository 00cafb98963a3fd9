"""Arrays that a program made, compared with the definition worked in float64 from the same inputs.

A step may lose what a plain program loses in the array's dtype: the definition worked with products and sums added one after
another in float32, and every step rounded to the dtype (after the tests of FlashAttention). All arrays are in row layout.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from attn_cli.engine import operations as op
from attn_cli.engine.arrays import Array
from attn_cli.engine.operations import Named
from attn_cli.engine.operations.products import Linear, OuterSum, Weigh
from attn_cli.engine.operations.rows import RowNorm
from attn_cli.engine.problem import ARRAYS, Problem
from attn_cli.engine.steps import Trace
from attn_cli.engine.training import again
from attn_cli.homework.claims import ArrayAnswer
from attn_cli.homework.explain import Explanation
from attn_cli.homework.habits import BLOCK, DOUBLE_EPSILON, LARGEST_TIMES, LARGEST_ULPS, MASKED, RMS_TIMES, RMS_ULPS, SMALL, TIE
from attn_cli.homework.mistakes import MISTAKES, Scene
from attn_cli.homework.mistakes.slips import PLACES, SLIPS, Seen
from attn_cli.homework.mistakes.worked import FAILS
from attn_cli.homework.places import array_place
from attn_cli.homework.report import Precision
from attn_cli.homework.submission import CARRIED, RIGHT, WRONG

SHORT = (np.dtype(np.float16), np.dtype(np.float32))
"""The dtypes of which a plain program's loss is worked out; all others may lose what double precision does."""


WAYS = ("forwards", "backwards", "at once")
"""How a plain program may add up; of small steps the one that loses most is taken, since their few errors may be small by chance."""


@dataclass(frozen=True, eq=False)
class ArrayMarked:
    """One array with its verdicts. Its cells stand in the order of the array."""

    answer: ArrayAnswer
    step: str
    cells: Array
    """A verdict for each cell."""
    source: Array
    """The number of the step's cell for each cell, in row layout; empty where the array has another shape."""
    expected: Array
    """What each cell should be; empty where the array has another shape."""
    precision: Precision
    notes: tuple[str, ...] = ()
    mistake: Explanation | None = None
    handed: tuple[Array, Array] | None = None
    """Its numbers and their verdicts as the step has them, NaN where none was given; None where they cannot be passed on."""

    @property
    def fits(self) -> bool:
        return self.source.size > 0

    @property
    def verdict(self) -> int:
        return int(self.cells.max(initial=RIGHT)) if self.fits else WRONG


@dataclass(frozen=True, eq=False)
class Bound:
    """How far a step may be off: the largest error, and the root mean square."""

    largest: float
    rms: float
    ulp: float
    """One unit in the last place of the step's largest number."""

    def kept(self, error: Array) -> bool:
        size = np.abs(error)
        return bool(size.max(initial=0.0) <= self.largest * (1 + TIE)) and _rms(error) <= self.rms * (1 + TIE)


@dataclass(eq=False)
class Kernel:
    """What a program's arrays for one problem are compared with."""

    trace: Trace
    tol: float | None = None
    _plain: dict[Any, tuple[Trace, object]] = field(default_factory=dict)

    @cached_property
    def truth(self) -> Trace:
        """The definition worked in float64."""
        problem = self.trace.problem
        return self.trace if problem.dtype == "float64" else again(replace(self.trace, problem=replace(problem, dtype="float64")))

    def mark(self, answers: Sequence[ArrayAnswer]) -> list[ArrayMarked]:
        """Arrays in the order of their steps, marked."""
        marked: list[ArrayMarked] = []
        for answer in answers:
            marked.append(self._marked(answer, marked))
        return marked

    def _marked(self, answer: ArrayAnswer, before: Sequence[ArrayMarked]) -> ArrayMarked:
        name, numbers, notes = array_place(answer, self.trace)
        if numbers is None:
            return self._misshapen(answer, name, notes)
        source, truth = numbers.ravel(), self.truth.step(name).made.value.ravel()
        found, expected = np.asarray(answer.array).ravel().astype(float), truth[numbers.ravel()]
        bound = self._bound(name, _dtype(answer), {}, _dtypes(before))
        error = _error(found, expected)
        departs = not bound.kept(error)
        precision = self._precision(answer, name, source, found, expected, error, bound, departs)
        cells, mistake = np.full(source.size, RIGHT, np.int8), None
        if departs:
            beyond = np.abs(error) > bound.largest * (1 + TIE)
            beyond = beyond if beyond.any() else np.ones(source.size, bool)
            cells[beyond] = CARRIED if self._follows(answer, name, source, found, before) else WRONG
            if (cells == WRONG).any():
                handed_in = {m.step for m in before if m.fits}
                mistake = self._explained(name, source, found, beyond, bound, handed_in, answer.array.dtype == np.float16)
        handed = np.full((2, truth.size), np.nan)
        handed[0, source], handed[1, source] = np.where(np.isposinf(np.abs(found)) & (expected > -np.inf), np.nan, found), cells
        equal = departs and found.size > 1 and bool((found == found[0]).all())
        values, codes = (each.reshape(self.truth.step(name).made.value.shape) for each in handed)
        return ArrayMarked(answer, name, cells, source, expected, precision, notes, mistake, None if equal else (values, codes))

    def _misshapen(self, answer: ArrayAnswer, name: str, notes: tuple[str, ...]) -> ArrayMarked:
        """Nothing is stretched, or even read: every cell of an array of another shape is wrong."""
        none, step = np.empty(0, int), self.truth.step(name).made.value
        precision = Precision(str(answer.array.dtype), np.inf, np.inf, departs=True)
        mistake = None
        if step.ndim > 1 and answer.shape == step.mT.shape:
            turned = self._bound(name, _dtype(answer), {}, {}).kept(_error(answer.array.astype(float), step.mT))
            mistake = Explanation("answer_transposed") if turned else None
        cells = np.broadcast_to(np.int8(WRONG), math.prod(answer.shape))
        return ArrayMarked(answer, name, cells, none, none, precision, notes, mistake)

    # ------------------------------------------------------------------ how far a step may be off
    def _bound(self, name: str, dtype: np.dtype[Any], given: Mapping[str, Array], dtypes: Mapping[str, np.dtype[Any]]) -> Bound:
        truth = self._worked(given).step(name).made.value
        largest = float(np.max(np.abs(truth), initial=0.0, where=np.isfinite(truth)))
        with np.errstate(over="ignore"):
            top = min(largest, float(np.finfo(dtype).max))
            ulp = float(np.spacing(np.abs(np.asarray(top, dtype))))
        if self.tol is not None:
            return Bound(self.tol, np.inf, ulp)
        if dtype not in SHORT:
            sizes, scores = self.truth.sizes, self.truth.step("scores").made.value if "scores" in self.truth else np.zeros(1)
            steepness = max(1.0, float(np.max(np.abs(scores), initial=0.0, where=np.isfinite(scores))))
            most = ((sizes.d_k or 1) + sizes.m) * DOUBLE_EPSILON * largest * steepness
            return Bound(most, most, ulp)
        ways = WAYS if max(step.made.value.size for step in self.truth) <= SMALL else WAYS[:1]
        errors = [_error(self._plainly(way, dtype, given, dtypes).step(name).made.value.astype(float), truth) for way in ways]
        errors = [error[np.isfinite(error)] for error in errors]
        largest_error = max(float(np.abs(error).max(initial=0.0)) for error in errors)
        return Bound(LARGEST_TIMES * largest_error + LARGEST_ULPS * ulp, RMS_TIMES * max(map(_rms, errors)) + RMS_ULPS * ulp, ulp)

    def _worked(self, given: Mapping[str, Array]) -> Trace:
        """The definition in float64, from some arrays handed in."""
        return again(self.truth, given=given) if given else self.truth

    def _plainly(self, way: str, dtype: np.dtype[Any], given: Mapping[str, Array], dtypes: Mapping[str, np.dtype[Any]]) -> Trace:
        """A plain program: sums added one after another in float32, every step rounded to the dtype in which it was handed in."""
        key = way, dtype, id(given) if given else None, tuple(sorted((name, str(each)) for name, each in dtypes.items()))
        if key not in self._plain:
            problem = replace(_in(dtype, self.truth.problem), dtype="float32")
            instead = {step.name: partial(plain_step, way=way, dtype=dtypes.get(step.name, dtype)) for step in self.truth}
            with np.errstate(all="ignore"):
                trace = again(replace(self.truth, problem=problem), given=given, instead=instead)
            self._plain[key] = trace, given
        return self._plain[key][0]

    def _precision(
        self, answer: ArrayAnswer, name: str, source: Array, found: Array, expected: Array, error: Array, bound: Bound, departs: bool
    ) -> Precision:
        size = np.abs(error)
        largest, at = float(size.max(initial=0.0)), int(np.argmax(np.where(np.isnan(size), np.inf, size))) if size.size else 0
        mean = float(size.mean()) if size.size else 0.0
        step = self.trace.step(name)
        worst = step.row_cell(tuple(int(i) for i in np.unravel_index(int(source[at]), step.made.value.shape))) if largest else None
        lean = float(error.mean()) / mean if mean and np.isfinite(mean) else 0.0
        ulps = largest / bound.ulp if bound.ulp else 0.0
        return Precision(
            str(answer.array.dtype),
            largest,
            ulps,
            bound.largest,
            _rms(error),
            bound.rms,
            worst,
            float(found[at]),
            float(expected[at]),
            lean,
            departs,
        )

    # ------------------------------------------------------------------ why it departs
    def _follows(self, answer: ArrayAnswer, name: str, source: Array, found: Array, before: Sequence[ArrayMarked]) -> bool:
        """Whether a step keeps the bound when it is worked from the arrays handed in before it, wrong ones among them."""
        if not any((marked.cells > RIGHT).any() and marked.handed for marked in before):
            return False
        given = {marked.step: marked.handed[0] for marked in before if marked.handed is not None}
        expected = self._worked(given).step(name).made.value.ravel()[source]
        return self._bound(name, _dtype(answer), given, _dtypes(before)).kept(_error(found, expected))

    def _explained(
        self, name: str, source: Array, found: Array, beyond: Array, bound: Bound, handed: set[str], coarse: bool
    ) -> Explanation | None:
        """The mistake that gives the whole step within the bound, else the smallest description of what is off."""
        codes: list[str] = []
        first: tuple[str, Trace] | None = None
        for code, at, trace in self._mistaken(name, handed, coarse):
            made = trace.step(name).made.value
            if code not in codes and made.size > source.max() and bound.kept(_error(found, made.ravel()[source])):
                codes.append(code)
                first = first or (at, trace)
        if not codes and source.size == self.truth.step(name).made.value.size:
            codes = self._slips(name, source, found, beyond, bound)
        return Explanation(codes[0], tuple(codes[1:]), *(first or (None, None))) if codes else None

    def _mistaken(self, name: str, handed: set[str], coarse: bool) -> Iterator[tuple[str, str, Trace]]:
        """The problem as each known mistake of method works it, where that lies at the step or at hidden ones before it.

        Worked in float32 where what is compared is coarser.
        """
        truth = replace(self.truth, problem=replace(self.truth.problem, dtype="float32")) if coarse else self.truth
        order = [step.name for step in self.truth]
        earlier = set(order[: order.index(name)])
        scene = Scene(self.truth)
        for mistake in MISTAKES.entries():
            if mistake.rounding:
                continue
            for instead in mistake.variants(scene):
                if not set(instead) & ((earlier - handed) | {name}) or set(instead) & earlier & handed:
                    continue
                with np.errstate(all="ignore"):
                    try:
                        trace = again(truth, instead=instead)
                    except FAILS:
                        continue
                if name in trace and trace.step(name).made.value.shape == self.truth.step(name).made.value.shape:
                    yield mistake.code, min(instead, key=order.index), trace

    def _slips(self, name: str, source: Array, found: Array, beyond: Array, bound: Bound) -> list[str]:
        """What is off where no known mistake explains it."""
        ours = self.truth.step(name).made.value
        theirs, wrong = np.empty(ours.size), np.empty(ours.size, bool)
        theirs[source], wrong[source] = found, beyond
        unit = np.full(ours.shape, bound.largest)
        seen = Seen(ours, theirs.reshape(ours.shape), unit, np.zeros(ours.shape, int), wrong.reshape(ours.shape))
        with np.errstate(invalid="ignore"):
            return [code for table in (SLIPS, PLACES) for code, looks_so in table.items() if looks_so(seen)]


# ------------------------------------------------------------------ a plain program
def plain_step(made: Named, way: str, dtype: np.dtype[Any]) -> Named:
    """A step as a plain program has it: sums one after another in float32, the result rounded to the dtype.

    What overflows the dtype is kept in float32.
    """
    value = Plain(way).value(made, top=True)
    short = value.astype(dtype).astype(np.float32)
    return op.revalued(made, np.where(np.isinf(short) & np.isfinite(value), value, short))


@dataclass(frozen=True)
class Plain:
    """A plain program's arithmetic, all of it in float32."""

    way: str
    """forwards: terms one after another from the first; backwards: from the last, scores multiplied by 1/√d_k; at once: as NumPy adds."""

    def value(self, made: Named, top: bool = False) -> Array:
        """What is made, worked out from the steps and inputs that it starts from."""
        if made.operation is None or (made.name and not top):
            return made.value.astype(np.float32, copy=False)
        operation, operands = made.operation, made.operands
        if isinstance(operation, op.Softmax):
            return self.softmax(self.value(operands[2]))
        values = [self.value(operand) for operand in operands]
        if isinstance(operation, op.Scale) and operation.divide and self.way != "forwards":
            return np.asarray(values[0] * np.float32(1 / operation.by.evaluate()))
        return np.asarray(self.added(operation, values), np.float32)

    def added(self, operation: op.Operation, values: list[Array]) -> Array:
        """What an operation makes; sums in our own order."""
        if isinstance(operation, op.Product):
            a, b = values
            return self.product(a.mT if operation.left else a, b.mT if operation.right else b)
        if isinstance(operation, Linear):
            return self.product(values[0], values[1] if operation.turned else values[1].T)
        if isinstance(operation, OuterSum):
            a, b = (x.reshape(-1, x.shape[-1]) for x in values)
            return self.product(a.T, b)
        if isinstance(operation, Weigh):
            return self.sum(values[0] * values[1])
        if isinstance(operation, op.RowSum):
            return np.asarray(self.sum(values[0])[..., None] if operation.keep else self.sum(values[0]))
        if isinstance(operation, RowNorm):
            return np.asarray(np.sqrt(self.sum(np.square(values[0])))[..., None])
        return operation.value(*values)

    def softmax(self, scores: Array) -> Array:
        """(n, m) -> (n, m), each row shifted by its maximum before exp, as every program does it."""
        largest = scores.max(axis=-1, keepdims=True)
        e = np.exp(scores - np.where(np.isfinite(largest), largest, 0))
        z = self.sum(e)[..., None]
        return np.asarray(np.divide(e, z, out=np.zeros_like(e), where=z != 0))

    def sum(self, terms: Array) -> Array:
        """The sum of each row."""
        if self.way == "at once":
            return np.asarray(terms.sum(axis=-1))
        ordered = terms if self.way == "forwards" else terms[..., ::-1]
        return np.asarray(np.add.accumulate(ordered, axis=-1, dtype=np.float32)[..., -1])

    def product(self, a: Array, b: Array) -> Array:
        """a·b: (…, n, d), (…, d, m) -> (…, n, m)."""
        if self.way == "at once":
            return np.asarray(np.matmul(a, b))
        head = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        n, d, m = a.shape[-2], a.shape[-1], b.shape[-1]
        a, b = np.broadcast_to(a, (*head, n, d)), np.broadcast_to(b, (*head, d, m))
        out = np.zeros((*head, n, m), np.float32)
        rows = max(1, BLOCK // max(m, 1))
        for at in np.ndindex(*head):
            columns, turned = np.ascontiguousarray(b[at]), np.ascontiguousarray(a[at].T)
            for first in range(0, n, rows):
                added, part = out[at][first : first + rows], turned[:, first : first + rows, None]
                term = np.empty_like(added)
                for k in range(d) if self.way == "forwards" else reversed(range(d)):
                    np.multiply(part[k], columns[k], out=term)
                    added += term
        return out


# ------------------------------------------------------------------ numbers
def _in(dtype: np.dtype[Any], problem: Problem) -> Problem:
    """The problem with its inputs rounded to a dtype; what overflows it stays."""

    def short(value: Array) -> Array:
        with np.errstate(over="ignore"):
            cast = np.asarray(value).astype(dtype).astype(float)
        return np.where(np.isinf(cast) & np.isfinite(value), value, cast)

    arrays: dict[str, Any] = {name: short(getattr(problem, name)) for name in problem.given(*ARRAYS)}
    parameters = {score: {name: short(value) for name, value in given.items()} for score, given in problem.parameters.items()}
    return replace(problem, **arrays, parameters=parameters)


def _dtype(answer: ArrayAnswer) -> np.dtype[Any]:
    """The precision that an array claims; whole numbers claim that of double precision."""
    return answer.array.dtype if answer.array.dtype in SHORT else np.dtype(np.float64)


def _dtypes(before: Sequence[ArrayMarked]) -> dict[str, np.dtype[Any]]:
    """In which dtype each earlier step was handed in, where that is short."""
    return {marked.step: _dtype(marked.answer) for marked in before if marked.fits and _dtype(marked.answer) in SHORT}


def _error(found: Array, expected: Array) -> Array:
    """How far each number is off: infinitely where a NaN or an infinity stands against a number, and not at all at a masked score."""
    with np.errstate(invalid="ignore"):
        error = found - expected
    masked = (expected == -np.inf) & (found <= MASKED)
    return np.where(masked | (found == expected), 0.0, np.where(np.isfinite(error), error, np.inf))


def _rms(error: Array) -> float:
    return float(np.sqrt(np.mean(np.square(error)))) if error.size else 0.0
