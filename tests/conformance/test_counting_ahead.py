from drumline.core.clock import ManualClock
from drumline.core.ids import TaskId
from drumline.core.task import TaskView
from drumline.ports.store import Store
from tests.factories import claim_one, open_session, submit


async def view_of(store: Store, task: TaskId) -> TaskView:
    (view,) = await store.queries.get([task])
    assert view is not None
    return view


async def test_the_due_tasks_of_a_queue_that_come_first_are_counted(store: Store, clock: ManualClock) -> None:
    for _ in range(3):
        await submit(store)
    await submit(store, queue="elsewhere")
    await submit(store, tenant="somebody else")
    await submit(store, delay=10)
    clock.advance(1)
    mine = await view_of(store, await submit(store))
    clock.advance(1)
    await submit(store)
    await submit(store, priority=5)

    assert await store.queries.count_ahead(mine, limit=100) == 4
    assert await store.queries.count_ahead(mine, limit=2) == 2


async def test_what_is_running_is_not_ahead(store: Store, clock: ManualClock) -> None:
    await submit(store)
    clock.advance(1)
    mine = await view_of(store, await submit(store))
    await claim_one(store, await open_session(store))

    assert await store.queries.count_ahead(mine, limit=100) == 0
