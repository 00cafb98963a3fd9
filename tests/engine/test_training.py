"""The backward pass as steps: one worked pass line by line, formulas and equations that hold, estimators that estimate."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from attn_cli.engine.attention import solve
from attn_cli.engine.differences import inputs, largest_difference
from attn_cli.engine.estimators import estimate
from attn_cli.engine.problem import Mask, Problem
from attn_cli.engine.steps import is_gradient
from attn_cli.engine.training import differentiate, gradient_names
from attn_cli.errors import InputError

WORKED = Problem(
    X=np.array([[1.0, 0.0], [0.0, 2.0]]),
    W_Q=np.array([[1.0, 1.0], [0.0, 1.0]]),
    W_K=np.array([[1.0, 0.0], [1.0, 1.0]]),
    W_V=np.array([[2.0, 0.0], [0.0, 1.0]]),
    upstream=np.array([[1.0, 0.0], [0.0, 1.0]]),
)


BY_HAND = Problem(
    X=np.array([[2.0]]),
    context=np.eye(2),
    W_Q=np.array([[1.0, 0, 0, 0]]),
    W_K=np.array([[1.0, 1, 0, 0], [1, 0, 1, 0]]),
    W_V=np.array([[4.0, 0], [0, 2]]),
    upstream=np.array([[1.0, 1.0]]),
)
"""Two keys that score alike, so that both weights are 0.5 and every number of the backward pass is short."""
PASS = {
    "dO = upstream": [[1, 1]],
    "dV = Aᵀ·dO": [[0.5, 0.5], [0.5, 0.5]],
    "dA = dO·Vᵀ": [[4, 2]],
    "dS = A ∘ (dA - row sum(dA ∘ A))": [[0.5, -0.5]],
    "dP = dS / √d_k": [[0.25, -0.25]],
    "dQ = dP·K": [[0, 0.25, -0.25, 0]],
    "dK = dPᵀ·Q": [[0.5, 0, 0, 0], [-0.5, 0, 0, 0]],
    "dW_Q = Xᵀ·dQ": [[0, 0.5, -0.5, 0]],
    "dW_K = contextᵀ·dK": [[0.5, 0, 0, 0], [-0.5, 0, 0, 0]],
    "dW_V = contextᵀ·dV": [[0.5, 0.5], [0.5, 0.5]],
    "dX = dQ·W_Qᵀ": [[0]],
    "dcontext": [[2.5, 1.5], [1.5, 0.5]],
}
LINES = {
    "dV": ["0.5·1", "0.5·1", "0.5·1", "0.5·1"],
    "dA": ["1·4 + 1·0", "1·0 + 1·2"],
    "dS": ["0.5·(4 - (4·0.5 + 2·0.5))", "0.5·(2 - (4·0.5 + 2·0.5))"],
    "dP": ["0.5 / √4", "(-0.5) / √4"],
    "dQ": ["0.25·1 + (-0.25)·1", "0.25·1 + (-0.25)·0", "0.25·0 + (-0.25)·1", "0.25·0 + (-0.25)·0"],
    "dW_Q": ["2·0", "2·0.25", "2·(-0.25)", "2·0"],
    "dX": ["0·1 + 0.25·0 + (-0.25)·0 + 0·0"],
}


def test_a_backward_pass_line_by_line():
    steps = [step for step in differentiate(BY_HAND) if step.of]
    formulas = {step.name: step.formula.plain(lambda n: f"{n.value:g}") for step in steps}
    assert formulas.pop("dcontext") == "dK·W_Kᵀ + dV·W_Vᵀ"
    found = {f"{s.name} = {formulas[s.name]}" if s.name in formulas else s.name: s.value.tolist() for s in steps}
    assert found == PASS
    assert list(found) == list(PASS)
    for name, expected in LINES.items():
        step = next(step for step in steps if step.name == name)
        assert [step.cell(at).plain(lambda n: f"{n.value:g}") for at in np.ndindex(*step.value.shape)] == expected


def test_every_equation_of_a_backward_pass_gives_its_number(problem, kinds, score, differentiable_mode, heads, vectors):
    kind = kinds[len(score + heads + vectors) % len(kinds)]
    trace = differentiate(replace(problem(score, differentiable_mode, kind, heads), vectors=vectors))
    for step in trace:
        for at in list(np.ndindex(*step.value.shape))[::3] if step.of else ():
            assert step.cell(at).evaluate() == pytest.approx(step.value[at], abs=1e-12), (step.name, at)


def test_gradients_are_central_differences_of_the_loss(problem, kinds, score, differentiable_mode, heads):
    kind = kinds[len(score + differentiable_mode) % len(kinds)]
    trace = differentiate(problem(score, differentiable_mode, kind, heads, seed=3))
    largest, where = largest_difference(trace)
    assert largest < 1e-7, where


def test_gradients_are_those_of_torch():
    torch = pytest.importorskip("torch")
    r = np.random.default_rng(4)
    arrays = {"X": r.normal(size=(3, 4)), **{name: r.normal(size=(4, 2)) for name in ("W_Q", "W_K", "W_V")}}
    upstream = r.normal(size=(3, 2))
    ours = differentiate(Problem(**arrays, upstream=upstream, mask=Mask(causal=True))).gradients
    theirs = {name: torch.tensor(array, requires_grad=True) for name, array in arrays.items()}
    q, k, v = (theirs["X"] @ theirs[name] for name in ("W_Q", "W_K", "W_V"))
    out = torch.nn.functional.scaled_dot_product_attention(q[None], k[None], v[None], is_causal=True)[0]
    out.backward(torch.tensor(upstream))
    for name, tensor in theirs.items():
        assert ours[name] == pytest.approx(tensor.grad.numpy(), abs=1e-12), name


def test_each_gradient_lies_as_what_it_is_the_gradient_of(problem, score, heads, vectors):
    p = replace(problem(score, "soft", "bias per head", heads), vectors=vectors)
    trace = differentiate(p)
    for name, array in inputs(p).items():
        turns = vectors == "columns" and "." not in name and array.ndim > 1
        shape = np.swapaxes(array, -1, -2).shape if turns else array.shape
        found = trace.gradients[name].shape
        assert found == (shape[1:] if array.ndim == 3 and heads == "one head" else shape), name


def test_both_layouts_say_the_same(problem, score, heads):
    rows = problem(score, "soft", "causal", heads)
    a, b = differentiate(rows), differentiate(replace(rows, vectors="columns"))
    for one, other in zip(a, b, strict=True):
        assert np.array_equal(one.made.value, other.made.value), one.name


def test_the_names_of_all_gradients_are_in_order():
    names = gradient_names()
    assert names.index("dO") < names.index("dV") < names.index("dA") < names.index("dS") < names.index("dP") < names.index("dQ")
    assert names[-2:] == ["dX", "dcontext"]
    assert "dadditive.W_q" in names
    assert all(map(is_gradient, names))


def codes(trace):
    return {note.code for note in trace.notes}


def test_a_note_says_where_equal_value_rows_make_ds_zero():
    x = np.array([[1.0, 0, 1, 0], [0, 1, 0, 1], [1, 1, 0, 0]])
    trace = differentiate(Problem(X=x))
    assert {"upstream_ones", "equal_sums"} <= codes(trace)
    assert np.abs(trace["dS"]).max() < 1e-15
    assert "equal_sums" not in codes(differentiate(Problem(X=x, upstream=np.eye(3, 4))))
    assert "equal_sums" not in codes(differentiate(WORKED))


@pytest.mark.parametrize("choice", ["hard", "sample"])
def test_a_choice_says_that_its_gradient_stops(choice):
    trace = differentiate(replace(WORKED, mode=choice))
    assert "gradient_stops" in codes(trace)
    assert "dV" in trace
    assert "dS" not in trace


def test_an_upstream_of_another_shape_than_weights_alone_is_an_error():
    with pytest.raises(InputError, match="expected 2 × 3, the shape of the weights"):
        differentiate(Problem(Q=np.ones((2, 2)), K=np.ones((3, 2)), upstream=np.ones((2, 2))))


# ------------------------------------------------------------------ estimators
def expected_loss(problem, s):
    """The loss of every draw times its probability, each draw worked by the engine."""
    p = np.exp(s - s.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    n, m = s.shape
    v, dO = solve(problem)["V"], problem.upstream
    return sum(np.prod(p[range(n), keys]) * float((dO * v[list(keys)]).sum()) for keys in product(range(m), repeat=n))


def test_the_exact_gradient_is_that_of_the_enumerated_expected_loss():
    trace = estimate(WORKED, "reinforce", 10, None)
    s, exact = trace["scores"], trace.findings["estimate"]["gradients"]["scores"]["exact"]
    for at in np.ndindex(*s.shape):
        up, down = s.copy(), s.copy()
        up[at] += 1e-5
        down[at] -= 1e-5
        assert exact[at] == pytest.approx((expected_loss(WORKED, up) - expected_loss(WORKED, down)) / 2e-5, abs=1e-8)


@pytest.mark.parametrize("baseline", [None, "mean", "best", 0.7])
@pytest.mark.parametrize("changes", [{}, {"mask": Mask(causal=True)}, {"heads": 2}, {"temperature": 2.0}, {"vectors": "columns"}], ids=str)
def test_the_mean_of_reinforce_lies_near_the_exact_gradient(changes, baseline):
    trace = estimate(replace(WORKED, seed=5, **changes), "reinforce", 4000, baseline)
    for name, found in trace.findings["estimate"]["gradients"].items():
        assert (np.abs(found["mean"] - found["exact"]) <= 3 * found["standard_error"] + 1e-12).all(), name
    assert {"scores", "Q", "K", "W_Q", "W_K"} <= set(trace.findings["estimate"]["gradients"])


def test_a_baseline_lowers_the_variance():
    for baseline in (None, "best"):
        variance = estimate(WORKED, "reinforce", 2000, baseline).findings["estimate"]["variance"]
        assert variance["with"] < variance["without"]


def test_the_exact_gradient_of_a_linear_loss_is_that_of_the_soft_weights():
    trace, soft = estimate(WORKED, "reinforce", 10, None), differentiate(WORKED)
    found = trace.findings["estimate"]["gradients"]
    for name in ("scores", "Q", "W_Q"):
        assert found[name]["exact"] == pytest.approx(soft.gradients[name], abs=1e-12)


def test_straight_through_takes_the_gradient_of_the_soft_weights():
    through, soft = estimate(replace(WORKED, mode="hard"), "straight-through", 10, None), differentiate(WORKED)
    assert through["dS"] == pytest.approx(soft["dS"])
    assert set(np.unique(through["weights"])) == {0, 1}
