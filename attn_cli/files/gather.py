"""Where a problem's values come from: one file, a folder, standard input, options. Nothing is a number yet."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from attn_cli.engine.notes import Note
from attn_cli.errors import InputError, Place
from attn_cli.files import keys, plain_yaml
from attn_cli.files.rows import Unusual
from attn_cli.files.text import NPY_MAGIC, STDIN, ZIP_MAGIC, decode, read_bytes, shown
from attn_cli.files.tree import Node, Pairs, Scalar, describe, twice
from attn_cli.files.values import Value
from attn_cli.names import did_you_mean

if TYPE_CHECKING:
    from attn_cli.files.text import Data

TREE_SUFFIXES = (".yaml", ".yml", ".json")
TABLE_SUFFIXES = (".csv", ".tsv", ".txt", ".dat")
FILE_SUFFIXES = (*TREE_SUFFIXES, *TABLE_SUFFIXES, ".npy")
"""What a matrix in a file of its own may be called."""
_LARGE = 4096
"""From how many characters on a CSV is worth two looks."""
_PROBLEM_STEMS = ("X", "Q", "scores")


class Reading(NamedTuple):
    """How the text files of one run are read."""

    encoding: str | None = None
    decimal: str | None = None
    quick: bool = False
    """The quick way, which keeps no places, takes no answers and may fail; see `rows`."""

    @property
    def sign(self) -> str:
        return self.decimal or "."


class Gathered:
    """Values by key (`X`, `additive.W`, `mask.causal`, `answers.weights`) and what is to be said about them."""

    def __init__(self) -> None:
        self.values: dict[str, Value] = {}
        self.notes: list[Note] = []
        self.spelled: dict[str, tuple[Scalar, str]] = {}
        """Each top-level key as its file spells it, and the file."""
        self.named: set[Path] = set()
        """Files that a value named."""
        self.parameters = keys.parameters()


def gather(
    source: str | None,
    matrices: Mapping[str, str],
    settings: Mapping[str, str],
    reading: Reading,
    data: Data | None = None,
) -> Gathered:
    """Everything that is given, options last, so that they win. `data` is what standard input held."""
    found = Gathered()
    if source is not None:
        if source != STDIN and os.path.isdir(source):
            _folder(found, Path(source), reading)
        else:
            _file(found, source, data if data is not None else read_bytes(source), reading)
    for key, path in matrices.items():
        _replace(found, key, read_matrix(path, reading, found.notes))
    for key, text in settings.items():
        _replace(found, key, Value(Scalar(text, 0, 0), "--" + key.replace("_", "-"), reading.sign, option=True))
    return found


def is_problem_folder(path: Path) -> bool:
    """Whether a folder is one problem: it holds X, Q or scores."""
    return any(
        keys.canonical(entry.stem, _PROBLEM_STEMS) and entry.suffix.lower() in FILE_SUFFIXES and entry.is_file() for entry in path.iterdir()
    )


def read_tree(data: Data, path: str, reading: Reading) -> Node:
    """The tree of a YAML or JSON text, by suffix; standard input may be either."""
    text = decode(data, path, reading.encoding)
    file = shown(path)
    suffix = _suffix(path)
    if suffix == ".json":
        from attn_cli.files import json_tree

        tree = json_tree.parse(text, file, quick=reading.quick)
    else:
        tree = None
        if suffix not in TREE_SUFFIXES and text.lstrip().startswith("{"):
            from attn_cli.files import json_tree

            try:
                tree = json_tree.parse(text, file, quick=reading.quick)
            except InputError:
                tree = None
        tree = tree if tree is not None else _yaml(text, file, reading.quick)
    if tree is None:
        raise InputError("is empty; expected keys such as X: or Q:, K: and V:", place=Place(file))
    return tree


def _yaml(text: str, file: str, quick: bool) -> Node | None:
    """The tree of a YAML text. PyYAML is loaded only for one that is not plain."""
    if (tree := plain_yaml.parse(text, quick=quick)) is not None:
        return tree
    from attn_cli.files import yaml_tree

    return yaml_tree.parse(text, file, quick=quick)


def _suffix(path: str) -> str:
    return os.path.splitext(path)[1].lower()


def read_matrix(path: str, reading: Reading, notes: list[Note], *, truths: bool = False, answers: bool = False) -> Value:
    """One matrix in a file of its own: CSV, NPY, YAML or JSON."""
    data, file = read_bytes(path), shown(path)
    if data[: len(NPY_MAGIC)] == NPY_MAGIC or path.lower().endswith(".npy"):
        from attn_cli.files.arrays import parse_npy

        return Value(parse_npy(data, file), file)
    if data[: len(ZIP_MAGIC)] == ZIP_MAGIC:
        raise InputError(
            "is an archive (NPZ, or a workbook), expected one matrix: save it as CSV, or with np.save as NPY", place=Place(file)
        )
    if path.lower().endswith(TREE_SUFFIXES):
        tree = read_tree(data, path, reading)
        if isinstance(tree, Pairs):
            raise InputError("found a mapping, expected one matrix, a list of rows", place=Place(file, tree.line, tree.column))
        return Value(tree, file, reading.sign)
    from attn_cli.files import csv_table, plain_table

    text = decode(data, path, reading.encoding)
    table = None
    if reading.quick and len(text) > _LARGE and not answers and reading.decimal != ",":
        table = plain_table.parse(text, file, truths=truths)
    if table is None:
        table = csv_table.parse(text, file, decimal=reading.decimal, truths=truths, answers=answers)
    notes.extend(table.notes)
    return Value(table.rows, file, table.decimal, table.labels, table.header)


def _from_file(key: str, path: str, reading: Reading, notes: list[Note]) -> Value:
    """What the file holds that was named after a key, or in its place."""
    if key == "answers":
        return Value(read_tree(read_bytes(path), path, reading), path, reading.sign)
    if key in keys.LABELS and path.lower().endswith(TABLE_SUFFIXES):
        from attn_cli.files import csv_table

        return Value(csv_table.parse_labels(decode(read_bytes(path), path, reading.encoding), path), path)
    return read_matrix(path, reading, notes, truths=key.startswith("mask"), answers=key.startswith("answers."))


# ---- sources


def _file(found: Gathered, path: str, data: Data, reading: Reading) -> None:
    file, suffix = shown(path), _suffix(path)
    if data[: len(ZIP_MAGIC)] == ZIP_MAGIC or suffix == ".npz":
        from attn_cli.files.arrays import parse_npz

        for name, array in parse_npz(data, path).items():
            _add_named(found, name, Value(array, file), reading)
    elif data[: len(NPY_MAGIC)] == NPY_MAGIC or suffix in (".npy", *TABLE_SUFFIXES):
        raise InputError(f"holds one matrix, expected a whole problem; say which matrix it is, as in --x {path}", place=Place(file))
    else:
        _tree(found, read_tree(data, path, reading), path, reading)


def _tree(found: Gathered, tree: Node, path: str, reading: Reading) -> None:
    file = shown(path)
    if not isinstance(tree, Pairs):
        if isinstance(tree, Scalar):
            mend = "a key is followed by a colon and a blank, as in X: [[1, 0], [0, 1]]"
        else:
            option = "" if path == STDIN else f", or give a bare matrix by option, as in --x {path}"
            mend = f"name the matrix, as in X: [[1, 0], [0, 1]]{option}"
        raise InputError(
            f"found {describe(tree)}, expected keys such as X: or Q:, K: and V:; {mend}", place=Place(file, tree.line, tree.column)
        )
    names, folder = keys.known(), os.path.dirname(path)
    for spelled, node in tree:
        key = keys.canonical(spelled.text, names)
        if key is None:
            place = Place(file, spelled.line, spelled.column)
            if spelled.text == "attn":
                raise InputError("is a result that attn has written, expected a problem", place=place)
            raise InputError(keys.unknown(spelled.text, names), place=place)
        _claim(found, key, spelled, file)
        _add(found, key, Value(node, file, reading.sign), reading, folder)


def _folder(found: Gathered, folder: Path, reading: Reading) -> None:
    entries = files_in(folder)
    settings = [entry for entry in entries if entry.stem.lower() == "problem" and entry.suffix.lower() in TREE_SUFFIXES]
    if not settings and not is_problem_folder(folder):
        raise InputError("is a folder without X.csv, Q.csv or scores.csv; expected a problem", place=Place(str(folder)))
    if len(settings) > 1:
        raise InputError(f"holds {settings[0].name} and {settings[1].name}; keep one of the two", place=Place(str(folder)))
    for entry in settings:
        _tree(found, read_tree(read_bytes(str(entry)), str(entry), reading), str(entry), reading)
    for entry in entries:
        if entry in settings or entry in found.named:
            continue
        if entry.suffix.lower() not in FILE_SUFFIXES:
            raise InputError(
                f"is no matrix file; a folder that is a problem holds {', '.join(FILE_SUFFIXES[:4])} or .npy files", place=Place(str(entry))
            )
        key = _key_of(entry.stem)
        if key is None:
            near = did_you_mean(entry.stem, [*keys.MATRIX_AXES, "problem", "mask"])
            raise InputError(
                f"no matrix is called {entry.stem!r}{near}; there are {', '.join((*keys.MATRIX_AXES, 'mask'))}", place=Place(str(entry))
            )
        _claim(found, key, Scalar(entry.name, 0, 0), str(entry))
        _add(found, key, _from_file(key, str(entry), reading, found.notes), reading, str(folder))


def files_in(folder: Path) -> list[Path]:
    """The files of a folder that can mean something: hidden ones, notes in Markdown and desktop litter do not."""
    try:
        entries = sorted(folder.iterdir())
    except OSError as why:
        raise InputError(f"cannot be read: {(why.strerror or 'unknown reason').lower()}", place=Place(str(folder))) from None
    return [
        entry
        for entry in entries
        if not entry.is_dir() and not entry.name.startswith((".", "~$")) and entry.name.lower() not in ("thumbs.db", "desktop.ini")
        if entry.suffix.lower() != ".md"
    ]


# ---- keys


def _key_of(name: str) -> str | None:
    """The key that a name such as `w_q` or `additive.W` stands for; what follows the dot is exact."""
    head, dot, tail = name.partition(".")
    key = keys.canonical(head, keys.known())
    if key is None or not dot:
        return key
    if key == "mask":
        return f"mask.{tail}" if tail in keys.MASK_PARTS else None
    if key == "answers":
        step = keys.canonical(tail, keys.STEPS)
        return f"answers.{step}" if step else None
    return f"{key}.{tail}" if tail in keys.parameters().get(key, {}) else None


def _claim(found: Gathered, key: str, spelled: Scalar, file: str) -> None:
    """Note that a key is given here, unless it was given before."""
    whole, part = key.partition(".")[0], key + "."
    before = found.spelled.get(key) or found.spelled.get(whole)
    before = before or next((given for name, given in found.spelled.items() if name.startswith(part)), None)
    if before is not None:
        first, first_file = before
        if first_file == file and spelled.line:
            raise twice(spelled, first, file)
        where = first_file + (f":{first.line}" if first.line else "")
        raise InputError(
            f"{key} is given a second time; {where} has it already: keep one of the two", place=Place(file, spelled.line or None)
        )
    found.spelled[key] = spelled, file


def _add_named(found: Gathered, name: str, value: Value, reading: Reading) -> None:
    """An array of an archive."""
    key = _key_of(name)
    if key is None:
        head = keys.canonical(name.partition(".")[0], keys.parameters())
        names = [f"{head}.{part}" for part in keys.parameters()[head]] if head else keys.known()
        raise InputError(keys.unknown(name, names, "array"), place=Place(value.file))
    _claim(found, key, Scalar(name, 0, 0), value.file)
    if isinstance(value.node, np.ndarray) and (value.node.ndim == 0 or (keys.axes(key) is None and not key.startswith("answers"))):
        from attn_cli.files.arrays import as_node

        value = Value(as_node(value.node), value.file, option=False)
    _add(found, key, value, reading, os.path.dirname(value.file))


def _add(found: Gathered, key: str, value: Value, reading: Reading, folder: str) -> None:
    """Put a value under its key; mappings become one value a part, a file's name becomes what the file holds."""
    node = value.node
    if reading.quick and key.startswith("answers"):
        raise Unusual("answers")
    if isinstance(node, Pairs) and key in ("mask", "answers", *found.parameters):
        names = {"mask": list(keys.MASK_PARTS), "answers": list(keys.STEPS)}.get(key) or list(found.parameters[key])
        given: dict[str, Scalar] = {}
        for spelled, part in node:
            name = spelled.text if spelled.text in names else keys.canonical(spelled.text, names) if key in ("mask", "answers") else None
            if name is None:
                what = "step" if key == "answers" else "part"
                raise InputError(keys.unknown(spelled.text, names, what), key=key, place=Place(value.file, spelled.line, spelled.column))
            if name in given:
                raise twice(spelled, given[name], value.file)
            given[name] = spelled
            _add(found, f"{key}.{name}", Value(part, value.file, value.decimal), reading, folder)
        if not given:
            raise value.error(f"found an empty mapping; expected {', '.join(names)}", key)
    elif isinstance(node, Scalar) and (path := _file_named(node, key, folder)) is not None:
        found.named.add(path)
        try:
            found.values[key] = _from_file(key, str(path), reading, found.notes)
        except InputError as error:
            if path.exists():
                raise
            named = value.place()
            raise InputError(f"{error.message}; {named} names it", place=error.place, key=key) from None
    elif key in found.parameters:
        names = list(found.parameters[key])
        raise value.error(f"found {value.describe()}, expected a mapping with {', '.join(names)}", key)
    elif key == "answers":
        raise value.error(f"found {value.describe()}, expected a mapping of steps, such as weights:", key)
    else:
        found.values[key] = value


def _file_named(node: Scalar, key: str, folder: str) -> Path | None:
    """The file that stands in a matrix's place, where the text is the name of one."""
    if keys.axes(key) is None and not key.startswith("answers.") and key not in keys.LABELS:
        return None
    text = node.text.strip()
    if not text or "\n" in text or len(text) > 400 or text.startswith("[") or text in ("causal", "identity"):
        return None
    path = Path(folder, text)
    if text.lower().endswith((*FILE_SUFFIXES, ".npz", ".xlsx")) or (path.is_file() and not text.isdigit()):
        return path
    return None


def _replace(found: Gathered, key: str, value: Value) -> None:
    """What an option gives takes the place of what the file says."""
    for given in [name for name in found.values if name == key or name.startswith(key + ".")]:
        del found.values[given]
    found.values[key] = value
