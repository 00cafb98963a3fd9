"""The study of scaling as a chart: bars of a terminal, and curves in SVG."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from html import escape

from attn_cli.engine.scaling import Measured
from attn_cli.render.lang import text
from attn_cli.render.style import Style
from attn_cli.render.terminal.text import common_width, left

LONGEST = 40
"""Cells of the longest bar."""
EIGHTHS = " ▏▎▍▌▋▊▉"
WIDE, HIGH, EDGE = 640, 300, 56
"""Pixels of the picture, and of the room for its axes."""
DOT, SCALED = "#c2410c", "#1d4ed8"
"""Colours of the two curves, which also differ by a dash, so that they can be told apart without colour."""


def bars(found: Sequence[Measured], style: Style) -> Iterator[str]:
    """The standard deviation of the products, as they are and scaled, one bar each."""
    yield text("study.std", style.lang)
    longest = max(row.std_dot for row in found)
    names = {"q·k": "std_dot", "q·k / √d_k": "std_scaled"}
    wide, size = common_width(names), len(str(max(row.d_k for row in found)))
    for row in found:
        for i, (name, key) in enumerate(names.items()):
            value = getattr(row, key)
            head = f"d_k = {row.d_k:>{size}}" if not i else " " * (size + 6)
            yield f"{head}  {left(name, wide)}  {_bar(value / longest if longest else 0)} {style.number(value)}"


def _bar(share: float) -> str:
    whole, part = divmod(round(share * LONGEST * 8), 8)
    return "█" * whole + EIGHTHS[part].strip()


def picture(found: Sequence[Measured], style: Style) -> str:
    """Two charts side by side over d_k: the standard deviation, and the largest weight beside the norm of the gradient."""
    half = WIDE // 2
    deviation = [("q·k", DOT, "", [row.std_dot for row in found]), ("q·k / √d_k", SCALED, "5 4", [row.std_scaled for row in found])]
    sharp = [
        (text("study.largest_dot", style.lang), DOT, "", [row.largest_weight_dot for row in found]),
        (text("study.largest_scaled", style.lang), SCALED, "5 4", [row.largest_weight_scaled for row in found]),
        (text("study.gradient_dot_short", style.lang), DOT, "1 4", [row.gradient_dot for row in found]),
        (text("study.gradient_scaled_short", style.lang), SCALED, "9 3 2 3", [row.gradient_scaled for row in found]),
    ]
    parts = [_chart(0, half, found, text("study.std", style.lang), deviation, True)]
    parts.append(_chart(half, half, found, text("study.sharpness", style.lang), sharp, False))
    title = escape(text("study.title", style.lang))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {HIGH}" width="{WIDE}" height="{HIGH}" role="img" '
        f'aria-label="{title}" font-family="system-ui, sans-serif" font-size="11">\n<title>{title}</title>\n'
        f'<rect width="100%" height="100%" rx="8" fill="#ffffff"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


Curve = tuple[str, str, str, list[float]]
"""Its name, colour, dash, and a value for each width."""


def _chart(x0: int, wide: int, found: Sequence[Measured], title: str, curves: Sequence[Curve], logarithmic: bool) -> str:
    """One chart; widths always stand on a logarithmic axis."""
    left_edge, right_edge, top, bottom = x0 + EDGE - 12, x0 + wide - 14, 74, HIGH - 36
    low_x, high_x = (math.log2(f(row.d_k for row in found)) for f in (min, max))
    values = [value for curve in curves for value in curve[3]]
    across: Callable[[float], float] = lambda d: left_edge + (math.log2(d) - low_x) / ((high_x - low_x) or 1) * (right_edge - left_edge)  # noqa: E731
    low, high = (min(0.5, *values), max(values)) if logarithmic else (0.0, 1.0)

    def up(value: float) -> float:
        share = (
            math.log(max(value, low) / low) / math.log(high / low) if logarithmic and high > low else (value - low) / ((high - low) or 1)
        )
        return bottom - share * (bottom - top)

    parts = [f'<text x="{x0 + 14}" y="22" font-size="13" font-weight="600" fill="#1b1b1f">{escape(title)}</text>']
    parts.append(f'<path d="M{left_edge} {top}V{bottom}H{right_edge}" fill="none" stroke="#8a8d94"/>')
    ticks = [value for value in (1, 2, 5, 10, 20, 50, 100, 200) if low <= value <= high] if logarithmic else [0, 0.25, 0.5, 0.75, 1]
    for value in ticks:
        parts.append(f'<text x="{left_edge - 5}" y="{up(value) + 4:.1f}" text-anchor="end" fill="#5c5f66">{value:g}</text>')
        parts.append(f'<path d="M{left_edge} {up(value):.1f}H{right_edge}" stroke="#e4e5e8"/>')
    for row in found:
        parts.append(f'<text x="{across(row.d_k):.1f}" y="{bottom + 16}" text-anchor="middle" fill="#5c5f66">{row.d_k}</text>')
    parts.append(f'<text x="{(left_edge + right_edge) / 2:.0f}" y="{bottom + 31}" text-anchor="middle" fill="#5c5f66">d_k</text>')
    for i, (name, colour, dash, each) in enumerate(curves):
        points = " ".join(f"{across(row.d_k):.1f},{up(value):.1f}" for row, value in zip(found, each, strict=True))
        look = f'stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"'
        parts.append(f'<polyline points="{points}" fill="none" {look}/>')
        x, y = x0 + 14 + (i % 2) * (wide // 2 - 8), 40 + 15 * (i // 2)
        parts.append(f'<path d="M{x} {y - 4}h22" {look}/><text x="{x + 27}" y="{y}" fill="#1b1b1f">{escape(name)}</text>')
    return "\n".join(parts)
