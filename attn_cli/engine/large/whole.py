"""A whole problem of many tokens: its steps but for those that have a number for each query and key, and how many bytes those take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from attn_cli.engine import operations as op
from attn_cli.engine.arrays import Array, as_array, shape_text
from attn_cli.engine.attention import after_heads, projected, refuse_overflow, solve
from attn_cli.engine.choices import labels, settings
from attn_cli.engine.expression import symbol
from attn_cli.engine.keys import array_for
from attn_cli.engine.large.tiles import Tiled, with_heads
from attn_cli.engine.masks import reach
from attn_cli.engine.operations import Named
from attn_cli.engine.pitfalls import notes_on_long
from attn_cli.engine.problem import KEYS, Mask, Problem, Sizes
from attn_cli.engine.scores import without_noise
from attn_cli.engine.shapes import open_rows, plan
from attn_cli.engine.steps import Recorder, Trace
from attn_cli.errors import InputError


def attention(
    q: Any,
    k: Any,
    v: Any,
    *,
    score: str = "scaled",
    mode: str = "soft",
    mask: Any = None,
    bias: Any = None,
    scale: float | None = None,
    temperature: float = 1.0,
    softcap: float | None = None,
    parameters: Mapping[str, Any] | None = None,
    seed: int = 0,
) -> Array:
    """The output of attention for arrays of any size: (n, d), (m, d), (m, d_v) -> (n, d_v), or all with a head axis before.

    Keys and values may have fewer heads than queries, each serving consecutive ones. `mask` is "causal", an array (n × m,
    h × n × m or m) in which true or 1 means "may attend", or a mapping of `causal`, `offset`, `window`, `lengths`, `keep`
    and `drop`; `parameters` are the arrays that `score` takes by name, such as {"W_q": …, "W_k": …, "v": …}. float16 and
    float32 come back as they went in (float16 is worked in float32); everything else is worked in float64.

    Raises InputError where the arrays do not fit together.
    """
    arrays = {name: array_for(KEYS[name], value) for name, value in (("Q", q), ("K", k), ("V", v))}
    dtype = _dtype(arrays)
    problem = Problem(
        Q=arrays["Q"].astype(dtype, copy=False),
        K=arrays["K"].astype(dtype, copy=False),
        V=arrays["V"].astype(dtype, copy=False),
        score=score,
        mode=mode,
        scale=scale,
        temperature=temperature,
        softcap=softcap,
        parameters={score: {name: as_array(value).astype(dtype) for name, value in (parameters or {}).items()}},
        mask=mask,
        bias=bias,
        seed=seed,
        dtype=dtype,
    )
    out = Tiled(problem, plan(problem), *(with_heads(getattr(problem, name)) for name in ("Q", "K", "V"))).output()
    out = out if arrays["Q"].ndim == 3 else out[0]
    return out.astype(np.float16) if all(array.dtype == np.float16 for array in arrays.values()) else out


def _dtype(arrays: Mapping[str, Array]) -> str:
    """The dtype to work in; every array must have the same number of axes."""
    for name, array in arrays.items():
        if array.ndim not in (2, 3) or array.ndim != arrays["Q"].ndim:
            expected = "n × d or h × n × d" if name == "Q" else f"{arrays['Q'].ndim} axes, as Q has"
            raise InputError(f"is {shape_text(array.shape) or 'one number'}, expected {expected}", key=name)
    return "float32" if np.result_type(*arrays.values()) in (np.float16, np.float32) else "float64"


@op.quietly
def solve_long(problem: Problem) -> Trace:
    """Work a problem of many tokens: as `solve`, but without the steps that have a number for each query and key."""
    problem = problem.as_dtype()
    sizes = plan(problem)
    if sizes.d_v is None:
        raise InputError("there is no output without values; give V, or X to make them from")
    record = Recorder(problem.columns, sizes.h > 1)
    q, k, v = (projected(name, problem, sizes, record) for name in ("Q", "K", "V"))
    assert v is not None
    if problem.V is None:
        refuse_overflow({"values": v}, problem)
    if problem.score == "cosine" and q is not None and k is not None:
        q, k = without_noise(q), without_noise(k)
    queries, keys = (None if x is None else with_heads(x.value) for x in (q, k))
    out = Tiled(problem, sizes, queries, keys, with_heads(v.value)).output()
    formula = op.weighted.formula(symbol("Aₕ", "A_h") if sizes.h > 1 else symbol("A"), v.expr)
    result = after_heads(Named(out if sizes.h > 1 else out[0], formula), problem, sizes, record)
    refuse_overflow({"output": result}, problem)
    query_labels, key_labels = labels(problem, sizes)
    trace = Trace(problem, sizes, tuple(record.steps), settings(problem, sizes), query_labels, key_labels, result)
    return replace(trace, notes=(*problem.notes, *notes_on_long(trace, empty_rows(problem, sizes))))


def empty_rows(problem: Problem, sizes: Sizes) -> Array:
    """The (head and) query of each row that may attend to nothing, as `np.argwhere` has them."""
    mask, bias = problem.mask, problem.bias
    if mask is None and bias is None:
        return np.empty((0, 2 if sizes.h > 1 else 1), int)
    found = np.zeros((sizes.h, sizes.n), bool)
    if bias is None and mask is not None and mask.keep is None and mask.drop is None:
        (before, after), at = reach(mask), np.arange(sizes.n) + mask.offset
        end = sizes.m if mask.lengths is None else mask.lengths
        found[:] = np.maximum(at - before, 0) >= np.minimum(at + after + 1, end)
    else:
        for rows, may in open_rows(problem, sizes):
            found[:, rows] = ~may.any(axis=-1)
    return np.argwhere(found if sizes.h > 1 else found[0])


def long_steps(problem: Problem) -> list[str]:
    """The steps that `solve` makes and `solve_long` leaves out. Which steps there are never depends on the values, so that
    one query and one key show it."""
    least = _least(problem)
    made = {step.name for step in solve_long(least)}
    return [step.name for step in solve(least) if step.name not in made]


def _least(problem: Problem) -> Problem:
    """A problem of the same settings and widths, with one query and one key, all of whose numbers are 0."""
    sizes = plan(problem)
    token_axes = {"X": [-2], "context": [-2], "Q": [-2], "K": [-2], "V": [-2], "scores": [-2, -1], "bias": [-2, -1]}
    arrays: dict[str, Any] = {}
    for name in problem.given(*token_axes):
        shape = np.array(getattr(problem, name).shape)
        shape[token_axes[name]] = 1
        arrays[name] = np.zeros(shape)
    if sizes.d_v is None:
        arrays["V"] = np.zeros((sizes.kv_heads, 1, 1) if sizes.h > 1 else (1, 1))
    mask = Mask(causal=True) if problem.mask is not None and problem.mask.in_force else None
    return replace(problem, **arrays, mask=mask, tokens=None, query_tokens=None, key_tokens=None, upstream=None)


def full_bytes(problem: Problem, steps: Sequence[str]) -> int:
    """About how many bytes `solve` would hold for these n × m steps of a problem: what to weigh against a memory budget."""
    sizes = plan(problem)
    arrays = float(len([name for name in steps if name not in ("hidden", "row_sums")]))
    arrays += problem.mode == "gumbel"  # noise
    arrays += 1  # what is needed on the way and for the notes
    if problem.score == "additive" and problem.scores is None:
        given = problem.parameters.get("additive", {})
        joint = "W" in given  # then [q; k] is held for every pair as well
        hidden = given["v"].size if "v" in given else 1
        arrays += 2 * hidden + ((sizes.d_q or 0) + (sizes.d_k or 0) if joint else 0)
    return int(sizes.h * sizes.n * sizes.m * arrays * np.dtype(problem.dtype).itemsize)
