"""What `attn exercise do` says: questions, hints, and what a line came to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attn_cli.engine.steps import Step, Trace
from attn_cli.render.exercise_sheet import formula, named
from attn_cli.render.labels import Names
from attn_cli.render.lang import text
from attn_cli.render.style import Style
from attn_cli.render.walkthrough import step_title

if TYPE_CHECKING:
    from attn_cli.homework.drill import Question, Reply

SIGNS = {"right": "✓", "rounded": "≈", "carried": "→", "wrong": "✗", "missing": "·"}


def heading(step: Step, trace: Trace, style: Style) -> str:
    """The title and formula of a step."""
    title = step_title(step, trace, style.lang)
    return f"\n{title[:1].upper()}{title[1:]}  {formula(step)}"


def prompt(question: Question, trace: Trace, style: Style) -> str:
    """`S[x1,·] (3): `"""
    names = Names(trace)
    cells = question.cells
    name = names.cell(question.step, (*cells[0][:-1], -1) if len(cells) > 1 else cells[0]).plain()
    return f"  {name} ({len(cells)}): "


def hints(question: Question, trace: Trace, style: Style) -> list[str]:
    """The arithmetic of the row's first cell with the names of its operands, then with their numbers."""
    step, at, names = question.step, question.cells[0], Names(trace)
    worked = style.worked(step.cell(at), float(step.value[at]))
    head = names.cell(step, at).plain()
    numbers = worked.parts[0].plain(worked.num, style.fold) if worked.parts else worked.result
    return [f"    {head} = {one}" for one in dict.fromkeys((named(step.cell(at), names, style), numbers))]


def solution(question: Question, trace: Trace, style: Style) -> str:
    """The right numbers of a line."""
    return "    " + "  ".join(style.short(float(question.step.value[at])) for at in question.cells)


def response(reply: Reply, style: Style) -> str:
    """A sign for each number, and the mistake that explains them."""
    signs = "  ".join(SIGNS[verdict] for verdict in reply.verdicts)
    if reply.right:
        return f"    {signs}"
    explanation = text(f"mistake.{reply.mistake}", style.lang) if reply.mistake else text("drill.unknown", style.lang)
    return f"    {signs}\n    {explanation}"


def farewell(right: int, asked: int, style: Style) -> str:
    """How many lines were right at once."""
    return text("drill.end", style.lang, right=right, asked=asked)
