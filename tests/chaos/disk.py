"""A small disk for PostgreSQL that can be filled: a tmpfs whose limit is lowered to what is in use."""

import ctypes
import os
import sys
from pathlib import Path

MOST_BYTES = 16 << 30
ROOM_BYTES = 1 << 20
"""What is left when the disk is full, so that the fault comes in the middle of writes."""
_REMOUNT = 32


class Disk:
    """A folder on a file system of its own, if this process may mount one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.reason = self._mount()
        """Why it cannot be filled; None if it can."""

    def fill(self) -> None:
        """Leave almost no room."""
        state = os.statvfs(self.folder)
        used = (state.f_blocks - state.f_bfree) * state.f_frsize
        _mount(self.folder, _REMOUNT, used + ROOM_BYTES)

    def heal(self) -> None:
        """Make room again."""
        _mount(self.folder, _REMOUNT, MOST_BYTES)

    def remove(self) -> None:
        """Unmount it, once all who use it have ended."""
        if self.reason is None:
            _checked(ctypes.CDLL(None, use_errno=True).umount2(str(self.folder).encode(), 0))

    def _mount(self) -> str | None:
        if sys.platform != "linux" or os.getuid() != 0:
            return "only root may mount a file system"
        if self.folder.is_mount():
            return None
        owner = self.folder.stat()
        try:
            _mount(self.folder, 0, MOST_BYTES)
        except OSError as error:
            return f"a file system cannot be mounted: {error}"
        os.chown(self.folder, owner.st_uid, owner.st_gid)
        self.folder.chmod(0o700)
        return None


def _mount(folder: Path, flags: int, size: int) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    options = f"size={size}".encode()
    _checked(library.mount(b"chaos", str(folder).encode(), b"tmpfs", ctypes.c_ulong(flags), options))


def _checked(status: int) -> None:
    if status != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
