"""Which mistake explains a wrong step: a known one if its numbers fit, else the smallest description of what is off."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from attn_cli.engine.problem import Array
from attn_cli.engine.steps import Instead, Trace, turned
from attn_cli.engine.training import again
from attn_cli.errors import InputError
from attn_cli.homework.claims import near
from attn_cli.homework.mistakes import MISTAKES, Scene
from attn_cli.homework.mistakes.scale import divided_by
from attn_cli.homework.places import Placed
from attn_cli.homework.replacements import Replacements
from attn_cli.homework.verdicts import MISSING, WRONG, Work, rounded_step

EXACT, HIDDEN, REACHED, EXCUSED = range(4)
"""How well a mistake's numbers fit: as written, with hidden steps rounded, within what rounding allows, cell by cell for honest habits."""
LAST_DIGIT_DIGITS = 3
COARSEST = 0
"""Fewest decimals to which somebody may have rounded too early."""
PLAUSIBLE = 12
"""Rounding moves no cell by more than so many units times the largest numbers about."""
UNLIKELY = 0.25
"""A step farther off than this, against its largest number, was not rounded too early."""
FAILS: tuple[type[Exception], ...] = (InputError, ValueError, IndexError, AssertionError)
"""What a mistake raises where its shapes do not fit together."""


@dataclass(frozen=True, eq=False)
class Variant:
    """One way to make a known mistake."""

    code: str
    instead: Replacements
    beside: bool
    values: Mapping[str, Array]
    """What every step comes to when it is made from our own numbers."""


@dataclass(frozen=True)
class Named:
    """The mistake that explains a step, and the others that would."""

    code: str
    also: tuple[str, ...] = ()


@dataclass(eq=False)
class Book:
    """The known mistakes in one problem, worked out once for all its submissions."""

    truth: Trace
    variants: list[Variant] = field(default_factory=list)
    _hideable: dict[Any, list[Variant]] = field(default_factory=dict)
    _visible: dict[Any, list[Variant]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        scene = Scene(self.truth)
        for mistake in MISTAKES.entries():
            for instead in mistake.variants(scene):
                values = self._worked(instead)
                if values is not None:
                    self.variants.append(Variant(mistake.code, instead, mistake.beside, values))

    def _worked(self, instead: Replacements) -> Mapping[str, Array] | None:
        """Every step's value up to where the shapes no longer fit; None where the mistake is none."""
        values: dict[str, Array] = {}

        def keep(name: str, mistake: Instead | None) -> Instead:
            def kept(made: Any) -> Any:
                made = mistake(made) if mistake else made
                values[name] = made.value
                return made

            return kept

        with np.errstate(all="ignore"):
            try:
                again(self.truth, instead={step.name: keep(step.name, instead.get(step.name)) for step in self.truth})
            except FAILS:
                if not any(name in values for name in instead):
                    return None
        changed = any(name not in values or not _same(values[name], self.truth.step(name).made.value) for name in instead)
        return values if changed else None

    # ------------------------------------------------------------------ which may have happened
    def possible(self, step: str, handed: frozenset[str]) -> list[Variant]:
        """Those at the step itself or at steps before it that were not handed in."""
        key = step, handed
        if key not in self._hideable:
            before = [s.name for s in self.truth]
            may = {name for name in before[: before.index(step)] if name not in handed} | {step}
            self._hideable[key] = [
                v
                for v in self.variants
                if set(v.instead) <= may and step in v.values and (not v.beside or "scores" in handed or "raw_scores" in handed)
            ]
        return self._hideable[key]

    def visible(self, step: str, handed: frozenset[str]) -> list[Variant]:
        """The possible mistakes that change the step's numbers, not its shape."""
        key = step, handed
        if key not in self._visible:
            truth = self.truth.step(step).made.value
            possible = ((v, v.values[step]) for v in self.possible(step, handed))
            self._visible[key] = [v for v, values in possible if values.shape == truth.shape and not _same(values, truth)]
        return self._visible[key]

    def reproduces(self, work: Work, placed: Placed) -> bool:
        """Whether a known mistake gives the whole step exactly as written, hidden steps rounded or not."""
        if not placed.fits:
            return False
        return any(
            self._plausible(work, placed, variant) and self._fit(work, placed, variant, HIDDEN) is not None
            for variant in self.visible(placed.step, work.handed)
        )

    def explain(self, work: Work, placed: Placed, cells: Array) -> Named | None:
        """The simplest mistake that explains a wrong step, cells in row layout (as written where the shape is another)."""
        seen = placed if placed.fits else self._as_rows(placed)
        codes: list[str] = []
        if seen is not None and np.isfinite(seen.value[seen.given]).any():
            found: list[tuple[int, str]] = []
            for variant in self.possible(placed.step, work.handed):
                if self._plausible(work, seen, variant):
                    fit = self._fit(work, seen, variant, EXCUSED)
                    if fit is not None:
                        found.append((fit, variant.code))
                        if placed.fits and len(variant.values) == len(self.truth.steps):
                            work.slips.append((placed.step, variant.instead))
            codes = [code for _, code in sorted(found, key=lambda each: each[0])]
            described = self._described(work, seen, cells, bool(codes)) if placed.fits else self._across(seen)
            early = ["rounded_too_early"] if placed.fits and self._too_early(work, placed) else []
            slip = "last_digit" in described and np.sum(cells == WRONG) == 1  # whoever rounds too early is seldom off in one cell only
            codes += [*described, *early] if slip else [*early, *described]
        unique = tuple(dict.fromkeys(codes))
        return Named(unique[0], unique[1:]) if unique else None

    def untold(self, work: Work, placed: Placed) -> list[str]:
        """Known mistakes that differ from right work, but not in the digits given."""
        variants = self.visible(placed.step, work.handed)
        if not variants:
            return []
        truth = self.truth.step(placed.step).made.value
        theirs, half = placed.value, np.maximum(placed.half, work.tol or 0.0)
        stacked = np.stack([variant.values[placed.step] for variant in variants])
        same = (near(theirs, stacked, half) | np.isnan(theirs)).reshape(len(stacked), -1).all(-1)
        # A cell that the mistake leaves alone tells nothing either way: some given cell must be one that it changes.
        changed = (~near(stacked, truth, 0.0) & ~np.isnan(theirs)).reshape(len(stacked), -1).any(-1)
        return list(dict.fromkeys(variant.code for variant, fits in zip(variants, np.atleast_1d(same & changed), strict=True) if fits))

    # ------------------------------------------------------------------ does one fit?
    def _plausible(self, work: Work, placed: Placed, variant: Variant) -> bool:
        """A quick look at what the mistake gives from our own numbers, before anything is run."""
        theirs, ours = placed.value, variant.values[placed.step]
        if ours.shape != theirs.shape:
            return False
        if work.tainted:
            return True
        unit = max(
            float(placed.answer.unit.max(initial=0.0)),
            _unit(placed),
            work.tol or 0.0,
            *(2 * float(np.nanmax(h, initial=0.0)) for h in work.halves.values()),
            0.0,
        )
        with np.errstate(invalid="ignore"):
            off = np.nanmax(np.where(np.isfinite(theirs) & np.isfinite(ours), np.abs(theirs - ours), 0.0), initial=0.0)
            size = np.max(np.abs(ours[np.isfinite(ours)]), initial=0.0)
        return bool(off <= PLAUSIBLE * unit * (1 + self._largest) * (1 + size))

    @cached_property
    def _largest(self) -> float:
        return max(
            float(np.abs(s.made.value[np.isfinite(s.made.value)]).max(initial=0.0))
            for s in self.truth
            if s.name not in ("exponentials", "row_sums")
        )

    def _fit(self, work: Work, placed: Placed, variant: Variant, most: int) -> int | None:
        """How well the mistake's numbers fit the whole step, by the rules that right work is marked by; None if they do not."""

        def made(rounding: Any) -> Array:
            try:
                return work.run(work.written, variant.instead, rounding).step(placed.step).made.value
            except FAILS:
                return variant.values[placed.step]

        ours, rounding = made(0.0), placed.answer.rounding
        if ours.shape != placed.shape:
            return None
        if work.holds(placed, ours):
            return EXACT
        if most >= HIDDEN and rounding != 0.0 and work.holds(placed, made(rounding)):
            return HIDDEN
        if most >= REACHED and work.moves(placed.step) and self._reached(work, placed, variant, ours):
            return REACHED
        if most >= EXCUSED and work.holds(placed, ours, surely=False):
            return EXCUSED
        return None

    def _reached(self, work: Work, placed: Placed, variant: Variant, ours: Array) -> bool:
        wanted = placed.given & ~work.as_it_is(placed, ours)
        if not np.isfinite(placed.value[wanted]).all():
            return False
        try:
            return bool(work.reached(placed, wanted, work.own, variant.instead, all_or_none=True)[wanted].all())
        except FAILS:
            return False

    def _as_rows(self, placed: Placed) -> Placed | None:
        """An answer of another shape than its step's as it is, turned into row layout; None where its rows are not equally long."""
        shape = placed.answer.shape
        if not shape or 0 in shape:
            return None
        numbers = np.arange(placed.answer.value.size).reshape(shape)
        columns = self.truth.problem.vectors == "columns"
        numbers = turned("X", numbers) if columns and placed.step != "row_sums" else numbers
        return replace(placed, shape=numbers.shape, source=np.argsort(numbers.ravel()))

    # ------------------------------------------------------------------ rounded too early
    def _too_early(self, work: Work, placed: Placed) -> bool:
        """Whether fewer digits on the way, in all hidden steps, in one or in √d_k, give exactly these numbers."""
        rounding, theirs = placed.answer.rounding, placed.value
        if isinstance(rounding, np.dtype) or not rounding:
            return False
        ours = work.follows(placed, work.run(work.written), work.own)
        with np.errstate(invalid="ignore"):
            if np.nanmax(np.abs(theirs - ours), initial=0.0) > UNLIKELY * (1 + np.max(np.abs(ours[np.isfinite(ours)]), initial=0.0)):
                return False
        names = [step.name for step in self.truth]
        hidden = [name for name in names[: names.index(placed.step)] if name not in work.handed]
        return any(
            work.holds(placed, work.run(work.written, instead).step(placed.step).made.value) for instead in self._coarser(hidden, rounding)
        )

    def _coarser(self, hidden: list[str], rounding: float) -> Iterator[Replacements]:
        decimals = round(-np.log10(rounding))
        for fewer in range(decimals - 1, COARSEST - 1, -1):
            coarse: Replacements = {name: partial(rounded_step, name=name, rounding=10.0**-fewer) for name in hidden}
            yield coarse
            if len(hidden) > 1:
                yield from ({name: coarse[name]} for name in hidden)
        for some in range(decimals, COARSEST, -1):  # √d_k is no step, so nothing else rounds it to so many digits as the answer has
            yield from divided_by(Scene(self.truth), round(float(np.sqrt(self.truth.sizes.d_k or 0)), some))

    # ------------------------------------------------------------------ the smallest description
    def _across(self, placed: Placed) -> list[str]:
        """What is off in an answer of another shape, if no known mistake explains it."""
        truth = self.truth.step(placed.step).made.value
        across = np.swapaxes(truth, -1, -2) if truth.ndim > 1 else truth
        return ["answer_transposed"] if across.shape == placed.shape and _all_near(placed.value, across, placed.unit) else []

    def _described(self, work: Work, placed: Placed, cells: Array, known: bool) -> list[str]:
        """What is off, if no known mistake explains it; beside a known one only what says more than where."""
        ours = work.follows(placed, work.run(work.written), work.own)
        theirs, unit, digits = placed.value, placed.unit, placed.digits
        found = []
        across = np.swapaxes(ours, -1, -2) if ours.ndim > 1 else ours
        if across.shape == theirs.shape and ours.ndim > 1 and _all_near(theirs, across, unit):
            found.append("answer_transposed")
        wrong = np.argwhere(cells == WRONG)
        at = tuple(wrong.T)
        with np.errstate(invalid="ignore"):
            if len(wrong) == 2 and near(theirs[at], ours[at][::-1], unit[at]).all() and ours[at][0] != ours[at][1]:
                found.append("cells_swapped")
            if near(-theirs[at], ours[at], unit[at]).all():
                found.append("sign")
            off = np.abs(theirs[at] - ours[at]) / np.where(unit[at] > 0, unit[at], np.inf)
        if known:
            return found
        if (digits[at] >= LAST_DIGIT_DIGITS).all() and ((off > 0.5) & (off <= 1.5 + 1e-6)).all():
            found.append("last_digit")
        if len(wrong) == 1:
            found.append("one_cell")
        elif cells.ndim > 1 and len({tuple(place[:-1]) for place in wrong}) == 1 and (cells != MISSING).any(-1).sum() > 1:
            found.append("one_row")
        return found


def _all_near(theirs: Array, ours: Array, half: Array) -> bool:
    return bool((near(theirs, ours, half) | np.isnan(theirs)).all())


def _unit(placed: Placed) -> float:
    return 0.0 if isinstance(placed.answer.rounding, np.dtype) else placed.answer.rounding


def _same(a: Array, b: Array) -> bool:
    return a.shape == b.shape and bool((near(a, b, 1e-12) | (np.isnan(a) & np.isnan(b))).all())
