"""The rules of marking, each with its numbers: what digits claim, what is honest rounding, what is forgiven, what may be left out."""

import math

import numpy as np
import pytest

from attn_cli.engine.problem import Mask, Problem
from attn_cli.errors import InputError
from attn_cli.homework import habits
from attn_cli.homework.claims import MISSING, answer, array_answer, decimal_claim, exact_claim, expression_claim, shape_of, unreadable
from attn_cli.homework.marking import Marker
from attn_cli.homework.rounding import Rounding, hidden_half, kept_units, near, rounded, unit_of_digit


def cells(report, step):
    return next(s.cells for s in report.steps if s.name == step)


def only(report):
    (step,) = report.steps
    return step


def notes(report):
    return [note.code for step in report.steps for note in step.notes]


def six_keys(values=""):
    return "{score: dot, Q: [[1]], K: [[-5.2], [-5.3], [-5.3], [-5.3], [-5.3], [-5.3]]" + values + "}"


# ------------------------------------------------------------------ wrong work never passes
@pytest.mark.parametrize(
    ("problem", "answers"),
    [
        (six_keys(), "weights: [[1, 0, 0, 0, 0, 0]]"),  # .181, .164 …
        (six_keys(", V: [[60], [0], [0], [0], [0], [0]]"), "output: [[60]]"),  # 10.86
        ("{score: dot, Q: [[1]], K: [[-5], [-5.5]]}", "scores: [[-5, -5.5]]\nweights: [[1, 0]]"),  # .622, .378
        ("{score: dot, Q: [[1]], K: [[-7.5], [-8]]}", "weights: [[1.000, 0.000]]"),
        ("{score: dot, Q: [[1]], K: [[-9.8], [-10]]}", "weights: [[1.0000, 0.0000]]"),  # .550, .450
    ],
)
def test_exponentials_that_vanish_when_rounded_do_not_excuse_a_hard_choice(mark, problem, answers):
    report = mark(problem, answers)
    assert report.first_wrong.mistake.code == "hard_for_soft"
    assert set(np.ravel(report.first_wrong.cells)) == {"wrong"}


def test_a_small_hidden_weight_keeps_two_digits(mark):
    problem = "{scores: [[0, 5.5]], V: [[1000], [0]]}"  # 4.07
    assert cells(mark(problem, "output: [[8.14]]"), "output") == [["wrong"]]
    assert cells(mark(problem, "output: [[4.10]]"), "output") == [["rounded"]]  # .0041 · 1000
    assert cells(mark(problem, "output: [[4.20]]"), "output") == [["wrong"]]


def test_a_row_that_sums_to_one_when_rounded_needs_no_adjusting(mark):
    assert only(mark("{scores: [[4, 0]]}", "weights: [[0.9, 0.1]]")).verdict == "wrong"  # .982, .018


def test_at_most_three_units_are_forgiven_where_a_mistake_of_method_gives_the_same(mark):
    # 0.5 / √4 = .25 and 2.1 / 2 = 1.05; with a hidden product rounded nothing moves so far
    problem = "{X: [[0.04, 0.9]], W_Q: [[1, 0], [0, 1]], W_K: [[1, 0], [0, 1]], W_V: [[100, 0], [0, 1]], W_O: [[1], [0]]}"
    assert cells(mark(problem, "output: [[4.0]]"), "output") == [["right"]]
    assert cells(mark(problem, "output: [[0.0]]"), "output") == [["wrong"]]


# ------------------------------------------------------------------ honest work never fails
@pytest.mark.parametrize("written", ["13", "13.", "13.0"])
def test_a_whole_number_is_no_harder_than_its_digits(mark, written):
    report = mark("{Q: [[1, 2]], K: [[1, 1], [0, 1]], V: [[10], [20]]}", f"output: [[{written}]]")  # 13.3 with weights .67, .33; .7, .3
    assert cells(report, "output") == [["rounded"]]
    assert only(mark("{Q: [[1, 2]], K: [[1, 1], [0, 1]], V: [[10], [20]]}", "output: [[15]]")).verdict == "wrong"


@pytest.mark.parametrize(
    ("problem", "answers", "verdict"),
    [
        ("{score: dot, Q: [[1]], K: [[5], [4]]}", "exponentials: [[148.34, 54.58]]", "rounded"),  # 2.718^5, 2.718^4
        ("{score: dot, Q: [[1]], K: [[5], [4]]}", "exponentials: [[148.41, 54.60]]", "right"),
        ("{score: dot, Q: [[1]], K: [[5], [4]]}", "exponentials: [[147.86, 54.46]]", "wrong"),  # 2.716
        ("{Q: [[1, 2, 3]], K: [[2, 2, 3], [1, 1, 1]]}", "scores: [[8.67, 3.47]]", "rounded"),  # 15 / 1.73, 6 / 1.73
        ("{Q: [[1, 2, 3]], K: [[2, 2, 3], [1, 1, 1]]}", "scores: [[8.70, 3.48]]", "rounded"),  # 15 · 0.58, 6 · 0.58
        ("{Q: [[1, 2, 3]], K: [[2, 2, 3], [1, 1, 1]]}", "scores: [[8.82, 3.53]]", "wrong"),  # 15 / 1.7
        ("{Q: [[1, 2, 3, 0]], K: [[2, 2, 3, 0], [1, 1, 1, 0]]}", "scores: [[7.52, 3.02]]", "wrong"),  # √4 is no constant to round
    ],
)
def test_constants_may_be_rounded_but_not_too_coarsely(mark, problem, answers, verdict):
    report = mark(problem, answers)
    assert set(np.ravel(only(report).cells)) == {verdict}
    assert notes(report) == (["constants_rounded"] if verdict == "rounded" else [])


def test_a_slip_beside_a_rounded_constant_costs_itself(mark):
    report = mark("{score: dot, Q: [[1]], K: [[5], [4], [3], [2]]}", "exponentials: [[148.34, 54.58, 20.08, 7.83]]")
    assert cells(report, "exponentials") == [["rounded", "rounded", "rounded", "wrong"]]  # 2.718² = 7.39


def test_hard_weights_go_by_what_was_written_or_rounded_and_what_follows_by_all(mark):
    problem = "{score: dot, Q: [[1]], K: [[2], [1.4], [0.9]], V: [[6], [2], [9]], mode: hard}"
    report = mark(problem, "weights: [[0.53, 0.29, 0.18]]\noutput: [[5.36]]")
    assert [step.verdict for step in report.steps] == ["wrong", "carried"]
    assert only(mark(problem, "weights: [[0, 1, 0]]")).verdict == "wrong"
    near_tie = "{Q: [[1, 1]], K: [[0.71, 0.70], [0.70, 0.72]], V: [[1], [5]], mode: hard}"  # products 1.41, 1.42
    assert mark(near_tie, "products: [[1.4, 1.4]]\nweights: [[1, 0]]\noutput: [[1]]").right
    assert not mark(near_tie, "products: [[1.41, 1.42]]\nweights: [[1, 0]]").right


def test_equal_numbers_everywhere_earn_nothing_though_they_would_follow(mark):
    problem = "{scores: [[1, 2], [3, 0]], V: [[1], [3]]}"
    report = mark(problem, "weights: [[0.5, 0.5], [0.5, 0.5]]\noutput: [[2.0], [2.0]]")
    assert [step.verdict for step in report.steps] == ["wrong", "wrong"]
    report = mark(problem, "weights: [[0.5, 0.5], [0.6, 0.4]]\noutput: [[2.0], [1.8]]")
    assert [step.verdict for step in report.steps] == ["wrong", "carried"]


def test_a_single_wrong_cell_is_carried_on(mark):
    report = mark("{Q: [[1]], K: [[2]], V: [[3]], score: dot}", "scores: [[5]]\nexponentials: [[148.41]]\nweights: [[1]]")
    assert [step.verdict for step in report.steps] == ["wrong", "carried", "right"]


def test_exponentials_and_their_sum_are_shifted_alike_or_not_at_all(mark):
    problem = "{scores: [[1, 2, 3]]}"
    shifted = "exponentials: [[0.1353, 0.3679, 1]]\n"
    assert mark(problem, shifted + "row_sums: [1.5032]").right
    report = mark(problem, shifted + "row_sums: [30.1929]")
    assert [step.verdict for step in report.steps] == ["wrong", "right"]
    assert mark(problem, "row_sums: [1.5032]").right


@pytest.mark.parametrize(
    ("keys", "scores", "exponentials", "row_sum"),
    [  # exp(0.074 - 0.148), ... from scores that no one rounded; as written, the largest are equal
        ([0.074, 0.099, 0.148, -0.222], [0.1, 0.1, 0.1, -0.2], [0.9, 1.0, 1.0, 0.7], 3.6),
        ([-0.641, -1.414, -0.203], [-0.6, -1.4, -0.2], [0.6, 0.3, 1.0], 1.9),  # 0.6 is nearer to exp(-0.6) than to exp(-0.6 + 0.2)
    ],
)
def test_exponentials_are_shifted_before_the_scores_are_rounded(mark, keys, scores, exponentials, row_sum):
    problem = f"{{score: dot, Q: [[1]], K: {[[key] for key in keys]}, V: {[[1.0] for _ in keys]}}}"
    report = mark(problem, f"scores: [{scores}]\nexponentials: [{exponentials}]\nrow_sums: [{row_sum}]")
    assert [step.verdict for step in report.steps] == ["right", "right", "right"]
    plain = mark(problem, f"scores: [{scores}]\nexponentials: [{exponentials}]\nrow_sums: [{2 * row_sum}]")
    assert [step.verdict for step in plain.steps] != ["right", "right", "right"]


@pytest.mark.parametrize("masked", ["-inf", "-1e9", "-1000"])
def test_shifted_exponentials_of_a_masked_row_stay_zero(mark, masked):
    problem = "{scores: [[1, 2], [1, 2]], mask: [[1, 1], [0, 0]]}"
    report = mark(problem, f"scores: [[1, 2], [{masked}, {masked}]]\nexponentials: [[0.3679, 1], [0, 0]]\nrow_sums: [1.3679, 0]")
    assert report.right


# ------------------------------------------------------------------ what need not be written
CAUSAL = "{scores: [[1, 2, -1], [0, 1, 2], [2, 1, 0]], mask: causal}"


@pytest.mark.parametrize(
    "weights",
    [
        "[[1.0], [0.269, 0.731], [0.665, 0.245, 0.090]]",
        "[[1.0, x, x], [0.269, 0.731, x], [0.665, 0.245, 0.090]]",
        "[[1.0, ~, ''], [0.269, 0.731, ~], [0.665, 0.245, 0.090]]",
        "[[1.0, 0, 0], [0.269, 0.731, 0], [0.665, 0.245, 0.090]]",
    ],
)
def test_masked_cells_need_not_be_written(mark, weights):
    report = mark(CAUSAL, f"weights: {weights}")
    assert cells(report, "weights") == [["right"] * 3] * 3
    assert (report.right, report.complete) == (True, True)


def test_a_masked_cell_is_missing_where_the_rest_of_its_row_is_not_given(mark):
    report = mark(CAUSAL, "weights: [[~, ~, ~], [0.269, ~, ~], [0.665, 0.245, 0.090]]")
    assert cells(report, "weights") == [["missing"] * 3, ["right", "missing", "missing"], ["right"] * 3]
    assert not report.complete


def test_a_row_that_stops_before_its_masked_end_too_early_does_not_fit(mark):
    assert only(mark(CAUSAL, "weights: [[1.0], [0.269], [0.665, 0.245, 0.090]]")).first_wrong is None
    assert only(mark(CAUSAL, "weights: [[1.0], [0.269], [0.665, 0.245, 0.090]]")).verdict == "wrong"


def test_an_x_where_nothing_is_masked_is_wrong_and_quoted(mark):
    report = mark(CAUSAL, "weights: [[1.0, x, x], [x, 0.731, x], [0.665, 0.245, 0.090]]")
    assert cells(report, "weights")[1] == ["wrong", "right", "right"]
    assert only(report).written[1][0] == "x"
    (note,) = only(report).notes
    assert (note.code, note.values["texts"]) == ("unreadable", ["x"])


def test_a_row_masked_as_a_whole_needs_nothing_but_alone_it_is_nothing_given(mark):
    problem = "{scores: [[1, 2], [0, 1]], mask: [[0, 0], [1, 1]], V: [[1], [2]]}"
    report = mark(problem, "weights: [~, [0.269, 0.731]]")
    assert (cells(report, "weights"), report.complete) == ([["right", "right"]] * 2, True)
    report = mark(problem, "weights: [[~, ~], [~, ~]]\noutput: [[0], [1.731]]")
    assert cells(report, "weights") == [["missing"] * 2] * 2


def test_the_first_tokens_may_be_given_alone_with_a_note(mark):
    problem = "{scores: [[1, 2], [0, 1], [3, 0]], V: [[1], [2]]}"
    report = mark(problem, "weights: [[0.269, 0.731]]\nrow_sums: [10.107, 3.718]\noutput: [[1.731], [1.731]]")
    assert (report.right, report.complete) == (True, False)
    assert cells(report, "weights") == [["right"] * 2, ["missing"] * 2, ["missing"] * 2]
    assert cells(report, "row_sums") == ["right", "right", "missing"]
    assert notes(report) == ["first_tokens"] * 3
    assert only(mark(problem, "weights: [[0.269], [0.269]]")).first_wrong is None


def test_tokens_may_be_named(mark):
    problem = "{query_tokens: [a, b, c], scores: [[1, 2], [0, 1], [3, 0]], V: [[1, 2], [2, 3]]}"
    report = mark(problem, "weights: {b: [0.269, 0.731], a: [0.269, 0.731]}")
    assert cells(report, "weights") == [["right"] * 2, ["right"] * 2, ["missing"] * 2]
    assert notes(report) == []
    with pytest.raises(InputError, match=r"no token 'd'.* there are a, b, c"):
        mark(problem, "weights: {d: [0.269, 0.731]}")
    twice = problem.replace("[a, b, c]", "[a, a, c]")
    with pytest.raises(InputError, match="several tokens are called 'a'"):
        mark(twice, "weights: {a: [0.269, 0.731]}")


def test_named_tokens_are_columns_where_tokens_are(mark):
    problem = "{vectors: columns, query_tokens: [a, b], scores: [[1, 0], [2, 1], [3, 5]]}"
    report = mark(problem, "weights: {b: [0.007, 0.018, 0.976]}")
    assert cells(report, "weights") == [["missing", "right"]] * 3
    report = mark(problem, "weights: [[0.090], [0.245], [0.665]]")
    assert cells(report, "weights") == [["right", "missing"]] * 3


def test_an_output_of_the_shape_of_heads_is_told_so(mark):
    problem = "{Q: [[1, 2], [0, 1]], K: [[1, 0], [1, 1]], V: [[1, 2], [3, 4]], heads: 2}"
    report = mark(problem, "output: [[[1], [2]], [[2], [3]]]")
    assert (only(report).verdict, notes(report)) == ("wrong", ["output_is_heads"])


def test_an_empty_list_is_wrong_and_nothing_given_is_missing(mark):
    report = mark("{scores: [[1, 2]], V: [[1], [2]]}", "weights: []\noutput: [[1.731]]")
    assert [step.verdict for step in report.steps] == ["wrong", "right"]


# ------------------------------------------------------------------ claims
@pytest.mark.parametrize(
    ("text", "value", "decimals", "digits", "whole", "exponent", "unit", "claimed"),
    [
        ("0.387", 0.387, 3, 3, False, False, 1e-3, 3),
        ("20", 20.0, 0, 2, True, False, 0.1, 3),
        ("2", 2.0, 0, 1, True, False, 0.01, 3),
        ("200", 200.0, 0, 3, True, False, 1.0, 3),
        ("2000", 2000.0, 0, 4, True, False, 10.0, 3),
        ("0", 0.0, 0, 1, True, False, 0.01, 3),
        ("1.5e3", 1500.0, -2, 2, False, True, 100.0, 2),
        ("2e3", 2000.0, -3, 1, True, True, 10.0, 3),
        ("2e-3", 0.002, 3, 1, True, True, 1e-5, 3),
        ("1.00000000000000", 1.0, 14, 15, False, False, 1e-11, 12),
        ("123.4567890123456", 123.4567890123456, 13, 16, False, False, 1e-9, 12),
    ],
)
def test_what_a_decimal_number_claims(text, value, decimals, digits, whole, exponent, unit, claimed):
    claim = decimal_claim(value, text, decimals=decimals, digits=digits, whole=whole, exponent=exponent)
    assert (claim.unit, claim.digits, claim.exponent, claim.given) == (pytest.approx(unit), claimed, exponent, True)


def test_digits_beyond_the_twelfth_are_not_claimed(mark):
    problem = "{Q: [[0, 0]], K: [[1, 0], [0, 1], [1, 1]]}"
    assert mark(problem, "weights: [[0.3333333333335, 0.33333333333333333, 1/3]]").right
    assert decimal_claim(1 / 3, "0.3333333333333333", decimals=16, digits=16, whole=False, exponent=False).unit == pytest.approx(1e-12)


def test_an_expression_claims_the_fewest_digits_of_its_numbers():
    assert expression_claim(2.72 / 3.72, "2.72/3.72", digits=3).unit == pytest.approx(1e-3)
    assert expression_claim(27.2 / 0.372, "27.2/0.372", digits=3).unit == pytest.approx(0.1)
    assert expression_claim(0.0, "0.0/1.5", digits=2).unit == pytest.approx(0.1)
    assert expression_claim(1 / 3, "", digits=20).digits == 12


def test_an_answer_rounds_on_the_way_as_its_numbers_do():
    plain = answer(
        "weights",
        [decimal_claim(v, t, decimals=d, digits=d, whole=False, exponent=False) for v, t, d in ((0.5, "0.5", 1), (0.25, "0.25", 2))],
    )
    assert plain.rounding == Rounding(0.01)
    assert plain.scientific == Rounding()
    power = answer("weights", [decimal_claim(0.0123, "1.23e-2", decimals=4, digits=3, whole=False, exponent=True)])
    assert power.rounding == power.scientific == Rounding(digits=3)
    assert power.coarsest == pytest.approx(1e-4)
    short = answer("weights", [decimal_claim(0.01, "1.e-2", decimals=2, digits=1, whole=False, exponent=True)])
    assert short.rounding == Rounding(digits=2)
    assert not answer("weights", [exact_claim(1 / 3, "1/3")]).rounding.rounds


def test_numbers_with_exponents_excuse_hidden_steps_rounded_to_as_many_digits(mark):
    problem = "{scores: [[1, 2]], V: [[3000], [5000]]}"  # 4462.1; with weights .27, .73 it is 4460, with .3, .7 4400
    assert cells(mark(problem, "output: [[4.46e3]]"), "output") == [["right"]]
    assert cells(mark(problem, "output: [[4.1e3]]"), "output") == [["wrong"]]


def test_claims_without_numbers():
    assert (math.isnan(unreadable("o.5").value), unreadable("o.5").given, unreadable("o.5").text) == (True, True, "o.5")
    assert (MISSING.given, exact_claim(0.5, "1/2").unit) == (False, 0.0)
    assert shape_of([[1, 2], [3]]) is None
    assert shape_of([[1, 2], [3, 4]]) == (2, 2)
    assert shape_of([]) == (0,)
    assert shape_of({"a": [1]}) is None


# ------------------------------------------------------------------ rounding
@pytest.mark.parametrize(
    ("how", "expected"), [("even", [0.12, 0.14, -0.12, 0.1]), ("up", [0.13, 0.14, -0.13, 0.1]), ("cut", [0.12, 0.13, -0.12, 0.09])]
)
def test_half_a_unit_is_rounded_to_even_or_up_or_cut_off(how, expected):
    values = np.array([0.125, 0.135, -0.125, 0.0999])
    expected = [0.12, 0.13, -0.12, 0.09] if how == "cut" else expected
    assert rounded(values, 0.01, how) == pytest.approx(np.array(expected))


def test_a_tie_is_one_whatever_the_last_bits_say():
    assert rounded(np.array([1.1 * 0.5 / 10 + 0.27]), 0.01, "up") == pytest.approx([0.33])  # 0.325
    assert rounded(np.array([0.3 - 0.1]), 0.1, "cut") == pytest.approx([0.2])  # 0.19999999999999998


def test_hidden_numbers_keep_two_digits_where_proportions_matter():
    values = np.array([0.00123, 4.56, 0.0])
    assert kept_units("exponentials", values, Rounding(0.01)) == pytest.approx([1e-4, 0.01, 0.0])
    assert kept_units("scores", values, Rounding(0.01)) == pytest.approx([0.01] * 3)
    assert kept_units("weights", values, Rounding(0.01)) == pytest.approx([0.01] * 3)
    assert Rounding(0.01, digits=2).units(np.array([0.5, 30.0])) == pytest.approx([0.01, 0.01])
    assert Rounding(digits=2).units(np.array([0.5, 30.0])) == pytest.approx([0.01, 1.0])
    assert unit_of_digit(np.array([999.0, np.inf, 0.0]), 1) == pytest.approx([100, 0, 0])
    step = Marker(Problem(scores=np.array([[0.0, 5.5]]))).truth.step("weights").made
    assert hidden_half(step, "weights", Rounding(0.01)) == pytest.approx(np.array([[5e-5, 5e-3]]))
    assert hidden_half(step, "heads", Rounding(0.01)) == pytest.approx(np.array([[5e-3, 5e-3]]))


def test_near_settles_ties_in_the_writers_favour():
    assert near(np.array([0.5065]), np.array([0.50655]), 0.00005).all()
    assert not near(np.array([0.5065]), np.array([0.506550001]), 0.00005).any()
    assert near(np.array([-np.inf]), np.array([-np.inf]), 0.1).all()
    assert not near(np.array([1.0]), np.array([-np.inf]), 0.1).any()


# ------------------------------------------------------------------ habits
def test_digits_cut_off_on_the_way_are_cut_off_too(mark):
    # 3.7 · 0.27 = 0.999, cut to 0.99 and again to 0.9; the hidden 0.27 is cut from 0.2777
    problem = "{X: [[0.99]], W_V: [[0.99]], W_Q: [[1]], W_K: [[1]], W_O: [[0.99]]}"  # .9801, .970299
    report = mark(problem, "output: [[0.97]]")
    assert only(report).verdict == "right"
    report = mark(problem, "output: [[0.8]]")  # 0.9 · 0.99 = 0.891
    assert (only(report).verdict, notes(report)) == ("rounded", ["cut_off"])


def test_a_row_is_adjusted_by_one_unit_in_as_few_cells_as_it_takes_and_in_order(mark):
    sevenths = "{scores: [[0, 0, 0, 0, 0, 0, 0]]}"
    assert mark(sevenths, "weights: [[0.14, 0.14, 0.14, 0.14, 0.14, 0.15, 0.15]]").right
    assert only(mark(sevenths, "weights: [[0.14, 0.14, 0.14, 0.14, 0.13, 0.15, 0.16]]")).verdict == "wrong"
    assert only(mark(sevenths, "weights: [[0.13, 0.14, 0.14, 0.14, 0.15, 0.15, 0.15]]")).verdict == "wrong"
    problem = "{scores: [[0.02, 0, 0]]}"  # .338, .331, .331 round to .34, .33, .33: a sum of 1
    assert only(mark(problem, "weights: [[0.33, 0.34, 0.33]]")).verdict == "wrong"
    ordered = "{scores: [[0.003, 0, 0]]}"  # .3340, .3330, .3330
    assert mark(ordered, "weights: [[0.34, 0.33, 0.33]]").right
    assert only(mark(ordered, "weights: [[0.33, 0.34, 0.33]]")).verdict == "wrong"


def test_a_habit_is_noted_only_where_it_alone_explains_a_cell(mark):
    report = mark("{scores: [[1, 2, 3]]}", "weights: [[0.0900, 0.2447, 0.6652]]")
    assert (only(report).verdict, notes(report)) == ("right", [])
    single = mark("{Q: [[0, 0]], K: [[1, 0], [0, 1], [1, 1]]}", "weights: [[0.33333340, 0.33333333, 0.33333333]]")
    assert notes(single) == ["single_precision"]
    too_far = mark("{Q: [[0, 0]], K: [[1, 0], [0, 1], [1, 1]]}", "weights: [[0.33333440, 0.33333333, 0.33333333]]")
    assert only(too_far).verdict == "wrong"
    too_few = mark("{Q: [[0, 0]], K: [[1, 0], [0, 1], [1, 1]]}", "weights: [[0.333334, 0.333333, 0.333333]]")
    assert only(too_few).verdict in ("rounded", "wrong")


def test_the_constants_are_those_of_the_contract():
    assert (habits.TIE, habits.MOST_DIGITS, habits.WHOLE_DECIMALS, habits.WHOLE_DIGITS) == (1e-9, 12, 2, 3)
    assert (habits.EXPONENT_DIGITS, habits.KEPT_DIGITS, habits.METHOD_UNITS) == (2, 2, 3)
    assert (habits.SINGLE_DIGITS, habits.SINGLE) == (7, 1e-6)
    assert (habits.E_DECIMALS.start, habits.ROOT_DECIMALS.start) == (3, 2)
    assert (habits.MASKED, habits.DOUBLE_EPSILON) == (-1000, 2.0**-52)


# ------------------------------------------------------------------ what is asked
TWO = Problem(scores=np.array([[1.0, 2.0]]), V=np.array([[1.0], [2.0]]))


def written(**steps):
    def claim(x):
        return [claim(y) for y in x] if isinstance(x, list) else decimal_claim(x, str(x), decimals=3, digits=3, whole=False, exponent=False)

    return [answer(name, claim(value)) for name, value in steps.items()]


RIGHT = {"weights": [[0.269, 0.731]], "output": [[1.731]]}


def test_a_class_is_asked_for_what_more_than_half_of_it_holds():
    marker = Marker(TWO)
    both, one, other = written(**RIGHT), written(output=[[1.731]]), written(row_sums=[10.107], output=[[1.731]])
    assert marker.ask_class([both, one, other]) == ("output",)
    assert marker.ask_class([]) == ("output",)
    assert Marker(TWO).ask_class([both, both, one]) == ("weights", "output")
    assert Marker(TWO).ask_class([written(weights=[[0.269, 0.731]]), one]) == ("weights", "output")  # no step is held by more than half
    assert Marker(TWO, points={"scores": 2.0}).ask_class([both]) == ("scores",)


def test_what_is_given_besides_earns_nothing_and_makes_nothing_wrong():
    marker = Marker(TWO, points={"output": 2.0})
    report = marker.mark(written(weights=[[0.3, 0.7]], output=[[1.731]]))
    assert (report.right, report.complete, report.earned, report.possible, report.first_wrong) == (True, True, 2, 2, None)
    assert [(step.name, step.verdict, step.asked) for step in report.steps] == [("weights", "wrong", False), ("output", "right", True)]
    report = marker.mark(written(weights=[[0.3, 0.7]], output=[[1.7]]))
    assert (report.right, report.earned, report.first_wrong.name) == (False, 2, "weights")  # carried earns, and is no right work
    report = Marker(TWO, points={"output": 2.0}, penalty=0.25).mark(written(weights=[[0.3, 0.7]], output=[[1.7]]))
    assert report.earned == 1.5


def test_the_problem_may_ask_and_points_add_to_it():
    asked = Problem(scores=TWO.scores, V=TWO.V, ask=("weights",))
    report = Marker(asked, points={"output": 3.0}).mark(written(**RIGHT))
    assert (report.earned, report.possible) == (4, 4)
    report = Marker(asked).mark(written(output=[[1.731]]))
    assert (report.complete, report.earned, report.possible) == (False, 0, 1)
    with pytest.raises(InputError, match="no step 'concat'|no step"):
        Marker(asked, points={"hidden": 1.0})


def test_an_answer_under_another_name_of_the_same_value_is_what_was_asked():
    report = Marker(TWO, points={"tempered": 2.0}).mark(written(scores=[[1.0, 2.0]]))
    assert (report.earned, report.possible, report.complete) == (2, 2, True)


def test_nothing_to_mark_is_an_input_error():
    with pytest.raises(InputError, match="holds no answer"):
        Marker(TWO).mark([answer("weights", [[MISSING, MISSING]])])


def test_a_report_finds_a_step_by_name_or_symbol_and_knows_its_content():
    first, second = (Marker(TWO).mark(written(**RIGHT)) for _ in range(2))
    assert first["A"].name == first["weights"].name == "weights"
    assert first.content == second.content
    assert first.content != Marker(TWO).mark(written(weights=[[0.269, 0.731]])).content
    array = Marker(TWO).mark([array_answer("weights", np.array([[0.269, 0.731]]))])
    assert array.content not in (first.content, "")
    assert (first["weights"].size, first["weights"].array, array["weights"].array) == (2, False, True)
    assert first["weights"].counts == {"right": 2}


def test_the_mask_takes_part_in_what_need_not_be_written():
    problem = Problem(scores=np.zeros((2, 2)), bias=np.array([[0.0, -np.inf], [0.0, 0.0]]), mask=Mask())
    report = Marker(problem).mark(
        [answer("weights", [[decimal_claim(1.0, "1.0", decimals=1, digits=2, whole=False, exponent=False)], [exact_claim(0.5, "1/2")] * 2])]
    )
    assert (report.right, report.complete) == (True, True)
