"""Published worked examples, with the numbers their sources print, get the verdicts that a good teacher would give."""

from pathlib import Path

import numpy as np
import pytest
import yaml

from attn_cli.files.answers import read_answers
from attn_cli.files.claims import as_claims
from attn_cli.files.problem import read_problem as load
from attn_cli.homework.marking import Marker

FOLDER = Path(__file__).parents[1] / "data" / "walkthroughs"


def listed(value):
    return value if isinstance(value, list) else [value]


@pytest.mark.parametrize("name", sorted(path.name for path in FOLDER.iterdir() if path.is_dir()))
def test_a_published_example_is_judged_as_its_case_says(name):
    case = yaml.safe_load((FOLDER / name / "case.yaml").read_text(encoding="utf-8"))
    marker = Marker(load(str(FOLDER / name / "problem.yaml")).problem, case.get("tol"))
    report = marker.mark(as_claims(read_answers(str(FOLDER / name / "answers.yaml")).steps))
    for step, truth in case["truth"].items():
        assert np.allclose(marker.truth[step], truth, rtol=0, atol=1e-6 * np.abs(truth).max())
    found = {step.name: step for step in report.steps}
    assert {step: found[step].verdict in listed(wanted) for step, wanted in case["expect"].items()} == dict.fromkeys(case["expect"], True)
    first = report.first_wrong
    assert (first.name if first else None) == next((step for step in case["expect"] if found[step].verdict == "wrong"), None)
    assert all(step.mistake is None for step in report.steps if step.verdict != "wrong")
    if case.get("mistake") and first and first.name == case["first_wrong"]:
        assert {first.mistake.code, *first.mistake.also} & set(listed(case["mistake"]))
