"""Families of functions that a name in a file or on the command line chooses from.

Registering is one decorator; help, loading, errors, renderers and law tests read the registry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Generic, NamedTuple, TypeVar

from attn_cli.errors import InputError

F = TypeVar("F", bound=Callable[..., object])


class Entry(NamedTuple, Generic[F]):
    """One member of a family."""

    name: str
    function: F
    summary: str
    """The first line of the function's docstring: what `--help` prints."""
    parameters: Mapping[str, int] = {}
    """Names of the arrays that the member takes from the problem's mapping of its own name, with their number of axes."""
    differentiable: bool = True
    random: bool = False
    """Whether it draws numbers, so that the seed belongs to the result."""


class Registry(Generic[F]):
    """A family: name → Entry, in the order of registration."""

    def __init__(self, what: str):
        self.what = what
        """What a member is called in messages: "score function", "mode"."""
        self._entries: dict[str, Entry[F]] = {}

    def register(
        self, *, parameters: Mapping[str, int] | None = None, differentiable: bool = True, random: bool = False
    ) -> Callable[[F], F]:
        """Decorator that adds a function under its own name (a trailing underscore, as in `sample_`, is dropped)."""

        def add(function: F) -> F:
            name = function.__name__.rstrip("_")
            summary = (function.__doc__ or name).strip().splitlines()[0].rstrip(".")
            self._entries[name] = Entry(name, function, summary, parameters or {}, differentiable, random)
            return function

        return add

    def remove(self, name: str) -> None:
        """Take a member out again (tests add toy members)."""
        del self._entries[name]

    def __getitem__(self, name: str) -> Entry[F]:
        """Raises InputError that lists the members when there is none of that name."""
        if name not in self._entries:
            raise InputError(f"no {self.what} {name!r}{did_you_mean(name, self)}; there are {', '.join(self)}")
        return self._entries[name]

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def entries(self) -> list[Entry[F]]:
        return list(self._entries.values())


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


def did_you_mean(word: str, known: Iterator[str] | Registry[F] | list[str] | tuple[str, ...]) -> str:
    """`, did you mean 'x'?` when a known word is near, or has another name elsewhere; else nothing."""
    from difflib import get_close_matches  # only somebody who mistyped waits for it

    known = list(known)
    plain = word.lower().replace("-", "_").replace(" ", "_")
    if meant := next((name for name in known if plain in ELSEWHERE.get(name, ())), None):
        return f" (did you mean {meant!r}?)"
    near = get_close_matches(word.lower(), {k.lower(): k for k in known}, n=1)
    found = next((k for k in known if near and k.lower() == near[0]), None)
    return f" (did you mean {found!r}?)" if found else ""
