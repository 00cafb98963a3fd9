"""Problems that the tests of rendering show."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from attn_cli.engine.attention import solve
from attn_cli.engine.problem import Mask, Problem
from attn_cli.engine.steps import Trace

X = np.array([[1, 0, 1, 0], [0, 1, 0, 1], [1, 1, 0, 0]], float)
I4 = np.eye(4)


def textbook(**changes: Any) -> Problem:
    """The worked example of the chapter, section 4.4."""
    return Problem(**{"title": "Textbook", "X": X, "W_Q": I4, "W_K": I4, "W_V": I4, **changes})


def additive(**changes: Any) -> Problem:
    rng = np.random.default_rng(5)
    parameters = {"additive": {"W": rng.normal(size=(2, 8)).round(2), "v": np.array([1.5, -0.5])}}
    return textbook(score="additive", parameters=parameters, **changes)


def random(n: int, m: int, d: int, seed: int = 0, **changes: Any) -> Problem:
    rng = np.random.default_rng(seed)
    return Problem(Q=rng.normal(size=(n, d)), K=rng.normal(size=(m, d)), V=rng.normal(size=(m, d)), **changes)


PROBLEMS = {
    "textbook": textbook(),
    "no weights": Problem(X=X),
    "causal": textbook(mask=Mask(causal=True)),
    "closed row": textbook(mask=Mask(keep=np.array([[0, 0, 0], [1, 0, 1], [1, 1, 1]], bool))),
    "hard": textbook(mode="hard"),
    "sample": textbook(mode="sample", seed=3),
    "gumbel": textbook(mode="gumbel", seed=3),
    "sparsemax": textbook(mode="sparsemax"),
    "entmax": textbook(mode="entmax15"),
    "additive": additive(),
    "cosine": textbook(score="cosine"),
    "general": textbook(score="general", parameters={"general": {"W": I4 * 0.3}}),
    "heads": textbook(heads=2, W_O=I4[::-1], b_O=np.full(4, 0.25)),
    "grouped": textbook(heads=4, kv_heads=2, W_K=I4[:, :2], W_V=I4[:, 2:]),
    "columns": textbook(vectors="columns", mask=Mask(causal=True)),
    "hard columns": textbook(vectors="columns", mode="hard"),
    "additive columns": additive(vectors="columns"),
    "everything": textbook(scale=0.7, softcap=2.0, bias=np.arange(9.0).reshape(3, 3) / 7, temperature=0.8, mask=Mask(causal=True)),
    "scores": Problem(scores=np.array([[112.0, 96.0], [0.5, -0.25]]), V=np.array([[1.0, 2.0], [3.0, -4.0]])),
    "scores and bias": Problem(scores=np.array([[1.0, 2.0], [0.5, -0.25]]), bias=np.array([[0.0, -np.inf], [1.0, 2.0]])),
    "large": Problem(scores=np.array([[1e6, 1e6 - 1.5, -1e6], [750.25, 0.5, 3]]), V=np.array([[1e8, 1], [2e-9, 2], [3, 3]])),
    "tiny": Problem(scores=np.array([[-650.0, -651.5], [1e-9, -3e-8]]), V=np.array([[1.0], [2.0]])),
    "float32": textbook(dtype="float32", W_Q=I4 * 0.1),
    "random": random(3, 4, 5),
    "wide": random(2, 3, 20, seed=1),
}
"""One of each kind."""


@pytest.fixture(params=PROBLEMS)
def trace(request: pytest.FixtureRequest) -> Trace:
    return solve(PROBLEMS[request.param])
