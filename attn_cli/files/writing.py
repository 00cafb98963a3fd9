"""The one place that writes files: whole or not at all."""

from __future__ import annotations

import contextlib
import os
import re
import stat
from pathlib import Path

from attn_cli.errors import UsageError

_SUFFIX = ".tmp"
_STREAMS = {"stdout": 1, "stderr": 2}
_OPENED = re.compile(r"/dev/(stdout|stderr|fd/\d+)|/proc/self/(fd/\d+)")
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)


def save(path: str | Path, content: str | bytes, *, durable: bool = True) -> None:
    """Write a file under a temporary name beside it, then rename, so that nobody ever sees half of it.

    A link is followed, and what it points to replaced. A descriptor that the shell has opened (/dev/stderr, /dev/fd/3) is
    written to where it stands, and so is what is no regular file (a pipe, /dev/null). `durable` waits until the bytes are
    on the disk, so that the file is whole even after a power cut; however the program ends, it is whole without that.
    Raises UsageError, one line, when the file cannot be written.
    """
    data = content.encode("utf-8", "surrogateescape") if isinstance(content, str) else content
    target = os.fspath(path) or "."
    try:
        opened = _OPENED.fullmatch(target)
        if opened is not None:
            name = opened[1] or opened[2]
            _append(_STREAMS.get(name) or int(name[3:]), data)
            return
        found = _mode(target)
        if found is not None and stat.S_ISLNK(found):
            target = os.path.realpath(target)
            found = _mode(target)
        if (found is not None and stat.S_ISDIR(found)) or _names_a_folder(path):
            raise UsageError(f"{path}: is a folder; expected the name of a file to write")
        if found is not None and not stat.S_ISREG(found):
            with open(target, "wb") as file:
                file.write(data)
        else:
            _replace(target, data, found, durable)
    except OSError as why:
        raise UsageError(f"{path}: cannot be written: {_reason(why, target)}") from None


def is_stream(path: str) -> bool:
    """Whether writing there goes on from what others have written, or to nobody: a descriptor, a pipe, a device."""
    found = _mode(os.path.realpath(path))
    return bool(_OPENED.fullmatch(path)) or (found is not None and not stat.S_ISREG(found) and not stat.S_ISDIR(found))


def _append(descriptor: int, data: bytes) -> None:
    """Write on where others that share the descriptor have written."""
    with os.fdopen(os.dup(descriptor), "wb") as file:
        file.write(data)


def refuse_hopeless(path: str) -> None:
    """Raises UsageError where `save` will fail, as far as one can tell before the work is done."""
    folder = os.path.dirname(os.path.realpath(path))
    if os.path.isdir(path) or _names_a_folder(path):
        raise UsageError(f"{path}: is a folder; expected the name of a file to write")
    if not os.path.isdir(folder):
        raise UsageError(f"{path}: cannot be written: there is no folder {folder}")
    if not os.access(path if os.path.exists(path) else folder, os.W_OK):
        raise UsageError(f"{path}: cannot be written: permission denied")


def _names_a_folder(path: str | Path) -> bool:
    return str(path).endswith(("/", os.sep))


def leftover(name: str) -> str | None:
    """How the name begins of the file that a temporary name stood for; None for any other name."""
    start, dot, random = name.removesuffix(_SUFFIX).rpartition(".")
    return start[1:] if name.endswith(_SUFFIX) and name.startswith(".") and dot and len(random) == 8 else None


def _replace(target: str, data: bytes, found: int | None, durable: bool) -> None:
    """`found` is the mode of the file that is replaced; a new one gets the permissions of any new file."""
    if found is not None and not os.access(target, os.W_OK):
        raise PermissionError("the file is read-only")
    folder, name = os.path.split(target)
    temporary = os.path.join(folder, f".{name[:50]}.{os.urandom(4).hex()}{_SUFFIX}")
    try:
        file = os.open(temporary, _NEW, 0o666 if found is None else 0o600)
        try:
            rest = memoryview(data)
            while rest:  # a disk that is nearly full takes a part
                rest = rest[os.write(file, rest) :]
            if durable:
                os.fsync(file)
        finally:
            os.close(file)
        if found is not None:
            os.chmod(temporary, stat.S_IMODE(found))
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _mode(target: str) -> int | None:
    """The kind and permissions of what is there; None where nothing is."""
    try:
        return os.lstat(target).st_mode
    except FileNotFoundError:
        return None


def _reason(why: OSError, target: str) -> str:
    if isinstance(why, (FileNotFoundError, NotADirectoryError)):
        return f"there is no folder {os.path.dirname(os.path.realpath(target))}"
    return (why.strerror or str(why) or "unknown reason").lower()
