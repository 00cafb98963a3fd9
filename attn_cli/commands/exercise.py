"""`attn exercise`: problem sheets with keys, what a problem hides, and questions in the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from attn_cli.commands.help_page import Command, Group
from attn_cli.commands.options import FileOptions, Matrices, Settings, application, grouped, load, spoken
from attn_cli.commands.output import say, write
from attn_cli.commands.shelf import sample
from attn_cli.commands.walkthrough import EXAMPLE
from attn_cli.engine.notes import Note
from attn_cli.errors import InputError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attn_cli.files.problem import Loaded
    from attn_cli.homework.exercises import Exercise
    from attn_cli.render.style import Style

EXAMPLES = """\b
attn exercise new -o sheet/        a problem sheet and its key
attn exercise audit problem.yaml   which mistakes a problem hides
attn exercise do problem.yaml      questions in the terminal

Make problem sheets with keys, say what a problem hides, or ask in the terminal.
"""

app = application(
    cls=Group,
    help=EXAMPLES,
    context_settings={"help_option_names": ["-h", "--help"]},
)
Lang = Annotated[str | None, typer.Option(metavar="en|zh", help="Language (default: from the locale).")]
Steps = Annotated[list[str] | None, typer.Option(metavar="STEP", help="A step asked for (default: all); may be repeated, or a,b,c.")]
Decimals = Annotated[int, typer.Option(metavar="N", min=1, max=9, help="Decimals that are asked for.")]


# ------------------------------------------------------------------ new
@app.command("new", cls=Command, short_help="make a problem sheet, its page that marks itself, and its key")
def new(
    output: Annotated[str, typer.Option("--output", "-o", metavar="DIR", help="The folder to write into.")],
    count: Annotated[int, typer.Option(metavar="N", min=1, max=999, help="Variants, all different, in DIR/01 to DIR/N.")] = 1,
    tokens: Annotated[int, typer.Option(metavar="N", help="How many tokens.")] = 3,
    score: Annotated[str, typer.Option(metavar="NAME")] = "scaled",
    mode: Annotated[str, typer.Option(metavar="NAME")] = "soft",
    mask: Annotated[str | None, typer.Option(metavar="causal")] = None,
    heads: Annotated[int, typer.Option(metavar="N", min=1, max=4, help="Heads, joined with a W_O where there are several.")] = 1,
    steps: Steps = None,
    decimals: Decimals = 3,
    style: Annotated[
        str, typer.Option(metavar="NAME", help="Numbers: integers, halves or unit (one decimal, from -0.9 to 0.9).")
    ] = "integers",
    grad: Annotated[bool, typer.Option("--grad", help="Ask for the backward pass too.")] = False,
    seed: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="The same seed makes the same sheets (default: a new one, printed).")
    ] = None,
    lang: Lang = None,
    force: Annotated[bool, typer.Option("--force", help="Replace files that are there already.")] = False,
) -> None:
    """
    \b
    attn exercise new -o sheet/                        one sheet, with blanks, a page that marks itself, and the key
    attn exercise new -o class/ --count 30 --seed 7    a variant for each student
    attn exercise new -o sheet/ --mask causal --grad   with a mask, forwards and backwards

    Make a problem in which every known mistake would show: problem.yaml, sheet.md, sheet.tex, sheet.html, answers.yaml to
    fill in, and key.yaml.
    """
    from dataclasses import replace

    from attn_cli.engine.problem import as_mask
    from attn_cli.homework.exercises import Wanted, class_of
    from attn_cli.render.lang import text

    language = _language(lang)
    if mask not in (None, "causal"):
        raise UsageError(f"--mask: found {mask!r}, expected causal")
    wanted = Wanted(tokens, score, mode, as_mask(mask), heads, _steps(steps), decimals, style, grad)
    drawn = _new_seed() if seed is None else seed
    for number, one in enumerate(class_of(wanted, count, drawn), 1):
        title = text("exercise.title" if count == 1 else "exercise.variant", language, number=number, seed=drawn)
        folder = Path(output) / f"{number:0{max(2, len(str(count)))}}" if count > 1 else Path(output)
        _write(replace(one, problem=replace(one.problem, title=title)), folder, language, force)
    if seed is None:
        print(text("exercise.seed", language, seed=drawn))


def _write(one: Exercise, folder: Path, lang: str, force: bool) -> None:
    """The six files of one exercise."""
    from attn_cli.files.writing import save
    from attn_cli.homework.exercises import slips
    from attn_cli.render import exercise_sheet as sheet
    from attn_cli.render.lang import text
    from attn_cli.render.typeset import exercise as page

    style = _style(lang, one.decimals)
    files = {
        "problem.yaml": sheet.problem_file(one.problem, text("exercise.comment", lang)),
        "sheet.md": sheet.markdown(one, style),
        "sheet.tex": sheet.latex(one, style),
        "sheet.html": page.render(one, slips(one), style),
        "answers.yaml": sheet.blanks(one, style),
        "key.yaml": sheet.key(one, style),
    }
    there = [name for name in files if (folder / name).exists()]
    if there and not force:
        raise UsageError(f"{folder / there[0]}: is there already, and may hold somebody's work; choose another folder, or say --force")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder}: cannot be made: {(error.strerror or 'unknown reason').lower()}") from None
    for name, content in files.items():
        save(folder / name, content)
    print(f"{folder}/: {', '.join(files)}")


def _new_seed() -> int:
    """A seed that nobody chose, short enough to be typed again."""
    import secrets

    return secrets.randbelow(1_000_000)


def _steps(texts: Sequence[str] | None) -> tuple[str, ...]:
    """Steps by name or symbol, one an option or several between commas."""
    from attn_cli.files.step_names import step_of, unknown_step

    words = [part.strip() for option in texts or () for part in option.split(",")]
    unknown = next((word for word in words if step_of(word) is None), None)
    if unknown is not None:
        raise UsageError(f"--steps: {unknown_step(unknown)}")
    return tuple(dict.fromkeys(step_of(word) or word for word in words))


# ------------------------------------------------------------------ audit
@app.command("audit", cls=Command, short_help="say which mistakes a problem cannot reveal")
@grouped
def audit(
    reading: FileOptions,
    file: Annotated[str | None, typer.Argument(metavar="[FILE]", help="A problem.")] = None,
    steps: Steps = None,
    decimals: Decimals = 4,
    grad: Annotated[bool, typer.Option("--grad", help="The backward pass is asked for too.")] = False,
    format: Annotated[str, typer.Option(metavar="NAME", help="table, plain, json, yaml, csv, markdown, latex or html.")] = "table",
    lang: Lang = None,
) -> int:
    """
    \b
    attn exercise audit problem.yaml                      which mistakes would not show, and why
    attn exercise audit problem.yaml --steps output       if only the output is handed in

    Say which mistakes a problem cannot reveal at the digits asked for. Exit 0 where every applicable mistake would show, 1 where not.
    """
    from attn_cli.homework.exercises import audit as audited
    from attn_cli.render.exercise_audit import audit_sheet
    from attn_cli.render.sheet import written

    language = _language(lang)
    loaded = _loaded(file, reading)
    try:
        hidden = audited(loaded.problem, decimals, _steps(steps) or loaded.problem.ask, grad)
    except InputError as error:
        raise loaded.locate(error) from error
    style = _style(language, decimals)
    write(written(audit_sheet(file or EXAMPLE, hidden, decimals, style), format, style), None)
    say((Note("built_in", {"name": EXAMPLE}),) if file is None else (), language)
    return 1 if hidden else 0


# ------------------------------------------------------------------ do
@app.command("do", cls=Command, short_help="ask step by step in the terminal")
@grouped
def do(
    reading: FileOptions,
    file: Annotated[str | None, typer.Argument(metavar="[FILE]", help="A problem (default: the textbook example).")] = None,
    steps: Steps = None,
    decimals: Decimals = 4,
    grad: Annotated[bool, typer.Option("--grad", help="Ask for the backward pass too.")] = False,
    lang: Lang = None,
) -> None:
    """
    \b
    attn exercise do                          the textbook example, line by line
    attn exercise do problem.yaml --steps S,A scores and weights only

    Ask for one step after another, and answer each line at once. ? is a hint, an empty line shows the numbers, q ends.
    """
    from attn_cli.commands.dialogue import ask
    from attn_cli.engine.training import work_for
    from attn_cli.homework.drill import Drill
    from attn_cli.homework.exercises import Exercise, asked
    from attn_cli.render.exercise_sheet import sheet
    from attn_cli.render.sheet import plain

    language = _language(lang)
    loaded = _loaded(file, reading)
    names = _steps(steps) or loaded.problem.ask
    try:
        trace = work_for(loaded.problem, ["dO"]) if grad else work_for(loaded.problem, names)
        one = Exercise(trace.problem, trace, asked(trace, names), decimals)
    except InputError as error:
        raise loaded.locate(error) from error
    style = _style(language, decimals)
    whole = sheet(one, style)
    given = whole._replace(tables=whole.tables[: -sum(1 for t in whole.tables if t.math[0])])
    print(plain(given, style))
    ask(Drill(one), style, reading.decimal or ".")


# ------------------------------------------------------------------ what they share
def _loaded(file: str | None, reading: FileOptions) -> Loaded:
    return load(file or str(sample(EXAMPLE)), Settings(), Matrices(), reading)


def _language(lang: str | None) -> str:
    if lang not in (None, "en", "zh"):
        raise UsageError(f"--lang: found {lang!r}, expected en or zh")
    return lang or spoken()


def _style(lang: str, decimals: int) -> Style:
    from attn_cli.commands.options import terminal_width
    from attn_cli.render.style import Style

    return Style(decimals=decimals, lang=lang, width=terminal_width())
