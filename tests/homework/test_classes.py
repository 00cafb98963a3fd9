"""What is said of a class: who fails where, the commonest mistakes, how well each step separates, who handed in the same."""

import numpy as np
import pytest

from attn_cli.engine.problem import Problem
from attn_cli.homework.claims import answer, array_answer, decimal_claim
from attn_cli.homework.classes import class_statistics
from attn_cli.homework.marking import Marker
from attn_cli.homework.report import Failed

PROBLEM = Problem(Q=np.array([[1.0, 2.0], [0.0, 1.0]]), K=np.array([[1.0, 1.0], [0.0, 1.0]]), V=np.array([[10.0], [20.0]]))
WEIGHTS = [[0.6698, 0.3302], [0.5, 0.5]]
OUTPUT = [[13.302], [15.0]]
UNSCALED = [[0.7311, 0.2689], [0.5, 0.5]]


def claimed(rows):
    return [[decimal_claim(x, str(x), decimals=4, digits=4, whole=False, exponent=False) for x in row] for row in rows]


def handed_in(**steps):
    return [answer(name, claimed(rows)) for name, rows in steps.items()]


CLASS = {
    "ann": handed_in(weights=WEIGHTS, output=OUTPUT),
    "ben": handed_in(weights=UNSCALED, output=[[12.689], [15.0]]),
    "cleo": handed_in(weights=UNSCALED, output=[[12.0], [15.0]]),
    "dan": handed_in(weights=WEIGHTS),
    "eve": handed_in(weights=WEIGHTS, output=OUTPUT),
}


@pytest.fixture
def reports():
    marker = Marker(PROBLEM)
    assert marker.ask_class(list(CLASS.values())) == ("weights", "output")
    return [*(marker.mark(answers, name) for name, answers in CLASS.items()), Failed("fay", "cannot be read")]


def test_a_class_in_numbers(reports):
    found = class_statistics(reports)
    assert (found.submissions, found.unreadable, found.right, found.complete) == (6, 1, 3, 4)
    assert found.earned == (2, 1.5, 1, 1, 2)
    assert found.possible == 2


def test_each_step_says_where_people_fail_and_how_well_it_separates(reports):
    weights, output = class_statistics(reports).steps
    assert (weights.name, weights.step, weights.given, weights.first_wrong) == ("weights", "weights", 5, 2)
    assert weights.cells == [[0.4, 0.4], [0.0, 0.0]]
    assert weights.share_right == pytest.approx((1 + 0.5 + 0.5 + 1 + 1) / 5)
    assert (output.given, output.first_wrong) == (4, 0)
    assert output.cells == [[0.25], [0.0]]
    assert output.share_right == pytest.approx((1 + 1 + 0.5 + 0 + 1) / 5)
    expected = np.corrcoef([1, 0.5, 0.5, 1, 1], [1, 1, 0.5, 0, 1])[0, 1]
    assert weights.separation == pytest.approx(expected)
    assert output.separation == pytest.approx(expected)


def test_nothing_is_said_of_separation_where_all_did_alike_or_few_are_left(reports):
    alike = [report for report in reports if not isinstance(report, Failed) and report.file in ("ann", "eve")]
    assert [step.separation for step in class_statistics([*alike, alike[0]]).steps] == [None, None]
    assert [step.separation for step in class_statistics(reports[:2]).steps] == [None, None]


def test_the_commonest_mistakes_come_with_their_makers_each_once(reports):
    assert class_statistics(reports).mistakes[0] == ("no_scale", ("ben", "cleo"))


def test_submissions_with_the_same_content_are_pointed_out(reports):
    assert class_statistics(reports).twins == (("ann", "eve"),)
    marker = Marker(PROBLEM)
    arrays = [marker.mark([array_answer("weights", np.array(WEIGHTS) + off)], str(off)) for off in (0, 0.1, 0)]
    assert class_statistics(arrays).twins == (("0", "0"),)


def test_answers_of_another_shape_are_no_cells(reports):
    marker = Marker(PROBLEM)
    found = class_statistics([marker.mark(handed_in(weights=[[0.5, 0.5, 0.5]]), "gus")])
    assert found.steps[0].cells == [[0.0, 0.0], [0.0, 0.0]]
    assert (found.steps[0].share_right, found.steps[0].first_wrong) == (0, 1)


def test_columns_are_counted_as_they_are_shown():
    turned = Problem(Q=PROBLEM.Q, K=PROBLEM.K, V=PROBLEM.V, vectors="columns")
    marker = Marker(turned)
    truth = marker.truth["weights"]
    wrong = np.round(truth, 4)
    wrong[1, 0] += 0.1
    found = class_statistics([marker.mark([answer("weights", claimed(wrong.tolist()))], "hal")])
    assert found.steps[0].cells == [[0.0, 0.0], [1.0, 0.0]]
