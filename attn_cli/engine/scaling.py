"""Why dot products are divided by √d_k, measured: random queries and keys of several widths (section 4.2.1 of the chapter)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from attn_cli.engine.arrays import Array
from attn_cli.engine.modes import softened

WIDTHS = (4, 16, 64, 512)
"""The widths that are measured where none are named."""
SAMPLES = 2000
"""Queries drawn for each width; four times as many halve what the numbers are off by."""
KEYS = 16
"""Keys that each query meets; with more, the largest weight is smaller everywhere."""
CHUNK = 2**22
"""Random numbers held at once; if raised, more memory is used."""


class Measured(NamedTuple):
    """What dot products of one width do, as they are and divided by √d_k."""

    d_k: int
    variance_dot: float
    variance_scaled: float
    std_dot: float
    std_scaled: float
    largest_weight_dot: float
    """Mean over the queries."""
    largest_weight_scaled: float
    gradient_dot: float
    """Mean Frobenius norm of the softmax's Jacobian diag(A) − A·Aᵀ: how much any score can still move the weights."""
    gradient_scaled: float


def measured(widths: Sequence[int], samples: int, seed: int) -> list[Measured]:
    """One row a width."""
    return [_row(d_k, samples, np.random.default_rng([seed, d_k])) for d_k in widths]


def _row(d_k: int, samples: int, rng: np.random.Generator) -> Measured:
    dot = np.concatenate(list(_products(d_k, samples, rng)))
    scaled = dot / np.sqrt(d_k)
    (largest_dot, gradient_dot), (largest_scaled, gradient_scaled) = _sharpness(dot), _sharpness(scaled)
    spread = float(dot.std()), float(scaled.std())
    return Measured(d_k, spread[0] ** 2, spread[1] ** 2, *spread, largest_dot, largest_scaled, gradient_dot, gradient_scaled)


def _products(d_k: int, samples: int, rng: np.random.Generator) -> Iterator[Array]:
    """q·k for each query and its own keys, all numbers drawn with mean 0 and variance 1: (some samples, KEYS) at a time."""
    some = max(1, CHUNK // (d_k * (KEYS + 1)))
    for start in range(0, samples, some):
        count = min(some, samples - start)
        q, k = rng.normal(size=(count, 1, d_k)), rng.normal(size=(count, KEYS, d_k))
        yield (q @ k.swapaxes(-1, -2))[:, 0]


def _sharpness(scores: Array) -> tuple[float, float]:
    """The mean largest weight of a row, and the mean norm of the softmax's Jacobian there."""
    a = softened(scores)
    squares = (a**2).sum(-1)
    # ‖diag(a) − a·aᵀ‖² = Σ a² − 2·Σ a³ + (Σ a²)²
    norm = np.sqrt(np.maximum(squares - 2 * (a**3).sum(-1) + squares**2, 0))
    return float(a.max(-1).mean()), float(norm.mean())
