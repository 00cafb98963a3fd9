"""The rows of a CSV as cells with their places, for one separator. A quoted cell may hold separators and line breaks."""

from __future__ import annotations

import re
from collections.abc import Iterator

from attn_cli.errors import InputError, Place
from attn_cli.files.cells import show
from attn_cli.files.readers.csv_meaning import Row
from attn_cli.files.tree import Scalar

_BLANKS = re.compile(r"[ \t]+")


def split(text: str, separator: str, file: str) -> Iterator[Row]:
    """The rows that are not blank; a quoted cell may run over several lines."""
    opens = re.compile(rf'(?:^|{re.escape(separator)})\s*"')
    lines = text.split("\n")
    number = 0
    while number < len(lines):
        first, end = number, number + 1
        if lines[first].count('"') % 2 and opens.search(lines[first]):
            while end < len(lines) and not lines[end].count('"') % 2:
                end += 1
            end = min(end + 1, len(lines))
        line = "\n".join(lines[first:end])
        if line.strip():
            yield _row(line, first + 1, separator, file)
        number = end


def _row(line: str, number: int, separator: str, file: str) -> Row:
    if '"' not in line:
        return _unquoted(line, number, separator)
    row: Row = []
    at = 0
    while True:
        while at < len(line) and line[at] in " \t" and line[at] != separator:
            at += 1
        start = at
        if line.startswith('"', at):
            end = at + 1
            while (end := line.find('"', end)) >= 0 and line.startswith('""', end):
                end += 2
            if end < 0:
                raise InputError("the quote that opens here is never closed", place=Place(file, number, start + 1))
            text = line[at + 1 : end].replace('""', '"')
            at = end + 1
            stop = _next(line, separator, at)
            if line[at:stop].strip():
                raise InputError(
                    f"found {show(line[at:stop].strip())} after the closing quote; expected a separator",
                    place=Place(file, number, at + 1),
                )
        else:
            stop = _next(line, separator, at)
            text = line[at:stop]
        row.append(Scalar(text.strip(), number, start + 1, quoted=line.startswith('"', start)))
        if stop >= len(line) or (separator == " " and not line[stop:].strip()):
            return row
        at = stop + 1


def _next(line: str, separator: str, at: int) -> int:
    if separator == " ":
        match = _BLANKS.search(line, at)
        return match.start() if match else len(line)
    found = line.find(separator, at)
    return found if found >= 0 else len(line)


def _unquoted(line: str, number: int, separator: str) -> Row:
    if separator == " ":
        return [Scalar(match.group(), number, match.start() + 1) for match in re.finditer(r"[^ \t]+", line)]
    row: Row = []
    at = 0
    if not any(blank in line for blank in " \t" if blank != separator) and line.isascii() and line.isprintable():
        for part in line.split(separator):
            row.append(Scalar(part, number, at + 1))
            at += len(part) + 1
        return row
    for part in line.split(separator):
        row.append(Scalar(part.strip(), number, at + len(part) - len(part.lstrip()) + 1 if part.strip() else at + 1))
        at += len(part) + 1
    return row
