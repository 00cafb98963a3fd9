"""Cases of public mistakes: how one is run, and every reason why what came out is not what it asks for.

A case is a folder with `case.yaml` (id, title, where it was reported, `setup`, `runs`) and its input files. A run names `args`,
and perhaps `stdin`, `env` (null unsets), `setup` (shell lines; $ATTN is the program), `pipe` (a shell command that reads standard
output), `tty` (streams that are a terminal, `columns` wide), `interrupt` (a signal, `once` a file matches), `time_s` and `mem_mb`.
Its other keys are what must come out: `judge` reads them. All the runs of a case must hold.
"""

from __future__ import annotations

import fcntl
import io
import json
import os
import re
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
import unicodedata
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from itertools import groupby
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np

from attn_cli.cli import main

ATTN = [sys.executable, "-m", "attn_cli"]
ROOT = str(Path(__file__).parents[1])
UNSET = {
    *("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "PY_COLORS", "COLORTERM", "TTY_COMPATIBLE"),
    *("TTY_INTERACTIVE", "GITHUB_ACTIONS", "CI", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LC_MESSAGES", "LC_NUMERIC", "PYTHONIOENCODING"),
    *("PYTHONUTF8", "PYTHONCOERCECLOCALE", "PYTHONUNBUFFERED", "PYTHONWARNINGS"),
}
"""Variables of whoever runs the tests that would change what the program prints."""
LADDER = ("products", "raw_scores", "capped", "scores")
"""A step of these that is left out, because nothing changes it, is the next one."""
SLOWER = 3
"""A machine may be that many times slower than the one on which the cases' time limits were set."""
OUTSIDE = {"tty", "pipe", "interrupt", "mem_mb", "stdin", "env", "time_s"}
"""What a run needs a process of its own for."""
BY_ITSELF = bool(os.environ.get("ATTN_CASES_IN_PROCESSES"))
"""Give every run a process of its own: slower by a minute or two, and nearer to what users do."""


# ---- running


def failure(folder: Path, case: dict[str, Any]) -> str | None:
    """The first reason why a case does not hold, or None."""
    for number, run in enumerate(case["runs"], 1):
        with tempfile.TemporaryDirectory(prefix="case-") as scratch:
            copy = Path(scratch).resolve() / "case"
            shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("case.yaml"))
            for line in [*case.get("setup", ()), *run.get("setup", ())]:
                subprocess.run(["bash", "-c", line], cwd=copy, check=True, env=environment(), stdin=subprocess.DEVNULL)
            seen = (outside if BY_ITSELF or OUTSIDE & set(run) else inside)(run, copy)
            if why := next(judge(run, seen), None):
                return f"run {number} (attn {' '.join(map(str, run['args']))}): {why}"
    return None


def environment(extra: dict[str, Any] | None = None) -> dict[str, str]:
    """What a run finds in its environment."""
    known = {key: value for key, value in os.environ.items() if key not in UNSET}
    path = os.pathsep.join(filter(None, [ROOT, os.environ.get("PYTHONPATH")]))
    known |= {"LANG": "C.UTF-8", "TERM": "xterm-256color", "PYTHON": sys.executable, "ATTN": shlex.join(ATTN), "PYTHONPATH": path}
    known |= {key: str(value) for key, value in (extra or {}).items() if value is not None}
    return {key: value for key, value in known.items() if (extra or {}).get(key, "") is not None}


@contextmanager
def entered(folder: Path) -> Iterator[None]:
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def inside(run: dict[str, Any], folder: Path) -> SimpleNamespace:
    """What comes out of a run in this very process."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="surrogateescape") for _ in range(2))
    with entered(folder), patch.dict(os.environ, environment(), clear=True), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # as __main__ has it
        with redirect_stdout(out), redirect_stderr(err):
            try:
                code = main([str(word) for word in run["args"]])
            except SystemExit as end:
                code = end.code
    texts = []
    for stream in (out, err):
        stream.flush()
        texts.append(stream.buffer.getvalue().decode("utf-8", "replace"))
    return SimpleNamespace(code=code or 0, stdout=texts[0], stderr=texts[1], late=0, sent=None, folder=folder)


class Terminal:
    """A pseudo-terminal that collects what is written to it."""

    def __init__(self, columns: int) -> None:
        self.reader, self.writer = os.openpty()
        fcntl.ioctl(self.writer, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        self.chunks: list[bytes] = []
        self.thread = threading.Thread(target=self.collect, daemon=True)
        self.thread.start()

    def collect(self) -> None:
        try:
            while chunk := os.read(self.reader, 65536):
                self.chunks.append(chunk)
        except OSError:  # the other side was closed
            pass

    def text(self) -> bytes:
        os.close(self.writer)
        self.thread.join(5)
        os.close(self.reader)
        return b"".join(self.chunks).replace(b"\r\n", b"\n")


def outside(run: dict[str, Any], folder: Path) -> SimpleNamespace:
    """What comes out of a run in a process of its own."""
    limit = SLOWER * run.get("time_s", 20)
    env = environment(run.get("env"))
    command = [*ATTN, *map(str, run["args"])]
    if memory := run.get("mem_mb"):  # the address space of idle threads must not count
        env |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        confine = f"import resource; resource.setrlimit(resource.RLIMIT_AS, ({memory << 20},) * 2); "
        command = [sys.executable, "-c", confine + "import attn_cli.__main__ as m; m.run()", *map(str, run["args"])]
    terminals = {name: Terminal(run.get("columns", 80)) for name in run.get("tty", ())}
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, tempfile.TemporaryFile() as inp:
        inp.write(run.get("stdin", "").encode())
        inp.seek(0)
        stdout = terminals["stdout"].writer if "stdout" in terminals else subprocess.PIPE if "pipe" in run else out
        stderr = terminals["stderr"].writer if "stderr" in terminals else err
        process = subprocess.Popen(command, cwd=folder, env=env, stdin=inp, stdout=stdout, stderr=stderr, start_new_session=True)
        reader = None
        if process.stdout:
            ends = {"stdin": process.stdout, "stdout": out, "stderr": subprocess.DEVNULL}
            reader = subprocess.Popen(run["pipe"], shell=True, cwd=folder, env=env, **ends)
            process.stdout.close()
        sent = interrupt(process, run["interrupt"], folder) if "interrupt" in run else None
        late = 0
        for one in filter(None, (process, reader)):
            try:
                one.wait(limit)
            except subprocess.TimeoutExpired:
                late = limit
                one.kill()
                one.wait()
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # whatever it left behind
        texts = {}
        for name, stream in (("stdout", out), ("stderr", err)):
            stream.seek(0)
            texts[name] = (terminals[name].text() if name in terminals else stream.read()).decode("utf-8", "replace")
    return SimpleNamespace(code=process.returncode, late=late, sent=sent, folder=folder, **texts)


def interrupt(process: subprocess.Popen[bytes], how: dict[str, Any], folder: Path) -> bool:
    """Send the signal to the program and its workers; False where it was done before."""
    deadline = time.monotonic() + SLOWER * how.get("after_s", 5)
    while time.monotonic() < deadline and process.poll() is None:
        if how.get("once") and next(folder.glob(how["once"]), None):
            break
        time.sleep(0.01)
    if process.poll() is not None:
        return False
    os.killpg(process.pid, getattr(signal, how["signal"]))
    return True


# ---- judging: every function yields reasons why the outcome does not hold


def judge(want: dict[str, Any], seen: SimpleNamespace) -> Iterator[str]:
    """All reasons why what was seen is not what a run asks for.

    `exit` (a code or several; default 0) · `steps` {step: numbers}, `no_steps`, `exact_zeros`, `json`, `json_valid`, `json_lines`,
    `marks` of the JSON on standard output · `stdout_contains`, `stdout_lacks`, `stderr_contains`, `stderr_lacks`, `says` · `files`,
    `file_contains`, `file_lacks`, `results` of what was written · `aligned`, `pipes_even` of its tables · `any_of`: one must hold.
    """
    exits = want.get("exit", 0)
    exits = exits if isinstance(exits, list) else [exits]
    if "any_of" in want and "exit" not in want:  # each alternative has its own
        exits = [code for one in want["any_of"] for code in np.atleast_1d(one.get("exit", 0)).tolist()]
    if seen.sent is False:
        exits = [0]
    if seen.late:
        yield f"still running after {seen.late} s"
        return
    if seen.code not in exits:
        yield f"exit {seen.code}, expected {' or '.join(map(str, exits))}: {shorten(seen.stderr) or shorten(seen.stdout)}"
    yield from judge_patterns("stdout", seen.stdout, want.get("stdout_contains", ()), [*want.get("stdout_lacks", ()), r"Traceback \(most"])
    yield from judge_patterns("stderr", seen.stderr, want.get("stderr_contains", ()), [*want.get("stderr_lacks", ()), "Traceback"])
    yield from judge_patterns("output", seen.stdout + "\n" + seen.stderr, want.get("says", ()))
    lines = sum(bool(line.strip()) for line in seen.stderr.splitlines())
    if seen.code == 2 and (lines < 1 if want.get("more_lines") else lines != 1):
        yield f"an error of {lines} lines on standard error, expected one: {shorten(seen.stderr)}"
    near = {"atol": float(want.get("atol", 1e-6)), "rtol": float(want.get("rtol", 1e-9))}
    yield from judge_json(want, seen.stdout, near)
    yield from judge_files(seen.folder, want)
    yield from judge_results(seen.folder, want.get("results", ()), near)
    yield from judge_tables(seen.stdout, want.get("aligned"), want.get("pipes_even"))
    if "any_of" in want:
        failed = [next(judge({**near, **choice}, seen), None) for choice in want["any_of"]]
        if all(failed):
            yield "none of the accepted outcomes: " + "; or ".join(f"({i}) {why}" for i, why in enumerate(failed, 1))


def judge_patterns(what: str, text: str, contains: Any = (), lacks: Any = ()) -> Iterator[str]:
    for pattern in contains:
        if not re.search(pattern, text, re.IGNORECASE):
            yield f"{what} lacks {pattern!r}: {shorten(text)}"
    for pattern in lacks:
        if found := re.search(pattern, text, re.IGNORECASE):
            yield f"{what} has {pattern!r}: {shorten(text[max(0, found.start() - 30) : found.end() + 30])}"


def strict(text: str) -> Any:
    """JSON without NaN and Infinity."""

    def refuse(word: str) -> None:
        raise ValueError(f"{word} is no JSON")

    return json.loads(text, parse_constant=refuse)


def judge_json(want: dict[str, Any], text: str, near: dict[str, float]) -> Iterator[str]:
    if "json_lines" in want:
        yield from judge_lines(text, want["json_lines"])
    if not {"steps", "no_steps", "json", "json_valid", "marks"} & set(want):
        return
    try:
        result = strict(text)
    except (ValueError, RecursionError) as why:
        yield f"no strict JSON on standard output ({shorten(str(why))}): {shorten(text)}"
        return
    if not isinstance(result, dict):
        yield "the JSON is no object"
        return
    yield from judge_steps(result, want.get("steps", {}), near, want.get("exact_zeros"))
    there = {step.get("name") for step in result.get("steps", [])}
    yield from (f"there is a step {name}" for name in want.get("no_steps", ()) if name in there)
    for path, wanted in want.get("json", {}).items():
        try:
            got = dig(result, path)
        except (KeyError, IndexError, ValueError, TypeError):
            yield f"no {path} in the JSON"
            continue
        if not (re.search(wanted, got, re.IGNORECASE) if isinstance(wanted, str) and isinstance(got, str) else got == wanted):
            yield f"{path} is {got!r}, expected {wanted!r}"
    yield from judge_marks(result, want.get("marks", {}))


def judge_lines(text: str, count: int) -> Iterator[str]:
    lines = text.splitlines()
    if len(lines) != count:
        yield f"{len(lines)} lines on standard output, expected {count}: {shorten(text)}"
    for line in lines:
        try:
            strict(line)
        except ValueError as why:
            yield f"a line of standard output is not strict JSON ({shorten(str(why))}): {shorten(line)}"
            return


def dig(value: Any, path: str) -> Any:
    """What stands at a path with dots; a list of named things is entered by name."""
    for key in path.split("."):
        named = [one for one in value if isinstance(one, dict) and one.get("name") == key] if isinstance(value, list) else []
        value = named[0] if named else value[int(key) if isinstance(value, list) else key]
    return value


def numbers(value: Any) -> Any:
    """Nested lists as an array; None, which stands for what JSON cannot write, is -inf."""

    def plain(one: Any) -> Any:
        return [plain(x) for x in one] if isinstance(one, list) else -np.inf if one is None else one

    return np.array(plain(value), dtype=float)


def step(result: dict[str, Any], name: str) -> Any:
    """The value of a step; KeyError where it is not there."""
    steps = {one.get("name"): one.get("value") for one in result.get("steps", [])}
    if name in LADDER:
        name = next((one for one in LADDER[LADDER.index(name) :] if one in steps), name)
    if name in ("weights", "output") and name in result:
        if name in steps and steps[name] != result[name]:
            raise KeyError(f"{name} (two different values)")
        return result[name]
    return steps[name]


def judge_steps(result: dict[str, Any], wanted: dict[str, Any], near: dict[str, float], exact: bool | None = False) -> Iterator[str]:
    for name, numbers_wanted in wanted.items():
        try:
            got, want = numbers(step(result, name)), numbers(numbers_wanted)
        except KeyError as missing:
            yield f"no step {missing.args[0]}"
            continue
        except (TypeError, ValueError):
            yield f"{name}: not a block of numbers"
            continue
        if name == "row_sums" and got.shape == (*want.shape, 1):
            got = got[..., 0]
        if got.shape != want.shape:
            yield f"{name}: shape {got.shape}, expected {want.shape}"
        elif not np.allclose(got, want, **near):
            wrong = tuple(np.argwhere(~np.isclose(got, want, **near))[0])
            yield f"{name}{list(map(int, wrong))}: {got[wrong]:.10g}, expected {want[wrong]:.10g}"
        elif exact and name == "weights" and got[want == 0].any():
            yield f"a masked weight is {np.abs(got[want == 0]).max():.3g}, expected exactly 0"


def judge_marks(report: dict[str, Any], wanted: dict[str, Any]) -> Iterator[str]:
    """`right`, `complete`, `first_wrong`, `verdicts`, `cells` and `mistakes` of a report; `a|b` allows either."""
    for key in ("right", "complete"):
        if key in wanted and report.get(key) is not wanted[key]:
            yield f"{key} is {report.get(key)!r}, expected {wanted[key]}"
    for key, want in wanted.get("first_wrong", {}).items():
        got = (report.get("first_wrong") or {}).get(key)
        if got not in (want.split("|") if isinstance(want, str) else [want]):
            yield f"first_wrong.{key} is {got!r}, expected {want!r}"
    steps = {one.get("name"): one for one in report.get("steps", [])}
    for name, want in wanted.get("verdicts", {}).items():
        if (got := steps.get(name, {}).get("verdict")) not in want.split("|"):
            yield f"{name} is marked {got!r}, expected {want}"
    for name, grid in wanted.get("cells", {}).items():
        got = steps.get(name, {}).get("cells")
        try:
            same = all(g in w.split("|") for gs, ws in zip(got, grid, strict=True) for g, w in zip(gs, ws, strict=True))
        except (TypeError, ValueError):
            same = False
        if not same:
            yield f"{name} cells {got}, expected {grid}"
    for name, want in wanted.get("mistakes", {}).items():
        mistake = steps.get(name, {}).get("mistake")
        code = mistake.get("code") if isinstance(mistake, dict) else mistake
        if want is None and code:
            yield f"{name}: the mistake {code!r} is named for right work"
        elif want is not None and code not in want.split("|"):
            yield f"{name}: the mistake named is {code!r}, expected {want}"


def matching(folder: Path, glob: str) -> list[Path]:
    return sorted(path for path in folder.glob(glob) if not path.is_dir())


def within(count: int, wanted: Any) -> bool:
    low, high = wanted if isinstance(wanted, list) else (wanted, wanted)
    return low <= count <= high


def judge_files(folder: Path, want: dict[str, Any]) -> Iterator[str]:
    wanted = want.get("files", {})
    yield from (f"no file {glob}" for glob in wanted.get("exist", ()) if not matching(folder, glob))
    for glob in wanted.get("absent", ()):
        if found := matching(folder, glob):
            yield f"there is a file {found[0].relative_to(folder)}"
    for glob, count in wanted.get("count", {}).items():
        if not within(n := len(matching(folder, glob)), count):
            yield f"{n} files {glob}, expected {count}"
    for name, count in wanted.get("lines", {}).items():
        n = len((folder / name).read_text("utf-8").splitlines()) if (folder / name).exists() else 0
        if n != count:
            yield f"{name} has {n} lines, expected {count}"
    for path in (path for glob in wanted.get("valid_json", ()) for path in matching(folder, glob)):
        try:
            strict(path.read_text("utf-8"))
        except ValueError as why:
            yield f"{path.relative_to(folder)} is not strict JSON: {shorten(str(why))}"
    for key in ("contains", "lacks"):
        for name, patterns in want.get(f"file_{key}", {}).items():
            path = folder / name
            if path.exists():
                yield from judge_patterns(name, path.read_text("utf-8", "replace"), **{key: patterns})
            else:
                yield f"no file {name}"


def judge_results(folder: Path, wanted: Any, near: dict[str, float]) -> Iterator[str]:
    for one in wanted:
        held = 0
        for path in matching(folder, one["glob"]):
            with suppress(ValueError):
                held += not list(judge_steps(strict(path.read_text("utf-8")), one["steps"], near))
        if not within(held, one["times"]):
            yield f"{held} results {one['glob']} hold the expected numbers, expected {one['times']}"


def width(text: str) -> int:
    """How many cells of a terminal a text takes."""
    return sum(0 if unicodedata.category(c) in ("Mn", "Me", "Cf") else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def judge_tables(text: str, aligned: Any, pipes: Any) -> Iterator[str]:
    if aligned:
        lines = [re.sub(r"\x1b\[[\d;]*m", "", line).strip() for line in text.splitlines()]
        for framed, block in groupby(lines, key=lambda line: line[:1] in set("│┃|┏┡├└╭╰┌┢┣┗┠╞╔║╠╚+") and line != ""):
            widths = {width(line): line for line in block} if framed else {}
            if len(widths) > 1:
                yield f"a table with lines of {min(widths)} and {max(widths)} cells: {widths[max(widths)]}"
    if pipes:
        for row, block in groupby(text.splitlines(), key=lambda line: line.lstrip().startswith("|")):
            counts = {len(re.findall(r"(?<!\\)\|", line)): line for line in block} if row else {}
            if len(counts) > 1:
                yield f"a Markdown table with {min(counts) - 1} and {max(counts) - 1} cells: {counts[max(counts)]}"


def shorten(text: str, most: int = 160) -> str:
    text = " ".join(text.split()).replace("\x1b", "^[")
    return text if len(text) <= most else text[: most - 1] + "…"
