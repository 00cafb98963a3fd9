"""Notes on a result: what its reader should know about the choices in force, and the chapter's pitfalls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from attn_cli.engine import operations as op
from attn_cli.engine.arrays import Array, all_finite
from attn_cli.engine.modes import MODES, softened
from attn_cli.engine.notes import Note
from attn_cli.engine.problem import has_weights
from attn_cli.engine.scores import without_noise
from attn_cli.engine.steps import Trace

MANY_ROWS = 8
"""Rows that may attend to nothing; if raised, more of them get a warning each before one stands for all."""
SATURATED = 0.99
"""Weight. A row whose largest weight exceeds it is saturated; if raised, fewer rows are."""
NEAR_UNIFORM = 1.1
"""Shares. A row whose largest weight is less than this many equal shares is nearly uniform; if raised, more rows are."""
FEWEST = 4
"""Keys. A row that may attend to fewer is not said to be nearly uniform."""
WIDE = 16
"""Features of a key. Dot products of keys as wide are said to saturate; if raised, only wider ones are."""


def notes_on(trace: Trace) -> tuple[Note, ...]:
    """Notes on the choices in force and the chapter's pitfalls."""
    return tuple(note for find in (_inputs, _mask, _rows, _zero_rows, _choice, _width, _scaling) for note in find(trace))


def notes_on_long(trace: Trace, empty: Array) -> tuple[Note, ...]:
    """The same where there are no scores and weights to look at; `empty` are the rows that may attend to nothing."""
    return (*_empty(trace, empty), *(note for find in (_inputs, _mask, _zero_rows, _choice, _width) for note in find(trace)))


def _inputs(trace: Trace) -> Iterator[Note]:
    p = trace.problem
    if p.X is not None and not has_weights(p) and not p.given("Q", "K", "V", "scores"):
        yield Note("no_weights", {"context": p.context is not None})
    if p.scores is not None and p.score != "scaled":
        yield Note("score_unused", {"score": p.score})
    if p.X is not None and p.given("Q", "scores") and (p.context is not None or p.given("K", "scores")) and p.V is not None:
        yield Note("unused", {"name": "X"})
    if p.context is not None and p.given("K", "scores") and p.V is not None:
        yield Note("unused", {"name": "context"})


def _mask(trace: Trace) -> Iterator[Note]:
    mask, sizes = trace.problem.mask, trace.sizes
    if mask is not None and mask.causal and sizes.n != sizes.m and mask.offset == 0:
        yield Note("causal_corner", {"n": sizes.n, "m": sizes.m, "offset": sizes.m - sizes.n})
    if mask is not None and mask.offset and not mask.causal and mask.window is None:
        yield Note("offset_unused", {"offset": mask.offset})


def _rows(trace: Trace) -> Iterator[Note]:
    """Rows that may attend to nothing, and rows of equal largest scores."""
    scores, weights = _scores(trace), trace.step("weights").made.value
    if not all_finite(scores):
        yield from _empty(trace, np.argwhere(~np.isfinite(scores).any(axis=-1)))
    if trace.problem.mode == "hard":
        tied = op.ties(scores)
        for at in np.argwhere(tied.sum(axis=-1) > 1):
            row = tuple(at)
            keys = tuple(trace.key_labels[int(j)] for j in np.flatnonzero(tied[row]))
            yield Note("tie", {**_row(trace, at), "keys": keys, "chosen": trace.key_labels[int(np.argmax(weights[row]))]})


def _empty(trace: Trace, rows: Array) -> Iterator[Note]:
    """A warning for each row that may attend to nothing, or one for all of them where they are many."""
    if len(rows) > MANY_ROWS:
        named = dict.fromkeys(trace.query_labels[int(at[-1])] for at in rows)
        yield Note("empty_rows", {"count": len(rows), "rows": tuple(named)}, warning=True)
    else:
        yield from (Note("empty_row", _row(trace, at), warning=True) for at in rows)


def _zero_rows(trace: Trace) -> Iterator[Note]:
    """Zero rows under the cosine."""
    if trace.problem.score == "cosine" and trace.problem.scores is None:
        for name, names in (("Q", trace.query_labels), ("K", trace.key_labels)):
            zero = ~without_noise(trace.step(name).made).value.any(axis=-1)
            rows = np.flatnonzero(zero if zero.ndim == 1 else zero.any(axis=0))
            if rows.size:
                yield Note("zero_norm", {"name": name, "rows": tuple(names[int(i)] for i in rows)})


def _choice(trace: Trace) -> Iterator[Note]:
    entry = MODES[trace.problem.mode]
    if not entry.differentiable:
        yield Note("no_gradient", {"mode": entry.name})
    if entry.random:
        yield Note("seed", {"seed": trace.problem.seed})


def _width(trace: Trace) -> Iterator[Note]:
    """Dot products of wide keys."""
    p, sizes = trace.problem, trace.sizes
    if p.score == "dot" and p.scores is None and p.scale is None and (sizes.d_k or 0) >= WIDE:
        yield Note("unscaled", {"d_k": sizes.d_k, "deviation": float(np.sqrt(sizes.d_k or 1))})


def _scaling(trace: Trace) -> Iterator[Note]:
    """Saturated and near-uniform rows of soft weights."""
    p, sizes = trace.problem, trace.sizes
    if p.mode != "soft":
        return
    largest = trace.step("weights").made.value.max(axis=-1)
    if largest.max() <= SATURATED and largest.min() >= NEAR_UNIFORM / FEWEST:
        return
    keys = np.isfinite(_scores(trace)).sum(axis=-1)
    saturated = np.argwhere((largest > SATURATED) & (keys > 1))
    if len(saturated):
        values: dict[str, Any] = {**_row(trace, saturated[0]), "rows": len(saturated), "largest": float(largest[tuple(saturated[0])])}
        if p.score == "dot" and p.scale is None and p.scores is None and sizes.d_k and sizes.d_k > 1:
            values |= {"d_k": sizes.d_k, "scaled": float(_scaled(trace, tuple(saturated[0])).max())}
        yield Note("saturated", values)
    uniform = np.argwhere((largest < NEAR_UNIFORM / keys.clip(1)) & (keys >= FEWEST))
    if len(uniform):
        yield Note(
            "near_uniform",
            {
                **_row(trace, uniform[0]),
                "rows": len(uniform),
                "keys": int(keys[tuple(uniform[0])]),
                "largest": float(largest[tuple(uniform[0])]),
            },
        )


def _scaled(trace: Trace, at: tuple[int, ...]) -> Array:
    """A row of weights as the scaled dot product would have it; softcap, bias, mask and temperature as they are: (m,)"""
    p, final = trace.problem, _scores(trace)
    row = trace.step("raw_scores" if "raw_scores" in trace else "scores").made.value[at] / np.sqrt(trace.sizes.d_k or 1)
    if p.softcap is not None:
        row = p.softcap * np.tanh(row / p.softcap)
    if p.bias is not None:
        row = row + np.broadcast_to(p.bias[0] if p.bias.ndim > final.ndim else p.bias, final.shape)[at]
    return softened(np.where(np.isfinite(final[at]), row / p.temperature, -np.inf))


def _scores(trace: Trace) -> Array:
    """What the mode received, in row layout: (n, m) or (h, n, m)."""
    return trace.step("tempered" if "tempered" in trace else "scores").made.value


def _row(trace: Trace, at: Array) -> dict[str, Any]:
    """Which row a note is about: its label and number, and its head where there are several."""
    i = int(at[-1])
    return {"row": trace.query_labels[i], "number": i + 1, "head": int(at[0]) + 1 if len(at) > 1 else None}
