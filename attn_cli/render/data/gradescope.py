"""Gradescope: a `results.json` as its makers publish the form."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from attn_cli.homework.report import Failed, Report, tidy
from attn_cli.render.data.json import encode
from attn_cli.render.lang import text
from attn_cli.render.marked import headline, report_page
from attn_cli.render.page import Block, Page
from attn_cli.render.style import Style
from attn_cli.render.terminal.grid import Skin
from attn_cli.render.terminal.layout import joined, laid_out

WIDE = 100
"""Columns of the text of a step."""


def report(found: Report | Failed, style: Style) -> str:
    return json.dumps(results(found, style), ensure_ascii=False, indent=1) + "\n"


def reports(found: Sequence[Report | Failed], style: Style) -> str:
    """One line a submission; in a folder each has a file of its own."""
    return "".join(encode({"file": one.file, **results(one, style)}) + "\n" for one in found)


def results(found: Report | Failed, style: Style) -> dict[str, Any]:
    """One submission; one that could not be read has no points, and the reason."""
    if isinstance(found, Failed):
        return {"score": 0, "output": f"{text('class.error', style.lang)}: {found.error}", "output_format": "text", "tests": []}
    page = report_page(found, replace(style, width=WIDE, color=False))
    blocks = {block.name: block for block in page.blocks}
    lead = [paragraph for paragraph in page.lead if paragraph.role not in ("title", "legend")]
    intro = _text(page._replace(title="", conventions=(), lead=tuple(lead), blocks=()))
    tests = [
        {
            "name": step.name,
            "score": tidy(step.points * step.share),
            "max_score": tidy(step.points),
            "status": "passed" if step.points * step.share >= step.points else "failed",
            "output": _block_text(page, blocks[step.name]),
            "output_format": "text",
        }
        for step in found.steps
    ]
    return {
        "score": found.earned,
        "output": "\n".join([headline(found, style), *([intro] if intro else [])]),
        "output_format": "text",
        "tests": tests,
    }


def _block_text(page: Page, block: Block) -> str:
    """A step without its heading, which Gradescope writes itself."""
    return _text(page._replace(title="", conventions=(), lead=(), blocks=(block,))).partition("\n")[2].strip("\n")


def _text(page: Page) -> str:
    return joined(laid_out(page, Skin())).strip("\n")
