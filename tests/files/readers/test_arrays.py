"""NPY and NPZ: the file's own memory where that is possible, and the same numbers where it is not."""

import io
import mmap

import numpy as np
import pytest

from attn_cli.errors import InputError
from attn_cli.files.problem import read_problem as load


def load_matrix(path, key="X"):
    """One matrix in a file of its own."""
    return getattr(load(None, matrices={key: str(path)}).problem, key)


MATRIX = np.arange(12.0).reshape(3, 4) / 7


def saved(save, *args, **how):
    buffer = io.BytesIO()
    save(buffer, *args, **how)
    return buffer.getvalue()


def test_a_matrix_is_mapped_and_a_write_stays_in_memory(tmp_path):
    path = tmp_path / "x.npy"
    path.write_bytes(saved(np.save, MATRIX))
    array = load_matrix(path)
    base = array
    while isinstance(base, np.ndarray):
        base = base.base
    assert isinstance(base.obj, mmap.mmap)
    array[0, 0] = 9
    assert np.array_equal(np.load(path), MATRIX)


@pytest.mark.parametrize("array", [MATRIX, MATRIX.T, MATRIX.astype(">f4"), MATRIX.astype(int), MATRIX[:1], np.asfortranarray(MATRIX)])
@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_an_archive_holds_what_was_saved_whether_compressed_or_not(array, save, tmp_path, monkeypatch):
    data = saved(save, title="t", Q=array, K=array)
    (tmp_path / "p.npz").write_bytes(data)
    monkeypatch.setattr("sys.stdin", type("In", (), {"buffer": io.BytesIO(data)}))
    for source in (str(tmp_path / "p.npz"), "-"):
        found = load(source).problem.Q
        assert (found.dtype, found.flags.aligned, found.flags.writeable) == (np.float64, True, True)
        assert np.array_equal(found, array)


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_every_version_of_the_format_is_read(version, tmp_path):
    with (tmp_path / "x.npy").open("wb") as file:
        np.lib.format.write_array(file, MATRIX, version=version)
    assert np.array_equal(load_matrix(tmp_path / "x.npy"), MATRIX)


@pytest.mark.parametrize("cut", [0, 5, 9, 30, 127, 130, 200])
def test_a_file_cut_short_is_refused(cut, tmp_path):
    (tmp_path / "x.npy").write_bytes(saved(np.save, MATRIX)[:cut])
    with pytest.raises(InputError, match="damaged or cut short"):
        load_matrix(str(tmp_path / "x.npy"))


def test_a_damaged_archive_is_refused(tmp_path):
    data = bytearray(saved(np.savez, Q=MATRIX))
    data[data.index(MATRIX.tobytes()) + 20] ^= 1
    (tmp_path / "p.npz").write_bytes(data)
    with pytest.raises(InputError, match="damaged"):
        load(str(tmp_path / "p.npz"))
