"""Laws that hold for every score function, mode, mask, number of heads and layout."""

from dataclasses import replace
from math import isclose

import numpy as np
import pytest

from attn_cli.engine.attention import solve
from attn_cli.engine.modes import MODES
from attn_cli.engine.problem import Mask, Problem
from attn_cli.engine.shapes import open_cells, plan


def some(kinds, *names, of=8):
    """One in so many of the kinds, other ones for every combination of names, so that all of them take their turn."""
    return kinds[sum(map(ord, "".join(names))) % of :: of]


def allowed(trace):
    """True wherever mask and bias let a query attend, in the shape of the weights."""
    return np.broadcast_to(open_cells(trace.problem, trace.sizes), trace["weights"].shape)


def test_weights_are_not_negative_and_every_row_adds_up_to_one_or_is_closed(solved, kinds, score, mode, heads):
    for kind in some(kinds, score, mode, heads, of=2):
        trace = solved(score, mode, kind, heads)
        weights, may = trace["weights"], allowed(trace)
        assert (weights >= 0).all(), kind
        assert np.allclose(weights.sum(axis=-1), may.any(axis=-1), rtol=0, atol=1e-12), kind


def test_a_masked_key_has_weight_exactly_zero(solved, kinds, score, mode, heads):
    for kind in some(kinds, score, mode, heads, of=2):
        trace = solved(score, mode, kind, heads)
        assert (trace["weights"][~allowed(trace)] == 0).all(), kind


def test_what_a_masked_value_row_holds_does_not_matter(mode, heads):
    r = np.random.default_rng(5)
    h, kv = {"one head": (1, 1), "two heads": (2, 2), "grouped": (4, 2), "one for all": (2, 1)}[heads]
    v = r.normal(size=(4, 2 * kv))
    p = Problem(Q=r.normal(size=(3, 2 * h)), K=r.normal(size=(4, 2 * kv)), V=v, heads=h, kv_heads=kv, mode=mode, mask=Mask(lengths=3))
    holed = v.copy()
    holed[3] = np.nan
    assert np.array_equal(solve(replace(p, V=holed))["output"], solve(p)["output"])


def test_adding_a_constant_to_a_row_of_scores_changes_no_weight(mode, heads):
    h = {"one head": 1, "two heads": 2, "grouped": 4, "one for all": 2}[heads]
    r = np.random.default_rng(6)
    scores = r.normal(size=(h, 3, 4))
    moved = scores + np.array([[-3.0], [100.0], [0.25]])
    mask = Mask(keep=r.random((h, 3, 4)) < 0.8)
    before, after = (solve(Problem(scores=s, mode=mode, mask=mask, seed=2))["weights"] for s in (scores, moved))
    assert after == pytest.approx(before, abs=1e-12)


def test_the_order_of_keys_and_values_does_not_matter(problem, solved, kinds, score, mode, heads):
    if MODES[mode].random:
        pytest.skip("the draws go by position")
    order = np.array([2, 0, 3, 1])
    for kind in some(kinds, score, mode, heads):
        p = problem(score, mode, kind, heads)
        p = replace(p, bias=np.zeros((3, 4)) if p.bias is None else p.bias, mask=Mask(keep=open_cells(p, plan(p))))
        moved = replace(p, context=p.context[order], bias=p.bias[..., order], mask=Mask(keep=p.mask.keep[..., order]))
        here, there = solved(score, mode, kind, heads), solve(moved)
        assert there["weights"] == pytest.approx(here["weights"][..., order], abs=1e-12), kind
        assert there["output"] == pytest.approx(here["output"], abs=1e-12), kind


def test_the_arithmetic_of_every_cell_gives_its_number(problem, kinds, score, mode):
    for kind, heads in zip(some(kinds, score, mode, of=4), ("one head", "grouped", "one for all"), strict=False):
        vectors = ("rows", "columns")[len(kind) % 2]
        for step in solve(problem(score, mode, kind, heads, seed=1, vectors=vectors)):
            for at in np.ndindex(step.value.shape):
                worked = step.cell(at).evaluate()
                assert isclose(worked, step.value[at], rel_tol=1e-9, abs_tol=1e-12), (kind, step.name, at)


def test_every_number_of_the_arithmetic_of_a_cell_is_where_it_says(solved, kinds, score, mode):
    for kind in some(kinds, score, mode, of=15):
        for step in solved(score, mode, kind, "grouped"):
            for at in list(np.ndindex(step.value.shape))[:6]:
                for number in step.cell(at).numbers():
                    assert number.source is None or number.source.value[number.at] == number.value, (kind, step.name, at)


def test_tokens_as_columns_are_the_same_numbers_turned(problem, solved, kinds, score, mode, heads):
    for kind in some(kinds, score, mode, heads):
        columns = solve(problem(score, mode, kind, heads, vectors="columns"))
        for row, column in zip(solved(score, mode, kind, heads), columns, strict=True):
            width = len(row.kind.axes)
            turned = row.value if width == 1 else np.swapaxes(row.value, -width, 1 - width)
            assert np.array_equal(column.value, turned, equal_nan=True), (kind, row.name)
            assert column.value.ndim == len(column.axes)


def test_a_single_precision_problem_stays_single_through_every_step(problem, solved, kinds, score, mode, heads):
    for kind in some(kinds, score, mode, heads):
        single, double = solve(problem(score, mode, kind, heads, dtype="float32")), solved(score, mode, kind, heads)
        assert {step.value.dtype for step in single} == {np.dtype("float32")}, kind
        if MODES[mode].differentiable:
            assert single["output"] == pytest.approx(double["output"], rel=1e-3, abs=1e-4), kind


def test_one_head_has_no_head_axis_and_several_have_it_in_every_step(solved, score, mode, heads):
    trace = solved(score, mode, "none", heads)
    for step in trace:
        with_head = heads != "one head" and step.name not in ("concat", "output")
        assert (step.axes[0] == "head") == with_head
        heads_of = trace.sizes.kv_heads if step.name in ("K", "V") else trace.sizes.h
        assert not with_head or step.value.shape[0] == heads_of


def test_every_step_has_a_formula_in_text_and_in_tex(problem, kinds, score, mode, heads, vectors):
    for kind in some(kinds, score, mode, heads, vectors, of=15):
        for step in solve(problem(score, mode, kind, heads, vectors=vectors)):
            tex = step.formula.tex(lambda n: str(n.value))
            assert step.formula.plain(lambda n: str(n.value))
            assert tex.count("{") == tex.count("}"), tex
            assert tex.count(r"\left") == tex.count(r"\right"), tex
            assert tex.isascii() or "τ" not in tex, tex
