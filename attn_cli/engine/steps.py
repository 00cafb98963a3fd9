"""The worked solution: an ordered list of named steps, and the recorder that writes them down."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, TypedDict, Unpack

import numpy as np

from attn_cli.engine.arrays import Array, Cell, shape_text
from attn_cli.engine.expression import Expr, Sym, symbol, transposed
from attn_cli.engine.notes import Note
from attn_cli.engine.operations import Named, of_head
from attn_cli.engine.problem import ARRAYS, KEYS, Problem, Sizes
from attn_cli.errors import InputError
from attn_cli.names import SYNONYMS, did_you_mean


class StepKind(NamedTuple):
    """What every step of one name has in common."""

    plain: str
    tex: str
    axes: tuple[str, ...]
    """What its rows, columns, … are; a head axis may stand before them."""
    detail: bool = False
    """Shown only where the arithmetic is asked for, or the step itself."""


STEPS: dict[str, StepKind] = {
    "Q": StepKind("Q", "Q", ("query", "feature")),
    "K": StepKind("K", "K", ("key", "feature")),
    "V": StepKind("V", "V", ("key", "feature")),
    "hidden": StepKind("H", "H", ("query", "key", "feature")),
    "products": StepKind("P", "P", ("query", "key")),
    "raw_scores": StepKind("R", "R", ("query", "key")),
    "capped": StepKind("C", "C", ("query", "key")),
    "scores": StepKind("S", "S", ("query", "key")),
    "tempered": StepKind("S′", "S'", ("query", "key")),
    "exponentials": StepKind("E", "E", ("query", "key"), detail=True),
    "row_sums": StepKind("Z", "Z", ("query",), detail=True),
    "weights": StepKind("A", "A", ("query", "key")),
    "heads": StepKind("O", "O", ("query", "feature")),
    "concat": StepKind("concat", r"\mathrm{concat}", ("query", "feature")),
    "output": StepKind("O", "O", ("query", "feature")),
}
"""Every step there can be, in the order of the contract."""
MAY_BE_MASKED = ("scores", "tempered")
"""Steps whose cells may be −∞."""
SYMBOLS: dict[str, Sym] = {name: symbol(kind.plain, kind.tex) for name, kind in STEPS.items()}
SYMBOLS_OF_HEADS = {name: sign if name in ("concat", "output") else of_head(sign) for name, sign in SYMBOLS.items()}
"""The symbols where there are several heads: each head has its own of every step but the last two."""

OWNERS = {kind.plain: name for name, kind in STEPS.items()}
"""Which step a letter stands for: O is the output's before it is a head's."""


def gradient_of(name: str) -> str:
    """The name of the step that holds the gradient with respect to a step or an input: weights -> dA, heads -> dheads, X -> dX."""
    letter = STEPS[name].plain if name in STEPS else ""
    return f"d{letter if letter.isidentifier() and OWNERS[letter] == name else name}"


def _gradients() -> dict[str, StepKind]:
    """The gradients of the steps, from the last to the first, then of the inputs; each lies as what it is the gradient of."""
    around = {"X": ("query", "feature"), "context": ("key", "feature"), "bias": ("query", "key")}
    inputs = {}
    for name in ARRAYS:
        if name != "upstream":
            letter, axes = "B" if name == "bias" else name, ("feature",) * min(KEYS[name].axes)
            inputs[name] = StepKind(letter, letter, around.get(name, axes))
    last = list(reversed([name for name in STEPS if name not in ("Q", "K", "V")]))
    at = last.index("weights")
    first = ("X", "context")
    order = [*last[:at], "V", *last[at:], "Q", "K", *(name for name in inputs if name not in (*STEPS, *first)), *first]
    kinds = inputs | STEPS
    return {gradient_of(n): kinds[n]._replace(plain=f"d{kinds[n].plain}", tex=rf"\mathrm{{d}}{kinds[n].tex}") for n in order}


GRADIENTS = _gradients()
"""The steps of a backward pass, in the order in which they follow the forward ones: dO, dV, dA, dS, … dX."""


GRADIENT_OWNERS = {kind.plain: name for name, kind in reversed(GRADIENTS.items())}
"""Which gradient a symbol stands for: dO is the output's before it is a head's."""
ORIGINS = {gradient_of(name): name for name in (*STEPS, *ARRAYS)}
"""The step or input that each gradient is of."""


def is_gradient(name: str) -> bool:
    """Whether a step of that name belongs to the backward pass."""
    return name not in STEPS and name.startswith("d")


def kind_of(name: str) -> StepKind:
    """What every step of a name has in common. The gradient of a score function's parameter (dadditive.W) never turns."""
    letter = name.rpartition(".")[2]
    return STEPS.get(name) or GRADIENTS.get(name) or StepKind(f"d{letter}", rf"\mathrm{{d}}{letter}", ())


for _letter, _name in {kind.plain.lower(): name for name, kind in STEPS.items()}.items():  # O is the output's before it is a head's
    SYNONYMS[_name] = (_letter, *SYNONYMS.get(_name, ()))
for _name in GRADIENTS:
    _of = ORIGINS[_name].lower()
    SYNONYMS[_name] = (f"grad_{_of}", f"{_of}_grad", f"{_of}.grad", f"gradient_{_of}", f"dl_d{_of}", f"dl/d{_of}")


def _sign(name: str, axes: int) -> Sym:
    """The symbol of a gradient, with the index of its head where its value has an axis of heads."""
    kind = kind_of(name)
    sign = symbol(kind.plain, kind.tex, flips=bool(kind.axes))
    return of_head(sign) if kind.axes and axes > len(kind.axes) else sign


def step_name(word: str) -> str | None:
    """The step of that name or symbol: weights or A (O is the output, before it is a head's), dscores or dS; None where there is none."""
    if word in STEPS or word in GRADIENTS:
        return word
    word = word.replace("'", "′")
    if word in OWNERS or word in GRADIENT_OWNERS:
        return OWNERS.get(word) or GRADIENT_OWNERS[word]
    return gradient_of(word[1:]) if word[:1] in ("d", "∂") and gradient_of(word[1:]) in GRADIENTS else None


class Step:
    """One step, in the layout of the problem (with `vectors: columns`, every token is a column)."""

    def __init__(self, name: str, made: Named, columns: bool, symbol: Sym):
        self.name, self.symbol = name, symbol
        self.of = "" if name in STEPS else ORIGINS.get(name, name[1:])
        """Of a gradient: the step or input that it is the gradient of."""
        self.made = made
        """The value with what it was computed from, in row layout."""
        self.columns = columns

    @property
    def kind(self) -> StepKind:
        return kind_of(self.name)

    @property
    def value(self) -> Array:
        """Its numbers, as they are shown."""
        return turned(self.name, self.made.value) if self.columns else self.made.value

    @property
    def axes(self) -> tuple[str, ...]:
        """What its axes are, in the layout shown: `head` first where there are heads."""
        axes = self.kind.axes or ("feature",) * self.made.value.ndim
        if self.columns and self.kind.axes and len(axes) > 1:
            axes = (axes[1], axes[0], *axes[2:])
        return ("head", *axes) if self.made.value.ndim > len(axes) else axes

    @property
    def given(self) -> bool:
        """Whether it was given in the problem rather than worked out."""
        return self.made.operation is None and self.made.name == self.name

    @property
    def formula(self) -> Expr | None:
        """What it is computed from (without `symbol =`); None for an input."""
        if self.given:
            return None
        if not self.columns:
            return self.made.expr
        across = self.made.expr.transposed()
        return across if self.kind.axes or self.made.value.ndim < 2 else transposed(across)

    def cell(self, at: Cell) -> Expr:
        """The arithmetic of the cell that is shown at `at` (from 0)."""
        expr = self.made.cell(self.row_cell(at))
        return expr.transposed() if self.columns else expr

    def row_cell(self, at: Cell) -> Cell:
        """The same cell in row layout."""
        if not self.columns or len(self.kind.axes) < 2:
            return at
        head = at[: len(at) - len(self.kind.axes)]
        i, j, *rest = at[len(head) :]
        return (*head, j, i, *rest)


def turned(name: str, value: Array) -> Array:
    """A step's or input's value in the other layout: its row and column axes change places; a head axis stays."""
    if name in STEPS or is_gradient(name):
        width = len(kind_of(name).axes)
        return value if width < 2 else np.swapaxes(value, value.ndim - width, value.ndim - width + 1)
    return value if value.ndim < 2 else np.swapaxes(value, -1, -2)


@dataclass(frozen=True, eq=False, repr=False)
class Trace:
    """A worked problem. `trace["weights"]` is the array of a step, and so is `trace["A"]`."""

    problem: Problem
    sizes: Sizes
    steps: tuple[Step, ...]
    settings: Mapping[str, Any]
    """What was chosen, given or by default: score, mode, scale, heads, n, m, d_k, …"""
    query_labels: tuple[str, ...]
    key_labels: tuple[str, ...]
    result: Named
    """The last step of the forward pass: the output, or the weights where there are no values."""
    notes: tuple[Note, ...] = ()
    """What the reader of the file has to say, then what the numbers give cause for."""
    gradients: Mapping[str, Array] = field(default_factory=dict)
    """After a backward pass: the gradient with respect to each step and input, by its name, in the layout of the problem."""
    findings: Mapping[str, Any] = field(default_factory=dict)
    """What else was found out about it, as JSON has it beside the steps: {"verify": {"largest": …}}."""

    def __repr__(self) -> str:
        title = f" {self.problem.title!r}" if self.problem.title else ""
        steps = ", ".join(f"{step.name} {shape_text(step.value.shape)}" for step in self.steps)
        return f"<Trace{title}: {self.sizes.n} queries, {self.sizes.m} keys; {steps}>"

    @cached_property
    def _named(self) -> dict[str, Step]:
        return {step.name: step for step in self.steps}

    def __getitem__(self, name: str) -> Array:
        """Raises InputError that lists the steps when there is none of that name."""
        return self.step(name).value

    def __contains__(self, name: object) -> bool:
        return name in self._named

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    def step(self, name: str) -> Step:
        """The step of that name, or of that symbol. Raises InputError that lists the steps when there is none."""
        found = self._named.get(name) or self._named.get(step_name(name) or "")
        if found is None:
            names = list(self._named)
            raise InputError(f"no step {name!r} here{did_you_mean(name, names)}; there are {', '.join(names)}")
        return found


Instead = Callable[[Named], Named]
"""What a mistake does in place of a step: (the value as it should be, with its operands) -> another value."""


class Changes(TypedDict, total=False):
    """What marking changes in a run, by step, in row layout."""

    given: Mapping[str, Array]
    """Somebody's values, cell by cell (NaN: not given), which are passed on in place of ours where they have our shape."""
    nudge: Mapping[str, Array]
    """What is added to the values that are passed on."""
    instead: Mapping[str, Instead]
    """How the step is computed."""


class Recorder:
    """Writes down our value of each step and passes it on, or what the changes make of it."""

    def __init__(self, columns: bool = False, heads: bool = False, **changes: Unpack[Changes]):
        self.columns = columns
        self.symbols = SYMBOLS_OF_HEADS if heads else SYMBOLS
        self.given, self.nudge, self.instead = (changes.get("given", {}), changes.get("nudge", {}), changes.get("instead", {}))
        self.steps: list[Step] = []

    def __call__(self, name: str, made: Named) -> Named:
        """Record `made` under `name`."""
        if name in self.instead:
            made = self.instead[name](made)
        sign = self.symbols.get(name) or _sign(name, made.value.ndim)
        self.steps.append(Step(name, made, self.columns, sign))
        return Named(self._passed_on(name, made.value), sign, made.operation, made.operands, name, made.exact)

    def _passed_on(self, name: str, ours: Array) -> Array:
        theirs = self.given.get(name)
        if theirs is not None and theirs.shape == ours.shape:
            ours = np.where(np.isnan(theirs), ours, theirs).astype(ours.dtype)
        return (ours + self.nudge[name]).astype(ours.dtype) if name in self.nudge else ours
