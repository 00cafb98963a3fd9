"""What score functions and modes make of one input, what they cost, and what dividing by √d_k does."""

import numpy as np
import pytest

from attn_cli.engine.comparison import disagreements, ways
from attn_cli.engine.modes import MODES
from attn_cli.engine.problem import Problem
from attn_cli.engine.scaling import measured
from attn_cli.engine.scores import SCORES

n, m, d, a = 3, 5, 4, 2
r = np.random.default_rng(0)
EVERYTHING = Problem(
    Q=r.normal(size=(n, d)),
    K=r.normal(size=(m, d)),
    V=r.normal(size=(m, 2)),
    parameters={"additive": {"W_q": np.ones((a, d)), "W_k": np.ones((a, d)), "v": np.ones(a)}, "general": {"W": np.eye(d)}},
)


@pytest.mark.parametrize(
    ("name", "multiplications", "parameters"),
    [
        ("scaled", n * m * d + n * m, 0),
        ("dot", n * m * d, 0),
        ("additive", n * d * a + m * d * a + n * m * a, 2 * a * d + a),
        ("general", n * d * d + n * m * d, d * d),
        ("cosine", n * m * d + n * d + m * d + 2 * n * m, 0),
    ],
)
def test_a_score_function_costs_what_its_formula_multiplies(name, multiplications, parameters):
    _, found, _ = ways(EVERYTHING)
    costs = {(one.multiplications, one.parameters) for one in found if one.score == name}
    assert costs == {(multiplications, parameters)}


def test_every_score_function_with_parameters_meets_every_mode():
    _, found, notes = ways(EVERYTHING)
    assert [(one.score, one.mode) for one in found] == [(score, mode) for score in SCORES for mode in MODES]
    assert notes == []


def test_a_score_function_without_its_parameters_is_left_out_with_a_note():
    _, found, notes = ways(Problem(X=np.eye(3)))
    assert {one.score for one in found} == {"scaled", "dot", "cosine"}
    assert [note.values["score"] for note in notes] == ["additive", "general"]


def test_entropy_runs_from_one_key_to_all_alike():
    _, found, _ = ways(Problem(Q=np.zeros((1, 2)), K=np.ones((4, 2))))
    by_mode = {one.mode: float(one.entropy[0]) for one in found if one.score == "dot"}
    assert by_mode["soft"] == pytest.approx(np.log(4))
    assert by_mode["hard"] == 0


def test_disagreements_are_told_by_the_key_that_wins():
    longer = Problem(Q=np.array([[1.0, 0.0]]), K=np.array([[1.0, 0.0], [2.0, 9.0]]))
    ((at, chosen),) = disagreements(ways(longer)[1])
    assert at == (0,)
    assert {key: {one.score for one in each} for key, each in chosen.items()} == {0: {"cosine"}, 1: {"scaled", "dot"}}


def test_dot_products_vary_by_the_root_of_their_width_and_scaled_ones_by_one():
    (narrow, wide) = measured([4, 512], 2000, 0)
    assert wide.std_dot == pytest.approx(22.6, abs=0.3)
    assert narrow.std_dot == pytest.approx(2, abs=0.05)
    assert (narrow.std_scaled, wide.std_scaled) == pytest.approx((1, 1), abs=0.02)
    assert wide.largest_weight_dot > 0.9 > 0.4 > wide.largest_weight_scaled
    assert wide.gradient_dot < 0.3 * wide.gradient_scaled


def test_the_norm_of_the_gradient_is_that_of_the_softmax_s_jacobian():
    from attn_cli.engine.modes import softened
    from attn_cli.engine.scaling import _sharpness

    scores = np.random.default_rng(1).normal(size=(7, 5))
    p = softened(scores)
    norms = [np.linalg.norm(np.diag(row) - np.outer(row, row)) for row in p]
    assert _sharpness(scores) == pytest.approx((p.max(-1).mean(), np.mean(norms)))


def test_the_same_seed_measures_the_same():
    assert measured([8], 50, 3) == measured([8], 50, 3) != measured([8], 50, 4)
