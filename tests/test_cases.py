"""Mistakes that public programs have made, and those found here, one folder each in data/bugs: none of them comes back."""

import os
from pathlib import Path

import pytest
import yaml

FOLDER = Path(__file__).parent / "data" / "bugs"
OPEN = {
    "930-common-mistakes-named",
}
"""Cases of what is still to be built; whoever builds it takes them out."""

pytestmark = pytest.mark.skipif(os.name != "posix", reason="shells, signals and terminals as POSIX has them")


@pytest.mark.parametrize("name", sorted(path.parent.name for path in FOLDER.glob("*/case.yaml")))
def test_a_case_holds(name, request):
    from judging import failure

    if name in OPEN:
        request.applymarker(pytest.mark.xfail(strict=True, reason="still to be built"))
    case = yaml.safe_load((FOLDER / name / "case.yaml").read_text(encoding="utf-8"))
    if why := failure(FOLDER / name, case):
        pytest.fail(f"{case['title']}: {why}", pytrace=False)


def test_what_is_still_to_be_built_has_a_case():
    assert {path.name for path in FOLDER.iterdir()} >= OPEN
