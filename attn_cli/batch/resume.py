"""What an earlier run has done: which results may stay, and what it left behind when it was killed."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import attn_cli
from attn_cli.batch.find import RECORD
from attn_cli.batch.work import Job
from attn_cli.errors import UsageError
from attn_cli.files.writing import leftover, save


def options_of(job: Job) -> dict[str, Any]:
    """Everything besides its inputs that a result depends on."""
    look = {name: getattr(job.style, name) for name in ("decimals", "lang", "only", "detail", "standalone")}
    settings = {
        "attn": attn_cli.__version__,
        "format": job.format,
        "check": job.check,
        "settings": job.settings,
        "encoding": job.encoding,
        "decimal": job.decimal,
        "allow_outside": job.allow_outside,
        **look,
    }
    return dict(json.loads(json.dumps(settings)))


def begin(folder: Path, options: Mapping[str, Any]) -> int:
    """Note the options of this run in its folder; since when (in ns) all results have been made with them."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as why:
        if folder.exists():
            raise UsageError(f"{folder}: is a file; expected a folder for the results") from None
        raise UsageError(f"{folder}: cannot be made: {(why.strerror or 'unknown reason').lower()}") from None
    if not os.access(folder, os.W_OK):
        raise UsageError(f"{folder}: cannot be written: permission denied")
    record = folder / RECORD
    if _read(record) != options:
        save(record, json.dumps(options, ensure_ascii=False, indent=1, sort_keys=True) + "\n")
    return record.stat().st_mtime_ns


def _read(record: Path) -> Any:
    try:
        return json.loads(record.read_bytes())
    except (OSError, ValueError):
        return None


Stamp = tuple[int, int]
"""What tells one version of a file from another: which file it is, and when it was written (ns)."""


def stamp(path: str) -> Stamp | None:
    """None where there is no such file."""
    try:
        info = os.stat(path)
    except OSError:
        return None
    return info.st_ino, info.st_mtime_ns


STALE = 3600
"""Seconds. A half-written file is older only where its run is gone; if raised, leftovers of other problems stay longer."""


def tidy(targets: Iterable[str]) -> None:
    """Remove what killed runs left in the folders of these files while they wrote them, or others long ago."""
    names: dict[str, set[str]] = {}
    for target in targets:
        folder, name = os.path.split(target)
        names.setdefault(folder or ".", set()).add(name)
    for folder, own in names.items():
        with suppress(OSError):
            for entry in os.scandir(folder):
                start = leftover(entry.name)
                if start is not None and (any(name.startswith(start) for name in own) or _is_stale(entry)):
                    os.unlink(entry.path)


def _is_stale(entry: os.DirEntry[str]) -> bool:
    return time.time() - entry.stat().st_mtime > STALE
