"""What a source says before anything is a number: texts that know where they stand, lists and mappings of them, and arrays."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from numpy.typing import NDArray

from attn_cli.errors import InputError, Place
from attn_cli.files.cells import show

MAX_DEPTH = 32
"""Lists inside each other. More would only let a small file exhaust the stack."""
_TOKEN = re.compile(r"[-+]?[.0-9][-+.0-9eE]*")
"""A plain number among brackets, separators and the dashes of a list."""


class Scalar(NamedTuple):
    """One piece of text: a cell, a label, a word."""

    text: str
    line: int
    column: int
    quoted: bool = False


class Items:
    """A list."""

    __slots__ = ("_items", "column", "line")

    def __init__(self, items: list[Node], line: int, column: int):
        self._items, self.line, self.column = items, line, column

    @property
    def items(self) -> list[Node]:
        return self._items


class Grid(Items):
    """A list of rows of plain numbers that were read all at once; their texts and places are found when somebody asks."""

    __slots__ = ("array", "end", "source", "start")
    array: NDArray[Any]
    """(rows, width)"""
    source: str
    """The whole text: the part that the rows stand in would be a copy."""

    def __init__(self, array: NDArray[Any], source: str, start: int, end: int, line: int, column: int):
        super().__init__([], line, column)
        self.array, self.source, self.start, self.end = array, source, start, end

    @property
    def items(self) -> list[Node]:
        if not self._items:
            self._items = list(self._rows())
        return self._items

    def _rows(self) -> Iterator[Items]:
        """The rows as lists of texts, as a reader of single cells gives them."""
        text, width, cells = self.source, self.array.shape[1], list[Node]()
        bracket = text.find("[", self.start, self.end) >= 0
        line, begin, opened = text.count("\n", 0, self.start) + 1, text.rfind("\n", 0, self.start) + 1, (0, 0)
        last = self.start
        for match in _TOKEN.finditer(text, self.start, self.end):
            at = match.start()
            if not cells and bracket:
                mark = text.rindex("[", self.start, at)
                opened = line + text.count("\n", last, mark), mark - max(begin, text.rfind("\n", last, mark) + 1) + 1
            if breaks := text.count("\n", last, at):
                line, begin = line + breaks, text.rfind("\n", last, at) + 1
            last = at
            cells.append(Scalar(match.group(), line, at - begin + 1))
            if len(cells) == width:
                first = cells[0]
                assert isinstance(first, Scalar)
                yield Items(cells, *(opened if bracket else (first.line, first.column)))
                cells = []


class Pairs:
    """A mapping, in the order of the file."""

    __slots__ = ("column", "line", "pairs")

    def __init__(self, pairs: Sequence[tuple[Scalar, Tree]], line: int, column: int):
        self.pairs, self.line, self.column = pairs, line, column

    def __iter__(self) -> Iterator[tuple[Scalar, Tree]]:
        return iter(self.pairs)

    def get(self, name: str) -> Tree | None:
        return next((node for key, node in self.pairs if key.text == name), None)


Node = Scalar | Items | Pairs
Tree = Node | NDArray[Any]
"""Text with places, or an array as a program wrote it."""


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
        place=Place(file, key.line or None, key.column or None),
    )


def depth(tree: Tree) -> int:
    """How many lists stand inside each other, or how many axes an array has."""
    if isinstance(tree, Grid):
        return 2
    if isinstance(tree, Items):
        return 1 + (depth(tree.items[0]) if tree.items else 0)
    return 0 if isinstance(tree, Scalar | Pairs) else int(tree.ndim)


def describe(tree: Tree) -> str:
    """What stands in a place, as messages say it."""
    if isinstance(tree, Scalar):
        return show(tree.text) if tree.text.strip() and not (tree.text in ("null", "~") and not tree.quoted) else "nothing"
    if isinstance(tree, Items):
        return f"a list of {len(tree.items)}" if tree.items else "an empty list"
    return "a mapping" if isinstance(tree, Pairs) else "an array"
