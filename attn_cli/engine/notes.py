"""Remarks that go with a result: a code and the values that its sentence needs. The sentences are in the catalogues of `render/lang`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Note:
    """One remark, such as `Note("tie", {"row": "x1", "keys": ("x1", "x3"), "chosen": "x1"})`."""

    code: str
    values: Mapping[str, Any] = field(default_factory=dict)
    warning: bool = False
    """Whether the result may not mean what its reader thinks."""
