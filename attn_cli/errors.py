"""What can go wrong, as one tree. Raised anywhere, shown as one line and turned into an exit code only in `cli`."""

from __future__ import annotations


class Place:
    """Where in a file something stands; lines and columns count from 1."""

    def __init__(self, file: str, line: int | None = None, column: int | None = None):
        self.file, self.line, self.column = file, line, column

    def __str__(self) -> str:
        return ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)


class AttnError(Exception):
    """Something that the user can mend: exit code 2, one line on standard error, no traceback."""


class UsageError(AttnError):
    """The command line asks for something that does not exist or does not fit together."""


class InputError(AttnError):
    """A file, or a value in it, that cannot be used.

    The engine knows the `key` (`"W_Q"`, `"mask"`, `"additive.W"`) and perhaps the `cell` (from 0); whoever read
    the file adds the `place`.
    """

    def __init__(self, message: str, *, key: str | None = None, cell: tuple[int, ...] | None = None, place: Place | None = None):
        super().__init__(message)
        self.message, self.key, self.cell, self.place = message, key, cell, place

    def at(self, place: Place | None) -> InputError:
        """The same error with the place where its cause stands."""
        return InputError(self.message, key=self.key, cell=self.cell, place=self.place or place)

    def __str__(self) -> str:
        where = (self.key or "") + (f"[{','.join(str(i + 1) for i in self.cell)}]" if self.key and self.cell else "")
        return ": ".join(part for part in (str(self.place or ""), where, self.message) if part)


# ------------------------------------------------------------------ as one line of text


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
