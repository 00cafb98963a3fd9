"""`attn batch`: many problems at once."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from attn_cli.commands.help_page import Command
from attn_cli.commands.options import FileOptions, Look, Settings, application, given, grouped
from attn_cli.commands.output import Progress, say
from attn_cli.errors import UsageError, one_line

if TYPE_CHECKING:
    from attn_cli.batch.find import Found
    from attn_cli.batch.work import Outcome

app = application()

Paths = Annotated[
    list[str], typer.Argument(metavar="PATH...", help="Files, folders, patterns; - reads a list of them from standard input.")
]
MOST_NOTES = 10
"""Notes of one kind; if raised, more names of the same file are listed one by one."""


class BatchCommand(Command):
    """An empty path is one that is missing, and the others are worked all the same."""

    may_be_empty = ("paths",)


@app.command(cls=BatchCommand)
@grouped
def run(
    paths: Paths,
    settings: Settings,
    look: Look,
    files: FileOptions,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="DIR", help="Write one result a problem into this folder.")
    ] = None,
    summary: Annotated[str | None, typer.Option(metavar="FILE", help="Write a row a problem: a .csv or .jsonl file.")] = None,
    check: Annotated[bool, typer.Option("--check", help="Mark each problem's own answers, and write reports.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Keep results that are newer than what they were made from.")] = False,
    fail_fast: Annotated[bool, typer.Option("--fail-fast", help="Stop at the first problem that fails.")] = False,
    jobs: Annotated[int | None, typer.Option(metavar="N", min=1, help="Problems worked at a time (default: all cores).")] = None,
    dask: Annotated[str | None, typer.Option(metavar="ADDRESS", help="Work on this Dask cluster (tcp://HOST:PORT).")] = None,
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
    from attn_cli.batch.request import Request, prepare
    from attn_cli.batch.work import Job

    form, suffix = _format(look.format, output, check)
    job = Job(look.style("compute", on_screen=False), form, check, given(settings), **files._asdict())
    batch = prepare(Request(list(_listed(paths)), job, suffix, output, summary, resume, fail_fast, jobs, dask))
    _tell_found(batch.found)
    if not batch.tasks:
        return 2
    console = _Console(len(batch.tasks), form if output is None else None, output is None, look.language())
    try:
        for outcome in batch:
            console.show(outcome)
    except KeyboardInterrupt:
        console.clear()
        print(batch.interrupted(), file=sys.stderr)
        return 130
    finally:
        console.clear()
    print(batch.close(), file=sys.stderr)
    return batch.code


class _Console(Progress):
    """Outcomes to standard output, what went wrong and how far the work is to standard error."""

    def __init__(self, total: int, form: str | None, shown: bool, lang: str):
        super().__init__(total, patience=0.0)
        self.form, self.shown, self.lang = form, shown, lang

    def show(self, outcome: Outcome) -> None:
        from attn_cli.batch.summary import json_line, line

        if not outcome.ok or outcome.warnings or self.shown:
            self.clear()
        if not outcome.ok:
            print(f"error: {outcome.error}", file=sys.stderr)
        if outcome.warnings:
            say(outcome.warnings, self.lang, f"{one_line(outcome.file)}: ")
        if self.shown:
            print(json_line(outcome) if self.form == "json" else line(outcome))
        self.step()


def _format(name: str | None, output: str | None, check: bool) -> tuple[str | None, str]:
    """The format of the results (None where a line a problem is all that is shown), and the suffix of their files."""
    name = name or ("json" if output is not None else "table")
    from attn_cli.render.formats import chosen

    form = chosen(name, None, "report" if check else "trace")
    suffix = (form.suffixes[0] if check else form.name).lstrip(".")
    name = form.name
    if output is not None or name == "json":
        return name, suffix
    if name in ("table", "plain"):
        return None, suffix
    raise UsageError(f"--format {name} needs a folder for its results: -o DIR (without one, json prints a line a problem)")


def _tell_found(found: Found) -> None:
    """What matches nothing, and what is passed over: nobody shall look for it in vain."""
    for path in found.missing:
        name = one_line(path) or "''"
        print(f"error: {name}: no such file, and no problem in a folder or pattern of that name", file=sys.stderr)
    if found.results:
        more = f" and {len(found.results) - 1} more" if len(found.results) > 1 else ""
        print(f"note: left out as results of an earlier run: {one_line(found.results[0])}{more}", file=sys.stderr)
    if found.answers:
        more = f" and {len(found.answers) - MOST_NOTES} more" if len(found.answers) > MOST_NOTES else ""
        names = ", ".join(map(one_line, found.answers[:MOST_NOTES]))
        print(f"note: passed over as somebody's answers: {names}{more}", file=sys.stderr)
    for other, first in found.links[:MOST_NOTES]:
        print(f"note: {one_line(other)} is the same file as {one_line(first)}, which is done once", file=sys.stderr)
    if len(found.links) > MOST_NOTES:
        print(f"note: and {len(found.links) - MOST_NOTES} more names of files that are done once", file=sys.stderr)


def _listed(paths: Iterable[str]) -> Iterator[str]:
    """The paths; - stands for those on standard input, one a line."""
    for path in paths:
        if path == "-":
            if sys.stdin is None:  # whoever started us closed it
                raise UsageError("standard input is closed; expected paths there, one a line")
            yield from (name for line in sys.stdin.buffer if (name := os.fsdecode(line).rstrip("\r\n")))
        else:
            yield path
