"""YAML text -> tree. Cells stay text: PyYAML's parser is asked for its events only, never for its idea of values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import yaml

from attn_cli.errors import InputError, Place
from attn_cli.files.cells import show
from attn_cli.files.keys import canonical, known
from attn_cli.files.rows import Rows, Unusual, marked, replaced
from attn_cli.files.tree import MAX_DEPTH, Items, Node, Pairs, Scalar, checked

_LOADER: Any = getattr(yaml, "CLoader", yaml.Loader)
_EXPANDED = 1_000_000
"""How many nodes aliases may unfold into (or ten times what is written, if that is more)."""
_QUOTE = "put the text in quotes"


def parse(text: str, file: str, *, quick: bool = False) -> Node | None:
    """The document's tree, or None where the file says nothing. `quick` puts `Rows` in place of lists of plain numbers."""
    if not quick:
        return _Reader(text, file).document()
    short, blocks = replaced(text)
    reader = _Reader(short, file, blocks)
    tree = reader.document()
    if reader.found != len(blocks):  # some stand in a comment, a quoted text or a block of text
        raise Unusual("rows of numbers in a text", place=Place(file))
    return tree


class _Reader:
    def __init__(self, text: str, file: str, blocks: Sequence[Rows] = ()):
        self.text, self.file, self.blocks = text, file, blocks
        self.found = 0
        """How many of the blocks have been met."""
        self.anchors: dict[str, tuple[Node, int]] = {}
        """Finished anchors, each with its expanded size."""
        self.open: set[str] = set()
        self.written = self.expanded = 0

    def document(self) -> Node | None:
        events = self._events()
        found: Node | None = None
        documents = 0
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    raise self._error(event, "a second document starts here ('---'); a file holds one problem, so split it in two")
            elif isinstance(event, yaml.NodeEvent):
                found, _ = self._node(event, events, 0)
        if isinstance(found, Scalar) and not found.text and not found.quoted:
            return None
        return found

    def _events(self) -> Iterator[Any]:
        try:
            loader = _LOADER(self.text)
            while loader.check_event():
                yield loader.get_event()
        except yaml.MarkedYAMLError as why:
            raise self._explained(why) from None
        except yaml.reader.ReaderError as why:
            position = why.position if isinstance(why.position, int) else 0
            line = self.text.count("\n", 0, position) + 1
            raise InputError(f"found the invisible character U+{_code(why):04X}; delete it", place=Place(self.file, line)) from None
        except yaml.YAMLError as why:
            raise InputError(f"is no YAML: {' '.join(str(why).split())}", place=Place(self.file)) from None

    def _node(self, event: Any, events: Iterator[Any], depth: int) -> tuple[Node, int]:
        """A node and its expanded size."""
        if depth > MAX_DEPTH:
            raise self._error(event, f"lists and mappings are nested more than {MAX_DEPTH} deep; a matrix is a list of rows")
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event)
        if event.tag is not None:
            raise self._error(
                event,
                f"found the tag {show(event.tag.replace('tag:yaml.org,2002:', '!!'))}; tags are not used here: "
                f"leave it out, or {_QUOTE} if it is meant as text",
            )
        line, column = event.start_mark.line + 1, event.start_mark.column + 1
        node: Node
        size = 1
        self.written += 1
        if isinstance(event, yaml.ScalarEvent):
            node = Scalar(event.value, line, column, quoted=bool(event.style))  # libyaml says '' for plain, PyYAML None
        else:
            if event.anchor:
                self.open.add(event.anchor)
            children: list[Node] = []
            for child in events:
                if type(child) is yaml.ScalarEvent and child.tag is None and child.anchor is None:  # a cell, by far the most
                    mark: Any = child.start_mark
                    children.append(Scalar(child.value, mark.line + 1, mark.column + 1, bool(child.style)))
                    size += 1
                    continue
                if isinstance(child, (yaml.SequenceEndEvent, yaml.MappingEndEvent)):
                    break
                found, weight = self._node(child, events, depth + 1)
                children.append(found)
                size += weight
            if isinstance(event, yaml.MappingStartEvent):
                node = self._pairs(children, line, column)
            elif self.blocks and (rows := self._rows(children)) is not None:
                node = _single(rows) if event.anchor else rows
                size += rows.array.size + len(rows.array)
            else:
                node = Items(children, line, column)
            self.open.discard(event.anchor)
            self.written += len(children)
        if event.anchor:
            self.anchors[event.anchor] = node, size
        return node, size

    def _rows(self, children: list[Node]) -> Rows | None:
        """The block that stands for this list and its neighbours."""
        if len(children) != 1 or not isinstance(child := children[0], Scalar) or child.quoted or (at := marked(child.text)) is None:
            return None
        self.found += 1
        return self.blocks[at]

    def _alias(self, event: Any) -> tuple[Node, int]:
        name = event.anchor
        if name in self.open:
            raise self._error(event, f"the alias *{name} stands inside what it refers to, which would never end; write the values out")
        if name not in self.anchors:
            raise self._error(
                event, f"found the alias *{name}, but nothing is marked &{name}; if *{name} is meant as text, put it in quotes"
            )
        node, size = self.anchors[name]
        self.expanded += size
        if self.expanded > max(_EXPANDED, 10 * self.written):
            raise self._error(
                event, f"with the alias *{name} the file would unfold into more than {_EXPANDED:,} values; write the matrix out"
            )
        return node, size

    def _pairs(self, children: list[Node], line: int, column: int) -> Pairs:
        pairs: list[tuple[Scalar, Node]] = []
        for key, value in zip(children[::2], children[1::2], strict=True):
            if not isinstance(key, Scalar):
                raise InputError(f"a key must be one word; {_QUOTE} if it is meant as text", place=Place(self.file, key.line, key.column))
            if key.text == "<<" and not key.quoted:
                raise InputError(
                    "found the merge key '<<'; write the keys out, so that everyone sees which value counts",
                    place=Place(self.file, key.line, key.column),
                )
            _single(value)
            pairs.append((key, value))
        return Pairs(checked(pairs, self.file), line, column)

    def _error(self, event: Any, message: str) -> InputError:
        mark = event.start_mark
        return InputError(message, place=Place(self.file, mark.line + 1, mark.column + 1))

    def _explained(self, why: yaml.MarkedYAMLError) -> InputError:
        """One plain line instead of the scanner's own words."""
        mark = why.problem_mark or why.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        lines = self.text.split("\n")
        here = lines[line - 1] if line <= len(lines) else ""
        rest = here[column - 1 :]
        problem = (why.problem or why.context or "this is no YAML").replace("did not find ", "").strip()
        message = problem
        if (tab := _tab(lines, line)) is not None:
            line, column = tab
            message = "a tab is used for indentation; YAML wants blanks there: replace the tab by two blanks"
        elif (glued := _glued(lines, line)) is not None:
            line, column = glued
            message = "a key is followed by ':' and a blank, as in X: [[1, 0], [0, 1]]"
        elif rest[:1] in ("@", "`", "%") or ("cannot start any token" in problem and rest[:1]):
            message = f"a text may not start with {rest[:1]} here: put it in quotes"
        elif rest[:1] in ("*", "&") or "alias" in problem or "anchor" in (why.context or "") or "anchor" in problem:
            message = "* and & have a meaning of their own in YAML: put a text that holds them in quotes"
        elif "mapping values are not allowed" in problem:
            message = "a colon and a blank make a key here: put a text that holds ': ' in quotes, or mend the indentation"
        elif "quoted scalar" in (why.context or "") and "unexpected" not in problem:
            message = f"{problem}: in double quotes a backslash starts an escape, so write it as \\\\, or use single quotes"
        elif "quoted scalar" in (why.context or ""):
            if why.context_mark:
                line, column = why.context_mark.line + 1, why.context_mark.column + 1
            message = "the quote that opens here is never closed: close it, or put a text that holds a quote in other quotes"
        elif "',' or" in problem:
            bracket = "}" if "'}'" in problem else "]"
            start = why.context_mark.line + 1 if why.context_mark else line
            message = (
                f"the {'mapping' if bracket == '}' else 'list'} that starts on line {start} expects a comma or '{bracket}' here; "
                "a matrix is written [[1, 0.5], [0, 1]], and labels such as # or { or : need quotes"
            )
        elif "nesting" in problem or "depth" in problem:
            message = "lists are nested too deep; a matrix is a list of rows"
        elif "expected ':'" in problem and why.context_mark:
            line, column = why.context_mark.line + 1, why.context_mark.column + 1
            message = _no_key(lines[line - 1])
        elif "document start" in problem:
            message = "this line does not go on with those above: start every key in the same column, with no '...' between them"
        elif "'-' indicator" in problem or (rest.startswith("- ") and not here[: column - 1].strip()):
            message = "the rows of a list start with '- ' in the same column: indent them alike, and put nothing else between them"
        elif rest[:1] in ("]", "}"):
            message = f"found '{rest[0]}' where nothing is open: take it away, or open the list before it"
        elif "expected" in problem:
            plain = problem.replace("expected node content", "a value is missing here").replace(
                "expected key", "a key such as X: is expected here"
            )
            message = f"{plain}: check indentation and brackets, and put labels such as - ? | > ! in quotes"
        else:
            message = f"{problem}: check indentation and brackets, and put texts with special characters in quotes"
        return InputError(message, place=Place(self.file, line, column))


def _single(node: Node) -> Node:
    """The node where one list belongs: several rows that stand there were no neighbours, as in `{a: [1], [2]}`."""
    if isinstance(node, Rows) and len(node.array) > 1:
        raise Unusual("rows of numbers outside a list")
    return node


def _no_key(text: str) -> str:
    """What is wrong with a line that is neither a key nor a row."""
    indent = text[: len(text) - len(text.lstrip())]
    if "\N{NO-BREAK SPACE}" in indent:
        return "found a no-break space (U+00A0) in the indentation: replace it by a blank"
    return f"found {show(text.strip())}, expected a key, a colon and a blank, as in X: [[1, 0], [0, 1]], or a row that starts with '- '"


def _glued(lines: list[str], last: int) -> tuple[int, int] | None:
    """Line and column behind a colon that is none, `X:[[1]]` or `X： [[1]]` after a known key, on one of the last two lines."""
    for number in (last, last - 1):
        match = re.match(r"\s*(\w+)(：|:(?=\S))", lines[number - 1]) if 0 < number <= len(lines) else None
        if match and canonical(match[1], known()):
            return number, match.end() + 1
    return None


def _tab(lines: list[str], line: int) -> tuple[int, int] | None:
    """A tab in the indentation on that line or on the one before it."""
    for number in (line, line - 1):
        if 1 <= number <= len(lines):
            text = lines[number - 1]
            indent = text[: len(text) - len(text.lstrip())]
            if "\t" in indent:
                return number, indent.index("\t") + 1
    return None


def _code(why: Any) -> int:
    return ord(why.character) if isinstance(why.character, str) else int(why.character)
