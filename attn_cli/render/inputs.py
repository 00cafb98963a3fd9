"""The inputs of a trace: what its steps are made from and no step shows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from attn_cli.engine.arrays import Array, Cell
from attn_cli.engine.expression import Sym
from attn_cli.engine.operations import Masked, Named
from attn_cli.engine.problem import KEYS
from attn_cli.engine.steps import Step, StepKind, Trace
from attn_cli.render.labels import INPUT_AXES
from attn_cli.render.style import Style

MASK = Sym(text="M", latex="M")


class Input(Step):
    """An input, laid out as a step is."""

    def __init__(self, made: Named, columns: bool):
        own = made.name.rpartition(".")[2]
        symbol = made.expr if isinstance(made.expr, Sym) else Sym(text=own, latex=own)
        super().__init__(made.name, made, columns and symbol.flips, symbol)
        self.of = ""

    @property
    def kind(self) -> StepKind:
        axes = INPUT_AXES.get(self.name, ("feature", "feature"))
        return StepKind(self.symbol.text, self.symbol.latex, axes[-min(self.made.value.ndim, len(axes)) or 1 :])

    @property
    def value(self) -> Array:
        value = self.made.value if self.made.value.ndim else self.made.value[None]
        return np.swapaxes(value, -1, -2) if self.columns and value.ndim > 1 else value

    @property
    def given(self) -> bool:
        return True

    def texts(self, prefix: Cell, shown: Array, written: Mapping[tuple[str, Cell], str], style: Style) -> list[list[str]]:
        """Its numbers as they were written."""

        def one(i: int, j: int) -> str:
            row, column = (j, i) if self.columns and self.value.ndim > 1 else (i, j)
            at = (*prefix, row, column)[-self.made.value.ndim :] if self.made.value.ndim else ()
            return written.get((self.name, at)) or style.exact(float(str(shown[i, j])))

        return [[one(i, j) for j in range(shown.shape[1])] for i in range(shown.shape[0])]


def inputs_of(trace: Trace) -> list[Input]:
    """Every input that some step is made from, in the order of a problem's keys, and who may attend to whom."""
    found: dict[str, Named] = {}
    for step in trace:
        for named in _sources(step.made):
            found.setdefault(named.name, named)
    order = [*KEYS, *found]
    columns = trace.problem.vectors == "columns"
    return [Input(found[name], columns) for name in sorted(found, key=order.index)]


def _sources(made: Named) -> Iterator[Named]:
    """The inputs that stand in the arithmetic of a value, down to the steps that it is made from."""
    waiting, seen = [made], set()
    while waiting:
        named = waiting.pop()
        if id(named) in seen:
            continue
        seen.add(id(named))
        if named.operation is None and named.name:
            yield named
        elif named is made or not named.name:
            waiting += reversed(named.operands)
            if isinstance(named.operation, Masked):
                allowed = np.broadcast_to(named.operation.allowed, named.value.shape).astype(float)
                same = allowed.ndim > 2 and bool((allowed == allowed[:1]).all())
                yield Named(allowed[0] if same else allowed, MASK, name="mask", exact=True)
