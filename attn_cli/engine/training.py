"""The backward pass of a worked problem, written down step by step as the forward pass is.

The steps of the forward pass come first; then dO, and what they were, backwards, each with a d before its name.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Unpack

import numpy as np

from attn_cli.engine import operations as op
from attn_cli.engine.arrays import Array
from attn_cli.engine.attention import refuse_overflow, solve
from attn_cli.engine.expression import constant, symbol
from attn_cli.engine.gradient import backward
from attn_cli.engine.modes import MODES
from attn_cli.engine.notes import Note
from attn_cli.engine.operations import Named
from attn_cli.engine.problem import Problem
from attn_cli.engine.scores import gradient_names
from attn_cli.engine.steps import Changes, Recorder, Trace, gradient_of, is_gradient, turned
from attn_cli.errors import InputError

SAME = 1e-12
"""Gradients with respect to the weights of one row that differ by no more than this, against the largest of them, are equal."""


@op.quietly
def differentiate(problem: Problem, **changes: Unpack[Changes]) -> Trace:
    """Work a problem forwards, as `solve` does, and then backwards from the gradient with respect to its output.

    The changes are for marking. Raises InputError where the problem does not fit together.
    """
    trace = solve(problem, **changes)
    problem, sizes = trace.problem, trace.sizes
    record = Recorder(problem.vectors == "columns", sizes.h > 1, **changes)
    seen: set[str] = set()

    def written(name: str, gradient: Named) -> Named:
        """The gradient as it is recorded; what is no step and no input of the problem (the noise of a draw) is passed on."""
        step = gradient_of(name)
        if step in seen or step not in names:
            return gradient
        seen.add(step)
        return record(step, gradient)

    names = gradient_names()
    found = backward(trace.result, upstream(trace), written)
    steps = sorted(record.steps, key=lambda step: names.index(step.name))
    gradients = {name: _as_shown(name, gradient.value, trace) for name, gradient in found.items() if gradient_of(name) in names}
    whole = replace(trace, steps=(*trace.steps, *steps), gradients=gradients)
    if any(changes.values()):
        return whole
    refuse_overflow({f"gradient of {name}": gradient for name, gradient in found.items()}, problem)
    return replace(whole, notes=(*trace.notes, *_remarks(whole)))


def work_for(problem: Problem, steps: Iterable[str]) -> Trace:
    """The problem worked forwards, and backwards too where one of the steps is a gradient."""
    return (differentiate if any(map(is_gradient, steps)) else solve)(problem)


def again(trace: Trace, **changes: Unpack[Changes]) -> Trace:
    """The same problem worked once more: backwards too, where the trace has a backward pass."""
    return (differentiate if trace.gradients else solve)(trace.problem, **changes)


def _as_shown(name: str, gradient: Array, trace: Trace) -> Array:
    """A gradient in the layout of the problem's file."""
    return turned(gradient_of(name), gradient) if trace.problem.vectors == "columns" else gradient


def upstream(trace: Trace) -> Named:
    """The gradient of the loss with respect to the result: as given, else all ones, of the shape of the result."""
    ours, result = trace.problem.upstream, trace.result.value
    if ours is None:
        return Named(np.ones(result.shape, result.dtype), constant(1), exact=True)
    if ours.shape != result.shape:
        found, expected = (trace.problem.shown(*a.shape) for a in (ours, result))
        raise InputError(f"is {found}, expected {expected}, the shape of the weights", key="upstream")
    return op.given("upstream", ours, symbol("upstream", r"\mathit{upstream}"))


def _remarks(trace: Trace) -> list[Note]:
    """What a reader of the gradients should know: where they stop, and why those of the scores may all be zero."""
    notes = []
    if trace.problem.upstream is None:
        notes.append(Note("upstream_ones", {}))
    if not MODES[trace.problem.mode].differentiable:
        notes.append(Note("gradient_stops", {"mode": trace.problem.mode, trace.problem.mode: True}))
    elif trace.problem.upstream is None and "dA" in trace:
        d_a = trace.step("dA").made.value
        spread = d_a.max(axis=-1) - d_a.min(axis=-1)
        if (spread <= SAME * np.maximum(1, np.abs(d_a).max(axis=-1))).all() and d_a.shape[-1] > 1:
            notes.append(Note("equal_sums", {}))
    return notes
