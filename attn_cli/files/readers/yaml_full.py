"""YAML text -> tree. Cells stay text: PyYAML's parser is asked for its events only, never for its idea of values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml

from attn_cli.errors import InputError, Place
from attn_cli.files.cells import show
from attn_cli.files.readers.yaml_errors import NO_BARE_SIGN, explained
from attn_cli.files.tree import MAX_DEPTH, Items, Node, Pairs, Scalar, checked

_LOADER: Any = getattr(yaml, "CLoader", yaml.Loader)
_EXPANDED = 1_000_000
"""How many nodes aliases may unfold into (or ten times what is written, if that is more)."""
_QUOTE = "put the text in quotes"


def parse(text: str, file: str) -> Node | None:
    """The document's tree, or None where the file says nothing."""
    return _Reader(text, file).document()


class _Reader:
    def __init__(self, text: str, file: str):
        self.text, self.file = text, file
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
            raise explained(why, self.text, self.file) from None
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
        start: Any = event.start_mark
        self._refuse_what_is_not_used(event, depth, start.index)
        line, column = start.line + 1, start.column + 1
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
            is_mapping = isinstance(event, yaml.MappingStartEvent)
            node = self._pairs(children, line, column) if is_mapping else Items(children, line, column)
            self.open.discard(event.anchor)
            self.written += len(children)
        if event.anchor:
            self.anchors[event.anchor] = node, size
        return node, size

    def _refuse_what_is_not_used(self, event: Any, depth: int, at: int) -> None:
        """Raises InputError for a node with a tag, and for a mapping within another node that begins with a bare `?`."""
        if event.tag is not None:
            raise self._error(
                event,
                f"found the tag {show(event.tag.replace('tag:yaml.org,2002:', '!!'))}; tags are not used here: "
                f"leave it out, or {_QUOTE} if it is meant as text",
            )
        if depth and isinstance(event, yaml.MappingStartEvent) and self.text.startswith("?", at):
            raise self._error(event, NO_BARE_SIGN)

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
            pairs.append((key, value))
        return Pairs(checked(pairs, self.file), line, column)

    def _error(self, event: Any, message: str) -> InputError:
        mark = event.start_mark
        return InputError(message, place=Place(self.file, mark.line + 1, mark.column + 1))


def _code(why: Any) -> int:
    return ord(why.character) if isinstance(why.character, str) else int(why.character)
