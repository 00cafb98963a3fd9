"""Some problems worked, one after the other, each turned into an outcome. It may run in any process, on any machine that sees the files."""

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from attn_cli.errors import AttnError, InputError, Place, UsageError, describe, one_line

if TYPE_CHECKING:
    from attn_cli.engine.notes import Note
    from attn_cli.files.problem import Loaded
    from attn_cli.render.style import Style

SAVING = threading.Lock()
"""Held while a result is written, so that whoever ends this process can wait for it."""
_PLACE = threading.Lock()
"""Held while the current folder is that of a batch."""
UNWRITABLE = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO}
"""Why a result cannot be written that no other result will fare better with."""


@dataclass(frozen=True)
class Job:
    """What is asked of every problem."""

    style: Style
    format: str | None = None
    """The format of the results; None where only the outcomes are asked for."""
    check: bool = False
    """Whether to mark each problem's own answers."""
    settings: Mapping[str, str] = field(default_factory=dict)
    encoding: str | None = None
    decimal: str | None = None
    allow_outside: bool = False
    since: int | None = None
    """Results that are no older than this (in ns) were made with the same options: what they hold need not be done again."""
    folder: str | None = None
    """Where relative paths start, if that is not the current folder."""


@dataclass(frozen=True)
class Task:
    """One problem."""

    path: str
    target: str | None = None
    """Where the result goes; None where the outcome carries it."""


Chunk = tuple[Task, ...]
"""Tasks that are handed out together."""


class Outcome(NamedTuple):
    """What became of one problem."""

    file: str
    ok: bool
    seconds: float
    score: str = ""
    mode: str = ""
    shapes: Mapping[str, int] = {}
    error: str = ""
    warnings: tuple[Note, ...] = ()
    result: str | None = None
    skipped: bool = False
    """Its result was there already."""
    marks: Mapping[str, Any] | None = None
    """What marking found, by column of a gradebook."""
    points: Mapping[str, float] = {}
    """What each step earned, where it was marked."""
    hopeless: bool = False
    """Nothing more can be written where the result should have gone."""

    @property
    def right(self) -> bool:
        """Whether nothing is to be said against it."""
        return self.ok and (self.marks is None or bool(self.marks["right"]))


def worked(job: Job, tasks: Sequence[Task]) -> list[Outcome]:
    """Work each problem; whatever is wrong with one becomes part of its outcome."""
    with _place(job.folder):
        return [_outcome(job, task) for task in tasks]


def here(job: Job, tasks: Iterable[Task]) -> Iterator[Outcome]:
    """The same in this process, an outcome at a time."""
    for task in tasks:
        yield from worked(job, (task,))


@contextmanager
def _place(folder: str | None) -> Iterator[None]:
    """Stand in a folder, so that paths, and what is said of them, are the same wherever the work is done."""
    if folder is None:
        yield
        return
    with _PLACE:
        before = os.getcwd()
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


def failed(path: str, error: BaseException, seconds: float = 0.0) -> Outcome:
    text = describe(error)
    file = one_line(path)
    hopeless = isinstance(error.__context__, OSError) and error.__context__.errno in UNWRITABLE
    return Outcome(path, False, seconds, error=text if file in text else f"{file}: {text}", hopeless=hopeless)


def _outcome(job: Job, task: Task) -> Outcome:
    from attn_cli.files.problem import read_problem

    start = time.perf_counter()
    try:
        loaded = read_problem(task.path, settings=job.settings, encoding=job.encoding, decimal=job.decimal, allow_outside=job.allow_outside)
        try:
            if job.since is not None and _is_done(task, loaded, job.since):
                outcome = _skipped(task, loaded)
            else:
                outcome = _marked(job, task, loaded) if job.check else _solved(job, task, loaded)
        except InputError as error:
            raise loaded.locate(error) from error
    except Exception as error:
        return failed(task.path, error, time.perf_counter() - start)
    return outcome._replace(seconds=time.perf_counter() - start)


# ---- what is asked of a problem


def _solved(job: Job, task: Task, loaded: Loaded) -> Outcome:
    from attn_cli.engine.large.memory import solve_within
    from attn_cli.render.formats import FORMATS

    trace = solve_within(loaded.problem, job.style.only)
    notes = trace.notes
    line = None
    if job.format and task.target is not None:
        _save(task.target, FORMATS[job.format].trace(trace, job.style, notes))
    elif job.format:
        from attn_cli.render.data.json import document, encode, plain_value

        line = encode({"file": task.path, **document(trace, job.style, notes, plain_value)})
    return _told(task, trace.settings, warnings=tuple(note for note in notes if note.warning), result=line)


def _marked(job: Job, task: Task, loaded: Loaded) -> Outcome:
    from attn_cli.files.claims import as_claims
    from attn_cli.homework.marking import Marker
    from attn_cli.homework.report import tidy
    from attn_cli.render.data.csv import marks_of
    from attn_cli.render.data.json import encode, marks
    from attn_cli.render.formats import FORMATS

    if not loaded.answers:
        raise InputError("has no answers of its own to mark", place=Place(loaded.source))
    marker = Marker(loaded.problem)
    try:
        report = marker.mark(as_claims(loaded.answers), task.path)
    except InputError as error:
        raise error.at(Place(loaded.source)) from error
    line = None
    if job.format:
        if task.target is not None:
            _save(task.target, FORMATS[job.format].report(report, job.style))
        else:
            line = encode(marks(report, job.style))
    warnings = tuple(note for note in marker.truth.notes if note.warning)
    points = {step.name: tidy(step.points * step.share) for step in report.steps}
    return _told(task, marker.truth.settings, warnings, line)._replace(marks=marks_of(report), points=points)


def _skipped(task: Task, loaded: Loaded) -> Outcome:
    from attn_cli.engine.choices import settings
    from attn_cli.engine.shapes import plan

    return _told(task, settings(loaded.problem, plan(loaded.problem.as_dtype())))._replace(skipped=True)


def _told(task: Task, settings: Mapping[str, Any], warnings: tuple[Note, ...] = (), result: str | None = None) -> Outcome:
    shapes = {name: settings[name] for name in ("n", "m", "heads", "d_k", "d_v") if settings.get(name) is not None}
    return Outcome(task.path, True, 0.0, str(settings["score"] or ""), str(settings["mode"]), shapes, warnings=warnings, result=result)


# ---- results


def _save(target: str, result: str | bytes) -> None:
    from attn_cli.files.writing import save

    folder = os.path.dirname(target)
    try:
        if not os.path.isdir(folder or "."):
            os.makedirs(folder, exist_ok=True)
    except OSError as why:
        raise UsageError(f"{folder}: cannot be made: {(why.strerror or 'unknown reason').lower()}") from None
    with SAVING:
        save(target, result, durable=False)  # waiting for the disk takes longer than the problem; a power cut costs a run


def _is_done(task: Task, loaded: Loaded, since: int) -> bool:
    """Whether the result is newer than everything that it was made from."""
    if task.target is None:
        return False
    try:
        result = os.stat(task.target)
        if not result.st_size or result.st_mtime_ns < since:
            return False
        return all(os.stat(each).st_mtime_ns < result.st_mtime_ns for each in _inputs(task, loaded))
    except (OSError, AttnError):
        return False


def _inputs(task: Task, loaded: Loaded) -> Iterable[str]:
    """Every file that was read; of a folder the folder itself too, whose own time tells of files that came and went."""
    yield task.path
    yield from loaded.files
