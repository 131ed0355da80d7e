import asyncio

import pytest

from drumline.core.attempt import Progress, ProgressNote
from drumline.core.clock import Instant, ManualClock
from drumline.core.ids import SessionId, TaskId, id_above
from drumline.core.outcome import LEFT_OUT, LONGEST_SHORTENED, ErrorInfo
from drumline.core.state import Act, Status
from drumline.core.task import accept
from drumline.engine import log_reading
from drumline.engine.log_reading import LogReader, Portion
from drumline.ports.store import Artifact, LogChunk, Store, TaskFilter
from drumline.stores.parts import tasks
from tests.factories import claim_one, log_of, new_id, open_session, request, settle, submit


async def listed(store: Store, limit: int = 100, before: TaskId | None = None, **which: object) -> list[TaskId]:
    views = await store.queries.list_tasks(TaskFilter(**which), limit=limit, before=before)  # type: ignore[arg-type]
    return [view.id for view in views]


async def test_the_store_tells_its_time(store: Store, clock: ManualClock) -> None:
    assert await store.queries.now() == clock.now()


async def test_unknown_tasks_are_none_in_their_place(store: Store) -> None:
    task = await submit(store)

    views = await store.queries.get([new_id(), task])

    assert views[0] is None
    assert views[1] is not None
    assert views[1].id == task


async def test_small_payloads_are_read_and_large_ones_are_left_out(store: Store) -> None:
    small = await submit(store, payload={"n": 1})
    large = await submit(store, payload={"text": "é" * 20})

    payloads = await store.queries.small_payloads([large, new_id(), small], largest=20)

    assert payloads == [None, None, b'{"n":1}']
    assert await store.queries.small_payloads([], largest=20) == []


async def test_callers_that_ask_for_one_task_each_at_once_get_their_own(store: Store) -> None:
    red = [await submit(store, tenant="red", payload={"n": n}) for n in range(20)]
    blue = await submit(store, tenant="blue")
    missing = new_id()
    asked: list[tuple[TaskId, str | None]] = [(task, "red") for task in red]
    asked += [(blue, "blue"), (blue, "red"), (blue, None), (missing, None), (red[0], None), (red[0], "red")]

    answers = await asyncio.gather(*(store.queries.get([task], tenant=tenant) for task, tenant in asked))

    found = [None if view is None else view.id for (view,) in answers]
    assert found == [*red, blue, None, blue, None, red[0], red[0]]
    assert [bytes(view.payload or b"") for (view,) in answers[:20] if view] == [b'{"n":%d}' % n for n in range(20)]


async def test_a_caller_sees_what_was_committed_before_it_asked_while_others_ask(store: Store) -> None:
    busy = await submit(store)

    async def submit_and_look() -> bool:
        task = await submit(store)
        (view,) = await store.queries.get([task])
        return view is not None

    looks = [store.queries.get([busy]) for _ in range(50)]
    seen = await asyncio.gather(*(submit_and_look() for _ in range(20)), *looks)

    assert all(seen)


async def test_large_tasks_are_read_for_many_callers_at_once(store: Store) -> None:
    tasks = [await submit(store, payload={"text": "x" * 300_000, "n": n}) for n in range(8)]

    for _ in range(2):
        answers = await asyncio.gather(*(store.queries.get([task]) for task in tasks))
        assert [view.id for (view,) in answers if view] == tasks


async def test_tasks_are_listed_newest_first_in_pages(store: Store) -> None:
    tasks = [await submit(store) for _ in range(5)]

    first = await listed(store, limit=2)
    second = await listed(store, limit=2, before=first[-1])
    third = await listed(store, limit=2, before=second[-1])

    assert first + second + third == tasks[::-1]


async def test_lists_carry_no_payloads_unless_asked(store: Store) -> None:
    await submit(store, payload={"secret": 1})

    (plain,) = await store.queries.list_tasks(TaskFilter(), limit=10)
    (whole,) = await store.queries.list_tasks(TaskFilter(), limit=10, payload=True)

    assert plain.payload is None
    assert whole.payload is not None
    assert bytes(whole.payload) == b'{"secret":1}'


async def test_lists_narrow_by_each_filter(store: Store) -> None:
    mine = await submit(store, "a", queue="q", tenant="red", tags=("vip", "eu"), idempotency_key="k")
    other = await submit(store, "b", queue="r", tenant="blue", tags=("eu",))
    ada = await open_session(store, "a")
    await claim_one(store, ada, "a")

    assert await listed(store, name="a") == [mine]
    assert await listed(store, queue="q") == [mine]
    assert await listed(store, tenant="red") == [mine]
    assert await listed(store, tag="vip") == [mine]
    assert await listed(store, tag="eu") == [other, mine]
    assert await listed(store, idempotency_key="k") == [mine]
    assert await listed(store, worker=ada) == [mine]
    assert await listed(store, name="a", queue="r") == []


async def test_lists_narrow_by_when_tasks_ended(store: Store, clock: ManualClock) -> None:
    ada = await open_session(store, "a")
    early, again, late, _waiting = [await submit(store, "a", queue="q") for _ in range(4)]
    for _ in (early, again):
        await settle(store, (await claim_one(store, ada, "a")).lease, Act.FAIL)
    clock.advance(60)
    since = clock.now()
    await settle(store, (await claim_one(store, ada, "a")).lease, Act.COMPLETE)
    await store.control.retry([again])

    assert await listed(store, finished_since=since) == [late]
    assert await listed(store, finished_since=since, statuses=frozenset({Status.FAILED})) == []
    assert await listed(store, finished_since=since, statuses=frozenset({Status.COMPLETED}), queue="q") == [late]
    assert await listed(store, finished_since=since, statuses=frozenset({Status.QUEUED})) == []
    assert await listed(store, finished_since=since - 60_000) == [late, early]
    assert await listed(store, finished_since=since + 1) == []


async def test_lists_narrow_by_when_tasks_were_submitted(store: Store) -> None:
    tasks = []
    for hour in (1, 2, 3):
        made = id_above(hour * 3_600_000 - 1)  # the first id of that hour
        await store.submit([accept(request(), id=made, tenant="default")])
        tasks.append(made)
    first, second, third = tasks

    assert await listed(store, since=Instant(2 * 3_600_000)) == [third, second]
    assert await listed(store, until=Instant(3 * 3_600_000)) == [second, first]
    assert await listed(store, since=Instant(2 * 3_600_000), until=Instant(3 * 3_600_000)) == [second]
    assert await listed(store, until=Instant(3 * 3_600_000), before=second) == [first]
    assert await listed(store, since=Instant(3 * 3_600_000 + 1)) == []


async def test_lists_narrow_by_status(store: Store) -> None:
    ada = await open_session(store, "c", "f", "p")
    completed, failed, running = [await submit(store, name) for name in ("c", "f", "p")]
    await settle(store, (await claim_one(store, ada, "c")).lease, Act.COMPLETE)
    await settle(store, (await claim_one(store, ada, "f")).lease, Act.FAIL)
    await claim_one(store, ada, "p")
    pending = await submit(store, delay=60)
    queued = await submit(store)
    cancelled = await submit(store)
    await store.control.cancel([cancelled])

    by_status = {status: await listed(store, statuses=frozenset({status})) for status in Status}

    assert by_status == {
        Status.PENDING: [pending],
        Status.QUEUED: [queued],
        Status.PROCESSING: [running],
        Status.COMPLETED: [completed],
        Status.FAILED: [failed],
        Status.CANCELLED: [cancelled],
        Status.SKIPPED: [],
    }
    assert await listed(store, statuses=frozenset({Status.FAILED, Status.QUEUED})) == [queued, failed]


async def test_a_retried_task_is_listed_once_under_its_new_status(store: Store) -> None:
    task = await submit(store)
    await store.control.cancel([task])
    await store.control.retry([task])

    assert await listed(store, statuses=frozenset({Status.CANCELLED})) == []
    assert await listed(store, statuses=frozenset({Status.QUEUED})) == [task]


async def test_queues_tell_depth_age_and_pause(store: Store, clock: ManualClock) -> None:
    await submit(store, queue="a")
    oldest = clock.now()
    clock.advance(5)
    await submit(store, queue="a")
    await submit(store, queue="a", delay=60)
    await claim_one(store, await open_session(store))
    await submit(store, queue="b", tenant="red")
    await store.control.pause_queue("c", tenant="default", reason="why")

    everyone = {(queue.tenant, queue.name): queue for queue in await store.queries.queues()}
    mine = await store.queries.queues(tenant="red")

    a, c = everyone["default", "a"], everyone["default", "c"]
    assert (a.pending, a.queued, a.processing, a.oldest_due_at) == (1, 1, 1, oldest + 5000)
    assert (c.is_paused, c.reason, c.queued) == (True, "why", 0)
    assert [(queue.tenant, queue.name) for queue in mine] == [("red", "b")]


@pytest.mark.parametrize("tenant", [None, "default"])
async def test_queues_tell_what_waits_by_type(store: Store, clock: ManualClock, tenant: str | None) -> None:
    first = clock.now()
    await submit(store, "fax", queue="a")
    clock.advance(5)
    for _ in range(2):
        await submit(store, "mail", queue="a")
    await submit(store, "later", queue="a", delay=60)

    (queue,) = await store.queries.queues(tenant=tenant)

    assert sorted((one.name, one.queued, one.oldest_due_at) for one in queue.waiting) == [
        ("fax", 1, first),
        ("mail", 2, first + 5000),
    ]


async def test_a_queue_that_was_emptied_is_still_listed(store: Store) -> None:
    task = await submit(store, queue="a")
    await store.control.cancel([task])

    (queue,) = await store.queries.queues()

    assert (queue.name, queue.pending, queue.queued, queue.processing) == ("a", 0, 0, 0)


async def test_a_log_is_read_while_it_grows(store: Store) -> None:
    task = await submit(store)
    await store.outputs.append_log([LogChunk(task=task, epoch=1, seq=0, text="one\n")])

    reader = LogReader(store.outputs, task)
    first = await reader.read()
    await store.outputs.append_log(
        [
            LogChunk(task=task, epoch=1, seq=1, text="two\n"),
            LogChunk(task=task, epoch=2, seq=0, text="three\n"),
        ]
    )
    rest = await reader.read()

    assert (first, rest) == ("one\n", "two\nthree\n")
    assert await reader.read() == ""
    assert await LogReader(store.outputs, task, epochs=[2]).read() == "three\n"


async def test_a_log_is_read_in_portions_of_bounded_size(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    small, large = Portion(3, 4), Portion(2, 20)
    monkeypatch.setattr(log_reading, "SMALL", small)
    monkeypatch.setattr(log_reading, "LARGE", large)
    texts = ["a", "b" * 4, "", "", "", "", "c" * 50, "d" * 5, "e", "f", "g", "h" * 40]
    task = await submit(store)
    await store.outputs.append_log(
        [LogChunk(task=task, epoch=1 + n // 4, seq=n % 4, text=text) for n, text in enumerate(texts)]
    )

    async def portions(epochs: list[int] | None) -> list[str]:
        reader, found = LogReader(store.outputs, task, epochs=epochs), []
        while text := await reader.read():
            found.append(text)
        return found

    whole = await portions(None)

    assert "".join(whole) == "".join(texts)
    assert max(map(len, whole)) <= large.pieces * large.longest
    assert "".join(await portions([1])) == "".join(texts[:4])
    assert "".join(await portions([1, 3])) == "".join(texts[:4] + texts[8:])
    assert await portions([9]) == []


async def test_a_piece_of_log_sent_twice_is_kept_once(store: Store) -> None:
    task = await submit(store)
    piece = LogChunk(task=task, epoch=1, seq=0, text="once 🥁 \x00\n")

    await store.outputs.append_log([piece])
    await store.outputs.append_log([piece])

    assert (await log_of(store, task)).startswith("once 🥁")
    assert (await log_of(store, task)).count("once") == 1


async def test_an_artifact_is_kept_and_replaced_by_name(store: Store, clock: ManualClock) -> None:
    task = await submit(store)
    old = Artifact(task=task, name="a.pdf", content_type="text/plain", data=b"old")
    new = Artifact(task=task, name="a.pdf", content_type="application/pdf", data=b"%PDF\x00\xff")

    await store.outputs.put_artifact(old)
    await store.outputs.put_artifact(new)

    assert await store.outputs.artifact(task, "a.pdf") == new
    assert await store.outputs.artifact(task, "b.pdf") is None
    (view,) = await store.outputs.artifacts(task)
    assert (view.name, view.content_type, view.size, view.created_at) == ("a.pdf", "application/pdf", 6, clock.now())


async def test_errors_of_earlier_attempts_are_shortened_where_those_of_later_ones_are_long(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "ATTEMPTS_AT_ONCE", 2)
    monkeypatch.setattr(tasks, "MOST_ERRORS", 9_000)
    task = await submit(store)
    ada = await open_session(store)
    for number in range(5):
        held = await claim_one(store, ada)
        error = ErrorInfo("Error", f"{number}" * 2_000, "line\n" * 100)
        await settle(store, held.lease, Act.BACK_OFF, delay_ms=0, error=error)
    await claim_one(store, ada)

    views = await store.queries.attempts(task)

    assert [view.attempt for view in views] == [1, 2, 3, 4, 5, 6]
    assert [view.error for view in views] == [
        *(ErrorInfo("Error", str(n) * LONGEST_SHORTENED, LEFT_OUT) for n in (0, 1)),
        *(ErrorInfo("Error", str(n) * 2_000, "line\n" * 100) for n in (2, 3, 4)),
        None,
    ]


async def test_a_list_without_errors_has_none(store: Store) -> None:
    task = await submit(store)
    ada = await open_session(store)
    await settle(store, (await claim_one(store, ada)).lease, Act.FAIL)

    (without,) = await store.queries.list_tasks(TaskFilter(), limit=10, errors=False)
    (whole,) = await store.queries.list_tasks(TaskFilter(), limit=10)

    assert (without.id, without.error) == (task, None)
    assert whole.error is not None


async def test_what_matches_behind_many_that_do_not_is_listed_whole(store: Store) -> None:
    ada = await open_session(store)
    wanted = await submit(store, "work", tags=("a",), payload={"n": 1})
    held = await claim_one(store, ada)
    await settle(store, held.lease, Act.FAIL)
    for _ in range(30):
        await submit(store, "work", tags=("a",))

    (view,) = await store.queries.list_tasks(
        TaskFilter(tag="a", statuses=frozenset({Status.FAILED}), finished_since=Instant(1)), limit=1, payload=True
    )
    (tagged,) = await store.queries.list_tasks(
        TaskFilter(tag="a", statuses=frozenset({Status.FAILED})), limit=1, payload=True
    )

    assert view == tagged
    assert (view.id, bytes(view.payload or b"")) == (wanted, b'{"n":1}')
    assert view.error is not None


async def test_what_a_task_left_behind_is_its_tenants_own(store: Store) -> None:
    task = await submit(store, tenant="acme")
    ada = await open_session(store)
    held = await claim_one(store, ada)
    await store.outputs.append_log([LogChunk(task=task, epoch=held.lease.epoch, seq=0, text="one\n")])
    await store.outputs.put_artifact(Artifact(task=task, name="a.pdf", content_type="text/plain", data=b"data"))
    await store.outputs.put_progress([ProgressNote(held.lease, Progress(1, 2))])

    async def seen(tenant: str | None) -> list[object]:
        return [
            len(await store.queries.attempts(task, tenant=tenant)),
            await log_of(store, task, tenant=tenant),
            len(await store.outputs.artifacts(task, tenant=tenant)),
            await store.outputs.artifact(task, "a.pdf", tenant=tenant) is not None,
            await store.outputs.progress([task], tenant=tenant),
        ]

    assert await seen("acme") == await seen(None) == [1, "one\n", 1, True, [Progress(1, 2)]]
    assert await seen("beta") == [0, "", 0, False, [None]]


async def test_a_tenant_is_shown_the_workers_that_serve_it(store: Store) -> None:
    everybodys = await open_session(store)
    acmes = await open_session(store, tenant="acme")
    betas = await open_session(store, tenant="beta")

    async def seen(tenant: str | None) -> set[SessionId]:
        return {view.id for view in await store.sessions.sessions(tenant=tenant)}

    assert await seen("acme") == {everybodys, acmes}
    assert await seen("nobody") == {everybodys}
    assert await seen(None) == {everybodys, acmes, betas}
