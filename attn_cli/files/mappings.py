"""Problems and answers that a program gives as mappings: arrays, lists and texts, judged as those of a file are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from attn_cli.engine.arrays import as_array
from attn_cli.errors import InputError
from attn_cli.files.answers import Answers, answers_in
from attn_cli.files.given import Given
from attn_cli.files.problem import Loaded, loaded_from
from attn_cli.files.sources import Reading
from attn_cli.files.tree import Items, Node, Pairs, Scalar, Tree
from attn_cli.files.values import Value


def problem_of(mapping: Mapping[str, Any]) -> Loaded:
    """The problem that a mapping with the keys of a file holds; keys may be spelled as in an NPZ, `additive.W`."""
    reading = Reading()
    given = Given(reading)
    given.keys(Value(_pairs(mapping), ""), "", dotted=any("." in str(key) for key in mapping))
    return loaded_from(given.values, "", reading)


def answers_of(mapping: Mapping[str, Any]) -> Answers:
    """Somebody's numbers by step: arrays claim every digit, lists of numbers and texts those that are written."""
    return answers_in(Value(_pairs(mapping), ""), "", Reading())


def _pairs(mapping: Any) -> Tree:
    if not isinstance(mapping, Mapping):
        raise InputError(f"found something of type {type(mapping).__name__}, expected a path, or a mapping with the keys of a file")
    return _tree(mapping)


def _tree(value: Any) -> Tree:
    """What a file would say: an array stays one, everything else becomes text."""
    if isinstance(value, Mapping):
        return Pairs([(Scalar(str(key), 0, 0), _tree(part)) for key, part in value.items()], 0, 0)
    if isinstance(value, list | tuple):
        return Items([_node(part) for part in value], 0, 0)
    if hasattr(value, "__array__") and not isinstance(value, np.generic):
        array = as_array(value)
        return _node(array.tolist()) if array.dtype.kind in "OU" or not array.ndim else array
    return Scalar(_text(value), 0, 0)


def _node(value: Any) -> Node:
    """The same inside a list, where an array is a list."""
    tree = _tree(value)
    return _node(tree.tolist()) if isinstance(tree, np.ndarray) else tree


def _text(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool | np.bool_):
        return str(bool(value)).lower()
    if isinstance(value, str | int | float | np.number):
        return str(value)
    raise InputError(f"found something of type {type(value).__name__}, expected a number, a text, an array, or lists or mappings of them")
