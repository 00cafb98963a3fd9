"""Whether a problem fits together, and the sizes that follow. Every complaint names the key that must change."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from attn_cli.engine.masks import allowed, shape_text
from attn_cli.engine.modes import MODES
from attn_cli.engine.problem import MATRICES, VECTORS, Array, Problem, all_finite, has_weights, key_of, source
from attn_cli.engine.scores import SCORES
from attn_cli.errors import InputError
from attn_cli.names import did_you_mean

TRACED = ("Q", "K", "V")
CUT = ("Q", "K", "V", "scores", "bias")
"""Matrices that may have a head axis in front."""
AXES: dict[str, tuple[tuple[int, ...], str]] = {
    **dict.fromkeys(MATRICES, ((2,), "a matrix")),
    **dict.fromkeys(CUT, ((2, 3), "a matrix, or one for each head")),
    **dict.fromkeys(VECTORS, ((1,), "one number a column")),
}
"""How many axes an array may have, and what that makes it."""
FINITE = ("X", "context", "W_Q", "W_K", "W_V", "W_O", "Q", "K", "scores", "upstream", *VECTORS)
"""Arrays in which neither NaN nor an infinity ever has a meaning."""


class Sizes(NamedTuple):
    """The sizes of a problem that fits together."""

    n: int
    """Queries."""
    m: int
    """Keys."""
    h: int
    """Query heads."""
    kv_heads: int
    d_q: int | None
    """Width of one head's queries; None where scores are given."""
    d_k: int | None
    """Width of one head's keys; None where scores are given."""
    d_v: int | None
    """Width of one head's values; None where there are none."""


def plan(problem: Problem) -> Sizes:
    """The sizes of a problem; raises InputError where it does not fit together."""
    _check_numbers(problem)
    _check_axes(problem)
    _check_twice(problem)
    shapes = {name: _shape(problem, name) for name in TRACED}
    for name, shape in shapes.items():
        if shape and 0 in shape:
            raise InputError(f"is {shape_text(np.empty(shape))}, expected at least one row and one column", key=key_of(problem, name))
    q, k, v = shapes["Q"], shapes["K"], shapes["V"]
    h = _heads(problem, q, k)
    kv = _kv_heads(problem, h, k, v)
    n, m = _lengths(problem, q, k)
    if v and v[-2] != m:
        side = "columns" if problem.vectors == "columns" else "rows"
        raise InputError(f"has {v[-2]} {side}, expected {m}: one value for each key", key=key_of(problem, "V"))
    sizes = Sizes(n, m, h, kv, _width(problem, "Q", q, h), _width(problem, "K", k, kv), _width(problem, "V", v, kv))
    _check_output(problem, sizes)
    _check_square(problem, sizes)
    _check_tokens(problem, sizes)
    _check_finite(problem, sizes)
    return sizes


def _check_numbers(problem: Problem) -> None:
    for key, registry in (("score", SCORES), ("mode", MODES)):
        name = getattr(problem, key)
        try:
            registry[name]
        except InputError as error:
            raise InputError(error.message, key=key) from None
    if not problem.temperature > 0 or not math.isfinite(problem.temperature):
        raise InputError(
            f"is {problem.temperature:g}, expected a number greater than 0; for all weight on one key use mode: hard", key="temperature"
        )
    if problem.softcap is not None and not (problem.softcap > 0 and math.isfinite(problem.softcap)):
        raise InputError(f"is {problem.softcap:g}, expected a number greater than 0", key="softcap")
    if problem.scale is not None and not math.isfinite(problem.scale):
        raise InputError(f"is {problem.scale:g}, expected a finite number", key="scale")
    for key in problem.given("temperature", "softcap", "scale") if problem.dtype != "float64" else ():  # which every float is
        value = getattr(problem, key)
        with np.errstate(over="ignore", under="ignore"):
            held = np.asarray(value, dtype=problem.dtype)
        if not np.isfinite(held) or (held == 0) != (value == 0):
            raise InputError(f"is {value:g}, which {problem.dtype} cannot hold", key=key)
    for key in ("heads", "kv_heads"):
        count = getattr(problem, key)
        if count is not None and count < 1:
            raise InputError(f"is {count}, expected a whole number from 1", key=key)
    if problem.seed < 0:
        raise InputError(f"is {problem.seed}, expected a whole number from 0", key="seed")
    for key, names in (("weights_layout", ("in_out", "out_in")), ("vectors", ("rows", "columns")), ("dtype", ("float64", "float32"))):
        if getattr(problem, key) not in names:
            raise InputError(f"is {getattr(problem, key)!r}, expected {' or '.join(names)}", key=key)


def _check_axes(problem: Problem) -> None:
    """Matrices are matrices (with a head axis where there may be one), and biases are single rows."""
    for key in problem.given(*AXES):
        _expect_axes(getattr(problem, key), *AXES[key], key)
    for score, arrays in problem.parameters.items():
        known = SCORES[score].parameters
        for name, value in arrays.items():
            if name not in known:
                raise InputError(f"has no {name!r}{did_you_mean(name, list(known))}; it takes {', '.join(known) or 'nothing'}", key=score)
            _expect_axes(value, (known[name],), ("a number", "one row of numbers", "a matrix")[known[name]], f"{score}.{name}")


def _expect_axes(value: Array, axes: tuple[int, ...], what: str, key: str) -> None:
    if value.ndim not in axes:
        found = ("a single number", f"one row of {value.size}")[value.ndim] if value.ndim < 2 else shape_text(value)
        raise InputError(f"is {found}, expected {what}", key=key)


def _check_twice(problem: Problem) -> None:
    """Nothing may be given that has no place, or for which two things stand."""
    if problem.scores is not None:
        for name in ("Q", "K", "W_Q", "W_K", "b_Q", "b_K", "scale", "softcap"):
            if getattr(problem, name) is not None:
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
    origin, weight, bias = source(problem, name), getattr(problem, f"W_{name}"), getattr(problem, f"b_{name}")
    x: Array | None = getattr(problem, origin)
    if x is None:
        if weight is not None or bias is not None:
            raise InputError(
                f"{origin} is missing: {name} = {origin}·W_{name} needs it", key=f"W_{name}" if weight is not None else f"b_{name}"
            )
        if name == "V":
            return None
        raise InputError(f"{name} is missing: give {name}, or {origin} to make it from{' (or scores)' if name == 'Q' else ''}")
    if weight is None:
        if has_weights(problem):
            raise InputError(f"W_{name} is missing, though other weights are given; write W_{name}: identity if {name} is {origin} itself")
        return x.shape
    d_in, d_out = weight.shape if problem.weights_layout == "in_out" else weight.shape[::-1]
    if d_in != x.shape[1]:
        raise InputError(_misfit(problem, name, origin, weight, x), key=f"W_{name}")
    if bias is not None and bias.shape != (d_out,):
        raise InputError(f"has {bias.size} numbers, expected {d_out}, one for each column of {name}", key=f"b_{name}")
    return (x.shape[0], d_out)


def _misfit(problem: Problem, name: str, origin: str, weight: Array, x: Array) -> str:
    """Why a weight does not fit its input, and what would."""
    columns, out_in = problem.vectors == "columns", problem.weights_layout == "out_in"
    shown = shape_text(weight.T if columns else weight)
    width, side = x.shape[1], "columns" if out_in or columns else "rows"
    hint = ""
    if weight.shape[1 if not out_in else 0] == width and not columns:
        other = "in_out" if out_in else "out_in"
        hint = f"; stored the other way round? then say weights_layout: {other}"
    return f"is {shown}, expected {width} {side}, because {origin} is {shape_text(x.T if columns else x)}{hint}"


def _heads(problem: Problem, q: tuple[int, ...] | None, k: tuple[int, ...] | None) -> int:
    first = problem.scores.shape if problem.scores is not None else q
    name = "scores" if problem.scores is not None else "Q"
    assert first is not None
    if problem.scores is not None and not problem.scores.size:
        raise InputError(f"is {shape_text(problem.scores)}, expected at least one query and one key", key="scores")
    if len(first) == 3:
        if problem.heads not in (None, first[0]):
            raise InputError(f"is {problem.heads}, but {name} is {shape_text(np.empty(first))}, so there are {first[0]}", key="heads")
        return first[0]
    h = problem.heads or 1
    if problem.scores is not None and h > 1:
        raise InputError(f"is {shape_text(problem.scores)}, expected {h} × n × m for {h} heads", key="scores")
    if q is not None and q[-1] % h:
        raise InputError(f"is {h}, but Q has {q[-1]} {_features(problem)}, which {h} heads cannot share equally", key="heads")
    return h


def _features(problem: Problem) -> str:
    """Along which side of a matrix the features of one token lie, as the reader sees it."""
    return "rows" if problem.vectors == "columns" else "columns"


def _kv_heads(problem: Problem, h: int, k: tuple[int, ...] | None, v: tuple[int, ...] | None) -> int:
    kv = problem.kv_heads
    for name, shape in (("K", k), ("V", v)):
        if shape is not None and len(shape) == 3:
            if kv is not None and kv != shape[0]:
                raise InputError(f"is {shape_text(np.empty(shape))}, expected {kv} × …, one block a key and value head", key=name)
            kv = shape[0]
    kv = kv or h
    if h % kv:
        divisor = f"expected a divisor of heads, {h}"
        if problem.kv_heads is None:
            key, shape = next((name, shape) for name, shape in (("K", k), ("V", v)) if shape is not None and len(shape) == 3)
            raise InputError(f"is {shape_text(np.empty(shape))}, so there are {kv} key and value heads, {divisor}", key=key)
        raise InputError(f"is {kv}, {divisor}: each key and value head serves as many query heads", key="kv_heads")
    for name, shape in (("K", k), ("V", v)):
        if shape is not None and len(shape) == 2 and shape[1] % kv:
            raise InputError(
                f"is {kv}, but {name} has {shape[1]} {_features(problem)}, which {kv} heads cannot share equally",
                key="kv_heads" if problem.kv_heads else "heads",
            )
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
    d_out = sizes.h * sizes.d_v
    if w_o is not None:
        d_in, d_out = w_o.shape if problem.weights_layout == "in_out" else w_o.shape[::-1]
        if d_in != sizes.h * sizes.d_v:
            shown, side = (
                (w_o.T, "columns") if problem.vectors == "columns" else (w_o, "rows" if problem.weights_layout == "in_out" else "columns")
            )
            raise InputError(f"is {shape_text(shown)}, expected {sizes.h * sizes.d_v} {side}, the width of the joined heads", key="W_O")
    if b_o is not None and b_o.shape != (d_out,):
        raise InputError(f"has {b_o.size} numbers, expected {d_out}, one for each column of the output", key="b_O")
    if problem.upstream is not None and problem.upstream.shape != (sizes.n, d_out):
        columns = problem.vectors == "columns"
        shown, expected = (problem.upstream.T, f"{d_out} × {sizes.n}") if columns else (problem.upstream, f"{sizes.n} × {d_out}")
        raise InputError(f"is {shape_text(shown)}, expected {expected}, the shape of the output", key="upstream")


def _check_square(problem: Problem, sizes: Sizes) -> None:
    n, m, h = sizes.n, sizes.m, sizes.h
    if problem.bias is not None and problem.bias.shape not in ((n, m), (h, n, m)):
        rows, columns = (m, n) if problem.vectors == "columns" else (n, m)
        shown = np.swapaxes(problem.bias, -1, -2) if problem.vectors == "columns" else problem.bias
        raise InputError(
            f"is {shape_text(shown)}, expected {rows} × {columns}" + (f" or {h} × {rows} × {columns}" if h > 1 else ""), key="bias"
        )
    if problem.mask is not None:
        allowed(problem.mask, h, n, m, columns=problem.vectors == "columns")


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


def _check_finite(problem: Problem, sizes: Sizes) -> None:
    inputs = [(key, getattr(problem, key)) for key in problem.given(*FINITE)]
    inputs += [(f"{score}.{name}", value) for score, arrays in problem.parameters.items() for name, value in arrays.items()]
    for key, value in inputs:
        if not all_finite(value):
            hint = " (to mask a score, use mask or bias)" if key == "scores" else ""
            _refuse(key, value, ~np.isfinite(value), f"expected a finite number{hint}")
    if problem.bias is not None:
        _refuse("bias", problem.bias, np.isnan(problem.bias) | (problem.bias == np.inf), "expected a number or -inf")
    if problem.V is not None and not all_finite(problem.V):
        _refuse("V", problem.V, np.isinf(problem.V), "expected a finite number")
        read = open_cells(problem, sizes).reshape(-1, sizes.m).any(axis=0)
        _refuse(
            "V",
            problem.V,
            np.isnan(problem.V) & np.asarray(read)[:, None],
            "expected a number: only a value row that is masked for every query may hold NaN",
        )


def _refuse(key: str, value: Array, bad: Array, expected: str) -> None:
    if bad.any():
        at = tuple(int(i) for i in np.argwhere(bad)[0])
        found = "nan" if np.isnan(value[at]) else "inf" if value[at] > 0 else "-inf"
        raise InputError(f"found {found}, {expected}", key=key, cell=at)
