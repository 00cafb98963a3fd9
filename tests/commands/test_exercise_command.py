"""`attn exercise`, as a teacher and a student run it."""

import io
import json
import re

import pytest

from attn_cli.cli import main

FILES = ["answers.yaml", "key.yaml", "problem.yaml", "sheet.html", "sheet.md", "sheet.tex"]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def new(*options):
    return main(["exercise", "new", "-o", "sheet/", "--style", "halves", "--seed", "4", *options])


@pytest.mark.parametrize(
    "options", [(), ("--grad",), ("--mask", "causal"), ("--heads", "2"), ("--score", "additive"), ("--lang", "zh")], ids=str
)
def test_a_sheet_has_a_key_with_full_marks_and_hides_nothing(options, tmp_path, capsys):
    assert new(*options) == 0
    assert sorted(path.name for path in (tmp_path / "sheet").iterdir()) == FILES
    capsys.readouterr()
    assert main(["check", "sheet/problem.yaml", "sheet/key.yaml", "--format", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["complete"] is True
    assert report["earned"] == report["possible"] > 0
    assert main(["exercise", "audit", "sheet/problem.yaml", "--decimals", "3"]) == 0


def test_blank_answers_are_all_missing(tmp_path, capsys):
    assert new() == 0
    text = (tmp_path / "sheet" / "answers.yaml").read_text()
    (tmp_path / "one.yaml").write_text(text.replace("[_", "[1", 1))
    capsys.readouterr()
    main(["check", "sheet/problem.yaml", "one.yaml", "--format", "json"])
    report = json.loads(capsys.readouterr().out)
    assert report["complete"] is False
    assert main(["check", "sheet/problem.yaml", "sheet/answers.yaml"]) == 2
    assert "holds no answer" in capsys.readouterr().err


def test_only_the_steps_asked_for_stand_on_the_sheet(tmp_path, capsys):
    assert new("--steps", "S,A", "--steps", "output") == 0
    problem = (tmp_path / "sheet" / "problem.yaml").read_text()
    assert "ask: [scores, weights, output]" in problem
    key = (tmp_path / "sheet" / "key.yaml").read_text()
    assert re.findall(r"^(\w+):", key, re.M) == ["scores", "weights", "output"]


def test_a_class_gets_a_variant_each(tmp_path, capsys):
    assert new("--count", "3") == 0
    problems = {(tmp_path / "sheet" / f"0{i}" / "problem.yaml").read_text().split("X:")[1] for i in (1, 2, 3)}
    assert len(problems) == 3


def test_a_seed_that_was_not_given_is_printed_and_makes_the_same_again(tmp_path, capsys):
    assert main(["exercise", "new", "-o", "a/", "--style", "halves"]) == 0
    seed = re.search(r"--seed (\d+)", capsys.readouterr().out)[1]
    assert main(["exercise", "new", "-o", "b/", "--style", "halves", "--seed", seed]) == 0
    assert (tmp_path / "a" / "problem.yaml").read_text() == (tmp_path / "b" / "problem.yaml").read_text()


def test_somebody_s_work_is_not_replaced(tmp_path, capsys):
    assert new() == 0
    (tmp_path / "sheet" / "answers.yaml").write_text("Q: [[1]]\n")
    assert new() == 2
    assert "--force" in capsys.readouterr().err
    assert (tmp_path / "sheet" / "answers.yaml").read_text() == "Q: [[1]]\n"
    assert new("--force") == 0


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--score", "scald"], "did you mean 'scaled'"),
        (["--mode", "sample"], "draws lots"),
        (["--mask", "full"], "expected causal"),
        (["--steps", "logits"], "did you mean 'scores'"),
        (["--style", "halfs"], "did you mean 'halves'"),
        (["--steps", "tempered"], "no step 'tempered'"),
        (["--lang", "fr"], "expected en or zh"),
    ],
)
def test_what_no_sheet_can_ask_is_told_in_one_line(options, told, capsys):
    assert main(["exercise", "new", "-o", "sheet/", *options]) == 2
    err = capsys.readouterr().err
    assert told in err
    assert err.count("\n") == 1


def test_the_page_needs_no_network_and_holds_what_it_marks_by(tmp_path):
    assert new("--grad") == 0
    page = (tmp_path / "sheet" / "sheet.html").read_text()
    assert not re.search(r"https?://|src=|@import|fetch\(|XMLHttpRequest|localStorage", page)
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.S)[1])
    cells = re.findall(r'data-cell="(\d+):(\d+)"', page)
    assert len(cells) == sum(len(step["values"]) for step in data["steps"]) == len(set(cells))
    assert any("√d_k" in slip["text"] for step in data["steps"] for slip in step["slips"])


# ------------------------------------------------------------------ audit
def test_the_chapter_s_example_hides_what_identities_hide(capsys):
    assert main(["exercise", "audit", "--format", "json"]) == 1
    found = {one["code"]: one["why"] for one in json.loads(capsys.readouterr().out)["hidden"]}
    assert "identities" in found["W_transposed"]
    assert "same" in found["Q_K_swapped"]


# ------------------------------------------------------------------ do
def dialogue(monkeypatch, capsys, lines, *options):
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(lines) + "\n"))
    assert main(["exercise", "do", *options]) == 0
    return capsys.readouterr().out


def test_each_line_is_answered_at_once_with_the_mistake_that_it_shows(monkeypatch, capsys):
    out = dialogue(monkeypatch, capsys, ["2 0 1", "1 0 0.5", "?", "0; 1; 0,5", "0 1 0.5", ""], "--steps", "scores")
    assert "not divided by √d_k" in out
    assert "✓  ✓  ✓" in out
    assert "S[x2,x1] = P[x2,x1] / √4" in out
    assert "0.5  0.5  1" in out
    assert "of 3 lines" in out


def test_a_line_that_cannot_be_read_is_asked_again(monkeypatch, capsys):
    out = dialogue(monkeypatch, capsys, ["1 0", "1 zero 0.5", "q"], "--steps", "scores")
    assert "found 2 numbers, expected 3" in out
    assert "zero" in out
    assert "0 of 0 lines" in out


def test_gradients_can_be_asked_line_by_line(monkeypatch, capsys):
    out = dialogue(monkeypatch, capsys, ["2 2 2", "q"], "--steps", "dA")
    assert "dA = dO·Vᵀ" in out
    assert "✓  ✓  ✓" in out


def test_the_help_of_new_says_what_its_own_seed_is_for_and_which_scores_there_are(capsys):
    assert main(["exercise", "new", "--help"]) == 0
    page = " ".join(capsys.readouterr().out.split())
    assert "--seed N The same seed makes the same sheets" in page
    assert "each key: scaled, dot, additive" in page
