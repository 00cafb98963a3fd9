"""`attn batch`: many problems at once."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from attn_cli.commands.options import Look, ProblemCommand, Reading, Settings, application, given, grouped
from attn_cli.commands.walkthrough import format_for, say
from attn_cli.errors import UsageError, one_line

if TYPE_CHECKING:
    from attn_cli.batch.find import Plan
    from attn_cli.batch.work import Row, Task

app = application()

Paths = Annotated[
    list[str], typer.Argument(metavar="PATH...", help="Files, folders, patterns; - reads a list of them from standard input.")
]


class BatchCommand(ProblemCommand):
    """An empty path is one that is missing, and the others are worked all the same."""

    may_be_empty = ("paths",)


@app.command(cls=BatchCommand)
@grouped
def run(
    paths: Paths,
    settings: Settings,
    look: Look,
    reading: Reading,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="DIR", help="Write one result a problem into this folder.")
    ] = None,
    summary: Annotated[str | None, typer.Option(metavar="FILE", help="Write a row a problem: a .csv or .jsonl file.")] = None,
    check: Annotated[bool, typer.Option("--check", help="Mark each problem's own answers, and write reports.")] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Keep results of the same options that are newer than what they were made from.")
    ] = False,
    fail_fast: Annotated[bool, typer.Option("--fail-fast", help="Stop at the first problem that fails.")] = False,
    jobs: Annotated[int | None, typer.Option(metavar="N", min=1, help="Problems worked at the same time (default: all cores).")] = None,
    dask: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Work on this Dask cluster (tcp://HOST:PORT), which sees the same files.")
    ] = None,
) -> int:
    """
    \b
    attn batch homework -o results               every problem of a folder
    attn batch homework -o results --resume      go on where the last run stopped
    attn batch 'week*/*.yaml' --summary all.csv  a row a problem
    attn batch homework --format json            one line of JSON a problem
    attn batch homework --check --summary marks.csv

    Work through many problems; a bad one never stops the rest.
    """
    from dataclasses import replace

    from attn_cli.batch.executors import run as work
    from attn_cli.batch.find import plan
    from attn_cli.batch.summary import counts
    from attn_cli.batch.work import Job, Task

    if resume and (output is None or check):
        raise UsageError(
            "--resume keeps results in a folder: name it with -o" if output is None else "--resume has no place beside --check"
        )
    form, suffix = _format(look.format, output, check)
    kind = None if summary is None else _summary_kind(summary)
    if look.only:
        _known_steps(look.only)
    found = plan(_listed(paths), skip=None if output is None else Path(output))
    for path in found.missing:
        told = one_line(path) or "''"
        print(f"error: {told}: no such file, and no problem in a folder or pattern of that name", file=sys.stderr)
    if not found.problems and not found.missing:
        raise UsageError("standard input names no path; expected one a line")
    if not found.problems or (found.missing and fail_fast):
        return 2
    tasks = [Task(path, None if output is None else os.path.join(output, f"{name}.{suffix}")) for path, name in found.problems]
    _spare_problems(found, tasks, summary)
    job = Job(look.style("compute", on_screen=False), form, check, given(settings), reading.encoding, reading.decimal)
    if output is not None:
        from attn_cli.batch.resume import begin, options_of, tidy

        since = begin(Path(output), options_of(job))
        tidy(task.target for task in tasks if task.target)
        job = replace(job, since=since) if resume else job
    if summary is not None:
        from attn_cli.files.save import refuse_hopeless

        refuse_hopeless(summary)
    _tell_left_out(found)
    console = _Console(len(tasks), form if output is None else None, output is None, look.language())
    rows = []
    try:
        for row in work(job, tasks, jobs, dask):
            rows.append(row)
            console.show(row)
            if row.hopeless or (fail_fast and not row.ok):
                break
    except KeyboardInterrupt:
        console.clear()
        goes_on = "; with --resume the next run goes on from there" if output is not None and not check else ""
        print(f"interrupted: {counts(rows, len(tasks) - len(rows))}{goes_on}", file=sys.stderr)
        return 130
    finally:
        console.clear()
    if summary is not None and kind is not None:
        from attn_cli.batch.summary import SUMMARIES
        from attn_cli.files.save import save

        save(summary, SUMMARIES[kind](rows, check))
    print(counts(rows, len(tasks) - len(rows)), file=sys.stderr)
    if rows[-1].hopeless:
        return 2
    return 2 if found.missing else 0 if all(row.right for row in rows) else 1


class _Console:
    """Rows to standard output, what went wrong and how far the work is to standard error."""

    def __init__(self, total: int, form: str | None, rows: bool, lang: str):
        self.total, self.form, self.rows, self.lang = total, form, rows, lang
        self.done, self.start, self.drawn, self.terminal = 0, time.monotonic(), 0.0, sys.stderr.isatty()

    def show(self, row: Row) -> None:
        from attn_cli.batch.summary import json_line, row_line

        self.done += 1
        if not row.ok or row.warnings or self.rows:
            self.clear()
        if not row.ok:
            print(f"error: {row.error}", file=sys.stderr)
        if row.warnings:
            say(row.warnings, self.lang, f"{one_line(row.file)}: ")
        if self.rows:
            print(json_line(row) if self.form == "json" else row_line(row))
        self._draw()

    def _draw(self) -> None:
        from attn_cli.batch.summary import progress

        now = time.monotonic()
        if self.terminal and now - self.drawn > 0.1 and self.done < self.total:
            sys.stdout.flush()  # both may be the same terminal
            sys.stderr.write(f"\r{progress(self.done, self.total, now - self.start)}\x1b[K")
            sys.stderr.flush()
            self.drawn = now

    def clear(self) -> None:
        if self.drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self.drawn = 0.0


def _format(name: str | None, output: str | None, check: bool) -> tuple[str | None, str]:
    """The format of the results (None where the rows are all that is shown), and the suffix of their files."""
    name = name or ("json" if output is not None else "table")
    if check:
        from attn_cli.names import did_you_mean
        from attn_cli.render.report import FORMATS

        if name not in FORMATS:
            raise UsageError(f"no format {name!r} of reports{did_you_mean(name, list(FORMATS))}; there are {', '.join(FORMATS)}")
        suffix = FORMATS[name].suffix
    else:
        suffix = name = format_for(name, None).name
    if output is not None or name == "json":
        return name, suffix
    if name in ("table", "plain"):
        return None, suffix
    raise UsageError(f"--format {name} needs a folder for its results: -o DIR (without one, json prints a line a problem)")


def _summary_kind(path: str) -> str:
    from attn_cli.batch.summary import SUMMARIES

    suffix = Path(path).suffix.lower()
    if suffix not in SUMMARIES:
        raise UsageError(f"--summary {path or repr(path)}: expected a name that ends in {' or '.join(SUMMARIES)}")
    return suffix


def _known_steps(names: Iterable[str]) -> None:
    """Which steps there are depends on the problem; a name that is no step at all is found out before anything runs."""
    from attn_cli.engine.steps import STEPS
    from attn_cli.names import did_you_mean

    for name in names:
        if name not in STEPS:
            raise UsageError(f"no step {name!r}{did_you_mean(name, list(STEPS))}; there are {', '.join(STEPS)}")


def _spare_problems(found: Plan, tasks: Iterable[Task], summary: str | None) -> None:
    """No result may take the place of a problem."""
    from attn_cli.batch.find import identity

    written = [task.target for task in tasks if task.target] + ([summary] if summary is not None else [])
    lost = [target for target in written if os.path.exists(target) and identity(target) in found.files]
    if lost:
        raise UsageError(f"results would replace the problems {', '.join(lost)}; choose another name with -o or --summary")


def _tell_left_out(found: Plan) -> None:
    """A problem that has several names is done under the first of them, and a result is none; nobody shall look for them in vain."""
    if found.results:
        more = f" and {len(found.results) - 1} more" if len(found.results) > 1 else ""
        print(f"note: left out as results of an earlier run: {one_line(found.results[0])}{more}", file=sys.stderr)
    for other, first in found.links[:10]:
        print(f"note: {one_line(other)} is the same file as {one_line(first)}, which is done once", file=sys.stderr)
    if len(found.links) > 10:
        print(f"note: and {len(found.links) - 10} more names of files that are done once", file=sys.stderr)


def _listed(paths: Iterable[str]) -> Iterator[str]:
    """The paths; - stands for those on standard input, one a line."""
    for path in paths:
        if path == "-":
            if sys.stdin is None:  # whoever started us closed it
                raise UsageError("standard input is closed; expected paths there, one a line")
            yield from (name for line in sys.stdin.buffer if (name := os.fsdecode(line).rstrip("\r\n")))
        else:
            yield path
