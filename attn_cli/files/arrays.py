"""NPY and NPZ: arrays from NumPy's own files. Nothing that could run code is ever unpickled."""

from __future__ import annotations

import zipfile
import zlib
from collections import Counter
from io import BytesIO
from typing import Any

import numpy as np

from attn_cli.errors import InputError, Place
from attn_cli.files.tree import Items, Node, Scalar
from attn_cli.files.values import Array

_BROKEN = (
    ValueError,
    EOFError,
    OSError,
    zipfile.BadZipFile,
    zlib.error,
    KeyError,
    NotImplementedError,
    MemoryError,
    SyntaxError,
    TypeError,
)


def parse_npy(data: bytes, file: str) -> Array:
    """The array of an NPY file."""
    try:
        array = np.load(BytesIO(data), allow_pickle=False)
    except _BROKEN as why:
        raise _refused(why, file) from None
    assert isinstance(array, np.ndarray)
    return array


def parse_npz(data: bytes, file: str) -> dict[str, Array]:
    """The arrays of an NPZ file by name."""
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            names = archive.namelist()
            strangers = [name for name in names if not name.endswith(".npy")]
            if strangers or not names:
                kind = " (an Excel workbook? save each sheet as CSV)" if any(name.startswith("xl/") for name in names) else ""
                raise InputError(f"is a ZIP archive, but no NPZ{kind}; expected arrays as np.savez writes them", place=Place(file))
            if doubled := [name for name, count in Counter(names).items() if count > 1]:
                raise InputError(f"holds {doubled[0].removesuffix('.npy')} twice; keep one of the two", place=Place(file))
            return {name.removesuffix(".npy"): parse_npy(archive.read(name), f"{file}:{name.removesuffix('.npy')}") for name in names}
    except InputError:
        raise
    except (*_BROKEN, RuntimeError) as why:
        raise _refused(why, file) from None


def as_node(array: Array) -> Node:
    """A small array (a setting, a list of labels) as the text it would be in YAML."""

    def node(item: Any) -> Node:
        if isinstance(item, list):
            return Items([node(part) for part in item], 0, 0)
        if isinstance(item, bytes):
            return Scalar(item.decode("utf-8", "replace"), 0, 0)
        return Scalar(str(item).lower() if isinstance(item, bool) else str(item), 0, 0)

    return node(array.tolist())


def _refused(why: Exception, file: str) -> InputError:
    if "allow_pickle" in str(why) or "pickled" in str(why):
        return InputError(
            "holds Python objects, which are not read, for safety; save plain numbers: np.asarray(a, float)", place=Place(file)
        )
    return InputError("is damaged or cut short: NumPy cannot read it; save it again", place=Place(file))
