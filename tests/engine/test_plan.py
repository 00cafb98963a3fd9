"""A problem that does not fit together is refused in words that name what must change."""

import numpy as np
import pytest

from attn_cli.engine.attention import solve
from attn_cli.engine.problem import Mask, Problem
from attn_cli.engine.shapes import plan
from attn_cli.errors import InputError

one = np.ones
SELF = {"X": one((3, 4))}
WEIGHTS = {**SELF, "W_Q": one((4, 2)), "W_K": one((4, 2)), "W_V": one((4, 2))}
QKV = {"Q": one((3, 4)), "K": one((5, 4)), "V": one((5, 2))}
NAN, INF = np.nan, np.inf

BROKEN = [
    ({}, "Q is missing: give Q, or X to make it from (or scores)"),
    ({"Q": one((3, 4))}, "K is missing: give K, or X to make it from"),
    ({"K": one((3, 4))}, "Q is missing: give Q, or X to make it from (or scores)"),
    ({"W_Q": one((4, 2))}, "W_Q: X is missing: Q = X·W_Q needs it"),
    ({"b_K": one(2), "Q": one((3, 4))}, "b_K: X is missing: K = X·W_K needs it"),
    (
        {**SELF, "W_Q": one((4, 2)), "W_V": one((4, 2))},
        "W_K is missing, though other weights are given; write W_K: identity if K is X itself",
    ),
    (
        {**SELF, "context": one((5, 4)), "W_Q": one((4, 2)), "W_K": one((4, 2))},
        "W_V is missing, though other weights are given; write W_V: identity if V is context itself",
    ),
    ({**WEIGHTS, "W_Q": one((3, 2))}, "W_Q: is 3 × 2, expected 4 rows, because X is 3 × 4"),
    (
        {**WEIGHTS, "W_Q": one((2, 4))},
        "W_Q: is 2 × 4, expected 4 rows, because X is 3 × 4; stored the other way round? then say weights_layout: out_in",
    ),
    (
        {**WEIGHTS, "W_Q": one((4, 2)), "weights_layout": "out_in"},
        "W_Q: is 4 × 2, expected 4 columns, because X is 3 × 4; stored the other way round? then say weights_layout: in_out",
    ),
    ({**WEIGHTS, "W_Q": one((3, 2)), "vectors": "columns"}, "W_Q: is 2 × 3, expected 4 columns, because X is 4 × 3"),
    ({**WEIGHTS, "context": one((5, 3))}, "W_K: is 4 × 2, expected 3 rows, because context is 5 × 3"),
    ({**WEIGHTS, "b_Q": one(3)}, "b_Q: has 3 numbers, expected 2, one for each column of Q"),
    ({**WEIGHTS, "b_Q": one((2, 2))}, "b_Q: is 2 × 2, expected one row of numbers"),
    (
        {**WEIGHTS, "W_K": one((4, 3))},
        "W_K: makes K, which has 3 columns a head, expected 2, as Q has, so that every query can be multiplied with every key",
    ),
    ({"X": one(4)}, "X: is one row of 4, expected a matrix"),
    ({"X": one((2, 3, 4))}, "X: is 2 × 3 × 4, a batch of 2; give each as a problem of its own, the first as X[0]"),
    ({**QKV, "K": one((3, 1, 5, 4))}, "K: is 3 × 1 × 5 × 4, a batch of 3; give each as a problem of its own, the first as K[0]"),
    ({"X": one((1, 1, 3, 4))}, "X: is 1 × 1 × 3 × 4, expected a matrix"),
    ({"X": one(())}, "X: is a single number, expected a matrix"),
    ({**QKV, "K": one((5, 3))}, "K: has 3 columns a head, expected 4, as Q has, so that every query can be multiplied with every key"),
    (
        {**QKV, "K": one((5, 3)), "vectors": "columns"},
        "K: has 3 rows a head, expected 4, as Q has, so that every query can be multiplied with every key",
    ),
    ({**QKV, "V": one((4, 2))}, "V: has 4 rows, expected 5: one value for each key"),
    ({**QKV, "V": one((4, 2)), "vectors": "columns"}, "V: has 4 columns, expected 5: one value for each key"),
    ({**QKV, "Q": one((0, 4))}, "Q: is 0 × 4, expected at least one row and one column"),
    ({**QKV, "heads": 3}, "heads: is 3, but Q has 4 columns, which 3 heads cannot share equally"),
    ({**QKV, "heads": 0}, "heads: found 0, expected a whole number from 1"),
    ({**QKV, "heads": 4}, "heads: is 4, but V has 2 columns, which 4 heads cannot share equally"),
    (
        {**QKV, "heads": 4, "kv_heads": 3},
        "kv_heads: is 3, expected a divisor of heads, 4: each key and value head serves as many query heads",
    ),
    ({**QKV, "heads": 2, "kv_heads": 0}, "kv_heads: found 0, expected a whole number from 1"),
    (
        {**QKV, "heads": 4, "V": one((5, 4)), "kv_heads": 8},
        "kv_heads: is 8, expected a divisor of heads, 4: each key and value head serves as many query heads",
    ),
    ({"Q": one((2, 3, 4)), "K": one((5, 8)), "heads": 4}, "heads: is 4, but Q is 2 × 3 × 4, so there are 2"),
    (
        {"Q": one((3, 4)), "K": one((2, 5, 4))},
        "K: is 2 × 5 × 4, so there are 2 key and value heads, expected a divisor of heads, 1",
    ),
    ({"Q": one((2, 3, 4)), "K": one((2, 5, 4)), "V": one((1, 5, 4))}, "V: is 1 × 5 × 4, expected 2 × …, one block a key and value head"),
    ({"scores": one((3, 5)), "heads": 2}, "scores: is 3 × 5, expected 2 × n × m for 2 heads"),
    ({"scores": one((3, 5)), "scale": 2.0}, "scores: scale has no place beside it: the trace starts at the scores; leave one of them out"),
    (
        {"scores": one((3, 5)), "softcap": 2.0},
        "scores: softcap has no place beside it: the trace starts at the scores; leave one of them out",
    ),
    ({"scores": one((3, 5)), "Q": one((3, 4))}, "scores: Q has no place beside it: the trace starts at the scores; leave one of them out"),
    ({"scores": one((3, 5)), "V": one((4, 2))}, "V: has 4 rows, expected 5: one value for each key"),
    ({"scores": one((3, 5)), "W_O": one((4, 2))}, "W_O: there are no values for it; give V, or X to make them from"),
    ({"scores": one((3, 0))}, "scores: is 3 × 0, expected at least one row and one column"),
    ({"scores": one((0, 3, 3))}, "scores: is 0 × 3 × 3, expected at least one row and one column"),
    ({"scores": [[0, -INF]]}, "scores[1,2]: found -inf, expected a finite number; only bias may hold -inf, where it masks a score"),
    ({**QKV, "W_Q": one((4, 4))}, "W_Q: Q is given directly, so W_Q has no place; leave one of them out"),
    ({**QKV, "b_V": one(2)}, "b_V: V is given directly, so b_V has no place; leave one of them out"),
    ({**QKV, "W_O": one((3, 2))}, "W_O: is 3 × 2, expected 2 rows, the width of the joined heads"),
    ({**QKV, "W_O": one((3, 2)), "vectors": "columns"}, "W_O: is 2 × 3, expected 2 columns, the width of the joined heads"),
    ({**QKV, "W_O": one((3, 4)), "weights_layout": "out_in"}, "W_O: is 3 × 4, expected 2 columns, the width of the joined heads"),
    ({**QKV, "b_O": one(3)}, "b_O: has 3 numbers, expected 2, one for each column of the output"),
    ({**QKV, "upstream": one((2, 3))}, "upstream: is 2 × 3, expected 3 × 2, the shape of the output"),
    ({**QKV, "upstream": one((2, 4)), "vectors": "columns"}, "upstream: is 4 × 2, expected 2 × 3, the shape of the output"),
    ({**QKV, "bias": one((5, 3))}, "bias: is 5 × 3, expected 3 × 5"),
    ({**QKV, "bias": one((3, 5)).T, "vectors": "columns"}, "bias: is 3 × 5, expected 5 × 3"),
    ({**QKV, "heads": 2, "bias": one((3, 3, 5))}, "bias: is 3 × 3 × 5, expected 3 × 5 or 2 × 3 × 5"),
    ({**QKV, "bias": [[0, 0, 0, 0, INF]] * 3}, "bias[1,5]: found inf, expected a finite number or -inf"),
    ({**QKV, "mask": Mask(keep=one((5, 3)))}, "mask: is 5 × 3, expected 3 × 5 (queries × keys) or one row of 5"),
    ({**QKV, "mask": Mask(keep=one((5, 3))), "vectors": "columns"}, "mask: is 3 × 5, expected 5 × 3 (keys × queries) or one row of 5"),
    ({**QKV, "mask": Mask(drop=one((2, 3, 5))), "heads": 1}, "mask: is 2 × 3 × 5, expected 3 × 5 (queries × keys) or one row of 5"),
    (
        {**QKV, "mask": Mask(drop=one((3, 3, 5))), "heads": 2},
        "mask: is 3 × 3 × 5, expected 3 × 5 (queries × keys), 2 × 3 × 5 or one row of 5",
    ),
    (
        {**QKV, "mask": one((3, 5)) / 2},
        "mask[1,1]: found 0.5, expected 1 and 0, or true and false, in a mask; to add numbers to the scores (-inf masks a key) use bias",
    ),
    ({**QKV, "mask": Mask(lengths=6)}, "mask: lengths is 6, expected a whole number from 0 to 5, the number of keys"),
    ({**QKV, "mask": {"lengths": -1}}, "mask.lengths: found -1, expected a whole number from 0"),
    ({**SELF, "tokens": ("a", "b")}, "tokens: has 2 labels, expected 3, one for each token"),
    ({**QKV, "key_tokens": ("a", "b")}, "key_tokens: has 2 labels, expected 5, one for each key"),
    (
        {**SELF, "tokens": ("a", "b", "c"), "query_tokens": ("a", "b", "c")},
        "query_tokens: tokens and query_tokens both name the queries; leave one of them out",
    ),
    (
        {**SELF, "score": "scaled_dot"},
        "score: found 'scaled_dot' (did you mean 'scaled'?), expected one of scaled, dot, additive, general, cosine",
    ),
    (
        {**SELF, "mode": "softmax"},
        "mode: found 'softmax' (did you mean 'soft'?), expected one of soft, hard, sample, gumbel, sparsemax, entmax15",
    ),
    ({**SELF, "temperature": 0.0}, "temperature: found 0, expected a number greater than 0; for all weight on one key use mode: hard"),
    ({**SELF, "temperature": NAN}, "temperature: found nan, expected a number greater than 0; for all weight on one key use mode: hard"),
    ({**SELF, "softcap": -1.0}, "softcap: found -1, expected a number greater than 0"),
    ({**SELF, "scale": INF}, "scale: found inf, expected a finite number"),
    ({**SELF, "seed": -1}, "seed: found -1, expected a whole number from 0"),
    ({**SELF, "dtype": "float16"}, "dtype: found 'float16' (did you mean 'float64'?), expected float64 or float32"),
    ({**SELF, "vectors": "row"}, "vectors: found 'row' (did you mean 'rows'?), expected rows or columns"),
    ({"X": [[1, NAN]]}, "X[1,2]: found nan, expected a finite number; an empty place in a matrix has no value: write a number"),
    (
        {**WEIGHTS, "W_K": [[1, 1], [1, 1], [1, 1], [1, INF]]},
        "W_K[4,2]: found inf, expected a finite number; only bias may hold -inf, where it masks a score",
    ),
    (
        {"scores": [[0.0, 0.0]], "V": [[1.0], [NAN]]},
        "V[2,1]: found nan, expected a number: only a value that is masked for every query may hold NaN",
    ),
    (
        {"scores": [[0.0, 0.0]], "V": [[1.0], [INF]], "mask": Mask(lengths=1)},
        "V[2,1]: found inf, expected a finite number; only bias may hold -inf, where it masks a score",
    ),
    ({**SELF, "score": "additive"}, "additive: v is missing: the additive score is vᵀ·tanh(…), so it needs one number a hidden unit"),
    ({**SELF, "score": "additive", "parameters": {"additive": {"v": one(2)}}}, "additive: W (or W_q and W_k) is missing"),
    (
        {**SELF, "score": "additive", "parameters": {"additive": {"v": one(2), "W": one((2, 7))}}},
        "additive.W: is 2 × 7, expected 2 × 8 (numbers of v × width of [q; k])",
    ),
    (
        {**SELF, "score": "additive", "parameters": {"additive": {"v": one(2), "W": one((2, 8)), "W_q": one((2, 4))}}},
        "additive: W and W_q are both given; use W over [q; k], or W_q, W_k and b",
    ),
    ({**SELF, "score": "additive", "parameters": {"additive": {"v": one(2), "W_q": one((2, 4))}}}, "additive: W_k is missing"),
    (
        {**SELF, "score": "additive", "parameters": {"additive": {"v": one(2), "W_q": one((2, 4)), "W_k": one((2, 4)), "b": one(3)}}},
        "additive.b: has 3 numbers, expected 2, as v has",
    ),
    (
        {**SELF, "score": "additive", "parameters": {"additive": {"v": one((2, 2)), "W": one((2, 8))}}},
        "additive.v: is 2 × 2, expected one row of numbers",
    ),
    ({**SELF, "parameters": {"additive": {"u": one(2)}}}, "additive: has no 'u'; it takes W, W_q, W_k, b, v"),
    ({**SELF, "score": "general"}, "general: W is missing: the general score is qᵀ·W·k"),
    (
        {**SELF, "score": "general", "parameters": {"general": {"W": one((3, 4))}}},
        "general.W: is 3 × 4, expected 4 × 4 (width of q × width of k)",
    ),
]
"""What is given -> the whole message."""


@pytest.mark.parametrize(("changes", "message"), BROKEN, ids=[str(i + 1) for i in range(len(BROKEN))])
def test_what_does_not_fit_is_refused_in_these_words(changes, message):
    with pytest.raises(InputError) as refused:
        solve(Problem(**changes))
    assert str(refused.value) == message


def test_a_value_row_that_no_query_reads_may_hold_nan():
    mask = Mask(keep=np.array([[1, 0], [0, 0]]))
    assert solve(Problem(scores=one((2, 2)), V=[[1.0], [NAN]], mask=mask))["output"].tolist() == [[1], [0]]
    bias = [[0.0, -INF], [0.0, -INF]]
    assert solve(Problem(scores=one((2, 2)), V=[[1.0], [NAN]], bias=bias))["output"].tolist() == [[1], [1]]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (QKV, (3, 5, 1, 1, 4, 4, 2)),
        ({**QKV, "heads": 2}, (3, 5, 2, 2, 2, 2, 1)),
        ({"Q": one((3, 8)), "K": one((5, 4)), "V": one((5, 6)), "heads": 4, "kv_heads": 2}, (3, 5, 4, 2, 2, 2, 3)),
        ({"Q": one((4, 3, 2)), "K": one((5, 4)), "V": one((2, 5, 3)), "kv_heads": 2}, (3, 5, 4, 2, 2, 2, 3)),
        ({"Q": one((4, 3, 2)), "K": one((1, 5, 2)), "V": one((1, 5, 3))}, (3, 5, 4, 1, 2, 2, 3)),
        (SELF, (3, 3, 1, 1, 4, 4, 4)),
        ({**SELF, "context": one((5, 4))}, (3, 5, 1, 1, 4, 4, 4)),
        ({"scores": one((2, 3, 5))}, (3, 5, 2, 2, None, None, None)),
        ({"scores": one((3, 5)), "V": one((5, 2))}, (3, 5, 1, 1, None, None, 2)),
    ],
)
def test_the_sizes_follow_from_what_is_given(changes, expected):
    sizes = plan(Problem(**changes).as_dtype())
    assert (sizes.n, sizes.m, sizes.h, sizes.kv_heads, sizes.d_q, sizes.d_k, sizes.d_v) == expected


def test_a_batch_axis_of_length_one_is_dropped_with_a_note():
    q, k, v = np.arange(24.0).reshape(1, 2, 3, 4), one((1, 2, 5, 4)), one((1, 2, 5, 2))
    trace = solve(Problem(Q=q, K=k, V=v, mask=one((1, 1, 3, 5)), bias=one((1, 1, 3, 5))))
    assert trace["Q"].shape == (2, 3, 4)
    assert [note.values["name"] for note in trace.notes if note.code == "batch_dropped"] == ["Q", "K", "V", "bias"]
    assert solve(Problem(X=q[0, 0][None]))["Q"].shape == (3, 4)
