"""Answers: any subset of the steps, in any of the forms; what cannot be read is an error, what is empty is not given."""

import io

import numpy as np
import pytest

from attn_cli.errors import InputError
from attn_cli.files.answers import read_answers
from attn_cli.files.tree import Items


def texts(node):
    return [texts(item) for item in node.items] if isinstance(node, Items) else node.text


def refused(path):
    with pytest.raises(InputError) as caught:
        read_answers(path)
    return str(caught.value)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(name, content):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return name

    return write


NO_BARE_SIGN = "YAML does not let a bare ? or - stand here: write ~ for what is not given, or put it in quotes"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.yaml", "weights: [[0.50, ~], [1/3, 33%]]\n"),
        ("a.yaml", "answers:\n  Weights: [[0.50, ~], [1/3, 33%]]\n"),
        ("a.json", '{"weights": [[0.50, "~"], ["1/3", "33%"]]}'),
        ("a.json", '{"attn": "0.1.0", "steps": [{"name": "weights", "value": [[0.50, "~"], ["1/3", "33%"]]}], "weights": []}'),
        ("weights.csv", "0.50,~\n1/3,33%\n"),
        ("weights.csv", ",k1,k2\nq1,0.50,~\nq2,1/3,33%\n"),
    ],
)
def test_answers_are_the_same_in_every_form(here, name, content):
    steps = read_answers(here(name, content)).steps
    assert {step: texts(value.node) for step, value in steps.items()} == {"weights": [["0.50", "~"], ["1/3", "33%"]]}


def test_null_is_a_masked_score_in_what_we_wrote_and_nothing_in_what_a_person_wrote(here):
    ours = here("r.json", '{"attn": "0.1.0", "steps": [{"name": "scores", "value": [[1.0, null]]}, {"name": "V", "value": [[null]]}]}')
    assert {step: texts(value.node) for step, value in read_answers(ours).steps.items()} == {"scores": [["1.0", "-inf"]], "V": [["null"]]}
    assert texts(read_answers(here("a.json", '{"scores": [[1.0, null]]}')).steps["scores"].node) == [["1.0", "null"]]


def test_a_folder_holds_one_csv_a_step(here):
    here("work/weights.csv", "0,5;0,5\n")
    here("work/output.csv", "1,2\n")
    answers = read_answers("work")
    assert list(answers.steps) == ["output", "weights"]
    assert answers.steps["weights"].decimal == ","


def test_other_files_of_a_folder_are_named_in_a_note_and_nearly_named_ones_are_an_error(here):
    here("work/weights.csv", "0.5,0.5\n")
    here("work/X.csv", "1,2\n")
    here("work/remarks.txt", "I was in a hurry\n")
    answers = read_answers("work")
    assert list(answers.steps) == ["weights"]
    assert [note.values["files"] for note in answers.notes] == [("X.csv", "remarks.txt")]
    here("work/wieghts.csv", "1\n")
    assert refused("work").startswith("work/wieghts.csv: there is no step 'wieghts' (did you mean 'weights'?)")


def test_an_archive_keeps_its_arrays(here):
    buffer = io.BytesIO()
    np.savez(buffer, weights=np.eye(2, dtype=np.float32))
    assert read_answers(here("a.npz", buffer.getvalue())).steps["weights"].node.dtype == np.float32


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.yaml", "wieghts: [[1]]\n", "a.yaml:1:1: there is no step 'wieghts' (did you mean 'weights'?); there are Q, K, V, "),
        ("wieghts.csv", "1\n", "wieghts.csv: there is no step 'wieghts' (did you mean 'weights'?)"),
        (
            "a.yaml",
            "weights: [[~, null], ['', ~]]\n",
            "a.yaml: holds no answer; expected at least one number under a step, such as weights:",
        ),
        ("a.yaml", "weights: {a: {b: 1}}\n", "a.yaml:1:14: weights: found a mapping under a, expected a row of numbers"),
        ("a.yaml", "weights: [[1, ?, 2]]\n", f"a.yaml:1:15: {NO_BARE_SIGN}"),
        ("a.yaml", "weights: [[?, ?, ?]]\n", f"a.yaml:1:12: {NO_BARE_SIGN}"),
        ("a.yaml", "weights: [[1, ?]]\n", f"a.yaml:1:15: {NO_BARE_SIGN}"),
        ("a.yaml", "weights:\n- ?\n- [1, 2]\n", f"a.yaml:2:3: {NO_BARE_SIGN}"),
        ("a.yaml", "weights: ?\n", f"a.yaml:1:10: {NO_BARE_SIGN}"),
        (
            "a.yaml",
            "weights: [[1]]\nWeights: [[2]]\n",
            "a.yaml:2:1: 'Weights' is given a second time; line 1 has it already (spelled weights)",
        ),
        ("a.yaml", "[1]\n", "a.yaml:1:1: found a list of 1, expected steps such as weights:"),
        ("a.yaml", "", "a.yaml: is empty"),
    ],
)
def test_what_is_no_answer_is_an_input_error(here, name, content, message):
    assert refused(here(name, content)).startswith(message)


def test_a_wrong_shape_is_kept_for_the_marker(here):
    steps = read_answers(here("a.yaml", "weights: [1, 2]\nQ: []\noutput: 2.5\nK: [[1], [2, 3]]\n")).steps
    assert [texts(value.node) for value in steps.values()] == [["1", "2"], [], "2.5", [["1"], ["2", "3"]]]


def test_a_folder_in_which_no_file_is_named_after_a_step_says_which_there_are(here, tmp_path):
    here("folder/work.pdf", b"%PDF-1.4")
    assert refused("folder").startswith("folder: holds no answer (work.pdf: named after no step); expected at least one number")
