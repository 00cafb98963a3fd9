"""How a run starts and ends: help, mistakes on the command line, closed pipes, interruptions."""

import os
import signal
import subprocess
import sys

import pytest

from attn_cli import __version__, cli
from attn_cli.cli import COMMANDS, main
from attn_cli.errors import InputError, Place

ATTN = [sys.executable, "-m", "attn_cli"]


def error(argv, capsys):
    """The one line that a run which cannot work prints."""
    assert main(argv) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    return err.strip()


@pytest.fixture
def failing(monkeypatch):
    """Make every run end with an exception."""

    def fail(exception):
        def dispatch(argv):
            raise exception

        monkeypatch.setattr(cli, "_dispatch", dispatch)

    return fail


@pytest.mark.parametrize("argv", [[], ["--help"], ["-h"]])
def test_help_lists_every_command(argv, capsys):
    assert main(argv) == 0
    page = capsys.readouterr().out
    assert page.startswith("attn compute ")
    assert all(f"\n  {name} " in page for name in COMMANDS)


def test_the_version_is_said(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"attn {__version__}\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_a_command_opens_with_an_example(command, capsys):
    assert main([command, "--help"]) == 0
    assert capsys.readouterr().out.startswith(f"attn {command}")


@pytest.mark.parametrize("command", ["compute", "trace", "batch"])
def test_the_help_of_a_command_lists_score_functions_and_modes(command, capsys):
    main([command, "--help"])
    page = capsys.readouterr().out
    assert all(name in page for name in ("scaled, dot, additive", "soft, hard, sample"))


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_a_command_fits_a_screen(command, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    main([command, "--help"])
    page = capsys.readouterr().out.splitlines()
    assert len(page) <= 50
    assert max(map(len, page)) <= 80


@pytest.mark.parametrize("argv", [["--help"], ["--version"]])
def test_help_and_version_load_nothing_heavy(argv):
    seen = subprocess.run([sys.executable, "-X", "importtime", "-m", "attn_cli", *argv], capture_output=True, text=True, check=True).stderr
    loaded = {line.split("|")[-1].strip() for line in seen.splitlines()}
    assert loaded & {"numpy", "rich", "yaml", "typer", "attn_cli.engine.problem"} == set()


def test_a_command_loads_only_its_own_module():
    code = "import sys; from attn_cli.cli import main; main(['samples']); print(*sys.modules, file=sys.stderr)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stderr.split()
    assert "attn_cli.commands.samples" in loaded
    assert {"attn_cli.commands.compute", "attn_cli.commands.batch", "numpy", "rich", "yaml"} & set(loaded) == set()


def test_a_misspelt_command_is_one_line_with_a_guess(capsys):
    assert "no command '.' (did you mean attn compute .?)" in error(["."], capsys)
    assert error(["comptue"], capsys) == (f"error: no command 'comptue' (did you mean 'compute'?); there are {', '.join(COMMANDS)}")


def test_an_option_before_the_command_is_told_where_to_stand(capsys):
    assert "after the command" in error(["--format", "json", "compute"], capsys)


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["compute", "--fromat", "json"], "--format"),
        (["compute", "--decimals", "many"], "--decimals"),
        (["compute", "--decimals", "16"], "--decimals"),
        (["compute", "--lang", "fr"], "'en', 'zh'"),
        (["compute", "--score"], "--score"),
        (["compute", "a.yaml", "b.yaml"], "b.yaml"),
        (["batch"], "PATH"),
    ],
)
def test_a_mistake_on_the_command_line_is_one_line_with_a_hint(argv, said, capsys):
    line = error(argv, capsys)
    assert said in line
    assert line.endswith(f"see attn {argv[0]} --help")


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["compute", "-o", ""], "-o: found an empty text, expected FILE"),
        (["compute", "--format", "json", "-o", ""], "-o: found an empty text, expected FILE"),
        (["trace", ""], "found an empty text, expected [FILE]"),
        (["trace", "--cell", ""], "--cell: found an empty text, expected STEP[ROW,COLUMN]"),
        (["compute", "--x", ""], "--x: found an empty text, expected FILE"),
        (["compute", "--scale", ""], "--scale: found an empty text, expected NUMBER"),
        (["compute", "--only", "weights", "--only", ""], "--only: found an empty text, expected STEP"),
        (["check", "", "a.yaml"], "found an empty text, expected PROBLEM"),
        (["check", "p.yaml", "a.yaml", ""], "found an empty text, expected [ANSWERS]..."),
        (["check", "p.yaml", "-o", ""], "-o: found an empty text, expected DIR|FILE"),
        (["batch", "p.yaml", "--summary", ""], "--summary: found an empty text, expected FILE"),
        (["samples", "--copy", ""], "--copy: found an empty text, expected DIR"),
    ],
)
def test_an_empty_name_names_nothing_and_no_folder_either(argv, said, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.yaml").write_text("X: [[1]]\nanswers:\n  weights: [[1]]\n")
    assert error(argv, capsys) == f"error: {said}; see attn {argv[0]} --help"
    assert [path.name for path in tmp_path.iterdir()] == ["p.yaml"]


def test_an_input_error_names_its_place_on_one_line(failing, capsys):
    failing(InputError("what\nis this?", key="X", cell=(0, 2), place=Place("hw[draft]\n.yaml", 3, 7)))
    assert error(["compute"], capsys) == r"error: hw[draft]\n.yaml:3:7: X[1,3]: what\nis this?"


@pytest.mark.parametrize(
    ("exception", "said"),
    [
        (MemoryError(), "memory"),
        (RecursionError(), "nested too deeply"),
        (FileNotFoundError(2, "No such file or directory", "a.yaml"), "a.yaml: No such file or directory"),
        (KeyError("x"), "please report it"),
    ],
)
def test_no_failure_shows_a_traceback(exception, said, failing, capsys):
    failing(exception)
    assert said in error(["compute"], capsys)


def test_whoever_mends_attn_can_ask_for_the_traceback(failing, capsys, monkeypatch):
    monkeypatch.setenv("ATTN_DEBUG", "1")
    failing(KeyError("x"))
    assert main(["compute"]) == 2
    assert "Traceback" in capsys.readouterr().err


def test_an_interrupted_run_says_nothing(failing, capsys):
    failing(KeyboardInterrupt())
    assert main(["compute"]) == 130
    assert capsys.readouterr() == ("", "")


@pytest.mark.skipif(os.name == "nt", reason="signals as POSIX has them")
def test_ctrl_c_ends_a_command_quietly():
    process = subprocess.Popen([*ATTN, "compute", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdin.write(b"#" * 1_000_000)  # more than a pipe holds: when it is gone, the program reads
    process.stdin.flush()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, b"", b"")


@pytest.mark.skipif(os.name == "nt", reason="pipes as POSIX has them")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("argv", [["--help"], ["samples"], ["compute"], ["compute", "--help"]])
def test_a_closed_pipe_ends_a_run_quietly(argv, unbuffered):
    reader, writer = os.pipe()
    os.close(reader)
    env = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    done = subprocess.run([*ATTN, *argv], stdout=writer, stderr=subprocess.PIPE, env=env, text=True)
    os.close(writer)
    assert done.returncode == 0
    assert [line for line in done.stderr.splitlines() if not line.startswith("note: ")] == []


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_a_full_disk_is_one_line():
    with open("/dev/full", "w") as full:
        done = subprocess.run([*ATTN, "samples"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (2, "error: No space left on device\n")


@pytest.mark.skipif(os.name == "nt", reason="streams as POSIX has them")
@pytest.mark.parametrize(
    "argv",
    [["--version"], ["--help"], ["samples"], ["compute"], ["compute", "--format", "npz"], ["compute", "--help"], ["batch", "p.json"]],
)
def test_a_result_that_has_nowhere_to_go_is_an_error(argv, tmp_path):
    (tmp_path / "p.json").write_text('{"X": [[1]]}')
    done = subprocess.run(["sh", "-c", '"$@" >&-', "sh", *ATTN, *argv], stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    said = [line for line in done.stderr.splitlines() if not line.startswith(("note: ", "1 done"))]
    assert (done.returncode, said) == (2, ["error: standard output is closed, so the result has nowhere to go"])


@pytest.mark.skipif(os.name == "nt", reason="streams as POSIX has them")
def test_a_result_that_goes_into_a_file_needs_no_standard_output(tmp_path):
    for closed in (">&-", ">&- 2>&-"):
        subprocess.run(["sh", "-c", f'"$@" {closed}', "sh", *ATTN, "compute", "-o", "a.json"], check=True, cwd=tmp_path)
        assert '"weights"' in (tmp_path / "a.json").read_text()
        (tmp_path / "a.json").unlink()


def test_an_ascii_locale_still_prints_every_label():
    env = {**os.environ, "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    done = subprocess.run([*ATTN, "samples", "chinese"], capture_output=True, env=env, check=True)
    assert "[我, 爱, 自然, 语言]" in done.stdout.decode()
