"""What many samples of an estimated gradient come to, beside the exact gradient of the expected loss."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from attn_cli.engine.steps import Step, Trace, gradient_of
from attn_cli.render.labels import Names
from attn_cli.render.lang import text
from attn_cli.render.sheet import Sheet, Table
from attn_cli.render.style import Style

KEYS = ("mean", "standard_error", "exact")


def estimate_sheet(trace: Trace, style: Style) -> Sheet:
    """A row a cell: the mean, its standard error, the exact value, and how many errors lie between."""
    found = trace.findings["estimate"]
    header = ("", *(text(f"estimate.{key}", style.lang) for key in (*KEYS, "apart")))
    tables = []
    for name in found["gradients"]:
        step = gradient_of(name)
        if step in trace and (not style.only or step in style.only):
            tables.append(Table(step, header, tuple(_rows(trace.step(step), found["gradients"][name], trace, style))))
    return Sheet(text("estimate.title", style.lang, samples=found["samples"], seed=found["seed"]), tuple(tables))


def _rows(step: Step, numbers: dict[str, Any], trace: Trace, style: Style) -> Iterator[tuple[str, ...]]:
    names = Names(trace)
    arrays = [numbers[key].reshape(step.value.shape) for key in KEYS]
    for at in np.ndindex(*step.value.shape):
        mean, error, exact = (float(array[at]) for array in arrays)
        apart = f"{abs(mean - exact) / error:.1f}" if error > 0 else "-"
        yield names.cell(step, at).plain(), *map(style.number, (mean, error, exact)), apart
