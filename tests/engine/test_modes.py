"""How scores become weights, mode by mode."""

import math

import numpy as np
import pytest

from attn_cli.engine.attention import solve
from attn_cli.engine.modes import passing
from attn_cli.engine.problem import Mask, Problem


def weights(scores, mode, **changes):
    return solve(Problem(scores=np.asarray(scores, float), mode=mode, **changes))["weights"]


def bisected(row, weight):
    """The weights max(…)^p of a row for the threshold τ that makes them add up to 1, found by bisection."""
    low, high = -50.0, 50.0
    for _ in range(200):
        tau = (low + high) / 2
        low, high = (tau, high) if sum(weight(s, tau) for s in row) > 1 else (low, tau)
    return [weight(s, tau) for s in row]


@pytest.mark.parametrize("width", [1, 2, 5, 40])
@pytest.mark.parametrize(
    ("mode_name", "weight"),
    [("sparsemax", lambda s, tau: max(s - tau, 0)), ("entmax15", lambda s, tau: max(s / 2 - tau, 0) ** 2)],
    ids=["sparsemax", "entmax15"],
)
def test_sparse_modes_find_the_threshold_that_bisection_finds(mode_name, weight, width):
    scores = np.random.default_rng(width).normal(size=(30, width)) * np.linspace(0.1, 5, 30)[:, None]
    found = weights(scores, mode_name)
    for row, ours in zip(scores, found, strict=True):
        assert ours == pytest.approx(bisected(row.tolist(), weight), abs=1e-9)


@pytest.mark.parametrize("scores", [[1e17, 1e17, 0], [1e308, 1e308, -1e308], [-1e17, -1e17, -1e18]])
@pytest.mark.parametrize("mode_name", ["sparsemax", "entmax15"])
def test_sparse_modes_share_out_all_weight_however_large_the_scores(mode_name, scores):
    assert weights([scores], mode_name)[0] == pytest.approx([0.5, 0.5, 0])


def test_sparse_modes_leave_masked_keys_out_of_the_threshold():
    scores = [[1.0, 9.0, 0.8]]
    mask = Mask(drop=np.array([0, 1, 0]))
    assert weights(scores, "sparsemax", mask=mask) == pytest.approx(np.array([[0.6, 0, 0.4]]))
    assert weights(scores, "entmax15", mask=mask)[0, [0, 2]] == pytest.approx(weights([[1.0, 0.8]], "entmax15")[0])


def test_hard_takes_the_largest_score_and_of_equal_ones_the_first():
    assert weights([[1, 3, 2], [5, 5, 1], [-1, -2, -1]], "hard").tolist() == [[0, 1, 0], [1, 0, 0], [1, 0, 0]]


@pytest.mark.parametrize(
    ("row", "winner"),
    [
        ([0.3, 0.1 + 0.2], 0),
        ([1.0, 1.0 + 0.9e-12], 0),
        ([1.0, 1.0 + 2e-12], 1),
        ([1e6, 1e6 + 0.9e-6], 0),
        ([1e6, 1e6 + 2e-6], 1),
        ([1.0, 1.0 + 0.5e-6, -1e6], 0),
        ([1e-20, 2e-20], 0),
    ],
)
def test_scores_that_agree_to_a_billionth_of_a_thousandth_of_the_rows_size_are_equal(row, winner):
    trace = solve(Problem(scores=[row], mode="hard"))
    assert int(trace["weights"][0].argmax()) == winner
    assert any(note.code == "tie" for note in trace.notes) == (winner == 0)
    assert [trace.step("weights").cell((0, j)).evaluate() for j in range(len(row))] == trace["weights"][0].tolist()


@pytest.mark.parametrize("mode_name", ["sample", "gumbel"])
def test_what_is_drawn_repeats_under_its_seed(mode_name):
    scores = np.random.default_rng(0).normal(size=(2, 6, 5))
    once, again, other = (weights(scores, mode_name, seed=seed) for seed in (7, 7, 8))
    assert np.array_equal(once, again)
    assert not np.array_equal(once, other)


@pytest.mark.parametrize("mode_name", ["sample", "gumbel"])
def test_twenty_thousand_samples_fall_as_often_as_the_soft_weights_say(mode_name):
    row = [1.0, 0.0, -math.inf, 2.0, 0.5]
    bias = np.where(np.isinf(row), -np.inf, 0)
    drawn = weights(np.tile(np.where(np.isinf(row), 0, row), (20_000, 1)), mode_name, bias=np.tile(bias, (20_000, 1)), seed=1)
    frequencies = np.bincount(drawn.argmax(axis=-1), minlength=5) / 20_000
    soft = np.exp(row) / np.exp(row).sum()
    assert frequencies == pytest.approx(soft, abs=4 * math.sqrt(0.25 / 20_000))
    assert frequencies[2] == 0


def test_a_sample_is_one_key_with_all_the_weight():
    drawn = weights(np.random.default_rng(2).normal(size=(50, 4)), "sample")
    assert set(drawn.ravel()) == {0, 1}
    assert (drawn.sum(axis=-1) == 1).all()


def test_a_low_temperature_makes_gumbel_nearly_one_hot():
    assert weights([[1.0, 2.0, 0.0]], "gumbel", temperature=0.01).max() > 0.999


@pytest.mark.parametrize(
    ("mode_name", "text"),
    [
        ("sparsemax", "max(1.0 - (1.0 + 0.8 - 1.0) / 2.0, 0.0)"),
        ("hard", "[1.0 = max(1.0, 0.8, -1.0)]"),
        ("soft", "2.718281828459045 / 5.311702198122955"),
    ],
)
def test_the_arithmetic_of_a_weight_is_what_one_does_by_hand(mode_name, text):
    step = solve(Problem(scores=[[1.0, 0.8, -1.0]], mode=mode_name)).step("weights")
    assert step.cell((0, 0)).plain(lambda n: str(n.value)) == text


def test_the_arithmetic_of_entmax_shows_its_support_and_how_the_threshold_comes_about():
    step = solve(Problem(scores=[[1.0, 0.8, -3.0]], mode="entmax15")).step("weights")
    text = step.cell((0, 0)).plain(lambda n: f"{n.value:g}")
    assert text == "max(1 / 2 - (0.45 - √((1 - ((1 / 2 - 0.45)² + (0.8 / 2 - 0.45)²)) / 2)), 0)²"


def test_the_arithmetic_of_a_sample_shows_the_draw_between_the_sums_of_the_soft_weights():
    trace = solve(Problem(scores=[[0.0, 0.0, 0.0, 0.0]], mode="sample", seed=0))
    texts = [trace.step("weights").cell((0, j)).plain(lambda n: f"{n.value:.3g}") for j in range(4)]
    assert texts == ["[0 ≤ 0.637 < 0.25]", "[0.25 ≤ 0.637 < 0.25 + 0.25]", "[0.5 ≤ 0.637 < 0.5 + 0.25]", "[0.75 ≤ 0.637 < 1]"]
    assert trace["weights"].tolist() == [[0, 0, 1, 0]]


def test_a_row_that_may_attend_to_nothing_has_zero_weights_and_a_zero_output(mode):
    mask = Mask(keep=np.array([[1, 1], [0, 0]]))
    trace = solve(Problem(scores=[[1.0, 2.0], [3.0, 4.0]], V=[[1.0], [2.0]], mode=mode, mask=mask))
    assert trace["weights"][1].tolist() == [0, 0]
    assert trace["output"][1].tolist() == [0]
    assert [(note.values["row"], note.warning) for note in trace.notes if note.code == "empty_row"] == [("x2", True)]


@pytest.mark.parametrize("threshold", ["sparsemax", "entmax15"])
@pytest.mark.parametrize("far", [0.0, 1e3, -1e17, 1e308])
def test_the_arithmetic_of_a_weight_holds_however_large_the_scores(threshold, far):
    trace = solve(Problem(scores=[[far, far + 0.5 if far < 1e9 else far, -np.abs(far) - 3.0]], mode=threshold))
    for at in np.ndindex(1, 3):
        assert trace.step("weights").cell(at).evaluate() == pytest.approx(trace["weights"][at], abs=1e-9)


def test_a_number_on_the_way_is_shown_rounded_but_for_0_and_1():
    assert [passing(value).exact for value in (0.0, 1.0, 0.5, 1 / 3)] == [True, True, False, False]
