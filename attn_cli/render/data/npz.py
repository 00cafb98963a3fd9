"""NPZ: each step's array under its name, bit for bit."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO

import numpy as np

from attn_cli.engine.notes import Note
from attn_cli.engine.steps import Trace
from attn_cli.render.page import shown_steps
from attn_cli.render.style import Style


def render(trace: Trace, style: Style, notes: Sequence[Note]) -> bytes:
    buffer = BytesIO()
    np.savez(buffer, allow_pickle=False, **{step.name: np.ascontiguousarray(step.value) for step in shown_steps(trace, style)})
    return buffer.getvalue()
