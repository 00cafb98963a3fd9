"""A class of reports as a page: who has which marks, where people fail, the commonest slips, and how each step tells strong from weak."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import median

import numpy as np

from attn_cli.engine.arrays import Array
from attn_cli.homework.classes import ClassStatistics, StepStatistics, class_statistics
from attn_cli.homework.report import Failed, Report, tidy
from attn_cli.render.labels import Names
from attn_cli.render.lang import text
from attn_cli.render.marked import MANY, cell_text, mistake_text, points_text
from attn_cli.render.page import Block, Marks, Matrix, Page, Paragraph
from attn_cli.render.style import Style
from attn_cli.render.walkthrough import step_matrices

COMMONEST = 8
"""Mistakes that the page of a class tells."""
NAMED = 6
"""Submissions that it names beside each of them."""


def class_page(reports: Sequence[Report | Failed], style: Style) -> Page:
    """The page of a class."""
    found = class_statistics(reports)
    marked = [report for report in reports if isinstance(report, Report)]
    blocks = [_marks(reports, style), *_mistakes(found, style)]
    if marked and found.submissions > 1:
        blocks += [*_failures(found, marked[0], style), *_items(found, style)]
    title = "class.title" if found.submissions != 1 else "class.title_of_one"
    return Page(text(title, style.lang, count=found.submissions), (), tuple(blocks), (), style, lead=tuple(_lead(found, style)))


def _lead(found: ClassStatistics, style: Style) -> Iterator[Paragraph]:
    lang = style.lang
    if found.earned:
        low, middle, high = (tidy(round(float(x), 2)) for x in (min(found.earned), median(found.earned), max(found.earned)))
        numbers = {"low": low, "middle": middle, "high": high, "possible": found.possible, "right": found.right, "complete": found.complete}
        yield Paragraph(text("class.marks", lang, **numbers), "title")
        yield Paragraph(text("class.asked", lang, steps=_joined([step.name for step in found.steps], lang)), "said")
    if found.unreadable:
        yield Paragraph(text("class.unreadable", lang, count=found.unreadable), "wrong")
    for names in found.twins:
        yield Paragraph(text("class.twins", lang, names=_joined(names, lang)), "carried")


def _joined(names: Sequence[str], lang: str, most: int = 0) -> str:
    """Names in a sentence; of more than `most`, how many follow."""
    shown = list(names[:most] if most else names)
    more = [text("class.more", lang, count=len(names) - len(shown))] if len(names) > len(shown) else []
    return ("、" if lang == "zh" else ", ").join([*shown, *more])


def _table(rows: Sequence[str], columns: Sequence[str], texts: list[list[str]], value: Array | None = None, shaded: bool = False) -> Matrix:
    shape = (len(rows), len(columns))
    return Matrix("", np.zeros(shape) if value is None else value, texts, tuple(rows), tuple(columns), None, shaded, lambda: iter(()))


# ------------------------------------------------------------------ marks
def _marks(reports: Sequence[Report | Failed], style: Style) -> Block:
    """What each submission earned, step by step, its first slip, and what explains it."""
    lang = style.lang
    steps = _steps(reports)
    titles = (*steps, *(text(f"class.{key}", lang) for key in ("earned", "first", "slip")))
    rows = [_row(report, steps) for report in reports]
    verdicts = [[verdict for verdict, _ in row] for row in rows]
    matrix = _table([report.file or "answers" for report in reports], titles, [[shown for _, shown in row] for row in rows])
    matrix = matrix._replace(marks=Marks(verdicts, [[""] * len(titles) for _ in rows]), links=tuple(style.links or ()))
    failed = [Paragraph(f"{r.file}: {text('class.error', lang)}: {r.error}", "wrong") for r in reports if isinstance(r, Failed)]
    return Block("marks", text("class.points", lang), matrices=(matrix,), after=tuple(failed), apart=True)


def _steps(reports: Sequence[Report | Failed]) -> list[str]:
    """The names of the steps asked for."""
    return list(dict.fromkeys(step.name for report in reports if isinstance(report, Report) for step in report.asked))


def _row(report: Report | Failed, steps: Sequence[str]) -> list[tuple[str, str]]:
    """The cells of a submission's row, each with its verdict."""
    if isinstance(report, Failed):
        return [("", "")] * (len(steps) + 3)
    earned = {step.name: step for step in report.asked}
    first = report.first_wrong
    cells = [(earned[n].verdict, points_text(earned[n].points * earned[n].share)) if n in earned else ("", "") for n in steps]
    slip = first.mistake.code if first is not None and first.mistake is not None else ""
    total = f"{points_text(report.earned)}/{points_text(report.possible)}"
    return [*cells, ("", total), ("", cell_text(first, report) if first is not None else ""), ("", slip)]


# ------------------------------------------------------------------ the commonest mistakes
def _mistakes(found: ClassStatistics, style: Style) -> Iterator[Block]:
    if not found.mistakes:
        return
    marked = found.submissions - found.unreadable
    lines = [
        text(
            "class.mistake", style.lang, count=len(files), of=marked, text=mistake_text(code, style.lang), code=code,
            names=_joined(files, style.lang, NAMED),
        )
        for code, files in found.mistakes[:COMMONEST]
    ]  # fmt: skip
    if len(found.mistakes) > COMMONEST:
        lines.append(text("class.more", style.lang, count=len(found.mistakes) - COMMONEST))
    yield Block("mistakes", text("class.mistakes", style.lang), before=tuple(Paragraph(line, "said") for line in lines), apart=True)


# ------------------------------------------------------------------ where people fail
def _failures(found: ClassStatistics, report: Report, style: Style) -> Iterator[Block]:
    """For each step the share of those who gave it to whom a cell is wrong; the darker the more."""
    matrices: list[Matrix] = []
    for one in found.steps:
        if report.trace.step(one.step).value.size <= MANY and np.any(one.cells):
            matrices += _heat(one, report, style)
    if matrices:
        said = (Paragraph(text("class.share_wrong", style.lang), "said"),)
        yield Block("failures", text("class.failures", style.lang), before=said, matrices=tuple(matrices), apart=True)


def _heat(one: StepStatistics, report: Report, style: Style) -> Iterator[Matrix]:
    step = report.trace.step(one.step)
    wrong = np.array(one.cells, float)
    for matrix in step_matrices(step, report.trace, style):
        value = wrong[matrix.prefix].reshape(matrix.value.shape)
        texts = [[f"{share:.0%}" if share else "" for share in row] for row in value.tolist()]
        name = f"{one.name} {Names(report.trace).cell(step, (*matrix.prefix, *[-1] * (wrong.ndim - len(matrix.prefix)))).symbol}"
        heat = _table(matrix.rows, matrix.columns, texts, value, True)
        yield heat._replace(caption=name, prefix=matrix.prefix, source=f"wrong-{one.name}")


# ------------------------------------------------------------------ item statistics
def _items(found: ClassStatistics, style: Style) -> Iterator[Block]:
    """How hard each step is, and how well it tells strong from weak."""
    lang, precise = style.lang, replace(style, decimals=2)
    texts = [
        [
            str(one.given),
            f"{one.share_right:.0%}",
            str(one.first_wrong),
            "–" if one.separation is None else precise.number(one.separation),
        ]
        for one in found.steps
    ]
    titles = [text(f"class.{key}", lang) for key in ("given", "share_right", "first_here", "separation")]
    matrix = _table([one.name for one in found.steps], titles, texts)
    said = (Paragraph(text("class.items_note", lang), "said"),)
    yield Block("items", text("class.items", lang), matrices=(matrix,), after=said, apart=True)
