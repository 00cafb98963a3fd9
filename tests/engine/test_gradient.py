"""The backward pass equals central differences, for every score function, differentiable mode, mask and number of heads."""

from dataclasses import replace

import numpy as np
import pytest

from attn_cli.engine.attention import solve
from attn_cli.engine.expression import symbol
from attn_cli.engine.gradient import backward
from attn_cli.engine.operations import given
from attn_cli.engine.problem import Mask, Problem

INPUTS = ("X", "context", "W_Q", "W_K", "W_V", "b_Q", "b_K", "b_V", "Q", "K", "V", "scores", "bias", "W_O", "b_O")
STEP = 1e-6


def inputs(problem):
    """Every array of a problem by the name of its gradient."""
    arrays = {name: getattr(problem, name) for name in INPUTS if getattr(problem, name) is not None}
    return arrays | {f"{score}.{name}": a for score, named in problem.parameters.items() for name, a in named.items()}


def changed(problem, arrays):
    """The problem with other arrays in place of its own."""
    own = {name: a for name, a in arrays.items() if "." not in name}
    parameters = {
        score: {name: arrays.get(f"{score}.{name}", a) for name, a in named.items()} for score, named in problem.parameters.items()
    }
    return replace(problem, parameters=parameters, **own)


def gradients(problem, upstream):
    trace = solve(problem)
    return {name: g.value for name, g in backward(trace.result, given("upstream", upstream(trace.result.value), symbol("G"))).items()}


def slope(problem, direction, upstream):
    """How fast the loss grows along a direction in the space of inputs, by central differences."""
    here = inputs(problem)

    def loss(t):
        result = solve(changed(problem, {name: here[name] + t * d for name, d in direction.items()})).result.value
        return float((result * upstream(result)).sum())

    return (loss(STEP) - loss(-STEP)) / (2 * STEP)


def directions(problem, seed):
    """A random direction for each input; what is −∞ stays there."""
    r = np.random.default_rng(seed)
    return {name: np.where(np.isfinite(a), r.normal(size=a.shape), 0) for name, a in inputs(problem).items()}


def upstream_of(seed):
    return lambda result: np.random.default_rng(seed).normal(size=result.shape)


def along(gradient, direction):
    return sum(float((gradient[name] * d).sum()) for name, d in direction.items() if name in gradient)


def test_the_gradient_along_all_inputs_together_is_the_slope_of_the_loss(problem, kinds, score, differentiable_mode, heads):
    for kind in kinds[len(score + heads) % 3 :: 3]:
        p = problem(score, differentiable_mode, kind, heads, seed=1)
        upstream, direction = upstream_of(3), directions(p, 4)
        assert along(gradients(p, upstream), direction) == pytest.approx(slope(p, direction, upstream), rel=1e-6, abs=1e-7), kind


def test_the_gradient_of_each_input_is_the_slope_of_the_loss(problem, kinds, score, differentiable_mode):
    for heads, kind in zip(("one head", "grouped"), kinds[len(score + differentiable_mode) % 7 :: 7], strict=False):
        p = problem(score, differentiable_mode, kind, heads, seed=2)
        upstream, found = upstream_of(5), gradients(p, upstream_of(5))
        for name, d in directions(p, 6).items():
            assert along(found, {name: d}) == pytest.approx(slope(p, {name: d}, upstream), rel=1e-6, abs=1e-7), (kind, name)


def test_every_input_has_a_gradient_of_its_own_shape(problem, score, differentiable_mode, heads):
    p = problem(score, differentiable_mode, "bias per head", heads)
    shapes = {name: g.shape for name, g in gradients(p, upstream_of(1)).items()}
    for name, a in inputs(p).items():
        one_head = a.ndim == 3 and heads == "one head"
        assert shapes[name] == (a.shape[1:] if one_head else a.shape), name


@pytest.mark.parametrize(
    "given_directly",
    [
        {"Q": (3, 4), "K": (5, 4), "V": (5, 4)},
        {"Q": (3, 4), "K": (5, 4), "V": (5, 4), "heads": 2},
        {"Q": (4, 3, 2), "K": (2, 5, 2), "V": (2, 5, 2)},
        {"Q": (3, 4), "K": (5, 4)},
        {"scores": (3, 5), "V": (5, 2)},
        {"scores": (2, 3, 5), "V": (2, 5, 2)},
        {"X": (3, 4)},
        {"X": (3, 4), "heads": 2},
        {"X": (3, 4), "context": (5, 4)},
        {"X": (3, 4), "W_Q": (4, 4), "W_K": (4, 4), "W_V": (4, 2)},
        {"X": (3, 4), "W_Q": (2, 4), "W_K": (2, 4), "W_V": (6, 4), "W_O": (3, 6), "weights_layout": "out_in"},
    ],
    ids=str,
)
def test_gradients_reach_whatever_was_given(given_directly):
    r = np.random.default_rng(8)
    p = Problem(**{key: r.normal(size=shape) if isinstance(shape, tuple) else shape for key, shape in given_directly.items()})
    upstream, found = upstream_of(5), gradients(p, upstream_of(5))
    for name, d in directions(p, 6).items():
        assert along(found, {name: d}) == pytest.approx(slope(p, {name: d}, upstream), rel=1e-6, abs=1e-7), name
        assert name in found


def test_a_masked_value_row_of_nan_spoils_no_gradient():
    r = np.random.default_rng(1)
    v = r.normal(size=(4, 2))
    v[3] = np.nan
    p = Problem(Q=r.normal(size=(3, 2)), K=r.normal(size=(4, 2)), V=v, mask=Mask(lengths=3))
    assert all(np.isfinite(g).all() for g in gradients(p, np.ones_like).values())


def test_a_mode_without_gradient_stops_it_at_the_weights(problem):
    found = gradients(problem("scaled", "hard"), np.ones_like)
    assert {"V", "W_V", "W_O"} <= set(found)
    assert not {"scores", "Q", "K", "W_Q"} & set(found)


def test_a_closed_row_has_no_gradient(problem):
    p = problem("scaled", "soft", "a closed row")
    assert (gradients(p, np.ones_like)["Q"][1] == 0).all()


def test_each_gradient_is_recorded_once_and_what_is_passed_on_is_used():
    r = np.random.default_rng(2)
    trace = solve(Problem(X=r.normal(size=(3, 2)), W_Q=np.eye(2), W_K=np.eye(2), W_V=np.eye(2)))
    seen = []

    def record(name, gradient):
        seen.append(name)
        return given(name, np.zeros_like(gradient.value), gradient.expr) if name == "scores" else gradient

    found = backward(trace.result, given("upstream", np.ones((3, 2)), symbol("G")), record)
    assert sorted(seen) == sorted(set(seen))
    assert seen[0] == "output"
    assert seen.index("weights") < seen.index("scores") < seen.index("Q") < seen.index("X")
    assert (found["W_Q"].value == 0).all()
    assert (found["W_V"].value != 0).any()


def test_the_textbook_formula_of_softmax_shows_in_its_gradient():
    trace = solve(Problem(scores=[[1.0, 2.0]], V=[[1.0], [3.0]]))
    texts = {}

    def record(name, gradient):
        texts[name] = gradient.expr.plain(str)
        return gradient

    backward(trace.result, given("upstream", np.ones((1, 1)), symbol("dO")), record)
    assert texts == {"output": "dO", "weights": "dO·Vᵀ", "V": "Aᵀ·dO", "scores": "A ∘ (dA - row sum(dA ∘ A))"}
