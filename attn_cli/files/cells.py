"""One cell of text -> a number, and how precisely it was claimed.

Every number that a person writes, in a file, an answer or an option, is read here. What is not a number gets a hint:
people rarely write nonsense, they write numbers in the habits of their country, their spreadsheet or their language.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable
from typing import NamedTuple

from attn_cli.errors import InputError

_DECIMAL = r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_PLAIN = re.compile(rf"[+-]?{_DECIMAL}")
_LINE_NOT_PLAIN = re.compile(rf"^(?![+-]?{_DECIMAL}$)", re.MULTILINE)
_PARTS = r"[+-]?([0-9]*)(\.?)([0-9]*)(?:[eE]([+-]?[0-9]+))?"
_NAN = {"nan", ".nan"}
_INFINITY = {"inf", ".inf", "infinity", "∞"}
_NOTHING = {"", "~", "null"}
NOT_GIVEN = _NOTHING | {"?", "-", "–", "—", "_", "·"}
"""Signs with which an answer leaves a cell out."""
_LONGEST_FORMULA = 200
"""Characters; a longer text is no formula that a person wrote."""
_SAY_NOTHING = ("≈", "~")
"""Signs before a number of an answer."""


class Number(NamedTuple):
    """A number as somebody wrote it."""

    value: float
    exact: bool = False
    """Fractions, roots, infinities: no digit was rounded."""
    decimals: int = 0
    """The unit of the last digit is 10^-decimals; negative for 2e3."""
    digits: int = 0
    """How many significant digits were written; of a formula, the fewest among its decimal operands."""
    whole: bool = False
    """Written without decimals: `20`, `20.`, `2e3`."""
    exponent: bool = False
    """Written with an exponent: `2e3`."""
    operands: bool = False
    """A formula of decimals, which are known to so many digits: `2.72/3.72`."""


class NoNumber(NamedTuple):
    """A text that is no number."""

    message: str
    meant: bool = False
    """Whether a number was meant beyond doubt: then the cell is no label and no header either."""
    hinted: bool = False
    """Whether there is more to say about it than that it is no number."""


def is_empty(text: str) -> bool:
    """Whether a cell says nothing: empty, `null` or `~`."""
    return text.strip().lower() in _NOTHING


def is_not_given(text: str) -> bool:
    """Whether a cell of an answer leaves its number out."""
    return text.strip().lower() in NOT_GIVEN


def is_plain(text: str) -> bool:
    """Whether the text is a decimal as a program would print it, so that nothing is lost by keeping its value alone."""
    return _PLAIN.fullmatch(text) is not None


def all_plain(texts: list[str]) -> bool:
    """Whether every text is a plain decimal; one look at all of them together, because a matrix may be large."""
    joined = "\n".join(texts)
    return joined.count("\n") == len(texts) - 1 and _LINE_NOT_PLAIN.search(joined) is None


def number(text: str, decimal: str = ".") -> float:
    """The value of a cell; NaN and infinities too, which the caller judges. Raises InputError with a hint."""
    if _PLAIN.fullmatch(text):
        value = float(text)
        if not math.isinf(value) and value != 0.0:
            return value
    return read(text, decimal=decimal).value


def read(text: str, *, percent: bool = False, decimal: str = ".") -> Number:
    """A cell as a number. Raises InputError where it is none."""
    found = read_number(text, percent=percent, decimal=decimal)
    if isinstance(found, NoNumber):
        raise InputError(found.message)
    return found


def read_number(text: str, *, percent: bool = False, decimal: str = ".") -> Number | NoNumber:
    """A cell with the precision that it claims, or why it is no number. `percent`: it is an answer, where `33%` is 0.33 and a
    sign before a number may say that it was rounded."""
    shown = text
    text = text.strip().replace("\N{MINUS SIGN}", "-")
    if percent and text[:1] in _SAY_NOTHING:
        text = text[1:].lstrip()
    if decimal == "," and "," in text and "." not in text:
        text = text.replace(",", ".")
    if percent and text.endswith("%") and _PLAIN.fullmatch(text[:-1].rstrip()):
        return _decimal(text[:-1].rstrip(), shown, shift=2)
    if _PLAIN.fullmatch(text):
        return _decimal(text, shown)
    sign, bare = (-1.0, text[1:].strip()) if text[:1] == "-" else (1.0, text.removeprefix("+").strip())
    if text.lower() in _NAN:
        return Number(math.nan)
    if bare.lower() in _INFINITY:
        return Number(sign * math.inf, exact=True)
    return _worked_out(text, shown) or _no_number(shown, decimal)


def show(text: str) -> str:
    """A text as messages quote it: on one line, not too long."""
    if not text.strip():
        return "an empty cell"
    if len(text) > 40:
        text = text[:37] + "…"
    return "'" + "".join(c if c.isprintable() else repr(c)[1:-1] for c in text) + "'"


def _decimal(text: str, shown: str, shift: int = 0) -> Number | NoNumber:
    parts = re.fullmatch(_PARTS, text)
    assert parts is not None
    before, _, after, exponent = parts.groups()
    value = float(f"{text}e-{shift}" if exponent is None and shift else text)
    if exponent is not None and shift:
        value /= 10.0**shift
    return _out_of_range(value, shown) or Number(
        value,
        decimals=len(after) - int(exponent or 0) + shift,
        digits=len((before + after).lstrip("0")) or 1,
        whole=not after and not shift,
        exponent=exponent is not None,
    )


def _out_of_range(value: float, shown: str) -> NoNumber | None:
    if math.isinf(value):
        return _meant(shown, "which is larger than any number the computer can hold (about 1.8e308)")
    if value == 0.0 and re.search(r"[1-9]", re.split("[eE]", shown)[0]):
        return _meant(shown, "which is too small for the computer to tell from 0; write 0 if that is meant")
    return None


def _meant(shown: str, why: str) -> NoNumber:
    return NoNumber(f"found {show(shown)}, {why}", meant=True, hinted=True)


def _worked_out(text: str, shown: str) -> Number | NoNumber | None:
    """A formula such as 1/3, √2/2 or e/(e+2), worked out; None where the text is none."""
    if not any(c in text for c in "e√/+*-·×÷(") or len(text) > _LONGEST_FORMULA:
        return None
    from attn_cli.files.formulas import Undefined, evaluated

    try:
        found = evaluated(text)
    except Undefined as why:
        return _meant(shown, f"{why}; expected a number")
    if found is None:
        return None
    value, digits = found
    if math.isinf(value):
        return _out_of_range(value, shown)
    return Number(value, exact=not digits, digits=digits, operands=digits > 0)


def _no_number(shown: str, decimal: str) -> NoNumber:
    fault = _fault(shown, decimal)
    hint = f"; {fault.hint}" if fault and fault.hint else ""
    return NoNumber(f"found {show(shown)}, expected a number{hint}", fault is not None and fault.numeric, fault is not None)


# ---- hints


class _Fault(NamedTuple):
    hint: str
    numeric: bool
    """Whether a number was meant beyond doubt: then the cell is no label and no header either."""


_UNITS = "V|A|W|K|N|J|Pa|g|kg|mg|m|cm|mm|km|s|ms|min|h|Hz|kHz|MHz|GHz|B|kB|KB|MB|GB|px|pt|l|ml|mol|bar|dB|USD|EUR|k|M"
"""Units that may stand behind a whole number without making a name of it."""
_HINTS: list[tuple[str, str | Callable[[str], str], bool]] = [
    (r"(?i)(null|~|none|)", "write the number that belongs there", False),
    (r"(?i)true|false|yes|no|on|off", "write 1 or 0", False),
    (r"[+-]?[0-9]+:[0-9:.]+", "a time or a ratio is no number: write a decimal or a fraction such as 1/30", True),
    (r"[+-]?[0-9][0-9_]*_[0-9_.]*(?:[eE].*)?", lambda t: f"write it without underscores, {t.replace('_', '')}", True),
    (r"[+-]?0[xX][0-9a-fA-F]+", lambda t: f"write it in decimal, {int(t, 16)}", True),
    (r"[+-]?0[bB][01]+", lambda t: f"write it in decimal, {int(t, 2)}", True),
    (r"[+-]?0[oO][0-7]+", lambda t: f"write it in decimal, {int(t, 8)}", True),
    (
        r"[+-]?[0-9]{1,3}(,[0-9]{3})*,[0-9]{3}\.[0-9]*|[+-]?[0-9]{1,3}(,[0-9]{3}){2,}",
        lambda t: f"write it without thousands separators, {t.replace(',', '')}",
        True,
    ),
    (
        r"[+-]?[0-9]{1,3}(\.[0-9]{3})+,[0-9]*",
        lambda t: f"write it without thousands separators, {t.replace('.', '').replace(',', '.')}",
        True,
    ),
    (
        r"[+-]?[0-9]*,[0-9]+(?:[eE][+-]?[0-9]+)?|[+-]?[0-9]+,",
        lambda t: f"write {t.replace(',', '.')} with a decimal point, or give --decimal , if the comma is the decimal sign",
        True,
    ),
    (r"[+-]?[0-9.,]+\s*[%％]", lambda t: f"write {_percent(t)} instead of a percentage", True),
    (r"[+-]?[0-9.,]+\s*[‰]|%\s*[0-9.,]+", "write a decimal", True),
    (
        r"[\u2010-\u2015\uFE58\uFE63\uFF0D\u02D7]\s*[0-9.√].*",
        lambda t: f"it starts with {unicodedata.name(t[0])} (U+{ord(t[0]):04X}): write the minus as '-'",
        True,
    ),
    (
        r"(?i)#(div/0|n/a|ref|value|name|num|null|spill|calc)[!?]?|###+",
        "a spreadsheet's error was saved there: mend the sheet",
        True,
    ),
    (r"(?i)n/?a|n\.a\.|-+|\?+|none|missing|[.…]+", "the number is missing there", False),
    (r"[+-]?[0-9]+\s+[0-9]+\s*/\s*[0-9]+", lambda t: f"a mixed number: write {_mixed(t)}", False),
    (r"[+-]?[0-9]{1,3}([ \u00a0\u2009\u202f'’][0-9]{3})+([.,][0-9]*)?", "write it without thousands separators", True),
    (r"\(\s*([-+]\s*[0-9.,]+|[0-9]*[.,][0-9., ]*|[0-9]+ [0-9 ]+)\s*\)", "write -1.5 if parentheses are meant as a minus", True),
    (r"([<>≤≥≈≃~±∼]|\+/-)=?\s*[-+−]?[0-9.,].*", "write the number alone", True),
    (r"[-+]?[0-9.,]+\s*(±|\+/-).*", "write the number alone", True),
    (r"['’‘`´\"“”„«]\s*[-+−]?[0-9.,][-+0-9.,eE]*\s*['’‘`´\"“”»]?", "a quotation mark stands there, too: take it away", True),
    (rf"[-+−]?{_DECIMAL}\s*[*†‡§!?^°#+\-−'\"]+", "a sign stands behind the number: take it away", True),
    (r"[-+−]?[0-9]*[.,][0-9]+\s*[)\]};:]+|[\[{][-+−]?[0-9]*[.,]?[0-9]+|[-+−]?[0-9]*[.,]?[0-9]+[\]}]", "take the bracket away", True),
    (r"[-+−]{2,}\s*[0-9.]+", "it has more than one sign", True),
    (r"[+-]?[0-9.]+[eE][-+]?[0-9]+[.,][0-9]+", "an exponent is a whole number", True),
    (r"(?s)\s*(\[|\(|tensor|array|np\.|torch\.).*", "a printed array was pasted: write rows as [1, 0.5], with commas", False),
    (
        rf"[+-]?{_DECIMAL}(\s+[+-]?{_DECIMAL})+",
        "there is no comma between these numbers: separate them by commas, as in [1, 0.5]",
        False,
    ),
    (
        r"[+-]?[0-9]+\s+[+-]?[0-9]+",
        "two numbers with a blank between",
        False,
    ),
    (r"[+-]?[0-9.]+[dD][+-]?[0-9]+", lambda t: f"write the exponent with e, {re.sub('[dD]', 'e', t)}", True),
    (r"=\s*[-+(0-9A-Za-z].*", "a formula was saved there: write its value", True),
    (r"[$€£¥₹]\s*[-+]?[0-9].*|[+-]?[0-9., ]+\s*[$€£¥₹]", "write the number without a currency sign", True),
    (
        r"[+-]?[0-9.,]+(\s*[x×*·⋅]\s*10)?\s*[⁺⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+",
        "write powers of ten as 1e3 and others as decimals",
        True,
    ),
    (r"[+-]?[0-9.]+\s*(\*\*|\^|[x×*]\s*10\s*\^).*[0-9]", "write powers of ten as 1e3 and others as decimals", True),
    (r"[+-]?[0-9.]+([+-][0-9.]*)?[ij]", "complex numbers have no meaning here", True),
    (r"[+-]?[0-9]+//.*[0-9]", "write a fraction with a single stroke, such as 1/3", True),
    (r"[+-]?[0-9]*\.[0-9]*\.[0-9.]*", "it has more than one decimal point", True),
    (
        rf"[-+−]?(?:[0-9]*[.,][0-9]+(?:[eE][-+]?[0-9]+)?\s*[^\W\d_]{{1,12}}[²³]?|{_DECIMAL}(?:\s+(?:{_UNITS})|\s*[ΩµμÅ]\w*))",
        "write the number without its unit",
        True,
    ),
    (r".*[，；、].*", "separate numbers by the plain characters , or ;", False),
    (
        r"(?i)(?=.*[0-9π])[-+*/×·.0-9\s()^√π]+|pi|(sqrt|exp|log|ln|sin|cos)\b.*",
        "work it out: a decimal, 1/3 and sqrt(2) are understood",
        False,
    ),
]
_LOOKALIKES = str.maketrans({"o": "0", "O": "0", "l": "1", "I": "1", "О": "0", "о": "0", "З": "3"})


_SAME_DIGITS = ("<wide>", "<narrow>", "<font>", "<small>", "<noBreak>", "<fraction>")
"""Kinds of characters that mean what the plain ones mean; a raised or a circled digit does not."""


def _fault(text: str, decimal: str = ".") -> _Fault | None:
    """Why a cell is no number, as far as one can tell. The number that a hint names has the decimal sign of its file."""
    text = text.strip()[:200]
    for pattern, hint, numeric in _HINTS:  # compiled on first use only: most runs never see a fault
        if re.fullmatch(pattern, text):
            return _Fault(hint if isinstance(hint, str) else _signed(hint(text), decimal), numeric)
    pointed = text.replace(",", ".") if decimal == "," and "." not in text else text
    if (folded := _folded(pointed)) != pointed and (_PLAIN.fullmatch(folded) or re.fullmatch(r"[+-]?[0-9]+/[0-9]+", folded)):
        return _Fault(_signed(f"write it with plain characters, {folded}", decimal), True)
    if re.fullmatch(r"[+-]?[0-9]+ [0-9]+/[0-9]+", folded):
        return _Fault(f"a mixed number: write {_mixed(folded)}", True)
    if _has_other_digits(text):
        return _Fault("write it with the plain digits 0 to 9", True)
    return _lookalike(pointed, decimal)


def _has_other_digits(text: str) -> bool:
    """Whether a text without letters has digits of another script, or raised ones."""
    return any(c.isdigit() and not c.isascii() for c in text) and not any(c.isalpha() for c in text)


def _lookalike(text: str, decimal: str) -> _Fault | None:
    """The fault of a number with a letter that looks like a digit; beside a decimal point no name was meant."""
    likely = text.translate(_LOOKALIKES)
    if likely == text or not _PLAIN.fullmatch(likely) or not (len(text) == 1 or re.search("[0-9.]", text)):
        return None
    meant = "." in text[1:-1] and re.search("[0-9]", text) is not None
    return _Fault(_signed(f"it holds a letter that looks like a digit: write {likely}", decimal), meant)


def _signed(hint: str, decimal: str) -> str:
    """A hint with its numbers as the file would have them."""
    return re.sub(r"(?<=[0-9])\.(?=[0-9])", decimal, hint)


def _folded(text: str) -> str:
    """The same number in plain characters, a blank before a fraction that follows a digit; as it is where it would be another number."""
    plain = ""
    for c in text:
        kind = unicodedata.decomposition(c).partition(" ")[0]
        if kind.startswith("<") and kind not in _SAME_DIGITS:
            return text
        gap = " " if kind == "<fraction>" and plain[-1:].isdigit() else ""
        plain += gap + unicodedata.normalize("NFKC", c)
    return plain.translate({ord("⁄"): "/", ord("\N{MINUS SIGN}"): "-"})


def _percent(text: str) -> str:
    body = re.sub(r"[\s%％]", "", text).replace(",", ".")
    try:
        return repr(float(body + "e-2"))
    except ValueError:
        return "a decimal"


def _mixed(text: str) -> str:
    whole, top, below = (int(part) for part in re.findall(r"[0-9]+", text))
    return f"{'-' if text.startswith('-') else ''}{whole * below + top}/{below}"
