"""Hides secrets in this process's environment from other programs of the same user.

`shell` tasks are such programs. The kernel shows the environment that a process was started with under `/proc`,
whatever the process does to its variables later. So the values are overwritten where the kernel reads them, and the
process is marked as one whose memory, files and environment no other process of its user may look at. Only the
superuser may still read the memory.
"""

import ctypes
import os
import re
import sys
from collections.abc import Mapping
from typing import Final

PR_SET_DUMPABLE: Final = 4
HIDDEN: Final = re.compile(
    r".*(KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH|_URL|_URI|DSN|COOKIE|PRIVATE|SALT|WEBHOOK).*", re.IGNORECASE | re.DOTALL
)
"""Names of variables whose values are not shown."""


def protect_process() -> None:
    """Make this process's environment unreadable for other programs of its user; call it before threads start."""
    if not sys.platform.startswith("linux"):
        return
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "the process cannot be kept from others of its user")
    _overwrite(libc)


def split_environment(environ: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the variables that a child may be started with, and the secret ones that must be sent another way."""
    hidden = {name: value for name, value in environ.items() if HIDDEN.fullmatch(name)}
    return {name: value for name, value in environ.items() if name not in hidden}, hidden


def _overwrite(libc: ctypes.CDLL) -> None:
    """Overwrite the values where the kernel reads them; this process and its children keep copies of their own."""
    if not os.environb:
        return  # there is no block to look at
    block = ctypes.POINTER(ctypes.c_void_p).in_dll(libc, "environ")
    entries: list[tuple[int, bytes]] = []
    number = 0
    while (address := block[number]) is not None:
        entries.append((address, ctypes.string_at(address)))
        number += 1
    for address, entry in entries:
        name, _, value = entry.partition(b"=")
        if value and HIDDEN.fullmatch(os.fsdecode(name)):
            os.putenv(name, value)  # a copy elsewhere, which is what the C library hands out from now on
            ctypes.memset(address + len(name) + 1, ord("*"), len(value))
