"""The notes: each where it should appear, and not otherwise."""

from dataclasses import replace

import numpy as np
import pytest

from attn_cli.engine.attention import solve
from attn_cli.engine.problem import Mask, Problem

X = np.array([[1.0, 0, 1, 0], [0, 1, 0, 1], [1, 1, 0, 0]])
PLAIN = Problem(X=X, W_Q=np.eye(4), W_K=np.eye(4), W_V=np.eye(4))
WIDE = np.random.default_rng(0).normal(size=(3, 16)) / 10
SHARP = {"score": "dot", "X": X * 4}
WEIGHTLESS = {"W_Q": None, "W_K": None, "W_V": None}


def notes(**changes):
    return {note.code: dict(note.values) for note in solve(replace(PLAIN, **changes)).notes}


def test_an_ordinary_problem_has_no_notes():
    assert notes() == {}


APPEARS = [
    ("no_weights", WEIGHTLESS, {"context": False}),
    ("no_weights", {**WEIGHTLESS, "context": X}, {"context": True}),
    ("score_unused", {**WEIGHTLESS, "X": None, "scores": [[0.0, 1.0]], "score": "dot"}, {"score": "dot"}),
    ("unused", {**WEIGHTLESS, "Q": X, "K": X, "V": X}, {"name": "X"}),
    ("unused", {**WEIGHTLESS, "context": X, "K": X, "V": X}, {"name": "context"}),
    ("offset_unused", {"mask": Mask(lengths=1, offset=2)}, {"offset": 2}),
    ("causal_corner", {"context": np.ones((5, 4)), "mask": Mask(causal=True)}, {"n": 3, "m": 5, "offset": 2}),
    ("empty_row", {"mask": Mask(causal=True, offset=-1)}, {"row": "x1", "number": 1, "head": None}),
    ("empty_row", {"heads": 2, "mask": Mask(lengths=0)}, {"row": "x3", "number": 3, "head": 2}),
    ("empty_row", {"bias": np.where(np.eye(3)[1][:, None] == 1, -np.inf, np.zeros((3, 3)))}, {"row": "x2", "number": 2, "head": None}),
    ("tie", {"mode": "hard", "score": "dot", "X": np.ones((2, 4))}, {"row": "x2", "number": 2, "keys": ("x1", "x2"), "chosen": "x1"}),
    ("no_gradient", {"mode": "hard"}, {"mode": "hard"}),
    ("no_gradient", {"mode": "sample"}, {"mode": "sample"}),
    ("seed", {"mode": "gumbel", "seed": 5}, {"seed": 5}),
    ("zero_norm", {"score": "cosine", "X": X * [[1], [0], [1]]}, {"name": "K", "rows": ("x2",)}),
    ("unscaled", {**WEIGHTLESS, "X": WIDE, "score": "dot"}, {"d_k": 16, "deviation": 4}),
    ("saturated", SHARP, {"row": "x1", "number": 1, "head": None, "rows": 3, "d_k": 4}),
    ("near_uniform", {"X": np.ones((4, 4))}, {"row": "x1", "number": 1, "head": None, "rows": 4, "keys": 4, "largest": 0.25}),
]


@pytest.mark.parametrize(("code", "changes", "values"), APPEARS, ids=[f"{code} {i}" for i, (code, *_) in enumerate(APPEARS)])
def test_a_note_appears_with_what_its_sentence_needs(code, changes, values):
    found = notes(**changes)
    assert code in found
    assert {key: found[code][key] for key in values} == values


STAYS_AWAY = [
    ("offset_unused", {"mask": Mask(window=(0, 0), offset=-1)}),
    ("no_weights", {"W_V": np.eye(4)}),
    ("unused", {**WEIGHTLESS, "Q": X, "K": X}),
    ("causal_corner", {"mask": Mask(causal=True)}),
    ("causal_corner", {"context": np.ones((5, 4)), "mask": Mask(causal=True, offset=2)}),
    ("causal_corner", {"context": np.ones((5, 4)), "mask": Mask(window=(1, 1))}),
    ("empty_row", {"mask": Mask(causal=True)}),
    ("tie", {"score": "dot", "X": np.ones((2, 4))}),
    ("tie", {"mode": "hard", "mask": Mask(causal=True, window=(0, 0))}),
    ("no_gradient", {"mode": "gumbel"}),
    ("seed", {"mode": "soft", "seed": 5}),
    ("zero_norm", {"score": "scaled", "X": X * [[1], [0], [1]]}),
    ("unscaled", {**WEIGHTLESS, "X": WIDE}),
    ("unscaled", {**WEIGHTLESS, "X": WIDE, "score": "dot", "scale": 0.25}),
    ("unscaled", {"score": "dot"}),
    ("saturated", {**SHARP, "mode": "hard"}),
    ("saturated", {**SHARP, "mask": Mask(window=(0, 0))}),
    ("near_uniform", {"X": np.ones((3, 4))}),
    ("near_uniform", {"X": np.ones((5, 4)), "mask": Mask(lengths=3)}),
    ("near_uniform", {"X": np.ones((5, 4)), "mode": "sparsemax"}),
]


@pytest.mark.parametrize(("code", "changes"), STAYS_AWAY, ids=[f"{code} {i}" for i, (code, _) in enumerate(STAYS_AWAY)])
def test_a_note_stays_away_where_it_would_not_help(code, changes):
    assert code not in notes(**changes)


def test_saturated_says_what_scaling_would_give():
    told = notes(**SHARP)["saturated"]
    scaled = solve(replace(PLAIN, X=X * 4))["weights"][0].max()
    assert told["largest"] == pytest.approx(solve(replace(PLAIN, **SHARP))["weights"][0].max())
    assert told["scaled"] == pytest.approx(scaled)


def test_saturated_by_something_other_than_the_missing_scale_promises_nothing():
    assert "scaled" not in notes(X=X * 10)["saturated"]


def test_saturated_keeps_temperature_bias_and_softcap_in_what_scaling_would_give():
    changes = {**SHARP, "temperature": 0.5, "bias": np.eye(3), "softcap": 30.0}
    told = notes(**changes)["saturated"]
    assert told["scaled"] == pytest.approx(solve(replace(PLAIN, **{**changes, "score": "scaled"}))["weights"][told["number"] - 1].max())


def test_only_an_empty_row_is_a_warning():
    trace = solve(replace(PLAIN, mode="sample", mask=Mask(causal=True, offset=-1)))
    assert {note.code: note.warning for note in trace.notes} == {"empty_row": True, "no_gradient": False, "seed": False}


# ------------------------------------------------------------------ labels and settings
@pytest.mark.parametrize(
    ("changes", "queries", "keys"),
    [
        ({}, ("x1", "x2", "x3"), ("x1", "x2", "x3")),
        ({"tokens": ("a", "b", "c")}, ("a", "b", "c"), ("a", "b", "c")),
        ({"context": X[:2]}, ("q1", "q2", "q3"), ("k1", "k2")),
        ({"context": X[:2], "tokens": ("a", "b", "c")}, ("a", "b", "c"), ("k1", "k2")),
        ({"context": X}, ("q1", "q2", "q3"), ("k1", "k2", "k3")),
        ({"context": X[:2], "query_tokens": ("a", "b", "c"), "key_tokens": ("d", "e")}, ("a", "b", "c"), ("d", "e")),
        ({"key_tokens": ("d", "e", "f")}, ("x1", "x2", "x3"), ("d", "e", "f")),
        ({**WEIGHTLESS, "X": None, "Q": X, "K": X}, ("q1", "q2", "q3"), ("k1", "k2", "k3")),
        ({**WEIGHTLESS, "X": None, "scores": np.ones((2, 2))}, ("x1", "x2"), ("x1", "x2")),
        ({**WEIGHTLESS, "X": None, "scores": np.ones((2, 3))}, ("q1", "q2"), ("k1", "k2", "k3")),
    ],
)
def test_queries_and_keys_have_names(changes, queries, keys):
    trace = solve(replace(PLAIN, **changes))
    assert (trace.query_labels, trace.key_labels) == (queries, keys)


def test_the_settings_say_what_was_chosen():
    assert solve(PLAIN).settings == {
        "score": "scaled", "mode": "soft", "scale": 0.5, "heads": 1, "n": 3, "m": 3, "d_k": 4, "d_v": 4, "temperature": 1.0,
        "weights_layout": "in_out", "vectors": "rows", "dtype": "float64",
    }  # fmt: skip
    several = solve(
        replace(PLAIN, heads=4, kv_heads=2, W_K=np.eye(4)[:, :2], W_V=np.eye(4)[:, :2], mode="gumbel", seed=3, softcap=5.0,
                mask=Mask(causal=True, window=(2, None)))
    ).settings  # fmt: skip
    assert several["kv_heads"] == 2
    assert several["seed"] == 3
    assert several["softcap"] == 5
    assert several["mask"] == {"causal": True, "offset": 0, "window": [2, None]}
    assert several["scale"] == 1


def test_the_settings_name_the_factor_of_the_raw_score():
    q = np.ones((2, 4))
    found = {
        "scaled": solve(Problem(Q=q, K=q)).settings["scale"],
        "dot": solve(Problem(Q=q, K=q, score="dot")).settings["scale"],
        "own": solve(Problem(Q=q, K=q, scale=3)).settings["scale"],
        "given": solve(Problem(scores=[[1.0]])).settings["scale"],
    }
    assert found == {"scaled": 0.5, "dot": 1.0, "own": 3.0, "given": None}


def test_the_settings_name_the_mask_in_force():
    def mask(**parts):
        return solve(Problem(scores=np.zeros((3, 3)), mask=parts)).settings.get("mask")

    assert mask(offset=1) is None
    assert mask(causal=True) == {"causal": True, "offset": 0}
    assert mask(window=[2, None], offset=3) == {"offset": 3, "window": [2, None]}
    assert mask(lengths=2, keep=np.ones((3, 3)), drop=[0, 0, 1]) == {"lengths": 2, "keep": True, "drop": True}
