"""YAML: what JSON says, in the form that a person reads. Text stands in quotes, so that none of YAML's traps can bite."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

from attn_cli.engine.notes import Note
from attn_cli.engine.steps import Trace
from attn_cli.render.data.json import document
from attn_cli.render.style import Style


def trace(trace: Trace, style: Style, notes: Sequence[Note]) -> str:
    content = document(trace, style, notes, lambda array: array.tolist())  # YAML can write -∞
    return laid_out(content)


def laid_out(content: dict[str, Any]) -> str:
    """A mapping of JSON's own types."""
    return "".join(_mapping(content, ""))


def _mapping(content: dict[str, Any], indent: str, first: str | None = None) -> Iterator[str]:
    """One key a line; `first` stands before the first of them."""
    for i, (key, value) in enumerate(content.items()):
        yield f"{indent if i or first is None else first}{_key(key)}:"
        yield from _value(value, indent)


def _value(value: Any, indent: str) -> Iterator[str]:
    """What stands after `key:`."""
    if isinstance(value, dict) and value:
        yield "\n"
        yield from _mapping(value, indent + "  ")
    elif isinstance(value, list) and any(isinstance(part, (dict, list)) for part in value):
        yield "\n"
        for part in value:
            yield from _item(part, f"{indent}- ", f"{indent}  ")
    else:
        yield f" {_flow(value)}\n"


def _item(part: Any, first: str, indent: str) -> Iterator[str]:
    """One item of a list; `first` stands before its first line. The rows of a matrix are one line each."""
    if isinstance(part, dict):
        yield from _mapping(part, indent, first)
    elif isinstance(part, list) and any(isinstance(inner, list) for inner in part):
        for i, inner in enumerate(part):
            yield from _item(inner, f"{indent if i else first}- ", f"{indent}  ")
    else:
        yield f"{first}{_flow(part)}\n"


def _flow(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_flow, value))}]"
    if isinstance(value, dict):
        return "{}"
    if isinstance(value, str):
        return _text(value)
    return _number(value) if isinstance(value, float) else json.dumps(value)


def _number(value: float) -> str:
    """YAML reads `1e-07` as text: it wants a point."""
    if math.isnan(value):
        return "null"
    if math.isinf(value):
        return ".inf" if value > 0 else "-.inf"
    text = repr(value)
    return text.replace("e", ".0e") if "e" in text and "." not in text else text


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z]\w+|[^\WnNyY]", name) else _text(name)


def _text(string: str) -> str:
    """In double quotes; what YAML does not print is spelled out, as in JSON."""
    quoted = json.dumps(string, ensure_ascii=False)
    return "".join(c if c.isprintable() else _spelled(c) for c in quoted)


def _spelled(sign: str) -> str:
    """A sign as an escape of YAML's, which has no pairs of surrogates: one outside the basic plane has eight digits."""
    return f"\\U{ord(sign):08x}" if ord(sign) > 0xFFFF else json.dumps(sign)[1:-1]
