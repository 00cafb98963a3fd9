"""Arrays that programs make: right kernels of every kind pass, broken ones are told. The kernels are plain NumPy."""

import json
import tracemalloc

import numpy as np
import pytest

import attn_cli
from attn_cli.cli import main
from attn_cli.engine.problem import Mask, Problem
from attn_cli.homework.claims import array_answer
from attn_cli.homework.habits import LARGEST_TIMES, LARGEST_ULPS, RMS_TIMES, RMS_ULPS
from attn_cli.homework.marking import Marker

F16, F32, F64 = (np.dtype(t) for t in ("float16", "float32", "float64"))


# ------------------------------------------------------------------ kernels, as people write them
def inputs(dtype, n=48, m=48, d=16, h=1, kv=1, seed=0):
    rng = np.random.default_rng(seed)
    shape = (lambda heads, rows: (heads, rows, d)) if h > 1 else (lambda heads, rows: (rows, d))
    return (rng.standard_normal(shape(heads, rows)).astype(dtype) for heads, rows in ((h, n), (kv, m), (kv, m)))


def scores_of(q, k, work, scale=None, softcap=None, allowed=None):
    s = q.astype(work) @ np.swapaxes(k.astype(work), -1, -2) * work(q.shape[-1] ** -0.5 if scale is None else scale)
    if softcap:
        s = work(softcap) * np.tanh(s / work(softcap))
    return s if allowed is None else np.where(allowed, s, -np.inf)


def naive(q, k, v, work=np.float32, down=True, **options):
    """Softmax of the whole matrix; the weights cast down before they meet the values, or not."""
    s = scores_of(q, k, work, **options)
    p = np.exp(s - s.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    p = p.astype(q.dtype).astype(work) if down else p
    return (p @ v.astype(work)).astype(q.dtype)


def online(q, k, v, block=16, forget=False, **options):
    """Blocks of keys with a running maximum and sum, as FlashAttention; `forget` does not rescale what was summed before."""
    s = scores_of(q, k, np.float32, **options)
    top = np.full((*s.shape[:-1], 1), -np.inf, np.float32)
    total, out = np.zeros_like(top), np.zeros((*s.shape[:-1], v.shape[-1]), np.float32)
    for first in range(0, s.shape[-1], block):
        part = s[..., first : first + block]
        new = np.maximum(top, part.max(-1, keepdims=True))
        safe = np.where(np.isfinite(new), new, 0)
        p = np.exp(part - safe)
        old = np.ones_like(top) if forget else np.exp(np.where(np.isfinite(top), top - safe, -np.inf))
        total = total * old + p.sum(-1, keepdims=True)
        out = out * old + p.astype(q.dtype).astype(np.float32) @ v[..., first : first + block, :].astype(np.float32)
        top = new
    return (out / total).astype(q.dtype)


def judged(problem, **arrays):
    return Marker(problem).mark([array_answer(name, array) for name, array in arrays.items()])


def problem_of(q, k, v, **keys):
    return Problem(Q=q.astype(float), K=k.astype(float), V=v.astype(float), **keys)


KERNELS = {
    "naive": naive,
    "weights not cast": lambda q, k, v, **o: naive(q, k, v, down=False, **o),
    "worked in float64": lambda q, k, v, **o: naive(q, k, v, np.float64, **o),
    "online": online,
    "online, blocks of 5": lambda q, k, v, **o: online(q, k, v, block=5, **o),
}


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
@pytest.mark.parametrize("dtype", [F16, F32], ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_a_right_kernel_passes(kernel, dtype, seed):
    q, k, v = inputs(dtype, n=40, m=56, seed=seed)
    causal = np.tril(np.ones((40, 56), bool))
    for options, keys in (({}, {}), ({"allowed": causal}, {"mask": Mask(causal=True)}), ({"softcap": 2.0}, {"softcap": 2.0})):
        report = judged(problem_of(q, k, v, **keys), output=kernel(q, k, v, **options))
        assert report.steps[0].verdict == "right"
        assert report.right
        assert report.complete


@pytest.mark.parametrize("dtype", [F16, F32], ids=str)
def test_a_right_kernel_with_grouped_heads_passes_and_one_with_the_wrong_groups_does_not(dtype):
    q, k, v = inputs(dtype, h=4, kv=2)
    problem = Problem(Q=q.astype(float), K=k.astype(float), V=v.astype(float), heads=4, kv_heads=2)
    right = naive(q, np.repeat(k, 2, 0), np.repeat(v, 2, 0))
    assert judged(problem, heads=right).right
    assert judged(problem, heads=right[None]).right  # a batch of one
    wrong = naive(q, np.tile(k, (2, 1, 1)), np.tile(v, (2, 1, 1)))
    assert judged(problem, heads=wrong).first_wrong.name == "heads"


BROKEN = {
    "scale one per cent off": lambda q, k, v: naive(q, k, v, scale=1.01 * q.shape[-1] ** -0.5),
    "no scale": lambda q, k, v: naive(q, k, v, scale=1.0),
    "a block not rescaled": lambda q, k, v: online(q, k, v, forget=True),
    "the last key left out": lambda q, k, v: naive(q, k[:-1], v[:-1]),
    "causal by mistake": lambda q, k, v: naive(q, k, v, allowed=np.tril(np.ones((len(q), len(k)), bool))),
    "softmax worked in float16": lambda q, k, v: _half(q, k, v),
}


def _half(q, k, v):
    s = (q @ k.T * np.float16(q.shape[-1] ** -0.5)).astype(np.float16)
    p = np.exp(s)  # no maximum taken off, and the sum kept in half precision
    return ((p / np.add.accumulate(p, -1, dtype=np.float16)[:, -1:]) @ v).astype(np.float16)


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_kernel_departs_where_its_error_exceeds_four_times_the_bound(name):
    q, k, v = inputs(F16, n=96, m=96)
    found = BROKEN[name](q, k, v)
    report = judged(problem_of(q, k, v), output=found)
    precision = report.steps[0].precision
    exact = Marker(problem_of(q, k, v)).truth["output"]
    assert precision.error == np.abs(found - exact).max()
    assert precision.rms == pytest.approx(np.sqrt(np.mean((found - exact) ** 2)))
    if precision.error > 4 * precision.bound or precision.rms > 4 * precision.rms_bound:
        assert precision.departs
    assert precision.departs == (precision.error > precision.bound or precision.rms > precision.rms_bound)
    assert report.right != precision.departs
    if name != "softmax worked in float16":
        assert precision.departs


def test_the_bound_is_what_a_plain_program_loses():
    q, k, v = inputs(F16, n=130, m=130, d=4)
    problem = problem_of(q, k, v)

    def one_by_one(a, b):
        out = np.zeros((len(a), b.shape[1]), np.float32)
        for j in range(a.shape[1]):
            out += a[:, j : j + 1] * b[j]
        return out

    def short(x):
        return x.astype(np.float16).astype(np.float32)

    wide_q, wide_k, wide_v = (x.astype(np.float32) for x in (q, k, v))
    s = short(short(one_by_one(wide_q, wide_k.T)) / np.float32(2))
    e = np.exp(s - s.max(1, keepdims=True))
    a = short(e / np.add.accumulate(e, 1)[:, -1:])
    plain = short(one_by_one(a, wide_v))
    exact = Marker(problem).truth["output"]
    error = plain - exact
    ulp = float(np.spacing(np.float16(np.abs(exact).max())))
    precision = judged(problem, output=plain.astype(np.float16)).steps[0].precision
    assert precision.bound == pytest.approx(3 * np.abs(error).max() + ulp)
    assert precision.rms_bound == pytest.approx(2 * np.sqrt(np.mean(error**2)) + ulp / 4)
    assert (LARGEST_TIMES, LARGEST_ULPS, RMS_TIMES, RMS_ULPS) == (3, 1, 2, 0.25)


def test_double_precision_may_lose_what_its_sums_lose():
    rng = np.random.default_rng(0)
    q, k, v = rng.standard_normal((3, 6, 4))
    problem = Problem(Q=10 * q, K=k, V=v)
    exact = Marker(problem).truth
    steep = np.abs(exact["scores"]).max()
    assert steep > 1
    bound = (4 + 6) * 2.0**-52 * np.abs(exact["output"]).max() * steep
    for times, verdict in ((0.9, "right"), (1.1, "wrong")):
        found = exact["output"].copy()
        found[2, 3] += times * bound
        report = judged(problem, output=found)
        assert report.steps[0].verdict == verdict
        assert report.steps[0].precision.bound == pytest.approx(bound)
        assert report.steps[0].counts["wrong"] == (verdict == "wrong")


def test_cells_beyond_the_bound_are_wrong_and_all_of_them_where_only_the_mean_square_is():
    q, k, v = inputs(F16)
    problem = problem_of(q, k, v)
    good = naive(q, k, v)
    one = good.copy()
    one[3, 2] *= 1.25
    report = judged(problem, output=one)
    assert report.steps[0].counts == {"right": good.size - 1, "wrong": 1}
    assert (report.first_wrong.first_wrong, report.first_wrong.precision.worst) == ((3, 2), (3, 2))
    assert report.first_wrong.mistake.code == "one_cell"
    assert report.steps[0].share == pytest.approx(1 - 1 / good.size)
    exact = Marker(problem).truth["output"]
    bound = report.steps[0].precision
    assert bound.rms_bound < 0.6 * bound.bound
    shifted = (exact + 0.7 * bound.bound).astype(np.float16)
    report = judged(problem, output=shifted)
    assert report.steps[0].counts == {"wrong": good.size}
    assert report.steps[0].precision.lean > 0.99
    assert judged(problem, output=(exact - 0.7 * bound.bound).astype(np.float16)).steps[0].precision.lean < -0.99
    assert abs(judged(problem, output=good).steps[0].precision.lean) < 0.2


def test_what_follows_from_a_wrong_array_is_carried_and_from_nothing_wrong_it_is_not():
    q, k, v = inputs(F32)
    problem = problem_of(q, k, v)
    weights = np.exp(scores_of(q, k, np.float32))
    weights /= weights.sum(-1, keepdims=True)
    turned = weights.T
    report = judged(problem, output=turned @ v, weights=turned)
    assert {step.name: step.verdict for step in report.steps} == {"weights": "wrong", "output": "carried"}
    assert report.first_wrong.mistake.code == "answer_transposed"
    report = judged(problem, output=turned @ v, weights=weights)
    assert {step.name: step.verdict for step in report.steps} == {"weights": "right", "output": "wrong"}
    assert report.first_wrong.mistake.code == "weights_transposed"
    report = judged(problem, weights=np.zeros_like(weights), output=np.zeros_like(v))
    assert {step.name: step.verdict for step in report.steps} == {"weights": "wrong", "output": "wrong"}


def test_weights_in_half_precision_excuse_the_output_that_follows_from_them():
    q, k, v = inputs(F32)
    weights = np.exp(scores_of(q, k, np.float32))
    short = (weights / weights.sum(-1, keepdims=True)).astype(np.float16)
    output = short.astype(np.float32) @ v
    assert not judged(problem_of(q, k, v), output=output).right
    assert judged(problem_of(q, k, v), weights=short, output=output).right


def test_numbers_by_hand_follow_from_an_array(tmp_path):
    problem = Problem(scores=np.array([[1.0, 2.0]]), V=np.array([[1.0], [3.0]]))
    wrong = np.array([[0.5, 0.75]])
    report = attn_cli.check(problem, {"weights": wrong, "output": [["2.75"]]})
    assert {step.name: step.verdict for step in report.steps} == {"weights": "wrong", "output": "carried"}


@pytest.mark.parametrize("masked", [-np.inf, -1000, -65504, np.finfo(np.float16).min])
def test_a_masked_score_may_be_infinite_or_very_negative(masked):
    q, k, v = inputs(F16, n=4, m=4)
    allowed = np.tril(np.ones((4, 4), bool))
    problem = problem_of(q, k, v, mask=Mask(causal=True))
    s = scores_of(q, k, np.float32)
    report = judged(problem, scores=np.where(allowed, s, masked).astype(np.float16))
    assert report.right
    assert report.steps[0].precision.error < 0.01
    assert not judged(problem, scores=np.where(allowed, s, -999).astype(np.float16)).right


def test_a_tolerance_takes_the_place_of_the_bound():
    q, k, v = inputs(F16)
    off = naive(q, k, v, scale=1.01 * 0.25)
    good = naive(q, k, v)
    problem = problem_of(q, k, v)
    assert Marker(problem, tol=0.05).mark([array_answer("output", off)]).right
    assert not Marker(problem, tol=1e-6).mark([array_answer("output", good)]).right
    exact = Problem(scores=np.array([[0.0, 0.0]]))
    assert Marker(exact, tol=0.25).mark([array_answer("weights", np.array([[0.25, 0.75]]))]).right


def test_numbers_that_are_none_are_wrong():
    q, k, v = inputs(F16)
    good = naive(q, k, v)
    for bad in (np.nan, np.inf):
        found = good.copy()
        found[0, 1] = bad
        report = judged(problem_of(q, k, v), output=found)
        assert report.first_wrong.first_wrong == (0, 1)
        assert report.steps[0].counts["wrong"] == 1
        assert not report.steps[0].precision.finite


def test_scores_that_overflow_half_precision_on_the_way_are_kept():
    q, k, v = inputs(F16, n=6, m=6)
    assert (300 * q.astype(float) @ (300 * k.astype(float)).T).max() > np.finfo(np.float16).max
    assert judged(problem_of(300 * q, 300 * k, v), output=naive(300 * q, 300 * k, v)).right


def test_the_first_tokens_of_an_array_are_marked_and_the_rest_is_missing():
    q, k, v = inputs(F16)
    report = judged(problem_of(q, k, v), output=naive(q, k, v)[:5])
    assert (report.right, report.complete, report.steps[0].share) == (True, False, pytest.approx(5 / 48))
    assert [note.code for note in report.steps[0].notes] == ["first_tokens"]


def test_an_array_of_another_shape_is_wrong_and_never_opened():
    q, k, v = inputs(F16)
    problem = problem_of(q, k, v)
    huge = np.broadcast_to(np.float16(0), (100_000, 100_000))
    tracemalloc.start()
    report = Marker(problem).mark([array_answer("weights", huge)])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50e6
    assert (report.steps[0].verdict, report.first_wrong.first_wrong) == ("wrong", None)
    q, k, v = inputs(F16, h=2, kv=2, n=5)
    with_heads = Problem(Q=q.astype(float), K=k.astype(float), V=v.astype(float), heads=2)
    report = judged(with_heads, output=naive(q, k, v))
    assert report.steps[0].verdict == "wrong"
    assert [note.code for note in report.steps[0].notes] == ["output_is_heads"]


def test_joined_heads_lie_where_they_belong():
    q, k, v = np.random.default_rng(2).standard_normal((3, 5, 4))
    joined = Problem(X=q, W_Q=k[:4], W_K=v[:4], W_V=q[:4], heads=2)
    truth = Marker(joined).truth
    report = judged(joined, Q=np.moveaxis(truth["Q"], 0, 1).reshape(5, 4))
    assert report.right


@pytest.mark.parametrize("form", ["float64", "float32"])
def test_arrays_that_compute_wrote_are_all_right_and_complete(form, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    q, k, v = inputs(F32, n=12, m=9)
    np.savez("p.npz", Q=q.astype(form), K=k.astype(form), V=v.astype(form))
    assert main(["compute", "p.npz", "-o", "r.npz"]) == 0
    capsys.readouterr()
    assert main(["check", "p.npz", "r.npz", "--format", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["right"], report["complete"]) == (True, True)
