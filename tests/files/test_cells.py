"""Cells: what people write for a number, and what it claims."""

import math
import re
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attn_cli.errors import InputError
from attn_cli.files.cells import Number, all_plain, is_empty, is_plain, number, read, read_number


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-3", 0.001),
        ("1E5", 100000.0),
        (".5", 0.5),
        ("-.5", -0.5),
        ("20.", 20.0),
        ("+2", 2.0),
        ("010", 10.0),
        ("1/3", 1 / 3),
        ("-3 / 4", -0.75),
        ("sqrt(2)", math.sqrt(2)),
        ("1/sqrt(2)", 0.7071067811865476),
        ("√2/2", 0.7071067811865476),
        ("2√3", 2 * math.sqrt(3)),
        ("3*sqrt(2)/4", 1.0606601717798212),
        ("sqrt(1/4)", 0.5),
        ("−1", -1.0),
        ("−√2", -math.sqrt(2)),
        ("  7 ", 7.0),
        ("-inf", -math.inf),
        ("-.inf", -math.inf),
        ("-Infinity", -math.inf),
        ("-∞", -math.inf),
        ("−∞", -math.inf),
    ],
)
def test_a_number_may_be_written_as_in_a_notebook(text, value):
    assert number(text) == value


@pytest.mark.parametrize("text", ["nan", "NaN", ".nan", "NAN"])
def test_not_a_number_has_its_spellings(text):
    assert math.isnan(number(text))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1:30", "found '1:30', expected a number; a time or a ratio is no number: write a decimal or a fraction such as 1/30"),
        ("1_000", "found '1_000', expected a number; write it without underscores, 1000"),
        ("0x10", "found '0x10', expected a number; write it in decimal, 16"),
        (
            "0,5",
            "found '0,5', expected a number; write 0.5 with a decimal point, or give --decimal , if the comma is the decimal sign",
        ),
        ("50%", "found '50%', expected a number; write 0.5 instead of a percentage"),
        ("yes", "found 'yes', expected a number; write 1 or 0"),
        ("–2", "found '–2', expected a number; it starts with EN DASH (U+2013): write the minus as '-'"),
        ("２.5", "found '２.5', expected a number; write it with plain characters, 2.5"),
        ("½", "found '½', expected a number; write it with plain characters, 1/2"),
        ("1,234.5", "found '1,234.5', expected a number; write it without thousands separators, 1234.5"),
        ("1.234,5", "found '1.234,5', expected a number; write it without thousands separators, 1234.5"),
        ("2 1/2", "found '2 1/2', expected a number; a mixed number: write 5/2"),
        ("1//3", "found '1//3', expected a number; write a fraction with a single stroke, such as 1/3"),
        ("1/0", "found '1/0', which divides by zero; expected a number"),
        ("o.4", "found 'o.4', expected a number; it holds a letter that looks like a digit: write 0.4"),
        ("#DIV/0!", "found '#DIV/0!', expected a number; a spreadsheet's error was saved there: mend the sheet"),
        ("N/A", "found 'N/A', expected a number; the number is missing there"),
        ("", "found an empty cell, expected a number; write the number that belongs there"),
        ("1. 0.5", "found '1. 0.5', expected a number; there is no comma between these numbers: separate them by commas, as in [1, 0.5]"),
        ("1e400", "found '1e400', which is larger than any number the computer can hold (about 1.8e308)"),
        ("1e-400", "found '1e-400', which is too small for the computer to tell from 0; write 0 if that is meant"),
        ("sqrt(-1)", "found 'sqrt(-1)', the root of a negative number; expected a number"),
        ("−½", "found '−½', expected a number; write it with plain characters, -1/2"),
        ("10²", "found '10²', expected a number; write powers of ten as 1e3 and others as decimals"),
        ("2·10⁻³", "found '2·10⁻³', expected a number; write powers of ten as 1e3 and others as decimals"),
        ("1½", "found '1½', expected a number; a mixed number: write 3/2"),
        ("−2¾", "found '−2¾', expected a number; a mixed number: write -11/4"),
        ("10₂", "found '10₂', expected a number; write it with the plain digits 0 to 9"),
        ("①", "found '①', expected a number; write it with the plain digits 0 to 9"),
        ("𝟏𝟐.5", "found '𝟏𝟐.5', expected a number; write it with plain characters, 12.5"),
        ("1⁄3", "found '1⁄3', expected a number; write it with plain characters, 1/3"),
        ("5 €", "found '5 €', expected a number; write the number without a currency sign"),
        ("2π", "found '2π', expected a number; work it out: a decimal, 1/3 and sqrt(2) are understood"),
        ("1，2", "found '1，2', expected a number; separate numbers by the plain characters , or ;"),
        ("x", "found 'x', expected a number"),
    ],
)
def test_a_habit_that_is_no_number_gets_a_hint(text, message):
    with pytest.raises(InputError) as caught:
        number(text)
    assert caught.value.message == message


@pytest.mark.parametrize(
    "text", ["1e999999999/3", "9" * 5000 + "/3", "√", "/", "1/", "((1))", "--1", "1/2/3", "2**3", "1e", "٣", "1\x00", "=1/3"]
)
def test_nonsense_is_refused_quickly(text):
    with pytest.raises(InputError):
        number(text)


@pytest.mark.parametrize(
    ("text", "reading"),
    [
        ("0.387", Number(0.387, decimals=3, digits=3)),
        ("0.050", Number(0.05, decimals=3, digits=2)),
        ("20", Number(20.0, decimals=0, digits=2, whole=True)),
        ("20.", Number(20.0, decimals=0, digits=2, whole=True)),
        ("20.0", Number(20.0, decimals=1, digits=3)),
        ("1.5e-3", Number(0.0015, decimals=4, digits=2, exponent=True)),
        ("2e3", Number(2000.0, decimals=-3, digits=1, whole=True, exponent=True)),
        ("33%", Number(0.33, decimals=2, digits=2)),
        ("33.3 %", Number(0.333, decimals=3, digits=3)),
        ("0", Number(0.0, decimals=0, digits=1, whole=True)),
        ("1/3", Number(1 / 3, exact=True)),
        ("√2", Number(math.sqrt(2), exact=True)),
        ("-∞", Number(-math.inf, exact=True)),
    ],
)
def test_an_answer_claims_as_much_as_it_writes(text, reading):
    assert read(text, percent=True) == reading


def test_a_decimal_comma_is_read_where_it_is_the_sign():
    assert number("1,5", decimal=",") == 1.5
    assert number("1,5/2", decimal=",") == 0.75


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("1.234,5", "write it without thousands separators, 1234,5"),
        ("1,234.5", "write it without thousands separators, 1234,5"),
        ("12,5%", "write 0,125 instead of a percentage"),
        ("２,5", "write it with plain characters, 2,5"),
        ("o,5", "it holds a letter that looks like a digit: write 0,5"),
        ("1:30", "a time or a ratio is no number: write a decimal or a fraction such as 1/30"),
    ],
)
def test_a_hint_has_the_decimal_sign_of_its_file_and_is_read_there(text, hint):
    with pytest.raises(InputError) as caught:
        number(text, decimal=",")
    assert caught.value.message == f"found '{text}', expected a number; {hint}"
    for told in re.findall(r"[0-9]+,[0-9]+", hint):
        assert number(told, decimal=",") == number(told.replace(",", "."))


@pytest.mark.parametrize("text", ["", "  ", "null", "NULL", "~"])
def test_an_empty_cell_says_nothing(text):
    assert is_empty(text)


@pytest.mark.parametrize(("text", "meant"), [("50%", True), ("–2", True), ("0,5", True), ("the", False), ("09:15", True), ("1.5", False)])
def test_a_damaged_number_is_told_from_a_label(text, meant):
    assert getattr(read_number(text), "meant", False) is meant


@settings(max_examples=40, deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_what_a_program_prints_is_read_back_to_the_last_bit(x):
    assert is_plain(repr(x))
    assert number(repr(x)) == x


@settings(max_examples=40, deadline=None)
@given(st.integers(-(10**6), 10**6), st.integers(1, 10**6))
def test_a_fraction_is_the_nearest_float(top, below):
    assert number(f"{top}/{below}") == float(Fraction(top, below))


@settings(max_examples=40, deadline=None)
@given(st.text(max_size=30))
def test_any_text_is_a_number_or_an_input_error(text):
    message = "found "
    try:
        number(text)
    except InputError as error:
        message = error.message
    assert message.startswith("found ")
    assert "\n" not in message


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text("0123456789.eE+-_ x\n", max_size=6), max_size=5))
def test_many_cells_are_judged_as_each_alone(texts):
    assert all_plain(texts) == all(is_plain(text) for text in texts) or not texts


def test_a_cell_of_two_lines_is_not_two_cells():
    assert not all_plain(["1", "2\n3"])


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("e", math.e),
        ("exp(1/2)", math.exp(0.5)),
        ("e^-2", math.exp(-2)),
        ("e^0.5", math.exp(0.5)),
        ("e/(e+2)", math.e / (math.e + 2)),
        ("√2/2", math.sqrt(0.5)),
        ("2·√3", math.sqrt(12)),
        ("(1+2)/3", 1.0),
        ("1-2*3", -5.0),
    ],
)
def test_a_formula_of_a_few_signs_is_worked_out(text, value):
    assert number(text) == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize(
    "text", ["(1.5)", "1 000", "<0.01", "~1.5", "'1.5", "=1+2", "1/0", "1.5*", "1.5 V", "2^3", "1.2.3", "1e400", "50%", "1_5"]
)
def test_what_looks_meant_as_a_number_is_no_label(text):
    assert read_number(text).meant


@pytest.mark.parametrize("text", ["x1", "(1)", "Q1", "2024-01-01", "1st", "a", "#1", "-", "n/a"])
def test_a_label_is_no_damaged_number(text):
    assert not read_number(text).meant


def test_decimal_operands_claim_their_fewest_digits():
    found = read("2.72/3.7")
    assert (found.operands, found.digits, found.exact) == (True, 2, False)
    assert read("1/3").exact
