"""A worked problem as a page: its inputs, then one block a step."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np

from attn_cli.engine.arrays import Array, Cell
from attn_cli.engine.expression import Expr, Num, Sym
from attn_cli.engine.modes import MODES
from attn_cli.engine.notes import Note
from attn_cli.engine.operations import Masked
from attn_cli.engine.problem import Mask
from attn_cli.engine.steps import Step, Trace
from attn_cli.errors import InputError, UsageError
from attn_cli.names import did_you_mean
from attn_cli.render.inputs import Input, inputs_of
from attn_cli.render.labels import Names
from attn_cli.render.lang import known, note_text, text
from attn_cli.render.lines import StepLines, picks_one
from attn_cli.render.page import Block, Formula, Margin, Matrix, Page, Paragraph, Remark, str_of
from attn_cli.render.style import Style

READABLE = 2**19
"""Numbers on a page: a text of more takes minutes and gigabytes to lay out."""
INPUTS = 2**12
"""Numbers of one input on a page that does not name it: of a larger one the page tells the shape alone."""


def walkthrough_page(trace: Trace, style: Style, notes: Sequence[Note] | None = None) -> Page:
    """The page of a trace. Raises InputError for a step in `style.only` that is not there, UsageError for a page too long to read."""
    shown = shown_steps(trace, style)
    numbers = sum(step.value.size for step in shown)
    if numbers > READABLE and not style.cells:
        raise UsageError(
            f"these steps have {numbers:,} numbers, more than anyone reads; "
            "write them to a .npz, .json or .csv file, or name fewer with --only"
        )
    before = () if style.only or style.cells else inputs_block(trace, style, shown)
    return Page(
        trace.problem.title or default_title(trace, style.lang),
        tuple(conventions(trace, style)),
        (*before, *(_block(number, step, trace, style) for number, step in enumerate(shown, 1))),
        remarks(trace.notes if notes is None else notes, style.lang),
        style,
        trace,
    )


def remarks(notes: Sequence[Note], lang: str) -> tuple[Remark, ...]:
    return tuple(Remark(note.code, note_text(note, lang), note.warning) for note in notes)


def shown_steps(trace: Trace, style: Style) -> list[Step]:
    """The steps asked for, and the inputs that are named. Exponentials and row sums are shown in a trace, or where they are named."""
    if not style.only:
        return [step for step in trace if style.detail == "trace" or not step.kind.detail]
    given = {one.name: one for one in inputs_of(trace) if one.name not in trace}
    asked = {given[name].name if name in given else _step(trace, name, list(given)).name for name in style.only}
    return [step for step in (*given.values(), *trace) if step.name in asked]


def _step(trace: Trace, name: str, given: Sequence[str]) -> Step:
    if name in trace:
        return trace.step(name)
    steps = [step.name for step in trace]
    more = f", and of the inputs {', '.join(given)}" if given else ""
    raise InputError(f"no step {name!r} here{did_you_mean(name, [*steps, *given])}; there are {', '.join(steps)}{more}")


def step_title(step: Step, trace: Trace, lang: str) -> str:
    """What a step is called: "dot products"; of a gradient, what it is the gradient of."""
    if step.of:
        inner = f"step.{step.of}"
        of = text(inner, lang, str(trace.settings.get("score"))) if known(inner, lang) else step.of
        return text("step.gradient", lang, of=of)
    key = f"step.{step.name}"
    if not known(key, lang):
        return step.name
    return text(key, lang, "columns" if step.columns and step.name == "row_sums" else str(trace.settings.get("score")))


def step_formula(step: Step, trace: Trace, style: Style) -> Formula:
    """How a step is made."""
    expr = step.formula
    shown = {other.name for other in shown_steps(trace, style)}
    symbols = {e.text for e in _leaves(expr) if isinstance(e, Sym)} if expr is not None else set()
    hidden = [other for other in trace if other.kind.detail and other.name not in shown and other.symbol.text in symbols]
    masked = isinstance(step.made.operation, Masked)
    numbers = {e.plain(str_of): e for e in _numeric_parts(expr)} if expr is not None else {}
    worked = tuple((e, style.worked(e.substituted(), e.evaluate())) for e in numbers.values())
    return Formula(step.symbol, expr, worked, tuple(step_formula(other, trace, style) for other in hidden), masked, style.lang)


# ------------------------------------------------------------------ title and conventions
def default_title(trace: Trace, lang: str) -> str:
    """The title of a problem that has none."""
    score, mode = trace.settings.get("score"), trace.problem.mode
    mode_text = text(f"mode.{mode}", lang) if known(f"mode.{mode}", lang) else mode
    if score is None:
        return _capital(text("title.given", lang, mode=mode_text))
    return _capital(text("title", lang, score=text(f"score.{score}", lang) if known(f"score.{score}", lang) else score, mode=mode_text))


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def conventions(trace: Trace, style: Style) -> Iterator[str]:
    problem, sizes, lang = trace.problem, trace.sizes, style.lang
    columns = "columns" if problem.vectors == "columns" else ""
    yield text("columns" if columns else "rows", lang)
    along = f"along.{problem.mode}"
    yield text(along, lang, columns) if known(along, lang) else problem.mode
    if problem.mask is not None:
        yield from mask_words(problem.mask, lang)
    if sizes.h > 1:
        key = "heads" if sizes.kv_heads == sizes.h else "heads.shared"
        yield text(key, lang, h=sizes.h, kv=sizes.kv_heads)
    if problem.scale is not None and problem.scores is None:
        yield text("scale", lang, scale=style.exact(problem.scale))
    elif trace.settings.get("score") == "scaled" and sizes.d_k:
        root = Expr("root", (Sym(text="d_k", latex="d_k", number=sizes.d_k),))
        yield f"√d_k = {style.worked(root.substituted(), math.sqrt(sizes.d_k)).plain()}"
    if problem.temperature != 1:
        yield text("temperature", lang, temperature=style.exact(problem.temperature))
    if MODES[problem.mode].random:
        yield text("seed", lang, seed=problem.seed)


def mask_words(mask: Mask, lang: str) -> Iterator[str]:
    """The mask in force and how it counts: `causal`, `window: itself and 2 before`, `query i at key i + 3`, `keys 1 to 5`."""
    if mask.causal:
        yield text("mask.causal", lang)
    if mask.window is not None:
        before, after = mask.window
        sides = [
            text(f"mask.{name}", lang, "all" if reach is None else "", count=reach)
            for name, reach in (("before", before), ("after", 0 if mask.causal else after))
            if reach != 0
        ]
        yield text("mask.window", lang, str(len(sides)), **{f"side{i}": side for i, side in enumerate(sides)})
    if mask.offset and (mask.causal or mask.window is not None):
        yield text("mask.offset", lang, sign="+" if mask.offset > 0 else "-", offset=abs(mask.offset))
    if mask.lengths is not None:
        yield text("mask.lengths", lang, str(min(mask.lengths, 2)), count=mask.lengths)
    if mask.keep is not None or mask.drop is not None:
        yield text("may_attend", lang)


# ------------------------------------------------------------------ blocks
def inputs_block(trace: Trace, style: Style, shown: Sequence[Step], most: int = INPUTS) -> tuple[Block, ...]:
    """The inputs that the steps are made from and no step that is shown holds, as they were written; of one of more than `most`
    numbers its shape."""
    held = [step.made.value for step in shown]
    given = [one for one in inputs_of(trace) if not any(one.made.value is value for value in held)]
    small = [one for one in given if one.value.size <= most]
    if not given:
        return ()
    after = [
        Paragraph(text("input.shape", style.lang, name=one.symbol.text, shape=" × ".join(map(str, one.value.shape))))
        for one in given
        if one.value.size > most
    ]
    matrices = []
    for one in small:
        for matrix in step_matrices(one, trace, style):
            name = text("mask.picture", style.lang) if one.name == "mask" else one.symbol.text
            caption = f"{name}, {matrix.caption}" if matrix.caption else name
            matrices.append(matrix._replace(caption=caption, source=one.name))
    return (Block("inputs", text("inputs", style.lang), matrices=tuple(matrices), after=tuple(after), apart=True),)


def _block(number: int, step: Step, trace: Trace, style: Style) -> Block:
    return Block(
        step.name,
        step_title(step, trace, style.lang),
        str(number),
        formula=step_formula(step, trace, style),
        before=_reason(step, trace, style),
        matrices=step_matrices(step, trace, style),
        symbol=step.symbol.text,
        step=step,
        apart=style.detail == "trace",
    )


def _reason(step: Step, trace: Trace, style: Style) -> tuple[Paragraph, ...]:
    """In a trace, what a step does and why."""
    if style.detail != "trace" or style.terse or not known(f"why.{step.name}", style.lang):
        return ()
    own = {
        "weights": trace.problem.mode,
        "output": "projected" if "concat" in trace else "hard" if picks_one(trace) else "",
        "scores": "masked" if isinstance(step.made.operation, Masked) else "" if "raw_scores" in trace else trace.settings.get("score"),
    }
    variant = own.get(step.name, trace.settings.get("score"))
    return (Paragraph(text(f"why.{step.name}", style.lang, str(variant)), "why"),)


def _numeric_parts(expr: Expr) -> Iterator[Expr]:
    """The largest parts that stand for one number and contain a symbol: √d_k."""
    if _is_numeric(expr):
        if any(isinstance(e, Sym) for e in _leaves(expr)):
            yield expr
        return
    for a in expr.args:
        yield from _numeric_parts(a)


def _is_numeric(expr: Expr) -> bool:
    return all(isinstance(e, Num) or (isinstance(e, Sym) and e.number is not None) for e in _leaves(expr))


def _leaves(expr: Expr) -> Iterator[Expr]:
    if not expr.args:
        yield expr
    for a in expr.args:
        yield from _leaves(a)


def step_matrices(step: Step, trace: Trace, style: Style) -> tuple[Matrix, ...]:
    """The matrices of a step: one, or one for each head (and of the hidden layer, for each query)."""
    vector = len(step.axes) == 1 or len(step.kind.axes) == 1
    lead = step.axes[: -1 if vector else -2]
    return tuple(_matrix(step, prefix, lead, vector, trace, style) for prefix in np.ndindex(*step.value.shape[: len(lead)]))


def _matrix(step: Step, prefix: Cell, lead: Sequence[str], vector: bool, trace: Trace, style: Style) -> Matrix:
    value, names = step.value[prefix], Names(trace)
    captions = {"head": "head", "query": "of_query", "key": "of_key"}
    caption = ", ".join(
        text(captions[axis], style.lang, number=i + 1, label=names.labels(axis, step.value.shape[k])[i])
        for k, (axis, i) in enumerate(zip(lead, prefix, strict=True))
    )
    lies = step.columns or isinstance(step, Input)
    if vector:
        labels, own = names.labels(step.axes[-1], len(value)), (step.symbol.text.replace("ₕ", ""),)
        shown = value[None, :] if lies else value[:, None]
        rows, columns = (own, labels) if lies else (labels, own)
        around = ("", step.axes[-1]) if lies else (step.axes[-1], "")
    else:
        shown = value
        rows, columns = (names.labels(axis, size) for axis, size in zip(step.axes[-2:], value.shape, strict=True))
        around = (step.axes[-2], step.axes[-1])
    if isinstance(step, Input):
        texts = step.texts(prefix, shown, trace.problem.written, style)
    else:
        write = style.whole if all_whole(step.value) else style.number
        texts = [[write(v) for v in row] for row in shown.tolist()]
    margin = _margin(step, value, trace, style) if step.name == "weights" else None
    make = StepLines(step, prefix, trace, style, names)
    return Matrix(caption, shown, texts, rows, columns, margin, step.name == "weights", make.lines, around, prefix)


def all_whole(value: Array) -> bool:
    """Whether all cells are whole numbers (or masked), so that they are shown without decimals."""
    finite = value[np.isfinite(value)]
    return bool(finite.size and np.all(finite == np.trunc(finite)) and np.all(np.abs(finite) < 10**10))


def _margin(step: Step, value: Array, trace: Trace, style: Style) -> Margin:
    axis = 0 if step.columns else 1
    along: Literal["rows", "columns"] = "columns" if step.columns else "rows"
    if not picks_one(trace):
        return Margin("Σ", tuple(style.number(v) for v in value.sum(axis=axis).tolist()), along, True)
    chosen = np.where(value.any(axis=axis), value.argmax(axis=axis), -1).tolist()
    return Margin(text("chosen", style.lang), tuple(trace.key_labels[j] if j >= 0 else "-" for j in chosen), along, False)
