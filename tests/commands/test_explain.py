"""`attn explain`, `attn help` and what a shell completes."""

import re
import subprocess
import sys

import pytest

from attn_cli.cli import COMMANDS, main
from attn_cli.engine.keys import Key
from attn_cli.engine.modes import MODES
from attn_cli.engine.problem import KEYS, MASK_PARTS
from attn_cli.engine.scores import SCORES
from attn_cli.engine.steps import STEPS
from attn_cli.render.formats import FORMATS
from attn_cli.render.glossary import words
from attn_cli.render.lang.about_zh import ABOUT

CHINESE = re.compile("[\u4e00-\u9fff]")


def said(capsys, *argv):
    assert main(list(argv)) == 0
    return capsys.readouterr().out


def test_without_a_word_every_word_is_listed(capsys):
    page = said(capsys, "explain")
    assert all(name in page for name in (*STEPS, *SCORES, *MODES, *KEYS, *FORMATS, "no_scale", "causal", "carried"))


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("word", words(), ids=lambda word: f"{word.kind}-{word.name}")
def test_every_word_is_explained_in_both_languages(word, lang):
    lines = list(word.explained(lang))
    assert lines[0][0] == ""
    assert lines[0][1]
    assert lang == "en" or word.kind == "gradient" or word.name == "concat" or CHINESE.search(lines[0][1]) or word.kind == "score"
    assert dict(lines)["example"]


def test_what_the_tables_say_is_said_in_chinese_too():
    rows: dict[str, Key] = {**KEYS, **MASK_PARTS}
    named = {*(f"score.{name}" for name in SCORES), *(f"mode.{name}" for name in MODES), *(f"key.{row.name}" for row in rows.values())}
    assert named <= {*ABOUT}
    assert {f"format.{name}" for name in FORMATS} <= {*ABOUT}


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("softmax", "Softmax along each row: exp(S) / row sum."),
        ("A", "formula: A = E / Z"),
        ("weights", "shape: n × m (n queries, m keys)"),
        ("products", "formula: P = Q·Kᵀ"),
        ("additive", "source: Bahdanau et al. 2015, appendix A.1.2"),
        ("--temperature", "a number greater than 0"),
        ("wq", "W_Q · key of a problem"),
        ("no-scale", "not divided by √d_k"),
        ("dW_Q", "attn grad problem.yaml --only dW_Q"),
        ("window", "mask: {window: [1, 0]}"),
    ],
)
def test_a_word_is_explained(word, told, capsys):
    assert told in said(capsys, "explain", "--lang", "en", "--", word)


def test_a_word_that_means_nothing_gets_a_guess(capsys):
    assert main(["explain", "softmaxx"]) == 2
    assert capsys.readouterr().err == "error: no word 'softmaxx' (did you mean 'softmax'?); attn explain lists them\n"


@pytest.mark.parametrize("command", [command for command in COMMANDS if command != "help"])
def test_help_is_a_command(command, capsys):
    assert said(capsys, "help", command) == said(capsys, command, "--help")


def test_help_alone_lists_the_commands(capsys):
    assert said(capsys, "help") == said(capsys, "--help")
    assert main(["help", "computee"]) == 2
    assert "did you mean 'compute'?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        (["tr"], ["trace"]),
        (["--sh"], ["--show-completion"]),
        (["help", "sam"], ["samples"]),
        (["compute", "--sc"], ["--score", "--scale"]),
        (["compute", "--score", "s"], ["scaled"]),
        (["trace", "x.yaml", "--mode", "so"], ["soft"]),
        (["trace", "--only", "we"], ["weights"]),
        (["trace", "--cell", "out"], ["output["]),
        (["check", "--points", "out"], ["output="]),
        (["compute", "--format", "m"], ["markdown"]),
        (["compute", "--lang", ""], ["en", "zh"]),
        (["samples", "ca"], ["causal"]),
        (["explain", "no_s"], ["no_scale"]),
        (["grad", "--estimator", "r"], ["reinforce"]),
        (["exercise", "a"], ["audit"]),
        (["exercise", "new", "--cou"], ["--count"]),
        (["compute", ""], []),
        (["nosuch", ""], []),
    ],
)
def test_a_shell_completes(typed, offered, capsys):
    assert [line.partition("\t")[0] for line in said(capsys, "--complete", *typed).splitlines()] == offered


def test_bash_completes_with_the_script(capsys):
    program = f'attn() {{ {sys.executable} -m attn_cli "$@"; }}; eval "$(attn --show-completion bash)"; '
    program += 'COMP_WORDS=(attn compute --mode s); COMP_CWORD=3; _attn_complete; echo "${COMPREPLY[@]}"'
    done = subprocess.run(["bash", "-c", program], capture_output=True, text=True)
    assert done.stdout == "soft sample sparsemax\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_for_each_shell_says_how_to_load_it(shell, capsys):
    assert f"attn --show-completion {shell}" in said(capsys, "--show-completion", shell)


def test_another_shell_is_refused(capsys):
    assert main(["--show-completion", "tcsh"]) == 2
    assert "expected one of bash, zsh, fish" in capsys.readouterr().err


@pytest.mark.parametrize(("word", "way"), [("W_QKV", "W_Q, W_K and W_V"), ("is_causal", "mask: causal"), ("q_proj.weight", "W_Q")])
def test_a_frameworks_word_is_told_how_to_write_it(word, way, capsys):
    assert main(["explain", word]) == 2
    said = capsys.readouterr().err
    assert way in said
    assert "did you mean" not in said
