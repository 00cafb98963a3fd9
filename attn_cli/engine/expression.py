"""One expression type for formulas and for the arithmetic of cells.

An expression has four views: plain text, TeX, its value, and its transpose (for texts in which tokens are columns).
Because formulas are composed from their operands, they cannot say anything but what was computed; because the
arithmetic of a cell is the same kind of expression, every shown equation can be evaluated again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:  # who only says how numbers look has no use for NumPy
    from attn_cli.engine.arrays import Array, Cell

SUM, HADAMARD, PRODUCT, PREFIX, POSTFIX, ATOM = range(1, 7)
"""How tightly an expression binds; a looser one inside a tighter one gets brackets."""


class Expr:
    """An operator of the table below with its arguments."""

    __slots__ = ("op", "args")

    def __init__(self, op: str, args: tuple[Expr, ...] = ()):
        self.op, self.args = op, args

    @property
    def binds(self) -> int:
        return OPERATORS[self.op].binds

    def plain(self, num: Callable[[Num], str], fold: int = 0) -> str:
        """As text. `num` writes a number; sums of more than `fold` terms (0: never) are folded in the middle."""
        return OPERATORS[self.op].plain(self, lambda e, binds=0: _bracket(e, e.plain(num, fold), binds, "(", ")"), fold)

    def tex(self, num: Callable[[Num], str], fold: int = 0) -> str:
        """As TeX, for math mode. `num` writes a number."""
        return OPERATORS[self.op].tex(self, lambda e, binds=0: _bracket(e, e.tex(num, fold), binds, r"\left(", r"\right)"), fold)

    def evaluate(self, num: Callable[[Num], float] = lambda n: n.value) -> float:
        """The value of arithmetic. `num` reads a number: its value, or what was shown of it."""
        return OPERATORS[self.op].value(*(a.evaluate(num) for a in self.args))

    def transposed(self) -> Expr:
        """The same where every token is a column: X·W_Q → W_Q·X, Q·Kᵀ → Kᵀ·Q; of numbers, the factors change places."""
        return OPERATORS[self.op].transposed(self)

    def numbers(self) -> list[Num]:
        """The numbers in it, from left to right."""
        return [n for a in self.args for n in a.numbers()]

    def substituted(self) -> Expr:
        """With the value in place of every symbol that has one (d_k → 4)."""
        return Expr(self.op, tuple(a.substituted() for a in self.args))


class Sym(Expr):
    """A symbol, such as W_Q or d_k.

    `flips`: whether the matrix itself is stored the other way round when tokens are columns; `number`: the value of a
    symbol that stands for one number.
    """

    __slots__ = ("text", "latex", "flips", "number")

    def __init__(self, text: str, latex: str = "", flips: bool = True, number: float | None = None):
        self.op, self.args = "symbol", ()
        self.text, self.latex, self.flips, self.number = text, latex, flips, number

    @property
    def binds(self) -> int:
        return ATOM

    def plain(self, num: Callable[[Num], str], fold: int = 0) -> str:
        return self.text

    def tex(self, num: Callable[[Num], str], fold: int = 0) -> str:
        return self.latex or self.text

    def evaluate(self, num: Callable[[Num], float] = lambda n: n.value) -> float:
        if self.number is None:
            raise ValueError(f"{self.text} is not one number")
        return self.number

    def transposed(self) -> Expr:
        return self if self.flips or self.number is not None else Expr("transpose", (self,))

    def substituted(self) -> Expr:
        return self if self.number is None else Num(value=self.number, exact=True)


class Origin(Protocol):
    """What a number was taken from: an input or a step (see `operations.Named`)."""

    @property
    def name(self) -> str: ...
    @property
    def value(self) -> Array: ...
    @property
    def expr(self) -> Expr: ...
    @property
    def operation(self) -> object | None:
        """None for an input."""


class Num(Expr):
    """A number, and the cell of an input or step that it came from.

    `exact`: an input or a constant, shown as it was written, never rounded.
    """

    __slots__ = ("value", "exact", "source", "at")
    value: float

    def __init__(self, value: float, exact: bool = False, source: Origin | None = None, at: Cell = ()):
        self.op, self.args = "number", ()
        self.value, self.exact, self.source, self.at = value, exact, source, at

    @property
    def binds(self) -> int:
        return SUM if self.value < 0 else ATOM

    def plain(self, num: Callable[[Num], str], fold: int = 0) -> str:
        return num(self)

    def tex(self, num: Callable[[Num], str], fold: int = 0) -> str:
        return num(self)

    def evaluate(self, num: Callable[[Num], float] = lambda n: n.value) -> float:
        return num(self)

    def transposed(self) -> Expr:
        return self

    def numbers(self) -> list[Num]:
        return [self]

    def substituted(self) -> Expr:
        return self


def symbol(text: str, latex: str = "", *, flips: bool = True, number: float | None = None) -> Sym:
    return Sym(text, latex or text, flips, number)


def constant(value: float) -> Num:
    """A number that stands in the formula itself."""
    return Num(value=float(value), exact=True)


def summed(terms: Iterable[Expr]) -> Expr:
    """The terms added up; sums inside it are opened, and a single term stands alone."""
    flat = [part for term in terms for part in (term.args if term.op == "add" else (term,))]
    return flat[0] if len(flat) == 1 else Expr("add", tuple(flat))


def transposed(e: Expr) -> Expr:
    """eᵀ, where (eᵀ)ᵀ is e."""
    return e.args[0] if e.op == "transpose" else Expr("transpose", (e,))


def first_head(e: Expr) -> Expr:
    """The same of the first head: Oₕ -> O₁."""
    if isinstance(e, Sym):
        return Sym(e.text.replace("ₕ", "₁"), e.latex.replace("_h", "_1"), e.flips, e.number)
    return Expr(e.op, tuple(map(first_head, e.args))) if e.args else e


def _bracket(e: Expr, text: str, binds: int, left: str, right: str) -> str:
    """A number is judged by what is shown of it: its name needs no brackets where its negative value would."""
    loose = text.startswith("-") and binds > SUM if isinstance(e, Num) else e.binds < binds
    return f"{left}{text}{right}" if loose else text


# ------------------------------------------------------------------ the operators
Writer = Callable[..., str]
"""Writes an argument; a second value gives the least binding that needs no brackets."""


class Operator(NamedTuple):
    """How one operator binds, looks, evaluates and turns."""

    binds: int
    plain: Callable[[Expr, Writer, int], str]
    tex: Callable[[Expr, Writer, int], str]
    value: Callable[..., float]
    transposed: Callable[[Expr], Expr]


def _same(e: Expr) -> Expr:
    return Expr(e.op, tuple(a.transposed() for a in e.args))


def _reversed(e: Expr) -> Expr:
    return Expr(e.op, tuple(a.transposed() for a in reversed(e.args)))


def _turn(e: Expr) -> Expr:
    """(Kᵀ)ᵀ: where tokens are columns, K itself is turned, so that Kᵀ stays Kᵀ as a factor; of a parameter that does not turn, Wᵀ → W."""
    return transposed(e.args[0].transposed())


def _still(e: Expr) -> Expr:
    """Written for one vector at a time, so it reads the same in both layouts."""
    return e


def _folded(parts: Sequence[str], joint: str, fold: int, dots: str) -> str:
    if not fold or len(parts) <= fold:
        return joint.join(parts)
    head, tail = (fold + 1) // 2, fold // 2
    return joint.join([*parts[:head], dots.format(len(parts) - head - tail), *parts[len(parts) - tail :]])


def _n_ary(joint: str, tex_joint: str, binds: int, value: Callable[..., float], turn: Callable[[Expr], Expr]) -> Operator:
    dots, tex_dots = "… ({} more) …", r"\dots\,(\text{{{} more}})\,\dots"
    return Operator(
        binds,
        lambda e, part, fold: _folded([part(a, binds + (1 if binds == SUM else 0)) for a in e.args], joint, fold, dots),
        lambda e, part, fold: _folded([part(a, binds + (1 if binds == SUM else 0)) for a in e.args], tex_joint, fold, tex_dots),
        value,
        turn,
    )


def _function(name: str, tex: str, value: Callable[..., float], turned: str = "") -> Operator:
    """`turned` is the function that it becomes where tokens are columns."""
    return Operator(
        ATOM,
        lambda e, part, fold: f"{name}({_folded([part(a) for a in e.args], ', ', fold, '… ({} more) …')})",
        lambda e, part, fold: rf"{tex}\left({', '.join(part(a) for a in e.args)}\right)",
        value,
        lambda e: Expr(turned or e.op, _same(e).args),
    )


def _divide(a: float, b: float) -> float:
    """0 / 0 is 0: a row that may attend to nothing has zero weights, and the cosine of a zero row is 0."""
    if b == 0:
        return 0.0 if a == 0 else math.copysign(math.inf, a)
    return a / b


def _exp(x: float) -> float:
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


def _log(x: float) -> float:
    return math.log(x) if x else -math.inf


def _plus(*terms: float) -> float:
    return math.fsum(terms) if all(map(math.isfinite, terms)) else sum(terms)


def _times(*factors: float) -> float:
    return 0.0 if 0.0 in factors else math.prod(factors)


def tied(a: float, largest: float, scale: float) -> bool:
    """Whether two scores of one row count as equal: within 1e-12 × max(1, the row's largest |score|)."""
    return a == largest or abs(a - largest) <= 1e-12 * max(1.0, scale)


def first_largest(values: Sequence[float]) -> int | None:
    """The first key whose score ties with the largest; None where every key is masked."""
    largest = max(values)
    if largest == -math.inf:
        return None
    scale = max(abs(v) for v in values if v > -math.inf)
    return next(i for i, v in enumerate(values) if tied(v, largest, scale))


def _wins(position: float, *values: float) -> float:
    return float(first_largest(values) == int(position))


def _around(
    before: str,
    after: str,
    tex_before: str,
    tex_after: str,
    value: Callable[..., float],
    turn: Callable[[Expr], Expr] = _same,
    binds: int = ATOM,
    inner: int = 0,
) -> Operator:
    """An operator whose signs stand around its argument, which binds no looser than `inner`."""
    return Operator(
        binds,
        lambda e, part, fold: f"{before}{part(e.args[0], inner)}{after}",
        lambda e, part, fold: f"{tex_before}{part(e.args[0], inner)}{tex_after}",
        value,
        turn,
    )


def _iverson(text: Callable[[list[str]], str], value: Callable[..., float]) -> Operator:
    """A statement in square brackets: 1 where it is true, 0 where it is not (Iverson's bracket)."""

    def tex(e: Expr, part: Writer, fold: int) -> str:
        statement = text([part(a) for a in e.args])
        for plain, latex in (("max(", r"\max("), ("≤", r"\le"), (" and first", r"\text{ and first}")):
            statement = statement.replace(plain, latex)
        return rf"\left[{statement}\right]"

    return Operator(ATOM, lambda e, part, fold: f"[{text([part(a) for a in e.args])}]", tex, value, _same)


def _largest(parts: list[str]) -> str:
    position, *values = parts
    own = values[int(float(position))]
    return f"{own} = max({', '.join(values)})" + (" and first" if values.count(own) > 1 else "")


SUMS = {
    "sum": "sum",
    "vector sum": r"vector\ sum",
    "head sum": r"head\ sum",
    "group sum": r"group\ sum",
    "query sum": r"query\ sum",
    "key sum": r"key\ sum",
}
"""Sums that read the same in both layouts, with their TeX: over all vectors, over heads, over the query heads that share a key head."""
OPERATORS: dict[str, Operator] = {
    "add": _n_ary(" + ", " + ", SUM, _plus, _same),
    "subtract": Operator(
        SUM,
        lambda e, part, fold: f"{part(e.args[0], SUM)} - {part(e.args[1], PRODUCT)}",
        lambda e, part, fold: f"{part(e.args[0], SUM)} - {part(e.args[1], PRODUCT)}",
        lambda a, b: a - b,
        _same,
    ),
    "multiply": _n_ary("·", r" \cdot ", PRODUCT, _times, _reversed),
    "scale": _n_ary("·", r" \cdot ", PRODUCT, _times, _same),
    "linear": _n_ary("·", r" \cdot ", PRODUCT, _times, _still),
    "each": _n_ary("·", r" \cdot ", PRODUCT, _times, _still),
    "hadamard": _n_ary(" ∘ ", r" \circ ", HADAMARD, _times, _same),
    "divide": Operator(
        PRODUCT,
        lambda e, part, fold: f"{part(e.args[0], PRODUCT)} / {part(e.args[1], PREFIX)}",
        lambda e, part, fold: rf"\frac{{{part(e.args[0])}}}{{{part(e.args[1])}}}",
        _divide,
        _same,
    ),
    "root": Operator(
        PREFIX,
        lambda e, part, fold: f"√{part(e.args[0], ATOM)}",
        lambda e, part, fold: rf"\sqrt{{{part(e.args[0])}}}",
        lambda a: math.sqrt(a) if a >= 0 else math.nan,
        _same,
    ),
    "square": _around("", "²", "{", "}^2", lambda a: a * a, binds=POSTFIX, inner=ATOM),
    "transpose": _around("", "ᵀ", "{", r"}^\top", lambda a: a, _turn, binds=POSTFIX, inner=ATOM),
    "norm": _around("‖", "‖", r"\lVert ", r" \rVert", abs),
    "pair": Operator(
        ATOM,
        lambda e, part, fold: f"[{'; '.join(part(a) for a in e.args)}]",
        lambda e, part, fold: rf"\left[{'; '.join(part(a) for a in e.args)}\right]",
        lambda *a: a[0],
        _still,
    ),
    "exp": _function("exp", r"\exp", _exp),
    "tanh": _function("tanh", r"\tanh", math.tanh),
    "log": _function("log", r"\log", _log),
    "power": Operator(
        POSTFIX,
        lambda e, part, fold: f"{part(e.args[0], ATOM)}^{part(e.args[1], ATOM)}",
        lambda e, part, fold: f"{{{part(e.args[0], ATOM)}}}^{{{part(e.args[1])}}}",
        lambda base, x: base**x,
        _same,
    ),
    "max": _function("max", r"\max", max),
    "row max": _function("row max", r"\operatorname{row\ max}", max, "column max"),
    "column max": _function("column max", r"\operatorname{column\ max}", max, "row max"),
    "row sum": _function("row sum", r"\operatorname{row\ sum}", _plus, "column sum"),
    "column sum": _function("column sum", r"\operatorname{column\ sum}", _plus, "row sum"),
    **{name: _function(name, rf"\operatorname{{{tex}}}", _plus) for name, tex in SUMS.items()},
    "outer sum": _function("vector sum", r"\operatorname{vector\ sum}", _plus)._replace(transposed=lambda e: Expr("transpose", (e,))),
    "part": Operator(
        POSTFIX,
        lambda e, part, fold: f"{part(e.args[0], POSTFIX)}[{part(e.args[1])}]",
        lambda e, part, fold: rf"{{{part(e.args[0], POSTFIX)}}}_{{[{part(e.args[1])}]}}",
        lambda whole, which: whole,
        _still,
    ),
    "size": _around("max|", "|", r"\max\lvert ", r" \rvert", abs),
    "block": _around("(", ")ₕ", r"\left(", r"\right)_h", lambda a: a, binds=POSTFIX),
    "join": Operator(
        ATOM,
        lambda e, part, fold: f"Concat({part(e.args[0])}, …, {part(e.args[1])})",
        lambda e, part, fold: rf"\operatorname{{Concat}}\left({part(e.args[0])}, \dots, {part(e.args[1])}\right)",
        lambda first, last: last,
        _same,
    ),
    "row argmax": _function("row argmax", r"\operatorname{row\ argmax}", lambda *a: a[0], "column argmax"),
    "column argmax": _function("column argmax", r"\operatorname{column\ argmax}", lambda *a: a[0], "row argmax"),
    "softmax": _function("softmax", r"\operatorname{softmax}", lambda *a: a[0]),
    "draw": _function("draw", r"\operatorname{draw}", lambda *a: a[0]),
    "one-hot": _function("one-hot", r"\operatorname{one\text{-}hot}", lambda *a: a[0]),
    "is largest": _iverson(_largest, _wins),
    "is between": _iverson(lambda parts: f"{parts[0]} ≤ {parts[1]} < {parts[2]}", lambda low, x, high: float(low <= x < high)),
}
"""Every operator that a formula or the arithmetic of a cell is composed of."""
