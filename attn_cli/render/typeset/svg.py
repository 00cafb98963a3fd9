"""SVG. Of a result, a heat map: the weights, or the steps that `--only` names. Of a trace and of a report, the page as a terminal shows it.

Both bring a background of their own, so that they look the same on light and dark pages. Widths of text are estimated
in cells of a fixed-width font, and each word is fitted to its cells, whatever font the reader has.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from html import escape
from typing import NamedTuple

from attn_cli.render.page import Block, Matrix, Page
from attn_cli.render.terminal import layout
from attn_cli.render.terminal.grid import Row, Skin
from attn_cli.render.terminal.text import shortened, visible, width

FONT = "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, 'Noto Sans Mono CJK SC', monospace"
SANS = "system-ui, 'Noto Sans', 'Noto Sans CJK SC', 'DejaVu Sans', sans-serif"
CELL = 7.23
"""How wide a character of the fixed-width font is at 12 pixels."""


def draw(page: Page) -> str:
    maps = page.style.detail == "compute" and not page.style.cells and not page.lead
    return _maps(page) if maps else _screen(page)


class Box(NamedTuple):
    """A part of a picture and its size."""

    wide: float
    high: float
    parts: list[str]


def _document(wide: float, high: float, title: str, paper: str, parts: Iterable[str]) -> str:
    label = escape(visible(title))
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:.0f} {high:.0f}" width="{wide:.0f}" height="{high:.0f}" role="img" '
        f'aria-label="{label}">\n<title>{label}</title>\n<rect width="100%" height="100%" rx="8" fill="{paper}"/>\n{body}\n</svg>\n'
    )


def _text(x: float, y: float, words: str, **look: object) -> str:
    attributes = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in look.items())
    return f'<text x="{x:.1f}" y="{y:.1f}"{attributes}>{escape(visible(words)) if words else ""}</text>'


# ------------------------------------------------------------------ heat maps
PAPER, INK, SOFT = "#ffffff", "#1b1b1f", "#5c5f66"
HIGH, LOW, CLOSED = (255, 138, 0), (0, 98, 204), "#e4e5e8"
EDGE, GAP, ROW = 20, 28, 26
LOOK = {"font_family": escape(FONT), "font_size": 12}
"""How numbers and labels are set."""
LONGEST = 32
"""Characters; longer labels are shortened."""


def _maps(shown: Page) -> str:
    """A heat map a matrix; those of several heads side by side."""
    blocks = [b for b in shown.blocks if shown.style.only or b.name == "weights"]
    x, y, wide = float(EDGE), float(EDGE), 0.0
    parts = [_text(x, y + 14, shown.title, font_size=17, font_weight=600, fill=INK)]
    wide = max(wide, EDGE * 2 + width(visible(shown.title)) * 9.6)
    conventions = " · ".join(shown.conventions)
    parts.append(_text(x, y + 36, conventions, font_size=12, fill=SOFT))
    wide = max(wide, EDGE * 2 + width(conventions) * 6.6)
    y += 50
    for block in blocks:
        heading = f"{block.heading}  {block.formula.plain()}" if block.formula else block.heading
        parts.append(_text(x, y + 18, heading, font_size=14, font_weight=600, fill=INK))
        wide = max(wide, EDGE * 2 + width(heading) * 8)
        y += 34
        boxes = [_map(matrix, block) for matrix in block.matrices]
        across = max(1, min(len(boxes), math.ceil(math.sqrt(len(boxes))), int(1400 // (boxes[0].wide + GAP)) or 1))
        for i in range(0, len(boxes), across):
            at = x
            for box in boxes[i : i + across]:
                parts += [f'<g transform="translate({at:.1f} {y:.1f})">', *box.parts, "</g>"]
                at += box.wide + GAP
            wide = max(wide, at - GAP + EDGE)
            y += max(box.high for box in boxes[i : i + across]) + GAP / 2
        y += GAP / 2
    return _document(wide, y - GAP + EDGE, shown.title, PAPER, [f'<g font-family="{escape(SANS)}">', *parts, "</g>"])


def _map(matrix: Matrix, block: Block) -> Box:
    rows = shortened([visible(label) for label in matrix.rows], LONGEST)
    columns = shortened([visible(label) for label in matrix.columns], LONGEST)
    numbers = max((width(cell) for row in matrix.texts for cell in row), default=1)
    cell = max(numbers * CELL + 12, 34)
    left = max(map(width, rows), default=0) * CELL + 10
    turned = any(width(label) * CELL > cell - 4 for label in columns)
    top = (max(map(width, columns), default=0) * CELL * 0.72 + 14) if turned else 20.0
    parts: list[str] = []
    if matrix.caption:
        parts.append(_text(0, 11, matrix.caption, font_size=12, font_style="italic", fill=SOFT))
        top += 18
    for j, label in enumerate(columns):
        x, y = left + j * cell + cell / 2, top - 6
        place = {"transform": f"rotate(-45 {x:.1f} {y:.1f})"} if turned else {"text_anchor": "middle"}
        parts.append(_text(x, y, label, **LOOK, fill=SOFT, **place))
    largest = _largest(matrix)
    for i, label in enumerate(rows):
        parts.append(_text(left - 6, top + i * ROW + 17, label, **LOOK, fill=SOFT, text_anchor="end"))
        for j, number in enumerate(matrix.texts[i]):
            parts += _number(left + j * cell, top + i * ROW, cell, number, _shade(float(matrix.value[i, j]), largest))
    extra = max(map(width, columns), default=0) * CELL * 0.72 - cell / 2 if turned else 0
    return Box(max(left + len(columns) * cell + max(extra, 0), width(matrix.caption) * 6.6), top + len(rows) * ROW, parts)


def _largest(matrix: Matrix) -> float:
    """The size of number that has the full colour."""
    sizes = [abs(number) for number in matrix.value.ravel().tolist() if math.isfinite(number)]
    return 1.0 if matrix.shaded else max(sizes, default=0.0) or 1.0


def _number(x: float, y: float, wide: float, number: str, colours: tuple[str, str]) -> list[str]:
    """A number on its coloured cell."""
    fill, ink = colours
    return [
        f'<rect x="{x + 1:.1f}" y="{y + 1}" width="{wide - 2:.1f}" height="{ROW - 2}" rx="3" fill="{fill}"/>',
        _text(x + wide / 2, y + 17, number, **LOOK, fill=ink, text_anchor="middle"),
    ]


def _shade(value: float, largest: float) -> tuple[str, str]:
    """The colour of a cell and of its number: orange above 0, blue below, grey where closed."""
    if not math.isfinite(value):
        return CLOSED, SOFT
    part = min(1.0, abs(value) / largest) ** 0.7  # so that small weights differ, too
    red, green, blue = (round(255 + (full - 255) * (0.06 + 0.94 * part)) for full in (HIGH if value >= 0 else LOW))
    return f"#{red:02x}{green:02x}{blue:02x}", "#ffffff" if value < 0 and part > 0.7 else INK


# ------------------------------------------------------------------ the page as a terminal shows it
SCREEN, BAR = "#1a1b20", "#2a2c33"
INKS = {
    "title": "#ffffff",
    "conventions": "#9aa0aa",
    "number_of_step": "#4cc9d6",
    "step": "#ffffff",
    "formula": "#f2c572",
    "numbers": "#9aa0aa",
    "caption": "#c7b3f0",
    "label": "#4cc9d6",
    "rule": "#565b66",
    "sum": "#9aa0aa",
    "chosen": "#ffb347",
    "name": "#4cc9d6",
    "zero": "#8a909b",
    "remark": "#9aa0aa",
    "right": "#6fcf73",
    "rounded": "#6fcf73",
    "carried": "#f2c14e",
    "wrong": "#ff8a80",
    "missing": "#c3c7cf",
}
TEXT, BOLD = "#e4e6ea", ("title", "step", "number_of_step", "chosen", "wrong")
LINE, SIZE = 20.0, 14.0
STEP = SIZE * 0.602


def _screen(shown: Page) -> str:
    """A window with the page in it, a word in the colour of its role; weights are shaded."""
    rows = list(layout.laid_out(shown, Skin(rules=True)))
    across = max(map(layout.size, rows), default=0)
    parts = [f'<path d="M0 36V8a8 8 0 0 1 8-8h{across * STEP + 24:.0f}a8 8 0 0 1 8 8v28z" fill="{BAR}"/>']
    parts += [f'<circle cx="{20 + 18 * i}" cy="18" r="6" fill="{c}"/>' for i, c in enumerate(("#ff5f57", "#febc2e", "#28c840"))]
    parts.append(f'<g font-family="{escape(FONT)}" font-size="{SIZE:.0f}" fill="{TEXT}">')
    for i, row in enumerate(rows):
        parts += _row(row, 20.0, 46 + i * LINE)
    parts.append("</g>")
    return _document(across * STEP + 40, 46 + len(rows) * LINE + 14, shown.title, SCREEN, parts)


def _row(row: Row, x: float, y: float) -> Iterator[str]:
    for word, role in row:
        wide = width(word) * STEP
        if role.startswith("shade") and role != "shade0" and word.strip():
            blank = (len(word) - len(word.lstrip())) * STEP
            strength = 0.12 + 0.68 * int(role[5:]) / 8
            yield f'<rect x="{x + blank - 3:.1f}" y="{y + 1:.1f}" width="{wide - blank + 6:.1f}" height="{LINE - 2}" rx="3" ' + (
                f'fill="#d9740a" fill-opacity="{strength:.2f}"/>'
            )
        if role == "rule" and not set(word) - set(" │─┼├└"):
            yield from _rules(word, x, y)
        else:
            yield from _words(word, role, x, y)
        x += wide


def _words(word: str, role: str, x: float, y: float) -> Iterator[str]:
    """A run of text from its first letter to its last, made as wide as its cells."""
    shown = word.strip()
    if not shown:
        return
    x += (len(word) - len(word.lstrip())) * STEP
    look = f' fill="{INKS[role]}"' if role in INKS else ""
    look += ' font-weight="700"' if role in BOLD else ' font-style="italic"' if role in ("formula", "caption") else ""
    fitted = f'textLength="{width(shown) * STEP:.1f}" lengthAdjust="spacingAndGlyphs" xml:space="preserve"'
    yield f'<text x="{x:.1f}" y="{y + 14.5:.1f}"{look} {fitted}>{escape(shown)}</text>'


def _rules(word: str, x: float, y: float) -> Iterator[str]:
    """Rules as lines, so that they meet whatever the font."""
    path = ""
    for i, c in enumerate(word):
        left, middle, right = x + i * STEP, x + (i + 0.5) * STEP, x + (i + 1) * STEP
        if c in "─┼":
            path += f"M{left:.1f} {y + LINE / 2:.1f}H{right:.1f}"
        if c in "│┼├":
            path += f"M{middle:.1f} {y:.1f}v{LINE:.0f}"
        if c == "└":
            path += f"M{middle:.1f} {y:.1f}v{LINE / 2:.0f}"
        if c in "├└":
            path += f"M{middle:.1f} {y + LINE / 2:.1f}H{right:.1f}"
    if path:
        yield f'<path d="{path}" stroke="{INKS["rule"]}" fill="none"/>'
