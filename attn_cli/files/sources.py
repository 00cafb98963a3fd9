"""The files of one run: which may be opened, the bytes in them, and the text in those. The one place that opens files for reading."""

from __future__ import annotations

import codecs
import io
import os
import stat
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal

from attn_cli.errors import InputError, Place, UsageError

if TYPE_CHECKING:
    from mmap import mmap

    from attn_cli.engine.notes import Note

    Data = bytes | mmap

Role = Literal["problem", "answers", "numbers", "truths", "labels"]
"""What a file is read for: keys with values, somebody's worked numbers, or one value: numbers, a mask, labels."""
STDIN = "-"
_STDIN_NAMES = (STDIN, "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")
_MAPPED = (".npy", ".npz")
"""Files that are mapped: what is not looked at is not read."""
_ENDLESS = 2**26
"""Bytes. When a device as standard input gives as many, it is taken to have no end."""
_PATIENCE = 2.0
"""Seconds in which somebody must open a pipe to write into it; a longer time only delays the error."""


@dataclass(frozen=True)
class Reading:
    """How the files of one problem or one submission are read, and what has been met on the way."""

    encoding: str | None = None
    decimal: str | None = None
    """The decimal sign that --decimal names."""
    allow_outside: bool = False
    """Whether a value may name a file that does not lie below the folder of the file that names it."""
    files: list[str] = field(default_factory=list)
    """Every file that was read."""
    notes: list[Note] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.decimal not in (None, ".", ","):
            raise UsageError(f"--decimal: found {self.decimal!r}, expected , or .")

    @property
    def sign(self) -> str:
        """The decimal sign of texts that have no separator which could settle it."""
        return self.decimal or "."

    def open(self, path: str, *, asked_for: bool = False) -> Data:
        """Everything in a file. `asked_for`: the user named it, so it may be a pipe or standard input, too."""
        self.files.append(path)
        return read_bytes(path, asked_for=asked_for)

    def beside(self, folder: str, name: str) -> str:
        """The path of a file that a value names, or that lies in a folder. Raises InputError where it lies outside."""
        path = os.path.join(folder, name)
        inside = os.path.realpath(folder or os.curdir)
        if not self.allow_outside and (os.path.isabs(name) or not _lies_in(os.path.realpath(path), inside)):
            raise InputError(
                f"names the file {name}, which does not lie in the folder {shown_folder(folder)} or below; "
                "put it there, or allow it with --allow-outside"
            )
        return path


def _lies_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def shown(path: str) -> str:
    """How messages call a source."""
    return "standard input" if path == STDIN else path or "''"


def shown_folder(folder: str) -> str:
    """How messages call the folder that a file lies in."""
    return folder or "that it is named from"


def read_bytes(path: str, *, asked_for: bool = True) -> Data:
    """Everything in a file, or on standard input. Only what the user `asked_for` may be a pipe."""
    try:
        if path in _STDIN_NAMES and asked_for:
            if sys.stdin is None:  # whoever started us closed it
                raise InputError("is closed; expected a problem there", place=Place(shown(path)))
            return _whole(sys.stdin.buffer, path)
        kind = os.stat(path).st_mode
        if stat.S_ISFIFO(kind) and asked_for:
            return _from_pipe(path)
        if not stat.S_ISREG(kind) and not stat.S_ISDIR(kind):
            raise InputError(f"is {_kind_of(kind)}, expected a file", place=Place(path))
        with open(path, "rb") as file:
            return _mapped(file) if path.lower().endswith(_MAPPED) else file.read()
    except FileNotFoundError:
        if os.path.islink(path):
            raise InputError(f"is a link to {os.readlink(path)}, which is not there", place=Place(path)) from None
        raise InputError(f"there is no such file{_nearby(path)}", place=Place(shown(path))) from None
    except (OSError, ValueError) as why:
        if os.path.isdir(path):
            raise InputError("is a folder; expected a file", place=Place(path)) from None
        if isinstance(why, PermissionError):
            raise InputError("may not be read: permission denied", place=Place(path)) from None
        reason = getattr(why, "strerror", None) or "the name is not valid"
        raise InputError(f"cannot be read: {reason.lower()}", place=Place(shown(path))) from None


def _kind_of(kind: int) -> str:
    names = {stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}
    return names.get(stat.S_IFMT(kind), "no regular file")


def _from_pipe(path: str) -> bytes:
    """All that comes through a pipe, if somebody opens it to write in time."""
    end = time.monotonic() + _PATIENCE
    pipe = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with open(pipe, "rb", buffering=0) as file:
        first: bytes | None = b""
        while first == b"":  # nobody writes yet; None: a writer has opened it, and is slow
            first = file.read(2**16)
            if first == b"":
                if time.monotonic() > end:
                    raise InputError(f"is a pipe into which nobody wrote for {_PATIENCE:g} seconds; expected a file", place=Place(path))
                time.sleep(0.01)
        os.set_blocking(pipe, True)
        return (first or b"") + file.readall()


def _whole(file: BinaryIO, path: str) -> bytes:
    """All that is in it; a device may have no end."""
    if isinstance(file, io.BytesIO) or file.isatty() or not stat.S_ISCHR(os.fstat(file.fileno()).st_mode):
        return file.read()
    data = file.read(_ENDLESS)
    if len(data) == _ENDLESS:
        raise InputError("has no end (a device?); expected a file", place=Place(shown(path)))
    return data


def _mapped(file: BinaryIO) -> Data:
    """The file's bytes, which a write changes in memory only."""
    from mmap import ACCESS_COPY, mmap

    try:
        return mmap(file.fileno(), 0, access=ACCESS_COPY)
    except (OSError, ValueError):  # a pipe, or nothing in it
        return file.read()


def decode(data: Data, path: str, encoding: str | None = None) -> str:
    """The text, its line ends as \\n: UTF-8 or UTF-16 by its byte-order mark, else `encoding`, else UTF-8."""
    if encoding is not None:
        _check_encoding(encoding)
    data = bytes(data)
    if data.startswith(codecs.BOM_UTF8):
        codec = "utf-8-sig"
    elif data.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):  # the first begins as UTF-16 does
        if encoding is None:
            raise InputError("is UTF-32 text; give --encoding utf-32, or save it as UTF-8", place=Place(shown(path)))
        codec = encoding
    elif data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        codec = "utf-16"
    else:
        codec = encoding or "utf-8"
        if encoding is None and b"\0" in data:
            raise InputError(
                "holds zero bytes, so it is no plain text; expected YAML, JSON or CSV "
                "(UTF-16 without a byte-order mark needs --encoding utf-16-le)",
                place=Place(shown(path)),
            )
    try:
        text = data.decode(codec).removeprefix("\ufeff")
    except UnicodeDecodeError as why:
        line = data.count(b"\n", 0, why.start) + 1
        mend = "give its encoding, as in --encoding latin-1 or --encoding gbk" if encoding is None else "give another --encoding"
        raise InputError(
            f"is not {codec.removesuffix('-sig').upper()} text (byte 0x{data[why.start]:02x}); {mend}, or save it as UTF-8",
            place=Place(shown(path), line),
        ) from None
    if (at := text.find("\ufeff")) >= 0:
        place = Place(shown(path), text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at))
        raise InputError("found an invisible byte-order mark (U+FEFF) inside the text; delete it", place=place)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _check_encoding(encoding: str) -> None:
    try:
        "".encode(encoding)
        b"".decode(encoding)
    except (LookupError, ValueError):
        raise UsageError(
            f"--encoding: there is no text encoding {encoding!r}; common ones are utf-8, utf-16, latin-1, cp1252, gbk"
        ) from None


def _nearby(path: str) -> str:
    """`; did you mean …?` when the folder holds a file of nearly that name."""
    from attn_cli.names import did_you_mean

    try:
        names = [entry.name for entry in Path(path).parent.iterdir()]
    except OSError:
        return ""
    return did_you_mean(Path(path).name, names)
