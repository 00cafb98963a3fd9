"""Which problems there are, and what the result of each is called."""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from attn_cli.files.folders import holds_answers, is_problem_folder
from attn_cli.files.patterns import expand, identity, walk
from attn_cli.files.readers import KEY_SUFFIXES, is_called

RECORD = ".attn-batch"
"""In a folder of results, the options they were made with. A result that is older than this file was made with others."""


@dataclass(frozen=True)
class Candidate:
    """What may be a problem, and the names its result may take: the first that no other result has."""

    path: str
    names: tuple[str, ...]
    is_result: bool = False
    """An earlier run wrote it, so it is none."""


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
    results: tuple[str, ...] = ()
    """Results of earlier runs, which are no problems."""
    answers: tuple[str, ...] = ()
    """Somebody's answers, which are none either."""


def find_problems(paths: Iterable[str], skip: Path | None = None) -> Found:
    """Every problem that the paths lead to, each once. The folder `skip` (for results) is not searched."""
    found: dict[object, Candidate] = {}
    links: dict[str, str] = {}
    results, answers = dict[str, None](), dict[str, None]()
    missing = []
    for text in paths:
        here = [each for match in expand(text) for each in _problems(match, skip)]
        results |= dict.fromkeys(each.path for each in here if each.is_result)
        here = [each for each in here if not each.is_result]
        theirs = {each.path for each in here if not os.path.isdir(each.path) and holds_answers(each.path)}
        answers |= dict.fromkeys(sorted(theirs))
        if not here:
            missing.append(text)
        here = [each for each in here if each.path not in theirs]
        for each in here:
            first = found.setdefault(identity(each.path), each)
            if first is not each and os.path.abspath(first.path) != os.path.abspath(each.path):
                links[each.path] = first.path
    problems = list(found.values())
    named = zip((each.path for each in problems), _distinct([each.names for each in problems]), strict=True)
    return Found(tuple(named), tuple(missing), tuple(links.items()), frozenset(found), tuple(results), tuple(answers))


def _problems(path: Path, skip: Path | None) -> Iterator[Candidate]:
    """The problems at or below a path, and results of earlier runs, marked as such."""
    if not path.is_dir() or is_problem_folder(path):
        yield Candidate(str(path), (_shown(path), _absolute(path)))
        return
    own, absolute = path.resolve().name, _absolute(path)
    of_results: set[str] = set()
    for folder, folders, files in walk(path):
        if (RECORD in files and folder != str(path)) or os.path.dirname(folder) in of_results:
            of_results.add(folder)
        within = [name for name in folders if is_problem_folder(Path(folder, name))]
        folders[:] = [name for name in folders if name not in within and (skip is None or not _same(Path(folder, name), skip))]
        beside, below = frozenset(files), Path(folder).relative_to(path).as_posix()
        start = "" if folder == os.curdir else str(Path(folder))  # a.yaml rather than ./a.yaml
        for name in sorted([*within, *(name for name in files if _counts(name))]):
            full = os.path.join(start, name)
            if name in within or not _may_never_end(full):
                relative = name if below == "." else f"{below}/{name}"
                is_result = _is_result(full, name, beside, folder in of_results)
                yield Candidate(full, (relative, f"{own}/{relative}", f"{absolute}/{relative}"), is_result)


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
