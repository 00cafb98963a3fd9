"""The engine against a few lines of NumPy, written here, and against worked numbers in print."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attn_cli.engine.attention import solve
from attn_cli.engine.large.whole import solve_long
from attn_cli.engine.problem import Mask, Problem
from attn_cli.errors import InputError

X = np.array([[1, 0, 1, 0], [0, 1, 0, 1], [1, 1, 0, 0]])


def softmax(s):
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def one_hot(s):
    return np.eye(s.shape[-1])[s.argmax(axis=-1)]


SCORE = {
    "dot": lambda q, k, p: q @ k.T,
    "scaled": lambda q, k, p: q @ k.T / np.sqrt(k.shape[1]),
    "additive": lambda q, k, p: np.array([[p["v"] @ np.tanh(p["W"] @ np.concatenate([x, y])) for y in k] for x in q]),
    "general": lambda q, k, p: q @ p["W"] @ k.T,
    "cosine": lambda q, k, p: np.array([[x @ y / np.linalg.norm(x) / np.linalg.norm(y) for y in k] for x in q]),
}
MODE = {"soft": softmax, "hard": one_hot}


@pytest.mark.parametrize("mode_name", MODE)
@pytest.mark.parametrize("score_name", SCORE)
def test_scores_weights_and_output_are_those_of_a_few_lines_of_numpy(score_name, mode_name):
    r = np.random.default_rng(3)
    x, w_q, w_k, w_v = r.normal(size=(5, 4)), r.normal(size=(4, 3)), r.normal(size=(4, 3)), r.normal(size=(4, 2))
    parameters = {"additive": {"W": r.normal(size=(7, 6)), "v": r.normal(size=7)}, "general": {"W": r.normal(size=(3, 3))}}
    trace = solve(Problem(X=x, W_Q=w_q, W_K=w_k, W_V=w_v, score=score_name, mode=mode_name, parameters=parameters))
    s = SCORE[score_name](x @ w_q, x @ w_k, parameters.get(score_name))
    assert trace["scores"] == pytest.approx(s, abs=1e-12)
    assert trace["weights"] == pytest.approx(MODE[mode_name](s), abs=1e-12)
    assert trace["output"] == pytest.approx(MODE[mode_name](s) @ x @ w_v, abs=1e-12)


def test_the_two_ways_to_write_the_additive_score_agree():
    r = np.random.default_rng(4)
    w, v, q, k = r.normal(size=(5, 5)), r.normal(size=5), r.normal(size=(3, 2)), r.normal(size=(4, 3))
    joint = solve(Problem(Q=q, K=k, score="additive", parameters={"additive": {"W": w, "v": v}}))
    apart = solve(Problem(Q=q, K=k, score="additive", parameters={"additive": {"W_q": w[:, :2], "W_k": w[:, 2:], "v": v}}))
    assert apart["scores"] == pytest.approx(joint["scores"], abs=1e-12)
    assert apart["hidden"].shape == (3, 4, 5)


def test_two_heads_are_two_problems_side_by_side():
    r = np.random.default_rng(5)
    q, k, v, w_o = r.normal(size=(3, 4)), r.normal(size=(5, 4)), r.normal(size=(5, 6)), r.normal(size=(6, 2))
    both = solve(Problem(Q=q, K=k, V=v, W_O=w_o, heads=2))
    first, second = (
        solve(Problem(Q=q[:, 2 * h : 2 * h + 2], K=k[:, 2 * h : 2 * h + 2], V=v[:, 3 * h : 3 * h + 3]))["output"] for h in (0, 1)
    )
    assert both["heads"] == pytest.approx(np.stack([first, second]), abs=1e-12)
    assert both["output"] == pytest.approx(np.hstack([first, second]) @ w_o, abs=1e-12)


def test_a_key_head_serves_consecutive_query_heads():
    r = np.random.default_rng(6)
    q, k, v = r.normal(size=(4, 3, 2)), r.normal(size=(2, 5, 2)), r.normal(size=(2, 5, 2))
    repeated = Problem(Q=q, K=k.repeat(2, axis=0), V=v.repeat(2, axis=0))
    assert solve(Problem(Q=q, K=k, V=v))["output"] == pytest.approx(solve(repeated)["output"], abs=1e-12)


def test_the_textbook_example_in_its_printed_digits():
    trace = solve(Problem(X=X, W_Q=np.eye(4), W_K=np.eye(4), W_V=np.eye(4)))
    assert trace["products"].tolist() == [[2, 0, 1], [0, 2, 1], [1, 1, 2]]
    assert trace["scores"].tolist() == [[1, 0, 0.5], [0, 1, 0.5], [0.5, 0.5, 1]]
    assert trace["weights"].round(4).tolist() == [
        [0.5065, 0.1863, 0.3072],
        [0.1863, 0.5065, 0.3072],
        [0.2741, 0.2741, 0.4519],
    ]
    assert trace["output"].round(4).tolist()[0] == [0.8137, 0.4935, 0.5065, 0.1863]
    assert [step.name for step in trace] == ["Q", "K", "V", "products", "scores", "exponentials", "row_sums", "weights", "output"]


# ------------------------------------------------------------------ numbers that could go wrong
@pytest.mark.parametrize("size", [1e6, -1e6, 700, 701, -701, 1e15])
def test_softmax_is_stable_for_large_scores(size):
    s = np.array([[size, size - 1, size - 2]])
    trace = solve(Problem(scores=s))
    assert trace["weights"] == pytest.approx(softmax(s), abs=1e-15)
    assert trace["exponentials"][0, 0] == (1 if abs(size) > 700 else np.exp(size))
    assert ("max" in trace.step("exponentials").formula.plain(str)) == (abs(size) > 700)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_very_many_scores_just_below_the_limit_do_not_overflow_their_sum(dtype):
    s = np.full((1, 100_000), {"float32": 80.0, "float64": 700.0}[dtype])
    assert solve(Problem(scores=s, dtype=dtype))["weights"].sum() == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int32", "int64"])
def test_whole_numbers_never_wrap_around(dtype):
    large = {"uint8": 255, "int8": -128, "int32": 2**31 - 1, "int64": 2**62}[dtype]
    x = np.full((2, 3), large, dtype=dtype)
    products = solve(Problem(X=x))["products"]
    assert products == pytest.approx(np.full((2, 2), 3 * float(large) ** 2), rel=1e-12)


@pytest.mark.parametrize("changes", [{"Q": [[1e200]], "K": [[1e200]]}, {"Q": [[-1e200]], "K": [[1e200]]}], ids=["up", "down"])
def test_scores_too_large_to_count_with_are_an_error_and_mask_nothing(changes):
    with pytest.raises(InputError, match="numbers of the scores grow beyond what float64 can hold"):
        solve(Problem(**changes, V=[[1.0]]))


def test_an_output_too_large_for_single_precision_is_an_error():
    with pytest.raises(InputError, match="numbers of the output grow beyond what float32 can hold"):
        solve(Problem(scores=[[0.0, 0.0]], V=[[3e38], [3e38]], W_O=[[2.0]], dtype="float32"))


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=6),
    st.sampled_from(["soft", "hard", "sample", "gumbel", "sparsemax", "entmax15"]),
)
@settings(max_examples=60, deadline=None)
def test_any_row_of_scores_becomes_a_row_of_weights(row, mode):
    weights = solve(Problem(scores=np.array([row]), mode=mode))["weights"][0]
    assert (weights >= 0).all()
    assert weights.sum() == pytest.approx(1, abs=1e-6)
    assert weights[int(np.argmax(row))] > 0 or mode in ("sample", "gumbel") or max(row) - np.max(row) == 0


# ------------------------------------------------------------------ the order of the steps
def test_scale_softcap_bias_mask_and_temperature_act_in_this_order():
    bias = np.array([[0.5, -1.0, 2.0]])
    trace = solve(
        Problem(
            Q=[[1.0, 2.0]],
            K=[[3.0, 1.0], [1.0, 1.0], [0.0, 5.0]],
            scale=0.5,
            softcap=2.0,
            bias=bias,
            mask=Mask(lengths=2),
            temperature=0.5,
        )
    )
    assert [step.name for step in trace if step.kind.axes == ("query", "key")] == [
        "products", "raw_scores", "capped", "scores", "tempered", "exponentials", "weights",
    ]  # fmt: skip
    assert trace["products"].tolist() == [[5, 3, 10]]
    assert trace["raw_scores"].tolist() == [[2.5, 1.5, 5]]
    capped = 2 * np.tanh(np.array([[1.25, 0.75, 2.5]]))
    assert trace["capped"] == pytest.approx(capped)
    assert trace["scores"][0, :2] == pytest.approx((capped + bias)[0, :2])
    assert trace["scores"][0, 2] == -np.inf
    assert trace["tempered"][0, :2] == pytest.approx((capped + bias)[0, :2] / 0.5)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, ["Q", "K", "V", "products", "scores", "weights", "output"]),
        ({"score": "dot"}, ["Q", "K", "V", "scores", "weights", "output"]),
        ({"scale": 1}, ["Q", "K", "V", "scores", "weights", "output"]),
        ({"scale": 0.5}, ["Q", "K", "V", "products", "scores", "weights", "output"]),
        ({"score": "cosine", "scale": 2}, ["Q", "K", "V", "products", "scores", "weights", "output"]),
        ({"mask": Mask()}, ["Q", "K", "V", "products", "scores", "weights", "output"]),
        ({"mask": Mask(offset=1)}, ["Q", "K", "V", "products", "scores", "weights", "output"]),
        ({"mask": Mask(causal=True)}, ["Q", "K", "V", "products", "raw_scores", "scores", "weights", "output"]),
        ({"bias": np.zeros((3, 3))}, ["Q", "K", "V", "products", "raw_scores", "scores", "weights", "output"]),
        ({"softcap": 5}, ["Q", "K", "V", "products", "raw_scores", "scores", "weights", "output"]),
        ({"temperature": 2}, ["Q", "K", "V", "products", "scores", "tempered", "weights", "output"]),
        ({"heads": 2}, ["Q", "K", "V", "products", "scores", "weights", "heads", "output"]),
        ({"heads": 2, "b_O": np.zeros(4)}, ["Q", "K", "V", "products", "scores", "weights", "heads", "concat", "output"]),
        ({"W_O": np.eye(4)}, ["Q", "K", "V", "products", "scores", "weights", "concat", "output"]),
    ],
    ids=str,
)
def test_a_step_that_would_change_nothing_is_left_out(changes, expected):
    assert [step.name for step in solve(replace(Problem(X=X), **changes)) if not step.kind.detail] == expected


def test_without_values_the_trace_ends_with_the_weights():
    trace = solve(Problem(Q=X, K=X))
    assert trace.steps[-1].name == "weights"
    assert "output" not in trace
    assert trace.sizes.d_v is None


def test_given_scores_start_the_trace():
    trace = solve(Problem(scores=[[1.0, 2.0]], V=[[1.0], [2.0]]))
    assert [step.name for step in trace] == ["V", "scores", "exponentials", "row_sums", "weights", "output"]
    assert trace.step("scores").given
    assert trace.step("scores").formula is None


LARGE = {"scores": [[1e308, 0.0], [0.0, 1.0]], "V": np.eye(2)}


@pytest.mark.parametrize("mode_name", ["soft", "hard", "sample", "sparsemax"])
@pytest.mark.parametrize(
    "changes",
    [
        {"bias": [[1e308, 5.0], [0.0, 0.0]]},
        {"scores": [[-1e308, 0.0], [0.0, 0.0]], "bias": [[-1e308, 0.0], [0.0, 0.0]]},
        {"temperature": 1e-10, "bias": [[0.0, -np.inf], [0.0, 0.0]]},
    ],
    ids=["a sum", "a sum that would hide its key", "a quotient beside a masked key"],
)
def test_scores_that_overflow_on_their_way_to_the_mode_are_refused(mode_name, changes):
    with pytest.raises(InputError, match="numbers of the scores grow beyond what float64 can hold"):
        solve(Problem(**{**LARGE, "mode": mode_name, **changes}))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"V": [[1.0], [1e39]]}, r"V\[2,1\]: found 1e\+39, which is more than float32 can hold"),
        ({"temperature": 1e-300}, "temperature: found 1e-300, which float32 cannot hold"),
        ({"scale": -1e39}, r"scale: found -1e\+39, which float32 cannot hold"),
        ({"softcap": 1e39}, r"softcap: found 1e\+39, which float32 cannot hold"),
    ],
    ids=str,
)
def test_what_single_precision_cannot_hold_is_refused(changes, said):
    with pytest.raises(InputError, match=said):
        solve(Problem(**{"Q": np.eye(2), "K": np.eye(2), "V": np.eye(2), "dtype": "float32", **changes}))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("limit_of", ["max", "tiny", "smallest_subnormal"])
def test_a_cosine_is_right_however_long_or_short_its_rows(dtype, limit_of):
    limit = float(getattr(np.finfo(dtype), limit_of)) * (0.4 if limit_of == "max" else 1)
    q, k = np.array([[limit, 0.0], [1.0, 0.0], [0.0, 0.0]]), np.array([[limit, limit], [1e-3, 0.0]])
    for p in (Problem(Q=q, K=k, V=[[1.0], [2.0]], score="cosine", dtype=dtype), Problem(Q=k, K=q, score="cosine", dtype=dtype)):
        trace = solve(p)
        half = 0.5**0.5
        expected = np.array([[half, 1], [half, 1], [0, 0]])
        assert trace["scores"] == pytest.approx(expected if p.V is not None else expected.T, rel=1e-6)
        for at in np.ndindex(trace["scores"].shape):
            assert trace.step("scores").cell(at).evaluate() == pytest.approx(trace["scores"][at], rel=1e-6)


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("layout", ["in_out", "out_in"])
def test_a_projected_row_that_is_zero_but_for_rounding_counts_as_zero(count, layout):
    heads = count
    w = np.array([[1.7, 1.0], [-0.6, 1.0]])[:, :heads]
    p = Problem(X=[[0.6, 1.7], [1.0, 1.0]], W_Q=w, W_K=w, W_V=w, b_K=np.zeros(heads), heads=heads, score="cosine", weights_layout=layout)
    p = replace(p, W_Q=w.T, W_K=w.T, W_V=w.T) if layout == "out_in" else p
    for trace in (solve(p), solve_long(p)):
        assert trace["Q"].reshape(heads, 2)[0, 0] != 0
        assert [note.values["rows"] for note in trace.notes if note.code == "zero_norm"] == [("x1",), ("x1",)]
    trace = solve(p)
    scores = trace["scores"].reshape(heads, 2, 2)
    assert scores.round(12).tolist() == [[[0, 0], [0, 1]], [[1, 1], [1, 1]]][:heads]
    first = trace.step("scores").cell((0, 0, 0) if heads > 1 else (0, 0))
    assert first.evaluate() == 0
    assert solve_long(p)["output"] == pytest.approx(trace["output"], abs=1e-12)


def test_a_row_that_was_given_is_zero_only_where_it_is_zero():
    trace = solve(Problem(Q=[[8e-17, 0.0]], K=[[1.0, 0.0]], score="cosine"))
    assert trace["scores"].tolist() == [[1]]
    assert not any(note.code == "zero_norm" for note in trace.notes)


def test_a_long_projected_row_is_not_taken_for_zero():
    trace = solve(Problem(X=[[4e307, 4e307]], W_Q=np.eye(2), W_K=np.eye(2), W_V=[[0.0], [0.0]], score="cosine"))
    assert trace["scores"] == pytest.approx(np.ones((1, 1)))


def test_a_bias_counts_among_the_terms_of_a_projection():
    p = Problem(X=[[0.1, 0.2]], W_Q=[[1.0], [1.0]], b_Q=[-0.3], W_K=[[1.0], [0.0]], W_V=[[1.0], [0.0]], score="cosine")
    assert solve(p)["Q"][0, 0] != 0
    assert solve(p)["scores"].tolist() == [[0]]
    assert solve(replace(p, b_Q=[-0.3 + 1e-13]))["scores"].tolist() == [[1]]
