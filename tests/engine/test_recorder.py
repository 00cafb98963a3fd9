"""`given`, `nudge` and `instead`: somebody else's numbers, small shifts, and mistakes, in the same engine."""

from dataclasses import replace

import numpy as np
import pytest

from attn_cli.engine import operations as op
from attn_cli.engine.attention import solve
from attn_cli.engine.large.whole import solve_long
from attn_cli.engine.notes import Note
from attn_cli.engine.problem import Mask, Problem
from attn_cli.errors import InputError

PROBLEM = Problem(X=np.array([[1.0, 0, 1, 0], [0, 1, 0, 1], [1, 1, 0, 0]]))
OURS = solve(PROBLEM)


def test_given_values_are_passed_on_and_ours_are_written_down():
    theirs = np.full((3, 3), 0.25)
    trace = solve(PROBLEM, given={"weights": theirs})
    assert np.array_equal(trace["weights"], OURS["weights"])
    assert np.array_equal(trace["output"], theirs @ PROBLEM.X)


def test_what_was_not_given_is_ours_cell_by_cell():
    theirs = np.full((3, 3), np.nan)
    theirs[0, 0] = 0.0
    mixed = OURS["weights"].copy()
    mixed[0, 0] = 0.0
    assert solve(PROBLEM, given={"weights": theirs})["output"] == pytest.approx(mixed @ PROBLEM.X, abs=1e-15)


def test_a_given_step_of_another_shape_falls_back_on_ours():
    for shape in ((2, 3), (9,), (1, 3, 3), ()):
        assert np.array_equal(solve(PROBLEM, given={"weights": np.ones(shape)})["output"], OURS["output"])


def test_given_scores_may_be_minus_infinity():
    theirs = np.where(np.tri(3) == 1, OURS["scores"], -np.inf)
    causal = solve(Problem(X=PROBLEM.X, mask=Mask(causal=True)))
    assert solve(PROBLEM, given={"scores": theirs})["output"] == pytest.approx(causal["output"], abs=1e-15)


def test_given_values_do_not_change_the_dtype_nor_the_step_names():
    single = Problem(X=PROBLEM.X, dtype="float32")
    trace = solve(single, given={"products": np.full((3, 3), 100.0)}, nudge={"scores": np.ones((3, 3))})
    assert {step.value.dtype for step in trace} == {np.dtype("float32")}
    assert [step.name for step in trace] == [step.name for step in OURS]


def test_given_values_however_wild_raise_nothing():
    trace = solve(PROBLEM, given={"products": np.full((3, 3), 1e308), "V": np.full((3, 4), 1e308)})
    assert trace["output"].shape == (3, 4)


def test_the_arithmetic_of_a_later_step_is_worked_with_what_was_given():
    trace = solve(PROBLEM, given={"products": np.full((3, 3), 6.0)})
    assert trace.step("scores").cell((0, 0)).plain(lambda n: f"{n.value:g}") == "6 / √4"
    assert trace["scores"].tolist() == [[3, 3, 3]] * 3


def test_a_nudge_is_added_to_what_is_passed_on():
    shift = np.zeros((3, 3))
    shift[0, 1] = 0.001
    trace = solve(PROBLEM, nudge={"weights": shift})
    assert np.array_equal(trace["weights"], OURS["weights"])
    assert trace["output"] == pytest.approx((OURS["weights"] + shift) @ PROBLEM.X, abs=1e-15)


def test_a_nudge_comes_on_top_of_what_was_given():
    theirs, shift = np.full((3, 3), 0.5), np.full((3, 3), 0.25)
    trace = solve(PROBLEM, given={"weights": theirs}, nudge={"weights": shift})
    assert np.array_equal(trace["output"], (theirs + shift) @ PROBLEM.X)


def test_instead_replaces_how_a_step_is_made_and_all_that_follows():
    def unscaled(made):
        return made.operands[0]

    trace = solve(PROBLEM, instead={"scores": unscaled})
    dot = solve(Problem(X=PROBLEM.X, score="dot"))
    assert np.array_equal(trace["scores"], OURS["products"])
    assert trace["output"] == pytest.approx(dot["output"], abs=1e-15)


def test_instead_sees_what_was_given_before_it():
    def doubled(made):
        return op.add(made, made)

    trace = solve(PROBLEM, given={"products": np.ones((3, 3))}, instead={"scores": doubled})
    assert trace["scores"].tolist() == [[1, 1, 1]] * 3


def test_with_tokens_as_columns_given_values_are_still_in_row_layout():
    theirs = np.arange(9.0).reshape(3, 3)
    trace = solve(Problem(X=PROBLEM.X, vectors="columns"), given={"weights": theirs})
    assert np.array_equal(trace["output"], (theirs @ PROBLEM.X).T)


def test_a_step_is_found_by_its_name_or_its_symbol():
    trace = solve(replace(PROBLEM, heads=2))
    assert trace["A"] is trace["weights"]
    assert (trace["O"] == trace["output"]).all()  # O is the output before it is a head's
    with pytest.raises(InputError, match="no step 'C' here"):
        trace["C"]


def test_the_reader_s_notes_come_before_those_on_the_numbers():
    note = Note("header", {"file": "x.csv"})
    assert solve(replace(PROBLEM, notes=(note,))).notes[0] is note
    assert solve_long(replace(PROBLEM, notes=(note,))).notes[0] is note
