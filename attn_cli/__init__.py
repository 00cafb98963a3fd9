"""attn: a calculator and tracer for attention.

    import attn_cli

    problem = attn_cli.load("homework.yaml")
    trace = attn_cli.solve(problem)                   # or of a path, or of a mapping with the keys of a file
    trace["weights"]                                  # an array, and so is trace["A"]; in Jupyter, a trace shows itself
    attn_cli.check(problem, "answers.yaml").right     # marks somebody's numbers; a report shows itself, too
    attn_cli.attention(q, k, v, mask="causal")        # the output alone, for arrays of any size

Importing the package costs nothing; each name loads what it needs on first use.
"""

from __future__ import annotations

TYPE_CHECKING = False
"""As in `typing`, which is not needed for anything else here."""

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping
    from typing import Any

    from attn_cli.engine.large.whole import attention
    from attn_cli.engine.problem import Mask, Problem
    from attn_cli.engine.steps import Trace
    from attn_cli.errors import AttnError, InputError
    from attn_cli.homework.report import Report

    Path = str | os.PathLike[str]

__version__ = "0.1.0"

__all__ = ["AttnError", "Mask", "Problem", "Report", "Trace", "attention", "check", "load", "solve"]

_HOMES = {
    "AttnError": "errors",
    "Mask": "engine.problem",
    "Problem": "engine.problem",
    "Report": "homework.report",
    "Trace": "engine.steps",
    "attention": "engine.large.whole",
}
"""Where each name lives."""


def load(path: Path | Mapping[str, Any]) -> Problem:
    """The problem in a YAML, JSON or NPZ file or a folder of CSVs, or in a mapping with the keys of such a file.

    Raises AttnError that says what is wrong, with file, line and column.
    """
    from attn_cli.engine.shapes import plan
    from attn_cli.errors import InputError

    problem, located = _read(path)
    try:
        plan(problem.as_dtype())
    except InputError as error:
        raise located(error) from None
    return problem


def solve(problem: Problem | Path | Mapping[str, Any]) -> Trace:
    """A problem worked step by step; it may also be a path or a mapping, as `load` takes them."""
    from attn_cli.engine.attention import solve as work
    from attn_cli.errors import InputError

    _teach_display()
    problem, located = _read(problem)
    try:
        return work(problem)
    except InputError as error:
        raise located(error) from None


def check(problem: Problem | Path | Mapping[str, Any], answers: Path | Mapping[str, Any], *, tol: float | None = None) -> Report:
    """Somebody's worked numbers, marked step by step.

    `answers` is a file or folder, or a mapping of steps, by name or symbol, to arrays, which claim every digit, or to (nested
    lists of) numbers or texts as written by hand: "0.387" claims three decimals. With `tol`, numbers within so much are right, too.
    """
    from attn_cli.errors import InputError
    from attn_cli.files.answers import read_answers
    from attn_cli.files.claims import as_claims
    from attn_cli.files.mappings import answers_of
    from attn_cli.homework.marking import Marker

    _teach_display()
    problem, located = _read(problem)
    try:
        marker = Marker(problem, tol)
    except InputError as error:
        raise located(error) from None
    path = _path(answers)
    handed_in = answers_of(answers) if path is None else read_answers(path)  # type: ignore[arg-type]  # what is no path is a mapping
    return marker.mark(as_claims(handed_in.steps), path, handed_in.notes)


def _read(problem: Problem | Path | Mapping[str, Any]) -> tuple[Problem, Callable[[InputError], InputError]]:
    """The problem, and what adds to an error the place of its cause."""
    from attn_cli.engine.problem import Problem

    if isinstance(problem, Problem):
        return problem, lambda error: error
    from attn_cli.files.mappings import problem_of
    from attn_cli.files.problem import read_problem

    path = _path(problem)
    loaded = problem_of(problem) if path is None else read_problem(path)  # type: ignore[arg-type]  # what is no path is a mapping
    return loaded.problem, loaded.locate


def _path(source: object) -> str | None:
    return str(source) if isinstance(source, str) or hasattr(source, "__fspath__") else None


# ---- Jupyter
def _teach_display() -> None:
    """Let traces and reports show themselves. Neither the engine nor marking knows how things look, so they learn it here."""
    from attn_cli.engine.steps import Trace
    from attn_cli.homework.report import Report

    for form in ("html", "markdown"):
        setattr(Trace, f"_repr_{form}_", _display(form, "trace"))
        setattr(Report, f"_repr_{form}_", _display(form, "report"))


def _display(form: str, method: str) -> Callable[[Trace | Report], str]:
    """How Jupyter shows a trace or a report in a format."""

    def display(shown: Trace | Report) -> str:
        from attn_cli.render.formats import FORMATS
        from attn_cli.render.style import Style

        return str(getattr(FORMATS[form], method)(shown, Style()))

    return display


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    if name in ("Trace", "Report"):
        _teach_display()
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
