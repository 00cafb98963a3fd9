"""Where reports of marking go: to standard output, all into one file, or into a folder of their own."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from attn_cli.commands.output import write
from attn_cli.errors import UsageError

if TYPE_CHECKING:
    from attn_cli.homework.report import Failed, Report
    from attn_cli.render.formats import Format
    from attn_cli.render.style import Style

INDEX = "index"
"""The page of a class beside the pages of its submissions."""


def is_folder(output: str) -> bool:
    """Whether a folder is meant: one that exists, or a name that ends in a slash or has no suffix."""
    from attn_cli.files.writing import is_stream

    return os.path.isdir(output) or output.endswith(("/", os.sep)) or not (Path(output).suffix or is_stream(output))


def deliver(reports: Sequence[Report | Failed], form: Format, style: Style, output: str | None) -> None:
    """Write one report as it is; several as a class; into a folder one each, and there an index of pages that can have links."""
    if output is not None and is_folder(output):
        _fill(Path(output), reports, form, style)
    elif len(reports) == 1:
        write(form.report(reports[0], style), output, form.utf_8)
    else:
        write(form.reports(reports, style), output, form.utf_8)


def _fill(folder: Path, reports: Sequence[Report | Failed], form: Format, style: Style) -> None:
    from attn_cli.files.writing import save

    suffix = form.suffixes[0]
    names = _names([report.file for report in reports], taken=f"{INDEX}{suffix}", suffix=suffix)
    for report, name in zip(reports, names, strict=True):
        target = folder / name
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"{target.parent}: cannot be made: {(error.strerror or 'unknown reason').lower()}") from None
        save(target, form.report(report, style))
    if form.name == "html" and len(reports) > 1:
        links = tuple(quote(name, errors="surrogateescape") for name in names)
        save(folder / f"{INDEX}{suffix}", form.reports(reports, replace(style, links=links)))


def _names(files: Sequence[str | None], taken: str, suffix: str) -> list[str]:
    """A file below the folder for each submission, named after it; none has the name of another or of the index."""
    names, used = [], {taken}
    for file in files:
        plain = "/".join(part for part in Path(file or "report").parts if part not in ("..", Path(file or "report").anchor)) or "report"
        name, again = f"{plain}{suffix}", 2
        while name.lower() in used:  # some systems do not tell capitals from small letters
            name, again = f"{plain}~{again}{suffix}", again + 1
        used.add(name.lower())
        names.append(name)
    return names
