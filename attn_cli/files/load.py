"""From files and options to a Problem. The rest of the program knows nothing of where its numbers came from.

First everything is gathered as text with places (`gather`), then turned into numbers (`values`), here. What a later
stage finds wrong with a value is located by gathering once more, so that no position has to be kept for a big matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from attn_cli.engine.keys import Key, judge
from attn_cli.engine.notes import Note
from attn_cli.engine.problem import KEYS, MASK_PARTS, Mask, Problem
from attn_cli.errors import InputError, Place, UsageError
from attn_cli.files import keys
from attn_cli.files.cells import is_empty, is_plain, number, show
from attn_cli.files.gather import Gathered, Reading, gather, read_matrix
from attn_cli.files.text import STDIN, read_bytes, shown
from attn_cli.files.tree import Items, Pairs, Scalar, describe
from attn_cli.files.values import Array, Cell, Value, as_numbers, as_truths
from attn_cli.names import did_you_mean, how_to_write


class Loaded(NamedTuple):
    """A problem, and everything that its source said besides."""

    problem: Problem
    notes: tuple[Note, ...]
    answers: Mapping[str, Value]
    """Someone's worked numbers by step, as text in the file's layout; empty when there are none."""
    source: str
    """What messages call the source."""
    written: Mapping[tuple[str, Cell], str]
    """The text of those numbers that are no plain decimals, such as 1/3; cells count as the problem's arrays do."""
    again: Callable[[], Gathered]
    """Gathers the values once more, with their places."""

    def locate(self, error: InputError) -> InputError:
        """The error with the file, line and column of its key and cell; cells are then shown in the file's layout."""
        if error.place is not None:
            return error
        whole = error.at(Place(self.source)) if self.source else error
        if error.key is None:
            return whole
        try:
            values = self.again().values
        except InputError:
            return whole
        value = values.get(error.key) or next((v for key, v in values.items() if key.startswith(error.key + ".")), None)
        if value is None:
            return whole
        cell = error.cell
        if cell is not None and len(cell) >= 2 and self.problem.vectors == "columns" and error.key in keys.TURNED:
            cell = (*cell[:-2], cell[-1], cell[-2])
        return InputError(error.message, key=None if value.option else error.key, cell=cell, place=value.place(cell or ()))


def load(
    source: str | None,
    *,
    matrices: Mapping[str, str] | None = None,
    settings: Mapping[str, str] | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    allow_outside: bool = False,
) -> Loaded:
    """Read a problem from a file, a folder or `-`, with single matrices and settings from options, which win."""
    reading = _reading(encoding, decimal)
    data = read_bytes(STDIN) if source == STDIN else None
    again = partial(gather, source, dict(matrices or {}), dict(settings or {}), reading, data)
    try:
        found = gather(source, matrices or {}, settings or {}, reading._replace(quick=True), data)
        problem, written = _Builder(found.values).problem()
    except InputError:  # unusual or wrong: the strict way decides
        found = again()
        problem, written = _Builder(found.values).problem()
    answers: Mapping[str, Value] = {key.partition(".")[2]: value for key, value in found.values.items() if key.startswith("answers.")}
    if answers:
        from attn_cli.files.answers import checked_answers

        answers = checked_answers(answers)
    if "score" not in found.values:  # was it forgotten?
        found.notes += [Note("parameters_unused", {"name": name}) for name in problem.parameters]
    return Loaded(problem, tuple(found.notes), answers, shown(source) if source else "", written, again)


def load_matrix(path: str, *, key: str = "X", encoding: str | None = None, decimal: str | None = None) -> tuple[Array, tuple[Note, ...]]:
    """One matrix in a file of its own, and the notes about it; `key` says what it stands for."""

    def read(reading: Reading) -> tuple[Array, tuple[Note, ...]]:
        notes: list[Note] = []
        value = read_matrix(path, reading, notes)
        array, _ = as_numbers(value, key, keys.axes(key) or (2,), nan=key == "V", minus_infinity=key == "bias")
        return array, tuple(notes)

    reading = _reading(encoding, decimal)
    try:
        return read(reading._replace(quick=True))
    except InputError:
        return read(reading)


def _reading(encoding: str | None, decimal: str | None) -> Reading:
    if decimal not in (None, ".", ","):
        raise UsageError(f"--decimal: found {decimal!r}, expected , or .")
    return Reading(encoding, decimal)


class _Builder:
    """Turns gathered values into the fields of a Problem, in row layout."""

    def __init__(self, values: Mapping[str, Value]):
        self.values = values
        self.written: dict[tuple[str, Cell], str] = {}
        self.columns = "vectors" in values and self._word("vectors", ("rows", "columns")) == "columns"

    def problem(self) -> tuple[Problem, Mapping[tuple[str, Cell], str]]:
        fields: dict[str, Any] = {}
        for key in keys.WORDS:
            if key in self.values:
                fields[key] = self._word(key)
        for key in keys.NUMBERS:
            if key in self.values:
                fields[key] = self._number(key)
        for key in keys.WHOLE:
            if key in self.values:
                fields[key] = self._whole(key)
        identities = []
        for key in keys.MATRIX_AXES:
            if key not in self.values:
                continue
            if self._is_identity(key):
                identities.append(key)
            else:
                fields[key] = self._matrix(key)
        for key in identities:
            fields[key] = self._identity(key, fields)
        fields["parameters"] = self._parameters()
        fields["mask"] = self._mask()
        fields.update(self._tokens())
        if self.columns and "weights_layout" in self.values:
            raise self.values["weights_layout"].error(
                "has no place beside vectors: columns, where W_Q is always stored as h·d_k × d_model; leave it out", "weights_layout"
            )
        return Problem(**fields, written=self.written), self.written

    # ---- single settings

    def _text(self, key: str, expected: str) -> str:
        """The one piece of text under a key."""
        value = self.values[key]
        node = value.node
        if not isinstance(node, Scalar):
            raise value.error(f"found {value.describe()}, expected {expected}", key)
        if is_empty(node.text) and not (node.quoted and node.text):
            where = "option" if value.option else "key"
            raise value.error(f"found nothing, expected {expected}; leave the {where} out if it is not given", key)
        return node.text.strip()

    def _word(self, key: str, names: tuple[str, ...] = ()) -> str:
        value, node = self.values[key], self.values[key].node
        if key == "title":
            if isinstance(node, Scalar):
                return " ".join(node.text.split()) if not is_empty(node.text) or node.quoted else ""
            raise value.error(f"found {value.describe()}, expected a text", key)
        if key == "score" and isinstance(node, Items):
            raise value.error("found a list, expected the name of a score function; a matrix of scores is called scores", key)
        names = names or KEYS[key].choices
        text = self._text(key, f"one of {', '.join(names)}")
        if text not in names:
            near = did_you_mean(text, names)
            raise value.error(f"found {show(text)}{near}, expected one of {', '.join(names)}", key)
        return text

    def _number(self, key: str) -> float:
        value = self.values[key]
        text = self._text(key, "a number")
        try:
            result: float = judge(KEYS[key], number(text, value.decimal), show(text))
        except InputError as error:
            raise value.error(error.message, key) from None
        if not is_plain(text):
            self.written[key, ()] = text
        return result

    def _whole(self, key: str) -> int:
        return self._whole_number(self.values[key], KEYS[key], self._text(key, KEYS[key].expected))

    def _whole_number(self, value: Value, row: Key, text: str) -> int:
        try:
            exact = text.lstrip("+-").isdecimal() and text.isascii()
            result: int = judge(row, int(text) if exact else number(text, value.decimal), show(text))
        except InputError as error:
            raise value.error(error.message.replace("expected a number", f"expected {row.expected}"), row.name) from None
        return result

    # ---- arrays

    def _matrix(self, key: str) -> Array:
        axes = keys.axes(key)
        assert axes is not None
        array, written = as_numbers(self.values[key], key, axes, nan=key == "V", minus_infinity=key == "bias")
        return self._turned(key, array, written)

    def _turned(self, key: str, array: Array, written: Mapping[Cell, str]) -> Array:
        """The array with one token a row, and its texts kept under the cells that it then has."""
        turn = self.columns and key in keys.TURNED and array.ndim >= 2
        for cell, text in written.items():
            self.written[key, (*cell[:-2], cell[-1], cell[-2]) if turn else cell] = text
        return np.ascontiguousarray(np.swapaxes(array, -1, -2)) if turn else array

    def _is_identity(self, key: str) -> bool:
        value = self.values[key]
        if not key.startswith("W_") or not isinstance(value.node, Scalar):
            return False
        text = value.node.text.strip()
        if text.lower() != "identity":
            if near := did_you_mean(text, ("identity",)) or (" (did you mean 'identity'?)" if text.lower() in ("i", "eye", "id") else ""):
                raise value.error(f"found {show(text)}{near}, expected a matrix, the word identity, or the name of a file", key)
            return False
        if key == "W_O":
            raise value.error("identity stands for W_Q, W_K and W_V only; without W_O the joined heads are the output as they are", key)
        return True

    def _identity(self, key: str, fields: Mapping[str, Any]) -> Array:
        origin = "context" if key != "W_Q" and "context" in fields else "X"
        if origin not in fields:
            raise self.values[key].error(f"identity needs {origin}, whose width is its size; give {origin}, or write the matrix out", key)
        return np.eye(fields[origin].shape[-1])

    def _parameters(self) -> dict[str, dict[str, Array]]:
        found: dict[str, dict[str, Array]] = {}
        for score, names in keys.parameters().items():
            for name, axes in names.items():
                if (key := f"{score}.{name}") in self.values:
                    array, written = as_numbers(self.values[key], key, (axes,))
                    found.setdefault(score, {})[name] = self._turned(key, array, written)
        return found

    # ---- mask

    def _mask(self) -> Mask | None:
        given = {key: value for key, value in self.values.items() if key == "mask" or key.startswith("mask.")}
        if not given:
            return None
        fields: dict[str, Any] = {}
        for key, value in given.items():
            part = key.partition(".")[2] or "keep"
            if key == "mask" and isinstance(value.node, Scalar):
                forms = "causal" if value.option else "causal, a matrix of 1 and 0, a mapping, or the name of a file"
                text = self._text(key, forms)
                if text.lower() != "causal":
                    if way := how_to_write(text):
                        raise value.error(f"found {show(text)}: {way}", key)
                    near = did_you_mean(text, ("causal",))
                    mend = "; any other mask stands in the problem's file, as in mask: mask.csv" if value.option and not near else ""
                    raise value.error(f"found {show(text)}{near}, expected {forms}{mend}", key)
                fields["causal"] = True
            elif part in keys.MASK_MATRICES:
                fields[part] = self._truths(key)
            elif part == "causal":
                text = self._text(key, "true or false").lower()
                if text not in ("true", "false", "1", "0"):
                    raise value.error(f"found {show(text)}, expected true or false", key)
                fields[part] = text in ("true", "1")
            elif part == "window":
                fields[part] = self._window(value, key)
            else:
                fields[part] = self._whole_number(value, MASK_PARTS[part], self._text(key, "one whole number"))
        return Mask(**fields)

    def _truths(self, key: str) -> Array:
        array = as_truths(self.values[key], key)
        return self._turned(key, array, {})

    def _window(self, value: Value, key: str) -> tuple[int | None, int | None]:
        node = value.node
        expected = MASK_PARTS["window"].expected
        if isinstance(node, Items):
            if len(node.items) != 2 or not all(isinstance(item, Scalar) for item in node.items):
                raise value.error(f"found {describe(node)}, expected {expected}", key)
            left, right = (self._side(value, item) for item in node.items)
            return left, right
        side = self._whole_number(value, MASK_PARTS["window"].side, self._text(key, expected))
        return side, side

    def _side(self, value: Value, item: Any) -> int | None:
        return None if is_empty(item.text) else self._whole_number(value, MASK_PARTS["window"].side, item.text.strip())

    # ---- labels

    def _tokens(self) -> dict[str, tuple[str, ...]]:
        """Labels as given; else those that the files of the matrices carry."""
        found = {key: self._labels(key) for key in keys.LABELS if key in self.values}
        if "tokens" not in found and "query_tokens" not in found:
            carried = self._carried("X") or self._carried("Q")
            if carried and "X" in self.values and "key_tokens" not in found:
                found["tokens"] = carried
            elif carried or (carried := self._carried("scores")):
                found["query_tokens"] = carried
        if "key_tokens" not in found:
            carried = self._carried("context") or self._carried("K") or self._carried("V") or self._carried("scores", across=True)
            if carried:
                found["key_tokens"] = carried
        return found

    def _carried(self, key: str, *, across: bool = False) -> tuple[str, ...] | None:
        value = self.values.get(key)
        if value is None:
            return None
        return value.header if across != self.columns else value.labels

    def _labels(self, key: str) -> tuple[str, ...]:
        value, node = self.values[key], self.values[key].node
        if not isinstance(node, Items):
            raise value.error(f"found {value.describe()}, expected a list of labels such as [the, cat]", key)
        labels = []
        for index, item in enumerate(node.items):
            if not isinstance(item, Scalar):
                mend = "put a label that holds ': ' or { or [ in quotes" if isinstance(item, Pairs) else "write one flat list"
                raise value.error(f"found {describe(item)}, expected one label; {mend}", key, (index,))
            labels.append(item.text)
        return tuple(labels)
