"""The page formats: what each shows, that labels come out as they are, and that files read back."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import attn_cli
from attn_cli.engine.attention import solve
from attn_cli.engine.problem import Mask, Problem
from attn_cli.engine.steps import Trace
from attn_cli.files.answers import read_answers
from attn_cli.files.claims import as_claims
from attn_cli.render.formats import FORMATS
from attn_cli.render.page import CellName
from attn_cli.render.style import Style

LABELS = ("[bold]", "a|b", "50%", "x_1", "<s>", "$", "词元", "two\nlines", "\x1b[31m", "=1+1", ":smile:", "R&D #1 {~^\\} `q` \"d\" 'x'", "")
X = np.array([[1, 0, 1, 0], [0, 1, 0, 1], [1, 1, 0, 0]], float)


def textbook(**changes: Any) -> Trace:
    return solve(Problem(**{"title": "Textbook", "X": X, "W_Q": np.eye(4), "W_K": np.eye(4), "W_V": np.eye(4), **changes}))


def labelled() -> Trace:
    n = len(LABELS)
    return solve(Problem(title="T_1 <b> $x$ & *y*", tokens=LABELS, X=np.arange(2.0 * n).reshape(n, 2) % 3))


def text(trace: Trace, form: str, **style: Any) -> str:
    page = FORMATS[form].trace(trace, Style(**style))
    assert isinstance(page, str)
    return page


# ------------------------------------------------------------------ labels
SEEN = [label.replace("\n", "\\n").replace("\x1b", "\\x1b") or '""' for label in LABELS]
"""As a reader of a page sees them."""


def of_markdown(page: str) -> list[str]:
    """The row labels of the first table, its markup read as Markdown reads it."""
    table = [line for line in page.splitlines() if line.startswith("|")][2 : 2 + len(LABELS)]
    cells = [re.split(r"(?<!\\)\|", line)[1].strip() for line in table]
    plain = [re.sub(r"<!-- -->|</?span>", "", cell) for cell in cells]
    return [re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", cell) for cell in plain]


TEX = {"textbackslash": "\\", "textasciicircum": "^", "textasciitilde": "~", "textless": "<", "textgreater": ">", "textbar": "|"}
TEX |= {"textquotedbl": '"', "textasciigrave": "`", "textquotesingle": "'"}


def of_latex(page: str) -> list[str]:
    rows = page.split(r"\begin{tabular}")[1].split("\n")[3 : 3 + len(LABELS)]
    cells = [re.split(r"(?<!\\)&", row)[0].strip() for row in rows]
    named = [re.sub(r"\\(text[a-z]+)\{\}", lambda m: TEX[m[1]], re.sub(r"\{([-\[\]])\}", r"\1", cell)) for cell in cells]
    return [re.sub(r"\\([{}$&#%_])", r"\1", cell) for cell in named]


class Rows(HTMLParser):
    """The row headers of the first table."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.inside = tag == "th" and ("scope", "row") in attrs
        self.found += [""] if self.inside else []

    def handle_endtag(self, tag: str) -> None:
        self.inside = False

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.found[-1] += data


def of_html(page: str) -> list[str]:
    rows = Rows()
    rows.feed(page)
    return rows.found[: len(LABELS)]


def of_svg(page: str) -> list[str]:
    told = [node.text for node in ElementTree.fromstring(page).iter("{http://www.w3.org/2000/svg}text")]
    return [label for label in SEEN if label in told]


def of_csv(page: str) -> list[str]:
    rows = list(csv.reader(io.StringIO(page)))
    return [row[0].replace("\n", "\\n") or '""' for row in rows[2 : 2 + len(LABELS)]]


def of_tree(told: Any) -> list[str]:
    return [label.replace("\n", "\\n").replace("\x1b", "\\x1b") or '""' for label in told["query_tokens"]]


READERS = {
    "markdown": of_markdown,
    "latex": of_latex,
    "html": of_html,
    "svg": of_svg,
    "csv": of_csv,
    "yaml": lambda page: of_tree(yaml.safe_load(page)),
    "json": lambda page: of_tree(json.loads(page)),
}


@pytest.mark.parametrize("form", [f.name for f in FORMATS.values() if f.page or f.name in ("json", "yaml", "csv")])
@pytest.mark.parametrize("detail", ["compute", "trace"])
def test_labels_show_as_they_are(form: str, detail: Any) -> None:
    page = text(labelled(), form, detail=detail, full=True, width=400)
    assert "\x1b" not in page
    if form in READERS and (form, detail) != ("svg", "trace"):
        assert READERS[form](page) == SEEN
    elif form != "svg":
        assert all(label in page for label in SEEN)


def test_every_row_of_a_markdown_table_has_the_same_cells(trace: Trace) -> None:
    for shown in (trace, labelled()):
        page = text(shown, "markdown", detail="trace")
        for block in re.split(r"\n(?!\|)", page):
            assert len({len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines() if line.startswith("|")}) <= 1


def test_markdown_looks_like_this() -> None:
    page = text(textbook(mask=Mask(causal=True)), "markdown", detail="trace", terse=True, only=("weights",))
    assert (
        page
        == r"""# Textbook

rows are queries · softmax along each row · causal · $\sqrt{d_k} = \sqrt{4} = 2$

## 1. Attention weights: $A = \frac{E}{Z}$

$E = \exp\left(S\right)$, $Z = \mathrm{row\ sum}\left(E\right)$

|     |     x1 |     x2 |     x3 |      Σ |
| --- | -----: | -----: | -----: | -----: |
| x1  | 1.0000 | 0.0000 | 0.0000 | 1.0000 |
| x2  | 0.2689 | 0.7311 | 0.0000 | 1.0000 |
| x3  | 0.2741 | 0.2741 | 0.4519 | 1.0000 |

```text
A[x1,x1]  = 2.7183 / 2.7183 = 1
A[x1,x2]  = 0 / 2.7183 = 0
A[x1,x3]  = 0 / 2.7183 = 0
Σ A[x1,·] = 1 + 0 + 0 = 1
A[x2,x1]  = 1 / 3.7183 ≈ 0.2689
A[x2,x2]  = 2.7183 / 3.7183 ≈ 0.7311
A[x2,x3]  = 0 / 3.7183 = 0
Σ A[x2,·] = 0.2689 + 0.7311 + 0 = 1
A[x3,x1]  = 1.6487 / 6.0157 ≈ 0.2741
A[x3,x2]  = 1.6487 / 6.0157 ≈ 0.2741
A[x3,x3]  = 2.7183 / 6.0157 ≈ 0.4519
Σ A[x3,·] = 0.27407 + 0.27407 + 0.45186 = 1
```
"""
    )


# ------------------------------------------------------------------ LaTeX
def balanced(page: str) -> None:
    """Braces and environments close, and each row of a table has as many cells as its columns."""
    bare = re.sub(r"\\[\\{}]", "", page)
    assert bare.count("{") == bare.count("}")
    open_: list[str] = []
    for end, name in re.findall(r"\\(begin|end)\{([a-z*]+)\}", page):
        if end == "begin":
            open_.append(name)
        else:
            assert open_.pop() == name
    assert open_ == []
    for columns, body in re.findall(
        r"\\begin\{tabular\}\{([lr]+(?:@\{\\qquad\}[lr])?)\}\n\\toprule\n(.*?)\n\\bottomrule\n\\end\{tabular\}", page, re.DOTALL
    ):
        for row in body.split("\n"):
            if not row.startswith(r"\multicolumn"):
                assert len(re.findall(r"(?<!\\)&", row)) == len(columns.replace(r"@{\qquad}", "")) - 1, row
    for body in re.findall(r"\\begin\{bmatrix\}\n(.*?)\n\\end\{bmatrix\}", page, re.DOTALL):
        assert len({row.count("&") for row in body.split("\n")}) == 1
    assert not re.search(r"(?<!\\)[#%]", page.split("\n", 1)[1])


@pytest.mark.parametrize("detail", ["compute", "trace"])
def test_latex_is_well_formed(trace: Trace, detail: Any) -> None:
    for shown in (trace, labelled()):
        balanced(text(shown, "latex", detail=detail, standalone=True))


def test_a_fragment_is_no_document() -> None:
    assert r"\documentclass" not in text(textbook(), "latex")
    assert text(textbook(), "latex", standalone=True).startswith("% compile with pdflatex\n\\documentclass")
    assert text(labelled(), "latex", standalone=True).startswith("% compile with xelatex")


def wide() -> Trace:
    rng = np.random.default_rng(0)
    return solve(Problem(Q=rng.normal(size=(3, 30)), K=rng.normal(size=(3, 30)), score="cosine"))


def words() -> Trace:
    rng = np.random.default_rng(1)
    words = ("I", "watched", "the", "unforgettable", "film", "yesterday")
    return solve(Problem(tokens=words, X=rng.normal(size=(6, 8)), heads=4, mask=Mask(causal=True)))


def marked() -> str:
    answers = {
        "weights": [["0.387", "0.142", "0.471"], ["", "", ""], ["0.269", "0.269", "0.462"]],
        "output": [["0.858", "1", "-2", "1e-3"]],
    }
    return str(FORMATS["latex"].report(attn_cli.check(textbook().problem, answers), Style(standalone=True, explain=True)))


PAPERS = {
    "textbook": textbook,
    "labels": labelled,
    "wide": wide,
    "words": words,
    "heads": lambda: textbook(heads=2),
    "columns": lambda: textbook(vectors="columns"),
    "additive": lambda: textbook(score="additive", parameters={"additive": {"v": np.ones(2), "W": np.eye(2, 8)}}, mask=Mask(causal=True)),
    "hard": lambda: textbook(mode="hard"),
}


BOOK = r"""\documentclass{article}
\usepackage{amsmath,booktabs,textcomp}
\begin{document}
"""
"""A document of somebody else, with margins as LaTeX sets them."""


@pytest.mark.parametrize("which", [*PAPERS, "marked", "fragment"])
def test_latex_compiles_and_no_line_is_too_long(which: str, tmp_path: Path) -> None:
    if which == "fragment":
        page = "% pdflatex\n" + BOOK + text(textbook(heads=2), "latex", detail="trace") + r"\end{document}"
    else:
        page = marked() if which == "marked" else text(PAPERS[which](), "latex", detail="trace", standalone=True, full=True)
    engine = page.split("\n", 1)[0].split()[-1]
    if shutil.which(engine) is None or (
        which == "labels" and "ctex" not in subprocess.run(["kpsewhich", "ctex.sty"], capture_output=True, text=True).stdout
    ):
        pytest.skip(f"no {engine} (with ctex for Chinese) on this machine")
    (tmp_path / "page.tex").write_text(page, encoding="utf-8")
    run = subprocess.run([engine, "-interaction=nonstopmode", "-halt-on-error", "page.tex"], cwd=tmp_path, capture_output=True, timeout=300)
    log = (tmp_path / "page.log").read_text("utf-8", "replace")
    assert run.returncode == 0, log[-2000:]
    assert "Overfull" not in log


def test_a_matrix_whose_labels_only_count_stands_in_brackets_beside_its_formula() -> None:
    page = text(textbook(), "latex", detail="trace", terse=True, only=("Q", "weights"))
    assert "\\[ Q = X \\cdot W_Q = \\begin{bmatrix}\n1 & 0 & 1 & 0 \\\\\n0 & 1 & 0 & 1 \\\\\n1 & 1 & 0 & 0\n\\end{bmatrix} \\]\n" in page
    assert page.startswith("% needs \\usepackage{amsmath,booktabs};")
    assert "A & x1 & x2 & x3 & $\\sum$" in page.replace("$A$", "A")


def test_a_matrix_whose_rows_have_names_is_a_table_and_heads_stand_side_by_side() -> None:
    page = text(textbook(tokens=("cat", "sat", "mat"), heads=2), "latex", only=("Q",))
    assert "bmatrix" not in page
    display = page[page.index(r"\[") : page.index(r"\]")]
    assert display.count(r"\begin{tabular}{lrr}") == 2
    assert r"\textit{head 1} & 1 & 2 \\ \midrule" in display


def test_a_cell_has_its_place_as_a_subscript() -> None:
    page = text(textbook(heads=2), "latex", detail="trace", standalone=True, only=("Q",))
    assert r"Q_{1;\text{x1},1} & = 1 \cdot 1 + 0 \cdot 0 + 1 \cdot 0 + 0 \cdot 0 = 1 & Q_{1;\text{x1},2} & = " in page
    assert CellName("W_Q", "W_Q", ("1", "2")).tex(str) == "W_{Q;1,2}"
    assert CellName("K", r"\tilde{K}_{QK^2}", ("1",)).tex(str) == r"(\tilde{K}_{QK^2})_{1}"


# ------------------------------------------------------------------ SVG
def test_a_heat_map_shows_every_weight() -> None:
    rng = np.random.default_rng(0)
    trace = solve(Problem(Q=rng.normal(size=(24, 4)), K=rng.normal(size=(24, 4)), V=rng.normal(size=(24, 2))))
    told = [node.text for node in ElementTree.fromstring(text(trace, "svg")).iter("{http://www.w3.org/2000/svg}text")]
    assert all(f"{weight:.4f}" in told for weight in trace["weights"].ravel())
    assert "q24" in told
    assert "k24" in told


def test_a_picture_of_a_trace_shows_its_lines(trace: Trace) -> None:
    page = text(trace, "svg", detail="trace", width=200)
    told = "".join(node.text or "" for node in ElementTree.fromstring(page).iter("{http://www.w3.org/2000/svg}text"))
    lines = re.findall(r"\[.*\] [=≈] .*", text(trace, "plain", detail="trace", width=200))
    assert lines
    assert all(re.sub(r"\s", "", line) in re.sub(r"\s", "", told) for line in lines)


# ------------------------------------------------------------------ HTML
def test_html_needs_no_network_and_names_no_cell_that_is_not_there(trace: Trace) -> None:
    page = text(trace, "html", detail="trace")
    assert not re.search(r"(?:src|href)=|@import|url\(|https?://", page)
    ids = re.findall(r' id="([^"]*)"', page)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'aria-describedby="([^"]*)"', page)) <= set(ids)
    tables = set(re.findall(r'data-id="([^"]*)"', page))
    assert {part.split()[0] for source in re.findall(r'data-from="([^"]*)"', page) for part in source.split(";")} <= tables


def test_every_worked_weight_points_to_its_arithmetic(trace: Trace) -> None:
    page = text(trace, "html")
    heat = re.findall(r'<td[^>]*class="heat"[^>]*>', page)
    assert len(heat) == trace["weights"].size
    if not trace.step("weights").given:
        assert all("aria-describedby" in cell for cell in heat)


def test_a_big_page_explains_the_first_cells_and_says_so() -> None:
    rng = np.random.default_rng(0)
    trace = solve(Problem(Q=rng.normal(size=(64, 4)), K=rng.normal(size=(64, 4)), V=rng.normal(size=(64, 4))))
    page = text(trace, "html")
    assert "this page explains the first 24 of each matrix; --full explains all of them" in page
    assert page.count("<li id=") < 200
    assert "4072 more cells" in page


# ------------------------------------------------------------------ files that read back
@pytest.mark.parametrize("detail", ["compute", "trace"])
@pytest.mark.parametrize("form", ["csv", "yaml", "npz"])
def test_a_result_reads_back_as_answers(trace: Trace, form: str, detail: Any, tmp_path: Path) -> None:
    result = FORMATS[form].trace(trace, Style(detail=detail))
    path = tmp_path / f"result.{form}"
    path.write_bytes(result if isinstance(result, bytes) else result.encode())
    shown = [step for step in trace if detail == "trace" or not step.kind.detail]
    answers = {answer.name: answer for answer in as_claims(read_answers(str(path)).steps)}
    assert list(answers) == [step.name for step in shown]
    for step in shown:
        assert answers[step.name].shape == step.value.shape
        read = answers[step.name].array if form == "npz" else answers[step.name].value
        np.testing.assert_array_equal(read.reshape(step.value.shape), step.value)


def test_a_csv_that_a_spreadsheet_saved_reads_back(tmp_path: Path) -> None:
    page = text(textbook(heads=2, W_O=np.eye(4)), "csv")
    rows = list(csv.reader(io.StringIO(page)))
    wide = max(map(len, rows))
    path = tmp_path / "result.csv"
    path.write_text("\n".join(";".join(cell.replace(".", ",") for cell in [*row, *[""] * (wide - len(row))]) for row in rows), "utf-8-sig")
    answers = {answer.name: answer for answer in as_claims(read_answers(str(path)).steps)}
    np.testing.assert_array_equal(answers["weights"].value.reshape(2, 3, 3), textbook(heads=2, W_O=np.eye(4))["weights"])


def test_one_matrix_stands_below_its_name_in_csv() -> None:
    page = text(textbook(), "csv", only=("output",))
    assert page.splitlines()[:2] == ["output", ",1,2,3,4"]
    assert page.splitlines()[2].startswith("x1,0.81")


def test_yaml_says_what_json_says(trace: Trace) -> None:
    told = yaml.safe_load(text(trace, "yaml", detail="trace"))
    meant = json.loads(text(trace, "json", detail="trace"))

    def finite(part: Any) -> Any:
        if isinstance(part, dict):
            return {key: finite(value) for key, value in part.items()}
        if isinstance(part, list):
            return [finite(value) for value in part]
        return None if isinstance(part, float) and not np.isfinite(part) else part

    assert finite(told) == meant


def test_npz_keeps_every_bit() -> None:
    trace = textbook(mask=Mask(causal=True))
    data = FORMATS["npz"].trace(trace, Style())
    assert isinstance(data, bytes)
    with np.load(io.BytesIO(data)) as arrays:
        assert list(arrays) == [step.name for step in trace if not step.kind.detail]
        assert all(np.array_equal(arrays[name], trace[name]) for name in arrays)
        assert np.isneginf(arrays["scores"][0, 1])
