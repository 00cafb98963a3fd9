"""Sheets made to be worked by hand: sizes that differ, nothing hidden, a key that is right; and what other problems hide."""

import numpy as np
import pytest

from attn_cli.engine.problem import Mask, Problem
from attn_cli.engine.training import work_for
from attn_cli.errors import UsageError
from attn_cli.files.claims import cell_claim
from attn_cli.homework.claims import answer
from attn_cli.homework.drill import Drill
from attn_cli.homework.exercises import Exercise, Wanted, asked, audit, class_of, exercise, slips
from attn_cli.homework.marking import Marker
from attn_cli.homework.mistakes.worked import variants

CHAPTER = Problem(X=np.array([[1.0, 0, 1, 0], [0, 1, 0, 1], [1, 1, 0, 0]]), W_Q=np.eye(4), W_K=np.eye(4), W_V=np.eye(4))

KINDS = [
    Wanted(),
    Wanted(style="halves", mask=Mask(causal=True)),
    Wanted(style="unit", score="additive"),
    Wanted(style="halves", grad=True),
    Wanted(style="halves", heads=2),
    Wanted(style="halves", mode="hard"),
    Wanted(style="unit", score="general", tokens=4),
]


@pytest.fixture(scope="module", params=KINDS, ids=str)
def made(request):
    return exercise(request.param, np.random.default_rng(11))


def test_sizes_are_pairwise_different_and_entries_small(made):
    p, sizes = made.problem, made.trace.sizes
    assert len({sizes.n, p.X.shape[1], sizes.d_k, sizes.d_v}) == 4
    assert max(np.abs(a).max() for a in (p.X, p.W_Q, p.W_K, p.W_V)) <= 2


def test_no_applicable_mistake_is_hidden(made):
    assert audit(made.problem, made.decimals, [step.name for step in made.steps], bool(made.trace.gradients)) == []


def written(value, decimals):
    """Numbers as somebody writes them, with masked scores as -inf."""
    if value.ndim:
        return [written(part, decimals) for part in value]
    return cell_claim("-inf" if value == -np.inf else f"{float(value):.{decimals}f}")


def test_right_numbers_get_full_marks(made):
    marker = Marker(made.problem, gradients=bool(made.trace.gradients))
    report = marker.mark([answer(step.name, written(step.value, made.decimals)) for step in made.steps])
    assert report.right
    assert report.complete
    assert report.earned == report.possible == len(made.steps)


def test_every_mistake_at_every_step_is_found_and_nearly_all_are_named(made):
    """Each way to make a known mistake, worked to the end from there, rounded as the sheet asks."""
    marker = Marker(made.problem, gradients=bool(made.trace.gradients))
    known = [v for v in variants(made.trace) if v.changes and not v.mistake.rounding]
    named = found = 0
    for variant in known[::3]:
        steps = [step for step in made.steps if variant.values.get(step.name) is not None]
        steps = [step for step in steps if variant.values[step.name].shape == step.made.value.shape]
        fit = [step for step in steps if np.isfinite(variant.values[step.name]).any()]
        if not any(step.name in variant.instead for step in fit):
            continue
        report = marker.mark([answer(step.name, written(variant.values[step.name], made.decimals)) for step in fit])
        assert not report.right, variant.code
        wrong = report.first_wrong
        found += 1
        named += wrong is not None and wrong.mistake is not None and variant.code in (wrong.mistake.code, *wrong.mistake.also)
    assert found
    assert named >= 0.98 * found


def test_the_same_seed_makes_the_same_and_a_class_has_no_twins():
    wanted = Wanted(style="halves")
    first, again = class_of(wanted, 3, 5), class_of(wanted, 2, 5)
    assert [np.array_equal(a.problem.X, b.problem.X) for a, b in zip(first, again, strict=False)] == [True, True]
    assert len({one.problem.X.tobytes() for one in first}) == 3


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        (Wanted(mode="sample"), "draws lots"),
        (Wanted(style="primes"), "there are integers, halves, unit"),
        (Wanted(mode="hard", grad=True), "leave out --grad"),
        (Wanted(tokens=1), "expected 2 to 9"),
    ],
)
def test_what_no_sheet_can_ask_is_refused(wanted, told):
    with pytest.raises(UsageError, match=told):
        wanted.check()


# ------------------------------------------------------------------ what a problem hides
def hidden(problem, decimals=4, steps=(), grad=False):
    return {one.code: reason for one, reason in audit(problem, decimals, steps, grad)}


def test_the_chapter_s_example_hides_what_identity_weights_hide():
    found = hidden(CHAPTER)
    assert found["W_transposed"] == "identity"
    assert found["X_for_V"] == "identity"
    assert (found["Q_Q"], found["Q_K_swapped"], found["K_for_V"]) == ("Q_is_K", "Q_is_K", "K_is_V")


def test_as_many_tokens_as_d_k_hide_their_roots():
    r = np.random.default_rng(0)
    square = Problem(X=r.normal(size=(4, 3)), W_Q=r.normal(size=(3, 4)), W_K=r.normal(size=(3, 4)), W_V=r.normal(size=(3, 2)))
    assert hidden(square)["scale_sqrt_n"] == "n_is_d_k"


def test_a_saturated_softmax_hides_the_scale_where_only_its_weights_are_asked_for():
    far = Problem(Q=np.array([[9.0, 0], [0, 9]]), K=np.array([[9.0, 0], [0, 9], [-9, 0]]), V=np.ones((3, 2)))
    assert hidden(far, steps=("weights",))["no_scale"] == "saturated"
    assert "no_scale" not in hidden(far)


def test_a_mistake_shows_only_in_the_steps_asked_for():
    r = np.random.default_rng(1)
    p = Problem(Q=r.normal(size=(2, 3)), K=r.normal(size=(4, 3)), V=r.normal(size=(4, 2)))
    assert hidden(p, steps=("Q", "K")).get("softmax_columns") == "not_asked"


# ------------------------------------------------------------------ line by line
def test_a_drill_marks_a_line_at_once_and_recognises_the_mistake():
    problem = Problem(Q=np.array([[1.0, 2], [0, 1]]), K=np.array([[1.0, 1], [2, 0], [0, 1]]), V=np.array([[1.0, 0], [0, 1], [2, 2]]))
    trace = work_for(problem, ())
    drill = Drill(Exercise(problem, trace, asked(trace, ("scores", "weights")), 4))
    first, second, *_ = drill.questions()
    unscaled = [cell_claim(text) for text in ("3", "2", "2")]
    reply = drill.reply(first, unscaled)
    assert (reply.verdicts, reply.mistake) == (("wrong",) * 3, "no_scale")
    assert drill.kept == {}
    assert drill.reply(first, [cell_claim(text) for text in ("2.1213", "1.4142", "√2")]).right
    assert drill.reply(second, [cell_claim(text) for text in ("0.7", "0", "1/√2")]).right


def test_later_lines_may_follow_from_the_rounding_of_earlier_ones():
    problem = Problem(Q=np.array([[1.0, 2]]), K=np.array([[1.0, 1], [2, 0]]), V=np.array([[1.0], [9]]))
    trace = work_for(problem, ())
    drill = Drill(Exercise(problem, trace, asked(trace, ("scores", "exponentials")), 4))
    scores, exponentials = drill.questions()
    assert drill.reply(scores, [cell_claim("2.1"), cell_claim("1.4")]).right
    reply = drill.reply(exponentials, [cell_claim(f"{np.exp(2.1):.3f}"), cell_claim(f"{np.exp(1.4):.3f}")])
    assert reply.verdicts == ("rounded", "rounded")


def test_slips_are_known_by_the_step_at_which_they_are_made():
    one = exercise(Wanted(style="halves"), np.random.default_rng(3))
    found = slips(one)
    assert "no_scale" in {slip.code for slip in found["scores"]}
    assert all(slip.values.shape == one.trace[name].shape for name, each in found.items() for slip in each)
