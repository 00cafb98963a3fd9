"""What is right, rounded, carried, wrong and missing."""

import pytest

SMALL = """
Q: [[1, 2], [0, 1], [2, 0]]
K: [[1, 1], [0, 1], [1, 0]]
V: [[10, 0], [0, 10], [5, 5]]
"""
ROUNDING = """
Q: [[1.2, 0.7], [0.3, -1.1], [2, 0.4]]
K: [[0.9, 1.3], [-0.6, 0.8], [1.7, -0.2]]
V: [[10, 200], [30, -100], [50, 60]]
"""
THIRDS = """
Q: [[0, 0]]
K: [[1, 0], [0, 1], [1, 1]]
V: [[1], [2], [3]]
"""
HEADS = """
X: [[1, 0, 2, -1], [0, 1, 1, 0], [2, -1, 0, 1]]
W_Q: [[1, 0, 1, 0], [0, 1, 0, 1], [1, 1, 0, 0], [0, 0, 1, 1]]
W_K: [[0, 1, 1, 0], [1, 0, 0, 1], [1, 0, 1, 0], [0, 1, 0, 1]]
W_V: [[1, 2, 0, 1], [0, 1, 1, 0], [2, 0, 1, 1], [1, 1, 0, 2]]
heads: 2
"""
MASKED = "{Q: [[1, 0], [0, 2]], K: [[1, 1], [0, 1]], V: [[1, 2], [3, 4]], mask: [[1, 0], [0, 1]]}"


def cells(report, step):
    return next(s.cells for s in report.steps if s.name == step)


def verdicts(report):
    return {step.name: step.verdict for step in report.steps}


def mistakes(report):
    return {step.name: step.mistake.code for step in report.steps if step.mistake is not None}


def notes(report):
    return [note.code for step in report.steps for note in step.notes]


# ------------------------------------------------------------------ rounding
def test_rounding_every_step_by_hand_is_not_wrong(mark):
    report = mark(
        ROUNDING,
        """
scores: [[1.41, -0.11, 1.34], [-0.82, -0.75, 0.52], [1.64, -0.62, 2.35]]
weights: [[0.46, 0.1, 0.43], [0.17, 0.18, 0.65], [0.32, 0.03, 0.65]]
output: [[29.1, 107.8], [39.6, 55], [36.6, 100]]
""",
    )
    assert verdicts(report) == {"scores": "right", "weights": "rounded", "output": "rounded"}
    assert report.right
    assert mistakes(report) == {}


def test_a_slip_among_rounded_numbers_costs_its_own_cell_only(mark):
    report = mark(
        ROUNDING,
        """
scores: [[1.41, -0.11, 1.34], [-0.82, -0.75, 0.52], [1.64, -0.62, 2.35]]
weights: [[0.46, 0.1, 0.43], [0.17, 0.18, 0.65], [0.32, 0.03, 0.65]]
output: [[29.1, 117.8], [39.6, 55], [36.6, 100]]
""",
    )
    assert [row.count("wrong") for row in cells(report, "output")] == [1, 0, 0]
    assert mistakes(report) == {"output": "one_cell"}


def test_hidden_steps_may_be_rounded_to_the_digits_of_the_answer_and_to_no_fewer(mark):
    problem = ROUNDING.replace("[1.2, 0.7], ", "")
    assert verdicts(mark(problem, "output: [[39.60, 55.00], [36.60, 100.00]]")) == {"output": "rounded"}
    assert mistakes(mark(problem, "output: [[39.6000, 55.0000], [36.6000, 100.0000]]")) == {"output": "rounded_too_early"}


def test_digits_cut_off_are_forgiven_with_a_note(mark):
    report = mark(THIRDS.replace("[1, 1]", "[2, 2]").replace("[0, 0]", "[1, 0]"), "weights: [[0.284, 0.140, 0.575]]")
    assert report.right
    assert notes(report) == ["cut_off"]


def test_single_precision_is_forgiven_with_a_note(mark):
    report = mark(THIRDS, "weights: [[0.33333340, 0.33333333, 0.33333333]]")
    assert cells(report, "weights") == [["rounded", "right", "right"]]
    assert notes(report) == ["single_precision"]


def test_small_numbers_among_those_of_single_precision_have_as_many_decimals_and_fewer_digits(mark):
    report = mark("{Q: [[1]], K: [[0.5], [0.00202]], score: dot}", "scores: [[0.49999997, 0.00202001]]")
    assert cells(report, "scores") == [["rounded", "rounded"]]
    assert notes(report) == ["single_precision"]
    assert cells(mark("{Q: [[1]], K: [[0.5], [0.00202]], score: dot}", "scores: [[0.5, 0.00202001]]"), "scores") == [["right", "wrong"]]


def test_row_sums_that_were_not_handed_in_may_be_rounded_in_an_output_too(mark):
    report = mark("{Q: [[1]], K: [[0.3]], V: [[160]], score: dot}", "output: [[159.98]]")  # 1.34986 / 1.35 · 160
    assert verdicts(report) == {"output": "rounded"}


@pytest.mark.parametrize(
    ("problem", "weights", "first_row"),
    [
        ("{Q: [[-2, -1]], K: [[2, 2], [1, 3]]}", "[[0.50, 0.50]]", ["wrong", "wrong"]),  # .33, .67
        ("{scores: [[-4, 0], [0, 1]], mask: causal}", "[[1.30, 0.00], [0.27, 0.73]]", ["wrong", "right"]),
        ("{scores: [[-4, 0], [0, 1]], mask: causal}", "[[0.80, 0.00], [0.27, 0.73]]", ["wrong", "right"]),
        ("{scores: [[-10, -12]]}", "[[0.12, 0.88]]", ["wrong", "wrong"]),  # .88, .12
        ("{Q: [[-2, -2]], K: [[2, 2], [1, 3], [3, 2]]}", "[[0.60, 0.30, 0.10]]", ["wrong", "wrong", "rounded"]),  # .446, .446, .108
        ("{Q: [[-2, -3]], K: [[1, 1], [2, 1]]}", "[[0.95, 0.20]]", ["wrong", "right"]),  # .804, .196
    ],
)
def test_the_exponentials_of_very_negative_scores_are_not_rounded_to_so_many_decimals(mark, problem, weights, first_row):
    assert cells(mark(problem, f"weights: {weights}"), "weights")[0] == first_row


def test_exponentials_somewhat_below_one_may_be_rounded_on_the_way(mark):
    report = mark("{scores: [[-0.93, -1.36]]}", "weights: [[0.60, 0.40]]")  # 0.39 / 0.65; the truth is .606, .394
    assert cells(report, "weights") == [["rounded", "rounded"]]
    assert mark("{scores: [[-2.5, -4]]}", "weights: [[0.820, 0.180]]").right  # 0.082 / 0.100; the truth is .818, .182


@pytest.mark.parametrize("output", ["0.24", "0.26"])
def test_half_a_unit_may_be_rounded_up_or_to_even_on_the_way(mark, output):
    # a hidden score of 0.125 is 0.12 to even and 0.13 up; the truth is 0.25, which both are off by a unit of the last digit
    assert cells(mark("{X: [[1]], W_V: [[0.125]], W_Q: [[1]], W_K: [[1]], W_O: [[2]]}", f"output: [[{output}]]"), "output") == [["rounded"]]


@pytest.mark.parametrize("exponentials", ["", "exponentials: [[0.00, 0.00]]"])
@pytest.mark.parametrize("row_sums", ["", "row_sums: [0.00]"])
def test_weights_that_are_all_zero_belong_to_a_row_that_may_attend_to_nothing(mark, exponentials, row_sums):
    beside = f"{exponentials}\n{row_sums}"
    problem = "{scores: [[-6, -7]], V: [[1], [2]]}"
    report = mark(problem, f"{beside}\nweights: [[0.00, 0.00]]\noutput: [[0.00]]")
    assert (verdicts(report)["weights"], verdicts(report)["output"]) == ("wrong", "wrong")
    assert mark(problem, f"{beside}\nweights: [[0.73, 0.27]]\noutput: [[1.27]]").right
    assert mark("{scores: [[-6, -7]], V: [[1], [2]], mask: [[0, 0]]}", f"{beside}\nweights: [[0.00, 0.00]]\noutput: [[0.00]]").right


def test_the_weight_of_the_only_key_is_one_however_small_its_exponential(mark):
    assert cells(mark("{scores: [[-6, 0]], mask: [[1, 0]]}", "exponentials: [[0.00, 0]]\nweights: [[0.00, 0]]"), "weights") == [
        ["wrong", "right"]
    ]


def test_weights_adjusted_to_add_up_to_one_are_forgiven_with_a_note(mark):
    report = mark(THIRDS, "weights: [[0.3333, 0.3333, 0.3334]]")
    assert cells(report, "weights") == [["right", "right", "rounded"]]
    assert notes(report) == ["adjusted"]


def test_a_whole_number_among_weights_claims_two_decimals(mark):
    problem = "{scores: [[-0.75, 1.25, -0.95, 2.05, -0.85]]}"  # .04, .28, .03, .62, .03
    report = mark(problem, "weights: [[0.0, 0.3, 0.0, 0.7, 0.0]]")
    assert cells(report, "weights") == [["right", "right", "right", "rounded", "right"]]
    assert notes(report) == ["adjusted"]
    assert cells(mark(problem, "weights: [[0, 0.3, 0.0, 0.6, 0.0]]"), "weights") == [["wrong", "right", "right", "right", "right"]]


def test_weights_adjusted_by_more_than_a_unit_are_wrong(mark):
    assert cells(mark(THIRDS, "weights: [[0.3333, 0.3331, 0.3336]]"), "weights") == [["right", "wrong", "wrong"]]


def test_exponentials_less_the_row_maximum_are_right_with_a_note(mark):
    report = mark(
        "{scores: [[1, 2, 3], [0, 0, 1]]}",
        "exponentials: [[0.1353, 0.3679, 1], [0.3679, 0.3679, 1]]\nrow_sums: [1.5032, 1.7358]\n"
        "weights: [[0.0900, 0.2447, 0.6652], [~, ~, ~]]",
    )
    assert verdicts(report) == {"exponentials": "right", "row_sums": "right", "weights": "right"}
    assert "minus_max" in notes(report)


def test_a_row_that_may_attend_to_nothing_stays_zero_where_the_row_maximum_is_subtracted(mark):
    report = mark(
        "{scores: [[1, 2, 3], [1, 2, 3]], mask: [[1, 1, 1], [0, 0, 0]]}",
        "exponentials: [[0.1353, 0.3679, 1], [0, 0, 0]]\nrow_sums: [1.5032, 0]\nweights: [[0.0900, 0.2447, 0.6652], [0, 0, 0]]",
    )
    assert verdicts(report) == {"exponentials": "right", "row_sums": "right", "weights": "right"}


# ------------------------------------------------------------------ what is claimed
@pytest.mark.parametrize("written", ["1/3", "2/6", '"1 / 3"', "33%", "0.33", ".333", "0.3333333333333333"])
def test_a_third_may_be_written_in_many_ways(mark, written):
    assert mark(THIRDS, f"weights: [[{written}, 1/3, 1/3]]").right


def test_a_fraction_is_exact_so_one_that_is_only_near_is_wrong(mark):
    assert cells(mark(THIRDS, "weights: [[333/1000, 1/3, 1/3]]"), "weights") == [["wrong", "right", "right"]]


@pytest.mark.parametrize("others", ["[2, 3]", "[2.00000, 3.00000]", "[2.0, 3.0]", "[~, ~]"])
@pytest.mark.parametrize("near", ["5/3, 8/3", "17/10, 27/10"])
def test_what_is_exact_is_not_forgiven_for_the_digits_beside_it(mark, near, others):
    problem = "{Q: [[1, 0], [0, 2]], K: [[1, 1], [0, 1]], V: [[1, 2], [3, 4]]}"  # the output's first row: 1.66048, 2.66048
    assert cells(mark(problem, f"output: [[{near}], {others}]"), "output")[0] == ["wrong", "wrong"]
    assert mark(problem, "weights: [[0.7, 3/10], [.5, .5]]").first_wrong.first_wrong == (0, 1)


def test_a_whole_number_claims_two_decimals_or_three_digits(mark):
    problem = "{Q: [[0, 0]], K: [[1, 0], [0, 1]], V: [[20.04, 2.004, 2.02], [20.04, 2.004, 2.02]]}"
    assert cells(mark(problem, "output: [[20, 2, 2]]"), "output") == [["right", "right", "wrong"]]


def test_the_tolerance_includes_its_boundary_in_decimals(mark):
    problem = "{Q: [[0, 0]], K: [[1, 0], [0, 1]]}"
    assert mark(problem, "weights: [[0.510, 0.490]]", tol=0.01).right
    assert not mark(problem, "weights: [[0.511, 0.489]]", tol=0.01).right
    assert not mark(problem, "weights: [[0.510, 0.490]]").right


@pytest.mark.parametrize(
    ("written", "verdict"), [("-inf", "right"), ("-∞", "right"), ("-1e9", "right"), ("-1000", "right"), ("-999", "wrong")]
)
def test_a_masked_score_is_any_number_up_to_minus_a_thousand(mark, written, verdict):
    assert cells(mark(MASKED, f"scores: [[0.7071, {written}], [-inf, 1.4142]]"), "scores")[0][1] == verdict


def test_not_a_number_is_wrong_and_nothing_is_missing(mark):
    report = mark("{scores: [[1, 2, 3], [0, 0, 1]]}", "weights: [[0.0900, .nan, 0.6652], [~, null, 0.5761]]")
    assert cells(report, "weights") == [["right", "wrong", "right"], ["missing", "missing", "right"]]
    assert not report.complete


# ------------------------------------------------------------------ carried
def test_what_follows_from_a_slip_is_carried_not_wrong(mark):
    report = mark(
        SMALL,
        "scores: [[2.1213, 1.4142, 0.7071], [0.7071, 0.7071, 0], [1.4142, 1, 1.4142]]\n"
        "weights: [[0.5760, 0.2840, 0.1400], [0.4011, 0.4011, 0.1978], [0.3758, 0.2484, 0.3758]]\n"
        "output: [[6.4599, 3.5401], [5.0000, 5.0000], [5.637, 4.363]]",
    )
    assert verdicts(report) == {"scores": "wrong", "weights": "carried", "output": "carried"}
    assert cells(report, "weights")[:2] == [["right"] * 3, ["right"] * 3]
    assert (report.first_wrong.name, report.first_wrong.first_wrong) == ("scores", (2, 1))


def test_equal_numbers_everywhere_earn_nothing_downstream(mark):
    report = mark(SMALL, "weights: [[0, 0, 0], [0, 0, 0], [0, 0, 0]]\noutput: [[0, 0], [0, 0], [0, 0]]")
    assert verdicts(report) == {"weights": "wrong", "output": "wrong"}


def test_a_slip_in_one_row_leaves_the_other_rows_alone(mark):
    report = mark(SMALL, "weights: [[0.5760, 0.2840, 0.1400], [0.5, 0.3, 0.2], [~, ~, ~]]\noutput: [[6.4599, 3.5401], [6.0, 4.0], [~, ~]]")
    assert cells(report, "output") == [["right", "right"], ["carried", "carried"], ["missing", "missing"]]


def test_what_follows_from_scores_closed_by_mistake_is_carried(mark):
    report = mark(
        "{Q: [[1, 1], [0, 2]], K: [[1, 0], [1, 1]], V: [[1, 2], [3, 4]], score: dot, mask: causal}",
        "scores: [[-inf, 2], [-inf, -inf]]\nexponentials: [[0, 7.389], [0, 0]]\nrow_sums: [7.389, 0]\n"
        "weights: [[0, 1], [0, 0]]\noutput: [[3, 4], [0, 0]]",
    )
    assert verdicts(report) == {"scores": "wrong"} | dict.fromkeys(("exponentials", "row_sums", "weights", "output"), "carried")
    assert mistakes(report) == {"scores": "mask_flipped"}


@pytest.mark.parametrize(
    ("problem", "answers", "slip"),
    [
        # 1 / (1 + exp(-1.2)) = 0.7685, but 7.39 / 9.62 = 0.7682
        (
            "{Q: [[1.5, 0.5]], K: [[1, 1], [0.2, 1]]}",
            "scores: [[2.00, 0.80]]\nexponentials: [[7.39, 2.23]]\nweights: [[0.7685, 0.2315]]",
            "no_scale",
        ),
        # 1 / (1 + exp(1.234)) = 0.2255, but 1 / (1 + exp(1.24)) = 0.2244
        (
            "{Q: [[1.234]], K: [[1], [2]], score: dot, mask: {lengths: 1}}",
            "scores: [[1.23, 2.47]]\nweights: [[0.2255, 0.7745]]",
            "mask_ignored",
        ),
    ],
)
def test_a_slip_carried_on_with_more_digits_than_were_written_is_told_once(mark, problem, answers, slip):
    report = mark(problem, answers)
    assert verdicts(report)["weights"] == "carried"
    assert mistakes(report) == {"scores": slip}


# ------------------------------------------------------------------ shapes and names
@pytest.mark.parametrize("answer", ["[[0.5760, 0.2840], [0.4011, 0.4011]]", "[0.5760, 0.2840, 0.1400]", "0.5", "[[0.5, 0.5], [1]]", "[]"])
def test_a_wrong_shape_is_wrong_and_has_no_first_cell(mark, answer):
    report = mark(SMALL, f"weights: {answer}\noutput: [[6.4599, 3.5401], [5, 5], [6.6871, 3.3129]]")
    assert verdicts(report) == {"weights": "wrong", "output": "right"}
    assert report.first_wrong.first_wrong is None


def test_an_empty_last_column_is_not_given_or_is_none(mark):
    problem = "{Q: [[1, 0], [0, 2]], K: [[1, 1], [0, 1]], V: [[1, 2], [3, 4]]}"
    assert cells(mark(problem, "weights: [[0.67, ~], [0.5, ~]]"), "weights") == [["right", "missing"]] * 2
    report = mark(problem, "weights: [[0.67, 0.33, ~], [0.5, 0.5, ~]]")
    assert cells(report, "weights") == [["right", "right"]] * 2
    assert notes(report) == ["empty_column"]
    assert cells(mark(problem, "weights: [[0.67, 0.33, ~], [0.5, 0.5, 0]]"), "weights")[0] == ["wrong", "wrong", "missing"]


def test_a_flat_list_stands_for_a_step_of_one_row(mark):
    assert mark(THIRDS, "weights: [1/3, 0.33, 0.3333]").right


def test_a_row_or_a_head_may_be_left_out_whole(mark):
    problem = "{Q: [[1, 0], [0, 1]], K: [[1, 1], [1, 1]], V: [[1, 2], [3, 4]]}"
    report = mark(problem, "weights: [[0.5, 0.5], null]\noutput: [~, [2, 3.5]]")
    assert cells(report, "weights") == [["right", "right"], ["missing", "missing"]]
    assert cells(report, "output") == [["missing", "missing"], ["right", "wrong"]]
    assert (report.first_wrong.first_wrong, report.complete) == ((1, 1), False)
    second = "[[0.0143, 0.9857, 0.0000], null, [0.0143, 0.0000, 0.9857]]"
    report = mark(HEADS, f"weights: [null, {second}]")
    assert cells(report, "weights")[0] == [["missing"] * 3] * 3
    assert cells(report, "weights")[1][1] == ["missing"] * 3
    assert verdicts(mark(problem, "weights: [0.5, null]")) == {"weights": "wrong"}


def test_a_bare_number_stands_for_a_step_of_one_cell(mark):
    problem = "{Q: [[1, 0]], K: [[2, 1], [1, 1], [0, 3]], V: [[1], [2], [3]], score: dot}"
    report = mark(problem, "row_sums: 11.107\noutput: 1.425")
    assert (cells(report, "row_sums"), cells(report, "output")) == (["right"], [["right"]])
    assert mark(problem, "output: 1.900").first_wrong.first_wrong == (0, 0)


def test_with_heads_q_k_and_v_may_be_joined_or_cut(mark):
    joined = "Q: [[3, 2, 0, -1], [1, 2, 0, 1], [2, -1, 3, 0]]\nK: [[2, 0, 3, -1], [2, 0, 1, 1], [-1, 3, 2, 1]]"
    report = mark(HEADS, joined)
    assert verdicts(report) == {"Q": "right", "K": "wrong"}
    assert report.first_wrong.first_wrong == (2, 3)
    assert mistakes(report) == {"K": "one_cell"}
    assert mark(HEADS, "Q: [[[3, 2], [1, 2], [2, -1]], [[0, -1], [0, 1], [3, 0]]]").right


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("raw_scores", "[[2.1213, 1.4142, 0.7071], [0.7071, 0.7071, 0], [1.4142, 0, 1.4142]]"),
        ("capped", "[[2.1213, 1.4142, 0.7071], [0.7071, 0.7071, 0], [1.4142, 0, 1.4142]]"),
        ("tempered", "[[2.1213, 1.4142, 0.7071], [0.7071, 0.7071, 0], [1.4142, 0, 1.4142]]"),
        ("concat", "[[6.4599, 3.5401], [5, 5], [6.6871, 3.3129]]"),
    ],
)
def test_a_step_that_changes_nothing_is_marked_under_its_own_name(mark, name, value):
    assert verdicts(mark(SMALL, f"{name}: {value}")) == {name: "right"}


def test_a_slip_in_a_step_that_changes_nothing_is_carried_into_the_next(mark):
    report = mark(
        SMALL,
        "raw_scores: [[2.1213, 1.4142, 0.7071], [0.7071, 0.7071, 0.5], [1.4142, 0, 1.4142]]\n"
        "scores: [[2.1213, 1.4142, 0.7071], [0.7071, 0.7071, 0.5], [1.4142, 0, 1.4142]]",
    )
    assert verdicts(report) == {"raw_scores": "wrong", "scores": "carried"}


def test_columns_are_marked_as_they_are_written(mark):
    report = mark("{vectors: columns, Q: [[1, 0], [2, 1]], K: [[1, 0, 1], [1, 1, 0]]}", "products: [[3, 1], [2, 1], [1, 7]]")
    assert cells(report, "products") == [["right", "right"], ["right", "right"], ["right", "wrong"]]
    assert report.first_wrong.first_wrong == (2, 1)


def test_a_step_that_this_problem_does_not_have_is_an_error_that_lists_those_it_has(mark):
    with pytest.raises(Exception, match=r"no step 'hidden'.* there are Q, K, V, products"):
        mark(SMALL, "hidden: [[1]]")


def test_a_hard_choice_copies_the_value_row_as_written(mark):
    report = mark(
        "{Q: [[1, 0]], K: [[2, 0], [0, 1]], V: [[1.236, 2], [3, 4]], mode: hard}",
        "V: [[1.24, 2], [3, 4]]\nweights: [1, 0]\noutput: [1.240, 2]",
    )
    assert verdicts(report) == {"V": "right", "weights": "right", "output": "rounded"}


def test_exponentials_of_scores_near_zero_are_not_taken_for_lessened_ones(mark):
    report = mark(
        "{scores: [[-0.5353246, -0.5285577, -0.0154604], [-0.21, 0.23, 0.44]], bias: [[0, 0, 0], [0, 0, 0]]}",
        "scores: [[-0.54, -0.53, -0.02], [-0.21, 0.23, 0.44]]\nexponentials: [[0.59, 0.59, 0.98], [0.81, 1.26, 1.55]]",
    )
    assert report.right
    assert notes(report) == []
