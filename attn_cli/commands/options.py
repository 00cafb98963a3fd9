"""Options that several commands share, spelled once, in groups that a command takes whole.

Groups are named tuples, and annotations are values here rather than text: both save start-up time.
"""

import inspect
import os
import sys
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, get_type_hints

import typer
from typer.core import TyperCommand

from attn_cli.errors import UsageError

if TYPE_CHECKING:
    from typer._click import HelpFormatter

    from attn_cli.files.load import Loaded
    from attn_cli.render.style import Style

application = partial(typer.Typer, add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
"""An empty Typer app without the parts that cost start-up time."""


class Settings(NamedTuple):
    """What to compute. All of it stays text: numbers on the command line follow the syntax of the files."""

    score: Annotated[str | None, typer.Option(metavar="NAME", help="Score function; the names are below.")] = None
    mode: Annotated[str | None, typer.Option(metavar="NAME", help="How scores become weights; the names are below.")] = None
    scale: Annotated[str | None, typer.Option(metavar="NUMBER", help="Multiply the scores by this, instead of by 1/√d_k.")] = None
    mask: Annotated[str | None, typer.Option(metavar="causal", help="Who may attend to whom.")] = None
    heads: Annotated[str | None, typer.Option(metavar="N", help="Cut the columns of Q, K, V into this many heads.")] = None
    temperature: Annotated[str | None, typer.Option(metavar="NUMBER", help="Divide the scores by this just before the mode.")] = None
    seed: Annotated[str | None, typer.Option(metavar="N", help="For modes that draw random numbers.")] = None
    dtype: Annotated[str | None, typer.Option(metavar="NAME", help="float64 (default) or float32.")] = None


class Matrices(NamedTuple):
    """Matrices in files of their own."""

    x: Annotated[str | None, typer.Option(metavar="FILE", help="X, one row a token: a CSV, NPY or YAML matrix.")] = None
    wq: Annotated[str | None, typer.Option(metavar="FILE", help="W_Q")] = None
    wk: Annotated[str | None, typer.Option(metavar="FILE", help="W_K")] = None
    wv: Annotated[str | None, typer.Option(metavar="FILE", help="W_V")] = None
    q: Annotated[str | None, typer.Option(metavar="FILE", help="Q, instead of X·W_Q")] = None
    k: Annotated[str | None, typer.Option(metavar="FILE", help="K")] = None
    v: Annotated[str | None, typer.Option(metavar="FILE", help="V")] = None
    context: Annotated[str | None, typer.Option(metavar="FILE", help="Where keys and values come from (cross-attention).")] = None


KEYS = {"x": "X", "wq": "W_Q", "wk": "W_K", "wv": "W_V", "q": "Q", "k": "K", "v": "V", "context": "context"}
"""Each matrix option, and the key of a problem file that it stands for."""


class Reading(NamedTuple):
    """How all files of a run are read."""

    encoding: Annotated[str | None, typer.Option(metavar="NAME", help="Encoding of files that are neither UTF-8 nor UTF-16.")] = None
    decimal: Annotated[str | None, typer.Option(metavar="CHAR", help="The decimal sign of CSV files, such as a comma.")] = None


class Look(NamedTuple):
    """How the result looks."""

    format: Annotated[str | None, typer.Option(metavar="NAME", help="Format of the result; the names are below.")] = None
    decimals: Annotated[int, typer.Option(metavar="N", min=0, max=15, help="Decimals shown; the numbers stay exact.")] = 4
    lang: Annotated[Literal["en", "zh"] | None, typer.Option(help="Language (default: from the locale).")] = None
    only: Annotated[list[str] | None, typer.Option(metavar="STEP", help="Show this step only; may be repeated.")] = None
    standalone: Annotated[bool, typer.Option("--standalone", help="LaTeX: a whole document, not a fragment.")] = False

    def language(self) -> str:
        spoken = next((os.environ[name] for name in ("LC_ALL", "LC_MESSAGES", "LANG") if os.environ.get(name)), "")
        return self.lang or ("zh" if spoken.lower().startswith("zh") else "en")

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


def given(group: Settings | Matrices) -> dict[str, str]:
    """Those options of the group that stand on the command line."""
    return {name: value for name, value in group._asdict().items() if value is not None}


def load(file: str | None, settings: Settings, matrices: Matrices, reading: Reading) -> "Loaded":
    from attn_cli.files import load as files

    named = {KEYS[name]: path for name, path in given(matrices).items()}
    return files.load(file, matrices=named, settings=given(settings), encoding=reading.encoding, decimal=reading.decimal)


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


class Command(TyperCommand):
    """A command whose help page opens with examples."""

    may_be_empty: tuple[str, ...] = ()
    """Arguments of which an empty text is told by the command itself."""

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.context_settings = {"help_option_names": ["-h", "--help"], "max_content_width": 110}

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """An empty text, as of a variable of the shell that is not set, names nothing; least of all the folder one is in."""
        rest = super().parse_args(ctx, args)
        for parameter in self.params:
            value = ctx.params.get(parameter.name or "")
            empty = value == "" or (isinstance(value, (list, tuple)) and "" in value)
            if empty and parameter.name not in self.may_be_empty:
                name = f"{min(parameter.opts, key=len)}: " if parameter.param_type_name == "option" else ""
                raise UsageError(f"{name}found an empty text, expected {parameter.metavar or 'something'}; see {ctx.command_path} --help")
        return rest

    def format_help(self, ctx: typer.Context, formatter: "HelpFormatter") -> None:  # type: ignore[override]
        formatter.write_text(self.help or "")
        formatter.write_paragraph()
        self.format_usage(ctx, formatter)
        self.format_options(ctx, formatter)
        self.format_epilog(ctx, formatter)


class ProblemCommand(Command):
    """One whose help page also lists the names that its options choose from."""

    def format_epilog(self, ctx: typer.Context, formatter: "HelpFormatter") -> None:  # type: ignore[override]
        from attn_cli.engine.modes import MODES
        from attn_cli.engine.scores import SCORES
        from attn_cli.render.formats import FORMATS

        for title, registry in (("Score functions (--score)", SCORES), ("Modes (--mode)", MODES)):
            with formatter.section(title):
                formatter.write_dl([(entry.name, entry.summary) for entry in registry.entries()])
        with formatter.section("Formats (--format)"):
            formatter.write_text(", ".join(FORMATS))
