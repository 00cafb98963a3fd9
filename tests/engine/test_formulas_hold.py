"""Every formula, forward and backward, worked with plain NumPy from what its symbols stand for, gives the value that was recorded."""

from dataclasses import replace

import numpy as np
import pytest

from attn_cli.engine.expression import Expr, Num, Sym
from attn_cli.engine.problem import Problem
from attn_cli.engine.steps import turned
from attn_cli.engine.training import differentiate


class Formulas:
    """The formulas of a worked problem. `rows` and `columns` are the axes along which features and tokens lie."""

    def __init__(self, trace):
        self.trace, self.columns = trace, trace.problem.columns
        self.heads = trace.sizes.h > 1
        self.symbols = {}
        for step in trace:
            for node in _nodes(step.made):
                if isinstance(node.expr, Sym) and (node.name or node.operation is None):
                    self.symbols[node.expr.text] = self._as_shown(node.expr, node.value, node.name)
            value = step.value
            if step.name == "row_sums":
                value = value[..., None, :] if self.columns else value[..., None]
            self.symbols[step.symbol.text] = value
        for text, name, axis in (("q", "Q", -2), ("k", "K", -3)):
            if name in trace:  # every vector of it, at the place of each pair of a query and a key
                vectors = np.swapaxes(trace[name], -1, -2) if self.columns else trace[name]
                if name == "K" and self.heads:
                    vectors = vectors.repeat(trace.sizes.h // len(vectors), axis=0)
                self.symbols[text] = np.expand_dims(vectors, (-5 - axis) if self.columns else axis)
        if "scores" in trace:
            masked = np.isneginf(trace["scores"])
            self.symbols |= {m: np.where(masked, -np.inf, 0) for m in ("M", "Mₕ")} | {"[M = 0]": (~masked).astype(float)}

    def _as_shown(self, symbol, value, name):
        if name == "row_sums":
            return value[..., None, :] if self.columns else value[..., None]
        if not self.columns or not symbol.flips or "." in name or name == "draw":
            return value
        return value[:, None] if name.startswith("b_") else turned(name, value)

    def holds(self, step) -> bool:
        """Whether the formula of a step gives its value."""
        found, expected = self.value(step), step.value
        if found.size != expected.size and found.ndim == 0:
            found = np.broadcast_to(found, expected.shape)
        if self.columns and step.name in ("dQ", "dK") and found.ndim > expected.ndim:  # one vector after another, as for each pair
            found = np.swapaxes(found.reshape(np.swapaxes(expected, -1, -2).shape), -1, -2)
        return bool(np.allclose(found.reshape(expected.shape), expected, rtol=1e-9, atol=1e-12))

    def value(self, step):
        formula = step.formula
        self.blocks = len(step.value)
        if "τ" in formula.plain(str):
            return self._with_threshold(formula)
        return np.asarray(self.of(formula))

    def _with_threshold(self, formula):
        """With the one τ for each row of scores that makes its weights add up to 1."""
        axis = -2 if self.columns else -1
        s = self.symbols["S′ₕ" if self.heads else "S′"] if "tempered" in self.trace else self.trace["scores"]
        low, high = np.full(s.max(axis=axis, keepdims=True).shape, -1e3), np.full(s.max(axis=axis, keepdims=True).shape, 1e3)
        for _ in range(200):
            self.symbols["τ"] = (low + high) / 2
            more = self.of(formula).sum(axis=axis, keepdims=True) > 1
            low, high = np.where(more, self.symbols["τ"], low), np.where(more, high, self.symbols["τ"])
        return self.of(formula)

    # ---- operators

    def of(self, e: Expr):
        if isinstance(e, Num):
            return e.value
        if isinstance(e, Sym):
            return e.number if e.number is not None else self.symbols[e.text]
        name = e.op.replace(" ", "_").replace("-", "_")
        with np.errstate(invalid="ignore", divide="ignore"):
            return getattr(self, f"_{name}")(*e.args)

    def _aligned(self, *args):
        """Key heads repeated for the query heads that they serve."""
        arrays = [np.asarray(self.of(a)) for a in args]
        h = max((len(a) for a in arrays if a.ndim == 3), default=1)
        return [a.repeat(h // len(a), axis=0) if self.heads and a.ndim == 3 and len(a) < h else a for a in arrays]

    def _add(self, *args):
        return sum(self._aligned(*args))

    def _subtract(self, a, b):
        return self.of(a) - self.of(b)

    def _multiply(self, *args):
        first, *rest = self._aligned(*args)
        for other in rest:
            first = first @ other
        return first

    def _hadamard(self, *args):
        first, *rest = self._aligned(*args)
        for other in rest:
            first = np.where((first == 0) | (other == 0), 0, first * other)
        return first

    _scale = _hadamard

    def _divide(self, a, b):
        a, b = np.broadcast_arrays(self.of(a), self.of(b))
        return np.where(b == 0, 0, a / np.where(b == 0, 1, b))

    def _each(self, s, x):
        return np.asarray(self.of(s))[..., None] * self.of(x)

    def _linear(self, w, x):
        if w.op == "transpose":
            inner = self.of(w.args[0])
            return self.of(x) @ inner
        return self.of(x) @ self.of(w).T

    def _outer_sum(self, e):
        a, b = self.of(e.args[0]), self.of(e.args[1].args[0])
        places = np.broadcast_shapes(a.shape[:-1], b.shape[:-1])
        a, b = (np.broadcast_to(x, (*places, x.shape[-1])).reshape(-1, x.shape[-1]) for x in (a, b))
        return a.T @ b

    def _vector_sum(self, e):
        x = self.of(e)
        return x.reshape(-1, x.shape[-1]).sum(axis=0)

    def _sum(self, e):
        return np.sum(self.of(e))

    def _row_sum(self, e):
        return self.of(e).sum(axis=-1, keepdims=True)

    def _column_sum(self, e):
        return self.of(e).sum(axis=-2, keepdims=True)

    def _key_sum(self, e):
        return self.of(e).sum(axis=-3 if self.columns else -2, keepdims=True)

    def _query_sum(self, e):
        return self.of(e).sum(axis=-2 if self.columns else -3, keepdims=True)

    def _head_sum(self, e):
        return self.of(e).sum(axis=0)

    def _group_sum(self, e):
        x, kv = self.of(e), self.trace.sizes.kv_heads
        return x.reshape(kv, len(x) // kv, *x.shape[1:]).sum(axis=1)

    def _row_max(self, e):
        largest = self.of(e).max(axis=-1, keepdims=True)
        return np.where(np.isfinite(largest), largest, 0)

    def _column_max(self, e):
        return self._row_max(Expr("transpose", (e,))).swapaxes(-1, -2)

    def _max(self, a, b):
        return np.maximum(self.of(a), self.of(b))

    def _transpose(self, e):
        return np.swapaxes(self.of(e), -1, -2)

    def _root(self, e):
        return np.sqrt(self.of(e))

    def _square(self, e):
        return self.of(e) ** 2

    def _exp(self, e):
        return np.exp(self.of(e))

    def _tanh(self, e):
        return np.tanh(self.of(e))

    def _norm(self, e):
        x = self.of(e)
        if x.ndim > 2 + self.heads:  # of the vector at each pair
            return np.linalg.norm(x, axis=-1)
        return np.linalg.norm(x, axis=-2 if self.columns else -1, keepdims=True)

    def _pair(self, q, k):
        q, k = self.of(q), self.of(k)
        grid = np.broadcast_shapes(q.shape[:-1], k.shape[:-1])
        return np.concatenate([np.broadcast_to(x, (*grid, x.shape[-1])) for x in (q, k)], axis=-1)

    def _part(self, e, which):
        x, width = self.of(e), self.symbols["q"].shape[-1]
        return x[..., :width] if which.text == "q" else x[..., width:]

    def _block(self, e):
        x = self.of(e)
        parts = np.split(x, self.blocks, axis=0 if self.columns else 1)
        return np.stack(parts)

    def _join(self, first, last):
        return np.concatenate(list(self.of(last)), axis=0 if self.columns else 1)

    def _softmax(self, e):
        s = self.of(e)
        axis = -2 if self.columns else -1
        largest = s.max(axis=axis, keepdims=True)
        weights = np.exp(s - np.where(np.isfinite(largest), largest, 0))
        z = weights.sum(axis=axis, keepdims=True)
        return np.where(z == 0, 0, weights / np.where(z == 0, 1, z))

    def _draw(self, e, u):
        weights, u = self.of(e), self.of(u)
        weights = np.swapaxes(weights, -1, -2) if self.columns else weights
        ends = np.cumsum(weights, axis=-1)
        drawn = ((ends - weights <= u[..., None]) & (u[..., None] < ends) & (weights > 0)).astype(float)
        return np.swapaxes(drawn, -1, -2) if self.columns else drawn

    def _one_hot(self, e):
        axis = -2 if e.op == "column argmax" else -1
        s = self.of(e.args[0])
        largest = s.max(axis=axis, keepdims=True)
        return ((s == largest) & np.isfinite(s)).astype(float)


def _nodes(node, seen=None):
    """Everything that a value was computed from, itself first."""
    seen = set() if seen is None else seen
    if id(node) in seen:
        return
    seen.add(id(node))
    yield node
    for operand in node.operands:
        yield from _nodes(operand, seen)


def false_formulas(problem):
    """The steps of a problem whose formula gives something else than their value."""
    trace = differentiate(problem)
    formulas = Formulas(trace)
    return [f"{s.name} = {s.formula.plain(lambda n: str(n.value))}" for s in trace if s.formula is not None and not formulas.holds(s)]


def test_formulas_hold(problem, kinds, score, mode, heads, vectors):
    for kind in kinds[len(score + mode + heads + vectors) % 4 :: 4]:
        p = problem(score, mode, kind, heads, seed=1, vectors=vectors)
        upstream = np.random.default_rng(3).normal(size=(p.X.shape[0], p.W_O.shape[1]))
        assert false_formulas(replace(p, upstream=upstream)) == [], kind


@pytest.mark.parametrize(
    "given",
    [
        {"Q": (3, 4), "K": (5, 4), "V": (5, 4), "heads": 2},
        {"X": (3, 4), "heads": 2},
        {"X": (3, 4), "context": (5, 4)},
        {"scores": (3, 5), "V": (5, 2), "temperature": 2.0},
        {"X": (3, 4), "W_Q": (2, 4), "W_K": (2, 4), "W_V": (6, 4), "W_O": (3, 6), "weights_layout": "out_in"},
        {"X": (3, 4), "W_Q": (4, 4), "W_K": (4, 2), "W_V": (4, 2), "heads": 2, "kv_heads": 1, "b_Q": (4,)},
    ],
    ids=str,
)
def test_formulas_hold_whatever_was_given(given, vectors):
    r = np.random.default_rng(8)
    arrays = {key: r.normal(size=shape) if isinstance(shape, tuple) else shape for key, shape in given.items()}
    if vectors == "rows" or "weights_layout" not in given:
        assert false_formulas(Problem(**arrays, vectors=vectors)) == []


def test_gradients_say_that_they_add_up(vectors):
    """Of key heads that serve several query heads, and of a bias that is added to every row."""
    r = np.random.default_rng(0)
    sizes = {"X": (3, 4), "W_Q": (4, 4), "W_K": (4, 2), "W_V": (4, 2), "b_Q": (4,), "bias": (3, 3)}
    trace = differentiate(Problem(**{k: r.normal(size=s) for k, s in sizes.items()}, heads=2, kv_heads=1, vectors=vectors))
    texts = {step.name: step.formula.plain(str) for step in trace if step.formula is not None}
    along = "row" if vectors == "columns" else "column"
    assert texts["dK"] == ("group sum(Qₕ·dPₕᵀ)" if vectors == "columns" else "group sum(dPₕᵀ·Qₕ)")
    assert texts["db_Q"] == f"{along} sum(Concat(dQ₁, …, dQₕ))"
    assert texts["dbias"] == "head sum(dSₕ)"
    if vectors == "rows":
        assert texts["dX"] == "Concat(dQ₁, …, dQₕ)·W_Qᵀ + Concat(dK₁, …, dKₕ)·W_Kᵀ + Concat(dV₁, …, dVₕ)·W_Vᵀ"


def test_a_false_formula_is_noticed():
    trace = differentiate(Problem(X=np.eye(2), W_Q=[[1.0, 2.0], [0.0, 1.0]], W_K=2 * np.eye(2), W_V=np.eye(2)))
    formulas = Formulas(trace)
    step = trace.step("products")
    assert formulas.holds(step)
    step.made.expr = step.made.expr.args[0]
    assert not formulas.holds(step)
