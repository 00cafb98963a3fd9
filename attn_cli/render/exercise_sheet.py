"""A problem sheet: the problem as a file, the sheet to fill in, the blanks and the key."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from attn_cli.engine.arrays import Array
from attn_cli.engine.expression import Expr, Num
from attn_cli.engine.problem import KEYS, Problem
from attn_cli.engine.steps import Step, Trace, turned
from attn_cli.render.inputs import Input, inputs_of
from attn_cli.render.labels import Names
from attn_cli.render.lang import text
from attn_cli.render.sheet import ROOM, Sheet, Table, written
from attn_cli.render.style import Style
from attn_cli.render.typeset.latex import BODY, PREAMBLE
from attn_cli.render.walkthrough import default_title, step_title

if TYPE_CHECKING:
    from attn_cli.homework.exercises import Exercise

BLANK = "_"
"""What stands in a blank cell of a file."""


# ------------------------------------------------------------------ files that attn reads
def problem_file(problem: Problem, comment: str) -> str:
    """The problem in YAML, as one would write it."""
    lines = [f"# {comment}"]
    if problem.title:
        lines.append(f'title: "{problem.title}"')
    if problem.tokens:
        lines.append(f"tokens: [{', '.join(problem.tokens)}]")
    usual = Problem()
    for name, row in KEYS.items():
        value = getattr(problem, name, None)
        if row.kind == "matrix" and value is not None:
            lines.append(f"{name}: {_flow(turned(name, value) if problem.vectors == 'columns' and row.turns else value)}")
        elif row.kind in ("word", "number", "whole") and value != getattr(usual, name, None):
            lines.append(f"{name}: {value}")
    if problem.mask is not None and problem.mask.causal:
        lines.append("mask: causal")
    for score, arrays in problem.parameters.items():
        lines += [f"{score}:", *(f"  {name}: {_flow(array)}" for name, array in arrays.items())]
    return "\n".join([*lines, *([f"ask: [{', '.join(problem.ask)}]"] if problem.ask else [])]) + "\n"


def _flow(array: Array) -> str:
    if array.ndim == 0:
        return f"{float(array):g}"
    return f"[{', '.join(_flow(part) for part in array)}]"


def blanks(exercise: Exercise, style: Style) -> str:
    """The answers to fill in: a blank for every number."""
    lines = [f"# {text('exercise.blanks', style.lang)}"]
    for step in exercise.steps:
        lines += [f"# {step_title(step, exercise.trace, style.lang)}", f"{step.name}:{_block(step.value, lambda value: BLANK)}"]
    return "\n".join(lines) + "\n"


def key(exercise: Exercise, style: Style) -> str:
    """The worked key: an answers file that is right in every cell, with each formula and the arithmetic of each cell as remarks."""
    lines = [f"# {text('exercise.key', style.lang)}"]
    names = Names(exercise.trace)
    for step in exercise.steps:
        lines += ["", f"# {step_title(step, exercise.trace, style.lang)}: {formula(step)}"]
        lines += [f"#   {names.cell(step, at).plain()} {_arithmetic(step, at, style)}" for at in np.ndindex(*step.value.shape)]
        lines.append(f"{step.name}:{_block(step.value, _writer(step.value, style))}")
    return "\n".join(lines) + "\n"


def _arithmetic(step: Step, at: tuple[int, ...], style: Style) -> str:
    worked = style.worked(step.cell(at), float(step.value[at]))
    return f"{'=' if worked.parts else worked.sign} {worked.plain()}"


def _writer(value: Array, style: Style) -> Callable[[float], str]:
    finite = value[np.isfinite(value)]
    write = style.whole if finite.size and (finite == np.trunc(finite)).all() else style.number
    return lambda v: "-inf" if v == -math.inf else write(v)


def _block(value: Array, write: Callable[[float], str], indent: str = "") -> str:
    """An array in YAML: each row on a line of its own."""
    if value.ndim == 1:
        return f" [{', '.join(map(write, value.tolist()))}]"
    return "".join(f"\n{indent}-{_block(part, write, indent + '  ')}" for part in value)


# ------------------------------------------------------------------ the sheet on paper
def formula(step: Step) -> str:
    """`S = P / √d_k`; the symbol alone where a step is as given."""
    expr = step.formula
    return step.symbol.text if expr is None else f"{step.symbol.text} = {expr.plain(_number)}"


def formula_tex(step: Step) -> str:
    expr = step.formula
    return step.symbol.latex if expr is None else f"{step.symbol.latex} = {expr.tex(_number)}"


def _number(n: Num) -> str:
    return f"{n.value:g}"


def sheet(exercise: Exercise, style: Style) -> Sheet:
    """What is given, then each step asked for with room for its numbers."""
    trace = exercise.trace
    tables = [table for one in inputs_of(trace) for table in _given(one, trace, style)]
    for number, step in enumerate(exercise.steps, 1):
        title = step_title(step, trace, style.lang)
        tables += _asked(step, f"{number}. {title[:1].upper()}{title[1:]}", trace, style)
    lines = (text("exercise.ask", style.lang, decimals=exercise.decimals), *conventions(trace, style))
    return Sheet(exercise.problem.title or default_title(trace, style.lang), tuple(tables), first=lines)


def conventions(trace: Trace, style: Style) -> list[str]:
    """What a student must know besides the numbers: the root, the mask, the heads."""
    settings, sentences = trace.settings, []
    if "products" in trace and trace.problem.scale is None:
        sentences.append(f"d_k = {trace.sizes.d_k}")
    if trace.sizes.h > 1:
        sentences.append(text("heads", style.lang, h=trace.sizes.h))
    if trace.problem.mask is not None:
        sentences.append(text("exercise.causal" if trace.problem.mask.causal else "may_attend", style.lang))
    if settings["mode"] != "soft":
        sentences.append(text("exercise.mode", style.lang, mode=text(f"mode.{settings['mode']}", style.lang)))
    return sentences


def given(one: Input, trace: Trace, style: Style) -> Iterator[tuple[str, Sequence[str], Sequence[str], list[list[str]]]]:
    """An input as matrices: its name, the labels of rows and columns, and its numbers as they were written."""
    for caption, rows, columns, cells in parts(one, trace, style):
        texts = [
            [trace.problem.written.get((one.name, one.row_cell(at))) or style.exact(float(one.value[at])) for at in row] for row in cells
        ]
        yield f"{one.symbol.text}, {caption}" if caption else one.symbol.text, rows, columns if len(one.axes) > 1 else ("",), texts


def _given(one: Input, trace: Trace, style: Style) -> Iterator[Table]:
    for name, rows, columns, texts in given(one, trace, style):
        yield Table(name, ("", *columns), tuple((label, *row) for label, row in zip(rows, texts, strict=True)))


def _asked(step: Step, title: str, trace: Trace, style: Style) -> Iterator[Table]:
    """A table of blanks, one a head."""
    for caption, rows, columns, _ in parts(step, trace, style):
        body = tuple((label, *(ROOM for _ in columns)) for label in rows)
        yield Table(f"{title}, {caption}" if caption else title, ("", *columns), body, math=(formula(step), formula_tex(step)))


def parts(step: Step, trace: Trace, style: Style) -> Iterator[tuple[str, Sequence[str], Sequence[str], list[list[tuple[int, ...]]]]]:
    """A step as matrices: a caption, the labels of rows and columns, and the cell of the step that stands in each place."""
    names, shape, axes = Names(trace), step.value.shape, step.axes
    width = min(2, len(step.axes) if len(step.kind.axes) != 1 else 1)
    lead = len(shape) - width
    for prefix in np.ndindex(*shape[:lead]):
        labels = [names.labels(axis, size) for axis, size in zip(axes[lead:], shape[lead:], strict=True)]
        words = {"head": "head", "query": "of_query", "key": "of_key"}
        caption = ", ".join(
            text(words[axis], style.lang, number=i + 1, label=names.labels(axis, size)[i])
            for axis, size, i in zip(axes[:lead], shape[:lead], prefix, strict=True)
        )
        if width == 1:
            yield caption, labels[0], (step.symbol.text,), [[(*prefix, i)] for i in range(shape[-1])]
        else:
            cells = [[(*prefix, i, j) for j in range(shape[-1])] for i in range(shape[-2])]
            yield caption, labels[0], labels[1], cells


def markdown(exercise: Exercise, style: Style) -> str:
    return written(sheet(exercise, style), "markdown", style)


def latex(exercise: Exercise, style: Style) -> str:
    """A whole document for pdflatex (xelatex where the language is Chinese)."""
    chinese = style.lang == "zh"
    packages = "\\usepackage[scheme=plain]{ctex}\n" if chinese else ""
    body = written(sheet(exercise, style), "latex", style)
    return f"% compile with {'xelatex' if chinese else 'pdflatex'}\n{PREAMBLE}{packages}{BODY}{body}\\end{{document}}\n"


def named(expr: Expr, names: Names, style: Style) -> str:
    """The arithmetic of a cell with the names of its operands: `Q[x1,1]·K[x2,1] + …`."""
    return expr.plain(lambda n: found.plain() if (found := names.of(n)) else _number(n), style.fold)
