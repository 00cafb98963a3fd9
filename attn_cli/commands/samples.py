"""`attn samples`: the problems that come with the program."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from attn_cli.commands.help_page import Command
from attn_cli.commands.options import application
from attn_cli.commands.shelf import sample, samples
from attn_cli.errors import UsageError

app = application()


@app.command(cls=Command)
def run(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="The sample to print.")] = None,
    copy: Annotated[str | None, typer.Option(metavar="DIR", help="Copy the sample (all of them if none is named) into DIR.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Let --copy overwrite files.")] = False,
) -> None:
    """
    \b
    attn samples                  what there is
    attn samples causal           print one
    attn samples --copy lessons   copy all of them into a folder

    List, print or copy the problems that come with attn.
    """
    chosen = samples() if name is None else {sample(name).stem: sample(name)}
    if copy is not None:
        sys.stdout.write(_copy(chosen.values(), Path(copy), force))
    elif name is None:
        sys.stdout.write("".join(_entry(key, path) for key, path in chosen.items()))
    else:
        sys.stdout.write("".join(_text(path) for path in chosen.values()))


def _entry(name: str, path: Path) -> str:
    """Its title and the comment that it opens with."""
    lines = (path / "problem.yaml" if path.is_dir() else path).read_text(encoding="utf-8").splitlines()
    title = next(line.removeprefix("title:").strip() for line in lines if line.startswith("title:"))
    return f"{name:<16} {title}\n{'':<16}   {lines[0].removeprefix('# ')}\n"


def _files(path: Path) -> list[Path]:
    return sorted(path.iterdir()) if path.is_dir() else [path]


def _text(path: Path) -> str:
    heading = "# {}\n" if path.is_dir() else ""
    return "".join(heading.format(f"{path.name}/{file.name}") + file.read_text(encoding="utf-8") for file in _files(path))


def _copy(chosen: Iterable[Path], folder: Path, force: bool) -> str:
    from attn_cli.files.writing import save

    shelf = next(iter(samples().values())).parent
    targets = {file: folder / file.relative_to(shelf) for path in chosen for file in _files(path)}
    there = [str(target) for target in targets.values() if target.exists()]
    if there and not force:
        raise UsageError(f"{', '.join(there)} would be overwritten; nothing was copied; --force overwrites")
    for file, target in targets.items():
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
        except OSError as why:
            raise UsageError(f"--copy {folder}: no folder can be made there: {(why.strerror or str(why)).lower()}") from None
        save(str(target), file.read_bytes())
    return "".join(f"{target}\n" for target in targets.values())
