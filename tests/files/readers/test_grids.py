"""Rows read at once: their texts and places, when somebody asks, are what reading cell by cell gives."""

import os

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from attn_cli.errors import InputError
from attn_cli.files.problem import read_problem as load
from attn_cli.files.readers import csv, json, yaml, yaml_full
from attn_cli.files.tree import Grid, Items, Pairs

EXAMPLES = int(os.environ.get("EXAMPLES", 50))
"""Enough to notice a slip; EXAMPLES=20000 is for those who change a reader."""
PLAIN = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.integers(-99, 99).map(str),
    st.sampled_from(["0", "1", "0.5", "-1.25", "1.0", "0.000e+00", "1e-3"]),
)
ODD = st.sampled_from(
    ["1e400", "-1e400", "1e-400", "-0", "+1", "00", "01", "1.", ".5", "0e5", "1e0", "1/3", "nan", "-inf", "1_0", "0x1", "1 2", "- 1", "--1"]
    + [
        "",
        ".",
        "-",
        "e5",
        "1e",
        "...",
        "---",
        "\n---\n1",
        "1\t",
        "\t1",
        "'1'",
        '"1"',
        "~",
        "true",
        "[1]",
        "{a: 1}",
        "1 #",
        "&a 1",
        "*a",
        "!t 1",
    ]
    + ["0." + "0" * 320 + "1", "0." + "0" * 320, "9" * 320, "1\x0c", "1\xa0", "１", "\ue0000"]
)
CELLS = st.one_of(*[PLAIN] * 9, ODD)
COMMAS = st.sampled_from([", ", ",", " , ", ",\n     ", ",\n"])


def rows(cells, most=3):
    row = st.builds(
        lambda cells, comma, pad: f"[{pad}{comma.join(cells)}{pad}]", st.lists(cells, max_size=3), COMMAS, st.sampled_from(["", " "])
    )
    same = st.builds(lambda row, n: [row] * n, row, st.integers(1, most))
    return st.one_of(same, st.lists(row, min_size=1, max_size=most))


def block(rows, indent):
    return "\n" + "".join(f"{indent}- {row}\n" for row in rows)


VALUE = st.one_of(
    st.builds(block, rows(PLAIN), st.sampled_from(["", "  "])),
    st.builds(block, rows(CELLS), st.sampled_from(["", "  "])),
    st.builds(lambda rows, comma, anchor: f"{anchor}[{comma.join(rows)}]\n", rows(CELLS), COMMAS, st.sampled_from(["", "", "&a "])),
    st.builds(lambda rows: "".join(f"\n- {block([r], '  ').strip()}\n  - {r}" for r in rows) + "\n", rows(PLAIN)),
    rows(PLAIN).map(lambda rows: f"{rows[0]}\n"),
    rows(PLAIN).map(lambda rows: "|" + block(rows, "  ")),
    rows(PLAIN).map(lambda rows: f'"{", ".join(rows)}"\n'),
    rows(PLAIN).map(lambda rows: f"[[1, 2]] # {rows[0]}\n"),
    rows(PLAIN).map(lambda rows: f"[a: {', '.join(rows)}]\n"),
    rows(PLAIN).map(lambda rows: f"{{W_q: {', '.join(rows)}}}\n"),
    rows(st.sampled_from(["0", "1", "1.0", "0.00", "01", "-0", "+1", "1e0", "true"])).map(lambda rows: f"[{', '.join(rows)}]\n"),
    st.sampled_from(
        ["*a\n", "causal\n", "x\n", "[the, [1, 2]]\n", "{causal: true, window: [1, 2], keep: [[1, 0]]}\n", "{v: [1, 2], W: [[1, 2]]}\n"]
    ),
)
KEYS = st.sampled_from(
    ["X", "Q", "K", "V", "b_Q", "mask", "bias", "tokens", "additive", "title", "answers", "scores", "wq", "vectors", "heads"]
)
YAML = st.lists(st.builds(lambda key, value: f"{key}: {value}", KEYS, VALUE), max_size=3).map("".join)


def mutated(texts):
    """Now and then a character more or less."""
    junk = st.sampled_from([*"[],-#'\"|\n :&*%!0e", ""])

    def change(text, at, more, less):
        at = int(at * len(text))
        return text[:at] + more + text[at + less :]

    return st.one_of(texts, texts, st.builds(change, texts, st.floats(0, 1), junk, st.integers(0, 2)))


def flat(node):
    """The tree as nested tuples, with all that a node knows."""
    if isinstance(node, Items):
        return "list", node.line, node.column, [flat(item) for item in node.items]
    if isinstance(node, Pairs):
        return "mapping", node.line, node.column, [(tuple(key), flat(value)) for key, value in node]
    return None if node is None else tuple(node)


def arrays(node):
    """The grids in a tree."""
    if isinstance(node, Grid):
        yield node
    elif isinstance(node, Items):
        for item in node.items:
            yield from arrays(item)
    elif isinstance(node, Pairs):
        for _, value in node:
            yield from arrays(value)


def check(at_once, cell_by_cell):
    """What was read at once says what reading cell by cell says: the same texts in the same places, and their numbers."""
    if at_once is None:
        return
    for grid in arrays(at_once):
        texts = [[cell.text for cell in row.items] for row in grid.items]
        assert grid.array.tobytes() == np.array(texts, float).tobytes()
    assert flat(at_once) == flat(cell_by_cell())


@settings(max_examples=EXAMPLES, deadline=None)
@given(mutated(YAML))
@example("X: &a [[1, 2]]\nK: [*a, [3, 4]]\n")
@example("X: [[1, 2], &b [3, 4]]\nK: [*b]\n")
@example("X:\n- [1]\n- [2]\n-  [3]\n")
@example("X: [[1,\n--- 2]]\n")
@example("X: [[1], [2]] # [3]\n")
@example("? [1]\n: 2\n")
@example("X: {[1], [2]}\n")
@example("[1, 2], [3]\n")
@example("title: a [1], [2]\nX: [[1]]\n")
@example("title: |\n  - [1]\n  - [2]\nX: [[1]]\n")
@example("title: 'a\n\n  - [1]\n\n  - [2]'\nX: [[1]]\n")
@example("X: !t[1]\n")
@example("X: [[\ue0000], [1]]\n")
@example("mask: [[1, 01]]\n")
@example("mask: {drop: [[1.0, 0.0], [0, 1]]}\n")
@example("vectors: columns\nX: [[1, 2]]\n")
@example("X:\n- [1, 2]\n- [3, 4]\n  # c\n- [5, 1/3]\n")
@example("X:\n- [1, 2]\n- [3, 4]\n  - [5, 6]\n")
@example("X:\n- [1, 2]\n- [3,\n  4]   # c\nK: [[1,\n2], [3,\n4]]\n")
@example("X: [\n - [1, 2]\n]\n")
@example("Q: [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]\n")
@example("X: [[1e-400, 0]]\n")
@example("X: [[" + "0" * 400 + "1, 0]]\n")
@example("X: [[ ], [ ]]\n")
def test_where_yaml_is_read_at_once_it_is_read_right(text):
    check(yaml.parse_plain(text, large=0), lambda: yaml_full.parse(text, "p.yaml"))


def as_json(text):
    return "{" + ", ".join(f'"{k}": [{", ".join(r)}]' for k, r in text) + "}"


@settings(max_examples=EXAMPLES, deadline=None)
@given(mutated(st.lists(st.tuples(KEYS, rows(CELLS)), max_size=3).map(as_json)))
@example('{"X": [[01]]}')
@example('{"X": [[ ]]}')
@example('{"X": [[-0, 0, -0.0]]}')
@example('{"X": [[1, 2,]]}')
@example('{"X": [[1], [2, 3]]}')
@example('{"X": [[.5]]}')
@example('{"X": [[1.e3]]}')
@example('{"b_Q": [1, 2], "X": [[1]]}')
def test_where_json_is_read_at_once_it_is_read_right(text):
    try:
        found = json.parse(text, "p.json", large=0)
    except InputError:
        found = None
    check(found, lambda: json.parse(text, "p.json"))


TABLE = st.one_of(
    st.builds(
        lambda row, n, separator, head, end: head + "\n".join([separator.join(row)] * n) + end,
        st.lists(CELLS, min_size=1, max_size=4),
        st.integers(1, 4),
        st.sampled_from([",", ";", "\t", " ", ", ", "  ", " \t "]),
        st.sampled_from(
            [
                "",
                "",
                "a,b\n",
                "a;b\n",
                "a b\n",
                '"a","b"\n',
                "a\tb c\n",
                "0,1,2\n",
                ",0,1\n",
                "1/3,2\n",
                "\n \n",
                "a,b,\n",
                "50%,1\n",
                '"a\n',
            ]
        ),
        st.sampled_from(["", "\n", "\n\n", ",\n", "\n1\n", "\n \t\n"]),
    ),
    st.text("01.,;\t \ne-", max_size=20),
)


@settings(max_examples=EXAMPLES, deadline=None)
@given(mutated(TABLE), st.booleans())
@example("a,b\n1,2\n3,4\n", False)
@example("0,1,2\n3,4,5\n", False)
@example("\t\n1\n", False)
@example("1,1\n0,01\n", True)
def test_where_a_table_is_read_at_once_it_is_read_right(text, truths):
    role = "truths" if truths else "numbers"
    found = csv.at_once(text, "x.csv", role)
    if found is None:
        return
    single = csv.parse(text, "x.csv", role=role)
    assert (found.labels, found.header, found.notes, found.decimal) == (single.labels, single.header, single.notes, single.decimal)
    check(found.rows, lambda: single.rows)


@pytest.mark.parametrize(
    "text",
    [
        "X:\n  - [1, 2.5]\n  - [-3e5, .5]\n",
        "X: [[1, 2.5], [-3e5, 0.5]]",
        "X: [\n  [1,\n   2.5],\n  [-3e5, +0.5],\n]\n",
        "X:\n- - 1\n  - 2.5\n- [-3e5, 0.5]\n",
        '{"X": [[1, 2.5], [-3e5, 0.5]]}',
    ],
)
def test_rows_are_read_whatever_their_style(text, tmp_path):
    (tmp_path / "p").write_text(text)
    assert load(str(tmp_path / "p")).problem.X.tolist() == [[1, 2.5], [-300000, 0.5]]


@pytest.mark.parametrize("text", ["X:\n- [1, 2]\n- [3, 4]\n- [5, 6]\n", "X: [[1, 2], [3, 4], [5, 6]]\n"])
def test_a_matrix_is_one_grid(text):
    assert [grid.array.tolist() for grid in arrays(yaml.parse_plain(text, large=0))] == [[[1, 2], [3, 4], [5, 6]]]


def test_no_cell_of_a_big_matrix_is_an_object_of_its_own(tmp_path):
    import tracemalloc

    matrix = np.random.default_rng(0).normal(size=(200, 200))
    text = "X:\n" + "".join(f"- {row}\n" for row in matrix.tolist())
    (tmp_path / "p.yaml").write_text(text)
    (tmp_path / "x.csv").write_text("\n".join(",".join(map(str, row)) for row in matrix.tolist()))
    load(str(tmp_path / "p.yaml"))
    for read in (lambda: load(str(tmp_path / "p.yaml")).problem.X, lambda: load(None, matrices={"X": str(tmp_path / "x.csv")}).problem.X):
        tracemalloc.start()
        assert np.array_equal(read(), matrix)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 2 * len(text) + 6 * matrix.nbytes
