"""Marking submissions to one problem: what is asked, the verdicts on each step, and the report on them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import Any

import numpy as np

from attn_cli.engine.arrays import Array, Cell
from attn_cli.engine.attention import solve
from attn_cli.engine.notes import Note
from attn_cli.engine.problem import Problem
from attn_cli.engine.steps import is_gradient
from attn_cli.engine.training import differentiate
from attn_cli.errors import InputError
from attn_cli.homework.arrays import ArrayMarked, Kernel
from attn_cli.homework.claims import Answer, ArrayAnswer
from attn_cli.homework.explain import Book
from attn_cli.homework.places import ORDER, holder, place
from attn_cli.homework.report import Cells, Report, StepReport
from attn_cli.homework.submission import CARRIED, MISSING, RIGHT, ROUNDED, VERDICTS, WRONG, Submission
from attn_cli.homework.verdicts import Marked, mark

AnyAnswer = Answer | ArrayAnswer


@dataclass
class Marker:
    """Marks submissions to one problem."""

    problem: Problem
    tol: float | None = None
    """A number within so much is right, too."""
    points: Mapping[str, float] = field(default_factory=dict)
    """What each step asked for is worth, where that is not 1."""
    penalty: float = 0.0
    """What part of its share a carried cell loses."""
    gradients: bool = False
    """Whether the backward pass is marked too; where a gradient is asked for it is, and for a submission that holds one."""
    asked: tuple[str, ...] = ()
    """The steps asked for; where there are none, those that a submission holds."""

    def __post_init__(self) -> None:
        self.asked = tuple(dict.fromkeys((*self.asked, *self.problem.ask, *self.points)))
        self.gradients = self.gradients or any(map(is_gradient, self.asked))
        self.truth = (differentiate if self.gradients else solve)(self.problem)
        for name in self.asked:
            holder(name, self.truth)

    @cached_property
    def book(self) -> Book:
        """The known mistakes."""
        return Book(self.truth)

    @cached_property
    def kernel(self) -> Kernel:
        """What arrays are compared with."""
        return Kernel(self.truth, self.tol)

    @cached_property
    def _backwards(self) -> Marker:
        return Marker(self.problem, self.tol, self.points, self.penalty, gradients=True, asked=self.asked)

    def ask_class(self, submissions: Sequence[Sequence[AnyAnswer]]) -> tuple[str, ...]:
        """Ask for the steps that more than half of the submissions hold, or where there is none, that any holds.

        Steps that were asked for by name stay. Returns the steps asked for.
        """
        if not self.asked:
            held = Counter(name for answers in submissions for name in {answer.name for answer in answers if answer.says_something})
            most = [name for name in held if 2 * held[name] > len(submissions)] or list(held)
            self.asked = tuple(sorted(most, key=ORDER.index))
            vars(self).pop("_backwards", None)
        return self.asked

    def mark(self, answers: Sequence[AnyAnswer], file: str | None = None, notes: tuple[Note, ...] = ()) -> Report:
        """Raises InputError where there is no such step, or nothing to mark."""
        if not any(answer.says_something for answer in answers):
            raise InputError("holds no answer; expected at least one number under a step, such as weights:")
        if not self.gradients and any(is_gradient(answer.name) for answer in answers):
            return self._backwards.mark(answers, file, notes)
        with np.errstate(all="ignore"):  # whatever somebody wrote, infinities included
            steps = self._steps(answers)
        asked = self.asked or tuple(step.name for step in steps)
        steps += [self._absent(name, asked) for name in self._not_answered(asked, steps)]
        steps.sort(key=lambda step: ORDER.index(step.step))
        return Report(self.truth, tuple(steps), file, notes, _digest(answers, max(step.made.value.size for step in self.truth)))

    def _steps(self, answers: Sequence[AnyAnswer]) -> list[StepReport]:
        names = [answer.name for answer in answers]
        asked = tuple(self._answering(name, names) for name in self.asked or names)
        arrays = self._arrays([answer for answer in answers if isinstance(answer, ArrayAnswer)])
        by_hand = self._by_hand([answer for answer in answers if isinstance(answer, Answer)], arrays)
        reports = [self._step(m, asked) if _means_something(m) else self._absent(m.placed.name, asked) for m in by_hand]
        return [*reports, *(self._array(marked, asked) for marked in arrays)]

    def _arrays(self, answers: list[ArrayAnswer]) -> list[ArrayMarked]:
        return self.kernel.mark(sorted(answers, key=lambda answer: ORDER.index(holder(answer.name, self.truth)))) if answers else []

    def _by_hand(self, answers: Sequence[Answer], arrays: Sequence[ArrayMarked]) -> list[Marked]:
        """Numbers written by hand, which may follow from arrays handed in beside them."""
        if not answers:
            return []
        placed = sorted((place(answer, self.truth) for answer in answers), key=lambda p: (ORDER.index(p.step), ORDER.index(p.name)))
        handed = {marked.step: marked.handed for marked in arrays if marked.handed is not None}
        return mark(Submission(self.truth, placed, self.tol, arrays=handed, common=self.book.common), self.book)

    def _answering(self, name: str, answers: Sequence[str]) -> str:
        """The answer that stands for a step asked for: the one of its name, else one to a step that holds the same value."""
        if name in answers:
            return name
        others = (other for other in answers if other not in self.asked and holder(other, self.truth) == holder(name, self.truth))
        return next(others, name)

    def _not_answered(self, asked: Sequence[str], steps: Sequence[StepReport]) -> list[str]:
        names = [step.name for step in steps]
        return [name for name in asked if self._answering(name, names) not in names]

    # ------------------------------------------------------------------ one step
    def _worth(self, name: str, asked: Sequence[str]) -> float:
        """The points of an answer; none where it was not asked for."""
        named = next((n for n in self.asked if n == name or (n not in asked and holder(n, self.truth) == holder(name, self.truth))), name)
        return self.points.get(named, 1.0) if name in asked else 0.0

    def _share(self, cells: Array, size: int) -> float:
        """What part of its points a step earns, by its right, rounded and carried cells."""
        earning = ((cells == RIGHT) | (cells == ROUNDED)).sum() + (1 - self.penalty) * (cells == CARRIED).sum()
        return float(earning / size) if size else 0.0

    def _step(self, marked: Marked, asked: Sequence[str]) -> StepReport:
        placed, answer, cells = marked.placed, marked.placed.answer, marked.cells
        wrong = np.flatnonzero(cells == WRONG)
        first = _position(answer.form, int(wrong[0])) if wrong.size and placed.fits else None
        expected = self.truth.step(placed.step).value
        codes = [Note(code, {"step": placed.name}) for code in marked.notes]
        unreadable = [c.text for c in answer.claims if c.given and np.isnan(c.value) and c.text.strip().lower().strip(".") != "nan"]
        codes += [Note("unreadable", {"step": placed.name, "texts": unreadable})] if unreadable else []
        codes += [Note("untold", {"step": placed.name, "codes": marked.untold})] if marked.untold else []
        return StepReport(
            placed.name,
            placed.step,
            VERDICTS[marked.verdict],
            Cells(
                cells,
                lambda each: _listed(answer.nested(each), expected.ndim),
                lambda: answer.texts,
                lambda: answer.nested(marked.expected.tolist()) if placed.fits else expected.tolist(),
                placed.source,
            ),
            marked.mistake,
            tuple(codes),
            self._worth(placed.name, asked),
            self._share(cells, cells.size),
            first_wrong=first,
            at=self._at(placed.step, int(placed.source[wrong[0]])) if first is not None and placed.source is not None else None,
            complete=bool((cells != MISSING).all()),
            asked=placed.name in asked,
        )

    def _array(self, marked: ArrayMarked, asked: Sequence[str]) -> StepReport:
        step = self.truth.step(marked.step)
        wrong = int(np.argmax(marked.cells == WRONG)) if marked.fits and (marked.cells == WRONG).any() else None
        shape, size = marked.answer.shape, step.made.value.size
        first = None if wrong is None else tuple(int(i) for i in np.unravel_index(wrong, shape))
        return StepReport(
            marked.answer.name,
            marked.step,
            VERDICTS[marked.verdict],
            Cells(
                marked.cells,
                lambda each: _in_shape(each, shape),
                lambda: [str(x) for x in np.asarray(marked.answer.array).ravel()],
                lambda: _in_shape(marked.expected.tolist(), shape) if marked.fits else step.value.tolist(),
                marked.source if marked.fits else None,
            ),
            marked.mistake,
            tuple(Note(code, {"step": marked.answer.name}) for code in marked.notes),
            self._worth(marked.answer.name, asked),
            self._share(marked.cells, size) if marked.fits else 0.0,
            marked.precision,
            first,
            None if wrong is None else self._at(marked.step, int(marked.source[wrong])),
            complete=not marked.fits or marked.cells.size == size,
            asked=marked.answer.name in asked,
        )

    def _at(self, step: str, number: int) -> Cell:
        """The place of a step's cell in the layout shown, from its number in row layout."""
        shown = self.truth.step(step)
        return shown.row_cell(tuple(int(i) for i in np.unravel_index(number, shown.made.value.shape)))

    def _absent(self, name: str, asked: Sequence[str]) -> StepReport:
        """A step of which nothing was handed in, though it was asked for or named."""
        step = self.truth.step(holder(name, self.truth))
        value = step.value
        cells = Cells(np.full(value.size, MISSING), lambda each: _in_shape(each, value.shape), lambda: [""] * value.size, value.tolist)
        return StepReport(name, step.name, "missing", cells, None, (), self._worth(name, asked), 0.0, complete=False, asked=name in asked)


def _digest(answers: Sequence[AnyAnswer], most: int) -> str:
    """The same for the same content, in whatever order and format it was handed in; arrays of more than `most` cells are not read."""
    digest = sha256()
    for answer in sorted(answers, key=lambda answer: answer.name):
        if isinstance(answer, Answer):
            digest.update(f"{answer.name} {answer.shape} {answer.texts}".encode())
        else:
            digest.update(f"{answer.name} {answer.shape} {answer.array.dtype}".encode())
            digest.update(np.ascontiguousarray(answer.array).data if 0 < answer.array.size <= most else b"")
    return digest.hexdigest()


def _means_something(marked: Marked) -> bool:
    """Whether an answer has cells that one can talk about: a number at least, or the shape of its step."""
    return marked.placed.fits or marked.placed.answer.says_something


def _in_shape(cells: list[Any], shape: tuple[int, ...]) -> Any:
    """One thing a cell, in nested lists of a shape."""
    if len(shape) < 2:
        return cells
    step = len(cells) // shape[0] if shape[0] else 0
    return [_in_shape(cells[i * step : (i + 1) * step], shape[1:]) for i in range(shape[0])]


def _listed(nested: Any, axes: int) -> Any:
    """A single cell as a list, too, nested as its step is; rows that stand under names, in the order in which they were written."""
    if isinstance(nested, Mapping):
        return [_listed(part, axes - 1) for part in nested.values()]
    if isinstance(nested, list):
        return [_listed(part, 0) for part in nested]
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
