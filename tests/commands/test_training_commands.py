"""`attn grad` and `attn compare`, as a user runs them."""

import json

import numpy as np
import pytest

from attn_cli.cli import main

PROBLEM = """\
X: [[1, 0], [0, 2]]
W_Q: [[1, 1], [0, 1]]
W_K: [[1, 0], [1, 1]]
W_V: [[2, 0], [0, 1]]
upstream: [[1, 0], [0, 1]]
"""


@pytest.fixture
def problem(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.yaml").write_text(PROBLEM)
    return "p.yaml"


def printed(capsys, *argv, code=0):
    """The JSON that a run prints."""
    assert main([*argv, "--format", "json"]) == code
    return json.loads(capsys.readouterr().out)


# ------------------------------------------------------------------ grad
def test_gradients_stand_beside_the_steps(problem, capsys):
    found = printed(capsys, "grad", problem)
    names = [step["name"] for step in found["steps"]]
    assert names[names.index("output") + 1 :] == ["dO", "dV", "dA", "dS", "dP", "dQ", "dK", "dW_Q", "dW_K", "dW_V", "dX"]
    steps = {step["name"]: step["value"] for step in found["steps"]}
    assert found["gradients"]["W_Q"] == steps["dW_Q"]
    assert found["gradients"]["scores"] == steps["dS"]


def test_verify_tells_the_largest_difference(problem, capsys):
    assert printed(capsys, "grad", problem, "--verify")["verify"]["largest"] < 1e-8


@pytest.mark.parametrize("form", ["table", "plain", "json", "yaml", "csv", "markdown", "latex", "html", "svg"])
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_format_and_language_shows_a_backward_pass(form, lang, problem, capsys):
    assert main(["grad", problem, "--format", form, "--lang", lang]) == 0
    assert "dW_Q" in capsys.readouterr().out.replace(r"\mathrm{d}W_Q", "dW_Q").replace("dW<sub>Q</sub>", "dW_Q")


def test_a_cell_of_a_gradient_is_derived_down_to_the_inputs(problem, capsys):
    assert main(["grad", problem, "--cell", "dW_Q[1,1]", "--depth", "9"]) == 0
    out = capsys.readouterr().out
    assert "dW_Q[1,1] = X[x1,1]·dQ[x1,1] + X[x2,1]·dQ[x2,1]" in out
    assert "dO[x1,1] = upstream" in out or "dO[x1,1] = 1" in out


@pytest.mark.parametrize("suffix", ["json", "yaml", "csv", "npz"])
@pytest.mark.parametrize("layout", ["rows", "columns"])
def test_what_grad_writes_is_marked_all_right(suffix, layout, problem, tmp_path, capsys):
    (tmp_path / "p.yaml").write_text(PROBLEM + f"vectors: {layout}\n")
    assert main(["grad", problem, "-o", f"g.{suffix}"]) == 0
    capsys.readouterr()
    report = printed(capsys, "check", problem, f"g.{suffix}")
    assert report["right"] is True
    assert "dX" in [step["name"] for step in report["steps"]]


@pytest.mark.parametrize("word", ["dS", "ds", "dscores", "∂S", "dW_Q", "dw_q", "dWQ", "∂W_Q", "dA", "dweights", "doutput"])
def test_answers_name_gradients_as_people_write_them(word, problem, tmp_path, capsys):
    from attn_cli.engine.steps import gradient_of
    from attn_cli.files.step_names import step_of

    found = {step["name"]: step["value"] for step in printed(capsys, "grad", problem)["steps"]}
    assert gradient_of("scores") == "dS"
    (tmp_path / "a.json").write_text(json.dumps({word: found[step_of(word)]}))
    assert printed(capsys, "check", problem, "a.json")["right"] is True


def test_a_framework_s_word_for_a_gradient_gets_ours(problem, tmp_path, capsys):
    (tmp_path / "a.json").write_text(json.dumps({"W_Q.grad": [[1]]}))
    assert main(["check", problem, "a.json"]) == 2
    assert "did you mean 'dW_Q'" in capsys.readouterr().err


def test_a_wrong_gradient_is_found_and_what_follows_is_carried(problem, tmp_path, capsys):
    found = {step["name"]: np.array(step["value"]) for step in printed(capsys, "grad", problem)["steps"]}
    weights, d_a, k, x = found["weights"], found["dA"], found["K"], np.array([[1, 0], [0, 2]])
    wrong = weights * d_a
    d_p = wrong / np.sqrt(2)
    d_q = d_p @ k
    answers = {"dA": d_a, "dS": wrong, "dP": d_p, "dQ": d_q, "dW_Q": x.T @ d_q}
    (tmp_path / "a.json").write_text(json.dumps({name: np.round(value, 5).tolist() for name, value in answers.items()}))
    report = printed(capsys, "check", problem, "a.json", code=1)
    verdicts = {step["name"]: step["verdict"] for step in report["steps"]}
    assert verdicts == {"dA": "right", "dS": "wrong", "dP": "carried", "dQ": "carried", "dW_Q": "carried"}


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--estimator", "straightthrough"], "did you mean 'straight-through'"),
        (["--estimator", "gumbel", "--baseline", "2"], "--baseline belongs to --estimator reinforce"),
        (["--baseline", "2"], "which is not asked for"),
        (["--estimator", "reinforce", "--verify"], "leave out --estimator"),
        (["--estimator", "reinforce", "--samples", "1"], "expected at least 2"),
        (["--estimator", "reinforce", "--baseline", "much"], "or write best or mean"),
    ],
)
def test_options_that_make_no_sense_are_told_in_one_line(options, told, problem, capsys):
    assert main(["grad", problem, *options]) == 2
    err = capsys.readouterr().err
    assert told in err
    assert err.count("\n") == 1


def test_an_estimate_stands_in_json_with_its_mean_error_and_the_exact_gradient(problem, capsys):
    found = printed(capsys, "grad", problem, "--mode", "hard", "--estimator", "reinforce", "--baseline", "--samples", "500", "--seed", "7")
    estimate = found["estimate"]
    assert (estimate["samples"], estimate["seed"]) == (500, 7)
    assert estimate["variance"]["with"] < estimate["variance"]["without"]
    mean, error, exact = (np.array(estimate["gradients"]["W_Q"][key]) for key in ("mean", "standard_error", "exact"))
    assert (np.abs(mean - exact) <= 4 * error + 1e-12).all()


# ------------------------------------------------------------------ compare
def test_compare_lays_ways_side_by_side(problem, capsys):
    found = printed(capsys, "compare", problem)
    rows = {(row["score"], row["mode"]): row for row in found["rows"]}
    soft = rows["scaled", "soft"]
    assert sum(soft["weights"][0]) == pytest.approx(1)
    assert soft["winner"] == [int(np.argmax(row)) for row in soft["weights"]]
    assert (soft["multiplications"], rows["dot", "soft"]["multiplications"]) == (2 * 2 * 3, 2 * 2 * 2)


@pytest.mark.parametrize("form", ["table", "plain", "yaml", "csv", "markdown", "latex", "html"])
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_page_format_shows_a_comparison_and_a_study(form, lang, problem, capsys):
    for argv in (["compare", problem], ["compare", "--study", "scaling", "--samples", "20", "--d-k", "4,9"]):
        assert main([*argv, "--format", form, "--lang", lang]) == 0
        assert len(capsys.readouterr().out) > 100


def test_two_results_are_compared_step_by_step(problem, tmp_path, capsys):
    (tmp_path / "other.yaml").write_text(PROBLEM + "scale: 1\n")
    found = printed(capsys, "compare", problem, "other.yaml", code=1)
    assert found["first"]["step"] == "scores"
    assert {"key": "scale", "a": pytest.approx(2**-0.5), "b": 1.0} in found["settings"]
    assert printed(capsys, "compare", problem, problem)["equal"] is True


def test_a_framework_s_numbers_are_compared_in_their_precision(problem, tmp_path, capsys):
    found = {step["name"]: np.array(step["value"]) for step in printed(capsys, "compute", problem)["steps"]}
    np.savez(tmp_path / "f.npz", weights=found["weights"].astype("float32"), output=found["output"].astype("float32"))
    assert printed(capsys, "compare", problem, "f.npz")["first"] is None
    np.savez(tmp_path / "f.npz", weights=found["weights"].astype("float32") * 1.01, output=found["output"])
    told = printed(capsys, "compare", problem, "f.npz", code=1)
    assert told["first"]["step"] == "weights"
    np.savez(tmp_path / "f.npz", dS=np.zeros((2, 2)))
    assert printed(capsys, "compare", problem, "f.npz", code=1)["first"]["step"] == "dS"


def test_a_study_is_drawn_and_has_a_row_a_width(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    found = printed(capsys, "compare", "--study", "scaling", "--d-k", "4,16", "--samples", "30", "--seed", "2")
    assert [row["d_k"] for row in found["rows"]] == [4, 16]
    assert main(["compare", "--study", "scaling", "--samples", "30", "-o", "s.svg"]) == 0
    assert (tmp_path / "s.svg").read_text().startswith("<svg")


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["--study", "depth"], "expected scaling"),
        (["--study", "scaling", "--d-k", "4,x"], "--d-k: found 'x'"),
        (["--d-k", "4"], "belong to --study scaling"),
        (["p.yaml", "p.yaml", "p.yaml"], "expected one or two"),
        (["p.yaml", "--format", "npz"], "cannot show these tables"),
    ],
)
def test_what_cannot_be_compared_is_told_in_one_line(argv, told, problem, capsys):
    assert main(["compare", *argv]) == 2
    assert told in capsys.readouterr().err
