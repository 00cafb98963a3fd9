"""What a text file says before anything is a number: texts, lists and mappings that know where they stand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from attn_cli.errors import InputError, Place
from attn_cli.files.cells import show

MAX_DEPTH = 32


class Scalar(NamedTuple):
    """One piece of text: a cell, a label, a word."""

    text: str
    line: int
    column: int
    quoted: bool = False


class Items:
    """A list."""

    __slots__ = ("column", "items", "line")

    def __init__(self, items: list[Node], line: int, column: int):
        self.items, self.line, self.column = items, line, column


class Pairs:
    """A mapping, in the order of the file."""

    __slots__ = ("column", "line", "pairs")

    def __init__(self, pairs: list[tuple[Scalar, Node]], line: int, column: int):
        self.pairs, self.line, self.column = pairs, line, column

    def __iter__(self) -> Iterator[tuple[Scalar, Node]]:
        return iter(self.pairs)

    def get(self, name: str) -> Node | None:
        return next((node for key, node in self.pairs if key.text == name), None)


Node = Scalar | Items | Pairs


def checked(pairs: list[tuple[Scalar, Node]], file: str) -> list[tuple[Scalar, Node]]:
    """The pairs, if no key is there twice."""
    seen: dict[str, Scalar] = {}
    for key, _ in pairs:
        if key.text in seen:
            raise twice(key, seen[key.text], file)
        seen[key.text] = key
    return pairs


def twice(key: Scalar, first: Scalar, file: str) -> InputError:
    """The error for two keys that mean the same thing."""
    spelled = "" if key.text == first.text else f" (spelled {first.text})"
    return InputError(
        f"{show(key.text)} is given a second time; line {first.line} has it already{spelled}: keep one of the two",
        place=Place(file, key.line, key.column),
    )


def describe(node: Node) -> str:
    """What a node is, as messages say it."""
    if isinstance(node, Scalar):
        return show(node.text) if node.text.strip() and not (node.text in ("null", "~") and not node.quoted) else "nothing"
    if isinstance(node, Items):
        return f"a list of {len(node.items)}" if node.items else "an empty list"
    return "a mapping"
