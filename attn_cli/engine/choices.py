"""What was chosen for a problem, given or by default, and what its rows are called."""

from __future__ import annotations

import math
from typing import Any

from attn_cli.engine.modes import MODES
from attn_cli.engine.problem import Problem, Sizes


def labels(problem: Problem, sizes: Sizes) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of the queries and of the keys; x1, x2, … in self-attention and q1, k1, … otherwise, where none are given."""
    same = problem.context is None and sizes.n == sizes.m
    queries = problem.query_tokens or problem.tokens
    keys = problem.key_tokens or (problem.tokens if same else None)
    self_attention = same and (problem.X is not None or (problem.query_tokens is None and problem.key_tokens is None and problem.K is None))
    prefix = ("x", "x") if self_attention else ("q", "k")
    return (
        queries or tuple(f"{prefix[0]}{i + 1}" for i in range(sizes.n)),
        keys or tuple(f"{prefix[1]}{j + 1}" for j in range(sizes.m)),
    )


def settings(problem: Problem, sizes: Sizes) -> dict[str, Any]:
    """What was chosen, given or by default."""
    chosen: dict[str, Any] = {
        "score": None if problem.scores is not None else problem.score,
        "mode": problem.mode,
        "scale": scale(problem, sizes),
    }
    chosen |= {"heads": sizes.h, "n": sizes.n, "m": sizes.m, "d_k": sizes.d_k, "d_v": sizes.d_v}
    if sizes.kv_heads != sizes.h:
        chosen["kv_heads"] = sizes.kv_heads
    if problem.mask is not None and problem.mask.in_force:
        mask = problem.mask
        chosen["mask"] = {
            **({"causal": True} if mask.causal else {}),
            **({"offset": mask.offset} if mask.offset or mask.causal else {}),
            **({"window": list(mask.window)} if mask.window is not None else {}),
            **({"lengths": mask.lengths} if mask.lengths is not None else {}),
            **({"keep": True} if mask.keep is not None else {}),
            **({"drop": True} if mask.drop is not None else {}),
        }
    chosen |= {"softcap": problem.softcap} if problem.softcap is not None else {}
    chosen |= {
        "temperature": problem.temperature,
        "weights_layout": problem.weights_layout,
        "vectors": problem.vectors,
        "dtype": problem.dtype,
    }
    if MODES[problem.mode].random:
        chosen["seed"] = problem.seed
    return chosen


def scale(problem: Problem, sizes: Sizes) -> float | None:
    """What the raw score is multiplied by; None where scores are given."""
    if problem.scores is not None:
        return None
    if problem.scale is not None:
        return float(problem.scale)
    return 1 / math.sqrt(sizes.d_k or 1) if problem.score == "scaled" else 1.0
