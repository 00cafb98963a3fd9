"""Which steps of a problem are worked out: all, unless nobody asks for those of a number for each query and key, or memory is short."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from attn_cli.engine.attention import solve
from attn_cli.engine.notes import Note
from attn_cli.engine.problem import Problem
from attn_cli.engine.steps import Trace
from attn_cli.errors import UsageError

MEMORY = "ATTN_MEMORY"
"""The environment variable that says how much memory the steps of a problem may take."""
UNITS = {"k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
DEFAULT_MEMORY = 2 * UNITS["g"]
LONG = 2**20
"""Scores. Of as many, the output is worked out without them where only that is asked for; if raised, larger problems hold all steps."""
STEPS_HELD = 12
"""Steps. No more of them hold a number for each query and key; if raised, more problems are measured exactly before they are solved."""


def solve_within(problem: Problem, only: Sequence[str] = (), detail: Literal["compute", "trace"] = "compute") -> Trace:
    """The problem with its steps; without those of a number for each query and key where nobody asks for them, or where
    they would not fit into the memory budget, which a note says. Raises UsageError where one of them is asked for by name."""
    allowed, computes = budget(), detail == "compute"
    asks_less = computes and list(only) == ["output"] and _longest(problem) ** 2 >= LONG
    if not asks_less and _at_most(problem) <= allowed:
        return solve(problem)
    from attn_cli.engine.large.whole import full_bytes, long_steps, solve_long

    if asks_less:
        return solve_long(problem)
    left_out = long_steps(problem)
    needed = full_bytes(problem, left_out)
    if needed <= allowed:
        return solve(problem)
    _refuse_asked([name for name in only if name in left_out], problem, needed, allowed)
    trace = solve_long(problem)
    if only and computes:
        return trace
    values = {"needed": size_text(needed), "variable": MEMORY, "budget": size_text(allowed), "steps": ", ".join(left_out)}
    return replace(trace, notes=(Note("left_out", values, warning=True), *trace.notes))


def _refuse_asked(asked: Sequence[str], problem: Problem, needed: float, allowed: float) -> None:
    """Raises UsageError where a step that does not fit is asked for, or where there are no values, so that only the weights could be."""
    if asked or (problem.V is None and problem.X is None and problem.context is None):
        raise UsageError(
            f"the steps with a number for each query and key take about {size_text(needed)}, more than {MEMORY} allows "
            f"({size_text(allowed)}); set {MEMORY} higher to work out {', '.join(asked) or 'the weights'}"
        )


def refuse_beyond_memory(problem: Problem) -> None:
    """Raises UsageError where a backward pass would not fit: it holds a gradient for nearly every step that a forward pass holds."""
    needed, allowed = 2 * _at_most(problem), budget()
    if needed > allowed:
        raise UsageError(
            f"the backward pass may take {size_text(needed)}, more than {MEMORY} allows ({size_text(allowed)}); set {MEMORY} higher"
        )


def _longest(problem: Problem) -> int:
    """The longest axis among the last two of every array: at least the number of queries and of keys."""
    return max((size for shape in _shapes(problem) for size in shape[-2:]), default=1)


def _at_most(problem: Problem) -> int:
    """More bytes than the steps can take: a quick look, before anything is worked out."""
    heads = max(problem.heads or 1, *(shape[0] for shape in _shapes(problem) if len(shape) == 3), 1)
    hidden = sum(sum(array.shape) for arrays in problem.parameters.values() for array in arrays.values())
    return 8 * heads * _longest(problem) ** 2 * (STEPS_HELD + 2 * hidden)


def _shapes(problem: Problem) -> list[tuple[int, ...]]:
    given = (problem.X, problem.context, problem.Q, problem.K, problem.V, problem.scores)
    return [array.shape for array in given if array is not None]


def budget() -> float:
    """Bytes that the arrays of a problem may take."""
    text = os.environ.get(MEMORY, "").strip()
    if not text:
        return DEFAULT_MEMORY
    number, unit = text.rstrip("bB").rstrip("kKmMgGtT"), text.rstrip("bB")[-1:].lower()
    try:
        return float(number) * UNITS.get(unit, 1)
    except ValueError:
        raise UsageError(f"{MEMORY}: found {text!r}, expected a size such as 500M or 2G") from None


def size_text(count: float) -> str:
    """A number of bytes as people write it, 1.5 GB."""
    unit = max((unit for unit in UNITS if count >= UNITS[unit]), key=lambda unit: UNITS[unit], default="")
    return f"{count / UNITS.get(unit, 1):.3g} {unit.upper()}B"
