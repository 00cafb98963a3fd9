"""What came of a batch: a row a problem, for spreadsheets, programs and people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from attn_cli.batch.work import Row
from attn_cli.errors import one_line

COLUMNS = ("file", "ok", "score", "mode", "shapes", "seconds", "error")
MARKS = ("right", "complete", "earned", "possible", "first_wrong_step", "first_wrong_cell", "mistake")
"""More columns, where answers are marked; one for each step follows."""


def summary_csv(rows: Sequence[Row], check: bool = False) -> str:
    import csv
    import io

    steps = list(dict.fromkeys(step for row in rows for step in row.points))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*COLUMNS, *(MARKS if check else ()), *steps])
    for row in rows:
        told = [row.file, _yes(row.ok), row.score, row.mode, shapes_text(row), f"{row.seconds:.6f}", row.error]
        marks = row.marks or {}
        told += [_cell(marks.get(column)) for column in MARKS] if check else []
        writer.writerow([*told, *(row.points.get(step, "") for step in steps)])
    return out.getvalue()


def summary_jsonl(rows: Sequence[Row], check: bool = False) -> str:
    from attn_cli.render.data.json import encode

    return "".join(encode(_record(row, check)) + "\n" for row in rows)


SUMMARIES = {".csv": summary_csv, ".jsonl": summary_jsonl}


def shapes_text(row: Row) -> str:
    return " ".join(f"{name}={size}" for name, size in row.shapes.items())


def row_line(row: Row) -> str:
    """The row for people."""
    told = [one_line(row.file), row.score, row.mode, shapes_text(row)]
    state = "failed" if not row.ok else "kept  " if row.skipped else "done  "
    if row.marks is not None:
        state = "right " if row.marks["right"] else "wrong "
        told.append(f"{row.marks['earned']:g}/{row.marks['possible']:g}")
        if row.marks["first_wrong_step"]:
            told.append(f"{row.marks['first_wrong_step']}{_people(row.marks['first_wrong_cell'])}")
        told.append(row.marks["mistake"] or "")
    return " ".join(part for part in (state, *told) if part)


def json_line(row: Row) -> str:
    """The problem's whole result as one line, or why there is none."""
    if row.result is not None:
        return row.result
    from attn_cli.render.data.json import encode

    return encode({"file": row.file, "error": row.error})


def counts(rows: Sequence[Row], left: int = 0) -> str:
    """The closing line; `left` problems were not tried."""
    total, bad = len(rows) + left, sum(not row.ok for row in rows)
    kept = sum(row.skipped for row in rows)
    told = [f"{len(rows) - bad - kept} done", f"{bad} failed"]
    told += [f"{kept} kept"] if kept else []
    told += [f"{left} not tried"] if left else []
    marked = [row for row in rows if row.marks is not None]
    if marked:
        told.append(f"{sum(row.right for row in marked)} of {len(marked)} right")
    return f"{total} problem{'' if total == 1 else 's'}: {', '.join(told)}"


def progress(done: int, total: int, seconds: float) -> str:
    """How far a batch is, and how long the rest will take at the same pace."""
    filled = 20 * done // total
    left = "" if not done else f"  {_time(seconds * (total - done) / done)} left"
    return f"[{'#' * filled}{'.' * (20 - filled)}] {done}/{total}{left}"


def _time(seconds: float) -> str:
    whole = round(seconds)
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s" if minutes else f"{rest} s"


def _record(row: Row, check: bool) -> dict[str, Any]:
    marks = row.marks or {}
    return {
        "file": row.file,
        "ok": row.ok,
        "score": row.score or None,
        "mode": row.mode or None,
        "shapes": dict(row.shapes),
        "seconds": round(row.seconds, 6),
        "error": row.error or None,
        **({column: marks.get(column) for column in MARKS} if check else {}),
        **({"points": dict(row.points)} if check else {}),
    }


def _cell(value: Any) -> Any:
    if value is None:
        return ""
    if isinstance(value, bool):
        return _yes(value)
    return _people(value) if isinstance(value, list) else value


def _yes(fact: bool) -> str:
    return "true" if fact else "false"


def _people(cell: Sequence[int] | None) -> str:
    """A cell as people count, from 1."""
    return f"[{','.join(str(i + 1) for i in cell)}]" if cell else ""
