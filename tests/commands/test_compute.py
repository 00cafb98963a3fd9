"""`attn compute` and `attn trace`, as a user runs them."""

import json
import os
import subprocess
import sys

import pytest

from attn_cli.cli import main

ATTN = [sys.executable, "-m", "attn_cli"]
PROBLEM = "tokens: [a, b]\nX: [[1, 0], [0, 1]]\nW_Q: identity\nW_K: identity\nW_V: identity\n"


@pytest.fixture
def problem(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.yaml").write_text(PROBLEM)
    return "p.yaml"


def computed(capsys, *argv):
    """The JSON that a run prints."""
    assert main(["compute", *argv, "--format", "json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_without_a_file_the_textbook_example_runs_and_says_so(capsys):
    assert main(["compute", "--format", "json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["query_tokens"] == ["x1", "x2", "x3"]
    assert "textbook" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("command", ["compute", "trace"])
def test_a_problem_is_shown_as_a_table(command, problem, capsys):
    assert main([command, problem]) == 0
    out, err = capsys.readouterr()
    assert "0.6698" in out
    assert "\x1b" not in out + err


def test_options_stand_before_or_after_the_file(problem, capsys):
    assert main(["compute", "--format", "json", "--mode", "hard", problem]) == 0
    assert json.loads(capsys.readouterr().out) == computed(capsys, problem, "--mode", "hard")


@pytest.mark.parametrize(("text", "value"), [("-2", -2), ("-1/2", -0.5), ("-.5", -0.5), ("1/sqrt(2)", 0.5**0.5), ("−1", -1)])
def test_numbers_on_the_command_line_follow_the_files_and_may_be_negative(text, value, problem, capsys):
    assert computed(capsys, problem, "--scale", text)["settings"]["scale"] == pytest.approx(value)


@pytest.mark.parametrize("value", ["-1", "0", "nope"])
def test_a_temperature_that_makes_no_sense_is_one_line(value, problem, capsys):
    assert main(["compute", problem, "--temperature", value]) == 2
    out, err = capsys.readouterr()
    assert "temperature" in err
    assert (out, err.count("\n")) == ("", 1)


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--score", "scalled"], "scaled"),
        (["--mode", "hrad"], "hard"),
        (["--format", "jsn"], "json"),
        (["--only", "wieghts"], "weights"),
        (["-o", "out.xyz"], "out.xyz"),
    ],
)
def test_a_name_that_does_not_exist_gets_a_guess_on_one_line(argv, said, problem, capsys):
    assert main(["compute", problem, *argv]) == 2
    out, err = capsys.readouterr()
    assert said in err
    assert (out, err.count("\n")) == ("", 1)


def test_only_the_steps_asked_for_are_shown(problem, capsys):
    steps = computed(capsys, problem, "--only", "weights", "--only", "output")["steps"]
    assert [step["name"] for step in steps] == ["weights", "output"]


def test_matrices_come_from_files_of_their_own(tmp_path, monkeypatch, problem, capsys):
    for name, text in {"x.csv": "1,0\n0,1\n", "w.csv": "1,0\n0,1\n"}.items():
        (tmp_path / name).write_text(text)
    own = computed(capsys, "--x", "x.csv", "--wq", "w.csv", "--wk", "w.csv", "--wv", "w.csv")
    assert own["output"] == computed(capsys, problem)["output"]


def test_a_problem_comes_from_standard_input(problem, capsys):
    done = subprocess.run([*ATTN, "compute", "-", "--format", "json"], input=PROBLEM.encode(), capture_output=True, check=True)
    assert json.loads(done.stdout) == computed(capsys, problem)


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8", "utf-16"])
def test_json_is_utf_8_wherever_it_goes(encoding):
    done = subprocess.run(
        [*ATTN, "compute", "-", "--format", "json"],
        input="X: [[1]]\ntokens: [é猫🎉]\n".encode(),
        env={**os.environ, "PYTHONIOENCODING": encoding},
        capture_output=True,
        check=True,
    )
    assert json.loads(done.stdout.decode())["query_tokens"] == ["é猫🎉"]


def test_the_suffix_of_the_output_tells_the_format_and_an_explicit_one_wins(problem, tmp_path, capsys):
    assert main(["compute", problem, "-o", "a.json"]) == 0
    assert main(["compute", problem, "-o", "b.txt", "--format", "json"]) == 0
    assert capsys.readouterr().out == ""
    assert json.loads((tmp_path / "a.json").read_text()) == json.loads((tmp_path / "b.txt").read_text())


def test_a_result_never_takes_the_place_of_what_the_problem_is_read_from(tmp_path, problem, capsys):
    files = {"x.csv": "1,0\n0,1\n", "k.yaml": "[[1, 0]]\n", "p.yaml": "Q: x.csv\nK: [[1, 0]]\n"}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "link.json").symlink_to("p.yaml")
    for argv in (
        ["p.yaml", "-o", "p.yaml"],
        ["p.yaml", "-o", "x.csv"],
        ["p.yaml", "-o", "link.json"],
        ["p.yaml", "--k", "k.yaml", "-o", "k.yaml"],
    ):
        assert main(["compute", *argv]) == 2
        assert capsys.readouterr().err.endswith(
            ": is one of the files read for this, and the result would replace it; choose another name\n"
        )
    assert {name: (tmp_path / name).read_text() for name in files} == files
    assert main(["compute", "p.yaml", "-o", "result.csv"]) == main(["compute", "p.yaml", "-o", "result.csv"]) == 0


def test_a_file_never_holds_colour(problem, tmp_path, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert main(["compute", problem, "-o", "a.txt", "--format", "table"]) == 0
    assert "\x1b" not in (tmp_path / "a.txt").read_text()


@pytest.mark.parametrize(
    ("env", "form", "colored"),
    [
        ({}, "table", False),
        ({"FORCE_COLOR": "1"}, "table", True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, "table", False),
        ({"FORCE_COLOR": "0"}, "table", False),
        ({"FORCE_COLOR": "1"}, "plain", False),
        ({"FORCE_COLOR": "1"}, "json", False),
    ],
)
def test_colour_is_for_terminals_and_for_those_who_force_it(env, form, colored, problem, monkeypatch, capsys):
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    main(["compute", problem, "--format", form])
    assert ("\x1b" in capsys.readouterr().out) == colored


@pytest.mark.parametrize("columns", ["20", "40", "200"])
def test_no_number_is_cut_at_any_width(columns, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", columns)
    main(["compute"])
    out = capsys.readouterr().out
    assert "…" not in out
    assert all(number in out for number in ("0.8137", "0.4935", "0.5065", "0.1863"))


def test_a_pipe_and_a_file_have_no_width_that_a_label_must_fit(problem, tmp_path, monkeypatch, capsys):
    label = "internationalization" * 5
    (tmp_path / "p.yaml").write_text(PROBLEM.replace("[a, b]", f"[{label}, b]"))
    monkeypatch.setenv("COLUMNS", "40")
    main(["compute", problem])
    assert label not in capsys.readouterr().out
    main(["compute", problem, "-o", "p.txt"])
    monkeypatch.delenv("COLUMNS")
    main(["compute", problem, "--format", "plain"])
    assert capsys.readouterr().out == (tmp_path / "p.txt").read_text()
    assert label in (tmp_path / "p.txt").read_text()


def test_the_language_comes_from_the_locale_unless_it_is_named(problem, monkeypatch, capsys):
    def page(*argv, **env):
        for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
            monkeypatch.delenv(name, raising=False)
        for name, value in env.items():
            monkeypatch.setenv(name, value)
        main(["compute", problem, *argv])
        return capsys.readouterr().out

    chinese = page("--lang", "zh")
    assert "权重" in chinese
    assert page(LANG="zh_CN.UTF-8") == chinese
    assert page(LANG="zh_CN.UTF-8", LC_ALL="C") == page("--lang", "en", LANG="zh_CN.UTF-8") == page()


def test_brackets_in_a_file_name_stay_in_the_message(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["compute", "hw[/draft].yaml"]) == 2
    assert "hw[/draft].yaml" in capsys.readouterr().err


@pytest.mark.skipif(os.name == "nt", reason="terminals as POSIX has them")
def test_a_table_fills_the_terminal_in_colour(problem):
    import fcntl
    import struct
    import termios

    reader, writer = os.openpty()
    fcntl.ioctl(writer, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 60, 0, 0))
    env = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR", "FORCE_COLOR")}
    with subprocess.Popen([*ATTN, "compute", problem], stdout=writer, stderr=subprocess.DEVNULL, env={**env, "TERM": "xterm"}):
        os.close(writer)
        seen = b""
        try:
            while chunk := os.read(reader, 65536):
                seen += chunk
        except OSError:  # the other side is closed
            pass
    os.close(reader)
    assert b"\x1b[" in seen


@pytest.mark.parametrize(("file", "code"), [("p.yaml", 0), ("nope.yaml", 2)])
def test_that_nobody_listens_to_remarks_changes_nothing_else(file, code, problem):
    nobody, writer = os.pipe()
    os.close(nobody)
    argv = [*ATTN, "compute", file, "--mode", "hard", "--format", "json"]
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=writer, check=False)
    os.close(writer)
    assert done.returncode == code
    assert bool(done.stdout) == (code == 0)


@pytest.mark.parametrize("arguments", ["--temperature 0", "--only nope", "-o nowhere/x.json", "notes.yaml -o nowhere/x.json"])
def test_where_no_result_can_be_delivered_that_is_the_one_thing_said(arguments, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.yaml").write_text("X: [[1, 0], [0, 1]]\n")  # no weights: a note says so
    assert main(["compute", *arguments.split()]) == 2
    out, err = capsys.readouterr()
    assert (out, err[:7], err.count("\n")) == ("", "error: ", 1)


@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
@pytest.mark.parametrize("argv", [["compute"], ["trace"], ["explain", "scaled"], ["compute", "--help"], ["samples"], ["batch", "nowhere"]])
def test_signs_that_an_encoding_lacks_are_shown_by_others(argv, encoding):
    env = {**os.environ, "PYTHONIOENCODING": encoding}
    done = subprocess.run([*ATTN, *argv], env=env, capture_output=True)
    said = done.stdout.decode(encoding) + done.stderr.decode(encoding)
    assert "\\u" not in said
    assert "\\x" not in said


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "-"])
def test_standard_output_by_its_names_goes_on_where_the_shell_has_written(name, tmp_path):
    log = tmp_path / "log"
    subprocess.run(f"(echo first; {' '.join(ATTN)} compute -o {name}; echo last) > {log} 2>/dev/null", shell=True, check=True)
    lines = log.read_text().splitlines()
    assert (lines[0], lines[-1]) == ("first", "last")
    assert "x1 │ 0.8137  0.4935  0.5065  0.1863" in lines


def test_another_descriptor_is_appended_to(tmp_path):
    log = tmp_path / "log"
    subprocess.run(f"(echo first >&2; {' '.join(ATTN)} compute --format json -o /dev/stderr) 2> {log}", shell=True, check=True)
    assert log.read_text().startswith("first\n{\n")
