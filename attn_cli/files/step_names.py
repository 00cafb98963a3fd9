"""The steps that an answer may be given to, and the words that name them."""

from __future__ import annotations

from attn_cli.engine.scores import gradient_names
from attn_cli.engine.steps import STEPS as FORWARD
from attn_cli.engine.steps import step_name
from attn_cli.names import canonical, did_you_mean

STEPS = (*FORWARD, *gradient_names())
"""Forward ones first, then those of the backward pass."""


def step_of(word: str) -> str | None:
    """The step that a word names, by its name in any case or by its symbol."""
    word = word.strip()
    return step_name(word) or canonical(word, STEPS)


def unknown_step(name: str) -> str:
    """The message for a name that is no step's."""
    near = did_you_mean(name, STEPS) or did_you_mean(name.replace("_", ""), STEPS)
    return f"there is no step {name!r}{near}; there are {', '.join(FORWARD)}, and their gradients (dS, dQ, dW_Q, …)"
