"""Which slip it was."""

import numpy as np
import pytest

import attn_cli
from attn_cli.engine.problem import Mask

RNG = np.random.default_rng(7)
X = RNG.normal(size=(3, 5)).round(1)
W = {name: RNG.normal(size=(5, 4)).round(1) for name in ("W_Q", "W_K", "W_V")}


def soft(s):
    e = np.exp(s)
    return e / e.sum(-1, keepdims=True)


def problem(**changes):
    return attn_cli.Problem(X=X, **{**W, **changes})


def written(array, decimals=4):
    return [[f"{x:.{decimals}f}" for x in row] for row in array]


def named(given, **answers):
    """The mistake named in the first wrong step."""
    report = attn_cli.check(given, {name: written(value) for name, value in answers.items()})
    mistake = report.first_wrong.mistake
    return (report.first_wrong.name, mistake.code if mistake else None)


Q, K, V = (X @ W[name] for name in ("W_Q", "W_K", "W_V"))
P = Q @ K.T
S = P / 2


@pytest.mark.parametrize(
    ("code", "step", "value"),
    [
        ("no_scale", "scores", P),
        ("scale_d_k", "scores", P / 4),
        ("scale_twice", "scores", P / 4),
        ("scale_sqrt_n", "scores", P / np.sqrt(3)),
        ("scale_sqrt_d_model", "scores", P / np.sqrt(5)),
        ("no_scale", "weights", soft(P)),
        ("softmax_columns", "weights", soft(S.T).T),
        ("softmax_all", "weights", np.exp(S) / np.exp(S).sum()),
        ("not_normalised", "weights", np.exp(S)),
        ("no_exponentials", "weights", S / S.sum(-1, keepdims=True)),
        ("hard_for_soft", "weights", (S.max(-1, keepdims=True) == S).astype(float)),
        ("Q_K_swapped", "products", P.T),
        ("Q_Q", "products", Q @ Q.T),
        ("wrong_projection", "Q", X @ W["W_V"]),
        ("X_for_V", "output", soft(S) @ X),
        ("K_for_V", "output", soft(S) @ K),
        ("weights_transposed", "output", soft(S).T @ V),
        ("wrong_projection", "weights", soft((X @ W["W_V"]) @ K.T / 2)),
        ("answer_transposed", "weights", soft(S).T),
    ],
)
def test_a_slip_is_named_from_its_numbers_alone(code, step, value):
    found, mistake = named(problem(), **{step: value})
    assert found == step
    report = attn_cli.check(problem(), {step: written(value)})
    also = report.first_wrong.mistake.also
    assert code in (mistake, *also)


def test_exponentials_less_the_row_maximum_taken_as_weights_are_not_normalised(mark):
    assert mark("{scores: [[2, 1, 0]]}", "weights: [[1.0, 0.368, 0.135]]").first_wrong.mistake.code == "not_normalised"
    closed = "{scores: [[2, 1, 0], [1, 1, 1]], mask: [[1, 1, 1], [0, 0, 0]]}"
    assert mark(closed, "weights: [[1.0, 0.368, 0.135], [0, 0, 0]]").first_wrong.mistake.code == "not_normalised"


def test_keys_in_place_of_values_come_before_the_projection_of_keys_in_place_of_that_of_values():
    mistake = attn_cli.check(problem(), {"output": written(soft(S) @ K)}).first_wrong.mistake
    assert (mistake.code, mistake.also) == ("K_for_V", ("wrong_projection",))


def test_scores_right_and_weights_from_the_unscaled_ones():
    assert named(problem(), scores=S, weights=soft(P)) == ("weights", "unscaled_softmax")


@pytest.mark.parametrize(
    ("code", "beside", "weights", "tol"),
    [
        ("no_scale", "", "[0.422, 0.155, 0.422], [0.155, 0.422, 0.422], [0.211, 0.211, 0.576]", None),  # cut off
        (
            "unscaled_softmax",
            "scores: [[0.707, 0, 0.707], [0, 0.707, 0.707], [0.707, 0.707, 1.414]]",
            "[0.4223, 0.1553, 0.4223], [0.1553, 0.4223, 0.4223], [0.2119, 0.2119, 0.5761]",
            None,
        ),
        ("no_scale", "", "[0.423, 0.155, 0.422], [0.155, 0.423, 0.422], [0.212, 0.212, 0.576]", None),  # adjusted
        (
            "no_scale",  # single precision
            "",
            "[0.42231882, 0.15536241, 0.42231882], [0.15536241, 0.42231882, 0.42231882], [0.21194157, 0.21194157, 0.57611686]",
            None,
        ),
        ("no_scale", "", "[0.4224, 0.1553, 0.4224], [0.1553, 0.4224, 0.4224], [0.2119, 0.2119, 0.5761]", 0.0002),
    ],
)
def test_a_slip_is_named_whatever_habit_its_maker_has_beside_it(mark, code, beside, weights, tol):
    corner = "[[1, 0], [0, 1], [1, 1]]"
    report = mark(f"Q: {corner}\nK: {corner}\nV: {corner}", f"{beside}\nweights: [{weights}]", tol=tol)
    assert (report.first_wrong.name, report.first_wrong.mistake.code) == ("weights", code)


def test_a_slip_of_somebody_who_rounds_on_the_way_is_not_taken_for_rounding(mark):
    problem = """
X: [[-0.37, -1.23], [2.48, -0.2]]
W_Q: [[1.98, 0.4], [0.11, -0.66]]
W_K: [[-1.53, -2.61], [-1.31, -0.74]]
W_V: [[-1.22, -1.17], [0.88, 0.21]]
"""
    report = mark(problem, "output: [[-1.63, -1.04], [-0.63, 0.17]]")  # the truth is −1.697, −1.118
    assert report.first_wrong.mistake.code == "no_scale"


def test_a_slip_of_a_kernel_in_single_precision_is_named():
    q, k = RNG.normal(size=(2, 4, 32, 8)).astype(np.float32)
    given = attn_cli.Problem(Q=q, K=k)
    assert attn_cli.check(given, {"scores": q @ np.swapaxes(k, 1, 2) / np.float32(8)}).first_wrong.mistake.code == "scale_d_k"


CAUSAL = np.tril(np.ones((3, 3), bool))


@pytest.mark.parametrize(
    ("code", "weights"),
    [
        ("mask_ignored", soft(S)),
        ("mask_as_zero", soft(np.where(CAUSAL, S, 0))),
        ("mask_after_softmax", np.where(CAUSAL, soft(S), 0)),
        ("mask_added", soft(S + CAUSAL)),
        ("mask_added", soft(S + ~CAUSAL)),
        ("mask_off_by_one", soft(np.where(np.tril(np.ones((3, 3)), 1) > 0, S, -np.inf))),
    ],
)
def test_slips_with_the_mask_are_named(code, weights):
    assert named(problem(mask=Mask(causal=True)), weights=weights) == ("weights", code)


def test_weights_averaged_over_the_heads_are_named_though_their_shape_is_wrong():
    heads = [soft(Q[:, cut] @ K[:, cut].T / np.sqrt(2)) for cut in (slice(0, 2), slice(2, 4))]
    assert named(problem(heads=2), weights=np.mean(heads, axis=0)) == ("weights", "heads_averaged")


def test_heads_joined_in_the_wrong_order_are_named():
    outs = [soft(Q[:, cut] @ K[:, cut].T / np.sqrt(2)) @ V[:, cut] for cut in (slice(0, 2), slice(2, 4))]
    assert named(problem(heads=2), output=np.hstack(outs[::-1])) == ("output", "concat_order")


def test_columns_dealt_out_to_the_heads_in_turn_are_named():
    outs = [soft(Q[:, i::2] @ K[:, i::2].T / np.sqrt(2)) @ V[:, i::2] for i in (0, 1)]
    assert named(problem(heads=2), output=np.hstack(outs)) == ("output", "heads_interleaved")


def test_a_forgotten_output_projection_is_named():
    w = RNG.normal(size=(4, 4)).round(1)
    assert named(problem(W_O=w), output=soft(S) @ V) == ("output", "W_O_forgotten")


def test_a_forgotten_bias_is_named_in_the_layout_of_columns_too():
    given = problem(b_Q=np.array([0.5, -1, 0.3, 2]), vectors="columns")
    assert named(given, Q=Q.T) == ("Q", "bias_forgotten")


def test_slips_with_the_additive_score_are_named():
    w, v = RNG.normal(size=(3, 8)).round(1), np.array([0.5, -1.2, 0.8])
    given = problem(score="additive", parameters={"additive": {"W": w, "v": v}})
    inner = np.array([[w @ np.concatenate([q, k]) for k in K] for q in Q])
    assert named(given, scores=inner @ v) == ("scores", "tanh_forgotten")
    assert named(given, scores=np.tanh(inner).sum(-1)) == ("scores", "v_forgotten")


def test_a_forgotten_temperature_and_a_softmax_for_a_hard_choice_are_named():
    assert named(problem(temperature=3.0), weights=soft(S)) == ("weights", "temperature_ignored")
    assert named(problem(mode="hard"), weights=soft(S)) == ("weights", "soft_for_hard")


# ------------------------------------------------------------------ the smallest description
def changed(value, *changes):
    value = value.copy()
    for at, new in changes:
        value[at] = new
    return value


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("one_cell", changed(P, ((1, 1), P[1, 1] + 0.5))),
        ("sign", changed(P, ((1, 1), -P[1, 1]))),
        ("cells_swapped", changed(P, ((0, 1), P[2, 0]), ((2, 0), P[0, 1]))),
        ("one_row", changed(P, ((1, 0), 9.9), ((1, 2), 7.7))),
        ("last_digit", changed(P, ((1, 1), P[1, 1] + 0.0001 * np.sign(P[1, 1])))),
    ],
)
def test_what_no_known_slip_explains_is_described(code, value):
    assert named(problem(), products=value) == ("products", code)


def test_the_root_of_d_k_with_one_decimal_is_a_constant_rounded(mark):
    report = mark("{Q: [[2, 2]], K: [[1, 1], [1, 0]]}", "scores: [[2.86, 1.43]]")  # by 1.4
    assert report.first_wrong.mistake.code == "constant_rounded"


def test_one_last_digit_that_is_off_is_told_before_rounding_too_early(mark):
    problem = """
X: [[1.0, 0.0, 2.0], [0.0, 3.0, 1.0], [2.0, 1.0, 0.5]]
W_Q: [[1.0, 0.5], [0.0, 1.0], [1.0, -1.0]]
W_K: [[0.5, 1.0], [1.0, 0.0], [-1.0, 1.5]]
W_V: [[1.0, 2.0], [0.0, 1.0], [3.0, 0.5]]
"""
    report = mark(problem, "weights: [[0.0000, 0.9159, 0.0842], [0.3610, 0.1250, 0.5141], [0.0113, 0.3869, 0.6019]]")
    mistake = report.first_wrong.mistake
    assert (mistake.code, mistake.also) == ("last_digit", ("one_cell", "rounded_too_early"))


# ------------------------------------------------------------------ laws
def test_no_mistake_is_named_for_right_work():
    trace = attn_cli.solve(problem())
    report = attn_cli.check(problem(), {step.name: np.asarray(step.value) for step in trace})
    assert report.right
    assert all(step.mistake is None for step in report.steps)


def test_the_report_tells_when_the_digits_cannot_show_a_slip():
    given = attn_cli.Problem(Q=np.array([[0.1, 0.02]]), K=np.array([[0.1, 0.2], [0.3, 0.1]]))
    report = attn_cli.check(given, {"weights": [["0.5", "0.5"]]})
    assert report.right
    assert "no_scale" in [code for step in report.steps for note in step.notes for code in note.values["codes"]]
