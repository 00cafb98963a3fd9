"""Gradients through a choice: how the scores of hard attention are trained although a choice has no gradient.

An estimator stands in place of the gradient of the mode. To add one, register it here; `attn grad --estimator` finds it.
The loss is the sum of upstream ∘ output, so what the choice of a key earns is that key's number in dA, and every row of
scores can be judged by its own choice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from attn_cli.engine import operations as op
from attn_cli.engine.arrays import Array, Cell
from attn_cli.engine.expression import Expr, constant, summed, symbol
from attn_cli.engine.gradient import backward, ordered
from attn_cli.engine.modes import MODES, softened
from attn_cli.engine.notes import Note
from attn_cli.engine.operations import Named, Operation
from attn_cli.engine.problem import Problem
from attn_cli.engine.registry import Registry
from attn_cli.engine.steps import Trace, gradient_of, turned
from attn_cli.engine.training import differentiate
from attn_cli.errors import UsageError
from attn_cli.names import did_you_mean

Pull = Callable[[Named, Named, Named], Named]
"""(dA, A, soft weights) -> dS, in place of the gradient that the mode does not have."""
CHUNK = 2**20
"""Numbers of samples that are held at once; more take more memory and are hardly faster."""
REACHED = 2**10
"""Scores up to which the estimates are followed down to the inputs: each takes one backward pass."""


class Draws(NamedTuple):
    """What samples of a gradient are drawn from, all (n, m) with leading head axes."""

    scores: Array
    """What the mode receives."""
    weights: Array
    """The soft weights of these scores."""
    rewards: Array
    """dA: what the loss gains from all weight on a key."""


class Estimator(NamedTuple):
    """One way to go on where a choice has no gradient."""

    mode: Callable[[str], str]
    """The mode in which the forward pass is worked, from the one that is asked for."""
    pull: Pull | None
    """The gradient that stands in; None where the mode has one of its own."""
    sample: Callable[[Draws, np.random.Generator, int, Array], Array] | None
    """`count` samples of dS with a baseline for each row: (count, n, m); None where nothing is drawn."""


ESTIMATORS: Registry[Callable[[Named | None], Estimator]] = Registry("estimator", "estimator")


class SoftWeights(Operation):
    """softmax(S), the soft weights of the same scores: (n, m) -> (n, m)."""

    def value(self, *arrays: Array) -> Array:
        return softened(arrays[0])

    def formula(self, *exprs: Expr) -> Expr:
        return Expr("softmax", exprs)

    def cell(self, out: Named, at: Cell) -> Expr:
        s = out.operands[0]
        if not np.isfinite(s.value[at]):
            return constant(0)
        row = [(*at[:-1], j) for j in range(s.value.shape[-1]) if np.isfinite(s.value[(*at[:-1], j)])]
        return Expr("divide", (Expr("exp", (op.term(s, at),)), summed(Expr("exp", (op.term(s, each),)) for each in row)))


@ESTIMATORS.register()
def straight_through(baseline: Named | None) -> Estimator:
    """The gradient of the softmax, as if the weights had been the soft ones.

    Bengio et al. 2013. It is biased: the forward pass chose, the backward pass did not.
    """

    def pull(d_a: Named, a: Named, soft: Named) -> Named:
        return op.multiply(soft, op.subtract(d_a, op.row_sum_kept(op.multiply(d_a, soft))))

    return Estimator(lambda mode: mode if not MODES[mode].differentiable else "hard", pull, None)


@ESTIMATORS.register()
def gumbel(baseline: Named | None) -> Estimator:
    """The gradient of the Gumbel-softmax in place of the draw.

    Jang et al. 2017. It is biased, the less the lower the temperature, at the price of more variance.
    """

    def sample(draws: Draws, rng: np.random.Generator, count: int, baseline: Array) -> Array:
        noisy = softened(draws.scores + rng.gumbel(size=(count, *draws.scores.shape)))
        return np.asarray(noisy * (draws.rewards - (noisy * draws.rewards).sum(-1, keepdims=True)))

    return Estimator(lambda mode: "gumbel", None, sample)


@ESTIMATORS.register()
def reinforce(baseline: Named | None) -> Estimator:
    """(r − b) ∘ (A − softmax(S)): what was chosen becomes likelier by what it earned.

    Williams 1992. The reward r of a row is held fixed: row sum of dA ∘ A. It is not biased, whatever the baseline b.
    """

    def pull(d_a: Named, a: Named, soft: Named) -> Named:
        reward = op.row_sum_kept(op.multiply(d_a, a))
        earned = reward if baseline is None else op.subtract(reward, baseline)
        return op.multiply(earned, op.subtract(a, soft))

    def sample(draws: Draws, rng: np.random.Generator, count: int, baseline: Array) -> Array:
        chosen = drawn(draws.weights, rng, count)
        reward = (chosen * draws.rewards).sum(-1, keepdims=True)
        return np.asarray((reward - baseline) * (chosen - draws.weights))

    return Estimator(lambda mode: "sample", pull, sample)


def drawn(weights: Array, rng: np.random.Generator, count: int) -> Array:
    """One key a row, drawn with its soft weights: (n, m) -> (count, n, m) of 0 and 1; a masked row draws none."""
    ends = np.cumsum(weights, axis=-1)
    u = rng.random((count, *weights.shape[:-1], 1)) * ends[..., -1:]
    key = np.minimum((u >= ends).sum(axis=-1, keepdims=True), weights.shape[-1] - 1)
    return np.asarray((np.arange(weights.shape[-1]) == key) * (ends[..., -1:] > 0).astype(weights.dtype))


# ------------------------------------------------------------------ the backward pass with an estimator
def estimate(problem: Problem, name: str, samples: int, baseline: str | float | None) -> Trace:
    """The backward pass with an estimator in place of the mode's gradient, and what many samples of it come to.

    `baseline`: a number, "mean" (what a row earns on average), "best" (of which the variance is least), or None.
    """
    known = [entry.replace("_", "-") for entry in ESTIMATORS]
    if name not in known:
        raise UsageError(f"no estimator {name!r}{did_you_mean(name, known)}; there are {', '.join(known)}")
    estimator = ESTIMATORS[name.replace("-", "_")].function(None)
    mode = estimator.mode(problem.mode)
    asked, problem = problem.mode, replace(problem, mode=mode)

    def replaced(made: Named) -> Named:
        return made if estimator.pull is None else with_gradient(made, partial(_pulled, name.replace("-", "_"), baseline))

    trace = differentiate(problem, instead={"weights": replaced})
    notes = [note for note in differentiate(problem).notes if note.code not in ("no_gradient", "gradient_stops")]
    if mode != asked:
        notes.append(Note("estimator_mode", {"estimator": name, "mode": mode, "asked": asked}))
    notes.append(Note(f"estimator_{name.replace('-', '_')}", {}))
    if estimator.sample is not None:
        found = sampled(trace, estimator, samples, baseline)
        trace = replace(trace, findings={"estimate": {"estimator": name, "samples": samples, "seed": problem.seed, **found}})
        values = {"farthest": found["farthest"], **found["variance"], "samples": samples, "seed": problem.seed}
        notes.append(Note(f"estimate_{name}", values))
    return replace(trace, notes=tuple(notes))


def with_gradient(made: Named, pull: Callable[[Named, Named], tuple[Named | None, ...]]) -> Named:
    """The same value, whose operation has another gradient."""
    operation: Any = copy(made.operation)
    operation.pull = pull
    return replace(made, operation=operation)


def _pulled(name: str, baseline: str | float | None, g: Named, out: Named) -> tuple[Named | None, ...]:
    """dS by an estimator, for the scores that the choice was made from."""
    soft = SoftWeights()(out.operands[0])
    soft = replace(soft, name=soft.expr.plain(str))  # its numbers stand in the arithmetic as if it were a step
    b = None
    if baseline == "mean":
        b = op.row_sum_kept(op.multiply(g, soft))
    elif baseline == "best":
        b = op.given("baseline", baselines(Draws(out.operands[0].value, soft.value, g.value), baseline), symbol("b"))
    elif baseline is not None:
        b = op.given("baseline", np.asarray(float(baseline)), symbol("b", number=float(baseline)))
    pull = ESTIMATORS[name].function(b).pull
    assert pull is not None
    return pull(g, out, soft), *(None,) * (len(out.operands) - 1)


# ------------------------------------------------------------------ many samples of it
def sampled(trace: Trace, estimator: Estimator, count: int, baseline: str | float | None) -> dict[str, Any]:
    """Mean and standard error of `count` samples of dS, and of what follows from it alone, beside the exact gradient of the expected
    loss."""
    name = "tempered" if "tempered" in trace else "scores"
    if count < 2:
        raise UsageError(f"--samples: found {count}, expected at least 2, so that there is a standard error")
    s, d_a = trace.step(name).made.value, trace.step("dA").made.value
    draws = Draws(s, softened(s), d_a)
    exact = exact_gradient(draws)
    b = baselines(draws, baseline)
    paths: dict[str, Array | None] = {name: None} | (_paths(trace, name) if s.size <= REACHED else {})
    means, errors = _statistics(draws, estimator, count, b, trace.problem.seed, paths)
    other = baselines(draws, "best" if baseline is None else None)
    _, others = _statistics(draws, estimator, count, other, trace.problem.seed, {name: None})
    variances = [_variance(found[name], count) for found in (errors, others)]
    rows = {}
    for reached, path in paths.items():
        step = gradient_of(reached)
        shape = s.shape if path is None else trace.step(step).made.value.shape
        arrays = (a.reshape(shape) for a in (means[reached], errors[reached], _through(exact.reshape(1, -1), path)))
        shown = (turned(step, a) if trace.problem.vectors == "columns" else a for a in arrays)
        rows[reached] = dict(zip(("mean", "standard_error", "exact"), shown, strict=True))
    off = np.abs(means[name] - exact.ravel())
    return {
        "farthest": float(np.divide(off, errors[name], out=np.zeros_like(off), where=errors[name] > 0).max(initial=0.0)),
        "variance": dict(zip(("without", "with"), variances if baseline is None else variances[::-1], strict=True)),
        "gradients": rows,
    }


def _through(cells: Array, path: Array | None) -> Array:
    """What follows from each sample of dS; without a path dS itself: (count, cells of S) -> (count, cells)"""
    return cells if path is None else cells @ path


def baselines(draws: Draws, asked: str | float | None) -> Array:
    """What is taken off the reward of each row: (n, 1).

    The variance of p_j-weighed samples (r_j − b)·(1_j − p) is least where b weighs each reward by p_j·‖1_j − p‖².
    """
    p, r = draws.weights, draws.rewards
    if asked == "best":
        length = 1 - 2 * p + (p**2).sum(-1, keepdims=True)
        total = (p * length).sum(-1, keepdims=True)
        return np.asarray(np.divide((p * length * r).sum(-1, keepdims=True), total, out=np.zeros_like(total), where=total > 0))
    if asked == "mean":
        return np.asarray((p * r).sum(-1, keepdims=True))
    return np.full((*p.shape[:-1], 1), 0.0 if asked is None else float(asked))


def exact_gradient(draws: Draws) -> Array:
    """The gradient of the expected loss with respect to the scores: over every key j that a row may choose, its reward times
    how fast its probability grows, p_j ∘ (1_j − p): (n, m)"""
    p, r = draws.weights, draws.rewards
    gradient = np.zeros_like(p)
    for j in range(p.shape[-1]):
        chosen = (np.arange(p.shape[-1]) == j).astype(p.dtype)
        gradient += r[..., j : j + 1] * p[..., j : j + 1] * (chosen - p)
    return gradient


def _variance(error: Array, count: int) -> float:
    """The variance of one sample, over all cells of dS together."""
    return float((error**2).sum() * count)


def _paths(trace: Trace, name: str) -> dict[str, Array]:
    """For everything that only the scores reach, how its gradient follows from dS: (cells of S, its own cells)."""
    start = next(node for node in ordered(trace.step("weights").made) if node.name == name)
    others = {node.name for node in ordered(trace.step("V").made)} if "V" in trace else set()
    rows: dict[str, list[Array]] = {}
    for one in np.eye(start.value.size):
        found = backward(start, op.given("one", one.reshape(start.value.shape), symbol("1")))
        for reached in found.keys() & trace.gradients.keys() - others - {name}:
            rows.setdefault(reached, []).append(found[reached].value.ravel())
    return {reached: np.array(rows[reached]) for reached in trace.gradients if reached in rows}


def _statistics(
    draws: Draws, estimator: Estimator, count: int, baseline: Array, seed: int, paths: Mapping[str, Array | None]
) -> tuple[dict[str, Array], dict[str, Array]]:
    """Mean and standard error over the samples, for each name of `paths`."""
    assert estimator.sample is not None
    rng = np.random.default_rng(seed)
    centre = {name: _through(exact_gradient(draws).reshape(1, -1), path)[0] for name, path in paths.items()}
    total = {name: np.zeros_like(exact) for name, exact in centre.items()}
    squares = {name: np.zeros_like(exact) for name, exact in centre.items()}
    left = count
    while left:
        some = min(left, max(1, CHUNK // max(1, draws.scores.size)))
        cells = estimator.sample(draws, rng, some, baseline).reshape(some, -1)
        for name, path in paths.items():
            off = _through(cells, path) - centre[name]  # about the exact gradient, so that no digit of a small variance is lost
            total[name] += off.sum(0)
            squares[name] += (off**2).sum(0)
        left -= some
    mean = {name: each / count for name, each in total.items()}
    error = {name: np.sqrt(np.maximum(squares[name] / count - mean[name] ** 2, 0) / (count - 1)) for name in paths}
    return {name: centre[name] + mean[name] for name in paths}, error
