"""Who may attend to whom: the parts of a mask, combined with "and"."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from attn_cli.engine.arrays import Array, shape_text
from attn_cli.engine.problem import Mask
from attn_cli.errors import InputError

Head = int | None
"""One query head; None for all of them at once."""


def allowed(mask: Mask, h: int, n: int, m: int) -> Array:
    """True where a query may attend to a key: (n, m), or (h, n, m) where a matrix of the mask has a head axis."""
    may = band(mask, np.arange(n), np.arange(m))
    if mask.lengths is not None:
        may = may & (np.arange(m) < mask.lengths)
    for matrix, value in ((mask.keep, True), (mask.drop, False)):
        if matrix is not None:
            may = may & ((matrix[0] if h == 1 and matrix.ndim == 3 else matrix) == value)
    return may


def check_mask(mask: Mask, h: int, n: int, m: int, *, columns: bool) -> None:
    """Raises InputError where a matrix has no shape of a mask, or `lengths` is more than m; shapes are written as the reader
    sees them, turned where tokens are `columns`."""
    if mask.lengths is not None and mask.lengths > m:
        raise InputError(f"lengths is {mask.lengths}, expected a whole number from 0 to {m}, the number of keys", key="mask")
    for matrix in (mask.keep, mask.drop):
        if matrix is not None and matrix.shape not in ((m,), (1, m), (n, m), (h, n, m)):
            grid, sides = shape_text((n, m), columns), "keys × queries" if columns else "queries × keys"
            heads = f", {h} × {grid}" if h > 1 else ""
            raise InputError(f"is {shape_text(matrix.shape, columns)}, expected {grid} ({sides}){heads} or one row of {m}", key="mask")


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
