"""Mail for people: what happened to one thing in full, or to many in a list. Plain text, and HTML for a phone.

Names, errors and logs are other people's words: in HTML they are escaped, and no line of them gets into a header.
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
from drumline.notifier.paper import Page, Part, as_html, as_text
from drumline.outbound.smtp import Mail

MOST_LISTED: Final = 50
MOST_NAMED: Final = 3
LONGEST_SUBJECT: Final = 150
WORST_FIRST: Final = ("failed", "cancelled", "skipped", "completed")

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")
_FIELDS: Final = (
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
)


class Told(Struct, frozen=True):
    """An event as it was written into a delivery."""

    type: str
    time: str
    subject: str
    data: dict[str, Any]

    @property
    def noun(self) -> str:
        """What it is about, such as a task or a job."""
        return self.type.split(".")[1]

    @property
    def outcome(self) -> str:
        """What happened to it, in one word or two."""
        return self.type.rpartition(".")[2].replace("_", " ")

    @property
    def name(self) -> str:
        """What people call it."""
        return one_line(str(self.data.get("name") or f"{self.noun} {self.subject}"))


class Letterhead(Struct, frozen=True, kw_only=True):
    """What every letter has: where the interface is, if anywhere, and the domain that letters are numbered under."""

    public_url: str | None = None
    domain: str = "localhost"

    def link(self, told: Told) -> str | None:
        """Return where somebody can look at what an event is about."""
        return event_link(self.public_url, told.type, told.subject)


def write_letter(deliveries: Sequence[ClaimedDelivery], head: Letterhead) -> Mail:
    """Return the mail that tells one person of everything in `deliveries`."""
    told = [decode(delivery.event, Told) for delivery in deliveries]
    page = _full(told[0], head) if len(told) == 1 else _digest(told, head)
    return Mail(
        to=(deliveries[0].target.address,),
        subject=page.title[:LONGEST_SUBJECT],
        text=as_text(page),
        html=as_html(page),
        message_id=f"{_number(deliveries)}@{head.domain}",
    )


def one_line(text: str) -> str:
    """Return text without line breaks and other control characters."""
    return _CONTROL.sub(" ", text).strip()


def _number(deliveries: Sequence[ClaimedDelivery]) -> str:
    """Return what recipients recognise a mail by that came twice: the same for the same deliveries."""
    if len(deliveries) == 1:
        return deliveries[0].id
    return sha256(" ".join(sorted(delivery.id for delivery in deliveries)).encode()).hexdigest()[:32]


def _full(told: Told, head: Letterhead) -> Page:
    when = () if told.data.get("finished_at") else (("Time", told.time),)
    parts = [Part(rows=((told.noun.capitalize(), told.subject), *_rows(told.data), *when))]
    error = told.data.get("error")
    if isinstance(error, dict):
        message = str(error.get("message") or "")
        rest = message if len(message) > LONGEST_SUBJECT or "\n" in message else ""
        code = "\n\n".join(text for text in (rest, str(error.get("traceback") or "")) if text)
        parts.append(Part(heading=_error_line(error), code=code))
    parts += _failed_tasks(told.data, head)
    if told.data.get("log"):
        parts.append(Part(heading=_log_heading(told.data), code=str(told.data["log"])))
    return Page(
        title=f"{told.outcome.capitalize()}: {told.name}", parts=tuple(parts), link=head.link(told), tone=told.outcome
    )


def _failed_tasks(data: dict[str, Any], head: Letterhead) -> Iterable[Part]:
    """Yield the failed tasks of a job, each with its error, the end of its log, and a link to its page."""
    tasks = [task for task in data.get("failed_tasks") or () if isinstance(task, dict)]
    for task in tasks:
        error, task_id = task.get("error"), str(task.get("id") or "")
        rows = [("Task", task_id), ("Name", one_line(str(task.get("name") or "")))]
        if isinstance(error, dict):
            rows.append(("Error", _error_line(error)))
        yield Part(
            heading=one_line(f"Failed task: {task.get('key')}"),
            rows=tuple(rows),
            code=str(task.get("log") or ""),
            link=page_url(head.public_url, "tasks", task_id) if head.public_url else None,
        )
    counts = data.get("tasks")
    more = (counts.get("failed") or 0) - len(tasks) if tasks and isinstance(counts, dict) else 0
    if more > 0:
        yield Part(heading=f"And {more} more failed tasks.")


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


def _digest(told: Sequence[Told], head: Letterhead) -> Page:
    outcomes = Counter(each.outcome for each in told)
    worst = sorted(outcomes, key=lambda outcome: (*WORST_FIRST, outcome).index(outcome))
    title = f"{', '.join(f'{outcomes[outcome]} {outcome}' for outcome in worst)}: {_names(told)}"
    listed = sorted(told, key=lambda each: (*WORST_FIRST, each.outcome).index(each.outcome))[:MOST_LISTED]
    parts = [_entry(each, head) for each in listed]
    if len(told) > len(listed):
        parts.append(Part(heading=f"And {len(told) - len(listed)} more."))
    link = page_url(head.public_url, "tasks") if head.public_url else None
    return Page(title=title, parts=tuple(parts), link=link, tone=worst[0])


def _names(told: Sequence[Told]) -> str:
    names = [name for name, _ in Counter(each.name for each in told).most_common()]
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _entry(told: Told, head: Letterhead) -> Part:
    error = told.data.get("error")
    rows = [("Time", told.time), (told.noun.capitalize(), told.subject)]
    if isinstance(error, dict):
        rows.append(("Error", _error_line(error)))
    return Part(heading=f"{told.outcome.capitalize()}: {told.name}", rows=tuple(rows), link=head.link(told))
