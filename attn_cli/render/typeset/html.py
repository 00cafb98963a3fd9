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

from attn_cli.engine.arrays import Cell
from attn_cli.engine.expression import Num
from attn_cli.engine.steps import Step
from attn_cli.render.labels import Names
from attn_cli.render.lang import text
from attn_cli.render.page import LINES, Block, Line, Margin, Matrix, Page, Paragraph
from attn_cli.render.terminal.text import visible, width

EMBEDDED = 3000
"""Numbers of a page. Up to this many, each has its arithmetic; beyond, only the first of each matrix."""

NAME = 24
"""Characters. Names of cells are set as wide as the widest that is no longer."""

Source = tuple[str, Cell]
"""The name of a step or input, and which of its matrices."""


def draw(page: Page) -> str:
    css = f"""@media (prefers-color-scheme: dark) {{ body.page {{ background: #14161a; }} }}
body.page {{ margin: 0; }}
{asset("html.css")}"""
    return f"""{head(page.title, page.style.lang, css)}
<body class="page">
<main class="attn">
{_Sheet(page).html()}
<p class="told" aria-hidden="true" hidden></p>
<script>
{asset("html.js")}</script>
</main>
</body>
</html>
"""


def head(title: str, lang: str, css: str) -> str:
    """An HTML file from its first line to the end of its head."""
    return f"""<!DOCTYPE html>
<html lang="{"zh-CN" if lang == "zh" else "en"}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escaped(title)}</title>
<style>
{css}</style>
</head>"""


def asset(name: str) -> str:
    """The text of a style sheet or script beside this module."""
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def escaped(label: str) -> str:
    """A text as HTML; control characters become visible signs."""
    return escape(visible(label))


def indexed(plain: str) -> str:
    """A formula as HTML: the index in W_Q stands lowered."""
    return re.sub(r"_(\w+)", r"<sub>\1</sub>", escaped(plain))


class _Sheet:
    """The page as it is put together: what has been shown, so that a cell can point to what it came from."""

    def __init__(self, shown: Page):
        self.page, self.style, self.lang = shown, shown.style, shown.style.lang
        self.names = None if shown.trace is None else Names(shown.trace)
        steps = [(matrix.source or block.name, matrix.prefix) for block in shown.blocks for matrix in block.matrices]
        self.ids: dict[Source, str] = {step: f"t{i}" for i, step in enumerate(steps)}
        self.count = sum(matrix.value.size for block in shown.blocks if block.step is not None for matrix in block.matrices)
        self.whole = self.style.full or self.count <= EMBEDDED

    def html(self) -> str:
        top = [f"<h1>{escaped(self.page.title)}</h1>"]
        if self.page.conventions:
            top.append(f'<p class="conventions">{" · ".join(map(self._convention, self.page.conventions))}</p>')
        top += [part for paragraph in self.page.lead for part in self._said(paragraph)]
        if self.style.cells:
            return "\n".join([*top, *self._derivations(), *self._notes()])
        body = [part for block in self.page.blocks for part in self._block(block)]
        hint = f'<p class="hint">{escape(text("hint", self.lang))}</p>' if self.names is not None else ""
        if not self.whole:
            hint += f'\n<p class="hint">{escape(text("not_all", self.lang, count=self.count, shown=LINES))}</p>'
        return "\n".join([*top, hint, f'<div class="steps {self.style.detail}">', *body, *self._notes(), "</div>"])

    def _said(self, paragraph: Paragraph) -> Iterator[str]:
        """A sentence, and its worked lines."""
        if paragraph.lines:
            yield '<div class="beside">'
        if paragraph.text:
            yield f'<p class="said {paragraph.role}">{escaped(paragraph.text)}</p>'
        if paragraph.lines:
            yield '<ol class="worked">'
            yield from (f"<li>{self._line(line)}</li>" for line in paragraph.lines)
            yield "</ol></div>"

    def _convention(self, part: str) -> str:
        return indexed(part) if part.startswith("√") else escaped(part)

    def _notes(self) -> Iterator[str]:
        if self.page.notes:
            items = "\n".join(f"<li>{escaped(note.text)}</li>" for note in self.page.notes)
            yield f'<section><h2>{escape(text("notes", self.lang))}</h2>\n<ul class="notes">\n{items}\n</ul></section>'

    # -------------------------------------------------------------- steps
    def _block(self, block: Block) -> Iterator[str]:
        formula = f' <span class="formula">{indexed(block.formula.plain())}</span>' if block.formula else ""
        aside = f' <span class="points">{escaped(block.aside)}</span>' if block.aside else ""
        sign = f'<span class="{block.verdict or "number"}">{block.sign}</span> ' if block.sign else ""
        yield f'<section id="{block.name}"{" class=apart" if block.step is None else ""}>'
        yield f"<h2>{sign}{escaped(block.heading)}{aside}{formula}</h2>"
        if block.formula and (asides := [*map(indexed, block.formula.with_numbers()), *map(indexed, block.formula.where())]):
            yield f'<p class="aside">{" · ".join(asides)}</p>'
        for paragraph in block.before:
            yield from self._said(paragraph)
        if block.matrices:
            yield '<div class="figures">'
            for matrix in block.matrices:
                yield from self._figure(block, matrix)
            yield "</div>"
        for paragraph in block.after:
            yield from self._said(paragraph)
        yield "</section>"

    def _figure(self, block: Block, matrix: Matrix) -> Iterator[str]:
        table = self.ids[matrix.source or block.name, matrix.prefix]
        lines, rest = matrix.worked(self.whole)
        place = _shown_at(block.step)
        own = {place(line.at): f"{table}-{i}" for i, line in enumerate(lines)}
        from_ = {place(line.at): self._from(line) for line in lines if line.worked is not None}
        caption = f"{block.symbol}, {matrix.caption}" if matrix.caption else f"{block.symbol}: {block.title}"
        shown = indexed(matrix.caption) if matrix.source else escaped(caption)
        turned = block.step is not None and block.step.columns
        yield "<figure>"
        yield from _table(table, shown, matrix, lambda at: own.get(at, ""), lambda at: from_.get(at, ""), turned)
        if lines:
            yield from self._arithmetic(table, lines, rest)
        yield "</figure>"

    def _arithmetic(self, table: str, lines: Sequence[Line], rest: int) -> Iterator[str]:
        """The worked lines of a matrix, which its cells point to."""
        yield f"<details{' open' if self.style.detail == 'trace' else ''}><summary>{escape(text('arithmetic', self.lang))}</summary>"
        widths = [n for n in (width(line.name.plain()) for line in lines) if n <= NAME]
        yield f'<ol class="worked" style="--name:{max(widths, default=0)}ch">'
        yield from (f'<li id="{table}-{i}">{self._line(line)}</li>' for i, line in enumerate(lines))
        yield "</ol>"
        if rest:
            yield f'<p class="hint">{escape(text("more_cells", self.lang, count=rest))}</p>'
        yield "</details>"

    def _line(self, line: Line) -> str:
        arithmetic = line.arithmetic(0 if self.style.full else self.style.fold, self.lang)
        remark = f' <span class="remark">{escaped(line.remark)}</span>' if line.remark else ""
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
        place, step = self._place(n), self.names.step_of(n) if self.names else None
        if place is not None:
            yield place
        elif step is not None and not step.given:
            for inner in step.cell(step.row_cell(n.at)).numbers():
                yield from self._places(inner)

    def _place(self, n: Num) -> tuple[str, int, int] | None:
        source, step = n.source, self.names.step_of(n) if self.names else None
        if source is None or self.names is None:
            return None
        name, at = (source.name, n.at) if step is None else (step.name, step.row_cell(n.at))
        if step is None:
            turned = self.names.columns and len(at) > 1 and getattr(source.expr, "flips", True)
            at = (*at[:-2], at[-1], at[-2]) if turned else at if len(at) > 1 else (0, *at)
        else:
            at = _shown_at(step)(at)
        found = self.ids.get((name, at[:-2]))
        return None if found is None or len(at) < 2 else (found, at[-2], at[-1])

    # -------------------------------------------------------------- one cell, down to the inputs
    def _derivations(self) -> Iterator[str]:
        from attn_cli.render.derivation import derivations

        for one in derivations(self.page.trace, self.style) if self.page.trace is not None else ():
            nodes, rest = one.shown()
            yield '<section><ol class="tree">'
            yield from (f'<li style="--depth:{depth}">{self._line(node.line)}</li>' for depth, node in nodes)
            yield "</ol>"
            if rest:
                yield f'<p class="hint">{escape(text("more_lines", self.lang, count=rest))}</p>'
            yield "</section>"


def _shown_at(step: Step | None) -> Callable[[Cell], Cell]:
    """Tells where a cell of a step is shown: a vector as one column, or as one row where vectors are columns."""
    if step is None or len(step.kind.axes) != 1:
        return lambda at: at
    return (lambda at: (*at[:-1], 0, at[-1])) if step.columns else (lambda at: (*at, 0))


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


def _table(table: str, caption: str, matrix: Matrix, line: Look, source: Look, turned: bool) -> Iterator[str]:
    """A grid that arrow keys walk. `line` names the worked line of a cell, `source` where its numbers stand."""
    margin = matrix.margin
    beside = margin if margin and margin.along == "rows" else None
    titles = "".join(f'<th scope="col">{escaped(label)}</th>' for label in (*matrix.columns, *([beside.title] if beside else [])))
    yield f'<div class="scroll"><table role="grid" aria-readonly="true" data-id="{table}">'
    yield f"<caption{'' if matrix.caption else ' class=heard'}>{caption}</caption>"
    yield f"<thead><tr><th></th>{titles}</tr></thead>"
    yield "<tbody>"
    for i in range(len(matrix.rows)):
        cells = [
            _cell(number, _line_of(matrix, i, j, line, turned), source((*matrix.prefix, i, j)), matrix, i, j)
            for j, number in enumerate(matrix.texts[i])
        ]
        if beside:
            cells.append(_margin(beside, i, line((*matrix.prefix, i))))
        yield f'<tr><th scope="row">{_row_label(matrix, i)}</th>{"".join(cells)}</tr>'
    if margin and not beside:
        cells = [_margin(margin, j, line((*matrix.prefix, j))) for j in range(len(matrix.columns))]
        yield f'<tr><th scope="row">{escaped(margin.title)}</th>{"".join(cells)}</tr>'
    yield "</tbody></table></div>"


def _line_of(matrix: Matrix, i: int, j: int, line: Look, turned: bool) -> str:
    """The worked line of a cell; of a weight that has none of its own, that of its query."""
    query = (*matrix.prefix, j if turned else i)
    return line((*matrix.prefix, i, j)) or (line(query) if matrix.shaded else "")


def _row_label(matrix: Matrix, i: int) -> str:
    link = matrix.links[i] if matrix.links else ""
    return f'<a href="{escape(link)}">{escaped(matrix.rows[i])}</a>' if link else escaped(matrix.rows[i])


def _cell(number: str, line: str, source: str, matrix: Matrix, i: int, j: int) -> str:
    value = float(matrix.value[i, j])
    verdict = matrix.marks.verdicts[i][j] if matrix.marks else ""
    look = verdict or ("heat" if matrix.shaded else "masked" if math.isinf(value) else "")
    parts = ['tabindex="0"'] if i == j == 0 else []
    parts += [f'class="{look}"'] if look else []
    parts += [f'style="--w:{value:.3g}"'] if look == "heat" else []
    parts += [f'aria-describedby="{line}"'] if line else []
    parts += [f'data-from="{source}"'] if source else []
    shown = escaped(number) if number else ""
    if matrix.marks is not None and verdict:
        right = matrix.marks.right[i][j]
        shown += f' <span class="mark">{matrix.marks.sign(i, j)}</span>' + (f'<span class="exact">{escape(right)}</span>' if right else "")
    return f"<td{''.join(' ' + part for part in parts)}>{shown}</td>"


def _margin(margin: Margin, i: int, line: str) -> str:
    described = f' aria-describedby="{line}"' if line else ""
    return f'<td class="margin{"" if margin.numbers else " words"}"{described}>{escaped(margin.texts[i])}</td>'
