"""What a power cut does to the files of PostgreSQL: writes that were not synced are gone, some or all of them.

`native/undo.c`, preloaded into the server, keeps what each write replaces and notes each sync. After all processes of
the server were killed, the writes since the last sync of their file are undone here, the newest first.
"""

import os
import struct
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import NamedTuple

from tests.chaos.native import build

_HEAD = struct.Struct("<6Q")
_WRITE, _SYNC = 1, 2


class Write(NamedTuple):
    """A write that was not synced: what it replaced, and the size of the file before it."""

    inode: int
    offset: int
    length: int
    old: bytes
    size: int


class UnsyncedWrites:
    """The log of writes of a server whose data are in `data`; `folder` must be the server's user's own."""

    def __init__(self, folder: Path, data: Path) -> None:
        self._data = data
        self._log = folder / "undo.log"
        self._log.touch()
        owner = folder.stat()
        os.chown(self._log, owner.st_uid, owner.st_gid)
        self._library, self.reason = build("undo", folder)
        """Why nothing is logged; None if it is."""

    def environment(self) -> dict[str, str]:
        """Return what the server needs in its environment."""
        if self.reason is not None:
            return {}
        return {"LD_PRELOAD": str(self._library), "CHAOS_UNDO": str(self._log), "CHAOS_UNDO_FOLDER": str(self._data)}

    def drop(self, random: Random) -> tuple[int, int]:
        """Undo all writes that were not synced, or half of them by chance; return how many were undone, of how many.

        The server must not run.
        """
        unsynced = self.unsynced()
        share = random.choice([1.0, 0.5])
        paths = {path.stat().st_ino: path for path in self._data.rglob("*") if path.is_file()}
        undone = 0
        for write in reversed(unsynced):
            if write.inode in paths and random.random() < share:
                _undo(paths[write.inode], write, may_shorten=share == 1.0)
                undone += 1
        self.forget()
        return undone, len(unsynced)

    def forget(self) -> None:
        """Begin a new log: all that was written is on disk. The server must not run."""
        os.truncate(self._log, 0)

    def unsynced(self) -> list[Write]:
        """Return the writes since the last sync of their file, in their order."""
        writes: defaultdict[int, list[tuple[int, Write]]] = defaultdict(list)
        for number, (inode, write) in enumerate(self._records()):
            if write is None:
                writes.pop(inode, None)
            else:
                writes[inode].append((number, write))
        return [write for _, write in sorted(each for one in writes.values() for each in one)]

    def _records(self) -> Iterator[tuple[int, Write | None]]:
        """Yield writes, and syncs as an inode alone; the last record may be cut short."""
        with self._log.open("rb") as file:
            while len(head := file.read(_HEAD.size)) == _HEAD.size:
                kind, inode, offset, length, old_length, size = _HEAD.unpack(head)
                old = file.read(old_length)
                if len(old) == old_length:
                    yield inode, Write(inode, offset, length, old, size) if kind == _WRITE else None


def _undo(path: Path, write: Write, *, may_shorten: bool) -> None:
    with path.open("r+b") as file:
        file.seek(write.offset)
        file.write(write.old)
        end = file.seek(0, os.SEEK_END)
        if may_shorten and write.size < end <= write.offset + write.length:
            file.truncate(write.size)
        elif len(write.old) < write.length:  # what was beyond the old end of the file: blocks that were never written
            file.seek(write.offset + len(write.old))
            file.write(bytes(max(0, min(write.length - len(write.old), end - file.tell()))))
