"""JSON: every step with all its digits."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

import attn_cli
from attn_cli.engine.arrays import Array, all_finite
from attn_cli.engine.notes import Note
from attn_cli.engine.steps import Step, Trace
from attn_cli.render.lang import note_text, text
from attn_cli.render.page import Formula
from attn_cli.render.style import Style
from attn_cli.render.walkthrough import default_title, shown_steps, step_title

if TYPE_CHECKING:
    from attn_cli.homework.report import Failed, Report, StepReport

LISTED = 64
"""Of an array of more cells, a report lists none unless they are asked for."""
_UNSEEN = re.compile("[\x80-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufffe\uffff\ud800-\udfff]")
"""Byte-order marks, marks of direction, controls, and bytes of file names that are no text: written as escapes."""
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


class _Matrix(str):
    """A matrix that is JSON already, on one line."""


_NESTED = frozenset((dict, list, _Matrix))


def encode(value: Any) -> str:
    """On one line, in plain sight."""
    text = _encode(value)
    return text if text.isascii() else _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


_text = lru_cache(1024)(encode)
"""The same for a text, of which most stand in result after result."""


def trace(trace: Trace, style: Style, notes: Sequence[Note]) -> str:
    return laid_out(document(trace, style, notes, _array)) + "\n"


def document(trace: Trace, style: Style, notes: Sequence[Note], array: Callable[[Array], Any]) -> dict[str, Any]:
    """The result as JSON's own types, steps as `array` makes them. `weights` and `output` stand at the
    top too, where they are shown."""
    shown = shown_steps(trace, style)
    values = {step.name: array(step.value) for step in shown}
    content: dict[str, Any] = {
        "attn": attn_cli.__version__,
        "title": trace.problem.title or default_title(trace, style.lang),
        "settings": {name: _plain(value) for name, value in trace.settings.items()},
        "query_tokens": list(trace.query_labels),
        "key_tokens": list(trace.key_labels),
        "steps": [_step(step, trace, style, values[step.name]) for step in shown],
    }
    content |= {name: values[name] for name in ("weights", "output") if name in values}
    if trace.gradients:
        content["gradients"] = _gradients(trace, style, shown, array)
    content |= {name: _plain(found) for name, found in trace.findings.items()}
    if style.cells:
        from attn_cli.render.derivation import derivations

        content["cells"] = [d.document() for d in derivations(trace, style)]
    content["notes"] = [{"code": note.code, "text": note_text(note, style.lang)} for note in notes]
    return content


def _gradients(trace: Trace, style: Style, shown: Sequence[Step], array: Callable[[Array], Any]) -> dict[str, Any]:
    """Every gradient by the name of its input or parameter; where steps were chosen, those of the steps shown."""
    chosen = {step.of for step in shown} if style.only else trace.gradients.keys()
    return {name: array(value) for name, value in trace.gradients.items() if name in chosen}


def _step(step: Step, trace: Trace, style: Style, value: Any) -> dict[str, Any]:
    return {
        "name": step.name,
        "symbol": step.symbol.text,
        "title": step_title(step, trace, style.lang),
        "formula": Formula(step.symbol, step.formula, (), (), False, style.lang).plain(),
        "shape": list(step.value.shape),
        "value": value,
    }


# ------------------------------------------------------------------ marks
def report(found: Report | Failed, style: Style) -> str:
    """What marking found, indented as JSON's readers like it."""
    return json.dumps(marks(found, style), ensure_ascii=False, indent=1) + "\n"


def reports(found: Sequence[Report | Failed], style: Style) -> str:
    """One line a submission."""
    return "".join(encode(marks(one, style)) + "\n" for one in found)


def marks(found: Report | Failed, style: Style) -> dict[str, Any]:
    """One submission as JSON's own types."""
    from attn_cli.homework.report import Failed

    if isinstance(found, Failed):
        return {"file": found.file, "error": found.error}
    first = found.first_wrong
    return {
        **({"file": found.file} if found.file is not None else {}),
        "right": found.right,
        "complete": found.complete,
        "earned": found.earned,
        "possible": found.possible,
        "first_wrong": None if first is None else {"step": first.name, "cell": list(first.first_wrong) if first.first_wrong else None},
        "steps": [_marked(step, style) for step in found.steps],
    }


def _marked(step: StepReport, style: Style) -> dict[str, Any]:
    from attn_cli.homework.report import tidy

    one: dict[str, Any] = {"name": step.name, "verdict": step.verdict}
    if style.all_cells or not step.array or step.size <= LISTED:
        one["cells"] = step.cells
        if not step.array:
            one["written"] = step.written
        if style.answers:
            one["expected"] = _finite(step.expected)
    one["mistake"] = None
    if step.mistake is not None:
        code = step.mistake.code
        one["mistake"] = {"code": code, "text": text(f"mistake.{code}", style.lang), "also": list(step.mistake.also)}
    one["earned"], one["possible"] = tidy(step.points * step.share), tidy(step.points)
    one["asked"] = step.asked
    one["notes"] = [{"code": note.code, "text": note_text(note, style.lang)} for note in step.notes]
    if step.precision is not None:
        hidden = () if style.answers else ("expected",)
        found = {name: value for name, value in asdict(step.precision).items() if name not in hidden}
        one["precision"] = {name: _finite(list(v) if isinstance(v, tuple) else v) for name, v in found.items()}
    return one


def _finite(value: Any) -> Any:
    """Nested lists with null where a number is not finite."""
    if isinstance(value, list):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


# ------------------------------------------------------------------ text
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


def _array(array: Array) -> Any:
    """As `plain_value`, but every matrix as JSON, encoded at once."""
    if array.ndim > 2:
        return [_array(part) for part in array]
    if array.ndim < 2:
        return plain_value(array)
    try:
        return _Matrix(_encode(array.tolist()))
    except ValueError:  # some number is not finite
        return _Matrix(_encode(plain_value(array)))


def laid_out(value: Any, line: str = "\n") -> str:
    """Indented, but every list of numbers or texts on one line. `line` is a line break with the indentation after it."""
    kind, inner = type(value), line + "  "
    if kind is str:
        return _text(value)
    if kind is _Matrix:
        return f"[{inner}{value[1:-1].replace('], [', f'],{inner}[')}{line}]"
    if kind is dict and not _NESTED.isdisjoint(map(type, value.values())):
        parts = [f"{_text(name)}: {laid_out(part, inner)}" for name, part in value.items()]
        return f"{{{inner}{f',{inner}'.join(parts)}{line}}}"
    if kind is list and not _NESTED.isdisjoint(map(type, value)):
        return f"[{inner}{f',{inner}'.join([laid_out(part, inner) for part in value])}{line}]"
    return encode(value)
