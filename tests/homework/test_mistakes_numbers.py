"""Mistakes in numbers that one can follow: problems and answers as people write them, and the name each gets."""

import numpy as np
import pytest

import attn_cli
from attn_cli.engine.problem import Mask, Problem
from attn_cli.homework.mistakes.hidden import NOT_ASKED, SAME_NUMBERS, TOO_FEW_DIGITS, hidden_mistakes, indistinguishable
from attn_cli.homework.mistakes.slips import PLACES, SLIPS, Seen

TWO = "{scores: [[1, 2, 3], [0, 0, 1]], V: [[1, 0], [0, 1], [2, 2]]"


@pytest.mark.parametrize(
    ("problem", "answers", "names"),
    [
        ("{Q: [[1, 2]], K: [[1, 1], [0, 1]], V: [[10], [20]]}", "output: [[14.0]]", ["no_exponentials"]),
        (TWO + "}", "weights: [[0.665, 0.245, 0.090], [0.422, 0.422, 0.155]]", ["negative_exponent"]),
        (TWO + "}", "exponentials: [[2, 4, 8], [1, 1, 2]]", ["base_2"]),
        (TWO + "}", "exponentials: [[10, 100, 1000], [1, 1, 10]]", ["base_10"]),
        (TWO + "}", "exponentials: [[2.7, 7.29, 19.683], [1, 1, 2.7]]", ["constant_rounded"]),
        (TWO + "}", "weights: [[0.731, 0.881, 0.953], [0.500, 0.500, 0.731]]", ["sigmoid"]),
        (TWO + "}", "weights: [[-2.408, -1.408, -0.408], [-1.551, -1.551, -0.551]]", ["log_softmax"]),
        (TWO + "}", "output: [[1.000, 1.000], [1.000, 1.000]]", ["uniform"]),
        (TWO + ", temperature: 2}", "tempered: [[2, 4, 6], [0, 0, 2]]", ["temperature_multiplied"]),
        (TWO + ", mode: hard}", "weights: [[1, 0, 0], [1, 0, 0]]", ["argmin"]),
        ("{Q: [[1, 0], [0, 2]], K: [[1, 1], [2, 1]], score: dot}", "scores: [[0.707, 1.414], [1.414, 1.414]]", ["dot_scaled"]),
        ("{Q: [[1, 0], [0, 2]], K: [[1, 1], [2, 1]]}", "scores: [[1.414, 2.828], [2.828, 2.828]]", ["scale_multiplied"]),
        ("{Q: [[1, 2]], K: [[3, 4], [0, 1]], score: cosine}", "scores: [[11, 2]]", ["norms_forgotten"]),
        (
            "{Q: [[1, 2]], K: [[3, 4], [0, 1]], score: general, general: {W: [[1, 2], [0, 1]]}}",
            "scores: [[11, 2]]",
            ["general_W_forgotten"],
        ),
        ("{Q: [[1, 2]], K: [[3, 4], [0, 1]], score: general, general: {W: [[1, 2], [0, 1]]}}", "scores: [[19, 4]]", None),
        ("{Q: [[1, 2]], K: [[3, 4], [0, 1]], score: general, general: {W: [[1, 2], [0, 1]]}}", "scores: [[23, 4]]", ["one_cell"]),
        ("{Q: [[1, 2]], K: [[3, 4], [0, 1]], score: general, general: {W: [[1, 2], [0, 1]]}}", "scores: [[23, 2]]", ["W_transposed"]),
        ("{X: [[1, 2], [3, 4]], scores: [[0, 0], [0, 0]]}", "output: [[3, 5], [5, 7]]", ["residual_added"]),
    ],
)
def test_a_mistake_is_named_and_nothing_else_is(mark, problem, answers, names):
    if names is None:
        assert mark(problem, answers).right
    elif "residual_added" in names:
        given = Problem(X=np.array([[1.0, 2], [3, 4]]), W_Q=np.zeros((2, 2)), W_K=np.eye(2), W_V=np.eye(2))
        mistake = attn_cli.check(given, {"output": [["3.0", "5.0"], ["5.0", "7.0"]]}).first_wrong.mistake
        assert [mistake.code, *mistake.also] == names
    else:
        mistake = mark(problem, answers).first_wrong.mistake
        assert [mistake.code, *mistake.also] == names


CAUSAL = "{scores: [[1, 2, 0], [0, 1, 3], [0.5, 0, 1]], mask: causal}"


@pytest.mark.parametrize(
    ("code", "weights"),
    [
        ("wrong_triangle", "[[0.245, 0.665, 0.090], [0, 0.119, 0.881], [0, 0, 1]]"),
        ("mask_off_by_one", "[[0.269, 0.731, 0], [0.042, 0.114, 0.844], [0.307, 0.186, 0.506]]"),
        ("mask_ignored", "[[0.245, 0.665, 0.090], [0.042, 0.114, 0.844], [0.307, 0.186, 0.506]]"),
        ("mask_after_softmax", "[[0.245, 0, 0], [0.042, 0.114, 0], [0.307, 0.186, 0.506]]"),
    ],
)
def test_what_was_done_to_a_causal_mask_is_named(mark, code, weights):
    assert mark(CAUSAL, f"weights: {weights}").first_wrong.mistake.code == code
    matrix = CAUSAL.replace("causal", "[[1, 0, 0], [1, 1, 0], [1, 1, 1]]")
    assert mark(matrix, f"weights: {weights}").first_wrong.mistake.code == code


def test_of_mistakes_that_give_a_step_alike_the_one_that_gives_the_later_steps_too_is_named(mark):
    unmasked = "scores: [[1.0, 2.0, 0.0], [0.0, 1.0, 3.0], [0.5, 0.0, 1.0]]\n"
    ignored = mark(CAUSAL, unmasked + "weights: [[0.245, 0.665, 0.090], [0.042, 0.114, 0.844], [0.307, 0.186, 0.506]]")
    after = mark(CAUSAL, unmasked + "weights: [[0.245, 0, 0], [0.042, 0.114, 0], [0.307, 0.186, 0.506]]")
    assert [report.first_wrong.mistake.code for report in (ignored, after)] == ["mask_ignored", "mask_after_softmax"]


def test_a_mistake_is_named_beside_a_slip_in_the_same_step(mark):
    grid = "{Q: [[1, 0], [0, 2], [1, 1]], K: [[1, 1], [2, 1], [0, 3]]}"
    report = mark(grid, "scores: [[1, 2, 0], [2, 2, 6], [2, 5, 3]]")  # not scaled, and one 3 copied as 5
    assert (report.first_wrong.mistake.code, report.first_wrong.mistake.also) == ("no_scale", ("one_cell",))


def test_an_explanation_holds_the_problem_as_the_mistake_works_it(mark):
    found = mark("{Q: [[1, 2]], K: [[1, 1], [0, 1]], V: [[10], [20]]}", "weights: [[0.73, 0.27]]").first_wrong.mistake
    assert (found.code, found.at) == ("no_scale", "scores")
    np.testing.assert_allclose(found.made["scores"], [[3, 2]])
    np.testing.assert_allclose(found.made["weights"], [[0.7310586, 0.2689414]], atol=1e-6)


def test_cells_that_cannot_be_read_are_no_mistake_of_method(mark):
    report = mark("{scores: [[0, 1], [1, 0]]}", "weights: [[0.27, o.73], [0.73, 0.27]]")
    assert not report.right
    assert report.first_wrong.mistake is None


# ------------------------------------------------------------------ slips of writing
OURS = np.array([[0.123, 0.456], [0.789, 0.321], [0.654, 0.987]])


def seen(theirs, unit=0.001):
    theirs = np.array(theirs)
    wrong = np.abs(theirs - OURS) > unit / 2
    return Seen(OURS, theirs, np.full(OURS.shape, unit), np.full(OURS.shape, 3), wrong)


@pytest.mark.parametrize(
    ("theirs", "names"),
    [
        ([[0.654, 0.987], [0.123, 0.456], [0.789, 0.321]], ["rows_shifted"]),
        ([[0.789, 0.321], [0.654, 0.987], [0.123, 0.456]], ["rows_shifted"]),
        ([[0.789, 0.321], [0.123, 0.456], [0.654, 0.987]], ["rows_swapped"]),
        ([[0.456, 0.123], [0.789, 0.321], [0.654, 0.987]], ["cells_swapped", "one_row"]),
        ([[-0.123, 0.456], [0.789, 0.321], [0.654, 0.987]], ["sign", "one_cell"]),
        ([[1.23, 0.456], [0.789, 0.321], [0.654, 0.987]], ["decimal_point", "one_cell"]),
        ([[0.012, 0.456], [0.789, 0.321], [0.654, 0.987]], ["decimal_point", "one_cell"]),
        ([[0.001, 0.456], [0.789, 0.321], [0.654, 0.987]], ["one_cell"]),
        ([[0.132, 0.456], [0.789, 0.321], [0.654, 0.987]], ["digits_swapped", "one_cell"]),
        ([[0.321, 0.456], [0.789, 0.321], [0.654, 0.987]], ["one_cell"]),
        ([[0.124, 0.456], [0.789, 0.321], [0.654, 0.987]], ["last_digit", "one_cell"]),
        ([[0.125, 0.456], [0.789, 0.321], [0.654, 0.987]], ["one_cell"]),
        ([[0.124, 0.455], [0.788, 0.321], [0.654, 0.987]], ["last_digit"]),
        ([[0.5, 0.9], [0.789, 0.321], [0.654, 0.987]], ["one_row"]),
    ],
)
def test_a_slip_of_writing_is_seen_in_the_numbers(theirs, names):
    looks = seen(theirs)
    assert [code for table in (SLIPS, PLACES) for code, looks_so in table.items() if looks_so(looks)] == names


def test_a_last_digit_of_two_significant_digits_is_no_slip_of_rounding():
    looks = seen([[0.124, 0.456], [0.789, 0.321], [0.654, 0.987]])
    assert PLACES["last_digit"](looks)
    assert not PLACES["last_digit"](Seen(looks.ours, looks.theirs, looks.unit, np.full(OURS.shape, 2), looks.wrong))


def test_a_single_row_written_as_a_column_is_not_transposed():
    row = np.array([[0.1, 0.9]])
    across = Seen(row, row.T, np.full((2, 1), 0.1), np.full((2, 1), 2), np.ones((2, 1), bool))
    assert not SLIPS["answer_transposed"](across)


# ------------------------------------------------------------------ what a problem hides
SYMMETRIC = Problem(X=np.array([[1.0, 2], [3, 1]]), W_Q=np.eye(2), W_K=np.array([[1.0, 2], [2, 5]]), W_V=np.eye(2), mask=Mask(causal=True))


def test_mistakes_that_change_nothing_are_hidden():
    hidden = {each.code: each.why for each in hidden_mistakes(SYMMETRIC, 4)}
    assert hidden["W_transposed"] == SAME_NUMBERS
    assert hidden["scale_sqrt_n"] == SAME_NUMBERS  # two tokens and a width of two
    assert "no_scale" not in hidden
    assert "mask_ignored" not in hidden


def test_mistakes_that_change_less_than_the_digits_show_are_hidden():
    flat = Problem(scores=np.array([[0.001, 0.002, 0.003]]), V=np.array([[1.0], [1.0], [1.1]]))
    found = {each.code: each for each in hidden_mistakes(flat, 2, ["weights", "output"])}
    assert (found["uniform"].why, found["base_2"].why) == (TOO_FEW_DIGITS, TOO_FEW_DIGITS)
    assert 0 < found["base_2"].largest < 0.005
    assert "base_2" not in {each.code for each in hidden_mistakes(flat, 6)}


def test_mistakes_of_steps_that_nobody_asks_for_are_hidden():
    plain = Problem(Q=np.array([[1.0, 2]]), K=np.array([[1.0, 1], [0, 1]]), V=np.array([[10.0], [20.0]]))
    found = {each.code: each.why for each in hidden_mistakes(plain, 4, ["scores"])}
    assert found["not_normalised"] == NOT_ASKED
    assert "no_scale" not in found


def test_mistakes_that_look_alike_stand_in_one_group():
    plain = Problem(Q=np.array([[1.0, 2], [2, 1]]), K=np.array([[1.0, 1], [0, 1]]), V=np.array([[10.0], [20.0]]))
    groups = indistinguishable(plain, 4)
    assert any({"scale_d_k", "scale_twice"} <= set(group) for group in groups)
    assert not any({"no_scale", "scale_d_k"} <= set(group) for group in groups)
