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
    "chosen": "bold black on #ff9800",
    "shade0": "",
    "shade1": "",
    "shade2": "black on #b89f7a",
    "shade3": "black on #c49a5c",
    "shade4": "black on #cf9645",
    "shade5": "black on #da9430",
    "shade6": "black on #e59420",
    "shade7": "bold black on #f09610",
    "shade8": "bold black on #ff9800",
}
"""How each role looks. Shades set both colours and gain in strength, so that they read alike on dark and light terminals."""


def draw(page: Page) -> str:
    rows = laid_out(page, Skin(rules=True, bars=True))
    return colored(rows) if page.style.color else joined(rows)


def colored(rows: Iterable[Row]) -> str:
    """The words in colour. Rich finds out how many colours the terminal has; words are never read as markup."""
    from io import StringIO

    from rich.console import Console
    from rich.segment import Segment, Segments
    from rich.style import Style as Look

    looks = {role: Look.parse(look) for role, look in LOOK.items()}
    segments: list[Segment] = []
    for row in rows:
        segments += [Segment(word, looks.get(role)) for word, role in row]
        segments.append(Segment.line())
    out = StringIO()
    console = Console(file=out, force_terminal=True, width=10_000, legacy_windows=False, _environ=_environ())
    console.print(Segments(segments), end="", soft_wrap=True)
    return out.getvalue()


def _environ() -> dict[str, str]:
    """The environment, with some colours at least where it names no terminal."""
    import os

    known = os.environ.get("TERM", "") not in ("", "dumb", "unknown")
    return {"TERM": os.environ["TERM"] if known else "xterm-256color", "COLORTERM": os.environ.get("COLORTERM", "")}
