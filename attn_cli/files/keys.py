"""What a problem file may say: its keys, what each one holds, and how a name is recognised."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from attn_cli import names as names_of
from attn_cli.engine import steps as trace
from attn_cli.engine.modes import MODES as MODES
from attn_cli.engine.problem import KEYS, known_keys, row_of
from attn_cli.engine.problem import MASK_PARTS as MASK_PARTS
from attn_cli.engine.scores import SCORES
from attn_cli.engine.training import gradient_names


def of_kind(kind: str) -> tuple[str, ...]:
    """The keys that hold one kind of value."""
    return tuple(name for name, row in KEYS.items() if row.kind == kind)


MATRIX_AXES: Mapping[str, tuple[int, ...]] = {name: KEYS[name].axes for name in of_kind("matrix")}
"""Arrays of numbers, each with the numbers of axes that it may have."""
MASK_MATRICES = tuple(name for name, row in MASK_PARTS.items() if row.kind == "truths")
LABELS = of_kind("labels")
WORDS = ("title", *of_kind("word"))
NUMBERS = of_kind("number")
WHOLE = of_kind("whole")
STEPS = (*trace.STEPS, *gradient_names())
"""The steps that an answer may be given to."""
TURNED = frozenset(row.name for row in (*KEYS.values(), *MASK_PARTS.values()) if row.turns)
"""What stands the other way round where `vectors: columns` holds."""


def parameters() -> dict[str, Mapping[str, int]]:
    """The score functions that take arrays of their own: name -> (array's name -> number of axes)."""
    return {entry.name: entry.parameters for entry in SCORES.entries() if entry.parameters}


def known() -> list[str]:
    """Every key of a problem file that is read so far, in the order in which messages list them."""
    return [name for name in known_keys() if name != "ask"]


def canonical(name: str, names: Collection[str]) -> str | None:
    """The one of the names that is meant, whatever its case and underscores."""
    if name in names:
        return name
    plain = name.strip().lower().replace("_", "")
    return next((known for known in names if known.lower().replace("_", "") == plain), None)


def unknown(name: str, names: list[str], what: str = "key") -> str:
    """The message for a name that is not among the known ones."""
    part = canonical(name, MASK_PARTS) if "mask" in names else None
    if part and part != "causal":
        return f"there is no {what} {name!r} (a part of the mask: write mask: {{{part}: …}}); there are {', '.join(names)}"
    return names_of.unknown(name, names, what)


def axes(key: str) -> tuple[int, ...] | None:
    """The numbers of axes that the array under a key may have; None where the key holds no array."""
    row = row_of(key)
    return (row.axes or None) if row else None
