"""What marking found, as plain records: a report for each submission, and a summary of a class."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from attn_cli.engine.arrays import Array
from attn_cli.engine.attention import solve
from attn_cli.engine.notes import Note
from attn_cli.engine.problem import Problem
from attn_cli.engine.steps import Trace, is_gradient
from attn_cli.engine.training import differentiate
from attn_cli.errors import InputError
from attn_cli.homework.claims import Answer, units
from attn_cli.homework.explain import Book, Explanation
from attn_cli.homework.places import ORDER, holder
from attn_cli.homework.verdicts import CARRIED, MASKED, MISSING, RIGHT, ROUNDED, VERDICTS, WRONG, Marked, Work

Cell = tuple[int, ...]


@dataclass(frozen=True)
class Precision:
    """How far an array of full precision is off."""

    dtype: str
    error: float
    """Largest, absolute."""
    ulps: float
    """Largest, in units in the last place of its dtype."""

    @property
    def finite(self) -> bool:
        """Whether a distance can be told: not where a NaN or an infinity stands against a number."""
        return math.isfinite(self.error)


@dataclass(frozen=True, eq=False)
class StepReport:
    """One step of a submission. Lists are nested as they were written."""

    name: str
    """As its writer calls it."""
    step: str
    """The step that holds its value."""
    verdict: str
    cells: Any
    """A verdict for each cell, always in lists."""
    written: Any
    """The text of each cell."""
    expected: Any
    """The numbers as they should be, in the problem's layout; as they were written where the shape is right."""
    mistake: Explanation | None
    notes: tuple[Note, ...]
    points: float
    share: float
    """What part of the points is earned, from 0 to 1."""
    precision: Precision | None = None
    first_wrong: Cell | None = None
    """The first wrong cell as written; None where there is none, or where the shape is wrong."""
    at: Cell | None = None
    """The same cell as the step has it, in the layout shown."""
    complete: bool = True

    @cached_property
    def counts(self) -> Counter[str]:
        """How many cells have which verdict."""

        def visit(cells: Any) -> Iterator[str]:
            if isinstance(cells, list):
                for part in cells:
                    yield from visit(part)
            else:
                yield cells

        return Counter(visit(self.cells))


@dataclass(frozen=True, eq=False)
class Report:
    """One submission."""

    trace: Trace
    steps: tuple[StepReport, ...]
    file: str | None = None
    notes: tuple[Note, ...] = ()

    @property
    def right(self) -> bool:
        return not any(step.verdict in ("wrong", "carried") for step in self.steps)

    @property
    def complete(self) -> bool:
        return all(step.complete for step in self.steps)

    @property
    def earned(self) -> float:
        return tidy(sum(step.points * step.share for step in self.steps))

    @property
    def possible(self) -> float:
        return tidy(sum(step.points for step in self.steps))

    @property
    def first_wrong(self) -> StepReport | None:
        return next((step for step in self.steps if step.verdict == "wrong"), None)


def tidy(points: float) -> float:
    """5 rather than 5.0, and no 4.999999999."""
    whole = round(points, 9)
    return int(whole) if whole == int(whole) else whole


@dataclass(frozen=True)
class Failed:
    """A submission that could not be read."""

    file: str
    error: str


@dataclass
class Marker:
    """Marks submissions to one problem."""

    problem: Problem
    tol: float | None = None
    """A number within so much is right, too."""
    points: Mapping[str, float] = field(default_factory=dict)
    penalty: float = 0.0
    """What part of its share a carried cell loses."""

    gradients: bool = False
    """Whether the backward pass is marked too; where a gradient is asked for it is, and for a submission that holds one."""

    def __post_init__(self) -> None:
        self.gradients = self.gradients or any(map(is_gradient, self.points))
        self.truth = (differentiate if self.gradients else solve)(self.problem)
        self.book = Book(self.truth)
        for name in self.points:
            holder(name, self.truth)

    def mark(self, answers: Sequence[Answer], file: str | None = None, notes: tuple[Note, ...] = ()) -> Report:
        """Raises InputError where there is no such step, or nothing to mark."""
        if not any(a.given.any() or not a.given.size for a in answers):
            raise InputError("holds no answer; expected at least one number under a step, such as weights:")
        if not self.gradients and any(is_gradient(answer.name) for answer in answers):
            return self._backwards.mark(answers, file, notes)
        work = Work(self.truth.problem, self.truth, answers, self.tol, self.book)
        with np.errstate(all="ignore"):  # whatever somebody wrote, infinities included
            marks = work.mark()
        steps = [self._step(marked) if _means_something(marked) else self._absent(marked.placed.name) for marked in marks]
        steps += [self._absent(name) for name in self.points if name not in {step.name for step in steps}]
        steps.sort(key=lambda step: ORDER.index(step.step))
        return Report(self.truth, tuple(steps), file, notes)

    @cached_property
    def _backwards(self) -> Marker:
        return replace(self, gradients=True)

    def _step(self, marked: Marked) -> StepReport:
        placed, answer = marked.placed, marked.placed.answer
        cells = marked.cells
        codes = [VERDICTS[cell] for cell in cells]
        worth = np.select([cells == CARRIED, (cells == RIGHT) | (cells == ROUNDED)], [1 - self.penalty, 1.0], 0.0)
        wrong = np.flatnonzero(cells == WRONG)
        first = _position(answer.form, int(wrong[0])) if wrong.size and placed.fits else None
        expected = self.truth.step(placed.step).value
        return StepReport(
            placed.name,
            placed.step,
            VERDICTS[marked.verdict],
            _listed(answer.nested(codes), expected.ndim),
            _listed(answer.nested(answer.texts), expected.ndim),
            answer.nested(marked.expected.tolist()) if placed.fits else expected.tolist(),
            marked.mistake,
            tuple(
                [Note(code, {"step": placed.name}) for code in marked.notes]
                + ([Note("untold", {"step": placed.name, "codes": marked.untold})] if marked.untold else [])
            ),
            self.points.get(placed.name, 1.0),
            float(worth.mean()) if cells.size else 0.0,
            _precision(answer, marked.expected) if placed.fits else None,
            first,
            self._at(marked, int(wrong[0])) if first is not None else None,
            bool((cells != MISSING).all()),
        )

    def _at(self, marked: Marked, cell: int) -> Cell:
        """A written cell's place in the step, in the layout shown."""
        step = self.truth.step(marked.placed.step)
        assert marked.placed.source is not None
        at = tuple(int(i) for i in np.unravel_index(int(marked.placed.source[cell]), step.made.value.shape))
        return step.row_cell(at)

    def _absent(self, name: str) -> StepReport:
        """A step of which nothing was handed in, though it was asked for or named."""
        step = self.truth.step(holder(name, self.truth))
        value = step.value
        cells = np.full(value.shape, "missing", object).tolist()
        blank = np.full(value.shape, "", object).tolist()
        return StepReport(
            name, step.name, "missing", cells, blank, value.tolist(), None, (), self.points.get(name, 1.0), 0.0, complete=False
        )


def _means_something(marked: Marked) -> bool:
    """Whether an answer has cells that one can talk about: a number at least, or the shape of its step."""
    given = marked.placed.answer.given
    return marked.placed.fits or not given.size or bool(given.any())


def _listed(nested: Any, axes: int) -> Any:
    """A single cell as a list, too, nested as its step is."""
    if not isinstance(nested, list):
        for _ in range(axes):
            nested = [nested]
    return nested


def _position(form: Any, number: int) -> Cell | None:
    """Where a cell stands in nested lists."""
    if not isinstance(form, list):
        return () if form == number else None
    for i, part in enumerate(form):
        inside = _position(part, number)
        if inside is not None:
            return (i, *inside)
    return None


def _precision(answer: Answer, expected: Array) -> Precision | None:
    if not isinstance(answer.rounding, np.dtype):
        return None
    finite = np.isfinite(expected) & np.isfinite(answer.value)
    closed = (expected == -np.inf) & (answer.value <= MASKED)
    if (answer.given & ~finite & ~closed).any():
        return Precision(str(answer.rounding), np.inf, np.inf)
    error = np.abs(answer.value[finite] - expected[finite])
    ulp = units(expected[finite], answer.rounding)
    return Precision(
        str(answer.rounding),
        float(error.max(initial=0.0)),
        float(np.divide(error, ulp, out=np.zeros_like(error), where=ulp > 0).max(initial=0.0)),
    )


@dataclass(frozen=True)
class Summary:
    """A class."""

    submissions: int
    unreadable: int
    right: int
    earned: tuple[float, ...]
    possible: float
    mistakes: tuple[tuple[str, int], ...]
    """Codes with how many submissions they explain, the commonest first."""
    steps: tuple[tuple[str, int], ...]
    """Where the first wrong cell is, with how often."""


def summary(reports: Sequence[Report | Failed]) -> Summary:
    marked = [report for report in reports if isinstance(report, Report)]
    mistakes = Counter(code for report in marked for code in {s.mistake.code for s in report.steps if s.mistake is not None})
    steps = Counter(report.first_wrong.name for report in marked if report.first_wrong is not None)
    return Summary(
        len(reports),
        len(reports) - len(marked),
        sum(report.right for report in marked),
        tuple(report.earned for report in marked),
        max((report.possible for report in marked), default=0),
        tuple(mistakes.most_common()),
        tuple(steps.most_common()),
    )


__all__ = ["Failed", "Marker", "Precision", "Report", "StepReport", "Summary", "summary", "tidy"]
