"""The bytes of a file, and the text in them: the one place that opens files for reading."""

from __future__ import annotations

import codecs
import io
import os
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from attn_cli.errors import InputError, Place, UsageError

if TYPE_CHECKING:
    from mmap import mmap

    Data = bytes | mmap

STDIN = "-"
NPY_MAGIC = b"\x93NUMPY"
ZIP_MAGIC = b"PK"
ARRAY_SUFFIXES = (".npy", ".npz")
_ENDLESS = 2**26
"""So many bytes that come out of a device are not the whole of it."""


def shown(path: str) -> str:
    """How messages call a source."""
    return "standard input" if path == STDIN else path or "''"


def read_bytes(path: str) -> Data:
    """Everything in a file, or on standard input. Arrays are mapped: what is not looked at is not read."""
    try:
        if path == STDIN:
            if sys.stdin is None:  # whoever started us closed it
                raise InputError("is closed; expected a problem there", place=Place(shown(path)))
            return _whole(sys.stdin.buffer, path)
        with open(path, "rb") as file:
            return _mapped(file) if path.lower().endswith(ARRAY_SUFFIXES) else _whole(file, path)
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
