"""Rows for a spreadsheet: gradebooks, and summaries of batches."""

from __future__ import annotations

import csv
import io
import unicodedata
from collections.abc import Sequence

from attn_cli.render.terminal.text import visible

Value = str | float | bool | list[int] | None
"""What a cell of a spreadsheet holds; a list is a place in a matrix, counted from 0."""
RUNS = "=+-@\uff1d\uff0b\uff0d\uff20\t\r\n"
"""A spreadsheet runs a text that begins with one of these; the full-width ones, where it is set to Chinese or Japanese."""


def cell_of(at: Sequence[int] | None) -> str:
    """A cell as people count, from 1."""
    return f"[{','.join(str(i + 1) for i in at)}]" if at else ""


def sheet(rows: Sequence[Sequence[Value]], decimal: str = ".", bom: bool = False) -> str:
    """Rows of a spreadsheet, none of whose texts it would run; with a decimal comma, semicolons stand between the cells."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter=";" if decimal == "," else ",", lineterminator="\n")
    writer.writerows([_sheet_cell(value, decimal) for value in row] for row in rows)
    return ("\ufeff" if bom else "") + out.getvalue()


def _sheet_cell(value: Value, decimal: str) -> str:
    if value is None:
        return ""
    if isinstance(value, list):
        return cell_of(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return safe_text(value)
    return str(value).replace(".", decimal)


def safe_text(cell: str) -> str:
    """A text that a spreadsheet shows and never runs: an apostrophe stands before one that it would; control characters by name."""
    shown = "".join(visible(c) if unicodedata.category(c) in ("Cc", "Zl", "Zp") else c for c in cell)
    return f"'{shown}" if cell[:1] and cell[0] in RUNS else shown
