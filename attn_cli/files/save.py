"""The one place that writes files: whole or not at all."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

from attn_cli.errors import UsageError


def save(path: str | Path, content: str | bytes) -> None:
    """Write a file under a temporary name beside it, then rename, so that nobody ever sees half of it.

    A link is followed, and what it points to replaced; something that is no regular file (/dev/stdout, a pipe) is
    written to as it is. Raises UsageError, one line, when the file cannot be written.
    """
    data = content.encode("utf-8") if isinstance(content, str) else content
    target = Path(os.path.realpath(path))
    try:
        if target.is_dir():
            raise UsageError(f"{path}: is a folder; expected the name of a file to write")
        if target.exists() and not target.is_file():
            target.write_bytes(data)
        else:
            _replace(target, data)
    except OSError as why:
        raise UsageError(f"{path}: cannot be written: {_reason(why, target)}") from None


def _replace(target: Path, data: bytes) -> None:
    if target.exists() and not os.access(target, os.W_OK):
        raise PermissionError("the file is read-only")
    import tempfile  # drags half the standard library in, so only when something is written

    handle, name = tempfile.mkstemp(prefix=f".{target.name[:50]}.", suffix=".tmp", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, _mode(target))
        os.replace(name, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def _mode(target: Path) -> int:
    """The permissions of the file that is replaced, else those of any new file."""
    with contextlib.suppress(OSError):
        return stat.S_IMODE(target.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _reason(why: OSError, target: Path) -> str:
    if isinstance(why, (FileNotFoundError, NotADirectoryError)):
        return f"there is no folder {target.parent}"
    return (why.strerror or str(why) or "unknown reason").lower()
