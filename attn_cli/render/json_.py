"""JSON: every step with all its digits."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

import attn_cli
from attn_cli.engine.notes import Note
from attn_cli.engine.problem import Array
from attn_cli.engine.trace import Trace
from attn_cli.render.lang import note_text
from attn_cli.render.page import default_title, shown_steps, step_formula, step_title
from attn_cli.render.style import Style


def render(trace: Trace, style: Style, notes: Sequence[Note]) -> str:
    return "".join(_laid_out(document(trace, style, notes))) + "\n"


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
                "formula": step_formula(step, trace, style).plain(),
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
    if np.isfinite(array).all():
        return array.tolist()
    cells = array.astype(object)
    cells[~np.isfinite(array)] = None
    return cells.tolist()


def _plain(value: Any) -> Any:
    """A setting in JSON's own types."""
    if isinstance(value, Mapping):
        return {str(name): _plain(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return plain_value(np.asarray(value))
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _laid_out(value: Any, indent: str = "") -> Iterator[str]:
    """Indented, but every list of numbers or texts on one line."""
    inner = indent + "  "
    if isinstance(value, dict) and any(isinstance(part, (dict, list)) for part in value.values()):
        parts = ((f"{json.dumps(str(name), ensure_ascii=False)}: ", part) for name, part in value.items())
        ends = "{}"
    elif isinstance(value, list) and any(isinstance(part, (dict, list)) for part in value):
        parts = (("", part) for part in value)
        ends = "[]"
    else:
        yield json.dumps(value, ensure_ascii=False, allow_nan=False)
        return
    yield ends[0]
    for i, (name, part) in enumerate(parts):
        yield f"{',' if i else ''}\n{inner}{name}"
        yield from _laid_out(part, inner)
    yield f"\n{indent}{ends[1]}"
