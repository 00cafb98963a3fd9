"""Fixed-width text without rules or colour."""

from __future__ import annotations

from attn_cli.render.page import Page
from attn_cli.render.terminal.grid import Skin
from attn_cli.render.terminal.layout import joined, laid_out


def draw(page: Page) -> str:
    return joined(laid_out(page, Skin()))
