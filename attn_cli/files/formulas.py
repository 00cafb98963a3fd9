"""Formulas that people write in place of a number: 1/3, √2/2, e/(e+2), exp(1/2).

A sum of products of factors, as on a calculator:

    sum     = [+ -] product {(+ -) product}
    product = factor {(* /) factor | root}
    factor  = number | root | e [^ factor] | exp ( sum ) | ( sum )
    root    = √ factor | sqrt ( sum )
"""

from __future__ import annotations

import re
from decimal import Context, Decimal, DecimalException, localcontext

_TOKEN = re.compile(r"\s*(?:((?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)|(√|(?i:sqrt|exp)|e(?![A-Za-z0-9]))|([-+/()*·×÷^]))\s*")
_NO_FORMULA = re.compile(r"\s*\([\s(]*[-+]?\s*[0-9.eE]+[\s)]*\)\s*|[0-9]{1,4}([-/])[0-9]{1,2}\1[0-9]{1,4}\s*")
"""A number in parentheses may mean a minus, and two strokes a date."""
_SIGNS = {"·": "*", "×": "*", "÷": "/"}
_PRECISION = Context(prec=40)
"""Digits; twice as many as a float holds, so that the result is the float nearest to the true value."""


class Undefined(Exception):
    """A formula that has no value, such as 1/0."""


class _NoFormula(Exception):
    """The text is no formula."""


def evaluated(text: str) -> tuple[float, int] | None:
    """The value, and the fewest significant digits among its decimal operands (0: it has none); None for what is no formula.

    Raises Undefined for a division by zero and the root of a negative number.
    """
    tokens = _tokens(text)
    if tokens is None:
        return None
    formula = _Formula(tokens)
    try:
        with localcontext(_PRECISION):
            value = formula.sum()
        if formula.rest:
            return None
        if value and not float(value):
            raise Undefined("which is too small for the computer to tell from 0")
        return float(value), min(formula.digits, default=0)
    except _NoFormula:
        return None
    except (DecimalException, OverflowError):
        return float("inf"), 0


def _tokens(text: str) -> list[str] | None:
    found, at = list[str](), 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            return None
        found.append(next(part for part in match.groups() if part).lower())
        at = match.end()
    return None if _NO_FORMULA.fullmatch(text) else [_SIGNS.get(token, token) for token in found]


class _Formula:
    """The tokens that are left, read from the front."""

    def __init__(self, tokens: list[str]):
        self.rest = tokens[::-1]
        self.digits: list[int] = []
        """Significant digits of the operands with a decimal point."""

    def take(self, *tokens: str) -> str | None:
        return self.rest.pop() if self.rest and self.rest[-1] in tokens else None

    def expect(self, token: str) -> None:
        if not self.take(token):
            raise _NoFormula

    def sum(self) -> Decimal:
        sign = self.take("+", "-")
        value = -self.product() if sign == "-" else self.product()
        while sign := self.take("+", "-"):
            value = value + self.product() if sign == "+" else value - self.product()
        return value

    def product(self) -> Decimal:
        value = self.factor()
        while (sign := self.take("*", "/")) or (self.rest and self.rest[-1] in ("√", "sqrt")):
            factor = self.factor()
            if sign == "/" and not factor:
                raise Undefined("which divides by zero")
            value = value / factor if sign == "/" else value * factor
        return value

    def factor(self) -> Decimal:
        if self.take("("):
            return self.closed()
        if root := self.take("√", "sqrt"):
            return self.root(root)
        if self.take("exp"):
            self.expect("(")
            return self.closed().exp()
        if self.take("e"):
            return (-self.factor() if self.take("-") else self.factor()).exp() if self.take("^") else Decimal(1).exp()
        return self.number()

    def closed(self) -> Decimal:
        value = self.sum()
        self.expect(")")
        return value

    def root(self, name: str) -> Decimal:
        if name == "sqrt":
            self.expect("(")
        under = self.closed() if name == "sqrt" else self.factor()
        if under < 0:
            raise Undefined("the root of a negative number")
        return under.sqrt()

    def number(self) -> Decimal:
        if not self.rest or self.rest[-1][0] not in "0123456789.":
            raise _NoFormula
        text = self.rest.pop()
        if "." in text.rstrip("."):
            mantissa = text.partition("e")[0].replace(".", "").lstrip("0")
            self.digits.append(len(mantissa) or 1)
        return Decimal(text)
