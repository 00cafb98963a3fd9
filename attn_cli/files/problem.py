"""From files and options to a Problem. The rest of the program knows nothing of where its numbers came from.

First everything is gathered as text with places (`given`), then turned into numbers, key by key as its row in KEYS says.
The texts are kept, so that what a later stage finds wrong with a value can be shown at its place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from attn_cli.engine.arrays import Array, Cell
from attn_cli.engine.keys import Key, judge
from attn_cli.engine.notes import Note
from attn_cli.engine.problem import KEYS, MASK_PARTS, Mask, Problem, row_of
from attn_cli.errors import InputError, Place
from attn_cli.files.cells import is_empty, is_plain, number, show
from attn_cli.files.given import gather, parameters
from attn_cli.files.sources import Reading, shown
from attn_cli.files.step_names import step_of, unknown_step
from attn_cli.files.tree import Items, Pairs, Scalar, depth, describe
from attn_cli.files.values import Value, as_numbers, as_truths
from attn_cli.names import did_you_mean, how_to_write


class Loaded(NamedTuple):
    """A problem, and what its source said besides."""

    problem: Problem
    answers: Mapping[str, Value]
    """Someone's worked numbers by step, as text in the file's layout; empty when there are none."""
    source: str
    """What messages call the source."""
    values: Mapping[str, Value]
    """What was given under each key, with its places."""
    files: tuple[str, ...]
    """Every file that was read for it."""

    def locate(self, error: InputError) -> InputError:
        """The error with the file, line and column of its key and cell; cells are then shown in the file's layout."""
        if error.place is not None:
            return error
        whole = error.at(Place(self.source)) if self.source else error
        if error.key is None:
            return whole
        value = self.values.get(error.key) or next((v for key, v in self.values.items() if key.startswith(error.key + ".")), None)
        if value is None:
            return whole
        cell, row = error.cell, row_of(error.key)
        if cell is not None and len(cell) >= 2 and self.problem.columns and row is not None and row.turns:
            cell = (*cell[:-2], cell[-1], cell[-2])
        return InputError(error.message, key=None if value.option else error.key, cell=cell, place=value.place(cell or ()))


def read_problem(
    source: str | None,
    *,
    matrices: Mapping[str, str] | None = None,
    settings: Mapping[str, str] | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    allow_outside: bool = False,
) -> Loaded:
    """Read a problem from a file, a folder or `-`, with single matrices and settings from options, which win."""
    reading = Reading(encoding, decimal, allow_outside)
    given = gather(source, matrices or {}, settings or {}, reading)
    return loaded_from(given.values, shown(source) if source else "", reading)


def loaded_from(values: Mapping[str, Value], source: str, reading: Reading) -> Loaded:
    """The problem that the values make, and the answers among them."""
    answers: Mapping[str, Value] = {key.partition(".")[2]: value for key, value in values.items() if key.startswith("answers.")}
    if answers:
        from attn_cli.files.answers import checked

        answers = checked(answers)
    return Loaded(_Builder(values).problem(reading.notes), answers, source, values, tuple(reading.files))


class _Builder:
    """Turns gathered values into the fields of a Problem, in row layout."""

    def __init__(self, values: Mapping[str, Value]):
        self.values = values
        self.written: dict[tuple[str, Cell], str] = {}
        self.notes: list[Note] = []
        self.columns = "vectors" in values and self._word(KEYS["vectors"]) == "columns"
        self.of_kind: Mapping[str, Callable[[Key], Any]] = {
            "text": self._title,
            "word": self._word,
            "number": self._number,
            "whole": self._whole,
            "matrix": self._matrix,
            "steps": self._steps,
        }
        """How the value of each kind of key is read; labels, the mask and a score function's arrays come from several places."""

    def problem(self, notes: list[Note]) -> Problem:
        fields: dict[str, Any] = {}
        identities = [name for name in KEYS if name in self.values and self._is_identity(name)]
        for name, row in KEYS.items():
            if name in self.values and name not in identities and row.kind in self.of_kind:
                fields[name] = self.of_kind[row.kind](row)
        for name in identities:
            fields[name] = self._identity(name, fields)
        fields["parameters"] = self._parameters()
        fields["mask"] = self._mask()
        fields.update(self._tokens())
        if self.columns and "weights_layout" in self.values:
            raise self.values["weights_layout"].error(
                "has no place beside vectors: columns, where W_Q is always stored as h·d_k × d_model; leave it out", "weights_layout"
            )
        notes = [*notes, *self.notes]
        if "score" not in self.values:  # was it forgotten?
            notes = [*notes, *(Note("parameters_unused", {"name": name}) for name in fields["parameters"])]
        return Problem(**fields, written=self.written, notes=tuple(notes))

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

    def _title(self, row: Key) -> str:
        value, node = self.values[row.name], self.values[row.name].node
        if isinstance(node, Scalar):
            return " ".join(node.text.split()) if not is_empty(node.text) or node.quoted else ""
        raise value.error(f"found {value.describe()}, expected a text", row.name)

    def _word(self, row: Key) -> str:
        value = self.values[row.name]
        if row.name == "score" and isinstance(value.node, Items):
            raise value.error("found a list, expected the name of a score function; a matrix of scores is called scores", row.name)
        text = self._text(row.name, row.expected)
        return str(self._judged(row, text, show(text), value))

    def _number(self, row: Key) -> float:
        value = self.values[row.name]
        text = self._text(row.name, "a number")
        try:
            found = number(text, value.decimal)
        except InputError as error:
            raise value.error(error.message, row.name) from None
        result: float = self._judged(row, found, show(text), value)
        if not is_plain(text):
            self.written[row.name, ()] = text
        return result

    def _whole(self, row: Key) -> int:
        return self._whole_number(self.values[row.name], row, self._text(row.name, row.expected))

    def _whole_number(self, value: Value, row: Key, text: str) -> int:
        try:
            exact = text.lstrip("+-").isdecimal() and text.isascii()
            found = int(text) if exact and len(text) < 40 else number(text, value.decimal)
        except InputError as error:
            raise value.error(error.message.replace("expected a number", f"expected {row.expected}"), row.name) from None
        result: int = self._judged(row, found, show(text), value)
        return result

    def _judged(self, row: Key, found: Any, text: str, value: Value) -> Any:
        """What the row of a key makes of a value that was read from a text."""
        try:
            return judge(row, found, text)
        except InputError as error:
            raise value.error(error.message, row.name) from None

    def _steps(self, row: Key) -> tuple[str, ...]:
        """The names of steps, each given by its name or symbol."""
        value, node = self.values[row.name], self.values[row.name].node
        items = node.items if isinstance(node, Items) else [node]
        found = list[str]()
        for index, item in enumerate(items):
            if not isinstance(item, Scalar) or is_empty(item.text):
                raise value.error(f"found {describe(item)}, expected {row.expected}", row.name)
            word = item.text.strip()
            step = step_of(word)
            if step is None:
                raise value.error(unknown_step(word), row.name, (index,) if isinstance(node, Items) else ())
            found.append(step)
        if not found:
            raise value.error(f"found an empty list, expected {row.expected}", row.name)
        return tuple(dict.fromkeys(found))

    # ---- arrays

    def _matrix(self, row: Key) -> Array:
        array, written = as_numbers(self.values[row.name], row)
        return self._turned(row, self.values[row.name], array, written)

    def _turned(self, row: Key, value: Value, array: Array, written: Mapping[Cell, str]) -> Array:
        """The array with one token a row, and its texts kept under the cells that it then has."""
        if depth(value.node) > max(array.ndim, 2):
            self.notes.append(Note("batch_dropped", {"name": row.name}))
        turn = self.columns and row.turns and array.ndim >= 2
        for cell, text in written.items():
            self.written[row.name, (*cell[:-2], cell[-1], cell[-2]) if turn else cell] = text
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
        for score, names in parameters().items():
            for name in names:
                if (key := f"{score}.{name}") in self.values:
                    row = row_of(key)
                    assert row is not None
                    array, written = as_numbers(self.values[key], row)
                    found.setdefault(score, {})[name] = self._turned(row, self.values[key], array, written)
        return found

    # ---- mask

    def _mask(self) -> Mask | None:
        given = {key: value for key, value in self.values.items() if key == "mask" or key.startswith("mask.")}
        if not given:
            return None
        fields: dict[str, Any] = {}
        for key, value in given.items():
            part = key.partition(".")[2] or "keep"
            row = MASK_PARTS[part]
            if key == "mask" and isinstance(value.node, Scalar):
                fields["causal"] = self._causal(value)
            elif row.kind == "truths":
                fields[part] = self._turned(row, value, as_truths(value, row._replace(name=key)), {})
            elif row.kind == "truth":
                fields[part] = self._truth(value, row)
            elif row.kind == "window":
                fields[part] = self._window(value, key)
            else:
                fields[part] = self._whole_number(value, row, self._text(key, "one whole number"))
        return Mask(**fields)

    def _causal(self, value: Value) -> bool:
        """A mask that is one word."""
        forms = "causal" if value.option else "causal, a matrix of 1 and 0, a mapping, or the name of a file"
        text = self._text("mask", forms)
        if text.lower() != "causal":
            if way := how_to_write(text):
                raise value.error(f"found {show(text)}: {way}", "mask")
            near = did_you_mean(text, ("causal",))
            mend = "; any other mask stands in the problem's file, as in mask: mask.csv" if value.option and not near else ""
            raise value.error(f"found {show(text)}{near}, expected {forms}{mend}", "mask")
        return True

    def _truth(self, value: Value, row: Key) -> bool:
        text = self._text(row.name, row.expected).lower()
        if text not in ("true", "false", "1", "0"):
            raise value.error(f"found {show(text)}, expected true or false", row.name)
        return text in ("true", "1")

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
        found = {key: self._labels(key) for key, row in KEYS.items() if row.kind == "labels" and key in self.values}
        if "tokens" not in found and "query_tokens" not in found:
            of_inputs = self._carried("X", "Q")
            if of_inputs and "X" in self.values and "key_tokens" not in found:
                found["tokens"] = of_inputs
            elif of_queries := of_inputs or self._carried("scores"):
                found["query_tokens"] = of_queries
        if "key_tokens" not in found and (of_keys := self._carried("context", "K", "V") or self._carried("scores", across=True)):
            found["key_tokens"] = of_keys
        return found

    def _carried(self, *keys: str, across: bool = False) -> tuple[str, ...] | None:
        """The labels of tokens that the file of the first of these carries."""
        values = [self.values[key] for key in keys if key in self.values]
        return next((labels for value in values if (labels := value.header if across != self.columns else value.labels)), None)

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
