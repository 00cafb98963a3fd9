"""How far the rounding of written and hidden numbers may have moved a cell.

Every number that a step starts from is moved by half a unit along the sign of the cell's gradient, and the engine is run again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from attn_cli.engine import operations as op
from attn_cli.engine.arrays import Array
from attn_cli.engine.expression import symbol
from attn_cli.engine.gradient import backward
from attn_cli.engine.modes import MODES
from attn_cli.engine.operations import Named
from attn_cli.engine.steps import Trace
from attn_cli.homework.habits import FEW, MANY, MOVES, PLAUSIBLE, SURELY, TOO_FAR, VERY_MANY
from attn_cli.homework.places import Placed
from attn_cli.homework.replacements import Replacements
from attn_cli.homework.rounding import Rounding, hidden_half, near
from attn_cli.homework.submission import Numbers, Submission


def reached(
    submission: Submission,
    placed: Placed,
    wanted: Array,
    numbers: Numbers,
    rounding: Rounding,
    instead: Replacements | None = None,
    all_or_none: bool = False,
) -> Array:
    """Those wanted cells that lie within what the rounding of written and hidden steps allows."""
    trace = submission.run(numbers.given, instead)
    ours = submission.follows(placed, trace, numbers)
    widths = _widths(trace, placed, numbers, rounding)
    made = _pruned(trace.step(placed.step).made, widths, numbers.given)
    reach = Reach(submission, placed, numbers, instead, ours, widths, made)
    found = np.zeros(wanted.shape, bool)
    if wanted.sum() > FEW and not (all_or_none and not reach.one(_farthest(placed.value, ours, wanted)[0])):
        found |= reach.together(wanted)
    left = _farthest(placed.value, ours, wanted & ~found)
    most = MANY if wanted.size < VERY_MANY else FEW
    if all_or_none and len(left) > most:
        return found
    for at in left[-most:]:
        found[at] = reach.one(at)
        if all_or_none and not found[at]:
            break
    return found


def plausible(submission: Submission, placed: Placed, ours: Array) -> Array:
    """A quick look at which cells are near enough for rounding to have moved them there; a hard choice may move any."""
    truth = submission.truth
    if not MODES[truth.problem.mode].differentiable:
        return np.ones(placed.shape, bool)
    written = [2 * float(np.nanmax(half, initial=0.0)) for half in submission.halves.values()]
    unit = max(float(placed.unit.max(initial=0.0)), *written, 0.0)
    size = float(np.max(np.abs(ours), initial=0.0, where=np.isfinite(ours)))
    most = (PLAUSIBLE + (truth.sizes.d_k or 0) + truth.sizes.m) * unit * (1 + submission.largest) * (1 + size)
    return np.asarray(np.abs(placed.value - ours) <= most)


@dataclass(eq=False)
class Reach:
    """What is needed to say how far rounding may move the cells of one answer."""

    submission: Submission
    placed: Placed
    numbers: Numbers
    instead: Replacements | None
    ours: Array
    """The step as it follows from the numbers."""
    widths: Mapping[str, Array]
    """How far each number that it starts from may be from what its writer had, by step."""
    made: Named
    """The step with what it is made of, as far as that may move."""

    def moved(self, nudge: Mapping[str, Array]) -> Array:
        return self.submission.moved(self.placed.step, self.numbers, nudge, self.instead)

    def one(self, at: tuple[int, ...]) -> bool:
        """Whether a run with every number moved along the sign of this cell's gradient goes as far."""
        theirs, half, ours = float(self.placed.value[at]), float(self.placed.half[at]), float(self.ours[at])
        if near(np.array(theirs), np.array(ours), half):
            return True
        this = np.zeros(self.made.value.shape)
        this[at] = 1.0
        moves = {name: slope * self.widths[name] for name, slope in _slopes(self.made, this, self.widths, self.numbers.given).items()}
        reach = sum(float(np.abs(move).sum()) for move in moves.values())
        if abs(theirs - ours) > TOO_FAR * reach + 1.000001 * half:
            return False
        if abs(theirs - ours) <= SURELY * reach + half:
            return True
        side = 1.0 if theirs > ours else -1.0
        moved = self.moved({name: side * np.sign(move) * self.widths[name] for name, move in moves.items()})[at]
        farthest = max(side * float(moved), side * ours)
        return bool(side * theirs <= farthest or near(np.array(theirs), np.array(side * farthest), half))

    def together(self, wanted: Array) -> Array:
        """A first look at many cells at once: those reached when the numbers move towards all that are still left."""
        theirs, half = self.placed.value, self.placed.half
        side = np.where(theirs > self.ours, 1.0, -1.0)
        found = wanted & near(theirs, self.ours, half)
        for _ in range(MOVES):
            left = wanted & ~found
            if left.sum() <= FEW:
                break
            slopes = _slopes(self.made, np.where(left, side, 0.0), self.widths, self.numbers.given)
            moved = self.moved({name: np.sign(slope) * self.widths[name] for name, slope in slopes.items()})
            now = left & ((side * moved >= side * theirs) | near(theirs, moved, half))
            found |= now
            if 4 * now.sum() < left.sum():
                break
        return found


def _widths(trace: Trace, placed: Placed, numbers: Numbers, rounding: Rounding) -> dict[str, Array]:
    """How far each number that this step starts from may be from what its writer had."""
    widths: dict[str, Array] = {}
    for step in trace:
        if step.name == placed.step:
            break
        width = hidden_half(step.made, step.name, rounding)
        half = numbers.half.get(step.name)
        if half is not None and half.shape == width.shape:
            width = np.where(np.isnan(half), width, half)
        if width.any():
            widths[step.name] = width
    return widths


def _by_hand(made: Named) -> Named:
    """Weights as E / Z, so that the gradient passes through what was written for E and Z."""
    if not isinstance(made.operation, op.Softmax):
        return made
    e, z, _ = made.operands
    by_row = op.divide(e, op.Reindex(lambda a: a[..., None])(z))
    return replace(made, operation=by_row.operation, operands=by_row.operands)


def _pruned(made: Named, widths: Mapping[str, Array], given: Mapping[str, Array]) -> Named:
    """The same value by hand, without the operands that no number that may move stands behind, so that its gradient is quick."""
    known: dict[int, tuple[Named, bool]] = {}

    def visit(made: Named) -> tuple[Named, bool]:
        if id(made) not in known:
            node = _by_hand(made)
            theirs = given.get(node.name)
            ends = node.operation is None or (theirs is not None and theirs.shape == node.value.shape and not np.isnan(theirs).any())
            operands = () if ends else tuple(visit(operand) for operand in node.operands)
            moves = any(moving for _, moving in operands)
            kept = replace(node, operation=node.operation if moves else None, operands=tuple(o for o, _ in operands) if moves else ())
            known[id(made)] = kept, moves or node.name in widths
        return known[id(made)]

    return visit(made)[0]


def _farthest(theirs: Array, ours: Array, wanted: Array) -> list[tuple[int, ...]]:
    """The wanted cells, those that are farthest off first."""
    off = np.abs(theirs - ours)[wanted]
    return [tuple(at) for at in np.argwhere(wanted)[np.argsort(-off, kind="stable")].tolist()]


def _slopes(made: Named, g: Array, widths: Mapping[str, Array], given: Mapping[str, Array]) -> dict[str, Array]:
    """How what is made, weighed by g, moves with each number that may move."""
    slopes: dict[str, Array] = {}

    def cut(name: str, gradient: Named) -> Named:
        """What was written does not move with what stands before it."""
        if name in widths and widths[name].shape == gradient.value.shape:  # an input may share its name with the step cut from it
            slopes[name] = np.where(np.isnan(gradient.value), 0.0, gradient.value)
        theirs = given.get(name)
        if theirs is None or theirs.shape != gradient.value.shape or not np.isnan(theirs).any():
            return gradient  # nothing is written, or everything: then the graph ends here
        return op.revalued(gradient, np.where(np.isnan(theirs), gradient.value, 0.0))

    backward(made, op.given("one", g, symbol("1")), cut)
    return slopes
