"""Files that keep what was compiled, in a folder of the user's own.

In: an entry's name and bytes. Out: the bytes again, in this process or a later one, or None if there is no whole entry.

    store.write("energy_grad-5f0c..", payload, text)      energy_grad-5f0c...bin beside energy_grad-5f0c...py
    store.read("energy_grad-5f0c..") == payload

A file appears under its name only when it is complete, so that processes that write the same entry at once do no harm.
Loading an entry runs what is in it: nothing is read from a folder or a file that others could have written to.
"""

from __future__ import annotations

import functools
import hashlib
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_MAGIC = b"adjit cache 1\n"
_DIGEST = 32
_ENDINGS = (".bin", ".py", ".call")
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH

# Bytes in the folder, above which the entries that were not read for longest go.
LIMIT = 512 * 2**20


class Unusable(OSError):
    """The folder of the cache is not one to keep code in."""


def folder() -> Path:
    """Where the entries are: `$ADJIT_CACHE_DIR`, else the user's cache folder of the platform. Raises Unusable."""
    chosen = os.environ.get("ADJIT_CACHE_DIR")
    return Path(chosen) if chosen else _users_own()


@functools.cache
def _users_own() -> Path:
    import platformdirs

    found = platformdirs.user_cache_path("adjit", appauthor=False)
    if not found.is_absolute():
        raise Unusable("there is no home folder")
    return found


def unusable() -> str | None:
    """Why the folder is none to keep code in; None if it is one, or is not there yet."""
    try:
        _check(str(folder()), os.stat(folder()))
    except FileNotFoundError:
        return None
    except OSError as fault:
        return str(fault)
    return None if os.access(folder(), os.W_OK) else f"{folder()} cannot be written to"


def read(name: str, ending: str = ".bin") -> bytes | None:
    """The payload of an entry; None if it is not there, or not as it was written."""
    with suppress(FileNotFoundError):
        _check(str(folder()), os.stat(folder()))
        with open(folder() / f"{name}{ending}", "rb") as file:
            _check(file.name, os.fstat(file.fileno()))
            data = file.read()
            with suppress(OSError):
                os.utime(file.name)
        start = len(_MAGIC) + _DIGEST
        payload = data[start:]
        if data[:start] == _MAGIC + _digest(payload):
            return payload
    return None


def write(name: str, payload: bytes, text: str | None, ending: str = ".bin") -> None:
    """Keeps an entry, and the source beside it for people to read, if it has one. Raises OSError."""
    folder().mkdir(mode=0o700, parents=True, exist_ok=True)
    _check(str(folder()), os.stat(folder()))
    if text is not None:
        _put(folder() / f"{name}.py", text.encode())
    _put(folder() / f"{name}{ending}", _MAGIC + _digest(payload) + payload)
    _shrink()


def entries() -> Iterator[tuple[Path, os.stat_result]]:
    """The files of the cache."""
    with suppress(FileNotFoundError), os.scandir(folder()) as found:
        for entry in found:
            if entry.name.endswith((*_ENDINGS, ".new")):
                with suppress(FileNotFoundError):
                    yield Path(entry.path), entry.stat(follow_symlinks=False)


def clear() -> None:
    """Removes all entries."""
    for path, _ in entries():
        path.unlink(missing_ok=True)


def _put(path: Path, data: bytes) -> None:
    # readable by the user alone, as mkstemp makes it
    handle, made = tempfile.mkstemp(prefix=f"{path.name}.", suffix=".new", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(made, path)
    except OSError:
        Path(made).unlink(missing_ok=True)
        raise


def _shrink() -> None:
    found = sorted(entries(), key=lambda entry: entry[1].st_mtime)
    total = sum(status.st_size for _, status in found)
    for path, status in found:
        if total <= LIMIT:
            break
        total -= status.st_size
        path.unlink(missing_ok=True)


def _check(path: str, status: os.stat_result) -> None:
    """Raises Unusable for what is not the user's own, or what others may write to."""
    if os.name == "posix" and (status.st_uid != os.geteuid() or status.st_mode & _OTHERS_WRITE):
        raise Unusable(f"{path} belongs to another user, or other users may write to it")


def _digest(payload: bytes) -> bytes:
    return hashlib.blake2b(payload, digest_size=_DIGEST).digest()
