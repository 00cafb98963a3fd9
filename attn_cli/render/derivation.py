"""Where one number comes from: its arithmetic, that of the numbers in it, and so on down to the inputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, islice, product
from typing import Any, NamedTuple

from attn_cli.engine.arrays import Cell
from attn_cli.engine.steps import Step, Trace
from attn_cli.errors import InputError
from attn_cli.render.labels import Names
from attn_cli.render.lines import worked_line
from attn_cli.render.page import Line
from attn_cli.render.style import Style
from attn_cli.render.terminal.text import visible

DEPTH = 3
"""Levels below the number that a derivation follows, unless another depth is asked for."""
BRANCHES = 8
"""Numbers of one line that a derivation follows; those left are counted."""
SHOWN_LABELS = 12
"""An error lists at most this many labels."""


class Node(NamedTuple):
    """A worked line and those that its numbers come from."""

    line: Line
    step: Step
    branches: tuple[Node, ...]
    folded: int = 0
    """How many of its numbers are not followed."""

    def walk(self, depth: int = 0) -> Iterator[tuple[int, Node]]:
        """Every node with its depth, the result first."""
        yield depth, self
        for branch in self.branches:
            yield from branch.walk(depth + 1)


class Derivation(NamedTuple):
    """One number's way from the inputs."""

    root: Node
    style: Style

    def shown(self) -> tuple[list[tuple[int, Node]], int]:
        """The nodes, with their depth, and how many numbers are not followed."""
        nodes = list(self.root.walk())
        return nodes, sum(node.folded for _, node in nodes)

    def document(self) -> dict[str, Any]:
        """For JSON: the lines from the result down, and how many numbers are not followed."""
        nodes, folded = self.shown()
        lines = [node.line.plain(self.style.fold, self.style.lang) for _, node in nodes]
        return {"step": self.root.step.name, "cell": list(self.root.line.at), "lines": lines, "folded": folded}


def derivations(trace: Trace | None, style: Style) -> tuple[Derivation, ...]:
    """The derivation of each of `style.cells`. Raises InputError for a cell that is not there."""
    return () if trace is None else tuple(derive(trace, *find_cell(trace, reference), style) for reference in style.cells)


def derive(trace: Trace, step: Step, at: Cell, style: Style) -> Derivation:
    """The tree of the cell that is shown at `at`; each cell is derived once. Deep and wide trees are folded."""
    names, seen = Names(trace), {(step.name, at)}
    deepest = None if style.full else DEPTH if style.depth is None else style.depth
    widest = None if style.full else BRANCHES

    def sources(step: Step, at: Cell) -> list[tuple[Step, Cell]]:
        """The cells of other steps that a cell is made from and that no line has shown yet."""
        found: dict[tuple[str, Cell], Step] = {}
        for n in () if step.given else step.cell(at).numbers():
            source = names.step_of(n)
            if source is not None and (key := (source.name, source.row_cell(n.at))) not in seen:
                found[key] = source
        return [(source, place) for (_, place), source in found.items()]

    def grown(step: Step, at: Cell, depth: int) -> Node:
        new = sources(step, at)
        followed = [] if depth == deepest else new[:widest]
        seen.update((source.name, place) for source, place in followed)
        branches = tuple(grown(source, place, depth + 1) for source, place in followed)
        return Node(worked_line(step, at, style, names, named=True), step, branches, len(new) - len(followed))

    return Derivation(grown(step, at, 0), style)


# ------------------------------------------------------------------ weights[x1,x3]
def find_cell(trace: Trace, reference: str) -> tuple[Step, Cell]:
    """The step and cell that a reference names: `weights[1,3]`, `weights[x1,x3]`, `S[x1,x3]`; numbers count from 1.

    A label may contain commas and brackets. Raises InputError that lists what exists.
    """
    name, bracket, inner = reference.strip().partition("[")
    step, head = _step(trace, name.strip())
    if not bracket or not inner.endswith("]"):
        raise InputError(f"{visible(reference)} names no cell; write {example(trace, step)}")
    inner, names = inner[:-1], Names(trace)
    axes, sizes = step.axes[len(head) :], step.value.shape[len(head) :]
    labels = [names.labels(axis, size) for axis, size in zip(axes, sizes, strict=True)]
    readings = list(islice(_readings(inner.split(","), len(axes)), 10_000))
    found = {at for reading in readings for at in product(*map(_places, reading, labels))}
    if len(found) == 1:
        return step, (*head, *found.pop())
    if found:
        possible = ", ".join(f"{step.name}[{','.join(f'#{i + 1}' for i in (*head, *at))}]" for at in sorted(found)[:4])
        raise InputError(f"{visible(reference)} may be any of {possible}; # counts from 1, whatever the labels")
    if len(readings) == 1:
        for part, axis, own in zip(readings[0], axes, labels, strict=True):
            if not _places(part, own):
                raise InputError(f"{step.name} has no {axis} {visible(part.strip())!r}; there are {_listed(axis, own)}")
    existing = "; ".join(f"{axis}: {_listed(axis, own)}" for axis, own in zip(axes, labels, strict=True))
    raise InputError(f"{visible(reference)} is no cell of {step.name}; write {example(trace, step)} ({existing})")


def _step(trace: Trace, name: str) -> tuple[Step, Cell]:
    """A step by its name or its symbol; a symbol may carry the number of a head (A₂)."""
    if name not in trace:
        bare = name.rstrip("₀₁₂₃₄₅₆₇₈₉")
        number = name[len(bare) :].translate(str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789"))
        for step in trace:
            if number and step.axes[0] == "head" and step.kind.plain == bare and 1 <= int(number) <= step.value.shape[0]:
                return step, (int(number) - 1,)
            if not number and step.symbol.text == name:
                return step, ()
    return trace.step(name), ()


def example(trace: Trace, step: Step) -> str:
    """How a cell of a step is written."""
    names = Names(trace)
    places = (names.labels(axis, size)[0] for axis, size in zip(step.axes, step.value.shape, strict=True))
    return f"{step.name}[{','.join(map(visible, places))}]"


def _readings(parts: Sequence[str], count: int) -> Iterator[list[str]]:
    """Every way to read a text cut at its commas as `count` places."""
    for cuts in combinations(range(1, len(parts)), count - 1):
        ends = [0, *cuts, len(parts)]
        yield [",".join(parts[a:b]) for a, b in zip(ends, ends[1:], strict=False)]


def _places(part: str, labels: Sequence[str]) -> list[int]:
    """The places along an axis that a text may mean: those of that label, and the one of that number."""
    text = part.strip()
    if text.startswith("#") and text[1:].isdecimal() and part not in labels:
        return [int(text[1:]) - 1] if 1 <= int(text[1:]) <= len(labels) else []
    wanted = {part, text}
    found = [i for i, label in enumerate(labels) if label in wanted or visible(label) in wanted]
    if text.isdecimal() and 1 <= int(text) <= len(labels):
        found.append(int(text) - 1)
    return found


def _listed(axis: str, labels: Sequence[str]) -> str:
    if axis not in ("query", "key"):
        return f"1 to {len(labels)}"
    shown = [visible(label) for label in labels[:SHOWN_LABELS]]
    return ", ".join(shown) + (f", … ({len(labels)} in all)" if len(labels) > SHOWN_LABELS else "")
