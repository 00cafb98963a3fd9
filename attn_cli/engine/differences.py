"""Central differences: what the gradient of every number of the inputs is, measured on the loss itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from attn_cli.engine import operations as op
from attn_cli.engine.arrays import Array
from attn_cli.engine.attention import solve
from attn_cli.engine.modes import MODES
from attn_cli.engine.notes import Note
from attn_cli.engine.problem import ARRAYS, Problem
from attn_cli.engine.steps import Trace, gradient_of, turned
from attn_cli.engine.training import upstream

STEP = 3e-6
"""How far a number is moved to either side, against its size where that exceeds 1. With a larger step the bend of the loss shows,
with a smaller one the rounding of floating point."""
MANY = 4000
"""Numbers that are moved, evenly spread where there are more; if raised, checks take longer, since each costs two runs."""
FEWEST, WORK = 32, 2 * 10**7
"""Numbers moved at the least, and scores that all runs work out at the most; if either is raised, checks of long inputs take longer."""
APART = 1e-4
"""Beyond this, against the larger of 1 and the gradient itself, the two do not agree: the loss has a corner there."""


def inputs(problem: Problem) -> dict[str, Array]:
    """Every array that a gradient may be asked for, by the name of its key; parameters as `additive.v`."""
    arrays = {name: getattr(problem, name) for name in problem.given(*ARRAYS) if name != "upstream"}
    return arrays | {f"{score}.{name}": a for score, given in problem.parameters.items() for name, a in given.items()}


def moved(problem: Problem, name: str, array: Array) -> Problem:
    """The problem with another array in place of one of its own."""
    score, dot, parameter = name.partition(".")
    if not dot:
        changed: dict[str, Any] = {name: array}
        return replace(problem, **changed)
    given = {**problem.parameters[score], parameter: array}
    return replace(problem, parameters={**problem.parameters, score: given})


def largest_difference(trace: Trace, most: int = MANY) -> tuple[float, str]:
    """How far the gradients of a backward pass are from central differences of the loss, at most, and for which input."""
    problem = replace(trace.problem, dtype="float64").as_dtype()
    weights_of_loss = upstream(trace).value.astype(float)
    columns = problem.vectors == "columns"
    passable = MODES[problem.mode].differentiable
    worst, where = 0.0, ""
    for name, cell in spread(problem, most):
        if not passable and name not in trace.gradients:
            continue  # a choice jumps, so that there is nothing to compare with
        array = inputs(problem)[name]
        step = STEP * max(1.0, abs(float(array[cell])))
        measured = (loss(problem, name, cell, step, weights_of_loss) - loss(problem, name, cell, -step, weights_of_loss)) / (2 * step)
        found = trace.gradients.get(name)
        if found is not None and columns:
            found = turned(gradient_of(name), found)
        ours = 0.0 if found is None else float(found.reshape(array.shape)[cell])
        if abs(measured - ours) > worst or not where:
            worst, where = abs(measured - ours), name
    return worst, where


def spread(problem: Problem, most: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    """The finite numbers of all inputs, or as many of them that lie evenly among them."""
    cells = [(name, tuple(at)) for name, array in inputs(problem).items() for at in np.argwhere(np.isfinite(array)).tolist()]
    return iter(cells[:: -(-len(cells) // most) or 1])


@op.quietly
def loss(problem: Problem, name: str, cell: tuple[int, ...], by: float, weights_of_loss: Array) -> float:
    """The sum of upstream ∘ output, with one number of an input moved."""
    array = inputs(problem)[name].copy()
    array[cell] += by
    return float(np.sum(weights_of_loss * solve(moved(problem, name, array)).result.value))


def verified(trace: Trace) -> Trace:
    """The same, with what the comparison came to."""
    largest, where = largest_difference(trace, max(FEWEST, min(MANY, WORK // trace.step("weights").value.size)))
    size = max((float(np.abs(g).max(initial=0.0)) for g in trace.gradients.values()), default=0.0)
    apart = largest > APART * max(1.0, size)
    note = Note("verify_apart" if apart else "verified", {"largest": f"{largest:.2g}", "input": where}, warning=apart)
    return replace(trace, findings={"verify": {"largest": largest, "input": where}}, notes=(*trace.notes, note))
