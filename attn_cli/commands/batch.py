"""`attn batch`: many problems at once."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from attn_cli.commands.options import Look, ProblemCommand, Reading, Settings, application, given, grouped
from attn_cli.commands.walkthrough import format_for, say
from attn_cli.errors import UsageError
from attn_cli.messages import one_line

if TYPE_CHECKING:
    from attn_cli.batch import Row, Task

app = application()

Paths = Annotated[
    list[str], typer.Argument(metavar="PATH...", help="Files, folders, patterns; - reads a list of them from standard input.")
]


@app.command(cls=ProblemCommand)
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
    jobs: Annotated[int | None, typer.Option(metavar="N", min=1, help="Problems worked at the same time (default: all cores).")] = None,
) -> int:
    """
    \b
    attn batch homework -o results               every problem of a folder
    attn batch 'week*/*.yaml' --summary all.csv  a row a problem
    attn batch homework --format json            one line of JSON a problem

    Work through many problems; a bad one never stops the rest.
    """
    from attn_cli import batch

    form = _format(look.format, output)
    kind = None if summary is None else _summary_kind(summary)
    found = batch.plan(_listed(paths), skip=None if output is None else Path(output))
    for path in found.missing:
        print(f"error: {one_line(path)}: no such file, and no problem in a folder or pattern of that name", file=sys.stderr)
    if not found.problems:
        return 2
    tasks = [
        batch.Task(
            path=str(path),
            format=form,
            style=look.style("compute", on_screen=False),
            target=None if output is None else str(Path(output, f"{name}.{form}")),
            settings=given(settings),
            encoding=reading.encoding,
            decimal=reading.decimal,
        )
        for path, name in found.problems
    ]
    _spare_problems(tasks)
    rows = list(_shown(batch.run(tasks), form if output is None else None, look.language()))
    if summary is not None and kind is not None:
        from attn_cli.files.save import save

        save(summary, batch.SUMMARIES[kind](rows))
    failed = sum(not row.ok for row in rows)
    print(f"{len(rows)} problem{'s' if len(rows) > 1 else ''}: {len(rows) - failed} done, {failed} failed", file=sys.stderr)
    return 2 if found.missing else 1 if failed else 0


def _format(name: str | None, output: str | None) -> str | None:
    """The format of the results; None where the rows are all that is shown."""
    if output is not None:
        return format_for(name or "json", None).name
    if name is None or (form := format_for(name, None).name) in ("table", "plain"):
        return None
    if form != "json":
        raise UsageError(f"--format {form} needs a folder for its results: -o DIR (without one, json prints a line a problem)")
    return form


def _summary_kind(path: str) -> str:
    from attn_cli.batch import SUMMARIES

    suffix = Path(path).suffix.lower()
    if suffix not in SUMMARIES:
        raise UsageError(f"--summary {path}: the name ends in {' or '.join(SUMMARIES)}")
    return suffix


def _spare_problems(tasks: Iterable[Task]) -> None:
    """No result may take the place of a problem."""
    problems = {os.path.realpath(task.path) for task in tasks}
    lost = [task.target for task in tasks if task.target and os.path.realpath(task.target) in problems]
    if lost:
        raise UsageError(f"results would replace the problems {', '.join(lost)}; choose another folder with -o")


def _listed(paths: Iterable[str]) -> Iterator[str]:
    """The paths; - stands for those on standard input, one a line."""
    for path in paths:
        if path == "-":
            yield from (name for line in sys.stdin.buffer if (name := os.fsdecode(line).rstrip("\r\n")))
        else:
            yield path


def _shown(rows: Iterable[Row], form: str | None, lang: str) -> Iterator[Row]:
    """The rows as they come, each printed: results to standard output, what went wrong to standard error."""
    from attn_cli.batch import json_line, row_line

    for row in rows:
        if not row.ok:
            print(f"error: {row.error}", file=sys.stderr)
        say(row.warnings, lang, f"{one_line(row.file)}: ")
        print(json_line(row) if form == "json" else row_line(row))
        yield row
