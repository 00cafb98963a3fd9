"""Questions in the terminal, one a line, each answered at once."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from attn_cli.homework.claims import Claim
    from attn_cli.homework.drill import Drill, Question
    from attn_cli.render.style import Style


def ask(drill: Drill, style: Style, decimal: str) -> None:
    """The dialogue: a question a line until nothing is left, or nobody answers."""
    from attn_cli.render.exercise_drill import farewell, heading

    right = asked = 0
    for question in drill.questions():
        if question.first:
            print(heading(question.step, drill.exercise.trace, style))
        at_once = _question(drill, question, style, decimal)
        if at_once is None:
            break
        right, asked = right + at_once, asked + 1
    print(farewell(right, asked, style))


def _question(drill: Drill, question: Question, style: Style, decimal: str) -> bool | None:
    """One line, until it is right or given up: whether it was right at once; None where nobody answers any more."""
    from attn_cli.render.exercise_drill import hints, prompt, response, solution

    trace, at_once = drill.exercise.trace, True
    left = hints(question, trace, style)
    while True:
        print(prompt(question, trace, style), end="", flush=True)
        line = sys.stdin.readline()
        if not line or line.strip().lower() == "q":
            return None
        if not line.strip():
            print(solution(question, trace, style))
            return False
        if line.strip() == "?":
            print(left.pop(0) if len(left) > 1 else left[0])
        elif (claims := _claims(line, question, decimal, style)) is not None:
            reply = drill.reply(question, claims)
            print(response(reply, style))
            if reply.right:
                return at_once
            at_once = False


def _claims(line: str, question: Question, decimal: str, style: Style) -> list[Claim] | None:
    """The numbers of a line; None where it cannot be read, which is said."""
    from attn_cli.files.claims import cell_claim
    from attn_cli.render.lang import text

    cut = line.split(";") if ";" in line else line.split() if len(line.split()) > 1 else line.split(",")
    parts = [part for part in (part.strip(" ,;[]\t\r\n") for part in cut) if part]
    if len(parts) != len(question.cells):
        print(text("drill.count", style.lang, found=len(parts), expected=len(question.cells)))
        return None
    claims = [cell_claim(part, decimal) for part in parts]
    unread = next((claim.text for claim in claims if math.isnan(claim.value) and claim.given), None)
    if unread is not None:
        print(text("drill.unread", style.lang, found=unread))
        return None
    return claims
