"""The page of a problem sheet in a browser: it marks what is typed as `attn check` does, and recognises known mistakes."""

import json
import math
import re
import shutil
import subprocess

import numpy as np
import pytest

from attn_cli.files.claims import cell_claim
from attn_cli.homework.exercises import Wanted, exercise, slips
from attn_cli.render.exercise_sheet import key
from attn_cli.render.style import Style
from attn_cli.render.typeset.exercise import render

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine (apt-get install chromium)")

TYPE = """<script>
(function () {
  const typed = %s;
  document.querySelectorAll("td.blank input").forEach((field) => {
    if (!(field.dataset.cell in typed)) return;
    field.value = typed[field.dataset.cell];
    field.dispatchEvent(new Event("input"));
  });
  const said = (() => { %s })();
  document.title = JSON.stringify(said);
})();
</script></body>"""


@pytest.fixture(scope="module")
def made():
    return exercise(Wanted(style="halves"), np.random.default_rng(2))


def said(tmp_path, one, typed, asks):
    """What the page answers to a script after numbers were typed into cells, which are named `step:cell`."""
    page = render(one, slips(one), Style(decimals=3))
    file = tmp_path / "sheet.html"
    file.write_text(page.replace("</body>", TYPE % (json.dumps(typed), asks)), encoding="utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", f"--user-data-dir={tmp_path / 'profile'}"]
    out = subprocess.run([CHROMIUM, *options, file.as_uri()], capture_output=True, encoding="utf-8", timeout=120).stdout
    found = re.search(r"<title>(.*?)</title>", out, re.S)[1]
    return json.loads(found.replace("&quot;", '"').replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))


def test_the_key_is_right_in_every_cell_and_a_wrong_number_is_not(made, tmp_path):
    import yaml

    def flat(nested):
        return [cell for part in nested for cell in flat(part)] if isinstance(nested, list) else [nested]

    steps = yaml.load(key(made, Style(decimals=3)), yaml.BaseLoader)
    typed = {f"{number}:{at}": text for number, value in enumerate(steps.values()) for at, text in enumerate(flat(value))}
    typed["0:0"] = "99"
    count = sum(step.value.size for step in made.steps)
    assert said(tmp_path, made, typed, "return document.querySelector('.score').textContent;") == f"{count - 1} of {count} right, 1 wrong"


def test_a_hint_names_the_mistake_that_all_wrong_numbers_show_and_then_the_arithmetic(made, tmp_path):
    step = [step.name for step in made.steps].index("scores")
    wrong = next(slip for slip in slips(made)["scores"] if slip.code == "no_scale")
    typed = {f"{step}:{at}": f"{value:.3f}" for at, value in enumerate(wrong.values.ravel())}
    press = f"const b = document.querySelector(\"button[data-step='{step}']\"), h = document.getElementById('hint{step}');"
    texts = said(tmp_path, made, typed, press + "return [0, 1, 2].map(() => { b.click(); return h.textContent; });")
    assert "not divided by √d_k" in texts[0]
    assert texts[1].startswith("S[x1,x1] = P[x1,x1] / √")
    assert re.fullmatch(r"S\[x1,x1\] = \S+ / √\d", texts[2])


TEXTS = [
    "0.387", "20", "20.", "-0.5", "+2", ".5", "1/3", "2/3", "√2", "√2/2", "1/√2", "sqrt(2)/2", "33%", "33.3%",
    "2.72/3.72", "1e-3", "1.50e-2", "-inf", "−1", "≈1.2", "e/(e+2)", "0,5", "_", "?", "abc", "7", "123", "0.0001",
]  # fmt: skip


def test_the_page_reads_numbers_as_attn_check_does(made, tmp_path):
    found = said(
        tmp_path, made, {}, f"return {json.dumps(TEXTS)}.map((t) => {{ const c = claim(t); return c && [String(c.value), c.unit]; }});"
    )
    for text, theirs in zip(TEXTS, found, strict=True):
        ours = cell_claim(text, "," if "," in text else ".")
        if not ours.given:
            assert theirs is None, text
        elif math.isnan(ours.value):
            assert theirs[0] == "NaN", text
        else:
            assert float(theirs[0].replace("Infinity", "inf")) == pytest.approx(ours.value, rel=1e-12), text
            assert theirs[1] == pytest.approx(ours.unit, rel=1e-6, abs=1e-15), text
