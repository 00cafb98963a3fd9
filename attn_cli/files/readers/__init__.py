"""The table of sources: what a file is, by its first bytes or its name, and which reader makes a tree or an array of it.

Problems, answers, single matrices and the search of `batch` read this table. A new format of input is one module with a
function `read(data, file, reading, role)`, and its row here.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from attn_cli.errors import InputError, Place
from attn_cli.files.sources import STDIN, Reading, Role, shown

if TYPE_CHECKING:
    from attn_cli.files.sources import Data
    from attn_cli.files.values import Value


class Reader(NamedTuple):
    """A kind of source."""

    name: str
    module: str
    suffixes: tuple[str, ...]
    magic: bytes = b""
    """The first bytes that tell it, whatever the file is called."""
    keys: bool = False
    """Whether it may hold values under keys: a problem, or answers by step."""
    matrix: bool = False
    """Whether it may hold one value alone."""
    dotted: bool = False
    """Whether keys such as additive.W are spelled with a dot, since it has no mappings inside each other."""

    @property
    def read(self) -> Callable[[Data, str, Reading, Role], Value]:
        read: Callable[[Data, str, Reading, Role], Value] = import_module(f"{__name__}.{self.module}").read
        return read


YAML = Reader("YAML", "yaml", (".yaml", ".yml"), keys=True, matrix=True)
JSON = Reader("JSON", "json", (".json",), keys=True, matrix=True)
CSV = Reader("CSV", "csv", (".csv", ".tsv", ".txt", ".dat"), matrix=True)
READERS = (
    YAML,
    JSON,
    CSV,
    Reader("NPY", "arrays", (".npy",), magic=b"\x93NUMPY", matrix=True),
    Reader("NPZ", "arrays", (".npz",), magic=b"PK", keys=True, dotted=True),
)
KEY_SUFFIXES = tuple(suffix for reader in READERS if reader.keys for suffix in reader.suffixes)
"""What a file of keys may be called."""
MATRIX_SUFFIXES = tuple(suffix for reader in READERS if reader.matrix for suffix in reader.suffixes)
"""What a file of one value may be called."""
SETTINGS_SUFFIXES = tuple(suffix for suffix in KEY_SUFFIXES if suffix in MATRIX_SUFFIXES)
"""What a file of settings in a folder may be called: a text."""


def suffix_of(path: str) -> str:
    return os.path.splitext(path)[1].lower()


def is_called(path: str, suffixes: tuple[str, ...]) -> bool:
    return suffix_of(path) in suffixes


def reader_of(path: str, data: Data, role: Role) -> Reader:
    """What a file is: by its first bytes, else its name, else what is expected where it stands."""
    for reader in READERS:
        if reader.magic and data[: len(reader.magic)] == reader.magic:
            return reader
    named = next((reader for reader in READERS if suffix_of(path) in reader.suffixes), None)
    if named is not None:
        return named
    if role in ("problem", "answers"):
        return JSON if bytes(data[:64]).lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"{" and _is_json(path, data) else YAML
    return CSV


def _is_json(path: str, data: Data) -> bool:
    """Whether a text that opens a mapping is JSON; YAML's mappings open in the same way."""
    from attn_cli.files.readers.json import parse
    from attn_cli.files.sources import decode

    try:
        parse(decode(data, path), path)
    except InputError:
        return False
    return True


def read(path: str, reading: Reading, role: Role, *, asked_for: bool = False) -> tuple[Value, Reader]:
    """What stands in a file, and what kind of file it is. `asked_for`: the user named it, so that it may be a pipe."""
    data = reading.open(path, asked_for=asked_for)
    reader = reader_of(path, data, role)
    file = shown(path)
    if role == "problem" and not reader.keys:
        option = "" if path == STDIN else f"; say which matrix it is, as in --x {path}"
        raise InputError(f"holds one matrix, expected a whole problem{option}", place=Place(file))
    if role not in ("problem", "answers") and not reader.matrix:
        mend = "save it as CSV, or with np.save as NPY"
        raise InputError(f"is an archive (NPZ, or a workbook), expected one matrix: {mend}", place=Place(file))
    return reader.read(data, file, reading, role), reader
