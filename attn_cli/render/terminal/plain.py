"""Fixed-width text without rules or colour."""

from __future__ import annotations

from collections.abc import Sequence

from attn_cli.engine.notes import Note
from attn_cli.engine.steps import Trace
from attn_cli.render.page import page
from attn_cli.render.style import Style
from attn_cli.render.terminal import layout


def render(trace: Trace, style: Style, notes: Sequence[Note]) -> str:
    return layout.joined(layout.walkthrough(page(trace, style, notes), layout.Skin()))
