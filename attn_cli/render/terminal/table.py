"""Tables for the terminal: rules, a bar beside each weight, and colour where it is wanted."""

from __future__ import annotations

from collections.abc import Iterable

from attn_cli.render.page import Page
from attn_cli.render.terminal.grid import Row, Skin
from attn_cli.render.terminal.layout import joined, laid_out

LOOK = {
    "title": "bold",
    "conventions": "",
    "number_of_step": "bold cyan",
    "step": "bold",
    "formula": "italic",
    "numbers": "",
    "caption": "italic",
    "label": "cyan",
    "rule": "dim",
    "sum": "",
    "zero": "dim",
    "remark": "",
    "name": "cyan",
    "right": "green",
    "rounded": "green",
    "carried": "yellow",
    "wrong": "bold red",
    "missing": "",
}
"""How each role looks."""

SHADES = {
    "standard": ("", "", "", "bold", "bold", "black on yellow", "black on yellow", "black on yellow", "bold black on bright_yellow"),
    "256": (
        *("", "", "black on color(137)", "black on color(137)", "black on color(172)", "black on color(172)"),
        *("black on color(208)", "black on color(208)", "bold black on color(214)"),
    ),
    "truecolor": (
        *("", "", "black on #b89f7a", "black on #c49a5c", "black on #cf9645", "black on #da9430"),
        *("black on #e59420", "bold black on #f09610", "bold black on #ff9800"),
    ),
}
"""How a weight looks, from 0 to 8, with so many colours: one ramp, whose patches gain in light and in colour. Each sets the ink too, so
that it reads alike on dark and light terminals."""


def draw(page: Page) -> str:
    rows = laid_out(page, Skin(rules=True, bars=True))
    return colored(rows) if page.style.color else joined(rows)


def colored(rows: Iterable[Row]) -> str:
    """The words in colour. Rich finds out how many colours the terminal has; words are never read as markup."""
    from io import StringIO

    from rich.console import Console
    from rich.segment import Segment, Segments
    from rich.style import Style as Look

    out = StringIO()
    console = Console(file=out, force_terminal=True, width=10_000, legacy_windows=False, _environ=_environ())
    shades = SHADES.get(console.color_system or "", SHADES["standard"])
    named = {**LOOK, **{f"shade{level}": look for level, look in enumerate(shades)}, "chosen": shades[-1]}
    looks = {role: Look.parse(look) for role, look in named.items()}
    segments: list[Segment] = []
    for row in rows:
        segments += [Segment(word, looks.get(role)) for word, role in row]
        segments.append(Segment.line())
    console.print(Segments(segments), end="", soft_wrap=True)
    return out.getvalue()


def _environ() -> dict[str, str]:
    """The environment, with some colours at least where it names no terminal."""
    import os

    known = os.environ.get("TERM", "") not in ("", "dumb", "unknown")
    return {"TERM": os.environ["TERM"] if known else "xterm-256color", "COLORTERM": os.environ.get("COLORTERM", "")}
