"""Someone's worked numbers: YAML, JSON, NPZ, a CSV named after its step, or a folder of those. They stay text."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from attn_cli.engine.notes import Note
from attn_cli.engine.problem import known_keys
from attn_cli.engine.steps import MAY_BE_MASKED
from attn_cli.errors import InputError, Place
from attn_cli.files import readers
from attn_cli.files.cells import is_not_given
from attn_cli.files.folders import files_in
from attn_cli.files.given import file_named
from attn_cli.files.readers import KEY_SUFFIXES, MATRIX_SUFFIXES, is_called
from attn_cli.files.sources import Reading, shown
from attn_cli.files.step_names import STEPS, step_of, unknown_step
from attn_cli.files.tree import Items, Pairs, Scalar, Tree, describe, twice
from attn_cli.files.values import Value
from attn_cli.names import canonical, did_you_mean


class Answers(NamedTuple):
    """One submission."""

    source: str
    steps: Mapping[str, Value]
    """By step, in the order handed in: nested lists of text cells, or an array from an NPZ."""
    notes: tuple[Note, ...] = ()
    files: tuple[str, ...] = ()
    """Every file that was read for it."""


def read_answers(
    path: str, *, encoding: str | None = None, decimal: str | None = None, allow_outside: bool = False, within: str | None = None
) -> Answers:
    """Read one submission. Raises InputError for an unknown step, a file that cannot be read, or when nothing is given.

    `within`: the folder of the class that it was found in, which a link may not lead out of; None where the user named it.
    """
    reading = Reading(encoding, decimal, allow_outside)
    if within is not None:
        try:
            reading.beside(within, os.path.relpath(path, within))
        except InputError as error:
            raise error.at(Place(path)) from None
    steps = _folder(path, reading) if os.path.isdir(path) else _file(path, reading, asked_for=within is None)
    return _answers(steps, shown(path), reading)


def answers_in(value: Value, folder: str, reading: Reading) -> Answers:
    """The submission in a mapping of steps; a step may name a file in the folder."""
    assert isinstance(value.node, Pairs)
    return _answers(_named(value.node, value, os.path.join(folder, ""), reading), value.file, reading)


def _answers(steps: Mapping[str, Value], source: str, reading: Reading) -> Answers:
    steps = dict(checked(steps))
    if not any(_says_something(value.node) for value in steps.values()):
        others = [str(name) for note in reading.notes if note.code == "answers_files_passed_over" for name in note.values["files"]]
        found = f" ({', '.join(others)}: named after no step)" if others else ""
        raise InputError(
            f"holds no answer{found}; expected at least one number under a step, such as weights:", place=Place(source) if source else None
        )
    return Answers(source, steps, tuple(reading.notes), tuple(reading.files))


def checked(steps: Mapping[str, Value]) -> Mapping[str, Value]:
    """The same answers, if nothing but numbers, texts and rows of them stands in them."""
    for step, value in steps.items():
        node = value.node
        if isinstance(node, np.ndarray):
            if node.dtype.kind not in "iuf":
                raise value.error(f"found an array of type {node.dtype}, expected real numbers", step)
        else:
            _check(value, node, step, 0)
    return steps


def _check(value: Value, node: Tree, step: str, depth: int) -> None:
    if isinstance(node, Items):
        for item in node.items:
            _check(value, item, step, depth + 1)
    elif isinstance(node, Pairs):
        if depth > 1:
            raise value._replace(node=node).error("found a mapping, expected a number", step)
        for label, row in node:  # rows by the names of their tokens
            if isinstance(row, Pairs):
                raise value._replace(node=row).error(f"found a mapping under {label.text}, expected a row of numbers", step)
            _check(value, row, step, depth + 1)


def _says_something(node: Tree) -> bool:
    if isinstance(node, Items):
        return not node.items or any(_says_something(item) for item in node.items)
    if isinstance(node, Pairs):
        return any(_says_something(row) for _, row in node)
    return not (isinstance(node, Scalar) and is_not_given(node.text))


# ------------------------------------------------------------------ sources
def _folder(folder: str, reading: Reading) -> dict[str, Value]:
    """The steps in the files of a folder; a note names the files that are none."""
    steps: dict[str, Value] = {}
    others: list[str] = []
    for name in files_in(folder):
        path = os.path.join(folder, name)
        stem = Path(name).stem
        if step_of(stem) is None and not is_called(name, KEY_SUFFIXES):
            is_input = canonical(stem, known_keys()) is not None
            if is_called(name, MATRIX_SUFFIXES) and not is_input and (near := did_you_mean(stem, STEPS)):
                raise InputError(f"there is no step {stem!r}{near}; rename the file, or take it out", place=Place(path))
            others.append(name)
            continue
        try:
            reading.beside(folder, name)
        except InputError as error:
            raise error.at(Place(path)) from None
        _merge(steps, _file(path, reading, asked_for=False), path)
    if others:
        reading.notes.append(Note("answers_files_passed_over", {"folder": folder, "files": tuple(others)}))
    return steps


def _file(path: str, reading: Reading, *, asked_for: bool) -> dict[str, Value]:
    """The steps in one file."""
    value, reader = readers.read(path, reading, "answers", asked_for=asked_for)
    tree, stem = value.node, step_of(Path(path).stem)
    if isinstance(tree, Pairs) and value.by_step:
        return {_step(name.text, value, name): value._replace(node=node, by_step=False) for name, node in tree}
    if reader.matrix and not reader.keys or (isinstance(tree, Items) and stem is not None):
        return {stem or _step(Path(path).stem, value, None): value}
    if not isinstance(tree, Pairs):
        raise value.error(f"found {describe(tree)}, expected steps such as weights:", "")
    if (steps := tree.get("steps")) is not None and tree.get("attn") is not None:
        return _computed(steps, value)
    inner = tree.get("answers")
    return _named(inner if isinstance(inner, Pairs) else tree, value, path, reading)


def _named(tree: Pairs, value: Value, path: str, reading: Reading) -> dict[str, Value]:
    """Steps by name, as a person writes them; a step may name a file beside this one."""
    found: dict[str, Value] = {}
    spelled: dict[str, Scalar] = {}
    for key, node in tree:
        step = _step(key.text, value, key)
        if step in spelled:
            raise twice(key, spelled[step], value.file)
        spelled[step] = key
        own = value._replace(node=node)
        named = file_named(node, own, os.path.dirname(path), reading) if isinstance(node, Scalar) else None
        found[step] = own if named is None else _from_file(named, own, step, reading)
    return found


def _from_file(path: str, value: Value, step: str, reading: Reading) -> Value:
    """The matrix in a file that a step names."""
    try:
        found, _ = readers.read(path, reading, "answers")
    except InputError as error:
        if os.path.exists(path):
            raise
        raise InputError(f"{error.message}; {value.place()} names it", place=error.place, key=step) from None
    if isinstance(found.node, Pairs):
        only = [node for _, node in found.node] if found.by_step else []
        if len(only) != 1:
            raise InputError("holds several steps, or a mapping; expected one matrix", key=step, place=Place(found.file))
        return found._replace(node=only[0], by_step=False)
    return found


def _computed(steps: Tree, value: Value) -> dict[str, Value]:
    """What `attn compute` wrote as JSON or YAML: a list of steps, each with a name and a value."""
    found: dict[str, Value] = {}
    for step in steps.items if isinstance(steps, Items) else []:
        name, numbers = (step.get("name"), step.get("value")) if isinstance(step, Pairs) else (None, None)
        if not isinstance(name, Scalar) or numbers is None:
            raise InputError("a step here lacks its name or its value", place=Place(value.file, step.line, step.column))
        if step_of(name.text) is None and isinstance(step, Pairs) and step.get("formula") is None:
            continue  # an input that --only named
        node = _closed(numbers) if name.text in MAY_BE_MASKED else numbers
        found[_step(name.text, value, name)] = value._replace(node=node)
    return found


def _closed(tree: Tree) -> Tree:
    """A score that our JSON has as null is masked: there is no infinity in JSON."""
    if isinstance(tree, Items):
        items = [_closed(item) for item in tree.items]
        return Items([item for item in items if not isinstance(item, np.ndarray)], tree.line, tree.column)
    if isinstance(tree, Scalar) and tree.text == "null":
        return Scalar("-inf", tree.line, tree.column)
    return tree


# ------------------------------------------------------------------ steps
def _merge(steps: dict[str, Value], more: Mapping[str, Value], path: str) -> None:
    for step, value in more.items():
        if step in steps:
            raise InputError(f"{step} is given a second time; {steps[step].file} has it already: keep one of the two", place=Place(path))
        steps[step] = value


def _step(name: str, value: Value, key: Scalar | None) -> str:
    """The step of a name. Raises InputError where there is none."""
    step = step_of(name)
    if step is None:
        place = Place(value.file, key.line or None, key.column or None) if key else Place(value.file)
        raise InputError(unknown_step(name), place=place)
    return step
