"""Mutation testing: how many small random changes of the program do its tests notice?

    python tests/benchmarks/mutants.py engine                  # 200 mutants, seed 7
    python tests/benchmarks/mutants.py homework --count 200 --seed 7 --jobs 2 --from 0

Every mutant changes one place of one module of the box: a comparison, an operator, a number, a truth, a condition, a return value, a
statement. It lives in a copy of the tree, where the tests of the box run until one fails; a mutant that takes too long counts
as noticed. Prints one line a mutant, the share that was noticed, and the diff of each that was not.
"""

from __future__ import annotations

import argparse
import ast
import copy
import difflib
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue

ROOT = Path(__file__).resolve().parents[2]
TESTS = {
    "engine": [
        "tests/engine",
        "tests/test_samples.py",
        "tests/homework/test_walkthroughs.py",
        "tests/render/test_equations.py",
        "tests/fuzz",
    ],
    "homework": ["tests/homework", "tests/commands/test_training_commands.py"],
}
"""The tests that a mutant of each box has to pass, those that are quick and notice most first."""
LEFT_OUT = (".git", ".venv", "__pycache__", ".*_cache")
"""Not copied with the tree."""
SECONDS = 240
"""The longest that a mutant's tests may run, in seconds; one that takes longer is said to be noticed."""
COMPARISONS = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
COMPARISONS |= {ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In}
OPERATORS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult, ast.MatMult: ast.Mult}
OPERATORS |= {ast.FloorDiv: ast.Div, ast.Mod: ast.FloorDiv, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd}


def changes(node: ast.AST) -> Iterator[Callable[[], None]]:
    """Each way to change one node in place."""
    if isinstance(node, ast.Compare):
        for i, one in enumerate(node.ops):
            if other := COMPARISONS.get(type(one)):
                yield lambda i=i, other=other: node.ops.__setitem__(i, other())
    elif isinstance(node, ast.BinOp) and (other := OPERATORS.get(type(node.op))):
        yield lambda: setattr(node, "op", other())
    elif isinstance(node, ast.BoolOp):
        yield lambda: setattr(node, "op", ast.And() if isinstance(node.op, ast.Or) else ast.Or())
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield lambda: setattr(node, "op", ast.UAdd()) if isinstance(node.op, ast.USub) else setattr(node, "operand", negated(node.operand))
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield lambda: setattr(node, "value", node.value + 1)
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield lambda: setattr(node, "value", not node.value)
    elif isinstance(node, ast.If | ast.IfExp | ast.While):
        yield lambda: setattr(node, "test", negated(node.test))
    elif isinstance(node, ast.Return) and node.value is not None and not isinstance(node.value, ast.Constant):
        yield lambda: setattr(node, "value", ast.Constant(None))
    elif isinstance(node, ast.Call) and len(node.args) == 2 and not any(isinstance(one, ast.Starred) for one in node.args):
        yield lambda: node.args.reverse()
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call | ast.Yield):
        yield lambda: setattr(node, "value", ast.Constant(None))
    elif isinstance(node, ast.AugAssign) and (other := OPERATORS.get(type(node.op))):
        yield lambda: setattr(node, "op", other())


def negated(test: ast.expr) -> ast.expr:
    return ast.UnaryOp(ast.Not(), test)


def told_apart(tree: ast.Module) -> list[ast.AST]:
    """The nodes whose change can matter when the program runs: none in an annotation, a default of a type, or a docstring."""
    skipped: set[int] = set()
    for node in ast.walk(tree):
        for part in ("annotation", "returns"):
            if isinstance(found := getattr(node, part, None), ast.AST):
                skipped |= {id(one) for one in ast.walk(found)}
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            skipped |= {id(one) for one in ast.walk(node)}
        if isinstance(node, ast.Assert):
            skipped |= {id(one) for one in ast.walk(node)}
    return [node for node in ast.walk(tree) if id(node) not in skipped]


def mutants(box: str, count: int, seed: int) -> list[tuple[Path, str, str]]:
    """(module, its text, the text of its mutant), chosen at random among all places of the box."""
    places = []
    for module in sorted((ROOT / "attn_cli" / box).rglob("*.py")):
        tree = ast.parse(module.read_text(encoding="utf-8"))
        places += [(module, i, j) for i, node in enumerate(told_apart(tree)) for j, _ in enumerate(changes(node))]
    found = []
    for module, i, j in random.Random(seed).sample(places, min(count, len(places))):
        tree = ast.parse(module.read_text(encoding="utf-8"))
        before = ast.unparse(tree)
        changed = copy.deepcopy(tree)
        list(changes(told_apart(changed)[i]))[j]()
        found.append((module, before, ast.unparse(ast.fix_missing_locations(changed))))
    return found


def survives(copy_of: Path, box: str, module: Path, text: str) -> bool:
    """Whether no test notices the mutant."""
    place = copy_of / module.relative_to(ROOT)
    original = place.read_text(encoding="utf-8")
    place.write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *TESTS[box]]
    env = {**os.environ, "PYTHONPATH": str(copy_of), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        quick = [sys.executable, "-c", "import attn_cli.cli as c, sys; sys.exit(c.main(['compute', '--format', 'json']))"]
        if subprocess.run(quick, cwd=copy_of, env=env, capture_output=True, timeout=SECONDS).returncode:
            return False
        return subprocess.run(command, cwd=copy_of, env=env, capture_output=True, timeout=SECONDS).returncode == 0
    except subprocess.TimeoutExpired:
        return False
    finally:
        place.write_text(original, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("box", choices=TESTS)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--from", type=int, default=0, dest="first", help="go on with this one")
    asked = parser.parse_args()
    chosen = list(enumerate(mutants(asked.box, asked.count, asked.seed)))[asked.first :]
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(asked.jobs) as pool:
        copies: Queue[Path] = Queue()
        for job in range(asked.jobs):
            copies.put(Path(shutil.copytree(ROOT, Path(scratch, str(job)), ignore=shutil.ignore_patterns(*LEFT_OUT))))

        def tried(numbered: tuple[int, tuple[Path, str, str]]) -> str | None:
            number, (module, before, after) = numbered
            start, place = time.monotonic(), copies.get()
            lives = survives(place, asked.box, module, after)
            copies.put(place)
            name = str(module.relative_to(ROOT))
            lines = difflib.unified_diff(before.splitlines(), after.splitlines(), name, f"mutant {number}", "", "", 2, "")
            diff = "\n".join(lines)
            print(f"{number:4} {'SURVIVED' if lives else 'noticed '} {time.monotonic() - start:5.1f} s  {name}", flush=True)
            if lives:
                print(diff, flush=True)
            return diff if lives else None

        survivors = [diff for diff in pool.map(tried, chosen) if diff]
    print(f"{asked.box}: {len(chosen) - len(survivors)} of {len(chosen)} noticed ({1 - len(survivors) / max(1, len(chosen)):.0%})")


if __name__ == "__main__":
    main()
