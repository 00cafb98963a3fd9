"""An expression as text, as TeX, as a number and turned, operator by operator."""

import math

import pytest

from attn_cli.engine.expression import Expr, Sym, constant, first_head, summed, symbol, tied, transposed

A, B, C = (symbol(letter) for letter in "ABC")
TWO, THREE, MINUS = constant(2), constant(3), constant(-1)


def num(n):
    return f"{n.value:g}"


LOOKS = [
    (Expr("add", (A, B, C)), "A + B + C", "A + B + C"),
    (Expr("add", (A, Expr("subtract", (B, C)))), "A + (B - C)", r"A + \left(B - C\right)"),
    (Expr("subtract", (A, Expr("add", (B, C)))), "A - (B + C)", r"A - \left(B + C\right)"),
    (Expr("subtract", (Expr("add", (A, B)), C)), "A + B - C", "A + B - C"),
    (Expr("add", (TWO, MINUS)), "2 + (-1)", r"2 + \left(-1\right)"),
    (Expr("multiply", (A, Expr("add", (B, C)))), "A·(B + C)", r"A \cdot \left(B + C\right)"),
    (Expr("multiply", (A, Expr("hadamard", (B, C)))), "A·(B ∘ C)", r"A \cdot \left(B \circ C\right)"),
    (Expr("hadamard", (A, Expr("multiply", (B, C)))), "A ∘ B·C", r"A \circ B \cdot C"),
    (Expr("scale", (MINUS, A)), "(-1)·A", r"\left(-1\right) \cdot A"),
    (Expr("linear", (A, B)), "A·B", r"A \cdot B"),
    (Expr("each", (A, B)), "A·B", r"A \cdot B"),
    (Expr("divide", (Expr("add", (A, B)), Expr("multiply", (B, C)))), "(A + B) / (B·C)", r"\frac{A + B}{B \cdot C}"),
    (Expr("divide", (A, Expr("root", (B,)))), "A / √B", r"\frac{A}{\sqrt{B}}"),
    (Expr("root", (Expr("add", (A, B)),)), "√(A + B)", r"\sqrt{A + B}"),
    (Expr("square", (Expr("add", (A, B)),)), "(A + B)²", r"{\left(A + B\right)}^2"),
    (Expr("transpose", (Expr("multiply", (A, B)),)), "(A·B)ᵀ", r"{\left(A \cdot B\right)}^\top"),
    (Expr("norm", (A,)), "‖A‖", r"\lVert A \rVert"),
    (Expr("size", (A,)), "max|A|", r"\max\lvert A \rvert"),
    (Expr("pair", (A, B)), "[A; B]", r"\left[A; B\right]"),
    (Expr("part", (Expr("multiply", (A, B)), C)), "(A·B)[C]", r"{\left(A \cdot B\right)}_{[C]}"),
    (Expr("exp", (A,)), "exp(A)", r"\exp\left(A\right)"),
    (Expr("tanh", (A,)), "tanh(A)", r"\tanh\left(A\right)"),
    (Expr("max", (A, B)), "max(A, B)", r"\max\left(A, B\right)"),
    (Expr("row max", (A,)), "row max(A)", r"\operatorname{row\ max}\left(A\right)"),
    (Expr("column sum", (A,)), "column sum(A)", r"\operatorname{column\ sum}\left(A\right)"),
    (Expr("group sum", (A,)), "group sum(A)", r"\operatorname{group\ sum}\left(A\right)"),
    (Expr("outer sum", (A,)), "vector sum(A)", r"\operatorname{vector\ sum}\left(A\right)"),
    (Expr("block", (Expr("add", (A, B)),)), "(A + B)ₕ", r"\left(A + B\right)_h"),
    (Expr("join", (A, B)), "Concat(A, …, B)", r"\operatorname{Concat}\left(A, \dots, B\right)"),
    (Expr("one-hot", (A,)), "one-hot(A)", r"\operatorname{one\text{-}hot}\left(A\right)"),
    (Expr("is between", (TWO, A, THREE)), "[2 ≤ A < 3]", r"\left[2 \le A < 3\right]"),
    (Expr("is largest", (constant(0), TWO, constant(1))), "[2 = max(2, 1)]", r"\left[2 = \max(2, 1)\right]"),
    (Expr("is largest", (constant(1), TWO, TWO)), "[2 = max(2, 2) and first]", r"\left[2 = \max(2, 2)\text{ and first}\right]"),
]  # fmt: skip


@pytest.mark.parametrize(("e", "plain", "tex"), LOOKS, ids=[row[1] for row in LOOKS])
def test_an_expression_looks_so(e, plain, tex):
    assert e.plain(num) == plain
    assert e.tex(num) == tex


VALUES = [
    ("add", (2, 3, -1), 4),
    ("add", (1e16, 1, -1e16), 1),  # added up exactly
    ("add", (math.inf, 1), math.inf),
    ("subtract", (2, 3), -1),
    ("multiply", (2, 3, 4), 24),
    ("multiply", (0, math.inf), 0),
    ("scale", (-1, 3), -3),
    ("hadamard", (2, 3), 6),
    ("divide", (3, 2), 1.5),
    ("divide", (0, 0), 0),
    ("divide", (2, 0), math.inf),
    ("divide", (-2, 0), -math.inf),
    ("root", (9,), 3),
    ("square", (-3,), 9),
    ("norm", (-3,), 3),
    ("size", (-3,), 3),
    ("exp", (0,), 1),
    ("exp", (1000,), math.inf),
    ("tanh", (0,), 0),
    ("max", (2, 3), 3),
    ("row sum", (1, 2), 3),
    ("is between", (0, 0, 0.5), 1),
    ("is between", (0, 0.5, 0.5), 0),
    ("is between", (0.2, 0.1, 0.5), 0),
    ("is largest", (0, 2, 1), 1),
    ("is largest", (1, 2, 1), 0),
    ("is largest", (1, 2, 2), 0),
    ("is largest", (0, 1, 1 + 5e-13), 1),
    ("is largest", (0, 1, 1 + 5e-12), 0),
    ("is largest", (1, -math.inf, 0), 1),
    ("is largest", (0, -math.inf, -math.inf), 0),
]


@pytest.mark.parametrize(("op", "args", "value"), VALUES, ids=str)
def test_an_expression_is_worth_so_much(op, args, value):
    assert Expr(op, tuple(map(constant, args))).evaluate() == value


def test_a_root_of_a_negative_number_is_no_number():
    assert math.isnan(Expr("root", (MINUS,)).evaluate())


TURNED = [
    (Expr("multiply", (A, B)), "B·A"),
    (Expr("multiply", (A, Expr("transpose", (B,)))), "Bᵀ·A"),
    (Expr("multiply", (A, symbol("W", flips=False))), "Wᵀ·A"),
    (Expr("transpose", (symbol("W", flips=False),)), "W"),
    (Expr("scale", (symbol("c", number=2), A)), "c·A"),
    (Expr("linear", (A, B)), "A·B"),
    (Expr("each", (A, B)), "A·B"),
    (Expr("pair", (A, B)), "[A; B]"),
    (Expr("hadamard", (Expr("multiply", (A, B)), C)), "B·A ∘ C"),
    (Expr("row sum", (Expr("multiply", (A, B)),)), "column sum(B·A)"),
    (Expr("column sum", (A,)), "row sum(A)"),
    (Expr("row max", (A,)), "column max(A)"),
    (Expr("column max", (A,)), "row max(A)"),
    (Expr("row argmax", (A,)), "column argmax(A)"),
    (Expr("column argmax", (A,)), "row argmax(A)"),
    (Expr("head sum", (Expr("multiply", (A, B)),)), "head sum(B·A)"),
    (Expr("outer sum", (A,)), "vector sum(A)ᵀ"),
]


@pytest.mark.parametrize(("e", "expected"), TURNED, ids=[row[1] for row in TURNED])
def test_where_tokens_are_columns_an_expression_reads_so(e, expected):
    assert e.transposed().plain(num) == expected


def test_a_long_sum_is_folded_in_the_middle_only_where_that_is_asked_for():
    e = Expr("add", tuple(constant(i) for i in range(7)))
    assert e.plain(num) == "0 + 1 + 2 + 3 + 4 + 5 + 6"
    assert e.plain(num, 7) == "0 + 1 + 2 + 3 + 4 + 5 + 6"
    assert e.plain(num, 3) == "0 + 1 + … (4 more) … + 6"
    assert e.plain(num, 4) == "0 + 1 + … (3 more) … + 5 + 6"
    assert e.tex(num, 2) == r"0 + \dots\,(\text{5 more})\,\dots + 6"
    assert Expr("max", e.args).plain(num, 2) == "max(0, … (5 more) …, 6)"


def test_numbers_symbols_and_sums():
    e = Expr("add", (Expr("multiply", (TWO, symbol("d", number=4.0))), THREE))
    assert [n.value for n in e.numbers()] == [2, 3]
    assert [n.value for n in e.substituted().numbers()] == [2, 4, 3]
    assert e.evaluate() == 11
    assert e.evaluate(lambda n: 2 * n.value) == 22
    assert summed([A]) is A
    assert summed([A, Expr("add", (B, C))]).plain(num) == "A + B + C"
    assert transposed(transposed(A)) is A
    assert first_head(Expr("multiply", (symbol("Oₕ", "O_h"), B))).plain(num) == "O₁·B"
    assert first_head(symbol("Oₕ", "O_h")).tex(num) == "O_1"
    with pytest.raises(ValueError, match="A is not one number"):
        A.evaluate()
    assert isinstance(A, Sym)


def test_scores_of_one_row_tie_within_a_share_of_the_largest():
    assert tied(1.0, 1.0 + 9e-13, 1.0)
    assert not tied(1.0, 1.0 + 2e-12, 1.0)
    assert tied(1e6, 1e6 + 9e-7, 1e6)
    assert tied(-math.inf, -math.inf, 0.0)
