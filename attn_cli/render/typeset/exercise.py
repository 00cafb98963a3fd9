"""A problem sheet as one HTML file that marks itself offline."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from attn_cli.engine.arrays import Array
from attn_cli.engine.steps import Step, Trace
from attn_cli.render.data import json
from attn_cli.render.exercise_sheet import conventions, formula, given, named, parts
from attn_cli.render.inputs import Input, inputs_of
from attn_cli.render.labels import Names
from attn_cli.render.lang import text
from attn_cli.render.style import Style
from attn_cli.render.typeset.html import asset, escaped, head, indexed
from attn_cli.render.walkthrough import step_title

if TYPE_CHECKING:
    from attn_cli.homework.exercises import Exercise, Slip


def render(exercise: Exercise, slips: dict[str, list[Slip]], style: Style) -> str:
    """The page. `slips` are the known mistakes whose numbers it recognises, by step."""
    title = exercise.problem.title
    steps = "\n".join(part for number, step in enumerate(exercise.steps) for part in _step(number, step, exercise, style))
    lines = [text("exercise.ask", style.lang, decimals=exercise.decimals), text("exercise.offline", style.lang)]
    # Between script tags nothing may close them.
    data = json.encode(_data(exercise, slips, style)).replace("<", "\\u003c").replace("&", "\\u0026")
    return f"""{head(title, style.lang, asset("exercise.css"))}
<body>
<h1>{escaped(title)}</h1>
{"".join(f'<p class="soft">{escaped(line)}</p>' for line in lines)}
<p class="soft">{" · ".join(map(indexed, conventions(exercise.trace, style)))}</p>
<h2>{escaped(text("inputs", style.lang))}</h2>
<div class="given">
{"".join(part for one in inputs_of(exercise.trace) for part in _given(one, exercise.trace, style))}</div>
{steps}
<p class="score" aria-live="polite"></p>
<script type="application/json" id="data">{data}</script>
<script>
{asset("exercise.js")}</script>
</body>
</html>
"""


def _given(one: Input, trace: Trace, style: Style) -> Iterator[str]:
    """One input as a table, one a head."""
    for name, rows, columns, texts in given(one, trace, style):
        titles = "".join(f"<th scope=col>{escaped(label)}</th>" if label else "<th></th>" for label in ("", *columns))
        body = "".join(
            f"<tr><th scope=row>{escaped(label)}</th>{''.join(f'<td>{escaped(cell)}</td>' for cell in row)}</tr>\n"
            for label, row in zip(rows, texts, strict=True)
        )
        yield f'<figure><table><caption class="formula">{indexed(name)}</caption>\n<tr>{titles}</tr>\n{body}</table></figure>\n'


def _step(number: int, step: Step, exercise: Exercise, style: Style) -> Iterator[str]:
    """A step's blanks and its button for a hint."""
    title, names, shape = step_title(step, exercise.trace, style.lang), Names(exercise.trace), step.value.shape
    yield f'<section><h2>{number + 1}. {escaped(title[:1].upper() + title[1:])} <span class="formula">{indexed(formula(step))}</span></h2>'
    yield '<div class="figures">'
    for caption, rows, columns, cells in parts(step, exercise.trace, style):
        yield f"<figure><table>{f'<caption>{escaped(caption)}</caption>' if caption else ''}"
        yield f"<tr><th></th>{''.join(f'<th scope=col>{escaped(c)}</th>' for c in columns)}</tr>"
        for label, row in zip(rows, cells, strict=True):
            blanks = "".join(_blank(f"{number}:{np.ravel_multi_index(at, shape)}", names.cell(step, at).plain()) for at in row)
            yield f"<tr><th scope=row>{escaped(label)}</th>{blanks}</tr>"
        yield "</table></figure>"
    yield f'</div><p><button type="button" data-step="{number}">{escaped(text("exercise.hint", style.lang))}</button></p>'
    yield f'<p class="hint formula" id="hint{number}" aria-live="polite"></p></section>'


def _blank(cell: str, name: str) -> str:
    label = escape(name, quote=True)
    return f'<td class="blank"><input data-cell="{cell}" aria-label="{label}" autocomplete="off" inputmode="text"><output></output></td>'


def _data(exercise: Exercise, slips: dict[str, list[Slip]], style: Style) -> dict[str, Any]:
    """What the script needs: the right numbers, hints for each cell, and the mistakes that it recognises."""
    names = Names(exercise.trace)
    steps = []
    for step in exercise.steps:
        lines = []
        for at in np.ndindex(*step.value.shape):
            expr, head = step.cell(at), names.cell(step, at).plain()
            worked = style.worked(expr, float(step.value[at]))
            numbers = worked.parts[0].plain(worked.num, style.fold) if worked.parts else worked.result
            lines.append(list(dict.fromkeys(f"{head} = {one}" for one in (named(expr, names, style), numbers))))
        known = [{"text": text(f"mistake.{slip.code}", style.lang), "values": _numbers(slip.values)} for slip in slips.get(step.name, [])]
        steps.append({"values": _numbers(step.value), "lines": lines, "slips": known})
    return {"steps": steps, "score": text("exercise.score", style.lang, right="{right}", wrong="{wrong}", all="{all}"),
            "done": text("exercise.done", style.lang)}  # fmt: skip


def _numbers(value: Array) -> list[float | None]:
    """Cell by cell, with enough digits to mark by; null where a score is masked."""
    return [float(f"{v:.10g}") if np.isfinite(v) else None for v in value.ravel().tolist()]
