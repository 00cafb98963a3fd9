"""Where the samples are."""

from __future__ import annotations

from pathlib import Path

from attn_cli.errors import UsageError

PACKAGE = Path(__file__).parents[1]


def samples() -> dict[str, Path]:
    """Name → file or folder. A wheel carries them inside the package, a checkout beside it."""
    shelf = next((folder for folder in (PACKAGE / "samples", PACKAGE.parent / "samples") if folder.is_dir()), None)
    if shelf is None:
        raise UsageError("the samples are missing from this installation; install attn again")
    return {path.stem: path for path in sorted(shelf.iterdir()) if path.suffix == ".yaml" or path.is_dir()}


def sample(name: str) -> Path:
    known = samples()
    name = name.removesuffix(".yaml")
    if name not in known:
        from attn_cli.names import did_you_mean

        raise UsageError(f"no sample {name!r}{did_you_mean(name, list(known))}; there are {', '.join(known)}")
    return known[name]
