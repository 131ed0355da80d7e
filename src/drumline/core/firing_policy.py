"""How schedules treat missed and overlapping firings; and the schedule that a job is submitted with."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, ClassVar, Final

from msgspec import Struct

from drumline.core.field_schema import Schema, about, duration, given, line, moment
from drumline.core.names import LONGEST_CRON

MOST_RUNS: Final = 1_000_000_000

ONE_RULE: Final = [given(rule) for rule in ("cron", "interval", "run_at")]
SCHEDULE_NAME: Final = line(description="What it is called; no two of a tenant have the same name.")
CRON: Final = about(
    "Five fields, or six with seconds first, or a form such as @daily.",
    anyOf=[{"type": "string", "maxLength": LONGEST_CRON}],
    examples=["30 9 * * MON-FRI"],
)
INTERVAL: Final = duration("Fire every so often, at least a second, by real time.", least=1)
FIRE_ONCE: Final = moment("Fire once, at this time.")
TIMEZONE: Final = about("The IANA time zone by whose clock `cron` goes.")
MISFIRE: Final = about("What becomes of firings that were due while no scheduler was there.")
OVERLAP: Final = about("What a firing does while the previous run has not ended.")
START: Final = moment("Do not fire before this time; an interval is counted from it.")
END: Final = moment("Do not fire after this time.")
JITTER: Final = duration("Spread firings over at most a day, each by its own share.")
MAX_RUNS: Final = about("Finish after so many runs.", type="integer", minimum=1, maximum=MOST_RUNS)
PAUSED: Final = about("Create it without letting it fire.")


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


class FiringPolicy(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a schedule fires, besides when."""

    misfire: Misfire = Misfire.ONCE
    overlap: Overlap = Overlap.ALLOW
    jitter_ms: int = 0
    """How far firings are spread at most, each by its own share."""
    max_runs: int | None = None


class JobSchedule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The schedule that a job is submitted with: it makes the job, and has its name unless said otherwise."""

    SCHEMA: ClassVar[Schema] = {"oneOf": ONE_RULE}

    name: Annotated[str | None, line(description="The job's name unless said otherwise.")] = None
    cron: Annotated[str | None, CRON] = None
    interval: Annotated[float | str | None, INTERVAL] = None
    run_at: Annotated[datetime | None, FIRE_ONCE] = None
    timezone: Annotated[str, TIMEZONE] = "UTC"
    misfire: Annotated[Misfire, MISFIRE] = Misfire.ONCE
    overlap: Annotated[Overlap, OVERLAP] = Overlap.ALLOW
    start: Annotated[datetime | None, START] = None
    end: Annotated[datetime | None, END] = None
    jitter: Annotated[float | str, JITTER] = 0.0
    max_runs: Annotated[int | None, MAX_RUNS] = None
    paused: Annotated[bool, PAUSED] = False
