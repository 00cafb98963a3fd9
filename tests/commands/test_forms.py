"""Whatever form a problem comes in, the result is the same."""

from __future__ import annotations

import io
import json
import sys

import numpy as np
import pytest

from attn_cli.cli import main

X = [[1, 0.5], [0, 2], [-1, 1e-3]]
W = {"W_Q": [[1, 0], [0.25, 1]], "W_K": [[0, 1], [1, 0]], "W_V": [[2, 0], [0, 3]]}
TOKENS = ["a", "b", "c"]


def csv(matrix: list[list[float]]) -> str:
    return "".join(",".join(map(str, row)) + "\n" for row in matrix)


@pytest.fixture
def forms(tmp_path, monkeypatch):
    """The same problem as YAML, JSON, a folder of CSVs, CSVs by option, NPZ, and standard input: the arguments of each."""
    rows = {name: "".join(f"  - [{', '.join(map(str, row))}]\n" for row in matrix) for name, matrix in {"X": X, **W}.items()}
    text = f"tokens: [{', '.join(TOKENS)}]\n" + "".join(f"{name}:\n{lines}" for name, lines in rows.items())
    (tmp_path / "p.yaml").write_text(text)
    (tmp_path / "p.json").write_text(json.dumps({"tokens": TOKENS, "X": X, **W}))
    np.savez(tmp_path / "p.npz", tokens=np.array(TOKENS), X=X, **W)
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "X.csv").write_text("".join(f"{label},{line}\n" for label, line in zip(TOKENS, csv(X).splitlines(), strict=True)))
    for name, matrix in W.items():
        (folder / f"{name}.csv").write_text(csv(matrix))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    by_option = [word for name in ("X", *W) for word in (f"--{name.replace('_', '').lower()}", str(folder / f"{name}.csv"))]
    return [[str(tmp_path / "p.yaml")], [str(tmp_path / "p.json")], [str(folder)], by_option, [str(tmp_path / "p.npz")], ["-"]]


def test_every_form_of_a_problem_gives_the_same_json(forms, capsys):
    results = []
    for arguments in forms:
        assert main(["compute", *arguments, "--format", "json"]) == 0
        result = json.loads(capsys.readouterr().out)
        result["notes"] = [note for note in result["notes"] if not note["code"].startswith("csv_")]  # what was read as labels
        results.append(result)
    assert all(result == results[0] for result in results[1:])
    weights = np.exp(np.array(X) @ W["W_Q"] @ np.array(W["W_K"]).T @ np.array(X).T / np.sqrt(2))
    np.testing.assert_allclose(results[0]["weights"], weights / weights.sum(axis=1, keepdims=True), rtol=1e-12)
