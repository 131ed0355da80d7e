import asyncio
from typing import Any

import pytest

from drumline.core.clock import ManualClock
from drumline.core.errors import KeyReused
from drumline.core.state import State, Status
from drumline.core.task import NewTask, Submitted, accept
from drumline.ports.store import Store
from tests.factories import accepted, new_id, request, submit


def keyed(payload: object = None, *, tenant: str = "default", key: str = "k") -> NewTask:
    return accepted(payload=payload, idempotency_key=key, tenant=tenant)


async def test_a_submitted_task_can_be_read_back_whole(store: Store, clock: ManualClock) -> None:
    task = await submit(
        store, "send mail", payload={"to": "ada", "big": 12345678901234567890123}, queue="mail", priority=7,
        retries=5, timeout=30, tags=("vip",), backoff=5.0,
    )  # fmt: skip

    (view,) = await store.queries.get([task])

    assert view is not None
    assert (view.lane.name, view.lane.queue, view.lane.priority) == ("send mail", "mail", 7)
    assert view.payload is not None
    assert bytes(view.payload) == b'{"to":"ada","big":12345678901234567890123}'
    assert (view.options.retries, view.options.timeout_ms, view.options.tags) == (5, 30_000, ("vip",))
    assert view.options.backoff.base == 5.0
    assert (view.created_at, view.due_at, view.state) == (clock.now(), clock.now(), State.QUEUED)
    assert (view.attempt, view.epoch, view.finished_at, view.result, view.error) == (0, 0, None, None, None)


async def test_a_payload_keeps_every_character(store: Store) -> None:
    awkward = {"null": "\0", "emoji": "🥁", "quote": '"\\', "line": "a\nb\u2028", "empty": ""}
    task = await submit(store, payload=awkward)

    (view,) = await store.queries.get([task])

    assert view is not None
    assert view.payload == request(payload=awkward).payload


async def test_a_delay_is_counted_from_the_store_s_clock(store: Store, clock: ManualClock) -> None:
    task = await submit(store, delay=90)

    (view,) = await store.queries.get([task])

    assert view is not None
    assert view.due_at == clock.now() + 90_000
    assert view.status(clock.now()) is Status.PENDING
    clock.advance(90)
    assert view.status(clock.now()) is Status.QUEUED


async def test_many_tasks_are_answered_in_order(store: Store) -> None:
    tasks = [accept(request(), id=new_id()) for _ in range(2500)]

    answers = await store.submit(tasks)

    assert [answer.id for answer in answers if isinstance(answer, Submitted)] == [task.id for task in tasks]
    assert None not in await store.queries.get([task.id for task in tasks])


async def test_the_same_key_gives_the_first_task_again(store: Store) -> None:
    (first,) = await store.submit([keyed({"n": 1})])
    (second,) = await store.submit([keyed({"n": 1})])

    assert isinstance(first, Submitted)
    assert isinstance(second, Submitted)
    assert (second.id, second.due_at) == (first.id, first.due_at)
    assert (first.created, second.created) == (True, False)


async def test_a_key_with_another_body_is_refused(store: Store) -> None:
    await store.submit([keyed({"n": 1})])

    (answer,) = await store.submit([keyed({"n": 2})])

    assert isinstance(answer, KeyReused)
    assert answer.field == "idempotency_key"


async def test_a_key_twice_in_one_list_makes_one_task(store: Store) -> None:
    first, second, third = await store.submit([keyed({"n": 1}), keyed({"n": 1}), keyed({"n": 2})])

    assert isinstance(first, Submitted)
    assert isinstance(second, Submitted)
    assert second.id == first.id
    assert not second.created
    assert isinstance(third, KeyReused)


async def test_a_key_belongs_to_its_tenant(store: Store) -> None:
    (mine,) = await store.submit([keyed({"n": 1}, tenant="red")])
    (theirs,) = await store.submit([keyed({"n": 2}, tenant="blue")])

    assert isinstance(mine, Submitted)
    assert isinstance(theirs, Submitted)
    assert theirs.created


async def test_the_same_key_at_the_same_instant_makes_one_task(store: Store) -> None:
    answers = await asyncio.gather(*(store.submit([keyed({"n": 1}), keyed(key=f"own {n}")]) for n in range(50)))

    ids = {first.id for first, _ in answers if isinstance(first, Submitted)}
    assert len(ids) == 1
    assert sum(first.created for first, _ in answers if isinstance(first, Submitted)) == 1
    assert all(isinstance(own, Submitted) and own.created for _, own in answers)


@pytest.mark.parametrize(
    "differing",
    [{}, {"priority": 5}, {"queue": "mail"}, {"tags": ("red",)}, {"delay": 60}, {"idempotency_key": "k"}],
    ids=lambda fields: next(iter(fields), "nothing"),
)
async def test_a_list_is_stored_the_same_whether_its_tasks_are_alike_or_not(
    store: Store, clock: ManualClock, differing: dict[str, Any]
) -> None:
    given = [{"payload": {"n": 1}}, {"payload": {"n": 2}}, {"payload": {"n": 3}, **differing}]
    tasks = [accepted(**fields) for fields in given]

    await store.submit(tasks)

    for task, fields in zip(tasks, given, strict=True):
        (view,) = await store.queries.get([task.id])
        assert view is not None
        assert (view.lane, view.payload) == (task.lane, request(payload=fields["payload"]).payload)
        assert view.options.tags == fields.get("tags", ())
        assert view.due_at == clock.now() + 1000 * fields.get("delay", 0)
        assert (view.state, view.epoch, view.attempt) == (State.QUEUED, 0, 0)
