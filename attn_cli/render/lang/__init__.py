"""The words of a walkthrough: one catalogue a language, with the same keys and placeholders.

`key/variant` replaces `key` where the variant applies; `note.code+value` is added to `note.code` where the note has that value.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from attn_cli.render.terminal.text import visible

if TYPE_CHECKING:
    from attn_cli.engine.notes import Note

LANGUAGES = ("en", "zh")
SHOWN_LABELS = 6
"""A note names at most so many labels."""


@cache
def catalogue(lang: str) -> dict[str, str]:
    """The texts of a language."""
    own = lang if lang in LANGUAGES else "en"
    texts: dict[str, str] = import_module(f"{__name__}.{own}").TEXT
    reasons: dict[str, str] = import_module(f"{__name__}.why_{own}").WHY
    marks: dict[str, str] = import_module(f"{__name__}.marks_{own}").MARKS
    return texts | reasons | marks


def text(key: str, lang: str, variant: str = "", /, **values: object) -> str:
    """The text of a key, with its placeholders filled in."""
    texts = catalogue(lang)
    return texts.get(f"{key}/{variant}", texts.get(key, key)).format_map(values)


def known(key: str, lang: str) -> bool:
    return key in catalogue(lang)


def note_text(note: Note, lang: str) -> str:
    """A note as one sentence. A code that no catalogue knows still tells its values."""
    texts, key = catalogue(lang), f"note.{note.code}"
    values = {name: _shown(value, lang) for name, value in note.values.items()}
    if key not in texts:
        listed = ", ".join(f"{name} = {value}" for name, value in values.items())
        return text("note.other", lang, code=note.code, values=listed) if listed else note.code
    if "row" in note.values:
        values["where"] = text("where.head" if note.values.get("head") else "where", lang, **values)
    more = int(note.values.get("rows", 1)) - 1 if isinstance(note.values.get("rows"), int) else 0
    values["and_more"] = text("and_more", lang, count=more) if more else ""
    variant = next((f"{key}/{name}" for name, value in note.values.items() if value and f"{key}/{name}" in texts), key)
    added = [texts[f"{key}+{name}"] for name in note.values if f"{key}+{name}" in texts]
    return "".join([texts[variant], *added]).format_map(values)


def _shown(value: Any, lang: str) -> str:
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) >= 1 else f"{value:.4f}"
    if isinstance(value, Iterable) and not isinstance(value, str):
        items = [visible(str(item)) for item in value]
        if len(items) > SHOWN_LABELS:
            items = [*items[: SHOWN_LABELS - 1], "…", items[-1]]
        return ("、" if lang == "zh" else ", ").join(items)
    return visible(str(value))
