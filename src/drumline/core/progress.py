"""How far an attempt is, by its own word."""

import math
from typing import Final

from msgspec import Struct

from drumline.core.lease import Lease

LONGEST_MESSAGE: Final = 500


class Progress(Struct, frozen=True):
    """So much of so much is done; without a total nobody knows how much there is."""

    done: float
    total: float | None = None
    message: str = ""


class ProgressNote(Struct, frozen=True):
    """How far the attempt of a lease is."""

    lease: Lease
    progress: Progress


def progress_of(done: float, total: float | None, message: str) -> Progress | None:
    """Return what a task says of itself; None if it makes no sense, which is no reason to fail the task."""
    if not math.isfinite(done) or (total is not None and not math.isfinite(total)):
        return None
    return Progress(float(done), None if total is None else float(total), message[:LONGEST_MESSAGE])
