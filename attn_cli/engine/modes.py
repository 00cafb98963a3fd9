"""Modes: how a row of scores becomes a row of weights.

A mode takes the scores (n, m), with leading head axes and −∞ at a masked cell, and returns weights (n, m)
that are ≥ 0 and add up to 1 in every row (a row that may attend to nothing has zeros). To add one, register it here.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from attn_cli.engine import operations as op
from attn_cli.engine.arrays import Array, Cell, all_finite
from attn_cli.engine.expression import Expr, Num, constant, summed, symbol
from attn_cli.engine.operations import Named, Operation
from attn_cli.engine.problem import Problem
from attn_cli.engine.registry import Registry
from attn_cli.engine.steps import Recorder

MODES: Registry[Callable[[Named, Problem, Recorder], Named]] = Registry("mode", "mode")

LARGE = {"float64": 700.0, "float32": 80.0}
"""Size of a score. Where one is larger, exp is taken of the scores minus their row's maximum; if raised, exp could overflow."""
MANY = 6000
"""Keys. Exponentials of this many scores of that size never add up to more than the dtype holds; if raised, a sum could overflow."""


@MODES.register()
def soft(s: Named, problem: Problem, record: Recorder) -> Named:
    """Softmax along each row: exp(S) / row sum.

    (n, m) -> (n, m). Bridle 1990.
    """
    e = op.exp(s)
    small = np.abs(s.value).max(initial=0, where=s.value != -np.inf) <= LARGE[problem.dtype]
    if not small or (s.value.shape[-1] > MANY and not all_finite(e.value.sum(axis=-1))):
        e = op.exp(op.subtract(s, op.row_max(s)))
    e = record("exponentials", e)
    z = record("row_sums", op.row_sum(e))
    return op.softmax(e, z, s)


@MODES.register(differentiable=False)
def hard(s: Named, problem: Problem, record: Recorder) -> Named:
    """All weight on the largest score of each row; of equal ones, the first.

    (n, m) -> (n, m). Xu et al. 2015, section 4.1. It has no gradient.
    """
    return op.OneHot()(s)


@MODES.register(differentiable=False, random=True)
def sample(s: Named, problem: Problem, record: Recorder) -> Named:
    """All weight on one key, drawn with the soft weights as probabilities.

    (n, m) -> (n, m). Xu et al. 2015, section 4.1. It has no gradient; REINFORCE estimates one.
    """
    u = np.random.default_rng(problem.seed).random(s.value.shape[:-1])
    return Draw()(s, op.given("draw", u.astype(s.value.dtype), symbol("u")))


@MODES.register(random=True)
def gumbel(s: Named, problem: Problem, record: Recorder) -> Named:
    """Softmax of the scores with Gumbel noise added (temperature is applied before).

    (n, m) -> (n, m). Jang et al. 2017, section 2: the largest of S + G falls on each key as often as its soft weight says.
    """
    noise = np.random.default_rng(problem.seed).gumbel(size=s.value.shape)
    return soft(op.add(s, op.given("noise", noise.astype(s.value.dtype), symbol("G"))), problem, record)


@MODES.register()
def sparsemax(s: Named, problem: Problem, record: Recorder) -> Named:
    """max(S − τ, 0), with the threshold τ that makes each row add up to 1.

    (n, m) -> (n, m). Martins and Astudillo 2016, algorithm 1.
    """
    return Sparsemax()(s)


@MODES.register()
def entmax15(s: Named, problem: Problem, record: Recorder) -> Named:
    """max(S/2 − τ, 0)², with the threshold τ that makes each row add up to 1.

    (n, m) -> (n, m). Peters et al. 2019, algorithm 2 (α = 1.5).
    """
    return Entmax15()(s)


# ------------------------------------------------------------------ their operations
def softened(s: Array) -> Array:
    """Softmax of each row: (n, m) -> (n, m); zeros where a whole row is masked."""
    largest = np.max(s, axis=-1, keepdims=True)
    e = np.exp(s - np.where(np.isfinite(largest), largest, 0))
    z = e.sum(axis=-1, keepdims=True)
    return np.asarray(np.divide(e, z, out=np.zeros_like(e), where=z != 0))


class Draw(Operation):
    """1 at the key in whose share of [0, 1) the row's draw u falls: (n, m), (n,) -> (n, m)."""

    def value(self, *arrays: Array) -> Array:
        s, u = arrays
        weights = softened(s)
        ends = np.cumsum(weights, axis=-1)
        # The last share ends at 1, whatever rounding left of it.
        ends = np.where(ends >= ends[..., -1:], np.inf, ends)
        starts = np.concatenate([np.zeros_like(ends[..., :1]), ends[..., :-1]], axis=-1)
        drawn = (starts <= u[..., None]) & (u[..., None] < ends) & (weights > 0)
        return drawn.astype(s.dtype)

    def formula(self, *exprs: Expr) -> Expr:
        s, u = exprs
        return Expr("draw", (Expr("softmax", (s,)), u))

    def cell(self, out: Named, at: Cell) -> Expr:
        s, u = out.operands
        if not np.isfinite(s.value[at]):
            return constant(0)
        j, weights = at[-1], softened(s.value[at[:-1]])
        ends = np.cumsum(weights)
        start = passing(float(ends[j - 1])) if j else constant(0)
        end: Expr = constant(1)
        if ends[j] < ends[-1]:
            end = summed((start, passing(float(weights[j])))) if j else passing(float(ends[j]))
        return Expr("is between", (start, op.term(u, at[:-1]), end))


def passing(value: float) -> Num:
    """A number on the way, which no step records; shown rounded."""
    return Num(value=value, exact=value in (0.0, 1.0))


class Threshold(Operation):
    """A mode of the entmax family: each row is cut off at a threshold τ that makes it add up to 1: (n, m) -> (n, m)."""

    def threshold(self, s: Array) -> Array:
        """For rows whose largest score is 0: (n, m) -> (n, 1)"""
        raise NotImplementedError

    def score(self, s: Named, at: Cell) -> Expr:
        """A score in the arithmetic of a cell, minus its row's largest where scores are so large that small differences would be lost."""
        row = s.value[at[:-1]]
        finite = np.where(np.isfinite(row), row, 0)
        if np.abs(finite).max() <= LARGE[s.value.dtype.name]:
            return op.term(s, at)
        return Expr("subtract", (op.term(s, at), op.term(s, (*at[:-1], int(np.argmax(row))))))

    def slope(self, weights: Array) -> Array:
        """How fast each weight grows with its score, the threshold held still: (n, m) -> (n, m)."""
        raise NotImplementedError

    def pull(self, g: Named, out: Named) -> tuple[Named | None, ...]:
        """dS = s ∘ (dA − row sums of s ∘ dA / row sums of s), where s is the slope (Peters et al. 2019, proposition 2)."""
        slope = op.given("slope", self.slope(out.value), symbol("σ", r"\sigma"))
        mean = op.divide(op.row_sum_kept(op.multiply(slope, g)), op.row_sum_kept(slope))
        return (op.multiply(slope, op.subtract(g, mean)),)


def below_largest(s: Array) -> Array:
    """Each row minus its largest score, so that no digit of small differences between large scores is lost."""
    largest = np.max(s, axis=-1, keepdims=True)
    return np.asarray(s - np.where(np.isfinite(largest), largest, 0))


def ordered(s: Array) -> tuple[Array, Array, Array]:
    """The scores of each row from the largest down, with 0 for masked cells; their count 1 … m; and which are not masked."""
    z = -np.sort(-s, axis=-1)
    return np.where(np.isfinite(z), z, 0), np.arange(1, s.shape[-1] + 1, dtype=s.dtype), np.isfinite(z)


class Sparsemax(Threshold):
    """max(S − τ, 0)"""

    def threshold(self, s: Array) -> Array:
        z, count, unmasked = ordered(s)
        total = np.cumsum(z, axis=-1)
        support = np.sum((1 + count * z > total) & unmasked, axis=-1, keepdims=True)
        last = np.maximum(support - 1, 0)
        return np.asarray((np.take_along_axis(total, last, axis=-1) - 1) / np.maximum(support, 1).astype(s.dtype))

    def value(self, *arrays: Array) -> Array:
        s = below_largest(arrays[0])
        return np.asarray(np.maximum(s - self.threshold(s), 0))

    def formula(self, *exprs: Expr) -> Expr:
        return Expr("max", (Expr("subtract", (exprs[0], symbol("τ", r"\tau"))), constant(0)))

    def cell(self, out: Named, at: Cell) -> Expr:
        s = out.operands[0]
        row = at[:-1]
        support = [j for j in range(s.value.shape[-1]) if out.value[(*row, j)] > 0]
        if not support:
            return constant(0)
        total = summed(self.score(s, (*row, j)) for j in support)
        tau = Expr("subtract", (total, constant(1)))
        if len(support) > 1:
            tau = Expr("divide", (tau, constant(len(support))))
        return Expr("max", (Expr("subtract", (self.score(s, at), tau)), constant(0)))

    def slope(self, weights: Array) -> Array:
        return (weights > 0).astype(weights.dtype)


class Entmax15(Threshold):
    """max(S/2 − τ, 0)²"""

    def threshold(self, s: Array) -> Array:
        z, count, unmasked = ordered(s / 2)
        mean = np.cumsum(z, axis=-1) / count
        spread = np.cumsum(z * z, axis=-1) - count * mean * mean
        tau = mean - np.sqrt(np.maximum((1 - spread) / count, 0))
        support = np.sum((tau <= z) & unmasked, axis=-1, keepdims=True)
        return np.asarray(np.take_along_axis(tau, np.maximum(support - 1, 0), axis=-1))

    def value(self, *arrays: Array) -> Array:
        s = below_largest(arrays[0])
        return np.square(np.maximum(s / 2 - self.threshold(s), 0))

    def formula(self, *exprs: Expr) -> Expr:
        half = Expr("divide", (exprs[0], constant(2)))
        return Expr("square", (Expr("max", (Expr("subtract", (half, symbol("τ", r"\tau"))), constant(0))),))

    def cell(self, out: Named, at: Cell) -> Expr:
        s = out.operands[0]
        if not np.isfinite(s.value[at[:-1]]).any():
            return constant(0)
        row = at[:-1]

        def half(j: int) -> Expr:
            return Expr("divide", (self.score(s, (*row, j)), constant(2)))

        support = [j for j in range(s.value.shape[-1]) if out.value[(*row, j)] > 0]
        mean = passing(float(np.mean([half(j).evaluate() for j in support])))
        spread = summed(Expr("square", (Expr("subtract", (half(j), mean)),)) for j in support)
        rest: Expr = Expr("subtract", (constant(1), spread))
        if len(support) > 1:
            rest = Expr("divide", (rest, constant(len(support))))
        tau = Expr("subtract", (mean, Expr("root", (rest,))))
        return Expr("square", (Expr("max", (Expr("subtract", (half(at[-1]), tau)), constant(0))),))

    def slope(self, weights: Array) -> Array:
        return np.sqrt(weights)
