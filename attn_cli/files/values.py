"""What stands under one key, wherever it came from, and how it becomes an array."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attn_cli.engine.arrays import all_finite
from attn_cli.errors import InputError, Place
from attn_cli.files.cells import all_plain, is_plain, number, show
from attn_cli.files.rows import Rows, Unusual
from attn_cli.files.tree import Items, Node, Pairs, Scalar, describe

Array = NDArray[Any]
Cell = tuple[int, ...]
_TRUTH = r"(?i)(true|1(?:\.0*)?)|false|0(?:\.0*)?"


class Value(NamedTuple):
    """The text under a key with its places, or the array of a binary file."""

    node: Node | Array
    file: str
    """As messages name it."""
    decimal: str = "."
    labels: tuple[str, ...] | None = None
    """Of the rows, where a CSV has them."""
    header: tuple[str, ...] | None = None
    option: bool = False
    """Given on the command line: `file` is the option's name."""

    def place(self, cell: Cell = ()) -> Place:
        """Where the value, or a cell of it, stands."""
        node = self.node
        if self.option or isinstance(node, np.ndarray):
            return Place(self.file)
        if len(cell) == 1 and isinstance(node, Items) and (rows := [row for row in node.items if isinstance(row, Items)]) == node.items:
            if len(rows) == 1:  # a vector written as one row
                cell = (0, *cell)
            elif all(len(row.items) == 1 for row in rows):  # or as one column
                cell = (*cell, 0)
        for index in cell:
            if not isinstance(node, Items) or index >= len(node.items):
                break
            node = node.items[index]
        return Place(self.file, node.line or None, node.column or None)

    def describe(self) -> str:
        """What was found here, as messages say it."""
        return "an array" if isinstance(self.node, np.ndarray) else describe(self.node)

    def error(self, message: str, key: str, cell: Cell = ()) -> InputError:
        """An input error about this value; an option names itself, so the key is left out."""
        return InputError(message, key=None if self.option else key, cell=cell or None, place=self.place(cell))


def as_numbers(
    value: Value, key: str, axes: tuple[int, ...], *, nan: bool = False, minus_infinity: bool = False
) -> tuple[Array, Mapping[Cell, str]]:
    """The array of a matrix or vector, and the text of those cells that are no plain decimals."""
    if isinstance(value.node, np.ndarray):
        array, written = _from_array(value.node, value, key), dict[Cell, str]()
    elif (plain_rows := _joined(value.node)) is not None:
        array, written = plain_rows, {}
    else:
        shape = _shape(value, key, axes)
        cells = _cells(value, key, shape)
        texts = [cell.text for cell in cells]
        plain = all_plain(texts)
        array = np.array(list(map(float, texts)) if plain else [math.nan] * len(texts))
        written = {}
        # a zero or an infinity may have been too small or too large a number, so these are read one by one
        for position in np.flatnonzero(~np.isfinite(array) | (array == 0)):
            text = texts[position]
            try:
                array[position] = number(text, value.decimal)
            except InputError as error:
                raise value.error(error.message, key, _unravel(int(position), shape)) from None
            if not plain and not is_plain(text := text.strip()):
                written[_unravel(int(position), shape)] = text
        array = array.reshape(shape)
    if axes == (1,) and array.ndim == 2 and 1 in array.shape:
        array, written = array.reshape(-1), {(max(cell),): text for cell, text in written.items()}
    if array.ndim not in axes:
        raise value.error(_wrong_axes(array.shape, axes), key)
    if 0 in array.shape:
        raise value.error("holds no number; expected at least one row and one column", key)
    _check_finite(array, value, key, nan, minus_infinity)
    return array, {cell: text for cell, text in written.items() if np.isfinite(array[cell])}


def as_truths(value: Value, key: str) -> NDArray[np.bool_]:
    """A matrix of true/false or 1/0."""
    expected = "expected true or false, 1 or 0 in a mask; to add numbers to the scores (-inf hides a key) use bias"
    if isinstance(value.node, np.ndarray):
        array = value.node
        if array.dtype.kind not in "biuf" or array.ndim not in (1, 2, 3):
            raise value.error(f"found an array of {array.dtype} with {array.ndim} axes; {expected}", key)
        odd = (array != 0) & (array != 1)
        if odd.any():
            at = tuple(int(i) for i in np.argwhere(odd)[0])
            raise value.error(f"found {array[at]}; {expected}", key, at)
        return array.astype(bool)
    if (plain_rows := _joined(value.node)) is not None:
        if plain_rows.ndim > 3 or not all(rows.are_truths() for rows in _blocks(value.node)):
            raise Unusual(expected)
        return plain_rows.astype(bool)
    shape = _shape(value, key, (1, 2, 3))
    flat = []
    for position, cell in enumerate(_cells(value, key, shape)):
        match = re.fullmatch(_TRUTH, cell.text)
        if match is None:
            raise value.error(f"found {show(cell.text)}; {expected}", key, _unravel(position, shape))
        flat.append(match.group(1) is not None)
    if not flat:
        raise value.error(f"holds nothing; {expected}", key)
    return np.array(flat, dtype=bool).reshape(shape)


# ---- shapes


def _shape(value: Value, key: str, axes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that the first row of each level promises."""
    node = value.node
    assert not isinstance(node, np.ndarray)
    if isinstance(node, Pairs):
        raise value.error(f"found a mapping, expected {_wanted(axes)}", key)
    if isinstance(node, Scalar):
        if not node.quoted and describe(node) == "nothing":
            raise value.error(f"found nothing, expected {_wanted(axes)}; leave the key out if it is not given", key)
        raise value.error(f"found {show(node.text)}, expected {_wanted(axes)}{_pasted(node)}", key)
    shape: list[int] = []
    level: Node = node
    while isinstance(level, Items):
        shape.append(len(level.items))
        if not level.items:
            break
        level = level.items[0]
    if len(shape) not in axes and not (axes == (1,) and len(shape) == 2 and 1 in shape):
        if len(shape) == 1 and any(isinstance(item, Items) for item in node.items):
            odd = node.items[0]
            raise value.error(f"row 1 is {describe(odd)}, expected a list of numbers, as in the other rows", key, (0,))
        raise value.error(_wrong_axes(tuple(shape), axes), key)
    return tuple(shape)


def _wrong_axes(shape: tuple[int, ...], axes: tuple[int, ...]) -> str:
    if len(shape) == 1 and 1 not in axes:
        return f"found a flat list of {shape[0]}, expected {_wanted(axes)}; one row is written with double brackets, [[1, 0]]"
    if not shape:
        return f"found a single number, expected {_wanted(axes)}"
    return f"found {' × '.join(map(str, shape))} numbers in lists {len(shape)} deep, expected {_wanted(axes)}; take brackets away"


def _wanted(axes: tuple[int, ...]) -> str:
    return "a list such as [1, 0]" if axes == (1,) else "a matrix, a list of rows such as [[1, 0], [0, 1]]"


def _pasted(node: Scalar) -> str:
    if re.match(r"\s*(\[|tensor|array|np\.|torch\.)", node.text):
        return "; a printed array was pasted as text: write the bare rows, with commas between numbers and between rows"
    return ", or the name of a file beside this one"


def _cells(value: Value, key: str, shape: tuple[int, ...]) -> list[Scalar]:
    """All cells in order, if every row is as long as the first."""
    cells: list[Scalar] = []

    def walk(node: Node, depth: int, at: Cell) -> None:
        if depth == len(shape):
            if not isinstance(node, Scalar):
                raise value.error(f"found {describe(node)}, expected a number", key, at)
            cells.append(node)
            return
        if not isinstance(node, Items):
            what = "a list of numbers, as in the other rows" if depth == len(shape) - 1 else "a list of rows"
            raise value.error(f"found {describe(node)} where a row belongs; expected {what}", key, at)
        if len(node.items) != shape[depth]:
            raise value.error(_ragged(value, key, node, shape, depth), key, at)
        if depth == len(shape) - 1 and all(type(item) is Scalar for item in node.items):
            cells.extend(node.items)  # type: ignore[arg-type]
            return
        for index, item in enumerate(node.items):
            walk(item, depth + 1, (*at, index))

    assert not isinstance(value.node, np.ndarray)
    walk(value.node, 0, ())
    return cells


def _ragged(value: Value, key: str, row: Items, shape: tuple[int, ...], depth: int) -> str:
    first: Node = value.node  # type: ignore[assignment]
    for _ in range(depth):
        assert isinstance(first, Items)
        first = first.items[0]
    assert isinstance(first, Items)
    longer = row if len(row.items) > len(first.items) else first
    what = "number" if depth == len(shape) - 1 else "row"
    count = f"{len(row.items)} {what}" + ("" if len(row.items) == 1 else "s")
    hint = _decimal_comma(longer) if depth == len(shape) - 1 and not key.startswith("mask") else ""
    return f"this row has {count}, the first has {shape[depth]}; every row needs as many{hint}"


def _decimal_comma(row: Items) -> str:
    """The likely cause of a row that is too long: `1,5` is two cells."""
    for left, right in zip(row.items, row.items[1:], strict=False):
        if (
            isinstance(left, Scalar)
            and isinstance(right, Scalar)
            and re.fullmatch(r"[-+−]?[0-9]+", left.text)
            and re.fullmatch(r"[0-9]+(?:[eE][-+]?[0-9]+)?", right.text)
            and left.line == right.line
            and left.column + len(left.text) + 1 == right.column
        ):
            return f" (the comma separates cells: is {left.text},{right.text} meant as {left.text}.{right.text}?)"
    return ""


def _unravel(position: int, shape: tuple[int, ...]) -> Cell:
    return tuple(int(i) for i in np.unravel_index(position, shape))


# ---- rows that were read all at once


def _joined(node: Node) -> Array | None:
    """The array of a node that is made of `Rows`, in memory of its own (an alias may use the rows again); None without any."""
    if isinstance(node, Rows):
        return np.array(node.array[0])
    if not isinstance(node, Items):
        return None
    if rows := [item for item in node.items if isinstance(item, Rows)]:
        if len(rows) < len(node.items) or len({part.array.shape[1] for part in rows}) > 1:
            raise Unusual("rows of several kinds")
        return np.concatenate([part.array for part in rows])
    inner = [_joined(item) for item in node.items if isinstance(item, Items)]
    parts: list[Array] = [part for part in inner if part is not None]
    if not parts:
        return None
    if len(parts) < len(node.items) or len({part.shape for part in parts}) > 1:
        raise Unusual("lists of several kinds")
    return np.stack(parts)


def _blocks(node: Node) -> Iterator[Rows]:
    if isinstance(node, Rows):
        yield node
    elif isinstance(node, Items):
        for item in node.items:
            yield from _blocks(item)


# ---- arrays from binary files


def _from_array(array: Array, value: Value, key: str) -> Array:
    if array.dtype.kind not in "iuf":
        kind = {"b": "true/false", "c": "complex numbers", "U": "texts", "S": "texts"}.get(array.dtype.kind, f"type {array.dtype}")
        raise value.error(f"found an array of {kind}, expected real numbers", key)
    with np.errstate(over="ignore"):  # of a longer type; the infinity that remains is refused
        return np.require(array, float, ["ALIGNED", "WRITEABLE"])


def _check_finite(array: Array, value: Value, key: str, nan: bool, minus_infinity: bool) -> None:
    if all_finite(array):
        return
    finite = np.isfinite(array)
    fine = finite | (np.isnan(array) if nan else False) | (np.isneginf(array) if minus_infinity else False)
    if np.all(fine):
        return
    at = tuple(int(i) for i in np.argwhere(~fine)[0])
    found = "nan" if np.isnan(array[at]) else "inf" if array[at] > 0 else "-inf"
    if key in ("scores", "bias") and found != "nan":
        mend = "only -inf has a meaning, and only in bias, where it hides a key"
    else:
        mend = "an empty place in a matrix has no value: write a number" if found == "nan" else "only bias may hold -inf"
    raise value.error(f"found {found}, expected a finite number{' or -inf' if minus_infinity else ''}; {mend}", key, at)
