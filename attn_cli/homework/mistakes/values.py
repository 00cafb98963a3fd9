"""Mistakes where weights meet values."""

from __future__ import annotations

from functools import partial

import numpy as np

from attn_cli.engine import operations as op
from attn_cli.engine.arrays import Array
from attn_cli.engine.attention import cut, given_input
from attn_cli.engine.expression import symbol
from attn_cli.engine.operations import Named
from attn_cli.engine.problem import source
from attn_cli.homework.mistakes.operations import over_rows, turn
from attn_cli.homework.mistakes.registry import MISTAKES, Variants
from attn_cli.homework.mistakes.scene import Scene
from attn_cli.homework.replacements import needed


@MISTAKES.register("K_for_V")
def k_for_v(scene: Scene) -> Variants:
    if scene.mixed is not None and scene.has("K"):
        yield {scene.mixed: lambda made: scene.mix(made, v=needed(made, "K"))}
        if scene.problem.V is None:
            yield {"V": scene.projection("K", scene.problem)}


@MISTAKES.register("X_for_V")
def x_for_v(scene: Scene) -> Variants:
    if scene.mixed is None or scene.problem.V is not None:
        return
    name = source(scene.problem, "V")

    def unprojected(made: Named) -> Named:
        return cut(given_input(name, scene.problem), scene.sizes.kv_heads, scene.sizes.h)

    yield {"V": unprojected}
    yield {scene.mixed: lambda made: scene.mix(made, v=unprojected(made))}


@MISTAKES.register()
def weights_transposed(scene: Scene) -> Variants:
    if scene.mixed is not None and scene.sizes.n == scene.sizes.m:
        yield {scene.mixed: lambda made: scene.mix(made, a=turn(needed(made, "weights")))}


@MISTAKES.register()
def uniform(scene: Scene) -> Variants:
    """The same weight on every key that may be attended, or on every key: the mean of the values."""

    may = np.isfinite(scene.truth.step("scores").made.value)

    def share(made: Named, keys: Array) -> Named:
        return over_rows(op.given("open", keys.astype(made.value.dtype), symbol("1")))

    def mean(made: Named, keys: Array) -> Named:
        return scene.mix(made, a=share(made, keys))

    for keys in (may,) if may.all() else (may, np.ones_like(may)):
        yield {"weights": partial(share, keys=keys)}
        if scene.mixed is not None:
            yield {scene.mixed: partial(mean, keys=keys)}


@MISTAKES.register()
def residual_added(scene: Scene) -> Variants:
    """The input of the queries added to the output."""
    x = next((name for name in ("X", "Q") if getattr(scene.problem, name) is not None), None)
    if x is not None and scene.has("output") and getattr(scene.problem, x).shape == scene.truth.step("output").made.value.shape:
        yield {"output": lambda made: op.add(made, given_input(x, scene.problem))}
