"""Options that several commands share, spelled once, in groups that a command takes whole.

Groups are named tuples, and annotations are values here rather than text: both save start-up time. What a setting means is
not said here: the help page takes its sentence from the row of its key (`help_page`).
"""

import inspect
import os
import sys
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, get_type_hints

import typer

from attn_cli.errors import InputError, UsageError

if TYPE_CHECKING:
    from attn_cli.files.problem import Loaded
    from attn_cli.render.style import Style

application = partial(typer.Typer, add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
"""An empty Typer app without the parts that cost start-up time."""

Number = Annotated[str | None, typer.Option(metavar="NUMBER")]
Whole = Annotated[str | None, typer.Option(metavar="N")]
Name = Annotated[str | None, typer.Option(metavar="NAME")]
Matrix = Annotated[str | None, typer.Option(metavar="FILE")]


class Settings(NamedTuple):
    """Keys of a problem that hold one word or number. All of it stays text, since numbers follow the syntax of the files."""

    score: Name = None
    mode: Name = None
    scale: Number = None
    mask: Annotated[str | None, typer.Option(metavar="causal")] = None
    heads: Whole = None
    kv_heads: Whole = None
    temperature: Number = None
    seed: Whole = None
    dtype: Name = None


class Matrices(NamedTuple):
    """Matrices in files of their own."""

    x: Matrix = None
    wq: Matrix = None
    wk: Matrix = None
    wv: Matrix = None
    q: Matrix = None
    k: Matrix = None
    v: Matrix = None
    context: Matrix = None


KEYS = {"x": "X", "wq": "W_Q", "wk": "W_K", "wv": "W_V", "q": "Q", "k": "K", "v": "V", "context": "context"}
"""Each matrix option, and the key of a problem file that it stands for."""


class FileOptions(NamedTuple):
    """How all files of a run are read."""

    encoding: Annotated[str | None, typer.Option(metavar="NAME", help="Of files that are neither UTF-8 nor UTF-16.")] = None
    decimal: Annotated[str | None, typer.Option(metavar="CHAR", help="Decimal sign of CSV files, such as a comma.")] = None
    allow_outside: Annotated[bool, typer.Option("--allow-outside", help="Let files name files outside their own folder.")] = False

    @property
    def marks_utf_8(self) -> bool:
        """Whether text for spreadsheets begins with a byte-order mark."""
        return (self.encoding or "").lower().replace("_", "-") == "utf-8-sig"

    def number(self, option: str, text: str, least: float = 0.0) -> float:
        """A finite number on the command line, in the syntax of the files."""
        from attn_cli.files.cells import number

        try:
            found: float = number(text, self.decimal or ".")
        except InputError as error:
            raise UsageError(f"{option}: {error.message}") from None
        if not least <= found < float("inf"):
            raise UsageError(f"{option}: found {text!r}, expected a number from {least:g}")
        return found


class Look(NamedTuple):
    """How the result looks."""

    format: Annotated[str | None, typer.Option(metavar="NAME", help="")] = None
    decimals: Annotated[int, typer.Option(metavar="N", min=0, max=15, help="Decimals shown (default 4); the numbers stay exact.")] = 4
    lang: Annotated[Literal["en", "zh"] | None, typer.Option(help="Language (default: from the locale).")] = None
    only: Annotated[list[str] | None, typer.Option(metavar="STEP", help="Show this step only; may be repeated.")] = None
    standalone: Annotated[bool, typer.Option("--standalone", help="LaTeX: a whole document, not a fragment.")] = False

    def language(self) -> str:
        return self.lang or spoken()

    def style(self, detail: Literal["compute", "trace"], on_screen: bool) -> "Style":
        """A file gets a fixed width and no colour."""
        from attn_cli.render.style import Style

        return Style(
            decimals=self.decimals,
            lang=self.language(),
            width=terminal_width() if on_screen else 80,
            whole_labels=not (on_screen and (os.environ.get("COLUMNS") or sys.stdout.isatty())),
            color=on_screen and wants_color(),
            only=tuple(self.only or ()),
            detail=detail,
            standalone=self.standalone,
        )


def spoken() -> str:
    """The language of the locale, if it is one of ours, else English."""
    locale = next((os.environ[name] for name in ("LC_ALL", "LC_MESSAGES", "LANG") if os.environ.get(name)), "")
    return "zh" if locale.lower().startswith("zh") else "en"


def given(group: Settings | Matrices) -> dict[str, str]:
    """Those options of the group that stand on the command line."""
    return {name: value for name, value in group._asdict().items() if value is not None}


def load(file: str | None, settings: Settings, matrices: Matrices, files: FileOptions) -> "Loaded":
    from attn_cli.files.problem import read_problem

    named = {KEYS[name]: path for name, path in given(matrices).items()}
    return read_problem(file, matrices=named, settings=given(settings), **files._asdict())


def terminal_width() -> int:
    """COLUMNS if it is set, else the terminal's width, else 80."""
    import shutil

    return max(1, shutil.get_terminal_size((80, 24)).columns)


def wants_color() -> bool:
    forced = os.environ.get("FORCE_COLOR")
    if os.environ.get("NO_COLOR") or forced in ("0", "false"):
        return False
    return bool(forced) or (sys.stdout.isatty() and os.environ.get("TERM") != "dumb")


def grouped(function: Callable[..., object]) -> Callable[..., object]:
    """Let a command take groups of options: each field of a group becomes an option of its own."""
    kinds = get_type_hints(function, include_extras=True)
    groups = {name: kind for name, kind in kinds.items() if hasattr(kind, "_fields")}
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(function).parameters.items():
        options = groups[name].__annotations__ if name in groups else {name: kinds[name]}
        defaults = groups[name]._field_defaults if name in groups else {name: parameter.default}
        parameters += [inspect.Parameter(o, parameter.KEYWORD_ONLY, default=defaults[o], annotation=options[o]) for o in options]

    def command(**values: Any) -> object:
        whole = {name: group(**{option: values.pop(option) for option in group._fields}) for name, group in groups.items()}
        return function(**whole, **values)

    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    command.__doc__ = function.__doc__
    return command
