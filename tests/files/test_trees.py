"""YAML and JSON: cells stay text, traps are errors, and every error is one plain line with its place."""

import pytest

from attn_cli.errors import InputError
from attn_cli.files.readers import json as json_tree
from attn_cli.files.readers import yaml_full as yaml_tree
from attn_cli.files.tree import Items, Pairs, Scalar


def texts(node):
    if isinstance(node, Items):
        return [texts(item) for item in node.items]
    if isinstance(node, Pairs):
        return {key.text: texts(value) for key, value in node}
    return node.text


def refused(reader, text):
    with pytest.raises(InputError) as caught:
        reader.parse(text, "p")
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    "word", ["yes", "no", "on", "off", "NO", "true", "null", "~", "1e3", "010", "0x1F", "1_000", "2024-01-01", "09:15", "="]
)
def test_a_norway_label_stays_itself(word):
    assert texts(yaml_tree.parse(f"tokens: [{word}, b]", "p")) == {"tokens": [word, "b"]}


def test_every_node_knows_where_it_stands():
    tree = yaml_tree.parse("X:\n  - [1, 2]\n", "p")
    assert tree.pairs[0][1].items[0].items[1] == Scalar("2", 2, 9, False)
    tree = json_tree.parse('{"X":\n  [[1, 2]]}', "p")
    assert tree.pairs[0][1].items[0].items[1] == Scalar("2", 2, 8, False)


def test_an_alias_stands_for_what_it_names():
    assert texts(yaml_tree.parse("Q: &a [[1]]\nK: *a\n", "p")) == {"Q": [["1"]], "K": [["1"]]}


@pytest.mark.parametrize("text", ["", "# todo\n", "---\n", "---\n...\n", "\n\n"])
def test_a_file_that_says_nothing_is_nothing(text):
    assert yaml_tree.parse(text, "p") is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("X: 1\n---\nX: 2\n", "p:2:1: a second document starts here ('---'); a file holds one problem, so split it in two"),
        ("a: &a [*a]\n", "p:1:8: the alias *a stands inside what it refers to, which would never end; write the values out"),
        ("t: [*s, b]\n", "p:1:5: found the alias *s, but nothing is marked &s; if *s is meant as text, put it in quotes"),
        ("<<: {X: 1}\n", "p:1:1: found the merge key '<<'; write the keys out, so that everyone sees which value counts"),
        (
            "X: !!float 1\n",
            "p:1:4: found the tag '!!float'; tags are not used here: leave it out, or put the text in quotes if it is meant as text",
        ),
        ("? [a]\n: 1\n", "p:1:3: a key must be one word; put the text in quotes if it is meant as text"),
        ("K: 1\nV: 2\nK: 3\n", "p:3:1: 'K' is given a second time; line 1 has it already: keep one of the two"),
        ("X:\n\t- 1\n", "p:2:1: a tab is used for indentation; YAML wants blanks there: replace the tab by two blanks"),
        ("t: [@x]\n", "p:1:5: a text may not start with @ here: put it in quotes"),
        ("t: [%]\n", "p:1:5: a text may not start with % here: put it in quotes"),
        ("t: ['m, b]\n", "p:1:5: the quote that opens here is never closed: close it, or put a text that holds a quote in other quotes"),
        ("K: 1\nQ:[[1]]\nV: 2\n", "p:2:3: a key is followed by ':' and a blank, as in X: [[1, 0], [0, 1]]"),
        ("K: 1\nmask：causal\n", "p:2:6: a key is followed by ':' and a blank, as in X: [[1, 0], [0, 1]]"),
        (
            "K: 1\nQ = 2\n",
            "p:2:1: found 'Q = 2', expected a key, a colon and a blank, as in X: [[1, 0], [0, 1]], or a row that starts with '- '",
        ),
        ("K:\n  - [1]\n\u00a0 - [2]\n", "p:3:1: found a no-break space (U+00A0) in the indentation: replace it by a blank"),
        (
            "  K: 1\nQ: 2\n",
            "p:2:1: this line does not go on with those above: start every key in the same column, with no '...' between them",
        ),
        (
            "K:\n  - [1]\n    - [2]\n",
            "p:3:5: this row is indented deeper than the one above it: rows of one list start with '- ' in the same column",
        ),
        (
            "K: [[1, - 1]]\n",
            "p:1:9: YAML does not let a bare ? or - stand here: write ~ for what is not given, or put it in quotes, '?'",
        ),
        ("K: [[1]]]\n", "p:1:9: found ']' where nothing is open: take it away, or open the list before it"),
        ("t: a: b\n", "p:1:5: a colon and a blank make a key here: put a text that holds ': ' in quotes, or mend the indentation"),
        (
            "X: [[1. 0.5]\n    [2. 3.]]\n",
            "p:2:5: the list that starts on line 1 expects a comma or ']' here; "
            "a matrix is written [[1, 0.5], [0, 1]], and labels such as # or { or : need quotes",
        ),
        ("X: [[1]]\x07\n", "p:1: found the invisible character U+0007; delete it"),
        ("X: " + "[" * 50 + "]" * 50, "p:1:36: lists and mappings are nested more than 32 deep; a matrix is a list of rows"),
    ],
)
def test_a_yaml_trap_is_one_plain_line(text, message):
    assert refused(yaml_tree, text) == message


@pytest.mark.parametrize(
    "text", ["t: [{, b]", "t: [#tag, b]", "t: [|, b]", "t: [&, b]", "t: [!, b]", "t: [?, b]", "X: " + "[" * 5000, 'a: "\\q"']
)
def test_other_broken_yaml_is_one_plain_line_too(text):
    assert refused(yaml_tree, text).startswith("p:")


def test_a_few_aliases_cannot_unfold_into_millions():
    lines = ["- &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"] + [f"- &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 9)]
    assert "would unfold into more than 1,000,000 values" in refused(yaml_tree, "\n".join(lines))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"X": [1, 2,]}', "p:1:12: JSON allows no comma before ']': leave it out"),
        ('{"X": NaN}', 'p:1:7: JSON has no NaN: put it in quotes, "NaN"'),
        ('{"X": -Infinity}', 'p:1:7: JSON has no -Infinity: put it in quotes, "-Infinity"'),
        ('{"X": .5}', "p:1:7: '.5' is no JSON number: write digits on both sides of the point, no '+' and no leading zeros"),
        ('{"X": 1/3}', "p:1:7: found '1/3'; JSON wants texts, fractions and roots in double quotes, \"1/3\""),
        ('{"X": 1, "X": 2}', "p:1:10: 'X' is given a second time; line 1 has it already: keep one of the two"),
        ("{'X': 1}", "p:1:2: expected a key in double quotes"),
        ('{"t": "a\tb"}', "p:1:7: this text is never closed by a double quote, or holds a line break or a tab: write \\n or \\t"),
        ('{"X": 1', "p:1:8: the file ends inside the object that starts on line 1"),
        ('{"X" 1}', "p:1:6: expected ':' after the key 'X'"),
        ('{"X": 1} 2', "p:1:10: expected the end of the file here: a JSON file holds one value"),
        ('{"X": 1 // c\n}', "p:1:9: JSON has no comments: leave it out, or name the file .yaml and use #"),
        ('{"X": "\\ud800"}', "p:1:7: the text holds half of a surrogate pair (\\ud800 to \\udfff), which is no character"),
        ("[" * 99, "p:1:34: lists and objects are nested more than 32 deep; a matrix is a list of rows"),
    ],
)
def test_json_is_strict(text, message):
    assert refused(json_tree, text) == message


def test_json_numbers_keep_their_text():
    assert texts(json_tree.parse('{"X": [1.50, 1e3, "1/3", null], "t": "\\ud83d\\ude00"}', "p")) == {
        "X": ["1.50", "1e3", "1/3", "null"],
        "t": "😀",
    }
