"""NPY and NPZ: arrays from NumPy's own files. Nothing that could run code is ever unpickled."""

from __future__ import annotations

import math
import struct
import zipfile
import zlib
from collections import Counter
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np

from attn_cli.errors import InputError, Place
from attn_cli.files.text import STDIN, shown
from attn_cli.files.tree import Items, Node, Scalar
from attn_cli.files.values import Array

if TYPE_CHECKING:
    from attn_cli.files.text import Data

_COMMON = b"\x93NUMPY\x01\x00"
"""How NPY files of the first format start; hardly any other is ever written."""
_LONGEST = 10 + 65535
"""The longest header that this format can have."""
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


def parse_npy(data: Data | memoryview, file: str) -> Array:
    """The array of an NPY file, in the memory of the file itself where that is possible."""
    try:
        if data[:8] == _COMMON:
            stream = BytesIO(data[:_LONGEST])
            stream.seek(len(_COMMON))
            shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
            if not dtype.hasobject and (count := math.prod(shape)):
                flat: Array = np.frombuffer(data, dtype, count, stream.tell())
                return flat.reshape(shape, order="F" if fortran else "C")
        array: Array = np.lib.format.read_array(BytesIO(data), allow_pickle=False)
        return array
    except _BROKEN as why:
        raise _refused(why, file) from None


def parse_npz(data: Data, path: str) -> dict[str, Array]:
    """The arrays of an NPZ file by name."""
    file = shown(path)
    try:
        with zipfile.ZipFile(path if path != STDIN else BytesIO(data)) as archive:
            names = archive.namelist()
            strangers = [name for name in names if not name.endswith(".npy")]
            if strangers or not names:
                kind = " (an Excel workbook? save each sheet as CSV)" if any(name.startswith("xl/") for name in names) else ""
                raise InputError(f"is a ZIP archive, but no NPZ{kind}; expected arrays as np.savez writes them", place=Place(file))
            if doubled := [name for name, count in Counter(names).items() if count > 1]:
                raise InputError(f"holds {doubled[0].removesuffix('.npy')} twice; keep one of the two", place=Place(file))
            members = {info.filename.removesuffix(".npy"): _member(archive, info, data) for info in archive.infolist()}
            return {name: parse_npy(member, f"{file}:{name}") for name, member in members.items()}
    except InputError:
        raise
    except (*_BROKEN, RuntimeError) as why:
        raise _refused(why, file) from None


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, data: Data) -> bytes | memoryview:
    """The bytes of a file in an archive: those of the archive itself where they are not compressed."""
    head, start = info.header_offset, info.header_offset + 30
    if info.compress_type == zipfile.ZIP_STORED and not info.flag_bits & 1 and data[head : head + 4] == b"PK\3\4":
        name, extra = struct.unpack("<HH", data[start - 4 : start])
        member = memoryview(data)[start + name + extra :][: info.file_size]
        if zlib.crc32(member) == info.CRC:
            return member
    return archive.read(info)


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
