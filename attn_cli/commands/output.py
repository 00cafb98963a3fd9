"""Where results and remarks go: standard output or a file, and standard error."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, TextIO, TypeVar

import typer

from attn_cli.errors import UsageError

if TYPE_CHECKING:
    from attn_cli.engine.notes import Note
    from attn_cli.files.problem import Loaded
    from attn_cli.render.formats import Format

T = TypeVar("T")

Output = Annotated[str | None, typer.Option("--output", "-o", metavar="FILE", help="Write to a file; its suffix tells the format.")]

STDOUT = ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")
"""Names of standard output."""
PATIENCE = 1.0
"""Seconds after which a progress line appears."""
AGAIN = 0.1
"""Seconds between two states of it."""


def target(output: str | None) -> str | None:
    """The file that a result goes into; None for standard output."""
    return None if output in STDOUT else output


def format_for(name: str | None, output: str | None) -> Format:
    """The one that is named, else what the suffix of the file says, else a table."""
    from attn_cli.files.writing import is_stream
    from attn_cli.render.formats import chosen

    return chosen(name, None if output is None or is_stream(output) else output)


def spare(output: str, loaded: Loaded, answers: Iterable[str] = ()) -> None:
    """No result may take the place of a file that it is made from."""
    if os.path.isfile(output):
        inputs = set(loaded.files)
        for path in answers:
            inputs |= {os.path.join(path, name) for name in os.listdir(path)} if os.path.isdir(path) else {path}
        if any(os.path.exists(name) and os.path.samefile(name, output) for name in inputs):
            raise UsageError(f"{output}: is one of the files read for this, and the result would replace it; choose another name")


def say(notes: Iterable[Note], lang: str, where: str = "") -> None:
    """Remarks go to standard error, so that standard output holds the result alone."""
    from attn_cli.render.lang import note_text

    for note in notes:
        line = f"{'warning' if note.warning else 'note'}: {where}{note_text(note, lang)}"
        print(_shown(line, sys.stderr), file=sys.stderr)


def write(result: str | bytes, output: str | None, utf_8: bool = False) -> None:
    """Deliver a result, in UTF-8 whatever standard output's encoding if it has to be.

    Remarks come after it, so that where it cannot be delivered that is the one thing said.
    """
    if output is not None:
        from attn_cli.files.writing import save

        save(output, result)
        return
    if isinstance(result, bytes) and sys.stdout.isatty():
        raise UsageError("this format is binary: name a file with -o, or send standard output into one")
    if isinstance(result, str):
        result = result if result.endswith("\n") else result + "\n"
        if utf_8 and hasattr(sys.stdout, "buffer"):
            sys.stdout.flush()
            result = result.encode("utf-8", "surrogateescape")
    if isinstance(result, bytes):
        sys.stdout.buffer.write(result)
    else:
        sys.stdout.write(_shown(result, sys.stdout))
    sys.stdout.flush()


def _shown(text: str, stream: TextIO) -> str:
    """The text in signs that a stream has."""
    if text.isascii() or (stream.encoding or "utf-8").lower().replace("_", "-") in ("utf-8", "utf8"):
        return text
    from attn_cli.render.signs import fitting

    return fitting(text, stream.encoding)


@contextmanager
def waiting() -> Iterator[None]:
    """Say on a terminal, after a second, that the work goes on, and since when."""
    if not sys.stderr.isatty():
        yield
        return
    import threading

    done, start = threading.Event(), time.monotonic()

    def tell() -> None:
        if done.wait(PATIENCE):
            return
        while not done.wait(AGAIN):
            sys.stderr.write(f"\rworking … {time.monotonic() - start:.0f} s\x1b[K")
            sys.stderr.flush()
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()

    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield
    finally:
        done.set()
        teller.join()


class Progress:
    """A line on standard error that says how far the work is, where that is a terminal and the work takes longer than `patience`."""

    def __init__(self, total: int, patience: float = PATIENCE):
        self.total, self.patience = total, patience
        self.done, self.start, self.drawn = 0, time.monotonic(), 0.0
        self.terminal = sys.stderr.isatty()

    def of(self, work: Iterable[T]) -> Iterator[T]:
        """The same things, one after the other, each counted when the next is asked for."""
        try:
            for each in work:
                yield each
                self.step()
        finally:
            self.clear()

    def step(self) -> None:
        self.done += 1
        now = time.monotonic()
        if self.terminal and self.done < self.total and now - self.start > self.patience and now - self.drawn > AGAIN:
            sys.stdout.flush()  # both may be the same terminal
            sys.stderr.write(f"\r{bar(self.done, self.total, now - self.start)}\x1b[K")
            sys.stderr.flush()
            self.drawn = now

    def clear(self) -> None:
        if self.drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self.drawn = 0.0


def bar(done: int, total: int, seconds: float) -> str:
    """How far the work is, and how long the rest will take at the same pace."""
    filled = 20 * done // total
    left = "" if not done else f"  {_time(seconds * (total - done) / done)} left"
    return f"[{'#' * filled}{'.' * (20 - filled)}] {done}/{total}{left}"


def _time(seconds: float) -> str:
    whole = round(seconds)
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s" if minutes else f"{rest} s"
