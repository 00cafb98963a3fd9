"""A command as the shell sees it: its help page, and what no command takes.

The page opens with examples and fits a screen. The engine is imported only when a page is shown.
"""

import sys
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand, TyperGroup

from attn_cli.commands.options import FileOptions, Look, Matrices, Settings
from attn_cli.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typer._click import HelpFormatter, Parameter

    from attn_cli.render.formats import Thing

WIDEST, NAMES = 110, 22
"""Columns that a help page takes at most, and those of the names in it."""


class _OnStandardOutput:
    """A command that shows its help page as everything else is shown: the library would choose an encoding of its own."""

    def get_help(self, ctx: Any) -> str:
        sys.stdout.write(super().get_help(ctx) + "\n")  # type: ignore[misc]  # of the command that this is mixed into
        raise typer.Exit


class Command(_OnStandardOutput, TyperCommand):
    """A command whose help page opens with examples."""

    may_be_empty: tuple[str, ...] = ()
    """Arguments whose empty texts the command refuses itself."""
    writes: "Thing" = "trace"
    """What its formats draw."""

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.context_settings = {"help_option_names": ["-h", "--help"], "max_content_width": WIDEST}

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
        formatter.write_paragraph()
        formatter.write_dl(list(self._rows(ctx)), col_max=NAMES)

    def _rows(self, ctx: typer.Context) -> "Iterator[tuple[str, str]]":
        """How each argument and option is written, and what it means."""
        for parameter in sorted(self.get_params(ctx), key=_rank):
            if parameter.name not in Matrices._fields:
                names, _ = parameter.get_help_record(ctx) or (parameter.metavar or "", "")
                yield names, self.meaning(parameter)
            elif parameter.name == Matrices._fields[0]:
                yield ", ".join(f"--{name}" for name in Matrices._fields) + " FILE", "A matrix in a file of its own: CSV, NPY or YAML."

    def meaning(self, parameter: "Parameter") -> str:
        """What an option means; of a setting that the command says nothing of, the sentence of its key."""
        if parameter.name == "format":
            return self.formats()
        own = getattr(parameter, "help", "") or ""
        return setting(parameter.name) if not own and parameter.name in Settings._fields else own

    def formats(self) -> str:
        """The formats that the command writes."""
        from attn_cli.render.formats import formats_of

        return f"{', '.join(formats_of(self.writes))}."


class Group(_OnStandardOutput, TyperGroup):
    """A command of several, whose help page opens with examples and lists them."""

    def format_help(self, ctx: typer.Context, formatter: "HelpFormatter") -> None:  # type: ignore[override]
        formatter.write_text(self.help or "")
        formatter.write_paragraph()
        self.format_usage(ctx, formatter)
        formatter.write_paragraph()
        formatter.write_dl([(name, command.get_short_help_str()) for name, command in self.commands.items()])


def _rank(parameter: "Parameter") -> int:
    """Where on the page: arguments, then the command's own options, then those that it shares with others."""
    if parameter.param_type_name == "argument":
        return 0
    shared = (*Settings._fields, *Matrices._fields, *Look._fields, *FileOptions._fields, "help")
    return 1 + (shared.index(parameter.name) + 1 if parameter.name in shared else 0)


def setting(name: str) -> str:
    """What a key of a problem means, and what it may be where that is one of a few words."""
    import attn_cli.engine.attention  # noqa: F401  # where the names of score functions and modes are known
    from attn_cli.engine.problem import KEYS

    row = KEYS[name]
    return f"{row.summary[:1].upper()}{row.summary[1:]}" + (f": {', '.join(row.choices)}." if row.choices else ".")
