"""Made-up students in small numbers; tests/benchmarks/students.py has them by the thousand."""

import importlib.util
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def students():
    path = Path(__file__).parents[1] / "benchmarks" / "students.py"
    spec = importlib.util.spec_from_file_location("students", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["students"] = module
    spec.loader.exec_module(module)
    return module


def test_honest_work_is_never_wrong_or_carried(students):
    assert students.honest_left_alone(60, seed=11)["blamed"] == 0


def test_the_first_wrong_step_is_found_and_the_mistake_named(students):
    tally = students.mistakes_found(2, seed=12)
    assert tally["students"] > 20
    assert tally["called right"] == 0
    assert tally["step"] >= 0.98 * tally["students"]
    assert tally["among"] >= 0.95 * tally["students"]
