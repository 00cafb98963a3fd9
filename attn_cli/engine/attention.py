"""Attention, from what was given to the output, as a textbook writes it.

The order is fixed: products, scale, softcap, bias, mask, temperature, mode (Vaswani et al. 2017, section 3.2).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Unpack

import numpy as np

from attn_cli.engine import operations as op
from attn_cli.engine.arrays import Array, all_finite
from attn_cli.engine.choices import labels, settings
from attn_cli.engine.expression import symbol
from attn_cli.engine.masks import allowed
from attn_cli.engine.modes import MODES
from attn_cli.engine.operations import Named
from attn_cli.engine.pitfalls import notes_on
from attn_cli.engine.problem import Problem, Sizes, has_weights, source
from attn_cli.engine.scores import SCORES
from attn_cli.engine.shapes import open_cells, plan
from attn_cli.engine.steps import Changes, Recorder, Trace
from attn_cli.errors import InputError

INPUT_TEX = {"context": r"\mathit{context}", "scores": r"\mathit{scores}", "bias": "B"}
INPUT_SYMBOLS = {"bias": "B"}


@op.quietly
def solve(problem: Problem, **changes: Unpack[Changes]) -> Trace:
    """Work a problem, writing down every step.

    The changes are for marking, which wants no notes. Raises InputError where the problem does not fit together.
    """
    problem = problem.as_dtype()
    sizes = plan(problem)
    record = Recorder(problem.vectors == "columns", sizes.h > 1, **changes)
    q, k, v = (projected(name, problem, sizes, record) for name in ("Q", "K", "V"))
    if q is None or k is None:
        raw = flat_head(given_input("scores", problem), sizes.h)
    else:
        raw = raw_scores(q, repeated(k, sizes), problem, record)
    s = tempered(adjusted(raw, problem, sizes, record), problem, record)
    a = record("weights", MODES[problem.mode].function(s, problem, record))
    result = a if v is None else output(a, repeated(v, sizes), problem, sizes, record)
    query_labels, key_labels = labels(problem, sizes)
    trace = Trace(problem, sizes, tuple(record.steps), settings(problem, sizes), query_labels, key_labels, result)
    if any(changes.values()):
        return trace
    check_range(trace, raw, s, v)
    return replace(trace, notes=(*problem.notes, *notes_on(trace)))


def check_range(trace: Trace, raw: Named, s: Named, v: Named | None) -> None:
    """Raises InputError where a number of a trace became too large to count with; the first step that did is named."""
    problem = trace.problem
    if v is not None and problem.V is None:
        refuse_overflow({"values": v}, problem)
    refuse_overflow({"scores": raw}, problem)
    if problem.bias is not None or problem.temperature != 1:
        refuse_overflow({"scores": s}, problem, open_cells(problem, trace.sizes))
    refuse_overflow({"weights": trace.step("weights").made, "output": trace.result}, problem)


def refuse_overflow(values: Mapping[str, Named], problem: Problem, among: Array | bool = True) -> None:
    """Raises InputError where a number became too large to count with, in a cell where `among` is true (everywhere by default)."""
    for what, x in values.items():
        if not all_finite(x.value) and not np.isfinite(x.value).all(where=among):
            raise InputError(f"numbers of the {what} grow beyond what {problem.dtype} can hold; make those of the inputs smaller")


def given_input(name: str, problem: Problem) -> Named:
    """An input as a named value."""
    return op.given(name, getattr(problem, name), symbol(INPUT_SYMBOLS.get(name, name), INPUT_TEX.get(name, name)))


def project(name: str, problem: Problem) -> Named:
    """X·W + b for Q, K or V; X itself where no weights are given: (n, d_model), (d_model, d) -> (n, d)."""
    if getattr(problem, name) is not None:
        return given_input(name, problem)
    x = given_input(source(problem, name), problem)
    if not has_weights(problem):
        return op.unchanged(x)
    return affine(x, f"W_{name}", f"b_{name}", problem)


def affine(x: Named, weight: str, bias: str, problem: Problem) -> Named:
    """x·W + b: (n, d), (d, e), (e,) -> (n, e); x·Wᵀ + b where weights are stored out × in."""
    if getattr(problem, weight) is not None:
        multiplied_by = op.product if problem.weights_layout == "in_out" else op.product_t
        x = multiplied_by(x, given_input(weight, problem))
    if getattr(problem, bias) is not None:
        x = op.add(x, given_input(bias, problem))
    return x


def projected(name: str, problem: Problem, sizes: Sizes, record: Recorder) -> Named | None:
    """Q, K or V as a step, its heads cut: (heads, n, d), or (n, d) for one head; None where it is not needed."""
    if (sizes.d_v if name == "V" else sizes.d_k) is None:
        return None
    return record(name, cut(project(name, problem), sizes.h if name == "Q" else sizes.kv_heads, sizes.h))


def flat_head(x: Named, h: int) -> Named:
    """One head has no head axis: (1, n, d) -> (n, d)."""
    return op.revalued(x, x.value[0]) if h == 1 and x.value.ndim == 3 else x


def cut(x: Named, heads: int, h: int) -> Named:
    """(n, heads·d) -> (heads, n, d), where there are several query heads `h` and it is not cut already."""
    return op.cut_heads(heads)(x) if h > 1 and x.value.ndim == 2 else flat_head(x, h)


def repeated(x: Named, sizes: Sizes) -> Named:
    """Keys or values for every query head: (kv_heads, m, d) -> (h, m, d)."""
    return op.repeat_heads(sizes.h // sizes.kv_heads)(x) if sizes.kv_heads < sizes.h else x


def per_head(x: Named) -> Named:
    """Written with the index of its head where each head has its own: B, or Bₕ."""
    return op.renamed(x, op.of_head(x.expr)) if x.value.ndim == 3 else x


def raw_scores(q: Named, k: Named, problem: Problem, record: Recorder) -> Named:
    """The score function's value with the problem's own scale: (n, d_q), (m, d_k) -> (n, m)."""
    s = SCORES[problem.score].function(q, k, problem, record)
    if problem.scale not in (None, 1):
        s = op.times(symbol("scale", r"\mathit{scale}", number=problem.scale))(record("products", s))
    return s


def adjusted(s: Named, problem: Problem, sizes: Sizes, record: Recorder) -> Named:
    """Scores after softcap, bias and mask, each recorded where something follows it: (n, m) -> (n, m)."""
    c, bias, mask = problem.softcap, problem.bias, problem.mask
    masked = mask is not None and mask.in_force
    if c is not None or bias is not None or masked:
        s = record("raw_scores", s)
    if c is not None:
        cap = symbol("c", number=c)
        s = op.times(cap)(op.tanh(op.over(cap)(s)))
        if bias is not None or masked:
            s = record("capped", s)
    if bias is not None:
        s = op.add(s, per_head(flat_head(given_input("bias", problem), sizes.h)))
    if mask is not None and masked:
        s = op.Masked(allowed=allowed(mask, sizes.h, sizes.n, sizes.m))(s)
    return record("scores", s)


def tempered(s: Named, problem: Problem, record: Recorder) -> Named:
    """Scores divided by the temperature, a step where it is not 1: (n, m) -> (n, m)."""
    return s if problem.temperature == 1 else record("tempered", op.over(symbol("T", number=problem.temperature))(s))


def output(a: Named, v: Named, problem: Problem, sizes: Sizes, record: Recorder) -> Named:
    """Weights times values, heads joined, then W_O and b_O: (n, m), (m, d_v) -> (n, d_out)."""
    return after_heads(op.weighted(a, v), problem, sizes, record)


def after_heads(o: Named, problem: Problem, sizes: Sizes, record: Recorder) -> Named:
    """Heads joined, then W_O and b_O: (h, n, d_v) -> (n, d_out)."""
    if sizes.h > 1:
        o = op.join_heads(record("heads", o))
    if problem.given("W_O", "b_O"):
        o = affine(record("concat", o), "W_O", "b_O", problem)
    return record("output", o)
