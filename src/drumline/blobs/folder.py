"""Blobs as files of a folder: `HOME/TASK/DIGEST`. Processes on several machines may share one, as over NFS."""

import asyncio
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Final, TypeVar
from uuid import uuid4

from drumline.core.clock import Instant
from drumline.core.errors import Unavailable
from drumline.ports.blobs import BlobEntry

T = TypeVar("T")

ASIDE: Final = "."
"""What names of files that are being written begin with."""


class FolderBlobs:
    """`ports.blobs.BlobStore` in a folder, which is made when the first blob is written."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def place(self) -> str:
        """The folder."""
        return str(self._folder)

    async def put(self, name: str, data: bytes) -> None:
        """Write a file aside, sync it, and give it its name: it is whole or not there."""
        await self._run(lambda: _write(self._folder / name, data))

    async def get(self, name: str, *, largest: int) -> bytes | None:
        """Return the bytes of a file, or None if there is none."""
        return await self._run(lambda: _read(self._folder / name, largest))

    async def list(self, home: str, *, after: str, limit: int) -> list[BlobEntry]:
        """Return blobs in the order of their names."""
        return await self._run(lambda: list(islice(_entries(self._folder, home, after), limit)))

    async def delete(self, names: Sequence[str]) -> None:
        """Delete files, and the folders of tasks that have none left."""
        await self._run(lambda: _delete([self._folder / name for name in names]))

    async def close(self) -> None:
        """Do nothing: no file is held open."""

    async def _run(self, work: Callable[[], T]) -> T:
        try:
            return await asyncio.to_thread(work)
        except OSError as error:
            raise Unavailable(f"the blob store {self.place} does not work: {error.strerror or error}") from error


def _write(path: Path, data: bytes) -> None:
    if path.exists():  # the same bytes: its digest is its name
        path.touch()
    else:
        _make(path.parent)
        _write_aside(path, data)
    # The names are durable, too; also those that a process has left which ended before it came here.
    for folder in (path.parent, path.parent.parent, path.parent.parent.parent):
        _sync(folder)


def _make(folder: Path) -> None:
    """Make a folder, and those above it that are missing, with names that are durable."""
    if not folder.is_dir():
        _make(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)
        _sync(folder.parent)


def _write_aside(path: Path, data: bytes) -> None:
    aside = path.with_name(f"{ASIDE}{uuid4().hex}")
    try:
        with open(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:  # noqa: PTH123
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _read(path: Path, largest: int) -> bytes | None:
    try:
        with path.open("rb") as file:
            return file.read(largest)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _entries(folder: Path, home: str, after: str) -> Iterator[BlobEntry]:
    """Yield blobs after a name; files that are being written are among them, and old ones are left over."""
    _, _, rest = after.partition("/")
    last_task = rest.partition("/")[0]
    for task in _names(folder / home):
        if task < last_task:
            continue
        for file in _names(folder / home / task):
            name = f"{home}/{task}/{file}"
            if name <= after:
                continue
            try:
                modified = (folder / name).stat().st_mtime
            except FileNotFoundError:  # another scheduler has deleted it
                continue
            yield BlobEntry(name, Instant(int(modified * 1000)))


def _names(folder: Path) -> list[str]:
    try:
        return sorted(entry.name for entry in folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []


def _delete(paths: Sequence[Path]) -> None:
    for path in paths:
        path.unlink(missing_ok=True)
        with suppress(OSError):  # the task has other blobs, or another scheduler was faster
            path.parent.rmdir()
