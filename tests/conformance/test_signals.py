"""Signals cannot be missed: kept before anybody waits, taken once, and the same one sent twice is one."""

import pytest
from msgspec import Raw
from msgspec.structs import replace

from drumline.core.clock import Instant, ManualClock
from drumline.core.codec import encode
from drumline.core.durable import NewSignal, Record, RecordKind, RecordStatus, Wait, WaitKind
from drumline.core.errors import Conflict, KeyReused, NotFound, QuotaExceeded
from drumline.core.ids import TaskId
from drumline.core.state import Act, State
from drumline.ports.durable import MOST_SIGNALS, SignalAnswer, Signalled
from drumline.ports.store import Change, Store
from tests.conformance.test_durable import facts_of
from tests.durable_factories import answered, park, signal, sleep, steps_of
from tests.factories import claim, claim_one, open_session, settle, submit


def wait_for(name: str, timeout_ms: int | None = None, *, key: str = "", correlation: str | None = None) -> Wait:
    return Wait(kind=WaitKind.SIGNAL, name=name, key=key, delay_ms=timeout_ms, correlation=correlation)


async def send(store: Store, task: TaskId, name: str, payload: object = None, *, id: str = "s1") -> bool:
    answer = await signal(store, task, name, payload, id=id)
    assert isinstance(answer, Signalled)
    return answer.created


async def test_a_signal_that_came_before_is_there_when_it_is_waited_for(store: Store) -> None:
    task = await submit(store)
    await send(store, task, "approved", {"by": "ada"})
    lease = (await claim_one(store, await open_session(store))).lease

    (record,) = await answered(store, lease, wait_for("approved"))

    assert record is not None
    assert (record.kind, record.status, record.value) == (RecordKind.SIGNAL, RecordStatus.DONE, Raw(b'{"by":"ada"}'))


async def test_a_signal_makes_the_task_due_that_waits_for_it(store: Store, clock: ManualClock) -> None:
    task = await submit(store)
    ada = await open_session(store)
    await park(store, (await claim_one(store, ada)).lease, wait_for("approved"))
    clock.advance(3600)
    assert await claim(store, ada) == []

    answer = await signal(store, task, "approved", 1)

    assert isinstance(answer, Signalled)
    (woken,) = answer.woken
    assert woken.hint is not None
    assert (woken.task, woken.hint.due_at) == (task, clock.now())
    lease = (await claim_one(store, ada)).lease
    (record,) = await answered(store, lease, wait_for("approved"))
    assert record is not None
    assert record.value == Raw(b"1")
    assert (await steps_of(store, task)).waits == ()


async def test_a_signal_of_another_name_wakes_nobody(store: Store) -> None:
    task = await submit(store)
    ada = await open_session(store)
    await park(store, (await claim_one(store, ada)).lease, wait_for("approved"))

    answer = await signal(store, task, "other")

    assert answer == Signalled(created=True)
    assert await claim(store, ada) == []


async def test_a_running_task_is_not_disturbed_and_takes_it_later(store: Store) -> None:
    task = await submit(store)
    lease = (await claim_one(store, await open_session(store))).lease

    answer = await signal(store, task, "approved")

    assert answer == Signalled(created=True)
    assert len(await answered(store, lease, wait_for("approved"))) == 1


async def test_the_same_signal_twice_is_one_also_after_it_was_taken_and_after_the_end(store: Store) -> None:
    task = await submit(store)
    lease = (await claim_one(store, await open_session(store))).lease

    assert await send(store, task, "go", 1)
    assert not await send(store, task, "go", 1)
    await answered(store, lease, wait_for("go"))
    assert not await send(store, task, "go", 1)
    await park(store, lease, wait_for("go", key="again"))
    await store.control.cancel([task])
    assert not await send(store, task, "go", 1)


async def test_an_id_that_comes_back_with_something_else_is_refused(store: Store) -> None:
    task = await submit(store)
    await send(store, task, "go", 1)

    assert isinstance(await signal(store, task, "go", 2), KeyReused)
    assert isinstance(await signal(store, task, "stop", 1), KeyReused)


async def test_a_task_that_has_ended_takes_no_signals(store: Store) -> None:
    task = await submit(store)
    lease = (await claim_one(store, await open_session(store))).lease
    await settle(store, lease, Act.COMPLETE)

    assert isinstance(await signal(store, task, "go"), Conflict)
    assert isinstance(await signal(store, TaskId("01890a5d-ac96-774b-bcce-b302099a8057"), "go"), NotFound)
    assert isinstance(await signal(store, task, "go", tenant="other"), NotFound)


async def test_signals_are_taken_in_their_order_each_once(store: Store, clock: ManualClock) -> None:
    task = await submit(store)
    for number in range(3):
        await send(store, task, "vote", number, id=f"s{number}")
        clock.advance(0.01)
    lease = (await claim_one(store, await open_session(store))).lease

    records = await answered(store, lease, *(wait_for("vote", key=str(number)) for number in range(4)))

    assert [each.value for each in records if each is not None] == [Raw(b"0"), Raw(b"1"), Raw(b"2")]


async def test_a_wait_times_out_at_its_deadline_unless_the_signal_is_there(store: Store, clock: ManualClock) -> None:
    ada = await open_session(store)
    late, in_time = await submit(store), await submit(store)
    for claimed in await claim(store, ada):
        await park(store, claimed.lease, wait_for("approved", 60_000))
    clock.advance(60)
    await send(store, in_time, "approved", "yes")

    found = {}
    for claimed in await claim(store, ada):
        (found[claimed.lease.task],) = await answered(store, claimed.lease, wait_for("approved", 60_000))

    assert {task: record.status for task, record in found.items() if record is not None} == {
        late: RecordStatus.TIMED_OUT, in_time: RecordStatus.DONE,
    }  # fmt: skip


async def test_a_signal_and_a_sleep_are_waited_for_together(store: Store, clock: ManualClock) -> None:
    task = await submit(store)
    ada = await open_session(store)
    settled = await park(store, (await claim_one(store, ada)).lease, wait_for("a"), sleep("nap", 5000))
    assert settled.hint is not None
    assert settled.hint.due_at == clock.now() + 5000

    await send(store, task, "a")

    lease = (await claim_one(store, ada)).lease
    (record,) = await answered(store, lease, wait_for("a"), sleep("nap", 5000))
    assert record is not None
    assert record.name == "a"


async def test_a_rescheduled_task_is_woken_all_the_same(store: Store, clock: ManualClock) -> None:
    task = await submit(store)
    ada = await open_session(store)
    await park(store, (await claim_one(store, ada)).lease, wait_for("a"))
    await store.control.reschedule([Change(task=task, delay_ms=3_600_000, priority=5)])

    await send(store, task, "a")

    assert len(await claim(store, ada)) == 1
    assert clock.now()


async def test_a_signal_by_correlation_is_for_whoever_takes_it_first(store: Store) -> None:
    ada = await open_session(store)
    tasks = {await submit(store), await submit(store)}
    for claimed in await claim(store, ada):
        await park(store, claimed.lease, wait_for("paid", correlation="order-17"))

    answer = await by_key(store, "paid", "order-17", 5)

    assert isinstance(answer, Signalled)
    assert {each.task for each in answer.woken} == tasks
    first, second = await claim(store, ada)
    (record,) = await answered(store, first.lease, wait_for("paid", correlation="order-17"))
    assert record is not None
    assert record.value == Raw(b"5")
    await park(store, second.lease, wait_for("paid", correlation="order-17"))


async def test_a_signal_by_correlation_is_kept_if_nobody_waits(store: Store) -> None:
    await by_key(store, "paid", "order-17", 5)
    again = await by_key(store, "paid", "order-17", 5)
    await by_key(store, "paid", "order-18", 6)
    await submit(store)
    lease = (await claim_one(store, await open_session(store))).lease

    (record,) = await answered(store, lease, wait_for("paid", correlation="order-17"))

    assert again == Signalled(created=False)
    assert isinstance(record, Record)
    assert record.value == Raw(b"5")
    assert await by_key(store, "paid", "order-17", 5) == Signalled(created=False)


async def test_another_tenant_s_signal_by_correlation_reaches_nobody(store: Store) -> None:
    ada = await open_session(store)
    await submit(store, tenant="acme")
    await park(store, (await claim_one(store, ada)).lease, wait_for("paid", correlation="k"))

    answer = await by_key(store, "paid", "k", 5, tenant="other")

    assert isinstance(answer, Signalled | Conflict)
    assert await claim(store, ada) == []


async def test_too_many_signals_that_nobody_takes_are_refused(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("drumline.stores.parts.signals.MOST_SIGNALS", 2)
    task = await submit(store)
    assert MOST_SIGNALS > 2

    for number in range(2):
        await send(store, task, "go", id=f"s{number}")

    assert isinstance(await signal(store, task, "go", id="s3"), QuotaExceeded)


async def test_signals_go_with_their_task_and_those_by_correlation_with_their_time(
    store: Store, clock: ManualClock
) -> None:
    task = await submit(store)
    await send(store, task, "go")
    by = await by_key(store, "paid", "k", 5)
    await store.control.cancel([task])
    clock.advance(86_400)

    await store.prune(ended_before=clock.now(), limit=10)

    assert isinstance(await signal(store, task, "go"), NotFound)
    if isinstance(by, Signalled):
        assert await by_key(store, "paid", "k", 5) == Signalled(created=True)


async def test_every_signal_is_an_event(store: Store) -> None:
    task = await submit(store)
    ada = await open_session(store)
    await park(store, (await claim_one(store, ada)).lease, wait_for("go"))
    await send(store, task, "go", {"secret": 1}, id="x")

    assert await facts_of(store, "drumline.task.signalled") == [{"name": "go", "id": "x"}]
    page = await store.events.read_events(after=0, limit=1000)
    assert "drumline.task.woken" in {event.type for event in page.events}


async def by_key(store: Store, name: str, key: str, payload: object, *, tenant: str = "default") -> SignalAnswer:
    return await store.durable.signal(
        NewSignal(id="s1", name=name, key=key, payload=Raw(encode(payload)), tenant=tenant)
    )


async def test_a_woken_task_is_queued(store: Store) -> None:
    task = await submit(store)
    await park(store, (await claim_one(store, await open_session(store))).lease, wait_for("go"))
    await send(store, task, "go")

    (view,) = await store.queries.get([task])
    assert view is not None
    assert (view.state, view.attempt) == (State.QUEUED, 0)


async def test_what_a_wait_expects_is_shown_with_it(store: Store) -> None:
    task = await submit(store)
    ada = await open_session(store)
    wait = replace(wait_for("approved"), schema='{"type":"boolean"}')
    await park(store, (await claim_one(store, ada)).lease, wait)

    (shown,) = (await steps_of(store, task)).waits

    assert shown.schema == '{"type":"boolean"}'


async def test_a_task_is_parked_while_it_waits_and_not_when_it_is_due_or_tried_again(
    store: Store, clock: ManualClock
) -> None:
    task = await submit(store)
    ada = await open_session(store)

    async def is_waiting() -> tuple[bool, bool]:
        (view,) = await store.queries.get([task])
        assert view is not None
        return view.is_parked, view.is_waiting(clock.now())

    assert await is_waiting() == (False, False)
    await park(store, (await claim_one(store, ada)).lease, wait_for("approved"), sleep("nap", 1000))
    assert await is_waiting() == (True, True)
    clock.advance(2)
    assert await is_waiting() == (True, False)
    lease = (await claim_one(store, ada)).lease
    assert await is_waiting() == (False, False)
    await settle(store, lease, Act.BACK_OFF, due_at=Instant(clock.now() + 60_000))
    assert await is_waiting() == (False, False)
