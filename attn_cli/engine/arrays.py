"""Arrays and their cells, as everything here speaks of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Cell = tuple[int, ...]
"""A place in an array, from 0."""


def as_array(value: Any) -> Array:
    """NumPy's array of whatever can be one. A framework's tensor leaves its graph and its device; bfloat16 becomes float32.

    Raises ValueError where rows have different lengths.
    """
    if type(value) is np.ndarray:
        return value
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        if "bfloat16" in str(value.dtype):
            value = value.float()
    return np.asarray(value)


def all_finite(array: Array) -> bool:
    """Whether no cell is NaN or infinite. For small arrays the sum of squares shows it fastest, unless it overflows."""
    if array.size < 1000 and math.isfinite(np.vdot(array, array)):  # which never warns
        return True
    return bool(np.isfinite(array).all())


def shape_text(shape: Sequence[int], columns: bool = False) -> str:
    """A shape as people write it, 3 × 4; turned where the reader's tokens are `columns`."""
    if columns and len(shape) > 1:
        shape = (*shape[:-2], shape[-1], shape[-2])
    return " × ".join(map(str, shape))
