"""What things are called: by us, by papers, by frameworks; and which name was probably meant."""

from __future__ import annotations

from collections.abc import Iterable

ELSEWHERE: dict[str, tuple[str, ...]] = {
    "scaled": ("scaled_dot_product", "scaled_dot", "sdpa", "vaswani"),
    "dot": ("dot_product", "dotproduct", "inner"),
    "additive": ("bahdanau", "concat", "mlp", "tanh"),
    "general": ("luong", "bilinear", "multiplicative"),
    "soft": ("softmax",),
    "hard": ("argmax", "max", "one_hot", "onehot"),
    "sample": ("stochastic", "multinomial", "categorical"),
    "entmax15": ("entmax", "entmax_15", "entmax1.5"),
    "W_Q": ("w_query", "query_weight", "query_weights", "q_proj", "weight_q"),
    "W_K": ("w_key", "key_weight", "key_weights", "k_proj", "weight_k"),
    "W_V": ("w_value", "value_weight", "value_weights", "v_proj", "weight_v"),
    "W_O": ("w_out", "w_output", "out_proj", "o_proj", "output_weight"),
    "mask": ("attention_mask",),
    "heads": ("n_heads", "num_heads", "n_head", "nhead", "h"),
    "kv_heads": ("num_kv_heads", "n_kv_heads", "num_key_value_heads"),
    "context": ("memory", "encoder_output", "encoder_outputs", "source"),
    "X": ("input", "inputs", "embedding", "embeddings", "sequence"),
    "softcap": ("soft_cap", "logit_cap", "attn_logit_softcapping"),
    "Q": ("query", "queries"),
    "K": ("key", "keys"),
    "V": ("value", "values"),
    "hidden": ("hidden_layer", "hidden_states"),
    "products": ("qk", "qkt", "qk_t", "q_kt", "qk^t", "qkᵀ", "q·kᵀ", "product", "dot_products", "dot_product"),
    "raw_scores": ("raw",),
    "capped": ("softcapped",),
    "tempered": ("s'",),
    "scores": ("score", "logits", "attention_scores", "attn_scores", "scaled_scores", "masked_scores"),
    "exponentials": ("exp", "exps", "exponential"),
    "row_sums": ("sum", "sums", "row_sum", "column_sums", "denominator", "denominators"),
    "weights": ("attention", "attention_weights", "attn", "attn_weights", "probabilities", "probs", "alpha", "alphas", "α", "softmax"),
    "concat": ("concatenated", "concatenation", "joined"),
    "output": ("out", "outputs", "result", "context", "context_vector", "context_vectors"),
}
"""What papers and libraries call the things that have another name here; `trace` adds the symbols of the steps."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`, did you mean 'x'?` when a known word is near, or has another name elsewhere; else nothing."""
    from difflib import get_close_matches  # only somebody who mistyped waits for it

    known = list(known)
    plain = word.lower().replace("-", "_").replace(" ", "_")
    if meant := next((name for name in known if plain in ELSEWHERE.get(name, ())), None):
        return f" (did you mean {meant!r}?)"
    near = get_close_matches(word.lower(), {k.lower(): k for k in known}, n=1)
    found = next((k for k in known if near and k.lower() == near[0]), None)
    return f" (did you mean {found!r}?)" if found else ""
