"""One row a key: what a file is refused for, Python is refused for, in the same words."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import attn_cli
from attn_cli.engine.keys import JUDGES, judge
from attn_cli.engine.problem import ARRAYS, KEYS, MASK_PARTS, known_keys, row_of

X = "X: [[1, 0], [0, 1]]\n"
SAME = [
    ("heads", "0", 0, "expected a whole number from 1"),
    ("heads", "-1", -1, "expected a whole number from 1"),
    ("heads", "2.5", 2.5, "expected a whole number from 1"),
    ("kv_heads", "0", 0, "expected a whole number from 1"),
    ("seed", "-1", -1, "expected a whole number from 0"),
    ("temperature", "0", 0, "expected a number greater than 0; for all weight on one key use mode: hard"),
    ("temperature", "-2", -2.0, "expected a number greater than 0; for all weight on one key use mode: hard"),
    ("softcap", "0", 0.0, "expected a number greater than 0"),
    ("scale", "inf", np.inf, "expected a finite number"),
    ("scale", "nan", np.nan, "expected a finite number"),
    ("mode", "softmax", "softmax", "(did you mean 'soft'?), expected one of soft, hard, "),
    ("score", "luong", "luong", "(did you mean 'general'?), expected one of scaled, dot, "),
    ("vectors", "row", "row", "(did you mean 'rows'?), expected rows or columns"),
    ("weights_layout", "out-in", "out-in", "expected in_out or out_in"),
    ("dtype", "float16", "float16", "expected float64 or float32"),
    ("mask.lengths", "-1", -1, "expected a whole number from 0"),
    ("mask.offset", "0.5", 0.5, "expected a whole number"),
    ("mask.offset", str(-(2**60)), -(2**60), "at most 9007199254740992"),
    ("mask.window", "-1", -1, "expected a whole number from 0"),
    ("mask.window", "[1, 2, 3]", [1, 2, 3], "expected a whole number for both sides, or [left, right]; null leaves a side open"),
    ("mask.keep", "[[1, 2], [0, 1]]", [[1, 2], [0, 1]], "to add numbers to the scores"),
    ("bias", "[[0, inf], [0, 0]]", [[0, np.inf], [0, 0]], "expected a finite number or -inf"),
    ("W_Q", "[[1, nan], [0, 1]]", [[1, np.nan], [0, 1]], "expected a finite number"),
    ("V", "[[1, -inf], [0, 1]]", [[1, -np.inf], [0, 1]], "only bias may hold -inf"),
    ("tokens", "ab", "ab", "expected a list of labels such as [the, cat]"),
]
"""A key, what a file says, the same in Python, and what the message of both says."""


@pytest.mark.parametrize(("key", "text", "value", "message"), SAME, ids=[f"{row[0]} {row[1]}" for row in SAME])
def test_what_a_file_is_refused_for_python_is_refused_for(key, text, value, message, tmp_path):
    whole, _, part = key.partition(".")
    path = tmp_path / "p.yaml"
    path.write_text(X + (f"{whole}: {{{part}: {text}}}\n" if part else f"{key}: {text}\n"))
    with pytest.raises(attn_cli.AttnError, match=re.escape(message)):
        attn_cli.load(path)
    with pytest.raises(attn_cli.AttnError, match=re.escape(message)) as refused:
        attn_cli.solve(attn_cli.Problem(X=[[1, 0], [0, 1]], **{whole: {part: value} if part else value}))
    assert refused.value.key == key


@pytest.mark.parametrize(
    ("key", "value", "found"),
    [
        ("X", [[1, 2], [3]], "rows of different lengths"),
        ("X", [["1", "2"]], "texts"),
        ("X", np.array([[1j]]), "complex numbers"),
        ("X", np.array([[True]]), "true and false"),
        ("X", np.array([[None]]), "an array of object"),
        ("X", np.ma.array([[1.0, 2.0]], mask=[[0, 1]]), "a masked array with cells that have no value"),
        ("heads", True, "True"),
        ("heads", "2", "'2'"),
        ("temperature", "1", "'1'"),
        ("temperature", None, "None"),
        ("scale", 10**400, "1000"),
        ("title", 5, "5"),
        ("tokens", ["a", 1], "['a', 1]"),
        ("tokens", (), "()"),
        ("parameters", 5, "5"),
        ("ask", [1], "[1]"),
    ],
    ids=str,
)
def test_what_python_alone_can_give_is_refused_with_its_key(key, value, found):
    with pytest.raises(attn_cli.AttnError, match=re.escape(f"found {found}")) as refused:
        attn_cli.Problem(**{"X": [[1.0, 2.0]], key: value})
    assert refused.value.key == key


def test_what_stands_for_the_same_is_kept_alike():
    p = attn_cli.Problem(X=[[1, 0]], heads=np.int64(2), temperature=np.float32(2), tokens=["a"], b_Q=[[1, 2]], ask="weights", mask="causal")
    assert (p.heads, p.temperature, p.tokens, p.b_Q.tolist(), p.ask, p.mask.causal) == (2, 2.0, ("a",), [1, 2], ("weights",), True)
    assert type(p.heads) is int
    assert attn_cli.Problem(X=[[1, 0]], heads=2.0).heads == 2
    assert attn_cli.Mask(window=2).window == (2, 2)
    assert attn_cli.Mask(window=[None, 3]).window == (None, 3)
    assert attn_cli.Mask(keep=[[1.0, 0.0]]).keep.dtype == bool


def test_every_key_has_a_row_that_says_what_it_is_and_what_may_stand_there():
    for name, row in {**known_keys(), **{f"mask.{part}": row for part, row in MASK_PARTS.items()}}.items():
        assert row.name == name
        assert row_of(name) == row
        assert row.kind in JUDGES
        assert row.summary
        assert row.expected
    assert row_of("additive.W").axes == (2,)
    assert row_of("additive.v").axes == (1,)
    assert row_of("additive.nothing") is None
    assert row_of("nothing") is None
    assert row_of("mask.nothing") is None


def test_arrays_say_how_they_lie():
    assert {name for name in ARRAYS if KEYS[name].axes == (1,)} == {"b_Q", "b_K", "b_V", "b_O"}
    assert {name for name in ARRAYS if 3 in KEYS[name].axes} == {"Q", "K", "V", "scores", "bias"}
    assert {name for name in ARRAYS if not KEYS[name].turns} == {"b_Q", "b_K", "b_V", "b_O"}
    assert [name for name in ARRAYS if KEYS[name].nan] == ["V"]
    assert [name for name in ARRAYS if KEYS[name].minus_infinity] == ["bias"]


def test_a_value_is_named_in_a_message_as_it_was_written():
    with pytest.raises(attn_cli.AttnError, match=r"found '-0\.5', expected a number greater than 0"):
        judge(KEYS["softcap"], -0.5, "'-0.5'")


def test_judging_arrays_imports_no_more_of_numpy():
    code = "import sys, attn_cli; attn_cli.solve(attn_cli.Problem(X=[[1, 2]])); print('numpy.ma' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2])
    assert done.stdout.strip() == "False"


def test_steps_are_asked_for_by_name_or_symbol():
    p = attn_cli.Problem(X=[[1, 2]], ask=("weights", "S", "dA", "dadditive.W"))
    assert attn_cli.solve(p).problem.ask == ("weights", "S", "dA", "dadditive.W")
    with pytest.raises(attn_cli.AttnError, match=r"ask: there is no step 'wieghts' \(did you mean 'weights'\?\)"):
        attn_cli.solve(attn_cli.Problem(X=[[1, 2]], ask=("wieghts",)))
