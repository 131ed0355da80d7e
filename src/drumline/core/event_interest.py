"""The filter of a client that follows events."""

import re
from typing import Final, NamedTuple

from msgspec import Struct

from drumline.core.errors import Invalid
from drumline.core.event import Event, TaskChange
from drumline.core.state import Status

PREFIX: Final = "drumline."
MOST_WORDS: Final = 50

_WORD: Final = re.compile(r"[a-z_]{1,40}(\.[a-z_]{1,40})?", re.ASCII)


class EventInterest(Struct, frozen=True, kw_only=True):
    """A filter of events; an empty field matches all. Clients with equal filters share one reader."""

    tenant: str | None = None
    """The tenant; None means all, and also events without one."""
    types: tuple[str, ...] = ()
    """Kinds such as `task.failed`, or `task` for all about tasks."""
    hidden: tuple[str, ...] = ()
    """Kinds that the client may not read."""
    names: tuple[str, ...] = ()
    queues: tuple[str, ...] = ()
    jobs: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    statuses: tuple[Status, ...] = ()
    subjects: tuple[str, ...] = ()
    """Ids of tasks, jobs, workers …"""

    def has(self, event: Event) -> bool:
        """Tell whether an event is of interest."""
        if self.tenant is not None and event.tenant != self.tenant:
            return False
        if self.subjects and event.subject not in self.subjects:
            return False
        if any(_is_of(event.type, type_) for type_ in self.hidden):
            return False
        if self.types and not any(_is_of(event.type, type_) for type_ in self.types):
            return False
        return not self._narrows or self._has_data(event)

    @property
    def _narrows(self) -> bool:
        return bool(self.names or self.queues or self.jobs or self.tags or self.statuses)

    def _has_data(self, event: Event) -> bool:
        about = _about(event)
        return (
            (not self.names or about.name in self.names)
            and (not self.queues or about.queue in self.queues)
            and (not self.jobs or about.job in self.jobs)
            and (not self.tags or not set(self.tags).isdisjoint(about.tags))
            and (not self.statuses or about.status in self.statuses)
        )


class About(NamedTuple):
    """The fields of an event that a filter can match."""

    name: str | None
    queue: str | None
    job: str | None
    tags: tuple[str, ...]
    status: str | None


def _about(event: Event) -> About:
    data = event.data
    if isinstance(data, TaskChange):
        return About(data.name, data.queue, data.job, data.tags, data.status.value)
    # A fact says what it is about in the same words, where it has them; about a job or a queue it is the subject.
    return About(
        name=data.get("name"),
        queue=event.subject if event.type.startswith("drumline.queue.") else data.get("queue"),
        job=event.subject if event.type.startswith("drumline.job.") else data.get("job"),
        tags=tuple(data.get("tags") or ()),
        status=data.get("status"),
    )


def check_types(types: tuple[str, ...], *, field: str) -> tuple[str, ...]:
    """Return kinds of events without what they all begin with, or raise `Invalid`."""
    words = tuple(type_.removeprefix(PREFIX).removesuffix(".*") for type_ in types)
    for word in words:
        if not _WORD.fullmatch(word):
            raise Invalid("must be a kind of event, such as task.failed, or task for all of them", field=field)
    return words


def _is_of(type_: str, wanted: str) -> bool:
    kind = type_.removeprefix(PREFIX)
    return kind == wanted or kind.startswith(f"{wanted}.")
