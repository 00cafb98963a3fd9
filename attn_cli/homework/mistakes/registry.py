"""The table of known mistakes: to add one, register its function and write its sentence in each language."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from attn_cli.homework.mistakes.scene import Scene
from attn_cli.homework.replacements import Replacements

Variants = Iterator[Replacements]
Method = Callable[[Scene], Variants]
"""A mistake of method yields the ways to make it, the likeliest first: for each step that it touches, what is done in its place."""


@dataclass(frozen=True)
class Mistake:
    """One function of a mistake of method."""

    code: str
    variants: Method
    beside: bool = False
    """Only where the scores were handed in, so that it cannot have happened before them."""
    rounding: bool = False
    """Whether it is a matter of digits, not of method: where it does not show, nobody need be told."""


class Mistakes:
    """The mistakes of method by code, in the order of registration, which is the order in which they are tried."""

    def __init__(self) -> None:
        self._entries: dict[str, list[Mistake]] = {}

    def register(self, code: str = "", *, beside: bool = False, rounding: bool = False) -> Callable[[Method], Method]:
        """Decorator that adds a function under a code, by default its own name; one code may have several functions."""

        def add(function: Method) -> Method:
            name = code or function.__name__
            self._entries.setdefault(name, []).append(Mistake(name, function, beside, rounding))
            return function

        return add

    def remove(self, code: str) -> None:
        """Take a mistake out again (tests add toy ones)."""
        del self._entries[code]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __contains__(self, code: object) -> bool:
        return code in self._entries

    def __len__(self) -> int:
        return len(self._entries)

    def __getitem__(self, code: str) -> list[Mistake]:
        return self._entries[code]

    def entries(self) -> list[Mistake]:
        return [mistake for mistakes in self._entries.values() for mistake in mistakes]


MISTAKES = Mistakes()
