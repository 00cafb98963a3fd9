"""attn: a calculator and tracer for attention.

    import attn_cli

    problem = attn_cli.load("homework.yaml")
    trace = attn_cli.solve(problem)
    trace["weights"]                                  # an array; in Jupyter, a trace shows itself
    attn_cli.check(problem, "answers.yaml").right     # marks somebody's numbers
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

    from attn_cli.engine.attention import solve
    from attn_cli.engine.large.whole import attention
    from attn_cli.engine.problem import Mask, Problem
    from attn_cli.engine.steps import Trace
    from attn_cli.errors import AttnError
    from attn_cli.homework.report import Report

__version__ = "0.1.0"

__all__ = ["AttnError", "Mask", "Problem", "Report", "Trace", "attention", "check", "load", "solve"]

_HOMES = {
    "AttnError": "errors",
    "Mask": "engine.problem",
    "Problem": "engine.problem",
    "Report": "homework.report",
    "Trace": "engine.steps",
    "attention": "engine.large.whole",
    "solve": "engine.attention",
}
"""Where each name lives."""


def load(path: str | os.PathLike[str]) -> Problem:
    """The problem in a YAML, JSON or NPZ file or a folder of CSVs.

    Raises AttnError that says what is wrong, with file, line and column.
    """
    from attn_cli.engine.shapes import plan
    from attn_cli.errors import InputError
    from attn_cli.files.problem import read_problem

    loaded = read_problem(str(path))
    try:
        plan(loaded.problem.as_dtype())
    except InputError as error:
        raise loaded.locate(error) from None
    return loaded.problem


def check(problem: Problem, answers: str | os.PathLike[str] | Mapping[str, Any], *, tol: float | None = None) -> Report:
    """Somebody's worked numbers, marked step by step.

    `answers` is a file or folder, or a mapping of step names to arrays, which claim every digit, or to (nested lists of)
    numbers or text as written by hand: "0.387" claims three decimals. With `tol`, numbers within so much are right, too.
    """
    from attn_cli.homework.marking import Marker

    if isinstance(answers, str) or hasattr(answers, "__fspath__"):
        from attn_cli.files.answers import read_answers
        from attn_cli.files.claims import claims

        read = read_answers(str(answers))
        return Marker(problem, tol).mark(claims(read.steps), str(answers), read.notes)
    return Marker(problem, tol).mark([_answer(name, value) for name, value in answers.items()])


def _answer(step: str, value: Any) -> Any:
    """An array, or numbers as somebody wrote them."""
    from attn_cli.files.claims import cell_claim
    from attn_cli.homework.claims import answer, array_answer

    def claimed(part: Any) -> Any:
        if isinstance(part, list | tuple):
            return [claimed(p) for p in part]
        return cell_claim("" if part is None else str(part))

    return array_answer(step, value) if hasattr(value, "dtype") else answer(step, claimed(value))


def _display(form: str) -> Callable[[Trace], str | None]:
    """How Jupyter shows a trace in a format; None leaves it to another."""

    def display(trace: Trace) -> str | None:
        from attn_cli.render.formats import FORMATS
        from attn_cli.render.style import Style

        return str(FORMATS[form].trace(trace, Style())) if form in FORMATS else None

    return display


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    if name in ("solve", "Trace"):
        # The engine does not know how things look, so a trace learns here how Jupyter shows it.
        from attn_cli.engine.steps import Trace

        for form in ("html", "markdown"):
            setattr(Trace, f"_repr_{form}_", _display(form))
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
