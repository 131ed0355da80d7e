"""How a note is written in Redis: which fields, under which rule, for how long."""

from datetime import UTC, datetime
from typing import Any, Final

from drumline.core.clock import Instant
from drumline.core.ids import TaskId
from drumline.core.state import Status, is_ended
from drumline.ports.read_model import LetterNote, Moment, Note
from drumline.ports.store import LogChunk
from drumline.redis.client import RedisCall
from drumline.redis.keys import ReadModelKeys

LIVE_MS: Final = 60_000
"""How long a status that may change is kept; beats keep it longer, and so does the time at which it is due."""
ENDED_MS: Final = 300_000
LONGEST_CHUNK: Final = 16_384
MOST_CHUNKS: Final = 100
LETTERS_MS: Final = 3_600_000
"""How long a list of dead letters is kept after the last one came."""
MOST_LETTERS: Final = 1_000

_RULES: Final = {
    Moment.SUBMITTED: ("absent", "absent"),
    Moment.CLAIMED: ("unless_ended", "unless_ended"),
    # A hash that is not there any more would come back with half its fields: the status alone is enough.
    Moment.SETTLED: ("present", "always"),
    Moment.RENEWED: ("present", "always"),
}
_QUEUED_AGAIN: Final = ("present_unless_ended", "unless_ended")
"""A task that was settled and waits again: if it is known to have ended, this note comes too late."""
_FIRST_CLAIM: Final = 2
"""The order of the first claim. Before it there is nothing that could come too late."""


def calls_of_note(keys: ReadModelKeys, note: Note) -> tuple[RedisCall, RedisCall]:
    """Return what writes a note. Each call has one key, so that it can be sent to any node of a cluster."""
    key = keys.task(note.task)
    has_ended = is_ended(note.status)
    rules = _QUEUED_AGAIN if note.moment is Moment.SETTLED and not has_ended else _RULES[note.moment]
    lifetime = ENDED_MS if has_ended else LIVE_MS + note.waits_ms
    order = order_of(note)
    # Only an operator can undo an end, and says so under a higher order: an end itself need not be remembered.
    is_remembered = int(order > _FIRST_CLAIM and not has_ended)
    fields = [part for field in _fields(note).items() for part in field]
    status = key + ":status"
    return (
        RedisCall("note_task", (key, keys.order(key)), (rules[0], lifetime, order, is_remembered, *fields)),
        RedisCall("note_status", (status, keys.order(status)), (rules[1], lifetime, order, is_remembered, note.status)),
    )


def order_of(note: Note) -> int:
    """Return a number that is higher for what came later in a task's life; 0 if that is not known."""
    return 2 * note.epoch + (note.moment is Moment.SETTLED) if note.epoch else 0


def calls_of_keeping(keys: ReadModelKeys, task: Any) -> tuple[RedisCall, RedisCall]:
    """Return what keeps a running task's note a while longer."""
    key = keys.task(task)
    return (
        RedisCall("PEXPIRE", (key,), (LIVE_MS,), plain=True),
        RedisCall("PEXPIRE", (key + ":status",), (LIVE_MS,), plain=True),
    )


def calls_of_waiting(keys: ReadModelKeys, task: TaskId, status: Status) -> tuple[RedisCall, RedisCall]:
    """Return what keeps the note of a task that waits, if it says so too; the first answer tells if there is none."""
    key = keys.task(task)
    return (
        RedisCall("keep_task", (key,), (status, LIVE_MS)),
        RedisCall("keep_status", (key + ":status",), (status, LIVE_MS)),
    )


def calls_of_chunk(keys: ReadModelKeys, chunk: LogChunk) -> tuple[RedisCall, RedisCall, RedisCall]:
    """Return what copies a piece of a log; only the last pieces are kept."""
    key = (keys.task(chunk.task) + ":log",)
    return (
        RedisCall("RPUSH", key, (chunk.text[-LONGEST_CHUNK:],), plain=True),
        RedisCall("LTRIM", key, (-MOST_CHUNKS, -1), plain=True),
        RedisCall("PEXPIRE", key, (ENDED_MS,), plain=True),
    )


def calls_of_letter(keys: ReadModelKeys, note: LetterNote) -> tuple[RedisCall, ...]:
    """Return what puts a task on the list of dead letters, at its end and only once, or takes it off."""
    key = (keys.letters(note.job or note.task),)
    remove = RedisCall("LREM", key, (0, note.task), plain=True)
    if not note.is_there:
        return (remove,)
    return (
        remove,
        RedisCall("RPUSH", key, (note.task,), plain=True),
        RedisCall("LTRIM", key, (-MOST_LETTERS, -1), plain=True),
        RedisCall("PEXPIRE", key, (LETTERS_MS,), plain=True),
    )


def _fields(note: Note) -> dict[str, str | int]:
    fields: dict[str, str | int] = {"status": note.status}
    if note.facts is not None:
        options = note.facts.options
        fields |= {
            "taskId": note.task,
            "taskName": note.facts.name,
            "command": note.facts.command,
            "retries": options.retries,
            "timeout": "" if options.timeout_ms is None else f"{options.timeout_ms / 1000:g}",
            "startTime": "",
            "endTime": "",
        }
        if options.job is not None:
            fields |= {"jobId": options.job, "taskKey": options.key or ""}
    if note.moment is Moment.RENEWED:
        fields |= {"startTime": "", "endTime": ""}
    if note.started_at is not None:
        fields["startTime"] = time_text(note.started_at)
    if note.ended_at is not None:
        fields["endTime"] = time_text(note.ended_at)
    return fields


def time_text(instant: Instant) -> str:
    """Return a time as it is written in Redis."""
    moment = datetime.fromtimestamp(instant / 1000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
