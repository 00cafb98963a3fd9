"""CSV that is nothing but plain numbers, perhaps under a header, read all at once. Anything else is left to `csv_table`."""

from __future__ import annotations

import re
from array import array
from itertools import islice

from attn_cli.errors import InputError
from attn_cli.files import csv_table
from attn_cli.files.rows import Rows, as_array, floats
from attn_cli.files.tree import Items

_LINE = re.compile(r"[^\n]*[^\s][^\n]*")
_NUMBERS = {separator: re.compile(rf"[-+.0-9eE \n{separator}]*+") for separator in (";", "\t", ",", "")}


def parse(text: str, file: str, *, truths: bool = False) -> csv_table.Table | None:
    """What `csv_table.parse` gives, with `Rows` for its rows, which keep no places; None where the file is not plain.

    The strict reader says what the first two lines are. If all that follows is as plain as the second, it would say the same
    of the whole file.
    """
    separators = [separator for separator in (";", "\t", ",") if separator in text]
    lines = list(islice(_LINE.finditer(text), 2))
    if len(separators) > 1 or not lines or lines[0][0].count('"') % 2:
        return None
    separator = separators[0] if separators else ""
    if separator not in lines[-1][0]:
        return None
    try:
        first = csv_table.parse("\n".join(line[0] for line in lines), file, truths=truths)
    except InputError:
        return None
    start = lines[0].end() if first.header is not None else lines[0].start()
    if first.labels is not None or not _NUMBERS[separator].fullmatch(text, start):
        return None
    values, width = array("d"), 0
    for line in _LINE.finditer(text, start):
        row = floats(line[0], separator or None)
        if row is None or len(row) != (width or len(row)):
            return None
        values += row
        width = len(row)
    if (matrix := as_array(values, width)) is None:
        return None
    return csv_table.Table(Items([Rows(matrix, text, start, len(text))], 0, 0), None, first.header, first.notes, first.decimal)
