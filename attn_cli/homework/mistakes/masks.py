"""Mistakes with the mask."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from attn_cli.engine import operations as op
from attn_cli.engine.arrays import Array
from attn_cli.engine.expression import symbol
from attn_cli.engine.masks import allowed
from attn_cli.engine.operations import Named
from attn_cli.engine.problem import Mask
from attn_cli.homework.mistakes.registry import MISTAKES, Variants
from attn_cli.homework.mistakes.scene import Scene
from attn_cli.homework.replacements import Finite, needed


def masked(scene: Scene) -> bool:
    return scene.problem.mask is not None and scene.problem.mask.in_force


def open_cells(scene: Scene, mask: Mask | None = None) -> Array:
    """Where a query may attend, by the problem's mask or another one, as the scores are shaped."""
    sizes, mask = scene.sizes, mask or scene.problem.mask
    assert mask is not None
    may = allowed(mask, sizes.h, sizes.n, sizes.m)
    return np.asarray(np.broadcast_to(may, scene.truth.step("scores").made.value.shape))


def unmasked(made: Named) -> Named:
    """The scores before the mask."""
    return made.operands[0] if isinstance(made.operation, op.Masked) else made


def _closed_by(made: Named, may: Array) -> Named:
    return op.Masked(allowed=may)(unmasked(made))


def _unmasked_weights(scene: Scene, made: Named) -> Named:
    """The weights as they are without the mask."""
    return scene.weights(scene.tempered(unmasked(needed(made, "scores"))))


@MISTAKES.register()
def mask_ignored(scene: Scene) -> Variants:
    if masked(scene):
        yield {"scores": unmasked}


@MISTAKES.register("mask_ignored", beside=True)
def mask_ignored_in_weights(scene: Scene) -> Variants:
    if masked(scene):
        yield {"weights": partial(_unmasked_weights, scene)}


@MISTAKES.register()
def mask_after_softmax(scene: Scene) -> Variants:
    """Masked weights set to 0 without dividing again."""
    if masked(scene):
        may = op.given("mask", open_cells(scene).astype(float), symbol("M"))
        yield {"weights": lambda made: op.multiply(_unmasked_weights(scene, made), may)}
        yield {"scores": unmasked, "weights": lambda made: op.multiply(made, may)}


@MISTAKES.register()
def mask_as_zero(scene: Scene) -> Variants:
    """Masked scores as 0 instead of −∞."""
    if masked(scene):
        yield {"scores": Finite()}


@MISTAKES.register("mask_as_zero", beside=True)
def mask_as_zero_in_weights(scene: Scene) -> Variants:
    if masked(scene):
        yield {"weights": lambda made: scene.weights(Finite()(scene.received(made)))}


@MISTAKES.register()
def mask_flipped(scene: Scene) -> Variants:
    if masked(scene):
        yield {"scores": partial(_closed_by, may=~open_cells(scene))}


@MISTAKES.register()
def wrong_triangle(scene: Scene) -> Variants:
    """The other half of a causal mask: every query sees itself and what comes after it."""
    if not masked(scene):
        return
    mask = scene.problem.mask
    assert mask is not None
    if mask.causal:
        left = mask.window[0] if mask.window is not None else None
        yield {"scores": partial(_closed_by, may=open_cells(scene, replace(mask, causal=False, window=(0, left))))}
    elif is_causal(scene):
        yield {"scores": partial(_closed_by, may=np.broadcast_to(_ahead(scene) >= 0, open_cells(scene).shape))}


def _ahead(scene: Scene) -> Array:
    """How far each key stands after its query: (n, m)."""
    return np.asarray(np.arange(scene.sizes.m) - np.arange(scene.sizes.n)[:, None])


def is_causal(scene: Scene) -> bool:
    """Whether the mask is a matrix that says what `causal` says."""
    may = open_cells(scene)
    return np.array_equal(may, np.broadcast_to(_ahead(scene) <= 0, may.shape))


@MISTAKES.register()
def mask_off_by_one(scene: Scene) -> Variants:
    if masked(scene):
        for may in _shifted(scene):
            yield {"scores": partial(_closed_by, may=may)}


def _shifted(scene: Scene) -> Iterator[Array]:
    """Where a query may attend if some edge of the mask stands one place farther left or right."""
    mask = scene.problem.mask
    assert mask is not None
    for by in (-1, 1):
        for edge in _edges(mask, by, scene.sizes.m):
            yield open_cells(scene, edge)
        if is_causal(scene) and not mask.causal:
            yield np.broadcast_to(_ahead(scene) <= by, open_cells(scene).shape)


def _edges(mask: Mask, by: int, m: int) -> Iterator[Mask]:
    """The mask with each of its edges moved by some keys, where it stays one of m keys."""
    if mask.causal or mask.window is not None:
        yield replace(mask, offset=mask.offset + by)
    if mask.window is not None:
        left, right = (None if side is None else side + by for side in mask.window)
        if (left or 0) >= 0 and (right or 0) >= 0:
            yield replace(mask, window=(left, right))
    if mask.lengths is not None and 0 <= mask.lengths + by <= m:
        yield replace(mask, lengths=mask.lengths + by)


@MISTAKES.register()
def mask_added(scene: Scene) -> Variants:
    """0 and 1 added to the scores, 1 where a query may attend or 1 where it may not."""
    if masked(scene):
        may = open_cells(scene).astype(float)
        for added in (may, 1 - may):
            yield {"scores": partial(_added, mask=op.given("mask", added, symbol("M")))}


def _added(made: Named, mask: Named) -> Named:
    return op.add(unmasked(made), mask)
