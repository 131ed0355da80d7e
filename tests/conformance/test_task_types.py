"""Types of tasks: published by workers, kept by tenant and name, applied when a schedule fires."""

import json
from typing import Any

from msgspec.structs import replace

from drumline.core.clock import ManualClock
from drumline.core.ids import SessionId
from drumline.core.job import JobRequest, JobTaskRequest
from drumline.core.retry import Backoff
from drumline.core.schedule import RunKind
from drumline.core.session import SessionSpec, TaskType
from drumline.core.task import TaskRequest, decode_options
from drumline.core.task_type import LARGEST_SCHEMA, MOST_STORED, NO_DEFAULTS, StoredType, TypeDefaults
from drumline.ports.schedules import NewRun
from drumline.ports.store import Store
from tests.schedule_factories import add, fire, order

CHARGE = TypeDefaults(
    queue="billing", priority=50, retries=0, backoff=Backoff(base=9.0), timeout=5.0, tags=("money", "card")
)
DAY = 86_400
_numbers = iter(range(1, 100_000))


async def publish(store: Store, *types: TaskType, tenant: str | None = None) -> None:
    spec = SessionSpec(host="ada", pid=1, version="1", queues=(), types=types, capacity=1, tenant=tenant)
    await store.sessions.open_session(SessionId(next(_numbers)), spec)


async def find(store: Store, name: str = "charge", *, tenant: str = "default") -> StoredType | None:
    (found,) = await store.task_types.find_types([(tenant, name)])
    return found


def schema(word: str) -> dict[str, object]:
    return {"type": "object", "properties": {word: {"type": "integer"}}}


def schema_of(stored: StoredType | None) -> Any:
    assert stored is not None
    return None if stored.schema is None else json.loads(stored.schema)


def former_of(stored: StoredType | None) -> Any:
    assert stored is not None
    return None if stored.former_schema is None else json.loads(stored.former_schema)


async def test_what_a_worker_publishes_is_found_also_after_it_has_left(store: Store) -> None:
    await publish(store, TaskType(name="charge", schema=schema("n"), defaults=CHARGE))
    ((session, _),) = (await store.sessions.beat_numbers()).items()
    await store.sessions.close_session(session)

    found = await find(store)

    assert found is not None
    assert found.defaults == CHARGE
    assert schema_of(found) == schema("n")


async def test_a_type_that_nobody_has_published_is_not_found(store: Store) -> None:
    await publish(store, TaskType(name="charge"))

    assert await store.task_types.find_types([("default", "refund"), ("default", "charge")]) == [None, StoredType()]


async def test_the_worker_that_published_last_wins(store: Store) -> None:
    await publish(store, TaskType(name="charge", defaults=CHARGE, schema=schema("n")))
    await publish(store, TaskType(name="charge", defaults=replace(CHARGE, retries=7), schema=schema("m")))

    found = await find(store)

    assert found is not None
    assert found.defaults.retries == 7
    assert (schema_of(found), former_of(found)) == (schema("m"), schema("n"))


async def test_a_worker_that_says_nothing_of_defaults_leaves_them_and_one_that_has_none_takes_them_away(
    store: Store,
) -> None:
    await publish(store, TaskType(name="charge", defaults=CHARGE))
    await publish(store, TaskType(name="charge"))
    kept = await find(store)
    await publish(store, TaskType(name="charge", defaults=NO_DEFAULTS))
    gone = await find(store)

    assert (kept and kept.defaults, gone and gone.defaults) == (CHARGE, NO_DEFAULTS)


async def test_a_former_schema_counts_for_a_day(store: Store, clock: ManualClock) -> None:
    await publish(store, TaskType(name="charge", schema=schema("n")))
    await publish(store, TaskType(name="charge", schema=schema("m")))
    clock.advance(DAY - 60)
    await publish(store, TaskType(name="charge", schema=schema("m")))
    before = former_of(await find(store))
    clock.advance(120)

    assert (before, former_of(await find(store))) == (schema("n"), None)


async def test_a_tenant_s_own_worker_counts_before_one_of_everybody_and_for_no_other_tenant(store: Store) -> None:
    await publish(store, TaskType(name="charge", defaults=CHARGE))
    await publish(store, TaskType(name="charge", defaults=replace(CHARGE, queue="acme")), tenant="acme")
    await publish(store, TaskType(name="own", defaults=CHARGE), tenant="acme")

    keys = [("acme", "charge"), ("beta", "charge"), ("acme", "own"), ("beta", "own")]
    found = await store.task_types.find_types(keys)

    assert [each and each.defaults.queue for each in found] == ["acme", "billing", "billing", None]


async def test_a_type_named_twice_in_one_registration_is_kept_once(store: Store) -> None:
    await publish(store, TaskType(name="charge", defaults=CHARGE), TaskType(name="charge", defaults=NO_DEFAULTS))

    assert await find(store) == StoredType(defaults=NO_DEFAULTS)


async def test_a_schema_that_is_too_large_is_not_kept(store: Store) -> None:
    await publish(store, TaskType(name="charge", schema=schema("n" * LARGEST_SCHEMA)))

    assert schema_of(await find(store)) is None


async def test_types_beyond_the_limit_of_a_tenant_give_way_to_newer_ones(store: Store, clock: ManualClock) -> None:
    await publish(store, TaskType(name="old"), tenant="acme")
    await publish(store, TaskType(name="old"), tenant="beta")
    clock.advance(1)

    await publish(store, *(TaskType(name=f"task {number}") for number in range(MOST_STORED)), tenant="acme")

    assert await find(store, "old", tenant="acme") is None
    assert await find(store, "old", tenant="beta") is not None
    assert await find(store, f"task {MOST_STORED - 1}", tenant="acme") is not None


async def test_a_firing_makes_tasks_as_their_type_declares_at_that_time(store: Store, clock: ManualClock) -> None:
    schedule = await add(store, clock, task=TaskRequest(name="charge", retries=2))
    await publish(store, TaskType(name="charge", defaults=CHARGE))
    clock.advance(60)

    ((task, _),) = (await fire(store)).tasks

    options = decode_options(task.options)
    assert (task.lane.queue, task.lane.priority) == ("billing", 50)
    assert (options.retries, options.backoff.base, options.timeout_ms, options.tags) == (2, 9.0, 5000, CHARGE.tags)
    assert options.schedule == schedule.id
    run = NewRun(fire_time=clock.now(), kind=RunKind.TRIGGER)
    ((triggered, _),) = (await store.firing.add_runs(schedule.id, [run], order())).tasks
    assert triggered.lane == task.lane


async def test_the_tasks_of_a_scheduled_job_are_as_their_types_declare(store: Store, clock: ManualClock) -> None:
    tasks = {"charge": JobTaskRequest(), "other": JobTaskRequest(name="else", needs=("charge",))}
    await add(store, clock, task=None, job=JobRequest(name="job", tasks=tasks, retries=4))
    await publish(store, TaskType(name="charge", defaults=CHARGE))
    clock.advance(60)

    ((job, _),) = (await fire(store)).jobs

    made = {each.key: (each.task.lane.queue, decode_options(each.task.options).retries) for each in job.tasks}
    assert made == {"charge": ("billing", 0), "other": ("default", 4)}
