"""Writes notification mail: one event in full, or several as a list.

Names, errors and logs come from users: in HTML they are escaped, and headers get no line breaks from them.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any, Final

from msgspec import Struct

from drumline.core.codec import decode
from drumline.core.delivery import ClaimedDelivery
from drumline.core.duration import format_duration
from drumline.core.links import event_link, page_url
from drumline.notifier.html import MailPage, MailSection, as_html, as_text
from drumline.outbound.mail import Mail

MOST_LISTED: Final = 50
MOST_NAMED: Final = 3
LONGEST_SUBJECT: Final = 150
WORST_FIRST: Final = ("failed", "cancelled", "skipped", "completed")

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")
_FIELDS: Final = (
    ("severity", "Severity"),
    ("queue", "Queue"),
    ("job", "Job"),
    ("owner", "Owner"),
    ("tasks", "Tasks"),
    ("attempt", "Attempt"),
    ("worker", "Worker"),
    ("tags", "Tags"),
    ("created_at", "Submitted"),
    ("started_at", "Started"),
    ("finished_at", "Finished"),
    ("duration", "Took"),
    ("reason", "Reason"),
    ("message", "Message"),
    ("note", "Note"),
)


class EventMessage(Struct, frozen=True):
    """An event as a delivery stores it."""

    type: str
    time: str
    subject: str
    data: dict[str, Any]

    @property
    def noun(self) -> str:
        """The kind of thing that the event is about, such as `task` or `job`."""
        return self.type.split(".")[1]

    @property
    def outcome(self) -> str:
        """What happened, such as `failed` or `completed`."""
        return self.type.rpartition(".")[2].replace("_", " ")

    @property
    def name(self) -> str:
        """The name of the task or job, or its kind and id."""
        return one_line(str(self.data.get("name") or f"{self.noun} {self.subject}"))

    @property
    def title(self) -> str:
        """The outcome and the name, as a heading."""
        return f"{self.outcome.capitalize()}: {self.name}"


class MailTemplate(Struct, frozen=True, kw_only=True):
    """What all mail shares: the URL of the interface, if it has one, and the domain of message ids."""

    public_url: str | None = None
    domain: str = "localhost"

    def link(self, event: EventMessage) -> str | None:
        """Return the URL of the page about the event's subject."""
        return event_link(self.public_url, event.type, event.subject)


def compose_mail(deliveries: Sequence[ClaimedDelivery], template: MailTemplate) -> Mail:
    """Return one mail about all of `deliveries`, which have the same address."""
    events = [decode(delivery.event, EventMessage) for delivery in deliveries]
    page = _full(events[0], template) if len(events) == 1 else _digest(events, template)
    return Mail(
        to=(deliveries[0].target.address,),
        subject=page.title[:LONGEST_SUBJECT],
        text=as_text(page),
        html=as_html(page),
        message_id=f"{_number(deliveries)}@{template.domain}",
    )


def one_line(text: str) -> str:
    """Return text without line breaks and other control characters."""
    return _CONTROL.sub(" ", text).strip()


def _number(deliveries: Sequence[ClaimedDelivery]) -> str:
    """Return the local part of the message id: the same for the same deliveries, so that duplicates are recognised."""
    if len(deliveries) == 1:
        return deliveries[0].id
    return sha256(" ".join(sorted(delivery.id for delivery in deliveries)).encode()).hexdigest()[:32]


def _full(event: EventMessage, template: MailTemplate) -> MailPage:
    when = () if event.data.get("finished_at") else (("Time", event.time),)
    sections = [MailSection(rows=((event.noun.capitalize(), event.subject), *_rows(event.data), *when))]
    error = event.data.get("error")
    if isinstance(error, dict):
        message = str(error.get("message") or "")
        rest = message if len(message) > LONGEST_SUBJECT or "\n" in message else ""
        code = "\n\n".join(text for text in (rest, str(error.get("traceback") or "")) if text)
        sections.append(MailSection(heading=_error_line(error), code=code))
    sections += _failed_tasks(event.data, template)
    if event.data.get("log"):
        sections.append(MailSection(heading=_log_heading(event.data), code=str(event.data["log"])))
    return MailPage(
        title=f"{event.outcome.capitalize()}: {event.name}",
        sections=tuple(sections),
        link=template.link(event),
        tone=event.outcome,
    )


def _failed_tasks(data: dict[str, Any], template: MailTemplate) -> Iterable[MailSection]:
    """Yield the failed tasks of a job, each with its error, the end of its log, and a link to its page."""
    tasks = [task for task in data.get("failed_tasks") or () if isinstance(task, dict)]
    for task in tasks:
        error, task_id = task.get("error"), str(task.get("id") or "")
        rows = [("Task", task_id), ("Name", one_line(str(task.get("name") or "")))]
        if isinstance(error, dict):
            rows.append(("Error", _error_line(error)))
        yield MailSection(
            heading=one_line(f"Failed task: {task.get('key')}"),
            rows=tuple(rows),
            code=str(task.get("log") or ""),
            link=page_url(template.public_url, "tasks", task_id) if template.public_url else None,
        )
    counts = data.get("tasks")
    more = (counts.get("failed") or 0) - len(tasks) if tasks and isinstance(counts, dict) else 0
    if more > 0:
        yield MailSection(heading=f"And {more} more failed tasks.")


def _log_heading(data: dict[str, Any]) -> str:
    of = data.get("log_of")
    return "The last lines of its log" if of is None else one_line(f"The last lines of the log of task {of}")


def _rows(data: dict[str, Any]) -> Iterable[tuple[str, str]]:
    known = {"duration": _duration(data.get("started_at"), data.get("finished_at")), **data}
    for field, word in _FIELDS:
        value = known.get(field)
        if value not in (None, "", [], {}, 0):
            yield word, one_line(_shown(field, value))


def _shown(field: str, value: Any) -> str:
    if field == "duration":
        return format_duration(timedelta(seconds=float(value)))
    if isinstance(value, dict):
        return ", ".join(f"{count} {word}" for word, count in value.items() if count)
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _duration(started_at: str | None, finished_at: str | None) -> float | None:
    if started_at is None or finished_at is None:
        return None
    return (datetime.fromisoformat(finished_at) - datetime.fromisoformat(started_at)).total_seconds()


def _error_line(error: dict[str, Any]) -> str:
    return one_line(f"{error.get('kind', 'Error')}: {error.get('message', '')}")[:LONGEST_SUBJECT]


def _digest(events: Sequence[EventMessage], template: MailTemplate) -> MailPage:
    outcomes = Counter(each.outcome for each in events)
    worst = sorted(outcomes, key=lambda outcome: (*WORST_FIRST, outcome).index(outcome))
    title = f"{', '.join(f'{outcomes[outcome]} {outcome}' for outcome in worst)}: {_names(events)}"
    listed = sorted(events, key=lambda each: (*WORST_FIRST, each.outcome).index(each.outcome))[:MOST_LISTED]
    sections = [_entry(each, template) for each in listed]
    if len(events) > len(listed):
        sections.append(MailSection(heading=f"And {len(events) - len(listed)} more."))
    link = page_url(template.public_url, "tasks") if template.public_url else None
    return MailPage(title=title, sections=tuple(sections), link=link, tone=worst[0])


def _names(events: Sequence[EventMessage]) -> str:
    names = [name for name, _ in Counter(each.name for each in events).most_common()]
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _entry(event: EventMessage, template: MailTemplate) -> MailSection:
    error = event.data.get("error")
    rows = [("Time", event.time), (event.noun.capitalize(), event.subject)]
    if isinstance(error, dict):
        rows.append(("Error", _error_line(error)))
    return MailSection(heading=event.title, rows=tuple(rows), link=template.link(event))
