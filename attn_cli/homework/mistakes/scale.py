"""Mistakes with the scale of the scores."""

from __future__ import annotations

import numpy as np

from attn_cli.engine import operations as op
from attn_cli.engine.expression import Expr, symbol
from attn_cli.engine.operations import Named
from attn_cli.homework.mistakes.registry import MISTAKES, Variants
from attn_cli.homework.mistakes.scene import Scene
from attn_cli.homework.replacements import scaled_by


def divided_by(scene: Scene, divisor: float) -> Variants:
    """The products divided by another number than √d_k."""
    if scene.scaled is not None and divisor > 0:
        yield {scene.scaled: scaled_by(divisor)}


@MISTAKES.register()
def no_scale(scene: Scene) -> Variants:
    return divided_by(scene, 1)


@MISTAKES.register()
def scale_d_k(scene: Scene) -> Variants:
    return divided_by(scene, scene.sizes.d_k or 0)


@MISTAKES.register()
def scale_twice(scene: Scene) -> Variants:
    if scene.scaled is not None:
        yield {scene.scaled: lambda made: made.operation(made) if isinstance(made.operation, op.Scale) else made}


@MISTAKES.register()
def scale_multiplied(scene: Scene) -> Variants:
    """Times √d_k instead of divided by it."""

    def multiplied(made: Named) -> Named:
        assert isinstance(made.operation, op.Scale)
        return op.times(made.operation.by)(made.operands[0])

    if scene.scaled is not None and scene.problem.scale is None:
        yield {scene.scaled: multiplied}


@MISTAKES.register()
def scale_sqrt_n(scene: Scene) -> Variants:
    for n in dict.fromkeys((scene.sizes.n, scene.sizes.m)):
        yield from divided_by(scene, float(np.sqrt(n)))


@MISTAKES.register()
def scale_sqrt_d_model(scene: Scene) -> Variants:
    sizes, x = scene.sizes, scene.problem.X
    widths = [0 if x is None else x.shape[1], sizes.h * (sizes.d_k or 0)]
    for width in dict.fromkeys(widths):
        if width != sizes.d_k:
            yield from divided_by(scene, float(np.sqrt(width)))


@MISTAKES.register("constant_rounded", rounding=True)
def root_rounded(scene: Scene) -> Variants:
    """√d_k or 1 / √d_k with fewer decimals than are forgiven."""
    root = np.sqrt(scene.sizes.d_k or 1)
    if scene.problem.scale is None:
        for divisor in (round(root, 1), round(root), 1 / round(1 / root, 1) if root < 20 else 0):
            if divisor != root:
                yield from divided_by(scene, float(divisor))


@MISTAKES.register()
def dot_scaled(scene: Scene) -> Variants:
    """Divided by √d_k though the score function has no scale."""
    d_k = scene.sizes.d_k or 1
    if scene.problem.score in ("dot", "general") and scene.problem.scale is None and scene.score is not None and d_k > 1:
        yield {scene.score: op.over(Expr("root", (symbol("d_k", number=d_k),)))}
