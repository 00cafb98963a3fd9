"""Scores that fall apart into what depends on the query alone and what depends on the key alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod

import numpy as np

from attn_cli.engine import operations as op
from attn_cli.engine.arrays import Array

HIDDEN = 1 << 17
"""Cells in a piece of the additive hidden layer, which is read three or four times; if raised, it no longer fits the cache."""


def _itself(x: Array, given: Mapping[str, Array]) -> Array:
    return x


def _through_w(x: Array, given: Mapping[str, Array]) -> Array:
    return np.asarray(x @ given["W"])


def _unit(x: Array, given: Mapping[str, Array]) -> Array:
    scaled = op.divide.value(x, op.row_size.value(x))  # whose squares neither overflow nor are lost
    return op.divide.value(scaled, op.row_norm.value(scaled))


def _hidden_of_query(x: Array, given: Mapping[str, Array]) -> Array:
    w = given["W"][:, : x.shape[-1]] if "W" in given else given["W_q"]
    return np.asarray(x @ w.T + given.get("b", 0))


def _hidden_of_key(x: Array, given: Mapping[str, Array]) -> Array:
    w = given["W"][:, -x.shape[-1] :] if "W" in given else given["W_k"]
    return np.asarray(x @ w.T)


Half = Callable[[Array, Mapping[str, Array]], Array]
HALVES: dict[str, tuple[Half, Half]] = {
    "scaled": (_itself, _itself),
    "dot": (_itself, _itself),
    "general": (_through_w, _itself),
    "cosine": (_unit, _unit),
    "additive": (_hidden_of_query, _hidden_of_key),
}
"""What of a query and what of a key meet in their score: as a product, or for `additive` as vᵀ·tanh of the sum. Any other
score function is called on blocks of queries and tiles of keys just as it is registered."""


def additive(q: Array, k: Array, v: Array, k_size: float, out: Array) -> None:
    """vᵀ·tanh(q + k) for every query and key: (n, a), (a, m), (a,) -> (n, m), a few queries at a time.

    The hidden layer is laid out a × n × m, so that the inner loops run along the keys. As tanh(x) = 1 − 2 / (1 + exp(2x)) and
    exp(2(q + k)) is a product, no exponential is needed for a pair, unless it might overflow.
    """
    *head, n, a = q.shape
    m = k.shape[-1]
    q = np.ascontiguousarray(np.swapaxes(q, -1, -2))
    product = 2 * (float(np.abs(q).max()) + k_size) < np.log(np.finfo(q.dtype).max) - 1
    if product:
        q, k = np.exp(2 * q), np.exp(2 * k)
    step = max(1, HIDDEN // (a * m * prod(head)))
    scratch = np.empty(prod(head) * a * min(step, n) * m, q.dtype)
    for i in range(0, n, step):
        some = q[..., i : i + step, None]
        rows = some.shape[-2]
        hidden = scratch[: scratch.size // min(step, n) * rows].reshape(*head, a, rows, m)
        if product:
            np.multiply(some, k[..., None, :], out=hidden)
            hidden += 1
            np.reciprocal(hidden, out=hidden)
        else:
            np.tanh(np.add(some, k[..., None, :], out=hidden), out=hidden)
        flat = hidden.reshape(*head, a, rows * m)
        summed = v.sum() - np.matmul(2 * v, flat) if product else np.matmul(v, flat)
        out[..., i : i + rows, :] = summed.reshape(*head, rows, m)
