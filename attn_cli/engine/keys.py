"""What one key of a problem may hold, and the one place where a value is judged by it.

The keys themselves are the fields of `problem.Problem`, each with its row; `problem.KEYS` lists them. Files, options and
Python have their values judged here, so that the same value is refused everywhere, in the same words.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any, Literal, NamedTuple

import numpy as np

from attn_cli.engine.arrays import Array, all_finite, as_array, shape_text
from attn_cli.engine.registry import FAMILIES
from attn_cli.errors import InputError
from attn_cli.names import did_you_mean

Kind = Literal["text", "labels", "matrix", "number", "whole", "word", "truth", "truths", "window", "mask", "arrays", "steps", "answers"]


class Key(NamedTuple):
    """One key of a problem: what it means and what may stand there."""

    kind: Kind
    summary: str
    """What it means, as the help says it."""
    steps: tuple[str, ...] = ()
    """The steps whose own line of mathematics reads it."""
    axes: tuple[int, ...] = ()
    """Of an array: how many axes it may have."""
    turns: bool = False
    """Of an array: whether it stands the other way round in a text whose tokens are columns."""
    nan: bool = False
    """Whether a cell may be NaN (in V, where a value is masked for every query)."""
    minus_infinity: bool = False
    """Whether a cell may be −∞ (in bias, which then masks)."""
    above: float | None = None
    """A number must be greater."""
    least: int | None = None
    """A whole number must be no less."""
    most: int | None = None
    """A whole number must be no farther from 0."""
    words: tuple[str, ...] = ()
    """What a word may be; empty where a registry of the same name says it."""
    mend: str = ""
    """What a person probably wants who wrote something else."""
    name: str = ""

    @property
    def choices(self) -> tuple[str, ...]:
        """What a word may be. Score functions and modes are known once their modules are imported."""
        return self.words or tuple(FAMILIES.get(self.name, ()))

    @property
    def side(self) -> Key:
        """The row of one side of a window."""
        return self._replace(kind="whole", least=0)

    @property
    def expected(self) -> str:
        """What may stand here, as messages say it."""
        if self.kind == "number":
            return "a finite number" if self.above is None else f"a number greater than {self.above:g}"
        if self.kind == "whole":
            bounds = f" from {self.least}" if self.least is not None else ""
            return f"a whole number{bounds}" + (f", at most {self.most}" if self.most is not None else "")
        if self.kind == "word":
            return " or ".join(self.choices) if len(self.choices) == 2 else f"one of {', '.join(self.choices)}"
        if self.kind == "matrix":
            return ("a number", "one row of numbers", "a matrix", "a matrix, or one for each head")[max(self.axes)]
        return {
            "text": "a text",
            "labels": "a list of labels such as [the, cat]",
            "truth": "true or false",
            "truths": "a matrix of true and false, or of 1 and 0",
            "window": "a whole number for both sides, or [left, right]; null leaves a side open",
            "mask": "causal, a matrix of 1 and 0, or a mapping",
            "arrays": "a mapping of arrays",
            "steps": "a list of steps such as [scores, weights]",
            "answers": "a mapping of steps, such as weights:",
        }[self.kind]


def key(default: Any, kind: Kind, summary: str, steps: str = "", **allowed: Any) -> Any:
    """A field of a problem, with its default and its row; `steps` are names with blanks between."""
    return field(default=default, metadata={"key": Key(kind, summary, tuple(steps.split()), **allowed)})


def matrix(summary: str, steps: str, *axes: int, **allowed: Any) -> Any:
    """A field that holds an array with one of these numbers of axes; a single row does not turn where tokens are columns."""
    return key(None, "matrix", summary, steps, axes=axes, turns=axes != (1,), **allowed)


# ------------------------------------------------------------------ judging a value
def judge(row: Key, value: Any, found: str = "") -> Any:
    """The value in the form that a problem keeps it in; raises InputError where its key may not hold it.

    `found` is how the value was written, for the message.
    """
    return JUDGES[row.kind](row, value, found)


def _refused(row: Key, found: str, expected: str = "") -> InputError:
    return InputError(f"found {found}, expected {expected or row.expected}{'; ' + row.mend if row.mend else ''}", key=row.name)


def _shown(value: Any) -> str:
    """A value in a message: numbers as they print, long ones cut."""
    text = f"{value:g}" if isinstance(value, float | np.floating) else repr(value)
    return text if len(text) <= 40 else f"{text[:40]}…"


def _number(row: Key, value: Any, found: str) -> float:
    found = found or _shown(value)
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
        raise _refused(row, found)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number) or (row.above is not None and not number > row.above):
        raise _refused(row, found)
    return number


def _whole(row: Key, value: Any, found: str) -> int:
    found = found or _shown(value)
    whole = isinstance(value, int | np.integer) or (isinstance(value, float | np.floating) and float(value).is_integer())
    if isinstance(value, bool | np.bool_) or not whole:
        raise _refused(row, found)
    if (row.least is not None and value < row.least) or (row.most is not None and abs(value) > row.most):
        raise _refused(row, found)
    return int(value)


def _word(row: Key, value: Any, found: str) -> str:
    if row.choices and value not in row.choices:
        near = did_you_mean(value, row.choices) if isinstance(value, str) else ""
        raise _refused(row, (found or _shown(value)) + near)
    return str(value)


def _text(row: Key, value: Any, found: str) -> str:
    if not isinstance(value, str):
        raise _refused(row, found or _shown(value))
    return value


def _labels(row: Key, value: Any, found: str) -> tuple[str, ...]:
    labels = () if isinstance(value, str) or not isinstance(value, Iterable) else tuple(value)
    if not labels or not all(isinstance(label, str) for label in labels):
        raise _refused(row, found or _shown(value))
    return labels


def _steps(row: Key, value: Any, found: str) -> tuple[str, ...]:
    return _labels(row, (value,) if isinstance(value, str) else value, found)


def _truth(row: Key, value: Any, found: str) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise _refused(row, found or _shown(value))
    return bool(value)


def _window(row: Key, value: Any, found: str) -> tuple[int | None, int | None]:
    """One whole number for both sides, or one for each; None leaves a side open."""
    sides = (value, value) if value is not None and np.ndim(value) == 0 else value
    if not isinstance(sides, Sequence | np.ndarray) or len(sides) != 2:
        raise _refused(row, found or _shown(value))
    left, right = (None if number is None else _whole(row.side, number, "") for number in sides)
    return left, right


# ------------------------------------------------------------------ arrays
def array_for(row: Key, value: Any) -> Array:
    """The value as an array of one of the dtypes for numbers."""
    if hasattr(value, "filled") and np.any(value.mask):  # a masked array of NumPy, whose module is not imported for this
        raise _refused(row, "a masked array with cells that have no value")
    try:
        array = as_array(value)
    except ValueError:
        raise _refused(row, "rows of different lengths") from None
    if array.dtype.kind not in ("biuf" if row.kind == "truths" else "iuf"):
        kinds = {"b": "true and false", "c": "complex numbers", "U": "texts", "S": "texts"}
        expected = "1 and 0, or true and false" if row.kind == "truths" else "real numbers"
        expected += " (true and false belong in mask)" if array.dtype == bool else ""
        raise InputError(f"found {kinds.get(array.dtype.kind, f'an array of {array.dtype}')}, expected {expected}", key=row.name)
    return array


def without_batch(row: Key, array: Array) -> Array:
    """The array without a batch axis of length one in front: (1, h, n, d) -> (h, n, d). Raises InputError where it is longer.

    What is added to the scores or masks them in every head alike loses its axis of heads with it: (1, 1, n, m) -> (n, m).
    """
    if array.ndim != max(row.axes) + 1 or array.ndim < 3:
        return array
    if len(array) != 1:
        one = f"{row.name.rpartition('.')[2]}[0]"
        many = f"is {shape_text(array.shape)}, a batch of {len(array)}"
        raise InputError(f"{many}; give each as a problem of its own, the first as {one}", key=row.name)
    for_all_heads = array.ndim == 4 and array.shape[1] == 1 and (row.minus_infinity or row.kind == "truths")
    if array.shape[:2] == (1, 1) and array.ndim == 4 and not for_all_heads:  # which of the two is the batch, and are there heads?
        raise InputError(f"is {shape_text(array.shape)}, expected {row.expected}; take the two axes of length one away", key=row.name)
    return np.asarray(array[0, 0] if for_all_heads else array[0])


def _matrix(row: Key, value: Any, found: str) -> Array:
    array = without_batch(row, array_for(row, value))
    if row.axes == (1,) and array.ndim == 2 and 1 in array.shape:  # one row, or one column
        array = array.reshape(-1)
    check_axes(row, array)
    check_finite(row, array)
    return array


def check_axes(row: Key, array: Array) -> None:
    """Raises InputError where an array has another number of axes than its key may have, or no cell."""
    if array.ndim not in row.axes:
        shape = ("a single number", f"one row of {array.size}")[array.ndim] if array.ndim < 2 else shape_text(array.shape)
        raise InputError(f"is {shape}, expected {row.expected}", key=row.name)
    if not array.size:
        raise InputError(f"is {shape_text(array.shape)}, expected at least one row and one column", key=row.name)


def check_finite(row: Key, array: Array) -> None:
    """Raises InputError at the first cell that is NaN or infinite where its key may not hold that."""
    if all_finite(array):
        return
    fine = np.isfinite(array)
    if row.nan:
        fine |= np.isnan(array)
    if row.minus_infinity:
        fine |= np.isneginf(array)
    if fine.all():
        return
    at = tuple(int(i) for i in np.argwhere(~fine)[0])
    found = "nan" if np.isnan(array[at]) else "inf" if array[at] > 0 else "-inf"
    if row.minus_infinity:
        expected = "a finite number or -inf"
    elif found == "nan":
        expected = "a finite number; an empty place in a matrix has no value: write a number"
    else:
        expected = "a finite number; only bias may hold -inf, where it masks a score"
    raise InputError(f"found {found}, expected {expected}", key=row.name, cell=at)


def _truths(row: Key, value: Any, found: str) -> Array:
    array = without_batch(row, array_for(row, value))
    check_axes(row, array)
    if array.dtype == bool:
        return array
    strange = (array != 0) & (array != 1)
    if strange.any():
        at = tuple(int(i) for i in np.argwhere(strange)[0])
        expected = "1 and 0, or true and false, in a mask; to add numbers to the scores (-inf masks a key) use bias"
        raise InputError(f"found {array[at]:g}, expected {expected}", key=row.name, cell=at)
    return array.astype(bool)


def _unchanged(row: Key, value: Any, found: str) -> Any:
    return value


JUDGES: Mapping[Kind, Callable[[Key, Any, str], Any]] = {
    "text": _text,
    "labels": _labels,
    "matrix": _matrix,
    "number": _number,
    "whole": _whole,
    "word": _word,
    "truth": _truth,
    "truths": _truths,
    "window": _window,
    "mask": _unchanged,
    "arrays": _unchanged,
    "steps": _steps,
    "answers": _unchanged,
}
"""How each kind of value is judged; a mask and a score function's arrays are judged part by part."""
