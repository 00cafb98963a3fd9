"""The boxes depend on each other in one direction, and only the right ones know the libraries."""

import ast
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "attn_cli"
MODULES = sorted(ROOT.rglob("*.py"))

MAY_IMPORT = {
    "errors": set(),
    "names": set(),
    "engine": {"errors", "names"},
    "homework": {"engine", "errors", "names"},
    "files": {"homework", "engine", "errors", "names"},
    "render": {"homework", "engine", "errors", "names"},
    "batch": {"render", "files", "homework", "engine", "errors", "names"},
    "commands": {"batch", "render", "files", "homework", "engine", "errors", "names"},
    "cli": {"commands", "batch", "render", "files", "homework", "engine", "errors", "names"},
}
"""Each box, and the boxes below it."""

ONLY_IN = {
    "typer": {"commands", "cli"},
    "rich": {"render"},
    "yaml": {"files"},
    "numpy": {"engine", "homework", "files", "render"},
    "click": set(),
}
"""Libraries, and the boxes that may know them."""


def box(module: Path) -> str:
    return module.relative_to(ROOT).parts[0].removesuffix(".py")


@cache
def parsed(module: Path) -> ast.Module:
    return ast.parse(module.read_text(encoding="utf-8"))


@cache
def imported(module: Path) -> list[str]:
    """Every module that this one imports, anywhere in it."""
    names = []
    for node in ast.walk(parsed(module)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: imports are absolute"
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return names


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_imports_only_from_its_own_box_and_those_below(module):
    own = box(module)
    boxes = {name.split(".")[1] for name in imported(module) if name.startswith("attn_cli.")}
    assert boxes - MAY_IMPORT.get(own, boxes) - {own, "__version__"} == set()


@pytest.mark.parametrize("library", ONLY_IN)
def test_a_library_is_known_only_where_it_belongs(library):
    assert {box(module) for module in MODULES if library in {name.split(".")[0] for name in imported(module)}} <= ONLY_IN[library]


def test_the_engine_knows_numpy_and_nothing_else():
    import sys

    known = {"attn_cli", "numpy", *sys.stdlib_module_names}
    assert {name.split(".")[0] for module in MODULES if box(module) == "engine" for name in imported(module)} <= known


# ---- the shape of modules

LONGEST = 450
"""Lines of a module: one that is longer does two things, or holds a table that belongs into a folder."""

MOST_COMPLEX = 15
"""Decisions in a function, and one: a reader can hold about so many ways through it in mind."""

ALLOWED: dict[str, str] = {}
"""Functions that keep more in one piece, and why."""


def dotted(module: Path) -> str:
    return ".".join(["attn_cli", *module.relative_to(ROOT).with_suffix("").parts]).removesuffix(".__init__")


def circles() -> list[list[str]]:
    """Groups of modules that import each other, directly or on a way round, for their types alone too."""
    names = {dotted(module): module for module in MODULES}
    graph = {}
    for name, module in names.items():
        found = {one if one in names else one.rpartition(".")[0] for one in imported(module)}
        graph[name] = {one for one in found if one in names and one != name}

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        ahead = [start]
        while ahead:
            ahead += (new := graph[ahead.pop()] - seen)
            seen |= new
        return seen

    ways = {name: reached(name) for name in graph}
    return sorted({tuple(sorted(b for b in ways[a] if a in ways[b])) for a in graph if a in ways[a]})


def decisions(node: ast.AST) -> int:
    """How many ways part within a piece of code; the functions in it count on their own."""
    own = {
        ast.If: lambda: 1,
        ast.IfExp: lambda: 1,
        ast.For: lambda: 1 + bool(node.orelse),
        ast.While: lambda: 1 + bool(node.orelse),
        ast.Try: lambda: len(node.handlers) + bool(node.orelse),
        ast.BoolOp: lambda: len(node.values) - 1,
        ast.Assert: lambda: 1,
        ast.comprehension: lambda: 1 + len(node.ifs),
        ast.Match: lambda: len(node.cases) - any(getattr(case.pattern, "pattern", case) is None for case in node.cases),
    }.get(type(node), lambda: 0)()
    return own + sum(decisions(child) for child in ast.iter_child_nodes(node) if not isinstance(child, ast.FunctionDef))


@cache
def functions(module: Path) -> dict[str, ast.FunctionDef]:
    """Every function of a module by its name, with the class or function that it stands in."""

    def within(node: ast.AST, outer: str) -> dict[str, ast.FunctionDef]:
        found = {}
        for child in ast.iter_child_nodes(node):
            name = f"{outer}.{child.name}" if isinstance(child, ast.ClassDef | ast.FunctionDef) else outer
            found |= within(child, name) | ({name: child} if isinstance(child, ast.FunctionDef) else {})
        return found

    return within(parsed(module), dotted(module))


@cache
def too_complex() -> list[str]:
    return [name for module in MODULES for name, found in functions(module).items() if 1 + decisions(found) > MOST_COMPLEX]


def too_long() -> list[str]:
    return [dotted(module) for module in MODULES if len(module.read_text(encoding="utf-8").splitlines()) > LONGEST]


def named_like_their_function() -> list[str]:
    return [dotted(module) for module in MODULES if f"{dotted(module)}.{module.stem}" in functions(module)]


def test_no_module_imports_itself_on_a_way_round():
    assert circles() == []


@pytest.mark.parametrize("found", [too_complex, too_long, named_like_their_function])
def test_modules_and_functions_are_of_a_size_to_read_and_have_names_of_their_own(found):
    kinds = set(found())
    assert sorted(kinds - set(ALLOWED)) == []


def test_nothing_is_excused_without_need():
    faults = {*too_complex(), *too_long(), *named_like_their_function(), *(name for circle in circles() for name in circle)}
    assert sorted(set(ALLOWED) - faults) == []
