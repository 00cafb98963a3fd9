"""Answers as they were read -> the plain records that marking works on."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from attn_cli.files.cells import is_empty, read
from attn_cli.files.tree import Items, Node, Scalar
from attn_cli.files.values import Value
from attn_cli.homework.claims import MISSING, Answer, ArrayAnswer, Claim, answer, array_answer, decimal_claim, exact_claim


def claims(steps: Mapping[str, Value]) -> tuple[Answer | ArrayAnswer, ...]:
    """One answer a step."""
    return tuple(
        array_answer(name, value.node) if isinstance(value.node, np.ndarray) else answer(name, _nested(value.node, value.decimal))
        for name, value in steps.items()
    )


def _nested(node: Node, decimal: str) -> Any:
    if isinstance(node, Items):
        return [_nested(item, decimal) for item in node.items]
    assert isinstance(node, Scalar)
    return cell_claim(node.text, decimal)


def cell_claim(text: str, decimal: str = ".") -> Claim:
    """What one cell of text claims."""
    if is_empty(text):
        return MISSING
    found = read(text, percent=True, decimal=decimal)
    if found.exact or math.isnan(found.value):
        return exact_claim(found.value, text)
    return decimal_claim(
        found.value,
        text,
        decimals=found.decimals,
        digits=found.digits,
        whole=found.whole,
        exponent="e" in text.lower(),
    )
