"""What the README shows is what the program prints. `python tests/test_readme.py` writes it anew."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from attn_cli.engine.problem import ARRAYS, MASK_PARTS
from attn_cli.engine.steps import STEPS

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
PICTURE = ROOT / ".readme" / "trace.svg"
SHOWN = re.compile(r"<!-- ((?:attn|cat) [^\n]*) -->\n(?:```\w*\n.*?\n```\n)?", re.DOTALL)
"""A comment that names a command, and the block below it that shows what the command prints."""


def run(command: str) -> str:
    name, *arguments = shlex.split(command)
    if name == "cat":
        return (ROOT / arguments[0]).read_text(encoding="utf-8")
    env = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "COLUMNS": "100"}
    done = subprocess.run([sys.executable, "-m", "attn_cli", *arguments], cwd=ROOT, env=env, capture_output=True, encoding="utf-8")
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


def block(command: str) -> str:
    language = "yaml" if command.startswith("cat") else "latex" if command.endswith("latex") else "text"
    shown = "" if command.startswith("cat") else f"$ {command}\n"
    return f"<!-- {command} -->\n```{language}\n{shown}{run(command).strip(chr(10))}\n```\n"


def picture() -> str:
    return run("attn trace --only scores --only weights --only output --format svg")


@pytest.mark.parametrize("command", SHOWN.findall(README.read_text(encoding="utf-8")))
def test_the_readme_shows_what_the_program_prints(command: str) -> None:
    assert block(command) in README.read_text(encoding="utf-8")


def test_the_readme_names_every_step_key_and_part_of_a_mask() -> None:
    text = README.read_text(encoding="utf-8")
    inputs = {*ARRAYS} - {"upstream"}  # which only a command to come will read
    assert [name for name in (*STEPS, *MASK_PARTS, *inputs) if f"`{name}" not in text] == []


def test_the_readme_s_picture_is_what_the_program_draws() -> None:
    assert PICTURE.read_text(encoding="utf-8") == picture()


if __name__ == "__main__":
    text = README.read_text(encoding="utf-8")
    README.write_text(SHOWN.sub(lambda found: block(found[1]), text), encoding="utf-8")
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(picture(), encoding="utf-8")
