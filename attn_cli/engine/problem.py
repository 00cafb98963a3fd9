"""One attention problem: what was given, whether it fits together, and the sizes that follow.

A problem is always kept with one token a row and weights stored in × out; a text whose tokens are columns is turned
when it is read and turned back when it is shown (`vectors`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attn_cli.errors import InputError

Array = NDArray[Any]


def all_finite(array: Array) -> bool:
    """Whether no cell is NaN or infinite. For small arrays the sum of squares tells it fastest, unless it overflows."""
    if array.size < 1000 and math.isfinite(np.vdot(array, array)):  # which never warns
        return True
    return bool(np.isfinite(array).all())


MATRICES = ("X", "context", "W_Q", "W_K", "W_V", "Q", "K", "V", "scores", "W_O", "bias", "upstream")
FAR = 2**53
"""No token is farther away; positions beyond could not be added up."""
VECTORS = ("b_Q", "b_K", "b_V", "b_O")


@dataclass(frozen=True, eq=False)
class Mask:
    """Who may attend to whom: every part that is given must allow it."""

    causal: bool = False
    offset: int = 0
    """Query i stands at key position i + offset."""
    window: tuple[int | None, int | None] | None = None
    """How many keys to the left and right of its own position a query sees; None leaves a side open."""
    lengths: int | None = None
    """Only the first so many keys are real."""
    keep: Array | None = None
    """True where a query may attend: n × m, h × n × m, or m."""
    drop: Array | None = None
    """True where a query may not attend, in the same shapes."""

    def __post_init__(self) -> None:
        for part, number in (("offset", self.offset), *(("window", side) for side in self.window or ())):
            if number is not None and abs(number) > FAR:
                raise InputError(f"is {number}, expected a number of tokens, at most {FAR}", key=f"mask.{part}")

    @property
    def closes(self) -> bool:
        """Whether it can close anything: an offset alone does not."""
        return self.causal or any(part is not None for part in (self.window, self.lengths, self.keep, self.drop))


@dataclass(frozen=True, eq=False, repr=False)
class Problem:
    """What a problem file says, in numbers. See the README for the meaning of each key."""

    title: str = ""
    tokens: tuple[str, ...] | None = None
    """Names of the rows of X (of Q where there is no X); in self-attention of the keys too."""
    query_tokens: tuple[str, ...] | None = None
    key_tokens: tuple[str, ...] | None = None
    X: Array | None = None
    """(n, d_model)"""
    context: Array | None = None
    """(m, d_context): keys and values come from here."""
    W_Q: Array | None = None
    """(d_model, h·d_k), or (h·d_k, d_model) where weights_layout is out_in; the other weights likewise."""
    W_K: Array | None = None
    W_V: Array | None = None
    b_Q: Array | None = None
    """(h·d_k,)"""
    b_K: Array | None = None
    b_V: Array | None = None
    Q: Array | None = None
    """(n, h·d_k) or (h, n, d_k)"""
    K: Array | None = None
    V: Array | None = None
    scores: Array | None = None
    """(n, m) or (h, n, m)"""
    heads: int | None = None
    kv_heads: int | None = None
    W_O: Array | None = None
    """(h·d_v, d_out)"""
    b_O: Array | None = None
    weights_layout: str = "in_out"
    score: str = "scaled"
    scale: float | None = None
    parameters: Mapping[str, Mapping[str, Array]] = field(default_factory=dict)
    """Arrays that a score function takes, by its name: {"additive": {"W_q": …, "v": …}}."""
    softcap: float | None = None
    bias: Array | None = None
    """(n, m) or (h, n, m); −∞ allowed."""
    mask: Mask | None = None
    mode: str = "soft"
    temperature: float = 1.0
    seed: int = 0
    vectors: str = "rows"
    upstream: Array | None = None
    dtype: str = "float64"

    def given(self, *names: str) -> list[str]:
        """Those of the names that the problem gives."""
        return [name for name in names if getattr(self, name) is not None]

    def as_dtype(self) -> Problem:
        """With every array in the problem's dtype, so that whole numbers can never wrap around."""
        arrays = [getattr(self, name) for name in (*MATRICES, *VECTORS)]
        arrays += [value for given in self.parameters.values() for value in given.values()]
        if all(array is None or (type(array) is np.ndarray and array.dtype == self.dtype) for array in arrays):
            return self
        cast: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(self)}
        for name in (*MATRICES, *VECTORS):
            if cast[name] is not None:
                cast[name] = self._cast(name, cast[name])
        cast["parameters"] = {
            score: {name: self._cast(f"{score}.{name}", value) for name, value in arrays.items()}
            for score, arrays in self.parameters.items()
        }
        return Problem(**cast)

    def _cast(self, key: str, value: Any) -> Array:
        with np.errstate(over="ignore"):
            cast = np.asarray(value, dtype=self.dtype)
        lost = np.isinf(cast) & np.isfinite(value)
        if lost.any():
            at = tuple(int(i) for i in np.argwhere(lost)[0])
            raise InputError(f"found {np.asarray(value)[at]:g}, which is more than {self.dtype} can hold", key=key, cell=at)
        return cast


def source(problem: Problem, name: str) -> str:
    """The input that Q, K or V is made from."""
    return "X" if name == "Q" or problem.context is None else "context"


def has_weights(problem: Problem) -> bool:
    return bool(problem.given("W_Q", "W_K", "W_V", "b_Q", "b_K", "b_V"))


def key_of(problem: Problem, name: str) -> str:
    """The key that settles the width of Q, K or V."""
    if getattr(problem, name) is not None:
        return name
    return f"W_{name}" if getattr(problem, f"W_{name}") is not None else source(problem, name)
