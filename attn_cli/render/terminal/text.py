"""Text in cells of a terminal: how wide it is, how a label is made harmless, and how one is shortened."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache

JOINERS = "\u200c\u200d"
"""Invisible characters that belong to words and emoji."""


def visible(label: str) -> str:
    """The label with control characters, line breaks and marks of direction spelled out, so that it can do nothing but be read."""
    if label.isascii() and label.isprintable():
        return label or '""'
    return "".join(c if _harmless(c) else c.encode("unicode_escape", "backslashreplace").decode() for c in label) or '""'


def _harmless(c: str) -> bool:
    if ord(c) & 0xFFFE == 0xFFFE:  # stands for no character, and no XML may hold it
        return False
    return c in JOINERS or unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Zl", "Zp")


def width(text: str) -> int:
    """How many cells of a terminal a text takes."""
    return len(text) if text.isascii() else sum(map(_cells, text))


@cache
def _cells(c: str) -> int:
    if unicodedata.category(c) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(c) in "WF" else 1


def left(text: str, cells: int) -> str:
    return text + " " * (cells - width(text))


def right(text: str, cells: int) -> str:
    return " " * (cells - width(text)) + text


def shortened(labels: Sequence[str], cells: int) -> list[str]:
    """Labels cut to a number of cells. No two that differ look the same, and none can be taken for a number that was cut."""
    short = [label if width(label) <= cells else _cut(label, cells) for label in labels]
    owners: dict[str, set[str]] = {}
    for label, text in zip(labels, short, strict=True):
        owners.setdefault(text, set()).add(label)
    return [
        text if text and len(owners[text]) == 1 else _cut(label, cells, f"#{number}") or f"#{number}"
        for number, (label, text) in enumerate(zip(labels, short, strict=True), 1)
    ]


def _cut(label: str, cells: int, tail: str = "") -> str:
    """The beginning of a label, `…` and the tail; the `…` never stands beside a digit. Empty where nothing is left."""
    kept, used = "", width(tail) + 1
    for c in label:
        used += _cells(c)
        if used > cells:
            break
        kept += c
    kept = kept.rstrip("0123456789.,-−")
    return f"{kept}…{tail}" if kept else ""


def wrapped(text: str, cells: int, indent: str = "") -> list[str]:
    """The text in lines that fit a number of cells, broken at blanks and after Chinese commas and stops only; later lines are indented."""
    if width(text) <= cells:
        return [text]
    lines, line, gap = [], "", None
    for word in re.split(r"( )|(?<=[，。；：、])(?=[^ ])", text):
        if word in (" ", None):
            gap = word or ""
            continue
        joined = word if gap is None else f"{line}{gap}{word}"
        if gap is not None and width(joined) > cells and line.strip():
            lines.append(line.rstrip())
            joined = indent + word
        line, gap = joined, ""
    return [*lines, line.rstrip()]


def common_width(texts: Iterable[str]) -> int:
    return max(map(width, texts), default=0)
