"""The Python API: small, lazy, and the same numbers as the commands."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import attn_cli

SAMPLES = Path(__file__).parents[1] / "samples"
TEXTBOOK = SAMPLES / "textbook.yaml"


def test_a_problem_is_loaded_solved_and_read_by_step():
    trace = attn_cli.solve(attn_cli.load(TEXTBOOK))
    assert trace["weights"].round(4).tolist() == [
        [0.5065, 0.1863, 0.3072],
        [0.1863, 0.5065, 0.3072],
        [0.2741, 0.2741, 0.4519],
    ]
    assert trace["output"][0].round(4).tolist() == [0.8137, 0.4935, 0.5065, 0.1863]


def test_a_problem_can_be_made_of_plain_lists():
    trace = attn_cli.solve(attn_cli.Problem(Q=[[1, 0]], K=[[1, 0], [0, 1]], V=[[1], [3]], score="dot"))
    assert trace["weights"].tolist() == [[np.e / (np.e + 1), 1 / (np.e + 1)]]


def test_a_mistake_in_a_file_is_told_with_its_place(tmp_path):
    path = tmp_path / "wrong.yaml"
    path.write_text("X:\n  - [1, 2]\nW_Q:\n  - [1]\n  - [2]\n  - [3]\nW_K: identity\nW_V: identity\n")
    with pytest.raises(attn_cli.AttnError, match=r"wrong\.yaml:4:3: W_Q: is 3 × 1, expected 2 rows, because X is 1 × 2"):
        attn_cli.load(path)


def test_a_step_that_is_not_there_is_an_error_that_lists_those_that_are():
    trace = attn_cli.solve(attn_cli.Problem(scores=[[1.0, 2.0]]))
    with pytest.raises(attn_cli.AttnError, match=r"no step 'wieghts' here \(did you mean 'weights'\?\); there are scores, exponentials"):
        trace["wieghts"]


def test_a_trace_says_what_it_holds():
    trace = attn_cli.solve(attn_cli.Problem(title="Small", Q=[[1, 0]], K=[[1, 0], [0, 1]], V=[[1], [3]], score="dot"))
    assert repr(trace) == (
        "<Trace 'Small': 1 queries, 2 keys; Q 1 × 2, K 2 × 2, V 2 × 1, scores 1 × 2, "
        "exponentials 1 × 2, row_sums 1, weights 1 × 2, output 1 × 1>"
    )


@pytest.mark.parametrize("form", ["html", "markdown"])
def test_jupyter_shows_a_trace_and_a_report(form):
    trace = attn_cli.solve(TEXTBOOK)
    assert "0.5065" in getattr(trace, f"_repr_{form}_")()
    report = attn_cli.check(TEXTBOOK, {"A": [["0.5065", "0.19", "0.31"]]})
    assert "0.5065" in getattr(report, f"_repr_{form}_")()


def test_a_problem_may_be_a_path_or_a_mapping_and_its_numbers_keep_how_they_were_written():
    trace = attn_cli.solve({"X": [[1, "1/3"], [0, 1]], "W_Q": "identity", "W_K": "identity", "W_V": "identity", "mask": "causal"})
    assert trace["weights"][0].tolist() == [1, 0]
    assert trace.problem.written == {("X", (0, 1)): "1/3"}
    assert "1/3" in trace._repr_markdown_()
    assert (attn_cli.solve(TEXTBOOK)["A"] == attn_cli.solve(attn_cli.load(TEXTBOOK))["weights"]).all()


class Tensor:
    """Stands for one of a framework, in the middle of training and in a dtype that NumPy lacks."""

    def __init__(self, numbers, dtype="torch.bfloat16", attached=True):
        self.numbers, self.dtype, self.attached = numbers, dtype, attached

    def detach(self):
        return Tensor(self.numbers, self.dtype, attached=False)

    def cpu(self):
        return self

    def float(self):
        return Tensor(self.numbers, "torch.float32", self.attached)

    def __array__(self, dtype=None, copy=None):
        assert not self.attached
        assert self.dtype == "torch.float32"
        return np.array(self.numbers, np.float32)


def test_tensors_are_taken_wherever_arrays_are():
    q, k, v = Tensor([[1, 0]]), Tensor([[1, 0], [0, 1]]), Tensor([[1], [3]])
    expected = attn_cli.solve({"Q": [[1, 0]], "K": [[1, 0], [0, 1]], "V": [[1], [3]]})
    assert attn_cli.attention(q, k, v) == pytest.approx(expected["output"])
    assert attn_cli.solve({"Q": q, "K": k, "V": v})["output"] == pytest.approx(expected["output"])
    assert attn_cli.solve(attn_cli.Problem(Q=q, K=k, V=v))["output"] == pytest.approx(expected["output"])
    assert attn_cli.check(attn_cli.Problem(Q=q, K=k, V=v), {"O": Tensor(expected["output"])}).right


@pytest.mark.parametrize(
    ("problem", "said"),
    [
        ({"X": [[1, 2], [3]]}, "X[2]: this row has 1 number, the first has 2; every row needs as many"),
        ({"W_Q": [[1]], "X": [[1, 2]], "W_K": "identity", "W_V": "identity"}, "W_Q: is 1 × 1, expected 2 rows, because X is 1 × 2"),
        (
            {"X": [[1, float("nan")]]},
            "X[1,2]: found nan, expected a finite number; an empty place in a matrix has no value: write a number",
        ),
        ({"X": object()}, "found something of type object, expected a number, a text, an array, or lists or mappings of them"),
        (5, "found something of type int, expected a path, or a mapping with the keys of a file"),
        ("nowhere.yaml", "nowhere.yaml: there is no such file"),
    ],
)
def test_a_mapping_is_refused_for_what_a_file_would_be_refused_for(problem, said):
    with pytest.raises(attn_cli.AttnError) as refused:
        attn_cli.solve(problem)
    assert str(refused.value) == said


def test_answers_are_marked_from_a_file_and_from_a_mapping():
    problem = attn_cli.load(TEXTBOOK)
    right = attn_cli.solve(problem)
    assert attn_cli.check(problem, {"weights": right["weights"], "output": right["output"]}).right
    assert attn_cli.check(problem, {"weights": [["0.507", "0.186", "0.307"], [None, 0.506, None], ["", "", ""]]}).right is True
    report = attn_cli.check(problem, {"weights": [[0.387, 0.142, 0.471], [0.186, 0.507, 0.307], [0.269, 0.269, 0.462]]})
    assert not report.right
    assert report.first_wrong.step == "weights"


def test_answers_may_be_a_file(tmp_path):
    path = tmp_path / "answers.yaml"
    path.write_text("output:\n  - [0.814, 0.493, 0.507, 0.186]\n  - [null, null, null, null]\n  - [~, ~, ~, ~]\n")
    report = attn_cli.check(attn_cli.load(TEXTBOOK), path)
    assert report.right
    assert not report.complete


def test_attention_gives_the_output_of_solve():
    r = np.random.default_rng(0)
    q, k, v = r.normal(size=(3, 4)), r.normal(size=(5, 4)), r.normal(size=(5, 2))
    trace = attn_cli.solve(attn_cli.Problem(Q=q, K=k, V=v, mask=attn_cli.Mask(causal=True)))
    assert attn_cli.attention(q, k, v, mask="causal") == pytest.approx(trace["output"], abs=1e-12)


def test_every_name_that_is_promised_is_there():
    assert {"load", "solve", "check", "attention", "Problem", "Trace"} <= set(attn_cli.__all__) <= set(dir(attn_cli))
    for name in attn_cli.__all__:
        assert getattr(attn_cli, name).__doc__
    with pytest.raises(AttributeError, match="no attribute 'sovle'"):
        _ = attn_cli.sovle


def test_importing_the_package_imports_nothing_else():
    code = "import sys; before = set(sys.modules); import attn_cli; print(sorted(set(sys.modules) - before - {'attn_cli'}))"
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[1])
    assert done.stdout.strip() in ("['__future__']", "[]")
