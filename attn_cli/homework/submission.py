"""One submission to a problem: its numbers, which of them are sound, and the engine run again from them.

Marking is the same engine run again, with somebody's own numbers in place of ours. All arrays are in row layout.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np

from attn_cli.engine import operations as op
from attn_cli.engine.arrays import Array
from attn_cli.engine.modes import MODES
from attn_cli.engine.steps import MAY_BE_MASKED, Instead, Trace
from attn_cli.engine.training import again
from attn_cli.homework.habits import MASKED, NEARLY
from attn_cli.homework.places import Placed
from attn_cli.homework.replacements import Replacements, minus_max
from attn_cli.homework.rounding import PROPORTIONS, Rounding, copied, near, rounded_step

MISSING, RIGHT, ROUNDED, CARRIED, WRONG = range(5)
VERDICTS = ("missing", "right", "rounded", "carried", "wrong")
"""From the best to the worst."""


@dataclass(frozen=True, eq=False)
class Numbers:
    """Whose numbers a step is worked out from."""

    given: Mapping[str, Array]
    """Passed on as they are."""
    half: Mapping[str, Array]
    """How far each of them may be from what its writer had."""
    before: Mapping[str, Array]
    """Those of the steps marked so far."""


@dataclass(eq=False)
class Submission:
    """Somebody's answers to one problem."""

    truth: Trace
    placed: Sequence[Placed]
    tol: float | None = None
    arrays: Mapping[str, tuple[Array, Array]] = field(default_factory=dict)
    """Steps that were handed in as arrays: their numbers and verdicts."""

    handed: frozenset[str] = frozenset()
    """The steps of which something was handed in that can be passed on."""
    habits: dict[str, Instead] = field(default_factory=dict)
    """Other ways to do a step that are right too."""
    written: dict[str, Array] = field(default_factory=dict)
    """All numbers handed in. A step does not depend on those that come after it, so one run serves every step."""
    sound: dict[str, Array] = field(default_factory=dict)
    """The same without those found to be wrong or carried."""
    before: dict[str, Array] = field(default_factory=dict)
    """The numbers of the steps marked so far."""
    before_sound: dict[str, Array] = field(default_factory=dict)
    halves: dict[str, Array] = field(default_factory=dict)
    """How far each written number may be from what its writer had; NaN where nothing was written."""
    tainted: bool = False
    """Whether anything wrong was passed on."""
    mistaken: dict[str, list[Replacements]] = field(default_factory=dict)
    """The mistakes found so far, by the step where each was found: their maker may go on with them in steps not handed in."""
    common: dict[Any, Any] = field(default_factory=dict)
    """What is the same for everybody in a class: runs from nobody's numbers, and ways to round constants."""
    _runs: dict[Any, tuple[Trace, tuple[Any, ...]]] = field(default_factory=dict)
    """Each run by the identities of what went into it, which is kept alive beside its trace."""

    def __post_init__(self) -> None:
        self.handed = frozenset((*self.arrays, *(p.step for p in self.placed if p.fits and p.given.any())))
        self.written = {step: values for step, (values, _) in self.arrays.items()}
        for each in self.placed:
            if each.fits:
                self.written[each.step] = _over(self.written.get(each.step), self._usable(each))
        self.sound = dict(self.written)
        for step, (values, cells) in self.arrays.items():
            self.tainted = self.tainted or bool((cells > ROUNDED).any())
            self.sound[step] = np.where(cells > ROUNDED, np.nan, values)
        rows = self._shifted_rows()
        if rows.any():
            self.habits["exponentials"] = partial(minus_max, rows=rows)
            self._runs.clear()

    @cached_property
    def largest(self) -> float:
        """The largest number of all steps, leaving exponentials and their sums aside."""
        values = [step.made.value for step in self.truth if step.name not in PROPORTIONS]
        return max(float(np.max(np.abs(value), initial=0.0, where=np.isfinite(value))) for value in values)

    # ------------------------------------------------------------------ the engine, run again
    def run(self, given: Mapping[str, Array], instead: Replacements | None = None, rounding: Rounding | None = None) -> Trace:
        """Work the problem from somebody's numbers; steps not handed in are rounded where a rounding is said."""
        return self._run(given, instead, rounding)[0]

    def _run(self, given: Mapping[str, Array], instead: Replacements | None, rounding: Rounding | None) -> tuple[Trace, tuple[Any, ...]]:
        runs = self._runs if given or self.habits else self.common
        key = (tuple((name, id(array)) for name, array in given.items()), id(instead) if instead else None, rounding)
        if key not in runs:
            replaced, ties = self.replaced(instead), set[str]()
            if rounding is not None:
                whole = {name for name, array in given.items() if not np.isnan(array).any()}
                for step in self.truth:
                    if step.name not in whole:
                        round_it = partial(rounded_step, name=step.name, rounding=rounding, ties=ties)
                        replaced[step.name] = after(replaced.get(step.name), round_it)
            trace = again(self.truth, given=given, instead=replaced) if given or replaced else self.truth
            runs[key] = trace, (given, instead, ties)
        found: tuple[Trace, tuple[Any, ...]] = runs[key]
        return found

    def ties(self, given: Mapping[str, Array], instead: Replacements | None, rounding: Rounding) -> bool:
        """Whether half a unit had to be rounded in that run, so that it matters how."""
        return bool(self._run(given, instead, rounding)[1][2])

    def hides(self, step: str, given: Mapping[str, Array], instead: Replacements | None = None) -> bool:
        """Whether a cell before that step was not handed in, so that it may have been rounded; what is only copied never is."""
        for each in self.truth:
            if each.name == step:
                return False
            theirs = given.get(each.name)
            if (theirs is None or np.isnan(theirs).any()) and (each.name in (instead or {}) or not copied(each.made)):
                return True
        return False

    def moved(self, step: str, numbers: Numbers, nudge: Mapping[str, Array], instead: Replacements | None) -> Array:
        """A step's value when the numbers that it starts from are moved a little."""
        return again(self.truth, given=numbers.given, nudge=nudge, instead=self.replaced(instead)).step(step).made.value

    def replaced(self, instead: Replacements | None) -> dict[str, Instead]:
        """The writer's habits, then a mistake."""
        both: dict[str, Instead] = dict(self.habits)
        for name, mistake in (instead or {}).items():
            both[name] = after(both.get(name), mistake)
        return both

    @property
    def own(self) -> Numbers:
        """All of the writer's numbers, wrong ones included."""
        return Numbers(self.written, self.halves, self.before)

    @property
    def honest(self) -> Numbers:
        """The writer's sound numbers."""
        return Numbers(self.sound, self.halves, self.before_sound)

    def follows(self, placed: Placed, trace: Trace, numbers: Numbers) -> Array:
        """What a step comes to in a run; where it was answered under another name too, what was answered there."""
        made = trace.step(placed.step).made.value
        before = numbers.before.get(placed.step)
        return made if before is None or before.shape != made.shape else np.where(np.isnan(before), made, before)

    def moves(self, step: str) -> bool:
        """Whether a step moves with the rounding of those before it; a hard choice does not."""
        return step != "weights" or MODES[self.truth.problem.mode].differentiable

    # ------------------------------------------------------------------ what is passed on
    def _usable(self, placed: Placed) -> Array:
        """What later steps may start from; NaN where nothing is given, or all of a row of exponentials, or its sum, is rounded away."""
        theirs, truth = placed.value, self.truth.step(placed.step).made.value
        theirs = np.where((truth == -np.inf) & ((theirs <= MASKED) | placed.left_out), -np.inf, theirs)
        if placed.step in PROPORTIONS:
            largest = np.fmax.reduce(theirs, axis=-1, keepdims=True) if placed.step == "exponentials" else theirs
            theirs = np.where((largest == 0) & (truth > 0), np.nan, theirs)
        closed = (theirs == -np.inf) & ((truth == -np.inf) | (placed.step in MAY_BE_MASKED))
        return np.where(np.isinf(theirs) & ~closed, np.nan, theirs)

    def pass_on(self, placed: Placed, truth: Array, cells: Array) -> None:
        """Let later steps start from what was written here, unless it is one and the same number everywhere."""
        step, usable, wrong = placed.step, self._usable(placed), cells == WRONG
        exact = near(placed.value, truth, 0.0)
        half = np.where(np.isnan(usable), np.nan, np.where(exact & ~wrong, 0.0, placed.half))
        sound = np.where(cells > ROUNDED, np.nan, usable)
        for kept, new in ((self.before, usable), (self.before_sound, sound), (self.halves, half)):
            kept[step] = _over(kept.get(step), new)
        if wrong.any() and _all_equal(placed.value[(truth != -np.inf) | wrong]):
            self.written = {**self.written, step: np.where(wrong, np.nan, self.written[step])}
            self.sound = {**self.sound, step: np.where(wrong, np.nan, self.sound[step])}
            self.before[step] = np.where(wrong, np.nan, self.before[step])
            self.mistaken.pop(step, None)
        if (cells > ROUNDED).any():
            self.tainted = True
            self.sound = {**self.sound, step: np.where(cells > ROUNDED, np.nan, self.sound[step])}

    # ------------------------------------------------------------------ exponentials of scores minus the row's maximum
    def _shifted_rows(self) -> Array:
        """Where the exponentials of a row, and its sum, were written for scores minus the row's maximum: both, or the one handed in."""
        answers = [p for p in self.placed if p.step in PROPORTIONS and p.fits and p.name == p.step]
        if not answers or "exponentials" not in self.truth:
            return np.zeros(1, bool)
        made = self.run(self.written).step("exponentials").made
        if made.operands[0].operation == op.subtract:
            return np.zeros(1, bool)
        scores = made.operands[0].value
        exact = self.truth.step("exponentials").made.operands[0].value
        less, exactly = _less_max(scores), _less_max(exact)
        largest = (less == 1) | (exactly == 1)  # equal as written, one of them may be the largest of those not rounded
        rows, judged = np.zeros(scores.shape[:-1], bool), np.zeros(scores.shape[:-1], bool)
        for p in answers:
            if p.step == "exponentials":
                off, nearer = self._nearer(p, made.value, less, exactly)
                ones = (largest & (np.isnan(p.value) | (p.value == 1))).any(-1)
                rows |= off.any(-1) & (np.where(off, nearer, True)).all(-1) & ones
                judged |= ~np.isnan(p.value).all(-1)
            else:
                off, nearer = self._nearer(p, made.value.sum(-1), less.sum(-1), exactly.sum(-1))
                fits = near(p.value, less.sum(-1), p.half) | near(p.value, exactly.sum(-1), p.half)
                rows &= off | np.isnan(p.value) | fits  # exponentials and their sum are shifted alike
                if (nearer | ~off | judged).all():  # sums alone tell less, so all of them must agree
                    rows |= off & nearer & ~judged
        return rows

    def _nearer(self, placed: Placed, plain: Array, less: Array, exactly: Array) -> tuple[Array, Array]:
        """Which numbers are not right as they are, and which are nearer to those of scores minus the row's maximum, or are just those."""
        theirs, half, truth = placed.value, placed.half, self.truth.step(placed.step).made.value
        off = ~near(theirs, plain, half) & ~near(theirs, truth, half) & ~np.isnan(theirs)
        nearer = near(theirs, less, NEARLY * np.abs(less) + 2 * placed.unit) & (np.abs(theirs - less) < np.abs(theirs - plain))
        return off, nearer | near(theirs, exactly, half)


def _less_max(scores: Array) -> Array:
    """exp(S − row maximum)."""
    largest = np.max(scores, axis=-1, keepdims=True)
    return np.exp(np.where(np.isfinite(largest), scores - largest, scores))


def _over(old: Array | None, new: Array) -> Array:
    """Where something new is written, that."""
    return new if old is None else np.where(np.isnan(new), old, new)


def _all_equal(values: Array) -> bool:
    """Whether two or more numbers are given, all of them equal."""
    given = values[~np.isnan(values)]
    return given.size > 1 and bool((given == given[0]).all())


def after(first: Instead | None, second: Instead) -> Instead:
    """One way to do a step after another."""
    return second if first is None else lambda made: second(first(made))
