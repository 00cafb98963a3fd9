"""What the pages that typeset mathematics share: text made harmless for TeX, and worked lines in pieces that can be broken."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import NamedTuple

from attn_cli.engine.expression import Expr
from attn_cli.render.lang import text
from attn_cli.render.page import CellName, Line
from attn_cli.render.style import Worked, tex_number
from attn_cli.render.terminal.text import visible

LONG = 40
"""A root of a longer formula is written as a power where it has to be broken."""
SIGNS = {"=": "=", "≈": r"\approx"}

SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "`": r"\textasciigrave{}",
    "'": r"\textquotesingle{}",
    "-": "{-}",
    "[": "{[}",
    "]": "{]}",
    "·": r"\textperiodcentered{}",
    "…": r"\dots{}",
    "ᵀ": r"$^\top$",
    "ₕ": "$_h$",
    "′": "$'$",
}
"""Characters that mean something to TeX, or that its fonts lack. Braces around `-` keep two of them from becoming a dash."""
GREEK = (
    *("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "mu", "nu", "xi", "pi", "rho", "sigma"),
    *("tau", "upsilon", "phi", "chi", "psi", "omega"),
)
CAPITALS = ("gamma", "delta", "theta", "xi", "pi", "phi", "psi", "omega", "sigma", "upsilon")
SYMBOLS = {
    "√": "surd",
    "∞": "infty",
    "−": "-",
    "≈": "approx",
    "≤": "le",
    "≥": "ge",
    "≠": "ne",
    "→": "to",
    "←": "gets",
    "↑": "uparrow",
    "↓": "downarrow",
    "×": "times",
    "∘": "circ",
    "‖": "Vert",
    "✓": "checkmark",
    "✗": "times",
    "▁": "_",
    "λ": "lambda",
    "Λ": "Lambda",
    **{unicodedata.lookup(f"GREEK SMALL LETTER {name.upper()}"): name for name in GREEK},
    **{unicodedata.lookup(f"GREEK CAPITAL LETTER {name.upper()}"): name.capitalize() for name in CAPITALS},
}
SPECIAL |= {c: f"${name}$" if name == "-" else r"\_" if name == "_" else rf"$\{name}$" for c, name in SYMBOLS.items()}
SPECIAL |= {c: f"$_{i}$" for i, c in enumerate("₀₁₂₃₄₅₆₇₈₉")}


def escaped(plain: str) -> str:
    """A text for TeX's text mode, character for character."""
    return "".join(SPECIAL.get(c, c) for c in visible(plain))


def prose(plain: str) -> str:
    """A sentence of ours for TeX's text mode: a root in it is set as one."""
    parts = re.split(r"√(\w+(?:\.\d+)?)", plain)
    return "".join(f"$\\sqrt{{{p}}}$" if i % 2 else escaped(p) if p else "" for i, p in enumerate(parts))


def label(plain: str) -> str:
    """A label for TeX's math mode."""
    if plain == "·":
        return r"\cdot"
    return plain if plain.isascii() and plain.isdecimal() else rf"\text{{{escaped(plain)}}}"


def root(convention: str) -> str | None:
    """`√d_k = √4 = 2` for math mode; None for a convention in words."""
    if not convention.startswith("√"):
        return None
    return re.sub(r"√([\w.]+)", r"\\sqrt{\1}", convention).replace("≈", r"\approx")


class Equation(NamedTuple):
    """One worked line in TeX: its name, and what follows each of its equals signs."""

    name: str
    sides: tuple[tuple[str, tuple[str, ...]], ...]
    """A sign, and the terms of what follows it, between which it may be broken."""
    remark: str

    def one_line(self) -> str:
        """All of it."""
        return " ".join([self.name, *(f"{sign} {' '.join(terms)}" for sign, terms in self.sides)])


def equation(line: Line, fold: int, lang: str, most: int = 10_000) -> Equation:
    """A worked line in TeX. A side of more than `most` characters as plain text comes in terms, to be broken between them."""
    sides: list[tuple[str, tuple[str, ...]]] = []
    worked = line.worked
    if line.copied is not None:
        sides.append(("=", (_name(line.copied),)))
    if worked is not None:
        sign = "=" if worked.parts else worked.sign
        if line.names is not None and worked.parts and any(map(line.names, worked.parts[0].numbers())):
            sides.append((SIGNS["="], tuple(_terms(*_named(worked.parts[0], line, worked, fold), lang, most))))
        for part, after in zip(worked.parts, worked.signs, strict=True):
            plain = part.plain(worked.num, fold)
            sides.append((SIGNS[sign], tuple(_terms(_written(part, worked, fold, len(plain) > most), plain, lang, most))))
            sign = after
        sides.append((SIGNS[sign], (tex_number(worked.result),)))
    return Equation(_name(line.name), tuple(sides), line.remark)


def _name(name: CellName) -> str:
    return name.tex(label)


def _written(part: Expr, worked: Worked, fold: int, wide: bool) -> str:
    def num(n: Expr) -> str:
        return tex_number(worked.num(n))  # type: ignore[arg-type]

    if wide and part.op == "divide":  # a fraction cannot be broken, a quotient can
        above, below = (a.tex(num, fold) for a in part.args)
        above = f"({above})" if part.args[0].args else above
        return f"{above} / ({below})"
    return part.tex(num, fold)


def _named(part: Expr, line: Line, worked: Worked, fold: int) -> tuple[str, str]:
    """The arithmetic with the names of the operands in place of their numbers, as TeX and as text."""
    of: Callable[..., CellName | None] = line.names or (lambda n: None)
    tex = part.tex(lambda n: _name(found) if (found := of(n)) else tex_number(worked.num(n)), fold)
    return tex, part.plain(lambda n: found.plain() if (found := of(n)) else worked.num(n), fold)


def _terms(tex: str, plain: str, lang: str, most: int) -> list[str]:
    if "more}}" in tex and lang != "en":
        tex = re.sub(r"\\dots\\,\(\\text\{(\d+) more\}\)\\,\\dots", lambda m: rf"\text{{{text('more_terms', lang, count=m[1])}}}", tex)
    if len(plain) <= most:
        return [tex]
    tex = _unrooted(tex.replace(r"\left", "").replace(r"\right", ""))
    terms, depth, start = [], 0, 0
    for at, c in enumerate(tex):
        depth += (c == "{") - (c == "}")
        if not depth and tex.startswith((" + ", " - ", " / "), at):
            terms.append(tex[start:at])
            start = at + 1
    return [*terms, tex[start:]]


def _unrooted(tex: str) -> str:
    """With long roots written as powers, which can be broken."""
    while (at := tex.find(r"\sqrt{")) >= 0:
        end, depth = at + 6, 1
        while depth:
            depth += (tex[end] == "{") - (tex[end] == "}")
            end += 1
        inner = tex[at + 6 : end - 1]
        written = f"({inner})^{{1/2}}" if len(inner) > LONG else rf"\Sqrt{{{inner}}}"
        tex = tex[:at] + written + tex[end:]
    return tex.replace(r"\Sqrt", r"\sqrt")
