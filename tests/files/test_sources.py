"""Which files may be read: those that the user named, and what lies below the folder of the file that names it."""

import os
import threading

import numpy as np
import pytest

from attn_cli.errors import InputError
from attn_cli.files.answers import read_answers
from attn_cli.files.folders import holds_answers, is_problem_folder
from attn_cli.files.problem import read_problem

pipes = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes in folders on this system")


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A key beside a folder of work: what lies outside of it holds a secret."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "work" / "sub").mkdir(parents=True)
    (tmp_path / "secret.csv").write_text("1,2\n3,4\nhush,1\n")
    (tmp_path / "key.csv").write_text("1,2\n3,4\n")
    (tmp_path / "work" / "x.csv").write_text("1,2\n3,4\n")
    (tmp_path / "work" / "sub" / "x.csv").write_text("1,2\n3,4\n")
    (tmp_path / "work" / "link.csv").symlink_to("../key.csv")
    (tmp_path / "work" / "inner.csv").symlink_to("sub/x.csv")
    return tmp_path


@pytest.mark.parametrize("name", ["x.csv", "sub/x.csv", "./x.csv", "sub/../x.csv", "inner.csv"])
def test_a_value_names_a_file_in_its_own_folder_or_below(here, name):
    (here / "work" / "p.yaml").write_text(f"X: {name}\n")
    loaded = read_problem("work/p.yaml")
    assert loaded.problem.X.tolist() == [[1, 2], [3, 4]]
    assert [os.path.basename(path) for path in loaded.files] == ["p.yaml", os.path.basename(name)]


@pytest.mark.parametrize(
    "name", ["../key.csv", "../secret.csv", "link.csv", "/etc/passwd", "../gone.csv", "{here}/key.csv", "sub/../../key.csv"]
)
def test_a_file_outside_is_an_error_that_shows_nothing_of_it(here, name):
    name = name.format(here=here)
    (here / "work" / "p.yaml").write_text(f"X: {name}\n")
    (here / "work" / "a.yaml").write_text(f"weights: {name}\n")
    for read in (lambda: read_problem("work/p.yaml"), lambda: read_answers("work/a.yaml")):
        with pytest.raises(InputError, match="--allow-outside") as caught:
            read()
        assert "hush" not in str(caught.value)
        assert "root:" not in str(caught.value)
        assert "did you mean" not in str(caught.value)


def test_who_means_it_may_read_outside(here):
    (here / "work" / "p.yaml").write_text("X: ../key.csv\n")
    assert read_problem("work/p.yaml", allow_outside=True).problem.X.shape == (2, 2)


def test_a_file_that_is_no_data_is_not_shown(here):
    (here / "work" / ".env").write_text("TOKEN=abc123\n")
    (here / "work" / "p.yaml").write_text("X: .env\n")
    with pytest.raises(InputError, match="no matrix file") as caught:
        read_problem("work/p.yaml")
    assert "abc123" not in str(caught.value)


@pipes
def test_a_pipe_is_refused_where_a_file_names_it_or_a_folder_holds_it(here):
    os.mkfifo(here / "work" / "pipe.csv")
    (here / "work" / "p.yaml").write_text("X: pipe.csv\n")
    with pytest.raises(InputError, match="pipe.csv: is a pipe, expected a file"):
        read_problem("work/p.yaml")
    with pytest.raises(InputError, match="is a pipe, expected a file"):
        read_answers("work/pipe.csv", within="work")


@pipes
def test_a_pipe_that_the_user_names_is_read_if_somebody_writes(here):
    os.mkfifo(here / "p.yaml")
    writer = threading.Thread(target=lambda: (here / "p.yaml").write_text("X: [[1, 2]]\n"))
    writer.start()
    assert read_problem("p.yaml").problem.X.tolist() == [[1, 2]]
    writer.join()
    with pytest.raises(InputError, match="nobody wrote for 2 seconds"):
        read_problem("p.yaml")


def test_what_was_found_in_a_class_may_not_lead_out_of_it(here):
    (here / "class").mkdir()
    (here / "answers.yaml").write_text("weights: [[1]]\n")
    (here / "class" / "ann.yaml").symlink_to("../answers.yaml")
    assert list(read_answers("class/ann.yaml").steps) == ["weights"]
    with pytest.raises(InputError, match="--allow-outside"):
        read_answers("class/ann.yaml", within="class")


@pytest.mark.parametrize(
    ("files", "is_one"),
    [
        ({"X.npy": b""}, True),
        ({"q.txt": "1 2\n", "K.txt": "1 2\n"}, True),
        ({"scores.tsv": "1\t2\n"}, True),
        ({"X.yaml": "# rows\n- [1, 2]\n"}, True),
        ({"x.yaml": "Q: [[1]]\n"}, False),
        ({"x.txt": "notes\n"}, False),
        ({"W_Q.csv": "1\n"}, False),
        ({"problem.yaml": "X: [[1]]\n", "W_Q.csv": "1\n"}, True),
        ({"problem.yaml": "X: [[1]]\n", "weights.csv": "1\n"}, False),
        ({"x.csv": "1\n", "hw1.yaml": "X: x.csv\n"}, False),
    ],
)
def test_a_folder_is_a_problem_where_its_files_say_so(tmp_path, files, is_one):
    for name, content in files.items():
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    assert is_problem_folder(tmp_path) == is_one


@pytest.mark.parametrize(
    ("name", "text", "theirs"),
    [
        ("answers.yaml", "X: [[1]]\n", True),
        ("work.yaml", "weights: [[1]]\nQ: [[1]]\n", True),
        ("work.json", '{"A": [[1]], "scores": [[{"X": 1}]]}', True),
        ("p.yaml", "X: [[1]]\nweights: [[1]]\n", False),
        ("p.yaml", "Q: [[1]]\nK: [[1]]\n", False),
        ("p.yaml", "scores: [[1]]\nanswers: {weights: [[1]]}\n", False),
        ("p.json", '{"scores": [[1]], "answers": {"weights": [[1]]}}', False),
    ],
)
def test_answers_are_told_from_problems(tmp_path, name, text, theirs):
    (tmp_path / name).write_text(text)
    assert holds_answers(tmp_path / name) == theirs


def test_an_archive_of_steps_holds_answers(tmp_path):
    np.savez(tmp_path / "a.npz", weights=np.eye(2))
    np.savez(tmp_path / "p.npz", X=np.eye(2))
    assert holds_answers(tmp_path / "a.npz")
    assert not holds_answers(tmp_path / "p.npz")
