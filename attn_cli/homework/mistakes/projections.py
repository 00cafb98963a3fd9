"""Mistakes in the projections, of the inputs and of the output, and with biases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from attn_cli.homework.mistakes.registry import MISTAKES, Variants
from attn_cli.homework.mistakes.scene import PROJECTIONS, Scene, square, subsets
from attn_cli.homework.replacements import needed


def _changed(scene: Scene, names: Sequence[str], change: Callable[[str], dict[str, Any]]) -> Variants:
    """Q, K and V with something changed: in all of them, or in some."""
    for some in subsets(names):
        yield {name: scene.projection(name, replace(scene.problem, **change(name))) for name in some}


@MISTAKES.register("W_transposed")
def w_transposed(scene: Scene) -> Variants:
    """W_Q, W_K, W_V, W_O or the W of the general score, used the other way round."""
    problem = scene.problem
    weights = {name: getattr(problem, f"W_{name}") for name in scene.projected}
    names = [name for name, w in weights.items() if w is not None and square(w)]
    yield from _changed(scene, names, lambda name: {f"W_{name}": weights[name].T})
    w_o = problem.W_O
    if w_o is not None and square(w_o) and scene.has("concat"):
        yield {"output": lambda made: scene.last(made, W_O=w_o.T)}
    general = problem.parameters.get("general", {})
    if problem.score == "general" and scene.score is not None and square(general["W"]):
        turned = scene.with_parameters(W=general["W"].T)
        yield {scene.score: lambda made: scene.scores(*scene.q_k(made), turned)}


@MISTAKES.register()
def wrong_projection(scene: Scene) -> Variants:
    problem = scene.problem
    for name in scene.projected:
        for other in PROJECTIONS:
            w = getattr(problem, f"W_{other}")
            if other == name or w is None or np.array_equal(w, getattr(problem, f"W_{name}")):
                continue
            own, theirs = getattr(problem, f"b_{name}"), getattr(problem, f"b_{other}")
            for b in [own] if own is None and theirs is None else [theirs, own]:
                yield {name: scene.projection(name, replace(problem, **{f"W_{name}": w, f"b_{name}": b}))}


@MISTAKES.register()
def bias_forgotten(scene: Scene) -> Variants:
    """b_Q, b_K, b_V, b_O, the bias of the scores, or b of the additive score."""
    problem = scene.problem
    names = [name for name in scene.projected if getattr(problem, f"b_{name}") is not None]
    yield from _changed(scene, names, lambda name: {f"b_{name}": None})
    if problem.b_O is not None and scene.has("concat"):
        yield {"output": lambda made: scene.last(made, b_O=None)}
    if problem.bias is not None:
        yield {"scores": lambda made: scene.closed(made, bias=None)}
    additive = problem.parameters.get("additive", {})
    if scene.has("hidden") and "b" in additive:
        other = scene.with_parameters(**{name: value for name, value in additive.items() if name != "b"})
        yield {"hidden": lambda made: scene.hidden(*scene.q_k(made), other)}


@MISTAKES.register("W_O_forgotten")
def w_o_forgotten(scene: Scene) -> Variants:
    if scene.problem.W_O is not None and scene.has("concat"):
        yield {"output": lambda made: needed(made, "concat")}
        if scene.problem.b_O is not None:
            yield {"output": lambda made: scene.last(made, W_O=None)}
