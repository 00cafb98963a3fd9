"""Known mistakes. Each is one function that says what someone making it would put in place of which steps.

A mistake yields variants, the likeliest first: for each step it touches, a function from the value as it should be (with
the operands it was made of) to the one that results. Most of them are the engine's own words applied to something else:
another matrix, another order, another axis. To add one, register it here and give it its sentences in
`render/lang`; marking, the report and the tests find it in the registry. The simplest stand first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import combinations, permutations
from typing import Any

import numpy as np

from attn_cli.engine import operations as op
from attn_cli.engine.attention import closed, cut, given_input, output, project, raw_scores, repeated
from attn_cli.engine.expression import Expr, constant, symbol
from attn_cli.engine.gradient import ordered
from attn_cli.engine.masks import allowed
from attn_cli.engine.modes import MODES
from attn_cli.engine.operations import Named
from attn_cli.engine.problem import Array, Mask, Problem, source
from attn_cli.engine.steps import Instead, Recorder, Trace
from attn_cli.homework.verdicts import Finite, Replacements, minus_max

PROJECTIONS = ("Q", "K", "V")


@dataclass(frozen=True, eq=False)
class Scene:
    """A problem in which mistakes are looked for."""

    truth: Trace

    @property
    def problem(self) -> Problem:
        return self.truth.problem

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

    # ------------------------------------------------------------------ the engine's own words
    def projection(self, name: str, problem: Problem) -> Instead:
        """Q, K or V as another problem has it."""
        heads = self.truth.sizes.h if name == "Q" else self.truth.sizes.kv_heads
        return lambda made: cut(project(name, problem), heads, self.truth.sizes.h)

    def scores(self, q: Named, k: Named, problem: Problem | None = None) -> Named:
        """The score function's value before any scale; a key for every query head."""
        kept = Kept()
        s = raw_scores(q, k, problem or self.problem, kept)
        return kept.made.get("products", s)

    def closed(self, made: Named, **changes: Any) -> Named:
        """Softcap, bias and mask of a changed problem, over the raw scores that `made` comes from."""
        raw = before(made, "capped") if "softcap" not in changes else None
        changes = {**changes, "softcap": None} if raw is not None else changes
        raw = raw or before(made, "raw_scores")
        assert raw is not None
        return closed(raw, replace(self.problem, **changes), self.truth.sizes, Kept())

    def weights(self, s: Named, mode: str | None = None) -> Named:
        return MODES[mode or self.problem.mode].function(s, self.problem, Kept())

    def received(self, made: Named) -> Named:
        """The scores that the mode received, given the weights it made."""
        s = made.operands[2] if isinstance(made.operation, op.Softmax) else made.operands[0]
        return s.operands[0] if self.problem.mode == "gumbel" else s

    def tempered(self, s: Named) -> Named:
        return s if self.problem.temperature == 1 else op.over(symbol("T", number=self.problem.temperature))(s)


class Kept(Recorder):
    """A recorder that passes everything on as it is and remembers it by name."""

    def __init__(self) -> None:
        super().__init__()
        self.made: dict[str, Named] = {}

    def __call__(self, name: str, made: Named) -> Named:
        self.made[name] = made
        return made


def before(made: Named, name: str) -> Named | None:
    """The step of that name that a value comes from."""
    return next((node for node in ordered(made) if node.name == name), None)


Variants = Iterator[Replacements]
Mistake = Callable[[Scene], Variants]


@dataclass(frozen=True)
class Entry:
    """A known mistake."""

    code: str
    variants: Mistake
    beside: bool = False
    """Only where the scores were handed in, so that it cannot have happened before them."""


MISTAKES: dict[str, list[Entry]] = {}
"""By code, in the order of registration; one code may have several functions, for the steps it may happen at."""


def mistake(code: str, *, beside: bool = False) -> Callable[[Mistake], Mistake]:
    """Decorator that registers a mistake under its code."""

    def add(function: Mistake) -> Mistake:
        MISTAKES.setdefault(code, []).append(Entry(code, function, beside))
        return function

    return add


def subsets(names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """All of them first: who errs once errs everywhere; then single ones and pairs."""
    for size in sorted(range(1, len(names) + 1), key=lambda n: (n != len(names), n)):
        yield from combinations(names, size)


turn = op.Reindex(lambda a: np.swapaxes(a, -1, -2), "turn")


def over_rows(x: Named) -> Named:
    return op.divide(x, op.row_sum_kept(x))


def in_one_row(x: Named) -> Named:
    return op.Reindex(lambda a: a.reshape(*a.shape[:-2], 1, -1), "in one row")(x)


def unfolded(x: Named, shape: tuple[int, ...]) -> Named:
    return op.Reindex(lambda a: a.reshape(shape), "in rows")(x)


@dataclass(frozen=True)
class Mean(op.Operation):
    """The mean over the heads: (h, n, m) -> (n, m)."""

    def value(self, *arrays: Array) -> Array:
        return np.asarray(np.mean(arrays[0], axis=0))

    def formula(self, *exprs: Expr) -> Expr:
        return exprs[0]

    def pull(self, g: Named, out: Named) -> tuple[Named | None, ...]:
        shape = out.operands[0].value.shape
        return (op.revalued(g, np.broadcast_to(g.value / shape[0], shape)),)


# ------------------------------------------------------------------ the scale
def rescaled(scene: Scene, by: float) -> Variants:
    """Divided by something else."""
    if scene.scaled is not None and by > 0:

        def divided(made: Named) -> Named:
            p = before(made, "products")
            assert p is not None
            return p if by == 1 else op.over(constant(by))(p)

        yield {scene.scaled: divided}


@mistake("no_scale")
def no_scale(scene: Scene) -> Variants:
    return rescaled(scene, 1)


@mistake("scale_d_k")
def scale_d_k(scene: Scene) -> Variants:
    return rescaled(scene, scene.truth.sizes.d_k or 0)


@mistake("scale_twice")
def scale_twice(scene: Scene) -> Variants:
    if scene.scaled is not None:
        yield {scene.scaled: lambda made: made.operation(made) if isinstance(made.operation, op.Scale) else made}


@mistake("scale_sqrt_n")
def scale_sqrt_n(scene: Scene) -> Variants:
    for n in dict.fromkeys((scene.truth.sizes.n, scene.truth.sizes.m)):
        yield from rescaled(scene, float(np.sqrt(n)))


@mistake("scale_sqrt_d_model")
def scale_sqrt_d_model(scene: Scene) -> Variants:
    sizes, x = scene.truth.sizes, scene.problem.X
    widths = [0 if x is None else x.shape[1], sizes.h * (sizes.d_k or 0)]
    for width in dict.fromkeys(widths):
        if width != sizes.d_k:
            yield from rescaled(scene, float(np.sqrt(width)))


# ------------------------------------------------------------------ scores into weights
@mistake("softmax_columns")
def softmax_columns(scene: Scene) -> Variants:
    """Along the other axis."""

    def along_the_other(made: Named) -> Named:
        if isinstance(made.operation, op.Softmax):
            return turn(over_rows(turn(made.operands[0])))
        return turn(scene.weights(turn(scene.received(made))))

    yield {"weights": along_the_other}
    if scene.has("row_sums"):
        yield {"row_sums": lambda made: op.row_sum(turn(made.operands[0]))}


@mistake("softmax_all")
def softmax_all(scene: Scene) -> Variants:
    """Over the whole matrix at once."""

    def at_once(made: Named) -> Named:
        if isinstance(made.operation, op.Softmax):
            return unfolded(over_rows(in_one_row(made.operands[0])), made.value.shape)
        return unfolded(scene.weights(in_one_row(scene.received(made))), made.value.shape)

    yield {"weights": at_once}
    if scene.has("row_sums"):

        def total(made: Named) -> Named:
            e = made.operands[0]
            whole = op.row_sum(in_one_row(e))
            return op.Reindex(lambda a: np.broadcast_to(a, made.value.shape), "every row")(whole)

        yield {"row_sums": total}


@mistake("not_normalised")
def not_normalised(scene: Scene) -> Variants:
    """Exponentials taken as weights, of the scores or of those less their row's maximum; a cosine not divided by the lengths."""
    if scene.has("exponentials"):
        yield {"weights": lambda made: made.operands[0]}
        yield {"weights": lambda made: minus_max(made.operands[0])}
    if scene.problem.score == "cosine" and scene.score is not None:
        yield {scene.score: lambda made: op.product_t(*_q_k(made, scene))}


@mistake("no_exponentials")
def no_exponentials(scene: Scene) -> Variants:
    """Scores divided by their sum."""
    if scene.has("exponentials"):
        yield {"weights": lambda made: over_rows(Finite()(scene.received(made)))}
        yield {"exponentials": lambda made: Finite()(made.operands[0])}


@mistake("hard_for_soft")
def hard_for_soft(scene: Scene) -> Variants:
    if scene.problem.mode != "hard":
        yield {"weights": lambda made: scene.weights(scene.received(made), "hard")}


@mistake("soft_for_hard")
def soft_for_hard(scene: Scene) -> Variants:
    if scene.problem.mode != "soft":
        yield {"weights": lambda made: scene.weights(scene.received(made), "soft")}


@mistake("unscaled_softmax", beside=True)
def unscaled_softmax(scene: Scene) -> Variants:
    """Scores right, weights from the unscaled ones."""
    if scene.has("products"):

        def from_products(made: Named) -> Named:
            p = before(made, "products")
            assert p is not None
            return scene.weights(scene.tempered(closed(p, scene.problem, scene.truth.sizes, Kept())))

        yield {"weights": from_products}


@mistake("temperature_ignored")
def temperature_ignored(scene: Scene) -> Variants:
    if scene.has("tempered"):
        yield {"tempered": lambda made: made.operands[0]}


@mistake("temperature_ignored", beside=True)
def temperature_ignored_in_weights(scene: Scene) -> Variants:
    if scene.has("tempered"):
        yield {"weights": lambda made: scene.weights(_needed(made, "scores"))}


# ------------------------------------------------------------------ masks
def masked(scene: Scene) -> bool:
    return scene.problem.mask is not None and scene.problem.mask.closes


def open_cells(scene: Scene) -> Array:
    sizes = scene.truth.sizes
    assert scene.problem.mask is not None
    may = allowed(scene.problem.mask, sizes.h, sizes.n, sizes.m)
    return np.asarray(np.broadcast_to(may, scene.truth.step("scores").made.value.shape))


def unmasked(made: Named) -> Named:
    """The scores before the mask."""
    return made.operands[0] if isinstance(made.operation, op.Close) else made


@mistake("mask_ignored")
def mask_ignored(scene: Scene) -> Variants:
    if masked(scene):
        yield {"scores": unmasked}


@mistake("mask_ignored", beside=True)
def mask_ignored_in_weights(scene: Scene) -> Variants:
    if masked(scene):
        yield {"weights": lambda made: scene.weights(scene.tempered(unmasked(_needed(made, "scores"))))}


@mistake("mask_as_zero")
def mask_as_zero(scene: Scene) -> Variants:
    """Masked scores as 0 instead of −∞."""
    if masked(scene):
        yield {"scores": Finite()}


@mistake("mask_as_zero", beside=True)
def mask_as_zero_in_weights(scene: Scene) -> Variants:
    if masked(scene):
        yield {"weights": lambda made: scene.weights(Finite()(scene.received(made)))}


@mistake("mask_flipped")
def mask_flipped(scene: Scene) -> Variants:
    if masked(scene):
        may = open_cells(scene)
        yield {"scores": partial(_closed_by, may=~may)}


@mistake("mask_off_by_one")
def mask_off_by_one(scene: Scene) -> Variants:
    if not masked(scene):
        return
    mask, sizes = scene.problem.mask, scene.truth.sizes
    assert mask is not None
    changed: list[Mask] = []
    for by in (-1, 1):
        if mask.causal or mask.window is not None:
            changed.append(replace(mask, offset=mask.offset + by))
        if mask.window is not None:
            left, right = (None if side is None else side + by for side in mask.window)
            if (left or 0) >= 0 and (right or 0) >= 0:
                changed.append(replace(mask, window=(left, right)))
        if mask.lengths is not None and 0 <= mask.lengths + by <= sizes.m:
            changed.append(replace(mask, lengths=mask.lengths + by))
    variants = [np.broadcast_to(allowed(m, sizes.h, sizes.n, sizes.m), open_cells(scene).shape) for m in changed]
    may = open_cells(scene)
    if not changed:
        ahead = np.arange(sizes.m) - np.arange(sizes.n)[:, None]
        if np.array_equal(may, np.broadcast_to(ahead <= 0, may.shape)):
            variants = [np.broadcast_to(ahead <= by, may.shape) for by in (-1, 1)]
    for other in variants:
        yield {"scores": partial(_closed_by, may=other)}


def _closed_by(made: Named, may: Array) -> Named:
    return op.Close(allowed=may)(unmasked(made))


@mistake("mask_added")
def mask_added(scene: Scene) -> Variants:
    """0 and 1 added to the scores."""
    if masked(scene):
        may = open_cells(scene).astype(float)
        for added in (may, 1 - may):
            yield {"scores": partial(_added, mask=op.given("mask", added, symbol("M")))}


def _added(made: Named, mask: Named) -> Named:
    return op.add(unmasked(made), mask)


@mistake("mask_after_softmax")
def mask_after_softmax(scene: Scene) -> Variants:
    """Masked weights set to 0 without dividing again."""
    if masked(scene):
        may = op.given("mask", open_cells(scene).astype(float), symbol("M"))
        yield {"weights": lambda made: op.multiply(scene.weights(scene.tempered(unmasked(_needed(made, "scores")))), may)}


# ------------------------------------------------------------------ queries against keys
def _needed(made: Named, name: str) -> Named:
    found = before(made, name)
    if found is None:
        raise ValueError(f"nothing here comes from {name}")
    return found


def _q_k(made: Named, scene: Scene) -> tuple[Named, Named]:
    return _needed(made, "Q"), repeated(_needed(made, "K"), scene.truth.sizes)


@mistake("Q_K_swapped")
def q_k_swapped(scene: Scene) -> Variants:
    if scene.score is not None:

        def swapped(made: Named) -> Named:
            q, k = _q_k(made, scene)
            return scene.scores(k, q)

        yield {scene.score: swapped}


@mistake("Q_Q")
def q_q(scene: Scene) -> Variants:
    if scene.score is not None:

        def with_itself(made: Named) -> Named:
            q = _needed(made, "Q")
            return scene.scores(q, q)

        yield {scene.score: with_itself}


@mistake("tanh_forgotten")
def tanh_forgotten(scene: Scene) -> Variants:
    if scene.has("hidden"):
        yield {"hidden": lambda made: made.operands[0]}
        if scene.score is not None:
            yield {scene.score: _without_tanh}
    if scene.problem.softcap is not None:
        if scene.has("capped"):
            yield {"capped": lambda made: _needed(made, "raw_scores")}
        else:
            yield {"scores": lambda made: _needed(made, "raw_scores")}


def _without_tanh(made: Named) -> Named:
    """vᵀ·x over what the hidden layer was made of."""
    hidden, v = made.operands
    return op.weigh(hidden.operands[0], v)


@mistake("v_forgotten")
def v_forgotten(scene: Scene) -> Variants:
    """The hidden units added up without v."""
    if scene.has("hidden") and scene.score is not None:
        v = scene.problem.parameters["additive"]["v"]
        yield {scene.score: lambda made: op.weigh(_needed(made, "hidden"), op.given("ones", np.ones(v.shape), symbol("1")))}


# ------------------------------------------------------------------ values
def _mix(scene: Scene, made: Named, a: Named | None = None, v: Named | None = None) -> Named:
    """The step in which weights meet values, with other weights or values."""
    a, v = a or _needed(made, "weights"), v or _needed(made, "V")
    kept = Kept()
    o = output(a, repeated(v, scene.truth.sizes), scene.problem, scene.truth.sizes, kept)
    assert scene.mixed is not None
    return kept.made.get(scene.mixed, o)


@mistake("K_for_V")
def k_for_v(scene: Scene) -> Variants:
    if scene.mixed is not None and scene.has("K"):
        yield {scene.mixed: lambda made: _mix(scene, made, v=_needed(made, "K"))}
        if scene.problem.V is None:
            yield {"V": scene.projection("K", scene.problem)}


@mistake("X_for_V")
def x_for_v(scene: Scene) -> Variants:
    if scene.mixed is None or scene.problem.V is not None:
        return
    name = source(scene.problem, "V")

    def unprojected(made: Named) -> Named:
        sizes = scene.truth.sizes
        return cut(given_input(name, scene.problem), sizes.kv_heads, sizes.h)

    yield {"V": unprojected}
    yield {scene.mixed: lambda made: _mix(scene, made, v=unprojected(made))}


@mistake("weights_transposed")
def weights_transposed(scene: Scene) -> Variants:
    if scene.mixed is not None and scene.truth.sizes.n == scene.truth.sizes.m:
        yield {scene.mixed: lambda made: _mix(scene, made, a=turn(_needed(made, "weights")))}


# ------------------------------------------------------------------ projections
def _changed(scene: Scene, names: Sequence[str], change: Callable[[str], dict[str, Any]]) -> Variants:
    """Q, K and V with something changed: in all of them, or in some."""
    for some in subsets(names):
        yield {name: scene.projection(name, replace(scene.problem, **change(name))) for name in some}


@mistake("W_transposed")
def w_transposed(scene: Scene) -> Variants:
    problem = scene.problem
    names = [name for name in scene.projected if getattr(problem, f"W_{name}") is not None and _square(getattr(problem, f"W_{name}"))]
    yield from _changed(scene, names, lambda name: {f"W_{name}": getattr(problem, f"W_{name}").T})
    if problem.W_O is not None and _square(problem.W_O):
        yield {"output": lambda made: _last(made, scene, W_O=problem.W_O.T if problem.W_O is not None else None)}
    general = problem.parameters.get("general", {})
    if problem.score == "general" and scene.score is not None and _square(general["W"]):
        turned = replace(problem, parameters={**problem.parameters, "general": {"W": general["W"].T}})
        yield {scene.score: lambda made: scene.scores(*_q_k(made, scene), turned)}


def _square(matrix: Array) -> bool:
    return bool(matrix.shape[0] == matrix.shape[1])


def _last(made: Named, scene: Scene, **changes: Any) -> Named:
    """The output projection of a changed problem."""
    from attn_cli.engine.attention import affine

    return affine(_needed(made, "concat"), "W_O", "b_O", replace(scene.problem, **changes))


@mistake("wrong_projection")
def wrong_projection(scene: Scene) -> Variants:
    problem = scene.problem
    for name in scene.projected:
        for other in PROJECTIONS:
            w = getattr(problem, f"W_{other}")
            if other == name or w is None or np.array_equal(w, getattr(problem, f"W_{name}")):
                continue
            own, theirs = getattr(problem, f"b_{name}"), getattr(problem, f"b_{other}")
            for b in [own] if own is None and theirs is None else [theirs, own]:
                yield {name: scene.projection(name, replace(problem, **{f"W_{name}": w, f"b_{name}": b}))}


@mistake("bias_forgotten")
def bias_forgotten(scene: Scene) -> Variants:
    problem = scene.problem
    names = [name for name in scene.projected if getattr(problem, f"b_{name}") is not None]
    yield from _changed(scene, names, lambda name: {f"b_{name}": None})
    if problem.b_O is not None:
        yield {"output": lambda made: _last(made, scene, b_O=None)}
    if problem.bias is not None:
        yield {"scores": lambda made: scene.closed(made, bias=None)}
    additive = problem.parameters.get("additive", {})
    if problem.score == "additive" and "b" in additive and scene.score is not None:
        without = {name: value for name, value in additive.items() if name != "b"}
        other = replace(problem, parameters={**problem.parameters, "additive": without})

        def hidden(made: Named) -> Named:
            kept = Kept()
            raw_scores(*_q_k(made, scene), other, kept)
            return kept.made["hidden"]

        yield {"hidden": hidden}


# ------------------------------------------------------------------ heads
@mistake("heads_averaged")
def heads_averaged(scene: Scene) -> Variants:
    if scene.truth.sizes.h > 1:
        yield {"weights": Mean()}
        if scene.joined is not None:
            yield {scene.joined: lambda made: Mean()(_needed(made, "heads"))}
            if scene.joined == "concat":
                yield {"output": lambda made: Mean()(_needed(made, "heads"))}


@mistake("heads_interleaved")
def heads_interleaved(scene: Scene) -> Variants:
    """Every h-th column to one head; or the numbers dealt out row by row, as a reshape without a transpose does."""
    sizes = scene.truth.sizes
    if sizes.h == 1:
        return
    names = [
        name for name in PROJECTIONS if scene.has(name) and (getattr(scene.problem, name) is None or getattr(scene.problem, name).ndim == 2)
    ]

    def dealt(strided: bool) -> Callable[[Named], Named]:
        def move(a: Array) -> Array:
            h, n, d = a.shape
            joined = np.moveaxis(a, 0, -2).reshape(n, h * d)
            return np.moveaxis(joined.reshape(n, d, h), -1, 0) if strided else joined.reshape(h, n, d)

        return lambda made: op.Reindex(move, "interleaved")(made)

    for strided in (True, False):
        for some in subsets(names):
            yield {name: dealt(strided) for name in some}


@mistake("concat_order")
def concat_order(scene: Scene) -> Variants:
    """The heads joined in another order: reversed, number by number, or head after head."""
    if scene.joined is None:
        return
    h = scene.truth.sizes.h
    orders = list(permutations(range(h)))[:0:-1] if h <= 3 else [tuple(range(h))[::-1]]
    for order in orders:
        yield {scene.joined: partial(_joined, order=order)}
    yield {
        scene.joined: lambda made: op.Reindex(lambda a: np.moveaxis(a, 0, -1).reshape(*a.shape[1:-1], -1), "join")(_needed(made, "heads"))
    }
    yield {scene.joined: lambda made: op.Reindex(lambda a: a.reshape(*a.shape[1:-1], -1), "join")(_needed(made, "heads"))}


def _joined(made: Named, order: tuple[int, ...]) -> Named:
    """The heads joined in an order of their own."""
    return op.join_heads(op.Reindex(lambda a: a[list(order)], "in order")(_needed(made, "heads")))


@mistake("W_O_forgotten")
def w_o_forgotten(scene: Scene) -> Variants:
    if scene.problem.W_O is not None and scene.has("output"):
        yield {"output": lambda made: _needed(made, "concat")}
        if scene.problem.b_O is not None:
            yield {"output": lambda made: _last(made, scene, W_O=None)}
