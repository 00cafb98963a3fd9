"""The formats that a result can be written in. Each has a module of its own, imported when it is used.

A format's module has one function, `render(trace, style, notes) -> str | bytes`. To add a format, write the module
and add its row here; `--format`, `-o` and the help page read this table.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from os.path import splitext
from typing import TYPE_CHECKING, NamedTuple

from attn_cli.errors import UsageError

if TYPE_CHECKING:
    from attn_cli.engine.notes import Note
    from attn_cli.engine.steps import Trace
    from attn_cli.render.style import Style


class Format(NamedTuple):
    """One format."""

    name: str
    module: str
    """In this package."""
    suffixes: tuple[str, ...] = ()
    """Of files that are written in it."""
    binary: bool = False
    full_precision: bool = False
    """Whether it carries every digit, whatever `decimals` says."""

    def compute(self, trace: Trace, style: Style, notes: Sequence[Note] | None = None) -> str | bytes:
        """The result; `notes` are all that go with it (by default those of the trace)."""
        rendered: str | bytes = import_module(f"{__package__}.{self.module}").render(trace, style, trace.notes if notes is None else notes)
        return rendered


FORMATS = {
    form.name: form
    for form in (
        Format("table", "terminal.table"),
        Format("plain", "terminal.plain", (".txt",)),
        Format("json", "data.json", (".json",), full_precision=True),
        Format("yaml", "data.yaml", (".yaml", ".yml"), full_precision=True),
        Format("csv", "data.csv", (".csv",), full_precision=True),
        Format("markdown", "typeset.markdown", (".md", ".markdown")),
        Format("latex", "typeset.latex", (".tex",)),
        Format("html", "typeset.html", (".html", ".htm")),
        Format("svg", "typeset.svg", (".svg",)),
        Format("npz", "data.npz", (".npz",), binary=True, full_precision=True),
        Format("npy", "data.npy", (".npy",), binary=True, full_precision=True),
    )
}


def format_of(path: str) -> Format:
    """The format that a file's suffix tells. Raises UsageError that lists the suffixes."""
    suffix = splitext(path)[1].lower()
    for form in FORMATS.values():
        if suffix in form.suffixes:
            return form
    known = ", ".join(s for form in FORMATS.values() for s in form.suffixes)
    told = f"the suffix {suffix!r}" if suffix else "a name without a suffix"
    raise UsageError(f"{path}: {told} tells no format; use one of {known}, or say --format")
