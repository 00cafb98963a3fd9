"""What a problem cannot reveal, as a sheet."""

from __future__ import annotations

from collections.abc import Sequence

import attn_cli
from attn_cli.homework.mistakes.hidden import Hidden
from attn_cli.render.lang import text
from attn_cli.render.sheet import Sheet, Table
from attn_cli.render.style import Style


def audit_sheet(name: str, hidden: Sequence[tuple[Hidden, str]], decimals: int, style: Style) -> Sheet:
    """One row a mistake, with what hides it."""
    rows = [(one.code, _why(one, reason, decimals, style)) for one, reason in hidden]
    header = (text("audit.code", style.lang), text("audit.why", style.lang))
    tables = (Table("", header, tuple(rows), 2),) if rows else ()
    title = text("audit.title" if rows else "audit.clean", style.lang, name=name, decimals=decimals, count=len(rows))
    lines = tuple(f"{code}: {text(f'mistake.{code}', style.lang)}" for code, _ in rows)
    document = {"attn": attn_cli.__version__, "decimals": decimals, "hidden": [{"code": code, "why": why} for code, why in rows]}
    return Sheet(title, tables, lines, document=document)


def _why(one: Hidden, reason: str, decimals: int, style: Style) -> str:
    steps = ", ".join(one.steps)
    return text(f"audit.{reason}", style.lang, steps=steps, decimals=decimals, largest=f"{one.largest:.2g}")
