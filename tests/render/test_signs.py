"""Pages where standard output lacks a sign."""

from __future__ import annotations

import pytest

from attn_cli.engine.steps import Trace
from attn_cli.render.formats import FORMATS
from attn_cli.render.signs import fitting
from attn_cli.render.style import Style


@pytest.mark.parametrize(
    ("encoding", "text", "expected"),
    [
        ("utf-8", "√d_k ≈ 2 │ ·", "√d_k ≈ 2 │ ·"),
        ("cp1252", "rows · √d_k = √4 = 2 │ 1·2 ≈ 2", "rows · sqrt(d_k) = sqrt(4) = 2 | 1·2 ~ 2"),
        ("ascii", "rows · √d_k = √4 = 2 │ 1·2 ≈ 2", "rows | sqrt(d_k) = sqrt(4) = 2 | 1*2 ~ 2"),
        ("ascii", "a   1.0000      -∞", "a   1.0000    -inf"),
        ("ascii", "Genève 猫 🐈", "Geneve ? ?"),
        ("latin-1", "Zürich ✓ p\udcff", "Zürich + p\udcff"),
        ("cp437", "0.5▄  0.1▁", "0.5   0.1 "),
    ],
)
def test_a_sign_that_is_lacking_has_a_stand_in(encoding: str, text: str, expected: str) -> None:
    assert fitting(text, encoding) == expected


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "cp437", "koi8-r"])
def test_every_page_fits_every_encoding_and_no_sign_is_lost(encoding: str, trace: Trace) -> None:
    shown = fitting(str(FORMATS["table"].trace(trace, Style(detail="trace"))), encoding)
    shown.encode(encoding)
    assert "?" not in shown
