"""Who may attend to whom: the parts of a mask, combined with "and"."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np

from attn_cli.engine.problem import Array, Mask
from attn_cli.errors import InputError
from attn_cli.names import did_you_mean

Head = int | None
"""One query head; None for all of them at once."""


def allowed(mask: Mask, h: int, n: int, m: int, *, columns: bool = False) -> Array:
    """True where a query may attend to a key: (n, m), or (h, n, m) where a matrix of the mask has a head axis.

    Raises InputError where a matrix has another shape or other values than 0 and 1, or `lengths` is not 0 to m; its
    message speaks of shapes as the reader sees them, turned where tokens are columns.
    """
    may = band(mask, np.arange(n), np.arange(m))
    if mask.lengths is not None:
        if not 0 <= mask.lengths <= m:
            raise InputError(f"lengths is {mask.lengths}, expected a whole number from 0 to {m}, the number of keys", key="mask")
        may = may & (np.arange(m) < mask.lengths)
    for matrix, value in ((mask.keep, True), (mask.drop, False)):
        if matrix is not None:
            may = may & (fitted(matrix, h, n, m, columns) == value)
    return may


def band(mask: Mask, queries: Array, keys: Array) -> Array:
    """What `causal`, `offset` and `window` allow for some queries and keys: (n,), (m,) -> (n, m).

    Query i stands at key position i + offset; causal: no key after it; window (l, r): at most l before and r after it.
    """
    ahead = keys[None, :] - (queries[:, None] + mask.offset)
    left, right = mask.window or (None, None)
    may = np.ones(ahead.shape, bool)
    if mask.causal:
        may &= ahead <= 0
    if left is not None:
        may &= ahead >= -left
    if right is not None:
        may &= ahead <= right
    return may


def fitted(matrix: Array, h: int, n: int, m: int, columns: bool) -> Array:
    """A matrix of a mask, without a head axis of 1; raises InputError where its shape or its values are no mask's."""
    if matrix.shape in ((m,), (1, m), (n, m)) or (matrix.shape == (h, n, m)):
        if matrix.dtype != bool and not np.isin(matrix, (0, 1)).all():
            strange = matrix[~np.isin(matrix, (0, 1))].flat[0]
            raise InputError(f"holds {strange:g}, expected 0, 1, true or false; to add numbers to the scores, use bias", key="mask")
        return matrix[0] if h == 1 and matrix.ndim == 3 else matrix
    shown = np.swapaxes(matrix, -1, -2) if columns and matrix.ndim > 1 else matrix
    grid, sides = (f"{m} × {n}", "keys × queries") if columns else (f"{n} × {m}", "queries × keys")
    heads = f", {h} × {grid}" if h > 1 else ""
    raise InputError(f"is {shape_text(shown)}, expected {grid} ({sides}){heads} or one row of {m}", key="mask")


def shape_text(array: Array) -> str:
    """A shape as people write it: 3 × 4."""
    return " × ".join(str(size) for size in array.shape)


# ------------------------------------------------------------------ what people write
def as_mask(mask: Any) -> Mask | None:
    """A mask from what people write: "causal", an array, or a mapping of a mask's parts."""
    if mask is None or isinstance(mask, Mask):
        return mask
    if isinstance(mask, str):
        if mask != "causal":
            raise InputError(f"is {mask!r}, expected 'causal', an array or a mapping", key="mask")
        return Mask(causal=True)
    if not isinstance(mask, Mapping):
        return Mask(keep=np.asarray(mask))
    parts = {name: part for name, part in mask.items() if part is not None}
    known = [part.name for part in fields(Mask)]
    for name, part in parts.items():
        if name not in known:
            raise InputError(f"has no part {name!r}{did_you_mean(str(name), known)}; there are {', '.join(known)}", key="mask")
        expected = PARTS_OF_MASK.get(name, lambda _: "")(part)
        if expected:
            raise InputError(f"{name} is {part}, expected {expected}", key="mask")
    for name in parts.keys() & {"keep", "drop"}:
        parts[name] = np.asarray(parts[name])
    if "window" in parts:
        window = parts["window"]
        parts["window"] = (window, window) if np.ndim(window) == 0 else tuple(window)
    return Mask(**parts)


def _whole(number: Any) -> bool:
    return isinstance(number, int | np.integer) and not isinstance(number, bool)


def _sides(window: Any) -> bool:
    sides = (window, window) if np.ndim(window) == 0 else tuple(window)
    return len(sides) == 2 and all(side is None or (_whole(side) and side >= 0) for side in sides)


PARTS_OF_MASK: dict[str, Callable[[Any], str]] = {
    "causal": lambda part: "" if isinstance(part, bool | np.bool_) else "true or false",
    "offset": lambda part: "" if _whole(part) else "a whole number",
    "lengths": lambda part: "" if _whole(part) else "a whole number",
    "window": lambda part: "" if _sides(part) else "one whole number from 0, or one for the left and one for the right (None: open)",
}
"""What each part of a mask should be where it is not."""


# ------------------------------------------------------------------ some queries and keys of many
def cells(matrix: Array, head: Head, rows: slice, keys: slice) -> Array:
    """The same cells of an n × m, h × n × m, 1 × m or m array."""
    if matrix.ndim == 3:
        return matrix[slice(None) if head is None else head, rows, keys] if matrix.shape[0] > 1 else matrix[0, rows, keys]
    return matrix[..., keys] if matrix.ndim == 1 or matrix.shape[0] == 1 else matrix[rows, keys]


def part(mask: Mask, head: Head, rows: slice, keys: slice) -> Mask:
    """The mask of a block of queries and a tile of keys."""
    return replace(
        mask,
        offset=mask.offset + rows.start - keys.start,
        lengths=None if mask.lengths is None else min(max(mask.lengths - keys.start, 0), keys.stop - keys.start),
        keep=None if mask.keep is None else cells(mask.keep, head, rows, keys),
        drop=None if mask.drop is None else cells(mask.drop, head, rows, keys),
    )


def reach(mask: Mask) -> tuple[float, float]:
    """How many keys before and after its own position a query sees: its band."""
    left, right = mask.window or (None, None)
    before, after = np.inf if left is None else left, np.inf if right is None else right
    return before, min(after, 0) if mask.causal else after


def penalty_of(may: Array, dtype: str) -> Array:
    """0 where a query may attend and −∞ where not. Looking it up is several times faster than np.where, which branches."""
    return np.array([-np.inf, 0], dtype).take(may.view(np.int8))
