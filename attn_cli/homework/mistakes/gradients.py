"""Mistakes in the backward pass. Each applies only where the problem is worked backwards too."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce
from itertools import combinations

from attn_cli.engine import operations as op
from attn_cli.engine.operations import Named
from attn_cli.engine.steps import is_gradient
from attn_cli.homework.mistakes.registry import MISTAKES, Variants
from attn_cli.homework.mistakes.scene import Scene


def _of_scores(scene: Scene) -> str | None:
    """The step that holds the gradient with respect to the scores that the mode received."""
    return scene.first("dtempered" if scene.has("tempered") else "dS") if scene.has("dA") else None


@MISTAKES.register()
def jacobian_diagonal(scene: Scene) -> Variants:
    """A ∘ dA in place of A ∘ (dA − row sums of dA ∘ A)."""

    def alone(made: Named) -> Named:
        a, rest = made.operands
        return op.multiply(a, rest.operands[0])

    step = _of_scores(scene)
    if step is not None:
        yield {step: alone}


@MISTAKES.register()
def row_sum_forgotten(scene: Scene) -> Variants:
    """A ∘ (dA − dA ∘ A), nothing added up along the row."""

    def not_added_up(made: Named) -> Named:
        a, rest = made.operands
        d_a, sums = rest.operands
        assert isinstance(sums.operation, op.RowSum)
        return op.multiply(a, op.subtract(d_a, sums.operands[0]))

    step = _of_scores(scene)
    if step is not None:
        yield {step: not_added_up}


@MISTAKES.register("dS_not_scaled")
def d_s_not_scaled(scene: Scene) -> Variants:
    """The gradient passed back through the scale, or through the temperature, as it is."""

    def as_it_is(made: Named) -> Named:
        assert isinstance(made.operation, op.Scale)
        return made.operands[0]

    if scene.has("dP"):
        yield {"dP": as_it_is}
    if scene.has("dtempered"):
        yield {"dS": as_it_is}


@MISTAKES.register()
def gradient_transposed(scene: Scene) -> Variants:
    """Products with one factor the other way round, such as dP·Q in place of dPᵀ·Q; in a sum, each of them."""
    for step in scene.truth:
        if is_gradient(step.name) and any(isinstance(node.operation, op.Product) for node in _parts(step.made)):
            for left in (True, False):
                yield {step.name: partial(_turned, left=left)}


def _turned(made: Named, left: bool) -> Named:
    """A product with its left or right factor the other way round, within sums and what is added up over heads."""
    was = made.operation
    if isinstance(was, op.Product):
        return op.Product(was.left != left, was.right == left)(*made.operands)
    assert isinstance(was, op.Add | op.Scatter | op.SumTo)
    return was(*[_turned(operand, left) for operand in made.operands])


def _parts(made: Named) -> list[Named]:
    """What is added up to make a gradient."""
    if not isinstance(made.operation, op.Add | op.Scatter | op.SumTo):
        return [made]
    return [part for operand in made.operands for part in _parts(operand)]


@MISTAKES.register()
def paths_not_added(scene: Scene) -> Variants:
    """The gradient of an input from some of Q, K and V only: from one of them, or from two."""

    def some(made: Named, which: Sequence[int]) -> Named:
        found = _summands(made)
        return reduce(op.add, [found[i] for i in which])

    for name in ("dX", "dcontext"):
        count = len(_summands(scene.truth.step(name).made)) if scene.has(name) else 0
        for size in range(1, count):
            for which in combinations(range(count), size):
                yield {name: partial(some, which=which)}


def _summands(made: Named) -> list[Named]:
    if not isinstance(made.operation, op.Add):
        return [made]
    return [part for operand in made.operands for part in _summands(operand)]
