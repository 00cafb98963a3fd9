"""The samples are good to read, and every one of them runs."""

import json

import pytest

from attn_cli.cli import main
from attn_cli.commands.shelf import samples


@pytest.mark.parametrize("path", samples().values(), ids=list(samples()))
def test_a_sample_computes(path, capsys):
    assert main(["compute", str(path), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["output"]


@pytest.mark.parametrize("path", samples().values(), ids=list(samples()))
def test_a_sample_opens_with_what_it_shows_and_has_a_title(path):
    first, second = (path / "problem.yaml" if path.is_dir() else path).read_text(encoding="utf-8").splitlines()[:2]
    assert first.startswith("# ")
    assert second.startswith("title: ")


def test_the_textbook_example_has_its_true_numbers(capsys):
    main(["compute", "--format", "json"])
    result = json.loads(capsys.readouterr().out)
    assert [[round(x, 4) for x in row] for row in result["weights"]] == [
        [0.5065, 0.1863, 0.3072],
        [0.1863, 0.5065, 0.3072],
        [0.2741, 0.2741, 0.4519],
    ]
    assert [round(x, 4) for x in result["output"][0]] == [0.8137, 0.4935, 0.5065, 0.1863]


def test_the_textbook_example_also_works_with_additive_scores(capsys):
    assert main(["compute", "--score", "additive", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["settings"]["score"] == "additive"
