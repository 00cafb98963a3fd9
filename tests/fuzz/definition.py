"""Attention as its definition says, in plain NumPy: what every result is compared with. It knows nothing of the program.

A problem is a mapping with the keys of a file; `read` makes one of a tree of texts, and gives up (Unclear) wherever it is not sure.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import numpy as np

Problem = dict[str, Any]
MATRICES = ("X", "context", "W_Q", "W_K", "W_V", "W_O", "Q", "K", "V", "scores", "bias")
"""They stand the other way round where tokens are columns."""
VECTORS = ("b_Q", "b_K", "b_V", "b_O")
NUMBERS = ("scale", "softcap", "temperature")
WORDS = ("score", "mode", "vectors", "weights_layout")
TIE = 1e-12


class Unclear(Exception):
    """Something that this definition does not judge."""


def solve(p: Problem) -> dict[str, Any]:
    """weights (n × m, with several heads h × n × m), and the output where there are values; Unclear where a number overflows."""
    with np.errstate(all="ignore"):
        found = worked(p)
    if not all(np.isfinite(value).all() for value in found.values()):
        raise Unclear("overflow")
    return found


def worked(p: Problem) -> dict[str, Any]:
    h = int(p.get("heads", 1))
    out_in = p.get("weights_layout") == "out_in"
    context = p.get("context", p.get("X"))
    bare = not {"W_Q", "W_K", "W_V"} & set(p)

    def projected(name: str, source: Any) -> Any:
        if name in p:
            return np.asarray(p[name], float)
        if source is None:
            return None
        if f"W_{name}" not in p:
            if not bare:
                raise Unclear(f"W_{name}")
            return np.asarray(source, float)
        if isinstance(p[f"W_{name}"], str):  # identity
            weights = np.eye(source.shape[1])
        else:
            weights = np.asarray(p[f"W_{name}"], float)
            weights = weights.T if out_in else weights
        return source @ weights + np.asarray(p.get(f"b_{name}", 0), float)

    values = projected("V", context)
    if "scores" in p:
        scores = cut(np.asarray(p["scores"], float), 1) if np.ndim(p["scores"]) == 2 else np.asarray(p["scores"], float)
        h = max(h, len(scores))
    else:
        queries, keys = projected("Q", p.get("X")), projected("K", context)
        if queries is None or keys is None:
            raise Unclear("no queries or keys")
        h = len(queries) if queries.ndim == 3 else h
        kv = len(keys) if keys.ndim == 3 else int(p.get("kv_heads", h))
        queries, keys = cut(queries, h), np.repeat(cut(keys, kv), h // kv, axis=0)
        scores = np.array([raw(q, k, p) for q, k in zip(queries, keys, strict=True)])
    scores = np.broadcast_to(scores, (h, *scores.shape[1:])).copy()
    if "softcap" in p:
        scores = p["softcap"] * np.tanh(scores / p["softcap"])
    scores = scores + np.asarray(p.get("bias", 0), float)
    scores[~np.broadcast_to(allowed(p.get("mask"), *scores.shape[1:]), scores.shape)] = -np.inf
    scores = scores / p.get("temperature", 1)
    weights = np.array(
        [[MODES[p.get("mode", "soft")](row) if np.isfinite(row).any() else 0 * row.clip(0) for row in head] for head in scores]
    )
    found = {"weights": weights if h > 1 else weights[0]}
    if values is not None:
        kv = len(values) if values.ndim == 3 else int(p.get("kv_heads", h)) if values.shape[1] % h == 0 or "kv_heads" in p else h
        values = np.repeat(cut(values, kv), h // kv, axis=0)
        output = np.concatenate(weights @ values, axis=-1)
        output = output @ (np.asarray(p["W_O"], float).T if out_in else np.asarray(p["W_O"], float)) if "W_O" in p else output
        found["output"] = output + np.asarray(p.get("b_O", 0), float)
    return found


def cut(joined: Any, h: int) -> Any:
    """(n, h·d) -> (h, n, d)"""
    if joined.ndim == 3:
        return joined
    n, width = joined.shape
    return joined.reshape(n, h, width // h).transpose(1, 0, 2)


def raw(q: Any, k: Any, p: Problem) -> Any:
    """The scores of one head, scale included: n × m."""
    score = p.get("score", "scaled")
    scale = p.get("scale", 1 / np.sqrt(q.shape[1]) if score == "scaled" else 1)
    if score in ("scaled", "dot"):
        return scale * (q @ k.T)
    if score == "general":
        return scale * (q @ np.asarray(p["general"]["W"], float) @ k.T)
    if score == "cosine":
        lengths = np.hypot.reduce(q, axis=1)[:, None] * np.hypot.reduce(k, axis=1)
        return scale * np.divide(q @ k.T, lengths, out=np.zeros((len(q), len(k))), where=lengths > 0)
    given = {name: np.asarray(value, float) for name, value in p["additive"].items()}
    if "W" in given:
        hidden = np.array([[given["W"] @ np.concatenate([a, b]) for b in k] for a in q])
    else:
        hidden = np.array([[given["W_q"] @ a + given["W_k"] @ b + given.get("b", 0) for b in k] for a in q])
    return scale * (np.tanh(hidden) @ given["v"])


def allowed(mask: Any, n: int, m: int) -> Any:
    """Who may attend to whom: n × m, or h × n × m."""
    may = np.ones((n, m), bool)
    if mask is None:
        return may
    if isinstance(mask, str):
        mask = {"causal": True}
    if not isinstance(mask, dict):
        mask = {"keep": mask}
    i, j = np.arange(n)[:, None] + int(mask.get("offset", 0)), np.arange(m)[None]
    if mask.get("causal"):
        may &= j <= i
    if (window := mask.get("window")) is not None:
        left, right = (window, window) if np.ndim(window) == 0 else window
        may &= (left is None or j >= i - left) & (right is None or j <= i + right)
    if mask.get("lengths") is not None:
        may &= j < mask["lengths"]
    for part in ("keep", "drop"):
        if part in mask:
            may = may & (np.asarray(mask[part], float) == (part == "keep"))
    return may


def soft(row: Any) -> Any:
    e = np.exp(row - row.max())
    return e / e.sum()


def hard(row: Any) -> Any:
    chosen = np.zeros(len(row))
    chosen[int(np.argmax(row >= row.max() - TIE * max(1, np.abs(row[np.isfinite(row)]).max())))] = 1
    return chosen


def thresholded(row: Any, power: int) -> Any:
    """max(s - t, 0)^power with the t at which they add up to 1, found by halving."""
    shares = row - row.max() if power == 1 else (row - row.max()) / 2
    low, high = -1.0, 0.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if (np.maximum(shares - middle, 0) ** power).sum() >= 1 else (low, middle)
    return np.maximum(shares - low, 0) ** power


MODES = {"soft": soft, "hard": hard, "sparsemax": lambda row: thresholded(row, 1), "entmax15": lambda row: thresholded(row, 2)}


# ---- reading a tree of texts

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
COUNTS = ("heads", "kv_heads")
LABELS = ("title", "tokens", "query_tokens", "key_tokens")
KNOWN = {*MATRICES, *VECTORS, *NUMBERS, *WORDS, *COUNTS, *LABELS, "mask", "additive", "general"}


def number(text: Any) -> float:
    if not isinstance(text, str):
        raise Unclear(text)
    text = text.strip()
    if NUMBER.fullmatch(text) and text.isascii():
        return float(text)
    if found := re.fullmatch(r"([+-]?\d+)/(\d+)", text):
        return float(Fraction(int(found[1]), int(found[2] or 1))) if int(found[2]) else _unclear(text)
    return -np.inf if text == "-inf" else _unclear(text)


def _unclear(what: Any) -> Any:
    raise Unclear(what)


def array(tree: Any, dimensions: tuple[int, ...]) -> Any:
    def values(part: Any) -> Any:
        return [values(one) for one in part] if isinstance(part, list) else number(part)

    try:
        found = np.array(values(tree), float)
    except ValueError:
        raise Unclear("ragged") from None
    if found.ndim not in dimensions or not found.size:
        raise Unclear("shape")
    return found


def truths(tree: Any) -> Any:
    if isinstance(tree, list):
        return [truths(one) for one in tree]
    return {"true": 1, "false": 0, "1": 1, "0": 0}[tree] if tree in ("true", "false", "1", "0") else _unclear(tree)


def read(tree: Any) -> Problem:
    """The problem that a file with this content poses; Unclear wherever a careful reader would ask."""
    if not isinstance(tree, dict) or set(tree) - KNOWN:
        raise Unclear("keys")
    p: Problem = {}
    for name, value in tree.items():
        if name in ("W_Q", "W_K", "W_V") and value == "identity":
            p[name] = value
        elif name in MATRICES:
            p[name] = array(value, (2, 3) if name in ("Q", "K", "V", "scores", "bias") else (2,))
        elif name in VECTORS:
            p[name] = array(value, (1,))
        elif name in NUMBERS:
            p[name] = number(value)
        elif name in COUNTS:
            p[name] = int(value) if isinstance(value, str) and re.fullmatch("[1-9][0-9]?", value) else _unclear(value)
        elif name in WORDS:
            p[name] = value
        elif name in ("additive", "general"):
            if not isinstance(value, dict) or set(value) - {"W", "v", "W_q", "W_k", "b"}:
                raise Unclear(name)
            p[name] = {key: array(one, (1, 2)) for key, one in value.items()}
        elif name == "mask":
            p[name] = read_mask(value)
    return turned(p) if p.get("vectors") == "columns" else p


def read_mask(tree: Any) -> Any:
    if tree == "causal":
        return tree
    if isinstance(tree, list):
        return np.array(truths(tree), float)
    if not isinstance(tree, dict):
        raise Unclear("mask")
    mask: dict[str, Any] = {}
    for name, value in tree.items():
        if name == "causal":
            mask[name] = bool(truths(value))
        elif name in ("keep", "drop"):
            mask[name] = np.array(truths(value), float)
        elif name == "window" and isinstance(value, list) and len(value) == 2:
            mask[name] = [None if one in ("null", "~") else int(number(one)) for one in value]
        elif name in ("offset", "lengths", "window"):
            mask[name] = int(number(value))
        else:
            raise Unclear(name)
    return mask


def turned(p: Problem) -> Problem:
    """The same problem with its tokens the other way: rows to columns, columns to rows."""
    swap = dict(p)
    for name in MATRICES:
        if name in p and not isinstance(p[name], str):
            swap[name] = np.swapaxes(np.asarray(p[name], float), -1, -2)
    mask = p.get("mask")
    if isinstance(mask, dict):
        swap["mask"] = {part: flipped(value) if part in ("keep", "drop") else value for part, value in mask.items()}
    elif mask is not None and not isinstance(mask, str):
        swap["mask"] = flipped(mask)
    return swap


def flipped(part: Any) -> Any:
    return np.swapaxes(part, -1, -2) if np.ndim(part) > 1 else part
