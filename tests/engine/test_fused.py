"""The output alone, tile by tile, is the output that the worked steps give."""

import threading
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from attn_cli.engine import shapes
from attn_cli.engine.attention import solve
from attn_cli.engine.large import halves
from attn_cli.engine.large import threads as blas
from attn_cli.engine.large import tiles as fused
from attn_cli.engine.large.whole import attention, full_bytes, long_steps, solve_long
from attn_cli.engine.modes import MODES
from attn_cli.engine.problem import Mask, Problem
from attn_cli.engine.scores import SCORES
from attn_cli.errors import InputError

N, M, D, D_V = 11, 13, 4, 3


@pytest.fixture(params=["one block", "many blocks"])
def tiling(request, monkeypatch):
    """Problems of a test's size as one batched block, or cut into many blocks and tiles as big ones are."""
    if request.param == "many blocks":
        cut_small(monkeypatch, ROWS=4, TILE=5, HIDDEN=30, WHOLE=30)


def cut_small(monkeypatch, **sizes):
    for name, value in {**sizes, "SMALL": 0}.items():
        monkeypatch.setattr(halves if name == "HIDDEN" else fused, name, value)
        if name == "ROWS":
            monkeypatch.setattr(shapes, name, value)


def numbers(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).standard_normal(shape)


def arrays(h=1, kv=1):
    return {"Q": numbers(h, N, D, seed=1), "K": numbers(kv, M, D, seed=2), "V": numbers(kv, M, D_V, seed=3)}


ADDITIVE = {"additive": {"W_q": numbers(6, D), "W_k": numbers(6, D, seed=1), "b": numbers(6), "v": numbers(6, seed=1)}}


def agree(p, tolerance=1e-12):
    """The problem's output is the same with its steps and without."""
    expected = solve(p)["output"]
    actual = solve_long(p)["output"]
    assert actual.dtype == expected.dtype
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)


# ------------------------------------------------------------------ the law
def test_every_problem_has_the_output_of_its_worked_steps(problem, solved, kinds, score, mode, heads, monkeypatch):
    turn = sum(map(ord, score + mode + heads))  # other kinds of mask for every combination, so that all have their turn
    for seed in (0, 1):
        for kind in kinds[(turn + seed) % 4 :: 4]:
            actual = solve_long(problem(score, mode, kind, heads, seed))["output"]
            np.testing.assert_allclose(actual, solved(score, mode, kind, heads, seed)["output"], 1e-12, 1e-12, err_msg=kind)
        cut_small(monkeypatch, ROWS=2, TILE=3, HIDDEN=7, WHOLE=7)


@pytest.mark.parametrize(
    "mask",
    [
        Mask(causal=True),
        Mask(causal=True, offset=M - N),
        Mask(causal=True, offset=-4),
        Mask(window=(2, 1)),
        Mask(window=(3, None), causal=True),
        Mask(window=(0, 0), offset=8),
        Mask(lengths=6),
        Mask(lengths=0),
        Mask(keep=numbers(N, M) > 0),
        Mask(keep=np.kron(np.eye(3), np.ones((4, 5)))[:N, :M]),
        Mask(drop=(numbers(N, M) > 1).astype(float), causal=True, lengths=12),
    ],
    ids=lambda mask: str(mask)[:40],
)
@pytest.mark.parametrize("how", ["soft", "hard", "sparsemax", "sample"])
def test_wherever_a_mask_ends_the_tiles_close_the_same_cells(mask, how, tiling):
    agree(Problem(**arrays(), mode=how, mask=mask))


@pytest.mark.parametrize(
    "settings",
    [
        {"scale": 2.5},
        {"scale": -0.5, "temperature": 0.3},
        {"softcap": 0.7},
        {"softcap": 2.0, "bias": numbers(N, M, seed=7), "temperature": 3.0, "scale": 2.0},
        {"bias": np.where(numbers(N, M, seed=8) > 0.5, -np.inf, 0), "mask": Mask(causal=True)},
        {"bias": np.where(numbers(N, M, seed=8) > 0.5, -1e9, 0)},
        {"score": "additive", "parameters": ADDITIVE, "scale": 3.0, "softcap": 1.0},
    ],
    ids=lambda settings: " ".join(settings),
)
@pytest.mark.parametrize("how", ["soft", "hard", "gumbel"])
def test_scale_softcap_bias_and_temperature_keep_their_order(settings, how, tiling):
    agree(Problem(**arrays(), mode=how, **settings))


@pytest.mark.parametrize(("h", "kv"), [(4, 4), (4, 2), (6, 1)])
def test_grouped_heads_share_keys_and_masks_may_differ_by_head(h, kv, mode, tiling):
    agree(Problem(**arrays(h, kv), mode=mode, mask=Mask(keep=numbers(h, N, M, seed=9) > 0), bias=numbers(h, N, M, seed=10)))
    agree(Problem(**arrays(h, kv), mode=mode, score="additive", parameters=ADDITIVE))


def test_a_score_or_mode_added_to_the_registry_works_at_once(tiling):
    from attn_cli.engine import operations as op

    @SCORES.register()
    def squared(q, k, problem, record):
        """Squared dot product."""
        return op.square(op.product_t(q, k))

    @MODES.register()
    def linear(s, problem, record):
        """Positive scores as they are."""
        return op.tanh(s)

    try:
        for score, mode in [("squared", "soft"), ("squared", "hard"), ("scaled", "linear"), ("squared", "linear")]:
            agree(Problem(**arrays(2, 1), score=score, mode=mode, scale=0.5, mask=Mask(causal=True)))
    finally:
        SCORES.remove("squared")
        MODES.remove("linear")


def test_given_scores_are_taken_as_they_are(mode, tiling):
    agree(Problem(scores=numbers(N, M), V=numbers(M, D_V), mode=mode, mask=Mask(causal=True), temperature=0.5))
    agree(Problem(scores=numbers(2, N, M), V=numbers(M, 2 * D_V), mode=mode))


def test_a_whole_problem_is_projected_and_joined(tiling):
    x, context = numbers(N, 5), numbers(M, 7)
    whole = Problem(
        X=x,
        context=context,
        W_Q=numbers(5, 8),
        W_K=numbers(7, 4),
        W_V=numbers(7, 6),
        b_Q=numbers(8),
        b_V=numbers(6),
        heads=4,
        kv_heads=2,
        W_O=numbers(12, 5),
        b_O=numbers(5),
        mask=Mask(causal=True, offset=2),
    )
    agree(whole)
    agree(replace(whole, vectors="columns"))
    agree(replace(whole, dtype="float32"), tolerance=1e-5)
    agree(Problem(X=x, heads=5))
    agree(Problem(X=x, W_Q=numbers(3, 5), W_K=numbers(3, 5), W_V=numbers(4, 5), weights_layout="out_in"))


# ------------------------------------------------------------------ ties, empty rows, NaN, large numbers
def test_the_first_of_equal_scores_wins_wherever_the_tiles_end(tiling):
    q = np.ones((N, 1))
    for k in ([1.0] * M, [0, 1, 1, 0, 1, 1, 1, 0, 0, 1, 1, 1, 1], [1, 1 + 1e-15] + [1 - 1e-15] * 11, list(1 - 1e-13 * np.arange(M)[::-1])):
        agree(Problem(Q=q, K=np.reshape(k, (M, 1)), V=numbers(M, D_V), mode="hard"))


@pytest.mark.parametrize("unit", [1.0, 1e-6, 1e6])
@pytest.mark.parametrize("seed", range(10))
def test_scores_that_nearly_tie_are_told_apart_as_ever(seed, unit, tiling):
    rng = np.random.default_rng(seed)
    k = unit * (1 + rng.choice([0, 3e-13, 9e-13, 2e-12, 1e-9], (M, 1)) * rng.choice([-1, 1], (M, 1)))
    agree(Problem(Q=rng.choice([-1.0, 1.0], (N, 1)), K=k, V=numbers(M, D_V), mode="hard"))
    agree(Problem(scores=np.tile(k.T, (N, 1)), V=numbers(M, D_V), mode="hard"))


def test_whole_numbers_in_single_precision_tie_exactly(tiling):
    q, k = (np.random.default_rng(i).integers(-2, 3, (rows, 3)).astype(float) for i, rows in ((0, N), (1, M)))
    agree(Problem(Q=q, K=k, V=numbers(M, D_V), mode="hard", dtype="float32"))


def test_a_query_that_may_attend_to_nothing_gets_zeros(mode, tiling):
    out = solve_long(Problem(**arrays(), mode=mode, mask=Mask(causal=True, offset=-3)))["output"]
    assert not out[:3].any()
    assert out[3:].any(axis=1).all()


def test_a_value_row_masked_for_every_query_may_hold_nan(mode, tiling):
    v = numbers(M, D_V)
    v[-1] = np.nan
    agree(Problem(Q=numbers(N, D), K=numbers(M, D), V=v, mode=mode, mask=Mask(lengths=M - 1)))
    agree(Problem(Q=numbers(N, D), K=numbers(M, D), V=v, mode=mode, mask=Mask(keep=np.arange(M) < M - 1)))
    closing = np.zeros((N, M))
    closing[:, -1] = -np.inf
    agree(Problem(Q=numbers(N, D), K=numbers(M, D), V=v, mode=mode, bias=closing))
    with pytest.raises(InputError, match=r"V\[13,1\]: found nan"):
        attention(numbers(N, D), numbers(M, D), v, mode=mode, mask={"causal": True, "offset": 2})


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_large_scores_do_not_overflow(dtype, tiling):
    exact = dtype == "float64"
    for name in ("dot", "additive"):
        p = Problem(**arrays(), score=name, parameters=ADDITIVE, mask=Mask(causal=True), dtype=dtype)
        agree(replace(p, Q=p.Q * 300), tolerance=1e-10 if exact else 1e-2)
        agree(replace(p, scale=2000.0), tolerance=1e-9 if exact else 1e-2)


@pytest.mark.filterwarnings("ignore:overflow")
def test_numbers_beyond_the_dtype_are_refused():
    huge = np.full((3, 2), 1e30, np.float32)
    for mode in ("soft", "hard", "sparsemax"):
        with pytest.raises(InputError, match="float32 can hold"):
            attention(huge, huge, np.eye(3, dtype=np.float32), mode=mode)


# ------------------------------------------------------------------ arrays
def test_arrays_come_back_in_the_precision_they_came_in():
    q, k, v = numbers(N, D), numbers(M, D), numbers(M, D_V)
    expected = attention(q, k, v)
    assert expected.dtype == np.float64
    for dtype, tolerance in ((np.float32, 1e-5), (np.float16, 2e-3)):
        out = attention(q.astype(dtype), k.astype(dtype), v.astype(dtype))
        assert out.dtype == dtype
        np.testing.assert_allclose(out, expected, atol=tolerance)
    assert attention(q.astype(np.float32), k, v).dtype == np.float64
    assert attention([[1, 0]], [[1, 0]], [[7]]).tolist() == [[7.0]]


def test_the_head_axis_comes_back_as_it_came():
    q, k, v = numbers(2, N, D), numbers(1, M, D), numbers(1, M, D_V)
    assert attention(q, k, v).shape == (2, N, D_V)
    assert attention(q[:1], k, v).shape == (1, N, D_V)
    assert attention(q[0], k[0], v[0]).shape == (N, D_V)
    np.testing.assert_allclose(attention(q, k, v)[1], attention(q[1], k[0], v[0]), rtol=1e-12)


def test_a_mask_is_a_word_an_array_or_a_mapping():
    q, k, v = numbers(N, D), numbers(M, D), numbers(M, D_V)
    causal = attention(q, k, v, mask="causal")
    for mask in (
        {"causal": True},
        Mask(causal=True),
        np.tri(N, M),
        np.tri(N, M, dtype=bool),
        {"drop": 1 - np.tri(N, M)},
        {"window": [None, 0]},
    ):
        np.testing.assert_allclose(attention(q, k, v, mask=mask), causal, rtol=1e-12)
    np.testing.assert_allclose(attention(q, k, v, mask=np.arange(M) < 4), attention(q, k[:4], v[:4]), rtol=1e-12)
    np.testing.assert_allclose(attention(q, k, v, mask={"window": 1}), attention(q, k, v, mask={"window": (1, 1)}), rtol=1e-12)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"k": numbers(M, D + 1)}, "K: has 5 columns a head, expected 4"),
        ({"v": numbers(M + 1, D_V)}, "V: has 14 rows, expected 13"),
        ({"q": numbers(D)}, "Q: is 4, expected n × d or h × n × d"),
        ({"k": numbers(1, M, D)}, "K: is 1 × 13 × 4, expected 2 axes, as Q has"),
        ({"q": numbers(N, D).astype(complex)}, "Q: found complex numbers, expected real numbers"),
        ({"q": np.full((N, D), np.nan)}, "Q[1,1]: found nan, expected a finite number"),
        ({"score": "additiv"}, "score: found 'additiv' (did you mean 'additive'?)"),
        ({"score": "general"}, "general: W is missing"),
        ({"mode": "softmax"}, "mode: found 'softmax' (did you mean 'soft'?)"),
        ({"temperature": 0}, "temperature: found 0, expected a number greater than 0"),
        ({"mask": "causl"}, "mask: found 'causl' (did you mean 'causal'?), expected causal, a matrix of 1 and 0, or a mapping"),
        ({"mask": {"causl": True}}, "mask: there is no part 'causl' (did you mean 'causal'?)"),
        ({"mask": {"causal": 1}}, "mask.causal: found 1, expected true or false"),
        ({"mask": {"lengths": 2.5}}, "mask.lengths: found 2.5, expected a whole number"),
        ({"mask": {"window": -1}}, "mask.window: found -1, expected a whole number from 0"),
        ({"mask": {"window": [1, 2, 3]}}, "mask.window: found [1, 2, 3], expected"),
        ({"mask": {"lengths": 14}}, "mask: lengths is 14, expected a whole number from 0 to 13"),
        ({"mask": np.ones((M, N))}, "mask: is 13 × 11, expected 11 × 13"),
        ({"mask": np.where(np.tri(N, M), 0, -np.inf)}, "mask[1,2]: found -inf, expected 1 and 0, or true and false"),
        ({"bias": np.ones((M, N))}, "bias: is 13 × 11, expected 11 × 13"),
        ({"bias": np.ones((N, M), bool)}, "bias: found true and false, expected real numbers (true and false belong in mask)"),
        ({"bias": np.full((N, M), np.inf)}, "bias[1,1]: found inf, expected a finite number or -inf"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_does_not_fit_is_named(change, complaint):
    arguments = {"q": numbers(N, D), "k": numbers(M, D), "v": numbers(M, D_V)} | change
    with pytest.raises(InputError) as error:
        attention(**arguments)
    assert str(error.value).startswith(complaint)


def test_arrays_of_any_layout_will_do(tiling):
    q, k, v = numbers(2, N, D), numbers(2, M, D), numbers(2, M, D_V)
    expected = attention(q, k, v, mask="causal")
    turned = [np.asfortranarray(x)[:, ::1] for x in (q, k, v)]
    swapped = [np.ascontiguousarray(np.swapaxes(x, 0, 1)).swapaxes(0, 1) for x in (q, k, v)]
    for inputs in (turned, swapped, [x[:, ::-1].copy()[:, ::-1] for x in (q, k, v)]):
        np.testing.assert_allclose(attention(*inputs, mask="causal"), expected, rtol=1e-12)


def test_what_came_in_is_left_as_it_was(tiling):
    inputs = {"Q": numbers(N, D), "K": numbers(M, D), "V": numbers(M, D_V), "bias": numbers(N, M)}
    before = {name: array.copy() for name, array in inputs.items()}
    for mode in MODES:
        solve_long(Problem(**inputs, mode=mode, softcap=1.0, scale=2.0, mask=Mask(causal=True)))["output"]
        solve_long(Problem(scores=inputs["bias"], V=inputs["V"], mode=mode, temperature=2.0))["output"]
    for name, array in inputs.items():
        np.testing.assert_array_equal(array, before[name])


# ------------------------------------------------------------------ size
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"mode": "hard", "mask": "causal"},
        {"score": "additive", "parameters": ADDITIVE["additive"]},
        {"mode": "sparsemax", "mask": "causal"},
    ],
    ids=" ".join,
)
def test_the_scores_are_never_held_whole(settings):
    n = 4096
    q, k, v = (numbers(n, D, seed=i) for i in range(3))
    tracemalloc.start()
    attention(q, k, v, **settings)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * n * n / 4


@pytest.mark.parametrize("settings", [{}, {"mask": Mask(causal=True)}, {"score": "additive"}, {"mode": "gumbel", "softcap": 1.0}], ids=str)
def test_what_the_worked_steps_hold_is_foretold(settings):
    n = 400
    p = Problem(Q=numbers(n, D), K=numbers(n, D), V=numbers(n, D), parameters=ADDITIVE, **settings)
    tracemalloc.start()
    trace = solve(p)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "weights" in trace
    assert 0.6 < full_bytes(p, long_steps(p)) / peak < 1.6


def test_threads_end_with_the_call_and_matrix_products_get_theirs_back():
    get, put = blas._openblas() or (lambda: 0, lambda _: None)
    before = get()
    put(2)
    try:
        expected, running = get(), threading.active_count()
        attention(numbers(600, D), numbers(600, D), numbers(600, D))
        assert (get(), threading.active_count()) == (expected, running)
        with blas.one_thread_each(), blas.one_thread_each() as threads:
            assert threads >= 1
            assert get() in (0, 1)
        assert get() == expected
    finally:
        put(before)


def test_without_a_way_to_tell_openblas_the_blocks_come_in_turn(monkeypatch):
    q, k, v = numbers(600, D), numbers(600, D), numbers(600, D)
    expected = attention(q, k, v)
    monkeypatch.setattr(blas, "_openblas", lambda: None)
    np.testing.assert_array_equal(attention(q, k, v), expected)


@pytest.mark.parametrize(
    "mask", [{"window": 1}, {"window": (2, 2), "offset": 9}, {"window": 0, "offset": -20}, {"causal": True, "offset": -30}]
)
@pytest.mark.parametrize("more", [{}, {"keep": np.arange(6) % 2}], ids=["alone", "with keep"])
def test_blocks_of_queries_whose_window_holds_no_key_have_empty_rows(mask, more, monkeypatch):
    cut_small(monkeypatch, ROWS=4, TILE=4)
    agree(Problem(Q=numbers(21, D), K=numbers(6, D), V=numbers(6, D_V), mask={**mask, **more}))


def test_a_single_query_whose_window_holds_no_key_gets_zeros():
    assert attention([[1]], [[1]], [[1]], mask={"window": 0, "offset": 5}).tolist() == [[0]]


@pytest.mark.parametrize("how", [solve, solve_long])
def test_projected_values_that_overflow_are_refused_even_where_no_query_attends(how):
    x = np.array([[1.0], [1e200]])
    p = Problem(X=x, W_Q=[[0.0]], W_K=[[0.0]], W_V=[[1e200]], mask={"lengths": 1})
    with pytest.raises(InputError, match="numbers of the values grow beyond what float64 can hold"):
        how(p)
