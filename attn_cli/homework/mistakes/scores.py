"""Mistakes in the score function: which queries meet which keys, and how."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from attn_cli.engine import operations as op
from attn_cli.engine.expression import symbol
from attn_cli.engine.operations import Named
from attn_cli.homework.mistakes.registry import MISTAKES, Variants
from attn_cli.homework.mistakes.scene import Scene
from attn_cli.homework.replacements import needed


def _compared(scene: Scene, pair: Callable[[Named], tuple[Named, Named]]) -> Variants:
    """Other queries or keys compared: in the hidden units where the score has them, else in the score itself."""
    if scene.has("hidden"):
        yield {"hidden": lambda made: scene.hidden(*pair(made))}
    elif scene.score is not None:
        yield {scene.score: lambda made: scene.scores(*pair(made))}


@MISTAKES.register("Q_K_swapped")
def q_k_swapped(scene: Scene) -> Variants:
    return _compared(scene, lambda made: scene.q_k(made)[::-1])


@MISTAKES.register("Q_Q")
def q_q(scene: Scene) -> Variants:
    return _compared(scene, lambda made: (needed(made, "Q"), needed(made, "Q")))


@MISTAKES.register()
def tanh_forgotten(scene: Scene) -> Variants:
    """The hidden units without tanh, or the softcap without it."""
    if scene.has("hidden"):
        yield {"hidden": lambda made: made.operands[0]}
        if scene.score is not None:
            yield {scene.score: _without_tanh}
    if scene.problem.softcap is not None:
        yield {"capped" if scene.has("capped") else "scores": lambda made: needed(made, "raw_scores")}


def _without_tanh(made: Named) -> Named:
    """vᵀ·x over what the hidden layer was made of."""
    hidden, v = made.operands
    return op.weigh(hidden.operands[0], v)


@MISTAKES.register()
def v_forgotten(scene: Scene) -> Variants:
    """The hidden units added up without v."""
    if scene.has("hidden") and scene.score is not None:
        v = scene.problem.parameters["additive"]["v"]
        yield {scene.score: lambda made: op.weigh(needed(made, "hidden"), op.given("ones", np.ones(v.shape), symbol("1")))}


@MISTAKES.register()
def additive_order(scene: Scene) -> Variants:
    """W·[k; q] in place of W·[q; k]."""
    if not scene.has("hidden"):
        return
    given = scene.problem.parameters["additive"]
    if "W" in given:
        d_k = scene.sizes.d_k
        swapped = {**given, "W": np.hstack([given["W"][:, d_k:], given["W"][:, :d_k]])}
    else:
        swapped = {**given, "W_q": given["W_k"], "W_k": given["W_q"]}
    other = scene.with_parameters(**swapped)
    yield {"hidden": lambda made: scene.hidden(*scene.q_k(made), other)}


@MISTAKES.register("general_W_forgotten")
def general_w_forgotten(scene: Scene) -> Variants:
    """Q·Kᵀ"""
    if scene.problem.score == "general" and scene.score is not None:
        yield {scene.score: lambda made: op.product_t(*scene.q_k(made))}


@MISTAKES.register()
def norms_forgotten(scene: Scene) -> Variants:
    """A cosine not divided by the lengths: Q·Kᵀ."""
    if scene.problem.score == "cosine" and scene.score is not None:
        yield {scene.score: lambda made: op.product_t(*scene.q_k(made))}
