"""Tables that are no steps of one trace: comparisons and studies. One page of text, a table or two, perhaps a chart.

`SHEETS` holds how each format draws one; a format that is not in it cannot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from attn_cli.errors import UsageError
from attn_cli.render.data import csv as commas
from attn_cli.render.data import json, yaml
from attn_cli.render.style import Style
from attn_cli.render.terminal.text import common_width, left, right, visible, wrapped
from attn_cli.render.typeset import markdown
from attn_cli.render.typeset.html import escaped, head
from attn_cli.render.typeset.tex import prose

RULE = r"\rule{0pt}{3.2ex}\underline{\hspace{3.4em}}"
ROOM = "____"
"""A cell that is to be filled in."""
GAP = 2
"""Blanks between the columns of a table in a terminal."""


class Table(NamedTuple):
    """A table of texts; its first columns are words, the others numbers."""

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: int = 1
    """How many columns from the left hold words."""
    math: tuple[str, str] = ("", "")
    """A formula that belongs to it, as text and as TeX."""


class Sheet(NamedTuple):
    """A page of tables, ready to be set."""

    title: str
    tables: tuple[Table, ...]
    lines: tuple[str, ...] = ()
    """Sentences after the tables."""
    first: tuple[str, ...] = ()
    """Sentences before them."""
    bars: tuple[str, ...] = ()
    """A chart as lines of a terminal."""
    picture: str = ""
    """The same chart as SVG."""
    document: Mapping[str, Any] = {}
    """All of it in JSON's own types, with every digit."""


def written(sheet: Sheet, form: str, style: Style) -> str:
    """The sheet in a format. Raises UsageError, with those that can, for one that cannot."""
    if form not in SHEETS or (form == "svg" and not sheet.picture):
        can = ", ".join(name for name in SHEETS if name != "svg" or sheet.picture)
        raise UsageError(f"--format {form} cannot show these tables; use {can}")
    return SHEETS[form](sheet, style)


# ------------------------------------------------------------------ terminals
def plain(sheet: Sheet, style: Style) -> str:
    """Columns under one another; a table wider than the terminal is split into blocks of columns."""
    parts = [visible(sheet.title), *(line for sentence in sheet.first for line in wrapped(visible(sentence), style.width, "  "))]
    for table in sheet.tables:
        caption = "  ".join(filter(None, (table.caption, table.math[0])))
        parts += ["", *([visible(caption)] if caption else []), *_columns(table, style.width)]
    if sheet.bars:
        parts += ["", *sheet.bars]
    if sheet.lines:
        parts += ["", *(line for sentence in sheet.lines for line in wrapped(visible(sentence), style.width, "  "))]
    return "\n".join(parts) + "\n"


def _columns(table: Table, width: int) -> Iterator[str]:
    cells = [[visible(cell) if cell else "" for cell in row] for row in (table.header, *table.rows)]
    sizes = [common_width(column) for column in zip(*cells, strict=True)]
    labels = sum(sizes[: table.words]) + GAP * (table.words - 1)
    for block in _blocks(sizes, table.words, width - labels):
        shown = [*range(table.words), *block]
        for i, row in enumerate(cells):
            yield (" " * GAP).join((left if k < table.words else right)(row[k], sizes[k]) for k in shown).rstrip()
            if not i:
                yield "─" * (sum(sizes[k] for k in shown) + GAP * (len(shown) - 1))


def _blocks(sizes: Sequence[int], words: int, room: int) -> Iterator[list[int]]:
    """The columns of numbers in groups that fit into the room, at least one each."""
    block: list[int] = []
    used = 0
    for k in range(words, len(sizes)):
        if block and used + sizes[k] + GAP > room:
            yield block
            block, used = [], 0
        block.append(k)
        used += sizes[k] + GAP
    yield block


# ------------------------------------------------------------------ pages
def _markdown(sheet: Sheet, style: Style) -> str:
    parts = [f"# {markdown.escaped(sheet.title)}", *map(markdown.escaped, sheet.first)]
    for table in sheet.tables:
        parts += [f"## {markdown.escaped(table.caption)}"] if table.caption else []
        parts += [f"${table.math[1]}$".replace(r"\operatorname", r"\mathrm")] if table.math[1] else []
        parts.append("\n".join(_pipes(table)))
    parts += ["\n".join(["```text", *sheet.bars, "```"])] if sheet.bars else []
    parts += [markdown.escaped(line) for line in sheet.lines]
    return "\n\n".join(parts) + "\n"


def _pipes(table: Table) -> Iterator[str]:
    yield f"| {' | '.join(markdown.escaped(cell) if cell else '' for cell in table.header)} |"
    yield f"|{'|'.join('---' if k < table.words else '--:' for k in range(len(table.header)))}|"
    for row in table.rows:
        yield f"| {' | '.join(markdown.escaped(cell) if cell else '' for cell in row)} |"


def _latex(sheet: Sheet, style: Style) -> str:
    parts = [rf"\section*{{{prose(sheet.title)}}}", *("\n" + prose(line) for line in sheet.first)]
    for table in sheet.tables:
        columns = "l" * table.words + "r" * (len(table.header) - table.words)
        parts += [rf"\subsection*{{{prose(table.caption)}}}"] if table.caption else []
        parts += [rf"\[ {table.math[1]} \]"] if table.math[1] else []
        rows = [
            " & ".join(RULE if cell == ROOM else prose(cell) if cell else "" for cell in row) + r" \\"
            for row in (table.header, *table.rows)
        ]
        parts += [r"\begin{center}", rf"\begin{{tabular}}{{{columns}}}", rows[0] + r" \hline", *rows[1:], r"\end{tabular}", r"\end{center}"]
    return "\n".join([*parts, *("\n" + prose(line) for line in sheet.lines)]) + "\n"


STYLE = """:root { color-scheme: light dark; }
body { margin: 2rem auto; max-width: 60rem; padding: 0 1rem; font: 16px/1.5 system-ui, sans-serif; }
table { border-collapse: collapse; margin: .5rem 0 1.5rem; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .7rem; text-align: right; border-bottom: 1px solid color-mix(in srgb, currentColor 20%, transparent); }
th.word, td.word { text-align: left; }
.wide { overflow-x: auto; }
svg { max-width: 100%; height: auto; }
"""


def _html(sheet: Sheet, style: Style) -> str:
    parts = [f"<h1>{escaped(sheet.title)}</h1>", *(f"<p>{escaped(line)}</p>" for line in sheet.first)]
    for table in sheet.tables:
        parts += [f"<h2>{escaped(table.caption)}</h2>"] if table.caption else []
        parts += [f"<p>{escaped(table.math[0])}</p>"] if table.math[0] else []
        titles = "".join(_cell("th", cell, k < table.words) for k, cell in enumerate(table.header))
        rows = "\n".join(f"<tr>{''.join(_cell('td', cell, k < table.words) for k, cell in enumerate(row))}</tr>" for row in table.rows)
        parts.append(f'<div class="wide"><table>\n<thead><tr>{titles}</tr></thead>\n<tbody>\n{rows}\n</tbody></table></div>')
    parts += [sheet.picture, *(f"<p>{escaped(line)}</p>" for line in sheet.lines)]
    return "\n".join((head(sheet.title, style.lang, STYLE), "<body>", *parts, "</body>\n</html>\n"))


def _cell(tag: str, cell: str, word: bool) -> str:
    kind = ' class="word"' if word else ""
    return f"<{tag}{kind}>{escaped(cell) if cell else ''}</{tag}>"


# ------------------------------------------------------------------ data
def _csv(sheet: Sheet, style: Style) -> str:
    """The rows of the document, the columns its keys; lists within one cell as JSON."""
    rows: list[dict[str, Any]] = next((sheet.document[key] for key in ("rows", "steps", "hidden") if sheet.document.get(key)), [])
    lines: Iterable[Iterable[str]] = [list(rows[0]) if rows else [], *([_datum(value) for value in row.values()] for row in rows)]
    return "".join(commas.line(line) for line in lines)


def _datum(value: Any) -> str:
    """One value as a cell: texts in quotes where they need them."""
    if value is None:
        return ""
    return str(value) if isinstance(value, (int, float)) else commas.quoted(value if isinstance(value, str) else json.encode(value))


SHEETS: dict[str, Callable[[Sheet, Style], str]] = {
    "table": plain,
    "plain": plain,
    "json": lambda sheet, style: json.laid_out(dict(sheet.document)) + "\n",
    "yaml": lambda sheet, style: yaml.laid_out(dict(sheet.document)),
    "csv": _csv,
    "markdown": _markdown,
    "latex": _latex,
    "html": _html,
    "svg": lambda sheet, style: sheet.picture,
}
"""How each format draws a sheet."""
