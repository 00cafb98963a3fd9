"""Nothing is ever silently wrong: whole problems at random, as every kind of file, whole and damaged.

Short by default. ATTN_FUZZ=N tries about N inputs in all, gathers every kind of fault instead of stopping at the first, and keeps an
input of each in the folder that ATTN_FUZZ_KEEP names.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from fuzz import definition, writers
from fuzz.strategies import changed, changes, damaged, damages, problems
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from judging import inside, strict

LONG = int(os.environ.get("ATTN_FUZZ", 0))
EXAMPLES = 40
"""Of each test, in a short run."""
SECONDS = 20
"""The longest that one input may take, in seconds."""
FORMATS = ("yaml", "json", "npz", "csv")
NEAR = {"rtol": 1e-9, "atol": 1e-9}


def fuzz(weight: float) -> Callable[[Any], Any]:
    """A test of as many examples as its part of a run of LONG inputs, or of EXAMPLES."""
    return settings(
        max_examples=int(LONG * weight) if LONG else EXAMPLES,
        derandomize=not LONG,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.explicit, Phase.generate, *([] if LONG else [Phase.shrink])],
    )


class Faults:
    """The faults of a run: told at once in a short one, gathered by kind in a long one."""

    def __init__(self) -> None:
        self.kinds: dict[str, str] = {}
        self.tried = 0

    def add(self, why: str, source: Path) -> None:
        if not LONG:
            raise AssertionError(f"{why}\n{source.read_bytes()!r}" if source.is_file() else why)
        kind = re.sub(r"[0-9.,\s'\"\[\]e+-]+", " ", why.splitlines()[0])[:120]
        if kind not in self.kinds:
            self.kinds[kind] = why
            if keep := os.environ.get("ATTN_FUZZ_KEEP"):
                place = Path(keep, f"{len(os.listdir(keep)):03}")
                shutil.copytree(source.parent, place)
                (place / "why.txt").write_text(why, encoding="utf-8")


@pytest.fixture
def faults() -> Iterator[Faults]:
    found = Faults()
    yield found
    if LONG:
        print(f"{found.tried} runs")
    assert found.kinds == {}


class TooLong(BaseException):
    """An input took longer than SECONDS."""


@pytest.fixture(autouse=True)
def alarm() -> Iterator[None]:
    def ring(*_: Any) -> None:
        raise TooLong

    before = signal.signal(signal.SIGALRM, ring)
    yield
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


def emptied(place: Path) -> Path:
    shutil.rmtree(place)
    place.mkdir()
    return place


def written(problem: dict[str, Any], form: str, spell: int, place: Path) -> Path:
    """The problem as a file (or a folder) of one of the formats."""
    problem = definition.turned(problem) if problem.get("vectors") == "columns" else problem
    emptied(place)
    if form == "npz" and None in np.atleast_1d(mask.get("window") if isinstance(mask := problem.get("mask"), dict) else 0):
        form = "yaml"  # an array cannot leave a side open
    if form == "csv":
        writers.csv(problem, place, spell)
        return place
    path = place / f"p.{form}"
    path.write_bytes({"yaml": writers.yaml, "json": writers.as_json, "npz": writers.npz}[form](problem, spell))
    return path


def run(faults: Faults, source: Path, *arguments: str, allowed: tuple[int, ...] = (0, 2)) -> Any:
    """What came out of a run, of which these hold: its exit code is allowed, it says at most one error, and no traceback."""
    faults.tried += 1
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        seen = inside({"args": list(arguments)}, source if source.is_dir() else source.parent)
    except TooLong:
        faults.add(f"takes longer than {SECONDS} s: attn {' '.join(arguments)}", source)
        return None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    said = [line for line in seen.stderr.splitlines() if not line.startswith(("note: ", "warning: "))]
    errors = [line for line in said if line.startswith("error: ")]
    if seen.code not in allowed or "Traceback" in seen.stderr or "error: unexpected" in seen.stderr:
        faults.add(f"exit {seen.code}: attn {' '.join(arguments)}: {seen.stderr[-300:]}", source)
    elif seen.code == 2 and (len(said), len(errors)) != (1, 1) or seen.code == 0 and errors:
        faults.add(f"{len(said)} lines at exit {seen.code}: {seen.stderr[-300:]}", source)
    return seen


def compare(faults: Faults, seen: Any, expected: dict[str, Any], source: Path, columns: bool) -> None:
    """Weights and output are those of the definition."""
    try:
        result = strict(seen.stdout)
    except ValueError as error:
        faults.add(f"no strict JSON: {error}", source)
        return
    for name, wanted in expected.items():
        wanted = np.swapaxes(wanted, -1, -2) if columns else wanted
        got = np.array(result.get(name, np.nan), float)
        if got.shape != wanted.shape or not np.allclose(got, wanted, **NEAR):
            faults.add(f"{name} differs from the definition:\n{got}\n{wanted}", source)
            return
    if ("output" in result) != ("output" in expected):
        faults.add("an output that the definition has not, or the other way round", source)


@fuzz(0.2)
@given(problem=problems(), form=st.sampled_from(FORMATS), spell=st.integers(0, 11))
def test_every_problem_has_the_numbers_of_the_definition(faults, place, problem, form, spell):
    source = written(problem, form, spell, place)
    seen = run(faults, source, "compute", str(source), "--format", "json", allowed=(0,))
    if seen and seen.code == 0:
        compare(faults, seen, definition.solve(problem), source, problem.get("vectors") == "columns")


@fuzz(0.1)
@given(problem=problems(), form=st.sampled_from(("yaml", "json", "csv", "npz")), spell=st.integers(0, 5), vary=st.integers(0, 2**16))
def test_what_compute_writes_is_marked_right_and_complete(faults, place, problem, form, spell, vary):
    source = written(problem, "yaml", spell, place)
    answers = source.parent / f"answers.{form}"
    only = [*["--only", "weights"]] if vary % 3 == 0 else []
    run(faults, source, "compute", str(source), "-o", str(answers), *only, allowed=(0,))
    seen = run(faults, source, "check", str(source), str(answers), "--format", "json", allowed=(0,))
    if seen and seen.code == 0:
        report = json.loads(seen.stdout)
        if not (report["right"] and report["complete"]):
            faults.add(f"what compute wrote as {form} is not right and complete", source)


def whole(data: bytes) -> tuple[dict[str, Any], bool] | None:
    """What a damaged YAML file says to PyYAML and the definition; None where either is not sure."""
    try:
        text = data.decode("utf-8-sig")
        if re.search("[^\n -~\N{MINUS SIGN}]|[&*!|>%@`?]|<<", text) or re.search(r"(?m)^([A-Za-z_]+):.*\n(?:.*\n)*\1:", text):
            return None
        problem = definition.read(yaml.load(text, yaml.BaseLoader))
        return definition.solve(problem), problem.get("vectors") == "columns"
    except (definition.Unclear, yaml.YAMLError, ValueError, KeyError, IndexError, TypeError, AttributeError, ZeroDivisionError):
        return None


@fuzz(0.3)
@given(problem=problems(), form=st.sampled_from(("yaml", "yaml", "json", "npz")), spell=st.integers(0, 5), how=damages())
def test_damaged_bytes_give_a_clear_error_or_what_they_say(faults, place, problem, form, spell, how):
    source = written(problem, form, spell, place)
    source.write_bytes(damaged(source.read_bytes(), how))
    seen = run(faults, source, "compute", str(source), "--format", "json")
    if seen and seen.code == 0 and form == "yaml" and (expected := whole(source.read_bytes())):
        compare(faults, seen, expected[0], source, expected[1])


@fuzz(0.25)
@given(problem=problems(), how=changes(), spell=st.integers(0, 5))
def test_a_changed_structure_gives_a_clear_error_or_what_it_says(faults, place, problem, how, spell):
    turned = definition.turned(problem) if problem.get("vectors") == "columns" else problem
    tree = changed(writers.text(turned, spell), how)
    source = emptied(place) / "p.json"
    source.write_text(json.dumps(tree), encoding="utf-8")
    seen = run(faults, source, "compute", str(source), "--format", "json")
    if seen and seen.code == 0:
        try:
            expected = definition.solve(definition.read(tree))
        except (definition.Unclear, ValueError, KeyError, IndexError, TypeError, ZeroDivisionError):
            return
        compare(faults, seen, expected, source, tree.get("vectors") == "columns")


@fuzz(0.1)
@given(problem=problems(), how=changes(), blow=st.one_of(st.none(), damages()), spell=st.integers(0, 5))
def test_changed_answers_are_marked_or_refused(faults, place, problem, how, blow, spell):
    expected = definition.solve(problem)
    if problem.get("vectors") == "columns":
        expected = {name: np.swapaxes(value, -1, -2) for name, value in expected.items()}
    source = written(problem, "yaml", spell, place)
    answers = source.parent / "answers.json"
    answers.write_text(json.dumps(changed(writers.text(expected, spell), how)), encoding="utf-8")
    if blow:
        answers.write_bytes(damaged(answers.read_bytes(), blow))
    seen = run(faults, source, "check", str(source), str(answers), "--format", "json", allowed=(0, 1, 2))
    if seen and seen.code != 2:
        strict(seen.stdout)


@fuzz(0.05)
@given(
    problem=problems(),
    how=st.one_of(st.just([]), changes()),
    command=st.sampled_from(("trace", "trace --full --cell weights[1,1]", "compute", "grad", "compare", "exercise audit", "batch")),
    form=st.sampled_from(("table", "plain", "json", "yaml", "csv", "markdown", "latex", "html", "svg", "npz")),
    odd=st.sampled_from(((), ("--lang", "zh"), ("--decimals", "0"), ("--decimals", "9"), ("--dtype", "float32"), ("--mode", "gumbel"))),
)
def test_every_command_ends_with_a_result_or_one_clear_line(faults, place, problem, how, command, form, odd):
    turned = definition.turned(problem) if problem.get("vectors") == "columns" else problem
    source = emptied(place) / "p.json"
    source.write_text(json.dumps(changed(writers.text(turned, 0), how)), encoding="utf-8")
    words = [*command.split(), str(source), "--format", form, *odd]
    run(faults, source, *words, allowed=(0, 1, 2) if command in ("exercise audit", "batch", "check") else (0, 2))
