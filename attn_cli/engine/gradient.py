"""The backward pass: gradients with respect to everything that a result was computed from, built from the same operations."""

from __future__ import annotations

from collections.abc import Callable

from attn_cli.engine import operations as op
from attn_cli.engine.expression import Sym, symbol
from attn_cli.engine.operations import Named


@op.quietly
def backward(out: Named, g: Named, record: Callable[[str, Named], Named] | None = None) -> dict[str, Named]:
    """Gradients by the name of the step or input, from the gradient `g` with respect to `out`.

    Where an operand was repeated along an axis (a bias for every row, a key head for several query heads), its gradient is
    added up here, in one place.

    `record(name, gradient)` may write each one down and pass on what is used from there. An input that no gradient
    reaches (behind a mode without one) is left out.
    """
    total: dict[int | str, Named] = {identity(out): g}
    by_name: dict[str, Named] = {}
    for node in ordered(out):
        gradient = total.get(identity(node))
        if gradient is None:
            continue
        if node.name:
            if record is not None:
                gradient = record(node.name, gradient)
            flips = not isinstance(node.expr, Sym) or node.expr.flips
            gradient = op.renamed(gradient, symbol(f"d{node.expr.plain(str)}", rf"\mathrm{{d}}{node.expr.tex(str)}", flips=flips))
            by_name[node.name] = gradient
        if node.operation is None:
            continue
        for operand, pulled in zip(node.operands, node.operation.pull(gradient, node), strict=True):
            if pulled is not None:
                which, shape = identity(operand), operand.value.shape
                if pulled.value.shape != shape:
                    pulled = op.SumTo(shape, pulled.value.shape)(pulled)
                total[which] = op.add(pulled, total[which]) if which in total else pulled
    return by_name


def identity(node: Named) -> int | str:
    """An input read in several places (X for Q, K and V) is one input, so that its gradients add up."""
    return node.name if node.operation is None and node.name else id(node)


def ordered(out: Named) -> list[Named]:
    """Every value that `out` was computed from, each after all that use it."""
    seen: set[int | str] = set()
    finished: list[Named] = []

    def visit(node: Named) -> None:
        if identity(node) in seen:
            return
        seen.add(identity(node))
        for operand in node.operands:
            visit(operand)
        finished.append(node)

    visit(out)
    return finished[::-1]
