"""Errors and names as one line of text."""

from __future__ import annotations

from attn_cli.errors import AttnError


def describe(error: BaseException) -> str:
    """What went wrong, for the person who can mend it."""
    if isinstance(error, AttnError):
        return one_line(str(error))
    if isinstance(error, OSError):
        return one_line(": ".join(str(part) for part in (error.filename, error.strerror or error) if part is not None))
    if isinstance(error, MemoryError):
        return "this problem does not fit into memory"
    if isinstance(error, RecursionError):
        return "this input is nested too deeply"
    return one_line(f"unexpected {type(error).__name__}: {error}; please report it (with ATTN_DEBUG=1 set, attn shows where it happened)")


def one_line(text: str) -> str:
    """The text with line breaks and control characters spelled out; bytes of a file name that are no text stay."""
    return "".join(c if c.isprintable() or "\ud800" <= c <= "\udfff" else c.encode("unicode_escape").decode() for c in text)
