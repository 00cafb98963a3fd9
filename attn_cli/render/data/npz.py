"""NPZ: each step's array under its name, bit for bit."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import Any

import numpy as np

from attn_cli.engine.notes import Note
from attn_cli.engine.steps import Trace
from attn_cli.render.style import Style
from attn_cli.render.walkthrough import shown_steps


def trace(trace: Trace, style: Style, notes: Sequence[Note]) -> bytes:
    buffer = BytesIO()
    arrays: dict[str, Any] = {step.name: np.ascontiguousarray(step.value) for step in shown_steps(trace, style)}
    np.savez(buffer, **arrays)  # without allow_pickle, which NumPy 2.0 takes for an array's name
    return buffer.getvalue()
