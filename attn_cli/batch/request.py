"""What a batch is asked for: checked before anything runs, then worked through, an outcome at a time."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from attn_cli.batch.executors import outcomes
from attn_cli.batch.find import find_problems
from attn_cli.batch.resume import Stamp, begin, options_of, stamp, tidy
from attn_cli.batch.summary import SUMMARIES, closing_line, interrupted_line
from attn_cli.batch.work import Job, Outcome, Task
from attn_cli.errors import UsageError
from attn_cli.files.patterns import identity
from attn_cli.files.writing import refuse_hopeless, save

if TYPE_CHECKING:
    from attn_cli.batch.find import Found


@dataclass(frozen=True)
class Request:
    """One call of `attn batch`."""

    paths: Sequence[str]
    job: Job
    suffix: str
    """Of the result files."""
    output: str | None = None
    """The folder of the results."""
    summary: str | None = None
    """The file that gets a row a problem."""
    resume: bool = False
    fail_fast: bool = False
    jobs: int | None = None
    dask: str | None = None


def prepare(request: Request) -> Batch:
    """Find the problems and make the folder of results. Raises UsageError for what can never work."""
    _refuse_contradictions(request)
    output, suffix = request.output, request.suffix
    found = find_problems(request.paths, skip=None if output is None else Path(output))
    if not found.problems and not found.missing:
        if found.answers:
            raise UsageError(f"{found.answers[0]}: holds somebody's answers, expected a problem")
        raise UsageError("standard input names no path; expected one a line")
    if not found.problems or (found.missing and request.fail_fast):
        return Batch(request, found, [])
    tasks = [Task(path, None if output is None else os.path.join(output, f"{name}.{suffix}")) for path, name in found.problems]
    return _ready(request, found, tasks, [task.target for task in tasks if task.target])


def _ready(request: Request, found: Found, tasks: list[Task], results: list[str]) -> Batch:
    """Everything that the run writes can be written, and nothing is in its way."""
    summary = [request.summary] if request.summary is not None else []
    _spare_problems(found, [*results, *summary])
    before = {}
    if request.output is not None:
        before = {result: stamp(result) for result in results} if os.path.isdir(request.output) else {}
        since = begin(Path(request.output), options_of(request.job))
        request = replace(request, job=replace(request.job, since=since if request.resume else None))
    for path in summary:
        refuse_hopeless(path)
    tidy([*results, *summary])
    return Batch(request, found, tasks, before)


def _refuse_contradictions(request: Request) -> None:
    """Raises UsageError where options do not fit together or name what there is not."""
    if request.resume and request.output is None:
        raise UsageError("--resume keeps results in a folder: name it with -o")
    if request.resume and request.job.check:
        raise UsageError("--resume has no place beside --check")
    if request.summary is not None and _kind(request.summary) not in SUMMARIES:
        raise UsageError(f"--summary {request.summary}: expected a name that ends in {' or '.join(SUMMARIES)}")
    if request.job.style.only:
        _known_steps(request.job.style.only)


@dataclass
class Batch:
    """A request that can be worked through."""

    request: Request
    found: Found
    tasks: list[Task]
    """Empty where there is nothing to do."""
    before: dict[str, Stamp | None] = field(default_factory=dict)
    """What stood in the place of each result before."""
    outcomes: list[Outcome] = field(default_factory=list)
    """Of the problems that are done, in order, without the results that they carried."""

    def __iter__(self) -> Iterator[Outcome]:
        """Work through the problems; stops early where nothing more can be written, or at the first failure if so asked."""
        if not self.tasks:
            return
        for outcome in outcomes(self.request.job, self.tasks, self.request.jobs, self.request.dask):
            self.outcomes.append(outcome._replace(result=None))
            yield outcome
            if outcome.hopeless or (self.request.fail_fast and not outcome.ok):
                return

    @property
    def left(self) -> int:
        """How many problems were not tried."""
        return len(self.tasks) - len(self.outcomes)

    def close(self) -> str:
        """Write the summary; the closing line."""
        if self.request.summary is not None:
            save(self.request.summary, SUMMARIES[_kind(self.request.summary)](self.outcomes, self.request.job.check))
        return closing_line(self.outcomes, self.left)

    def interrupted(self) -> str:
        """What there is to say when the run is interrupted: results written by helpers that could not report any more count, too."""
        if self.request.output is None:
            return interrupted_line(self.outcomes, self.left)
        written = sum(self._is_new(task.target) for task in self.tasks if task.target)
        return interrupted_line(self.outcomes, self.left, written, resumable=not self.request.job.check)

    def _is_new(self, target: str) -> bool:
        """Whether this run has written the result."""
        now = stamp(target)
        return now is not None and now != self.before.get(target)

    @property
    def code(self) -> int:
        """The exit code."""
        if self.found.missing or not self.outcomes or self.outcomes[-1].hopeless:
            return 2
        return 0 if all(outcome.right for outcome in self.outcomes) else 1


def _kind(summary: str) -> str:
    return Path(summary).suffix.lower()


def _known_steps(names: Iterable[str]) -> None:
    """Which steps there are depends on the problem; a name that is no step at all is found out before anything runs."""
    from attn_cli.engine.steps import STEPS, step_name
    from attn_cli.names import did_you_mean

    for name in names:
        if step_name(name) is None:
            raise UsageError(f"no step {name!r}{did_you_mean(name, list(STEPS))}; there are {', '.join(STEPS)}")


def _spare_problems(found: Found, written: Sequence[str]) -> None:
    """No result may take the place of a problem."""
    lost = [target for target in written if os.path.exists(target) and identity(target) in found.files]
    if lost:
        raise UsageError(f"results would replace the problems {', '.join(lost)}; choose another name with -o or --summary")
