"""Whole circles: what `attn compute` writes in a format that carries full precision, `attn check` marks all right and complete."""

import os
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import attn_cli
from attn_cli.engine.attention import solve
from attn_cli.engine.problem import Problem
from attn_cli.files.readers import MATRIX_SUFFIXES
from attn_cli.render.formats import FORMATS
from attn_cli.render.style import Style

EXAMPLES = int(os.environ.get("EXAMPLES", 25))
"""Problems for each format; EXAMPLES=2000 is for those who change a reader or a writer."""
LABEL = st.one_of(
    st.sampled_from(
        [
            "x1",
            "1",
            "0.5",
            "-",
            "?",
            "x",
            "nan",
            "null",
            "",
            "weights",
            "a,b",
            'q"q',
            "a;b",
            " a",
            "no",
            "1e3",
            "(1)",
            "\U0001f3f4\U000e0067",
        ]
    ),
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=4),
)


@st.composite
def problems(draw):
    """Small problems of every score function, with heads, masks and labels."""
    n, m, d, heads = draw(st.integers(1, 3)), draw(st.integers(1, 3)), draw(st.integers(1, 2)), draw(st.sampled_from([None, 1, 2]))
    shared = heads == 2 and draw(st.booleans())
    rng = np.random.default_rng(draw(st.integers(0, 99)))

    def matrix(rows, columns):
        return rng.integers(-4, 5, (rows, columns)) / 2

    h, kv = heads or 1, 1 if shared else heads or 1
    score = draw(st.sampled_from(["scaled", "dot", "additive", "general", "cosine"]))
    parameters = {"additive": {"additive": {"W": matrix(2, 2 * d), "v": matrix(1, 2)[0]}}, "general": {"general": {"W": matrix(d, d)}}}
    return Problem(
        Q=matrix(n, h * d),
        K=matrix(m, kv * d),
        V=matrix(m, kv * d),
        heads=heads,
        kv_heads=1 if shared else None,
        score=score,
        parameters=parameters.get(score, {}),
        mask=draw(st.sampled_from([None, {"causal": True}, {"lengths": 1}])),
        softcap=draw(st.sampled_from([None, 2.0])),
        temperature=draw(st.sampled_from([1.0, 0.5])),
        mode=draw(st.sampled_from(["soft", "hard", "sparsemax"])),
        vectors=draw(st.sampled_from(["rows", "columns"])),
        query_tokens=tuple(draw(st.lists(LABEL, min_size=n, max_size=n))),
        key_tokens=tuple(draw(st.lists(LABEL, min_size=m, max_size=m))),
    )


@pytest.mark.parametrize("form", ["json", "yaml", "csv", "npz"])
@settings(max_examples=EXAMPLES, deadline=None)
@given(problem=problems(), only=st.sampled_from([(), (), ("weights",), ("scores", "output")]))
def test_what_compute_writes_check_marks_right(form, problem, only):
    trace = solve(problem)
    written = FORMATS[form].trace(trace, Style(only=only), trace.notes)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"handed_in.{form}")
        path.write_bytes(written if isinstance(written, bytes) else written.encode())
        report = attn_cli.check(problem, path)
    assert (report.right, report.complete) == (True, True), [(step.name, step.verdict) for step in report.steps]


def test_every_suffix_of_a_matrix_has_one_reader():
    assert len(set(MATRIX_SUFFIXES)) == len(MATRIX_SUFFIXES)
