"""The HTML page in a real browser: Debian's chromium, without a window."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attn_cli.engine.attention import solve
from attn_cli.engine.problem import Problem
from attn_cli.render.formats import FORMATS
from attn_cli.render.style import Style

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--virtual-time-budget=5000")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine (apt-get install chromium)")

X = np.array([[1, 0, 1, 0], [0, 1, 0, 1], [1, 1, 0, 0]], float)
TOOLS = """
const table = (id) => document.querySelector(`#${id} table`);
const cell = (id, i, j) => table(id).tBodies[0].rows[i].cells[j + 1];
const told = () => { const bar = document.querySelector(".told"); return bar.hidden ? null : bar.textContent; };
const press = (key, more) => document.activeElement.dispatchEvent(
  new KeyboardEvent("keydown", {key, bubbles: true, cancelable: true, ...more}));
// A window that nobody looks at moves the focus without telling the page, now and then: then it is told here.
const focus = HTMLElement.prototype.focus;
HTMLElement.prototype.focus = function () {
  const before = document.activeElement;
  let heard = before === this;
  this.addEventListener("focusin", () => { heard = true; }, {once: true});
  focus.call(this);
  if (heard) return;
  before.dispatchEvent(new FocusEvent("focusout", {bubbles: true}));
  this.dispatchEvent(new FocusEvent("focusin", {bubbles: true}));
};
const marked = (name) => [...document.querySelectorAll("td." + name)].map((one) => one.closest("section").id + " " + one.textContent);
"""


def browse(tmp_path: Path, script: str, detail: Any = "compute", scheme: int = 1, **changes: Any) -> Any:
    """What the script returns when it runs in the page."""
    trace = solve(Problem(**{"title": "Textbook", "X": X, "W_Q": np.eye(4), "W_K": np.eye(4), "W_V": np.eye(4), **changes}))
    page = FORMATS["html"].trace(trace, Style(detail=detail))
    assert isinstance(page, str)
    asked = (
        f"<script>{TOOLS}\nconst answer = (() => {{ {script} }})();\ndocument.title = 'answer:' + JSON.stringify(answer);</script></body>"
    )
    (tmp_path / "page.html").write_text(page.replace("</body>", asked), encoding="utf-8")
    command = [str(CHROMIUM), *FLAGS, f"--blink-settings=preferredColorScheme={scheme}", f"--user-data-dir={tmp_path / 'profile'}"]
    run = subprocess.run([*command, "--dump-dom", (tmp_path / "page.html").as_uri()], capture_output=True, text=True, timeout=120)
    found = re.search(r"<title>answer:(.*?)</title>", run.stdout, re.DOTALL)
    assert found, run.stderr[-2000:]
    return json.loads(unescape(found[1]))


def test_focusing_a_weight_shows_its_arithmetic_and_marks_where_it_came_from(tmp_path: Path) -> None:
    script = """
        cell("weights", 0, 2).tabIndex = 0;
        cell("weights", 0, 2).focus();
        const axis = [...document.querySelectorAll("th.axis")].map((one) => one.textContent);
        return {told: told(), from: marked("from"), on: marked("on"), axis};
    """
    assert browse(tmp_path, script, "trace") == {
        "told": "A[x1,x3] = 1.6487 / 5.3670 ≈ 0.3072",
        "from": ["exponentials 1.6487", "row_sums 5.3670"],
        "on": ["weights 0.3072"],
        "axis": ["x3", "x1"],
    }


def test_pointing_at_a_score_marks_the_row_and_the_column_of_its_inputs(tmp_path: Path) -> None:
    script = """
        cell("products", 2, 0).dispatchEvent(new PointerEvent("pointerover", {bubbles: true}));
        return {told: told(), from: marked("from")};
    """
    assert browse(tmp_path, script) == {
        "told": "P[x3,x1] = 1·1 + 1·0 + 0·1 + 0·0 = 1",
        "from": ["Q 1", "Q 1", "Q 0", "Q 0", "K 1", "K 0", "K 1", "K 0"],
    }


def test_where_exponentials_are_not_shown_a_weight_marks_its_row_of_scores(tmp_path: Path) -> None:
    script = 'cell("weights", 0, 0).focus(); return marked("from");'
    assert browse(tmp_path, script) == ["scores 1.0000", "scores 0.0000", "scores 0.5000"]


def test_arrow_keys_walk_through_a_table_which_is_one_stop_of_the_tab_key(tmp_path: Path) -> None:
    script = """
        const seen = [];
        cell("weights", 0, 0).focus();
        for (const key of ["ArrowRight", "ArrowDown", "ArrowLeft", "ArrowLeft", "End", "Home", "Ctrl+End", "ArrowDown"]) {
          press(key.replace("Ctrl+", ""), {ctrlKey: key.startsWith("Ctrl")});
          seen.push(document.activeElement.textContent);
        }
        press("Escape");
        return {seen, told: told(), stops: table("weights").querySelectorAll('[tabindex="0"]').length};
    """
    assert browse(tmp_path, script) == {
        "seen": ["0.1863", "0.5065", "0.1863", "0.1863", "1.0000", "0.1863", "1.0000", "1.0000"],
        "told": None,
        "stops": 1,
    }


def test_a_hard_choice_shows_the_comparison(tmp_path: Path) -> None:
    script = 'cell("weights", 2, 0).tabIndex = 0; cell("weights", 2, 0).focus(); return told();'
    assert browse(tmp_path, script, mode="hard") == "max S[x3,·] = max(0.5, 0.5, 1) = 1 → x3"
    assert browse(tmp_path, script, mode="hard", vectors="columns") == "max S[·,x1] = max(1, 0, 0.5) = 1 → x1"


def test_a_screen_reader_is_told_the_arithmetic_and_the_labels(tmp_path: Path) -> None:
    script = """
        const one = cell("weights", 0, 2);
        return {role: one.closest("table").getAttribute("role"), caption: one.closest("table").caption.textContent,
                row: one.parentElement.cells[0].scope, line: document.getElementById(one.getAttribute("aria-describedby")).textContent};
    """
    assert browse(tmp_path, script) == {
        "role": "grid",
        "caption": "A: attention weights",
        "row": "row",
        "line": "A[x1,x3] = 1.6487 / 5.3670 ≈ 0.3072",
    }


CONTRAST = """
    const rgb = (text) => text.match(/[\\d.]+/g).map(Number);
    const over = ([r, g, b, a = 1], under) => [r, g, b].map((c, i) => c * a + under[i] * (1 - a));
    const light = (c) => c.map((v) => v / 255).map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
      .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
    const paper = rgb(getComputedStyle(document.querySelector(".attn")).backgroundColor);
    const ratios = [...document.querySelectorAll("td, th[scope], .conventions, summary, .name")].map((one) => {
      const look = getComputedStyle(one);
      const back = over(rgb(look.backgroundColor), paper);
      const [a, b] = [light(over(rgb(look.color), back)), light(back)].sort((x, y) => y - x);
      return (a + 0.05) / (b + 0.05);
    });
    return {paper: paper.slice(0, 3), least: Math.min(...ratios)};
"""


@pytest.mark.parametrize(("scheme", "paper"), [(1, [255, 255, 255]), (0, [20, 22, 26])], ids=["light", "dark"])
def test_numbers_stand_out_from_their_shades(tmp_path: Path, scheme: int, paper: list[int]) -> None:
    seen = browse(tmp_path, CONTRAST, "trace", scheme, mode="hard")
    assert seen["paper"] == paper
    assert seen["least"] >= 4.5
