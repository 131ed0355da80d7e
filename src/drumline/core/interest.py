"""What somebody who follows the events wants to hear of."""

import re
from typing import Final

from msgspec import Struct

from drumline.core.errors import Invalid
from drumline.core.event import Event, TaskChange
from drumline.core.state import Status

PREFIX: Final = "drumline."
MOST_WORDS: Final = 50

_WORD: Final = re.compile(r"[a-z_]{1,40}(\.[a-z_]{1,40})?", re.ASCII)


class Interest(Struct, frozen=True, kw_only=True):
    """Which events; what is empty does not narrow. Those with equal interests are served together."""

    tenant: str | None = None
    """Whose; None is everybody's, and also what belongs to nobody."""
    types: tuple[str, ...] = ()
    """Kinds such as `task.failed`, or `task` for all about tasks."""
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
        if self.types and not any(_is_of(event.type, type_) for type_ in self.types):
            return False
        return not self._narrows or self._has_data(event)

    @property
    def _narrows(self) -> bool:
        return bool(self.names or self.queues or self.jobs or self.tags or self.statuses)

    def _has_data(self, event: Event) -> bool:
        data = event.data
        if isinstance(data, TaskChange):
            name, queue, job, tags, status = data.name, data.queue, data.job, data.tags, data.status.value
        else:
            # A fact says what it is about in the same words, where it has them; of a job it is the job itself.
            name, queue, status = data.get("name"), data.get("queue"), data.get("status")
            job, tags = data.get("job") or event.subject, tuple(data.get("tags") or ())
            queue = event.subject if event.type.startswith("drumline.queue.") else queue
        return (
            (not self.names or name in self.names)
            and (not self.queues or queue in self.queues)
            and (not self.jobs or job in self.jobs)
            and (not self.tags or not set(self.tags).isdisjoint(tags))
            and (not self.statuses or status in self.statuses)
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
