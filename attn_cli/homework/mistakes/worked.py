"""The known mistakes of method in one problem, each worked out to the end."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from attn_cli.engine.arrays import Array
from attn_cli.engine.operations import Named
from attn_cli.engine.steps import Instead, Trace
from attn_cli.engine.training import again
from attn_cli.errors import InputError
from attn_cli.homework.mistakes.registry import MISTAKES, Mistake
from attn_cli.homework.mistakes.scene import Scene
from attn_cli.homework.replacements import Replacements, minus_max
from attn_cli.homework.rounding import PROPORTIONS, near

FAILS: tuple[type[Exception], ...] = (InputError, ValueError, IndexError, AssertionError)
"""What a mistake raises where its shapes do not fit together."""


@dataclass(frozen=True, eq=False)
class Variant:
    """One way to make a known mistake."""

    mistake: Mistake
    instead: Replacements
    values: Mapping[str, Array]
    """What every step comes to when it is made from our own numbers, up to where the shapes no longer fit together."""
    changes: bool
    """Whether any step that it touches comes to other numbers than it should."""

    @property
    def code(self) -> str:
        return self.mistake.code

    @cached_property
    def _less_max(self) -> Replacements:
        return {"exponentials": minus_max, **self.instead}

    def manners(self, step: str) -> list[Replacements]:
        """The mistake as it is; at exponentials and their sums also as somebody makes it who takes the row's maximum off before exp."""
        return [self.instead, self._less_max] if step in PROPORTIONS and "exponentials" not in self.instead else [self.instead]


def variants(truth: Trace) -> list[Variant]:
    """Every way to make a mistake that applies to the problem."""
    scene, found = Scene(truth), []
    for mistake in MISTAKES.entries():
        for instead in mistake.variants(scene):
            values = _values(truth, instead)
            if any(name in values for name in instead):
                changes = any(name not in values or not same(values[name], truth.step(name).made.value) for name in instead)
                found.append(Variant(mistake, instead, values, changes))
    return found


def _values(truth: Trace, instead: Replacements) -> Mapping[str, Array]:
    values: dict[str, Array] = {}

    def keep(name: str, mistake: Instead | None) -> Instead:
        def kept(made: Named) -> Named:
            made = mistake(made) if mistake else made
            values[name] = made.value
            return made

        return kept

    with np.errstate(all="ignore"), suppress(*FAILS):
        again(truth, instead={step.name: keep(step.name, instead.get(step.name)) for step in truth})
    return values


def same(a: Array, b: Array) -> bool:
    """Whether two steps come to the same numbers."""
    return a.shape == b.shape and bool((near(a, b, 1e-12) | (np.isnan(a) & np.isnan(b))).all())
