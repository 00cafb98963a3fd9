"""How a report on somebody's numbers looks. Pure functions: (report, style) -> text; a table of formats."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from statistics import median
from typing import Any

import numpy as np

from attn_cli.engine.steps import Step
from attn_cli.homework.report import Failed, Report, StepReport, Summary, summary, tidy
from attn_cli.render.data.json import encode
from attn_cli.render.lang import note_text, text
from attn_cli.render.page import Names, worked_line
from attn_cli.render.style import Style
from attn_cli.render.terminal.layout import Row, joined
from attn_cli.render.terminal.text import left, right, visible, width, wrapped

MARKS = {"right": "✓", "rounded": "≈", "carried": "→", "wrong": "✗", "missing": "·"}
GRID = 40
"""A grid shows so many rows."""
ROWS = 12
"""So many rows are told as they should be, and so many wrong cells explained, unless all are asked for."""
MANY = 512
"""A step of more cells, such as a program's, has its verdicts counted instead of a grid."""


@dataclass(frozen=True)
class Wanted:
    """What a report tells besides the verdicts."""

    answers: bool = True
    """The right numbers."""
    explain: bool = False
    """The derivation of every wrong cell."""


# ------------------------------------------------------------------ the terminal
def table(report: Report, style: Style, wanted: Wanted) -> str:
    rows = list(_page(report, style, wanted))
    if style.color:
        from attn_cli.render.terminal.table import colored

        return colored(rows)
    return joined(rows)


def _page(report: Report, style: Style, wanted: Wanted) -> Iterator[Row]:
    if report.file is not None:
        yield from _told(visible(report.file), style, "title")
    yield from _told(headline(report, style), style, "title")
    yield from _told(text("check.legend", style.lang), style, "conventions")
    for step in report.steps:
        yield []
        yield from _step(step, report, style, wanted)
    if any(step.precision for step in report.steps):
        yield []
        yield from _told(_departs(report, style.lang), style, "remark")


def headline(report: Report, style: Style) -> str:
    """Points and the first slip, in one line."""
    told = [text("check.points", style.lang, earned=_points(report.earned), possible=_points(report.possible))]
    first = report.first_wrong
    if first is not None:
        told.append(text("check.first_wrong", style.lang, step=first.name, cell=_people(first.first_wrong)))
    elif report.right:
        told.append(text("check.all_right", style.lang))
    if not report.complete:
        told.append(text("check.incomplete", style.lang))
    return " · ".join(told)


def _points(points: float) -> str:
    """With two decimals where it needs them."""
    return f"{tidy(round(points, 2))}"


def _people(cell: Sequence[int] | None) -> str:
    """A cell as people count, from 1."""
    return f"[{','.join(str(i + 1) for i in cell)}]" if cell else ""


def _told(told: str, style: Style, role: str = "", indent: str = "") -> Iterator[Row]:
    for i, line in enumerate(wrapped(told, max(style.width - len(indent), 8), "  ")):
        yield [(indent, ""), (line, role)] if indent or i else [(line, role)]


def _step(step: StepReport, report: Report, style: Style, wanted: Wanted) -> Iterator[Row]:
    lang, shown = style.lang, report.trace.step(step.step)
    style = replace(style, decimals=max(style.decimals, _decimals(step.written)))
    heading = f"{MARKS[step.verdict]} {step.name}: {text(f'check.{step.verdict}', lang)}"
    if step.name != step.step:
        heading += f" ({text('check.stands_for', lang, step=step.step)})"
    yield from _told(f"{heading} · {_points(step.points * step.share)}/{_points(step.points)}", style, step.verdict)
    if step.precision is None or step.verdict in ("carried", "wrong"):
        yield from _grids(step, shown, report, style)
    for told in _remarks(step, shown, report, style, wanted):
        yield from _told(told, style, "remark", "  ")


def _remarks(step: StepReport, shown: Step, report: Report, style: Style, wanted: Wanted) -> Iterator[str]:
    """What is said below a step's grid, or in its place."""
    lang = style.lang
    if _too_many(step):
        told = "  ".join(f"{count} {MARKS[verdict]}" for verdict, count in step.counts.most_common())
        yield text("check.counts", lang, counts=told)
    if step.verdict == "wrong":
        if step.first_wrong is None:
            yield _shape(step, shown, lang)
        if wanted.answers:
            yield from _should_be(step, report, style, wanted)
        else:
            formula = shown.formula
            if formula is not None:
                yield text("check.formula", lang, formula=f"{shown.symbol.text} = {formula.plain(lambda n: style.exact(n.value))}")
    if step.mistake is not None:
        yield text("check.mistake", lang, text=mistake_text(step.mistake.code, lang))
        if step.mistake.also:
            yield text("check.also", lang, codes=", ".join(step.mistake.also))
    elif step.verdict == "wrong" and step.first_wrong is not None and wanted.answers:
        yield text("check.no_mistake", lang)
    for note in step.notes:
        yield note_text(note, lang)
    if step.precision is not None:
        if not step.precision.finite:
            yield text("check.not_finite", lang)
        else:
            error, ulps = f"{step.precision.error:.3g}", f"{step.precision.ulps:.3g}"
            yield text("check.precision", lang, error=error, ulps=ulps, dtype=step.precision.dtype)


def mistake_text(code: str, lang: str) -> str:
    return text(f"mistake.{code}", lang)


def _shape(step: StepReport, shown: Step, lang: str) -> str:
    from attn_cli.homework.claims import shape_of

    found = shape_of(step.cells)
    told = text("check.shape.ragged", lang) if found is None else " × ".join(map(str, found)) or "1"
    return text("check.shape", lang, found=told, wanted=" × ".join(map(str, shown.value.shape)))


def _should_be(step: StepReport, report: Report, style: Style, wanted: Wanted) -> Iterator[str]:
    """The rows that hold a wrong cell as they should be, and the arithmetic of the first one."""
    names = Names(report.trace)
    shown = report.trace.step(step.step)
    if step.at is not None:
        yield text("check.so", style.lang, line=worked_line(shown, step.at, style, names).plain(style.fold, style.lang))
    rows = [(at, row) for at, row, cells in _rows_of(step) if step.first_wrong is None or "wrong" in cells]
    some = 1 if _too_many(step) else ROWS
    for at, row in rows[:some]:
        numbers = "  ".join(style.number(math.nan if x is None else float(x)) for x in row)
        yield f"{text('check.should_be', style.lang, row=_row_name(step, shown, at, names))} {numbers}"
    if len(rows) > some:
        yield text("check.more_rows", style.lang, count=len(rows) - some)
    if wanted.explain and step.at is not None:
        for at in _wrong_cells(step, shown):
            if at != step.at:
                yield worked_line(shown, at, style, names).plain(style.fold, style.lang)


def _row_name(step: StepReport, shown: Step, at: tuple[int, ...], names: Names) -> str:
    """A row by its label, where it lies as in the step; else by its number."""
    if at and (*at, 0) in np.ndindex(shown.value.shape) and np.array(step.expected, object).shape == shown.value.shape:
        return names.cell(shown, (*at, -1)).plain()
    return f"{step.name}{_people(at)}"


def _rows_of(step: StepReport) -> Iterator[tuple[tuple[int, ...], list[Any], list[str]]]:
    """Each row of what should be, with its place and verdicts."""

    def visit(expected: Any, cells: Any, at: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], list[Any], list[str]]]:
        if not isinstance(expected, list):
            return
        if not expected or not isinstance(expected[0], list):
            yield at, expected, cells if isinstance(cells, list) else []
            return
        for i, part in enumerate(expected):
            yield from visit(part, cells[i] if isinstance(cells, list) and i < len(cells) else [], (*at, i))

    yield from visit(step.expected, step.cells, ())


def _wrong_cells(step: StepReport, shown: Step) -> Iterator[tuple[int, ...]]:
    """Every wrong cell, in the layout of the step; where the answer lies in another layout, none."""
    cells = np.array(step.cells, object)
    if cells.shape == shown.value.shape:
        yield from (tuple(int(i) for i in at) for at in np.argwhere(cells == "wrong"))


def _grids(step: StepReport, shown: Step, report: Report, style: Style) -> Iterator[Row]:
    """The numbers as they were written, each with its mark; nothing where they are too many."""
    if _too_many(step):
        return
    names = Names(report.trace)
    same = np.shape(np.array(step.cells, object)) == shown.value.shape
    axes = shown.axes[-2:] if same else ("", "")

    def visit(cells: Any, written: Any, at: tuple[int, ...]) -> Iterator[Row]:
        if isinstance(cells, list) and cells and isinstance(cells[0], list) and cells[0] and isinstance(cells[0][0], list):
            for i, (part, words) in enumerate(zip(cells, written, strict=True)):
                if isinstance(part, list):
                    yield [("  ", ""), (f"{step.name}{_people((*at, i))}", "caption")]
                    yield from visit(part, words, (*at, i))
            return
        flat = not (isinstance(cells, list) and cells and isinstance(cells[0], list))
        rows = [cells if isinstance(cells, list) else [cells]] if flat else [c if isinstance(c, list) else [c] for c in cells]
        words = [written if isinstance(written, list) else [written]] if flat else [w if isinstance(w, list) else [w] for w in written]
        if not any(rows):
            return
        most = max(map(len, rows))
        across = names.labels(axes[-1], most)
        down = ("",) if flat else names.labels(axes[0], len(rows))
        yield from _grid(rows, words, [visible(label) for label in down], [visible(label) for label in across], style)

    yield from visit(step.cells, step.written, ())


def _too_many(step: StepReport) -> bool:
    """Whether its cells are only counted."""
    return step.counts.total() > MANY


def _grid(rows: list[list[str]], words: list[list[str]], down: Sequence[str], across: Sequence[str], style: Style) -> Iterator[Row]:
    """Blocks of columns, as many as fit the terminal."""
    columns = [
        [(row[j], f"{word[j] or '–'} {MARKS[row[j]]}") if j < len(row) else ("", "") for row, word in zip(rows, words, strict=True)]
        for j in range(len(across))
    ]
    widths = [max(width(label) + 2, *(width(told) for _, told in column)) for label, column in zip(across, columns, strict=True)]
    margin = max(map(width, down))
    first = 0
    while first < len(columns):
        last, used = first + 1, margin + 4 + widths[first]
        while last < len(columns) and used + 2 + widths[last] <= style.width:
            used += 2 + widths[last]
            last += 1
        head: Row = [(" " * (margin + 2), "")]
        for j in range(first, last):
            head += [("  ", ""), (right(across[j] + "  ", widths[j]), "label")]
        yield head
        for i, label in enumerate(down[:GRID]):
            line: Row = [("  ", ""), (left(label, margin), "label")]
            for j in range(first, last):
                verdict, told = columns[j][i]
                line += [("  ", ""), (right(told, widths[j]), verdict)]
            yield line
        if len(down) > GRID:
            yield [("  ", ""), (text("check.more_rows", style.lang, count=len(down) - GRID), "remark")]
        first = last


def _decimals(written: Any) -> int:
    """The most decimals written, up to twelve."""
    if isinstance(written, list):
        return max(map(_decimals, written), default=0)
    return 0 if "e" in written.lower() else min(len(written.partition(".")[2].strip()), 12)


def _departs(report: Report, lang: str) -> str:
    first = next((step for step in report.steps if step.verdict in ("wrong", "carried")), None)
    return text("check.no_departure", lang) if first is None else text("check.departs", lang, step=first.name)


# ------------------------------------------------------------------ JSON
def document(report: Report, style: Style, wanted: Wanted) -> dict[str, Any]:
    """What `--format json` says of one submission."""
    first = report.first_wrong
    steps = []
    for step in report.steps:
        one: dict[str, Any] = {"name": step.name, "verdict": step.verdict, "cells": step.cells}
        if wanted.answers:
            one["expected"] = _strict(step.expected)
        one["mistake"] = None
        if step.mistake is not None:
            code = step.mistake.code
            one["mistake"] = {"code": code, "text": mistake_text(code, style.lang), "also": list(step.mistake.also)}
        one["earned"], one["possible"] = tidy(step.points * step.share), tidy(step.points)
        one["notes"] = [{"code": note.code, "text": note_text(note, style.lang)} for note in step.notes]
        if step.precision is not None:
            known = step.precision.finite
            error, ulps = (step.precision.error, step.precision.ulps) if known else (None, None)
            one["precision"] = {"dtype": step.precision.dtype, "error": error, "ulps": ulps}
        steps.append(one)
    return {
        **({"file": report.file} if report.file is not None else {}),
        "right": report.right,
        "complete": report.complete,
        "earned": report.earned,
        "possible": report.possible,
        "first_wrong": None if first is None else {"step": first.name, "cell": list(first.first_wrong) if first.first_wrong else None},
        "steps": steps,
    }


def _strict(value: Any) -> Any:
    if isinstance(value, list):
        return [_strict(part) for part in value]
    return value if math.isfinite(value) else None


# ------------------------------------------------------------------ Markdown
def markdown(report: Report, style: Style, wanted: Wanted) -> str:
    lines = []
    if report.file is not None:
        lines += [f"## {_escaped(report.file)}", ""]
    lines += [f"**{_escaped(headline(report, style))}**", "", text("check.legend", style.lang)]
    for step in report.steps:
        shown = report.trace.step(step.step)
        precise = replace(style, decimals=max(style.decimals, _decimals(step.written)))
        score = f"{_points(step.points * step.share)}/{_points(step.points)}"
        lines += ["", f"### {MARKS[step.verdict]} {_escaped(step.name)}: {text(f'check.{step.verdict}', style.lang)} ({score})", ""]
        lines += _markdown_grids(step.cells, step.written) if not _too_many(step) else []
        remarks = [f"- {_escaped(told)}" for told in _remarks(step, shown, report, precise, wanted)]
        lines += ["", *remarks] if remarks else []
    return "\n".join(lines).rstrip() + "\n"


def _markdown_grids(cells: Any, written: Any) -> Iterator[str]:
    if not isinstance(cells, list):
        cells, written = [cells], [written]
    if cells and isinstance(cells[0], list) and cells[0] and isinstance(cells[0][0], list):
        for i, (part, words) in enumerate(zip(cells, written, strict=True)):
            yield from ([""] if i else [])
            yield from _markdown_grids(part, words)
        return
    rows = cells if cells and isinstance(cells[0], list) else [cells]
    words = written if cells and isinstance(cells[0], list) else [written]
    most = max((len(row) for row in rows if isinstance(row, list)), default=0)
    if not most:
        return
    yield "|" + " |" * most
    yield "|" + "---:|" * most
    for row, word in zip(rows, words, strict=True):
        told = [f"{_escaped(w) or '–'} {MARKS[c]}" for c, w in zip(row, word, strict=True)]
        yield "| " + " | ".join(told + [""] * (most - len(told))) + " |"


def _escaped(told: str) -> str:
    return "".join("\\" + c if c in r"\`*_{}[]<>#|" else c for c in visible(told))


# ------------------------------------------------------------------ a gradebook
COLUMNS = ("file", "right", "complete", "earned", "possible", "first_wrong_step", "first_wrong_cell", "mistake", "error")


def gradebook(reports: Sequence[Report | Failed], style: Style) -> str:
    """A row a submission."""
    steps = list(dict.fromkeys(step.name for report in reports if isinstance(report, Report) for step in report.steps))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*COLUMNS, *steps])
    for report in reports:
        if isinstance(report, Failed):
            writer.writerow([report.file, "", "", "", "", "", "", "", report.error, *[""] * len(steps)])
            continue
        first = report.first_wrong
        earned = {step.name: tidy(step.points * step.share) for step in report.steps}
        row = [report.file or "", _yes(report.right), _yes(report.complete), report.earned, report.possible]
        row += [first.name, _people(first.first_wrong)] if first is not None else ["", ""]
        named = next((step.mistake.code for step in report.steps if step.mistake is not None), "")
        writer.writerow([*row, named, "", *(earned.get(name, "") for name in steps)])
    return out.getvalue()


def _yes(fact: bool) -> str:
    return "true" if fact else "false"


# ------------------------------------------------------------------ Gradescope
def gradescope(report: Report, style: Style, wanted: Wanted) -> dict[str, Any]:
    """A `results.json` as Gradescope publishes its form."""
    tests = []
    for step in report.steps:
        shown = report.trace.step(step.step)
        precise = replace(style, decimals=max(style.decimals, _decimals(step.written)), width=100, color=False)
        told = [joined(_grids(step, shown, report, precise)).rstrip("\n"), *_remarks(step, shown, report, precise, wanted)]
        tests.append(
            {
                "name": step.name,
                "score": tidy(step.points * step.share),
                "max_score": tidy(step.points),
                "status": "failed" if step.verdict in ("wrong", "carried", "missing") else "passed",
                "output": "\n".join(told),
                "output_format": "text",
            }
        )
    return {
        "score": report.earned,
        "output": headline(report, style),
        "output_format": "text",
        "tests": tests,
    }


# ------------------------------------------------------------------ a class
def class_table(reports: Sequence[Report | Failed], style: Style) -> str:
    """A line a submission, then the summary."""
    rows: list[Row] = []
    names = [visible(report.file or "") for report in reports]
    pad = max(map(width, names), default=0)
    for name, report in zip(names, reports, strict=True):
        if isinstance(report, Failed):
            rows.append([(left(name, pad), "name"), (f"  {text('class.error', style.lang)}: {visible(report.error)}", "wrong")])
        else:
            mark = "✓" if report.right else "✗"
            rows.append([(left(name, pad), "name"), (f"  {mark} {_told_short(report, style)}", "right" if report.right else "wrong")])
    rows.append([])
    for line in summary_lines(summary(reports), style.lang):
        rows += _told(line, style)
    if style.color:
        from attn_cli.render.terminal.table import colored

        return colored(rows)
    return joined(rows)


def _told_short(report: Report, style: Style) -> str:
    named = next((step.mistake.code for step in report.steps if step.mistake is not None), "")
    return headline(report, style) + (f" · {named}" if named else "")


def class_markdown(reports: Sequence[Report | Failed], style: Style) -> str:
    heads = [text(f"class.{key}", style.lang) for key in ("file", "earned", "result")]
    lines = [f"| {' | '.join(heads)} |", "|---|---:|---|"]
    for report in reports:
        if isinstance(report, Failed):
            lines.append(f"| {_escaped(report.file)} | | {text('class.error', style.lang)}: {_escaped(report.error)} |")
        else:
            points = f"{_points(report.earned)}/{_points(report.possible)}"
            lines.append(f"| {_escaped(report.file or '')} | {points} | {_escaped(_told_short(report, style))} |")
    return "\n".join([*lines, "", *(f"- {_escaped(line)}" for line in summary_lines(summary(reports), style.lang))]) + "\n"


def summary_lines(found: Summary, lang: str) -> Iterator[str]:
    yield text("class.title", lang, count=found.submissions)
    if found.earned:
        low, middle, high = (tidy(round(float(x), 2)) for x in (min(found.earned), median(found.earned), max(found.earned)))
        yield text("class.marks", lang, low=low, middle=middle, high=high, possible=found.possible, right=found.right)
    if found.unreadable:
        yield text("class.unreadable", lang, count=found.unreadable)
    for title, counts in (("class.mistakes", found.mistakes), ("class.steps", found.steps)):
        if counts:
            ordered = [(count, ", ".join(name for name, _ in group)) for count, group in groupby(counts, key=lambda each: each[1])]
            yield f"{text(title, lang)}: " + " · ".join(f"{names} {count}×" for count, names in ordered[:5])


# ------------------------------------------------------------------ the table of formats
def _json_line(report: Report | Failed, style: Style, wanted: Wanted) -> str:
    told = {"file": report.file, "error": report.error} if isinstance(report, Failed) else document(report, style, wanted)
    return encode(told)


def _one_json(report: Report, style: Style, wanted: Wanted) -> str:
    return json.dumps(document(report, style, wanted), ensure_ascii=False, indent=1) + "\n"


def _one_gradescope(report: Report, style: Style, wanted: Wanted) -> str:
    return json.dumps(gradescope(report, style, wanted), ensure_ascii=False, indent=1) + "\n"


@dataclass(frozen=True)
class Format:
    """One format of a report."""

    suffix: str
    one: Callable[[Report, Style, Wanted], str]
    """One submission."""
    many: Callable[[Sequence[Report | Failed], Style, Wanted], str]
    """A class."""


def _lines(reports: Sequence[Report | Failed], style: Style, wanted: Wanted) -> str:
    return "".join(_json_line(report, style, wanted) + "\n" for report in reports)


def _gradescope_lines(reports: Sequence[Report | Failed], style: Style, wanted: Wanted) -> str:
    """One line a submission; `-o` writes a file for each."""
    told = [
        {"score": 0, "output": report.error, "tests": []} if isinstance(report, Failed) else gradescope(report, style, wanted)
        for report in reports
    ]
    return "".join(encode({"file": r.file, **one}) + "\n" for r, one in zip(reports, told, strict=True))


FORMATS = {
    "table": Format("txt", table, lambda reports, style, wanted: class_table(reports, style)),
    "json": Format("json", _one_json, _lines),
    "csv": Format(
        "csv", lambda report, style, wanted: gradebook([report], style), lambda reports, style, wanted: gradebook(reports, style)
    ),
    "markdown": Format("md", markdown, lambda reports, style, wanted: class_markdown(reports, style)),
    "gradescope": Format("json", _one_gradescope, _gradescope_lines),
}
