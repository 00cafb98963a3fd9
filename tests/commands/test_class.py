"""A class, as a teacher marks it: folders and patterns, a page and a gradebook, and one that cannot be read."""

import json

import pytest

from attn_cli.cli import main

RIGHT = "weights: [[0.73, 0.27], [0.12, 0.88]]\noutput: [[1.46, 1.81], [0.24, 3.64]]\n"
WRONG = "weights: [[0.27, 0.73], [0.12, 0.88]]\n"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.yaml").write_text("scores: [[1.0, 0.0], [0.0, 2.0]]\nV: [[2.0, 1.0], [0.0, 4.0]]\n")
    handed_in = {"an na#1.yaml": RIGHT, "ben.yaml": RIGHT, "cleo.yaml": WRONG, "dan.yaml": "weights: [["}
    (tmp_path / "class").mkdir()
    for name, text in handed_in.items():
        (tmp_path / "class" / name).write_text(text)
    return tmp_path


def files(capsys, *argv):
    """The names of the submissions, in order, and the exit code."""
    code = main(["check", "p.yaml", *argv, "--format", "json"])
    return [json.loads(line)["file"] for line in capsys.readouterr().out.splitlines()], code


def test_a_folder_of_files_is_a_class_and_a_name_is_the_path_below_it(here, capsys):
    assert files(capsys, "class") == (["an na#1.yaml", "ben.yaml", "cleo.yaml", "dan.yaml"], 1)


def test_files_and_patterns_are_called_as_given(here, capsys):
    assert files(capsys, "class/ben.yaml", "class/c*.yaml") == (["class/ben.yaml", "class/cleo.yaml"], 1)


def test_each_folder_of_a_folder_is_a_submission_and_no_two_share_a_name(here, capsys):
    for group in ("monday", "friday"):
        (here / group / "eva").mkdir(parents=True)
        (here / group / "eva" / "answers.yaml").write_text(RIGHT)
        (here / group / ".DS_Store").write_text("")
    assert files(capsys, "monday", "friday") == (["monday/eva", "friday/eva"], 0)


def test_the_same_path_twice_is_one_submission_and_the_problem_is_none(here, capsys):
    (here / "class" / "dan.yaml").unlink()
    assert files(capsys, "class", "class/ben.yaml")[0] == ["an na#1.yaml", "ben.yaml", "cleo.yaml"]
    (here / "p.yaml").rename(here / "class" / "p.yaml")
    assert main(["check", "class/p.yaml", "class", "--format", "json"]) == 1
    assert len(capsys.readouterr().out.splitlines()) == 3


@pytest.mark.parametrize(("path", "said"), [("class/z*", "class/z*: matches no file"), ("empty", "empty: holds no submission")])
def test_what_leads_to_no_submission_is_one_line(path, said, here, capsys):
    (here / "empty").mkdir()
    assert main(["check", "p.yaml", "class", path]) == 2
    assert capsys.readouterr().err == f"error: {said}\n"


def test_a_page_each_and_an_index_that_leads_to_them(here, capsys):
    assert main(["check", "p.yaml", "class", "--format", "html", "-o", "pages/"]) == 1
    names = {path.name for path in (here / "pages").iterdir()}
    assert names == {"index.html", "an na#1.yaml.html", "ben.yaml.html", "cleo.yaml.html", "dan.yaml.html"}
    assert 'href="an%20na%231.yaml.html"' in (here / "pages" / "index.html").read_text()


def test_reports_of_two_runs_stand_side_by_side(here, capsys):
    (here / "other").mkdir()
    (here / "other" / "ben.yaml").write_text(WRONG)
    main(["check", "p.yaml", "class/ben.yaml", "-o", "out/"])
    main(["check", "p.yaml", "other/ben.yaml", "-o", "out/"])
    assert sorted(path.relative_to(here / "out").as_posix() for path in (here / "out").rglob("*.txt")) == [
        "class/ben.yaml.txt",
        "other/ben.yaml.txt",
    ]


def test_one_that_cannot_be_read_costs_its_row_only_and_alike_ones_are_pointed_out(here, capsys):
    assert main(["check", "p.yaml", "class", "--format", "csv"]) == 1
    out, err = capsys.readouterr()
    assert [line.partition(",")[0] for line in out.splitlines()] == ["file", "an na#1.yaml", "ben.yaml", "cleo.yaml", "dan.yaml"]
    assert "error: class/dan.yaml:2:1" in err
    assert "note: an na#1.yaml, ben.yaml hold the same answers" in err


def test_alone_it_is_an_input_error_but_gradescope_gets_its_result(here, capsys):
    assert main(["check", "p.yaml", "class/dan.yaml"]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert main(["check", "p.yaml", "class/dan.yaml", "--format", "gradescope"]) == 2
    assert json.loads(capsys.readouterr().out)["score"] == 0


def test_the_options_that_describe_a_problem_hold_for_marking_too(here, capsys):
    (here / "masked.yaml").write_text("weights: [[1, 0], [0.12, 0.88]]\n")
    assert main(["check", "p.yaml", "masked.yaml"]) == 1
    assert main(["check", "p.yaml", "masked.yaml", "--mask", "causal"]) == 0


def test_an_unknown_suffix_is_refused_before_anything_is_written(here, capsys):
    assert main(["check", "p.yaml", "class", "-o", "marks.pdf"]) == 2
    assert "the suffix '.pdf' tells no format" in capsys.readouterr().err
    assert not (here / "marks.pdf").exists()
