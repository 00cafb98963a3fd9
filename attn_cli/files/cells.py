"""One cell of text -> a number, and how precisely it was claimed.

Every number that a person writes, in a file, an answer or an option, is read here. What is not a number gets a hint:
people rarely write nonsense, they write numbers in the habits of their country, their spreadsheet or their language.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from attn_cli.errors import InputError

if TYPE_CHECKING:
    from fractions import Fraction

_DECIMAL = r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_PLAIN = re.compile(rf"[+-]?{_DECIMAL}")
_LINE_NOT_PLAIN = re.compile(rf"^(?![+-]?{_DECIMAL}$)", re.MULTILINE)
_TOKEN = rf"(?i)\s*(?:({_DECIMAL})|(√|sqrt)|([-+/()*·×]))"
_PARTS = r"[+-]?([0-9]*)(\.?)([0-9]*)(?:[eE]([+-]?[0-9]+))?"
"""These two are compiled on first use: most problems hold plain decimals only."""
_NAN = {"nan", ".nan"}
_INFINITY = {"inf", ".inf", "infinity", "∞"}
_NOTHING = {"", "~", "null"}
_LARGEST_EXPONENT = 400
"""Beyond this no float is left, and an exact fraction would only eat memory."""


class Reading(NamedTuple):
    """A number as somebody wrote it."""

    value: float
    exact: bool = False
    """Fractions, roots, infinities: no digit was rounded."""
    decimals: int = 0
    """The unit of the last digit is 10^-decimals; negative for 2e3."""
    digits: int = 0
    """How many significant digits were written."""
    whole: bool = False
    """Written without decimals and exponent: `20`, `20.`."""


def is_empty(text: str) -> bool:
    """Whether a cell says nothing: empty, `null` or `~`."""
    return text.strip().lower() in _NOTHING


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
        if math.isinf(value) or value == 0.0:
            return _in_range(value, text)
        return value
    return read(text, decimal=decimal).value


def read(text: str, *, percent: bool = False, decimal: str = ".") -> Reading:
    """A cell with the precision that it claims. `percent` reads `33%` as 0.33, as answers may."""
    shown = text
    text = text.strip().replace("\N{MINUS SIGN}", "-")
    if decimal == "," and "," in text and "." not in text:
        text = text.replace(",", ".")
    if percent and text.endswith("%") and _PLAIN.fullmatch(text[:-1].rstrip()):
        return _decimal(text[:-1].rstrip(), shown, shift=2)
    if _PLAIN.fullmatch(text):
        return _decimal(text, shown)
    sign, bare = (-1.0, text[1:].strip()) if text[:1] == "-" else (1.0, text.removeprefix("+").strip())
    if text.lower() in _NAN:
        return Reading(math.nan)
    if bare.lower() in _INFINITY:
        return Reading(sign * math.inf, exact=True)
    if any(c in text for c in "/√") or "sqrt" in text.lower():
        value = _Formula(text, shown).value()
        if value is not None:
            return Reading(value, exact=True)
    raise InputError(f"found {show(shown)}, expected a number{_because(shown, decimal)}")


def looks_like_a_number(text: str) -> bool:
    """Whether somebody meant a number here (`50%`, `0,5`, `–2`), though it cannot be read as one."""
    fault = _fault(text)
    return fault is not None and fault.numeric


def has_hint(text: str) -> bool:
    """Whether there is more to say about a text than that it is no number."""
    return _fault(text) is not None


def show(text: str) -> str:
    """A text as messages quote it: on one line, not too long."""
    if not text.strip():
        return "an empty cell"
    if len(text) > 40:
        text = text[:37] + "…"
    return "'" + "".join(c if c.isprintable() else repr(c)[1:-1] for c in text) + "'"


def _decimal(text: str, shown: str, shift: int = 0) -> Reading:
    parts = re.fullmatch(_PARTS, text)
    assert parts is not None
    before, _, after, exponent = parts.groups()
    value = _in_range(float(f"{text}e-{shift}" if exponent is None and shift else text), shown)
    if exponent is not None and shift:
        value /= 10.0**shift
    return Reading(
        value,
        decimals=len(after) - int(exponent or 0) + shift,
        digits=len((before + after).lstrip("0")) or 1,
        whole=not after and exponent is None and not shift,
    )


def _in_range(value: float, shown: str) -> float:
    if math.isinf(value):
        raise InputError(f"found {show(shown)}, which is larger than any number the computer can hold (about 1.8e308)")
    if value == 0.0 and re.search(r"[1-9]", re.split("[eE]", shown)[0]):
        raise InputError(f"found {show(shown)}, which is too small for the computer to tell from 0; write 0 if that is meant")
    return value


class _Formula:
    """`[sign] product [/ product]`, where a product is a number, a root, or a number and a root."""

    def __init__(self, text: str, shown: str):
        self.shown = shown
        self.tokens: list[tuple[str, str, str]] = []
        at, self.understood = 0, True
        token = re.compile(_TOKEN)
        while at < len(text):
            match = token.match(text, at)
            if match is None:
                self.understood = not text[at:].strip()
                break
            self.tokens.append((match[1] or "", match[2] or "", match[3] or ""))
            at = match.end()
        self.next = 0

    def value(self) -> float | None:
        """The value, or None where the text is no such formula."""
        if not self.understood:
            return None
        result = self._quotient()
        if result is None or self.next < len(self.tokens):
            return None
        ratio, under = result
        try:
            return float(ratio) * math.sqrt(under) if under != 1 else float(ratio)
        except OverflowError:
            raise InputError(f"found {show(self.shown)}, which is larger than any number the computer can hold") from None

    def _symbol(self, *symbols: str) -> str | None:
        if self.next < len(self.tokens) and self.tokens[self.next][2] in symbols and self.tokens[self.next][2]:
            self.next += 1
            return self.tokens[self.next - 1][2]
        return None

    def _quotient(self) -> tuple[Fraction, Fraction] | None:
        """As (r, s), which stands for r·√s."""
        from fractions import Fraction

        sign = -1 if self._symbol("-", "+") == "-" else 1
        top = self._product()
        if top is None:
            return None
        below = (Fraction(1), Fraction(1))
        if self._symbol("/"):
            found = self._product()
            if found is None:
                return None
            below = found
        if below[0] == 0 or below[1] == 0:
            raise InputError(f"found {show(self.shown)}, which divides by zero; expected a number")
        return sign * top[0] / below[0], top[1] / below[1]

    def _product(self) -> tuple[Fraction, Fraction] | None:
        from fractions import Fraction

        factor = self._number()
        if factor is None:
            root = self._root()
            return None if root is None else (Fraction(1), root)
        dot = self._symbol("*", "·", "×")
        root = self._root()
        if root is None:
            return None if dot else (factor, Fraction(1))
        return factor, root

    def _number(self) -> Fraction | None:
        from fractions import Fraction

        if self.next < len(self.tokens) and (text := self.tokens[self.next][0]):
            self.next += 1
            exponent = re.split("[eE]", text)[1:]
            if len(text) > 1000:
                raise InputError(f"found {show(self.shown)}, which has more digits than a number can hold")
            if exponent and (len(exponent[0]) > 6 or abs(int(exponent[0])) > _LARGEST_EXPONENT):
                raise InputError(f"found {show(self.shown)}, whose exponent is out of the range of numbers")
            return Fraction(text)
        return None

    def _root(self) -> Fraction | None:
        """What stands under a root."""
        if self.next >= len(self.tokens) or not (name := self.tokens[self.next][1]):
            return None
        self.next += 1
        if self._symbol("("):
            inner = self._quotient()
            if inner is None or inner[1] != 1 or not self._symbol(")"):
                return None
            under: Fraction | None = inner[0]
        else:
            under = self._number() if name == "√" else None
        if under is not None and under < 0:
            raise InputError(f"found {show(self.shown)}, the root of a negative number; expected a number")
        return under


# ---- hints


class _Fault(NamedTuple):
    hint: str
    numeric: bool
    """Whether a number was meant beyond doubt: then the cell is no label and no header either."""


def _because(text: str, decimal: str) -> str:
    fault = _fault(text, decimal)
    return f"; {fault.hint}" if fault and fault.hint else ""


_HINTS: list[tuple[str, str | Callable[[str], str], bool]] = [
    (r"(?i)(null|~|none|)", "write the number that belongs there", False),
    (r"(?i)true|false|yes|no|on|off", "write 1 or 0", False),
    (r"[+-]?[0-9]+:[0-9:.]+", "a time or a ratio is no number: write a decimal or a fraction such as 1/30", False),
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
    (r"[+-]?[0-9.]+\s*[‰]", "write a decimal instead of a per mille", True),
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
    (r"[+-]?[0-9]{1,3}([\u00a0\u2009\u202f'’][0-9]{3})+([.,][0-9]*)?", "write it without thousands separators", True),
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
    (r"=.*", "a formula was saved there: write its value", False),
    (r"[$€£¥].*[0-9].*|[+-]?[0-9.]+\s*[$€£¥]", "write the number without a currency sign", True),
    (
        r"[+-]?[0-9.,]+(\s*[x×*·⋅]\s*10)?\s*[⁺⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+",
        "write powers of ten as 1e3 and others as decimals",
        True,
    ),
    (r"[+-]?[0-9.]*\s*(\*\*|\^|[x×*]\s*10\s*\^).*[0-9]", "write powers of ten as 1e3 and others as decimals", False),
    (r"[+-]?([0-9.]+[+-])?[0-9.]*[ij]", "complex numbers have no meaning here", False),
    (r"[+-]?[0-9]*//.*[0-9]", "write a fraction with a single stroke, such as 1/3", False),
    (r"[+-]?[0-9]+\.[0-9]*\.[0-9.]*", "it has more than one decimal point", False),
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
    if any(c.isdigit() and not c.isascii() for c in text) and not any(c.isalpha() for c in text):
        return _Fault("write it with the plain digits 0 to 9", True)
    if (
        pointed != (likely := pointed.translate(_LOOKALIKES))
        and _PLAIN.fullmatch(likely)
        and (len(text) == 1 or any(c in "0123456789." for c in pointed))
    ):
        return _Fault(_signed(f"it holds a letter that looks like a digit: write {likely}", decimal), False)
    return None


def _signed(hint: str, decimal: str) -> str:
    """A hint with its numbers as the file would have them."""
    return re.sub(r"(?<=[0-9])\.(?=[0-9])", decimal, hint)


def _folded(text: str) -> str:
    """The same number in plain characters, a blank before a fraction that follows a digit; as it is where it would be another number."""
    told = ""
    for c in text:
        kind = unicodedata.decomposition(c).partition(" ")[0]
        if kind.startswith("<") and kind not in _SAME_DIGITS:
            return text
        gap = " " if kind == "<fraction>" and told[-1:].isdigit() else ""
        told += gap + unicodedata.normalize("NFKC", c)
    return told.translate({ord("⁄"): "/", ord("\N{MINUS SIGN}"): "-"})


def _percent(text: str) -> str:
    body = re.sub(r"[\s%％]", "", text).replace(",", ".")
    try:
        return repr(float(body + "e-2"))
    except ValueError:
        return "a decimal"


def _mixed(text: str) -> str:
    whole, top, below = (int(part) for part in re.findall(r"[0-9]+", text))
    return f"{'-' if text.startswith('-') else ''}{whole * below + top}/{below}"
