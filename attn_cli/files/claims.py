"""Answers as they were read -> the plain records that marking works on."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from attn_cli.files.cells import NoNumber, is_not_given, read_number
from attn_cli.files.tree import Items, Pairs, Scalar, Tree
from attn_cli.files.values import Value
from attn_cli.homework.claims import (
    Answer,
    ArrayAnswer,
    Claim,
    answer,
    array_answer,
    decimal_claim,
    exact_claim,
    expression_claim,
    unreadable,
)


def as_claims(steps: Mapping[str, Value]) -> tuple[Answer | ArrayAnswer, ...]:
    """One answer a step."""
    return tuple(
        array_answer(name, value.node)
        if isinstance(value.node, np.ndarray)
        else answer(name, _nested(value.node, value.decimal), value.labels)
        for name, value in steps.items()
    )


def _nested(node: Tree, decimal: str) -> Any:
    """The claims of an answer, in lists; rows by the names of their tokens in a mapping."""
    if isinstance(node, Items):
        return [_nested(item, decimal) for item in node.items]
    if isinstance(node, Pairs):
        return {label.text: _nested(row, decimal) for label, row in node}
    assert isinstance(node, Scalar)
    return cell_claim(node.text, decimal)


def cell_claim(text: str, decimal: str = ".") -> Claim:
    """What one cell of text claims; a text that is no number claims nothing that could be right."""
    if is_not_given(text) or text.strip().lower() == "x":  # what an x says depends on whether its cell is masked
        return Claim(given=False, text=text.strip())
    found = read_number(text, percent=True, decimal=decimal)
    if isinstance(found, NoNumber):
        return unreadable(text.strip())
    if found.exact or math.isnan(found.value):
        return exact_claim(found.value, text)
    if found.operands:
        return expression_claim(found.value, text, digits=found.digits)
    return decimal_claim(
        found.value,
        text,
        decimals=found.decimals,
        digits=found.digits,
        whole=found.whole,
        exponent=found.exponent,
    )
