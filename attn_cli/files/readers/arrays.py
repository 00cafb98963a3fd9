"""NPY and NPZ: arrays from NumPy's own files. Each is measured before it is read, and nothing that could run code is ever unpickled."""

from __future__ import annotations

import math
import struct
import zipfile
import zlib
from collections import Counter
from io import BytesIO
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np

from attn_cli.engine.arrays import Array
from attn_cli.engine.large.memory import budget, size_text
from attn_cli.errors import InputError, Place
from attn_cli.files.sources import Reading, Role
from attn_cli.files.tree import Items, Node, Pairs, Scalar
from attn_cli.files.values import Value

if TYPE_CHECKING:
    from attn_cli.files.sources import Data

ZIP_MAGIC = b"PK"
_LONGEST = 12 + 65535
"""Bytes. No header of an array is longer: beyond, it would be a list of thousands of fields."""
_KINDS = "biufcSU"
"""Kinds of dtypes that are read: truths, numbers (complex ones only to say so), texts."""
_METHODS = {zipfile.ZIP_STORED: "", zipfile.ZIP_DEFLATED: "", zipfile.ZIP_BZIP2: "bzip2", zipfile.ZIP_LZMA: "lzma"}
"""How members are packed; NumPy writes the first two, and only those unfold piece by piece."""
_MOST_TEXT = 2**22
"""Bytes of text in one array. Each label becomes an object of its own: ten times as many take a second and 100 MB."""
_PIECE = 2**20
"""Bytes that are unpacked at a time; more only cost memory."""
MOST_NAMED = 20
"""Arrays that a message names; more do not help its reader."""
_BROKEN = (
    ValueError,
    EOFError,
    OSError,
    zipfile.BadZipFile,
    zlib.error,
    KeyError,
    IndexError,
    NotImplementedError,
    OverflowError,
    SyntaxError,
    TypeError,
    RuntimeError,
    struct.error,
)
"""What NumPy and zipfile raise over a damaged file."""


class _Header(NamedTuple):
    """What an array says of itself before its numbers."""

    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype[Any]
    start: int
    """Where its numbers start, in bytes from the start of its file."""

    @property
    def cells(self) -> int:
        return math.prod(self.shape)

    @property
    def takes(self) -> int:
        """Bytes in memory, as an array of float64 or of texts."""
        return self.cells * max(self.dtype.itemsize, 8)


def read(data: Data, file: str, reading: Reading, role: Role) -> Value:
    """The array of an NPY file, or the arrays of an NPZ file by name."""
    if data[:2] == ZIP_MAGIC or file.lower().endswith(".npz"):
        arrays = _archive(data, file)
        return Value(Pairs([(Scalar(name, 0, 0), array) for name, array in arrays.items()], 0, 0), file)
    try:
        header = _header(BytesIO(data[:_LONGEST]), file)
        _check_size(header.takes, file, "it")
        return Value(_in_place(memoryview(data), header, file), file)
    except _BROKEN as why:
        raise _damaged(why, file) from None


def _archive(data: Data, file: str) -> dict[str, Array]:
    """The arrays of an archive, which are read only once all of them have been measured."""
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            members = _members(archive, file)
            headers = {name: _member_header(archive, info, f"{file}: {name}") for name, info in members.items()}
            largest = max(headers, key=lambda name: headers[name].takes)
            _check_size(sum(header.takes for header in headers.values()), f"{file}: {largest}", "the arrays together")
            return {name: _member(archive, info, headers[name], data, f"{file}: {name}") for name, info in members.items()}
    except _BROKEN as why:
        raise _damaged(why, file) from None


def _members(archive: zipfile.ZipFile, file: str) -> dict[str, zipfile.ZipInfo]:
    """The files of an archive by the names of their arrays."""
    names = archive.namelist()
    if not names or not all(name.endswith(".npy") for name in names):
        kind = " (an Excel workbook? save each sheet as CSV)" if any(name.startswith("xl/") for name in names) else ""
        raise InputError(f"is a ZIP archive, but no NPZ{kind}; expected arrays as np.savez writes them", place=Place(file))
    if doubled := [name for name, count in Counter(names).items() if count > 1]:
        raise InputError(f"holds {doubled[0].removesuffix('.npy')} twice; keep one of the two", place=Place(file))
    packings = {_METHODS.get(info.compress_type, "a method that is not known here") for info in archive.infolist()} - {""}
    if packings:
        arrays = ", ".join(name.removesuffix(".npy") for name in names[:MOST_NAMED])
        mend = "save it with np.savez or np.savez_compressed"
        raise InputError(f"packs {arrays} with {min(packings)}, which NumPy does not write; {mend}", place=Place(file))
    return {info.filename.removesuffix(".npy"): info for info in archive.infolist()}


def _member_header(archive: zipfile.ZipFile, info: zipfile.ZipInfo, name: str) -> _Header:
    try:
        with archive.open(info) as member:
            header = _header(member, name)
    except _BROKEN as why:
        raise _damaged(why, name) from None
    if (promised := header.start + header.cells * header.dtype.itemsize) != info.file_size:
        raise InputError(f"promises {promised:,} bytes and holds {info.file_size:,}: it is damaged or cut short", place=Place(name))
    return header


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, header: _Header, data: Data, name: str) -> Array:
    """An array of the archive: in the memory of the archive itself where it is not packed."""
    head, start = info.header_offset, info.header_offset + 30
    if info.compress_type == zipfile.ZIP_STORED and not info.flag_bits & 1 and data[head : head + 4] == b"PK\3\4":
        lengths = struct.unpack("<HH", data[start - 4 : start])
        member = memoryview(data)[start + sum(lengths) :][: info.file_size]
        if zlib.crc32(member) == info.CRC:
            return _in_place(member, header, name)
    try:
        array = np.empty(header.cells, header.dtype)
        with archive.open(info) as packed:
            packed.read(header.start)
            _fill(array, packed)
    except MemoryError:
        raise InputError(f"takes {size_text(header.takes)}, which does not fit into memory", place=Place(name)) from None
    except _BROKEN as why:
        raise _damaged(why, name) from None
    return array.reshape(header.shape, order="F" if header.fortran else "C")


def _fill(array: Array, packed: IO[bytes]) -> None:
    """Unpack the numbers of an array into its memory."""
    if not array.dtype.itemsize:
        return
    rest = memoryview(array.view(np.uint8).data) if array.size else memoryview(b"")
    while rest:
        piece = packed.read(min(_PIECE, len(rest)))
        if not piece:
            raise EOFError
        rest[: len(piece)] = piece
        rest = rest[len(piece) :]
    packed.read(1)  # which compares the checksum


def _header(file: IO[bytes], name: str) -> _Header:
    """What an array says of itself. Raises InputError for what is no array of numbers or texts."""
    lead = file.read(8)
    if lead[:6] != b"\x93NUMPY":
        raise InputError("is damaged or cut short: it does not begin as an array of NumPy's; save it again", place=Place(name))
    size = 2 if lead[6] == 1 else 4
    length = file.read(size)
    text = file.read(min(int.from_bytes(length, "little"), _LONGEST))
    whole = BytesIO(length + text)
    reader = np.lib.format.read_array_header_1_0 if lead[6] == 1 else np.lib.format.read_array_header_2_0
    shape, fortran, dtype = reader(whole)
    if dtype.hasobject:
        mend = "save plain numbers: np.asarray(a, float)"
        raise InputError(f"holds Python objects, which are not read, for safety; {mend}", place=Place(name))
    if dtype.kind not in _KINDS:
        kind = "records" if dtype.fields else f"type {dtype}"
        raise InputError(f"holds values of {kind}, expected numbers", place=Place(name))
    if any(length < 0 for length in shape):
        raise InputError(f"says that its shape is {shape}; no length is negative", place=Place(name))
    header = _Header(tuple(map(int, shape)), fortran, dtype, 8 + size + len(text))
    if dtype.kind in "US" and header.takes > _MOST_TEXT:
        raise InputError(f"holds {size_text(header.takes)} of text, expected labels or a word", place=Place(name))
    return header


def _in_place(data: memoryview, header: _Header, name: str) -> Array:
    """The array in the memory of its file."""
    if not header.cells or not header.dtype.itemsize:
        return np.zeros(header.shape, header.dtype)
    if len(data) < header.start + header.cells * header.dtype.itemsize:
        raise InputError("is damaged or cut short: it holds fewer numbers than it says; save it again", place=Place(name))
    flat: Array = np.frombuffer(data, header.dtype, header.cells, header.start)
    return flat.reshape(header.shape, order="F" if header.fortran else "C")


def _check_size(takes: int, name: str, what: str) -> None:
    if takes > budget():
        raise InputError(
            f"{what} would take {size_text(takes)}, more than ATTN_MEMORY allows ({size_text(budget())}); set it higher to read them",
            place=Place(name),
        )


def as_node(array: Array) -> Node:
    """A small array (a setting, a list of labels) as the text it would be in YAML."""

    def node(item: Any) -> Node:
        if isinstance(item, list):
            return Items([node(part) for part in item], 0, 0)
        if isinstance(item, bytes):
            return Scalar(item.decode("utf-8", "replace"), 0, 0)
        return Scalar(str(item).lower() if isinstance(item, bool) else str(item), 0, 0)

    return node(array.tolist())


def _damaged(why: Exception, file: str) -> InputError:
    return InputError("is damaged or cut short: NumPy cannot read it; save it again", place=Place(file))
