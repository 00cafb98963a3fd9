"""What is in a folder: files that mean something, a problem in several files, somebody's answers. Only names and keys are looked at.

Whoever searches folders needs no more, so nothing here loads the engine unless a name leaves a doubt.
"""

from __future__ import annotations

import os
import re
import stat
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from attn_cli.errors import InputError, Place
from attn_cli.files.readers import KEY_SUFFIXES, MATRIX_SUFFIXES, SETTINGS_SUFFIXES, is_called
from attn_cli.files.sources import decode
from attn_cli.names import canonical

PROBLEM_MARKS = ("X", "Q", "scores")
"""Where a folder has a matrix of one of these names, it is a problem."""
_LITTER = ("thumbs.db", "desktop.ini")
_HEAD = 4096
"""Bytes at the start of a text that show whether it holds a bare matrix; a longer comment above it would hide it."""
_GIVES_X = re.compile(rb"""(?m)^\s*\{?\s*["']?[xX]["']?\s*:""")
_TOKENS = re.compile(r'[\[{]|[\]}]|"((?:[^"\\]|\\.)*)"(\s*:)?')
"""Brackets and quoted texts of JSON."""


def files_in(folder: str | Path) -> list[str]:
    """The names of files in a folder that can mean something: hidden ones, notes in Markdown and desktop litter do not."""
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries if not entry.is_dir())
    except OSError as why:
        raise InputError(f"cannot be read: {(why.strerror or 'unknown reason').lower()}", place=Place(str(folder))) from None
    return [name for name in names if not name.startswith((".", "~$")) and name.lower() not in _LITTER and not name.lower().endswith(".md")]


def is_settings(name: str) -> bool:
    """Whether a file of a folder holds its problem's settings."""
    return Path(name).stem.lower() == "problem" and is_called(name, SETTINGS_SUFFIXES)


def is_problem_folder(folder: str | Path) -> bool:
    """Whether a folder is one problem: X, Q or scores stand there in a file of their own, or settings beside other matrices.

    It is none where another problem of the folder names those files.
    """
    try:
        names = files_in(folder)
    except InputError:
        return False
    others = [name for name in names if not is_settings(name)]
    marks = [name for name in others if canonical(Path(name).stem, PROBLEM_MARKS) and _is_matrix(Path(folder, name))]
    if not marks:
        return len(others) < len(names) and any(map(_is_key, others))
    beside = [name for name in others if name not in marks and is_called(name, KEY_SUFFIXES)]
    return not any(_mentions(Path(folder, name), marks) for name in beside)


def _is_matrix(path: Path) -> bool:
    """Whether a file holds one matrix, by its name and, where that leaves a doubt, by its first sign."""
    if not is_called(str(path), MATRIX_SUFFIXES):
        return False
    if not is_called(str(path), KEY_SUFFIXES):
        return path.suffix.lower() != ".txt" or re.search(rb"[0-9]", _bytes(path, _HEAD)) is not None  # else it is a note
    lines = _bytes(path, _HEAD).replace(b"\0", b"").lstrip(b"\xef\xbb\xbf\xff\xfe").splitlines()
    said = [line.strip() for line in lines if line.strip() and not line.strip().startswith((b"#", b"---"))]
    return bool(said) and said[0][:1] in b"[-"


def _is_key(name: str) -> bool:
    """Whether a file of one matrix is named after a key of a problem."""
    if not is_called(name, MATRIX_SUFFIXES) or is_called(name, KEY_SUFFIXES):
        return False
    from attn_cli.engine.problem import known_keys

    return canonical(Path(name).stem.partition(".")[0], known_keys()) is not None


def _mentions(path: Path, names: list[str]) -> bool:
    """Whether a text says `X: X.csv`."""
    value = b"|".join(re.escape(os.fsencode(name)) for name in names)
    return re.search(rb"""(?m)^[^#\n]*:\s*["']?(?:\./)?(?:%b)["']?\s*(?:[,}#]|$)""" % value, _bytes(path)) is not None


def _bytes(path: Path, most: int = -1) -> bytes:
    """What is in a regular file; nothing where it cannot be read, or is none."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return b""
        with open(path, "rb") as file:
            return file.read(most)
    except OSError:
        return b""


# ------------------------------------------------------------------ answers
def holds_answers(path: str | Path) -> bool:
    """Whether a file holds somebody's answers and no problem: it is called so, or gives steps alone, one at least that no problem takes."""
    if Path(path).stem.lower() == "answers":
        return True
    if not is_called(str(path), KEY_SUFFIXES):
        return False
    if _GIVES_X.search(_bytes(Path(path), _HEAD)):  # most problems do, and no answers: nothing else need be looked at
        return False
    keys = set(_keys(Path(path)))
    if not keys or canonical("X", keys) or "attn" in keys:
        return False
    from attn_cli.engine.problem import known_keys
    from attn_cli.files.step_names import step_of

    known = known_keys()
    return all(step_of(key) for key in keys) and any(canonical(key, known) is None for key in keys)


def _keys(path: Path) -> Iterable[str]:
    """The keys of a file, those inside others left out."""
    data = _bytes(path)
    if data[:2] == b"PK":
        try:
            with zipfile.ZipFile(path) as archive:
                return [name.removesuffix(".npy") for name in archive.namelist()]
        except (OSError, zipfile.BadZipFile, NotImplementedError, ValueError):
            return []
    try:
        text = decode(data, str(path))
    except InputError:
        return []
    if text.lstrip().startswith("{"):
        return _keys_of_json(text)
    return [match[1] for match in re.finditer(r"""(?m)^["']?(\w[\w.]*)["']?\s*:(?:\s|$)""", text)]


def _keys_of_json(text: str) -> Iterator[str]:
    depth = 0
    for match in _TOKENS.finditer(text):
        sign = match.group()
        if sign in "[{":
            depth += 1
        elif sign in "]}":
            depth -= 1
        elif match[2] and depth == 1:
            yield match[1]
