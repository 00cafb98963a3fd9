"""How a result is to look, and the one place where a number becomes text."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from attn_cli.engine.expression import Expr, Num

if TYPE_CHECKING:
    from fractions import Fraction

    from attn_cli.engine.arrays import Cell

Written: TypeAlias = "Mapping[tuple[str, Cell], str]"
"""How inputs were written, by name and cell (in row layout), where that differs from the number: 1/3, √2."""
NOTHING: Written = MappingProxyType({})

HUGE = 1e7
"""From here on numbers are written with an exponent, unless they are whole."""
WHOLE = 10**10
"""Whole numbers up to here are written out."""
EXTRA = 4
"""How many decimals an equation may add so that it holds as shown."""
DIGITS = 16
"""More decimals than a float tells apart; an exponential's argument never needs them."""
FOLD = 12
"""Sums of more terms are folded in the middle."""


@dataclass(frozen=True)
class Style:
    """What the reader asked for."""

    decimals: int = 4
    lang: str = "en"
    width: int = 80
    """Columns of the terminal."""
    whole_labels: bool = False
    """Whether no label is shortened, even where a line gets wider than `width`: there is no terminal."""
    color: bool = False
    only: tuple[str, ...] = ()
    """Names of the steps to show; empty for all."""
    detail: Literal["compute", "trace"] = "compute"
    depth: int | None = None
    """Levels that a derivation follows; None for as many as it does by default."""
    terse: bool = False
    """Whether a trace leaves out what each step does and why."""
    full: bool = False
    """Whether long sums and long lists of cells are unfolded."""
    cells: tuple[str, ...] = ()
    """Cells to derive from the inputs, such as `weights[1,3]`."""
    standalone: bool = False
    """Whether LaTeX is a whole document."""
    answers: bool = True
    """Whether a report tells the right numbers."""
    explain: bool = False
    """Whether a report derives every wrong cell."""
    all_cells: bool = False
    """Whether a report shows every cell, however many there are."""
    links: tuple[str, ...] = ()
    """On the page of a class: where the report of each submission stands."""
    decimal: str = "."
    """The decimal sign of a gradebook; with a comma, semicolons stand between its cells."""
    bom: bool = False
    """Whether a gradebook begins with a byte-order mark, by which Excel knows UTF-8."""

    @property
    def fold(self) -> int:
        return 0 if self.full else FOLD

    # -------------------------------------------------------------- one number
    def number(self, value: float, extra: int = 0) -> str:
        """With fixed decimals, `extra` more than usual; huge ones with an exponent. Never -0.00."""
        if not math.isfinite(value):
            return "NaN" if math.isnan(value) else "∞" if value > 0 else "-∞"
        if abs(value) >= HUGE:
            return _with_exponent(value, self.decimals + extra)
        text = f"{value:.{self.decimals + extra}f}"
        return text[1:] if text[0] == "-" and not text.strip("-0.") else text

    def whole(self, value: float) -> str:
        """A whole number without decimals."""
        return str(int(value)) if abs(value) < WHOLE else self.number(value)

    def short(self, value: float, extra: int = 0) -> str:
        """As few decimals as the number needs (0.5, 2), or `number` where that is more than are shown."""
        if math.isfinite(value):
            if value == int(value):
                return self.whole(value)
            text = _digits(f"{value:.12g}") if abs(value) < HUGE else None
            if text is not None and text.strip("-0.") and len(text.partition(".")[2]) <= self.decimals + extra:
                return text
        return self.number(value, extra)

    def exact(self, value: float) -> str:
        """An input as it was written; one with endless decimals like a result."""
        text = _digits(repr(float(value))) if math.isfinite(value) else None
        if text is not None and value != int(value) and len(text.partition(".")[2]) <= self.decimals + EXTRA:
            return text
        return self.short(value)

    # -------------------------------------------------------------- equations
    def worked(self, expr: Expr, value: float, written: Written = NOTHING) -> Worked:
        """The arithmetic of a number, with the fewest extra decimals at which what is shown gives the result as shown.

        Inputs print as they were `written`.

        >>> Style().worked(Expr("divide", (Num(value=1.0), Expr("root", (Num(value=4.0, exact=True),)))), 0.5).plain()
        '1 / √4 = 1 / 2 = 0.5'
        """
        parts = tuple(_chain(expr))
        result, wanted = self.short(value), self.number(value)
        writer = self._shortest(parts, wanted, written)
        signs = ["=" if _agree(before, after, writer) else "≈" for before, after in zip(parts, parts[1:], strict=False)]
        if parts:
            exact = _stands_for(read(result), value) and _exact(result) == _rational(parts[-1], writer)
            signs.append("=" if exact else "≈")
            result = "0" if exact and not result.strip("-0.") else result
            if exact and "≈" in signs and _rational(parts[0], writer) == _exact(result):  # 0 / √2 = 0 needs no rounded middle
                parts, signs = parts[:1], ["="]
        return Worked(parts, tuple(signs), result, writer, value)

    def _shortest(self, parts: tuple[Expr, ...], wanted: str, written: Written) -> Callable[[Num], str]:
        """The shortest way to write the operands at which every part gives the result; the last where none does."""
        writer = fallback = None
        for writer in self._writers(written, any(map(_raises, parts))):
            if all(self.number(_evaluated(part, writer)) == wanted and _sound(part, writer) for part in parts):
                fallback = fallback or writer
                if all(_holds(before, after, writer) for before, after in zip(parts, parts[1:], strict=False)):
                    return writer
        found = fallback or writer
        assert found is not None
        return found

    def _writers(self, written: Written, raises: bool) -> Iterator[Callable[[Num], str]]:
        """Ways to write the operands, the shortest first; those of an exponential with as many decimals as it takes."""
        for small in (False, True):
            for extra in range(EXTRA + 1):
                yield partial(self._write, extra, small, written)
        if raises:
            for extra in range(EXTRA + 1, DIGITS - self.decimals):
                yield partial(self._write, extra, False, written)

    def _write(self, extra: int, small: bool, written: Written, n: Num) -> str:
        """An operand; `small` writes small results with an exponent, for want of decimals that could hold them."""
        if written and n.source is not None and (text := written.get((n.source.name, n.at))):
            return text if text.strip("-").replace(".", "", 1).isdigit() else f"({text})"
        if n.exact:
            exact = self.exact(n.value if n.source is None else float(str(n.source.value[n.at])))
            if extra == 0 or read(exact) == n.value:
                return exact
        if small and 0 < abs(n.value) < 0.01:
            return _with_exponent(n.value, self.decimals + extra)
        return self.short(n.value, extra)


class Worked(NamedTuple):
    """One number's arithmetic, step by step: expressions, what stands between them, and the result as shown."""

    parts: tuple[Expr, ...]
    signs: tuple[str, ...]
    """`=` or `≈` after each part."""
    result: str
    num: Callable[[Num], str]
    """Writes the operands."""
    value: float

    @property
    def sign(self) -> str:
        """`=` or `≈` where the result alone is shown."""
        return "=" if _exact(self.result) == _number(self.value) else "≈"

    def plain(self, fold: int = 0) -> str:
        """`1 / √4 = 1 / 2 = 0.5`; sums of more than `fold` terms are folded."""
        return self._joined([part.plain(self.num, fold) for part in self.parts], self.result, {"=": "=", "≈": "≈"})

    def tex(self, fold: int = 0) -> str:
        """The same for TeX's math mode."""
        parts = [part.tex(lambda n: tex_number(self.num(n)), fold) for part in self.parts]
        return self._joined(parts, tex_number(self.result), {"=": "=", "≈": r"\approx"})

    def _joined(self, parts: list[str], result: str, signs: dict[str, str]) -> str:
        return " ".join([*(f"{part} {signs[sign]}" for part, sign in zip(parts, self.signs, strict=True)), result])


def tex_number(text: str) -> str:
    """A number's text for TeX's math mode."""
    mantissa, e, power = text.partition("e")
    if e and power.lstrip("-").isdigit():
        return rf"{mantissa} \cdot 10^{{{power}}}"
    if "√" in text or "sqrt" in text:  # as it was written
        import re

        text = re.sub(r"√(\d+(?:\.\d+)?)|(?:√|sqrt)\(([^()]*)\)", lambda m: rf"\sqrt{{{m[1] or m[2]}}}", text)
    return text.replace("∞", r"\infty").replace("√", r"\surd ").replace("NaN", r"\text{NaN}")


# ------------------------------------------------------------------ from an expression to a number, step by step
SUMS = ("add", "subtract")
PRODUCTS = ("multiply", "scale", "linear", "hadamard")
TERMS = (*PRODUCTS, "square")


def _chain(expr: Expr) -> Iterator[Expr]:
    """The expression, then what is left of it as its inner parts become numbers."""
    while not isinstance(expr, Num):
        yield expr
        if _flat(expr) or all(isinstance(a, Num) for a in expr.args):
            return
        expr = _simpler(expr)


def _raises(expr: Expr) -> bool:
    """Whether an exponential stands in it, which magnifies what was rounded away."""
    return expr.op == "exp" or any(map(_raises, expr.args))


def _flat(expr: Expr) -> bool:
    """Whether it is a number, or products, sums and differences of numbers alone, which one adds up in one go."""
    if isinstance(expr, Num):
        return True
    if expr.op in SUMS:
        return all(isinstance(a, Num) or (a.op in TERMS and _flat(a)) for a in expr.args)
    return expr.op in TERMS and all(isinstance(a, Num) for a in expr.args)


def _simpler(expr: Expr) -> Expr:
    """One step nearer to a number: what stands innermost is worked out."""
    if all(isinstance(a, Num) for a in expr.args) or _flat(expr):
        value = expr.evaluate()
        return Num(value=value, exact=False)
    terms = expr.op in SUMS
    return Expr(expr.op, tuple(a if isinstance(a, Num) or (terms and a.op in TERMS and _flat(a)) else _simpler(a) for a in expr.args))


# ------------------------------------------------------------------ what is shown, read again
def read(text: str) -> float:
    """The number that a text of ours says."""
    text = text.strip("()")
    return float(text.replace("∞", "inf"))


def _evaluated(expr: Expr, writer: Callable[[Num], str]) -> float:
    def shown(n: Num) -> float:
        try:
            return read(writer(n))
        except ValueError:  # as it was written: 1/3
            return n.value

    return expr.evaluate(shown)


def _sound(expr: Expr, writer: Callable[[Num], str]) -> bool:
    """Whether no divisor is shown as 0 that is none."""
    if expr.op == "divide" and _evaluated(expr.args[1], writer) == 0 != expr.args[1].evaluate():
        return False
    return all(_sound(a, writer) for a in expr.args)


Exact: TypeAlias = "Fraction | int | float"
"""An exact number; a float only where it is infinite."""


def _exact(text: str) -> Exact | None:
    """The number that a text says, to the last digit; None where it is a formula."""
    text = text.strip("()")
    if text.lstrip("-").isdecimal():
        return int(text)
    if text.endswith("∞"):
        return -math.inf if text.startswith("-") else math.inf
    from fractions import Fraction  # not needed by most walkthroughs, and slow to import

    try:
        return Fraction(text.replace(" ", ""))
    except (ValueError, ZeroDivisionError):
        return None


def _number(value: float) -> Exact | None:
    """A float as the short decimal number that it stands for."""
    return _exact(f"{value:.12g}") if math.isfinite(value) else value


def _stands_for(shown: float, value: float) -> bool:
    """Whether nothing but the noise of floating point was rounded away."""
    return shown == value or (math.isfinite(value) and abs(shown - value) <= 1e-12 * max(1.0, abs(value)))


def _rational(expr: Expr, writer: Callable[[Num], str]) -> Exact | None:
    """The exact value of what is shown; None where it has endless decimals or cannot be known."""
    if isinstance(expr, Num):
        return _exact(writer(expr))
    args = [_rational(a, writer) for a in expr.args]
    known = [a for a in args if a is not None]
    if expr.op in PRODUCTS:
        return 0 if 0 in known else math.prod(known) if len(known) == len(args) else None
    if expr.op == "divide" and args[0] == 0 and args[1] != 0:
        return 0
    if len(known) < len(args):
        return None
    if expr.op in ("is largest", "is between"):
        return int(_evaluated(expr, writer))
    worked = RATIONAL.get(expr.op)
    return None if worked is None else worked(known)


def _agree(before: Expr, after: Expr, writer: Callable[[Num], str]) -> bool:
    """Whether nothing was rounded where parts of an expression became numbers."""
    if before is after:
        return True
    if isinstance(after, Num):
        value = _rational(before, writer)
        return value is not None and value == _exact(writer(after))
    return all(_agree(a, b, writer) for a, b in zip(before.args, after.args, strict=True))


def _holds(before: Expr, after: Expr, writer: Callable[[Num], str]) -> bool:
    """Whether each part that became a number gives, as it is shown, that number as it is shown."""
    if before is after:
        return True
    if isinstance(after, Num):
        text, value = writer(after), _evaluated(before, writer)
        decimals = len(text.partition("e")[0].partition(".")[2])
        return read(text) == read(f"{value:.{decimals}{'e' if 'e' in text else 'f'}}")
    return all(_holds(a, b, writer) for a, b in zip(before.args, after.args, strict=True))


def _quotient(a: Exact, b: Exact) -> Exact | None:
    if b == 0 or isinstance(a, float) or isinstance(b, float):
        return None
    if a % b == 0:
        return a // b
    from fractions import Fraction

    return Fraction(a) / b


def _root(a: Exact) -> Exact | None:
    if isinstance(a, float) or a < 0:
        return None
    above, below = math.isqrt(a.numerator), math.isqrt(a.denominator)
    if above * above != a.numerator or below * below != a.denominator:
        return None
    return _quotient(above, below)


RATIONAL: dict[str, Callable[[list[Exact]], Exact | None]] = {
    "add": sum,
    "row sum": sum,
    "column sum": sum,
    "subtract": lambda known: known[0] - known[1],
    "divide": lambda known: _quotient(*known),
    "square": lambda known: known[0] * known[0],
    "root": lambda known: _root(known[0]),
    "max": max,
    "row max": max,
    "column max": max,
    "exp": lambda known: 1 if known[0] == 0 else 0 if known[0] == -math.inf else None,
    "tanh": lambda known: 0 if known[0] == 0 else None,
}
"""What an operation on exact numbers gives exactly; None where that has endless decimals."""


# ------------------------------------------------------------------ digits
def _with_exponent(value: float, decimals: int) -> str:
    """1.2346e9: no trailing zeros, no padded exponent."""
    mantissa, _, power = f"{value:.{decimals}e}".partition("e")
    if "." in mantissa:
        mantissa = mantissa.rstrip("0").rstrip(".")
    return f"{mantissa}e{int(power)}"


def _digits(text: str) -> str | None:
    """A decimal number without an exponent; None where it is too large or small for that."""
    mantissa, _, power = text.partition("e")
    if not power:
        return text
    if not -16 <= int(power) < 0:
        return None
    sign, mantissa = ("-", mantissa[1:]) if mantissa.startswith("-") else ("", mantissa)
    return f"{sign}0.{'0' * (-int(power) - 1)}{mantissa.replace('.', '')}"
