"""What a path or pattern on the command line leads to. Patterns are expanded here, too, for shells that do not."""

from __future__ import annotations

import os
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path


def expand(pattern: str) -> list[Path]:
    """The files and folders that a path or pattern names. A name that exists is itself, brackets and all."""
    if not pattern:
        return []
    parts = Path(pattern).parts
    found = [Path()]
    for part in parts:
        found = [child for base in found for child in _matches(base, part)]
    return [path for path in found if path.exists()]


def is_pattern(text: str) -> bool:
    """Whether it has a sign that stands for several names."""
    return any(sign in text for sign in "*?[")


def _matches(base: Path, part: str) -> Iterator[Path]:
    if not is_pattern(part) or os.path.lexists(base / part):
        yield base / part
    elif part == "**":
        yield from (Path(folder) for folder, _, _ in walk(base))
    else:
        hidden = part.startswith(".")
        yield from (base / name for name in listed(base) if fnmatchcase(name, part) and (hidden or not name.startswith(".")))


def identity(path: str) -> object:
    """The file itself, by whatever name, symbolic link or hard link it is reached."""
    try:
        info = os.stat(path)
    except OSError:
        return os.path.realpath(path)
    return info.st_dev, info.st_ino


def walk(path: Path) -> Iterator[tuple[str, list[str], list[str]]]:
    """Like os.walk, sorted, without hidden folders and without folders behind links."""
    for folder, folders, files in os.walk(path):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and not os.path.islink(os.path.join(folder, name)))
        yield folder, folders, sorted(files)


def listed(folder: Path) -> list[str]:
    """The names in a folder, sorted; none where it cannot be read."""
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []
