"""Every equation of every trace, read back from the page as a reader would and worked out again with the numbers shown."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from attn_cli.engine.attention import solve
from attn_cli.engine.steps import Trace
from attn_cli.files.problem import read_problem as load
from attn_cli.render.formats import FORMATS
from attn_cli.render.style import Style

SAMPLES = sorted(path for path in (Path(__file__).parents[2] / "samples").iterdir() if path.suffix == ".yaml" or path.is_dir())
DECIMALS = 4


class Equation(NamedTuple):
    """What stands between the equals signs, as text that Python can work out, and the signs."""

    line: str
    sides: list[str]
    signs: list[str]


# ------------------------------------------------------------------ reading
NAME = re.compile(r"\s*(?:(?:Σ|max) )?[^\s\[]+\[[^=≈]*\]\s+(?=[=≈] )")
SIGN = re.compile(r" ?([=≈]) (?![^\[\]]*\](?!\[))")


def in_text(page: str) -> Iterator[Equation]:
    """The worked lines of plain text and Markdown."""
    for line in page.splitlines():
        if not (name := NAME.match(line)) or line.startswith("|"):
            continue
        told = re.split(r"   \S", line[name.end() :])[0].strip()
        pieces = SIGN.split(" " + told)
        yield Equation(line, [python(side) for side in pieces[2::2]], pieces[1::2])


def python(side: str) -> str:
    """`1 / √4` as Python; a name (of a cell that was copied) stays what it is."""
    side = side.strip()
    if side.startswith("["):
        inner = side[1:-1]
        return inner.replace(" ≤ ", " <= ").replace(" = ", " == ").removesuffix(" and first").replace("∞", "inf")
    code = side.replace("·", "*").replace("²", "**2").replace("∞", "inf")
    return re.sub(r"√(\d[\d.]*(?:e-?\d+)?)", r"sqrt(\1)", code).replace("√", "sqrt")


def in_latex(page: str) -> Iterator[Equation]:
    """The rows of `align*`, each of one equation or of several; one without a left side goes on with the one above."""
    for block in re.findall(r"\\begin\{align\*\}\n(.*?)\n\\end\{align\*\}", page, re.DOTALL):
        told: list[str] = []
        for row in block.split("\n"):
            cells = re.sub(r" \\\\(\[4pt\])?$", "", row).split(" & ")
            for left, right in zip(cells[::2], cells[1::2], strict=True):
                right = re.sub(r"\\quad \\text\{.*\}$", "", right).replace(r"\quad", "")
                if left.strip():
                    told.append(right)
                else:
                    told[-1] += " " + right
        for line in told:
            pieces = re.split(r"(?:^| )(=|\\approx) (?![^\[\]]*\\right\])", " " + line.strip())
            signs = ["=" if sign == "=" else "≈" for sign in pieces[1::2]]
            yield Equation(line, [from_tex(side) for side in pieces[2::2]], signs)


def from_tex(side: str) -> str:
    """TeX as Python: braces from the inside out."""
    code = side.strip()
    if "_{" in code:
        return "a name[]"
    for tex, plain in ((r"\left[", ""), (r"\right]", ""), (r"\text{ and first}", ""), (r"\left", ""), (r"\right", ""), (r"\le ", "<= ")):
        code = code.replace(tex, plain)
    code = code.replace(r"\cdot 10^", "e").replace(r"\cdot", "*").replace(r"\infty", "inf")
    code = re.sub(r"\s*e\{(-?\d+)\}", r"e\1", code)
    for function in ("exp", "tanh", "max"):
        code = code.replace("\\" + function, function)
    code = re.sub(r" = (?=max)", " == ", code).replace(r"\frac", "FRAC").replace(r"\sqrt", "sqrt")
    code = code.replace("^{1/2}", "**0.5").replace("^2", "**2")
    while "{" in code:
        code, n = re.subn(r"FRAC\{([^{}]*)\}\{([^{}]*)\}", r"((\1)/(\2))", code)
        code, m = re.subn(r"(?<!FRAC)(?<!\})\{([^{}]*)\}(?!\{)", r"(\1)", code)
        if not n + m:
            raise ValueError(side)
    return code


# ------------------------------------------------------------------ working out
NAMES = {"exp": math.exp, "tanh": math.tanh, "sqrt": math.sqrt, "max": max, "inf": math.inf}


def value(code: str) -> float | None:
    """What a calculator gives; None for the name of a cell."""
    if "[" in code:
        return None
    number = float(eval(code, {"__builtins__": {}}, NAMES))
    return 0.0 if math.isnan(number) and "inf" in code else number  # 0·∞, 0 / 0: a key that is closed


def unit(result: str) -> float:
    """Of the last digit shown, which may be a zero that was left out."""
    mantissa, _, power = result.partition("e")
    if power:
        return float(10.0 ** (int(power) - len(mantissa.partition(".")[2])))
    return 10.0**-DECIMALS


def judged(equation: Equation) -> tuple[bool, bool]:
    """Whether it holds to the last digit, and whether it holds within one unit of it."""
    known = [(v, code) for code in equation.sides if (v := value(code)) is not None]
    if not known:  # a row that is copied
        return True, True
    result, last = known[-1]
    one = unit(last)
    off = max((abs(v - result) for v, _ in known if v != result), default=0.0)
    exact = True
    for sign, before, after in zip(equation.signs[1:], equation.sides, equation.sides[1:], strict=False):
        a, b = value(before), value(after)
        if sign == "=" and a is not None and b is not None and a != b:
            exact = exact and abs(a - b) <= 1e-9 * max(1.0, abs(a))
    return exact and off <= one / 2 * (1 + 1e-6), off <= one * (1 + 1e-6)


READERS = {"plain": in_text, "markdown": in_text, "latex": in_latex}


def equations(trace: Trace, form: str) -> list[Equation]:
    style = Style(decimals=DECIMALS, detail="trace", full=True, width=100_000)
    page = FORMATS[form].trace(trace, style)
    assert isinstance(page, str)
    if form == "markdown":
        page = re.sub(r"\n {3,}(?=\S)", " ", page)  # wrapped lines
    return list(READERS[form](page))


def hold(found: list[Equation]) -> None:
    verdicts = [(judged(one), one.line) for one in found]
    assert [line for (_, near), line in verdicts if not near] == []
    exact = sum(held for (held, _), _ in verdicts)
    assert exact >= 0.995 * len(verdicts), [line for (held, _), line in verdicts if not held][:10]


@pytest.mark.parametrize("form", READERS)
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.stem)
def test_every_equation_of_a_sample_holds_as_shown(sample: Path, form: str) -> None:
    found = equations(solve(load(str(sample)).problem), form)
    assert found
    hold(found)


@pytest.mark.parametrize("form", READERS)
def test_every_equation_of_each_kind_of_problem_holds_as_shown(trace: Trace, form: str) -> None:
    hold(equations(trace, form))


def test_the_three_formats_show_the_same_equations(trace: Trace) -> None:
    assert len({len(equations(trace, form)) for form in READERS}) == 1
