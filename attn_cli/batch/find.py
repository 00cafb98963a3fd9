"""Which problems there are, and what the result of each is called."""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from attn_cli.files.folders import holds_answers, is_problem_folder
from attn_cli.files.patterns import expand, identity, walk
from attn_cli.files.readers import KEY_SUFFIXES, is_called

RECORD = ".attn-batch"
"""In a folder of results, the options they were made with. A result that is older than this file was made with others."""


Kind = Literal["problem", "result", "answers"]
"""What a file is: an earlier run wrote a result; neither that nor somebody's answers are a problem."""


@dataclass(frozen=True)
class Candidate:
    """What may be a problem, and the names its result may take: the first that no other result has."""

    path: str
    names: tuple[str, ...]
    kind: Kind = "problem"


@dataclass(frozen=True)
class Found:
    """The problems that some paths lead to, and what was passed over on the way."""

    problems: tuple[tuple[str, str], ...]
    """Each problem, in the order given, with the name of its result (without the format's suffix)."""
    missing: tuple[str, ...]
    """Paths and patterns that match nothing."""
    links: tuple[tuple[str, str], ...] = ()
    """Other names of problems, each with the name under which it is done."""
    files: frozenset[object] = frozenset()
    """The `identity` of every problem."""
    passed_over: Mapping[str, Kind] = field(default_factory=dict)
    """What is no problem, and why."""

    @property
    def results(self) -> list[str]:
        """Results of earlier runs."""
        return [path for path, kind in self.passed_over.items() if kind == "result"]

    @property
    def answers(self) -> list[str]:
        """Somebody's answers."""
        return [path for path, kind in self.passed_over.items() if kind == "answers"]


def find_problems(paths: Iterable[str], skip: Path | None = None) -> Found:
    """Every problem that the paths lead to, each once. The folder `skip` (for results) is not searched."""
    found: dict[object, Candidate] = {}
    links: dict[str, str] = {}
    passed_over = dict[str, Kind]()
    missing = []
    for text in paths:
        here = [each for match in expand(text) for each in _candidates(match, skip)]
        passed_over |= {each.path: each.kind for each in here if each.kind != "problem"}
        if all(each.kind == "result" for each in here):
            missing.append(text)
        for each in (each for each in here if each.kind == "problem"):
            first = found.setdefault(identity(each.path), each)
            if first is not each and os.path.abspath(first.path) != os.path.abspath(each.path):
                links[each.path] = first.path
    problems = list(found.values())
    named = zip((each.path for each in problems), _distinct([each.names for each in problems]), strict=True)
    return Found(tuple(named), tuple(missing), tuple(links.items()), frozenset(found), passed_over)


def _candidates(path: Path, skip: Path | None) -> Iterator[Candidate]:
    """What may be a problem at or below a path."""
    if not path.is_dir() or is_problem_folder(path):
        yield Candidate(str(path), (_shown(path), _absolute(path)), _kind_of_given(path))
        return
    of_results: set[str] = set()
    for folder, folders, files in walk(path):
        if (RECORD in files and folder != str(path)) or os.path.dirname(folder) in of_results:
            of_results.add(folder)
        within = [name for name in folders if is_problem_folder(Path(folder, name))]
        folders[:] = [name for name in folders if name not in within and (skip is None or not _same(Path(folder, name), skip))]
        start = "" if folder == os.curdir else str(Path(folder))  # a.yaml rather than ./a.yaml
        kinds = _kinds(start, files, folder in of_results) | dict.fromkeys(within, "problem")
        for name in sorted(kinds):
            yield Candidate(os.path.join(start, name), _names_below(path, Path(folder, name)), kinds[name])


def _names_below(path: Path, file: Path) -> tuple[str, ...]:
    """What a result may be called: the path below the folder that was given, with that folder's name, in full."""
    relative = file.relative_to(path).as_posix()
    return relative, f"{path.resolve().name}/{relative}", f"{_absolute(path)}/{relative}"


def _kind_of_given(path: Path) -> Kind:
    return "answers" if not path.is_dir() and holds_answers(path) else "problem"


def _kinds(folder: str, files: list[str], of_results: bool) -> dict[str, Kind]:
    """What those files of a folder are that may be problems."""
    paths = {name: os.path.join(folder, name) for name in files if _counts(name)}
    return {name: _kind_of(path, name, frozenset(files), of_results) for name, path in paths.items() if not _may_never_end(path)}


def _kind_of(path: str, name: str, beside: frozenset[str], of_results: bool) -> Kind:
    """What a file of a searched folder is."""
    if _is_result(path, name, beside, of_results):
        return "result"
    return "answers" if holds_answers(path) else "problem"


def _counts(name: str) -> bool:
    """Whether a file of a searched folder may be a problem."""
    return is_called(name, KEY_SUFFIXES) and not name.startswith(".")


def _is_result(path: str, name: str, beside: frozenset[str], of_results: bool) -> bool:
    """Whether an earlier run wrote this: `a.yaml.json` beside `a.yaml` or in a folder of results, where any that says so is one."""
    source = os.path.splitext(name)[0]
    if _counts(source) and (of_results or source in beside):
        return True
    if not of_results or name.lower().endswith(".npz"):
        return of_results
    try:
        with open(path, "rb") as file:
            return file.read(16).lstrip(b'{ \n"').startswith(b"attn")
    except OSError:
        return False


def _may_never_end(path: str) -> bool:
    """Whether this is a pipe or a device, which might never end."""
    try:
        return not stat.S_ISREG(os.stat(path).st_mode)
    except OSError:
        return False


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
