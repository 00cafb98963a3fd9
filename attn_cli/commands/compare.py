"""`attn compare`: one input under every score function and mode, two results step by step, or why scores are scaled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from attn_cli.commands.help_page import Command
from attn_cli.commands.options import FileOptions, Look, Matrices, Settings, application, given, grouped, load
from attn_cli.commands.output import Output, format_for, say, spare, target, waiting, write
from attn_cli.commands.shelf import sample
from attn_cli.commands.walkthrough import EXAMPLE
from attn_cli.engine.notes import Note
from attn_cli.errors import InputError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attn_cli.files.problem import Loaded
    from attn_cli.homework.claims import Answer, ArrayAnswer
    from attn_cli.render.sheet import Sheet
    from attn_cli.render.style import Style

app = application()

Files = Annotated[
    list[str] | None, typer.Argument(metavar="[FILE [OTHER]]", help="A problem; with a second problem or numbers from elsewhere.")
]


@app.command(cls=Command)
@grouped
def run(
    settings: Settings,
    matrices: Matrices,
    look: Look,
    reading: FileOptions,
    files: Files = None,
    output: Output = None,
    study: Annotated[str | None, typer.Option(metavar="scaling", help="Measure why dot products are divided by √d_k.")] = None,
    d_k: Annotated[str | None, typer.Option("--d-k", metavar="N,N,…", help="Widths that the study measures (4,16,64,512).")] = None,
    samples: Annotated[int | None, typer.Option(metavar="N", min=2, help="Queries that the study draws for each width (2000).")] = None,
) -> int:
    """
    \b
    attn compare problem.yaml             each score function and mode, side by side
    attn compare problem.yaml other.yaml  two problems, step by step
    attn compare problem.yaml torch.npz   a problem and a framework's numbers
    attn compare --study scaling          what √d_k is for, measured

    Compare what score functions and modes make of one input, or two results step by step (exit 1 where they differ).
    """
    from attn_cli.render.sheet import written

    output = target(output)
    form = format_for(look.format, output)
    style = look.style("compute", on_screen=output is None)
    paths = files or []
    if study is not None or d_k is not None or samples is not None:
        _check_study(study, paths)
        with waiting():
            sheet = _scaling(d_k, samples, settings.seed, style)
        write(written(sheet, form.name, style), output, form.utf_8)
        return 0
    if len(paths) > 2:
        raise UsageError(f"found {len(paths)} files, expected one or two")
    example = not paths and not given(matrices)
    loaded = load(str(sample(EXAMPLE)) if example else next(iter(paths), None), settings, matrices, reading)
    if output is not None:
        spare(output, loaded, paths[1:])
    try:
        sheet, notes, code = _ways(loaded, style) if len(paths) < 2 else _apart(loaded, paths, settings, reading, style)
    except InputError as error:
        raise loaded.locate(error) from error
    write(written(sheet, form.name, style), output, form.utf_8)
    say((*((Note("built_in", {"name": EXAMPLE}),) if example else ()), *notes), look.language())
    return code


def _check_study(study: str | None, paths: Sequence[str]) -> None:
    """Raises UsageError for options of a study that is none."""
    if study is None:
        raise UsageError("--d-k and --samples belong to --study scaling, which is not asked for")
    if paths or study != "scaling":
        raise UsageError("--study takes no file" if paths else f"--study: found {study!r}, expected scaling")


def _ways(loaded: Loaded, style: Style) -> tuple[Sheet, list[Note], int]:
    """Every score function and mode."""
    from attn_cli.engine.comparison import ways
    from attn_cli.render.comparisons import ways_sheet

    trace, found, notes = ways(loaded.problem)
    return ways_sheet(trace, found, notes, style), notes, 0


def _apart(loaded: Loaded, paths: list[str], settings: Settings, reading: FileOptions, style: Style) -> tuple[Sheet, list[Note], int]:
    """A problem and another one, or numbers from elsewhere; exit code 1 where they differ."""
    from attn_cli.engine.attention import solve
    from attn_cli.engine.training import work_for
    from attn_cli.homework.departures import against, between
    from attn_cli.render.comparisons import apart_sheet

    other, answers = _other(paths[1], settings, reading)
    if other is not None:
        trace, theirs = solve(loaded.problem), solve(other.problem)
        steps, first = between(trace, theirs)
        lines = [(key, trace.settings.get(key), theirs.settings.get(key)) for key in {**trace.settings, **theirs.settings}]
    else:
        trace = work_for(loaded.problem, [answer.name for answer in answers])
        steps, first = against(trace, answers)
        lines = []
    sheet = apart_sheet((paths[0], paths[1]), trace, steps, first, [line for line in lines if line[1] != line[2]], style)
    return sheet, [], 0 if first is None else 1


def _other(path: str, settings: Settings, reading: FileOptions) -> tuple[Loaded | None, Sequence[Answer | ArrayAnswer]]:
    """The second file as a problem; as numbers from elsewhere where it is none."""
    from attn_cli.engine.attention import solve
    from attn_cli.files.answers import read_answers
    from attn_cli.files.claims import as_claims

    try:
        other = load(path, settings, Matrices(), reading)
    except InputError as no_problem:
        try:
            return None, as_claims(read_answers(path, **reading._asdict()).steps)
        except InputError:
            raise no_problem from None
    try:
        solve(other.problem)
    except InputError as misfit:
        try:
            return None, as_claims(read_answers(path, **reading._asdict()).steps)
        except InputError:
            raise other.locate(misfit) from misfit
    return other, ()


def _scaling(d_k: str | None, samples: int | None, seed: str | None, style: Style) -> Sheet:
    """The study of scaling."""
    from attn_cli.engine.scaling import SAMPLES, WIDTHS, measured
    from attn_cli.render.comparisons import scaling_sheet

    widths = WIDTHS if d_k is None else tuple(_whole(part, "--d-k", 1) for part in d_k.split(","))
    count, drawn = SAMPLES if samples is None else samples, 0 if seed is None else _whole(seed, "--seed", 0)
    return scaling_sheet(measured(widths, count, drawn), count, drawn, style)


def _whole(text: str, option: str, least: int) -> int:
    if not text.strip().isdecimal() or int(text) < least:
        raise UsageError(f"{option}: found {text!r}, expected a whole number from {least}")
    return int(text)
