"""Numbers and equations as text."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attn_cli.engine.attention import solve
from attn_cli.engine.expression import Expr, Num
from attn_cli.engine.problem import Problem
from attn_cli.engine.steps import Trace
from attn_cli.render.style import Style, tex_number
from attn_cli.render.walkthrough import walkthrough_page

STYLE = Style()


@pytest.mark.parametrize(
    ("value", "decimals", "expected"),
    [
        (0.50648, 4, "0.5065"),
        (-0.0001, 2, "0.00"),
        (-0.0, 4, "0.0000"),
        (-0.4, 0, "0"),
        (3e-9, 4, "0.0000"),
        (-math.inf, 4, "-∞"),
        (1234567.891, 2, "1234567.89"),
        (1.5e12, 4, "1.5e12"),
        (-2.34567e-300, 2, "0.00"),
    ],
)
def test_a_number_has_fixed_decimals_and_never_a_negative_zero(value: float, decimals: int, expected: str) -> None:
    assert Style(decimals=decimals).number(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [(2.0, "2"), (0.5, "0.5"), (0.1 * 3, "0.3"), (1 / 3, "0.3333"), (-0.0, "0"), (1e-7, "0.0000"), (0.00001, "0.0000"), (1e300, "1e300")],
)
def test_in_an_equation_an_exact_number_takes_as_few_digits_as_it_needs(value: float, expected: str) -> None:
    assert STYLE.short(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"), [(0.123456, "0.123456"), (1e-7, "0.0000001"), (1 / 3, "0.3333"), (-0.25, "-0.25"), (20.0, "20")]
)
def test_an_input_prints_as_written(value: float, expected: str) -> None:
    assert STYLE.exact(value) == expected


def num(value: float, exact: bool = False) -> Num:
    return Num(value=value, exact=exact)


def ex(op: str, *args: Expr) -> Expr:
    return Expr(op, args)


def worked(e: Expr, style: Style = STYLE) -> str:
    return style.worked(e, e.evaluate()).plain()


def test_a_root_is_worked_out_on_the_way() -> None:
    assert worked(ex("divide", num(1), ex("root", num(4, True)))) == "1 / √4 = 1 / 2 = 0.5"
    assert worked(ex("divide", num(2), ex("root", num(3, True)))) == "2 / √3 ≈ 2 / 1.7321 ≈ 1.1547"


def test_operands_get_the_decimals_that_make_the_equation_hold() -> None:
    third = ex("add", num(0.2740686), num(0.2740686), num(0.4518628))
    assert STYLE.worked(third, 1.0).plain() == "0.27407 + 0.27407 + 0.45186 = 1"


def test_negative_terms_stand_in_brackets() -> None:
    assert worked(ex("add", ex("multiply", num(0.1), num(3)), ex("multiply", num(-0.3), num(1)))) == "0.1·3 + (-0.3)·1 = 0"


def test_a_quotient_of_tiny_numbers_still_holds() -> None:
    assert worked(ex("divide", num(3e-12), num(6.1e-12))) == "3e-12 / 6.1e-12 ≈ 0.4918"


def test_no_divisor_is_shown_as_zero() -> None:
    assert worked(ex("divide", num(0), num(0.3)), Style(decimals=0)) == "0 / 0.3 = 0"


def test_a_result_that_vanishes_in_rounding_is_not_called_equal() -> None:
    assert worked(ex("exp", num(-30, True))) == "exp(-30) ≈ 0.0000"
    assert worked(ex("exp", num(-math.inf))) == "exp(-∞) = 0"


def test_layers_are_worked_out_one_by_one() -> None:
    e = ex("scale", num(3, True), ex("tanh", ex("divide", num(0.6), num(3, True))))
    assert worked(e) == "3·tanh(0.6 / 3) = 3·tanh(0.2) ≈ 3·0.19738 ≈ 0.5921"


def test_an_input_keeps_the_form_that_it_was_written_in() -> None:
    step = solve(Problem(X=np.full((1, 1), 1 / 3), W_Q=np.full((1, 1), -2.0), W_K=np.eye(1), W_V=np.eye(1))).step("Q")
    assert Style().worked(step.cell((0, 0)), float(step.value[0, 0])).plain() == "0.33333·(-2) ≈ -0.6667"
    assert Style().worked(step.cell((0, 0)), -2 / 3, {("X", (0, 0)): "1/3"}).plain() == "(1/3)·(-2) ≈ -0.6667"


def test_tex_numbers() -> None:
    assert [tex_number(t) for t in ("0.5", "1.5e-12", "-∞")] == ["0.5", r"1.5 \cdot 10^{-12}", r"-\infty"]
    assert [tex_number(t) for t in ("(√2/2)", "(1/sqrt(2))")] == [r"(\sqrt{2}/2)", r"(1/\sqrt{2})"]


# ------------------------------------------------------------------ every equation holds as shown
def parts_of(told: str) -> list[str]:
    return re.split(r" [=≈] (?![^\[\]]*\])", told)


def calculated(text: str) -> float:
    """What a calculator gives for an expression as it is shown."""
    if text.startswith("["):
        low, _, rest = text[1:-1].partition(" ≤ ")
        if rest:
            x, high = rest.split(" < ")
            return float(calculated(low) <= calculated(x) < calculated(high))
        own, largest = text[1:-1].removesuffix(" and first").split(" = ")
        return float(float(own.replace("∞", "inf")) == calculated(largest)) if not text.endswith("first]") else math.nan
    code = text.replace("·", "*").replace("²", "**2").replace("∞", "inf")
    code = re.sub(r"√(\d[\d.e-]*|\()", lambda m: f"root*({m[1]})" if m[1] != "(" else "sqrt(", code).replace("root*", "sqrt")
    names = {"exp": math.exp, "tanh": math.tanh, "sqrt": math.sqrt, "max": max, "inf": math.inf}
    value = float(eval(code, {"__builtins__": {}}, names))
    return 0.0 if math.isnan(value) and "inf" in code else value


def test_every_shown_equation_holds_to_its_last_digit(trace: Trace) -> None:
    wrong = []
    for detail in (2, 4):
        style = Style(decimals=detail, detail="trace", full=True)
        for block in walkthrough_page(trace, style).blocks:
            for matrix in block.matrices:
                for line in matrix.worked(full=True)[0]:
                    if line.worked is None or not line.worked.parts:
                        continue
                    *sides, result = parts_of(line.worked.plain())
                    for side in sides:
                        value = calculated(side)
                        if not math.isnan(value) and style.number(value) != style.number(float(result.replace("∞", "inf"))):
                            wrong.append(line.plain())
    assert wrong == []


numbers = st.floats(-50, 50).map(lambda v: round(v, 6)) | st.integers(-9, 9).map(float)
terms = st.builds(lambda a, b: ex("multiply", num(a), num(b)), numbers, numbers)
sums = st.lists(terms, min_size=2, max_size=6).map(lambda t: Expr("add", tuple(t)))
expressions = st.one_of(
    sums,
    st.builds(lambda a, b: ex("divide", num(a), ex("root", num(b, True))), numbers, st.integers(1, 99).map(float)),
    st.builds(lambda a: ex("tanh", a), sums),
    st.builds(lambda a: ex("exp", num(a / 10)), numbers),
    st.builds(lambda a, b: ex("divide", num(a), num(b)), numbers, st.floats(0.5, 60)),
    st.builds(lambda a, b: ex("max", ex("subtract", num(a), num(b)), num(0, True)), numbers, numbers),
)


@given(expressions, st.integers(0, 6))
def test_what_is_shown_gives_what_is_shown(expr: Expr, decimals: int) -> None:
    style = Style(decimals=decimals)
    value = expr.evaluate()
    *sides, result = parts_of(style.worked(expr, value).plain())
    unit = 10.0**-decimals
    for side in sides:
        assert abs(calculated(side) - float(result)) <= unit * (1 + 1e-9), side
