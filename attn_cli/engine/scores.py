"""Score functions: how well each query matches each key.

A score function takes the queries (n, d_q) and keys (m, d_k), with leading head axes, and returns scores (n, m).

It reads the problem and changes nothing in it (its own arrays are `problem.parameters[its name]`), computes its scores with
`operations` alone, refuses sizes that do not fit with an InputError, and may record steps that `steps` knows, such as
`products`. The problem's scale, softcap, bias, mask and mode come after it (see `attention`).

To add one, register it here: help, loading, errors, formulas, gradients, formats and the law tests find it in the registry.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from attn_cli.engine import operations as op
from attn_cli.engine.arrays import Array, shape_text
from attn_cli.engine.expression import Expr, symbol
from attn_cli.engine.operations import Named
from attn_cli.engine.problem import Problem, key_of
from attn_cli.engine.registry import Registry
from attn_cli.engine.steps import GRADIENTS, Recorder, gradient_of
from attn_cli.errors import InputError

SCORES: Registry[Callable[[Named, Named, Problem, Recorder], Named]] = Registry("score function", "score")


@SCORES.register()
def scaled(q: Named, k: Named, problem: Problem, record: Recorder) -> Named:
    """Q·Kᵀ / √d_k, the scaled dot product.

    (n, d_k), (m, d_k) -> (n, m). Vaswani et al. 2017, section 3.2.1. A `scale` in the problem replaces 1/√d_k.
    """
    same_width(q, k, problem)
    products = op.product_t(q, k)
    d_k = k.value.shape[-1]
    if problem.scale is not None or d_k == 1:
        return products
    return op.over(Expr("root", (symbol("d_k", number=d_k),)))(record("products", products))


@SCORES.register()
def dot(q: Named, k: Named, problem: Problem, record: Recorder) -> Named:
    """Q·Kᵀ, the dot product.

    (n, d_k), (m, d_k) -> (n, m). Luong et al. 2015, section 3.1.
    """
    same_width(q, k, problem)
    return op.product_t(q, k)


@SCORES.register(parameters={"W": 2, "W_q": 2, "W_k": 2, "b": 1, "v": 1})
def additive(q: Named, k: Named, problem: Problem, record: Recorder) -> Named:
    """vᵀ·tanh(W·[q; k]), or vᵀ·tanh(W_q·q + W_k·k + b).

    (n, d_q), (m, d_k), (a, d_q + d_k), (a,) -> (n, m). Bahdanau et al. 2015, appendix A.1.2.
    """
    given = problem.parameters.get("additive", {})
    check_additive(given, q.value.shape[-1], k.value.shape[-1])

    def parameter(name: str) -> Named:
        return op.given(f"additive.{name}", given[name], symbol(name, flips=given[name].ndim == 1))

    q, k = op.shown_as(q, symbol("q")), op.shown_as(k, symbol("k"))
    if "W" in given:
        inner = op.linear(op.pairs(op.every_key(q), op.every_query(k)), parameter("W"))
    else:
        inner = op.add(op.every_key(op.linear(q, parameter("W_q"))), op.every_query(op.linear(k, parameter("W_k"))))
        if "b" in given:
            inner = op.add(inner, parameter("b"))
    hidden = record("hidden", op.tanh(inner))
    return op.weigh(hidden, parameter("v"))


def check_additive(given: Mapping[str, Array], d_q: int, d_k: int) -> None:
    """Raises InputError where the arrays of the additive score are not one of its two forms, or do not fit together."""
    apart = [name for name in ("W_q", "W_k", "b") if name in given]
    if "W" in given and apart:
        raise InputError(f"W and {apart[0]} are both given; use W over [q; k], or W_q, W_k and b", key="additive")
    missing = {
        "v": "v is missing: the additive score is vᵀ·tanh(…), so it needs one number a hidden unit",
        **({name: f"{name} is missing" for name in ("W_q", "W_k")} if apart else {"W": "W (or W_q and W_k) is missing"}),
    }
    for name, message in missing.items():
        if name not in given:
            raise InputError(message, key="additive")
    a = given["v"].shape[0]
    for name, width, of in (("W", d_q + d_k, "[q; k]"), ("W_q", d_q, "q"), ("W_k", d_k, "k")):
        if name in given and given[name].shape != (a, width):
            found, expected = shape_text(given[name].shape), shape_text((a, width))
            raise InputError(f"is {found}, expected {expected} (numbers of v × width of {of})", key=f"additive.{name}")
    if "b" in given and given["b"].shape != (a,):
        raise InputError(f"has {given['b'].size} numbers, expected {a}, as v has", key="additive.b")


@SCORES.register(parameters={"W": 2})
def general(q: Named, k: Named, problem: Problem, record: Recorder) -> Named:
    """qᵀ·W·k, the bilinear score.

    (n, d_q), (m, d_k), (d_q, d_k) -> (n, m). Luong et al. 2015, section 3.1.
    """
    given = problem.parameters.get("general", {})
    if "W" not in given:
        raise InputError("W is missing: the general score is qᵀ·W·k", key="general")
    d_q, d_k = q.value.shape[-1], k.value.shape[-1]
    if given["W"].shape != (d_q, d_k):
        rows, columns = given["W"].shape
        raise InputError(f"is {rows} × {columns}, expected {d_q} × {d_k} (width of q × width of k)", key="general.W")
    return op.product_t(op.product(q, op.given("general.W", given["W"], symbol("W", flips=False))), k)


@SCORES.register()
def cosine(q: Named, k: Named, problem: Problem, record: Recorder) -> Named:
    """Q·Kᵀ / (‖q‖·‖k‖), the cosine; 0 for a zero row.

    (n, d_k), (m, d_k) -> (n, m). Graves et al. 2014, section 3.3.1.
    """
    same_width(q, k, problem)
    q, k = without_noise(q), without_noise(k)
    one: tuple[Expr, ...] = (symbol("q"), symbol("k"))
    if has_extreme_row(q) or has_extreme_row(k):  # a cosine does not change where a row is scaled
        q, k = (op.divide(x, op.row_size(x)) for x in (q, k))
        one = tuple(Expr("divide", (x, Expr("size", (x,)))) for x in one)
    lengths = op.product_t(op.row_norm(q), op.row_norm(k))
    written = Expr("scale", tuple(Expr("norm", (x,)) for x in one))
    return op.divide(op.product_t(q, k), op.renamed(lengths, written))


def has_extreme_row(x: Named) -> bool:
    """Whether a row is so long that its square would overflow, or so short that it would be lost."""
    size, limits = np.abs(x.value).max(axis=-1), np.finfo(x.value.dtype)
    return bool(size.max() > np.sqrt(limits.max / x.value.shape[-1]) or (size < np.sqrt(limits.tiny)).any(where=size > 0))


def without_noise(x: Named) -> Named:
    """Queries or keys with 0 for those projected rows that are zero but for rounding."""
    most = rounding(x)
    if most is None:
        return x
    noise = np.all((np.abs(x.value) <= most) & np.isfinite(most), axis=-1, keepdims=True)
    return op.Zeroed(noise)(x) if (noise & x.value.any(axis=-1, keepdims=True)).any() else x


def rounding(x: Named) -> Array | None:
    """What rounding may leave of each number of a projection that is zero in truth, 4·d·ε·Σ|x·w|; None for what was given."""
    if isinstance(x.operation, op.Product):
        a, b = (np.abs(operand.value) for operand in x.operands)
        return x.operation.value(4 * a.shape[-1] * np.finfo(a.dtype).eps * a, b)
    if isinstance(x.operation, op.Add):
        projected, bias = x.operands
        most = rounding(projected)
        return None if most is None else most + 4 * projected.operands[0].value.shape[-1] * np.finfo(most.dtype).eps * np.abs(bias.value)
    if isinstance(x.operation, op.Reindex):
        most = rounding(x.operands[0])
        return None if most is None else x.operation.value(most)
    return None


def same_width(q: Named, k: Named, problem: Problem) -> None:
    """Raises InputError where a product of q and k is not possible."""
    d_q, d_k = q.value.shape[-1], k.value.shape[-1]
    if d_q != d_k:
        side, key = "rows" if problem.vectors == "columns" else "columns", key_of(problem, "K")
        raise InputError(
            f"{'' if key == 'K' else 'makes K, which '}has {d_k} {side} a head, expected {d_q}, as Q has, "
            "so that every query can be multiplied with every key",
            key=key,
        )


def gradient_names() -> list[str]:
    """Every step that a backward pass may have, in order; parameters of the score functions stand before X."""
    parameters = [gradient_of(f"{entry.name}.{name}") for entry in SCORES.entries() for name in entry.parameters]
    names = list(GRADIENTS)
    return [*names[:-2], *parameters, *names[-2:]]
