"""`attn check`: somebody's numbers, marked."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from attn_cli.commands.help_page import Command
from attn_cli.commands.options import FileOptions, Look, application, grouped, terminal_width, wants_color
from attn_cli.commands.output import say, spare, write
from attn_cli.errors import AttnError, InputError, Place, UsageError, describe

if TYPE_CHECKING:
    from attn_cli.files.load import Loaded
    from attn_cli.homework.marking import Marker
    from attn_cli.homework.report import Failed, Report
    from attn_cli.render.formats import Format
    from attn_cli.render.style import Style

app = application()


class CheckCommand(Command):
    """One that writes reports."""

    writes = "report"


@app.command(cls=CheckCommand)
@grouped
def run(
    problem: Annotated[str, typer.Argument(metavar="PROBLEM", help="The problem: YAML, JSON, NPZ, or a folder of CSVs.")],
    files: FileOptions,
    answers: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ANSWERS]...", help="Files or folders of worked numbers (default: the problem's own `answers`)."),
    ] = None,
    tol: Annotated[str | None, typer.Option(metavar="NUMBER", help="A number within so much is right, too.")] = None,
    points: Annotated[list[str] | None, typer.Option(metavar="STEP=N", help="Ask for a step, worth N points; may be repeated.")] = None,
    penalty_carried: Annotated[str, typer.Option(metavar="FRACTION", help="What part a carried cell loses.")] = "0",
    explain: Annotated[bool, typer.Option("--explain", help="Derive every wrong cell.")] = False,
    no_answers: Annotated[bool, typer.Option("--no-answers", help="Say where, without the right numbers.")] = False,
    format: Annotated[str | None, typer.Option(metavar="NAME", help="Format of the report; the names are below.")] = None,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="DIR|FILE", help="Write one report a submission into this folder, or all into this file."),
    ] = None,
    decimals: Annotated[int, typer.Option(metavar="N", min=0, max=15, help="Decimals shown, at least.")] = 4,
    lang: Annotated[Literal["en", "zh"] | None, typer.Option(help="Language (default: from the locale).")] = None,
) -> int:
    """
    \b
    attn check problem.yaml answers.yaml             mark one submission
    attn check problem.yaml                          mark the problem's own answers
    attn check problem.yaml class/*.yaml -o reports  a class, one report each
    attn check problem.yaml class/*.yaml -o all.csv  a class, as a gradebook
    attn check problem.yaml kernel.npz               how far a program is off

    Mark worked numbers: what is right, where the first slip is, which slip it is, and what follows from it.
    """
    from attn_cli.files.load import load
    from attn_cli.homework.marking import Marker
    from attn_cli.homework.report import Failed, Report
    from attn_cli.render.formats import FORMATS, chosen

    look = Look(decimals=decimals, lang=lang)
    one_file = None if output is None or _is_folder(output) else output
    form = chosen(format, one_file, "reports" if answers and len(answers) > 1 else "report")
    loaded = load(problem, **files._asdict())
    try:
        worth = _points(points or [], files)
        marker = Marker(loaded.problem, _number(tol, "--tol", files), worth, _fraction(penalty_carried, files))
    except InputError as error:
        raise loaded.locate(error) from error
    if output is not None:
        spare(output, loaded, answers or ())
    reports = _marked(marker, loaded, answers, files)
    style = replace(_style(look, output is None), answers=not no_answers, explain=explain)
    style = replace(style, decimal=files.decimal or ".", bom=(files.encoding or "").lower().replace("_", "-") == "utf-8-sig")
    if output is not None and not one_file:
        _save(reports, form, style, Path(output))
    elif len(reports) == 1:
        write(form.report(reports[0], style), output, not form.page)
    else:
        write(form.reports(reports, style), output, not form.page)
    if output is not None:
        write(FORMATS["table"].reports(reports, _style(look, True)), None)
    say(loaded.notes, look.language())
    for report in reports:
        if isinstance(report, Failed):
            print(f"error: {report.error}", file=sys.stderr)
        else:
            say(report.notes, look.language(), f"{report.file}: " if report.file and len(reports) > 1 else "")
    return 0 if all(isinstance(report, Report) and report.right for report in reports) else 1


# ------------------------------------------------------------------ the submissions
def _marked(marker: Marker, loaded: Loaded, answers: Sequence[str] | None, files: FileOptions) -> list[Report | Failed]:
    """A report for each submission; what cannot be read costs a class that row only."""
    from attn_cli.homework.report import Failed

    if not answers:
        return [_own(marker, loaded)]
    if len(answers) == 1:
        return [_one(marker, answers[0], files, None)]
    reports: list[Report | Failed] = []
    for path in answers:
        try:
            reports.append(_one(marker, path, files, path))
        except (AttnError, OSError) as error:
            told = describe(error)
            reports.append(Failed(path, told if path in told else f"{path}: {told}"))
    return reports


def _own(marker: Marker, loaded: Loaded) -> Report:
    """The problem's own answers, marked."""
    from attn_cli.files.claims import claims

    if not loaded.answers:
        raise InputError("has no answers of its own; name a file of answers after it", place=Place(loaded.source))
    try:
        return marker.mark(claims(loaded.answers))
    except InputError as error:
        raise error.at(Place(loaded.source)) from error


def _one(marker: Marker, path: str, files: FileOptions, file: str | None) -> Report:
    from attn_cli.files.answers import read_answers
    from attn_cli.files.claims import claims

    found = read_answers(path, **files._asdict())
    try:
        return marker.mark(claims(found.steps), file, found.notes)
    except InputError as error:
        raise error.at(Place(found.source)) from error


def _save(reports: Sequence[Report | Failed], form: Format, style: Style, folder: Path) -> None:
    """One report a submission, named after its file."""
    from attn_cli.files.save import save
    from attn_cli.homework.report import Failed

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder}: cannot be made: {(error.strerror or 'unknown reason').lower()}") from None
    kept = [report for report in reports if form.name == "gradescope" or not isinstance(report, Failed)]
    for report, name in zip(kept, _names([report.file for report in kept]), strict=True):
        target = folder / f"{name}{form.suffixes[0]}"
        target.parent.mkdir(parents=True, exist_ok=True)
        save(target, form.report(report, style))


def _names(files: Sequence[str | None]) -> list[str]:
    """The last part of each path, and as many before it as tell them apart."""
    parts = [tuple(part for part in Path(file or "report").parts if part not in ("..", "/")) or ("report",) for file in files]
    names: list[str] = []
    for own in parts:
        length = next((n for n in range(1, len(own)) if sum(other[-n:] == own[-n:] for other in parts) == 1), len(own))
        name = "/".join(own[-length:])
        again = sum(each == name or each.startswith(f"{name}~") for each in names)
        names.append(f"{name}~{again + 1}" if again else name)
    return names


# ------------------------------------------------------------------ options
def _is_folder(output: str) -> bool:
    """Whether a folder is meant: one that exists, or a name without a suffix or with a slash at its end."""
    return Path(output).is_dir() or output.endswith("/") or not Path(output).suffix


def _style(look: Look, on_screen: bool) -> Style:
    from attn_cli.render.style import Style

    return Style(
        decimals=look.decimals,
        lang=look.language(),
        width=terminal_width() if on_screen else 80,
        color=on_screen and wants_color(),
    )


def _number(text: str | None, option: str, files: FileOptions) -> float | None:
    """A number from 0 on the command line, in the syntax of the files."""
    from attn_cli.files.cells import number

    if text is None:
        return None
    try:
        found = number(text, files.decimal or ".")
    except InputError as error:
        raise UsageError(f"{option}: {error.message}") from None
    if not 0 <= found < float("inf"):
        raise UsageError(f"{option}: found {text!r}, expected a number from 0")
    return found


def _fraction(text: str, files: FileOptions) -> float:
    found = _number(text, "--penalty-carried", files)
    if found is None or found > 1:
        raise UsageError(f"--penalty-carried: found {text!r}, expected a number from 0 to 1")
    return found


def _points(texts: Sequence[str], files: FileOptions) -> dict[str, float]:
    """STEP=N pairs."""
    from attn_cli.files.keys import STEPS, canonical
    from attn_cli.names import did_you_mean

    found: dict[str, float] = {}
    for text in texts:
        name, equals, worth = text.partition("=")
        step = canonical(name.strip(), STEPS)
        if not equals:
            raise UsageError(f"--points: found {text!r}, expected a step and its points, as in weights=2")
        if step is None:
            raise UsageError(f"--points: no step {name!r}{did_you_mean(name, list(STEPS))}; there are {', '.join(STEPS)}")
        if step in found:
            raise UsageError(f"--points: {step} is given twice")
        found[step] = _number(worth.strip(), "--points", files) or 0.0
    return found
