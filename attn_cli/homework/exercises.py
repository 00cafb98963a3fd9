"""Problems made to be worked by hand: small numbers, sizes that tell matrices apart, and every mistake that applies would show."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import NamedTuple

import numpy as np

from attn_cli.engine.arrays import Array
from attn_cli.engine.modes import MODES
from attn_cli.engine.problem import Mask, Problem
from attn_cli.engine.scores import SCORES
from attn_cli.engine.steps import Step, Trace, is_gradient, turned
from attn_cli.engine.training import work_for
from attn_cli.errors import UsageError
from attn_cli.homework.mistakes.hidden import Hidden, hidden_mistakes
from attn_cli.homework.mistakes.worked import variants as mistakes
from attn_cli.names import did_you_mean

TRIES = 10_000
"""Problems drawn before the search gives up; most searches need a few dozen."""
LARGEST, SMALLEST = 0.95, 0.01
"""No soft weight is larger, where a query has a choice, or smaller: beyond, the softmax is saturated and hides the scale."""
FAR = 6.0
"""No score is farther from 0: larger ones make exponentials that nobody likes to write down."""
CLEAR = 0.1
"""The largest score of a row is larger than the next by more than this, where it alone is chosen."""
UNITS = 2
"""Hidden units of an additive score."""
BY_HAND = 20_000
"""Numbers in all steps together. Larger problems nobody works by hand, and an audit of them takes minutes and gigabytes."""
MOST_TOKENS = 9
MOST_WEIGHTS = 12
"""Numbers of one weight matrix: with more, a sheet is tedious."""

Draw = Callable[[np.random.Generator, tuple[int, ...]], Array]


def _one_of(numbers: Sequence[float] | Array) -> Draw:
    """Numbers drawn from a few until no row or column is all zeros; one that stands there twice comes twice as often."""

    def draw(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        while True:
            drawn = np.asarray(rng.choice(np.asarray(numbers, float), shape))
            if drawn.any(axis=0).all() and drawn.any(axis=-1).all():
                return drawn

    return draw


STYLES: Mapping[str, tuple[Draw, Draw]] = {
    "integers": (_one_of([-2, -1, -1, -1, 0, 0, 0, 1, 1, 1, 2]), _one_of([-1, 0, 0, 0, 1])),
    "halves": (_one_of([-1.5, -1, -0.5, 0, 0.5, 1, 1.5]), _one_of([-1, -0.5, 0, 0, 0.5, 1])),
    "unit": (_one_of(np.arange(-9, 10) / 10), _one_of(np.arange(-9, 10) / 10)),
}
"""Kinds of numbers: how inputs and how weights are drawn."""


@dataclass(frozen=True)
class Wanted:
    """What a sheet should ask."""

    tokens: int = 3
    score: str = "scaled"
    mode: str = "soft"
    mask: Mask | None = None
    heads: int = 1
    steps: tuple[str, ...] = ()
    """The steps asked for; empty for all."""
    decimals: int = 3
    style: str = "integers"
    grad: bool = False
    """Whether the backward pass is asked for too."""

    def check(self) -> None:
        """Raises UsageError for what no sheet can ask."""
        if self.style not in STYLES:
            raise UsageError(f"no style {self.style!r}{did_you_mean(self.style, STYLES)}; there are {', '.join(STYLES)}")
        if SCORES[self.score].parameters and self.score not in PARAMETERS:
            raise UsageError(f"no exercise knows how to draw parameters for score: {self.score}")
        if MODES[self.mode].random:
            raise UsageError(f"{self.mode} mode draws lots, which nobody can work by hand; use soft, hard, sparsemax or entmax15")
        if self.grad and not MODES[self.mode].differentiable:
            raise UsageError(f"{self.mode} mode has no gradient to ask for; leave out --grad")
        if not 2 <= self.tokens <= MOST_TOKENS:
            raise UsageError(f"--tokens: found {self.tokens}, expected 2 to {MOST_TOKENS}")


PARAMETERS: Mapping[str, Callable[[np.random.Generator, Draw, int], dict[str, Array]]] = {
    "additive": lambda r, draw, d: {"W_q": draw(r, (UNITS, d)), "W_k": draw(r, (UNITS, d)), "v": draw(r, (UNITS,))},
    "general": lambda r, draw, d: {"W": draw(r, (d, d))},
}
"""The parameters of each score function that has some, for queries and keys of one width."""


@dataclass(frozen=True)
class Exercise:
    """A problem, worked, and the steps that it asks for."""

    problem: Problem
    trace: Trace
    steps: tuple[Step, ...]
    decimals: int


def exercise(wanted: Wanted, rng: np.random.Generator) -> Exercise:
    """A problem in which every mistake that applies would show; raises UsageError where none is found."""
    wanted.check()
    for problem in _drawn(wanted, rng):
        trace = worked(problem)
        for name in wanted.steps:
            trace.step(name)
        if easy(trace) and not hidden_mistakes(trace, wanted.decimals, wanted.steps):
            return Exercise(problem, trace, asked(trace, wanted.steps), wanted.decimals)
    raise UsageError(
        "no such exercise was found in which every mistake would show: ask for more steps or decimals, or for more tokens; "
        "attn exercise audit says what a problem hides"
    )


def worked(problem: Problem) -> Trace:
    """The problem with its steps; backwards too where it says an upstream or asks for a gradient."""
    return work_for(problem, ["dO"] if problem.upstream is not None else problem.ask)


def asked(trace: Trace, names: Sequence[str]) -> tuple[Step, ...]:
    """The steps that are to be worked: those named, else all that are not given."""
    wanted = {trace.step(name).name for name in names}
    return tuple(step for step in trace if (step.name in wanted if wanted else not step.given and step.name != "dO"))


def _drawn(wanted: Wanted, rng: np.random.Generator) -> Iterator[Problem]:
    """Problems of the wanted kind, with n, d_model, d_k and d_v pairwise different."""
    numbers, weights = STYLES[wanted.style]
    n, h = wanted.tokens, wanted.heads
    sizes = [size for size in permutations([size for size in range(1, 7) if size != n], 3) if _handy(size, h)]
    labels = tuple(f"x{i + 1}" for i in range(n))
    for _ in range(TRIES):
        d_model, d_k, d_v = sizes[rng.integers(len(sizes))]
        problem = Problem(
            tokens=labels,
            X=numbers(rng, (n, d_model)),
            W_Q=weights(rng, (d_model, h * d_k)),
            W_K=weights(rng, (d_model, h * d_k)),
            W_V=weights(rng, (d_model, h * d_v)),
            W_O=weights(rng, (h * d_v, d_model)) if h > 1 else None,
            heads=h if h > 1 else None,
            score=wanted.score,
            parameters={wanted.score: PARAMETERS[wanted.score](rng, weights, d_k)} if wanted.score in PARAMETERS else {},
            mode=wanted.mode,
            mask=wanted.mask,
            ask=wanted.steps,
            upstream=numbers(rng, (n, d_model if h > 1 else d_v)) if wanted.grad or any(map(is_gradient, wanted.steps)) else None,
        )
        yield problem


def _handy(sizes: tuple[int, int, int], h: int) -> bool:
    """Whether matrices of these sizes (d_model, d_k, d_v) are not too large to fill in, and none can be taken for another."""
    d_model, d_k, d_v = sizes
    return 2 <= d_k <= 4 and 2 <= d_model != h * d_k and d_k * d_model <= MOST_WEIGHTS and (2 if h == 1 else 1) <= d_v <= 5


def easy(trace: Trace) -> bool:
    """Whether a problem is pleasant to work: no saturated or tied weights, no large scores."""
    p = trace.problem
    scores, weights = trace.step("scores").made.value, trace.step("weights").made.value
    open_ = np.isfinite(scores)
    if np.abs(scores[open_]).max() > FAR:
        return False
    choice = open_.sum(axis=-1) > 1
    largest = weights.max(axis=-1)[choice]
    if p.mode == "hard":
        best = np.sort(np.where(open_, scores, -np.inf), axis=-1)[choice]
        return bool((best[..., -1] - best[..., -2] > CLEAR).all())
    if p.mode != "soft":
        return bool(np.mean(largest < 1) >= 0.5)
    return bool(largest.max() <= LARGEST and weights[open_].min() >= SMALLEST)


# ------------------------------------------------------------------ what a problem hides
def audit(problem: Problem, decimals: int, steps: Sequence[str], grad: bool) -> list[tuple[Hidden, str]]:
    """The mistakes that a problem cannot reveal, each with the reason, a key of the sentences under `audit.`"""
    trace = work_for(problem, ["dO"]) if grad else worked(problem)
    numbers = sum(step.value.size for step in trace)
    if numbers > BY_HAND:
        raise UsageError(f"this problem has {numbers:,} numbers to work out; an audit is for problems that somebody works by hand")
    names = [trace.step(name).name for name in steps] or [step.name for step in trace]
    return [(hidden, reason(hidden, trace, names)) for hidden in hidden_mistakes(trace, decimals, names)]


def reason(hidden: Hidden, trace: Trace, asked: Sequence[str]) -> str:
    """Why a mistake does not show: what in the problem hides it, else how it is hidden."""
    if hidden.why == "same_numbers":
        for name, (codes, holds) in REASONS.items():
            if (not codes or hidden.code in codes) and holds(trace):
                return name
    elif saturated(trace) and any(name in asked for name in AFTER_SCORES) and not any(name in AFTER_SCORES for name in hidden.steps):
        return "saturated"
    return hidden.why


def _equal(a: Array | None, b: Array | None) -> bool:
    return a is not None and b is not None and a.shape == b.shape and bool(np.array_equal(a, b))


def _step(trace: Trace, name: str) -> Array | None:
    return trace.step(name).made.value if name in trace else None


def _weights(trace: Trace) -> list[Array]:
    p = trace.problem
    general = [a for a in p.parameters.get("general", {}).values() if p.score == "general"]
    return [a for a in (p.W_Q, p.W_K, p.W_V, p.W_O, *general) if a is not None]


def _identity(trace: Trace) -> bool:
    square = [a for a in _weights(trace) if a.shape[0] == a.shape[1]]
    return bool(square) and all(np.array_equal(a, np.eye(len(a))) for a in square)


def _symmetric(trace: Trace) -> bool:
    square = [a for a in _weights(trace) if a.shape[0] == a.shape[1]]
    return bool(square) and all(np.array_equal(a, a.T) for a in square)


def _symmetric_weights(trace: Trace) -> bool:
    a = trace.step("weights").made.value
    return a.shape[-1] == a.shape[-2] and bool(np.allclose(a, a.swapaxes(-1, -2), atol=1e-12))


AFTER_SCORES = ("weights", "heads", "concat", "output")
"""Steps in which a saturated softmax hides what was done to the scores."""


def saturated(trace: Trace) -> bool:
    """Whether some row of soft weights puts nearly all on one of several keys."""
    weights, scores = trace.step("weights").made.value, trace.step("scores").made.value
    return trace.problem.mode == "soft" and bool((weights.max(axis=-1) > 0.99)[np.isfinite(scores).sum(axis=-1) > 1].any())


REASONS: Mapping[str, tuple[tuple[str, ...], Callable[[Trace], bool]]] = {
    "identity": (("W_transposed", "X_for_V", "wrong_projection", "W_O_forgotten"), _identity),
    "symmetric": (("W_transposed",), _symmetric),
    "n_is_d_k": (("scale_sqrt_n",), lambda t: t.sizes.d_k in (t.sizes.n, t.sizes.m)),
    "d_k_is_1": (("no_scale", "scale_d_k", "scale_twice", "scale_multiplied"), lambda t: t.sizes.d_k == 1),
    "Q_is_K": (("Q_Q", "Q_K_swapped"), lambda t: _equal(_step(t, "Q"), _step(t, "K"))),
    "K_is_V": (("K_for_V",), lambda t: _equal(_step(t, "K"), _step(t, "V"))),
    "symmetric_weights": (("weights_transposed", "softmax_columns", "answer_transposed"), _symmetric_weights),
    "zero_bias": (("bias_forgotten",), lambda t: all(not a.any() for a in (t.problem.b_Q, t.problem.b_K, t.problem.b_V) if a is not None)),
}
"""What in a problem hides a mistake that changes no number: for these codes, where it holds; the first that does is named."""


class Slip(NamedTuple):
    """What a known mistake comes to in one step that it is made at."""

    code: str
    values: Array
    """In the layout shown."""


def slips(one: Exercise) -> dict[str, list[Slip]]:
    """The known mistakes by the step at which they are made, as far as they keep its shape."""
    found: dict[str, list[Slip]] = {}
    for variant in mistakes(one.trace):
        for step in one.steps:
            value = variant.values.get(step.name)
            if step.name in variant.instead and value is not None and value.shape == step.made.value.shape and np.isfinite(value).any():
                found.setdefault(step.name, []).append(Slip(variant.code, turned(step.name, value) if step.columns else value))
    return found


# ------------------------------------------------------------------ variants for a class
def class_of(wanted: Wanted, count: int, seed: int) -> list[Exercise]:
    """A class of `count` exercises, all different; a larger class of the same seed begins with the same ones."""
    found: list[Exercise] = []
    seen: set[bytes] = set()
    for number in range(count):
        rng = np.random.default_rng([seed, number])
        one = exercise(wanted, rng)
        while (mark := _mark(one.problem)) in seen:
            one = exercise(wanted, rng)
        seen.add(mark)
        found.append(one)
    return found


def _mark(problem: Problem) -> bytes:
    """What tells two problems apart."""
    return b"".join(np.ascontiguousarray(a).tobytes() for a in (problem.X, problem.W_Q, problem.W_K, problem.W_V) if a is not None)
