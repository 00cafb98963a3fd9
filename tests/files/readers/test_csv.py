"""CSV: what is a separator, a label, a header; and what nobody should guess."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attn_cli.engine.notes import Note
from attn_cli.errors import InputError
from attn_cli.files.readers.csv import parse, parse_labels


def cells(text, **how):
    return [[cell.text for cell in row.items] for row in parse(text, "x.csv", **how).rows.items]


def refused(text, **how):
    with pytest.raises(InputError) as caught:
        parse(text, "x.csv", **how)
    return str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "0.5,1\n1.5,2\n",
        "0.5;1\n1.5;2\n",
        "0.5\t1\n1.5\t2",
        "0.5 1\n1.5 2\n",
        " 0.5   1 \n 1.5   2 \n",
        "0.5, 1\n1.5, 2\n",
        "0.5 \t 1\n1.5 \t 2\n",
        '"0.5", "1"\n"1.5", "2"\n',
        "\n0.5,1\n\n1.5,2\n\n\n",
        "sep=,\n0.5,1\n1.5,2\n",
        "sep=;\n0.5;1\n1.5;2\n",
        '"sep=;"\n0.5;1\n1.5;2\n',
        "SEP=\t\n0.5\t1\n1.5\t2\n",
    ],
)
def test_every_common_dialect_holds_the_same_matrix(text):
    assert cells(text) == [["0.5", "1"], ["1.5", "2"]]


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=2), min_size=1, max_size=5),
    st.sampled_from([",", ";", "\t", " ", ", ", "  "]),
)
def test_a_printed_matrix_is_read_back_whatever_separates_it(matrix, separator):
    text = "\n".join(separator.join(map(repr, row)) for row in matrix)
    assert [[float(cell) for cell in row] for row in cells(text)] == matrix


@pytest.mark.parametrize("text", ["0,5;1,0\n1,5;2\n", "0,5\t1,0\n1,5\t2\n"])
def test_beside_semicolons_and_tabs_a_comma_is_a_decimal_comma(text):
    table = parse(text, "x.csv")
    assert table.decimal == ","
    assert table.rows.items[0].items[0].text == "0,5"


@pytest.mark.parametrize(
    ("text", "labels", "header", "rows"),
    [
        ("the,1,0\ncat,0,1\n", ("the", "cat"), None, [["1", "0"], ["0", "1"]]),
        ("f1,f2\n1,0\n", None, ("f1", "f2"), [["1", "0"]]),
        ("token,f1,f2\nthe,1,0\n", ("the",), ("f1", "f2"), [["1", "0"]]),
        (",0,1\n0,1.0,0.0\n1,0.0,1.0\n", ("0", "1"), ("0", "1"), [["1.0", "0.0"], ["0.0", "1.0"]]),
        ("x\n1\n2\n", None, ("x",), [["1"], ["2"]]),
        ("the,1,0\n", ("the",), None, [["1", "0"]]),
        ('"the, cat",1\n"a ""b""",2\n', ("the, cat", 'a "b"'), None, [["1"], ["2"]]),
        ("2024-01-01,1\n(1),2\n", ("2024-01-01", "(1)"), None, [["1"], ["2"]]),
        ("nan,1\nthe,2\n", ("nan", "the"), None, [["1"], ["2"]]),
        ("nan,1\nnan,2\n", None, None, [["nan", "1"], ["nan", "2"]]),
        ("-inf,-inf\n0,0\n", None, None, [["-inf", "-inf"], ["0", "0"]]),
        ("1.5,2.5\n", None, None, [["1.5", "2.5"]]),
    ],
)
def test_labels_come_first_then_the_header(text, labels, header, rows):
    table = parse(text, "x.csv")
    assert (table.labels, table.header, cells(text)) == (labels, header, rows)
    assert [note.code for note in table.notes] == ["csv_labels"] * (labels is not None) + ["csv_header"] * (header is not None)


def test_a_first_row_that_counts_is_data_and_a_note_says_so():
    table = parse("0,1,2\n3,4,5\n", "x.csv")
    assert len(table.rows.items) == 2
    assert table.notes == (Note("csv_first_row_kept", {"file": "x.csv"}),)


@pytest.mark.parametrize("text", ["1,2,\n3,4,\n", "a,b,\n1,2,\n3,4,\n", "a,b\n1,2,\n3,4,\n"])
def test_a_separator_at_the_end_of_every_row_is_ignored_with_a_note(text):
    assert cells(text)[-1] == ["3", "4"]
    assert parse(text, "x.csv").notes[0] == Note("csv_trailing_column", {"file": "x.csv"})


def test_a_comma_file_stays_one_when_the_decimal_comma_is_allowed():
    assert cells('"1,5","2"\n', decimal=",") == [["1,5", "2"]]
    assert [note.code for note in parse("1,2\n", "x.csv", decimal=",").notes] == ["csv_comma_separates"]
    assert cells("0,5 1,0\n1,5 2,0\n", decimal=",") == [["0,5", "1,0"], ["1,5", "2,0"]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "x.csv: is empty; expected one row of numbers a line, such as 1,0.5"),
        (
            "f1,2\n1,0\n",
            "x.csv:1:1: found 'f1' beside numbers in the first row; a header holds no numbers, and a row of data nothing else: "
            "mend the cell, or name every column",
        ),
        (
            "1,2\n3\n",
            "x.csv:2: this row has 1 cell, other rows have 2; the cells are separated by commas; "
            "a missing number or a second kind of separator does this",
        ),
        (
            "f1,f2\n0.5,1,\n1.5,2\n",
            "x.csv:2:7: this row ends with a separator and so has an empty cell 3, others do not; take the separator away or fill the cell",
        ),
        ("\n1，2\n3，4\n", "x.csv:2: the cells are separated by '，'; separate them by commas, semicolons, tabs or blanks"),
        ("1|2\n3|4\n", "x.csv:1: the cells are separated by '|'; separate them by commas, semicolons, tabs or blanks"),
        (
            "1;2.5\n0,5;4\n",
            "x.csv:2:1: found '0,5' beside '2.5' (line 1); expected one decimal sign in the whole file, the comma or the point",
        ),
        ('1,2\n"3,4\n', "x.csv:2:1: the quote that opens here is never closed"),
        ("a\nb\n", "x.csv:1:1: holds no number; expected one row of numbers a line, such as 1,0.5"),
        ("sep=|\n1|2\n", "x.csv:1: found the separator '|', expected one of semicolons, tabs, commas, blanks"),
        (
            "sep=;\n1;2\n3;x\n4\n",
            "x.csv:4: this row has 1 cell, other rows have 2; the cells are separated by semicolons; "
            "a missing number or a second kind of separator does this",
        ),
        (
            '"V1" "V2"\n"1" 10 20\n"2" 30 40\n',
            "x.csv:1: the header here has 2 cells, the rows below have 3; expected a name for every column; "
            'if the first column names the rows, put "" before the header',
        ),
        (
            "V1,V2\n1,10,20\n2,30,40\n",
            "x.csv:1: the header here has 2 cells, the rows below have 3; expected a name for every column; "
            "if the first column names the rows, put an empty cell above it",
        ),
        (
            "numbers\n1,2,3\n",
            "x.csv:1: the header here has 1 cell, the rows below have 3; expected a name for every column; a title has no place here",
        ),
        ("a,b,c\n1,2\n3,4\n", "x.csv:1: the header here has 3 cells, the rows below have 2; expected a name for every column"),
        ("[[1, 2]]\n", "x.csv:1: looks like YAML or JSON, expected a row of numbers a line; name the file .yaml or .json"),
    ],
)
def test_what_cannot_be_told_is_an_error_on_one_line(text, message):
    assert refused(text) == message


@pytest.mark.parametrize("text", ["50%,30%\n25%,75%\n", "1 2,3\n4 5,6\n", "–1,1\n–2,2\n", "#DIV/0!,1\n#DIV/0!,2\n", "１,2\n３,4\n"])
def test_damaged_numbers_never_become_labels(text):
    assert "expected a number" in refused(text)


@pytest.mark.parametrize("text", ["   d1  d2\na   1   2\nb   3   4\n", '"d1" "d2"\n"a" 1 2\n"b" 3 4\n', "d1,d2\na,1,2\nb,3,4\n"])
def test_row_names_need_no_cell_above_them(text):
    table = parse(text, "x.csv")
    assert (cells(text), table.labels, table.header) == ([["1", "2"], ["3", "4"]], ("a", "b"), ("d1", "d2"))


@pytest.mark.parametrize("text", ["# a b\n1 2\n3 4\n", '"a" "b"\n"1" "2"\n3 4\n'])
def test_blanks_separate_what_savetxt_and_quoting_programs_write(text):
    assert cells(text) == [["1", "2"], ["3", "4"]]
    assert parse(text, "x.csv").header == ("a", "b")


@pytest.mark.parametrize("text", ["0.5,\n0.3,\n", "0.5;\n0.3;\n", "a,b\n0.5,\n0.3,\n", "a\n0.5,\n0.3,\n"])
def test_in_answers_an_empty_last_column_stays(text):
    assert cells(text, role="answers") == [["0.5", ""], ["0.3", ""]]


@pytest.mark.parametrize("text", [",0.5\n0.3,0.2\n", "33%,\n,1/3\n", "null,1\n2,~\n"])
def test_answers_keep_their_empty_cells(text):
    assert len(cells(text, role="answers")) == 2
    assert parse(text, "x.csv", role="answers").labels is None


def test_a_mask_of_true_and_false_is_no_header():
    assert cells("TRUE,FALSE\ntrue,true\n", role="truths") == [["TRUE", "FALSE"], ["true", "true"]]


@pytest.mark.parametrize("text", ["the\ncat\n", "the,cat\n", "the;cat", "sep=;\nthe;cat\n"])
def test_labels_may_stand_in_a_column_or_a_row(text):
    assert [cell.text for cell in parse_labels(text, "t.txt").items] == ["the", "cat"]


@settings(max_examples=40, deadline=None)
@given(st.text('0123456789.,;\t "\nxé', max_size=40))
def test_any_text_is_a_table_or_an_input_error(text):
    widths, message = {1}, ""
    try:
        widths = {len(row.items) for row in parse(text, "x.csv").rows.items}
    except InputError as error:
        message = str(error)
    assert len(widths) == 1
    assert "\n" not in message


def test_a_data_row_without_the_others_separator_is_no_header():
    assert refused("0.5,1\n1.5,2,\n").startswith("x.csv:2:7: this row ends with a separator and so has an empty cell 3, others do not")


@pytest.mark.parametrize("cell", ["1:30", "0x10", "–2", "50%", "2 1/2"])
def test_a_number_with_a_hint_in_the_first_row_keeps_its_hint(cell):
    assert refused(f"{cell},2\n1,2\n").startswith(f"x.csv:1:1: found '{cell}', expected a number; ")
