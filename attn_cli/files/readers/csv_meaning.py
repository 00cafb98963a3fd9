"""What the rows of a CSV mean: which are labels, which is a header, which cells were meant as numbers and are none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from attn_cli.engine.notes import Note
from attn_cli.errors import InputError, Place
from attn_cli.files.cells import NOT_GIVEN, NoNumber, read_number, show
from attn_cli.files.tree import Items, Node, Scalar

NO_TEXT = {"", "nan", ".nan", "-nan", "inf", "+inf", "-inf", "-.inf", ".inf", "infinity", "-infinity", "∞", "-∞", "−∞"}
"""Cells that alone make neither labels nor a header."""

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


class Layout(NamedTuple):
    """How a file's cells are to be understood."""

    file: str
    separated_by: str
    """In words."""
    answers: bool
    """Whether they are somebody's answers, where an empty cell is not given, and one that cannot be read is wrong."""
    is_number: Callable[[str], bool]
    decimal: str

    def is_text(self, cell: Scalar) -> bool:
        """Whether a cell can be a label: no number, nor a sign for what is missing."""
        return not self.is_silent(cell) and not self.is_number(cell.text)

    def is_silent(self, cell: Scalar) -> bool:
        return cell.text.lower() in NO_TEXT or (self.answers and cell.text.lower() in NOT_GIVEN | {"x"})

    def damaged(self, cell: Scalar) -> NoNumber | None:
        """Why a cell is no number, if one was meant beyond doubt."""
        found = read_number(cell.text, percent=self.answers, decimal=self.decimal)
        return found if isinstance(found, NoNumber) and (found.meant or self._several(cell.text)) else None

    def _several(self, text: str) -> bool:
        """Whether a cell holds numbers with blanks between them: a second kind of separator, and no label."""
        return " " in text and all(self.is_number(part) for part in text.split())


def table_of(rows: list[Row], layout: Layout, notes: list[Note]) -> Table:
    """The matrix in the rows of a file, what names its rows and columns, and a note for each decision."""
    if not layout.answers:  # there, what is empty is not given
        if trailing := _has_trailing_column(rows, layout):
            notes.append(Note("csv_trailing_column", {"file": layout.file}))
            rows = [row[:trailing] for row in rows]
        _refuse_damaged(rows, layout)
    if layout.decimal == ",":
        _check_one_decimal_sign(rows, layout)
    first = rows[0]
    labels, header, rows = _named(rows, layout, notes)
    if not rows or not any(rows):
        taken = " and ".join(what for what, found in (("first column as labels", labels), ("first row as a header", header)) if found)
        read_as = f" beside its {taken}" if taken else ""
        raise InputError(f"holds no numbers{read_as}; expected one row of numbers a line, such as 1,0.5", place=Place(layout.file))
    if not layout.answers:
        _check_lengths(rows, layout)
    if header is not None:
        _check_header(header, first[0].line, rows, layout)
    items: list[Node] = [Items(list(row), row[0].line, row[0].column) for row in rows if row]
    return Table(Items(items, first[0].line if header is None else rows[0][0].line, 1), labels, header, tuple(notes), layout.decimal)


_Names = tuple[str, ...] | None


def _named(rows: list[Row], layout: Layout, notes: list[Note]) -> tuple[_Names, _Names, list[Row]]:
    """The labels of the rows, the header, and the rows without them."""
    first, corner = rows[0], _corner(rows, layout)
    labels = _labels(rows, layout, corner)
    header: _Names
    if labels is not None and _lacks_corner(rows) and all(map(layout.is_text, first)):
        header, rows = _texts(first), [row[1:] for row in rows[1:]]
    else:
        if labels is not None:
            rows = [row[1:] for row in rows]
            _refuse_title(rows, first, layout)
        header = _header(rows, layout, corner)
        if header is None and _is_counted(rows, layout):
            notes.append(Note("csv_first_row_kept", {"file": layout.file}))
        rows = rows if header is None else rows[1:]
    if labels is not None:
        labels = labels if header is None else labels[1:]
        notes.append(Note("csv_labels", {"file": layout.file, "labels": labels}))
    if header is not None:
        notes.append(Note("csv_header", {"file": layout.file, "header": header}))
    return labels, header, rows


def _texts(row: Row) -> tuple[str, ...]:
    return tuple(cell.text for cell in row)


def _lacks_corner(rows: Sequence[Row]) -> bool:
    """Whether nothing stands above the first column: R and pandas print a table with the names of its rows so."""
    return len(rows) > 1 and {len(row) for row in rows[1:]} == {len(rows[0]) + 1}


def _refuse_damaged(rows: Sequence[Row], layout: Layout) -> None:
    """Where labels and a header could stand, a cell that was meant as a number is neither; elsewhere its own reader says so."""
    for cell in (*rows[0], *(row[0] for row in rows)):
        if not layout.is_number(cell.text) and (why := layout.damaged(cell)) is not None:
            raise InputError(why.message, place=Place(layout.file, cell.line, cell.column))


def _refuse_title(rows: Sequence[Row], first: Row, layout: Layout) -> None:
    """A line of one cell above a table of several columns is no header."""
    if not rows[0] and len(rows) > 1 and max(map(len, rows)) > 1:
        message = f"found {show(first[0].text)} alone on its line; a title has no place here: take the line away"
        raise InputError(message, place=Place(layout.file, first[0].line, first[0].column))


def _corner(rows: Sequence[Row], layout: Layout) -> bool:
    """Whether the corner is empty while the first row and the first column are not, as pandas writes a table."""
    column, first = [row[0] for row in rows], rows[0]
    empty = not first[0].text and any(cell.text for cell in column) and any(cell.text for cell in first)
    if empty and layout.answers and _all_numbers(column[1:], layout) and _all_numbers(first[1:], layout):
        # an answer may lack its first cell; only counted rows and columns make it the corner of a frame
        return _counts(column[1:]) and _counts(first[1:])
    return empty


def _labels(rows: Sequence[Row], layout: Layout, corner: bool) -> tuple[str, ...] | None:
    """The first column, if it names the rows."""
    column = [row[0] for row in rows]
    texts = [cell for cell in column if not layout.is_silent(cell)]
    if not corner:
        if not texts or any(layout.is_number(cell.text) for cell in column):
            return None
        if layout.answers and all(layout.damaged(cell) is not None for cell in texts):
            return None
    if max(len(row) for row in rows) == 1:
        if layout.answers:
            return None
        raise InputError(
            "holds no number; expected one row of numbers a line, such as 1,0.5", place=Place(layout.file, texts[0].line, texts[0].column)
        )
    return tuple(cell.text for cell in column)


def _header(rows: Sequence[Row], layout: Layout, corner: bool) -> tuple[str, ...] | None:
    """The first row, if it names the columns."""
    first = rows[0]
    texts = [cell for cell in first if layout.is_text(cell)]
    if corner:
        return _texts(first)
    if not texts or (layout.answers and all(layout.damaged(cell) is not None for cell in texts)):
        return None
    if not any(layout.is_number(cell.text) for cell in first):
        return _texts(first)
    odd = next((cell for cell in texts if not _hint(cell, layout)), None)
    if odd is None or layout.answers:  # where a cell that cannot be read is one that is wrong
        return None
    raise InputError(
        f"found {show(odd.text)} beside numbers in the first row; a header holds no numbers, and a row of data nothing else: "
        "mend the cell, or name every column",
        place=Place(layout.file, odd.line, odd.column),
    )


def _is_counted(rows: Sequence[Row], layout: Layout) -> bool:
    """Whether the first row is 0, 1, 2, …, as a header that pandas made up."""
    return len(rows[0]) >= 3 and len(rows) > 1 and _counts(rows[0])


def _hint(cell: Scalar, layout: Layout) -> bool:
    """Whether there is more to say about a cell than that it is no number."""
    found = read_number(cell.text, percent=layout.answers, decimal=layout.decimal)
    return isinstance(found, NoNumber) and found.hinted


def _has_trailing_column(rows: Sequence[Row], layout: Layout) -> int:
    """Where an empty last column begins; 0 where there is none. A header may lack the separator at its end."""
    width = max(len(row) for row in rows)
    if width == 1:
        return 0
    empty = [len(row) == width and not row[-1].text and not row[-1].quoted for row in rows]
    short_header = len(rows) > 1 and len(rows[0]) == width - 1 and not any(layout.is_number(cell.text) for cell in rows[0])
    if all(empty[1:]) and (empty[0] or short_header):
        return width - 1
    if any(empty) and min(map(len, rows)) < width:
        row = rows[empty.index(True)]
        raise InputError(
            f"this row ends with a separator and so has an empty cell {width}, others do not; take the separator away or fill the cell",
            place=Place(layout.file, row[0].line, row[-1].column),
        )
    return 0


def _check_one_decimal_sign(rows: Sequence[Row], layout: Layout) -> None:
    """1,234 beside 2.5 may be a thousand or a decimal: nobody can tell, so nobody guesses."""
    signs: dict[str, Scalar] = {}
    for row in rows:
        for cell in row:
            for sign in ",.":
                if sign in cell.text and sign not in signs and layout.is_number(cell.text):
                    signs[sign] = cell
        if len(signs) == 2:
            comma, point = signs[","], signs["."]
            raise InputError(
                f"found {show(comma.text)} beside {show(point.text)} (line {point.line}); "
                "expected one decimal sign in the whole file, the comma or the point",
                place=Place(layout.file, comma.line, comma.column),
            )


def _all_numbers(cells: Sequence[Scalar], layout: Layout) -> bool:
    return all(layout.is_number(cell.text) for cell in cells)


def _counts(cells: Sequence[Scalar]) -> bool:
    return [cell.text for cell in cells] == [str(i) for i in range(len(cells))]


def _check_lengths(rows: Sequence[Row], layout: Layout) -> None:
    """Every row must have as many cells as most rows have."""
    width = Counter(len(row) for row in rows).most_common(1)[0][0]
    for row in rows:
        if len(row) != width:
            line = row[0].line if row else rows[0][0].line
            mend = f"the cells are separated by {layout.separated_by}; a missing number or a second kind of separator does this"
            raise InputError(f"this row has {_cells(len(row))}, other rows have {width}; {mend}", place=Place(layout.file, line))


def _check_header(header: tuple[str, ...], line: int, rows: Sequence[Row], layout: Layout) -> None:
    """A header names every column that there is; one at the end that is empty throughout may go without."""
    width = len(rows[0])
    if len(header) == width or (len(header) == width - 1 and not any(row[-1].text for row in rows)):
        return
    mend = ""
    if len(header) == width - 1:
        corner = '"" before the header' if layout.separated_by == "blanks" else "an empty cell above it"
        mend = f"; if the first column names the rows, put {corner}"
    if len(header) == 1:
        mend += "; a title has no place here"
    raise InputError(
        f"the header here has {_cells(len(header))}, the rows below have {width}; expected a name for every column{mend}",
        place=Place(layout.file, line),
    )


def _cells(count: int) -> str:
    return f"{count} cell" + ("" if count == 1 else "s")
