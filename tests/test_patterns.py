"""Regular expressions mean the same on every Python that the program supports."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FRAGILE = re.compile(r"(?<!\\)\)([*+?]|\{\d*,?\d*\})\+|\(\?>")
"""A group repeated possessively, or an atomic group: where its inside can backtrack, Python up to 3.11.4 loses the place where it
ends. A single letter or class repeated possessively is sound."""


@pytest.mark.parametrize("pattern", [r"(?:a?b)*+", r"(ab)++", r"(ab)?+", r"(ab){1,2}+", r"(?>ab)"])
def test_a_fragile_pattern_is_recognised(pattern):
    assert FRAGILE.search(pattern)


@pytest.mark.parametrize("pattern", [r"[ab]*+", r"a++", r"(ab)+", r"(ab)+\+", r"\)*+", r"(?:ab)*(?=c)"])
def test_a_sound_pattern_is_left_alone(pattern):
    assert not FRAGILE.search(pattern)


@pytest.mark.parametrize("module", sorted((ROOT / "attn_cli").rglob("*.py")), ids=lambda path: str(path.relative_to(ROOT)))
def test_no_group_is_possessive(module):
    texts = [node.value for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))) if isinstance(node, ast.Constant)]
    assert [text for text in texts if isinstance(text, str) and FRAGILE.search(text)] == []
