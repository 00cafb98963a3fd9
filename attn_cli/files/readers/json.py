"""JSON text -> tree, by the strict rules. The standard reader knows no positions and takes NaN; numbers stay text here."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attn_cli.errors import InputError, Place
from attn_cli.files.cells import is_plain, show
from attn_cli.files.readers.grids import CELLS, LARGE, held
from attn_cli.files.sources import Reading, Role, decode
from attn_cli.files.tree import MAX_DEPTH, Grid, Items, Node, Pairs, Scalar, checked
from attn_cli.files.values import Value

if TYPE_CHECKING:
    from attn_cli.files.sources import Data

_BLANK = re.compile(r"[ \t\n]*")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_WORD = re.compile(r"[^\s,\[\]{}:\"]+")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?")
_MATRIX = re.compile(rf"\[[ \n]*+{CELLS}(?:[ \n]*+,[ \n]*+{CELLS})*[ \n]*+\]")
"""Nothing but rows of numbers."""
_decode = json.JSONDecoder(parse_int=float).raw_decode
"""The standard reader, for what can only be numbers; `-0` would lose its sign as a whole number."""


def read(data: Data, file: str, reading: Reading, role: Role) -> Value:
    """What a JSON file holds."""
    tree = parse(decode(data, file, reading.encoding), file)
    if tree is None:
        raise InputError("is empty; expected keys such as X: or Q:, K: and V:", place=Place(file))
    return Value(tree, file, reading.sign)


def parse(text: str, file: str, large: int = LARGE) -> Node | None:
    """The document's tree, or None where the file says nothing. From `large` characters on, `grids` may read rows."""
    reader = _Reader(text, file, len(text) >= large)
    reader.skip()
    if reader.at == len(text):
        return None
    found = reader.value(0)
    reader.skip()
    if reader.at < len(text):
        raise reader.error("expected the end of the file here: a JSON file holds one value")
    return found


class _Reader:
    def __init__(self, text: str, file: str, large: bool):
        self.text, self.file, self.at, self.large = text, file, 0, large
        self.lines = [0, *(match.end() for match in re.finditer("\n", text))]

    def place(self, at: int) -> tuple[int, int]:
        line = bisect_right(self.lines, at)
        return line, at - self.lines[line - 1] + 1

    def error(self, message: str, at: int | None = None) -> InputError:
        return InputError(message, place=Place(self.file, *self.place(self.at if at is None else at)))

    def skip(self) -> None:
        match = _BLANK.match(self.text, self.at)
        assert match is not None
        self.at = match.end()
        if self.text.startswith(("//", "/*", "#"), self.at):
            raise self.error("JSON has no comments: leave it out, or name the file .yaml and use #")

    def value(self, depth: int) -> Node:
        if depth > MAX_DEPTH:
            raise self.error(f"lists and objects are nested more than {MAX_DEPTH} deep; a matrix is a list of rows")
        self.skip()
        if self.text.startswith("[", self.at):
            return (self.numbers() if self.large else None) or self.list(depth)
        if self.text.startswith("{", self.at):
            return self.object(depth)
        if self.text.startswith('"', self.at):
            return self.string()
        return self.word()

    def list(self, depth: int) -> Items:
        start, items = self.at, list[Node]()
        self.at += 1
        while not self.ends("]", start, bool(items)):
            items.append(self.value(depth + 1))
        return Items(items, *self.place(start))

    def numbers(self) -> Grid | None:
        """A matrix of plain numbers, read all at once."""
        match = _MATRIX.match(self.text, self.at)
        if match is None:
            return None
        start, end = match.span()
        at, rows = self.text.find("[", start + 1, end), list[NDArray[Any]]()
        try:
            while at >= 0:  # a row at a time, so that few numbers are objects at once
                values, at = _decode(self.text, at)
                rows.append(np.array(values, float))
                at = self.text.find("[", at, end)
            array = np.array(rows)
        except ValueError:
            return None
        if array.ndim != 2 or (grid := held(array, self.text, start + 1, end, *self.place(start))) is None:
            return None
        self.at = end
        return grid

    def object(self, depth: int) -> Pairs:
        start, pairs = self.at, list[tuple[Scalar, Node]]()
        self.at += 1
        while not self.ends("}", start, bool(pairs)):
            self.skip()
            if not self.text.startswith('"', self.at):
                raise self.error("expected a key in double quotes")
            key = self.string()
            self.skip()
            if not self.text.startswith(":", self.at):
                raise self.error(f"expected ':' after the key {show(key.text)}")
            self.at += 1
            pairs.append((key, self.value(depth + 1)))
        return Pairs(checked(pairs, self.file), *self.place(start))

    def ends(self, bracket: str, start: int, begun: bool) -> bool:
        """Step over a comma (False) or the closing bracket (True)."""
        self.skip()
        if self.text.startswith(bracket, self.at):
            self.at += 1
            return True
        if self.at >= len(self.text):
            raise self.error(
                f"the file ends inside the {'list' if bracket == ']' else 'object'} that starts on line {self.place(start)[0]}"
            )
        if begun:
            if not self.text.startswith(",", self.at):
                raise self.error(f"expected ',' or '{bracket}' here")
            comma = self.at
            self.at += 1
            self.skip()
            if self.text.startswith(bracket, self.at):
                raise self.error(f"JSON allows no comma before '{bracket}': leave it out", comma)
        return False

    def string(self) -> Scalar:
        start = self.at
        match = _STRING.match(self.text, start)
        if match is None:
            raise self.error("this text is never closed by a double quote, or holds a line break or a tab: write \\n or \\t")
        self.at = match.end()
        text = match.group()[1:-1]
        if "\\" in text:
            try:
                text = json.loads(match.group())
                text.encode()
            except UnicodeEncodeError:
                raise self.error("the text holds half of a surrogate pair (\\ud800 to \\udfff), which is no character", start) from None
            except ValueError:
                raise self.error("the text holds an unknown escape; write a backslash as \\\\", start) from None
        return Scalar(text, *self.place(start), quoted=True)

    def word(self) -> Scalar:
        match = _WORD.match(self.text, self.at)
        if match is None:
            found = self.text[self.at : self.at + 1]
            raise self.error(f"found {show(found)}, expected a value" if found else "the file ends where a value is expected")
        word = match.group()
        if word not in ("true", "false", "null") and not _NUMBER.fullmatch(word):
            if word.startswith("'"):
                raise self.error("JSON wants double quotes")
            if word.lstrip("-") in ("NaN", "Infinity"):
                raise self.error(f'JSON has no {word}: put it in quotes, "{word}"')
            if is_plain(word):
                raise self.error(f"{show(word)} is no JSON number: write digits on both sides of the point, no '+' and no leading zeros")
            raise self.error(f'found {show(word)}; JSON wants texts, fractions and roots in double quotes, "{word[:40]}"')
        start, self.at = self.at, match.end()
        return Scalar(word, *self.place(start))
