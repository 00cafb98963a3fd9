"""Problems whose n × m steps nobody asks for, or that do not fit into memory."""

import json
import os

import numpy as np
import pytest

from attn_cli.cli import main
from attn_cli.engine.large import memory


@pytest.fixture
def long(tmp_path, monkeypatch):
    """A problem of 40 tokens, which counts as long here."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(memory, "LONG", 1000)
    rng = np.random.default_rng(0)
    np.savez("long.npz", **{name: rng.standard_normal((40, 8)) for name in ("Q", "K", "V")})


def told(capsys):
    return capsys.readouterr().err


def test_the_output_alone_is_the_output_of_all_steps(long, monkeypatch):
    assert main(["compute", "long.npz", "-o", "all.npz"]) == 0
    monkeypatch.setattr(memory, "solve", None)  # not used
    assert main(["compute", "long.npz", "--only", "output", "-o", "out.npy"]) == 0
    np.testing.assert_allclose(np.load("out.npy"), np.load("all.npz")["output"], rtol=1e-12, atol=1e-14)


def test_it_reads_as_with_all_steps_in_every_format(long, capsys, monkeypatch):
    for options in (["--heads", "2"], ["--mask", "causal", "--mode", "hard"], ["--dtype", "float32"]):
        texts = []
        for least in (1000, 10**9):
            monkeypatch.setattr(memory, "LONG", least)
            assert main(["compute", "long.npz", "--only", "output", "--decimals", "3", "--format", "markdown", *options]) == 0
            texts.append(capsys.readouterr().out.partition("near")[0].partition("> ")[0])
        assert texts[0] == texts[1]


def test_what_does_not_fit_is_left_out_and_named(long, capsys, monkeypatch):
    monkeypatch.setenv("ATTN_MEMORY", "20k")
    assert main(["compute", "long.npz", "--mask", "causal", "-o", "some.npz"]) == 0
    assert list(np.load("some.npz")) == ["Q", "K", "V", "output"]
    error = told(capsys)
    assert "more than ATTN_MEMORY allows (20 KB)" in error
    assert "left out: products, raw_scores, scores, exponentials, row_sums, weights" in error


def test_a_batch_leaves_out_the_same_and_says_so_in_the_result_too(long, capsys, monkeypatch):
    monkeypatch.setenv("ATTN_MEMORY", "20k")
    assert main(["compute", "long.npz", "--format", "json"]) == 0
    alone = capsys.readouterr()
    assert main(["batch", "long.npz", "-o", "out"]) == 0
    warning = (
        "the steps with a number for each query and key take about 62.5 KB, more than ATTN_MEMORY allows (20 KB), "
        "so these are left out: products, scores, exponentials, row_sums, weights"
    )
    assert alone.err.splitlines()[0] == f"warning: {warning}"
    assert told(capsys).splitlines()[0] == f"warning: long.npz: {warning}"
    with open("out/long.npz.json", encoding="utf-8") as file:
        assert file.read() == alone.out
    assert json.loads(alone.out)["notes"][0]["code"] == "left_out"


def test_a_batch_of_outputs_alone_makes_no_scores(long, monkeypatch):
    monkeypatch.setattr(memory, "solve", None)
    assert main(["batch", "long.npz", "--only", "output", "-o", "out"]) == 0


def test_a_step_that_does_not_fit_fails_its_own_problem_of_a_batch(long, capsys, monkeypatch):
    monkeypatch.setenv("ATTN_MEMORY", "20K")
    np.savez("short.npz", Q=np.eye(3), K=np.eye(3))
    assert main(["batch", "long.npz", "short.npz", "--only", "weights", "-o", "out"]) == 1
    assert told(capsys).splitlines()[0].endswith("set ATTN_MEMORY higher to work out weights")
    assert sorted(os.listdir("out")) == [".attn-batch", "short.npz.json"]


def test_a_step_that_does_not_fit_is_refused_by_name(long, capsys, monkeypatch):
    monkeypatch.setenv("ATTN_MEMORY", "20K")
    assert main(["compute", "long.npz", "--only", "weights"]) == 2
    assert told(capsys).endswith("set ATTN_MEMORY higher to work out weights\n")


def test_a_cell_of_a_step_that_does_not_fit_is_refused_by_name_and_one_that_does_is_derived_with_the_warning(long, capsys, monkeypatch):
    monkeypatch.setenv("ATTN_MEMORY", "20K")
    assert main(["trace", "long.npz", "--cell", "weights[1,1]"]) == 2
    assert told(capsys).endswith("set ATTN_MEMORY higher to work out weights\n")
    assert main(["trace", "long.npz", "--cell", "output[1,1]"]) == 0
    assert told(capsys).startswith("warning: the steps with a number for each query and key")


def test_a_row_that_sees_nothing_is_still_warned_of(long, capsys):
    bias = np.zeros((40, 40))
    bias[7] = -np.inf
    with np.load("long.npz") as inputs:
        np.savez("closed.npz", **inputs, bias=bias)
    for name, row in (("closed.npz", "q8"), ("shifted.yaml", "q1")):
        if name == "shifted.yaml":
            with open(name, "w") as file, np.load("long.npz") as inputs:
                file.write("".join(f"{key}: {value.tolist()}\n" for key, value in inputs.items()) + "mask: {causal: true, offset: -1}\n")
        assert main(["compute", name, "--only", "output", "-o", "out.npy"]) == 0
        assert [row in line for line in told(capsys).splitlines() if line.startswith("warning")] == [True]
        assert not np.load("out.npy")[int(row[1:]) - 1].any()


def test_an_npy_file_holds_one_step(long, capsys):
    assert main(["compute", "long.npz", "-o", "out.npy"]) == 2
    assert "name a step with --only" in told(capsys)


def test_a_budget_that_is_no_size_is_refused(long, capsys, monkeypatch):
    monkeypatch.setenv("ATTN_MEMORY", "lots")
    assert main(["compute", "long.npz"]) == 2
    assert told(capsys) == "error: ATTN_MEMORY: found 'lots', expected a size such as 500M or 2G\n"
