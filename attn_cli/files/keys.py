"""What a problem file may say: its keys, what each one holds, and how a name is recognised."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from attn_cli.engine import steps as trace
from attn_cli.engine.scores import SCORES
from attn_cli.engine.training import gradient_names
from attn_cli.names import did_you_mean

MATRIX_AXES: Mapping[str, tuple[int, ...]] = {
    "X": (2,),
    "context": (2,),
    **dict.fromkeys(("W_Q", "W_K", "W_V", "W_O"), (2,)),
    **dict.fromkeys(("b_Q", "b_K", "b_V", "b_O"), (1,)),
    **dict.fromkeys(("Q", "K", "V", "scores", "bias"), (2, 3)),
    "upstream": (2,),
}
"""Arrays of numbers, each with the numbers of axes that it may have."""
MASK_MATRICES = ("keep", "drop")
MASK_PARTS = ("causal", "offset", "window", "lengths", *MASK_MATRICES)
LABELS = ("tokens", "query_tokens", "key_tokens")
WORDS = ("title", "score", "mode", "weights_layout", "vectors", "dtype")
NUMBERS = ("scale", "softcap", "temperature")
WHOLE = ("heads", "kv_heads", "seed")
STEPS = (*trace.STEPS, *gradient_names())
"""The steps that an answer may be given to."""
TURNED = frozenset(
    {"X", "context", "W_Q", "W_K", "W_V", "W_O", "Q", "K", "V", "scores", "bias", "upstream", "mask", "mask.keep", "mask.drop"}
)
"""What stands the other way round where `vectors: columns` holds."""


def parameters() -> dict[str, Mapping[str, int]]:
    """The score functions that take arrays of their own: name -> (array's name -> number of axes)."""
    return {entry.name: entry.parameters for entry in SCORES.entries() if entry.parameters}


def known() -> list[str]:
    """Every key of a problem file, in the order in which messages list them."""
    return ["title", *LABELS, *MATRIX_AXES, *WORDS[1:], *NUMBERS, *WHOLE, *parameters(), "mask", "answers"]


def canonical(name: str, names: Collection[str]) -> str | None:
    """The one of the names that is meant, whatever its case and underscores."""
    if name in names:
        return name
    plain = name.strip().lower().replace("_", "")
    return next((known for known in names if known.lower().replace("_", "") == plain), None)


def unknown(name: str, names: list[str], what: str = "key") -> str:
    """The message for a name that is not among the known ones."""
    part = canonical(name, MASK_PARTS) if "mask" in names else None
    near = f" (a part of the mask: write mask: {{{part}: …}})" if part else ""
    near = near or did_you_mean(name, names) or did_you_mean(name.replace("_", ""), names)
    return f"there is no {what} {name!r}{near}; there are {', '.join(names)}"


def axes(key: str) -> tuple[int, ...] | None:
    """The numbers of axes that the array under a key may have; None where the key holds no array."""
    if key in MATRIX_AXES:
        return MATRIX_AXES[key]
    if key in ("mask", "mask.keep", "mask.drop"):
        return (1, 2, 3)
    score, _, name = key.partition(".")
    found = parameters().get(score, {}).get(name) if name else None
    return None if found is None else (found,)
