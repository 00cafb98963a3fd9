"""The formats that a result can be written in, for every command. Each has a module of its own, imported when it is used.

A page format's module has one function, `draw(page) -> str`, and draws whatever becomes a page: a trace, a report of marking,
a class of reports. A data format's module has a function for each thing that it writes: `trace(trace, style, notes)`,
`report(report, style)`, `reports(reports, style)`. To add a format, write the module and add its row here; `--format`, `-o`
and the help pages read this table.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from os.path import splitext
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from attn_cli.errors import UsageError
from attn_cli.names import did_you_mean

if TYPE_CHECKING:
    from attn_cli.engine.notes import Note
    from attn_cli.engine.steps import Trace
    from attn_cli.homework.report import Failed, Report
    from attn_cli.render.page import Page
    from attn_cli.render.style import Style

Thing = Literal["trace", "report", "reports"]
"""What a format may draw: a worked problem, the marks of one submission, those of a class."""


class Format(NamedTuple):
    """One format."""

    name: str
    module: str
    """In this package."""
    suffixes: tuple[str, ...] = ()
    """Of files that are written in it; the first is that of files named by the program."""
    page: bool = True
    """Whether it draws pages; else its module writes data."""
    full_precision: bool = False
    """Whether it carries every digit, whatever `decimals` says."""
    things: tuple[Thing, ...] = ("trace", "report", "reports")
    """What it can draw."""
    says_encoding: bool = False
    """Whether what it writes says of itself that it is UTF-8."""

    @property
    def utf_8(self) -> bool:
        """Whether it is UTF-8 wherever it goes; other pages fall back on the signs that are there."""
        return self.says_encoding or not self.page

    def trace(self, trace: Trace, style: Style, notes: Sequence[Note] | None = None) -> str | bytes:
        """A worked problem; `notes` are all that go with it (by default those of the trace)."""
        if not self.page:
            return self._write("trace", trace, style, trace.notes if notes is None else notes)
        from attn_cli.render.walkthrough import walkthrough_page

        return self._draw(walkthrough_page(trace, style, notes))

    def report(self, report: Report | Failed, style: Style) -> str | bytes:
        """The marks of one submission, or why it could not be read."""
        if not self.page:
            return self._write("report", report, style)
        from attn_cli.render.marked import report_page

        return self._draw(report_page(report, style))

    def reports(self, reports: Sequence[Report | Failed], style: Style) -> str | bytes:
        """The marks of a class."""
        if not self.page:
            return self._write("reports", reports, style)
        from attn_cli.render.classes import class_page

        return self._draw(class_page(reports, style))

    def _draw(self, page: Page) -> str:
        drawn: str = import_module(f"{__package__}.{self.module}").draw(page)
        return drawn

    def _write(self, thing: Thing, *what: Any) -> str | bytes:
        written: str | bytes = getattr(import_module(f"{__package__}.{self.module}"), thing)(*what)
        return written


FORMATS = {
    form.name: form
    for form in (
        Format("table", "terminal.table", (".txt",)),
        Format("plain", "terminal.plain", (".txt",)),
        Format("json", "data.json", (".json",), page=False, full_precision=True),
        Format("yaml", "data.yaml", (".yaml", ".yml"), page=False, full_precision=True, things=("trace",)),
        Format("csv", "data.csv", (".csv",), page=False, full_precision=True),
        Format("markdown", "typeset.markdown", (".md", ".markdown")),
        Format("latex", "typeset.latex", (".tex",)),
        Format("html", "typeset.html", (".html", ".htm"), says_encoding=True),
        Format("svg", "typeset.svg", (".svg",), things=("trace", "report"), says_encoding=True),
        Format("npz", "data.npz", (".npz",), page=False, full_precision=True, things=("trace",)),
        Format("npy", "data.npy", (".npy",), page=False, full_precision=True, things=("trace",)),
        Format("gradescope", "data.gradescope", (".json",), page=False, full_precision=True, things=("report", "reports")),
    )
}


def formats_of(thing: Thing) -> dict[str, Format]:
    """Those that can draw a thing."""
    return {name: form for name, form in FORMATS.items() if thing in form.things}


def chosen(name: str | None, file: str | None, thing: Thing = "trace") -> Format:
    """The format that is named, else the one that the suffix of a file tells, else a table. Raises UsageError that lists them."""
    known = formats_of(thing)
    if name is None:
        return known["table"] if file is None else format_of(file, thing)
    if name not in known:
        of = "" if thing == "trace" else " of reports"
        raise UsageError(f"no format {name!r}{of}{did_you_mean(name, list(known))}; there are {', '.join(known)}")
    return known[name]


def suffix_of(path: str, thing: Thing = "trace") -> str | None:
    """The suffix of a file, where some format has it."""
    suffix = splitext(path)[1].lower()
    return suffix if any(suffix in form.suffixes for form in formats_of(thing).values()) else None


def format_of(path: str, thing: Thing = "trace") -> Format:
    """The format that a file's suffix tells: of text that without rules. Raises UsageError that lists the suffixes."""
    suffix = splitext(path)[1].lower()
    known = {s: form for form in reversed(formats_of(thing).values()) for s in form.suffixes if form.name != "table"}
    if suffix in known:
        return known[suffix]
    ending = f"the suffix {suffix!r}" if suffix else "a name without a suffix"
    raise UsageError(f"{path}: {ending} tells no format; use one of {', '.join(reversed(known))}, or say --format")
