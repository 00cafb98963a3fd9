"""What the numbers of a problem cannot show: mistakes that look like right work, and mistakes that look like each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from attn_cli.engine.arrays import Array
from attn_cli.engine.attention import solve
from attn_cli.engine.problem import Problem
from attn_cli.engine.steps import Trace
from attn_cli.homework.mistakes.worked import Variant, variants
from attn_cli.homework.rounding import near

SAME_NUMBERS, TOO_FEW_DIGITS, NOT_ASKED = "same_numbers", "too_few_digits", "not_asked"
"""Why a mistake does not show: it changes nothing; it changes too little for the digits; it changes only steps that nobody asks for."""


@dataclass(frozen=True)
class Hidden:
    """A mistake that applies to a problem and would not show."""

    code: str
    why: str
    """SAME_NUMBERS, TOO_FEW_DIGITS or NOT_ASKED."""
    steps: tuple[str, ...]
    """The steps at which it is made."""
    largest: float = 0.0
    """The largest difference that it makes in what is asked for."""


def hidden_mistakes(problem: Problem | Trace, decimals: int, steps: Sequence[str] = ()) -> list[Hidden]:
    """The applicable mistakes that would not show in the steps asked for (default: all), written to that many decimals.

    A mistake with several ways to make it is hidden only if all of them are; the likeliest is named.
    """
    truth = problem if isinstance(problem, Trace) else solve(problem)
    asked = [step.name for step in truth if not steps or step.name in steps]
    found: dict[str, Hidden] = {}
    shown: set[str] = set()
    for variant in variants(truth):
        if variant.mistake.rounding:
            continue
        hidden = _hidden(truth, variant, asked, 10.0**-decimals)
        if hidden is None:
            shown.add(variant.code)
        else:
            found.setdefault(variant.code, hidden)
    return [hidden for code, hidden in found.items() if code not in shown]


def _hidden(truth: Trace, variant: Variant, asked: Sequence[str], unit: float) -> Hidden | None:
    touched = tuple(step.name for step in truth if step.name in variant.instead)
    if not variant.changes:
        return Hidden(variant.code, SAME_NUMBERS, touched)
    largest, reached = 0.0, False
    for name in asked:
        ours, theirs = truth.step(name).made.value, variant.values.get(name)
        if theirs is None or theirs.shape != ours.shape or (np.isfinite(ours) != np.isfinite(theirs)).any():
            return None
        if not _alike(ours, theirs, unit):
            return None
        off = np.abs(np.subtract(theirs, ours, out=np.zeros_like(ours), where=np.isfinite(ours))).max(initial=0.0)
        largest, reached = max(largest, float(off)), reached or not near(ours, theirs, 1e-12).all()
    return Hidden(variant.code, TOO_FEW_DIGITS if reached else NOT_ASKED, touched, largest)


def _alike(ours: Array, theirs: Array, unit: float) -> bool:
    """Whether what a mistake gives, rounded to a unit, is right."""
    return bool(near(np.round(theirs / unit) * unit, ours, unit / 2).all())


def indistinguishable(problem: Problem | Trace, decimals: int, steps: Sequence[str] = ()) -> list[tuple[str, ...]]:
    """Groups of mistakes that give the same numbers in all the steps asked for (default: all), written to that many decimals."""
    truth = problem if isinstance(problem, Trace) else solve(problem)
    asked = [step.name for step in truth if not steps or step.name in steps]
    groups: dict[tuple[bytes, ...], dict[str, None]] = {}
    for variant in variants(truth):
        written = tuple(_written(variant.values.get(name), decimals) for name in asked)
        if written != tuple(_written(truth.step(name).made.value, decimals) for name in asked):
            groups.setdefault(written, {})[variant.code] = None
    return list(dict.fromkeys(tuple(codes) for codes in groups.values() if len(codes) > 1))


def _written(value: Array | None, decimals: int) -> bytes:
    return b"" if value is None else repr((value.shape, (np.round(value, decimals) + 0.0).tolist())).encode()
