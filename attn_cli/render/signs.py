"""Signs that a text falls back on where its encoding lacks one: the words stay readable, and no escape stands in a page."""

from __future__ import annotations

import re
import unicodedata

BARS = "▁▂▃▄▅▆▇█"
"""Where one is lacking, none is shown: the few that are left would mislead."""
PLAIN = {
    "√": "sqrt",
    "≈": "~",
    "·": "*",
    "−": "-",
    "–": "-",
    "—": "-",
    "…": "...",
    "×": "x",
    "∞": "inf",
    "→": ">",
    "←": "<",
    "✓": "+",
    "✗": "x",
    "≠": "!",
    "≤": "<=",
    "≥": ">=",
    "∘": "o",
    "‖": "||",
    "∂": "d",
    "ᵀ": "^T",
    "ₕ": "_h",
    "′": "'",
    "│": "|",
    "─": "-",
    "┼": "+",
    "├": "|",
    "└": "`",
    **dict.fromkeys(BARS, " "),
    **{chr(0x2080 + digit): f"_{digit}" for digit in range(10)},
    "π": "pi",
    "Σ": "S",
    "τ": "t",
    "λ": "l",
    "Λ": "L",
    "α": "a",
    "ε": "e",
}
"""Each sign as ASCII writes it. Those of rules and marks are as wide as what they stand for, so that columns stay in line."""


def fitting(text: str, encoding: str) -> str:
    """The text with a stand-in for every sign that the encoding lacks."""
    lacking = {c for c in set(text) if not c.isascii() and not _has(c, encoding)}
    if not lacking:
        return text
    lacking |= set(BARS) if lacking & set(BARS) else set()
    if "·" in lacking:  # between the parts of a line; elsewhere it multiplies
        text = re.sub(r"(?<=\S) · (?=\S)", " | ", text)
    if "√" in lacking:
        text = re.sub(r"√(\w+(?:\.\d+)?)", r"sqrt(\1)", text)
    if "∞" in lacking:  # the blanks that a column of numbers has to spare
        text = re.sub(r" {2}(  -?)∞", r"\1inf", text)
    return text.translate({ord(c): _stand_in(c, encoding) for c in lacking})


def _has(c: str, encoding: str) -> bool:
    try:
        c.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return "\udc80" <= c <= "\udcff"  # a byte of a file's name, which goes out as it came in
    return True


def _stand_in(c: str, encoding: str) -> str:
    """The sign's own stand-in where the encoding has that, the letter without its marks (é: e), or `?`."""
    bare = unicodedata.normalize("NFKD", c)[0]
    for stand_in in (PLAIN.get(c), bare):
        if stand_in is not None and all(_has(part, encoding) for part in stand_in):
            return stand_in
    return "?"
