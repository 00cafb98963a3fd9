"""What `attn compare` shows, as sheets: ways side by side, two sides step by step, and the study of scaling."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np

import attn_cli
from attn_cli.engine.arrays import Array
from attn_cli.engine.comparison import Apart, Way, disagreements
from attn_cli.engine.modes import MODES
from attn_cli.engine.notes import Note
from attn_cli.engine.scaling import KEYS, Measured
from attn_cli.engine.steps import Step, Trace, turned
from attn_cli.render.data.json import _plain, plain_value
from attn_cli.render.labels import Names
from attn_cli.render.lang import note_text, text
from attn_cli.render.scaling_chart import bars, picture
from attn_cli.render.sheet import Sheet, Table
from attn_cli.render.style import Style
from attn_cli.render.walkthrough import default_title

LINES = 24
"""Queries whose weights a page lays side by side; data formats hold all of them."""
NONE = "-"
"""Stands where a row may attend to nothing, or one side lacks a step."""


# ------------------------------------------------------------------ every score function and mode
def ways_sheet(trace: Trace, found: Sequence[Way], notes: Sequence[Note], style: Style) -> Sheet:
    """What each way costs and where its weights go, then the weights of each query, one way a row."""
    title = trace.problem.title or default_title(trace, style.lang)
    tables = [_costs(found, style)]
    rows = list(np.ndindex(*found[0].winner.shape))
    tables += [_weights(trace, found, at, style) for at in rows[:LINES]]
    lines = [_disagreement(trace, found, at, chosen, style) for at, chosen in islice(disagreements(list(found)), LINES)]
    lines = lines or [text("compare.agree", style.lang)]
    if len(rows) > LINES:
        lines.append(text("compare.more", style.lang, shown=LINES, count=len(rows)))
    if all(one.multiplications == 0 for one in found):
        lines.append(text("compare.given", style.lang))
    return Sheet(title, tuple(tables), tuple(lines), document=_ways_document(title, trace, found, notes, style))


def _row_name(trace: Trace, at: tuple[int, ...], lang: str) -> str:
    label = trace.query_labels[at[-1]]
    return f"{label}, {text('head', lang, number=at[0] + 1)}" if len(at) > 1 else label


def _costs(found: Sequence[Way], style: Style) -> Table:
    """What each score function costs, whatever the mode."""
    header = tuple(text(f"compare.{key}", style.lang) for key in ("score", "multiplications", "parameters"))
    rows = {one.score: (one.score, str(one.multiplications), str(one.parameters)) for one in found}
    return Table(text("compare.costs", style.lang), header, tuple(rows.values()))


def _weights(trace: Trace, found: Sequence[Way], at: tuple[int, ...], style: Style) -> Table:
    """The weights of one query, one way a row, then the largest, the key that has it, and the entropy."""
    header = (*(text(f"compare.{key}", style.lang) for key in ("score", "mode")), *trace.key_labels)
    header += tuple(text(f"compare.{key}", style.lang) for key in ("largest", "winner", "entropy"))
    rows = []
    for one in found:
        key, weights = int(one.winner[at]), one.weights[at].tolist()
        numbers = [style.number(value) for value in (*weights, float(one.largest[at]), float(one.entropy[at]))]
        rows.append((one.score, one.mode, *numbers[:-1], trace.key_labels[key] if key >= 0 else NONE, numbers[-1]))
    return Table(text("compare.weights", style.lang, row=_row_name(trace, at, style.lang)), header, tuple(rows), 2)


def _disagreement(trace: Trace, found: Sequence[Way], at: tuple[int, ...], chosen: dict[int, list[Way]], style: Style) -> str:
    """Which key wins by which score functions; the modes are named where a score function's modes are not of one mind."""
    joint, apart = ("、", "；") if style.lang == "zh" else (", ", "; ")
    sides = []
    for key, ways in chosen.items():
        modes = {score: [one.mode for one in ways if one.score == score] for score in dict.fromkeys(one.score for one in ways)}
        names = [score if len(each) == _steady(found, score) else f"{score} ({joint.join(each)})" for score, each in modes.items()]
        sides.append(text("compare.chooses", style.lang, key=trace.key_labels[key] if key >= 0 else NONE, ways=joint.join(names)))
    return text("compare.disagree", style.lang, row=_row_name(trace, at, style.lang), sides=apart.join(sides))


def _steady(found: Sequence[Way], score: str) -> int:
    """How many modes that draw no lots a score function was tried in."""
    return sum(one.score == score and not MODES[one.mode].random for one in found)


def _ways_document(title: str, trace: Trace, found: Sequence[Way], notes: Sequence[Note], style: Style) -> dict[str, Any]:
    return {
        "attn": attn_cli.__version__,
        "title": title,
        "query_tokens": list(trace.query_labels),
        "key_tokens": list(trace.key_labels),
        "rows": [
            {
                "score": None if trace.problem.scores is not None else one.score,
                "mode": one.mode,
                "weights": plain_value(turned("weights", one.weights) if trace.problem.vectors == "columns" else one.weights),
                "entropy": one.entropy.tolist(),
                "largest": one.largest.tolist(),
                "winner": _winners(one.winner),
                "multiplications": one.multiplications,
                "parameters": one.parameters,
            }
            for one in found
        ],
        "notes": [{"code": note.code, "text": note_text(note, style.lang)} for note in notes],
    }


def _winners(winner: Array) -> Any:
    """Keys count from 0, as cells do in JSON; null in a row that may attend to nothing."""
    if winner.ndim > 1:
        return [_winners(part) for part in winner]
    return [None if key < 0 else key for key in winner.tolist()]


# ------------------------------------------------------------------ two sides
def apart_sheet(
    names: tuple[str, str],
    trace: Trace,
    steps: Sequence[Apart],
    first: Apart | None,
    settings: Sequence[tuple[str, Any, Any]],
    style: Style,
) -> Sheet:
    """Step by step: how far two sides are apart, and the first step that departs."""
    rows = tuple((one.name, _difference(one, style), _cell(trace, one), "≠" if one is first else "") for one in steps)
    header = ("", *(text(f"compare.{key}", style.lang) for key in ("difference", "where", "first")))
    line = text("compare.same", style.lang)
    if first is not None:
        line = text("compare.departs", style.lang, cell=_cell(trace, first) or first.name)
    differences = [text("compare.setting", style.lang, key=key, a=a, b=b) for key, a, b in settings]
    document = {
        "attn": attn_cli.__version__,
        "files": list(names),
        "equal": first is None,
        "first": None if first is None else {"step": first.name, "cell": list(first.cell) or None},
        "steps": [{**one._asdict(), "largest": _plain(one.largest), "cell": list(one.cell) or None} for one in steps],
        "settings": [{"key": key, "a": _plain(a), "b": _plain(b)} for key, a, b in settings],
    }
    return Sheet(
        text("compare.title", style.lang, a=names[0], b=names[1]), (Table("", header, rows),), (line, *differences), document=document
    )


def _difference(one: Apart, style: Style) -> str:
    """The largest difference of a step, or why there is none."""
    return text(f"compare.{one.reason}", style.lang) if one.reason else f"{one.largest:.3g}"


def _cell(trace: Trace, one: Apart) -> str:
    """The cell that is farthest off; empty where nothing is, or where the whole step is."""
    if one.name not in trace or not one.cell or not one.largest:
        return ""
    step: Step = trace.step(one.name)
    return Names(trace).cell(step, one.cell).plain()


# ------------------------------------------------------------------ the study of scaling
def scaling_sheet(found: Sequence[Measured], samples: int, seed: int, style: Style) -> Sheet:
    """A row a width: what dot products do as they are, and divided by √d_k."""
    keys = [key for key in Measured._fields if key != "d_k"]
    header = ("d_k", *(text(f"study.{key}", style.lang) for key in keys))
    rows = tuple((str(row.d_k), *(style.number(getattr(row, key)) for key in keys)) for row in found)
    last = found[-1]
    line = text(
        "study.line", style.lang, d_k=last.d_k, std=f"{last.std_dot:.3g}", root=f"{last.d_k**0.5:.3g}", scaled=f"{last.std_scaled:.3g}",
        largest=f"{last.largest_weight_dot:.3g}", largest_scaled=f"{last.largest_weight_scaled:.3g}",
        gradient=f"{last.gradient_dot:.3g}", gradient_scaled=f"{last.gradient_scaled:.3g}",
    )  # fmt: skip
    drawn = text("study.drawn", style.lang, samples=samples, keys=KEYS, seed=seed)
    document = {"attn": attn_cli.__version__, "study": "scaling", "samples": samples, "keys": KEYS, "seed": seed}
    return Sheet(
        text("study.title", style.lang),
        (Table("", header, rows, 1),),
        (line, drawn),
        bars=tuple(bars(found, style)),
        picture=picture(found, style),
        document={**document, "rows": [row._asdict() for row in found]},
    )
