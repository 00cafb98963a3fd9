"""What marking found in a class: who fails where, the commonest mistakes, how each step separates strong from weak."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from attn_cli.engine.arrays import Array
from attn_cli.engine.steps import turned
from attn_cli.homework.habits import FEWEST
from attn_cli.homework.places import ORDER
from attn_cli.homework.report import Failed, Report, StepReport
from attn_cli.homework.submission import WRONG


@dataclass(frozen=True, eq=False)
class StepStatistics:
    """One step asked of a class."""

    name: str
    """As it was asked for."""
    step: str
    """The step that holds its value."""
    given: int
    """How many submissions hold it."""
    share_right: float
    """The mean share of its points that is earned, 0 for those who left it out; from 0 to 1."""
    separation: float | None
    """Correlation over the submissions between what is earned here and in all other steps; None where either is the same for all."""
    cells: Any
    """For each cell, in the layout of the step, the share of those who gave the step to whom it is wrong: nested lists."""
    first_wrong: int
    """How many have their first wrong cell here."""


@dataclass(frozen=True, eq=False)
class ClassStatistics:
    """A class."""

    submissions: int
    unreadable: int
    right: int
    complete: int
    earned: tuple[float, ...]
    possible: float
    steps: tuple[StepStatistics, ...]
    mistakes: tuple[tuple[str, tuple[str, ...]], ...]
    """Codes with the submissions that they explain, the commonest first. One that shows in several steps counts once."""
    twins: tuple[tuple[str, ...], ...]
    """Submissions with the same content."""


def class_statistics(reports: Sequence[Report | Failed]) -> ClassStatistics:
    """The statistics of a class, from a report for each submission."""
    marked = [report for report in reports if isinstance(report, Report)]
    return ClassStatistics(
        len(reports),
        len(reports) - len(marked),
        sum(report.right for report in marked),
        sum(report.complete for report in marked),
        tuple(report.earned for report in marked),
        max((report.possible for report in marked), default=0),
        tuple(_statistics(name, marked) for name in _asked(marked)),
        _mistakes(marked),
        _twins(marked),
    )


def _asked(reports: Sequence[Report]) -> list[str]:
    """The steps asked for, under the names that most submissions use, in order."""
    names: dict[str, str] = {}
    for report in reports:
        for step in report.asked:
            names.setdefault(step.step, step.name)
    return sorted(names.values(), key=ORDER.index)


def _statistics(name: str, reports: Sequence[Report]) -> StepStatistics:
    found = [(report, step) for report in reports for step in report.asked if step.name == name]
    given = [(report, step) for report, step in found if step.verdict != "missing"]
    here = np.array([step.share for _, step in found])
    elsewhere = np.array([_elsewhere(report, step) for report, step in found])
    wrong = [cells for cells in (_wrong_cells(report, step) for report, step in given) if cells is not None]
    shown = found[0][0].trace.step(found[0][1].step).value
    return StepStatistics(
        name,
        found[0][1].step,
        len(given),
        float(here.mean()),
        _correlation(here, elsewhere),
        (np.mean(wrong, axis=0) if wrong else np.zeros(shown.shape)).tolist(),
        sum(report.first_wrong is step for report, step in found),
    )


def _elsewhere(report: Report, step: StepReport) -> float:
    """What part of the points of all other steps a submission earns."""
    possible = report.possible - step.points
    return (report.earned - step.points * step.share) / possible if possible > 0 else 0.0


def _correlation(a: Array, b: Array) -> float | None:
    if len(a) < FEWEST or np.ptp(a) == 0 or np.ptp(b) == 0:
        return None
    return float(np.corrcoef(a, b)[0, 1])


def _wrong_cells(report: Report, step: StepReport) -> Array | None:
    """Which cells of a step are wrong, in its layout; None where the answer has another shape."""
    shown, numbers = report.trace.step(step.step), step.of_cells.numbers
    if numbers is None:
        return None
    cells = np.zeros(shown.made.value.size)
    cells[numbers.ravel()] = step.of_cells.verdicts == WRONG
    wrong = cells.reshape(shown.made.value.shape)
    return turned(shown.name, wrong) if shown.columns else wrong


def _mistakes(reports: Sequence[Report]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    files: defaultdict[str, list[str]] = defaultdict(list)
    for report in reports:
        for code in dict.fromkeys(step.mistake.code for step in report.steps if step.mistake is not None):
            files[code].append(report.file or "answers")
    return tuple((code, tuple(names)) for code, names in sorted(files.items(), key=lambda each: -len(each[1])))


def _twins(reports: Sequence[Report]) -> tuple[tuple[str, ...], ...]:
    files: defaultdict[str, list[str]] = defaultdict(list)
    for report in reports:
        files[report.content].append(report.file or "answers")
    return tuple(tuple(names) for names in files.values() if len(names) > 1)
