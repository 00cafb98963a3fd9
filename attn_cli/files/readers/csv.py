"""CSV -> a table. What separates its cells is found by trying; what was taken for labels and a header becomes a note."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from attn_cli.engine.notes import Note
from attn_cli.errors import InputError, Place
from attn_cli.files.cells import Number, read_number, show
from attn_cli.files.readers.csv_cells import split
from attn_cli.files.readers.csv_meaning import NO_TEXT, Layout, Row, Table, table_of
from attn_cli.files.readers.csv_results import tables
from attn_cli.files.readers.grids import LARGE, from_lines, lines_of
from attn_cli.files.sources import Reading, Role, decode
from attn_cli.files.tree import Items, Node
from attn_cli.files.values import Value

if TYPE_CHECKING:
    from attn_cli.files.sources import Data

SEPARATORS: Mapping[str, str] = {";": "semicolons", "\t": "tabs", ",": "commas", " ": "blanks"}
"""In the order in which they win when the file is consistent under several."""
_PLAIN = {separator: re.compile(rf"[-+.0-9eE \n{separator}]*+") for separator in (";", "\t", ",", "")}
"""Nothing but plain numbers and their separator."""
_PASTED = re.compile(r"(?:tf\.Tensor|tensor|array|np\.array|torch\.\w+|jax\.\w+|Array|DeviceArray)\s*\(")


def read(data: Data, file: str, reading: Reading, role: Role) -> Value:
    """The matrix or the labels in a CSV, with a note for everything that was decided."""
    text = decode(data, file, reading.encoding)
    if role == "labels":
        return Value(parse_labels(text, file), file)
    if (found := tables(text, file, reading.sign)) is not None:
        steps, sign = found
        if role == "answers":
            return Value(steps, file, sign, by_step=True)
        if len(steps.pairs) > 1:
            raise InputError("holds the tables of several steps, as attn writes them; expected one matrix", place=Place(file))
        text = "\n" + text.lstrip().partition("\n")[2]  # without the line that names the step
    table = None
    if len(text) >= LARGE and role in ("numbers", "truths") and reading.decimal != ",":
        table = at_once(text, file, role)
    table = table or parse(text, file, decimal=reading.decimal, role=role)
    reading.notes.extend(table.notes)
    return Value(table.rows, file, table.decimal, table.labels, table.header)


def parse(text: str, file: str, *, decimal: str | None = None, role: Role = "numbers") -> Table:
    """Read a CSV. In answers cells may be empty or percentages; a mask has true and false for numbers."""
    if text.lstrip().startswith(("[", "{")):
        raise InputError("looks like YAML or JSON, expected a row of numbers a line; name the file .yaml or .json", place=Place(file, 1))
    if _PASTED.match(text.lstrip()):
        raise InputError("a printed array was pasted here; expected a row of numbers a line, such as 1,0.5", place=Place(file, 1))
    separator, rows = _split_rows(text, file, decimal)
    if len(rows[0]) > 1 and rows[0][0].text == "#":  # as np.savetxt writes a header
        del rows[0][0]
    sign = "," if decimal == "," or separator in (";", "\t") else "."
    layout = Layout(file, SEPARATORS.get(separator, "line ends"), role == "answers", _number_test(sign, role), sign)
    return table_of(rows, layout, _remarks(rows, file, separator, decimal, role))


def _remarks(rows: Sequence[Row], file: str, separator: str, decimal: str | None, role: Role) -> list[Note]:
    """What is to be said of a comma that separates cells."""
    if not separator:
        return [Note("csv_one_column", {"file": file})]
    if separator != ",":
        return []
    if decimal == ",":
        return [Note("csv_comma_separates", {"file": file})]
    if decimal is None and role != "truths" and all(map(_may_be_one_number, rows)) and any(row[1].text not in ("0", "1") for row in rows):
        return [Note("csv_two_columns", {"file": file, "cell": ",".join(cell.text for cell in rows[0])})]
    return []


def _may_be_one_number(row: Row) -> bool:
    """Whether two cells of digits with nothing but a comma between them could be a number with a decimal comma."""
    if len(row) != 2 or row[0].quoted or row[1].quoted:
        return False
    beside = row[1].column == row[0].column + len(row[0].text) + 1
    return beside and re.fullmatch(r"[-+−]?[0-9]+", row[0].text) is not None and row[1].text.isdecimal()


def parse_labels(text: str, file: str) -> Items:
    """A file of labels: one a line, or all on one line."""
    declared, text = _declared(text, file)
    separator = declared or next((s for s in (";", "\t", ",") if s in text), ",")
    rows = list(split(text, separator, file))
    if not rows:
        raise InputError("is empty; expected labels, one a line, or all on one line", place=Place(file))
    cells: list[Node] = [*rows[0]] if len(rows) == 1 else [row[0] for row in rows]
    if any(len(row) > 1 for row in rows) and len(rows) > 1:
        raise InputError("holds a table; expected labels, one a line, or all on one line", place=Place(file, rows[0][0].line))
    return Items(cells, 1, 1)


def at_once(text: str, file: str, role: Role = "numbers") -> Table | None:
    """The table of a text that is nothing but plain numbers, perhaps under a header; None for any other.

    What the first two lines are is settled cell by cell. If all that follows is as plain as the second, the same holds
    of the whole file.
    """
    separators = [separator for separator in (";", "\t", ",") if separator in text]
    lines = list(islice(lines_of(text), 2))
    if len(separators) > 1 or not lines or lines[0].count('"') % 2:
        return None
    separator = separators[0] if separators else ""
    if separator not in lines[-1]:
        return None
    try:
        first = parse("\n".join(lines), file, role=role)
    except InputError:
        return None
    start = text.index(lines[0]) + (len(lines[0]) if first.header is not None else 0)
    if first.labels is not None or not _PLAIN[separator].fullmatch(text, start):
        return None
    place = text.count("\n", 0, text.index(lines[-1] if first.header is not None else lines[0])) + 1, 1
    grid = from_lines(lines_of(text, start), text, start, len(text), *place, separator or None)
    if grid is None:
        return None
    return Table(grid, None, first.header, first.notes, first.decimal)


# ---- cells


def _split_rows(text: str, file: str, decimal: str | None) -> tuple[str, list[Row]]:
    """The separator that the file declares, or on which all of it agrees best, and the rows under it.

    A separator under which the text cannot be split loses; where all lose, the error of the first is raised.
    """
    declared, text = _declared(text, file)
    if not text.strip():
        raise InputError("is empty; expected one row of numbers a line, such as 1,0.5", place=Place(file))
    if decimal == "," and not declared and _is_one_column(text):
        return "", list(split(text, ";", file))
    candidates = [declared] if declared else _candidates(text, file)
    best: tuple[tuple[bool, bool, float], str, list[Row]] | None = None
    failed: InputError | None = None
    for separator in candidates:
        try:
            rows = list(split(text, separator, file))
        except InputError as error:
            failed = failed or error
            continue
        score = _score(rows, separator, decimal) if len(candidates) > 1 else (True, True, 1.0)
        if best is None or score > best[0]:
            best = score, separator, rows
    if best is None:
        assert failed is not None
        raise failed
    return best[1], best[2]


def _is_one_column(text: str) -> bool:
    """Whether every line, from the second on at least, is one number with a decimal comma."""
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    numbers = [re.fullmatch(r"[-+−]?[0-9]*,[0-9]+(?:[eE][-+]?[0-9]+)?", line) is not None for line in lines]
    return len(lines) > 1 and all(numbers[1:]) and (numbers[0] or "," not in lines[0])


def _candidates(text: str, file: str) -> list[str]:
    """The separators that occur outside quotes; a comma where none does."""
    outside = re.sub(r'"[^"]*"', "text", text)
    found = [separator for separator in (";", "\t", ",") if separator in outside]
    if re.search(r"[^\s,;][ \t]+[^\s,;]", outside):
        found.append(" ")
    if not found and (strange := next((c for c in "|，；、" if c in outside), None)):
        line = text.count("\n", 0, text.find(strange)) + 1
        raise InputError(
            f"the cells are separated by '{strange}'; separate them by commas, semicolons, tabs or blanks", place=Place(file, line)
        )
    return found or [","]


def _score(rows: list[Row], separator: str, decimal: str | None) -> tuple[bool, bool, float]:
    """How well a text agrees with a separator: whether all rows are alike, whether all but a first that lacks one cell are, and
    the share of cells that are numbers."""
    is_number = _number_test("," if decimal == "," or separator in (";", "\t") else ".", "answers", truths=True)
    cells = [cell for row in rows for cell in row]
    readable = sum(cell.text.lower() in NO_TEXT or is_number(cell.text) for cell in cells) / max(1, len(cells))
    lengths = {len(row) for row in rows}
    below = {len(row) for row in rows[1:]}
    headed = len(below) == 1 and lengths - below <= {max(below) - 1}
    return len(lengths) == 1 and max(lengths) > 1, headed and max(below) > 1, readable


def _declared(text: str, file: str) -> tuple[str, str]:
    """The separator that a first line such as `sep=;` names for Excel, and the text with that line left blank."""
    match = re.match(r'\s*"?sep=(.)"?[ \t]*(?=\n|$)', text, re.IGNORECASE)
    if match is None:
        return "", text
    if match[1] not in SEPARATORS:
        names = ", ".join(SEPARATORS.values())
        raise InputError(
            f"found the separator {show(match[1])}, expected one of {names}", place=Place(file, text.count("\n", 0, match.start(1)) + 1)
        )
    return match[1], "\n" * text.count("\n", 0, match.end()) + text[match.end() :]


def _number_test(sign: str, role: Role, truths: bool = False) -> Callable[[str], bool]:
    """Whether a cell is a finite number, with that decimal sign, in a file that is read for that."""

    def is_number(text: str) -> bool:
        if (truths or role == "truths") and text.lower() in ("true", "false"):
            return True
        found = read_number(text, percent=role == "answers", decimal=sign)
        return isinstance(found, Number) and found.value - found.value == 0 and (text.lower() != "e" or role == "answers")

    return is_number
