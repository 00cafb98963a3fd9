"""HTML: one file that needs no network. A number that is focused or pointed at shows its arithmetic and where it came from.

The arithmetic stands in the page as lists, which a cell points to (`aria-describedby`); the script only brings the line
of the present cell to the foot of the window. Without the script the page can be read all the same.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape
from importlib import resources

from attn_cli.engine.expression import Num, Origin
from attn_cli.engine.notes import Note
from attn_cli.engine.steps import Trace
from attn_cli.render.lang import text
from attn_cli.render.page import LINES, Block, Line, Margin, Matrix, Names, Page, page
from attn_cli.render.style import Cell, Style
from attn_cli.render.terminal.text import visible, width

EMBEDDED = 3000
"""A page holds the arithmetic of all its numbers up to so many; beyond, of the first of each matrix."""

NAME = 24
"""Names of cells are set as wide as the widest of at most so many characters."""

Source = tuple[str, Cell]
"""The name of a step or input, and which of its matrices."""


def render(trace: Trace, style: Style, notes: Sequence[Note]) -> str:
    shown = page(trace, style, notes)
    title = told(shown.title)
    return f"""<!DOCTYPE html>
<html lang="{"zh-CN" if style.lang == "zh" else "en"}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
@media (prefers-color-scheme: dark) {{ body.page {{ background: #14161a; }} }}
body.page {{ margin: 0; }}
{_file("html.css")}</style>
</head>
<body class="page">
<main class="attn">
{_Sheet(shown).html()}
<p class="told" aria-hidden="true" hidden></p>
<script>
{_file("html.js")}</script>
</main>
</body>
</html>
"""


def _file(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def told(label: str) -> str:
    """A text of ours or a label, made harmless."""
    return escape(visible(label))


def formula(plain: str) -> str:
    """W_Q with its index lowered."""
    return re.sub(r"_(\w+)", r"<sub>\1</sub>", told(plain))


class _Sheet:
    """The page as it is put together: what has been shown, so that a cell can point to what it came from."""

    def __init__(self, shown: Page):
        self.page, self.style, self.lang = shown, shown.style, shown.style.lang
        self.names = Names(shown.trace)
        steps = [(block.name, matrix.prefix) for block in shown.blocks for matrix in block.matrices]
        self.ids: dict[Source, str] = {step: f"t{i}" for i, step in enumerate(steps)}
        self.inputs: dict[str, Origin] = {}
        self.whole = self.style.full or sum(block.step.value.size for block in shown.blocks) <= EMBEDDED

    def html(self) -> str:
        head = [
            f"<h1>{told(self.page.title)}</h1>",
            f'<p class="conventions">{" · ".join(map(self._convention, self.page.conventions))}</p>',
        ]
        if self.style.cells:
            return "\n".join([*head, *self._derivations(), *self._notes()])
        body = [part for block in self.page.blocks for part in self._block(block)]
        hint = f'<p class="hint">{escape(text("hint", self.lang))}</p>'
        if not self.whole:
            count = sum(block.step.value.size for block in self.page.blocks)
            hint += f'\n<p class="hint">{escape(text("not_all", self.lang, count=count, shown=LINES))}</p>'
        return "\n".join([*head, hint, f'<div class="steps {self.style.detail}">', *self._inputs(), *body, *self._notes(), "</div>"])

    def _convention(self, part: str) -> str:
        return formula(part) if part.startswith("√") else told(part)

    def _notes(self) -> Iterator[str]:
        if self.page.notes:
            items = "\n".join(f"<li>{told(note.text)}</li>" for note in self.page.notes)
            yield f'<section><h2>{escape(text("notes", self.lang))}</h2>\n<ul class="notes">\n{items}\n</ul></section>'

    # -------------------------------------------------------------- steps
    def _block(self, block: Block) -> Iterator[str]:
        title = block.title[:1].upper() + block.title[1:]
        asides = [*map(formula, block.formula.with_numbers()), *map(formula, block.formula.where())]
        yield f'<section id="{block.name}">'
        made = f'<span class="formula">{formula(block.formula.plain())}</span>'
        yield f'<h2><span class="number">{block.number}</span> {told(title)} {made}</h2>'
        if asides:
            yield f'<p class="aside">{" · ".join(asides)}</p>'
        yield '<div class="figures">'
        for matrix in block.matrices:
            yield from self._figure(block, matrix)
        yield "</div></section>"

    def _figure(self, block: Block, matrix: Matrix) -> Iterator[str]:
        table = self.ids[block.name, matrix.prefix]
        lines, rest = matrix.worked(self.whole)
        vector = len(block.step.kind.axes) == 1  # shown as one column, or as one row
        own = {line.at: f"{table}-{i}" for i, line in enumerate(lines)}
        from_ = {line.at: self._from(line) for line in lines if line.worked is not None}
        if vector:
            own, from_ = (
                {(*at[:-1], *((0, at[-1]) if block.step.columns else (at[-1], 0))): v for at, v in d.items()} for d in (own, from_)
            )
        caption = f"{block.symbol}, {matrix.caption}" if matrix.caption else f"{block.symbol}: {block.title}"
        yield "<figure>"
        yield from _table(table, caption, matrix, lambda at: own.get(at, ""), lambda at: from_.get(at, ""), block.step.columns)
        if lines:
            yield f"<details{' open' if self.style.detail == 'trace' else ''}><summary>{escape(text('arithmetic', self.lang))}</summary>"
            widths = [n for n in (width(line.name.plain()) for line in lines) if n <= NAME]
            yield f'<ol class="worked" style="--name:{max(widths, default=0)}ch">'
            yield from (f'<li id="{table}-{i}">{self._line(line)}</li>' for i, line in enumerate(lines))
            yield "</ol>"
            if rest:
                yield f'<p class="hint">{escape(text("more_cells", self.lang, count=rest))}</p>'
            yield "</details>"
        yield "</figure>"

    def _line(self, line: Line) -> str:
        arithmetic = line.arithmetic(0 if self.style.full else self.style.fold, self.lang)
        remark = f' <span class="remark">{told(line.remark)}</span>' if line.remark else ""
        written = escape(arithmetic.removesuffix(line.remark).rstrip())
        if line.copied is None:
            written = re.sub(r"(?<!\S)(?:0·\S+|\S+·0)(?!\S)", r'<span class="zero">\g<0></span>', written)
        return f'<span class="name">{escape(line.name.plain())}</span> {written}{remark}'

    def _from(self, line: Line) -> str:
        """Where the numbers of a line stand in the page: `t0 1 *;t1 * 2`."""
        parts = line.worked.parts if line.worked is not None else ()
        places: dict[str, set[tuple[int, int]]] = {}
        for n in parts[0].numbers() if parts else []:
            for table, i, j in self._places(n):
                places.setdefault(table, set()).add((i, j))
        return ";".join(part for table, cells in places.items() for part in _spans(table, cells))

    def _places(self, n: Num) -> Iterator[tuple[str, int, int]]:
        """Where a number stands; where its step is not shown (exponentials, as a rule), what it was made of."""
        place, step = self._place(n), self.names.step_of(n)
        if place is not None:
            yield place
        elif step is not None and not step.given:
            for inner in step.cell(step.row_cell(n.at)).numbers():
                yield from self._places(inner)

    def _place(self, n: Num) -> tuple[str, int, int] | None:
        source, step = n.source, self.names.step_of(n)
        if source is None:
            return None
        if step is None:
            if source.operation is not None or not source.name or source.value.ndim > 2:
                return None
            self.inputs.setdefault(source.name, source)
            table = self.ids.setdefault((source.name, ()), f"i{len(self.inputs)}")
            at = n.at if len(n.at) == 2 else (0, *n.at)
            turn = self.names.columns and source.value.ndim == 2 and getattr(source.expr, "flips", True)
            return (table, at[-1], at[-2]) if turn else (table, at[-2], at[-1])
        at = step.row_cell(n.at)
        if len(step.kind.axes) == 1:
            prefix, at = at[:-1], ((0, at[-1]) if step.columns else (at[-1], 0))
        else:
            prefix, at = at[:-2], at[-2:]
        found = self.ids.get((step.name, prefix))
        return None if found is None else (found, at[0], at[1])

    # -------------------------------------------------------------- inputs
    def _inputs(self) -> Iterator[str]:
        """The given matrices that the arithmetic speaks of."""
        if not self.inputs:
            return
        yield f"<section><h2>{escape(text('inputs', self.lang))}</h2>"
        yield '<div class="figures">'
        for name, source in self.inputs.items():
            value = source.value if source.value.ndim == 2 else source.value[None, :]

            def number(i: int, j: int, source: Origin = source) -> Num:
                at = (i, j) if source.value.ndim == 2 else (j,)
                return Num(value=float(source.value[at]), exact=True, source=source, at=at)

            texts = [[self.style.written.get((name, n.at)) or self.style.exact(n.value) for n in row] for row in
                     ([number(i, j) for j in range(value.shape[1])] for i in range(value.shape[0]))]  # fmt: skip
            first = self.names.of(number(0, 0))
            symbol = first.symbol if first else name
            rows = tuple(self._label(number(i, 0), 0, value.ndim) for i in range(value.shape[0]))
            columns = tuple(self._label(number(0, j), 1, value.ndim) for j in range(value.shape[1]))
            if self.names.columns and source.value.ndim == 2 and getattr(source.expr, "flips", True):
                value, texts, rows, columns = value.T, [list(row) for row in zip(*texts, strict=True)], columns, rows
            matrix = Matrix("", value, texts, rows, columns, None, False, lambda: iter(()))
            yield "<figure>"
            yield from _table(self.ids[name, ()], symbol, matrix, lambda at: "", lambda at: "", False, formula(symbol))
            yield "</figure>"
        yield "</div></section>"

    def _label(self, n: Num, axis: int, ndim: int) -> str:
        name = self.names.of(n)
        places = name.places if name else ()
        if len(places) < 2:
            return " " if axis == 0 else (places[0] if places else " ")
        turned = self.names.columns and getattr(n.source.expr if n.source else None, "flips", True)
        return places[-1 - axis] if turned else places[-2 + axis]

    # -------------------------------------------------------------- one cell, down to the inputs
    def _derivations(self) -> Iterator[str]:
        from attn_cli.render.derivation import derivations

        for one in derivations(self.page.trace, self.style):
            nodes, rest = one.shown()
            yield '<section><ol class="tree">'
            yield from (f'<li style="--depth:{depth}">{self._line(node.line)}</li>' for depth, node in nodes)
            yield "</ol>"
            if rest:
                yield f'<p class="hint">{escape(text("more_lines", self.lang, count=rest))}</p>'
            yield "</section>"


def _spans(table: str, cells: set[tuple[int, int]]) -> Iterable[str]:
    """Whole rows and columns in short."""
    rows, columns = {i for i, _ in cells}, {j for _, j in cells}
    if len(cells) > 1 and len(rows) == 1:
        return [f"{table} {min(rows)} *"]
    if len(cells) > 1 and len(columns) == 1:
        return [f"{table} * {min(columns)}"]
    if len(cells) == len(rows) * len(columns) > 8:
        return [f"{table} {i} *" for i in sorted(rows)]
    return [f"{table} {i} {j}" for i, j in sorted(cells)]


Look = Callable[[Cell], str]
"""Tells something about the cell that is shown at a place of a step, or about a whole row at a shorter one."""


def _table(table: str, caption: str, matrix: Matrix, line: Look, source: Look, turned: bool, title: str = "") -> Iterator[str]:
    """A grid that arrow keys walk. `line` names the worked line of a cell, `source` where its numbers stand."""
    margin = matrix.margin
    beside = margin if margin and margin.along == "rows" else None
    head = "".join(f'<th scope="col">{told(label)}</th>' for label in (*matrix.columns, *([beside.title] if beside else [])))
    yield f'<div class="scroll"><table role="grid" aria-readonly="true" data-id="{table}">'
    yield f"<caption{'' if title or matrix.caption else ' class=heard'}>{title or told(caption)}</caption>"
    yield f"<thead><tr><th></th>{head}</tr></thead>"
    yield "<tbody>"
    for i, label in enumerate(matrix.rows):
        cells = []
        for j, number in enumerate(matrix.texts[i]):
            at = (*matrix.prefix, i, j)
            query = (*matrix.prefix, j if turned else i)
            own = line(at) or (line(query) if matrix.shaded else "")
            cells.append(_cell(number, own, source(at), matrix, i, j))
        if beside:
            cells.append(_margin(beside, i, line((*matrix.prefix, i))))
        yield f'<tr><th scope="row">{told(label)}</th>{"".join(cells)}</tr>'
    if margin and not beside:
        cells = [_margin(margin, j, line((*matrix.prefix, j))) for j in range(len(matrix.columns))]
        yield f'<tr><th scope="row">{told(margin.title)}</th>{"".join(cells)}</tr>'
    yield "</tbody></table></div>"


def _cell(number: str, line: str, source: str, matrix: Matrix, i: int, j: int) -> str:
    value = float(matrix.value[i, j])
    classes = ["heat"] if matrix.shaded else ["closed"] if math.isinf(value) else []
    parts = ['tabindex="0"'] if i == j == 0 else []
    parts += [f'class="{classes[0]}"'] if classes else []
    parts += [f'style="--w:{value:.3g}"'] if matrix.shaded else []
    parts += [f'aria-describedby="{line}"'] if line else []
    parts += [f'data-from="{source}"'] if source else []
    return f"<td{''.join(' ' + part for part in parts)}>{escape(number)}</td>"


def _margin(margin: Margin, i: int, line: str) -> str:
    described = f' aria-describedby="{line}"' if line else ""
    return f'<td class="margin{"" if margin.numbers else " words"}"{described}>{told(margin.texts[i])}</td>'
