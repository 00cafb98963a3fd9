"""The plain reader of YAML gives up wherever it likes, but what it reads, PyYAML's parser reads the same, place by place."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from attn_cli.files.readers import yaml as plain_yaml
from attn_cli.files.readers import yaml_full as yaml_tree
from attn_cli.files.tree import Items, Pairs

ROOT = Path(__file__).parents[3]
EXAMPLES = int(os.environ.get("EXAMPLES", 150))
"""Enough to notice a slip; EXAMPLES=20000 is for those who change a reader."""


def flat(node):
    """The tree as nested tuples, with all that a node knows."""
    if isinstance(node, Items):
        return "list", node.line, node.column, [flat(item) for item in node.items]
    if isinstance(node, Pairs):
        return "mapping", node.line, node.column, [(tuple(key), flat(value)) for key, value in node]
    return tuple(node)


def check(text):
    """Whether the text was plain; then both readers must agree, and the strict one must not refuse it."""
    plain = plain_yaml.parse_plain(text)
    if plain is not None:
        assert flat(plain) == flat(yaml_tree.parse(text, "p"))
    return plain is not None


INDENT = st.sampled_from(["", "", "", "", "  ", "  ", "    ", " ", "\t"])
WORD = st.one_of(
    st.integers(-99, 99).map(str),
    st.sampled_from(["a", "x1", "0.5", "-1.25", "1e-3", "identity", "1/3", "-√2", "猫", "der Hund", "no", "~", "null", "a  b", "é"]),
    st.sampled_from(
        ["a: b", "a:b", "a :b", "a:", ":a", ":", "- a", "-", "--", "---", "...", "-a", "- 1", "a #b", "a#b", "#a", "a # b", "a,b", "a, b"]
        + ["[a]", "a[b", "a]", "{a}", "{a: 1}", "a}", "<<", "=", "!", "!!a b", "!a", "%", "%a", "@", "@a", "`a`", "&", "&a", "&a b"]
        + ["*", "*a", "? a", "?", "?a", "a?", "|", ">", "|-", ">+", "a | b", "a\\b", "\\", "", " ", "a\tb", "\ta", "a\t", "1\xa02", "\xa0"]
        + ["a\x85b", "a\u2028b", "\u2029", "a\x07", "\ufeff", "\u200b", "\u3000", "😀", "\ufffe", "\x7f", "e\u0301", "\u0301a", "\ue0000"]
        + ["(a)", "+1", ".5", "-.5", "-inf", "-.inf", "−1", "/a", "~a", "a~", "a'b", 'a"b', "a&b", "a*b", "a!b", "a%", "$x$", "^", ";"]
    ),
    st.sampled_from(
        ['"a"', "'a'", '"a: b"', "'a # b'", '""', "''", "'it''s'", '"it\'s"', '"\\n"', '"a\\"b"', '"a" ', '"a"b', "'a' 'b'", '"a', "'a"]
        + ['"[1, 2]"', "', '", '" a "', '"a"#', '"a" # c', '"猫"', '"a" :', '"a": b', "'a\tb'", '"\\u263a"']
    ),
    st.text("ab1.-,:#[]{}'\" ?&*!|>%@`\\~=<", max_size=5),
)
GAP = st.sampled_from(["", " ", " ", " ", "  "])
COMMA = st.sampled_from([", ", ", ", ", ", ",", " , ", ",,", ",  ", ",\n  ", " "])


def listed(cells):
    return st.builds(
        lambda cells, comma, pad, end: f"[{pad}{comma.join(cells)}{end}]",
        st.lists(cells, min_size=1, max_size=3),
        COMMA,
        st.sampled_from(["", "", "", " "]),
        st.sampled_from(["", "", "", " ", ",", ", "]),
    )


FLOW = listed(st.one_of(WORD, WORD, listed(st.one_of(WORD, listed(WORD))), st.just("")))
VALUE = st.one_of(WORD, FLOW, FLOW)
TAIL = st.sampled_from(["", "", "", "", "", " ", "  ", " # c", "# c", "  # c: [d]", " #", "#", "\t", "\t# c", ",", " x", ":", "]"])
NAME = st.one_of(
    st.sampled_from(["X", "W_Q", "b_Q", "title", "tokens", "Ä", "additive", "answers", "_a"]),
    st.sampled_from(
        ["X", "a b", "a-b", '"X"', "'X'", "1", "", "<<", "=", "~", "? a", "- a", "[a]", "&a X", "!t X", "*a", "a#", "k" * 1030]
    ),
)
COLON = st.sampled_from([": ", ": ", ": ", ":", ":  ", " : ", " ", ":\t"])
END = st.sampled_from(
    ["\n", "\n", "\n", "\n", "\n", "\n\n", "\n \n", "\n\t\n", "\n# c\n", "\n  # c\n", "\n---\n", "\n...\n", "\x85", "\u2028"]
)
LINE = st.one_of(
    st.builds(lambda *parts: "".join(parts), INDENT, NAME, COLON, VALUE, TAIL, END),
    st.builds(lambda *parts: "".join(parts), INDENT, NAME, st.sampled_from([":", ":", ": ", ": # c", ":# c"]), END),
    st.builds(lambda indent, gap, value, tail, end: f"{indent}-{gap}{value}{tail}{end}", INDENT, GAP, VALUE, TAIL, END),
    st.builds(lambda indent, value, end: indent + value + end, INDENT, VALUE, END),
)
GOOD_ROW = st.lists(st.sampled_from(["1", "-0.5", "1/3", "x1", '"a b"', "1e3"]), min_size=1, max_size=3).map(
    lambda row: f"[{', '.join(row)}]"
)
GOOD = st.one_of(
    st.builds(lambda value, tail: f" {value}{tail}\n", st.one_of(GOOD_ROW, WORD, GOOD_ROW.map(lambda row: f"[{row}, {row}]")), TAIL),
    st.builds(
        lambda indent, rows: "\n" + "".join(f"{indent}- {row}\n" for row in rows), INDENT, st.lists(GOOD_ROW, min_size=1, max_size=3)
    ),
    st.builds(
        lambda indent, pairs: "\n" + "".join(f"{indent}{key}: {value}\n" for key, value in pairs),
        st.sampled_from(["  ", "    ", " "]),
        st.lists(st.tuples(st.sampled_from("abc"), st.one_of(GOOD_ROW, WORD)), min_size=1, max_size=3),
    ),
    st.builds(
        lambda rows: "\n  W:\n" + "".join(f"    - {row}\n" for row in rows) + "  v: [1]\n", st.lists(GOOD_ROW, min_size=1, max_size=3)
    ),
)
FILE = st.one_of(
    st.lists(LINE, min_size=1, max_size=6).map("".join),
    st.lists(st.builds(lambda key, value: f"{key}:{value}", st.sampled_from(["X", "Q", "K", "V", "W_Q", "mask"]), GOOD), max_size=4).map(
        "".join
    ),
)


def mutated(texts):
    """Now and then a character more or less."""
    junk = st.sampled_from([*"[],-#'\"|\n\r :&*%!0e\t{}?", "", "\n  ", " #", "\ufeff"])

    def change(text, at, more, less):
        at = int(at * len(text))
        return text[:at] + more + text[at + less :]

    return st.one_of(texts, texts, st.builds(change, texts, st.floats(0, 1), junk, st.integers(0, 2)))


@settings(max_examples=EXAMPLES, deadline=None)
@given(mutated(FILE))
@example("a: {b: 1, c: [1, 2], d: {e: x y , f: 'g'}} # h\n")
@example("a: {b: 1,}\n")
@example("a: {b:1}\n")
@example("a: {b: c: d}\n")
@example("a: {b: 1, b: 2}\n")
@example("a: {b: 1} c\n")
@example("a: {b: -1 , c: 2 }\nd: {e: [[1, 2], [3, 4]]}\n")
@example("a: b\n c\n")
@example("a: b\n\n# c\n  d\n")
@example("a: b\n# c\n  d: e\n")
@example("a: b\n- [1]\n")
@example("a:\n  - [1]\n- [2]\n")
@example("a:\n  - [1]\n b: 2\n")
@example("a:\n- [1]\nb:\n  - [2]\n")
@example("a:\n  b: 1\n c: 2\n")
@example("a:\n  b:\n  - 1\n  c: 2\n")
@example("a:\n  b:\n  c: 2\n")
@example("a:\n")
@example("a:\n- [1]\n  # c\n- [2]\n")
@example("a:\n- b\n  c\n")
@example("a:\n  - [1] \n  -  [2]\n")
@example("a: [1]]\n")
@example("a: [[1]\n")
@example("a: [1] [2]\n")
@example("  a: 1\nb: 2\n")
@example("a: 'b'\n  'c'\n")
@example("a:  'b' # c\n")
@example("a: [b #c, d]\n")
@example("a: " + "x" * 1500 + "\nb: [" + "1, " * 600 + "2]\n")
def test_what_the_plain_reader_reads_is_right(text):
    check(text)


@pytest.mark.parametrize(
    "text",
    [
        "a: 1\na: 2\n",
        "a: b: c\n",
        "a: - b\n",
        "a:[1]\n",
        "a : 1\n",
        "a: [1, 2,]\n",
        "a: [ , ]\n",
        "a: []\n",
        "a: [1, [2]\n",
        "a: 'it''s'\n",
        'a: "b\\n"\n',
        "a: b#c\n",
        "a: [1]#c\n",
        "a: &b 1\n",
        "a: *b\n",
        "a: !t 1\n",
        "a: |\n  b\n",
        "a: >\n  b\n",
        "? a\n: b\n",
        "--- \na: 1\n",
        "a: 1\n...\n",
        "%YAML 1.1\n---\na: 1\n",
        "<<: [1]\n",
        "a:\n\t- [1]\n",
        "a: 1\t\n",
        "a: 1\x85b: 2\n",
        "a: 1\u2028b: 2\n",
        "\ufeffa: 1\n",
        "a: 1\r\n",
        "{a: 1}\n",
        "[1]\n",
        "- [1]\n",
        "a\n",
        "",
        "# c\n",
    ],
)
def test_what_is_unusual_is_left_to_the_strict_reader(text):
    assert plain_yaml.parse_plain(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "a: 1",
        "# c\n\n  # d\na: b  c, d # e\n",
        "a: \"b: 'c' # d\"   # e\n",
        "a: [x1, '#', \"a, b\", -1/3, 猫, no , ~]   # c\n",
        "a: [[1,2],[ 3 , 4 ]]\nb: [[[1], [2]], [[3], [4]]]\n",
        "a:   # c\n\n  - [1, 2]\n  # c\n  -   [3, 4] # d\nb:\n- [1]\nc: 2\n",
        "a:\n    b:\n      - [1]\n    c:\n    - [2]\n    d: e\nf:\n  - x\n  - 'y'\n",
    ],
)
def test_what_people_write_is_plain(text):
    assert check(text)


def test_every_example_at_hand_is_read_the_same():
    """Most of the samples are plain, so that showing them needs no PyYAML."""
    files = [*(ROOT / "samples").rglob("*.yaml"), *(ROOT / "tests" / "data" / "walkthroughs").rglob("*.y*ml")]
    plain = [path for path in files if check(path.read_text(encoding="utf-8"))]
    assert (ROOT / "samples" / "textbook.yaml") in plain
    assert len(plain) > 0.7 * len(list((ROOT / "samples").glob("*.yaml")))


def test_a_plain_file_is_loaded_without_pyyaml():
    code = (
        "import sys; from attn_cli.files.problem import read_problem as load; "
        f"load({str(ROOT / 'samples' / 'textbook.yaml')!r}); sys.exit('yaml' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
