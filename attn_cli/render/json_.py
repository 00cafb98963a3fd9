"""JSON: every step with all its digits."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from types import NoneType
from typing import Any

import numpy as np

import attn_cli
from attn_cli.engine.notes import Note
from attn_cli.engine.problem import Array, all_finite
from attn_cli.engine.trace import Trace
from attn_cli.render.lang import note_text
from attn_cli.render.page import Formula, default_title, shown_steps, step_title
from attn_cli.render.style import Style

NESTED = frozenset((dict, list))
_UNSEEN = "[\x80-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufffe\uffff\ud800-\udfff]"
"""Byte-order marks, marks of direction, controls, and bytes of file names that are no text: written as escapes."""
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def encode(value: Any) -> str:
    """On one line, in plain sight."""
    return _seen(_encode(value))


def _seen(text: str) -> str:
    return text if text.isascii() else re.sub(_UNSEEN, lambda found: f"\\u{ord(found[0]):04x}", text)


def render(trace: Trace, style: Style, notes: Sequence[Note]) -> str:
    return _seen(_laid_out(document(trace, style, notes))) + "\n"


def document(trace: Trace, style: Style, notes: Sequence[Note]) -> dict[str, Any]:
    """The result as JSON's own types. `weights` and `output` stand at the top too, where they are shown."""
    shown = shown_steps(trace, style)
    values = {step.name: plain_value(step.value) for step in shown}
    told: dict[str, Any] = {
        "attn": attn_cli.__version__,
        "title": trace.problem.title or default_title(trace, style.lang),
        "settings": {name: _plain(value) for name, value in trace.settings.items()},
        "query_tokens": list(trace.query_labels),
        "key_tokens": list(trace.key_labels),
        "steps": [
            {
                "name": step.name,
                "symbol": step.symbol.text,
                "title": step_title(step, trace, style.lang),
                "formula": Formula(step.symbol, step.formula, (), (), False, style.lang).plain(),
                "shape": list(step.value.shape),
                "value": values[step.name],
            }
            for step in shown
        ],
    }
    told |= {name: values[name] for name in ("weights", "output") if name in values}
    if style.cells:
        from attn_cli.render.derivation import derivations

        told["cells"] = [d.document() for d in derivations(trace, style)]
    told["notes"] = [{"code": note.code, "text": note_text(note, style.lang)} for note in notes]
    return told


def plain_value(array: Array) -> Any:
    """An array as nested lists, with null where a number is not finite, which JSON cannot write."""
    if all_finite(array):
        return array.tolist()
    cells = array.astype(object)
    cells[~np.isfinite(array)] = None
    return cells.tolist()


def _plain(value: Any) -> Any:
    """A setting in JSON's own types."""
    if value is None or isinstance(value, (str, int)):
        return value
    if isinstance(value, Mapping):
        return {str(name): _plain(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return plain_value(np.asarray(value))
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _laid_out(value: Any, indent: str = "") -> str:
    """Indented, but every list of numbers or texts on one line."""
    if not isinstance(value, (dict, list)):
        return _encode(value)
    inner = indent + "  "
    if isinstance(value, dict):
        if not _any_nested(value.values()):
            return _encode(value)
        parts = [f"{_encode(str(name))}: {_laid_out(part, inner)}" for name, part in value.items()]
        ends = "{}"
    elif isinstance(value, list) and _any_nested(value):
        if (rows := _rows(value, inner)) is not None:
            return f"[\n{inner}{rows}\n{indent}]"
        parts = [_laid_out(part, inner) for part in value]
        ends = "[]"
    else:
        return _encode(value)
    return f"{ends[0]}\n{inner}{f',{chr(10)}{inner}'.join(parts)}\n{indent}{ends[1]}"


def _any_nested(parts: Iterable[Any]) -> bool:
    return not NESTED.isdisjoint(map(type, parts))


def _rows(value: list[Any], indent: str) -> str | None:
    """The rows of a matrix of numbers, a line each, written at once; None for anything else."""
    if not (isinstance(first := value[0], list) and first and isinstance(first[0], (float, int, NoneType))):
        return None
    text = _encode(value)
    if text.count("[") != len(value) + 1 or '"' in text or "{" in text:
        return None
    return text[1:-1].replace("], [", f"],\n{indent}[")
