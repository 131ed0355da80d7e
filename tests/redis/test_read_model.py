"""The read model: the keys and fields that were asked for, soon after the change, and never an old answer for long."""

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace
from redis.asyncio import Redis

from drumline.core.clock import Instant, ManualClock
from drumline.core.errors import NotFound
from drumline.core.ids import TaskId
from drumline.core.outcome import ErrorInfo, Failed, Succeeded
from drumline.core.session import Beat, SessionSpec, TaskType
from drumline.core.state import Status
from drumline.core.task import DEFAULT_OPTIONS
from drumline.engine.engine import Engine
from drumline.engine.gateway import LocalGateway
from drumline.engine.options import EngineOptions
from drumline.ports.gateway import Report
from drumline.ports.read_model import Facts, Moment, Note
from drumline.ports.store import LogChunk
from drumline.redis import RedisQueue, RedisReadModel
from drumline.redis.task_calls import ENDED_MS, LIVE_MS
from drumline.stores.sqlite import SqliteStore
from tests.factories import new_id, request
from tests.harness.sqlite import migrated
from tests.redis.hints import eventually

FIELDS = {"taskId", "taskName", "command", "retries", "timeout", "status", "startTime", "endTime"}
FACTS = Facts("work", "", DEFAULT_OPTIONS)
SPEC = SessionSpec(host="ada", pid=1, version="0", queues=(), types=(TaskType(name="work"),), capacity=10)


@pytest.fixture
async def board(redis_url: str) -> AsyncIterator[RedisReadModel]:
    board = RedisReadModel(redis_url)
    yield board
    await board.close()


@pytest.fixture
async def engine(tmp_path: Path, redis_url: str, clock: ManualClock) -> AsyncIterator[Engine]:
    queue = RedisQueue(redis_url, clock=clock)
    await queue.filled()
    engine = Engine(
        await SqliteStore.open(migrated(tmp_path / "d.db"), clock=clock),
        queue,
        EngineOptions(clock=clock, read_model=RedisReadModel(redis_url)),
    )
    yield engine
    await engine.close()


async def written(engine: Engine) -> None:
    """Wait for what is being written in the background."""
    board = engine.read_model
    assert isinstance(board, RedisReadModel)
    await engine._offers.drained()
    board._begin()
    while board._writing is not None:
        await asyncio.wait({board._writing})


async def has_status(client: Redis, task: TaskId, status: Status | None) -> None:
    async def is_so() -> bool:
        return await client.get(f"drumline:task:{task}:status") == status

    await eventually(is_so)


async def has_been_written(board: RedisReadModel, client: Redis) -> None:
    """Wait until everything that was noted is written: what is noted last is written last."""
    last = new_id()
    board.note([note(last, Status.QUEUED, Moment.SUBMITTED)])
    await has_status(client, last, Status.QUEUED)


def note(task: TaskId, status: Status, moment: Moment) -> Note:
    return Note(task=task, moment=moment, status=status)


async def test_a_task_is_there_with_every_field_as_soon_as_it_is_submitted(engine: Engine, client: Redis) -> None:
    submitted = await engine.submissions.submit(request(payload={"command": "ls -l"}, retries=5, timeout=90))
    await written(engine)

    task = await client.hgetall(f"drumline:task:{submitted.id}")

    assert task == {
        "taskId": submitted.id,
        "taskName": "work",
        "command": "ls -l",
        "retries": "5",
        "timeout": "90",
        "status": "QUEUED",
        "startTime": "",
        "endTime": "",
    }
    assert await client.get(f"drumline:task:{submitted.id}:status") == "QUEUED"


async def test_a_task_is_followed_to_its_end(engine: Engine, client: Redis, clock: ManualClock) -> None:
    gateway = LocalGateway(engine)
    session = await gateway.open_session(SPEC)
    submitted = await engine.submissions.submit(request(retries=1))
    key = f"drumline:task:{submitted.id}"

    statuses = []
    for outcome in (Failed(ErrorInfo("Oops", "no")), Succeeded()):
        (claimed,) = await gateway.claim(session, limit=1, wait=0)
        await written(engine)
        statuses.append(await client.hget(key, "status"))
        clock.advance(1)
        await gateway.settle([Report(claimed.lease, outcome)])
        await written(engine)
        statuses.append(await client.get(key + ":status"))
        clock.advance(10)
    task = await client.hgetall(key)

    assert statuses == ["PROCESSING", "PENDING", "PROCESSING", "COMPLETED"]
    assert set(task) == FIELDS
    assert (task["startTime"], task["endTime"]) == ("2023-11-14T22:13:31.000Z", "2023-11-14T22:13:32.000Z")


async def test_everything_on_the_board_expires(engine: Engine, client: Redis) -> None:
    submitted = await engine.submissions.submit(request())
    await written(engine)
    key = f"drumline:task:{submitted.id}"
    live = [await client.pttl(key), await client.pttl(key + ":status")]

    await engine.control.cancel(submitted.id)
    await written(engine)
    ended = [await client.pttl(key), await client.pttl(key + ":status")]

    assert all(0 < each <= LIVE_MS for each in live)
    assert all(LIVE_MS < each <= ENDED_MS for each in ended)


async def test_beats_keep_the_notes_of_running_tasks(engine: Engine, client: Redis) -> None:
    gateway = LocalGateway(engine)
    session = await gateway.open_session(SPEC)
    submitted = await engine.submissions.submit(request())
    (claimed,) = await gateway.claim(session, limit=1, wait=0)
    await written(engine)
    key = f"drumline:task:{submitted.id}:status"
    await client.pexpire(key, 1000)

    await gateway.beat(Beat(session=session, held=(claimed.lease,)))
    await written(engine)

    assert await client.pttl(key) > 1000


async def test_the_log_is_copied(engine: Engine, client: Redis) -> None:
    task = (await engine.submissions.submit(request())).id

    chunks = [LogChunk(task=task, epoch=1, seq=number, text=f"line {number}\n") for number in range(3)]
    await LocalGateway(engine).append_log(chunks)
    await written(engine)

    assert await client.lrange(f"drumline:task:{task}:log", 0, -1) == ["line 0\n", "line 1\n", "line 2\n"]


async def test_a_status_is_read_from_the_board_and_else_from_the_store(engine: Engine, client: Redis) -> None:
    task = (await engine.submissions.submit(request())).id
    await written(engine)

    await client.set(f"drumline:task:{task}:status", "PROCESSING")
    from_board = await engine.queries.status(task)
    await client.flushdb()
    from_store = await engine.queries.status(task)
    await written(engine)

    assert (from_board, from_store) == (Status.PROCESSING, Status.QUEUED)
    assert await client.get(f"drumline:task:{task}:status") == "QUEUED"  # whoever looks may look again


async def test_a_status_that_a_later_version_has_written_is_asked_of_the_store(engine: Engine, client: Redis) -> None:
    task = (await engine.submissions.submit(request())).id
    await written(engine)
    await client.set(f"drumline:task:{task}:status", "PARKED")

    assert await engine.queries.status(task) is Status.QUEUED


async def test_a_tenant_sees_only_its_own_on_the_board_too(engine: Engine) -> None:
    task = (await engine.submissions.submit(request(), tenant="acme")).id
    await written(engine)

    assert await engine.queries.status(task, tenant="acme") is Status.QUEUED
    assert await engine.queries.status(task, tenant="acme") is Status.QUEUED
    with pytest.raises(NotFound):
        await engine.queries.status(task, tenant="other")


async def test_a_retried_task_is_shown_as_waiting_again(engine: Engine, client: Redis) -> None:
    task = (await engine.submissions.submit(request())).id
    await engine.control.cancel(task)
    await written(engine)
    cancelled = await client.get(f"drumline:task:{task}:status")

    await engine.control.retry(task)
    await written(engine)

    assert cancelled == "CANCELLED"
    assert await engine.queries.status(task) is Status.QUEUED
    assert await client.hget(f"drumline:task:{task}", "endTime") == ""


async def test_notes_that_arrive_late_do_not_undo_newer_ones(board: RedisReadModel, client: Redis) -> None:
    task = new_id()
    board.note([note(task, Status.COMPLETED, Moment.SETTLED)])
    board.note([note(task, Status.PROCESSING, Moment.CLAIMED), note(task, Status.QUEUED, Moment.SUBMITTED)])
    last = new_id()
    board.note([note(last, Status.QUEUED, Moment.SUBMITTED)])

    await has_status(client, last, Status.QUEUED)

    assert await board.status([task, last]) == [Status.COMPLETED, Status.QUEUED]


async def test_the_end_of_an_attempt_that_is_noted_late_does_not_undo_a_retry(
    board: RedisReadModel, redis_url: str, client: Redis
) -> None:
    task, other = new_id(), RedisReadModel(redis_url)
    board.note([replace(note(task, Status.PROCESSING, Moment.CLAIMED), epoch=1, facts=FACTS)])
    await has_status(client, task, Status.PROCESSING)
    other.renew(replace(note(task, Status.QUEUED, Moment.RENEWED), epoch=2))
    await has_status(client, task, Status.QUEUED)

    board.note([replace(note(task, Status.FAILED, Moment.SETTLED), epoch=1)])  # of the attempt that was retried
    await has_been_written(board, client)

    assert await board.status([task]) == [Status.QUEUED]
    assert await client.hget(f"drumline:task:{task}", "status") == "QUEUED"
    board.note([replace(note(task, Status.COMPLETED, Moment.SETTLED), epoch=3)])
    await has_status(client, task, Status.COMPLETED)
    await other.close()


async def test_a_note_of_an_earlier_attempt_does_not_undo_that_of_a_later_one(
    board: RedisReadModel, client: Redis
) -> None:
    task = new_id()
    board.note([replace(note(task, Status.PROCESSING, Moment.CLAIMED), epoch=2, facts=FACTS)])

    late = [
        replace(note(task, Status.PENDING, Moment.SETTLED), epoch=1),
        replace(note(task, Status.PROCESSING, Moment.CLAIMED), epoch=1, started_at=Instant(5)),
    ]
    board.note(late)
    await has_been_written(board, client)

    assert await board.status([task]) == [Status.PROCESSING]
    assert await client.hget(f"drumline:task:{task}", "startTime") == ""
    board.note([replace(note(task, Status.PENDING, Moment.SETTLED), epoch=2)])
    await has_status(client, task, Status.PENDING)


async def test_a_task_that_is_freed_late_does_not_undo_an_end(board: RedisReadModel, client: Redis) -> None:
    task = new_id()
    board.note([replace(note(task, Status.COMPLETED, Moment.SETTLED), epoch=2)])

    board.note([note(task, Status.QUEUED, Moment.SETTLED)])
    await has_been_written(board, client)

    assert await board.status([task]) == [Status.COMPLETED]


async def test_under_pressure_notes_are_left_out_and_old_statuses_are_not_told(redis_url: str, client: Redis) -> None:
    board = RedisReadModel(redis_url, most_waiting=10)
    running, ended = new_id(), new_id()
    board.note([note(running, Status.PROCESSING, Moment.CLAIMED), note(ended, Status.FAILED, Moment.SETTLED)])
    await has_status(client, ended, Status.FAILED)
    before = await board.status([running, ended])

    board.note(note(new_id(), Status.QUEUED, Moment.SUBMITTED) for _ in range(50))
    other = RedisReadModel(redis_url)

    async def is_doubted() -> bool:
        return bool(await client.exists("drumline:board:doubt"))

    await eventually(is_doubted)
    after = await other.status([running, ended])

    assert before == [Status.PROCESSING, Status.FAILED]
    assert after == [None, Status.FAILED]
    assert await client.pttl("drumline:board:doubt") > LIVE_MS
    await board.close()
    await other.close()


async def test_a_board_that_rests_does_not_even_look_at_notes(redis_url: str) -> None:
    board = RedisReadModel(redis_url, most_waiting=2)
    looked = []

    def notes() -> Iterator[Note]:
        for number in range(5):
            looked.append(number)
            yield note(new_id(), Status.QUEUED, Moment.SUBMITTED)

    board.note(notes())
    board._read()
    at_first = len(looked)
    board.note(notes())
    board._read()

    assert (at_first, len(looked)) == (3, 3)
    await board.close()


async def test_a_board_that_rested_in_vain_rests_longer_up_to_an_end(redis_url: str) -> None:
    board = RedisReadModel(redis_url, most_waiting=2)

    def rest(*, after: float) -> float:
        """Return how long a board rests that is told too much so long after its last rest."""
        board._rests_until = began = time.monotonic() - after
        board.note([note(new_id(), Status.QUEUED, Moment.SUBMITTED) for _ in range(5)])
        board._read()
        return round(board._rests_until - began - after, 1)

    assert [rest(after=60), rest(after=0.2), rest(after=0.2), rest(after=0.2), rest(after=5)] == [1, 2, 4, 4, 1]
    await board.close()


async def test_a_board_that_is_away_knows_nothing_and_disturbs_nobody() -> None:
    board = RedisReadModel("redis://127.0.0.1:1")
    task = new_id()

    board.note([note(task, Status.QUEUED, Moment.SUBMITTED)])
    board.renew(note(task, Status.QUEUED, Moment.RENEWED))

    assert await board.status([task]) == [None]
    await board.close()


async def test_what_operators_change_while_redis_comes_back_is_all_written(
    board: RedisReadModel, client: Redis
) -> None:
    tasks = [new_id() for _ in range(3)]
    for task in tasks[:2]:
        board.renew(note(task, Status.QUEUED, Moment.RENEWED))

    writing = asyncio.create_task(board._write_some())
    coming_back = asyncio.create_task(board._recovered())  # what the client calls when it is answered again
    await asyncio.sleep(0)
    board.renew(note(tasks[2], Status.QUEUED, Moment.RENEWED))
    await asyncio.gather(writing, coming_back)

    for task in tasks:
        await has_status(client, task, Status.QUEUED)


async def test_when_there_are_too_many_changes_the_oldest_are_left_out_and_no_others(
    board: RedisReadModel, client: Redis
) -> None:
    board._renewals = deque(maxlen=2)
    tasks = [new_id() for _ in range(3)]
    for task in tasks[:2]:
        board.renew(note(task, Status.QUEUED, Moment.RENEWED))

    board._begin()
    await asyncio.sleep(0)
    board.renew(note(tasks[2], Status.QUEUED, Moment.RENEWED))

    for task in tasks:
        await has_status(client, task, Status.QUEUED)
