"""Remarks that go with a result: a code and the values that its sentence needs. The sentences are in the catalogues of `render/lang`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class Note(NamedTuple):
    """One remark, such as `Note("tie", {"row": "x1", "keys": ("x1", "x3"), "chosen": "x1"})`."""

    code: str
    values: Mapping[str, Any] = {}
    warning: bool = False
    """Whether the result may not mean what its reader thinks."""
