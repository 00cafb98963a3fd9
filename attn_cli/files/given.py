"""What a source gives under each key: a file, a folder, standard input, options. Nothing is a number yet."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from attn_cli.engine.problem import KEYS, MASK_PARTS, known_keys, row_of
from attn_cli.errors import InputError, Place
from attn_cli.files import readers
from attn_cli.files.folders import files_in, is_problem_folder, is_settings
from attn_cli.files.readers import KEY_SUFFIXES, MATRIX_SUFFIXES, is_called
from attn_cli.files.sources import STDIN, Reading, Role
from attn_cli.files.step_names import STEPS
from attn_cli.files.tree import Node, Pairs, Scalar, twice
from attn_cli.files.values import Value
from attn_cli.names import canonical, did_you_mean, how_to_write, unknown

MOST_TEXTS = 100_000
"""Labels, or cells of a setting, in an array of a binary file. Each becomes a text of its own: ten times as many take a second more."""


class Given:
    """Values by key (`X`, `additive.W`, `mask.causal`, `answers.weights`), and how the keys were spelled."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.values: dict[str, Value] = {}
        self.spelled: dict[str, tuple[Scalar, str]] = {}
        """Each top-level key as its file spells it, and the file."""

    # ---- sources

    def source(self, path: str) -> None:
        """Everything in a file or a folder."""
        if path != STDIN and os.path.isdir(path):
            self._folder(path)
            return
        value, reader = readers.read(path, self.reading, "problem", asked_for=True)
        self.keys(value, path, reader.dotted)

    def keys(self, value: Value, path: str, dotted: bool) -> None:
        """The values in a file of keys."""
        tree = value.node
        if not isinstance(tree, Pairs):
            if isinstance(tree, Scalar):
                mend = "a key is followed by a colon and a blank, as in X: [[1, 0], [0, 1]]"
            else:
                option = "" if path == STDIN else f", or give a bare matrix by option, as in --x {path}"
                mend = f"name the matrix, as in X: [[1, 0], [0, 1]]{option}"
            raise InputError(f"found {value.describe()}, expected keys such as X: or Q:, K: and V:; {mend}", place=value.place())
        folder = os.path.dirname(path)
        for spelled, node in tree:
            place = Place(value.file, spelled.line or None, spelled.column or None)
            key = key_of(spelled.text) if dotted else canonical(spelled.text, known_keys())
            if key is None and spelled.text == "attn":
                raise InputError("is a result that attn has written, expected a problem", place=place)
            if key is None:
                raise InputError(_unknown_key(spelled.text, "array" if dotted else "key"), place=place)
            self._claim(key, spelled, value.file)
            self._add(key, value._replace(node=node), folder)

    def _folder(self, folder: str) -> None:
        """The values in the files of a folder that is one problem."""
        entries = files_in(folder)
        settings = [entry for entry in entries if is_settings(entry)]
        if not settings and not is_problem_folder(folder):
            raise InputError("is a folder without X.csv, Q.csv or scores.csv; expected a problem", place=Place(folder))
        if len(settings) > 1:
            raise InputError(f"holds {settings[0]} and {settings[1]}; keep one of the two", place=Place(folder))
        for name in settings:
            path = self._beside(folder, name)
            value, reader = readers.read(path, self.reading, "problem")
            self.keys(value, path, reader.dotted)
        named = {os.path.realpath(path) for path in self.reading.files}
        for name in entries:
            path = os.path.join(folder, name)
            if name in settings or os.path.realpath(path) in named:
                continue
            if not is_called(name, MATRIX_SUFFIXES):
                kinds = f"{', '.join(MATRIX_SUFFIXES[:-1])} or {MATRIX_SUFFIXES[-1]}"
                raise InputError(f"is no matrix file; a folder that is a problem holds {kinds} files", place=Place(path))
            key = _named(path)
            self._claim(key, Scalar(name, 0, 0), path)
            value, _ = readers.read(self._beside(folder, name), self.reading, role_of(key))
            self._add(key, value, folder)

    def _beside(self, folder: str, name: str) -> str:
        """The path of a file of the folder, which may be a link."""
        try:
            return self.reading.beside(folder, name)
        except InputError as error:
            raise error.at(Place(os.path.join(folder, name))) from None

    # ---- values

    def _claim(self, key: str, spelled: Scalar, file: str) -> None:
        """Note that a key is given here, unless it was given before."""
        whole, part = key.partition(".")[0], key + "."
        before = self.spelled.get(key) or self.spelled.get(whole)
        before = before or next((given for name, given in self.spelled.items() if name.startswith(part)), None)
        if before is not None:
            first, first_file = before
            if first_file == file and spelled.line:
                raise twice(spelled, first, file)
            where = first_file + (f":{first.line}" if first.line else "")
            raise InputError(
                f"{key} is given a second time; {where} has it already: keep one of the two", place=Place(file, spelled.line or None)
            )
        self.spelled[key] = spelled, file

    def _add(self, key: str, value: Value, folder: str) -> None:
        """Put a value under its key; mappings become one value a part, a file's name becomes what the file holds."""
        node, parts = value.node, parts_of(key)
        if isinstance(node, np.ndarray) and (node.ndim == 0 or not holds_array(key)):
            value = value._replace(node=_as_text(node, value, key))
            node = value.node
        if isinstance(node, Pairs) and parts:
            self._add_parts(key, value, node, parts, folder)
        elif isinstance(node, Scalar) and (path := self._file_named(node, key, value, folder)) is not None:
            self.values[key] = self._from_file(key, path, value)
        elif key in known_keys() and known_keys()[key].kind in ("arrays", "answers"):
            expected = f"a mapping with {', '.join(parts)}" if key != "answers" else known_keys()[key].expected
            raise value.error(f"found {value.describe()}, expected {expected}", key)
        else:
            self.values[key] = value

    def _add_parts(self, key: str, value: Value, node: Pairs, parts: Sequence[str], folder: str) -> None:
        """Each part of a mapping as a value of its own."""
        given: dict[str, Scalar] = {}
        for spelled, part in node:
            name = _part(key, spelled.text, parts)
            if name is None:
                place = Place(value.file, spelled.line, spelled.column)
                raise InputError(unknown(spelled.text, parts, "step" if key == "answers" else "part"), key=key, place=place)
            if name in given:
                raise twice(spelled, given[name], value.file)
            given[name] = spelled
            self._add(f"{key}.{name}", value._replace(node=part), folder)
        if not given:
            raise value.error(f"found an empty mapping; expected {', '.join(parts)}", key)

    def _file_named(self, node: Scalar, key: str, value: Value, folder: str) -> str | None:
        """The file that stands in a value's place, where the text is the name of one."""
        if value.option or not (holds_array(key) or KEYS.get(key, _NO_KEY).kind == "labels"):
            return None
        return file_named(node, value, folder, self.reading)

    def _from_file(self, key: str, path: str, value: Value) -> Value:
        """What the file holds that was named after a key."""
        try:
            return readers.read(path, self.reading, role_of(key))[0]
        except InputError as error:
            if os.path.exists(path):
                raise
            raise InputError(f"{error.message}; {value.place()} names it", place=error.place, key=key) from None

    def replace(self, key: str, value: Value) -> None:
        """What an option gives takes the place of what the file says."""
        for given in [name for name in self.values if name == key or name.startswith(key + ".")]:
            del self.values[given]
        self.values[key] = value


def gather(source: str | None, matrices: Mapping[str, str], settings: Mapping[str, str], reading: Reading) -> Given:
    """Everything that is given, options last, so that they win."""
    given = Given(reading)
    if source is not None:
        given.source(source)
    for key, path in matrices.items():
        given.replace(key, readers.read(path, reading, "numbers", asked_for=True)[0])
    for key, text in settings.items():
        given.replace(key, Value(Scalar(text, 0, 0), "--" + key.replace("_", "-"), reading.sign, option=True))
    return given


# ---- files


def file_named(node: Scalar, value: Value, folder: str, reading: Reading) -> str | None:
    """The path of the file that a text names; None where it names none. Raises InputError for a file that may not be read."""
    text = node.text.strip()
    if not text or "\n" in text or len(text) > 400 or text.startswith("[") or text in ("causal", "identity"):
        return None
    known = is_called(text, (*MATRIX_SUFFIXES, *KEY_SUFFIXES, ".xlsx"))
    if not known and (text.isdigit() or not ("/" in text or os.path.isfile(os.path.join(folder, text))) or _is_numeric(text)):
        return None
    try:
        path = reading.beside(folder, text)
    except InputError as error:
        raise error.at(value._replace(node=node).place()) from None
    if known:
        return path
    if not os.path.lexists(path):
        return None
    kinds = f"{', '.join(MATRIX_SUFFIXES[:-1])} or {MATRIX_SUFFIXES[-1]}"
    raise InputError(f"names the file {text}, which is no matrix file; expected a {kinds} file", place=value._replace(node=node).place())


def _is_numeric(text: str) -> bool:
    """Whether a text is meant as a number: a fraction has a stroke, as a path has."""
    from attn_cli.files.cells import NoNumber, read_number

    found = read_number(text)
    return not isinstance(found, NoNumber) or found.meant


# ---- keys

_NO_KEY = KEYS["title"]


def holds_array(key: str) -> bool:
    """Whether an array may stand under a key."""
    row = row_of(key)
    return key.startswith("answers.") or (row is not None and row.kind in ("matrix", "truths", "mask"))


def role_of(key: str) -> Role:
    """What a file is read for that stands in the place of a key's value."""
    if key == "answers" or key.startswith("answers."):
        return "answers"
    row = row_of(key)
    kind = row.kind if row else ""
    return "labels" if kind == "labels" else "truths" if kind in ("truths", "mask") else "numbers"


def parts_of(key: str) -> Sequence[str]:
    """The names that a mapping under a key may have; none where no mapping belongs there."""
    if key in ("mask", "answers"):
        return list(MASK_PARTS) if key == "mask" else list(STEPS)
    return list(parameters().get(key, ()))


def parameters() -> dict[str, Mapping[str, int]]:
    """The score functions that take arrays of their own: name -> (array's name -> number of axes)."""
    from attn_cli.engine.scores import SCORES

    return {entry.name: entry.parameters for entry in SCORES.entries() if entry.parameters}


def key_of(name: str) -> str | None:
    """The key that a name such as `w_q` or `additive.W` stands for; what follows the dot is exact."""
    head, dot, tail = name.partition(".")
    key = canonical(head, known_keys())
    if key is None or not dot:
        return key
    part = _part(key, tail, parts_of(key))
    return f"{key}.{part}" if part else None


def _part(key: str, name: str, parts: Sequence[str]) -> str | None:
    """The part of a mapping that a name stands for; exact for the arrays of a score function."""
    return name if name in parts else canonical(name, parts) if key in ("mask", "answers") else None


def _unknown_key(name: str, what: str) -> str:
    """The message for a name that is no key."""
    head = canonical(name.partition(".")[0], parameters()) if "." in name else None
    if head:
        return unknown(name, [f"{head}.{part}" for part in parameters()[head]], what)
    part = canonical(name, MASK_PARTS)
    if part and part != "causal":
        return f"there is no {what} {name!r} (a part of the mask: write mask: {{{part}: …}}); there are {', '.join(known_keys())}"
    return unknown(name, known_keys(), what)


def _as_text(array: np.ndarray[tuple[int, ...], np.dtype[np.generic]], value: Value, key: str) -> Node:
    """A small array (a setting, a list of labels) as the text that it would be in YAML."""
    from attn_cli.files.readers.arrays import as_node

    if array.size > MOST_TEXTS:
        raise value.error(f"holds {array.size:,} values, expected at most {MOST_TEXTS:,}", key)
    return as_node(array)


def _named(path: str) -> str:
    """The key that a matrix file of a folder is named after."""
    stem, matrices = Path(path).stem, [name for name, row in KEYS.items() if row.kind == "matrix"]
    key = key_of(stem)
    if key is None:
        names = ", ".join((*matrices, "mask"))
        way, near = how_to_write(stem), did_you_mean(stem, [*matrices, "problem", "mask"])
        raise InputError(f"no matrix is called {stem!r}{f': {way}' if way else f'{near}; there are {names}'}", place=Place(path))
    return key
