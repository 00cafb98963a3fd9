"""Reports of marking, and classes of them, as pages."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest

import attn_cli
from attn_cli.engine.problem import Problem
from attn_cli.homework.report import Failed, Report
from attn_cli.render.data.spreadsheet import safe_text
from attn_cli.render.formats import FORMATS, formats_of
from attn_cli.render.lang import LANGUAGES
from attn_cli.render.style import Style

PROBLEM = Problem(
    Q=np.array([[1.0, 2, 0, 1], [0, 1, 1, 1]]),
    K=np.array([[1.0, 1, 1, 0], [0, 1, 2, 1]]),
    V=np.array([[10.0, 0], [0, 10]]),
    query_tokens=("[b]", "*dog*"),
    key_tokens=("a|b", ":smile:"),
)
UNSCALED: dict[str, Any] = {"weights": [["0.5000", "0.5000"], ["0.1192", "0.8808"]], "output": [["5.00", "5.00"], ["1.192", "8.808"]]}
RIGHT: dict[str, Any] = {"weights": [["0.5", "0.5"], ["0.2689", "0.7311"]]}
PAGES = [name for name, form in formats_of("report").items() if form.page]


def report(answers: dict[str, Any]) -> Report:
    return attn_cli.check(PROBLEM, answers)


def drawn(form: str, handed_in: dict[str, Any], **style: Any) -> str:
    return str(FORMATS[form].report(report(handed_in), Style(**{"width": 200, **style})))


def test_the_first_slip_comes_first_with_both_arithmetics_beside_each_other() -> None:
    told = drawn("plain", UNSCALED).splitlines()
    assert told[2:13] == [
        "1.5 of 2 points · first slip: A[*dog*,a|b]",
        "weights: A[*dog*,a|b] was written as 0.1192; it should be 0.2689",
        "likely slip: the scores were not divided by √d_k; each is larger than it should be by that factor (no_scale)",
        "as it should be:",
        "  S[*dog*,a|b] = 2 / √4 = 2 / 2 = 1",
        "  A[*dog*,a|b] = 2.7183 / 10.1073 ≈ 0.2689",
        "with this slip:",
        "  S[*dog*,a|b] = 0·1 + 1·1 + 1·1 + 1·0 = 2",
        "  A[*dog*,a|b] = 7.3891 / 61.9872 ≈ 0.1192",
        "✓ right  ≈ rounded  → follows from an earlier slip  ✗ wrong  · not given",
        "",
    ]


def test_the_exact_value_stands_beside_every_cell_that_is_not_as_written() -> None:
    told = re.sub(" +", " ", drawn("plain", UNSCALED))
    assert "\n*dog* 0.1192 ✗ 0.2689 0.8808 ✗ 0.7311\n" in told
    assert "\n*dog* 1.192 → 2.6894 8.808 → 7.3106\n" in told
    assert "\n[b] 0.5000 ✓ 0.5000 ✓\n" in told


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("form", PAGES)
def test_without_answers_no_right_number_is_told(form: str, lang: str) -> None:
    shown = drawn(form, UNSCALED, lang=lang, answers=False)
    assert "0.1192" in shown
    assert re.search(r"0\.2689|0\.7311|2\.689|7\.310|2\.7183|10\.1073", shown) is None


@pytest.mark.parametrize("form", PAGES)
def test_one_cause_is_told_to_people_once(form: str) -> None:
    told = drawn(form, {**UNSCALED, "output": [["5.00", "5.00"], ["9.9", "9.9"]], "scores": [["3", "3"], ["2", "4"]]})
    assert len(re.findall("larger than it should be by that factor", told)) == 1


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("form", [*formats_of("report")])
def test_every_format_draws_a_report_and_why_there_is_none(form: str, lang: str) -> None:
    for answers in (RIGHT, UNSCALED, {"weights": [["0.5"]]}, {"output": [["5", "5", "5"], ["1"]]}):
        assert drawn(form, answers, lang=lang)
    assert "no comma" in str(FORMATS[form].report(Failed("a.yaml", "no comma"), Style(lang=lang)))


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("form", [*formats_of("reports")])
def test_every_format_that_draws_classes_names_each_submission(form: str, lang: str) -> None:
    class_ = [*(attn_cli.check(PROBLEM, answers) for answers in (RIGHT, UNSCALED)), Failed("zoe", "no comma")]
    told = str(FORMATS[form].reports(class_, Style(lang=lang, width=200)))
    assert "zoe" in told
    assert "no comma" in told


@pytest.mark.parametrize("form", PAGES)
@pytest.mark.parametrize("nothing", ["null", "~", ""])
def test_a_cell_that_was_not_given_shows_its_sign_alone(form: str, nothing: str) -> None:
    handed_in = {"weights": [["0.5", "0.5"], [nothing, nothing]], "output": [[nothing], ["5"]]}
    told = drawn(form, handed_in).partition("<script>")[0]
    assert not re.search(r"null|[~–] *(?:·|<span)", told)
    assert "·" in told or r"\textperiodcentered" in told


@pytest.mark.parametrize("form", ["markdown", "html", "latex"])
def test_labels_in_a_report_are_data(form: str) -> None:
    told = drawn(form, UNSCALED)
    assert not re.search(r"(?<![\\`]):smile:|<b>|(?<!\\)\*dog\*", told) or form != "markdown"
    assert "[b]" in told.replace("{[}", "[").replace("{]}", "]").replace("\\[", "[").replace("\\]", "]")


def test_full_points_pass_in_gradescope_and_a_file_that_cannot_be_read_has_its_reason() -> None:
    found = json.loads(drawn("gradescope", UNSCALED))
    assert [test["status"] for test in found["tests"]] == ["failed", "passed"]
    assert found["output"].startswith("1.5 of 2 points")
    broken = json.loads(str(FORMATS["gradescope"].report(Failed("a", "line 1: no comma"), Style())))
    assert (broken["score"], broken["output"]) == (0, "error: line 1: no comma")


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("=1+1", "'=1+1"),
        ("＝1+1", "'＝1+1"),
        ("＠sum", "'＠sum"),
        ("+2", "'+2"),
        ("-a", "'-a"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\tx", "'\\tx"),
        ("a\x1b[31mb", "a\\x1b[31mb"),
        ("a=b", "a=b"),
    ],
)
def test_no_text_runs_in_a_spreadsheet(name: str, shown: str) -> None:
    assert safe_text(name) == shown


def test_a_gradebook_with_decimal_commas_and_a_byte_order_mark() -> None:
    told = str(FORMATS["csv"].report(report(UNSCALED), Style(decimal=",", bom=True)))
    assert told.startswith("\ufefffile;right;complete;earned;possible;")
    assert told.splitlines()[1] == ";false;true;1,5;2;weights;[2,1];no_scale;;0,5;1"


def test_of_an_array_the_verdict_comes_first_and_cells_on_request() -> None:
    rng = np.random.default_rng(0)
    q, k, v = (rng.normal(size=(20, 8)) for _ in range(3))
    problem = Problem(Q=q, K=k, V=v)
    scores = (q @ k.T / np.sqrt(8) * 1.01).astype(np.float32)
    found = attn_cli.check(problem, {"scores": scores})
    told = str(FORMATS["plain"].report(found, Style(width=200)))
    assert told.splitlines()[3] == "first step that departs: scores"
    assert "root mean square" in told.splitlines()[4]
    assert "worst cell: S[" in told
    assert "✗" not in told.replace("✗ wrong", "").replace("✗ scores", "").replace("400 ✗", "")
    assert "q20" in str(FORMATS["plain"].report(found, Style(width=200, all_cells=True)))
    assert "cells" not in json.loads(str(FORMATS["json"].report(found, Style())))["steps"][0]
