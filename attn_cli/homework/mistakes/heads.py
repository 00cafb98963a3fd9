"""Mistakes in cutting columns into heads and in joining the heads."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from itertools import permutations

import numpy as np

from attn_cli.engine import operations as op
from attn_cli.engine.arrays import Array
from attn_cli.engine.operations import Named
from attn_cli.engine.steps import Instead
from attn_cli.homework.mistakes.operations import mean_of_heads, moved, sum_of_heads
from attn_cli.homework.mistakes.registry import MISTAKES, Variants
from attn_cli.homework.mistakes.scene import PROJECTIONS, Scene, subsets
from attn_cli.homework.replacements import needed, scaled_by

FEW_HEADS = 3
"""Heads; up to this many, every order is tried, beyond only the reversed one. Raising it makes marking slower by the factorial."""


def _in_place_of_joined(scene: Scene, of_heads: Instead) -> Variants:
    """Something made of the heads where they should be joined, before W_O or in place of the output."""
    if scene.joined is not None:
        yield {scene.joined: lambda made: of_heads(needed(made, "heads"))}
        if scene.joined == "concat":
            yield {"output": lambda made: of_heads(needed(made, "heads"))}


@MISTAKES.register()
def heads_averaged(scene: Scene) -> Variants:
    if scene.sizes.h > 1:
        yield {"weights": mean_of_heads}
    yield from _in_place_of_joined(scene, mean_of_heads)


@MISTAKES.register()
def heads_summed(scene: Scene) -> Variants:
    return _in_place_of_joined(scene, sum_of_heads)


@MISTAKES.register()
def one_head(scene: Scene) -> Variants:
    """All columns compared as one head, whose weights then serve every head's values; or only the first head worked."""
    if scene.sizes.h > 1 and scene.score is not None:

        def compared(made: Named) -> Named:
            q, k = scene.q_k(made)
            return scene.scores(op.join_heads(q), op.join_heads(k))

        if scene.scaled is not None and scene.problem.scale is None:
            whole_width = scene.sizes.h * (scene.sizes.d_k or 1)
            yield {scene.score: compared, scene.scaled: scaled_by(math.sqrt(whole_width))}
        yield {scene.score: compared}
    yield from _in_place_of_joined(scene, lambda heads: moved(heads, lambda a: a[0]))


@MISTAKES.register()
def heads_interleaved(scene: Scene) -> Variants:
    """Every h-th column to one head; or the numbers dealt out row by row, as a reshape without a transpose does."""
    if scene.sizes.h == 1:
        return
    joined = {name: getattr(scene.problem, name) for name in PROJECTIONS if scene.has(name)}
    names = [name for name, given in joined.items() if given is None or given.ndim == 2]

    def dealt(strided: bool) -> Instead:
        def move(a: Array) -> Array:
            h, n, d = a.shape
            joined = np.moveaxis(a, 0, -2).reshape(n, h * d)
            return np.moveaxis(joined.reshape(n, d, h), -1, 0) if strided else joined.reshape(h, n, d)

        return lambda made: moved(made, move)

    for strided in (True, False):
        for some in subsets(names):
            yield {name: dealt(strided) for name in some}


@MISTAKES.register()
def concat_order(scene: Scene) -> Variants:
    """The heads joined in another order: reversed, number by number, or head after head."""
    if scene.joined is None:
        return
    h = scene.sizes.h
    orders = list(permutations(range(h)))[:0:-1] if h <= FEW_HEADS else [tuple(range(h))[::-1]]

    def joined(order: tuple[int, ...]) -> Instead:
        return lambda made: op.join_heads(moved(needed(made, "heads"), lambda a: a[list(order)]))

    def laid_out(made: Named, move: Callable[[Array], Array]) -> Named:
        return moved(needed(made, "heads"), lambda a: move(a).reshape(*a.shape[1:-1], -1))

    for order in orders:
        yield {scene.joined: joined(order)}
    yield {scene.joined: partial(laid_out, move=lambda a: np.moveaxis(a, 0, -1))}
    yield {scene.joined: partial(laid_out, move=lambda a: a)}
