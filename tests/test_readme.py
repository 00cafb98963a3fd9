"""What the READMEs show is what the program prints and does. `python tests/test_readme.py` writes it anew."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from attn_cli.cli import COMMANDS
from attn_cli.render.glossary import words

ROOT = Path(__file__).resolve().parent.parent
READMES = {"en": ROOT / "README.md", "zh": ROOT / ".readme" / "README.zh.md"}
PICTURE = ROOT / ".readme" / "trace.svg"
SHOWN = re.compile(r"<!-- ((?:attn|cat|table) [^\n]*) -->\n(?:```\w*\n.*?\n```\n|(?:\|[^\n]*\n)+)?", re.DOTALL)
"""A comment that names a command or a table of the program, and below it the block that shows what it says."""
RECIPE = re.compile(r'<!-- (\S+\.py)(?: after "([^"\n]*)")? -->\n```python\n(.*?)```\n', re.DOTALL)
"""A comment that names a file, perhaps the line after which to write, and below it what to write there."""


def written(language: str) -> str:
    return READMES[language].read_text(encoding="utf-8")


# ------------------------------------------------------------------ what the program prints
def run(command: str, folder: Path = ROOT) -> str:
    name, *arguments = shlex.split(command)
    if name == "cat":
        return (folder / arguments[0]).read_text(encoding="utf-8")
    env = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "COLUMNS": "100"}
    done = subprocess.run([sys.executable, "-m", "attn_cli", *arguments], cwd=folder, env=env, capture_output=True, encoding="utf-8")
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


def block(command: str, language: str) -> str:
    if command.startswith("table "):
        return f"<!-- {command} -->\n" + "".join(rows(command.removeprefix("table "), language))
    markup = "yaml" if command.startswith("cat") else "latex" if "latex" in command else "text"
    shown = "" if command.startswith("cat") else f"$ {command}\n"
    return f"<!-- {command} -->\n```{markup}\n{shown}{run(command).strip(chr(10))}\n```\n"


def rows(kind: str, language: str) -> Iterator[str]:
    """A table of all words of a kind, each with its sentence, as `attn explain` says it."""
    yield {"en": "| name | what |\n|---|---|\n", "zh": "| 名字 | 含义 |\n|---|---|\n"}[language]
    for word in words():
        if word.kind == kind:
            yield f"| `{word.name.removeprefix('mask.')}` | {next(word.explained(language))[1].replace('|', '&#124;')} |\n"


def picture() -> str:
    return run("attn trace --only scores --only weights --only output --format svg")


SHOWN_IN = [(command, language) for language in READMES for command in SHOWN.findall(written(language))]


@pytest.mark.parametrize(("command", "language"), SHOWN_IN)
def test_a_readme_shows_what_the_program_prints(command: str, language: str) -> None:
    assert block(command, language) in written(language)


def test_the_picture_is_what_the_program_draws() -> None:
    assert PICTURE.read_text(encoding="utf-8") == picture()


def test_both_readmes_show_the_same_commands_and_tables() -> None:
    english, chinese = ([shown for shown, of in SHOWN_IN if of == language] for language in READMES)
    assert [shown.removesuffix(" --lang zh") for shown in chinese] == english


@pytest.mark.parametrize("language", READMES)
def test_a_readme_names_every_command(language: str) -> None:
    assert [name for name in COMMANDS if f"attn {name}" not in written(language)] == []


# ------------------------------------------------------------------ commands that a reader types
COMMAND_LINES = [
    (line, language)
    for language in READMES
    for code in re.findall(r"(?<!-->\n)```sh\n(.*?)```", written(language), re.DOTALL)
    for line in code.splitlines()
    if line.startswith("attn ")
]


@pytest.fixture(scope="module")
def classroom(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that the READMEs' commands name."""
    import numpy as np

    folder = tmp_path_factory.mktemp("classroom")
    problem = "X: [[1, 0], [0, 1], [1, 1]]\nask: [scores, weights]\n"
    (folder / "problem.yaml").write_text(problem, encoding="utf-8")
    (folder / "class" / "ann_17").mkdir(parents=True)
    (folder / "class" / "ann_17" / "work.yaml").write_text("weights: [[0.4018, 0.1981, 0.4018]]\n", encoding="utf-8")
    (folder / "class" / "bert.yaml").write_text("weights: [[0.42, 0.16, 0.42]]\n", encoding="utf-8")
    x = np.array([[1, 0], [0, 1], [1, 1]], "f4")
    np.savez(folder / "problem.npz", X=x)
    s = x @ x.T / np.sqrt(np.float32(2))
    e = np.exp(np.where(np.tri(3, dtype=bool), s, -np.inf))
    np.savez(folder / "kernel.npz", weights=e / e.sum(-1, keepdims=True))
    np.savez(folder / "framework.npz", scores=s)
    return folder


@pytest.mark.parametrize(("line", "language"), COMMAND_LINES)
def test_a_command_of_a_readme_runs(line: str, language: str, classroom: Path) -> None:
    env = {**os.environ, "LANG": "C.UTF-8", "PYTHONPATH": str(ROOT)}
    words = shlex.split(line.partition("  #")[0])[1:]
    done = subprocess.run([sys.executable, "-m", "attn_cli", *words], cwd=classroom, env=env, capture_output=True, encoding="utf-8")
    assert done.returncode in (0, 1), done.stderr


def test_from_a_framework_s_layer_to_the_same_numbers() -> None:
    torch = pytest.importorskip("torch")
    for language in READMES:
        code = re.search(r"<!-- torch -->\n```python\n(.*?)```\n<!-- /torch -->", written(language), re.DOTALL)
        assert code is not None
        names: dict[str, object] = {}
        exec(code[1], names)
        with torch.no_grad():
            output, weights = names["layer"](names["x"], names["x"], names["x"], average_attn_weights=False)  # type: ignore[operator]
        trace = names["trace"]
        assert abs(trace["weights"] - weights[0].numpy()).max() < 1e-6  # type: ignore[index]
        assert abs(trace["output"] - output[0].numpy()).max() < 1e-6  # type: ignore[index]


# ------------------------------------------------------------------ recipes for those who extend it
@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the program in which every recipe was followed."""
    folder = tmp_path_factory.mktemp("extended")
    for part in ("attn_cli", "samples"):
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
    for name, line, code in RECIPE.findall(written("en")):
        file = folder / name
        before = file.read_text(encoding="utf-8") if file.exists() else ""
        if line:
            assert before.count(line) == 1, f"{name} has {line!r} {before.count(line)} times"
            start, end = before.split(line)
            file.write_text(start + line + "\n" + code + end, encoding="utf-8")
        else:
            file.write_text(before + ("\n\n" if before else "") + code, encoding="utf-8")
    return folder


def test_a_recipe_adds_a_score_function(extended: Path) -> None:
    assert "squeezed" in run("attn compute --help", extended)
    assert "tanh(Q·Kᵀ)" in run("attn compute --score squeezed --only scores", extended)
    assert "dQ = " in run("attn grad --score squeezed", extended)


def test_a_recipe_adds_a_mode(extended: Path) -> None:
    assert "0.6652" in run("attn compute --mode twice --only weights", extended)  # exp(2) / (exp(2) + exp(0) + exp(1))


def test_a_recipe_adds_a_mistake(extended: Path) -> None:
    (extended / "p.yaml").write_text("Q: [[1, 2, 2]]\nK: [[1, 2, 2], [0, 1, 0]]\n", encoding="utf-8")
    (extended / "halved.yaml").write_text("scores: [[2.598, 0.577]]\n", encoding="utf-8")  # 9 and 2, divided by 2·√3
    assert "divided by 2·√d_k" in run("attn check p.yaml halved.yaml", extended)


def test_a_recipe_adds_a_format(extended: Path) -> None:
    assert run("attn compute --format titles", extended).splitlines()[-1] == "output"
    assert "titles" in run("attn check --help", extended)


def test_both_readmes_have_the_same_recipes() -> None:
    assert RECIPE.findall(written("zh")) == RECIPE.findall(written("en"))


if __name__ == "__main__":
    for language, path in READMES.items():
        text = SHOWN.sub(lambda found, language=language: block(found[1], language), written(language))  # type: ignore[misc]
        path.write_text(text, encoding="utf-8")
    PICTURE.write_text(picture(), encoding="utf-8")
