"""One attention problem: what was given, every key of it in one table, and the sizes that follow.

A problem is always kept with one token a row and weights stored in × out; a text whose tokens are columns is turned
when it is read and turned back when it is shown (`vectors`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

import numpy as np

from attn_cli.engine.arrays import Array, Cell, as_array, shape_text
from attn_cli.engine.keys import Key, judge, key, matrix
from attn_cli.engine.notes import Note
from attn_cli.engine.registry import FAMILIES, Entry
from attn_cli.errors import InputError
from attn_cli.names import did_you_mean, how_to_write, unknown

FAR = 2**53
"""Tokens. No token is farther away: beyond, positions could not be added up in float64."""


@dataclass(frozen=True, eq=False)
class Mask:
    """Who may attend to whom: every part that is given must allow it."""

    causal: bool = key(False, "truth", "no query attends to a key after its own position")
    offset: int = key(0, "whole", "query i stands at key position i + offset", most=FAR)
    window: tuple[int | None, int | None] | None = key(
        None, "window", "how many keys before and after its own position a query may attend to", most=FAR
    )
    lengths: int | None = key(None, "whole", "only the first k keys are real", least=0)
    keep: Array | None = key(None, "truths", "true or 1 where a query may attend: n × m, h × n × m, or m", axes=(1, 2, 3), turns=True)
    drop: Array | None = key(None, "truths", "true or 1 where a query may not attend, in the same shapes", axes=(1, 2, 3), turns=True)

    def __post_init__(self) -> None:
        for part, row in MASK_PARTS.items():
            if (value := getattr(self, part)) is not None:
                object.__setattr__(self, part, judge(row, value))

    @property
    def in_force(self) -> bool:
        """Whether it can mask anything: an offset alone does not."""
        return self.causal or any(part is not None for part in (self.window, self.lengths, self.keep, self.drop))


MASK_PARTS: Mapping[str, Key] = {f.name: f.metadata["key"]._replace(name=f"mask.{f.name}") for f in fields(Mask)}
"""The parts of a mask, each with its row."""


def as_mask(mask: Any) -> Mask | None:
    """A mask from what people write: "causal", an array, or a mapping of a mask's parts."""
    if mask is None or isinstance(mask, Mask):
        return mask
    if isinstance(mask, str):
        if mask != "causal":
            way = how_to_write(mask)
            expected = f": {way}" if way else f"{did_you_mean(mask, ['causal'])}, expected {KEYS['mask'].expected}"
            raise InputError(f"found {mask!r}{expected}", key="mask")
        return Mask(causal=True)
    if not isinstance(mask, Mapping):
        try:
            return Mask(keep=mask)
        except InputError as error:
            raise InputError(error.message, key="mask", cell=error.cell) from None
    for name in mask:
        if name not in MASK_PARTS:
            raise InputError(unknown(str(name), MASK_PARTS, "part"), key="mask")
    return Mask(**{name: part for name, part in mask.items() if part is not None})


@dataclass(frozen=True, eq=False, repr=False)
class Problem:
    """What a problem file says, in numbers. Every field that a file may give has its row beside it (see `keys.Key`)."""

    title: str = key("", "text", "shown on top")
    tokens: tuple[str, ...] | None = key(
        None, "labels", "names of the rows of X (of Q where there is no X); in self-attention of the keys too"
    )
    query_tokens: tuple[str, ...] | None = key(None, "labels", "names of the queries, where the keys have others")
    key_tokens: tuple[str, ...] | None = key(None, "labels", "names of the keys, where the queries have others")
    X: Array | None = matrix("the input sequence, one row a token: n × d_model", "Q K V", 2)
    context: Array | None = matrix("keys and values come from here, queries from X: m × d_context", "K V", 2)
    W_Q: Array | None = matrix("makes the queries, Q = X·W_Q: d_model × h·d_k", "Q", 2)
    W_K: Array | None = matrix("makes the keys, K = context·W_K: d_context × kv_heads·d_k", "K", 2)
    W_V: Array | None = matrix("makes the values, V = context·W_V: d_context × kv_heads·d_v", "V", 2)
    b_Q: Array | None = matrix("a bias of the queries, one number a column", "Q", 1)
    b_K: Array | None = matrix("a bias of the keys, one number a column", "K", 1)
    b_V: Array | None = matrix("a bias of the values, one number a column", "V", 1)
    Q: Array | None = matrix("the queries, given instead of projected: n × h·d_k or h × n × d_k", "Q", 2, 3)
    K: Array | None = matrix("the keys, given instead of projected: m × kv_heads·d_k or kv_heads × m × d_k", "K", 2, 3)
    V: Array | None = matrix("the values, given instead of projected: m × kv_heads·d_v or kv_heads × m × d_v", "V", 2, 3, nan=True)
    scores: Array | None = matrix("the scores, given instead of Q and K: n × m or h × n × m", "scores", 2, 3)
    heads: int | None = key(None, "whole", "the columns of Q, K and V are cut into that many consecutive groups", "Q K V heads", least=1)
    kv_heads: int | None = key(None, "whole", "heads of K and V, each of which serves consecutive query heads", "K V", least=1)
    W_O: Array | None = matrix("applied to the joined heads: h·d_v × d_out", "output", 2)
    b_O: Array | None = matrix("a bias of the output, one number a column", "output", 1)
    weights_layout: str = key(
        "in_out", "word", "out_in: the weights are stored as in PyTorch, Q = X·W_Qᵀ", "Q K V output", words=("in_out", "out_in")
    )
    score: str = key("scaled", "word", "the score function: how well each query matches each key", "hidden products raw_scores scores")
    scale: float | None = key(None, "number", "multiplies the raw score; for scaled it replaces 1/√d_k", "raw_scores")
    parameters: Mapping[str, Mapping[str, Array]] = field(default_factory=dict)
    """Arrays that a score function takes, by its name: {"additive": {"W_q": …, "v": …}}."""
    softcap: float | None = key(None, "number", "scores become c·tanh(scores / c), before the mask", "capped", above=0)
    bias: Array | None = matrix("added to the scores: n × m or h × n × m; -inf masks", "scores", 2, 3, minus_infinity=True)
    mask: Mask | None = key(None, "mask", "who may attend to whom", "scores", turns=True, axes=(1, 2, 3))
    mode: str = key("soft", "word", "how scores become weights", "exponentials row_sums weights")
    temperature: float = key(
        1.0, "number", "scores are divided by it just before the mode", "tempered", above=0, mend="for all weight on one key use mode: hard"
    )
    seed: int = key(0, "whole", "for modes that draw random numbers", "weights", least=0)
    vectors: str = key("rows", "word", "columns: every token is a column", words=("rows", "columns"))
    upstream: Array | None = matrix("the gradient of the loss with respect to the output, in its shape (default: all ones)", "", 2)
    dtype: str = key("float64", "word", "what numbers are worked in", words=("float64", "float32"))
    ask: tuple[str, ...] = key((), "steps", "the steps asked for when answers are marked")
    written: Mapping[tuple[str, Cell], str] = field(default_factory=dict)
    """How numbers were written that are no plain decimals, such as 1/3: by key and cell, in row layout."""
    notes: tuple[Note, ...] = ()
    """What the reader of the file has to say about it."""

    def __post_init__(self) -> None:
        for name, row, default in _JUDGED:
            value = getattr(self, name)
            if value is not default:
                judged = judge(row, value)
                object.__setattr__(self, name, judged)
                if row.kind == "matrix" and row.axes != (1,) and as_array(value).ndim > judged.ndim:
                    object.__setattr__(self, "notes", (*self.notes, Note("batch_dropped", {"name": name})))
        if not (self.mask is None or isinstance(self.mask, Mask)):
            object.__setattr__(self, "mask", as_mask(self.mask))
        if self.parameters:
            object.__setattr__(self, "parameters", _judged_parameters(self.parameters))

    def given(self, *names: str) -> list[str]:
        """Those of the names that the problem gives."""
        return [name for name in names if getattr(self, name) is not None]

    @property
    def columns(self) -> bool:
        """Whether every token is a column in the text that it was read from and is shown in."""
        return self.vectors == "columns"

    @property
    def sides(self) -> tuple[str, str]:
        """What the reader sees the tokens as, and the features of one token."""
        return ("columns", "rows") if self.columns else ("rows", "columns")

    def shown(self, *shape: int) -> str:
        """A shape as the reader sees it: 3 × 4."""
        return shape_text(shape, self.columns)

    def as_dtype(self) -> Problem:
        """With every array in the problem's dtype, so that whole numbers can never wrap around."""
        arrays = [getattr(self, name) for name in ARRAYS]
        arrays += [value for given in self.parameters.values() for value in given.values()]
        if all(array is None or (type(array) is np.ndarray and array.dtype == self.dtype) for array in arrays):
            return self
        cast: dict[str, Any] = {name: self._cast(name, getattr(self, name)) for name in self.given(*ARRAYS)}
        cast["parameters"] = {
            score: {name: self._cast(f"{score}.{name}", value) for name, value in arrays.items()}
            for score, arrays in self.parameters.items()
        }
        return replace(self, **cast)

    def _cast(self, key: str, value: Any) -> Array:
        with np.errstate(over="ignore"):
            cast = np.asarray(value, dtype=self.dtype)
        lost = np.isinf(cast) & np.isfinite(value)
        if lost.any():
            at = tuple(int(i) for i in np.argwhere(lost)[0])
            raise InputError(f"found {np.asarray(value)[at]:g}, which is more than {self.dtype} can hold", key=key, cell=at)
        return cast


def _judged_parameters(parameters: Any) -> dict[str, dict[str, Array]]:
    """The arrays of score functions, each judged by its row."""
    for name, arrays in [("parameters", parameters), *(parameters.items() if isinstance(parameters, Mapping) else ())]:
        if not isinstance(arrays, Mapping):
            raise InputError(f"found {arrays!r:.40}, expected a mapping of arrays by name", key=name)
    return {score: {name: judge(parameter(score, name), value) for name, value in arrays.items()} for score, arrays in parameters.items()}


# ------------------------------------------------------------------ the table of keys
KEYS: Mapping[str, Key] = {
    **{f.name: f.metadata["key"]._replace(name=f.name) for f in fields(Problem) if "key" in f.metadata},
    "answers": Key("answers", "someone's worked numbers, by the name of their step", name="answers"),
}
"""Every key that a problem file may give, with its row, but for the arrays of score functions (see `known_keys`)."""
ARRAYS = tuple(name for name, row in KEYS.items() if row.kind == "matrix")
_JUDGED = [(f.name, KEYS[f.name], f.default) for f in fields(Problem) if "key" in f.metadata and f.name != "mask"]


def known_keys() -> dict[str, Key]:
    """Every key of a problem file, the names of score functions that take arrays included."""
    families = {e.name: Key("arrays", f"what the score function {e.name} takes", name=e.name) for e in taking_arrays()}
    return {**KEYS, **families}


def taking_arrays() -> list[Entry[Any]]:
    """The score functions that take arrays of their own, once their module is imported."""
    return [entry for entry in FAMILIES["score"].entries() if entry.parameters] if "score" in FAMILIES else []


def parameter(score: str, name: str) -> Key:
    """The row of an array of a score function, such as `additive.W`."""
    axes = next((entry.parameters.get(name) for entry in taking_arrays() if entry.name == score), None)
    return Key("matrix", f"an array of {score}", axes=(0, 1, 2) if axes is None else (axes,), name=f"{score}.{name}")


def row_of(name: str) -> Key | None:
    """The row of a key, of a part of the mask (`mask.keep`) or of an array of a score function (`additive.W`)."""
    whole, _, part = name.partition(".")
    if not part:
        return known_keys().get(name)
    if whole == "mask":
        return MASK_PARTS.get(part)
    return parameter(whole, part) if any(entry.name == whole and part in entry.parameters for entry in taking_arrays()) else None


# ------------------------------------------------------------------ sizes
class Sizes(NamedTuple):
    """The sizes of a problem that fits together."""

    n: int
    """Queries."""
    m: int
    """Keys."""
    h: int
    """Query heads."""
    kv_heads: int
    d_q: int | None
    """Width of one head's queries; None where scores are given."""
    d_k: int | None
    """Width of one head's keys; None where scores are given."""
    d_v: int | None
    """Width of one head's values; None where there are none."""


def source(problem: Problem, name: str) -> str:
    """The input that Q, K or V is projected from."""
    return "X" if name == "Q" or problem.context is None else "context"


def has_weights(problem: Problem) -> bool:
    return bool(problem.given("W_Q", "W_K", "W_V", "b_Q", "b_K", "b_V"))


def key_of(problem: Problem, name: str) -> str:
    """The key that settles the width of Q, K or V."""
    if getattr(problem, name) is not None:
        return name
    return f"W_{name}" if getattr(problem, f"W_{name}") is not None else source(problem, name)
