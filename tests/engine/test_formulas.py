"""How steps are written, in rows and in columns, with one head and with several."""

import numpy as np
import pytest

from attn_cli.engine.attention import solve
from attn_cli.engine.problem import Mask, Problem

r = np.random.default_rng(0)


def formulas(view="plain", **changes):
    x = {"X": r.normal(size=(3, 4)), "W_Q": np.eye(4), "W_K": np.eye(4), "W_V": np.eye(4)} if "scores" not in changes else {}
    written = {}
    for step in solve(Problem(**{**x, **changes})):
        formula = step.formula
        name = getattr(step.symbol, view)(str)
        written[step.name] = f"{name} = {getattr(formula, view)(lambda n: str(n.value))}" if formula is not None else name
    return written


def test_rows_read_as_in_a_textbook():
    assert formulas() == {
        "Q": "Q = X·W_Q",
        "K": "K = X·W_K",
        "V": "V = X·W_V",
        "products": "P = Q·Kᵀ",
        "scores": "S = P / √d_k",
        "exponentials": "E = exp(S)",
        "row_sums": "Z = row sum(E)",
        "weights": "A = E / Z",
        "output": "O = A·V",
    }


def test_columns_turn_every_product_around():
    assert formulas(vectors="columns") == {
        "Q": "Q = W_Q·X",
        "K": "K = W_K·X",
        "V": "V = W_V·X",
        "products": "P = Kᵀ·Q",
        "scores": "S = P / √d_k",
        "exponentials": "E = exp(S)",
        "row_sums": "Z = column sum(E)",
        "weights": "A = E / Z",
        "output": "O = V·A",
    }


EVERYTHING = {
    "heads": 2,
    "b_Q": np.ones(4),
    "scale": 0.5,
    "softcap": 3.0,
    "bias": np.ones((3, 3)),
    "mask": Mask(causal=True),
    "temperature": 2.0,
    "W_O": np.eye(4),
    "b_O": np.ones(4),
}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            EVERYTHING,
            {
                "Q": "Qₕ = (X·W_Q + b_Q)ₕ",
                "products": "Pₕ = Qₕ·Kₕᵀ",
                "raw_scores": "Rₕ = scale·Pₕ",
                "capped": "Cₕ = c·tanh(Rₕ / c)",
                "scores": "Sₕ = Cₕ + B + M",
                "tempered": "S′ₕ = Sₕ / T",
                "weights": "Aₕ = Eₕ / Zₕ",
                "heads": "Oₕ = Aₕ·Vₕ",
                "concat": "concat = Concat(O₁, …, Oₕ)",
                "output": "O = concat·W_O + b_O",
            },
        ),
        ({**EVERYTHING, "vectors": "columns"}, {"Q": "Qₕ = (W_Q·X + b_Q)ₕ", "heads": "Oₕ = Vₕ·Aₕ", "output": "O = W_O·concat + b_O"}),
        ({"heads": 2, "bias": np.ones((2, 3, 3)), "mask": Mask(keep=np.ones((2, 3, 3)))}, {"scores": "Sₕ = Rₕ + Bₕ + Mₕ"}),
        ({"weights_layout": "out_in", "W_O": np.ones((2, 4))}, {"Q": "Q = X·W_Qᵀ", "output": "O = concat·W_Oᵀ"}),
        ({"W_Q": None, "W_K": None, "W_V": None}, {"Q": "Q = X", "K": "K = X", "V": "V = X"}),
        ({"W_Q": None, "W_K": None, "W_V": None, "heads": 2}, {"Q": "Qₕ = (X)ₕ"}),
        ({"Q": np.ones((3, 4)), "W_Q": None, "heads": 2}, {"Q": "Qₕ = (Q)ₕ"}),
        ({"score": "dot"}, {"scores": "S = Q·Kᵀ"}),
        ({"score": "cosine"}, {"scores": "S = Q·Kᵀ / (‖q‖·‖k‖)"}),
        ({"score": "cosine", "vectors": "columns"}, {"scores": "S = Kᵀ·Q / (‖q‖·‖k‖)"}),
        ({"score": "general", "parameters": {"general": {"W": np.ones((4, 4))}}}, {"scores": "S = Q·W·Kᵀ"}),
        ({"score": "general", "parameters": {"general": {"W": np.ones((4, 4))}}, "vectors": "columns"}, {"scores": "S = Kᵀ·Wᵀ·Q"}),
        *(
            (
                {"score": "additive", "parameters": {"additive": {"W": np.ones((2, 8)), "v": np.ones(2)}}, "vectors": vectors},
                {"hidden": "H = tanh(W·[q; k])", "scores": "S = vᵀ·H"},
            )
            for vectors in ("rows", "columns")
        ),
        *(
            (
                {
                    "score": "additive",
                    "parameters": {"additive": {"W_q": np.ones((2, 4)), "W_k": np.ones((2, 4)), "b": np.ones(2), "v": np.ones(2)}},
                    "vectors": vectors,
                },
                {"hidden": "H = tanh(W_q·q + W_k·k + b)", "scores": "S = vᵀ·H"},
            )
            for vectors in ("rows", "columns")
        ),
        ({"mode": "hard"}, {"weights": "A = one-hot(row argmax(S))"}),
        ({"mode": "hard", "vectors": "columns"}, {"weights": "A = one-hot(column argmax(S))"}),
        ({"mode": "sample", "vectors": "columns"}, {"weights": "A = draw(softmax(S), u)"}),
        ({"mode": "gumbel"}, {"exponentials": "E = exp(S + G)"}),
        ({"mode": "sparsemax"}, {"weights": "A = max(S - τ, 0.0)"}),
        ({"mode": "entmax15"}, {"weights": "A = max(S / 2.0 - τ, 0.0)²"}),
        ({"scores": [[1.0, 2.0]]}, {"scores": "S"}),
        ({"scores": [[1.0, 2.0]], "mask": Mask(lengths=1)}, {"raw_scores": "R = scores", "scores": "S = R + M"}),
        ({"scores": [[1000.0, 2.0]]}, {"exponentials": "E = exp(S - row max(S))"}),
        ({"scores": [[1000.0, 2.0]], "vectors": "columns"}, {"exponentials": "E = exp(S - column max(S))"}),
    ],
    ids=str,
)
def test_a_formula_is_composed_of_what_was_computed(changes, expected):
    written = formulas(**changes)
    assert {name: written[name] for name in expected} == expected


def test_tex_says_the_same():
    written = formulas("tex", heads=2, mode="entmax15")
    assert written["Q"] == r"Q_h = \left(X \cdot W_Q\right)_h"
    assert written["products"] == r"P_h = Q_h \cdot {K_h}^\top"
    assert written["scores"] == r"S_h = \frac{P_h}{\sqrt{d_k}}"
    assert written["output"] == r"O = \operatorname{Concat}\left(O_1, \dots, O_h\right)"
