"""Which mistake explains a wrong step: a known one if its numbers fit, else the smallest description of what is off."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import product
from typing import Any

import numpy as np

from attn_cli.engine.arrays import Array
from attn_cli.engine.steps import Trace, turned
from attn_cli.homework.forgiven import as_it_is, holds, rounded_constants
from attn_cli.homework.habits import CONSTANT_MOVES, METHOD_UNITS
from attn_cli.homework.mistakes.slips import PLACES, SLIPS, Seen, Slip
from attn_cli.homework.mistakes.worked import FAILS, Variant, same, variants
from attn_cli.homework.places import Placed
from attn_cli.homework.reach import reached
from attn_cli.homework.replacements import Replacements
from attn_cli.homework.rounding import Rounding, near, rounded_step
from attn_cli.homework.submission import WRONG, Submission, after

EXACT, HIDDEN, REACHED, EXCUSED = range(4)
"""How well a mistake's numbers fit: as written, with hidden steps rounded, within what rounding allows, cell by cell for honest habits."""
BESIDE, PER_SLIP = 8, 3
"""Cells. Beside a mistake of method one in BESIDE may hold a slip, if the mistake explains PER_SLIP others for each.

Both lowered, chance explains more."""
COARSEST = 0
"""Decimals. Nobody is thought to have rounded to fewer too early."""
PLAUSIBLE = 8
"""Times as far as rounding moves right work. It moves no mistaken cell farther; raised, more mistakes are worked out in vain."""
UNLIKELY = 0.25
"""Of a step's largest number. A step that is farther off was not rounded too early; raised, more steps are tried for it."""


@dataclass(frozen=True, eq=False)
class Explanation:
    """The mistake that explains a step."""

    code: str
    also: tuple[str, ...] = ()
    """Other mistakes that give the same numbers, and slips beside it."""
    at: str | None = None
    """The step at which a mistake of method lies, which need not have been handed in."""
    made: Trace | None = None
    """The problem as the mistake works it, from the numbers handed in; None where it is a slip of writing."""


@dataclass(frozen=True, eq=False)
class _Fit:
    """How well a way to make a mistake gives what was written."""

    variant: Variant
    how: int
    misses: Array
    """True at the cells that it does not give."""


@dataclass(eq=False)
class Book:
    """The known mistakes in one problem, worked out once for all its submissions."""

    truth: Trace
    variants: list[Variant] = field(default_factory=list)
    common: dict[Any, Any] = field(default_factory=dict)
    """What the submissions share (see Submission)."""
    _hideable: dict[Any, list[Variant]] = field(default_factory=dict)
    _visible: dict[Any, list[Variant]] = field(default_factory=dict)
    _last: tuple[tuple[Any, ...], tuple[float, float]] | None = None

    def __post_init__(self) -> None:
        self.variants += [variant for variant in variants(self.truth) if variant.changes]

    @cached_property
    def order(self) -> dict[str, int]:
        """At which place each step stands."""
        return {step.name: place for place, step in enumerate(self.truth)}

    # ------------------------------------------------------------------ which may have happened
    def possible(self, step: str, handed: frozenset[str]) -> list[Variant]:
        """Those at the step itself or at steps before it that were not handed in, where they change the step; they may go on later."""
        key = step, handed
        if key not in self._hideable:
            earlier = {name for name, place in self.order.items() if place < self.order[step]}
            may = (earlier - handed) | {step}
            beside = "scores" in handed or "raw_scores" in handed
            truth = self.truth.step(step).made.value
            at_hand = [v for v in self.variants if may & set(v.instead) and not (set(v.instead) & earlier) - may]
            changing = [v for v in at_hand if step in v.values and not same(v.values[step], truth)]
            self._hideable[key] = [v for v in changing if beside or not v.mistake.beside]
        return self._hideable[key]

    def visible(self, step: str, handed: frozenset[str]) -> list[Variant]:
        """The possible mistakes of method, no matters of rounding, that change the step's numbers, not its shape."""
        key = step, handed
        if key not in self._visible:
            truth = self.truth.step(step).made.value
            methods = [v for v in self.possible(step, handed) if not v.mistake.rounding]
            self._visible[key] = [v for v in methods if v.values[step].shape == truth.shape]
        return self._visible[key]

    def reproduces(self, submission: Submission, placed: Placed) -> bool:
        """Whether a known mistake gives the whole step exactly as written, hidden steps rounded or not."""
        if not placed.fits:
            return False
        visible = self.visible(placed.step, submission.handed)
        return any(
            self._plausible(submission, placed, variant) and self._fit(submission, placed, variant, HIDDEN) is not None
            for variant in visible
        )

    def explain(self, submission: Submission, placed: Placed, cells: Array) -> Explanation | None:
        """The simplest mistake that explains a wrong step, cells in row layout (as written where the shape is another)."""
        placed = _readable(placed)
        seen = placed if placed.fits else self._as_rows(placed)
        if seen is None or not np.isfinite(seen.value[seen.given]).any():
            return None
        wrong = (cells == WRONG) & seen.given if placed.fits else seen.given
        if not wrong.any():
            return None
        fits = self._fitting(submission, seen, wrong)
        if placed.fits:
            submission.mistaken[placed.step] = [fit.variant.instead for fit in fits]
        slips = self._slips(submission, placed, seen, wrong, fits)
        codes = tuple(dict.fromkeys([fit.variant.code for fit in fits] + slips))
        if not fits:
            return Explanation(codes[0], codes[1:]) if codes else None
        instead = fits[0].variant.instead
        return Explanation(codes[0], codes[1:], min(instead, key=self.order.__getitem__), self._made(submission, instead))

    def untold(self, submission: Submission, placed: Placed) -> list[str]:
        """Known mistakes that differ from right work, but not in the digits given."""
        visible = self.visible(placed.step, submission.handed)
        if not visible:
            return []
        truth = self.truth.step(placed.step).made.value
        theirs, half = placed.value, np.maximum(placed.half, submission.tol or 0.0)
        stacked = np.stack([variant.values[placed.step] for variant in visible])
        same = (near(theirs, stacked, half) | np.isnan(theirs)).reshape(len(stacked), -1).all(-1)
        # A cell that the mistake leaves alone tells nothing either way: some given cell must be one that it changes.
        changed = (~near(stacked, truth, 0.0) & ~np.isnan(theirs)).reshape(len(stacked), -1).any(-1)
        return list(dict.fromkeys(variant.code for variant, fits in zip(visible, np.atleast_1d(same & changed), strict=True) if fits))

    # ------------------------------------------------------------------ does one fit?
    def _fitting(self, submission: Submission, placed: Placed, wrong: Array) -> list[_Fit]:
        """The mistakes that give the step, the best first; if none gives all of it, the one that gives all but a few cells."""
        plausible = [v for v in self.possible(placed.step, submission.handed) if self._plausible(submission, placed, v)]
        found = self._giving_all(submission, placed, plausible)
        if not found:
            beside = (self._beside(submission, placed, v, wrong) for v in plausible)
            return sorted((fit for fit in beside if fit is not None), key=lambda fit: fit.misses.sum())[:1]
        if len({fit.variant.code for fit in found}) > 1:
            return sorted(found, key=lambda fit: (fit.how, -self._goes_on(submission, placed, fit.variant)))
        return sorted(found, key=lambda fit: fit.how)

    def _giving_all(self, submission: Submission, placed: Placed, plausible: list[Variant]) -> list[_Fit]:
        """The mistakes that give the whole step; where some give it exactly, only those."""
        nothing = np.zeros(placed.shape, bool)
        tried = [(variant, self._fit(submission, placed, variant, EXCUSED)) for variant in plausible]
        found = [_Fit(variant, how, nothing) for variant, how in tried if how is not None]
        if found:
            exact = [fit for fit in found if fit.how == EXACT]
            return exact or found
        return [_Fit(v, EXCUSED, nothing) for v in plausible if self._with_constants(submission, placed, v)]

    def _goes_on(self, submission: Submission, placed: Placed, variant: Variant) -> int:
        """In how many later steps that were handed in the mistake gives what was written there, too."""
        later = [other for other in submission.placed if other.fits and self.order[other.step] > self.order[placed.step]]
        made = self._made(submission, variant.instead)
        values = [] if made is None else [(other, made.step(other.step).made.value) for other in later]
        return sum(value.shape == other.shape and _within(other, value) for other, value in values)

    def _made(self, submission: Submission, instead: Replacements) -> Trace | None:
        """The problem as a mistake works it, from the numbers handed in; None where the shapes do not fit together."""
        try:
            return submission.run(submission.written, instead)
        except FAILS:
            return None

    def _plausible(self, submission: Submission, placed: Placed, variant: Variant) -> bool:
        """A quick look at what the mistake gives from our own numbers, before anything is run."""
        ours = variant.values[placed.step]
        return ours.shape == placed.shape and (submission.tainted or self._close(submission, placed, ours))

    def _close(self, submission: Submission, placed: Placed, ours: Array) -> bool:
        """Whether rounding on the way may have moved all but a few cells from these numbers to those written."""
        moved, size = self._moved(submission, placed)
        larger = max(1.0, _size(ours) / max(size, 1e-9))
        with np.errstate(invalid="ignore"):
            far = ~(np.abs(placed.value - ours) <= PLAUSIBLE * moved * larger) & np.isfinite(ours) & placed.given
        return bool(far.sum() <= _most_misses(placed))

    def _moved(self, submission: Submission, placed: Placed) -> tuple[float, float]:
        """How far rounding moves right work at this step, and its largest number; kept for the next mistake at the same step."""
        key = (placed, submission.written)
        if self._last is None or any(kept is not now for kept, now in zip(self._last[0], key, strict=True)):
            right, *others = (trace.step(placed.step).made.value for trace in self._honest(submission, placed))
            moved = max((_farthest(other, right) for other in others if other.shape == right.shape), default=0.0)
            moved = max(moved, METHOD_UNITS * max(float(placed.unit.max(initial=0.0)), submission.tol or 0.0))
            self._last = key, (moved, _size(right))
        return self._last[1]

    def _worked(
        self, submission: Submission, placed: Placed, variant: Variant, instead: Replacements, rounding: Rounding | None = None
    ) -> Array:
        """What the mistake gives from the numbers handed in, hidden steps rounded or not."""
        try:
            return submission.run(submission.written, instead, rounding).step(placed.step).made.value
        except FAILS:
            return variant.values[placed.step]

    def _ways(self, submission: Submission, placed: Placed, variant: Variant, most: int) -> Iterator[tuple[int, Array]]:
        """What the mistake gives exactly, from the numbers handed in or from right ones; then with hidden steps rounded."""
        manners = variant.manners(placed.step)
        exact = [self._worked(submission, placed, variant, instead) for instead in manners]
        if not submission.tainted and submission.written:
            exact.append(variant.values[placed.step])
        yield from ((EXACT, ours) for ours in exact)
        if most >= HIDDEN and any(ours.shape == placed.shape and self._close(submission, placed, ours) for ours in exact):
            for instead, rounding in product(manners, self._roundings(submission, placed, variant.instead)):
                yield HIDDEN, self._worked(submission, placed, variant, instead, rounding)

    def _roundings(self, submission: Submission, placed: Placed, instead: Replacements | None = None) -> list[Rounding]:
        """How steps that were not handed in may have been rounded on the way to this one."""
        if not placed.answer.rounding.rounds or not submission.hides(placed.step, submission.written, instead):
            return []
        return [placed.answer.rounding._replace(how=how) for how in ("even", "up", "cut")]

    def _fit(self, submission: Submission, placed: Placed, variant: Variant, most: int) -> int | None:
        """How well the mistake's numbers fit the whole step, by the rules that right work is marked by; None if they do not."""
        exactly = []
        for how, ours in self._ways(submission, placed, variant, most):
            if ours.shape != placed.shape:
                return None
            if holds(placed, ours, submission.tol):
                return how
            exactly += [ours] if how == EXACT and _within(placed, ours) else []
        if most < REACHED or not exactly:
            return None
        if submission.moves(placed.step) and self._reached(submission, placed, variant):
            return REACHED
        return EXCUSED if any(holds(placed, ours, submission.tol, surely=False) for ours in exactly) else None

    def _reached(self, submission: Submission, placed: Placed, variant: Variant) -> bool:
        """Whether the rounding of written and hidden steps takes what the mistake gives to every cell."""
        for instead in variant.manners(placed.step):
            wanted = placed.given & ~as_it_is(placed, self._worked(submission, placed, variant, instead), submission.tol)
            with suppress(*FAILS):
                found = reached(submission, placed, wanted, submission.own, placed.answer.rounding, instead, all_or_none=True)
                if np.isfinite(placed.value[wanted]).all() and found[wanted].all():
                    return True
        return False

    def _with_constants(self, submission: Submission, placed: Placed, variant: Variant) -> bool:
        """Whether the mistake gives the step if e or a root was rounded beside it, as is forgiven."""
        ours = self._worked(submission, placed, variant, variant.instead)
        if ours.shape != placed.shape:
            return False
        with np.errstate(invalid="ignore"):
            size = np.max(np.abs(ours), initial=0.0, where=np.isfinite(ours))
            far = np.abs(placed.value - ours) > CONSTANT_MOVES * size + 2 * placed.unit
        if (far & placed.given).any():
            return False
        for constants in rounded_constants(self.truth, placed, submission.handed):
            if len(constants) > 1:
                continue  # one at a time: trying both together takes long, and hardly anybody rounds both
            instead = {**constants, **{name: after(constants.get(name), mistake) for name, mistake in variant.instead.items()}}
            if holds(placed, self._worked(submission, placed, variant, instead), submission.tol):
                return True
        return False

    def _beside(self, submission: Submission, placed: Placed, variant: Variant, wrong: Array) -> _Fit | None:
        """A mistake beside a slip or two of another kind: it gives the digits of all the other cells."""
        best: _Fit | None = None
        for how, ours in self._ways(submission, placed, variant, HIDDEN):
            if ours.shape != placed.shape:
                return None
            given = as_it_is(placed, ours, submission.tol)
            misses, explained = placed.given & ~given, wrong & given
            few = misses.sum() <= _most_misses(placed) and explained.sum() >= PER_SLIP * misses.sum()
            if few and (best is None or misses.sum() < best.misses.sum()):
                best = _Fit(variant, how, misses)
        return best

    def _as_rows(self, placed: Placed) -> Placed | None:
        """An answer of another shape than its step's as it is, turned into row layout; None where its rows are not equally long."""
        shape = placed.answer.shape
        if not shape or 0 in shape:
            return None
        numbers = np.arange(placed.answer.value.size).reshape(shape)
        columns = self.truth.problem.vectors == "columns"
        numbers = turned("X", numbers) if columns and placed.step != "row_sums" else numbers
        return replace(placed, shape=numbers.shape, source=np.argsort(numbers.ravel()))

    # ------------------------------------------------------------------ what no mistake of method explains
    def _slips(self, submission: Submission, placed: Placed, seen: Placed, wrong: Array, fits: list[_Fit]) -> list[str]:
        """What is off where no known mistake explains it; beside a known one only what says more than where."""
        if not placed.fits:
            steps = [trace.step(placed.step).made.value for trace in self._honest(submission, placed)]
            looks = [SLIPS["answer_transposed"](Seen(ours, seen.value, seen.unit, seen.digits, seen.given)) for ours in steps]
            return ["answer_transposed"] if any(looks) else []
        if fits and fits[0].misses.any():
            ours = [self._worked(submission, placed, fits[0].variant, fits[0].variant.instead)]
            return _described(placed, ours, fits[0].misses, SLIPS, PLACES)[:1]
        ours = [submission.follows(placed, trace, submission.own) for trace in self._honest(submission, placed)]
        what = _described(placed, ours, wrong, SLIPS)
        where = [] if fits else _described(placed, ours, wrong, PLACES)
        early = ["rounded_too_early"] if self._too_early(submission, placed) else []
        if "last_digit" in where and wrong.sum() == 1:  # whoever rounds too early is seldom off in one cell only
            return [*what, *where, *early]
        return [*early, *what, *where]

    def _honest(self, submission: Submission, placed: Placed) -> Iterator[Trace]:
        """What follows from the numbers handed in, from right ones, and with hidden steps rounded."""
        yield submission.run(submission.written)
        if not submission.tainted:
            yield self.truth
        for rounding in self._roundings(submission, placed):
            yield submission.run(submission.written, None, rounding)

    def _too_early(self, submission: Submission, placed: Placed) -> bool:
        """Whether fewer digits on the way, in all hidden steps or in one, give exactly these numbers."""
        rounding, theirs = placed.answer.rounding, placed.value
        if not rounding.unit:
            return False
        ours = submission.follows(placed, submission.run(submission.written), submission.own)
        with np.errstate(invalid="ignore"):
            if np.nanmax(np.abs(theirs - ours), initial=0.0) > UNLIKELY * (1 + np.max(np.abs(ours[np.isfinite(ours)]), initial=0.0)):
                return False
        hidden = [name for name, place in self.order.items() if place < self.order[placed.step] and name not in submission.handed]
        return any(
            holds(placed, submission.run(submission.written, instead).step(placed.step).made.value, submission.tol)
            for instead in _coarser(hidden, rounding.unit)
        )


def _coarser(hidden: list[str], unit: float) -> Iterator[Replacements]:
    """Hidden steps rounded to fewer decimals than the answer has."""
    for fewer in range(round(-np.log10(unit)) - 1, COARSEST - 1, -1):
        coarse: Replacements = {name: partial(rounded_step, name=name, rounding=Rounding(10.0**-fewer)) for name in hidden}
        yield coarse
        if len(hidden) > 1:
            yield from ({name: coarse[name]} for name in hidden)


def _described(placed: Placed, sources: list[Array], wrong: Array, *tables: Mapping[str, Slip]) -> list[str]:
    """The slips that the wrong cells look like, if one of the sources is what should stand there."""
    steps = [Seen(ours, placed.value, placed.unit, placed.digits, wrong) for ours in sources]
    with np.errstate(invalid="ignore"):
        return [code for table in tables for code, looks_so in table.items() if any(looks_so(seen) for seen in steps)]


def _farthest(one: Array, other: Array) -> float:
    """The largest difference between finite cells of two steps."""
    both = np.isfinite(one) & np.isfinite(other)
    return float(np.abs(np.subtract(one, other, out=np.zeros(one.shape), where=both)).max(initial=0.0))


def _size(value: Array) -> float:
    """The largest finite number of a step."""
    return float(np.abs(value).max(initial=0.0, where=np.isfinite(value)))


def _readable(placed: Placed) -> Placed:
    """An answer without the cells that cannot be read, which no mistake gives."""
    answer = placed.answer
    return replace(placed, answer=replace(answer, given=answer.given & ~np.isnan(answer.value)))


def _most_misses(placed: Placed) -> int:
    """In how many cells of a step a slip may stand beside a mistake."""
    return max(1, int(placed.given.sum()) // BESIDE)


def _within(placed: Placed, exactly: Array) -> bool:
    """Whether every cell given lies within a few units of what a mistake gives exactly, rounded to the digits claimed."""
    with np.errstate(invalid="ignore"):
        unit = np.where(placed.unit > 0, placed.unit, _unit(placed))
        off = np.abs(placed.value - exactly) <= (METHOD_UNITS + 0.5) * unit * (1 + 1e-9)
    return bool((off | (placed.value == exactly) | ~placed.given).all())


def _unit(placed: Placed) -> float:
    return placed.answer.rounding.unit
