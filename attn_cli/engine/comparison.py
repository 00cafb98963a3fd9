"""One input under every score function and mode, and two traces beside one another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from attn_cli.engine.arrays import Array, Cell
from attn_cli.engine.attention import solve
from attn_cli.engine.expression import Expr
from attn_cli.engine.gradient import ordered
from attn_cli.engine.modes import MODES
from attn_cli.engine.notes import Note
from attn_cli.engine.operations import Named
from attn_cli.engine.problem import Problem
from attn_cli.engine.scores import SCORES
from attn_cli.engine.steps import Trace
from attn_cli.errors import InputError

MULTIPLIED = {"multiply": 1, "scale": 1, "linear": 1, "hadamard": 1, "divide": 1, "square": 1}
"""Operators that cost a multiplication for every factor after the first; a division counts as one."""


TIED = 1e-12
"""Weights that are less apart than this share the row; the first of them counts as the winner."""


class Way(NamedTuple):
    """A score function and a mode, and what they make of the input."""

    score: str
    mode: str
    weights: Array
    """In row layout, whatever the problem's: (n, m) or (h, n, m)."""
    entropy: Array
    """Of each row of weights, in nats: 0 where all weight is on one key, log m where all keys share alike: (n,) or (h, n)."""
    largest: Array
    """The largest weight of each row."""
    winner: Array
    """Which key has it, from 0; −1 in a row that may attend to nothing."""
    multiplications: int
    """From Q and K to the scores."""
    parameters: int
    """Numbers that the score function learns."""


def ways(problem: Problem) -> tuple[Trace, list[Way], list[Note]]:
    """Every score function that the problem has parameters for, in every mode, and why the others are left out; the first one's
    trace knows the labels."""
    found, notes, first = [], [], None
    scores = list(SCORES) if problem.scores is None else [problem.score]
    for score in scores:
        needs = SCORES[score].parameters
        if needs and score not in problem.parameters and problem.scores is None:
            notes.append(Note("compare_parameters", {"score": score, "key": score}))
            continue
        for mode in MODES:
            try:
                trace = solve(replace(problem, score=score, mode=mode))
            except InputError as error:
                notes.append(
                    Note("compare_misfit", {"score": score, "reason": f"{error.key}: {error.message}" if error.key else error.message})
                )
                break
            first = first or trace
            found.append(way(score, mode, trace))
    return first or solve(problem), found, notes  # where nothing fits, the problem's own complaint is the one to hear


def way(score: str, mode: str, trace: Trace) -> Way:
    a = trace.step("weights").made.value
    with np.errstate(divide="ignore", invalid="ignore"):
        entropy = np.abs(np.where(a > 0, -a * np.log(a), 0).sum(axis=-1))
    largest = a.max(axis=-1)
    winner = np.where(largest > 0, (a >= largest[..., None] - TIED).argmax(axis=-1), -1)
    parameters = sum(array.size for array in trace.problem.parameters.get(score, {}).values())
    return Way(score, mode, a, entropy, largest, winner, multiplications(trace), parameters)


def multiplications(trace: Trace) -> int:
    """How many multiplications the scores take, from Q and K to the score function's value with its scale."""
    if trace.problem.scores is not None:
        return 0
    scores = next(step for step in trace if step.name in ("raw_scores", "scores")).made
    return sum(
        cost(node) for node in ordered(scores) if node.operation is not None and node.name not in ("Q", "K") and not made_before(node)
    )


def made_before(node: Named) -> bool:
    """Whether a value belongs to the projections: neither the queries nor the keys stand behind it."""
    return not any(other.name in ("Q", "K") for other in ordered(node))


def cost(node: Named) -> int:
    """The multiplications of one operation: those of its first cell, for every cell."""
    known = tuple(replace(operand, operation=None, operands=()) for operand in node.operands)
    assert node.operation is not None
    if not node.value.size:
        return 0
    return node.value.size * multiplied(node.operation.cell(replace(node, operands=known), (0,) * node.value.ndim))


def multiplied(expr: Expr) -> int:
    own = MULTIPLIED.get(expr.op, 0) * max(1, len(expr.args) - 1)
    return own + sum(multiplied(part) for part in expr.args)


def disagreements(found: list[Way]) -> Iterator[tuple[tuple[int, ...], dict[int, list[Way]]]]:
    """Each row in which not all ways choose the same key, those that draw lots left aside: its place, and the ways by their key."""
    found = [one for one in found if not MODES[one.mode].random]
    for at in np.ndindex(*found[0].winner.shape) if found else ():
        chosen: dict[int, list[Way]] = {}
        for one in found:
            chosen.setdefault(int(one.winner[at]), []).append(one)
        if len(chosen) > 1:
            yield at, chosen


# ------------------------------------------------------------------ two traces
class Apart(NamedTuple):
    """How far two sides are apart in one step."""

    name: str
    largest: float
    """NaN where only one side has the step, or the shapes differ."""
    cell: Cell
    """The cell that is farthest off, in the layout shown."""
    reason: str = ""
    """Why they cannot be compared."""


CLOSE = 1e-9
"""Numbers are the same up to this, against the larger of 1 and the size of their step's largest."""
