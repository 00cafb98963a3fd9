"""Whether a problem fits together, and the sizes that follow. Every complaint names the key that must change."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from attn_cli.engine.arrays import Array, all_finite
from attn_cli.engine.keys import check_axes, judge
from attn_cli.engine.masks import allowed, check_mask, part
from attn_cli.engine.modes import MODES
from attn_cli.engine.problem import KEYS, Problem, Sizes, has_weights, key_of, parameter, source
from attn_cli.engine.scores import SCORES, gradient_names
from attn_cli.engine.steps import STEPS, step_name
from attn_cli.errors import InputError
from attn_cli.names import did_you_mean

TRACED = ("Q", "K", "V")
EARLY = {"Q", "K", "hidden", "products", "raw_scores", "capped"}
"""Steps before the scores, which are not worked out where scores are given."""
BEFORE_SCORES = [name for name, row in KEYS.items() if row.steps and {*row.steps} <= EARLY]
ROWS = 384
"""Queries that are looked at together where a mask or bias is; more would take more memory, fewer more calls."""


def plan(problem: Problem) -> Sizes:
    """The sizes of a problem; raises InputError where it does not fit together."""
    _check_names(problem)
    _check_held(problem)
    _check_twice(problem)
    shapes = {name: _shape(problem, name) for name in TRACED}
    q, k, v = shapes["Q"], shapes["K"], shapes["V"]
    h = _heads(problem, q, k)
    kv = _kv_heads(problem, h, k, v)
    n, m = _lengths(problem, q, k)
    if v and v[-2] != m:
        raise InputError(f"has {v[-2]} {problem.sides[0]}, expected {m}: one value for each key", key=key_of(problem, "V"))
    sizes = Sizes(n, m, h, kv, _width(problem, "Q", q, h), _width(problem, "K", k, kv), _width(problem, "V", v, kv))
    _check_output(problem, sizes)
    _check_square(problem, sizes)
    _check_tokens(problem, sizes)
    _check_values(problem, sizes)
    return sizes


def _check_names(problem: Problem) -> None:
    """Names are those of score functions, modes, steps and the arrays that a score function takes."""
    for name, family in (("score", SCORES), ("mode", MODES)):
        if getattr(problem, name) not in family:
            judge(KEYS[name], getattr(problem, name))
    for name in problem.ask:
        if step_name(name) is None and name not in gradient_names():
            raise InputError(f"there is no step {name!r}{did_you_mean(name, STEPS)}; there are {', '.join(STEPS)}", key="ask")
    for score, arrays in problem.parameters.items():
        known = SCORES[score].parameters
        for name, value in arrays.items():
            if name not in known:
                raise InputError(f"has no {name!r}{did_you_mean(name, list(known))}; it takes {', '.join(known) or 'nothing'}", key=score)
            check_axes(parameter(score, name), value)


def _check_held(problem: Problem) -> None:
    """Settings that are numbers can be held in the problem's dtype."""
    for name in problem.given("temperature", "softcap", "scale") if problem.dtype != "float64" else ():  # which every float is
        value = getattr(problem, name)
        with np.errstate(over="ignore", under="ignore"):
            held = np.asarray(value, dtype=problem.dtype)
        if not np.isfinite(held) or (held == 0) != (value == 0):
            raise InputError(f"found {value:g}, which {problem.dtype} cannot hold", key=name)


def _check_twice(problem: Problem) -> None:
    """Nothing may be given that has no place, or for which two things stand."""
    if problem.scores is not None:
        for name in problem.given(*BEFORE_SCORES):
            raise InputError(f"{name} has no place beside it: the trace starts at the scores; leave one of them out", key="scores")
    for name in TRACED:
        for other in problem.given(f"W_{name}", f"b_{name}") if getattr(problem, name) is not None else ():
            raise InputError(f"{name} is given directly, so {other} has no place; leave one of them out", key=other)
    if problem.tokens is not None and problem.query_tokens is not None:
        raise InputError("tokens and query_tokens both name the queries; leave one of them out", key="query_tokens")


def _shape(problem: Problem, name: str) -> tuple[int, ...] | None:
    """The shape of Q, K or V before heads are cut; None where there is none."""
    direct: Array | None = getattr(problem, name)
    if direct is not None:
        return direct.shape
    if problem.scores is not None and name in ("Q", "K"):
        return None
    origin = source(problem, name)
    x: Array | None = getattr(problem, origin)
    if x is None:
        for key in problem.given(f"W_{name}", f"b_{name}"):
            raise InputError(f"{origin} is missing: {name} = {origin}·W_{name} needs it", key=key)
        if name == "V":
            return None
        raise InputError(f"{name} is missing: give {name}, or {origin} to make it from{' (or scores)' if name == 'Q' else ''}")
    if has_weights(problem):
        return _projected(problem, name, origin, x)
    return x.shape


def _projected(problem: Problem, name: str, origin: str, x: Array) -> tuple[int, int]:
    """The shape of x·W + b."""
    weight, bias = getattr(problem, f"W_{name}"), getattr(problem, f"b_{name}")
    if weight is None:
        raise InputError(f"W_{name} is missing, though other weights are given; write W_{name}: identity if {name} is {origin} itself")
    d_in, d_out = weight.shape if problem.weights_layout == "in_out" else weight.shape[::-1]
    if d_in != x.shape[1]:
        raise InputError(_misfit(problem, name, origin, weight, x), key=f"W_{name}")
    if bias is not None and bias.shape != (d_out,):
        raise InputError(f"has {bias.size} numbers, expected {d_out}, one for each {problem.sides[1][:-1]} of {name}", key=f"b_{name}")
    return (x.shape[0], d_out)


def _misfit(problem: Problem, name: str, origin: str, weight: Array, x: Array) -> str:
    """Why a weight does not fit its input, and what would."""
    columns, out_in = problem.columns, problem.weights_layout == "out_in"
    width, side = x.shape[1], "columns" if out_in or columns else "rows"
    hint = ""
    if weight.shape[1 if not out_in else 0] == width and not columns:
        other = "in_out" if out_in else "out_in"
        hint = f"; stored the other way round? then say weights_layout: {other}"
    return f"is {problem.shown(*weight.shape)}, expected {width} {side}, because {origin} is {problem.shown(*x.shape)}{hint}"


def _heads(problem: Problem, q: tuple[int, ...] | None, k: tuple[int, ...] | None) -> int:
    first = problem.scores.shape if problem.scores is not None else q
    name = "scores" if problem.scores is not None else "Q"
    assert first is not None
    if len(first) == 3:
        if problem.heads not in (None, first[0]):
            raise InputError(f"is {problem.heads}, but {name} is {problem.shown(*first)}, so there are {first[0]}", key="heads")
        return first[0]
    h = problem.heads or 1
    if problem.scores is not None and h > 1:
        grid = "m × n" if problem.columns else "n × m"
        raise InputError(f"is {problem.shown(*first)}, expected {h} × {grid} for {h} heads", key="scores")
    if q is not None and q[-1] % h:
        raise InputError(f"is {h}, but Q has {q[-1]} {problem.sides[1]}, which {h} heads cannot share equally", key="heads")
    return h


def _kv_heads(problem: Problem, h: int, k: tuple[int, ...] | None, v: tuple[int, ...] | None) -> int:
    given = {name: shape for name, shape in (("K", k), ("V", v)) if shape is not None}
    cut: dict[str, tuple[int, ...]] = {name: shape for name, shape in given.items() if len(shape) == 3}
    kv = problem.kv_heads or next((shape[0] for shape in cut.values()), h)
    for name, shape in cut.items():
        if shape[0] != kv:
            raise InputError(f"is {problem.shown(*shape)}, expected {kv} × …, one block a key and value head", key=name)
    if h % kv:
        divisor = f"expected a divisor of heads, {h}"
        if problem.kv_heads is not None:
            raise InputError(f"is {kv}, {divisor}: each key and value head serves as many query heads", key="kv_heads")
        name = next(iter(cut))
        raise InputError(f"is {problem.shown(*cut[name])}, so there are {kv} key and value heads, {divisor}", key=name)
    for name, shape in given.items():
        if name not in cut and shape[1] % kv:
            key = "kv_heads" if problem.kv_heads else "heads"
            raise InputError(f"is {kv}, but {name} has {shape[1]} {problem.sides[1]}, which {kv} heads cannot share equally", key=key)
    return kv


def _lengths(problem: Problem, q: tuple[int, ...] | None, k: tuple[int, ...] | None) -> tuple[int, int]:
    if problem.scores is not None:
        n, m = problem.scores.shape[-2:]
        return n, m
    assert q is not None
    assert k is not None
    return q[-2], k[-2]


def _width(problem: Problem, name: str, shape: tuple[int, ...] | None, heads: int) -> int | None:
    if shape is None:
        return None
    return shape[-1] if len(shape) == 3 else shape[-1] // heads


def _check_output(problem: Problem, sizes: Sizes) -> None:
    w_o, b_o = problem.W_O, problem.b_O
    if sizes.d_v is None:
        for name in problem.given("W_O", "b_O"):
            raise InputError("there are no values for it; give V, or X to make them from", key=name)
        return
    width = d_out = sizes.h * sizes.d_v
    if w_o is not None:
        out_in = problem.weights_layout == "out_in"
        d_in, d_out = w_o.shape[::-1] if out_in else w_o.shape
        if d_in != width:
            side = "columns" if out_in or problem.columns else "rows"
            raise InputError(f"is {problem.shown(*w_o.shape)}, expected {width} {side}, the width of the joined heads", key="W_O")
    if b_o is not None and b_o.shape != (d_out,):
        raise InputError(f"has {b_o.size} numbers, expected {d_out}, one for each {problem.sides[1][:-1]} of the output", key="b_O")
    if problem.upstream is not None and problem.upstream.shape != (sizes.n, d_out):
        shown, expected = problem.shown(*problem.upstream.shape), problem.shown(sizes.n, d_out)
        raise InputError(f"is {shown}, expected {expected}, the shape of the output", key="upstream")


def _check_square(problem: Problem, sizes: Sizes) -> None:
    n, m, h = sizes.n, sizes.m, sizes.h
    if problem.bias is not None and problem.bias.shape not in ((n, m), (h, n, m)):
        per_head = f" or {problem.shown(h, n, m)}" if h > 1 else ""
        raise InputError(f"is {problem.shown(*problem.bias.shape)}, expected {problem.shown(n, m)}{per_head}", key="bias")
    if problem.mask is not None:
        check_mask(problem.mask, h, n, m, columns=problem.columns)


def _check_tokens(problem: Problem, sizes: Sizes) -> None:
    rows = problem.X.shape[0] if problem.X is not None and problem.tokens is not None and problem.scores is None else sizes.n
    for key, count, what in (("tokens", rows, "token"), ("query_tokens", sizes.n, "query"), ("key_tokens", sizes.m, "key")):
        labels = getattr(problem, key)
        if labels is not None and len(labels) != count:
            raise InputError(f"has {len(labels)} labels, expected {count}, one for each {what}", key=key)


def open_cells(problem: Problem, sizes: Sizes) -> Array:
    """True where mask and bias let a query attend: (n, m) or (h, n, m)."""
    may = allowed(problem.mask, sizes.h, sizes.n, sizes.m) if problem.mask is not None else np.ones((sizes.n, sizes.m), bool)
    if problem.bias is not None:
        bias = problem.bias[0] if sizes.h == 1 and problem.bias.ndim == 3 else problem.bias
        may = may & (bias > -np.inf)
    return may


def open_rows(problem: Problem, sizes: Sizes) -> Iterator[tuple[slice, Array]]:
    """Some queries after others, and where mask and bias let them attend: (rows, m) or (h, rows, m), one head standing for all."""
    for i in range(0, sizes.n, ROWS):
        rows = slice(i, min(i + ROWS, sizes.n))
        may = np.ones((rows.stop - i, sizes.m), bool)
        if problem.mask is not None:
            may = allowed(part(problem.mask, None, rows, slice(0, sizes.m)), sizes.h, rows.stop - i, sizes.m)
        if problem.bias is not None:
            may = may & (problem.bias[..., rows, :] > -np.inf)
        yield rows, may


def _check_values(problem: Problem, sizes: Sizes) -> None:
    """Only a value that is masked for every query may hold NaN."""
    v = problem.V
    if v is None or all_finite(v):
        return
    attended = np.zeros(sizes.m, bool)
    for _, may in open_rows(problem, sizes):
        attended |= may.reshape(-1, sizes.m).any(axis=0)
    wrong = np.isnan(v) & attended[:, None]
    if wrong.any():
        at = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise InputError("found nan, expected a number: only a value that is masked for every query may hold NaN", key="V", cell=at)
