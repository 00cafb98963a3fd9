"""What came of a batch: one outcome a problem, for spreadsheets, programs and people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from attn_cli.batch.work import Outcome
from attn_cli.errors import one_line

COLUMNS = ("file", "ok", "score", "mode", "shapes", "seconds", "error")
MARKS = ("right", "complete", "earned", "possible", "first_wrong_step", "first_wrong_cell", "mistake")
"""More columns, where answers are marked; one for each step follows."""


def summary_csv(outcomes: Sequence[Outcome], check: bool = False) -> str:
    from attn_cli.render.data.spreadsheet import sheet

    steps = list(dict.fromkeys(step for outcome in outcomes for step in outcome.points))
    lines: list[list[Any]] = [[*COLUMNS, *(MARKS if check else ()), *steps]]
    for outcome in outcomes:
        row = [outcome.file, outcome.ok, outcome.score, outcome.mode, shapes_text(outcome), round(outcome.seconds, 6), outcome.error]
        marks = outcome.marks or {}
        row += [marks.get(column) for column in MARKS] if check else []
        lines.append([*row, *(outcome.points.get(step) for step in steps)])
    return sheet(lines)


def summary_jsonl(outcomes: Sequence[Outcome], check: bool = False) -> str:
    from attn_cli.render.data.json import encode

    return "".join(encode(_record(outcome, check)) + "\n" for outcome in outcomes)


SUMMARIES = {".csv": summary_csv, ".jsonl": summary_jsonl}


def shapes_text(outcome: Outcome) -> str:
    return " ".join(f"{name}={size}" for name, size in outcome.shapes.items())


def line(outcome: Outcome) -> str:
    """The outcome for people."""
    from attn_cli.render.data.spreadsheet import cell_of

    parts = [one_line(outcome.file), outcome.score, outcome.mode, shapes_text(outcome)]
    state = "failed" if not outcome.ok else "kept  " if outcome.skipped else "done  "
    if outcome.marks is not None:
        state = "right " if outcome.marks["right"] else "wrong "
        parts.append(f"{outcome.marks['earned']:g}/{outcome.marks['possible']:g}")
        if outcome.marks["first_wrong_step"]:
            parts.append(f"{outcome.marks['first_wrong_step']}{cell_of(outcome.marks['first_wrong_cell'])}")
        parts.append(outcome.marks["mistake"] or "")
    return " ".join(part for part in (state, *parts) if part)


def json_line(outcome: Outcome) -> str:
    """The problem's whole result as one line, or why there is none."""
    if outcome.result is not None:
        return outcome.result
    from attn_cli.render.data.json import encode

    return encode({"file": outcome.file, "error": outcome.error})


def closing_line(outcomes: Sequence[Outcome], left: int = 0) -> str:
    """How many problems went how; `left` were not tried."""
    kept = sum(outcome.skipped for outcome in outcomes)
    done = sum(outcome.ok for outcome in outcomes) - kept
    parts = [f"{done} done", *_counts(outcomes, kept, left)]
    marked = [outcome for outcome in outcomes if outcome.marks is not None]
    if marked:
        parts.append(f"{sum(outcome.right for outcome in marked)} of {len(marked)} right")
    return f"{_problems(len(outcomes) + left)}: {', '.join(parts)}"


def interrupted_line(outcomes: Sequence[Outcome], left: int, written: int | None = None, resumable: bool = False) -> str:
    """The same where the run was interrupted; `written` results stand in their folder."""
    if written is None:
        return f"interrupted: {closing_line(outcomes, left)}"
    kept = sum(outcome.skipped for outcome in outcomes)
    bad = sum(not outcome.ok for outcome in outcomes)
    parts = [f"{written} written", *_counts(outcomes, kept, len(outcomes) + left - written - kept - bad)]
    goes_on = "; with --resume the next run goes on from there" if resumable else ""
    return f"interrupted: {_problems(len(outcomes) + left)}: {', '.join(parts)}{goes_on}"


def _counts(outcomes: Sequence[Outcome], kept: int, left: int) -> list[str]:
    bad = sum(not outcome.ok for outcome in outcomes)
    return [f"{bad} failed", *([f"{kept} kept"] if kept else []), *([f"{left} not tried"] if left else [])]


def _problems(count: int) -> str:
    return f"{count} problem{'' if count == 1 else 's'}"


def _record(outcome: Outcome, check: bool) -> dict[str, Any]:
    marks = outcome.marks or {}
    return {
        "file": outcome.file,
        "ok": outcome.ok,
        "score": outcome.score or None,
        "mode": outcome.mode or None,
        "shapes": dict(outcome.shapes),
        "seconds": round(outcome.seconds, 6),
        "error": outcome.error or None,
        **({column: marks.get(column) for column in MARKS} if check else {}),
        **({"points": dict(outcome.points)} if check else {}),
    }
