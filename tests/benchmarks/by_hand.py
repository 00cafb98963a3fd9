"""Attention as a student works it: plain NumPy, apart from the program, with a student's habits and mistakes.

`Student(problem, code, habit, rng).work()` gives every step that the student writes down, or None where the mistake does not
apply to the problem. Nothing here comes from the program but the record of the problem.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

E = float(np.e)


@dataclass(frozen=True)
class Habit:
    """How somebody rounds and writes."""

    decimals: int = 4
    how: str = "even"
    """even, up, cut."""
    each_step: bool = False
    """Goes on from what was written rather than from what the calculator holds."""
    hidden: int | None = None
    """Decimals kept on the way, where they are not those of the answer."""
    e: float = E
    root: int | None = None
    """Decimals of √d_k."""
    reciprocal: bool = False
    """Multiplies by 1/√d_k, rounded so."""
    less_max: bool = False
    adjusts: bool = False
    """Makes each row of weights add up to exactly 1."""
    single: bool = False
    masked: str = "-inf"
    """How a masked score is written."""
    plain: bool = False
    """Writes 2 for 2.000 and 0.5 for 0.500."""


class NotHere(Exception):
    """The mistake does not apply to this problem."""


@np.errstate(invalid="ignore")
def rounded(x: Any, decimals: int, how: str) -> Any:
    scaled = np.asarray(x, float) * 10.0**decimals
    halves = np.round(scaled * 2) / 2  # what is a tie but for the last bits is a tie
    scaled = np.where(np.abs(scaled - halves) < 1e-9 * np.maximum(1, np.abs(scaled)), halves, scaled)
    if how == "cut":
        whole = np.trunc(scaled)
    elif how == "up":
        whole = np.sign(scaled) * np.floor(np.abs(scaled) + 0.5)
    else:
        whole = np.round(scaled)
    return np.where(np.isfinite(scaled), whole / 10.0**decimals + 0.0, scaled)


@np.errstate(invalid="ignore", divide="ignore")
def keeping_two_digits(x: Any, decimals: int, how: str) -> Any:
    """Rounded to so many decimals, small numbers to two significant digits."""
    places = np.maximum(decimals, np.where((x != 0) & np.isfinite(x), 1 - np.floor(np.log10(np.abs(x))), decimals))
    return np.vectorize(lambda each, place: float(rounded(each, int(place), how)), otypes=[float])(x, places)


def soft(s: Any, axis: int = -1) -> Any:
    e = np.exp(s - np.max(np.where(np.isfinite(s), s, -1e300), axis=axis, keepdims=True))
    z = e.sum(axis=axis, keepdims=True)
    return np.where(z > 0, e / np.where(z > 0, z, 1), 0.0)


def sparse(s: Any) -> Any:
    """Sparsemax by trying every size of the support."""
    out = np.zeros_like(s)
    for at in np.ndindex(s.shape[:-1]):
        row = s[at]
        order = np.argsort(-row)
        for size in range(int(np.isfinite(row).sum()), 0, -1):
            tau = (row[order[:size]].sum() - 1) / size
            if row[order[size - 1]] > tau:
                out[at] = np.where(row > tau, row - tau, 0.0)
                break
    return out


def one_hot(s: Any, pick: Any = np.argmax) -> Any:
    out = np.zeros_like(s)
    for at in np.ndindex(s.shape[:-1]):
        if np.isfinite(s[at]).any():
            out[at][pick(s[at])] = 1.0
    return out


def swapped(x: Any) -> Any:
    return np.swapaxes(x, -1, -2)


class Student:
    """One student at one problem. `code` is the mistake made, or empty."""

    def __init__(
        self,
        problem: Any,
        code: str,
        habit: Habit,
        rng: np.random.Generator,
        given: Any = None,
        nudge: Any = None,
        shown: Sequence[str] | None = None,
    ):
        self.p, self.code, self.habit, self.rng = problem, code, habit, rng
        self.theirs, self.nudge = given or {}, nudge or {}
        """Numbers to go on from in place of one's own, and what is added to those that are gone on from."""
        self.shown = shown
        """The steps that are handed in, where that is known."""
        self.written: dict[str, Any] = {}
        self.touched: str | None = None
        """The first step that the mistake changes."""
        self.spread = False
        """Whether it is made in several steps on its own, so that later steps do not follow from earlier ones."""

    # ------------------------------------------------------------------ what is written, and what is carried on
    def put(self, name: str, x: Any) -> Any:
        x = np.asarray(x, float)
        if self.habit.single:
            x = x.astype(np.float32).astype(float)
        if name == "weights" and self.habit.adjusts and not self.habit.single:
            x = adjusted(x, self.habit.decimals)
        self.written[name] = x
        x = self.theirs.get(name, x) + self.nudge.get(name, 0.0)
        if self.habit.hidden is not None:
            return self.gone_on_from(name, x, self.habit.hidden, "even")
        if self.habit.each_step and name not in self.given:
            return self.gone_on_from(name, x, self.habit.decimals, self.habit.how)
        return x

    def gone_on_from(self, name: str, x: Any, decimals: int, how: str) -> Any:
        """A step as it is rounded on the way. By the contract (section 5) exponentials and row sums that are not handed in keep two
        significant digits at least; nor does anybody go on from a row of them that was rounded to nothing."""
        plain = rounded(x, decimals, how)
        if self.shown is None or self.code or name not in ("exponentials", "row_sums"):
            return plain
        largest = np.max(plain, axis=-1, keepdims=True) if name == "exponentials" else plain
        return np.where((largest == 0) | (name not in self.shown), keeping_two_digits(x, decimals, how), plain)

    def errs(self, *codes: str, at: str) -> bool:
        """Whether this is where the student errs."""
        if self.code in codes:
            self.touched = self.touched or at
            return True
        return False

    def choose(self, *ways: Any) -> Any:
        return ways[int(self.rng.integers(len(ways)))]

    # ------------------------------------------------------------------ the work
    def work(self) -> dict[str, Any] | None:
        p = self.p
        self.given = {name for name in ("Q", "K", "V") if getattr(p, name) is not None}
        self.h = p.heads or 1
        self.kv = p.kv_heads or self.h
        try:
            with np.errstate(all="ignore"):
                if p.scores is None:
                    q, k = self.project("Q"), self.project("K")
                    raw = self.scores(q, k)
                else:
                    q = k = None
                    raw = np.asarray(p.scores, float)
                s = self.closed(raw)
                a = self.weights(s)
                v = self.project("V") if p.V is not None or p.X is not None else None
                if v is not None:
                    self.output(a, v, k)
        except (NotHere, ValueError, IndexError):
            return None
        if self.code and self.touched is None:
            return None
        return self.written

    def project(self, name: str) -> Any:
        p = self.p
        heads = self.h if name == "Q" else self.kv
        x = getattr(p, name)
        if x is None:
            source = p.X if name == "Q" or p.context is None else p.context
            w, b = getattr(p, f"W_{name}"), getattr(p, f"b_{name}")
            if self.code == "W_transposed" and p.W_O is None and p.score != "general":
                names = self.which("Q", "K", "V", lambda n: getattr(p, f"W_{n}") is not None and len(set(getattr(p, f"W_{n}").shape)) == 1)
                if name in names and self.errs("W_transposed", at=name):
                    w = w.T
            if self.code == "wrong_projection":
                target, other = self.once("wrong", lambda: [str(n) for n in self.rng.permutation(["Q", "K", "V"])[:2]])
                if name == target and self.errs("wrong_projection", at=name):
                    w, b = getattr(p, f"W_{other}"), getattr(p, f"b_{other}")
                    if w is None or w.shape != getattr(p, f"W_{name}").shape or source.shape[1] != w.shape[0]:
                        raise NotHere
            if self.code == "bias_forgotten" and b is not None:
                names = self.which("Q", "K", "V", lambda n: getattr(p, f"b_{n}") is not None)
                b = None if name in names and self.errs("bias_forgotten", at=name) else b
            if name == "V" and self.code == "X_for_V" and self.once("where", lambda: self.choose("V", "mix")) == "V":
                if w is None:
                    raise NotHere
                self.errs("X_for_V", at="V")
                w = b = None
            x = source if w is None else source @ w
            x = x if b is None else x + b
        x = np.asarray(x, float)
        if x.ndim == 2 and self.h > 1:
            n, width = x.shape
            if self.code == "heads_interleaved" and name in self.which("Q", "K", "V", lambda n: True, all_only=True):
                if heads == 1:
                    raise NotHere
                self.errs("heads_interleaved", at=name)
                if self.once("dealt", lambda: self.choose(True, False)):
                    x = np.stack([x[:, i::heads] for i in range(heads)])
                else:
                    x = x.reshape(heads, n, width // heads)
            else:
                x = np.stack(np.split(x, heads, axis=1))
        return self.put(name, x)

    def once(self, key: str, make: Any) -> Any:
        """A choice that is made once."""
        self.choices = getattr(self, "choices", {})
        if key not in self.choices:
            self.choices[key] = make()
        return self.choices[key]

    def which(self, *names: Any, all_only: bool = False) -> Any:
        """All of those that apply, or one of them; the last of `names` tests whether one does."""
        *names, applies = names

        def pick() -> list[str]:
            able = [n for n in names if (n in ("Q", "K", "V") and getattr(self.p, n) is None and applies(n))]
            if not able:
                raise NotHere
            if len(able) > 1:
                self.spread = True
            return able if all_only or self.rng.random() < 0.5 else [str(self.rng.choice(able))]

        return self.once("which", pick)

    def repeated(self, x: Any) -> Any:
        return np.repeat(x, self.h // self.kv, axis=0) if self.kv < self.h else x

    # ------------------------------------------------------------------ scores
    def scores(self, q: Any, k: Any) -> Any:
        p = self.p
        k = self.repeated(k)
        step = (
            "hidden" if p.score == "additive" else "products" if p.scale not in (None, 1) or (p.score == "scaled") else self.first_scores()
        )
        if self.errs("Q_K_swapped", at=step):
            q, k = k, q
        if self.errs("Q_Q", at=step):
            k = q
        d_k = k.shape[-1]
        if self.code == "one_head":
            if self.h == 1:
                raise NotHere
            if self.once("one", lambda: self.choose("whole", "first")) == "whole":
                self.errs("one_head", at="products" if p.score == "scaled" else step)
                q, k = np.hstack(list(q)), np.hstack(list(k))
                self.spread = True
        r = getattr(self, f"score_{p.score}")(q, k)
        scale = p.scale if p.scale is not None else None
        if scale is not None and scale != 1:
            r = self.put("products", r) * scale
        elif p.score == "scaled" and scale is None and d_k > 1:
            width = d_k
            r = self.scaled(self.put("products", r), width if self.code != "one_head" else k.shape[-1])
        if p.score in ("dot", "general") and scale is None and d_k > 1 and self.errs("dot_scaled", at=self.first_scores()):
            r = r / np.sqrt(d_k)
        return r

    def first_scores(self) -> str:
        p = self.p
        return "raw_scores" if p.softcap or p.bias is not None or self.masked() else "scores"

    def masked(self) -> bool:
        m = self.p.mask
        return m is not None and (m.causal or any(part is not None for part in (m.window, m.lengths, m.keep, m.drop)))

    def scaled(self, r: Any, d_k: int) -> Any:
        p, at, root = self.p, self.first_scores(), np.sqrt(d_k)
        if self.errs("no_scale", at=at):
            return r
        if self.errs("scale_d_k", at=at):
            return r / d_k
        if self.errs("scale_twice", at=at):
            return r / root / root
        if self.errs("scale_multiplied", at=at):
            return r * root
        if self.errs("scale_sqrt_n", at=at):
            return r / np.sqrt(r.shape[-2])
        if self.errs("scale_sqrt_d_model", at=at):
            if p.X is None:
                raise NotHere
            return r / np.sqrt(p.X.shape[1])
        if self.code == "constant_rounded" and p.mode == "soft" and self.once("constant", lambda: self.choose("e", "root")) == "root":
            self.errs("constant_rounded", at=at)
            return r / round(float(root), 1)
        if self.habit.root is not None:
            if self.habit.reciprocal:
                return r * round(float(1 / root), max(2, self.habit.root))
            return r / round(float(root), self.habit.root)
        return r / root

    def score_scaled(self, q: Any, k: Any) -> Any:
        return q @ swapped(k)

    score_dot = score_scaled

    def score_general(self, q: Any, k: Any) -> Any:
        w = self.p.parameters["general"]["W"]
        if self.errs("general_W_forgotten", at=self.first_scores()):
            return q @ swapped(k)
        if self.code == "W_transposed":
            self.errs("W_transposed", at=self.first_scores())
            w = w.T
        return q @ w @ swapped(k)

    def score_cosine(self, q: Any, k: Any) -> Any:
        r = q @ swapped(k)
        if self.errs("norms_forgotten", at=self.first_scores()):
            return r
        return r / (np.linalg.norm(q, axis=-1)[..., :, None] * np.linalg.norm(k, axis=-1)[..., None, :])

    def score_additive(self, q: Any, k: Any) -> Any:
        g = self.p.parameters["additive"]
        order = self.errs("additive_order", at="hidden")
        if "W" in g:
            w_1, w_2 = (
                (g["W"][:, : k.shape[-1]], g["W"][:, k.shape[-1] :]) if order else (g["W"][:, : q.shape[-1]], g["W"][:, q.shape[-1] :])
            )
            w_q, w_k, b = (w_2, w_1, 0.0) if order else (w_1, w_2, 0.0)
        else:
            w_q, w_k, b = g["W_q"], g["W_k"], g.get("b", 0.0)
            if order:
                w_q, w_k = w_k, w_q
            if self.code == "bias_forgotten" and "b" in g and self.p.b_Q is None:
                self.errs("bias_forgotten", at="hidden")
                b = 0.0
        inner = (q @ w_q.T)[..., :, None, :] + (k @ w_k.T)[..., None, :, :] + b
        if self.code == "tanh_forgotten" and self.p.softcap is None:
            self.errs("tanh_forgotten", at="hidden")
            hidden = self.put("hidden", inner)
        else:
            hidden = self.put("hidden", np.tanh(inner))
        if self.errs("v_forgotten", at=self.first_scores()):
            return hidden.sum(-1)
        return hidden @ g["v"]

    def closed(self, s: Any) -> Any:
        p, masked = self.p, self.masked()
        if p.softcap or p.bias is not None or masked:
            s = self.put("raw_scores", s)
        if p.softcap:
            if not self.errs("tanh_forgotten", at="capped" if p.bias is not None or masked else "scores"):
                s = p.softcap * np.tanh(s / p.softcap)
            if p.bias is not None or masked:
                s = self.put("capped", s)
        if p.bias is not None:
            if self.code == "bias_forgotten" and p.b_Q is None and "b" not in p.parameters.get("additive", {}):
                self.errs("bias_forgotten", at="scores")
            else:
                s = s + p.bias
        self.open = np.ones(s.shape, bool)
        if masked:
            s = self.with_mask(s)
        self.unmasked = s if not masked else self.unmasked
        s = self.put("scores", s)
        if p.temperature != 1:
            if self.errs("temperature_ignored", at="tempered"):
                s = self.put("tempered", s)
            elif self.errs("temperature_multiplied", at="tempered"):
                s = self.put("tempered", s * p.temperature)
            else:
                s = self.put("tempered", s / p.temperature)
        return s

    def allowed(self, shape: Any, *, causal: bool | None = None, by: int = 0, triangle: bool = False) -> Any:
        m, (n, k) = self.p.mask, shape[-2:]
        ahead = np.arange(k)[None] - np.arange(n)[:, None] - m.offset
        may = np.ones((n, k), bool)
        if m.causal:
            may &= (ahead >= 0) if triangle else (ahead <= by)
        if m.window is not None:
            left, right = m.window
            may &= (ahead >= -left + by) if left is not None else True
            may &= (ahead <= right + by) if right is not None else True
        if m.lengths is not None:
            may &= np.arange(k)[None] < m.lengths + by
        if m.keep is not None:
            may = may & (np.asarray(m.keep) == 1)
        if m.drop is not None:
            may = may & (np.asarray(m.drop) == 0)
        return np.broadcast_to(may, shape)

    def with_mask(self, s: Any) -> Any:
        m = self.p.mask
        self.unmasked = s
        may = self.allowed(s.shape)
        self.open = may
        if self.errs("mask_ignored", at="scores"):
            return s
        if self.code == "mask_after_softmax":
            if self.p.mode != "soft":
                raise NotHere
            self.errs("mask_after_softmax", at="scores")
            self.spread = True
            return s
        if self.errs("mask_as_zero", at="scores"):
            return np.where(may, s, 0.0)
        if self.errs("mask_flipped", at="scores"):
            return np.where(may, -np.inf, s)
        if self.errs("mask_added", at="scores"):
            return s + (may if self.choose(True, False) else ~may)
        if self.code == "wrong_triangle":
            if not m.causal:
                raise NotHere
            self.errs("wrong_triangle", at="scores")
            may = self.allowed(s.shape, triangle=True)
        if self.code == "mask_off_by_one":
            if not (m.causal or m.lengths is not None):
                raise NotHere
            self.errs("mask_off_by_one", at="scores")
            may = self.allowed(s.shape, by=self.choose(-1, 1))
        return np.where(may, s, -np.inf)

    # ------------------------------------------------------------------ weights
    def weights(self, s: Any) -> Any:
        p = self.p
        if p.mode == "hard":
            a = one_hot(s)
            if self.errs("soft_for_hard", at="weights"):
                a = soft(s)
            elif self.errs("argmin", at="weights"):
                a = one_hot(np.where(np.isfinite(s), s, np.inf), np.argmin)
        elif p.mode == "sparsemax":
            a = sparse(s)
            if self.errs("soft_for_hard", at="weights"):
                a = soft(s)
            elif self.errs("hard_for_soft", at="weights"):
                a = one_hot(s)
        else:
            a = self.softened(s)
        if self.code == "softmax_columns" and p.mode != "soft":
            raise NotHere
        if self.code == "uniform" and self.once("uniform", lambda: self.choose("weights", "mix")) == "weights":
            self.errs("uniform", at="weights")
            may = self.open if self.choose(True, False) else np.ones_like(self.open)
            a = may / may.sum(-1, keepdims=True)
        if self.code == "heads_averaged" and self.h > 1 and self.once("averaged", lambda: self.choose("weights", "mix")) == "weights":
            self.errs("heads_averaged", at="weights")
            a = a.mean(0)
        return self.put("weights", a)

    def softened(self, s: Any) -> Any:
        base = self.habit.e
        if self.code == "constant_rounded" and self.once("constant", lambda: self.choose("e", "root")) == "e":
            self.errs("constant_rounded", at="exponentials")
            base = self.choose(2.7, 3.0)
        if self.errs("base_2", at="exponentials"):
            base = 2.0
        if self.errs("base_10", at="exponentials"):
            base = 10.0
        exponent = np.where(np.isfinite(s), -s, s) if self.errs("negative_exponent", at="exponentials") else s
        if self.habit.less_max and self.code not in ("softmax_columns", "softmax_all"):
            exponent = exponent - np.max(exponent, axis=-1, keepdims=True)
        if self.code == "no_exponentials" and self.once("none", lambda: self.choose("E", "A")) == "E":
            self.errs("no_exponentials", at="exponentials")
            e = self.put("exponentials", np.where(np.isfinite(s), s, 0.0))
        else:
            e = self.put("exponentials", base**exponent)
        axis = -2 if self.errs("softmax_columns", at="row_sums" if s.shape[-1] == s.shape[-2] else "weights") else -1
        self.spread |= axis == -2
        z = e.sum(axis, keepdims=True)
        if self.errs("softmax_all", at="row_sums"):
            z = np.broadcast_to(e.sum((-1, -2), keepdims=True), z.shape)
        if axis == -1 or s.shape[-1] == s.shape[-2]:
            z = swapped(self.put("row_sums", z[..., 0, :])[..., None]) if axis == -2 else self.put("row_sums", z[..., 0])[..., None]
        a = np.where(z != 0, e / np.where(z != 0, z, 1), 0.0)
        if self.errs("not_normalised", at="weights"):
            a = e
        if self.code == "no_exponentials" and self.touched is None:
            self.errs("no_exponentials", at="weights")
            kept = np.where(np.isfinite(s), s, 0.0)
            a = kept / kept.sum(-1, keepdims=True)
        if self.errs("softmax_twice", at="weights"):
            a = soft(a)
        if self.errs("log_softmax", at="weights"):
            a = np.log(a)
        if self.errs("sigmoid", at="weights"):
            a = 1 / (1 + np.exp(-s))
        if self.errs("hard_for_soft", at="weights"):
            a = one_hot(s)
        if self.code == "unscaled_softmax":
            if "products" not in self.written or self.masked() or self.p.softcap or self.p.bias is not None or self.p.temperature != 1:
                raise NotHere
            self.errs("unscaled_softmax", at="weights")
            a = soft(self.written["products"])
        if self.code == "mask_after_softmax":
            a = np.where(self.open, a, 0.0)
        return a

    # ------------------------------------------------------------------ output
    def output(self, a: Any, v: Any, k: Any) -> None:
        p = self.p
        mixed = "heads" if self.h > 1 else "concat" if p.W_O is not None or p.b_O is not None else "output"
        if self.code == "K_for_V" and k is not None:
            self.errs("K_for_V", at=mixed)
            v = k
        if self.code == "X_for_V" and self.touched is None and p.V is None and self.h == 1:
            self.errs("X_for_V", at=mixed)
            v = p.X if p.context is None else p.context
        if self.errs("weights_transposed", at=mixed):
            a = swapped(a)
        if self.code == "uniform" and self.touched is None:
            self.errs("uniform", at=mixed)
            a = np.ones_like(a) / a.shape[-1]
        o = a @ self.repeated(v)
        if self.h > 1:
            o = self.joined(self.put("heads", o))
        if p.W_O is not None or p.b_O is not None:
            o = self.put("concat", o)
            w = None if self.errs("W_O_forgotten", at="output") else p.W_O
            if self.code == "W_transposed" and self.touched is None and p.score != "general":
                if w is None or w.shape[0] != w.shape[1]:
                    raise NotHere
                self.errs("W_transposed", at="output")
                w = w.T
            o = o if w is None else o @ w
            if p.b_O is not None:
                o = o + p.b_O
        if self.code == "residual_added":
            if p.X is None or p.X.shape != o.shape:
                raise NotHere
            self.errs("residual_added", at="output")
            o = o + p.X
        self.put("output", o)

    def joined(self, o: Any) -> Any:
        at = "concat" if self.p.W_O is not None or self.p.b_O is not None else "output"
        if self.errs("heads_summed", at=at):
            return o.sum(0)
        if self.code == "heads_averaged" and self.touched is None:
            self.errs("heads_averaged", at=at)
            return o.mean(0)
        if self.code == "one_head" and self.touched is None:
            self.errs("one_head", at=at)
            return o[0]
        if self.errs("concat_order", at=at):
            way = self.choose("reversed", "by number")
            return np.hstack(list(o[::-1])) if way == "reversed" else np.stack(list(o), -1).reshape(o.shape[1], -1)
        return np.hstack(list(o))


METHODS = [
    "no_scale",
    "scale_d_k",
    "scale_sqrt_n",
    "scale_sqrt_d_model",
    "scale_twice",
    "scale_multiplied",
    "dot_scaled",
    "softmax_columns",
    "softmax_all",
    "softmax_twice",
    "log_softmax",
    "sigmoid",
    "negative_exponent",
    "base_2",
    "base_10",
    "not_normalised",
    "no_exponentials",
    "unscaled_softmax",
    "constant_rounded",
    "temperature_ignored",
    "temperature_multiplied",
    "W_transposed",
    "wrong_projection",
    "bias_forgotten",
    "Q_K_swapped",
    "Q_Q",
    "K_for_V",
    "X_for_V",
    "weights_transposed",
    "uniform",
    "argmin",
    "mask_ignored",
    "mask_after_softmax",
    "mask_as_zero",
    "mask_flipped",
    "wrong_triangle",
    "mask_off_by_one",
    "mask_added",
    "heads_averaged",
    "heads_summed",
    "one_head",
    "heads_interleaved",
    "W_O_forgotten",
    "tanh_forgotten",
    "v_forgotten",
    "additive_order",
    "general_W_forgotten",
    "norms_forgotten",
    "concat_order",
    "residual_added",
    "hard_for_soft",
    "soft_for_hard",
]


def adjusted(a: Any, decimals: int) -> Any:
    """Rows of weights of which as few cells as it takes are moved by one unit, so that the rounded row adds up to 1."""
    a = a.copy()
    unit = 10.0**-decimals
    for at in np.ndindex(a.shape[:-1]):
        row = rounded(a[at], decimals, "even")
        off = round((row.sum() - 1) / unit)
        if not 0 < abs(off) < len(row) or not (row >= 0).all() or abs(a[at].sum() - 1) > 1e-9:
            continue
        order = np.argsort((a[at] - row) * np.sign(off))[: abs(off)]
        moved = row.copy()
        moved[order] -= np.sign(off) * unit
        if (moved >= 0).all() and (np.diff(moved[np.argsort(row, kind="stable")]) > -1e-12).all():
            a[at] = moved
    return a


# ------------------------------------------------------------------ slips of copying
def slip(code: str, x: Any, decimals: int, rng: np.random.Generator) -> Any:
    """A step copied with a slip; None where it cannot be made there."""
    x = rounded(x, decimals, "even")
    if not np.isfinite(x).all() or x.ndim < 1:
        return None
    x, unit = x.copy(), 10.0**-decimals
    cells = [tuple(at) for at in rng.permutation(np.argwhere(np.abs(x) > 5 * unit)).tolist()]
    rows = x.shape[-2] if x.ndim > 1 else 1
    head = tuple(int(rng.integers(size)) for size in x.shape[:-2]) if x.ndim > 2 else ()
    if code == "answer_transposed":
        return swapped(x) if x.ndim > 1 and min(x.shape[-2:]) > 1 else None
    if code == "rows_shifted":
        return np.roll(x, int(rng.choice([1, -1])), axis=-2) if rows > 2 else None
    if code == "rows_swapped":
        if rows < 2:
            return None
        i, j = rng.permutation(rows)[:2]
        x[(*head, [i, j])] = x[(*head, [j, i])]
        return x
    if not cells:
        return None
    at = cells[0]
    if code == "cells_swapped":
        others = [other for other in cells if abs(x[other] - x[at]) > 5 * unit]
        if not others:
            return None
        x[at], x[others[0]] = x[others[0]], x[at]
    elif code == "sign":
        x[at] = -x[at]
    elif code == "decimal_point":
        x[at] = rounded(x[at] * float(rng.choice([10, 0.1, 100])), decimals, "even")
    elif code == "digits_swapped":
        text = f"{abs(x[at]):.{decimals}f}"
        places = [
            i for i in range(len(text) - 1) if text[i].isdigit() and text[i + 1].isdigit() and abs(int(text[i]) - int(text[i + 1])) > 1
        ]
        if not places:
            return None
        i = places[int(rng.integers(len(places)))]
        x[at] = np.sign(x[at]) * float(text[:i] + text[i + 1] + text[i] + text[i + 2 :])
    elif code == "last_digit":
        x[at] += unit * float(rng.choice([1, -1]))
    elif code == "one_cell":
        x[at] += float(rng.choice([-1, 1]) * rng.uniform(0.11, 0.9))
    elif code == "one_row":
        if rows < 2 or x.shape[-1] < 2:
            return None
        x[(*head, int(rng.integers(rows)))] += rng.uniform(0.11, 0.9, x.shape[-1]) * rng.choice([-1, 1], x.shape[-1])
    return rounded(x, decimals, "even")


SLIPS = [
    "answer_transposed",
    "rows_shifted",
    "rows_swapped",
    "cells_swapped",
    "sign",
    "decimal_point",
    "digits_swapped",
    "last_digit",
    "one_cell",
    "one_row",
]
