"""Who may attend to whom, as the contract says it, cell by cell."""

from itertools import product

import numpy as np
import pytest

from attn_cli.engine.attention import solve
from attn_cli.engine.large.whole import empty_rows
from attn_cli.engine.masks import allowed, part, penalty_of, reach
from attn_cli.engine.problem import Mask, Problem
from attn_cli.engine.shapes import open_cells, open_rows, plan

N, M = 4, 5
SIDES = (None, 0, 1, 2)
KEEP = np.array([[1, 0, 1, 1, 0], [1, 1, 1, 0, 1], [0, 0, 1, 1, 1], [1, 1, 0, 1, 1]], bool)


def may(i, j, causal, offset, left, right, lengths):
    """Whether query i may attend to key j."""
    at = i + offset
    return (
        (not causal or j <= at)
        and (left is None or j >= at - left)
        and (right is None or j <= at + right)
        and (lengths is None or j < lengths)
    )


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("offset", [-6, -1, 0, 1, 6])
def test_a_mask_allows_what_all_of_its_parts_allow(causal, offset):
    for left, right, lengths in product(SIDES, SIDES, (None, 0, 1, M)):
        window = None if left is None and right is None else (left, right)
        mask = Mask(causal=causal, offset=offset, window=window, lengths=lengths)
        expected = np.array([[may(i, j, causal, offset, left, right, lengths) for j in range(M)] for i in range(N)])
        assert (allowed(mask, 1, N, M) == expected).all(), (left, right, lengths)
        assert (allowed(Mask(causal=causal, offset=offset, window=window, lengths=lengths, keep=KEEP), 1, N, M) == (expected & KEEP)).all()
        assert (allowed(Mask(causal=causal, offset=offset, window=window, lengths=lengths, drop=KEEP), 1, N, M) == (expected & ~KEEP)).all()
        assert mask.in_force == (causal or window is not None or lengths is not None)


@pytest.mark.parametrize("offset", [-2, 0, 3])
def test_a_part_of_a_mask_is_the_mask_of_a_part(offset):
    rows, keys = slice(1, 3), slice(2, 5)
    for lengths in (None, 0, 2, 3, 4, 5):
        mask = Mask(causal=True, offset=offset, window=(2, None), lengths=lengths, keep=KEEP, drop=KEEP[0])
        assert (allowed(part(mask, None, rows, keys), 1, 2, 3) == allowed(mask, 1, N, M)[rows, keys]).all()


def test_a_matrix_may_be_one_row_or_one_for_each_head():
    assert allowed(Mask(keep=KEEP[0]), 1, N, M).tolist() == [KEEP[0].tolist()] * N
    assert allowed(Mask(keep=KEEP[:1]), 1, N, M).tolist() == [KEEP[0].tolist()] * N
    assert allowed(Mask(drop=KEEP[None]), 1, N, M).tolist() == (~KEEP).tolist()
    heads = np.stack([KEEP, ~KEEP])
    assert allowed(Mask(keep=heads), 2, N, M).tolist() == heads.tolist()
    assert allowed(part(Mask(keep=heads), 1, slice(0, 2), slice(1, 3)), 1, 2, 2).tolist() == (~KEEP)[0:2, 1:3].tolist()


def test_the_band_of_a_mask_is_what_a_query_sees_around_itself():
    assert reach(Mask()) == (np.inf, np.inf)
    assert reach(Mask(causal=True)) == (np.inf, 0)
    assert reach(Mask(window=(2, None))) == (2, np.inf)
    assert reach(Mask(window=(2, 1))) == (2, 1)
    assert reach(Mask(causal=True, window=3)) == (3, 0)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_penalty_masks_and_leaves_the_rest(dtype):
    found = penalty_of(KEEP, dtype)
    assert found.dtype == dtype
    assert found.tolist() == np.where(KEEP, 0, -np.inf).tolist()


def test_mask_and_bias_are_looked_at_together_and_in_blocks():
    bias = np.zeros((2, N, M))
    bias[0, 1, 2] = bias[1, 3, 4] = -np.inf
    p = Problem(Q=np.ones((2, N, 1)), K=np.ones((2, M, 1)), bias=bias, mask=Mask(causal=True, offset=1))
    whole = open_cells(p, plan(p))
    assert whole.shape == (2, N, M)
    assert whole.tolist() == (allowed(p.mask, 2, N, M) & (bias == 0)).tolist()
    blocks = [np.broadcast_to(found, (2, rows.stop - rows.start, M)) for rows, found in open_rows(p, plan(p))]
    assert np.concatenate(blocks, axis=1).tolist() == whole.tolist()


@pytest.mark.parametrize(
    ("changes", "steps"),
    [
        ({}, ["scores", "weights"]),
        ({"softcap": 2.0}, ["raw_scores", "scores", "weights"]),
        ({"softcap": 2.0, "mask": "causal"}, ["raw_scores", "capped", "scores", "weights"]),
        ({"softcap": 2.0, "bias": np.ones((2, 2))}, ["raw_scores", "capped", "scores", "weights"]),
        ({"bias": np.ones((2, 2))}, ["raw_scores", "scores", "weights"]),
        ({"mask": "causal"}, ["raw_scores", "scores", "weights"]),
        ({"mask": {"offset": 1}}, ["scores", "weights"]),
        ({"mask": {"lengths": 2}}, ["raw_scores", "scores", "weights"]),
        ({"mask": {"window": [None, None]}}, ["raw_scores", "scores", "weights"]),
        ({"softcap": 2.0, "mask": {"drop": [0, 1]}, "temperature": 2.0}, ["raw_scores", "capped", "scores", "tempered", "weights"]),
        ({"scale": 0.5}, ["products", "scores", "weights"]),
        ({"scale": 1.0}, ["scores", "weights"]),
        ({"scale": 0.5, "softcap": 1.0}, ["products", "raw_scores", "scores", "weights"]),
    ],
    ids=str,
)
def test_a_step_is_there_where_something_follows_it(changes, steps):
    trace = solve(Problem(Q=[[1.0], [2.0]], K=[[1.0], [3.0]], **changes))
    assert [step.name for step in trace if not step.kind.detail and step.name not in ("Q", "K")] == steps


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("offset", [-6, -1, 0, 1, 6])
def test_rows_that_may_attend_to_nothing_are_found_without_the_matrix(causal, offset):
    q, k = np.ones((N, 1)), np.ones((M, 1))
    for left, right, lengths in product(SIDES, SIDES, (None, 0, 1, M)):
        mask = Mask(causal=causal, offset=offset, window=(left, right), lengths=lengths)
        p = Problem(Q=q, K=k, mask=mask)
        expected = np.argwhere(~allowed(mask, 1, N, M).any(axis=-1))
        assert empty_rows(p, plan(p)).tolist() == expected.tolist(), (left, right, lengths)
    p = Problem(Q=q, K=k, bias=np.where(np.arange(N)[:, None] == 2, -np.inf, np.zeros((N, M))))
    assert empty_rows(p, plan(p)).tolist() == [[2]]
    heads = Problem(Q=np.ones((2, N, 1)), K=np.ones((2, M, 1)), mask=Mask(keep=np.stack([KEEP, np.zeros((N, M))])))
    assert empty_rows(heads, plan(heads)).tolist() == [[1, i] for i in range(N)]
    assert empty_rows(Problem(Q=q, K=k), plan(Problem(Q=q, K=k))).tolist() == []
