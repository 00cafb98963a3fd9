"""Long runs of `attn batch`: in processes of their own, interrupted, killed, gone on with, and on a Dask cluster."""

import csv
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from attn_cli.batch import executors, pool
from attn_cli.batch.executors import pieces
from attn_cli.batch.find import find_problems
from attn_cli.batch.resume import tidy
from attn_cli.batch.work import Job, Outcome, Task, failed
from attn_cli.cli import main
from attn_cli.commands.output import bar

GOOD = "X: [[{}, 0], [0, 1]]\nW_Q: identity\nW_K: identity\nW_V: identity\n"
ATTN = [sys.executable, "-m", "attn_cli"]
POOLED = [sys.executable, "-c", "from attn_cli.batch import executors; executors.PAYS = 0; import attn_cli.__main__ as m; m.run()"]
"""The same, with a pool of processes even for little work."""
POSIX = pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def problems(folder, count, bad=()):
    folder.mkdir(exist_ok=True)
    for i in range(count):
        (folder / f"p{i:04}.yaml").write_text("X: [[1, 2], [3]]\n" if i in bad else GOOD.format(i + 1))


def contents(folder):
    """Every file but the record of options, with what it holds."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != ".attn-batch"]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def summary(path):
    """Its rows without the seconds, which differ from run to run."""
    return [{**row, "seconds": ""} for row in csv.DictReader(path.read_text().splitlines())]


# ---- where the work is done makes no difference


def run(here, name, *options):
    code = main(["batch", "in", "-o", f"out-{name}", "--summary", f"{name}.csv", *options])
    return code, contents(here / f"out-{name}"), summary(here / f"{name}.csv")


def test_a_pool_gives_what_one_process_gives(here, monkeypatch, capsys):
    problems(here / "in", 60, bad=(7, 31))
    alone = run(here, "alone", "--jobs", "1")
    said = capsys.readouterr()
    monkeypatch.setattr(executors, "PAYS", 0)
    monkeypatch.setattr(executors, "MOST", 4)
    assert run(here, "pool", "--jobs", "2") == alone
    assert alone[0] == 1
    assert len(alone[1]) == 58
    assert capsys.readouterr() == said


def test_a_small_run_starts_no_processes(here, monkeypatch):
    problems(here / "in", 10)
    monkeypatch.setattr(pool, "Pool", None)
    assert main(["batch", "in"]) == 0
    monkeypatch.setattr(executors, "PAYS", 0)
    assert main(["batch", "in", "--jobs", "1"]) == 0


def test_where_no_pool_can_be_made_the_work_is_done_here(here, monkeypatch):
    def impossible(workers):
        raise NotImplementedError("no semaphores")

    problems(here / "in", 3)
    monkeypatch.setattr(executors, "PAYS", 0)
    monkeypatch.setattr(pool, "Pool", impossible)
    assert main(["batch", "in", "--jobs", "2"]) == 0


def deadly(job, tasks):
    """Stands for work that makes the system end its process."""
    if any("p0005" in task.path for task in tasks):
        os._exit(9)
    return [Outcome(task.path, True, 0.0) for task in tasks]


def test_a_problem_that_ends_its_process_costs_its_own_row_only(here, monkeypatch):
    monkeypatch.setattr(pool, "worked", deadly)
    monkeypatch.setattr(executors, "PAYS", 0)
    monkeypatch.setattr(executors, "MOST", 3)
    rows = list(executors.outcomes(Job(None), [Task(f"p{i:04}.yaml") for i in range(12)], jobs=2))
    assert [row.file for row in rows] == [f"p{i:04}.yaml" for i in range(12)]
    assert [row.file for row in rows if not row.ok] == ["p0005.yaml"]
    assert rows[5].error == "p0005.yaml: the process that worked this problem was ended; perhaps memory ran out"


def test_starting_a_pool_leaves_the_libraries_to_the_workers(here):
    """Whoever only hands out work and shows rows has no use for NumPy, nor for what marks homework."""
    problems(here / "in", 2)
    program = "; ".join(
        [
            "import sys",
            "from attn_cli.batch import executors",
            "executors.PAYS = 0",
            "from attn_cli.cli import main",
            "main(['batch', 'in', '-o', 'out', '--summary', 's.csv', '--jobs', '2'])",
            "main(['batch', 'in', '--jobs', '2', '--format', 'json'])",
            "print(*{'numpy', 'yaml', 'attn_cli.homework.report'} & {*sys.modules})",
        ]
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=here, capture_output=True, text=True)
    assert done.stderr.splitlines() == ["2 problems: 2 done, 0 failed"] * 2
    assert len(lines := done.stdout.splitlines()) == 3
    assert lines[-1] == ""


def test_a_worker_starts_with_all_that_a_problem_needs(here):
    problems(here / "in", 1)
    program = "; ".join(
        [
            "import importlib, sys",
            "from attn_cli.batch.pool import PRELOAD",
            "from attn_cli.batch.work import Job, Task, worked",
            "from attn_cli.render.style import Style",
            "assert all(map(importlib.import_module, PRELOAD))",
            "before = {*sys.modules}",
            "rows = [worked(Job(Style(), 'json'), [Task('in/p0000.yaml', name)])[0].ok for name in ('out', None)]",
            "print(*rows, *sorted({*sys.modules} - before))",
        ]
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=here, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("True True\n", "")


def test_pieces_are_even_and_keep_the_order():
    tasks = [Task(str(i)) for i in range(200)]
    found = list(pieces(tasks, [0.001] * 100 + [1.0] + [0.001] * 99))
    assert [task for piece in found for task in piece] == tasks
    assert max(map(len, found)) <= 50
    assert len(found) <= 7
    assert (tasks[100],) in found


def test_what_cannot_be_found_out_costs_a_row():
    assert failed("a.yaml", MemoryError()).error == "a.yaml: this problem does not fit into memory"


# ---- stopping and going on


def test_fail_fast_stops_at_the_first_that_fails(here, capsys):
    problems(here / "in", 5, bad=(1, 3))
    assert main(["batch", "in", "--fail-fast", "--summary", "s.csv"]) == 1
    assert [row["ok"] for row in summary(here / "s.csv")] == ["true", "false"]
    assert capsys.readouterr().err.splitlines()[-1] == "5 problems: 1 done, 1 failed, 3 not tried"


def kept(capsys, *options):
    """Which results a further run keeps."""
    assert main(["batch", "in", "-o", "out", "--resume", *options]) == 0
    return capsys.readouterr().err.splitlines()[-1]


def later(path, seconds=5):
    """As if it was changed in a while."""
    os.utime(path, (time.time() + seconds,) * 2)


def test_resume_keeps_what_is_newer_than_its_inputs(here, capsys):
    problems(here / "in", 3)
    (here / "in/data.csv").write_text("1,2\n3,4\n")
    (here / "in/named.yaml").write_text("X: data.csv\n")
    (here / "in/folder").mkdir()
    (here / "in/folder/X.csv").write_text("1,2\n3,4\n")
    for path in (here / "in").rglob("*"):
        later(path, -5)
    assert kept(capsys) == "5 problems: 5 done, 0 failed"
    assert kept(capsys) == "5 problems: 0 done, 0 failed, 5 kept"
    for change in ("p0001.yaml", "data.csv", "folder/X.csv"):
        later(here / "in" / change, -1)
        (here / "out/p0000.yaml.json").touch()  # the newest; the others are older than the change now
        for path in (here / "out").glob("*.json"):
            if path.name not in ("p0000.yaml.json", ".attn-batch"):
                later(path, -0.5)
        later(here / "out/.attn-batch", -1)
        later(here / "in" / change, -0.2)
        assert kept(capsys) == "5 problems: 1 done, 0 failed, 4 kept"
        later(here / "in" / change, -5)
    (here / "out/p0002.yaml.json").write_text("")
    (here / "out/p0000.yaml.json").unlink()
    assert kept(capsys) == "5 problems: 2 done, 0 failed, 3 kept"


@pytest.mark.parametrize("option", [["--score", "dot"], ["--decimals", "3"], ["--lang", "zh"], ["--only", "output"], ["--decimal", ","]])
def test_resume_keeps_nothing_that_was_made_with_other_options(here, capsys, option):
    problems(here / "in", 2)
    for path in (here / "in").iterdir():
        later(path, -5)
    kept(capsys)
    assert kept(capsys, *option) == "2 problems: 2 done, 0 failed"
    assert kept(capsys, *option) == "2 problems: 0 done, 0 failed, 2 kept"
    assert kept(capsys) == "2 problems: 2 done, 0 failed"


def test_the_summary_of_a_resumed_run_tells_of_kept_results_too(here):
    problems(here / "in", 4)
    for path in (here / "in").iterdir():
        later(path, -5)
    run(here, "first")
    (here / "out-first/p0002.yaml.json").unlink()
    whole = run(here, "other")
    main(["batch", "in", "-o", "out-first", "--summary", "first.csv", "--resume"])
    assert summary(here / "first.csv") == whole[2]


def test_resume_needs_a_folder_of_results(here, capsys):
    problems(here / "in", 1)
    assert main(["batch", "in", "--resume"]) == 2
    assert main(["batch", "in", "--resume", "--check", "-o", "out"]) == 2


def test_leftovers_of_a_killed_run_are_removed_and_nothing_else(here):
    problems(here / "in", 1)
    (here / "out").mkdir()
    for name in (".p0000.yaml.json.0123abcd.tmp", ".other.json.0123abcd.tmp", ".p0000.yaml.json.tmp", "p0000.yaml.json.0123abcd.tmp"):
        (here / "out" / name).touch()
    assert main(["batch", "in", "-o", "out"]) == 0
    left = [".other.json.0123abcd.tmp", ".p0000.yaml.json.tmp", "p0000.yaml.json", "p0000.yaml.json.0123abcd.tmp"]
    assert sorted(contents(here / "out")) == left
    tidy([str(here / "none" / "x")])


# ---- interrupted and killed


SLOW = "import os, time\nreplace = os.replace\nos.replace = lambda *a, **k: (time.sleep(0.02), replace(*a, **k))[1]\n"
"""Each result takes 20 ms to appear, so that a busy machine cannot end a run before it is interrupted."""


def start(here, jobs):
    program = ATTN if jobs == "1" else POOLED
    command = [*program, "batch", "in", "-o", "out", "--jobs", jobs]
    (here / "slow").mkdir()
    (here / "slow/sitecustomize.py").write_text(SLOW)  # which every Python imports as it starts, those of the pool too
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(here / "slow"), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)}
    return subprocess.Popen(command, cwd=here, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True)


def wait_for_results(here, count, process):
    until = time.monotonic() + 60
    while len(list((here / "out").glob("*.json"))) < count and process.poll() is None and time.monotonic() < until:
        time.sleep(0.005)


def gone(group):
    """Whether every process of a group has ended, within a while."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.02)
    return False


@POSIX
@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize("how", ["interrupt", "kill"])
def test_whatever_ends_a_run_leaves_whole_files_and_resume_does_the_rest(here, how, jobs):
    problems(here / "in", 400)
    process = start(here, jobs)
    wait_for_results(here, random.randrange(1, 60), process)
    if how == "interrupt":
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: everybody gets it
    else:
        process.kill()
    _, error = process.communicate(timeout=60)
    assert gone(process.pid)
    if how == "interrupt":
        assert process.returncode == 130
        assert error.decode().startswith("interrupted: 400 problems: ")
        assert len(error.splitlines()) == 1
    there = contents(here / "out")
    assert 0 < len(there) < 400
    assert all(json.loads(text)["output"] for name, text in there.items() if name.endswith(".json"))
    if how == "interrupt":
        assert all(name.endswith(".json") for name in there)
    assert main(["batch", "in", "-o", "out", "--resume", "--jobs", "1"]) == 0
    main(["batch", "in", "-o", "undisturbed", "--jobs", "1"])
    assert contents(here / "out") == contents(here / "undisturbed")


@POSIX
def test_results_that_cannot_be_written_are_told_and_leave_nothing(here):
    (here / "in").mkdir()
    for name, size in (("a", 2), ("b", 60), ("c", 2)):
        (here / f"in/{name}.yaml").write_text(f"X: {[[i / 7, 1.0] for i in range(size)]}\n")
    program = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (8000, 8000)); import attn_cli.__main__ as m; m.run()"
    done = subprocess.run([sys.executable, "-c", program, "batch", "in", "-o", "out"], cwd=here, capture_output=True, text=True)
    assert done.returncode == 1
    assert "error: in/b.yaml: out/b.yaml.json: cannot be written: file too large" in done.stderr
    assert sorted(contents(here / "out")) == ["a.yaml.json", "c.yaml.json"]


def test_a_full_disk_stops_the_run_with_one_line(here, monkeypatch, capsys):
    def full(*_):
        raise OSError(28, "No space left on device")

    problems(here / "in", 5)
    main(["batch", "in/p0000.yaml", "-o", "out"])
    capsys.readouterr()
    monkeypatch.setattr("attn_cli.files.writing.os.replace", full)
    assert main(["batch", "in", "-o", "out"]) == 2
    assert capsys.readouterr().err.splitlines() == [
        "error: in/p0000.yaml: out/p0000.yaml.json: cannot be written: no space left on device",
        "5 problems: 0 done, 1 failed, 4 not tried",
    ]
    assert list(contents(here / "out")) == ["in/p0000.yaml.json"]


def test_a_folder_that_cannot_be_made_or_written_is_one_line(here, capsys):
    problems(here / "in", 3)
    (here / "file").write_text("")
    assert main(["batch", "in", "-o", "file/out"]) == 2
    assert capsys.readouterr().err == "error: file/out: cannot be made: not a directory\n"


def test_a_folder_of_earlier_results_that_may_no_longer_be_written_is_one_line(here, monkeypatch, capsys):
    problems(here / "in", 3)
    assert main(["batch", "in", "-o", "out"]) == 0
    capsys.readouterr()
    (here / "out").chmod(0o500)
    if not os.geteuid():  # who may write everywhere
        monkeypatch.setattr("attn_cli.batch.resume.os.access", lambda *_: False)
    assert main(["batch", "in", "-o", "out"]) == 2
    assert capsys.readouterr().err == "error: out: cannot be written: permission denied\n"


# ---- marking


ANSWERED = GOOD.format(1) + "answers:\n  weights: [[{}, 0.33], [0.33, 0.67]]\n"


def test_each_problems_own_answers_are_marked(here, capsys):
    (here / "in").mkdir()
    (here / "in/a.yaml").write_text(ANSWERED.format("0.67"))
    (here / "in/b.yaml").write_text(ANSWERED.format("0.76"))
    assert main(["batch", "in/a.yaml", "--check"]) == 0
    assert capsys.readouterr().out == "right  in/a.yaml scaled soft n=2 m=2 heads=1 d_k=2 d_v=2 1/1\n"
    (here / "in/c.yaml").write_text(GOOD.format(1))
    assert main(["batch", "in", "--check", "--summary", "s.csv", "--jobs", "1"]) == 1
    said = capsys.readouterr()
    assert said.err.splitlines() == ["error: in/c.yaml: has no answers of its own to mark", "3 problems: 2 done, 1 failed, 1 of 2 right"]
    rows = summary(here / "s.csv")
    assert [row["right"] for row in rows] == ["true", "false", ""]
    assert [row["earned"] for row in rows] == ["1", "0.75", ""]
    assert rows[1]["first_wrong_step"] == "weights"
    assert rows[1]["first_wrong_cell"] == "[1,1]"
    assert rows[1]["weights"] == "0.75"


def test_reports_are_what_check_says(here, capsys):
    (here / "in").mkdir()
    (here / "in/b.yaml").write_text(ANSWERED.format("0.76"))
    assert main(["batch", "in", "--check", "-o", "out"]) == 1
    capsys.readouterr()
    main(["check", "in/b.yaml", "--format", "json"])
    report = json.loads(capsys.readouterr().out)
    (text,) = contents(here / "out").values()
    assert {**json.loads(text), "file": None} == {**report, "file": None}
    main(["batch", "in", "--check", "--format", "json"])
    assert json.loads(capsys.readouterr().out)["first_wrong"] == report["first_wrong"]
    assert main(["batch", "in", "--check", "--format", "svg"]) == 2


# ---- what is said on the way


def test_progress_tells_how_long_the_rest_takes():
    assert bar(0, 200, 0.0) == "[....................] 0/200"
    assert bar(50, 200, 2.0) == "[#####...............] 50/200  6 s left"
    assert bar(1, 200, 1.0) == "[....................] 1/200  3 min 19 s left"
    assert bar(1, 10_000, 1.0).endswith("2 h 46 min left")


@POSIX
def test_progress_is_drawn_on_a_terminal_only_and_wiped(here):
    problems(here / "in", 300)
    import pty

    ours, theirs = pty.openpty()
    process = subprocess.Popen([*ATTN, "batch", "in", "-o", "out", "--jobs", "1"], cwd=here, stdout=subprocess.PIPE, stderr=theirs)
    os.close(theirs)
    said = b""
    try:
        while part := os.read(ours, 65536):
            said += part
    except OSError:  # the other side is closed
        pass
    assert process.wait() == 0
    assert b"/300  " in said
    assert said.endswith(b"\r\x1b[K300 problems: 300 done, 0 failed\r\n")
    assert process.communicate()[0] == b""


# ---- on a Dask cluster


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A scheduler and two workers on the loopback, each a process of its own, that start in another folder."""
    pytest.importorskip("distributed", reason="needs the extra: pip install 'attn-cli[dask]'")
    folder = tmp_path_factory.mktemp("cluster")
    program = Path(__file__).with_name("dask_cluster.py")
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen([sys.executable, program], cwd=folder, text=True, **pipes)
    address = process.stdout.readline().strip()
    assert address.startswith("tcp://")
    yield address
    process.communicate("", timeout=60)


def test_a_dask_cluster_gives_what_one_process_gives(here, cluster):
    problems(here / "in", 40, bad=(3,))
    (here / "in/data.csv").write_text("1,2\n3,4\n")
    (here / "in/named.yaml").write_text("X: data.csv\n")
    ended = []
    for name, options in (("alone", ["--jobs", "1"]), ("dask", ["--dask", cluster])):
        command = [*ATTN, "batch", "in", "-o", f"out-{name}", "--summary", f"{name}.csv", *options]
        ended.append(subprocess.run(command, cwd=here, capture_output=True, text=True))
    alone, dask = ended
    assert (dask.returncode, dask.stdout, dask.stderr) == (alone.returncode, alone.stdout, alone.stderr)
    assert alone.returncode == 1
    assert contents(here / "out-dask") == contents(here / "out-alone")
    assert summary(here / "dask.csv") == summary(here / "alone.csv")


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("tcp://127.0.0.1:1", "error: --dask tcp://127.0.0.1:1: no cluster answers there (OSError)\n"),
        ("nowhere", "error: --dask: found 'nowhere', expected an address such as tcp://HOST:PORT\n"),
    ],
)
def test_a_cluster_that_is_not_there_is_one_line(here, address, told):
    pytest.importorskip("distributed", reason="needs the extra: pip install 'attn-cli[dask]'")
    problems(here / "in", 1)
    program = "from attn_cli.batch import cluster; cluster.PATIENCE = 0.5; import attn_cli.__main__ as m; m.run()"
    done = subprocess.run([sys.executable, "-c", program, "batch", "in", "--dask", address], cwd=here, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (2, told)


def test_a_missing_extra_is_one_line(here, capsys, monkeypatch):
    problems(here / "in", 1)
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert main(["batch", "in", "--dask", "tcp://127.0.0.1:1"]) == 2
    assert capsys.readouterr().err == "error: --dask needs the extra dask: pip install 'attn-cli[dask]'\n"


def test_a_batch_of_many_files_is_planned_in_linear_time(here):
    problems(here / "in", 3000)
    start = time.process_time()
    assert len(find_problems(["in"]).problems) == 3000
    assert time.process_time() - start < 2


def test_an_interrupted_run_counts_what_was_written_though_nobody_could_report_it(here):
    from attn_cli.batch.request import Request, prepare
    from attn_cli.render.style import Style

    problems(here / "in", 5)
    main(["batch", "in/p0004.yaml", "-o", "out"])
    batch = prepare(Request(["in"], Job(Style(), "json"), "json", "out"))
    outcomes = iter(batch)
    next(outcomes)
    (here / "out" / "p0003.yaml.json").write_text("{}")
    outcomes.close()
    assert batch.interrupted() == "interrupted: 5 problems: 2 written, 0 failed, 3 not tried; with --resume the next run goes on from there"


@pytest.mark.skipif(sys.platform != "linux", reason="processes as Linux shows them")
@pytest.mark.parametrize("helper", ["resource_tracker", "forkserver"])
def test_a_helper_that_dies_costs_nothing_and_shows_no_traceback(here, helper):
    problems(here / "in", 300)
    process = subprocess.Popen([*POOLED, "batch", "in", "-o", "out", "--jobs", "2"], cwd=here, stderr=subprocess.PIPE, text=True)
    while process.poll() is None and not list((here / "out").glob("*.json")):
        time.sleep(0.005)
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent, command = status.read_text().rsplit(")", 1)[1].split()[1], (status.parent / "cmdline").read_text()
        except OSError:
            continue
        if parent == str(process.pid) and helper in command:
            os.kill(int(status.parent.name), signal.SIGKILL)
    assert process.communicate(timeout=120)[1] == "300 problems: 300 done, 0 failed\n"
    assert process.returncode == 0
