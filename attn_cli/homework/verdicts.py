"""Marking: the same engine run again, with somebody's own numbers in place of ours.

Each cell is tried in this order: right; rounded, which follows from the writer's own sound numbers (a) as written,
(b) with steps not handed in rounded as this answer is, or (c) within what all that rounding allows; carried, which
follows in the same ways from all of the writer's numbers, wrong ones included; wrong. All arrays are in row layout.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import partial
from itertools import product
from typing import Any, Protocol

import numpy as np

from attn_cli.engine import operations as op
from attn_cli.engine.arrays import Array
from attn_cli.engine.expression import symbol
from attn_cli.engine.gradient import backward
from attn_cli.engine.operations import Named
from attn_cli.engine.problem import Problem
from attn_cli.engine.steps import MAY_BE_MASKED, Instead, Trace
from attn_cli.engine.training import again
from attn_cli.homework.claims import Answer, near, rounded, units
from attn_cli.homework.places import ORDER, Placed, place
from attn_cli.homework.replacements import Replacements, minus_max

MISSING, RIGHT, ROUNDED, CARRIED, WRONG = range(5)
VERDICTS = ("missing", "right", "rounded", "carried", "wrong")
"""From the best to the worst."""

MASKED = -1000.0
"""A masked score may be written as any number up to this one."""
NORMALISED = ("exponentials", "row_sums")
"""Steps that only their proportions matter of."""
SINGLE_DIGITS, SINGLE = 7, 1e-6
"""Single precision: so many digits claimed, so far off."""
NEARLY = 0.03
"""Exponentials that are not right count as lessened by the row's maximum if all of the row are so near to those, relatively."""
SURELY, TOO_FAR = 0.5, 4.0
"""Within so much of the first-order reach of the rounding a cell is reached; beyond so much it is not. Between, the engine tells."""
FEW, MANY, MOVES = 30, 300, 12
"""Beyond so few cells in one step, moves for all of them at once are tried first, at most so many. One by one the gradients of so many
cells are tried, or of so few in a step of very many."""
VERY_MANY = 10_000


@dataclass(frozen=True, eq=False)
class Numbers:
    """Whose numbers a step is worked out from."""

    given: Mapping[str, Array]
    """Passed on as they are."""
    half: Mapping[str, Array]
    """How far each of them may be from what its writer had."""
    before: Mapping[str, Array]
    """Those of the steps marked so far."""


class Explains(Protocol):
    """What marking asks about mistakes."""

    def reproduces(self, work: Work, placed: Placed) -> bool: ...

    def explain(self, work: Work, placed: Placed, cells: Array) -> Any: ...

    def untold(self, work: Work, placed: Placed) -> list[str]: ...


@dataclass(eq=False)
class Marked:
    """One answer with its verdicts."""

    placed: Placed
    cells: Array
    """A verdict for each written cell."""
    expected: Array
    """What each written cell should be; empty where the answer has another shape."""
    notes: tuple[str, ...] = ()
    """Codes of what was forgiven: cut_off, single_precision, adjusted, minus_max."""

    mistake: Any = None
    """What explains a wrong step, if anything does."""
    untold: tuple[str, ...] = ()
    """Codes of mistakes that the digits given cannot tell from right work."""

    @property
    def verdict(self) -> int:
        return int(self.cells.max(initial=MISSING)) if self.placed.answer.value.size else WRONG


@dataclass(eq=False)
class Work:
    """One submission to a problem, marked step by step."""

    problem: Problem
    truth: Trace
    answers: Sequence[Answer]
    tol: float | None = None
    book: Explains | None = None
    """The known mistakes."""

    placed: Sequence[Placed] = ()
    """The answers in the order of the steps."""
    marked: list[Marked] = field(default_factory=list)
    habits: dict[str, Instead] = field(default_factory=dict)
    """Other ways to do a step that are right too."""
    slips: list[tuple[str, Replacements]] = field(default_factory=list)
    """The known mistakes that explain steps found to be wrong."""
    handed: frozenset[str] = frozenset()
    """The steps of which something was handed in that can be passed on."""
    written: dict[str, Array] = field(default_factory=dict)
    """All numbers handed in. A step does not depend on those that come after it, so one run serves every step."""
    sound: dict[str, Array] = field(default_factory=dict)
    """The same without those found to be wrong or carried."""
    before: dict[str, Array] = field(default_factory=dict)
    """The numbers of the steps marked so far."""
    before_sound: dict[str, Array] = field(default_factory=dict)
    tainted: bool = False
    """Whether anything wrong was passed on."""
    halves: dict[str, Array] = field(default_factory=dict)
    """How far each written number may be from what its writer had; NaN where nothing was written."""
    _runs: dict[Any, tuple[Trace, object]] = field(default_factory=dict)
    """Each run by the identities of what went into it, which is kept alive beside its trace."""

    def mark(self) -> list[Marked]:
        placed = sorted((place(answer, self.truth) for answer in self.answers), key=lambda p: (ORDER.index(p.step), ORDER.index(p.name)))
        self.placed = placed
        self.handed = frozenset(p.step for p in placed if p.fits and p.answer.given.any())
        for each in placed:
            if each.fits:
                self.written[each.step] = _over(self.written.get(each.step), self._usable(each))
        self.sound = dict(self.written)
        self._find_habits(placed)
        for each in placed:
            self.marked.append(self._mark(each) if each.fits else self._misshapen(each))
        return self.marked

    # ------------------------------------------------------------------ the engine, run again
    def run(self, given: Mapping[str, Array], instead: Replacements | None = None, rounding: Any = 0.0, up: bool = False) -> Trace:
        """Work the problem from somebody's numbers; steps not handed in are rounded where a rounding is said."""
        key = (tuple((name, id(array)) for name, array in given.items()), id(instead) if instead else None, rounding, up)
        if key not in self._runs:
            replaced = self.replaced(instead)
            if rounding != 0.0:
                for step in self.truth:
                    replaced[step.name] = _after(replaced.get(step.name), partial(rounded_step, name=step.name, rounding=rounding, up=up))
            trace = again(self.truth, given=given, instead=replaced) if given or replaced else self.truth
            self._runs[key] = trace, (given, instead)
        return self._runs[key][0]

    def replaced(self, instead: Replacements | None) -> dict[str, Instead]:
        """The writer's habits, then a mistake."""
        both: dict[str, Instead] = dict(self.habits)
        for name, mistake in (instead or {}).items():
            both[name] = _after(both.get(name), mistake)
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
        return self.problem.mode != "hard" or ORDER.index(step) < ORDER.index("weights")

    # ------------------------------------------------------------------ one answer
    def _mark(self, placed: Placed) -> Marked:
        truth = self.run({}).step(placed.step).made.value
        cells = np.where(placed.given, WRONG, MISSING)
        notes = list(placed.notes)
        cells[placed.given & self.as_it_is(placed, truth)] = RIGHT
        if placed.step in self.habits:
            notes.append("minus_max")
        if (cells == WRONG).any():
            self._follow(placed, cells, notes, ROUNDED, self.honest)
        if (cells == WRONG).any() and self.tainted:
            self._follow(placed, cells, notes, CARRIED, self.own)
        mistake, untold = None, []
        if self.book is not None:
            if (cells == WRONG).any():
                mistake = self.book.explain(self, placed, cells)
            elif (cells == RIGHT).any() and (cells <= RIGHT).all():
                untold = self.book.untold(self, placed)
        self._pass_on(placed, truth, cells)
        return Marked(placed, placed.show(cells), placed.show(truth), tuple(dict.fromkeys(notes)), mistake, tuple(untold))

    def _misshapen(self, placed: Placed) -> Marked:
        """Nothing is stretched: every cell of an answer of another shape is wrong."""
        cells = np.where(placed.answer.given, WRONG, MISSING)
        mistake = self.book.explain(self, placed, cells) if self.book is not None else None
        return Marked(placed, cells, np.empty(0), mistake=mistake)

    # ------------------------------------------------------------------ which cells hold
    def ways(self, placed: Placed, ours: Array, surely: bool) -> Iterator[tuple[str, Array]]:
        """Which cells hold if `ours` is what they should be: as they are, then by each honest habit, under its code.

        `surely`: only those habits that the whole step speaks for.
        """
        yield "", self.as_it_is(placed, ours)
        for code, habit in _HONEST.items():
            yield code, habit(placed, ours, surely)

    def holds(self, placed: Placed, ours: Array, surely: bool = True) -> bool:
        """Whether every cell that was given does."""
        left = placed.given.copy()
        for _, cells in self.ways(placed, ours, surely):
            left &= ~cells
            if not left.any():
                return True
        return False

    def as_it_is(self, placed: Placed, ours: Array) -> Array:
        """Which cells hold without any habit."""
        theirs = placed.value
        holds = near(theirs, ours, placed.half) | ((ours == -np.inf) & (theirs <= MASKED))
        if self.tol is not None:
            for at in np.argwhere(~holds & (np.abs(theirs - ours) <= 2 * self.tol)):
                cell = tuple(at)
                holds[cell] = abs(Decimal(repr(float(theirs[cell]))) - Decimal(f"{ours[cell]:.12g}")) <= Decimal(repr(self.tol))
        return np.asarray(holds)

    def _follow(self, placed: Placed, cells: Array, notes: list[str], verdict: int, numbers: Numbers) -> None:
        """Give the verdict to those wrong cells that follow from the numbers."""
        rounding = placed.answer.rounding
        digits = placed.half > 0  # what is written exactly, such as 1/3, was never rounded
        as_written = self.follows(placed, self.run(numbers.given), numbers)
        sources = [as_written] if verdict == CARRIED else [as_written, self.run({}).step(placed.step).made.value]
        self._forgive(cells, notes, verdict, placed, sources, surely=True)
        if not (cells == WRONG).any():
            return
        for up in (False, True) if rounding != 0.0 else ():
            trace = self.run(numbers.given, rounding=rounding, up=up)
            cells[(cells == WRONG) & digits & near(placed.value, self.follows(placed, trace, numbers), placed.half)] = verdict
        left = (cells == WRONG) & digits & np.isfinite(placed.value)
        if left.any() and self.moves(placed.step):
            reached = self.reached(placed, left, numbers)
            if reached.any() and (not (self.book and self.book.reproduces(self, placed)) or self._sound_as_well(placed, numbers)):
                cells[reached] = verdict
        self._forgive(cells, notes, verdict, placed, sources, surely=False)

    def _sound_as_well(self, placed: Placed, numbers: Numbers) -> bool:
        """Whether right work gives the whole step exactly, too: from the numbers of earlier steps alone, or from a mistake already told.

        With hidden steps rounded or not, as a known mistake may have it.
        """
        before = [name for name in ORDER[: ORDER.index(placed.step)] if name in numbers.given]
        starts: list[tuple[Sequence[str], Replacements]] = [(before[:count], {}) for count in range(len(before))]
        starts += [([name for name in before if ORDER.index(name) < ORDER.index(step)], instead) for step, instead in self.slips]
        for (names, instead), rounding in product(starts, dict.fromkeys((0.0, placed.answer.rounding))):
            made = self.run({name: numbers.given[name] for name in names}, instead, rounding).step(placed.step).made.value
            if made.shape == placed.shape and self.holds(placed, made):
                return True
        return False

    def _forgive(self, cells: Array, notes: list[str], verdict: int, placed: Placed, sources: Sequence[Array], surely: bool) -> None:
        """Give the verdict to wrong cells that hold if one of the sources is what they should be."""
        for ours in sources:
            for code, holds in self.ways(placed, ours, surely):
                found = (cells == WRONG) & holds
                if found.any():
                    cells[found] = verdict
                    notes += [code] if code else []

    def _usable(self, placed: Placed) -> Array:
        """What later steps may start from; NaN where nothing is given, or all of a row of exponentials, or its sum, is rounded away."""
        theirs, truth = placed.value, self.truth.step(placed.step).made.value
        theirs = np.where((truth == -np.inf) & (theirs <= MASKED), -np.inf, theirs)
        theirs = np.where(_rounded_away(placed.step, theirs) & (truth > 0), np.nan, theirs)
        closed = (theirs == -np.inf) & ((truth == -np.inf) | (placed.step in MAY_BE_MASKED))
        return np.where(np.isinf(theirs) & ~closed, np.nan, theirs)

    def _pass_on(self, placed: Placed, truth: Array, cells: Array) -> None:
        """Let later steps start from what was written here."""
        step, usable, wrong = placed.step, self._usable(placed), cells == WRONG
        exact = near(placed.value, truth, 0.0)
        half = np.where(np.isnan(usable), np.nan, np.where(exact & ~wrong, 0.0, placed.half))
        sound = np.where(cells > ROUNDED, np.nan, usable)
        for kept, new in ((self.before, usable), (self.before_sound, sound), (self.halves, half)):
            kept[step] = _over(kept.get(step), new)
        if wrong.any() and _all_equal(usable):
            self.written = {**self.written, step: np.where(wrong, np.nan, self.written[step])}
            self.sound = {**self.sound, step: np.where(wrong, np.nan, self.sound[step])}
        if (cells > ROUNDED).any():
            self.tainted = True
            self.sound = {**self.sound, step: np.where(cells > ROUNDED, np.nan, self.sound[step])}

    # ------------------------------------------------------------------ how far rounding may have moved a cell
    def reached(
        self,
        placed: Placed,
        wanted: Array,
        numbers: Numbers,
        instead: Replacements | None = None,
        all_or_none: bool = False,
    ) -> Array:
        """Those wanted cells that lie within what the rounding of written and hidden steps allows."""
        theirs, half = placed.value, placed.half
        trace = self.run(numbers.given, instead)
        widths = self._widths(trace, placed, numbers)
        made = _pruned(trace.step(placed.step).made, widths, numbers.given)
        ours = self.follows(placed, trace, numbers)
        reached = np.zeros(wanted.shape, bool)

        def one(at: tuple[int, ...]) -> bool:
            return self._reaches(placed, at, theirs[at], half[at], ours[at], made, widths, numbers, instead)

        if wanted.sum() > FEW and not (all_or_none and not one(_farthest(theirs, ours, wanted)[0])):
            reached |= self._together(placed, wanted, ours, made, widths, numbers, instead)
        left = _farthest(theirs, ours, wanted & ~reached)
        most = MANY if wanted.size < VERY_MANY else FEW
        if all_or_none and len(left) > most:
            return reached
        for at in left[-most:]:
            reached[at] = one(at)
            if all_or_none and not reached[at]:
                break
        return reached

    def _together(
        self,
        placed: Placed,
        wanted: Array,
        ours: Array,
        made: Named,
        widths: Mapping[str, Array],
        numbers: Numbers,
        instead: Replacements | None,
    ) -> Array:
        """A first look at many cells at once: those reached when the numbers move towards all that are still left."""
        theirs, half = placed.value, placed.half
        side = np.where(theirs > ours, 1.0, -1.0)
        reached = wanted & near(theirs, ours, half)
        for _ in range(MOVES):
            left = wanted & ~reached
            if left.sum() <= FEW:
                break
            slopes = _slopes(made, np.where(left, side, 0.0), widths, numbers.given)
            nudge = {name: np.sign(slope) * widths[name] for name, slope in slopes.items()}
            moved = again(self.truth, given=numbers.given, nudge=nudge, instead=self.replaced(instead)).step(placed.step).made.value
            found = left & ((side * moved >= side * theirs) | near(theirs, moved, half))
            reached |= found
            if 4 * found.sum() < left.sum():
                break
        return reached

    def _widths(self, trace: Trace, placed: Placed, numbers: Numbers) -> dict[str, Array]:
        """How far each number that this step starts from may be from what its writer had."""
        widths: dict[str, Array] = {}
        for step in trace:
            if step.name == placed.step:
                break
            value = step.made.value
            rounding = placed.answer.rounding
            hidden = np.zeros(value.shape) if _stays(step.made, rounding) else _hidden(step.name, value, rounding)
            half = numbers.half.get(step.name)
            if half is not None and half.shape == value.shape:
                hidden = np.where(np.isnan(half), hidden, half)
            if hidden.any():
                widths[step.name] = hidden
        return widths

    def _reaches(
        self,
        placed: Placed,
        at: tuple[int, ...],
        theirs: float,
        half: float,
        ours: float,
        made: Named,
        widths: Mapping[str, Array],
        numbers: Numbers,
        instead: Replacements | None,
    ) -> bool:
        """Whether a run with every number it starts from moved along the sign of this cell's gradient goes as far."""
        if near(np.array(theirs), np.array(ours), half):
            return True
        one = np.zeros(made.value.shape)
        one[at] = 1.0
        slopes = _slopes(made, one, widths, numbers.given)
        moves = {name: slope * widths[name] for name, slope in slopes.items()}
        reach = sum(float(np.abs(move).sum()) for move in moves.values())
        if abs(theirs - ours) > TOO_FAR * reach + 1.000001 * half:
            return False
        if abs(theirs - ours) <= SURELY * reach + half:
            return True
        side = 1.0 if theirs > ours else -1.0
        nudge = {name: side * np.sign(move) * widths[name] for name, move in moves.items()}
        moved = again(self.truth, given=numbers.given, nudge=nudge, instead=self.replaced(instead)).step(placed.step).made.value[at]
        farthest = max(side * float(moved), side * ours)
        return bool(side * theirs <= farthest or near(np.array(theirs), np.array(side * farthest), half))

    # ------------------------------------------------------------------ other right ways
    def _find_habits(self, placed: Sequence[Placed]) -> None:
        """Exponentials of scores minus their row's maximum, in those rows where they were written."""
        answers = [p for p in placed if p.step in NORMALISED and p.fits and p.name == p.step]
        if not answers or "exponentials" not in self.truth:
            return
        given: dict[str, Array] = {p.step: p.value for p in placed if p.fits and ORDER.index(p.step) < ORDER.index("exponentials")}
        made = self.run(given).step("exponentials").made
        if made.operands[0].operation == op.subtract:
            return
        scores = made.operands[0].value
        top = np.max(scores, axis=-1, keepdims=True)
        less = np.exp(np.where(np.isfinite(top), scores - top, scores))
        rows, told = np.zeros(scores.shape[:-1], bool), np.zeros(scores.shape[:-1], bool)
        for p in answers:
            theirs, half = p.value, p.half
            plain, lessened = (made.value, less) if p.step == "exponentials" else (made.value.sum(-1), less.sum(-1))
            truth = self.truth.step(p.step).made.value
            off = ~near(theirs, plain, half) & ~near(theirs, truth, half) & ~np.isnan(theirs)
            nearer = near(theirs, lessened, NEARLY * np.abs(lessened) + 2 * p.unit) & (np.abs(theirs - lessened) < np.abs(theirs - plain))
            if p.step == "exponentials":
                largest = np.take_along_axis(theirs, np.argmax(scores, -1)[..., None], -1)[..., 0]
                rows |= off.any(-1) & (np.where(off, nearer, True)).all(-1) & (np.isnan(largest) | (largest == 1))
                told |= ~np.isnan(theirs).all(-1)
            else:
                if (nearer | ~off | told).all():  # sums alone tell less, so all of them must agree
                    rows |= off & nearer & ~told
        if rows.any():
            self.habits["exponentials"] = partial(minus_max, rows=rows)
            self._runs.clear()


# ------------------------------------------------------------------ honest habits
def _cut_off(placed: Placed, ours: Array, surely: bool) -> Array:
    """Digits cut off instead of rounded."""
    theirs, unit, given = placed.value, placed.unit, placed.given
    kept = np.trunc(ours / unit + np.sign(ours) * 1e-6) * unit
    cut = (unit > 0) & near(theirs, kept, unit * 1e-6)
    as_it_is = near(theirs, ours, 0.0) | (ours == -np.inf)
    return np.asarray(cut & (not surely or bool((cut | as_it_is | ~given).all())))


def _single(placed: Placed, ours: Array, surely: bool) -> Array:
    """Worked in single precision; rounding that explains as much is told first."""
    if surely and not isinstance(placed.answer.rounding, np.dtype):
        return np.zeros(placed.shape, bool)
    theirs, unit, digits = placed.value, placed.unit, placed.digits
    size = np.abs(ours)
    if isinstance(placed.answer.rounding, np.dtype):  # a sum is as far off as its largest terms are
        size = np.max(size, initial=0.0, where=np.isfinite(size))
    near_enough = np.abs(theirs - ours) <= SINGLE * np.maximum(1, size)
    told = digits >= SINGLE_DIGITS
    if told.any() and near_enough[told].all():  # small numbers among them have as many decimals, and fewer digits
        told |= (unit > 0) & (unit <= 1.000001 * 10.0**-SINGLE_DIGITS)
    return np.asarray(told & near_enough)


def _adjusted(placed: Placed, ours: Array, surely: bool) -> Array:
    """A row of weights changed by a unit here and there so that it adds up to exactly 1, which honest rounding would not."""
    theirs, unit, given = placed.value, placed.unit, placed.given
    if placed.step != "weights":
        return np.zeros(theirs.shape, bool)
    finest = np.fmin.reduce(placed.fit(placed.answer.rounds_to), axis=-1, keepdims=True)
    rows = np.array(near(theirs, ours, finest).all(-1) & given.all(-1) & (unit > 0).all(-1))
    for at in np.argwhere(rows):
        row = tuple(at)
        honest = _sum(rounded(ours[row], float(finest[row][0])))
        rows[row] = _sum(theirs[row]) == 1 and not (surely and honest == 1)
    return np.broadcast_to(rows[..., None], theirs.shape)


def _sum(row: Array) -> Decimal:
    """In decimals."""
    return sum((Decimal(f"{cell:.12g}") for cell in row), Decimal(0))


_HONEST = {"cut_off": _cut_off, "single_precision": _single, "adjusted": _adjusted}


# ------------------------------------------------------------------ what the runs are made of
def _over(old: Array | None, new: Array) -> Array:
    """Where something new is written, that."""
    return new if old is None else np.where(np.isnan(new), old, new)


def _all_equal(values: Array) -> bool:
    given = values[~np.isnan(values)]
    return given.size > 1 and bool((given == given[0]).all())


def _after(first: Instead | None, second: Instead) -> Instead:
    return second if first is None else lambda made: second(first(made))


def rounded_step(made: Named, name: str, rounding: Any, up: bool = False) -> Named:
    """A step as its writer would have rounded it; not so coarsely that nothing is left to divide by."""
    if _stays(made, rounding):
        return made
    value = rounded(made.value, rounding, up)
    return op.revalued(made, np.where(_rounded_away(name, value), made.value, value))


def _rounded_away(name: str, value: Array) -> Array:
    """Where all of a row of exponentials, or its sum, is 0, which tells nothing about the weights of an open row."""
    return np.asarray(_largest(value, name) == 0 if name in NORMALISED else False)


def _largest(value: Array, name: str) -> Array:
    """The largest exponential of each row; a row sum itself."""
    return np.fmax.reduce(value, axis=-1, keepdims=True) if name == "exponentials" else value


def _stays(made: Named, rounding: Any) -> bool:
    """Whether nothing rounds the numbers: the problem gives them, at most cut into heads, and they are copied by hand, not into a dtype."""
    if isinstance(rounding, np.dtype):
        return False
    while isinstance(made.operation, op.Reindex):
        made = made.operands[0]
    return made.operation is None


def _hidden(name: str, value: Array, rounding: Any) -> Array:
    """Half a unit wherever rounding would change the number.

    Zeros after the point that all exponentials of a row have, or their sum, are no digits: nobody keeps two decimals of 0.003
    to divide by.
    """
    exact = near(rounded(value, rounding), value, 0.0)
    if isinstance(rounding, np.dtype):  # a sum is as far off as its largest terms are
        value = np.full(value.shape, np.max(np.abs(value), initial=0.0, where=np.isfinite(value)))
    half = units(value, rounding) / 2
    if name in NORMALISED and not isinstance(rounding, np.dtype):
        half = half * 10.0 ** np.minimum(np.ceil(np.log10(_largest(value, name))), 0)
    return np.where(exact, 0.0, half)


def _by_hand(made: Named) -> Named:
    """Weights as E / Z, so that the gradient passes through what was written for E and Z."""
    if not isinstance(made.operation, op.Softmax):
        return made
    e, z, _ = made.operands
    by_row = op.divide(e, op.Reindex(lambda a: a[..., None])(z))
    return replace(made, operation=by_row.operation, operands=by_row.operands)


def _pruned(made: Named, widths: Mapping[str, Array], given: Mapping[str, Array]) -> Named:
    """The same value by hand, without the operands that no number that may move stands behind, so that its gradient is quick."""
    known: dict[int, tuple[Named, bool]] = {}

    def visit(made: Named) -> tuple[Named, bool]:
        if id(made) not in known:
            node = _by_hand(made)
            theirs = given.get(node.name)
            ends = node.operation is None or (theirs is not None and theirs.shape == node.value.shape and not np.isnan(theirs).any())
            operands = () if ends else tuple(visit(operand) for operand in node.operands)
            moves = any(moving for _, moving in operands)
            kept = replace(node, operation=node.operation if moves else None, operands=tuple(o for o, _ in operands) if moves else ())
            known[id(made)] = kept, moves or node.name in widths
        return known[id(made)]

    return visit(made)[0]


def _farthest(theirs: Array, ours: Array, wanted: Array) -> list[tuple[int, ...]]:
    """The wanted cells, those that are farthest off first."""
    off = np.abs(theirs - ours)[wanted]
    return [tuple(at) for at in np.argwhere(wanted)[np.argsort(-off, kind="stable")].tolist()]


def _slopes(made: Named, g: Array, widths: Mapping[str, Array], given: Mapping[str, Array]) -> dict[str, Array]:
    """How what is made, weighed by g, moves with each number that may move."""
    slopes: dict[str, Array] = {}

    def cut(name: str, gradient: Named) -> Named:
        """What was written does not move with what stands before it."""
        if name in widths:
            slopes[name] = np.where(np.isnan(gradient.value), 0.0, gradient.value)
        theirs = given.get(name)
        if theirs is None or theirs.shape != gradient.value.shape or not np.isnan(theirs).any():
            return gradient  # nothing is written, or everything: then the graph ends here
        return op.revalued(gradient, np.where(np.isnan(theirs), gradient.value, 0.0))

    backward(made, op.given("one", g, symbol("1")), cut)
    return slopes
