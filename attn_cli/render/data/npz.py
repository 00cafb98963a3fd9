"""NPZ: each step's array under its name, bit for bit."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO

import numpy as np

from attn_cli.engine.notes import Note
from attn_cli.engine.steps import Trace
from attn_cli.render.style import Style
from attn_cli.render.walkthrough import shown_steps


def trace(trace: Trace, style: Style, notes: Sequence[Note]) -> bytes:
    buffer = BytesIO()
    np.savez(buffer, allow_pickle=False, **{step.name: np.ascontiguousarray(step.value) for step in shown_steps(trace, style)})
    return buffer.getvalue()
