"""Problems with somebody's numbers, written as people write them."""

from __future__ import annotations

from typing import Any

import pytest

import attn_cli
from attn_cli.files.problem import read_problem as load
from attn_cli.homework.report import Report


@pytest.fixture
def mark(tmp_path):
    """Marks answers to a problem; both are YAML text."""

    def marked(problem: str, answers: str, **options: Any) -> Report:
        (tmp_path / "problem.yaml").write_text(problem, encoding="utf-8")
        (tmp_path / "answers.yaml").write_text(answers, encoding="utf-8")
        return attn_cli.check(load(str(tmp_path / "problem.yaml")).problem, tmp_path / "answers.yaml", **options)

    return marked
