"""NPY: the array of one step, bit for bit."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO

import numpy as np

from attn_cli.engine.notes import Note
from attn_cli.engine.steps import Trace
from attn_cli.errors import UsageError
from attn_cli.render.style import Style
from attn_cli.render.walkthrough import shown_steps


def trace(trace: Trace, style: Style, notes: Sequence[Note]) -> bytes:
    shown = shown_steps(trace, style)
    if len(shown) != 1:
        raise UsageError("an NPY file holds one array: name a step with --only, as in --only output (NPZ holds them all)")
    buffer = BytesIO()
    np.save(buffer, np.ascontiguousarray(shown[0].value), allow_pickle=False)
    return buffer.getvalue()
