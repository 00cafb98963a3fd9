"""A class: what was handed in, each with a name that no other has."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from attn_cli.errors import UsageError, one_line
from attn_cli.files.patterns import expand, identity, is_pattern, listed
from attn_cli.files.step_names import step_of

OF_THE_SYSTEM = ("__macosx", "thumbs.db", "desktop.ini")
"""What a desktop adds to a folder, in small letters."""


class Submission(NamedTuple):
    """What one person handed in."""

    name: str
    """Its path below what was given; never empty, and no other has it."""
    path: str
    within: str | None = None
    """The folder that it was found in; None where it was named itself."""


def find_submissions(paths: Iterable[str], but: str | None = None) -> list[Submission]:
    """Every submission that files, folders and patterns lead to, each once; `but` is the problem, which is none.

    A folder whose files are named after steps is one submission; of any other folder, each file or folder in it is one.
    Raises UsageError for a folder or pattern that leads to none.
    """
    found: dict[str, tuple[str, str]] = {}
    problem = identity(but) if but is not None else None
    for text in paths:
        here = [each for match in expand(text) for each in _below(match)]
        here = [each for each in here if identity(each[1]) != problem or each[1] == text]
        for given, path in here or _itself(text):
            found.setdefault(os.path.abspath(path), (given, path))
    pairs = list(found.values())
    return [Submission(name, path, given or None) for name, (given, path) in zip(_names(pairs), pairs, strict=True)]


def _itself(text: str) -> list[tuple[str, str]]:
    """A path that is not there: reading it will say what is wrong with it."""
    if Path(text).is_dir() or is_pattern(text):
        raise UsageError(f"{one_line(text)}: {'holds no submission' if Path(text).is_dir() else 'matches no file'}")
    return [("", text)]


def _below(path: Path) -> Iterator[tuple[str, str]]:
    """The folder that was given (empty where the submission itself was), and each submission there."""
    if not path.is_dir() or _is_submission(path):
        yield "", str(path)
        return
    for name in listed(path):
        if not name.startswith((".", "~$")) and name.lower() not in OF_THE_SYSTEM:
            yield str(path), str(path / name)


def _is_submission(folder: Path) -> bool:
    """Whether a file in it is named after a step."""
    return any(step_of(Path(name).stem) is not None for name in listed(folder) if (folder / name).is_file())


def _names(pairs: list[tuple[str, str]]) -> list[str]:
    """The path below the folder that was given, else as given; where two would share it, with that folder, at last in full."""
    below = [os.path.relpath(path, given) if given else path for given, path in pairs]
    shared = Counter(below)
    names = [name if shared[name] == 1 else path for name, (_, path) in zip(below, pairs, strict=True)]
    shared = Counter(names)
    names = [name if shared[name] == 1 else os.path.abspath(path) for name, (_, path) in zip(names, pairs, strict=True)]
    return [name if name not in (".", "") else Path(path).resolve().name for name, (_, path) in zip(names, pairs, strict=True)]
