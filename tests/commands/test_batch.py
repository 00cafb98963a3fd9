"""`attn batch`: which problems it finds, what it calls their results, and that a bad one never stops the rest."""

import csv
import io
import json
import os
import sys
from types import SimpleNamespace

import pytest

from attn_cli.batch.find import _distinct, expand, find_problems
from attn_cli.cli import main
from attn_cli.render.formats import FORMATS, Format

GOOD = "X: [[1, 0], [0, 1]]\nW_Q: identity\nW_K: identity\nW_V: identity\n"
BAD = "X: [[1, 0], [0]]\n"


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty current folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder, *names, text=GOOD):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def names(paths):
    return [name for _, name in find_problems(paths).problems]


def results(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file() and path.name != ".attn-batch")


# ---- which problems there are, and what their results are called


def test_a_folder_is_searched_for_problems_in_order(here):
    write(here, "hw/b.yaml", "hw/a.json", "hw/week2/c.yml", "hw/d.npz", "hw/notes.txt", "hw/.hidden.yaml", "hw/.git/e.yaml")
    assert names(["hw"]) == ["a.json", "b.yaml", "d.npz", "week2/c.yml"]


def test_a_folder_of_csvs_is_one_problem(here):
    write(here, "hw/one/x.CSV", "hw/one/W_Q.csv", "hw/one/problem.yaml", "hw/two.yaml")
    assert names(["hw"]) == ["one", "two.yaml"]
    assert names(["hw/one"]) == ["hw/one"]


def test_links_are_not_followed_into_folders(here):
    write(here, "hw/a.yaml", "elsewhere/b.yaml")
    os.symlink(here / "elsewhere", here / "hw" / "link")
    os.symlink(here / "hw", here / "hw" / "loop")
    assert names(["hw"]) == ["a.yaml"]


def test_each_file_is_done_once_whatever_leads_to_it(here):
    write(here, "hw/a.yaml")
    os.symlink(here / "hw" / "a.yaml", here / "hw" / "z.yaml")
    os.link(here / "hw" / "a.yaml", here / "hw" / "y.yaml")
    assert names(["hw/a.yaml", "hw", "./hw/a.yaml", "hw/*.yaml"]) == ["hw/a.yaml"]


def test_a_file_left_out_because_it_is_another_by_a_second_name_is_told(here, capsys):
    write(here, "hw/a.yaml")
    os.symlink(here / "hw" / "a.yaml", here / "hw" / "z.yaml")
    assert main(["batch", "hw", "hw/a.yaml"]) == 0
    assert "note: hw/z.yaml is the same file as hw/a.yaml, which is done once" in capsys.readouterr().err


def test_a_pattern_is_expanded_and_a_real_name_with_brackets_is_itself(here):
    write(here, "in/a.yaml", "in/b[1].yaml", "in/b1.yaml", "x[y]/c.yaml", "deep/er/d.yaml")
    assert names(["in/*.yaml"]) == ["in/a.yaml", "in/b1.yaml", "in/b[1].yaml"]
    assert names(["in/b[1].yaml"]) == ["in/b[1].yaml"]
    assert names(["in/[ab]?.yaml"]) == ["in/b1.yaml"]
    assert names(["x[y]/*.yaml"]) == ["x[y]/c.yaml"]
    assert names(["deep/**/*.yaml"]) == ["deep/er/d.yaml"]
    assert expand("none/*.yaml") == []


def test_a_result_is_named_by_the_path_below_the_folder_given_else_as_given(here):
    write(here, "hw/w1/a.yaml", "other/b.yaml")
    assert names(["hw", "other/b.yaml", str(here / "hw" / ".." / "other" / "b.yaml")]) == ["w1/a.yaml", "other/b.yaml"]
    assert names(["hw/../other/b.yaml"]) == ["hw/other/b.yaml"]
    assert names([str(here / "other" / "b.yaml")]) == [(here / "other" / "b.yaml").as_posix().lstrip("/")]


def test_where_two_would_share_a_name_the_folders_own_goes_in_front(here):
    write(here, "ann/hw.yaml", "bob/hw.yaml", "bob/more.yaml")
    assert names(["ann", "bob"]) == ["ann/hw.yaml", "bob/hw.yaml", "more.yaml"]


def test_names_stay_distinct_when_the_folders_names_are_alike_too(here):
    write(here, "x/ann/hw.yaml", "y/ann/hw.yaml", "ann/hw.yaml")
    found = names(["x/ann", "y/ann", "ann/hw.yaml"])
    assert len(set(found)) == 3
    assert _distinct([("a", "b"), ("a", "b"), ("b", "c")]) == ["b", "b", "c"]


def test_results_of_an_earlier_run_are_no_problems(here):
    write(here, "hw/a.yaml", "hw/out/b.yaml.json")
    write(here, "hw/a.yaml.json", text="{}")
    assert [name for _, name in find_problems(["hw"], skip=here / "hw" / "out").problems] == ["a.yaml"]


def test_a_folder_of_results_below_one_that_is_searched_holds_no_problems(here, capsys):
    write(here, "p/week/a.yaml")
    write(here, "p/sheet/x.csv", text="1,0\n0,1\n")
    assert main(["batch", "p", "-o", "p/out"]) == 0
    write(here, "p/out/late.yaml")  # a problem all the same
    (here / "p/out/old.npz").write_bytes(b"PK")
    capsys.readouterr()
    assert main(["batch", "p", "-o", "other"]) == 0
    assert results(here / "other") == ["out/late.yaml.json", "sheet.json", "week/a.yaml.json"]
    assert "note: left out as results of an earlier run: p/out/old.npz and 2 more\n" in capsys.readouterr().err


def test_a_name_that_goes_on_another_is_no_result(here):
    write(here, "d/hw1.yaml", "d/hw2.yaml", "d/hw2.json.yaml", "d/x.txt.yaml")
    write(here, "d/hw1", "d/x.txt", text="notes")
    assert names(["d"]) == ["hw1.yaml", "hw2.json.yaml", "hw2.yaml", "x.txt.yaml"]


def test_a_folder_of_problems_and_the_files_they_name_is_no_problem_itself(here):
    write(here, "d/x.csv", text="1,0\n0,1\n")
    write(here, "d/hw1.yaml", "d/hw2.yaml", text="X: x.csv\n")
    assert names(["d"]) == ["hw1.yaml", "hw2.yaml"]
    assert main(["batch", "d", "-o", "out"]) == 0
    write(here, "one/x.csv", "one/w_q.csv", "one/problem.yaml", "one/settings.yaml")
    write(here, "one/W_K.yaml", text="[[1, 0], [0, 1]] # beside x.csv\n# X: x.csv\n")
    assert names(["one"]) == ["one"]
    write(here, "json/X.csv", "json/a.json", text='{"X": "X.csv", "title": "a"}')
    assert names(["json"]) == ["a.json"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes in folders on this system")
def test_a_pipe_in_a_folder_that_is_searched_holds_nobody_up(here):
    write(here, "d/a.yaml", "one/X.csv")
    os.mkfifo(here / "d" / "f.yaml")
    os.mkfifo(here / "one" / "f.yaml")
    assert names(["d", "one"]) == ["a.yaml", "one"]


# ---- what a run does


def test_one_bad_file_never_stops_the_rest(here, capsys):
    write(here, "in/1.yaml", "in/3.yaml")
    write(here, "in/2.yaml", text=BAD)
    (here / "in/4.npz").write_bytes(b"\x00\x01")
    assert main(["batch", "in", "-o", "out"]) == 1
    errors = capsys.readouterr().err.splitlines()
    assert [line.split(":")[:2] for line in errors[:-1]] == [["error", " in/2.yaml"], ["error", " in/4.npz"]]
    assert errors[-1] == "4 problems: 2 done, 2 failed"
    assert results(here / "out") == ["1.yaml.json", "3.yaml.json"]
    assert json.loads((here / "out/1.yaml.json").read_text())["output"]


def test_without_a_folder_for_results_every_problem_is_a_line(here, capsys):
    write(here, "in/a.yaml", "in/b.yaml")
    assert main(["batch", "in", "--score", "dot"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "done   in/a.yaml dot soft n=2 m=2 heads=1 d_k=2 d_v=2",
        "done   in/b.yaml dot soft n=2 m=2 heads=1 d_k=2 d_v=2",
    ]


def test_json_without_a_folder_is_a_line_a_problem(here, capsys):
    write(here, "in/a.yaml", "in/c.yaml")
    write(here, "in/b.yaml", text=BAD)
    assert main(["batch", "in", "--format", "json"]) == 1
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["file"] for line in lines] == ["in/a.yaml", "in/b.yaml", "in/c.yaml"]
    assert [sorted({"output", "error"} & {*line}) for line in lines] == [["output"], ["error"], ["output"]]


def test_other_formats_need_a_folder(here, capsys, monkeypatch):
    monkeypatch.setitem(FORMATS, "toy", Format("toy", "data.json", page=False))
    write(here, "a.yaml")
    assert main(["batch", "a.yaml", "-o", "out", "--format", "toy"]) == 0
    assert results(here / "out") == ["a.yaml.toy"]
    assert main(["batch", "a.yaml", "--format", "toy"]) == 2
    assert "-o DIR" in capsys.readouterr().err


@pytest.mark.parametrize("jobs", [[], ["--jobs", "1"], ["--jobs", "3"]])
def test_the_summary_keeps_the_order_of_the_inputs(here, jobs):
    write(here, "a.yaml", "c.yaml")
    write(here, "b.yaml", text=BAD)
    assert main(["batch", "c.yaml", "b.yaml", "a.yaml", "--summary", "s.csv", *jobs]) == 1
    rows = list(csv.DictReader((here / "s.csv").read_text().splitlines()))
    assert [(row["file"], row["ok"], row["score"]) for row in rows] == [
        ("c.yaml", "true", "scaled"),
        ("b.yaml", "false", ""),
        ("a.yaml", "true", "scaled"),
    ]
    assert "b.yaml" in rows[1]["error"]


def test_a_summary_of_json_lines_holds_the_same(here):
    write(here, "a.yaml")
    main(["batch", "a.yaml", "--summary", "s.jsonl"])
    row = json.loads((here / "s.jsonl").read_text())
    assert {**row, "seconds": 0} == {
        "file": "a.yaml",
        "ok": True,
        "score": "scaled",
        "mode": "soft",
        "shapes": {"n": 2, "m": 2, "heads": 1, "d_k": 2, "d_v": 2},
        "seconds": 0,
        "error": None,
    }


def test_a_summary_of_an_unknown_kind_is_refused_before_anything_runs(here, capsys):
    write(here, "a.yaml")
    assert main(["batch", "a.yaml", "--summary", "s.xlsx", "-o", "out"]) == 2
    assert not (here / "out").exists()


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--summary", "none/s.csv"], "none/s.csv: cannot be written: there is no folder"),
        (["--summary", "s.csv"], "s.csv: is a folder; expected the name of a file to write"),
        (["-o", "a.yaml"], "a.yaml: is a file; expected a folder for the results"),
        (["-o", ""], "-o: found an empty text, expected DIR; see attn batch --help"),
        (["--only", "weigths"], "no step 'weigths' (did you mean 'weights'?); there are Q, K, V,"),
    ],
)
def test_what_can_never_be_written_is_refused_on_one_line_before_anything_runs(argv, said, here, capsys):
    write(here, "a.yaml")
    (here / "s.csv").mkdir()
    (here / "bad.yaml").write_text("nonsense")
    assert main(["batch", "a.yaml", "bad.yaml", *argv]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"error: {said}")
    assert err.count("\n") == 1


def test_a_summary_may_stand_in_the_new_folder_of_the_results(here):
    write(here, "a.yaml")
    assert main(["batch", "a.yaml", "-o", "out", "--summary", "out/s.csv"]) == 0
    assert results(here / "out") == ["a.yaml.json", "s.csv"]


def test_an_earlier_result_that_is_given_as_a_problem_is_told_by_its_name(here, capsys):
    write(here, "a.yaml")
    assert main(["batch", "a.yaml", "-o", "out"]) == 0
    assert main(["batch", "out"]) == 1
    assert "a.yaml.json:2:3: is a result that attn has written, expected a problem" in capsys.readouterr().err


def test_file_names_that_are_no_text_do_no_harm(here, capfdbinary):
    name = os.fsdecode(b"p\xff.yaml")
    write(here, name)
    assert main(["batch", ".", "-o", "out", "--summary", "s.csv"]) == 0
    assert os.fsencode(name) in (here / "s.csv").read_bytes()
    assert results(here / "out") == [f"{name}.json"]


@pytest.mark.parametrize("path", ["none/*.yaml", "missing.yaml", "empty", ""])
def test_what_matches_nothing_is_an_error(path, here, capsys):
    (here / "empty").mkdir()
    assert main(["batch", path]) == 2
    assert path in capsys.readouterr().err


def test_what_matches_nothing_is_an_error_even_beside_others_which_are_still_done(here, capsys):
    write(here, "a.yaml")
    assert main(["batch", "none/*.yaml", "a.yaml", "-o", "out"]) == 2
    assert results(here / "out") == ["a.yaml.json"]


def test_a_dash_reads_the_paths_from_standard_input(here, capsys, monkeypatch):
    write(here, "a b.yaml", "c.yaml")
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"a b.yaml\n\nc.yaml\r\n")))
    assert main(["batch", "-"]) == 0
    assert [line.split(" scaled")[0] for line in capsys.readouterr().out.splitlines()] == ["done   a b.yaml", "done   c.yaml"]


@pytest.mark.parametrize(
    ("stdin", "said"), [(None, "standard input is closed"), (SimpleNamespace(buffer=io.BytesIO(b"\n\n")), "standard input names no path")]
)
def test_without_any_path_on_standard_input_it_says_so(stdin, said, here, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", stdin)
    assert main(["batch", "-"]) == 2
    assert capsys.readouterr().err.startswith(f"error: {said}")


def test_a_result_never_replaces_a_problem(here):
    write(here, "a.yaml", "a.yaml.json")
    (here / "a.yaml.json").write_text('{"X": [[1, 2]]}')
    assert main(["batch", "a.yaml", "a.yaml.json", "-o", "."]) != 0
    assert (here / "a.yaml.json").read_text() == '{"X": [[1, 2]]}'


def test_all_samples_run(here, capsys):
    assert main(["samples", "--copy", "samples"]) == 0
    assert main(["batch", "samples"]) == 0
