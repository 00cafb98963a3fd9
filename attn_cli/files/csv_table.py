"""CSV text -> rows of cells, and what was taken for labels and header. Everything that was decided becomes a note."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from attn_cli.engine.notes import Note
from attn_cli.errors import InputError, Place
from attn_cli.files.cells import has_hint, looks_like_a_number, read, show
from attn_cli.files.tree import Items, Node, Scalar

SEPARATORS = {";": "semicolons", "\t": "tabs", ",": "commas", " ": "blanks"}
"""In the order in which they win when the file is consistent under several."""
_BLANKS = re.compile(r"[ \t]+")
_NO_TEXT = {"", "nan", ".nan", "-nan", "inf", "+inf", "-inf", "-.inf", ".inf", "infinity", "-infinity", "∞", "-∞", "−∞"}
"""Cells that alone make neither labels nor a header."""
_NOT_GIVEN = {"null", "~"}
"""In answers these are empty cells too."""

Row = list[Scalar]


@dataclass(frozen=True)
class Table:
    """One matrix as a file holds it."""

    rows: Items
    """A list of rows of cells, labels and header taken off."""
    labels: tuple[str, ...] | None
    header: tuple[str, ...] | None
    notes: tuple[Note, ...]
    decimal: str
    """The decimal sign of this file."""


def parse(text: str, file: str, *, decimal: str | None = None, answers: bool = False, truths: bool = False) -> Table:
    """Read a CSV. In `answers` cells may be empty or percentages; `truths` counts true and false as numbers (masks)."""
    if text.lstrip().startswith(("[", "{")):
        raise InputError("looks like YAML or JSON, expected a row of numbers a line; name the file .yaml or .json", place=Place(file, 1))
    separator, rows = _split_rows(text, file, decimal)
    if len(rows[0]) > 1 and rows[0][0].text == "#":  # as np.savetxt writes a header
        del rows[0][0]
    sign = "," if decimal == "," or separator in (";", "\t") else "."
    is_number = _number_test(sign, answers, truths)
    notes: list[Note] = []
    if decimal == "," and separator == ",":
        notes.append(Note("csv_comma_separates", {"file": file}))
    if not answers:  # there, what is empty is not given
        rows, trailing = _without_trailing_column(rows, file, is_number)
        if trailing:
            notes.append(Note("csv_trailing_column", {"file": file}))
    if sign == ",":
        _check_one_decimal_sign(rows, file, is_number)
    silent = _NO_TEXT | _NOT_GIVEN if answers else _NO_TEXT
    corner_empty, labels, rows = _labels(rows, file, is_number, silent, answers)
    first = rows[0]
    header, rows, first_kept = _header(rows, file, is_number, silent, corner_empty)
    if labels is not None:
        if header is not None:
            if rows and len(header) == len(rows[0]) - 1 and labels[0]:  # nothing stands above the row names: R and pandas print so
                header = (labels[0], *header)
            labels = labels[1:]
        notes.append(Note("csv_labels", {"file": file, "labels": labels}))
    if header is not None:
        notes.append(Note("csv_header", {"file": file, "header": header}))
    if first_kept:
        notes.append(Note("csv_first_row_kept", {"file": file}))
    if not rows or not any(rows):
        taken = " and ".join(what for what, found in (("first column as labels", labels), ("first row as a header", header)) if found)
        read_as = f" beside its {taken}" if taken else ""
        raise InputError(f"holds no numbers{read_as}; expected one row of numbers a line, such as 1,0.5", place=Place(file))
    _check_lengths(rows, file, separator)
    if header is not None:
        _check_header(header, first[0].line, rows, file, separator)
    items: list[Node] = [Items(list(row), row[0].line, row[0].column) for row in rows]
    return Table(Items(items, rows[0][0].line, 1), labels, header, tuple(notes), sign)


def parse_labels(text: str, file: str) -> Items:
    """A file of labels: one a line, or all on one line."""
    declared, text = _declared(text, file)
    separator = declared or next((s for s in (";", "\t", ",") if s in text), ",")
    rows = split(text, separator, file)
    cells: list[Node] = [*rows[0]] if len(rows) == 1 else [row[0] for row in rows]
    if any(len(row) > 1 for row in rows) and len(rows) > 1:
        raise InputError("holds a table; expected labels, one a line, or all on one line", place=Place(file, rows[0][0].line))
    return Items(cells, 1, 1)


# ---- cells


def _split_rows(text: str, file: str, decimal: str | None) -> tuple[str, list[Row]]:
    """The separator that the file declares, or on which all of it agrees best, and the rows under it."""
    declared, text = _declared(text, file)
    if not text.strip():
        raise InputError("is empty; expected one row of numbers a line, such as 1,0.5", place=Place(file))
    if declared:
        return declared, split(text, declared, file)
    outside = re.sub(r'"[^"]*"', "text", text)
    candidates = [separator for separator in (";", "\t", ",") if separator in outside]
    if re.search(r"[^\s,;][ \t]+[^\s,;]", outside):
        candidates.append(" ")
    if not candidates:
        if strange := next((c for c in "|，；、" if c in outside), None):
            line = text.count("\n", 0, text.find(strange)) + 1
            raise InputError(
                f"the cells are separated by '{strange}'; separate them by commas, semicolons, tabs or blanks", place=Place(file, line)
            )
        return ",", split(text, ",", file)
    if len(candidates) == 1:
        return candidates[0], split(text, candidates[0], file)
    best: tuple[tuple[bool, float], str, list[Row]] | None = None
    for separator in candidates:
        rows = split(text, separator, file)
        sign = "," if decimal == "," or separator in (";", "\t") else "."
        is_number = _number_test(sign, True, True)
        cells = [cell for row in rows for cell in row]
        readable = sum(cell.text.lower() in _NO_TEXT or is_number(cell.text) for cell in cells) / max(1, len(cells))
        score = len({len(row) for row in rows}) == 1 and len(rows[0]) > 1, readable
        if best is None or score > best[0]:
            best = score, separator, rows
    assert best is not None
    return best[1], best[2]


def _declared(text: str, file: str) -> tuple[str | None, str]:
    """The separator that a first line such as `sep=;` names for Excel, and the text with that line left blank."""
    match = re.match(r'\s*"?sep=(.)"?[ \t]*(?=\n|$)', text, re.IGNORECASE)
    if match is None:
        return None, text
    if match[1] not in SEPARATORS:
        names = ", ".join(SEPARATORS.values())
        raise InputError(
            f"found the separator {show(match[1])}, expected one of {names}", place=Place(file, text.count("\n", 0, match.start(1)) + 1)
        )
    return match[1], "\n" * text.count("\n", 0, match.end()) + text[match.end() :]


def split(text: str, separator: str, file: str) -> list[Row]:
    """The rows that are not blank; a quoted cell may run over several lines."""
    rows: list[Row] = []
    lines = text.split("\n")
    number = 0
    while number < len(lines):
        first = number
        line = lines[number]
        while line.count('"') % 2 and number + 1 < len(lines) and _opens_quote(line, separator):
            number += 1
            line += "\n" + lines[number]
        number += 1
        if line.strip():
            rows.append(_row(line, first + 1, separator, file))
    return rows


def _opens_quote(line: str, separator: str) -> bool:
    return re.search(rf'(?:^|{re.escape(separator)})\s*"', line) is not None


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


def _number_test(sign: str, answers: bool, truths: bool) -> Callable[[str], bool]:
    def is_number(text: str) -> bool:
        if truths and text.lower() in ("true", "false"):
            return True
        try:
            value = read(text, percent=answers, decimal=sign).value
        except InputError:
            return False
        return value - value == 0  # neither NaN nor infinite

    return is_number


# ---- what the rows mean


def _without_trailing_column(rows: list[Row], file: str, is_number: Callable[[str], bool]) -> tuple[list[Row], bool]:
    """Take an empty last column off. The first row, if it is a header, may lack the separator at its end."""
    width = max(len(row) for row in rows)
    if width == 1:
        return rows, False
    full = [len(row) == width and not row[-1].text and not row[-1].quoted for row in rows]
    short_header = len(rows) > 1 and len(rows[0]) == width - 1 and not any(is_number(cell.text) for cell in rows[0])
    if all(full[1:]) and (full[0] or short_header):
        return [row[: width - 1] for row in rows], True
    for row, empty in zip(rows, full, strict=True):
        if empty and any(len(other) < width for other in rows):
            raise InputError(
                f"this row ends with a separator and so has an empty cell {width}, others do not; take the separator away or fill the cell",
                place=Place(file, row[0].line, row[-1].column),
            )
    return rows, False


def _check_one_decimal_sign(rows: list[Row], file: str, is_number: Callable[[str], bool]) -> None:
    """1,234 beside 2.5 may be a thousand or a decimal: nobody can tell, so nobody guesses."""
    signs: dict[str, Scalar] = {}
    for row in rows:
        for cell in row:
            for sign in ",.":
                if sign in cell.text and sign not in signs and is_number(cell.text):
                    signs[sign] = cell
        if len(signs) == 2:
            comma, point = signs[","], signs["."]
            raise InputError(
                f"found {show(comma.text)} beside {show(point.text)} (line {point.line}); "
                "expected one decimal sign in the whole file, the comma or the point",
                place=Place(file, comma.line, comma.column),
            )


def _labels(
    rows: list[Row], file: str, is_number: Callable[[str], bool], silent: set[str], answers: bool
) -> tuple[bool, tuple[str, ...] | None, list[Row]]:
    """Whether the corner is empty, the first column if it names the rows, and the rest."""
    column = [row[0] for row in rows]
    corner_empty = not column[0].text and any(cell.text for cell in column) and any(cell.text for cell in rows[0])
    if corner_empty and answers and _all_numbers(column[1:], is_number) and _all_numbers(rows[0][1:], is_number):
        # an answer may lack its first cell; only counted rows and columns make it the corner of a frame
        corner_empty = _counts(column[1:]) and _counts(rows[0][1:])
    texts = [cell for cell in column if cell.text.lower() not in silent]
    if not corner_empty and (not texts or any(is_number(cell.text) for cell in column)):
        return False, None, rows
    if not corner_empty and all(looks_like_a_number(cell.text) or _several_numbers(cell.text, is_number) for cell in texts):
        return False, None, rows  # the reader of the cells says what is wrong with them
    if max(len(row) for row in rows) == 1:
        raise InputError(
            f"found {show(texts[0].text)} and no number in the whole file; expected one row of numbers a line",
            place=Place(file, texts[0].line, texts[0].column),
        )
    return corner_empty, tuple(cell.text for cell in column), [row[1:] for row in rows]


def _header(
    rows: list[Row], file: str, is_number: Callable[[str], bool], silent: set[str], corner_empty: bool
) -> tuple[tuple[str, ...] | None, list[Row], bool]:
    """The first row if it names the columns, the rest, and whether a row 0, 1, 2, … was kept as data."""
    first = rows[0]
    texts = [cell for cell in first if cell.text.lower() not in silent and not is_number(cell.text)]
    if corner_empty:
        return tuple(cell.text for cell in first), rows[1:], False
    if not texts:
        return None, rows, len(first) >= 3 and len(rows) > 1 and _counts(first)
    if all(looks_like_a_number(cell.text) for cell in texts):
        return None, rows, False
    if not any(is_number(cell.text) for cell in first):
        return tuple(cell.text for cell in first), rows[1:], False
    odd = next((cell for cell in texts if not has_hint(cell.text)), None)
    if odd is None:
        return None, rows, False
    raise InputError(
        f"found {show(odd.text)} beside numbers in the first row; a header holds no numbers, and a row of data nothing else: "
        "mend the cell, or name every column",
        place=Place(file, odd.line, odd.column),
    )


def _several_numbers(text: str, is_number: Callable[[str], bool]) -> bool:
    """Whether a cell holds numbers with blanks between them: a second kind of separator, and no label."""
    return " " in text and all(is_number(part) for part in text.split())


def _all_numbers(cells: list[Scalar], is_number: Callable[[str], bool]) -> bool:
    return all(is_number(cell.text) for cell in cells)


def _counts(cells: list[Scalar]) -> bool:
    return [cell.text for cell in cells] == [str(i) for i in range(len(cells))]


def _check_lengths(rows: list[Row], file: str, separator: str) -> None:
    """Every row must have as many cells as most rows have."""
    width = Counter(len(row) for row in rows).most_common(1)[0][0]
    for row in rows:
        if len(row) != width:
            line = row[0].line if row else rows[0][0].line
            mend = f"the cells are separated by {SEPARATORS[separator]}; a missing number or a second kind of separator does this"
            raise InputError(f"this row has {_cells(len(row))}, other rows have {width}; {mend}", place=Place(file, line))


def _check_header(header: tuple[str, ...], line: int, rows: list[Row], file: str, separator: str) -> None:
    """A header names every column that there is; one at the end that is empty throughout may go without."""
    width = len(rows[0])
    if len(header) == width or (len(header) == width - 1 and not any(row[-1].text for row in rows)):
        return
    mend = ""
    if len(header) == width - 1:
        mend = "; if the first column names the rows, put " + ('"" before the header' if separator == " " else "an empty cell above it")
    if len(header) == 1:
        mend += "; a title has no place here"
    raise InputError(
        f"the header here has {_cells(len(header))}, the rows below have {width}; expected a name for every column{mend}",
        place=Place(file, line),
    )


def _cells(count: int) -> str:
    return f"{count} cell" + ("" if count == 1 else "s")
