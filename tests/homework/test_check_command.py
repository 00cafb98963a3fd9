"""`attn check` as its user runs it: exit codes, formats, a class."""

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

import attn_cli
from attn_cli.cli import main

CHAPTER = Path(__file__).parents[1] / "data" / "walkthroughs" / "00-chapter-4-4"
PROBLEM = "Q: [[1, 2], [0, 1], [2, 0]]\nK: [[1, 1], [0, 1], [1, 0]]\nV: [[10, 0], [0, 10], [5, 5]]\n"
WEIGHTS = "weights: [[0.5760, 0.2840, 0.1400], [0.4011, 0.4011, 0.1978], [0.4458, 0.1084, 0.4458]]\n"
OUTPUT = "output: [[6.4599, 3.5401], [5.0000, 5.0000], [6.6871, 3.3129]]\n"


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Runs a command line beside a problem and a class; (exit code, standard output, standard error)."""
    monkeypatch.chdir(tmp_path)
    for name in ("COLUMNS", "LC_ALL", "LC_MESSAGES", "LANG", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, text in {
        "problem.yaml": PROBLEM,
        "ann.yaml": WEIGHTS + OUTPUT,
        "ben.yaml": WEIGHTS + OUTPUT.replace("6.6871", "7.6871"),
        "cat.yaml": "weights: [[0.4, 0.6]\n",
        "own.yaml": PROBLEM + "answers:\n  " + WEIGHTS,
    }.items():
        (tmp_path / name).write_text(text, encoding="utf-8")

    def command(*arguments):
        code = main(["check", *map(str, arguments)])
        out = capsys.readouterr()
        return code, out.out, out.err

    return command


def test_the_chapter_is_told_kindly_and_exactly(run):
    code, out, err = run(CHAPTER / "problem.yaml", CHAPTER / "answers.yaml", "--format", "plain")
    assert (code, err) == (1, "")
    assert "weights: A[x1,x1] was written as 0.387; it should be 0.5065\n" in out
    assert "A[x1,x1] = 2.7183 / 5.3670 ≈ 0.5065" in out
    assert "✓ products P: right  1/1" in out
    assert "✗ weights A: wrong  0/1" in out
    assert "x1  0.387 ✗ 0.5065  0.142 ✗ 0.1863  0.471 ✗ 0.3072" in out
    assert "x1  0.858 → 0.8137  0.613 → 0.4935  0.387 → 0.5065  0.142 → 0.1863" in out


def test_the_chapter_is_told_in_chinese(run):
    _, out, _ = run(CHAPTER / "problem.yaml", CHAPTER / "answers.yaml", "--lang", "zh")
    assert "第一处错误：A[x1,x1]" in out
    assert "A[x1,x1] 写作 0.387，应为 0.5065" in out
    assert "✗ 注意力权重 weights A：错误" in out


def test_without_answers_the_right_numbers_are_not_given_away(run):
    for form in ("table", "json", "markdown", "gradescope"):
        _, out, _ = run(CHAPTER / "problem.yaml", CHAPTER / "answers.yaml", "--no-answers", "--format", form)
        assert "0.387" in out or form == "json"
        assert "0.5065" not in out
        assert "0.1863" not in out


def test_explain_derives_every_wrong_cell(run):
    _, out, _ = run(CHAPTER / "problem.yaml", CHAPTER / "answers.yaml", "--explain")
    assert out.count(" / 5.3670") == 6


def test_json_says_what_the_contract_says(run):
    code, out, _ = run("problem.yaml", "ben.yaml", "--format", "json")
    report = json.loads(out)
    assert code == 1
    assert {key: report[key] for key in ("right", "complete", "possible", "first_wrong")} == {
        "right": False,
        "complete": True,
        "possible": 2,
        "first_wrong": {"step": "output", "cell": [2, 0]},
    }
    weights, output = report["steps"]
    assert (weights["name"], weights["verdict"], weights["mistake"]) == ("weights", "right", None)
    assert output["cells"] == [["right", "right"], ["right", "right"], ["wrong", "right"]]
    assert output["mistake"]["code"] == "one_cell"
    assert np.allclose(output["expected"][2], [6.6871, 3.3129], atol=1e-4)


def test_right_work_ends_with_exit_code_0_and_the_problem_may_hold_its_own_answers(run):
    assert run("problem.yaml", "ann.yaml")[0] == 0
    assert run("own.yaml")[0] == 0
    code, _, err = run("problem.yaml")
    assert (code, err) == (2, "error: problem.yaml: has no answers of its own; name a file of answers after it\n")


def test_a_file_that_cannot_be_read_is_an_input_error_but_costs_a_class_its_row_only(run):
    code, out, err = run("problem.yaml", "cat.yaml", "--format", "json")
    assert (code, out) == (2, "")
    assert err.startswith("error: cat.yaml:2:")
    code, out, err = run("problem.yaml", "ann.yaml", "cat.yaml", "ben.yaml", "--format", "json")
    lines = [json.loads(line) for line in out.splitlines()]
    assert code == 1
    assert [line["file"] for line in lines] == ["ann.yaml", "cat.yaml", "ben.yaml"]
    assert [line.get("right") for line in lines] == [True, None, False]
    assert "expects a comma" in lines[1]["error"]


def test_a_class_has_a_gradebook_a_summary_and_a_report_each(run, tmp_path):
    _, out, _ = run("problem.yaml", "ann.yaml", "ben.yaml", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [(row["file"], row["right"], row["first_wrong_cell"], row["mistake"]) for row in rows] == [
        ("ann.yaml", "true", "", ""),
        ("ben.yaml", "false", "[3,1]", "one_cell"),
    ]
    _, out, _ = run("problem.yaml", "ann.yaml", "ben.yaml", "-o", "reports", "--format", "gradescope")
    assert "2 submissions" in out
    result = json.loads((tmp_path / "reports" / "ben.yaml.json").read_text(encoding="utf-8"))
    assert [(test["name"], test["score"], test["max_score"]) for test in result["tests"]] == [("weights", 1, 1), ("output", 0.833333333, 1)]


def test_a_file_name_after_o_takes_all_reports_in_the_format_of_its_suffix(run, tmp_path):
    for name, options in {"all.csv": ["--format", "csv"], "all.json": ["--format", "json"], "all.md": ["--format", "markdown"]}.items():
        code, printed, _ = run("problem.yaml", "ann.yaml", "ben.yaml", *options)
        assert code == 1
        code, out, _ = run("problem.yaml", "ann.yaml", "ben.yaml", "-o", name)
        assert (code, (tmp_path / name).read_text(encoding="utf-8")) == (1, printed)
        assert "2 submissions" in out
    _, printed, _ = run("problem.yaml", "ben.yaml", "--format", "gradescope")
    run("problem.yaml", "ben.yaml", "--format", "gradescope", "-o", "results.json")
    assert (tmp_path / "results.json").read_text(encoding="utf-8") == printed


@pytest.mark.parametrize("name", ["problem.yaml", "ann.yaml", "folder/weights.csv"])
def test_reports_never_take_the_place_of_what_they_are_made_from(run, tmp_path, name):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "weights.csv").write_text("1\n")
    before = (tmp_path / name).read_bytes()
    code, _, err = run("problem.yaml", "ann.yaml", "folder", "--format", "json", "-o", name)
    assert code == 2
    if name.endswith(".csv"):
        assert err == f"error: {name}: is one of the files read for this, and the result would replace it; choose another name\n"
    assert (tmp_path / name).read_bytes() == before


def test_points_may_be_asked_for_and_carried_cells_may_cost(run):
    _, out, _ = run("problem.yaml", "ann.yaml", "--points", "weights=3", "--points", "scores=2", "--format", "json")
    report = json.loads(out)
    assert (report["earned"], report["possible"], report["complete"]) == (3, 5, False)
    assert [step["verdict"] for step in report["steps"]] == ["missing", "right", "right"]
    _, out, _ = run(CHAPTER / "problem.yaml", CHAPTER / "answers.yaml", "--penalty-carried", "0.5", "--format", "json")
    assert json.loads(out)["steps"][3]["earned"] == pytest.approx(1 / 6)


def test_a_misspelt_option_value_is_told_in_one_line(run):
    assert run("problem.yaml", "ann.yaml", "--format", "jsn")[2].startswith("error: no format 'jsn' of reports (did you mean 'json'?)")
    assert run("problem.yaml", "ann.yaml", "--points", "wieghts=2")[2].startswith(
        "error: --points: no step 'wieghts' (did you mean 'weights'?)"
    )
    assert run("problem.yaml", "ann.yaml", "--tol", "-1")[0] == 2


def test_full_precision_tells_how_far_off_and_where_it_departs(run, tmp_path):
    weights = np.array([[0.57597535, 0.28399541, 0.14002925], [0.40111209, 0.40111209, 0.19777581], [0.44581, 0.1083, 0.4458]], np.float32)
    np.savez(tmp_path / "kernel.npz", weights=weights)
    code, out, _ = run("problem.yaml", "kernel.npz")
    assert code == 1
    assert "units in the last place of float32" in out
    assert "first step that departs: weights" in out


def test_a_program_of_many_cells_has_its_verdicts_counted(run, tmp_path):
    rng = np.random.default_rng(0)
    q, k, v = (rng.normal(size=(2, 20, 4)) for _ in range(3))
    np.savez(tmp_path / "many.npz", Q=q, K=k, V=v, heads=2)
    scores = q @ k.transpose(0, 2, 1) / 2
    np.savez(tmp_path / "kernel.npz", scores=np.where(np.arange(20) == 7, -scores, scores))
    for form in ("table", "markdown"):
        _, out, _ = run("many.npz", "kernel.npz", "--format", form)
        assert "too many numbers for a grid: 760 ✓  40 ✗" in out
        assert len(out.splitlines()) < 36
    assert "760 ✓  40 ✗" in run("many.npz", "kernel.npz", "--lang", "zh")[1]


def test_a_program_in_half_precision_rounds_its_inputs_too(tmp_path):
    rng = np.random.default_rng(3)
    q, k, v = (rng.normal(size=(40, 16)) for _ in range(3))
    half_q, half_k, half_v = (array.astype(np.float16) for array in (q, k, v))
    scores = (half_q.astype(float) @ half_k.T.astype(float) / 4).astype(np.float16)
    weights = np.exp(scores.astype(float))
    weights = (weights / weights.sum(1, keepdims=True)).astype(np.float16)
    output = (weights.astype(float) @ half_v.astype(float)).astype(np.float16)
    steps = {"scores": scores, "weights": weights, "output": output}
    np.savez(tmp_path / "problem.npz", Q=q, K=k, V=v)
    problem = attn_cli.load(tmp_path / "problem.npz")
    np.savez(tmp_path / "kernel.npz", **steps)
    report = attn_cli.check(problem, tmp_path / "kernel.npz")
    assert [step.verdict for step in report.steps] == ["right"] * 3
    np.savez(tmp_path / "transposed.npz", **{**steps, "output": (weights.T.astype(float) @ half_v.astype(float)).astype(np.float16)})
    report = attn_cli.check(problem, tmp_path / "transposed.npz")
    assert report.first_wrong.name == "output"
    assert report.first_wrong.mistake.code == "weights_transposed"


@pytest.mark.parametrize("nothing", ["~", "[~, ~]", "[[~, ~, ~], [~, ~, ~], [~, ~, ~]]", None])
def test_a_step_that_was_not_given_is_a_grid_of_missing_cells_however_nothing_was_written(nothing, run, tmp_path):
    (tmp_path / "dan.yaml").write_text(OUTPUT + (f"weights: {nothing}\n" if nothing else ""))
    _, out, _ = run("problem.yaml", "dan.yaml", "--points", "weights=2", "--format", "json")
    weights, output = json.loads(out)["steps"]
    assert (weights["verdict"], weights["cells"]) == ("missing", [["missing"] * 3] * 3)
    assert output["verdict"] == "right"


@pytest.mark.parametrize(("step", "cells"), [("row_sums", ["wrong"]), ("weights", [["wrong"]])])
def test_a_single_number_for_a_whole_step_is_a_list_of_one_wrong_cell(step, cells, run, tmp_path):
    (tmp_path / "dan.yaml").write_text(f"{step}: 0.5\n")
    code, out, _ = run("problem.yaml", "dan.yaml", "--format", "json")
    assert (code, json.loads(out)["steps"][0]["cells"]) == (1, cells)
    assert json.loads(out)["first_wrong"] == {"step": step, "cell": None}


THREE_TOKENS = "tokens: [a, b, c]\nQ: [[1, 0], [0, 1], [1, 1]]\nK: [[1, 0], [0, 1], [1, 1]]\nV: [[1, 2], [3, 4], [5, 6]]\nmask: causal\n"


@pytest.mark.parametrize("text", ["b;2,3395;3,3395\n", ",o1,o2\nb,2.3395,3.3395\n", ",o1,o2\nb,2.3395,3.3395\na,1,2\n"])
def test_a_table_may_name_its_tokens_in_any_order(tmp_path, text):
    (tmp_path / "p.yaml").write_text(THREE_TOKENS)
    (tmp_path / "output.csv").write_text(text)
    report = attn_cli.check(tmp_path / "p.yaml", str(tmp_path / "output.csv"))
    assert report.right
    assert not report.complete


@pytest.mark.parametrize("text", ["[[?, 1], [1, 2]]", "[[0.5, ?], [1, 2]]", "?", "-", "\n- ?\n- [1, 2]", "[- , 1]", "{a: ?}", "[[1,?]]"])
def test_a_bare_sign_that_yaml_does_not_let_stand_is_told_how_to_write(tmp_path, capsys, text):
    (tmp_path / "p.yaml").write_text(THREE_TOKENS)
    (tmp_path / "a.yaml").write_text(f"output: {text}\n")
    assert main(["check", str(tmp_path / "p.yaml"), str(tmp_path / "a.yaml")]) == 2
    assert "write ~" in capsys.readouterr().err


@pytest.mark.parametrize("form", ["plain", "json", "html", "markdown"])
@pytest.mark.parametrize(
    "weights", ["[[1, 2, 3], [[1, 2, 3]]]", "[[[1]], 2]", "[{x1: [1, 0, 0]}, [1, 2, 3]]", "[{a: 1}, [1, 2]]", "[{a: [1]}, {b: [1]}]"]
)
def test_lists_of_mixed_depth_are_a_wrong_answer_in_every_format(weights, form, run, tmp_path):
    (tmp_path / "dan.yaml").write_text(f"weights: {weights}\n")
    code, out, err = run("problem.yaml", "dan.yaml", "--format", form)
    assert (code, err) == (1, "")
    assert "wrong" in out


def test_a_summary_of_one_speaks_of_one_and_own_answers_are_called_by_their_problem(run):
    _, out, _ = run("problem.yaml", "ann.yaml", "-o", "ann.html")
    assert out.startswith("1 submission\n")
    _, out, _ = run("own.yaml", "-o", "own.html")
    assert "own.yaml │" in out
