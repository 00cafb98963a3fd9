"""Saving: a file is there whole or not at all."""

import os
import stat

import pytest

from attn_cli.errors import UsageError
from attn_cli.files import writing as module
from attn_cli.files.writing import save


def test_text_and_bytes_are_written_as_they_are(tmp_path):
    save(tmp_path / "a.txt", "é\n")
    save(str(tmp_path / "a.bin"), b"\r\n\0")
    assert (tmp_path / "a.txt").read_bytes() == "é\n".encode()
    assert (tmp_path / "a.bin").read_bytes() == b"\r\n\0"


def test_a_new_file_has_the_usual_permissions_and_an_old_one_keeps_its_own(tmp_path):
    (tmp_path / "usual").touch()
    save(tmp_path / "new", "x")
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "usual").stat().st_mode
    (tmp_path / "new").chmod(0o640)
    save(tmp_path / "new", "y")
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    save(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_a_device_is_written_to_and_not_replaced():
    save("/dev/null", "x")
    assert not os.path.isfile("/dev/null")


@pytest.mark.parametrize("fails", ["replace", "fsync"])
def test_when_the_disk_fails_the_old_file_stays_and_nothing_is_left_over(tmp_path, monkeypatch, fails):
    def full(*_):
        raise OSError(28, "No space left on device")

    (tmp_path / "a").write_text("old")
    monkeypatch.setattr(module.os, fails, full)
    with pytest.raises(UsageError, match=r"a: cannot be written: no space left on device"):
        save(tmp_path / "a", "new")
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert (tmp_path / "a").read_text() == "old"


def test_an_interrupt_leaves_nothing_over(tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(module.os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        save(tmp_path / "a", "new")
    assert list(tmp_path.iterdir()) == []


def test_a_missing_folder_and_a_folder_are_named(tmp_path):
    with pytest.raises(UsageError) as caught:
        save(tmp_path / "no" / "a", "x")
    assert str(caught.value) == f"{tmp_path}/no/a: cannot be written: there is no folder {tmp_path}/no"
    with pytest.raises(UsageError, match="is a folder; expected the name of a file to write"):
        save(tmp_path, "x")


def test_a_disk_that_takes_a_part_at_a_time_gets_all(tmp_path, monkeypatch):
    write = module.os.write
    monkeypatch.setattr(module.os, "write", lambda file, data: write(file, data[:3]))
    save(tmp_path / "a", "0123456789")
    save(tmp_path / "b", "")
    assert [(tmp_path / name).read_text() for name in "ab"] == ["0123456789", ""]


def test_the_name_of_a_folder_that_is_not_there_is_no_file_to_write(tmp_path):
    with pytest.raises(UsageError, match="is a folder; expected the name of a file to write"):
        save(f"{tmp_path}/out/", b"text")
    assert list(tmp_path.iterdir()) == []
