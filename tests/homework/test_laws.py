"""What the program writes itself is always right."""

from pathlib import Path

import pytest

import attn_cli
from attn_cli.engine.attention import solve
from attn_cli.files.problem import read_problem as load
from attn_cli.homework.mistakes import MISTAKES, Scene
from attn_cli.render.formats import FORMATS
from attn_cli.render.style import Style

SAMPLES = sorted(path for path in (Path(__file__).parents[2] / "samples").iterdir())


@pytest.mark.parametrize("form", ["json", "yaml", "csv", "npz"])
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_what_compute_writes_check_marks_all_right(sample, form, tmp_path):
    problem = load(str(sample)).problem
    result = FORMATS[form].trace(solve(problem), Style())
    path = tmp_path / f"result.{form}"
    path.write_bytes(result if isinstance(result, bytes) else result.encode())
    report = attn_cli.check(problem, path)
    assert {step.verdict for step in report.steps} == {"right"}
    assert report.right


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_every_known_mistake_touches_only_steps_that_are_there(sample):
    trace = solve(load(str(sample)).problem)
    touched = [name for entry in MISTAKES.entries() for variant in entry.variants(Scene(trace)) for name in variant]
    assert [name for name in touched if name not in trace] == []
