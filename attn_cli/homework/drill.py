"""An exercise asked line by line: each line is marked at once, beside the lines that were right before it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from attn_cli.engine.arrays import Cell
from attn_cli.engine.steps import Step
from attn_cli.homework.claims import MISSING, Claim, answer
from attn_cli.homework.exercises import Exercise
from attn_cli.homework.marking import Marker
from attn_cli.homework.report import StepReport


class Question(NamedTuple):
    """One row of a step, in the layout shown."""

    step: Step
    cells: tuple[Cell, ...]

    @property
    def first(self) -> bool:
        """Whether it is the step's first."""
        return not any(self.cells[0])


class Reply(NamedTuple):
    """What a line came to."""

    verdicts: tuple[str, ...]
    mistake: str
    """The code of the mistake that explains it; empty where none does."""

    @property
    def right(self) -> bool:
        return all(verdict in ("right", "rounded") for verdict in self.verdicts)


@dataclass
class Drill:
    """An exercise with the lines that were answered so far."""

    exercise: Exercise
    marker: Marker = field(init=False)
    kept: dict[str, dict[Cell, Claim]] = field(default_factory=dict)
    """What was right, by step and cell: later lines may follow from its rounding."""

    def __post_init__(self) -> None:
        self.marker = Marker(self.exercise.problem, gradients=bool(self.exercise.trace.gradients))

    def questions(self) -> Iterator[Question]:
        """Row after row of each step."""
        for step in self.exercise.steps:
            shape = step.value.shape
            for prefix in np.ndindex(*shape[:-1]):
                yield Question(step, tuple((*prefix, j) for j in range(shape[-1])))

    def reply(self, question: Question, claims: Sequence[Claim]) -> Reply:
        """Mark a line; what is right is kept."""
        line = dict(zip(question.cells, claims, strict=True))
        here = {**self.kept.get(question.step.name, {}), **line}
        others = [(name, cells) for name, cells in self.kept.items() if name != question.step.name]
        answers = [answer(name, self._nested(name, cells)) for name, cells in (*others, (question.step.name, here))]
        marked = next(step for step in self.marker.mark(answers).steps if step.name == question.step.name)
        verdicts = tuple(_at(marked.cells, cell) for cell in question.cells)
        reply = Reply(verdicts, _code(marked))
        if reply.right:
            self.kept[question.step.name] = here
        return reply

    def _nested(self, name: str, cells: dict[Cell, Claim]) -> Any:
        """Cells as the nested lists of a step, with nothing given elsewhere."""
        shape = self.exercise.trace.step(name).value.shape

        def rows(prefix: Cell) -> Any:
            if len(prefix) == len(shape):
                return cells.get(prefix, MISSING)
            return [rows((*prefix, i)) for i in range(shape[len(prefix)])]

        return rows(())


def _at(nested: Any, cell: Cell) -> str:
    for i in cell:
        nested = nested[i]
    return str(nested)


def _code(marked: StepReport) -> str:
    return marked.mistake.code if marked.mistake is not None else ""
