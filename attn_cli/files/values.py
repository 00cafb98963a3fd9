"""What stands under one key, wherever it came from, and how it becomes an array."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from attn_cli.engine.arrays import Array, Cell
from attn_cli.engine.keys import Key, judge
from attn_cli.errors import InputError, Place
from attn_cli.files.cells import all_plain, is_plain, number, show
from attn_cli.files.tree import Grid, Items, Node, Pairs, Scalar, Tree, describe

_TRUTH = r"(?i)(true|1(?:\.0*)?)|false|0(?:\.0*)?"
_NO_TRUTH = re.compile(r"(?<![0-9.])(?![01](?:\.0*)?(?![0-9.eE]))[0-9.]|[^0-9.\[\],; \t\n-]|-(?! )")
"""A number other than 0 and 1 (`1.0`, too), or what stands neither in a number nor between two."""


class Value(NamedTuple):
    """What stands under one key or in a file of its own: text with its places, or the array of a binary file."""

    node: Tree
    file: str
    """The source, as messages name it."""
    decimal: str = "."
    labels: tuple[str, ...] | None = None
    """Names of the rows, where a CSV has them."""
    header: tuple[str, ...] | None = None
    option: bool = False
    """Given on the command line: `file` is the option's name."""
    by_step: bool = False
    """The keys of its mapping are the names of steps: a CSV that `attn compute` wrote."""

    def place(self, cell: Cell = ()) -> Place:
        """Where the value, or a cell of it, stands."""
        node = self.node
        if self.option or isinstance(node, np.ndarray):
            return Place(self.file)
        for index in _of_vector(cell, node) if len(cell) == 1 else cell:
            if not isinstance(node, Items) or index >= len(node.items):
                break
            node = node.items[index]
        return Place(self.file, node.line or None, node.column or None)

    def describe(self) -> str:
        """What was found here, as messages say it."""
        return describe(self.node)

    def error(self, message: str, key: str, cell: Cell = ()) -> InputError:
        """An input error about this value; an option names itself, so the key is left out."""
        return InputError(message, key=None if self.option else key, cell=cell or None, place=self.place(cell))

    def located(self, error: InputError, axes: int = 0) -> InputError:
        """An error about this value with its place. Its array has `axes`; where the cell counts fewer, the first are of length one."""
        cell = error.cell or ()
        place = self.place((0,) * (axes - len(cell)) + cell if cell and len(cell) > 1 else cell)
        return InputError(error.message, key=None if self.option else error.key, cell=error.cell, place=place)


def _of_vector(cell: Cell, node: Node) -> Cell:
    """A cell of a vector as it stands in lists of lists, where the vector is written as one row or one column."""
    rows = node.items if isinstance(node, Items) else []
    lengths = [len(row.items) for row in rows if isinstance(row, Items)]
    if not rows or len(lengths) < len(rows):
        return cell
    if len(rows) == 1:
        return (0, *cell)
    return (*cell, 0) if set(lengths) == {1} else cell


def as_numbers(value: Value, row: Key) -> tuple[Array, Mapping[Cell, str]]:
    """The array of a matrix or vector, and the text of those cells that are no plain decimals."""
    array, written = _whole(value.node), dict[Cell, str]()
    if array is None:
        array, written = _worked_out(value, row.name, _shape(value, row.name, row.axes))
    elif isinstance(value.node, Items) and array.ndim not in row.axes and not array.ndim == max(row.axes) + 1 > 2:
        raise value.error(_wrong_axes(array.shape, row.axes), row.name)
    elif array.dtype.kind in "iuf":
        with np.errstate(over="ignore"):  # of a longer type; the infinity that remains is refused
            array = np.require(array, float, ["ALIGNED", "WRITEABLE"])
    try:
        judged: Array = judge(row, array)
    except InputError as error:
        raise value.located(error, array.ndim) from None
    if judged.ndim == 1 < array.ndim:
        written = {(max(cell),): text for cell, text in written.items()}
    elif judged.ndim < array.ndim:  # a batch axis of length one was dropped
        written = {cell[array.ndim - judged.ndim :]: text for cell, text in written.items()}
    return judged, {cell: text for cell, text in written.items() if np.isfinite(judged[cell])}


def _worked_out(value: Value, key: str, shape: tuple[int, ...]) -> tuple[Array, dict[Cell, str]]:
    """Texts as numbers, and those texts that are no plain decimals."""
    texts = [cell.text for cell in _cells(value, key, shape)]
    plain = all_plain(texts)
    array = np.array(list(map(float, texts)) if plain else [math.nan] * len(texts))
    written: dict[Cell, str] = {}
    # a zero or an infinity may have been too small or too large a number, so these are read one by one
    for position in np.flatnonzero(~np.isfinite(array) | (array == 0)):
        text = texts[position]
        try:
            array[position] = number(text, value.decimal)
        except InputError as error:
            raise value.error(error.message, key, _unravel(int(position), shape)) from None
        if not plain and not is_plain(text := text.strip()):
            written[_unravel(int(position), shape)] = text
    return array.reshape(shape), written


def as_truths(value: Value, row: Key) -> Array:
    """A matrix of true/false or 1/0."""
    expected = "expected true or false, 1 or 0 in a mask; to add numbers to the scores (-inf masks a key) use bias"
    array = _whole(value.node, truths=True)
    if array is None:
        shape = _shape(value, row.name, row.axes)
        flat = []
        for position, cell in enumerate(_cells(value, row.name, shape)):
            match = re.fullmatch(_TRUTH, cell.text)
            if match is None:
                raise value.error(f"found {show(cell.text)}; {expected}", row.name, _unravel(position, shape))
            flat.append(match.group(1) is not None)
        array = np.array(flat, dtype=bool).reshape(shape)
    try:
        judged: Array = judge(row, array)
    except InputError as error:
        raise value.located(error) from None
    return judged


def _whole(node: Tree, truths: bool = False) -> Array | None:
    """The array of a node that was read as one, or is a list of such; None where its cells are texts."""
    if isinstance(node, np.ndarray):
        return node
    if isinstance(node, Grid):
        return None if truths and _NO_TRUTH.search(node.source, node.start, node.end) else node.array
    if not isinstance(node, Items) or not any(isinstance(item, Grid) for item in node.items):
        return None
    parts = [_whole(item, truths) for item in node.items]
    arrays = [part for part in parts if part is not None]
    return np.stack(arrays) if len(arrays) == len(parts) and len({part.shape for part in arrays}) == 1 else None


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
    shape = _first_lengths(node)
    batched = len(shape) == max(axes) + 1 > 2
    if len(shape) not in axes and not batched and not (axes == (1,) and len(shape) == 2 and 1 in shape):
        if len(shape) == 1 and any(isinstance(item, Items) for item in node.items):
            odd = node.items[0]
            raise value.error(f"row 1 is {describe(odd)}, expected a list of numbers, as in the other rows", key, (0,))
        raise value.error(_wrong_axes(tuple(shape), axes), key)
    return tuple(shape)


def _first_lengths(node: Node) -> list[int]:
    """How long the first list of each level is."""
    shape = list[int]()
    while isinstance(node, Items):
        shape.append(len(node.items))
        if not node.items:
            break
        node = node.items[0]
    return shape


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
