"""What things are called: by us, by papers, by frameworks; and which name was probably meant."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

SYNONYMS: dict[str, tuple[str, ...]] = {
    "scaled": ("scaled_dot_product", "scaled_dot_product_attention", "scaled_dot", "sdpa", "vaswani"),
    "dot": ("dot_product", "dotproduct", "inner", "luong_dot"),
    "additive": ("bahdanau", "concat", "mlp", "tanh"),
    "general": ("luong", "bilinear", "multiplicative", "luong_general"),
    "cosine": ("cosine_similarity", "cos", "cos_sim", "graves"),
    "soft": ("softmax", "soft_attention"),
    "hard": ("argmax", "max", "one_hot", "onehot", "hardmax", "hard_attention"),
    "gumbel": ("gumbel_softmax", "concrete"),
    "sample": ("stochastic", "multinomial", "categorical"),
    "entmax15": ("entmax", "entmax_15", "entmax1.5"),
    "causal": ("causal_mask", "autoregressive", "look_ahead", "lookahead", "subsequent", "lower_triangular", "tril", "decoder"),
    "W_Q": ("w_query", "query_weight", "query_weights", "weight_q"),
    "W_K": ("w_key", "key_weight", "key_weights", "weight_k"),
    "W_V": ("w_value", "value_weight", "value_weights", "weight_v"),
    "W_O": ("w_out", "w_output", "output_weight"),
    "context": ("memory", "encoder_output", "encoder_outputs", "source"),
    "X": ("input", "inputs", "embedding", "embeddings", "sequence"),
    "softcap": ("soft_cap", "logit_cap"),
    "Q": ("query", "queries"),
    "K": ("key", "keys"),
    "V": ("value", "values"),
    "temperature": ("temp", "tau"),
    "tokens": ("labels", "words"),
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
"""What papers and libraries call the things that have another name here; `steps` adds the symbols of the steps."""

PADDING = "write mask: {drop: …}, where true or 1 means masked (a float mask that is added to the scores is a bias)"
THREE = "cut it in three and write W_Q, W_K and W_V; stored as in PyTorch, with weights_layout: out_in"
AS_STORED = "with weights_layout: out_in as stored in PyTorch"
THREE_BIASES = "cut it in three and write b_Q, b_K and b_V"
WINDOW = "write mask: {causal: true, window: [w - 1, 0]}: w counts the token itself there, and here it does not"
LENGTHS = "write mask: {lengths: k}, with one problem for each sequence of a batch"
SIZE = "leave it out: sizes follow from the matrices"
TRAINING = "leave it out: numbers are worked exactly, without what training adds"
FIRST = "apply it to Q and K first, and give the result as Q and K"
SINK = "attention sinks are not here yet"
BIAS = "write it out as a matrix under bias, which is added to the scores"

FRAMEWORK_WORDS: dict[str, str] = {
    **dict.fromkeys(("attn_mask", "src_mask", "tgt_mask", "memory_mask"), PADDING),
    **dict.fromkeys(("key_padding_mask", "padding_mask", "pad_mask", "src_key_padding_mask", "padding"), PADDING),
    "attention_mask": "write mask: {keep: …}, where true or 1 means may attend (a float mask that is added to the scores is a bias)",
    **dict.fromkeys(("is_causal", "causal", "use_causal_mask", "unidirectional"), "write mask: causal"),
    **dict.fromkeys(("sliding_window", "sliding_window_size", "local_window", "attention_window"), WINDOW),
    "window_size": "write mask: {window: [left, right]}, with null where a side is open (−1 in FlashAttention)",
    **dict.fromkeys(("valid_lens", "valid_length", "seq_lens", "seqlens", "cu_seqlens", "key_lengths", "seqused_k"), LENGTHS),
    **dict.fromkeys(("in_proj_weight", "w_qkv", "wqkv", "qkv_proj", "qkv", "c_attn", "qkv_weight", "query_key_value", "in_proj"), THREE),
    **dict.fromkeys(("in_proj_bias", "b_qkv", "qkv_bias"), THREE_BIASES),
    **dict.fromkeys(("q_proj", "query_proj", "to_q", "linear_q"), f"write W_Q, {AS_STORED}"),
    **dict.fromkeys(("k_proj", "key_proj", "to_k", "linear_k"), f"write W_K, {AS_STORED}"),
    **dict.fromkeys(("v_proj", "value_proj", "to_v", "linear_v"), f"write W_V, {AS_STORED}"),
    **dict.fromkeys(("out_proj", "o_proj", "to_out", "c_proj", "linear_out"), f"write W_O, {AS_STORED}"),
    **dict.fromkeys(("q_proj_bias", "query_bias"), "write b_Q"),
    **dict.fromkeys(("k_proj_bias", "key_bias"), "write b_K"),
    **dict.fromkeys(("v_proj_bias", "value_bias"), "write b_V"),
    **dict.fromkeys(("out_proj_bias", "o_proj_bias", "to_out_bias"), "write b_O"),
    **dict.fromkeys(("num_heads", "n_heads", "n_head", "nhead", "num_attention_heads", "num_q_heads", "h"), "write heads: N"),
    **dict.fromkeys(("num_kv_heads", "n_kv_heads", "num_key_value_heads", "num_query_groups", "kv_groups"), "write kv_heads: N"),
    **dict.fromkeys(("enable_gqa", "use_gqa", "multi_query"), "write kv_heads: N, the number of key and value heads"),
    **dict.fromkeys(("head_dim", "embed_dim", "d_model", "d_k", "d_v", "hidden_size", "kdim", "vdim", "key_dim", "value_dim"), SIZE),
    "use_scale": "write scale: NUMBER, which multiplies the scores (score: dot has none)",
    **dict.fromkeys(("softmax_scale", "sm_scale", "scale_factor", "scaling"), "write scale: NUMBER, which multiplies the scores"),
    "query_pre_attn_scalar": "write scale: 1/sqrt(N), which multiplies the scores",
    **dict.fromkeys(("attn_logit_softcapping", "logits_soft_cap", "logit_softcap"), "write softcap: NUMBER"),
    **dict.fromkeys(("dropout", "dropout_p", "attn_dropout", "attention_dropout", "dropout_rate", "training"), TRAINING),
    **dict.fromkeys(("alibi", "alibi_slopes", "use_alibi"), BIAS),
    **dict.fromkeys(("attn_bias", "attention_bias", "position_bias", "relative_position_bias", "rel_pos_bias", "score_mod"), BIAS),
    **dict.fromkeys(("rope", "rotary", "rotary_emb", "rope_theta", "rotary_embedding", "q_norm", "k_norm", "qk_norm"), FIRST),
    **dict.fromkeys(("positional_encoding", "position_embeddings", "pos_encoding"), "add it to X first"),
    **dict.fromkeys(("sink", "sinks", "attention_sink", "attention_sinks", "attn_sink", "s_aux", "add_zero_attn", "add_bias_kv"), SINK),
    **dict.fromkeys(("batch_first", "need_weights", "average_attn_weights", "return_attention_scores"), "leave it out"),
    "batch_size": "leave it out, and write one problem for each member of the batch",
}
"""What frameworks call a setting or an array, in lower case with underscores, and how to write it here."""


def how_to_write(word: str) -> str:
    """How to write here what a framework calls so, such as `self_attn.q_proj.weight`; nothing where it is no framework's word."""
    parts = _plain(re.sub("(?<=[a-z])(?=[A-Z])", "_", word)).split(".")  # numHeads, too
    kind = parts.pop() if len(parts) > 1 and parts[-1] in ("weight", "kernel", "bias") else ""
    return FRAMEWORK_WORDS.get(parts[-1] + ("_bias" if kind == "bias" else ""), "")


def unknown(word: str, known: Collection[str], what: str = "key") -> str:
    """The message for a name that is not among the known ones: how to write what a framework calls so, else what is near."""
    if what != "step" and (way := how_to_write(word)):
        return f"there is no {what} {word!r} here: {way}"
    near = did_you_mean(word, known) or did_you_mean(word.replace("_", ""), known)
    return f"there is no {what} {word!r}{near}; there are {', '.join(known)}"


def canonical(name: str, names: Collection[str]) -> str | None:
    """The one of the names that is meant, whatever its case and underscores."""
    if name in names:
        return name
    plain = name.strip().lower().replace("_", "")
    return next((known for known in names if known.lower().replace("_", "") == plain), None)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """` (did you mean 'x'?)` when a known word is near, or has another name elsewhere; else nothing."""
    from difflib import get_close_matches  # only somebody who mistyped waits for it

    known = list(known)
    plain = _plain(word)
    if meant := next((name for name in known if plain in SYNONYMS.get(name, ())), None):
        return f" (did you mean {meant!r}?)"
    near = get_close_matches(word.lower(), {k.lower(): k for k in known}, n=1)
    found = next((k for k in known if near and k.lower() == near[0]), None)
    return f" (did you mean {found!r}?)" if found else ""


def _plain(word: str) -> str:
    return word.strip().lower().replace("-", "_").replace(" ", "_")
