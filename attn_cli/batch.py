"""Many problems: which ones, what each result is called, one after the other.

`plan` looks at folders and patterns, `run_one` turns one task into a row and knows nothing of the others (so that it
may run anywhere), `summary` writes the rows down.
"""

from __future__ import annotations

import csv
import io
import json
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attn_cli.errors import InputError
from attn_cli.messages import describe, one_line

if TYPE_CHECKING:
    from attn_cli.engine.notes import Note
    from attn_cli.render.style import Style

SUFFIXES = (".yaml", ".yml", ".json", ".npz")
"""What counts as a problem when a folder is searched; a file that is named is one whatever it is called."""
FOLDER_MARKS = {"x.csv", "q.csv", "scores.csv"}
"""A folder with one of these is one problem."""


# ---- which problems


@dataclass(frozen=True)
class Found:
    """A problem, and the names its result may take: the first that no other result has."""

    path: Path
    names: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    problems: tuple[tuple[Path, str], ...]
    """Each problem, in the order given, with the name of its result (without the format's suffix)."""
    missing: tuple[str, ...]
    """Paths and patterns that match nothing."""


def plan(paths: Iterable[str], skip: Path | None = None) -> Plan:
    """Every problem that the paths lead to, each once. The folder `skip` (for results) is not searched."""
    found: dict[str, Found] = {}
    missing = []
    for text in paths:
        here = [each for match in expand(text) for each in _problems(match, skip)]
        if not here:
            missing.append(text)
        for each in here:
            found.setdefault(os.path.realpath(each.path), each)
    problems = list(found.values())
    return Plan(tuple(zip((each.path for each in problems), _distinct([each.names for each in problems]), strict=True)), tuple(missing))


def expand(pattern: str) -> list[Path]:
    """The files and folders that a path or pattern names. A name that exists is itself, brackets and all."""
    parts = Path(pattern).parts
    found = [Path()]
    for part in parts:
        found = [child for base in found for child in _matches(base, part)]
    return [path for path in found if path.exists()]


def _matches(base: Path, part: str) -> Iterator[Path]:
    if not any(c in part for c in "*?[") or os.path.lexists(base / part):
        yield base / part
    elif part == "**":
        yield from (Path(folder) for folder, _, _ in _walk(base))
    else:
        hidden = part.startswith(".")
        yield from (base / name for name in _listed(base) if fnmatchcase(name, part) and (hidden or not name.startswith(".")))


def _problems(path: Path, skip: Path | None) -> Iterator[Found]:
    if not path.is_dir() or is_problem_folder(path):
        yield Found(path, (_shown(path), _absolute(path)))
        return
    for folder, folders, files in _walk(path):
        within = [name for name in folders if is_problem_folder(Path(folder, name))]
        folders[:] = [name for name in folders if name not in within and (skip is None or not _same(Path(folder, name), skip))]
        for each in sorted(Path(folder, name) for name in [*within, *(name for name in files if _counts(name, files))]):
            relative = each.relative_to(path).as_posix()
            yield Found(each, (relative, f"{path.resolve().name}/{relative}", _absolute(each)))


def is_problem_folder(path: Path) -> bool:
    return any(name.lower() in FOLDER_MARKS for name in _listed(path))


def _counts(name: str, beside: list[str]) -> bool:
    """Whether a file of a searched folder is a problem; `a.yaml.json` beside `a.yaml` is an earlier result."""
    return name.lower().endswith(SUFFIXES) and not name.startswith(".") and os.path.splitext(name)[0] not in beside


def _walk(path: Path) -> Iterator[tuple[str, list[str], list[str]]]:
    """Like os.walk, sorted, without hidden folders and without folders behind links."""
    for folder, folders, files in os.walk(path):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and not os.path.islink(os.path.join(folder, name)))
        yield folder, folders, sorted(files)


def _listed(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _same(one: Path, other: Path) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


def _shown(path: Path) -> str:
    """The path as given, kept below the folder of results."""
    return "/".join(part for part in path.parts if part not in ("..", path.anchor)) or path.resolve().name


def _absolute(path: Path) -> str:
    return _shown(Path(os.path.abspath(path)))


def _distinct(names: list[tuple[str, ...]]) -> list[str]:
    """Of each one's possible names the first that no other takes; those that share a name all move on to their next."""
    level = [0] * len(names)
    while True:
        chosen = [options[min(at, len(options) - 1)] for options, at in zip(names, level, strict=True)]
        times = Counter(chosen)
        shared = [i for i, name in enumerate(chosen) if times[name] > 1 and level[i] < len(names[i]) - 1]
        if not shared:
            return chosen
        for i in shared:
            level[i] += 1


# ---- one problem


@dataclass(frozen=True)
class Task:
    """All that one problem needs, so that it can be sent to another process."""

    path: str
    format: str | None
    """The format of the result; None where only the row is asked for."""
    style: Style
    target: str | None = None
    """Where the result goes; None where the row carries it."""
    settings: Mapping[str, str] = field(default_factory=dict)
    encoding: str | None = None
    decimal: str | None = None


@dataclass(frozen=True)
class Row:
    """What became of one problem."""

    file: str
    ok: bool
    seconds: float
    score: str = ""
    mode: str = ""
    shapes: Mapping[str, int] = field(default_factory=dict)
    error: str = ""
    warnings: tuple[Note, ...] = ()
    result: str | bytes | None = None


def run_one(task: Task) -> Row:
    """Work one problem; whatever is wrong with it becomes part of its row."""
    start = time.perf_counter()
    try:
        return _solve(task, start)
    except Exception as error:
        text = describe(error)
        file = one_line(task.path)
        return Row(task.path, False, time.perf_counter() - start, error=text if file in text else f"{file}: {text}")


def _solve(task: Task, start: float) -> Row:
    from attn_cli.engine.attention import solve
    from attn_cli.files.load import load
    from attn_cli.files.save import save
    from attn_cli.render.formats import FORMATS

    loaded = load(task.path, settings=task.settings, encoding=task.encoding, decimal=task.decimal)
    try:
        trace = solve(loaded.problem)
    except InputError as error:
        raise loaded.locate(error) from error
    notes = (*loaded.notes, *trace.notes)
    style = replace(task.style, written=loaded.written)
    result = FORMATS[task.format].compute(trace, style, notes) if task.format else None
    if task.target is not None and result is not None:
        Path(task.target).parent.mkdir(parents=True, exist_ok=True)
        save(task.target, result)
        result = None
    settings = trace.settings
    return Row(
        task.path,
        True,
        time.perf_counter() - start,
        str(settings["score"]),
        str(settings["mode"]),
        {name: settings[name] for name in ("n", "m", "heads", "d_k", "d_v") if settings.get(name) is not None},
        warnings=tuple(note for note in notes if note.warning),
        result=result,
    )


def run(tasks: Iterable[Task], work: Callable[[Task], Row] = run_one) -> Iterator[Row]:
    """The rows, in the order of the tasks."""
    return map(work, tasks)


# ---- what came of it

COLUMNS = ("file", "ok", "score", "mode", "shapes", "seconds", "error")


def summary_csv(rows: Iterable[Row]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(
        (row.file, "true" if row.ok else "false", row.score, row.mode, shapes_text(row), f"{row.seconds:.6f}", row.error) for row in rows
    )
    return out.getvalue()


def summary_jsonl(rows: Iterable[Row]) -> str:
    return "".join(json.dumps(_record(row), ensure_ascii=False) + "\n" for row in rows)


SUMMARIES = {".csv": summary_csv, ".jsonl": summary_jsonl}


def shapes_text(row: Row) -> str:
    return " ".join(f"{name}={size}" for name, size in row.shapes.items())


def row_line(row: Row) -> str:
    """The row for people."""
    state = "done  " if row.ok else "failed"
    return " ".join(part for part in (state, one_line(row.file), row.score, row.mode, shapes_text(row)) if part)


def json_line(row: Row) -> str:
    """The problem's whole result as one line, or why there is none."""
    if not row.ok:
        return json.dumps({"file": row.file, "error": row.error}, ensure_ascii=False)
    return json.dumps({"file": row.file, **json.loads(row.result or "{}")}, ensure_ascii=False)


def _record(row: Row) -> dict[str, Any]:
    return {
        "file": row.file,
        "ok": row.ok,
        "score": row.score or None,
        "mode": row.mode or None,
        "shapes": dict(row.shapes),
        "seconds": round(row.seconds, 6),
        "error": row.error or None,
    }
