"""How schedules fire besides when: what is missed, what overlaps; and the schedule that a job is submitted with."""

from datetime import datetime
from enum import StrEnum

from msgspec import Struct


class Misfire(StrEnum):
    """What becomes of firings that were due while no scheduler was there."""

    SKIP = "skip"
    """Nothing."""
    ONCE = "once"
    """One run for all of them, for the latest."""
    ALL = "all"
    """A run for each, the newest ones if they are too many."""


class Overlap(StrEnum):
    """What a firing does while the previous run has not ended."""

    ALLOW = "allow"
    """It starts all the same."""
    SKIP = "skip"
    """It does not take place; that is noted as a skipped run."""
    QUEUE = "queue"
    """It waits until the runs before it have ended."""
    CANCEL_PREVIOUS = "cancel_previous"
    """It starts, and the previous run is cancelled."""


class Policy(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a schedule fires, besides when."""

    misfire: Misfire = Misfire.ONCE
    overlap: Overlap = Overlap.ALLOW
    jitter_ms: int = 0
    """How far firings are spread at most, each by its own share."""
    max_runs: int | None = None


class JobSchedule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The schedule that a job is submitted with: it makes the job, and has its name unless said otherwise."""

    name: str | None = None
    cron: str | None = None
    interval: float | str | None = None
    run_at: datetime | None = None
    timezone: str = "UTC"
    misfire: Misfire = Misfire.ONCE
    overlap: Overlap = Overlap.ALLOW
    start: datetime | None = None
    end: datetime | None = None
    jitter: float | str = 0.0
    max_runs: int | None = None
    paused: bool = False
