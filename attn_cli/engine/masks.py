"""Who may attend to whom: the parts of a mask, combined with "and"."""

from __future__ import annotations

import numpy as np

from attn_cli.engine.problem import Array, Mask
from attn_cli.errors import InputError


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
