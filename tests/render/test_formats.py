"""Whole results, as they are printed."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import unicodedata
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import attn_cli
from attn_cli.engine.attention import solve
from attn_cli.engine.notes import Note
from attn_cli.engine.problem import Mask, Problem
from attn_cli.engine.steps import Trace
from attn_cli.errors import InputError, UsageError
from attn_cli.render.data.json import document, plain_value
from attn_cli.render.derivation import example
from attn_cli.render.formats import FORMATS, format_of, formats_of
from attn_cli.render.style import Style

X = np.array([[1, 0, 1, 0], [0, 1, 0, 1], [1, 1, 0, 0]], float)


def textbook(**changes: Any) -> Trace:
    return solve(Problem(**{"title": "Textbook", "X": X, "W_Q": np.eye(4), "W_K": np.eye(4), "W_V": np.eye(4), **changes}))


def shown(trace: Trace, form: str = "plain", notes: list[Note] | None = None, **style: Any) -> str:
    result = FORMATS[form].trace(trace, Style(**style), notes)
    assert isinstance(result, str)
    return result


def test_the_textbook_in_plain_text() -> None:
    assert (
        shown(textbook())
        == """\
Textbook
rows are queries · softmax along each row · √d_k = √4 = 2

Inputs
X                 W_Q              W_K              W_V
    1  2  3  4       1  2  3  4       1  2  3  4       1  2  3  4
x1  1  0  1  0    1  1  0  0  0    1  1  0  0  0    1  1  0  0  0
x2  0  1  0  1    2  0  1  0  0    2  0  1  0  0    2  0  1  0  0
x3  1  1  0  0    3  0  0  1  0    3  0  0  1  0    3  0  0  1  0
                  4  0  0  0  1    4  0  0  0  1    4  0  0  0  1

1 Queries  Q = X·W_Q    2 Keys  K = X·W_K    3 Values  V = X·W_V
    1  2  3  4              1  2  3  4           1  2  3  4
x1  1  0  1  0          x1  1  0  1  0       x1  1  0  1  0
x2  0  1  0  1          x2  0  1  0  1       x2  0  1  0  1
x3  1  1  0  0          x3  1  1  0  0       x3  1  1  0  0

4 Dot products  P = Q·Kᵀ    5 Scores  S = P / √d_k  √d_k = √4 = 2
    x1  x2  x3                      x1      x2      x3
x1   2   0   1              x1  1.0000  0.0000  0.5000
x2   0   2   1              x2  0.0000  1.0000  0.5000
x3   1   1   2              x3  0.5000  0.5000  1.0000

6 Attention weights  A = E / Z  E = exp(S)  Z = row sum(E)
        x1      x2      x3       Σ
x1  0.5065  0.1863  0.3072  1.0000
x2  0.1863  0.5065  0.3072  1.0000
x3  0.2741  0.2741  0.4519  1.0000

7 Output  O = A·V
         1       2       3       4
x1  0.8137  0.4935  0.5065  0.1863
x2  0.4935  0.8137  0.1863  0.5065
x3  0.7259  0.7259  0.2741  0.2741
"""
    )


def test_the_textbook_as_tables() -> None:
    assert (
        shown(textbook(mask=Mask(causal=True)), "table", only=("scores", "weights"), width=100)
        == """\
Textbook
rows are queries · softmax along each row · causal · √d_k = √4 = 2

1 Scores  S = R + M  M = -∞ where masked, else 0
   │     x1      x2      x3
───┼───────────────────────
x1 │ 1.0000      -∞      -∞
x2 │ 0.0000  1.0000      -∞
x3 │ 0.5000  0.5000  1.0000

2 Attention weights  A = E / Z  E = exp(S)  Z = row sum(E)
   │     x1       x2       x3  │      Σ
───┼───────────────────────────┼───────
x1 │ 1.0000█  0.0000   0.0000  │ 1.0000
x2 │ 0.2689▂  0.7311▆  0.0000  │ 1.0000
x3 │ 0.2741▂  0.2741▂  0.4519▄ │ 1.0000
"""
    )


def test_a_trace_writes_out_every_cell() -> None:
    told = shown(textbook(), detail="trace")
    for line in (
        "Q[x1,2] = 1·0 + 0·1 + 1·0 + 0·0 = 0",
        "P[x1,x1] = 1·1 + 0·0 + 1·1 + 0·0 = 2",
        "S[x1,x3] = 1 / √4 = 1 / 2 = 0.5",
        "E[x1,x1] = exp(1) ≈ 2.7183",
        "Z[x1] = 2.7183 + 1 + 1.6487 ≈ 5.3670",
        "A[x1,x1]  = 2.7183 / 5.3670 ≈ 0.5065",
        "Σ A[x1,·] = 0.5065 + 0.1863 + 0.3072 = 1",
        "Σ A[x3,·] = 0.27407 + 0.27407 + 0.45186 = 1",
        "O[x1,1] = 0.5065·1 + 0.1863·0 + 0.3072·1 ≈ 0.8137",
    ):
        assert f"  {line}\n" in told


def test_a_trace_says_what_each_step_does_and_why_unless_it_is_terse() -> None:
    for lang, reason in (("en", "A weight is a match, not an importance"), ("zh", "权重表示匹配，而不是重要性")):
        assert reason in shown(textbook(), detail="trace", lang=lang, width=300)
        assert reason not in shown(textbook(), detail="trace", lang=lang, width=300, terse=True)
        assert reason not in shown(textbook(), lang=lang, width=300)


def test_a_hard_choice_shows_the_comparison_and_the_row_it_copies() -> None:
    assert (
        shown(textbook(mode="hard"), detail="trace", terse=True, only=("weights", "output")).split("\n\n", 1)[1]
        == """\
1 Attention weights  A = one-hot(row argmax(S))
      x1  x2  x3  chosen
  x1   1   0   0  x1
  x2   0   1   0  x2
  x3   0   0   1  x3

  max S[x1,·] = max(1, 0, 0.5) = 1   → x1
  max S[x2,·] = max(0, 1, 0.5) = 1   → x2
  max S[x3,·] = max(0.5, 0.5, 1) = 1   → x3

2 Output  O = A·V
      1  2  3  4
  x1  1  0  1  0
  x2  0  1  0  1
  x3  1  1  0  0

  O[x1,·] = V[x1,·]   the row of key x1
  O[x1,1] = 1·1 + 0·0 + 0·1 = 1
  O[x1,2] = 1·0 + 0·1 + 0·1 = 0
  O[x1,3] = 1·1 + 0·0 + 0·0 = 1
  O[x1,4] = 1·0 + 0·1 + 0·0 = 0
  O[x2,·] = V[x2,·]   the row of key x2
  O[x2,1] = 0·1 + 1·0 + 0·1 = 0
  O[x2,2] = 0·0 + 1·1 + 0·1 = 1
  O[x2,3] = 0·1 + 1·0 + 0·0 = 0
  O[x2,4] = 0·0 + 1·1 + 0·0 = 1
  O[x3,·] = V[x3,·]   the row of key x3
  O[x3,1] = 0·1 + 0·0 + 1·1 = 1
  O[x3,2] = 0·0 + 0·1 + 1·1 = 1
  O[x3,3] = 0·1 + 0·0 + 1·0 = 0
  O[x3,4] = 0·0 + 0·1 + 1·0 = 0
"""
    )


def test_a_mask_says_which_cells_it_closed() -> None:
    told = shown(textbook(mask=Mask(causal=True)), detail="trace", only=("scores",))
    assert "S[x1,x1] = R[x1,x1] = 1\n" in told
    assert "S[x1,x2] = -∞   masked\n" in told


def test_a_row_that_may_attend_to_nothing() -> None:
    told = shown(textbook(mask=Mask(keep=np.array([[0, 0, 0], [1, 1, 1], [1, 1, 1]], bool))), detail="trace", only=("weights",))
    assert "A[x1,x1]  = 0\n" in told


def test_a_large_trace_says_how_many_cells_follow() -> None:
    rng = np.random.default_rng(0)
    trace = solve(Problem(Q=rng.normal(size=(9, 40)), K=rng.normal(size=(9, 40)), V=rng.normal(size=(9, 2))))
    told = shown(trace, detail="trace", only=("products",), width=200)
    assert "… 57 more cells; --full shows them all" in told
    assert "… (28 more) …" in told
    full = shown(trace, detail="trace", only=("products",), full=True)
    assert "more" not in full
    assert "还有 28 项" in shown(trace, detail="trace", only=("products",), lang="zh")


def test_chinese_reads_as_chinese() -> None:
    told = shown(textbook(title="", mask=Mask(causal=True)), detail="trace", lang="zh")
    assert told.startswith("缩放点积注意力（软注意力）\n每行是一个查询 · 沿每行做 Softmax · 因果掩码 · √d_k = √4 = 2\n\n输入\n")
    assert "被掩码屏蔽" in told
    words = set(re.findall(r"[A-Za-z]{4,}", told))
    assert words == {"Softmax"}


def test_columns_show_their_sums_below() -> None:
    told = shown(textbook(vectors="columns"), only=("weights",))
    assert (
        told.split("\n\n")[1]
        == """\
1 Attention weights  A = E / Z  E = exp(S)  Z = column sum(E)
        x1      x2      x3
x1  0.5065  0.1863  0.2741
x2  0.1863  0.5065  0.2741
x3  0.3072  0.3072  0.4519
Σ   1.0000  1.0000  1.0000
"""
    )


# ------------------------------------------------------------------ widths
def cells_of(text: str) -> int:
    return sum(0 if unicodedata.category(c) in ("Mn", "Me", "Cf") else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


@pytest.mark.parametrize("form", ["table", "plain"])
@pytest.mark.parametrize("width", [20, 27, 80, 200])
@pytest.mark.parametrize("labels", [("x1", "x2", "x3"), ("我们喜欢猫", "a very long label with 12345", "1234567890123456789012345678")])
def test_no_number_is_cut_and_no_line_of_a_table_too_wide(form: str, width: int, labels: tuple[str, ...]) -> None:
    trace = textbook(tokens=labels, W_V=np.eye(4) * 1234.5, heads=2)
    told = shown(trace, form, width=width)
    assert not re.search(r"\d…|…\d", told)
    for block in trace:
        for v in block.value.ravel():
            number = f"{v:.4f}" if not np.all(block.value == block.value.astype(int)) else str(int(v))
            assert re.search(rf"(?<![\d.]){re.escape(number)}(?![\d.])", told) or block.kind.detail, number
    lines = told.splitlines()
    assert [line for line in lines if cells_of(line) > width] == []


@pytest.mark.parametrize("detail", ["compute", "trace"])
def test_a_derivation_and_a_trace_fit_narrow_terminals(detail: str) -> None:
    for width in (20, 40):
        told = shown(textbook(), "table", width=width, detail=detail)
        assert max(map(cells_of, told.splitlines())) <= width


@pytest.mark.parametrize(
    "label", ["[/]", "[bold]", ":smile:", "a|b", "50%", "x_1", "<s>", "$", "词元", "[/INST]", "\\[a]", "a\\", "{x}", "null"]
)
@pytest.mark.parametrize("form", ["table", "plain", "json"])
def test_labels_print_as_they_are(label: str, form: str) -> None:
    told = shown(textbook(tokens=(label, "b", "c")), form, color=form == "table")
    assert (json.dumps(label, ensure_ascii=False) if form == "json" else label) in told


@pytest.mark.parametrize("label", ["\x1b[31mred", "a\nb", "a\tb", "\u202egnp.exe", "\x07", "\u200b", "a\rb", "\x9b2J", "\u2028", ""])
def test_labels_can_do_nothing_but_be_read(label: str) -> None:
    for detail in ("compute", "trace"):
        told = shown(textbook(tokens=(label, "b", "c"), title=f"T{label}"), "table", detail=detail)
        assert [c for c in told if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp") and c != "\n"] == []
        assert len({line.count("│") for line in told.splitlines() if line.startswith("b ")}) <= 4


@pytest.mark.parametrize("label", ["\ufeffa", "\x9b31m", "a\u2028b", "\u202egnp.exe", "\ufffe", "a\n\nb\n", "👩\u200d👧"])
def test_unseen_characters_in_labels_survive_in_json_and_svg(label: str) -> None:
    trace = textbook(tokens=(label, "b", "c"))
    told = shown(trace, "json")
    assert json.loads(told)["query_tokens"][0] == label
    assert set(told).isdisjoint("\ufeff\x9b\u2028\u202e\ufffe")
    ElementTree.fromstring(shown(trace, "svg"))


def test_what_is_too_long_to_read_is_still_written_for_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attn_cli.render.walkthrough.READABLE", 3)
    trace = textbook()
    with pytest.raises(UsageError, match="more than anyone reads"):
        shown(trace, "plain")
    assert all(shown(trace, form) for form in ("csv", "json", "yaml"))


def test_a_label_of_several_lines_is_one_quoted_cell() -> None:
    told = shown(textbook(tokens=("a\n\nb\n", "b", "c")), "csv", only=("weights",))
    assert list(csv.reader(io.StringIO(told)))[1][1] == "a\n\nb\n"


@pytest.mark.parametrize("label", ["a\tb", "a\nb", "\u202egnp.exe", "\u200fא", "a\u2028b", "👩\u200d👧", "a\u200b", 'a"\n,"', "\ufffe"])
def test_a_csv_holds_labels_as_they_are(label: str) -> None:
    told = shown(textbook(tokens=(label, "b", "c")), "csv", only=("weights",))
    assert list(csv.reader(io.StringIO(told)))[1][1] == label


@pytest.mark.parametrize("label", ["\x1b[31mred", "\x9b2J", "a\x07", "a\rb", "\x7f", "\ufeffa"])
def test_a_csv_holds_nothing_that_a_terminal_acts_on(label: str) -> None:
    told = shown(textbook(tokens=(label, "b", "c")), "csv", only=("weights",))
    assert [c for c in told if unicodedata.category(c) == "Cc" and c != "\n" or c == "\ufeff"] == []
    assert list(csv.reader(io.StringIO(told)))[1][1] == label.encode("unicode_escape").decode()


LETTERS = st.text(
    ["a", "1", '"', ",", ";", "\t", "\n", " ", "\u200f", "\u202e", "\u2028", "\u00a0", "\ufeff", "\x1b", "\r", "#", "-"], max_size=4
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(LETTERS | st.sampled_from(["weights", "head 1", "null", "nan"]), min_size=3, max_size=3),
    st.sampled_from([("weights",), ("weights", "output"), ()]),
    st.sampled_from(["rows", "columns"]),
)
def test_a_csv_marks_all_right_whatever_the_labels(tmp_path: Path, tokens: list[str], only: tuple[str, ...], vectors: str) -> None:
    problem = Problem(X=X[:, :2] + 0.3, tokens=tuple(tokens), vectors=vectors)
    (tmp_path / "weights.csv").write_bytes(shown(solve(problem), "csv", only=only).encode())
    report = attn_cli.check(problem, tmp_path / "weights.csv")
    assert report.right
    assert report.complete


def test_wide_labels_align() -> None:
    told = shown(textbook(tokens=("我们", "a", "猫咪们")), "table", only=("weights",))
    rows = [line for line in told.splitlines() if "│" in line]
    assert len({cells_of(line.split("│")[0]) for line in rows}) == 1
    assert len({cells_of(line.rsplit("│", 1)[0]) for line in rows}) == 1


LONG = ("internationalization", "internationalisation", "我们都喜欢很长的标记名称")


@pytest.mark.parametrize("mode", ["soft", "hard"])
@pytest.mark.parametrize("layout", ["rows", "columns"])
@pytest.mark.parametrize("form", ["table", "plain"])
@pytest.mark.parametrize("width", [54, 200])
def test_a_label_is_whole_where_a_column_fits_beside_it(width: int, form: str, layout: str, mode: str) -> None:
    told = shown(textbook(tokens=LONG, vectors=layout, mode=mode), form, width=width, detail="trace")
    assert "…" not in told
    assert all(told.count(label) > 1 for label in LONG)


def test_a_label_alone_gives_way_where_nothing_else_would_fit() -> None:
    told = shown(textbook(tokens=("b", LONG[0] * 3, "c")), width=40, only=("weights",))
    short = re.findall(r"\S+…", told)
    assert short
    assert all(LONG[0].startswith(label[:10]) for label in short)
    assert max(map(cells_of, told.splitlines())) == 40  # no shorter than it has to be


@pytest.mark.parametrize("form", ["table", "plain", "markdown", "latex", "html", "csv", "json", "yaml"])
@pytest.mark.parametrize("detail", ["compute", "trace"])
def test_without_a_terminal_every_label_is_whole(detail: str, form: str) -> None:
    label = "internationalization" * 6
    assert label in shown(textbook(tokens=(label, "b", "c")), form, detail=detail, whole_labels=True)


def test_shortened_labels_stay_apart() -> None:
    labels = ("the same long beginning A", "the same long beginning B", "c")
    told = shown(textbook(tokens=labels), width=35, only=("weights",))
    assert "the same long…#1" in told
    assert "the same long…#2" in told


def test_a_chosen_key_has_the_name_of_its_column() -> None:
    labels = ("the same long beginning A", "c", "the same long beginning B")
    told = shown(textbook(tokens=labels, mode="hard"), width=30, only=("weights",))
    assert [line.split()[-1] for line in told.split("chosen\n")[1].splitlines()] == ["lo…#1", "c", "lo…#3"]


# ------------------------------------------------------------------ colour
def test_colour_only_where_it_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    plain = shown(textbook(), "table")
    assert "\x1b" not in plain
    colored = shown(textbook(), "table", color=True)
    assert "\x1b[" in colored
    bare = re.sub(r"\x1b\[[\d;]*m", "", colored)
    assert [line.rstrip() for line in bare.splitlines()] == plain.splitlines()


def test_zero_terms_are_dimmed_and_never_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    told = shown(textbook(), "table", color=True, detail="trace", only=("Q",))
    assert "= \x1b[2m1·0\x1b[0m + \x1b[2m0·1\x1b[0m + \x1b[2m1·0\x1b[0m + \x1b[2m0·0\x1b[0m = 0" in told
    assert "= 1·1 + \x1b[2m0·0\x1b[0m" in told


# ------------------------------------------------------------------ JSON
def strict(text: str) -> Any:
    def refuse(word: str) -> None:
        raise AssertionError(word)

    return json.loads(text, parse_constant=refuse)


def test_json_has_all_digits_and_nothing_else_but_json() -> None:
    trace = textbook(mask=Mask(causal=True))
    told = strict(shown(trace, "json", [Note("no_weights", {"context": False})]))
    assert list(told) == ["attn", "title", "settings", "query_tokens", "key_tokens", "steps", "weights", "output", "notes"]
    assert told["steps"][0] == {
        "name": "Q",
        "symbol": "Q",
        "title": "queries",
        "formula": "Q = X·W_Q",
        "shape": [3, 4],
        "value": X.tolist(),
    }
    assert told["weights"] == trace["weights"].tolist()
    assert [s for s in told["steps"] if s["name"] == "scores"][0]["value"] == [[1, None, None], [0, 1, None], [0.5, 0.5, 1]]
    assert told["settings"]["scale"] == 0.5
    assert told["notes"] == [{"code": "no_weights", "text": "no weights are given, so Q = K = V = X"}]


def laid_out(value: Any, indent: str = "") -> str:
    """What the layout of JSON is, said plainly: indented, but what holds no lists or mappings is on one line."""
    parts = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    if not any(isinstance(part, (dict, list)) for part in parts):
        told = json.dumps(value, ensure_ascii=False, allow_nan=False)
        return "".join(json.dumps(c)[1:-1] if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Cn", "Zl", "Zp") else c for c in told)
    inner = indent + "  "
    lines = [laid_out(part, inner) for part in parts]
    if isinstance(value, dict):
        lines = [f"{laid_out(name)}: {line}" for name, line in zip(value, lines, strict=True)]
    begin, end = "{}" if isinstance(value, dict) else "[]"
    return f"{begin}\n{inner}{(',' + chr(10) + inner).join(lines)}\n{indent}{end}"


@pytest.mark.parametrize("detail", ["compute", "trace"])
def test_json_is_laid_out_as_its_plain_definition_says(trace: Trace, detail: Any) -> None:
    notes = [*trace.notes, Note("saturated", {"row": "], [\u202e", "number": 2, "largest": 0.5}), Note("unheard_of", {"a": math.nan})]
    style = Style(detail=detail, cells=(example(trace, trace.step("weights")),))
    assert shown(trace, "json", notes, detail=detail, cells=style.cells) == laid_out(document(trace, style, notes, plain_value)) + "\n"


def test_json_keeps_odd_labels_apart_from_its_own_brackets() -> None:
    trace = textbook(title="}, {\n\x00", tokens=('"], ["', "[[1.0], [2.0]]", "null"), mask=Mask(causal=True), heads=2)
    assert shown(trace, "json") == laid_out(document(trace, Style(), trace.notes, plain_value)) + "\n"


def test_json_lists_detail_steps_in_a_trace_or_where_they_are_asked_for() -> None:
    trace = textbook()
    names = lambda **style: [s["name"] for s in strict(shown(trace, "json", **style))["steps"]]  # noqa: E731
    assert "exponentials" not in names()
    assert {"exponentials", "row_sums"} <= set(names(detail="trace"))
    assert names(only=("row_sums",)) == ["row_sums"]


def test_json_with_only_leaves_the_rest_out() -> None:
    told = strict(shown(textbook(), "json", only=("output",)))
    assert [s["name"] for s in told["steps"]] == ["output"]
    assert "weights" not in told


def test_json_of_heads_and_columns() -> None:
    assert strict(shown(textbook(heads=2), "json"))["steps"][0]["shape"] == [2, 3, 2]
    told = strict(shown(textbook(vectors="columns"), "json"))
    assert np.shape(told["output"]) == (4, 3)
    assert told["steps"][0]["formula"] == "Q = W_Q·X"


def test_json_derives_cells() -> None:
    (cell,) = strict(shown(textbook(), "json", cells=("weights[1,3]",)))["cells"]
    assert (cell["step"], cell["cell"], cell["lines"][0]) == (
        "weights",
        [0, 2],
        "A[x1,x3] = E[x1,x3] / Z[x1] = 1.6487 / 5.3670 ≈ 0.3072",
    )


# ------------------------------------------------------------------ which format, which step
def test_a_step_that_is_not_there_lists_those_that_are() -> None:
    for form in ("plain", "table", "json"):
        with pytest.raises(InputError, match="did you mean 'weights'.*Q, K, V, products"):
            shown(textbook(), form, only=("wieghts",))


def test_the_suffix_tells_the_format() -> None:
    assert format_of("a/b.JSON").name == "json"
    assert format_of("b.txt").name == "plain"
    with pytest.raises(UsageError, match=r"'\.xyz' tells no format"):
        format_of("b.xyz")


def test_every_kind_of_problem_can_be_shown_in_every_format(trace: Trace) -> None:
    for form in formats_of("trace").values():
        only = ("weights",) if form.name == "npy" else ()  # which holds one array
        assert form.trace(trace, Style(detail="trace", lang="zh", width=60, only=only))
        assert form.trace(trace, Style(width=200, only=only))


def test_a_page_that_nobody_could_read_says_where_its_numbers_can_go() -> None:
    trace = solve(Problem(X=np.zeros((600, 1))))
    with pytest.raises(UsageError, match=r"722,400 numbers, more than anyone reads; write them to a \.npz"):
        FORMATS["plain"].trace(trace, Style())
    assert FORMATS["plain"].trace(trace, Style(only=("output",)))


@pytest.mark.parametrize(("columns", "picture"), [(False, ["1  0  0", "1  1  0", "1  1  1"]), (True, ["1  1  1", "0  1  1", "0  0  1"])])
@pytest.mark.parametrize("heads", [1, 2])
def test_a_trace_pictures_who_may_attend_to_whom_in_the_layout_of_the_text(heads: int, columns: bool, picture: list[str]) -> None:
    layout = "columns" if columns else "rows"
    trace = solve(Problem(X=np.eye(3, 2), heads=heads, mask=Mask(causal=True), vectors=layout, tokens=("a", "b", "c")))
    shown = str(FORMATS["plain"].trace(trace, Style(only=("mask",))))
    below = shown.split("Who attends to whom  M as given\n")[1].splitlines()
    assert [line.strip().split("  ", 1)[1].strip() for line in below[1:4]] == picture
