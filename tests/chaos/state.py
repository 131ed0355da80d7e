"""What a run needs to be resumed after it was killed: saved every minute."""

import time
from pathlib import Path

import msgspec
from msgspec import Struct

from tests.evidence.results import commit

BOOT = Path("/proc/sys/kernel/random/boot_id")


class RunState(Struct, kw_only=True):
    """The parameters of a run and how far it is."""

    minutes: float
    seed: int
    further: str = ""
    """The other arguments that say what is done."""
    epoch: float
    """The monotonic time at which the trace began."""
    boot: str = ""
    version: str = ""
    elapsed: float = 0.0
    """Seconds under faults so far."""
    faults: int = 0
    resumes: int = 0
    postgres_folder: str = ""

    def save(self, folder: Path) -> None:
        """Replace the saved state."""
        file = folder / "state.json.new"
        file.write_bytes(msgspec.json.encode(self))
        file.replace(folder / "state.json")


def new_state(minutes: float, seed: int, further: str) -> RunState:
    """Return the state of a run that begins now."""
    return RunState(
        minutes=minutes, seed=seed, further=further, epoch=time.monotonic(), boot=boot_id(), version=commit()
    )


def load_state(folder: Path) -> RunState:
    """Return the state that a run in this folder has saved."""
    state = msgspec.json.decode((folder / "state.json").read_bytes(), type=RunState)
    if state.boot != boot_id():
        raise SystemExit("the machine was started again since: the run cannot be resumed")
    return state


def boot_id() -> str:
    """Return what tells one start of the machine from another, where that is known."""
    return BOOT.read_text().strip() if BOOT.exists() else ""
