"""The verdicts on one submission, step by step.

Each cell is tried in this order: right; rounded, which follows from the writer's own sound numbers (a) as written,
(b) with steps not handed in rounded as this answer is, or (c) within what all that rounding allows, or by a habit that is
forgiven; carried, which follows in the same ways from all of the writer's numbers, wrong ones included; wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, product

import numpy as np

from attn_cli.engine.arrays import Array
from attn_cli.homework.explain import Book, Explanation
from attn_cli.homework.forgiven import HABITS, as_it_is, with_constants
from attn_cli.homework.habits import METHOD_UNITS
from attn_cli.homework.mistakes.worked import FAILS
from attn_cli.homework.places import ORDER, Placed
from attn_cli.homework.reach import plausible, reached
from attn_cli.homework.replacements import Replacements, minus_max
from attn_cli.homework.rounding import Rounding, near, rounded
from attn_cli.homework.submission import CARRIED, MISSING, RIGHT, ROUNDED, WRONG, Numbers, Submission

SHIFTED: Replacements = {"exponentials": minus_max}
"""Exponentials of the scores minus the row's maximum."""
NOTHING = Numbers({}, {}, {})
"""Nobody's numbers: a step is worked out from ours."""


@dataclass(eq=False)
class Marked:
    """One answer with its verdicts."""

    placed: Placed
    cells: Array
    """A verdict for each written cell."""
    expected: Array
    """What each written cell should be; empty where the answer has another shape."""
    notes: tuple[str, ...] = ()
    """Codes of what was forgiven: cut_off, single_precision, constants_rounded, adjusted, minus_max."""
    mistake: Explanation | None = None
    """What explains a wrong step, if anything does."""
    untold: tuple[str, ...] = ()
    """Codes of mistakes that the digits given cannot tell from right work."""

    @property
    def verdict(self) -> int:
        return int(self.cells.max(initial=MISSING)) if self.placed.answer.claims else WRONG


def mark(submission: Submission, book: Book) -> list[Marked]:
    """Every answer of a submission, marked."""
    return [_marked(submission, placed, book) if placed.fits else _misshapen(submission, placed, book) for placed in submission.placed]


def _marked(submission: Submission, placed: Placed, book: Book) -> Marked:
    truth = submission.run({}).step(placed.step).made.value
    cells = np.where(placed.given, WRONG, np.where(placed.left_out, RIGHT, MISSING))
    cells[placed.given & as_it_is(placed, truth, submission.tol)] = RIGHT
    notes = [*placed.notes, *(["minus_max"] if placed.step in submission.habits else [])]
    if (cells == WRONG).any():
        _follow(submission, placed, cells, notes, ROUNDED, submission.honest, book)
    if (cells == WRONG).any() and submission.tainted:
        _follow(submission, placed, cells, notes, CARRIED, submission.own, book)
        _carry_on(submission, placed, cells, notes)
    mistake, untold = None, []
    if (cells == WRONG).any():
        mistake = book.explain(submission, placed, cells)
    elif (cells == RIGHT).any() and (cells <= RIGHT).all():
        untold = book.untold(submission, placed)
    submission.pass_on(placed, truth, cells)
    return Marked(placed, placed.show(cells), placed.show(truth), tuple(dict.fromkeys(notes)), mistake, tuple(untold))


def _misshapen(submission: Submission, placed: Placed, book: Book) -> Marked:
    """Nothing is stretched: every cell of an answer of another shape is wrong."""
    cells = np.where(placed.answer.given, WRONG, MISSING)
    return Marked(placed, cells, np.empty(0), placed.notes, book.explain(submission, placed, cells))


def _follow(submission: Submission, placed: Placed, cells: Array, notes: list[str], verdict: int, numbers: Numbers, book: Book) -> None:
    """Give the verdict to those wrong cells that follow from the numbers."""
    as_written = submission.follows(placed, submission.run(numbers.given), numbers)
    cells[(cells == WRONG) & as_it_is(placed, as_written, submission.tol)] = verdict  # (a)
    found = np.zeros(placed.shape, bool)
    for rounding, those in _roundings(placed):
        found |= _by_rounding(submission, placed, (cells == WRONG) & those & ~found, numbers, rounding)
    if verdict == ROUNDED and found.any():
        exact = rounded(submission.run({}).step(placed.step).made.value, placed.unit, "up")
        far = found & (np.abs(placed.value - exact) > METHOD_UNITS * placed.unit * (1 + 1e-6))
        if far.any() and book.reproduces(submission, placed):
            found &= ~far
    cells[found] = verdict
    _forgive(submission, placed, cells, notes, verdict, numbers, as_written)


def _carry_on(submission: Submission, placed: Placed, cells: Array, notes: list[str]) -> None:
    """Call those wrong cells carried that follow where a mistake found in an earlier step was made in the hidden ones, too."""
    for mistake in chain.from_iterable(submission.mistaken.values()):
        for numbers in (submission.own, NOTHING):
            if (cells == WRONG).any():
                with suppress(*FAILS):
                    _carry_from(submission, placed, cells, notes, numbers, mistake)


def _carry_from(submission: Submission, placed: Placed, cells: Array, notes: list[str], numbers: Numbers, mistake: Replacements) -> None:
    made = submission.follows(placed, submission.run(numbers.given, mistake), numbers)
    if made.shape != placed.shape:
        return
    cells[(cells == WRONG) & as_it_is(placed, made, submission.tol)] = CARRIED
    for rounding, those in _roundings(placed):
        cells[_by_rounding(submission, placed, (cells == WRONG) & those, numbers, rounding, mistake)] = CARRIED
    _forgive_from([made], placed, cells, notes, CARRIED)
    _forgive_on_the_way(submission, placed, cells, notes, CARRIED, numbers, mistake)


def _by_rounding(
    submission: Submission,
    placed: Placed,
    left: Array,
    numbers: Numbers,
    rounding: Rounding,
    instead: Replacements | None = None,
) -> Array:
    """Which cells follow (b) when steps not handed in are rounded to the answer's digits, or (c) within what rounding allows."""
    found = np.zeros(placed.shape, bool)
    left = left & plausible(submission, placed, submission.follows(placed, submission.run(numbers.given, instead), numbers))
    ways = _hidden_ways(submission, placed, instead) if submission.hides(placed.step, numbers.given, instead) else []
    for how, way in product(("even", "up"), ways):
        if (left & ~found).any() and (how == "even" or submission.ties(numbers.given, way, rounding)):
            trace = submission.run(numbers.given, way, rounding._replace(how=how))
            found |= left & near(placed.value, submission.follows(placed, trace, numbers), placed.half)
    left = left & ~found & np.isfinite(placed.value)
    if left.any() and submission.moves(placed.step):
        within = rounding._replace(unit=placed.answer.coarsest) if rounding.digits else rounding
        found |= reached(submission, placed, left, numbers, within, instead)
    return found


def _hidden_ways(submission: Submission, placed: Placed, instead: Replacements | None) -> list[Replacements | None]:
    """How hidden steps may be worked where their rounding shows: exponentials of the scores, or of the scores minus the row's maximum."""
    hidden = "exponentials" in submission.truth and "exponentials" not in submission.handed and "row_sums" not in submission.handed
    return [instead, SHIFTED] if hidden and instead is None and ORDER.index(placed.step) > ORDER.index("exponentials") else [instead]


def _roundings(placed: Placed) -> Iterator[tuple[Rounding, Array]]:
    """How hidden steps are rounded, and for which cells: plain decimals, then those with an exponent. What is exact was never rounded."""
    plain, scientific = (placed.unit > 0) & ~placed.exponent, (placed.unit > 0) & placed.exponent
    if plain.any():
        yield placed.answer.rounding, plain
    if scientific.any():
        yield placed.answer.scientific, scientific


def _forgive(
    submission: Submission, placed: Placed, cells: Array, notes: list[str], verdict: int, numbers: Numbers, as_written: Array
) -> None:
    """Give the verdict to wrong cells that an honest habit alone explains, with a note."""
    truth = [submission.run({}).step(placed.step).made.value] if verdict == ROUNDED else []
    _forgive_from([as_written, *truth], placed, cells, notes, verdict)
    _forgive_on_the_way(submission, placed, cells, notes, verdict, numbers)


def _forgive_on_the_way(
    submission: Submission,
    placed: Placed,
    cells: Array,
    notes: list[str],
    verdict: int,
    numbers: Numbers,
    mistake: Replacements | None = None,
) -> None:
    """Give the verdict to wrong cells that follow where hidden steps were cut off, or constants rounded."""
    rounding = placed.answer.rounding
    if (cells == WRONG).any() and rounding.rounds and submission.hides(placed.step, numbers.given, mistake):
        cut = submission.follows(placed, submission.run(numbers.given, mistake, rounding._replace(how="cut")), numbers)
        _give(verdict, "cut_off", HABITS["cut_off"](placed, cut, False), cells, notes)
    left = (cells == WRONG) & (placed.unit > 0) & np.isfinite(placed.value)
    if left.any():
        _give(verdict, "constants_rounded", with_constants(submission, placed, left, numbers, mistake), cells, notes)


def _forgive_from(sources: Sequence[Array], placed: Placed, cells: Array, notes: list[str], verdict: int) -> None:
    """Give the verdict to wrong cells that a habit explains if one of the sources is what they should be."""
    for source in sources:
        for code, habit in HABITS.items():
            if (cells == WRONG).any():
                _give(verdict, code, habit(placed, source, False), cells, notes)


def _give(verdict: int, code: str, holds: Array, cells: Array, notes: list[str]) -> None:
    found = (cells == WRONG) & holds
    if found.any():
        cells[found] = verdict
        notes.append(code)
