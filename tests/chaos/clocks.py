"""Wall clocks of single processes that can be stepped while these run, by a preloaded library."""

import struct
from pathlib import Path

from tests.chaos.native import build


class Clocks:
    """An offset for each process; without a C compiler there are none, and `reason` says so."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(exist_ok=True)
        self._library, self.reason = build("clock", folder)

    def environment(self, name: str) -> dict[str, str]:
        """Return what a process needs in its environment so that its clock can be stepped."""
        if self.reason is not None:
            return {}
        self.step(name, 0.0)
        return {"LD_PRELOAD": str(self._library), "CHAOS_CLOCK": str(self._folder / name)}

    def step(self, name: str, seconds: float) -> None:
        """Let the clock of a process be so many seconds away from the right time, from now on."""
        path = self._folder / name
        if not path.exists():
            path.write_bytes(bytes(8))
        with path.open("r+b") as file:  # in place: the process has this file mapped
            file.write(struct.pack("<q", round(seconds * 1e9)))
