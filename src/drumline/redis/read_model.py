"""The read model in Redis. It is fed after the fact, in the background, and never slows those who do the work.

A note costs this process and Redis some forty microseconds. That is nothing at a hundred tasks a second, and twice the
work itself at thirty thousand. So the model takes notes while it can keep up; when it cannot, it rests for a second
and looks at none, and for longer if that was in vain. A status that was left out would make an older one linger, so
whenever something was left out or lost, the model says so under one key, for longer than a status that may change is
kept: whatever could have been missed has expired by the time the doubt has. While in doubt, `status` answers only with
ends, which change no more; an operator's act that renews an ended task is never left out. Tasks that wait are kept as
long as they do: until their time if they have one, else by a scheduler that renews them (`scheduler/read_model.py`).
"""

import asyncio
import time
from collections import deque
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Final, Self

from drumline.core.ids import JobId, TaskId
from drumline.core.metrics import Metrics
from drumline.core.shard_map import DIRECTORY
from drumline.core.state import Status, is_ended
from drumline.ports.read_model import JobNote, LetterNote, Note
from drumline.ports.store import LogChunk
from drumline.redis.address import Address
from drumline.redis.client import Meter, RedisCall, RedisClient
from drumline.redis.job_calls import calls_of_job, calls_of_kept_job
from drumline.redis.keys import DEFAULT_PREFIX, ReadModelKeys
from drumline.redis.task_calls import (
    LIVE_MS,
    calls_of_chunk,
    calls_of_keeping,
    calls_of_letter,
    calls_of_note,
    calls_of_waiting,
)

PER_SECOND: Final = 2_000
"""Entries that one process writes in a second."""
MOST_WAITING: Final = 1_000
MOST_UNREAD: Final = 8
"""Batches of notes, after which they are made at once: they hold on to what they are about."""
MOST_RENEWALS: Final = 20_000
"""More than an operator can renew by one act: the tasks of the largest job."""
MOST_AT_ONCE: Final = 250
REST_SECONDS: Final = 1.0
LONGEST_REST: Final = 4.0
"""Less than a doubt outlasts what could have been missed: it is written before each rest, and again after."""
GATHER_SECONDS: Final = 0.03
CLOSE_SECONDS: Final = 1.0
CATCH_UP_SECONDS: Final = 10.0
DOUBT_MS: Final = LIVE_MS + 5_000
"""Longer than a status that may change is kept, by more than it takes to tell the doubt."""

_STATUSES: Final = {status.value: status for status in Status}

ABSENT: Final = -1
"""What keep_task.lua gives for a task that nothing is known of."""

Entry = Note | JobNote | LetterNote | LogChunk | TaskId


class RedisReadModel:
    """`ports.read_model.ReadModel` of a shard in Redis, or in a Redis Cluster."""

    def __init__(
        self,
        url: str,
        *,
        prefix: str = DEFAULT_PREFIX,
        shard: str = DIRECTORY,
        per_second: int = PER_SECOND,
        most_waiting: int = MOST_WAITING,
        metrics: Metrics | None = None,
    ) -> None:
        self._keys = ReadModelKeys(prefix, shard)
        probe = RedisCall("probe", (self._keys.probe,), ("",))
        self._client = RedisClient(
            Address(url), probe=probe, recovered=self._recovered, meter=Meter(metrics or Metrics(), "board")
        )
        self._per_second = per_second
        self._most_waiting = most_waiting
        self._unread: deque[Iterable[Note]] = deque()
        """Notes not made yet: the caller has more urgent things to do first."""
        self._waiting: deque[Entry] = deque()
        self._renewals: deque[Note | JobNote] = deque(maxlen=MOST_RENEWALS)
        self._is_in_doubt = False
        self._rest = 0.0
        self._rests_until = 0.0
        self._alarm: asyncio.TimerHandle | None = None
        self._writing: asyncio.Task[None] | None = None

    @classmethod
    async def open(
        cls, url: str, *, prefix: str = DEFAULT_PREFIX, shard: str = DIRECTORY, metrics: Metrics | None = None
    ) -> Self:
        """Return the read model at `url`. Nothing is sent yet."""
        return cls(url, prefix=prefix, shard=shard, metrics=metrics)

    def note(self, notes: Iterable[Note]) -> None:
        """Write the status of tasks, in the background."""
        if self._client.is_down or time.monotonic() < self._rests_until:
            self._is_in_doubt = True  # under pressure this is all that a batch costs
            return
        self._unread.append(notes)
        if len(self._unread) > MOST_UNREAD:
            self._read()
        self._start()

    def renew(self, note: Note) -> None:
        """Write what an operator changed; it is kept until it can be written."""
        self._renewals.append(note)
        self._start()

    def note_job(self, note: JobNote) -> None:
        """Write the status of a job; it is kept until it can be written."""
        self._renewals.append(note)
        self._start()

    def note_letters(self, notes: Sequence[LetterNote]) -> None:
        """Write which tasks have a dead letter, in the background."""
        self._add(notes)

    async def caught_up(self) -> None:
        """Wait for the writing when renewals fill half of their room; not for a Redis that is away."""
        if len(self._renewals) > MOST_RENEWALS // 2:
            self._begin()
        if len(self._renewals) > MOST_RENEWALS // 2 and self._writing is not None:
            await asyncio.wait({self._writing}, timeout=CATCH_UP_SECONDS)

    def keep(self, tasks: Sequence[TaskId]) -> None:
        """Keep the notes of tasks that are still being run."""
        self._add(tasks)

    async def keep_waiting(self, tasks: Sequence[tuple[TaskId, Status]]) -> list[TaskId] | None:
        """Keep the notes of tasks that wait, and return those of which nothing is known; None if Redis is away."""
        absent: list[TaskId] = []
        for start in range(0, len(tasks), MOST_AT_ONCE):
            part = tasks[start : start + MOST_AT_ONCE]
            calls = [call for task, status in part for call in calls_of_waiting(self._keys, task, status)]
            answers = await self._client.run_all(calls)
            if answers is None:
                return None
            absent += [task for (task, _), answer in zip(part, answers[::2], strict=True) if answer == ABSENT]
        return absent

    async def keep_jobs(self, jobs: Sequence[JobId]) -> None:
        """Keep the notes of jobs that have not ended."""
        for start in range(0, len(jobs), MOST_AT_ONCE):
            part = jobs[start : start + MOST_AT_ONCE]
            await self._client.run_all([call for job in part for call in calls_of_kept_job(self._keys, job)])

    async def may_keep(self, seconds: float) -> bool:
        """Tell whether no other process has renewed the notes of what waits in the last so many seconds."""
        args = (1, "NX", "PX", round(seconds * 1000))
        return await self._client.run(RedisCall("SET", (self._keys.keeper,), args, plain=True)) is not None

    async def check(self) -> None:
        """Raise `Unavailable` if Redis does not take what is written."""
        await self._client.check()

    def log(self, chunks: Sequence[LogChunk]) -> None:
        """Copy pieces of logs, in the background."""
        self._add(chunks)

    async def status(self, tasks: Sequence[TaskId]) -> list[Status | None]:
        """Return the status of tasks, as far as it is known here and likely still true."""
        keys = [self._keys.doubt, *[self._keys.task(task) + ":status" for task in tasks]]
        answers = await self._client.run_all([RedisCall("GET", (key,), plain=True) for key in keys])
        if answers is None:
            return [None] * len(tasks)
        doubt, *found = answers
        is_in_doubt = doubt is not None or self._is_in_doubt
        statuses = [_STATUSES.get(word) for word in found]  # a word of a later version is for the store to explain
        return [
            status if status is not None and _is_sure(status, is_in_doubt=is_in_doubt) else None for status in statuses
        ]

    async def close(self) -> None:
        """Write what waits, if that is quickly done, and let go of every connection."""
        self._begin()
        writing = self._writing
        if writing is not None:
            if self._unread or self._waiting or self._renewals:
                await asyncio.wait({writing}, timeout=CLOSE_SECONDS)
            writing.cancel()
            await asyncio.wait({writing})
        await self._client.close()

    def _add(self, entries: Sequence[LogChunk] | Sequence[LetterNote] | Sequence[TaskId]) -> None:
        """Take entries that may be left out."""
        if not self._client.is_down and time.monotonic() >= self._rests_until:
            self._read()
            self._waiting += islice(entries, max(self._most_waiting - len(self._waiting), 0))
            self._start()

    def _read(self) -> None:
        """Take in what was noted; when that is too much, leave it out and rest."""
        while self._unread:
            remaining = iter(self._unread.popleft())
            self._waiting += islice(remaining, self._most_waiting - len(self._waiting))
            if next(remaining, None) is not None:
                self._waiting.clear()
                self._unread.clear()
                self._is_in_doubt = True
                self._take_rest(time.monotonic())

    def _take_rest(self, now: float) -> None:
        """Rest; twice as long as the last time, if that was only just over."""
        is_again = now - self._rests_until < REST_SECONDS
        self._rest = min(2 * self._rest, LONGEST_REST) if is_again else REST_SECONDS
        self._rests_until = now + self._rest

    @property
    def _has_more(self) -> bool:
        return bool(self._unread or self._waiting or self._renewals or self._is_in_doubt)

    def _start(self) -> None:
        if self._writing is None and self._alarm is None and not self._client.is_down and self._has_more:
            # The caller has more urgent things to do next: wake a worker, or start the task.
            self._alarm = asyncio.get_running_loop().call_later(GATHER_SECONDS, self._begin)

    def _begin(self) -> None:
        """Write now, if there is something that would be written soon."""
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
            self._writing = asyncio.get_running_loop().create_task(self._write(), name="write the read model")

    async def _write(self) -> None:
        try:
            while self._has_more:
                written = await self._write_some()
                if not written:
                    return
                await asyncio.sleep(max(written / self._per_second, self._rests_until - time.monotonic()))
        finally:
            self._writing = None

    async def _write_some(self) -> int:
        """Write what is next, and return how many entries that were; none if Redis is away."""
        self._read()
        renewals = list(islice(self._renewals, MOST_AT_ONCE))
        entries = [self._waiting.popleft() for _ in range(min(len(self._waiting), MOST_AT_ONCE))]
        calls = [RedisCall("SET", (self._keys.doubt,), (1, "PX", DOUBT_MS), plain=True)] if self._is_in_doubt else []
        self._is_in_doubt = False
        calls += [call for entry in (*entries, *renewals) for call in self._calls(entry)]
        if await self._client.run_all(calls) is None:
            self._waiting.clear()
            self._is_in_doubt = True
            return 0
        # Those that were written, and no others: they are written twice at once when Redis comes back just now, and
        # when there are too many the oldest are gone already.
        for written in renewals:
            if self._renewals and self._renewals[0] is written:
                self._renewals.popleft()
        return max(len(calls) // 2, 1)

    def _calls(self, entry: Entry) -> Sequence[RedisCall]:
        if isinstance(entry, JobNote):
            return calls_of_job(self._keys, entry)
        if isinstance(entry, Note):
            return calls_of_note(self._keys, entry)
        if isinstance(entry, LogChunk):
            return calls_of_chunk(self._keys, entry)
        if isinstance(entry, LetterNote):
            return calls_of_letter(self._keys, entry)
        return calls_of_keeping(self._keys, entry)

    async def _recovered(self) -> None:
        """Begin with the doubt: what was noted while Redis was away has been left out."""
        if self._is_in_doubt or self._renewals:
            await self._write_some()


def _is_sure(status: Status, *, is_in_doubt: bool) -> bool:
    """Tell whether a status can be passed on.

    One that waits for its time is kept until then, for longer than a doubt lasts: the store is asked. An end stays.
    """
    return is_ended(status) or not (is_in_doubt or status is Status.PENDING)
