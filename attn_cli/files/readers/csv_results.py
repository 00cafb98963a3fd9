"""What `attn compute` writes as CSV: tables with an empty corner, above each a line that names its step (and its head or query).

A spreadsheet may have padded the lines, or changed the separator and the decimal sign.
"""

from __future__ import annotations

from collections.abc import Sequence

from attn_cli.files.cells import NoNumber, read_number
from attn_cli.files.readers.csv_cells import split
from attn_cli.files.step_names import step_of
from attn_cli.files.tree import Items, Node, Pairs, Scalar


def tables(text: str, file: str, sign: str) -> tuple[Pairs, str] | None:
    """The tables by step, and their decimal sign; None for any other CSV."""
    separator = _separator(text.lstrip().split("\n", 2))
    if not separator:
        return None
    rows = [row for row in split(text, separator, file) if any(cell.text for cell in row)]
    heads = [i for i in range(len(rows) - 1) if _names_table(rows[i], rows[i + 1])]
    found: dict[str, tuple[Scalar, Items]] = {}
    group = ""
    for first, end in zip(heads, [*heads[1:], len(rows)], strict=True):
        name, *which = [cell for cell in rows[first] if cell.text]
        table = _table(name, rows[first + 1], rows[first + 2 : end])
        if not which:
            found[name.text] = name, table
            continue
        _, outer = found.setdefault(name.text, (name, Items([], name.line, name.column)))
        if len(which) > 1:  # the query of a head
            outer = _of_group(outer, name, new=which[0].text != group)
        group = which[0].text if len(which) > 1 else ""
        outer.items.append(table)
    return Pairs(list(found.values()), 1, 1), sign if separator == "," else ","


def _separator(lines: Sequence[str]) -> str:
    """What separates the cells, where the first line names a step and the next begins with an empty corner; else nothing."""
    separator = lines[1][:1] if len(lines) == 3 else ""
    if separator not in (",", ";", "\t") or step_of(lines[0].split(separator or None)[0].strip('" ')) is None:
        return ""
    return separator


def _table(name: Scalar, header: Sequence[Scalar], rows: Sequence[Sequence[Scalar]]) -> Items:
    """The numbers of a table without its labels, as far as its header goes."""
    width = max((k for k, cell in enumerate(header) if cell.text), default=0) + 1
    items: list[Node] = [Items(list(row[1:width]), row[0].line, row[0].column) for row in rows]
    if step_of(name.text) == "row_sums":  # a number a row, not a row of one
        items = [cell for row in items if isinstance(row, Items) for cell in row.items]
    return Items(items, name.line, name.column)


def _of_group(outer: Items, name: Scalar, new: bool) -> Items:
    """The list of the tables of one head, the last one of a step."""
    if new or not outer.items:
        outer.items.append(Items([], name.line, name.column))
    inner = outer.items[-1]
    assert isinstance(inner, Items)
    return inner


def _names_table(row: Sequence[Scalar], header: Sequence[Scalar]) -> bool:
    """Whether a line names a step, with a table's header under it."""
    numbers = any(not isinstance(read_number(cell.text, percent=True), NoNumber) for cell in row[1:])
    return not header[0].text and step_of(row[0].text) is not None and not numbers
