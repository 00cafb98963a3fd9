"""Small random problems of every kind, for laws that hold for all of them.

A test that asks for `score`, `mode`, `differentiable_mode`, `kind` (of mask), `heads` or `vectors` runs once for every
one there is; the score functions and modes are those of the registries, so that a new one is tested from its first day.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from attn_cli.engine.attention import solve
from attn_cli.engine.modes import MODES
from attn_cli.engine.problem import Mask, Problem
from attn_cli.engine.scores import SCORES
from attn_cli.engine.steps import Trace

N, M, D_MODEL, D_CONTEXT, D_K, D_V, D_OUT, HIDDEN = 3, 4, 3, 2, 2, 2, 3, 2

HEADS = {"one head": (1, 1), "two heads": (2, 2), "grouped": (4, 2), "one for all": (2, 1)}
"""Query heads, and key and value heads."""

KINDS: dict[str, Callable[[np.random.Generator, int], dict[str, object]]] = {
    "none": lambda r, h: {},
    "causal": lambda r, h: {"mask": Mask(causal=True)},
    "causal with an offset": lambda r, h: {"mask": Mask(causal=True, offset=1)},
    "window": lambda r, h: {"mask": Mask(window=(1, 0))},
    "window open on the left": lambda r, h: {"mask": Mask(window=(None, 1), offset=-1)},
    "lengths": lambda r, h: {"mask": Mask(lengths=M - 1)},
    "keep": lambda r, h: {"mask": Mask(keep=r.random((N, M)) < 0.7)},
    "keep one row": lambda r, h: {"mask": Mask(keep=np.array([1, 0, 1, 1]))},
    "drop": lambda r, h: {"mask": Mask(drop=(r.random((N, M)) < 0.3).astype(int))},
    "a closed row": lambda r, h: {"mask": Mask(keep=np.arange(N)[:, None] * np.ones(M, bool) != 1)},
    "per head": lambda r, h: {"mask": Mask(keep=r.random((h, N, M)) < 0.7)},
    "parts together": lambda r, h: {"mask": Mask(causal=True, offset=1, window=(2, None), lengths=3, drop=np.eye(N, M))},
    "bias": lambda r, h: {"bias": r.normal(size=(N, M))},
    "bias per head": lambda r, h: {"bias": r.normal(size=(h, N, M))},
    "bias that closes": lambda r, h: {"bias": np.where(r.random((N, M)) < 0.3, -np.inf, r.normal(size=(N, M))), "softcap": 2.0},
}
"""Kinds of mask and bias, for so many heads."""

ADDITIVE_APART = "additive, W_q and W_k"


def parameters(score: str, r: np.random.Generator) -> dict[str, dict[str, np.ndarray]]:
    if score == ADDITIVE_APART:
        return {
            "additive": {
                "W_q": r.normal(size=(HIDDEN, D_K)),
                "W_k": r.normal(size=(HIDDEN, D_K)),
                "b": r.normal(size=HIDDEN),
                "v": r.normal(size=HIDDEN),
            }
        }
    if score == "additive":
        return {"additive": {"W": r.normal(size=(HIDDEN, 2 * D_K)), "v": r.normal(size=HIDDEN)}}
    if score == "general":
        return {"general": {"W": r.normal(size=(D_K, D_K))}}
    return {}


def random_problem(score: str, mode: str, kind: str = "none", heads: str = "one head", seed: int = 0, **changes: object) -> Problem:
    """Cross-attention with every weight and bias, a scale, a temperature and an output projection."""
    r = np.random.default_rng([seed, len(kind), len(heads)])
    h, kv = HEADS[heads]
    chosen: dict[str, object] = {
        "X": r.normal(size=(N, D_MODEL)),
        "context": r.normal(size=(M, D_CONTEXT)),
        "W_Q": r.normal(size=(D_MODEL, h * D_K)),
        "W_K": r.normal(size=(D_CONTEXT, kv * D_K)),
        "W_V": r.normal(size=(D_CONTEXT, kv * D_V)),
        "b_Q": r.normal(size=h * D_K),
        "b_K": r.normal(size=kv * D_K),
        "b_V": r.normal(size=kv * D_V),
        "W_O": r.normal(size=(h * D_V, D_OUT)),
        "b_O": r.normal(size=D_OUT),
        "heads": h,
        "kv_heads": kv,
        "score": score.split(",")[0],
        "parameters": parameters(score, r),
        "scale": 0.7 if seed % 2 else None,
        "temperature": 0.8 if seed % 3 else 1.0,
        "mode": mode,
        "seed": seed,
        **KINDS[kind](r, h),
        **changes,
    }
    return Problem(**chosen)  # type: ignore[arg-type]


@pytest.fixture
def problem() -> Callable[..., Problem]:
    """Makes a random problem: problem(score, mode, kind, heads, seed, **changes)."""
    return random_problem


@cache
def solved_problem(score: str, mode: str, kind: str, heads: str, seed: int = 0) -> Trace:
    return solve(random_problem(score, mode, kind, heads, seed))


@pytest.fixture
def solved() -> Callable[..., Trace]:
    """The trace of a random problem, worked once for all laws: solved(score, mode, kind, heads, seed)."""
    return solved_problem


@pytest.fixture
def kinds() -> list[str]:
    return list(KINDS)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    every = {
        "score": [*SCORES, ADDITIVE_APART],
        "mode": list(MODES),
        "differentiable_mode": [entry.name for entry in MODES.entries() if entry.differentiable],
        "kind": list(KINDS),
        "heads": list(HEADS),
        "vectors": ["rows", "columns"],
    }
    for name, values in every.items():
        if name in metafunc.fixturenames:
            metafunc.parametrize(name, values)
