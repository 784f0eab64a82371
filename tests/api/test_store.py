import os
import stat
from pathlib import Path

import platformdirs
import pytest

from adjit.api.specialise import store

posix = pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("ADJIT_CACHE_DIR", str(tmp_path / "deep" / "cache"))
    return tmp_path / "deep" / "cache"


def test_what_is_written_is_read():
    assert store.read("f") is None
    store.write("f", b"machine code", "def f(): ...\n")
    assert store.read("f") == b"machine code"
    assert (store.folder() / "f.py").read_text() == "def f(): ...\n"
    store.write("f", b"other", "")
    assert store.read("f") == b"other"


@pytest.mark.parametrize(
    "damage", [lambda d: d[:-1], lambda d: b"", lambda d: d[:60] + b"\0" + d[61:], lambda d: d + d]
)
def test_a_damaged_entry_is_none(folder, damage):
    store.write("f", b"machine code " * 100, "")
    path = folder / "f.bin"
    path.write_bytes(damage(path.read_bytes()))
    assert store.read("f") is None


@posix
def test_the_user_alone_can_read(folder):
    store.write("f", b"", "")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}


@posix
def test_what_others_can_write_is_not_read(folder):
    store.write("f", b"", "")
    (folder / "f.bin").chmod(0o620)
    with pytest.raises(store.Unusable, match="f.bin"):
        store.read("f")
    (folder / "f.bin").chmod(0o600)
    folder.chmod(0o777)
    with pytest.raises(store.Unusable):
        store.read("f")
    with pytest.raises(store.Unusable):
        store.write("g", b"", "")


def test_the_entries_read_last_stay(folder, monkeypatch):
    for age, name in enumerate("abc"):
        store.write(name, bytes(1000), "")
        os.utime(folder / f"{name}.bin", (age, age))
        os.utime(folder / f"{name}.py", (age, age))
    assert store.read("a") is not None
    monkeypatch.setattr(store, "LIMIT", 2500)
    store.write("d", bytes(1000), "")
    assert [name for name in "abcd" if store.read(name) is not None] == ["a", "d"]


def test_nothing_is_left_of_a_write_that_fails(folder, monkeypatch):
    def fail(*_):
        raise OSError("no space")

    store.write("f", b"", "")
    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="no space"):
        store.write("g", b"", "")
    assert sorted(path.name for path in folder.iterdir()) == ["f.bin", "f.py"]


def test_without_a_folder_of_the_users_nothing_is_kept(monkeypatch):
    monkeypatch.delenv("ADJIT_CACHE_DIR")
    monkeypatch.setattr(platformdirs, "user_cache_path", lambda *_, **__: Path("~/.cache/adjit"))
    store._users_own.cache_clear()
    with pytest.raises(store.Unusable, match="no home folder"):
        store.write("f", b"", "")
    assert "no home folder" in store.unusable()
    store._users_own.cache_clear()


def test_clear_leaves_files_of_others_alone(folder):
    store.write("f", b"", "")
    (folder / "notes.txt").write_text("mine")
    store.clear()
    assert [path.name for path in folder.iterdir()] == ["notes.txt"]
    assert store.read("f") is None
