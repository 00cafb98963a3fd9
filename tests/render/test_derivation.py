"""Where one number comes from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from attn_cli.engine.attention import solve
from attn_cli.engine.problem import Problem
from attn_cli.engine.steps import Trace
from attn_cli.errors import InputError
from attn_cli.render.derivation import derivations, find_cell
from attn_cli.render.formats import FORMATS
from attn_cli.render.style import Style

X = np.array([[1, 0, 1, 0], [0, 1, 0, 1], [1, 1, 0, 0]], float)


def textbook(**changes: Any) -> Trace:
    return solve(Problem(**{"title": "Textbook", "X": X, "W_Q": np.eye(4), "W_K": np.eye(4), "W_V": np.eye(4), **changes}))


def lines(trace: Trace, *cells: str) -> list[str]:
    return [line for d in derivations(trace, Style(cells=cells, full=True)) for line in d.document()["lines"]]


def test_a_number_is_derived_down_to_the_inputs() -> None:
    told = lines(textbook(), "output[1,1]")
    assert told[0] == ("O[x1,1] = A[x1,x1]·V[x1,1] + A[x1,x2]·V[x2,1] + A[x1,x3]·V[x3,1] = 0.5065·1 + 0.1863·0 + 0.3072·1 ≈ 0.8137")
    assert "A[x1,x1] = E[x1,x1] / Z[x1] = 2.7183 / 5.3670 ≈ 0.5065" in told
    assert "E[x1,x3] = exp(S[x1,x3]) = exp(0.5) ≈ 1.6487" in told
    assert "S[x1,x3] = P[x1,x3] / √4 = 1 / √4 = 1 / 2 = 0.5" in told
    assert "Q[x1,1] = X[x1,1]·W_Q[1,1] + X[x1,2]·W_Q[2,1] + X[x1,3]·W_Q[3,1] + X[x1,4]·W_Q[4,1] = 1·1 + 0·0 + 1·0 + 0·0 = 1" in told


def test_each_cell_is_derived_once() -> None:
    told = [line.split(" ")[0] for line in lines(textbook(), "output[1,1]")]
    assert len(told) == len(set(told))


def test_the_tree() -> None:
    problem = Problem(scores=np.array([[1.0, 0.0]]), V=np.array([[2.0], [3.0]]), title="Tree")
    expected = """\
Tree
rows are queries · softmax along each row

O[q1,1] = A[q1,k1]·V[k1,1] + A[q1,k2]·V[k2,1] = 0.7311·2 + 0.2689·3 ≈ 2.2689
├─ A[q1,k1] = E[q1,k1] / Z[q1] = 2.7183 / 3.7183 ≈ 0.7311
│  ├─ E[q1,k1] = exp(S[q1,k1]) = exp(1) ≈ 2.7183
│  │  └─ S[q1,k1] = 1   as given
│  └─ Z[q1] = E[q1,k1] + E[q1,k2] = 2.7183 + 1 ≈ 3.7183
│     └─ E[q1,k2] = exp(S[q1,k2]) = exp(0) = 1
│        └─ S[q1,k2] = 0   as given
├─ V[k1,1] = 2   as given
├─ A[q1,k2] = E[q1,k2] / Z[q1] = 1 / 3.7183 ≈ 0.2689
└─ V[k2,1] = 3   as given
"""
    assert FORMATS["plain"].trace(solve(problem), Style(cells=("output[1,1]",), full=True)) == expected


def test_without_weights_a_query_is_its_token() -> None:
    assert lines(solve(Problem(X=X)), "Q[1,1]") == ["Q[x1,1] = X[x1,1] = 1"]


def test_given_scores_and_the_step_of_that_name_are_told_apart() -> None:
    trace = solve(Problem(scores=np.array([[1.0, 2.0]]), bias=np.array([[0.5, 0.0]]), V=np.eye(2)))
    assert lines(trace, "scores[1,1]") == ["S[q1,k1] = R[q1,k1] + B[q1,k1] = 1 + 0.5 = 1.5", "R[q1,k1] = scores[q1,k1] = 1"]


@pytest.mark.parametrize(
    ("reference", "cell"),
    [
        ("weights[1,3]", ("weights", (0, 2))),
        ("weights[x1,x3]", ("weights", (0, 2))),
        ("A[ x1 , 3 ]", ("weights", (0, 2))),
        ("row_sums[2]", ("row_sums", (1,))),
        ("Q[x2,4]", ("Q", (1, 3))),
    ],
)
def test_a_cell_is_named_by_numbers_or_labels(reference: str, cell: tuple[str, tuple[int, ...]]) -> None:
    step, at = find_cell(textbook(), reference)
    assert (step.name, at) == cell


def test_cells_of_heads() -> None:
    trace = textbook(heads=2)
    assert find_cell(trace, "weights[2,x1,x3]")[1] == find_cell(trace, "A₂[x1,x3]")[1] == (1, 0, 2)


def test_cells_where_tokens_are_columns() -> None:
    trace = textbook(vectors="columns")
    assert find_cell(trace, "Q[4,x2]")[1] == (3, 1)
    assert lines(trace, "S[x3,x1]")[0] == "S[x3,x1] = P[x3,x1] / √4 = 1 / √4 = 1 / 2 = 0.5"


@pytest.mark.parametrize("label", ["a,b", "[x]", "]", "1,2", "a]b", " b", "[", "#1"])
def test_labels_may_contain_anything(label: str) -> None:
    trace = textbook(tokens=(label, "second", "third"))
    assert find_cell(trace, f"weights[{label},third]")[1] == (0, 2)
    assert find_cell(trace, f"weights[third,{label}]")[1] == (2, 0)


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("wieghts[1,1]", "did you mean 'weights'"),
        ("weights[9,1]", "weights has no query '9'; there are x1, x2, x3"),
        ("weights[x1,y]", "weights has no key 'y'; there are x1, x2, x3"),
        ("Q[x1,0]", "Q has no feature '0'; there are 1 to 4"),
        ("weights[1]", r"weights[1] is no cell of weights; write weights[x1,x1]"),
        ("weights", "weights names no cell; write weights[x1,x1]"),
        ("weights[1,1", "write weights[x1,x1]"),
        ("", "there are Q, K, V"),
    ],
)
def test_an_unknown_cell_lists_what_there_is(reference: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        find_cell(textbook(), reference)
    assert message in str(caught.value)


def test_an_ambiguous_label_is_an_error_that_tells_a_way_out() -> None:
    trace = textbook(tokens=("the", "cat", "the"))
    with pytest.raises(InputError, match="may be any of"):
        find_cell(trace, "weights[the,cat]")
    assert find_cell(trace, "weights[#3,cat]")[1] == (2, 1)
    numbers = textbook(tokens=("2", "1", "x"))
    with pytest.raises(InputError, match="may be any of"):
        find_cell(numbers, "weights[1,x]")


def test_a_long_derivation_says_how_much_follows() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(20, 8))
    trace = solve(Problem(X=x, W_Q=rng.normal(size=(8, 8)), W_K=rng.normal(size=(8, 8)), W_V=rng.normal(size=(8, 8))))
    told = FORMATS["plain"].trace(trace, Style(cells=("output[1,1]",)))
    assert isinstance(told, str)
    assert "more, not followed here; --depth N goes deeper" in told
    assert "not followed" not in str(FORMATS["plain"].trace(trace, Style(cells=("output[1,1]",), full=True)))
