"""`attn samples` lists, prints and copies."""

from pathlib import Path

import pytest

from attn_cli.cli import main

SHELF = Path(__file__).parents[2] / "samples"


def test_the_list_names_each_sample_with_its_title_and_what_it_shows(capsys):
    assert main(["samples"]) == 0
    page = capsys.readouterr().out
    assert "causal           Causal self-attention\n" in page
    assert "A causal mask: no token sees what comes after it" in page


@pytest.mark.parametrize("name", ["causal", "causal.yaml"])
def test_a_sample_is_printed_as_it_is(name, capsys):
    main(["samples", name])
    assert capsys.readouterr().out == (SHELF / "causal.yaml").read_text(encoding="utf-8")


def test_of_a_folder_every_file_is_printed_under_its_name(capsys):
    main(["samples", "csv-folder"])
    assert "# csv-folder/X.csv\n,a,b,c\nthe,1,0,1\n" in capsys.readouterr().out


def test_a_misspelt_sample_gets_a_guess(capsys):
    assert main(["samples", "casual"]) == 2
    assert "did you mean 'causal'?" in capsys.readouterr().err


def test_copies_are_the_samples(tmp_path, capsys):
    assert main(["samples", "--copy", str(tmp_path / "lessons")]) == 0
    copied = {path.relative_to(tmp_path / "lessons"): path.read_bytes() for path in (tmp_path / "lessons").rglob("*") if path.is_file()}
    assert copied == {path.relative_to(SHELF): path.read_bytes() for path in SHELF.rglob("*") if path.is_file()}


def test_one_sample_is_copied_alone(tmp_path):
    assert main(["samples", "causal", "--copy", str(tmp_path)]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["causal.yaml"]


def test_a_copy_never_overwrites_unless_told(tmp_path, capsys):
    (tmp_path / "causal.yaml").write_text("mine")
    assert main(["samples", "--copy", str(tmp_path)]) == 2
    assert "causal.yaml" in capsys.readouterr().err
    assert [path.read_text() for path in tmp_path.iterdir()] == ["mine"]
    assert main(["samples", "--copy", str(tmp_path), "--force"]) == 0
    assert (tmp_path / "causal.yaml").read_bytes() == (SHELF / "causal.yaml").read_bytes()


def test_a_copy_into_a_file_says_that_it_is_none(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main(["samples", "--copy", str(tmp_path / "file")]) == 2
    assert capsys.readouterr().err == f"error: --copy {tmp_path / 'file'}: no folder can be made there: file exists\n"
