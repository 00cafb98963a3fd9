"""YAML -> tree. What most people write is read here, without PyYAML, whose import takes longer than all else in a small run.

Plain is a file of `key: text`, `key: [a, b]`, `key: {a: b}`, and keys with rows (`- [a, b]`) or mappings below them, each
on a line of its own. One rule: this reader may give up wherever it likes, for then `yaml_full` decides and words the error;
but where it succeeds, `yaml_full` gives the same tree, place by place.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from attn_cli.errors import InputError, Place
from attn_cli.files.readers.grids import LARGE, dashed, flow
from attn_cli.files.sources import Reading, Role, decode
from attn_cli.files.tree import Items, Node, Pairs, Scalar
from attn_cli.files.values import Value

if TYPE_CHECKING:
    from attn_cli.files.sources import Data

_DEEPEST = 8
_COMMON = b"\n" + bytes(range(32, 127))
_QUOTED = r""""[^"\\\n]*"|'[^'\n]*'"""
_FIRST = r"(?:[A-Za-z0-9_.+(/~]|[^\x00-\x7f]|-(?=[A-Za-z0-9.]))"
"""How a text without quotes may start: with nothing that has a meaning of its own."""
_NEXT = re.compile(r"(?: *+(?:#[^\n]*)?\n)*( *+)")
"""Lines that say nothing, and the indentation of the one after them."""
_END = re.compile(rf" *+(?:(?<= )#[^\n]*)?\n{_NEXT.pattern}")
_KEY = re.compile(r"([A-Za-z_]\w{0,99}):(?: +|(?=\n))")
_FLOW_KEY = re.compile(r" *([A-Za-z_]\w{0,99}): +(?! )")
_TEXT = re.compile(rf"{_QUOTED}|{_FIRST}[^:#\n]*")
_NUMBER = r" *-?[0-9.][-+/.0-9eE]* *"
_NUMBERS = re.compile(rf"\[((?:{_NUMBER},)*{_NUMBER})\]")
_CELL = re.compile(rf" *({_QUOTED}|{_FIRST}[^:#?,\[\]{{}}\n]*|\[) *")


def read(data: Data, file: str, reading: Reading, role: Role) -> Value:
    """What a YAML file holds."""
    tree = parse(decode(data, file, reading.encoding), file)
    if tree is None:
        raise InputError("is empty; expected keys such as X: or Q:, K: and V:", place=Place(file))
    return Value(tree, file, reading.sign)


def parse(text: str, file: str) -> Node | None:
    """The document's tree, or None where the file says nothing."""
    if (tree := parse_plain(text)) is not None:
        return tree
    from attn_cli.files.readers import yaml_full

    return yaml_full.parse(text, file)


def parse_plain(text: str, large: int = LARGE) -> Node | None:
    """The document's tree, or None where the file is not plain. From `large` characters on, `grids` may read rows."""
    rare = text.encode(errors="surrogatepass").translate(None, _COMMON).decode(errors="surrogatepass")  # there are few to look at
    if not rare.isprintable():  # a tab, an invisible character, or one that YAML takes for the end of a line
        return None
    try:
        return _Reader(text if text.endswith("\n") else text + "\n", len(text) >= large).document()
    except _NotPlain:
        return None


class _NotPlain(Exception):
    """Something that this reader leaves to the other."""


class _Reader:
    def __init__(self, text: str, large: bool):
        self.text, self.large = text, large
        self.at, self.line = 0, 1
        """Where the text of the present line begins, and the line's number."""
        self.start = self.indent = 0
        """Where the line itself begins, and how many blanks lie between; -1 where the text has ended."""
        self._go(_NEXT.match(text))

    def document(self) -> Node:
        tree = self._mapping(0)
        if not tree.pairs or self.at < len(self.text):
            raise _NotPlain("indentation")
        return tree

    def _go(self, match: re.Match[str] | None) -> None:
        """To the next line that says something."""
        if match is None:
            raise _NotPlain("something after a value")
        start, at = match.span(1)
        self.line += self.text.count("\n", self.at, at)
        self.start, self.at = start, at
        self.indent = at - start if at < len(self.text) else -1

    def _mapping(self, indent: int) -> Pairs:
        first, pairs = self.line, dict[str, tuple[Scalar, Node]]()
        while self.indent == indent:
            match = _KEY.match(self.text, self.at)
            if match is None or (key := match[1]) in pairs:
                raise _NotPlain("no key, or one that is there already")
            name = Scalar(key, self.line, indent + 1)
            pairs[key] = name, self._below(match.end(), indent) if self.text[match.end()] in "\n#" else self._value(match.end())
        return Pairs(list(pairs.values()), first, indent + 1)

    def _below(self, end: int, outer: int) -> Node:
        """What stands on the lines after a key, which ends there: items, which need not be indented, or a mapping."""
        self._go(_END.match(self.text, end))
        line, indent = self.line, self.indent
        if not self.text.startswith("- ", self.at):
            if not outer < indent <= _DEEPEST:
                raise _NotPlain("nothing")
            return self._mapping(indent)
        if indent < outer:
            raise _NotPlain("nothing")
        if (rows := self._rows(indent)) is not None:
            return rows
        items: list[Node] = []
        while self.indent == indent and self.text.startswith("- ", self.at):
            items.append(self._value(self.at + 2))
        return Items(items, line, indent + 1)

    def _rows(self, indent: int) -> Items | None:
        """The items from here on, if they are a matrix of plain numbers, one row a line."""
        found = dashed(self.text, self.start, self.line, indent + 1) if self.large else None
        after = _END.match(self.text, found[1]) if found else None
        if found is None or after is None or (len(after[1]) == indent and self.text.startswith("- ", after.end())):
            return None
        self._go(after)
        return found[0]

    def _value(self, at: int) -> Node:
        """The list or text that a line ends with, but for a comment."""
        node: Node
        while self.text.startswith(" ", at):
            at += 1
        if self.text.startswith("[", at):
            node, end = self._list(at, 1)
        elif self.text.startswith("{", at):
            node, end = self._flow_mapping(at, 1)
        elif match := _TEXT.match(self.text, at):
            node, end = self._scalar(match[0], at), match.end()
        else:
            raise _NotPlain("no plain value")
        self._go(_END.match(self.text, end))
        return node

    def _list(self, start: int, depth: int) -> tuple[Items, int]:
        """The list that opens at `start`, and where it ends."""
        text, line, column = self.text, self.line, start - self.start + 1
        if self.large and text.startswith("[[", start) and (found := flow(text, start, line, column)) is not None:
            return found
        items: list[Node] = []
        at = start
        if match := _NUMBERS.match(text, start):  # only for its speed
            for cell in match[1].split(","):
                bare = cell.lstrip(" ")
                items.append(Scalar(bare.rstrip(" "), line, at - self.start + len(cell) - len(bare) + 2))
                at += len(cell) + 1
            return Items(items, line, column), match.end()
        while not items or text.startswith(",", at):
            match = _CELL.match(text, at + 1)
            if match is None or depth > _DEEPEST:
                raise _NotPlain("no plain cell")
            if match[1] == "[":
                inner, at = self._list(match.start(1), depth + 1)
                items.append(inner)
                while text.startswith(" ", at):
                    at += 1
            else:
                items.append(self._scalar(match[1], match.start(1)))
                at = match.end()
        if not text.startswith("]", at):
            raise _NotPlain("a list that does not end")
        return Items(items, line, column), at + 1

    def _flow_mapping(self, start: int, depth: int) -> tuple[Pairs, int]:
        """The mapping in braces that opens at `start`, and where it ends."""
        text, at, pairs = self.text, start, dict[str, tuple[Scalar, Node]]()
        while not pairs or text.startswith(",", at):
            match = _FLOW_KEY.match(text, at + 1)
            if match is None or match[1] in pairs or depth > _DEEPEST:
                raise _NotPlain("no plain key")
            node: Node
            if text.startswith("[", match.end()):
                node, at = self._list(match.end(), depth + 1)
            elif text.startswith("{", match.end()):
                node, at = self._flow_mapping(match.end(), depth + 1)
            elif (cell := _CELL.match(text, match.end())) and cell[1] != "[":
                node, at = self._scalar(cell[1], cell.start(1)), cell.end()
            else:
                raise _NotPlain("no plain value")
            pairs[match[1]] = self._scalar(match[1], match.start(1)), node
            while text.startswith(" ", at):
                at += 1
        if not text.startswith("}", at):
            raise _NotPlain("a mapping that does not end")
        return Pairs(list(pairs.values()), self.line, start - self.start + 1), at + 1

    def _scalar(self, text: str, at: int) -> Scalar:
        column = at - self.start + 1
        if text[0] in "\"'":
            return Scalar(text[1:-1], self.line, column, True)
        return Scalar(text.rstrip(" "), self.line, column)
