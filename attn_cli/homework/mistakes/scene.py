"""A problem in which mistakes are looked for, and the engine's own words for making them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

from attn_cli.engine import operations as op
from attn_cli.engine.arrays import Array
from attn_cli.engine.attention import adjusted, affine, cut, output, project, raw_scores, repeated, tempered
from attn_cli.engine.modes import MODES
from attn_cli.engine.operations import Named
from attn_cli.engine.problem import Problem, Sizes
from attn_cli.engine.steps import Instead, Recorder, Trace
from attn_cli.homework.replacements import before, needed

PROJECTIONS = ("Q", "K", "V")


@dataclass(frozen=True, eq=False)
class Scene:
    """A problem in which mistakes are looked for."""

    truth: Trace

    @property
    def problem(self) -> Problem:
        return self.truth.problem

    @property
    def sizes(self) -> Sizes:
        return self.truth.sizes

    # ------------------------------------------------------------------ which steps there are
    def has(self, step: str) -> bool:
        return step in self.truth

    def first(self, *steps: str) -> str | None:
        return next((step for step in steps if self.has(step)), None)

    @cached_property
    def score(self) -> str | None:
        """The step that holds the score function's value, before any scale."""
        return None if self.problem.scores is not None else self.first("products", "raw_scores", "scores")

    @cached_property
    def scaled(self) -> str | None:
        """The step in which the scale is applied."""
        return self.first("raw_scores", "scores") if self.has("products") else None

    @cached_property
    def mixed(self) -> str | None:
        """The step in which weights meet values."""
        return self.first("heads", "concat", "output") if self.has("V") else None

    @cached_property
    def joined(self) -> str | None:
        """The step in which the heads are joined."""
        return self.first("concat", "output") if self.has("heads") else None

    @property
    def projected(self) -> list[str]:
        """Those of Q, K and V that are worked out."""
        return [name for name in PROJECTIONS if self.has(name) and getattr(self.problem, name) is None]

    # ------------------------------------------------------------------ the engine's own words, on something else
    def projection(self, name: str, problem: Problem) -> Instead:
        """Q, K or V as another problem has it."""
        heads = self.sizes.h if name == "Q" else self.sizes.kv_heads
        return lambda made: cut(project(name, problem), heads, self.sizes.h)

    def scores(self, q: Named, k: Named, problem: Problem | None = None) -> Named:
        """The score function's value before any scale; a key for every query head."""
        kept = Kept()
        s = raw_scores(q, k, problem or self.problem, kept)
        return kept.made.get("products", s)

    def hidden(self, q: Named, k: Named, problem: Problem | None = None) -> Named:
        """The hidden units of the additive score; a key for every query head."""
        kept = Kept()
        raw_scores(q, k, problem or self.problem, kept)
        return kept.made["hidden"]

    def q_k(self, made: Named) -> tuple[Named, Named]:
        """The queries and keys that a value comes from; a key for every query head."""
        return needed(made, "Q"), repeated(needed(made, "K"), self.sizes)

    def with_parameters(self, **parameters: Array) -> Problem:
        """The problem with other parameters of its score function."""
        return replace(self.problem, parameters={**self.problem.parameters, self.problem.score: parameters})

    def closed(self, made: Named, **changes: Any) -> Named:
        """Softcap, bias and mask of a changed problem, over the raw scores that `made` comes from."""
        capped = before(made, "capped")
        if capped is not None:
            return adjusted(capped, replace(self.problem, softcap=None, **changes), self.sizes, Kept())
        return adjusted(needed(made, "raw_scores"), replace(self.problem, **changes), self.sizes, Kept())

    def weights(self, s: Named, mode: str | None = None) -> Named:
        return MODES[mode or self.problem.mode].function(s, self.problem, Kept())

    def received(self, made: Named) -> Named:
        """The scores that the mode received, given the weights it made."""
        s = made.operands[2] if isinstance(made.operation, op.Softmax) else made.operands[0]
        return s.operands[0] if self.problem.mode == "gumbel" else s

    def tempered(self, s: Named) -> Named:
        return tempered(s, self.problem, Kept())

    def mix(self, made: Named, a: Named | None = None, v: Named | None = None) -> Named:
        """The step in which weights meet values, with other weights or values."""
        a, v = a or needed(made, "weights"), v or needed(made, "V")
        kept = Kept()
        o = output(a, repeated(v, self.sizes), self.problem, self.sizes, kept)
        assert self.mixed is not None
        return kept.made.get(self.mixed, o)

    def last(self, made: Named, **changes: Any) -> Named:
        """The output projection of a changed problem."""
        return affine(needed(made, "concat"), "W_O", "b_O", replace(self.problem, **changes))


class Kept(Recorder):
    """A recorder that passes everything on as it is and remembers it by name."""

    def __init__(self) -> None:
        super().__init__()
        self.made: dict[str, Named] = {}

    def __call__(self, name: str, made: Named) -> Named:
        self.made[name] = made
        return made


def subsets(names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """All of them first: who errs once errs everywhere; then single ones and pairs."""
    for size in sorted(range(1, len(names) + 1), key=lambda n: (n != len(names), n)):
        yield from combinations(names, size)


def square(matrix: Array) -> bool:
    return bool(matrix.shape[0] == matrix.shape[1])
