"""Someone's worked numbers: YAML, JSON, NPZ, a CSV named after its step, or a folder of those. They stay text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from attn_cli.engine.notes import Note
from attn_cli.engine.steps import MAY_BE_MASKED
from attn_cli.errors import InputError, Place
from attn_cli.files import keys
from attn_cli.files.cells import is_empty, read
from attn_cli.files.gather import TABLE_SUFFIXES, TREE_SUFFIXES, Reading, files_in, read_matrix, read_tree
from attn_cli.files.text import ZIP_MAGIC, decode, read_bytes, shown
from attn_cli.files.tree import Items, Node, Pairs, Scalar, describe, twice
from attn_cli.files.values import Cell, Value

if TYPE_CHECKING:
    from attn_cli.files.text import Data


class Answers(NamedTuple):
    """One submission."""

    source: str
    steps: Mapping[str, Value]
    """By step, in the order handed in: nested lists of text cells, or an array from an NPZ."""
    notes: tuple[Note, ...] = ()


def read_answers(path: str, *, encoding: str | None = None, decimal: str | None = None, allow_outside: bool = False) -> Answers:
    """Read one submission. Raises InputError for an unknown step, an unreadable cell, or when nothing is given."""
    reading = Reading(encoding, decimal)
    notes: list[Note] = []
    steps: dict[str, Value] = {}
    if Path(path).is_dir():
        for entry in files_in(Path(path)):
            _merge(steps, _file(str(entry), reading, notes), str(entry))
    else:
        steps = _file(path, reading, notes)
    steps = dict(checked_answers(steps))
    if not any(_says_something(value.node) for value in steps.values()):
        raise InputError("holds no answer; expected at least one number under a step, such as weights:", place=Place(shown(path)))
    return Answers(shown(path), steps, tuple(notes))


def checked_answers(steps: Mapping[str, Value]) -> Mapping[str, Value]:
    """The same answers, if every cell that is given can be read."""
    for step, value in steps.items():
        if isinstance(value.node, np.ndarray):
            if value.node.dtype.kind not in "iuf":
                raise value.error(f"found an array of type {value.node.dtype}, expected real numbers", step)
        else:
            _check(value, value.node, step, ())
    return steps


def _check(value: Value, node: Node, step: str, cell: Cell) -> None:
    if isinstance(node, Items):
        for index, item in enumerate(node.items):
            _check(value, item, step, (*cell, index))
    elif isinstance(node, Pairs):
        raise value.error(f"found {describe(node)}, expected a number", step, cell)
    elif not is_empty(node.text):
        try:
            read(node.text, percent=True, decimal=value.decimal)
        except InputError as error:
            raise value.error(error.message, step, cell) from None


def _says_something(node: object) -> bool:
    if isinstance(node, Items):
        return not node.items or any(_says_something(item) for item in node.items)
    return not (isinstance(node, Scalar) and is_empty(node.text))


def _file(path: str, reading: Reading, notes: list[Note]) -> dict[str, Value]:
    suffix = Path(path).suffix.lower()
    data = read_bytes(path)
    if suffix in TABLE_SUFFIXES and (tables := _tables(data, path, reading)):
        return tables
    if suffix in TABLE_SUFFIXES or suffix == ".npy":
        return {_step(Path(path).stem, Place(path)): read_matrix(path, reading, notes, answers=True)}
    if data[: len(ZIP_MAGIC)] == ZIP_MAGIC or suffix == ".npz":
        from attn_cli.files.arrays import parse_npz

        return {_step(name, Place(path)): Value(array, path) for name, array in parse_npz(data, path).items()}
    file = shown(path)
    tree = read_tree(data, path, reading)
    if isinstance(tree, Items) and keys.canonical(Path(path).stem, keys.STEPS) and suffix in TREE_SUFFIXES:
        return {_step(Path(path).stem, Place(path)): Value(tree, file, reading.sign)}
    if not isinstance(tree, Pairs):
        raise InputError(f"found {describe(tree)}, expected steps such as weights:", place=Place(file, tree.line, tree.column))
    if (steps := tree.get("steps")) is not None and tree.get("attn") is not None:
        return _computed(steps, file, reading)
    inner = tree.get("answers")
    return _named(inner if isinstance(inner, Pairs) else tree, path, reading, notes)


def _named(tree: Pairs, path: str, reading: Reading, notes: list[Note]) -> dict[str, Value]:
    """Steps by name, as a person writes them; a step may name a file beside this one."""
    file = shown(path)
    found: dict[str, Value] = {}
    spelled: dict[str, Scalar] = {}
    for key, node in tree:
        step = _step(key.text, Place(file, key.line, key.column))
        if step in spelled:
            raise twice(key, spelled[step], file)
        spelled[step] = key
        if isinstance(node, Scalar) and node.text.lower().endswith((*TABLE_SUFFIXES, ".npy")):
            found[step] = read_matrix(str(Path(path).parent / node.text), reading, notes, answers=True)
        else:
            found[step] = Value(node, file, reading.sign)
    return found


def _computed(steps: Node, file: str, reading: Reading) -> dict[str, Value]:
    """What `attn compute` wrote as JSON or YAML: a list of steps, each with a name and a value."""
    found: dict[str, Value] = {}
    for step in steps.items if isinstance(steps, Items) else []:
        name, value = (step.get("name"), step.get("value")) if isinstance(step, Pairs) else (None, None)
        if not isinstance(name, Scalar) or value is None:
            raise InputError("a step here lacks its name or its value", place=Place(file, step.line, step.column))
        node = _closed(value) if name.text in MAY_BE_MASKED else value
        found[_step(name.text, Place(file, name.line, name.column))] = Value(node, file, reading.sign)
    return found


def _closed(value: Node) -> Node:
    """A score that our JSON has as null is masked: there is no infinity in JSON."""
    if isinstance(value, Items):
        return Items([_closed(item) for item in value.items], value.line, value.column)
    if isinstance(value, Scalar) and value.text == "null":
        return Scalar("-inf", value.line, value.column)
    return value


def _tables(data: Data, path: str, reading: Reading) -> dict[str, Value]:
    """What `attn compute` wrote as CSV: tables with an empty corner, above each a line that names its step (and its head).

    Empty for any other CSV. A spreadsheet may have padded the lines, or changed the separator and the decimal sign.
    """
    from attn_cli.files import csv_table

    text, group = decode(data, path, reading.encoding).lstrip(), ""
    lines = text.split("\n", 2)
    if len(lines) < 3 or lines[1][:1] not in (",", ";", "\t"):
        return {}
    separator, file = lines[1][0], shown(path)
    if keys.canonical(lines[0].split(separator)[0], keys.STEPS) is None:
        return {}
    sign = reading.sign if separator == "," else ","
    found: dict[str, Value] = {}
    rows = [row for row in csv_table.split(text, separator, file) if any(cell.text for cell in row)]
    heads = [i for i in range(len(rows) - 1) if _names_table(rows[i], rows[i + 1])]
    for first, end in zip(heads, [*heads[1:], len(rows)], strict=True):
        name, *which = [cell for cell in rows[first] if cell.text]
        step = _step(name.text, Place(file, name.line, name.column))
        width = max((k for k, cell in enumerate(rows[first + 1]) if cell.text), default=0) + 1
        items: list[Node] = [Items(list(row[1:width]), row[0].line, row[0].column) for row in rows[first + 2 : end]]
        if step == "row_sums":  # a number a row, not a row of one
            items = [cell for row in items if isinstance(row, Items) for cell in row.items]
        table = Items(items, name.line, name.column)
        if not which:
            found[step] = Value(table, file, sign)
            continue
        outer = found.setdefault(step, Value(Items([], name.line, name.column), file, sign)).node
        assert isinstance(outer, Items)
        if len(which) > 1:  # a head of its own
            if which[0].text != group:
                outer.items.append(Items([], name.line, name.column))
            inner = outer.items[-1]
            assert isinstance(inner, Items)
            outer = inner
        group = which[0].text
        outer.items.append(table)
    return found


def _names_table(row: Sequence[Scalar], header: Sequence[Scalar]) -> bool:
    """Whether a line names a step, with a table's header under it."""
    return not header[0].text and keys.canonical(row[0].text, keys.STEPS) is not None and not any(_reads(c.text) for c in row[1:])


def _reads(text: str) -> bool:
    try:
        read(text, percent=True)
    except InputError:
        return False
    return True


def _merge(steps: dict[str, Value], more: Mapping[str, Value], path: str) -> None:
    for step, value in more.items():
        if step in steps:
            raise InputError(f"{step} is given a second time; {steps[step].file} has it already: keep one of the two", place=Place(path))
        steps[step] = value


def _step(name: str, place: Place) -> str:
    step = keys.canonical(name, keys.STEPS)
    if step is None:
        raise InputError(keys.unknown(name, list(keys.STEPS), "step"), place=place)
    return step
