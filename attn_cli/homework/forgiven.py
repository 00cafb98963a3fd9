"""What is forgiven: which cells hold as they are, and which by an honest habit of their writer, under the code of its note.

A habit that the step `surely` shows is one that all of its cells speak for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import product
from typing import Protocol

import numpy as np

from attn_cli.engine.arrays import Array
from attn_cli.engine.steps import Trace
from attn_cli.homework.habits import CONSTANT_MOVES, E_DECIMALS, MASKED, ROOT_DECIMALS, SINGLE, SINGLE_DIGITS
from attn_cli.homework.places import Placed
from attn_cli.homework.reach import reached
from attn_cli.homework.replacements import Replacements, scaled_by, to_the_power
from attn_cli.homework.rounding import near, rounded
from attn_cli.homework.submission import Numbers, Submission


class Habit(Protocol):
    """Which cells a habit explains, if `ours` is what the step should be."""

    def __call__(self, placed: Placed, ours: Array, surely: bool) -> Array: ...


def as_it_is(placed: Placed, ours: Array, tol: float | None = None) -> Array:
    """Which cells hold without any habit."""
    theirs = placed.value
    holds = near(theirs, ours, placed.half) | ((ours == -np.inf) & (theirs <= MASKED))
    if tol is not None:
        for at in np.argwhere(~holds & (np.abs(theirs - ours) <= 2 * tol + 1e-9 * np.abs(ours))):
            cell = tuple(at)
            holds[cell] = abs(Decimal(repr(float(theirs[cell]))) - Decimal(f"{ours[cell]:.12g}")) <= Decimal(repr(tol))
    return np.asarray(holds)


def holds(placed: Placed, ours: Array, tol: float | None = None, surely: bool = True) -> bool:
    """Whether every cell that was given does, as it is or by a habit."""
    left = placed.given & ~as_it_is(placed, ours, tol)
    for habit in HABITS.values():
        if not left.any():
            return True
        left &= ~habit(placed, ours, surely)
    return not left.any()


# ------------------------------------------------------------------ habits
def cut_off(placed: Placed, ours: Array, surely: bool) -> Array:
    """Digits cut off instead of rounded."""
    theirs, unit, given = placed.value, placed.unit, placed.given
    with np.errstate(invalid="ignore", divide="ignore"):
        kept = np.trunc(ours / unit + np.sign(ours) * 1e-6) * unit
    cut = (unit > 0) & near(theirs, kept, unit * 1e-6)
    exact = near(theirs, ours, 0.0) | (ours == -np.inf)
    return np.asarray(cut & (not surely or bool((cut | exact | ~given).all())))


def single_precision(placed: Placed, ours: Array, surely: bool) -> Array:
    """Worked in single precision; rounding that explains as much comes first."""
    if surely:
        return np.zeros(placed.shape, bool)
    close = np.abs(placed.value - ours) <= SINGLE * np.maximum(1, np.abs(ours))
    many = placed.digits >= SINGLE_DIGITS
    if many.any() and close[many].all():  # small numbers among them have as many decimals, and fewer digits
        many |= (placed.unit > 0) & (placed.unit <= 1.000001 * 10.0**-SINGLE_DIGITS)
    return np.asarray(many & close)


def adjusted(placed: Placed, ours: Array, surely: bool) -> Array:
    """Rows of weights that were changed by a unit here and there so as to sum to exactly 1, where the correctly rounded row does not."""
    rows = np.zeros(placed.shape[:-1], bool)
    if placed.step == "weights":
        theirs, unit, given = placed.value, placed.unit, placed.given | placed.left_out
        for row in np.argwhere(given.all(-1) & (unit > 0).any(-1)):
            at = tuple(row)
            rows[at] = _is_adjusted(np.where(placed.left_out[at], 0.0, theirs[at]), ours[at], unit[at])
    return np.broadcast_to(rows[..., None], placed.shape)


def _is_adjusted(theirs: Array, ours: Array, unit: Array) -> bool:
    """Whether a row of weights is the correctly rounded one, but for a unit in as many cells as it takes to sum to 1."""
    honest = rounded(ours, unit)
    lacking = 1 - _sum(honest)
    if _sum(theirs) != 1 or lacking == 0:
        return False
    moved = ~near(theirs, honest, unit * 1e-6)
    by = np.sign(float(lacking)) * unit
    needed = -(-abs(lacking) // Decimal(f"{unit.max():.12g}"))
    in_order = all(theirs[i] >= theirs[j] for i, j in np.argwhere(ours[:, None] > ours[None, :] + 1e-12))
    return bool(near(theirs[moved], honest[moved] + by[moved], unit[moved] * 1e-6).all() and moved.sum() <= needed and in_order)


def _sum(row: Array) -> Decimal:
    """In decimals."""
    return sum((Decimal(f"{cell:.12g}") for cell in row), Decimal(0))


HABITS: Mapping[str, Habit] = {"cut_off": cut_off, "single_precision": single_precision, "adjusted": adjusted}


# ------------------------------------------------------------------ constants rounded
def with_constants(submission: Submission, placed: Placed, left: Array, numbers: Numbers, mistake: Replacements | None = None) -> Array:
    """Which of the cells that are left follow, as all others but for single slips do, where e or a root was rounded.

    Beside a mistake in hidden steps, if one is said.
    """
    none = np.zeros(placed.shape, bool)
    theirs, given = placed.value, placed.given
    ours = submission.follows(placed, submission.run(numbers.given, mistake), numbers)
    with np.errstate(invalid="ignore"):
        near_by = np.abs(theirs - ours) <= CONSTANT_MOVES * np.max(np.abs(ours), initial=0.0, where=np.isfinite(ours)) + 2 * placed.unit
    if 2 * (left & near_by).sum() < left.sum():
        return none
    best, most = None, 0
    for instead in _constants(submission, placed, mistake):
        for given_numbers in (numbers.given, {}):
            hides = submission.hides(placed.step, given_numbers, instead)
            for rounding in (None, placed.answer.rounding) if hides else (None,):
                made = submission.run(given_numbers, instead, rounding).step(placed.step).made.value
                found = left & near(theirs, made, placed.half)
                if found.sum() > most:
                    best, most = (instead, found), int(found.sum())
        if most == left.sum():
            break
    if best is None:
        return none
    instead, found = best
    if most < left.sum() and submission.moves(placed.step):
        found = found | reached(submission, placed, left & ~found, numbers, placed.answer.rounding, instead)
    slips = int((left & ~found).sum())
    return found if slips <= 1 or 4 * slips <= given.sum() else none


def _constants(submission: Submission, placed: Placed, mistake: Replacements | None) -> Sequence[Replacements]:
    """The ways of `rounded_constants` beside a mistake, made once for a class."""
    key = "constants", placed.step, submission.handed, id(mistake) if mistake else None
    if key not in submission.common:
        ways = rounded_constants(submission.truth, placed, submission.handed)
        submission.common[key] = mistake, [{**(mistake or {}), **constants} for constants in ways]
    found: Sequence[Replacements] = submission.common[key][1]
    return found


def rounded_constants(truth: Trace, placed: Placed, handed: frozenset[str]) -> Iterator[Replacements]:
    """Ways to work a step with e, √d_k or 1 / √d_k rounded, in it or in steps before it that were not handed in; the finest first."""
    names = [each.name for each in truth]
    hidden = {name for name in names[: names.index(placed.step)] if name not in handed} | {placed.step}
    scaled = next((name for name in ("raw_scores", "scores") if name in truth), "") if "products" in truth else ""
    roots: list[Replacements] = [{}]
    if scaled in hidden:
        roots += [{scaled: scaled_by(divisor)} for divisor in _rounded_roots(truth, hides=scaled != placed.step)]
    bases: list[Replacements] = [{}]
    if "exponentials" in hidden and "exponentials" in truth:
        bases += [{"exponentials": to_the_power(round(float(np.e), n))} for n in reversed(E_DECIMALS)]
    yield from ({**root, **base} for root, base in list(product(roots, bases))[1:])


def _rounded_roots(truth: Trace, hides: bool) -> Iterator[float]:
    """What the products may be divided by instead of √d_k, or of a root that the problem's own scale is.

    Hidden scores that a rounded reciprocal gives are left out where rounding those scores themselves gives them, too.
    """
    scale = truth.problem.scale
    root = float(np.sqrt(truth.sizes.d_k or 0)) if scale is None else 1 / scale if scale > 0 else 0.0
    if not root or min(abs(x * x - round(x * x)) for x in (root, 1 / root)) > 1e-9:
        return
    products = truth.step("products").made.value
    for n in reversed(ROOT_DECIMALS):
        if abs(round(root, n) - root) > 1e-12 * root:
            yield round(root, n)
        factor = round(1 / root, n)
        early = hides and bool(near(products * factor, rounded(products / root, 10.0**-n), 0.0).all())
        if factor and abs(factor * root - 1) > 1e-12 and not early:
            yield 1 / factor
