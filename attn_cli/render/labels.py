"""How the rows, columns and cells of a trace are called."""

from __future__ import annotations

from attn_cli.engine.arrays import Cell
from attn_cli.engine.expression import Num, Origin, Sym
from attn_cli.engine.steps import Step, Trace
from attn_cli.render.page import CellName

INPUT_AXES = {
    "X": ("query", "feature"),
    "context": ("key", "feature"),
    "Q": ("query", "feature"),
    "K": ("key", "feature"),
    "V": ("key", "feature"),
    "scores": ("query", "key"),
    "bias": ("query", "key"),
    "mask": ("query", "key"),
    "noise": ("query", "key"),
    "draw": ("query",),
    "upstream": ("query", "feature"),
}
"""What the last axes of an input are, where tokens stand along one of them."""


class Names:
    """How rows, columns and cells of a trace are called."""

    def __init__(self, trace: Trace):
        self.trace = trace
        self.columns = trace.problem.vectors == "columns"

    def labels(self, axis: str, size: int) -> tuple[str, ...]:
        """The labels along one axis of a step."""
        own = {"query": self.trace.query_labels, "key": self.trace.key_labels}.get(axis)
        return own if own is not None and len(own) == size else tuple(str(i + 1) for i in range(size))

    def cell(self, step: Step, at: Cell) -> CellName:
        """The name of the cell that is shown at `at`; -1 stands for all of an axis."""
        axes, shape = step.axes, step.value.shape
        places = [("·" if i < 0 else self.labels(axis, size)[i]) for i, axis, size in zip(at, axes, shape, strict=True)]
        symbol, tex = step.symbol.text, step.symbol.latex
        if axes[0] == "head":
            head = at[0] + 1
            symbol, tex = f"{step.kind.plain}{subscript(head)}", f"{step.kind.tex}_{{{head}}}"
            places = places[1:]
        return CellName(symbol, tex, tuple(places))

    def step_of(self, n: Num) -> Step | None:
        """The step that a number is a cell of; None for inputs and constants."""
        source = n.source
        if source is None or source.name not in self.trace:
            return None
        step = self.trace.step(source.name)
        # An input may have a step's name: the given scores, before bias and mask make the step `scores` of them.
        same = source.operation is not None or (step.made.operation is None and step.made.value is source.value)
        return step if same and len(n.at) == step.value.ndim else None

    def of(self, n: Num) -> CellName | None:
        """The name of the cell that a number was taken from; None for a constant."""
        if n.source is None or not n.source.name:
            return None
        step = self.step_of(n)
        return self._input(n.source, n.at) if step is None else self.cell(step, step.row_cell(n.at))

    def _input(self, source: Origin, at: Cell) -> CellName:
        name = source.name.rpartition(".")[2]
        symbol = source.expr if isinstance(source.expr, Sym) else Sym(text=name, latex=name)
        axes = INPUT_AXES.get(source.name, ("", ""))[-source.value.ndim :]
        axes = (*[""] * (source.value.ndim - len(axes)), *axes)
        places = [self.labels(axis, size)[i] for i, axis, size in zip(at, axes, source.value.shape, strict=True)]
        if self.columns and len(places) > 1 and symbol.flips:
            places[-2:] = reversed(places[-2:])
        return CellName(symbol.text, symbol.latex, tuple(places))


def subscript(number: int) -> str:
    return str(number).translate(str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉"))
