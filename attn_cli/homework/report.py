"""What marking found, as plain records: a report for each submission."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from attn_cli.engine.arrays import Array, Cell
from attn_cli.engine.notes import Note
from attn_cli.engine.steps import Trace
from attn_cli.homework.explain import Explanation
from attn_cli.homework.submission import VERDICTS


@dataclass(frozen=True)
class Precision:
    """How far an array of full precision is off, beside how far it may be."""

    dtype: str
    error: float
    """Largest, absolute."""
    ulps: float
    """Largest, in units in the last place of the step's largest number in its dtype."""
    bound: float = math.inf
    """How large the largest error may be."""
    rms: float = 0.0
    """Root mean square of the errors."""
    rms_bound: float = math.inf
    worst: Cell | None = None
    """The cell that is farthest off, in the layout of the step; None where every error is 0."""
    found: float = math.nan
    """What stands there."""
    expected: float = math.nan
    """What should."""
    lean: float = 0.0
    """Mean error against the mean size of the errors: 1 where all numbers are too large, −1 where all are too small."""
    departs: bool = False
    """Whether the errors are larger than they may be."""

    @property
    def finite(self) -> bool:
        """Whether there is a distance: not where a NaN or an infinity stands against a number."""
        return math.isfinite(self.error)


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of one answer, made into lists when somebody asks for them: an array may hold millions."""

    verdicts: Array
    """The number of its verdict for each cell, in the order of `nested`."""
    nested: Callable[[list[Any]], Any]
    """Lays one thing a cell out in lists, as they were written."""
    texts: Callable[[], list[str]]
    """The text of each cell."""
    right: Callable[[], Any]
    """The numbers as they should be, nested."""
    numbers: Array | None = None
    """The number of the step's cell for each cell, in row layout; None where the answer has another shape."""


@dataclass(frozen=True, eq=False)
class StepReport:
    """One step of a submission. Lists are nested as they were written."""

    name: str
    """As its writer calls it."""
    step: str
    """The step that holds its value."""
    verdict: str
    of_cells: Cells
    mistake: Explanation | None
    notes: tuple[Note, ...]
    points: float
    share: float
    """What part of the points is earned, from 0 to 1."""
    precision: Precision | None = None
    """Of an array only."""
    first_wrong: Cell | None = None
    """The first wrong cell as written; None where there is none, or where the shape is wrong."""
    at: Cell | None = None
    """The same cell as the step has it, in the layout shown."""
    complete: bool = True
    asked: bool = True
    """Whether it was asked for; what is given besides earns nothing and makes nothing wrong."""

    @cached_property
    def cells(self) -> Any:
        """A verdict for each cell, always in lists."""
        return self.of_cells.nested([VERDICTS[verdict] for verdict in self.of_cells.verdicts.tolist()])

    @cached_property
    def written(self) -> Any:
        """The text of each cell."""
        return self.of_cells.nested(self.of_cells.texts())

    @cached_property
    def expected(self) -> Any:
        """The numbers as they should be, in the problem's layout; as they were written where the shape is right."""
        return self.of_cells.right()

    @cached_property
    def counts(self) -> Counter[str]:
        """How many cells have which verdict."""
        verdicts = self.of_cells.verdicts
        if verdicts.size and verdicts.strides == (0,):  # one verdict for all, such as for an array that was not even read
            return Counter({VERDICTS[verdicts[0]]: verdicts.size})
        found = np.bincount(verdicts.ravel(), minlength=len(VERDICTS))
        return Counter({VERDICTS[verdict]: int(count) for verdict, count in enumerate(found) if count})

    @property
    def size(self) -> int:
        """How many cells it has."""
        return int(self.of_cells.verdicts.size)

    @property
    def array(self) -> bool:
        """Whether it was handed in as an array, whose cells are listed on request."""
        return self.precision is not None


@dataclass(frozen=True, eq=False)
class Report:
    """One submission."""

    trace: Trace
    steps: tuple[StepReport, ...]
    file: str | None = None
    notes: tuple[Note, ...] = ()
    content: str = ""
    """A digest of what was handed in, which is the same for the same content."""

    @property
    def asked(self) -> tuple[StepReport, ...]:
        """The steps asked for."""
        return tuple(step for step in self.steps if step.asked)

    @property
    def right(self) -> bool:
        return not any(step.verdict in ("wrong", "carried") for step in self.asked)

    @property
    def complete(self) -> bool:
        return all(step.complete for step in self.asked)

    @property
    def earned(self) -> float:
        return tidy(sum(step.points * step.share for step in self.asked))

    @property
    def possible(self) -> float:
        return tidy(sum(step.points for step in self.asked))

    @property
    def first_wrong(self) -> StepReport | None:
        """The first wrong step that was asked for; where those only carry something on, the first wrong one given besides."""
        wrong = [step for step in self.steps if step.verdict == "wrong"]
        asked = [step for step in wrong if step.asked]
        return next(iter(asked or ([] if self.right else wrong)), None)

    def __getitem__(self, name: str) -> StepReport:
        """The step of that name, or of that symbol. Raises KeyError where it is not in the report."""
        step = self.trace.step(name).name if name not in {step.name for step in self.steps} else name
        return {step.name: step for step in self.steps}[step]


def tidy(points: float) -> float:
    """5 rather than 5.0, and no 4.999999999."""
    whole = round(points, 9)
    return int(whole) if whole == int(whole) else whole


@dataclass(frozen=True)
class Failed:
    """A submission that could not be read."""

    file: str
    error: str
