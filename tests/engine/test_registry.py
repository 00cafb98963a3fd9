"""One registered function is a new score function, everywhere."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from attn_cli.cli import main
from attn_cli.engine import operations as op
from attn_cli.engine.attention import solve
from attn_cli.engine.expression import symbol
from attn_cli.engine.modes import MODES
from attn_cli.engine.problem import Problem
from attn_cli.engine.scores import SCORES
from attn_cli.engine.steps import STEPS
from attn_cli.errors import InputError
from attn_cli.names import did_you_mean

HERE = Path(__file__).parent


@pytest.fixture
def toy():
    """A score function that multiplies the dot product by a number of its own."""

    @SCORES.register(parameters={"w": 1})
    def doubled_(q, k, problem, record):
        """w₁·Q·Kᵀ, a toy.

        (n, d), (m, d), (1,) -> (n, m).
        """
        w = op.given("doubled.w", problem.parameters["doubled"]["w"], symbol("w"))
        return op.multiply(op.product_t(q, k), w)

    yield "doubled"
    SCORES.remove("doubled")


def test_a_new_score_function_computes_with_its_parameters(toy):
    trace = solve(Problem(Q=[[1, 2]], K=[[3, 4], [0, 1]], score=toy, parameters={"doubled": {"w": [2]}}))
    assert trace["scores"].tolist() == [[22, 4]]
    assert trace.step("scores").cell((0, 0)).plain(lambda n: f"{n.value:g}") == "(1·3 + 2·4)·2"


def test_a_new_score_function_is_listed_in_errors(toy):
    with pytest.raises(InputError, match=r"score: found 'double' \(did you mean 'doubled'\?\), expected one of scaled, .*, doubled"):
        solve(Problem(Q=[[1]], K=[[1]], score="double"))


def test_a_new_score_function_is_listed_in_help_and_explained(toy, capsys):
    main(["compute", "--help"])
    assert "cosine, doubled" in " ".join(capsys.readouterr().out.split())
    assert main(["explain", "doubled"]) == 0
    assert "₁·Q·Kᵀ, a toy" in capsys.readouterr().out


def test_a_new_score_function_is_loaded_from_a_file_with_its_parameters(toy, tmp_path, capsys):
    path = tmp_path / "toy.yaml"
    path.write_text("Q: [[1, 2]]\nK: [[3, 4], [0, 1]]\nscore: doubled\ndoubled:\n  w: [2]\n")
    assert main(["compute", str(path), "--format", "json", "--only", "scores"]) == 0
    assert "22" in capsys.readouterr().out


@pytest.mark.parametrize("name", [*SCORES, *MODES])
def test_every_name_is_in_the_help_page_and_explained_by_its_summary(name, capsys):
    main(["compute", "--help"])
    assert name in re.split(r"[\s,.]+", capsys.readouterr().out)
    entry = SCORES[name] if name in SCORES else MODES[name]
    assert main(["explain", name]) == 0
    assert entry.summary in " ".join(capsys.readouterr().out.split())


def test_an_unknown_name_on_the_command_line_lists_those_that_are(capsys):
    assert main(["compute", "--score", "nope"]) == 2
    assert ", ".join(SCORES) in capsys.readouterr().err


def test_the_laws_run_for_a_new_score_function_by_themselves(tmp_path):
    program = """
import sys, pytest
from attn_cli.engine import operations as op
from attn_cli.engine.scores import SCORES
from attn_cli.engine.steps import STEPS

@SCORES.register()
def toy(q, k, problem, record):
    "Q·Kᵀ twice"
    return op.add(op.product_t(q, k), op.product_t(q, k))

sys.exit(pytest.main([*sys.argv[1:], "-q", "-p", "no:cacheprovider", "-k", "toy and soft and (weights or slope)"]))
"""
    laws = [str(HERE / "test_laws.py"), str(HERE / "test_gradient.py")]
    done = subprocess.run([sys.executable, "-c", program, *laws], capture_output=True, text=True, cwd=HERE.parents[1])
    assert done.returncode == 0, done.stdout
    assert "passed" in done.stdout
    assert "failed" not in done.stdout


def test_a_trailing_underscore_is_no_part_of_the_name():
    @SCORES.register()
    def sum_(q, k, problem, record):
        """A toy"""

    assert "sum" in SCORES
    assert SCORES["sum"].summary == "A toy"
    SCORES.remove("sum")
    assert "sum" not in SCORES
    assert np.all([name in SCORES for name in ("scaled", "dot", "additive", "general", "cosine")])


@pytest.mark.parametrize(
    ("word", "meant"),
    [("bahdanau", "additive"), ("scaled-dot-product", "scaled"), ("Softmax", "soft"), ("argmax", "hard"), ("dott", "dot")],
)
def test_a_name_from_elsewhere_leads_to_the_name_here(word, meant):
    assert did_you_mean(word, [*SCORES, *MODES]) == f" (did you mean {meant!r}?)"


@pytest.mark.parametrize("step", [name for name in STEPS if name not in ("Q", "K", "V", "heads", "concat")])
def test_the_symbol_of_a_step_leads_to_its_name(step):
    symbol = STEPS[step].plain
    assert did_you_mean(symbol, list(STEPS)) == did_you_mean(symbol.lower(), list(STEPS)) == f" (did you mean {step!r}?)"


@pytest.mark.parametrize(
    ("word", "meant"),
    [("attention weights", "weights"), ("probs", "weights"), ("logits", "scores"), ("QKt", "products"), ("exp", "exponentials")],
)
def test_a_symbol_or_a_name_from_elsewhere_is_no_step_but_leads_to_one(word, meant, tmp_path, capsys):
    problem, answers = tmp_path / "p.yaml", tmp_path / "a.yaml"
    problem.write_text("Q: [[1, 2]]\nK: [[3, 4]]\nV: [[1]]\n")
    answers.write_text(f"{word}: [[1]]\n")
    for argv in (["compute", problem, "--only", word], ["check", problem, answers], ["check", problem, answers, "--points", f"{word}=2"]):
        assert main([str(part) for part in argv]) == 2
        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", 1)
        assert f"{word!r} " in err
        assert f"(did you mean {meant!r}?)" in err
