"""A report of marking as a page: first of all the first slip with its arithmetic, then one block a step with a mark on each cell."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from attn_cli.engine.arrays import Cell
from attn_cli.engine.steps import Step
from attn_cli.homework.claims import shape_of
from attn_cli.homework.report import Failed, Report, StepReport, tidy
from attn_cli.render.labels import Names
from attn_cli.render.lang import known, note_text, text
from attn_cli.render.lines import worked_line
from attn_cli.render.page import MARKS, Block, CellName, Marks, Matrix, Page, Paragraph
from attn_cli.render.style import Style
from attn_cli.render.walkthrough import all_whole, conventions, default_title, inputs_block, remarks, step_matrices, step_title

MANY = 512
"""Of a step of more cells, the verdicts are counted instead of shown, unless all cells are asked for."""
ARRAY = 64
"""The same for an array, which a program has written."""
INPUTS = 256
"""Numbers of one input that a report shows: of a larger one it tells the shape alone."""
LEANS = 0.5
"""From this mean error on, against the mean size of the errors, an array is called too large or too small on the whole."""
BLANK = "–"
"""What stands for a cell in which nothing was written."""


def report_page(report: Report | Failed, style: Style) -> Page:
    """The page of one submission, or of why it could not be read."""
    if isinstance(report, Failed):
        failure = Paragraph(f"{text('class.error', style.lang)}: {report.error}", "wrong")
        return Page(report.file, (), (), (), style, lead=(failure,))
    blocks = [_block(step, report, style) for step in report.steps]
    most = ARRAY if any(step.array for step in report.steps) else INPUTS
    return Page(
        report.file or report.trace.problem.title or default_title(report.trace, style.lang),
        tuple(conventions(report.trace, style)),
        (*inputs_block(report.trace, style, (), most), *blocks),
        remarks(report.notes, style.lang),
        style,
        report.trace,
        tuple(_lead(report, style)),
    )


# ------------------------------------------------------------------ what is said first
def headline(report: Report, style: Style) -> str:
    """The points and the first slip, in one line."""
    parts = [text("check.points", style.lang, earned=points_text(report.earned), possible=points_text(report.possible))]
    first = report.first_wrong
    if first is not None:
        parts.append(text("check.first_wrong", style.lang, cell=cell_text(first, report)))
    elif report.right:
        parts.append(text("check.all_right", style.lang))
    if not report.complete:
        parts.append(text("check.incomplete", style.lang))
    return " · ".join(parts)


def points_text(points: float) -> str:
    """With two decimals where it needs them."""
    return f"{tidy(round(points, 2))}"


def cell_text(step: StepReport, report: Report) -> str:
    """The first wrong cell of a step by the names of its row and column: A[x1,x3]; where it has none, the step."""
    if step.at is None:
        return step.name
    return Names(report.trace).cell(report.trace.step(step.step), step.at).plain()


def _lead(report: Report, style: Style) -> Iterator[Paragraph]:
    yield Paragraph(headline(report, style), "title")
    first = report.first_wrong
    if any(step.array for step in report.steps):
        yield from _verdict(report, style)
    if first is not None:
        yield from _first_slip(first, report, replace(style, decimals=_digits(first, style)))
    yield Paragraph(text("check.legend", style.lang), "legend")


def _verdict(report: Report, style: Style) -> Iterator[Paragraph]:
    """Of arrays: which step departs first from what its dtype allows, and by how much."""
    lang = style.lang
    departs = next((step for step in report.steps if step.precision is not None and step.verdict in ("wrong", "carried")), None)
    if departs is None:
        yield Paragraph(text("check.no_departure", lang), "right")
        return
    yield Paragraph(text("check.departs", lang, step=departs.name), "wrong")
    yield from _precision(departs, report, style)


def _first_slip(step: StepReport, report: Report, style: Style) -> Iterator[Paragraph]:
    """What was written, what it should be, why, and the arithmetic of both."""
    lang, shown, names = style.lang, report.trace.step(step.step), Names(report.trace)
    if step.at is None:
        yield Paragraph(f"{step.name}: {_shape(step, shown, lang)}" if not _fits(step, shown) else step.name, "wrong")
        yield from _mistake(step, lang)
        return
    if step.array:
        yield from _mistake(step, lang)
        yield from _side_by_side(step, report, style, names) if style.answers else ()
        return
    written = _inside(step.written, step.first_wrong)
    slip = {"step": step.name, "cell": cell_text(step, report), "written": written or BLANK}
    if style.answers:
        yield Paragraph(text("check.slip", lang, right=style.number(float(shown.value[step.at])), **slip), "wrong")
    else:
        yield Paragraph(text("check.slip_hidden", lang, **slip), "wrong")
    yield from _mistake(step, lang)
    if style.answers:
        yield from _side_by_side(step, report, style, names)
    elif shown.formula is not None:
        formula = f"{shown.symbol.text} = {shown.formula.plain(lambda n: style.exact(n.value))}"
        yield Paragraph(text("check.formula", lang, formula=formula))


def _mistake(step: StepReport, lang: str) -> Iterator[Paragraph]:
    if step.mistake is None:
        if step.first_wrong is not None:
            yield Paragraph(text("check.no_mistake", lang))
        return
    yield Paragraph(text("check.mistake", lang, text=mistake_text(step.mistake.code, lang), code=step.mistake.code))
    if step.mistake.also:
        codes = [f"{gist(code, lang)} ({code})" for code in step.mistake.also]
        yield Paragraph(text("check.also", lang, codes=("、" if lang == "zh" else ", ").join(codes)))


def mistake_text(code: str, lang: str) -> str:
    """A mistake as a sentence."""
    return text(f"mistake.{code}", lang) if known(f"mistake.{code}", lang) else code


def gist(code: str, lang: str) -> str:
    """A mistake in a few words: its sentence up to the first pause."""
    sentence = mistake_text(code, lang)
    ends = [at for sign in (":", "：", ";", "；") if (at := sentence.find(sign)) > 0]
    return sentence[: min(ends, default=len(sentence))]


def _side_by_side(step: StepReport, report: Report, style: Style, names: Names) -> Iterator[Paragraph]:
    """The arithmetic of the first wrong cell as it should be, and under it the same with the mistake."""
    lang, trace = style.lang, report.trace
    made = step.mistake.made if step.mistake is not None else None
    at = (step.mistake.at if step.mistake is not None else None) or step.step
    right, slipped = [], []
    for name in dict.fromkeys((at, step.step)):
        cell = step.at if name == step.step else _source_cell(trace.step(step.step), step.at or (), name, names)
        if cell is None or name not in trace:
            continue
        right.append(worked_line(trace.step(name), cell, style, names))
        if made is not None and name in made and made.step(name).value.shape == trace.step(name).value.shape:
            slipped.append(worked_line(made.step(name), cell, style, Names(made)))
    yield Paragraph(text("check.as_it_should_be", lang), "right", tuple(right))
    if slipped:
        yield Paragraph(text("check.with_the_slip", lang), "wrong", tuple(slipped))


def _source_cell(step: Step, at: Cell, name: str, names: Names) -> Cell | None:
    """The first cell of an earlier step that a cell is made from, through steps that nobody handed in."""
    seen, waiting = set(), [(step, at)]
    while waiting:
        step, at = waiting.pop(0)
        if step.given:
            continue
        for n in step.cell(at).numbers():
            source = names.step_of(n)
            if source is None or (key := (source.name, source.row_cell(n.at))) in seen:
                continue
            if source.name == name:
                return key[1]
            seen.add(key)
            waiting.append((source, key[1]))
    return None


# ------------------------------------------------------------------ a step
def _block(step: StepReport, report: Report, style: Style) -> Block:
    lang, shown = style.lang, report.trace.step(step.step)
    style = replace(style, decimals=_digits(step, style))
    title = f"{_step_words(step, shown, report, lang)}{'：' if lang == 'zh' else ': '}{text(f'check.{step.verdict}', lang)}"
    return Block(
        step.name,
        title,
        MARKS[step.verdict],
        step.verdict,
        f"{points_text(step.points * step.share)}/{points_text(step.points)}" if step.asked else text("check.not_asked", lang),
        matrices=tuple(_matrices(step, shown, report, style)),
        after=tuple(_remarks(step, shown, report, style)),
        symbol=shown.symbol.text,
        step=shown if _fits(step, shown) else None,
        apart=True,
    )


def _step_words(step: StepReport, shown: Step, report: Report, lang: str) -> str:
    """A step as its writer calls it, with its symbol; in other languages than that of the names, with its title too."""
    title = "" if lang == "en" else step_title(shown, report.trace, lang)
    if step.name != step.step:
        return f"{step.name} ({text('check.stands_for', lang, step=step.step)})"
    symbol = "" if shown.symbol.text == step.name else shown.symbol.text
    return " ".join(part for part in (title, step.name, symbol) if part)


def _remarks(step: StepReport, shown: Step, report: Report, style: Style) -> Iterator[Paragraph]:
    """What is said below a step's grid, or in its place."""
    lang, first = style.lang, report.first_wrong
    if _counted(step, style):
        counts = "  ".join(f"{count} {MARKS[verdict]}" for verdict, count in step.counts.most_common())
        yield Paragraph(text("check.counts", lang, counts=counts))
    if step.verdict == "wrong" and step is not first:
        yield from _later_slip(step, shown, report, style)
    if style.explain and style.answers:
        names = Names(report.trace)
        cells = [at for at in _wrong_cells(step, shown) if at != step.at]
        if cells:
            yield Paragraph("", lines=tuple(worked_line(shown, at, style, names) for at in cells))
    for note in step.notes:
        yield Paragraph(note_text(note, lang))
    if step is not first or not step.array:
        yield from _precision(step, report, style)


def _later_slip(step: StepReport, shown: Step, report: Report, style: Style) -> Iterator[Paragraph]:
    """What is wrong in a step that is not the first wrong one; a mistake that was named before is not named again."""
    lang, told_before = style.lang, _told_before(step, report)
    if not _fits(step, shown):
        yield Paragraph(_shape(step, shown, lang), "wrong")
    if told_before is not None and step.mistake is not None:
        yield Paragraph(text("check.same_mistake", lang, step=told_before, code=step.mistake.code))
    else:
        yield from _mistake(step, lang)
    if style.answers and step.at is not None:
        yield Paragraph("", lines=(worked_line(shown, step.at, style, Names(report.trace)),))


def _told_before(step: StepReport, report: Report) -> str | None:
    """The first step that the same mistake explains."""
    code = step.mistake.code if step.mistake is not None else None
    first = next((other for other in report.steps if other.mistake is not None and other.mistake.code == code), step)
    return None if first is step else first.name


def _precision(step: StepReport, report: Report, style: Style) -> Iterator[Paragraph]:
    """How far an array is off beside how far it may be, where most, and to which side."""
    lang, found = style.lang, step.precision
    if found is None:
        return
    if not found.finite:
        yield Paragraph(text("check.not_finite", lang))
        return
    numbers = {name: f"{getattr(found, name):.3g}" for name in ("error", "ulps", "bound", "rms", "rms_bound")}
    yield Paragraph(text("check.precision", lang, "" if np.isfinite(found.bound) else "unbounded", dtype=found.dtype, **numbers))
    if not found.departs:
        return
    if found.worst is not None:
        cell = Names(report.trace).cell(report.trace.step(step.step), found.worst).plain()
        yield Paragraph(text("check.worst", lang, cell=cell, found=f"{found.found:.6g}", expected=f"{found.expected:.6g}"))
    if abs(found.lean) >= LEANS:
        yield Paragraph(text("check.lean", lang, "small" if found.lean < 0 else "", share=f"{abs(found.lean):.0%}"))


def _shape(step: StepReport, shown: Step, lang: str) -> str:
    found = shape_of(step.cells)
    shape = text("check.shape.ragged", lang) if found is None else " × ".join(map(str, found)) or "1"
    return text("check.shape", lang, found=shape, wanted=" × ".join(map(str, shown.value.shape)))


def _counted(step: StepReport, style: Style) -> bool:
    """Whether its cells are only counted."""
    return not style.all_cells and step.size > (ARRAY if step.array else MANY)


def _fits(step: StepReport, shown: Step) -> bool:
    """Whether the answer lies as the step does, row by row and column by column."""
    if step.size > MANY:  # whose cells nobody asked for
        return step.of_cells.numbers is not None and step.size == shown.value.size
    return shape_of(step.cells) == shown.value.shape


def _wrong_cells(step: StepReport, shown: Step) -> Iterator[Cell]:
    """Every wrong cell, in the layout of the step; where the answer lies in another layout, none."""
    if _fits(step, shown):
        yield from (tuple(int(i) for i in at) for at in np.argwhere(np.array(step.cells, object) == "wrong"))


def _digits(step: StepReport, style: Style) -> int:
    """As many decimals as were written, and no fewer than are shown otherwise."""

    def most(written: Any) -> int:
        if isinstance(written, list):
            return max(map(most, written), default=0)
        return 0 if "e" in written.lower() else min(len(written.partition(".")[2].strip()), 12)

    return style.decimals if step.array else max(style.decimals, most(step.written))


def _inside(nested: Any, at: Cell | None) -> Any:
    for i in at or ():
        nested = nested[i]
    return nested


# ------------------------------------------------------------------ the grid of a step
def _matrices(step: StepReport, shown: Step, report: Report, style: Style) -> Iterator[Matrix]:
    """The numbers as they were written, each with its mark, and beside a number that is not exact what it should be."""
    if step.verdict == "missing" or _counted(step, style) or (step.array and step.verdict in ("right", "rounded")):
        return
    if _fits(step, shown):
        yield from _as_the_step(step, shown, report, style)
        return
    yield from _as_written(step, shown, report, style)
    if style.answers and shown.value.size <= MANY and shape_of(step.cells) != shape_of(step.expected):
        caption = text("check.as_it_should_be", style.lang)
        yield from (m._replace(caption=f"{caption} {m.caption}".strip(), margin=None) for m in step_matrices(shown, report.trace, style))


def _as_the_step(step: StepReport, shown: Step, report: Report, style: Style) -> Iterator[Matrix]:
    """An answer that lies as its step does, with the step's labels."""
    vector = len(shown.axes) == 1 or len(shown.kind.axes) == 1
    whole = all_whole(shown.value)
    for matrix in step_matrices(shown, report.trace, style):
        written, cells, expected = (_inside(nested, matrix.prefix) for nested in (step.written, step.cells, step.expected))
        if vector:
            written, cells, expected = (_as_shown(nested, shown) for nested in (written, cells, expected))
        marked = _marked(matrix, written, cells, expected if style.answers else None, style, whole)
        yield marked if style.answers else marked._replace(cells=lambda: iter(()))


def _as_shown(row: list[Any], shown: Step) -> list[Any]:
    """The cells of one row as the rows of a matrix: one row, or one column."""
    return [row] if shown.columns else [[cell] for cell in row]


def _marked(
    matrix: Matrix,
    written: Sequence[Sequence[str]],
    cells: Sequence[Sequence[str]],
    expected: Sequence[Sequence[Any]] | None,
    style: Style,
    whole: bool,
) -> Matrix:
    write = style.whole if whole else style.number

    def right(i: int, j: int) -> str:
        if expected is None or cells[i][j] not in ("rounded", "carried", "wrong"):
            return ""
        number = expected[i][j]
        return write(math.nan if number is None else float(number))

    texts = [
        ["" if verdict == "missing" else word.strip() or BLANK for word, verdict in zip(words, verdicts, strict=True)]
        for words, verdicts in zip(written, cells, strict=True)
    ]
    beside = [[right(i, j) for j in range(len(row))] for i, row in enumerate(cells)]
    return matrix._replace(texts=texts, marks=Marks([list(row) for row in cells], beside), margin=None, shaded=False)


def _as_written(step: StepReport, shown: Step, report: Report, style: Style) -> Iterator[Matrix]:
    """An answer that lies otherwise than its step: with the labels that its sizes allow."""
    names = Names(report.trace)
    same = shape_of(step.cells) == shape_of(step.expected)

    def visit(cells: Any, written: Any, expected: Any, at: Cell) -> Iterator[Matrix]:
        if _holds_matrices(cells):
            for i, (part, texts) in enumerate(zip(cells, written, strict=True)):
                part, texts = (part, texts) if isinstance(part, list) else ([part], [texts])
                yield from visit(part, texts, expected[i] if same else None, (*at, i))
        elif any(map(len, _rows(cells))):
            yield matrix_of(cells, written, expected, at)

    def matrix_of(cells: Any, written: Any, expected: Any, at: Cell) -> Matrix:
        rows, flat = _rows(cells), _is_flat(cells)
        numbers = None if not (same and style.answers) else [expected] if flat else expected
        most = max(map(len, rows))
        axes = shown.axes[-2:] if len(shown.axes) > 1 else ("", shown.axes[-1])
        down = ("",) if flat else names.labels(axes[0], len(rows))
        caption = CellName(step.name, step.name, tuple(str(i + 1) for i in at)).plain() if at else ""
        matrix = Matrix(caption, np.zeros((len(rows), most)), [], down, names.labels(axes[1], most), None, False, lambda: iter(()))
        marked = _marked(matrix, _rows(written), rows, numbers, style, False)
        assert marked.marks is not None
        for row in (*marked.texts, *marked.marks.verdicts, *marked.marks.right):
            row += [""] * (most - len(row))
        return marked._replace(prefix=at)

    yield from visit(step.cells, step.written, step.expected, ())


def _holds_matrices(cells: Any) -> bool:
    """Whether an answer is a list with a matrix in it, as of matrices for each head or query."""
    return any(isinstance(cell, list) for row in cells if isinstance(row, list) for cell in row)


def _is_flat(cells: Any) -> bool:
    """Whether an answer is one row of cells."""
    return not any(isinstance(row, list) for row in cells)


def _rows(cells: Any) -> list[list[Any]]:
    """An answer as rows: a lone cell among rows is a row of its own."""
    return [cells] if _is_flat(cells) else [row if isinstance(row, list) else [row] for row in cells]
