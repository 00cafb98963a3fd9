"""Problems as files, by writers that share nothing with the program: YAML, JSON, NPZ, and a folder of CSV files."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

SPELLINGS: tuple[Callable[[float], str], ...] = (
    lambda x: repr(x),
    lambda x: repr(x) if x % 1 else str(int(x)),
    lambda x: f"{round(x * 4)}/4",
    lambda x: f"{x:.3e}",
    lambda x: repr(x).replace("0.", ".", 1) if 0 < abs(x) < 1 else repr(x),
    lambda x: f"+{x!r}" if x >= 0 else repr(x).replace("-", "\N{MINUS SIGN}"),
)
"""How a multiple of a quarter can be written."""


def text(value: Any, spell: int) -> Any:
    """Arrays and numbers as nested lists of texts; the rest as it is."""
    if isinstance(value, dict):
        return {name: text(one, spell) for name, one in value.items()}
    if isinstance(value, np.ndarray | list | tuple):
        return [text(one, spell + 1) for one in value]
    if value is None:
        return "null"
    if isinstance(value, bool | np.bool_):
        return str(bool(value)).lower()
    if isinstance(value, int | np.integer):
        return str(value)
    if isinstance(value, float | np.floating):
        x = float(value)
        return "-inf" if np.isinf(x) else SPELLINGS[spell % len(SPELLINGS)](x) if (x * 4) % 1 == 0 else repr(x)
    return value


def yaml(problem: dict[str, Any], spell: int = 0) -> bytes:
    """Block style for mappings, and one line a row for matrices (every third one in a single line)."""

    def flow(tree: Any) -> str:
        return "[" + ", ".join(map(flow, tree)) + "]" if isinstance(tree, list) else tree

    def lines(tree: dict[str, Any], indent: str) -> list[str]:
        found: list[str] = []
        for number, (name, value) in enumerate(tree.items()):
            if isinstance(value, dict):
                found += [f"{indent}{name}:", *lines(value, indent + "  ")]
            elif isinstance(value, list) and value and isinstance(value[0], list) and (number + spell) % 3:
                found += [f"{indent}{name}:", *(f"{indent}  - {flow(row)}" for row in value)]
            else:
                found.append(f"{indent}{name}: {flow(value)}")
        return found

    tree = {
        name: [json.dumps(one, ensure_ascii=False) for one in value] if name.endswith("tokens") else value
        for name, value in problem.items()
    }
    return ("\n".join(lines(text(tree, spell), "")) + "\n").encode()


def as_json(problem: dict[str, Any], spell: int = 0) -> bytes:
    """Numbers as numbers, those that JSON cannot write and every spelling but the first as texts."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: plain(one) for name, one in value.items()}
        if isinstance(value, np.ndarray | list | tuple):
            return [plain(one) for one in value]
        if isinstance(value, bool | np.bool_):
            return bool(value)
        if isinstance(value, int | np.integer):
            return int(value)
        if isinstance(value, float | np.floating):
            return float(value) if spell % 2 == 0 and np.isfinite(value) else text(float(value), spell)
        return value

    return json.dumps(plain(problem), indent=spell % 3 or None, ensure_ascii=spell % 2 == 0).encode()


def npz(problem: dict[str, Any], spell: int = 0) -> bytes:
    """Arrays under their names, those within a mapping with a dot."""
    flat = {}
    for name, value in problem.items():
        flat |= {f"{name}.{part}": one for part, one in value.items()} if isinstance(value, dict) else {name: value}
    data = io.BytesIO()
    arrays: dict[str, Any] = {name: np.array(value) for name, value in flat.items()}
    np.savez(data, **arrays)
    return data.getvalue()


def csv(problem: dict[str, Any], folder: Path, spell: int = 0) -> None:
    """Every matrix a file, the rest in problem.yaml."""
    separator = ",;\t"[spell % 3]
    rest = {}
    for name, value in problem.items():
        if isinstance(value, np.ndarray) and value.ndim == 2 and value.dtype != bool and name != "mask":
            comma = separator == ";" and value.shape[1] > 1  # a single column of 1,5 would be two of whole numbers
            cells = [[text(x, 0).replace(".", "," if comma else ".") for x in row] for row in value]
            (folder / f"{name}.csv").write_text("".join(separator.join(row) + "\n" for row in cells), encoding="utf-8")
        else:
            rest[name] = value
    if rest:
        (folder / "problem.yaml").write_bytes(yaml(rest, spell))
