"""CSV that is nothing but plain numbers, perhaps under a header, read all at once. Anything else is left to `csv_table`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from attn_cli.errors import InputError
from attn_cli.files import csv_table
from attn_cli.files.rows import rows
from attn_cli.files.tree import Items

_NUMBERS = {separator: re.compile(rf"[-+.0-9eE \n{separator}]*+") for separator in (";", "\t", ",", "")}


def parse(text: str, file: str, *, truths: bool = False) -> csv_table.Table | None:
    """What `csv_table.parse` gives, with `Rows` for its rows, which keep no places; None where the file is not plain.

    The strict reader says what the first two lines are. If all that follows is as plain as the second, it would say the same
    of the whole file.
    """
    separators = [separator for separator in (";", "\t", ",") if separator in text]
    lines = list(islice(_lines(text), 2))
    if len(separators) > 1 or not lines or lines[0].count('"') % 2:
        return None
    separator = separators[0] if separators else ""
    if separator not in lines[-1]:
        return None
    try:
        first = csv_table.parse("\n".join(lines), file, truths=truths)
    except InputError:
        return None
    start = text.index(lines[0]) + (len(lines[0]) if first.header is not None else 0)
    if first.labels is not None or not _NUMBERS[separator].fullmatch(text, start):
        return None
    if (found := rows(_lines(text, start), text, start, len(text), separator or None)) is None:
        return None
    return csv_table.Table(Items([found], 0, 0), None, first.header, first.notes, first.decimal)


def _lines(text: str, start: int = 0) -> Iterator[str]:
    """The lines that are not blank, one at a time."""
    while start < len(text):
        end = text.find("\n", start)
        end = end if end >= 0 else len(text)
        line = text[start:end]
        if line.strip():
            yield line
        start = end + 1
