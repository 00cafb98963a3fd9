"""The boxes depend on each other in one direction, and only the right ones know the libraries."""

import ast
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


def imported(module: Path) -> list[str]:
    """Every module that this one imports, anywhere in it."""
    names = []
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
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
