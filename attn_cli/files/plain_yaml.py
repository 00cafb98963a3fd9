"""YAML as most people write it, read without PyYAML, whose import takes longer than everything else in a small run.

Plain is a small file of `key: text`, `key: [a, b]`, and keys with rows (`- [a, b]`) or one more mapping below them, each on
a line of its own. As for `rows`, one rule: this reader may give up wherever it likes, for then `yaml_tree` decides and words
the error; but where it succeeds, `yaml_tree` gives the same tree, place by place.
"""

from __future__ import annotations

import re

from attn_cli.files.rows import Unusual
from attn_cli.files.tree import Items, Node, Pairs, Scalar

_LARGE = 4096
"""From so many characters on it pays to read rows of numbers all at once."""
_DEEPEST = 8
_QUOTED = r""""[^"\\]*"|'[^']*'"""
_FIRST = r"(?:[A-Za-z0-9_.+(/~]|[^\x00-\x7f]|-(?=[A-Za-z0-9.]))"
"""How a text without quotes may start: with nothing that has a meaning of its own."""
_KEY = re.compile(r"([A-Za-z_]\w{0,99}):(?: +|$)")
_TEXT = re.compile(rf"{_QUOTED}|{_FIRST}[^:#]*")
_NUMBER = r" *-?[0-9.][-+/.0-9eE]* *"
_NUMBERS = re.compile(rf"\[((?:{_NUMBER},)*+{_NUMBER})\]")
_CELL = re.compile(rf" *({_QUOTED}|{_FIRST}[^:#?,\[\]{{}}]*|\[) *")


def parse(text: str) -> Node | None:
    """The document's tree, or None where the file is not plain."""
    if len(text) > _LARGE:
        return None
    lines: list[tuple[str, int, int]] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.isprintable():  # a tab, an invisible character, or one that YAML takes for the end of a line
            return None
        bare = line.lstrip(" ")
        if bare and bare[0] != "#":
            lines.append((line, number, len(line) - len(bare)))
    try:
        return _Reader(lines).document() if lines else None
    except Unusual:
        return None


class _Reader:
    def __init__(self, lines: list[tuple[str, int, int]]):
        self.lines = [*lines, ("", 0, -1)]
        """Those that say something, each with its number and its indentation; one that ends everything comes last."""
        self.next = 0

    def document(self) -> Node:
        tree = self._mapping(0)
        if self.next < len(self.lines) - 1:
            raise Unusual("indentation")
        return tree

    def _mapping(self, indent: int) -> Pairs:
        _, first, found = self.lines[self.next]
        pairs: dict[str, tuple[Scalar, Node]] = {}
        while found == indent:
            line, number, _ = self.lines[self.next]
            match = _KEY.match(line, indent)
            if match is None or (key := match[1]) in pairs:
                raise Unusual("no key, or one that is there already")
            self.next += 1
            node = self._below(indent) if line[match.end() :][:1] in ("", "#") else _rest(line, number, match.end())
            pairs[key] = Scalar(key, number, indent + 1), node
            found = self.lines[self.next][2]
        return Pairs(list(pairs.values()), first, indent + 1)

    def _below(self, outer: int) -> Node:
        """What stands on the lines after a key: items, which need not be indented, or a mapping."""
        line, first, indent = self.lines[self.next]
        if not line.startswith("- ", indent):
            if not outer < indent <= _DEEPEST:
                raise Unusual("nothing")
            return self._mapping(indent)
        items: list[Node] = []
        number, found = first, indent
        while found == indent >= outer and line.startswith("- ", indent):
            items.append(_rest(line, number, indent + 2))
            self.next += 1
            line, number, found = self.lines[self.next]
        if not items:
            raise Unusual("nothing")
        return Items(items, first, indent + 1)


def _rest(line: str, number: int, at: int) -> Node:
    """The list or text that a line ends with, but for a comment."""
    node: Node
    while line.startswith(" ", at):
        at += 1
    if line.startswith("[", at):
        node, end = _list(line, number, at, 1)
    elif match := _TEXT.match(line, at):
        node, end = _scalar(match[0], number, at), match.end()
    else:
        raise Unusual("no plain value")
    rest = line[end:].lstrip(" ")
    if rest and not (rest[0] == "#" and line[-len(rest) - 1] == " "):
        raise Unusual("something after a value")
    return node


def _list(line: str, number: int, start: int, depth: int) -> tuple[Items, int]:
    """The list that opens at `start`, and where it ends."""
    items: list[Node] = []
    at = start
    if match := _NUMBERS.match(line, start):  # only for its speed
        for cell in match[1].split(","):
            bare = cell.lstrip(" ")
            items.append(Scalar(bare.rstrip(" "), number, at + len(cell) - len(bare) + 2))
            at += len(cell) + 1
        return Items(items, number, start + 1), match.end()
    while not items or line.startswith(",", at):
        match = _CELL.match(line, at + 1)
        if match is None or depth > _DEEPEST:
            raise Unusual("no plain cell")
        if match[1] == "[":
            inner, at = _list(line, number, match.start(1), depth + 1)
            items.append(inner)
            while line.startswith(" ", at):
                at += 1
        else:
            items.append(_scalar(match[1], number, match.start(1)))
            at = match.end()
    if not line.startswith("]", at):
        raise Unusual("a list that does not end")
    return Items(items, number, start + 1), at + 1


def _scalar(text: str, number: int, at: int) -> Scalar:
    if text[0] in "\"'":
        return Scalar(text[1:-1], number, at + 1, True)
    return Scalar(text.rstrip(" "), number, at + 1)
