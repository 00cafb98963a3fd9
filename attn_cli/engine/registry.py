"""Families of functions that a name in a file or on the command line chooses from.

Registering is one decorator; help, loading, errors, renderers and law tests read the registry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

from attn_cli.errors import InputError
from attn_cli.names import did_you_mean

F = TypeVar("F", bound=Callable[..., object])


class Entry(NamedTuple, Generic[F]):
    """One member of a family."""

    name: str
    function: F
    summary: str
    """The first line of the function's docstring: what `--help` prints."""
    parameters: Mapping[str, int] = {}
    """Names of the arrays that the member takes from the problem's mapping of its own name, with their number of axes."""
    differentiable: bool = True
    random: bool = False
    """Whether it draws numbers, so that the seed belongs to the result."""


class Registry(Generic[F]):
    """A family: name → Entry, in the order of registration. `key` is the key of a problem that chooses from it."""

    def __init__(self, what: str, key: str):
        self.what = what
        """What a member is called in messages: "score function", "mode"."""
        FAMILIES[key] = self
        self._entries: dict[str, Entry[F]] = {}

    def register(
        self, *, parameters: Mapping[str, int] | None = None, differentiable: bool = True, random: bool = False
    ) -> Callable[[F], F]:
        """Decorator that adds a function under its own name (a trailing underscore, as in `sample_`, is dropped)."""

        def add(function: F) -> F:
            name = function.__name__.rstrip("_")
            summary = (function.__doc__ or name).strip().splitlines()[0].rstrip(".")
            self._entries[name] = Entry(name, function, summary, parameters or {}, differentiable, random)
            return function

        return add

    def remove(self, name: str) -> None:
        """Take a member out again (tests add toy members)."""
        del self._entries[name]

    def __getitem__(self, name: str) -> Entry[F]:
        """Raises InputError that lists the members when there is none of that name."""
        if name not in self._entries:
            raise InputError(f"no {self.what} {name!r}{did_you_mean(name, self)}; there are {', '.join(self)}")
        return self._entries[name]

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def entries(self) -> list[Entry[F]]:
        return list(self._entries.values())


FAMILIES: dict[str, Registry[Any]] = {}
"""The families whose modules are imported, by the key of a problem that chooses from each: score, mode."""
