"""`attn check`: somebody's numbers, marked."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from attn_cli.commands.help_page import Command
from attn_cli.commands.marking import marked, own_answers
from attn_cli.commands.options import FileOptions, Look, Matrices, Settings, application, grouped, load
from attn_cli.commands.output import say, spare, target, write
from attn_cli.commands.reports import deliver, is_folder
from attn_cli.engine.notes import Note
from attn_cli.errors import InputError, UsageError, one_line

if TYPE_CHECKING:
    from attn_cli.files.problem import Loaded
    from attn_cli.homework.report import Failed, Report
    from attn_cli.render.formats import Format

app = application()


class CheckCommand(Command):
    """One that writes reports."""

    writes = "report"


@app.command(cls=CheckCommand)
@grouped
def run(
    problem: Annotated[str, typer.Argument(metavar="PROBLEM", help="The problem: YAML, JSON, NPZ, or a folder of CSVs.")],
    settings: Settings,
    files: FileOptions,
    answers: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ANSWERS]...", help="Files, folders and patterns (default: the problem's own `answers`)."),
    ] = None,
    tol: Annotated[str | None, typer.Option(metavar="NUMBER", help="A number within so much is right, too.")] = None,
    points: Annotated[list[str] | None, typer.Option(metavar="STEP=N", help="Ask for a step, worth N points; may be repeated.")] = None,
    penalty_carried: Annotated[str, typer.Option(metavar="FRACTION", help="What part a carried cell loses.")] = "0",
    explain: Annotated[bool, typer.Option("--explain", help="Derive every wrong cell.")] = False,
    cells: Annotated[bool, typer.Option("--cells", help="List every cell, however many there are.")] = False,
    no_answers: Annotated[bool, typer.Option("--no-answers", help="Say where, without the right numbers.")] = False,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="DIR|FILE", help="One report each into a folder, or all into one file."),
    ] = None,
    format: Annotated[str | None, typer.Option(metavar="NAME", help="")] = None,
    decimals: Annotated[int, typer.Option(metavar="N", min=0, max=15, help="Decimals shown, at least (default 4).")] = 4,
    lang: Annotated[Literal["en", "zh"] | None, typer.Option(help="Language (default: from the locale).")] = None,
    standalone: Annotated[bool, typer.Option("--standalone", help="LaTeX: a whole document, not a fragment.")] = False,
) -> int:
    """
    \b
    attn check problem.yaml answers.yaml       mark one submission
    attn check problem.yaml                    mark the problem's own answers
    attn check problem.yaml class -o marks.csv a class, as a gradebook
    attn check problem.yaml class --format html -o reports/
    attn check problem.yaml kernel.npz         how far a program is off

    Mark worked numbers: what is right, where the first slip is, which slip it is, and what follows from it.
    """
    from attn_cli.files.submissions import find_submissions
    from attn_cli.homework.marking import Marker
    from attn_cli.homework.report import Failed, Report
    from attn_cli.render.formats import FORMATS

    output = target(output)
    look = Look(format, decimals, lang, standalone=standalone)
    handed_in = find_submissions(answers or (), but=problem)
    form = _format(format, output, len(handed_in))
    loaded = load(problem, settings, Matrices(), files)
    if output is not None:
        spare(output, loaded, [one.path for one in handed_in])
    try:
        marker = Marker(loaded.problem, _tolerance(tol, files), _points(points or [], files), _fraction(penalty_carried, files))
    except InputError as error:
        raise loaded.locate(error) from error
    reports = marked(marker, handed_in, files) if handed_in else [own_answers(marker, loaded)]
    unreadable = len(reports) == 1 and isinstance(reports[0], Failed)
    if not unreadable or form.name == "gradescope":
        style = replace(look.style("compute", output is None), answers=not no_answers, explain=explain, all_cells=cells)
        deliver(reports, form, replace(style, decimal=files.decimal or ".", bom=files.marks_utf_8), output)
    if output is not None:
        write(FORMATS["table"].reports(reports, look.style("compute", on_screen=True)), None)
    _remarks(loaded, reports, look.language())
    return 2 if unreadable else int(not all(isinstance(report, Report) and report.right for report in reports))


def _format(name: str | None, output: str | None, submissions: int) -> Format:
    """The format that is named, else that of the file, else a table."""
    from attn_cli.files.writing import is_stream
    from attn_cli.render.formats import chosen

    folder = output is not None and is_folder(output)
    one_file = None if output is None or folder or is_stream(output) else output
    return chosen(name, one_file, "report" if folder or submissions < 2 else "reports")


def _remarks(loaded: Loaded, reports: Sequence[Report | Failed], lang: str) -> None:
    """Notes on the problem and on each submission, why some could not be read, and which are alike."""
    from attn_cli.homework.report import Failed

    say(loaded.problem.notes, lang)
    for report in reports:
        name = one_line(report.file or "")
        if isinstance(report, Failed):
            print(f"error: {report.error}" if name in report.error else f"error: {name}: {report.error}", file=sys.stderr)
        else:
            say(report.notes, lang, f"{name}: " if name and len(reports) > 1 else "")
    if len(reports) > 1:
        from attn_cli.homework.classes import class_statistics

        say((Note("twins", {"files": twins}) for twins in class_statistics(reports).twins), lang)


# ------------------------------------------------------------------ options
def _tolerance(text: str | None, files: FileOptions) -> float | None:
    return None if text is None else files.number("--tol", text)


def _fraction(text: str, files: FileOptions) -> float:
    found = files.number("--penalty-carried", text)
    if found > 1:
        raise UsageError(f"--penalty-carried: found {text!r}, expected a number from 0 to 1")
    return found


def _points(texts: Sequence[str], files: FileOptions) -> dict[str, float]:
    """STEP=N pairs."""
    from attn_cli.files.step_names import STEPS, step_of
    from attn_cli.names import did_you_mean

    found: dict[str, float] = {}
    for text in texts:
        name, equals, worth = text.partition("=")
        step = step_of(name)
        if not equals:
            raise UsageError(f"--points: found {text!r}, expected a step and its points, as in weights=2")
        if step is None:
            raise UsageError(f"--points: no step {name!r}{did_you_mean(name, list(STEPS))}; there are {', '.join(STEPS)}")
        if step in found:
            raise UsageError(f"--points: {step} is given twice")
        found[step] = files.number("--points", worth.strip())
    return found
