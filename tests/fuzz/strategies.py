"""Hypothesis strategies over whole problems, and over what may happen to a file: to its bytes, or to its structure."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
from hypothesis import strategies as st

SCORES = ("scaled", "dot", "additive", "general", "cosine")
MODES = ("soft", "hard", "sparsemax", "entmax15")
LABELS = (
    "the",
    "cat",
    "no",
    "1e3",
    "[bold]",
    "a|b",
    ":smile:",
    "&amp;",
    "x_1",
    "猫",
    "\U0001f600",
    "null",
    "- a",
    "#",
    "'",
    "010",
    "a: b",
    "½",
)


@st.composite
def arrays(draw: Any, *shape: int, far: int = 8) -> Any:
    """Multiples of a quarter, which every program adds and multiplies without rounding."""
    return np.random.default_rng(draw(st.integers(0, 2**20))).integers(-far, far + 1, shape) / 4


@st.composite
def masks(draw: Any, h: int, n: int, m: int) -> Any:
    kind = draw(st.integers(0, 3))
    bits = np.random.default_rng(draw(st.integers(0, 2**20)))
    shape = draw(st.sampled_from([(n, m), (h, n, m), (m,)] if h > 1 else [(n, m), (m,)]))
    keep = bits.random(shape) < 0.7
    if kind == 0:
        return "causal"
    if kind == 1:
        return keep if bits.random() < 0.5 else keep.astype(int)
    parts: dict[str, Any] = {"causal": draw(st.booleans())}
    if draw(st.booleans()):
        parts["offset"] = draw(st.integers(-2, 3))
    if draw(st.booleans()):
        parts["window"] = draw(st.one_of(st.integers(0, 2), st.sampled_from([[1, None], [None, 0], [0, 1]])))
    if draw(st.booleans()):
        parts["lengths"] = draw(st.integers(0, m))
    if kind == 3:
        parts[draw(st.sampled_from(["keep", "drop"]))] = keep
    return parts


@st.composite
def problems(draw: Any) -> dict[str, Any]:
    """A problem in row layout: scores × modes × masks × heads × context × biases × given or projected."""
    coin = st.booleans()
    n, d_k, d_v = draw(st.integers(1, 4)), draw(st.integers(1, 3)), draw(st.integers(1, 3))
    kv = draw(st.sampled_from([1, 1, 1, 2, 3]))
    h = kv * draw(st.sampled_from([1, 1, 2]))
    crossed, given = draw(coin), draw(st.integers(0, 3))
    m = draw(st.integers(1, 4)) if crossed or given == 1 else n
    score = draw(st.sampled_from(SCORES))
    p: dict[str, Any] = {}
    d_model = draw(st.integers(1, 4))
    if given == 0:  # scores
        p["scores"] = draw(arrays(h, n, m) if h > 1 else arrays(n, m))
        score = "scaled"
        if draw(coin):
            p["V"] = draw(arrays(m, kv * d_v))
    elif given == 1:
        p |= {"Q": draw(arrays(n, h * d_k)), "K": draw(arrays(m, kv * d_k)), "V": draw(arrays(m, kv * d_v))}
    else:
        p["X"] = draw(arrays(n, d_model))
        if crossed:
            p["context"] = draw(arrays(m, draw(st.integers(1, 3))))
        width = p.get("context", p["X"]).shape[1]
        p |= {"W_Q": draw(arrays(d_model, h * d_k)), "W_K": draw(arrays(width, kv * d_k)), "W_V": draw(arrays(width, kv * d_v))}
        sizes = {"b_Q": h * d_k, "b_K": kv * d_k, "b_V": kv * d_v}
        p |= {name: draw(arrays(size)) for name, size in sizes.items() if draw(st.integers(0, 3)) == 0}
    if h > 1:
        p["heads"] = h
        if kv < h and given:
            p["kv_heads"] = kv
        elif kv < h and "V" in p:
            p["V"] = draw(arrays(m, h * d_v))
    if (given > 1 or "V" in p) and draw(st.integers(0, 2)) == 0:
        d_out = draw(st.integers(1, 3))
        p["W_O"] = draw(arrays(h * d_v, d_out))
        if draw(coin):
            p["b_O"] = draw(arrays(d_out))
    if given > 1 and draw(st.integers(0, 3)) == 0:
        p["weights_layout"] = "out_in"
        p |= {name: p[name].T for name in ("W_Q", "W_K", "W_V", "W_O") if name in p}
    if score != "scaled":
        p["score"] = score
    if score == "additive":
        a = draw(st.integers(1, 2))
        one = {"W": draw(arrays(a, 2 * d_k)), "v": draw(arrays(a))}
        two = {"W_q": draw(arrays(a, d_k)), "W_k": draw(arrays(a, d_k)), "v": one["v"]}
        p["additive"] = one if draw(coin) else two | ({"b": draw(arrays(a))} if draw(coin) else {})
    if score == "general":
        p["general"] = {"W": draw(arrays(d_k, d_k))}
    rare = st.integers(0, 3)
    if "scores" not in p and draw(rare) == 0:
        p["scale"] = draw(st.sampled_from([0.5, 2.0, 0.125, -1.0]))
    if "scores" not in p and draw(rare) == 0:
        p["softcap"] = draw(st.sampled_from([1.0, 2.5, 50.0]))
    if draw(rare) == 0:
        bias = draw(arrays(*((h, n, m) if h > 1 and draw(coin) else (n, m))))
        p["bias"] = np.where(bias > 1.7, -np.inf, bias)
    if draw(coin):
        p["mask"] = draw(masks(h, n, m))
    if draw(coin):
        p["mode"] = draw(st.sampled_from(MODES))
    if draw(rare) == 0:
        p["temperature"] = draw(st.sampled_from([0.5, 2.0, 0.25]))
    if draw(rare) == 0:
        p["query_tokens"] = [draw(st.sampled_from(LABELS)) for _ in range(n)]
        p["key_tokens"] = [draw(st.sampled_from(LABELS)) for _ in range(m)]
    if "weights_layout" not in p and draw(rare) == 0:
        p["vectors"] = "columns"
    return p


# ---- what may happen to a file

ODD_BYTES = tuple(
    one.encode()
    for one in (
        *(
            "\t",
            "\r\n",
            "\r",
            "\0",
            "\ufeff",
            "\u2028",
            "\x85",
            " ",
            "\n",
            "\n\n",
            ":",
            ": ",
            "- ",
            "[",
            "]",
            "[[",
            "{",
            "}",
            ",",
            ";",
            "#",
            '"',
            "'",
        ),
        *(
            "&a ",
            "*a",
            "!!str ",
            "|",
            ">",
            "%",
            "@",
            "`",
            "?",
            "? ",
            "---\n",
            "...\n",
            "<<: ",
            "~",
            "e",
            "E",
            "e9",
            "e999",
            "-",
            "--",
            "+",
            ".",
        ),
        *("..", "/", "/0", "1/3", "(", ")", "sqrt(2)", "√2", "−1", "∞", "nan", "-inf", "inf", "1_0", "0x1", "1:30", "50%", "0,5", "1.2.3"),
        *("true", "yes", "null", "W_Q: identity\n", "heads: 2\n", "x.csv", "/etc/passwd", "=1+1", "\x1b[31m", "\\", "\\n", "９", "١"),
    )
) + (b"\xff", b"\xc3", b"\xfe\xff", b"PK\x03\x04", b"\x93NUMPY")


@st.composite
def damages(draw: Any) -> list[tuple[int, float, float, int]]:
    """Where and how the bytes of a file are damaged: kind, place and length as parts of the whole, which odd bytes."""
    part = st.floats(0, 1, exclude_max=True, width=32)
    return draw(st.lists(st.tuples(st.integers(0, 7), part, part, st.integers(0, len(ODD_BYTES) - 1)), min_size=1, max_size=3))


def damaged(data: bytes, how: list[tuple[int, float, float, int]]) -> bytes:
    for kind, place, length, odd in how:
        at = int(place * (len(data) + 1))
        end = min(len(data), at + 1 + int(length * (12 if kind < 6 else len(data))))
        piece = ODD_BYTES[odd]
        data = (
            *(data[:at] + piece + data[at:], data[:at] + piece + data[end:], data[:at] + data[end:], data[:end] + data[at:]),
            *(data[:at] + data[at : at + 1].swapcase() + data[at + 1 :], data[:at] + bytes([int(length * 256)]) + data[at + 1 :]),
            *(data[:at], data[:at] + data[at:end][::-1] + data[end:]),
        )[kind]
    return data


ODD_VALUES: tuple[Any, ...] = (
    *(
        "",
        "~",
        "nan",
        "-inf",
        "inf",
        "1e400",
        "1e-400",
        "1e308",
        "-1e308",
        "1e200",
        "1/0",
        "1/3",
        "2/0",
        "sqrt(-1)",
        "sqrt(2)",
        "√2/2",
        "e",
        "exp(9999)",
    ),
    *(
        "0",
        "-0",
        "1",
        "-1",
        "0.5",
        "2.5",
        "3",
        "99",
        "9007199254740993",
        "1e3",
        "010",
        "1_0",
        "0x10",
        "1:30",
        "50%",
        "0,5",
        "yes",
        "true",
        "causal",
    ),
    *(
        "identity",
        "x.csv",
        "../x.csv",
        "/etc/passwd",
        "soft",
        "hard",
        "scaled",
        "additive",
        "general",
        "cosine",
        "columns",
        "out_in",
        "float32",
    ),
    *(
        [],
        [[]],
        ["1"],
        [["1"]],
        [["1", "2"]],
        [["1"], ["2", "3"]],
        [[["1"]]],
        {},
        {"causal": "true"},
        {"W": [["1"]]},
        {"lengths": "1"},
        {"window": "0"},
    ),
)
ODD_KEYS = (
    *(
        "Wq",
        "WQ",
        "w_q",
        "w_o",
        "WQK",
        "Q",
        "K",
        "V",
        "X",
        "scores",
        "heads",
        "kv_heads",
        "mask",
        "bias",
        "scale",
        "softcap",
        "temperature",
        "mode",
    ),
    *(
        "seed",
        "tokens",
        "key_tokens",
        "attn_mask",
        "key_padding_mask",
        "is_causal",
        "num_heads",
        "dropout",
        "alibi",
        "rope",
        "weights",
        "output",
    ),
    *(
        "additive",
        "general",
        "context",
        "b_O",
        "vectors",
        "upstream",
        "answers",
        "title",
        "W_QKV",
        "in_proj_weight",
        "x",
        "",
        "ask",
        "dtype",
    ),
)


@st.composite
def changes(draw: Any) -> list[tuple[int, int, int, int]]:
    """What happens to the structure of a problem: kind, where, and which odd value and key."""
    some = st.integers(0, 2**16)
    return draw(st.lists(st.tuples(st.integers(0, 8), some, some, some), min_size=1, max_size=3))


def places(tree: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every path into a tree of mappings and lists."""
    inner = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    return [path, *(place for key, one in inner for place in places(one, (*path, key)))]


def changed(tree: dict[str, Any], how: list[tuple[int, int, int, int]]) -> dict[str, Any]:
    """A tree of texts after something happened to it."""
    tree = deepcopy(tree)
    for kind, where, which, key in how:
        paths = places(tree)[1:]
        if not paths:
            break
        *outer, last = paths[where % len(paths)]
        node: Any = tree
        for step in outer:
            node = node[step]
        value = ODD_VALUES[which % len(ODD_VALUES)]
        if kind <= 1:
            node[last] = deepcopy(value)
        elif kind == 2:
            del node[last]
        elif kind == 3:
            tree[ODD_KEYS[key % len(ODD_KEYS)]] = deepcopy(value)
        elif kind == 4:
            tree[ODD_KEYS[key % len(ODD_KEYS)]] = node[last]
        elif kind == 5 and isinstance(node, list):
            node.insert(which % (len(node) + 1), deepcopy(node[last]))
        elif kind == 6:
            node[last] = [node[last]]
        elif kind == 7 and isinstance(node[last], list) and node[last]:
            node[last] = node[last][0]
        elif kind == 8 and isinstance(node[last], list) and all(isinstance(row, list) for row in node[last]):
            node[last] = [list(column) for column in zip(*node[last], strict=False)]
    return tree
