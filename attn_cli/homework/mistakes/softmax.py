"""Mistakes between the scores and the weights."""

from __future__ import annotations

from functools import partial

import numpy as np

from attn_cli.engine import operations as op
from attn_cli.engine.attention import adjusted
from attn_cli.engine.expression import constant, symbol
from attn_cli.engine.operations import Named
from attn_cli.engine.steps import Instead
from attn_cli.homework.mistakes.operations import in_one_row, logarithm, moved, over_rows, shaped, sigmoid, turn
from attn_cli.homework.mistakes.registry import MISTAKES, Variants
from attn_cli.homework.mistakes.scene import Kept, Scene
from attn_cli.homework.replacements import Finite, minus_max, needed, to_the_power


@MISTAKES.register()
def hard_for_soft(scene: Scene) -> Variants:
    if scene.problem.mode != "hard":
        yield {"weights": lambda made: scene.weights(scene.received(made), "hard")}


@MISTAKES.register()
def softmax_columns(scene: Scene) -> Variants:
    """Along the other axis."""

    def along_the_other(made: Named) -> Named:
        if isinstance(made.operation, op.Softmax):
            return turn(over_rows(turn(made.operands[0])))
        return turn(scene.weights(turn(scene.received(made))))

    yield {"weights": along_the_other}
    if scene.has("row_sums"):
        yield {"row_sums": lambda made: op.row_sum(turn(made.operands[0]))}


@MISTAKES.register()
def softmax_all(scene: Scene) -> Variants:
    """Over the whole matrix at once."""

    def at_once(made: Named) -> Named:
        if isinstance(made.operation, op.Softmax):
            return shaped(over_rows(in_one_row(made.operands[0])), made.value.shape)
        return shaped(scene.weights(in_one_row(scene.received(made))), made.value.shape)

    yield {"weights": at_once}
    if scene.has("row_sums"):

        def total(made: Named) -> Named:
            whole = op.row_sum(in_one_row(made.operands[0]))
            return moved(whole, lambda a: np.broadcast_to(a, made.value.shape))

        yield {"row_sums": total}


@MISTAKES.register()
def not_normalised(scene: Scene) -> Variants:
    """Exponentials taken as weights, of the scores or of those less their row's maximum."""
    if scene.has("exponentials"):
        yield {"weights": lambda made: made.operands[0]}
        yield {"weights": lambda made: minus_max(made.operands[0])}


@MISTAKES.register()
def no_exponentials(scene: Scene) -> Variants:
    """Scores divided by their sum."""
    if scene.has("exponentials"):
        yield {"weights": lambda made: over_rows(Finite()(scene.received(made)))}
        yield {"exponentials": lambda made: Finite()(made.operands[0])}


@MISTAKES.register()
def softmax_twice(scene: Scene) -> Variants:
    if scene.has("exponentials"):
        yield {"weights": scene.weights}


@MISTAKES.register()
def log_softmax(scene: Scene) -> Variants:
    if scene.has("exponentials"):
        yield {"weights": logarithm}


@MISTAKES.register("sigmoid")
def sigmoid_for_softmax(scene: Scene) -> Variants:
    if scene.has("exponentials"):
        yield {"weights": lambda made: sigmoid(scene.received(made))}


def _powers(scene: Scene, *bases: float) -> Variants:
    """Powers of another base, of the scores or of the scores less their row's maximum."""
    if scene.has("exponentials"):
        for base in bases:
            yield {"exponentials": to_the_power(base)}
            yield {"exponentials": partial(_of_less, power=to_the_power(base))}


def _of_less(made: Named, power: Instead) -> Named:
    return power(minus_max(made))


@MISTAKES.register()
def negative_exponent(scene: Scene) -> Variants:
    """exp(−S), 0 where the mask is; or that less the row's maximum of −S."""

    def negative(made: Named) -> Named:
        s = made.operands[0]
        return op.Masked(np.isfinite(s.value))(op.times(constant(-1))(Finite()(s)))

    if scene.has("exponentials"):
        yield {"exponentials": lambda made: op.exp(negative(made))}
        yield {"exponentials": lambda made: minus_max(op.exp(negative(made)))}


@MISTAKES.register()
def base_2(scene: Scene) -> Variants:
    return _powers(scene, 2)


@MISTAKES.register()
def base_10(scene: Scene) -> Variants:
    return _powers(scene, 10)


@MISTAKES.register("constant_rounded", rounding=True)
def e_rounded(scene: Scene) -> Variants:
    """Powers of an e with fewer decimals than are forgiven."""
    return _powers(scene, 2.7, 2.72, 3)


@MISTAKES.register()
def soft_for_hard(scene: Scene) -> Variants:
    if scene.problem.mode != "soft":
        yield {"weights": lambda made: scene.weights(scene.received(made), "soft")}


@MISTAKES.register()
def argmin(scene: Scene) -> Variants:
    """All weight on the smallest score of the keys that may be attended."""

    def smallest(made: Named) -> Named:
        s = scene.received(made)
        return op.OneHot()(op.Masked(np.isfinite(s.value))(op.times(constant(-1))(s)))

    if scene.problem.mode == "hard":
        yield {"weights": smallest}


@MISTAKES.register(beside=True)
def unscaled_softmax(scene: Scene) -> Variants:
    """Scores right, weights from the unscaled ones."""

    def weights(made: Named) -> Named:
        s = adjusted(needed(made, "products"), scene.problem, scene.sizes, Kept())
        return scene.weights(scene.tempered(s))

    if scene.has("products") and scene.problem.mode != "hard":  # the largest score stays the largest, scaled or not
        yield {"weights": weights}


@MISTAKES.register()
def temperature_ignored(scene: Scene) -> Variants:
    if scene.has("tempered"):
        yield {"tempered": lambda made: made.operands[0]}


@MISTAKES.register("temperature_ignored", beside=True)
def temperature_ignored_in_weights(scene: Scene) -> Variants:
    if scene.has("tempered"):
        yield {"weights": lambda made: scene.weights(needed(made, "scores"))}


@MISTAKES.register()
def temperature_multiplied(scene: Scene) -> Variants:
    if scene.has("tempered"):
        yield {"tempered": lambda made: op.times(symbol("T", number=scene.problem.temperature))(made.operands[0])}
