"""Problems whose n × m steps nobody asks for, or that do not fit into memory."""

import numpy as np
import pytest

from attn_cli.cli import main
from attn_cli.commands import walkthrough


@pytest.fixture
def long(tmp_path, monkeypatch):
    """A problem of 40 tokens, which counts as long here."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(walkthrough, "LONG", 1000)
    rng = np.random.default_rng(0)
    np.savez("long.npz", **{name: rng.standard_normal((40, 8)) for name in ("Q", "K", "V")})


def told(capsys):
    return capsys.readouterr().err


def test_the_output_alone_is_the_output_of_all_steps(long, monkeypatch):
    assert main(["compute", "long.npz", "-o", "all.npz"]) == 0
    monkeypatch.setattr("attn_cli.engine.attention.solve", None)  # not used
    assert main(["compute", "long.npz", "--only", "output", "-o", "out.npy"]) == 0
    np.testing.assert_allclose(np.load("out.npy"), np.load("all.npz")["output"], rtol=1e-12, atol=1e-14)


def test_it_reads_as_with_all_steps_in_every_format(long, capsys, monkeypatch):
    for options in (["--heads", "2"], ["--mask", "causal", "--mode", "hard"], ["--dtype", "float32"]):
        texts = []
        for least in (1000, 10**9):
            monkeypatch.setattr(walkthrough, "LONG", least)
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


def test_a_step_that_does_not_fit_is_refused_by_name(long, capsys, monkeypatch):
    monkeypatch.setenv("ATTN_MEMORY", "20K")
    assert main(["compute", "long.npz", "--only", "weights"]) == 2
    assert told(capsys).endswith("set ATTN_MEMORY higher to work out weights\n")


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
