"""How a worker behaves: one frozen struct. Durations are seconds."""

import os
from collections.abc import Mapping

from msgspec import Struct

from drumline.core.limits import DEFAULT_LIMITS, Limits
from drumline.core.session import BEAT_EVERY


class WorkerOptions(Struct, frozen=True, kw_only=True):
    """What an operator may choose about one worker process."""

    capacity: int = 64
    """Attempts executed at once."""
    threads: int = 64
    """Sync functions run at once."""
    processes: int = os.cpu_count() or 1
    """CPU-bound functions run at once, each in a child process."""
    queues: tuple[str, ...] = ()
    """The queues to serve; empty means all."""
    weights: Mapping[str, int] = {}
    """How much of the room some of them get, where not all get the same; the others have a weight of 1."""
    report_batch: int = 500
    """Reporter sent together at most."""
    tenant: str | None = None
    label: str = ""
    app_version: str = ""
    """The version of the apps that do not say theirs."""
    grace: float = 30.0
    """How long attempts may go on when the worker is asked to stop."""
    stop_grace: float = 5.0
    """How long an attempt may take to end once it was asked to, before it is killed or left behind."""
    claim_wait: float = 20.0
    """How long one claim waits for a first task."""
    beat_every: float = BEAT_EVERY
    measures_usage: bool = False
    """Whether heartbeats say how much memory and processor time the process uses."""
    longest_silence: float = 300.0
    """How long attempts go on while no beat is answered; then they are stopped, to be given back."""
    log_every: float = 0.5
    """How often the log of a running attempt is sent."""
    progress_every: float = 1.0
    """How often it is sent how far running attempts are."""
    limits: Limits = DEFAULT_LIMITS
