"""How a job is written in Redis: one hash of what it is, one of which task needs which."""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final

from msgspec.structs import asdict

from drumline.core.codec import encode
from drumline.core.ids import JobId
from drumline.core.job import ENDED, JobStatus
from drumline.ports.read_model import JobFacts, JobNote
from drumline.redis.client import RedisCall
from drumline.redis.keys import ReadModelKeys
from drumline.redis.task_calls import time_text

LIVE_MS: Final = 24 * 3_600_000
"""How long a job that may change is kept: its notes are never left out, so it is not wrong for long."""
ENDED_MS: Final = 3_600_000
MOST_FIELDS: Final = 500
"""Tasks written in one call."""


def calls_of_job(keys: ReadModelKeys, note: JobNote) -> list[RedisCall]:
    """Return what writes a job. Notes of several processes arrive in any order, so each part has its own rule."""
    lifetime = ENDED_MS if note.status in ENDED else LIVE_MS
    calls = list(_calls_of_facts(keys, note.job, note.facts)) if note.facts is not None else []
    rule = "absent" if note.facts is not None else "always"
    if note.status is JobStatus.PROCESSING and not note.renews and not note.version:
        rule = "unless_ended"
    key = keys.job(note.job)
    order = (note.version, int(note.version > 0))
    calls.append(RedisCall("note_task", (key, keys.order(key)), (rule, lifetime, *order, "status", note.status)))
    calls += [RedisCall("PEXPIRE", (key,), (lifetime,), plain=True) for key in (keys.dag(note.job), keys.ids(note.job))]
    return calls


def calls_of_kept_job(keys: ReadModelKeys, job: JobId) -> list[RedisCall]:
    """Return what keeps the notes of a job that has not ended."""
    return [
        RedisCall("PEXPIRE", (key,), (LIVE_MS,), plain=True) for key in (keys.job(job), keys.dag(job), keys.ids(job))
    ]


def _calls_of_facts(keys: ReadModelKeys, job: JobId, facts: JobFacts) -> Iterator[RedisCall]:
    fields: dict[str, str | bytes] = {
        "jobId": job,
        "jobName": facts.name,
        "userId": facts.owner or "",
        "createdAt": time_text(facts.created_at),
        "retryPolicy": encode({"retries": facts.options.retries, "backoff": asdict(facts.options.backoff)}),
        "schedule": encode(_schedule(facts)),
    }
    yield RedisCall("HSET", (keys.job(job),), _flat(fields.items()), plain=True)
    needs = list(facts.needs.items())
    for start in range(0, len(needs), MOST_FIELDS):
        part = [(key, encode(parents)) for key, parents in needs[start : start + MOST_FIELDS]]
        yield RedisCall("HSET", (keys.dag(job),), _flat(part), plain=True)
        ids = [(key, facts.tasks[key]) for key, _ in part]
        yield RedisCall("HSET", (keys.ids(job),), _flat(ids), plain=True)


def _schedule(facts: JobFacts) -> dict[str, str] | None:
    """Return the schedule that made a job, and the time it was made for; nothing if it was submitted."""
    if facts.schedule_id is None:
        return None
    fire_time = {} if facts.fire_time is None else {"fireTime": time_text(facts.fire_time)}
    return {"id": facts.schedule_id} | fire_time


def _flat(pairs: Iterable[tuple[str, str | bytes]]) -> tuple[str | bytes, ...]:
    return tuple(chain.from_iterable(pairs))
