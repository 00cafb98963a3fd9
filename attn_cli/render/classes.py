"""A class of reports as a page: who has which marks, where people fail, and the commonest slips."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from statistics import median

import numpy as np

from attn_cli.homework.classes import Summary, summary
from attn_cli.homework.report import Failed, Report, tidy
from attn_cli.render.lang import text
from attn_cli.render.marked import cell_text, gist, headline, points_text
from attn_cli.render.page import Block, Marks, Matrix, Page, Paragraph
from attn_cli.render.style import Style


def class_page(reports: Sequence[Report | Failed], style: Style) -> Page:
    """The page of a class."""
    lines = list(summary_lines(summary(reports), style.lang))
    lead = tuple(Paragraph(line, "title" if not i else "said") for i, line in enumerate(lines[1:]))
    return Page(lines[0], (), tuple(_marks(reports, style)), (), style, lead=lead)


def slip_of(report: Report) -> str:
    """The code of the mistake that explains the first slip; empty where none does."""
    first = report.first_wrong
    return first.mistake.code if first is not None and first.mistake is not None else ""


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


def _marks(reports: Sequence[Report | Failed], style: Style) -> Iterator[Block]:
    """What each submission earned, step by step, its first slip, and what explains it."""
    lang = style.lang
    steps = list(dict.fromkeys(step.name for report in reports if isinstance(report, Report) for step in report.steps))
    titles = (*steps, *(text(f"class.{key}", lang) for key in ("earned", "first", "slip")))
    texts, verdicts = [], []
    for report in reports:
        if isinstance(report, Failed):
            texts.append([""] * (len(steps) + 3))
            verdicts.append([""] * (len(steps) + 3))
            continue
        earned = {step.name: step for step in report.steps}
        first = report.first_wrong
        told = [points_text(earned[name].points * earned[name].share) if name in earned else "" for name in steps]
        total = f"{points_text(report.earned)}/{points_text(report.possible)}"
        texts.append([*told, total, cell_text(first, report) if first is not None else "", slip_of(report)])
        verdicts.append([*(earned[name].verdict if name in earned else "" for name in steps), "", "", ""])
    rows = tuple(report.file or "" for report in reports)
    blank = [[""] * len(titles) for _ in rows]
    marks = Marks(verdicts, blank)
    matrix = Matrix("", np.zeros((len(rows), len(titles))), texts, rows, titles, None, False, lambda: iter(()), marks=marks)
    failed = [Paragraph(f"{r.file}: {text('class.error', lang)}: {r.error}", "wrong") for r in reports if isinstance(r, Failed)]
    yield Block("marks", text("class.points", lang), matrices=(matrix,), after=tuple(failed), apart=True)


__all__ = ["class_page", "gist", "headline", "slip_of", "summary_lines"]
