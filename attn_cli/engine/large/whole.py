"""A whole problem of many tokens: its steps but for those that have a number for each query and key, and how many bytes those take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from attn_cli.engine import operations as op
from attn_cli.engine.arrays import Array
from attn_cli.engine.attention import after_heads, cut, project, refuse_overflow, solve
from attn_cli.engine.expression import symbol
from attn_cli.engine.large.tiles import Tiled, with_heads
from attn_cli.engine.masks import reach
from attn_cli.engine.operations import Named
from attn_cli.engine.problem import Mask, Problem, Sizes
from attn_cli.engine.remarks import labels, remarks_on_long, settings
from attn_cli.engine.scores import without_noise
from attn_cli.engine.shapes import open_rows, plan
from attn_cli.engine.steps import Recorder, Trace
from attn_cli.errors import InputError


@op.quietly
def solve_long(problem: Problem) -> Trace:
    """Work a problem of many tokens: as `solve`, but without the steps that have a number for each query and key."""
    problem = problem.as_dtype()
    sizes = plan(problem)
    if sizes.d_v is None:
        raise InputError("there is no output without values; give V, or X to make them from")
    record = Recorder(problem.vectors == "columns", sizes.h > 1)

    def step(name: str, count: int) -> Named:
        named = record(name, cut(project(name, problem), count, sizes.h))
        return without_noise(named) if problem.score == "cosine" and name != "V" else named

    given = problem.scores is not None
    q = None if given else with_heads(step("Q", sizes.h).value)
    k = None if given else with_heads(step("K", sizes.kv_heads).value)
    v = step("V", sizes.kv_heads)
    made = Tiled(problem, sizes, q, k, with_heads(v.value)).output()
    formula = op.weighted.formula(symbol("Aₕ", "A_h") if sizes.h > 1 else symbol("A"), v.expr)
    result = after_heads(Named(made if sizes.h > 1 else made[0], formula), problem, sizes, record)
    refuse_overflow({"output": result}, problem)
    query_labels, key_labels = labels(problem, sizes)
    trace = Trace(problem, sizes, tuple(record.steps), settings(problem, sizes), query_labels, key_labels, result)
    return replace(trace, notes=(*problem.notes, *remarks_on_long(trace, empty_rows(problem, sizes))))


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
    one query and one key tell."""
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
