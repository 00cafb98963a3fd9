"""Attention for big inputs: the output alone, without ever holding n × m scores.

The idea, for one head:

    for rows in blocks of queries:            # they do not need each other, so each may have a thread of its own
        for keys in tiles of the keys they see:
            s = q[rows]·k[keys]ᵀ              # then scale, softcap, bias, mask and temperature
            e = exp(s)
            z += row sums of e
            o += e·v[keys]
        output[rows] = o / z

where exp(s) might overflow, the largest score met so far is subtracted from s, and o and z are scaled to each new largest
(Milakov and Gimelshein 2018; Rabe and Staats 2021). It is the same attention as `attention.solve`; a law test holds the
two together for every score function and mode.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from math import prod

import numpy as np

from attn_cli.engine import operations as op
from attn_cli.engine.arrays import Array
from attn_cli.engine.attention import raw_scores, refuse_overflow
from attn_cli.engine.expression import symbol
from attn_cli.engine.large.halves import HALVES, additive
from attn_cli.engine.large.threads import cores, one_thread_each
from attn_cli.engine.masks import Head, allowed, cells, part, penalty_of, reach
from attn_cli.engine.modes import MODES
from attn_cli.engine.operations import Named
from attn_cli.engine.problem import Mask, Problem, Sizes
from attn_cli.engine.shapes import ROWS
from attn_cli.engine.steps import Recorder

TILE = ROWS
"""Keys in a tile, as many as queries in a block: both products are large enough to run at full speed and to make up for the calls
between them, OpenBLAS adds up 384 numbers as two chains of 192, which lose less to rounding than one, and as blocks and
tiles are alike, all of a causal mask's diagonal is one triangle."""
WHOLE = 1 << 16
"""Scores in a piece of work for modes that need whole rows, which hold about ten arrays of that size; if raised, memory grows."""
SMALL = 1 << 16
"""Scores. A problem with no more is one batched block; if lowered, starting threads costs more than the work."""


def with_heads(x: Array) -> Array:
    """With a head axis in front: (n, d) -> (1, n, d)."""
    return x if x.ndim == 3 else x[None]


def _index(head: Head) -> int | slice:
    return slice(None) if head is None else head


# ------------------------------------------------------------------ the whole
@dataclass(frozen=True, eq=False)
class _Keys:
    """The keys and values of one head (or of all, repeated for every query head), prepared once for all blocks of queries."""

    tiles: list[Array]
    """The keys' parts, tile by tile, transposed and contiguous: (width, TILE). As they are for other score functions."""
    size: float
    """Products: the longest key's length. Additive: the largest number. Otherwise infinite."""
    values: Array
    """(m, d_v)"""


@dataclass(frozen=True, eq=False)
class Tiled:
    """A problem that fits together, with its heads cut."""

    problem: Problem
    sizes: Sizes
    q: Array | None
    """(h, n, d_q); None, like k, where scores are given."""
    k: Array | None
    v: Array

    @op.quietly
    def output(self) -> Array:
        """(h, n, d_v)"""
        if self.q is not None and self.k is not None:  # the registered function knows what is wrong with its parameters
            raw_scores(_named(self.q[0, :1]), _named(self.k[0, :1]), self.problem, Recorder())
        out = np.zeros((self.sizes.h, self.sizes.n, self.v.shape[-1]), self.problem.dtype)

        def work(block: tuple[Head, slice]) -> None:
            head, rows = block
            with np.errstate(all="ignore"):
                out[_index(head), rows] = TILED.get(self.problem.mode, by_rows)(_Block(self, head, rows))

        blocks = self.blocks()
        if len(blocks) == 1 or self.random:
            for block in blocks:
                work(block)
        else:
            with one_thread_each() as threads, ThreadPoolExecutor(threads) as pool:
                self.keys(self.kv_head(blocks[0][0]))  # once, before every thread asks for them
                list(pool.map(work, blocks))
        refuse_overflow({"output": _named(out)}, self.problem)
        return out

    @property
    def random(self) -> bool:
        """Whether blocks must draw in turn, in one thread, what one call for the whole would draw."""
        return MODES[self.problem.mode].random

    def blocks(self) -> list[tuple[Head, slice]]:
        """The pieces of work. Under a causal mask the last queries see the most keys, so they come first."""
        h, n, m = self.sizes.h, self.sizes.n, self.sizes.m
        if h * n * m <= SMALL:
            return [(None, slice(0, n))]
        rows = [slice(i, min(i + ROWS, n)) for i in range(0, n, ROWS)]
        return [(head, block) for head in range(h) for block in (rows if self.random else rows[::-1])]

    @cached_property
    def drawing(self) -> Problem:
        """The problem with one source of random numbers for all blocks: default_rng hands a generator back as it is."""
        drawing = copy(self.problem)
        object.__setattr__(drawing, "seed", np.random.default_rng(self.problem.seed))
        return drawing

    @property
    def parameters(self) -> Mapping[str, Array]:
        return self.problem.parameters.get(self.problem.score, {})

    def size(self, part: Array) -> float:
        """What bounds the scores: the longest row (by Cauchy and Schwarz); of a hidden layer the largest number."""
        if self.problem.score == "additive":
            return float(np.abs(part).max())
        return float(np.sqrt(np.einsum("...i,...i->...", part, part).max()))

    def kv_head(self, head: Head) -> Head:
        return None if head is None else head // (self.sizes.h // self.sizes.kv_heads)

    @cached_property
    def keys(self) -> Callable[[Head], _Keys]:
        """Keys and values by their head. Heads that are done with are dropped."""
        made: Callable[[Head], _Keys] = lru_cache(maxsize=cores() + 1)(self._keys)
        return made

    def _keys(self, head: Head) -> _Keys:
        def of_head(x: Array) -> Array:
            return np.repeat(x, self.sizes.h // self.sizes.kv_heads, axis=0) if head is None else x[head]

        values = np.ascontiguousarray(of_head(self.v))
        if not np.isfinite(values).all():  # only where every query is masked
            values = np.where(np.isfinite(values), values, 0)
        if self.k is None:
            return _Keys([], np.inf, values)
        tiles = [of_head(self.k[:, j : j + TILE]) for j in range(0, self.sizes.m, TILE)]
        if self.problem.score not in HALVES:
            return _Keys(tiles, np.inf, values)
        _, of_key = HALVES[self.problem.score]
        size = 0.0
        for j, tile in enumerate(tiles):
            part = of_key(tile, self.parameters)
            size = max(size, self.size(part))
            tiles[j] = np.ascontiguousarray(np.swapaxes(part, -1, -2))
        return _Keys(tiles, size, values)

    @cached_property
    def band(self) -> Callable[[Mask, int, int], Array]:
        """The penalty of a mask without matrices: the same few triangles serve all blocks."""
        made: Callable[[Mask, int, int], Array] = lru_cache(maxsize=4)(
            lambda mask, n, m: penalty_of(allowed(mask, 1, n, m), self.problem.dtype)
        )
        return made


def _named(value: Array) -> Named:
    return op.given("", value, symbol(""))


# ------------------------------------------------------------------ one block of queries
class _Block:
    """A block of queries of one head (or of all heads, where the problem is small) and the scores of its tiles."""

    def __init__(self, work: Tiled, head: Head, rows: slice):
        problem = work.problem
        self.work, self.head, self.rows = work, head, rows
        self.keys = work.keys(work.kv_head(head))
        heads = (work.sizes.h,) if head is None else ()
        self.shape = (*heads, rows.stop - rows.start)
        """(rows,), or (h, rows)"""
        self.scratch = np.empty(prod(self.shape) * min(TILE, work.sizes.m), problem.dtype)
        self.linear = self._linear()
        self.bound = np.inf
        """No score's size exceeds it."""
        if work.q is not None:
            self.q = work.q[_index(head), rows]
            if problem.score in HALVES:
                self.q = HALVES[problem.score][0](self.q, work.parameters)
                self.bound = self._bound()

    def _linear(self) -> list[tuple[np.ufunc, float]]:
        """What a product is multiplied or divided by before anything else happens to it."""
        problem = self.work.problem
        steps: list[tuple[np.ufunc, float]] = []
        if problem.scores is None and problem.score in HALVES:  # other score functions scale by themselves
            if problem.scale is not None:
                steps.append((np.multiply, float(problem.scale)))
            elif problem.score == "scaled":
                steps.append((np.divide, float(np.sqrt(self.work.sizes.d_k or 1))))
        if problem.softcap is not None:
            steps.append((np.divide, float(problem.softcap)))
        return steps

    @property
    def factor(self) -> float:
        """The linear steps in one number."""
        return float(prod(step(1.0, number) for step, number in self.linear))

    def _bound(self) -> float:
        work, problem = self.work, self.work.problem
        if problem.score == "additive":
            bound = abs(self.factor) * float(np.abs(work.parameters["v"]).sum())
        else:
            bound = abs(self.factor) * work.size(self.q) * self.keys.size
        if problem.softcap is not None:
            bound = problem.softcap * min(1.0, bound)
        if problem.bias is not None:
            sizes = (np.abs(cells(problem.bias, self.head, self.rows, keys)) for keys in self.seen())
            bound += max((float(np.max(size, where=size < np.inf, initial=0)) for size in sizes), default=0.0)
        return bound / problem.temperature

    def fold(self) -> None:
        """Scale the queries instead of their scores. Rounding may then differ, so that ties may: not for `hard`."""
        problem = self.work.problem
        if problem.scores is None and problem.score in HALVES and problem.score != "additive":
            self.q = self.q * np.asarray(self.factor, problem.dtype)
            self.linear = []

    def seen(self) -> Iterator[slice]:
        """The keys that the mask's band and lengths let some query of the block see, tile by tile."""
        mask, rows, first, end = self.work.problem.mask, self.rows, 0, self.work.sizes.m
        if mask is not None:
            before, after = reach(mask)
            first = int(max(first, rows.start + mask.offset - before))
            end = int(min(end, rows.stop + mask.offset + after, end if mask.lengths is None else mask.lengths))
        for start in range(first // TILE * TILE, end, TILE) if first < end else ():
            yield slice(max(first, start), min(end, start + TILE))

    def penalty(self, keys: slice) -> Array | None:
        """−∞ at the masked cells of a tile; None where none is masked, an empty array where all are."""
        mask, rows = self.work.problem.mask, self.rows
        if mask is None:
            return None
        if mask.keep is None and mask.drop is None:
            before, after = reach(mask)
            if rows.stop - 1 + mask.offset - before <= keys.start and keys.stop - 1 <= rows.start + mask.offset + after:
                return None
            band = replace(mask, offset=mask.offset + rows.start - keys.start, lengths=None)
            return self.work.band(band, rows.stop - rows.start, keys.stop - keys.start)
        heads = self.work.sizes.h if self.head is None else 1
        may = allowed(part(mask, self.head, rows, keys), heads, rows.stop - rows.start, keys.stop - keys.start)
        if may.all():
            return None
        return penalty_of(may, self.work.problem.dtype) if may.any() else np.empty(0)

    def tiles(self) -> Iterator[tuple[slice, Array]]:
        """Tile by tile, which keys, and their scores as the mode receives them. The array is used again for the next tile."""
        problem = self.work.problem
        for keys in self.seen():
            penalty = self.penalty(keys)
            if penalty is not None and not penalty.size:
                continue
            s = self.raw(keys)
            for step, number in self.linear:
                step(s, number, out=s)
            if not np.isfinite(self.bound):
                refuse_overflow({"scores": _named(s)}, problem)
            if problem.softcap is not None:
                np.tanh(s, out=s)
                s *= problem.softcap
            if problem.bias is not None:
                np.add(s, cells(problem.bias, self.head, self.rows, keys), out=s, casting="same_kind")
            if penalty is not None:
                s += penalty
            if problem.temperature != 1:
                s /= problem.temperature
            yield keys, s

    def raw(self, keys: slice) -> Array:
        """The score function's value: (rows, keys)."""
        work, problem, width = self.work, self.work.problem, keys.stop - keys.start
        shape = (*self.shape, width)
        out = self.scratch[: prod(shape)].reshape(shape)
        if problem.scores is not None:
            np.copyto(out, cells(problem.scores, self.head, self.rows, keys))
            return out
        tile, start = self.keys.tiles[keys.start // TILE], keys.start % TILE
        if problem.score not in HALVES:
            np.copyto(out, raw_scores(_named(self.q), _named(tile[..., start : start + width, :]), problem, Recorder()).value)
        elif problem.score == "additive":
            additive(self.q, tile[..., start : start + width], work.parameters["v"], self.keys.size, out)
        else:
            np.matmul(self.q, tile[..., start : start + width], out=out)
        return out


# ------------------------------------------------------------------ modes
def soft(block: _Block) -> Array:
    """Softmax times values, tile by tile: (rows, d_v)."""
    block.fold()
    values = block.keys.values
    ones = np.ones(TILE, values.dtype)
    o = np.zeros((*block.shape, values.shape[-1]), values.dtype)
    part = np.empty_like(o)
    z = np.zeros(block.shape, values.dtype)
    # Half the range of exponents is for exp, so that the other half is left for the number of keys and the size of values.
    running = not block.bound <= np.log(np.finfo(values.dtype).max) / 2
    largest = np.full(block.shape, -np.inf, values.dtype)
    for keys, s in block.tiles():
        if running:
            larger = np.maximum(largest, s.max(axis=-1))
            shift = np.where(np.isfinite(larger), larger, 0)
            s -= shift[..., None]
            shrink = np.exp(largest - shift)
            z *= shrink
            o *= shrink[..., None]
            largest = larger
        e = np.exp(s, out=s)
        z += np.matmul(e, ones[: keys.stop - keys.start])  # faster than sum
        o += np.matmul(e, values[..., keys, :], out=part)
    return op.divide.value(o, z[..., None])


def hard(block: _Block) -> Array:
    """The value of the first key whose score ties with the largest, tile by tile: (rows, d_v).

    The largest so far gives way only to a larger one, so that the first of equals wins. Scores that nearly tie (see
    `operations.ties`) need their whole row to be distinguished; they are rare, and their block is worked again.
    """
    if not np.isfinite(block.bound):
        return by_rows(block)
    near = 1e-12 * max(1.0, block.bound)
    largest = np.full(block.shape, -np.inf, block.scratch.dtype)
    first = np.zeros(block.shape, np.intp)
    doubtful = np.zeros(block.shape, bool)
    for keys, s in block.tiles():
        at = s.argmax(axis=-1)
        here = np.take_along_axis(s, at[..., None], axis=-1)
        earlier = (s >= here - near).argmax(axis=-1) != at
        here = here[..., 0]
        doubtful = np.where(here > largest + near, earlier, doubtful | (here > largest))
        first = np.where(here > largest, at + keys.start, first)
        largest = np.maximum(largest, here)
    if doubtful.any():
        return by_rows(block)
    chosen = np.take_along_axis(block.keys.values, first[..., None], axis=-2)
    return np.where(np.isfinite(largest)[..., None], chosen, 0)


def by_rows(block: _Block) -> Array:
    """Any mode, as it is registered, on a few whole rows of scores at a time: (rows, d_v)."""
    work, m = block.work, block.work.sizes.m
    problem = work.drawing if work.random else work.problem
    step = max(1, WHOLE // (m * prod(block.shape[:-1])))
    outputs = []
    for i in range(block.rows.start, block.rows.stop, step):
        some = _Block(work, block.head, slice(i, min(i + step, block.rows.stop)))
        s = np.full((*some.shape, m), -np.inf, problem.dtype)
        for keys, tile in some.tiles():
            s[..., keys] = tile
        weights = MODES[problem.mode].function(_named(s), problem, Recorder())
        outputs.append(op.weighted.value(weights.value, block.keys.values))
    return np.concatenate(outputs, axis=-2)


TILED: dict[str, Callable[[_Block], Array]] = {"soft": soft, "hard": hard}
"""Modes that need only one tile at a time."""
