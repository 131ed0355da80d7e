"""A fork is a task of its own that begins with the records of another, made once for each request."""

import asyncio
from typing import Any

from msgspec import Raw
from msgspec.structs import replace

from drumline.core.clock import ManualClock
from drumline.core.durable import RecordStatus, RestartRequest
from drumline.core.errors import Invalid, KeyReused, NotFound
from drumline.core.ids import TaskId
from drumline.core.slots import slot_of
from drumline.core.task import NewTask
from drumline.ports.forks import ForkAnswer, Forked, NewFork
from drumline.ports.store import Store
from tests.conformance.test_durable import facts_of
from tests.conformance.test_signals import wait_for
from tests.durable_factories import names_of, park, record, step, steps_of, tried
from tests.factories import accepted, claim_one, open_session, submit


def copy_of(source: TaskId, name: str = "work") -> NewTask:
    """Return a new task in the slot of another."""
    task = accepted(name)
    return replace(task, id=TaskId(f"{task.id[:20]}{slot_of(source):03x}{task.id[23:]}"))


async def fork(store: Store, source: TaskId, name: str, *, id: str = "f1", **fields: Any) -> ForkAnswer:
    new = NewFork(
        source=source, task=copy_of(source), step=name, key=fields.pop("key", ""), id=id,
        fingerprint=fields.pop("fingerprint", name.encode()), **fields,
    )  # fmt: skip
    return await store.forks.fork(new)


async def forked(store: Store, source: TaskId, name: str, **fields: Any) -> Forked:
    answer = await fork(store, source, name, **fields)
    assert isinstance(answer, Forked)
    return answer


async def durable_task(store: Store) -> TaskId:
    """Return a task that has charged, failed to ship, tried to refund, and waits for a person's word."""
    task = await submit(store)
    lease = (await claim_one(store, await open_session(store))).lease
    await record(store, step(lease, "charge", {"paid": 3}))
    await record(store, step(lease, "ship", {"kind": "E", "message": "m"}, status=RecordStatus.FAILED))
    await record(store, tried(lease, "refund", 1))
    await record(store, step(lease, "tell", "ada", key="7"))
    await park(store, lease, wait_for("approved"))
    return task


async def test_a_fork_has_the_records_before_its_step_and_may_be_claimed(store: Store) -> None:
    task = await durable_task(store)

    made = await forked(store, task, "tell", key="7")

    assert (made.records, made.submitted.created) == (2, True)
    assert await names_of(store, made.submitted.id) == ["charge", "ship"]
    claimed = await claim_one(store, await open_session(store))
    assert (claimed.lease.task, claimed.recorded) == (made.submitted.id, 2)
    again = await record(store, step(claimed.lease, "charge", "other"))
    new = await record(store, step(claimed.lease, "refund", 1))
    assert [getattr(each, "seq", None) for each in (again, new)] == [1, 3]
    assert await names_of(store, task) == ["charge", "ship", "refund", "tell"]


async def test_a_fork_from_the_first_step_has_no_records(store: Store) -> None:
    task = await durable_task(store)

    made = await forked(store, task, "charge")

    assert made.records == 0
    assert (await claim_one(store, await open_session(store))).recorded == 0


async def test_a_fork_from_an_open_wait_has_all_records_but_those_of_steps_that_are_tried(store: Store) -> None:
    task = await durable_task(store)

    made = await forked(store, task, "approved")

    view = await steps_of(store, made.submitted.id)
    assert [(each.name, each.key, each.seq) for each in view.page.records] == [
        ("charge", "", 1), ("ship", "", 2), ("tell", "7", 3),
    ]  # fmt: skip
    assert view.waits == ()


async def test_the_same_request_makes_one_fork_and_another_under_its_id_is_refused(store: Store) -> None:
    task = await durable_task(store)

    first = await forked(store, task, "ship")
    again = await forked(store, task, "ship")
    other = await fork(store, task, "charge")
    new = await forked(store, task, "ship", id="f2")

    assert again.submitted.id == first.submitted.id
    assert (again.submitted.created, again.records) == (False, 1)
    assert isinstance(other, KeyReused)
    assert new.submitted.id != first.submitted.id


async def test_the_same_request_at_the_same_instant_makes_one_fork(store: Store) -> None:
    task = await durable_task(store)

    made = await asyncio.gather(*(forked(store, task, "ship") for _ in range(8)))

    assert len({each.submitted.id for each in made}) == 1
    assert sum(each.submitted.created for each in made) == 1


async def test_a_step_that_is_not_there_and_a_task_of_another_tenant_are_told_apart(store: Store) -> None:
    task = await durable_task(store)

    unknown = await fork(store, task, "tell")
    foreign = await fork(store, task, "ship", tenant="other")
    missing = await fork(store, TaskId("01890a5d-ac96-774b-bcce-b302099a8057"), "ship")

    assert isinstance(unknown, Invalid)
    assert unknown.field == "from"
    assert isinstance(foreign, NotFound)
    assert isinstance(missing, NotFound)
    assert await facts_of(store, "drumline.task.forked") == []


async def test_a_fork_is_an_event_of_the_task_that_it_was_made_from(store: Store) -> None:
    task = await durable_task(store)

    made = await forked(store, task, "ship")

    assert await facts_of(store, "drumline.task.forked") == [
        {"task": made.submitted.id, "from": "ship", "key": "", "records": 1}
    ]


async def test_a_task_that_is_pruned_takes_its_forks_note_along_and_leaves_the_fork(
    store: Store, clock: ManualClock
) -> None:
    task = await durable_task(store)
    made = await forked(store, task, "ship")
    await store.control.cancel([task])
    await store.events.sequence()
    clock.advance(3600)

    assert await store.prune(ended_before=clock.now(), limit=10) == 1

    assert isinstance(await fork(store, task, "ship"), NotFound)
    assert await names_of(store, made.submitted.id) == ["charge"]


async def test_a_fork_of_a_later_round_has_its_payload_and_its_records(store: Store) -> None:
    await submit(store)
    session = await open_session(store)
    lease = (await claim_one(store, session)).lease
    await record(store, step(lease, "old", 1))
    await store.durable.restart(RestartRequest(lease=lease, payload=Raw(b'{"n":2}')))
    lease = (await claim_one(store, session)).lease
    await record(store, step(lease, "a", 1))
    await record(store, step(lease, "b", 2))

    made = await forked(store, lease.task, "b")
    earlier = await fork(store, lease.task, "old", id="other")

    assert await names_of(store, made.submitted.id) == ["a"]
    assert (await steps_of(store, made.submitted.id)).rounds == ()
    assert isinstance(earlier, Invalid)
