"""The duty that lets the end of a parent reach its children, whoever was killed in between."""

from drumline.core.clock import ManualClock
from drumline.core.state import Act, State
from drumline.engine.engine import Engine
from drumline.scheduler.children import ChildNotes
from drumline.stores.no_queue import NoQueue
from drumline.stores.sqlite import SqliteStore
from tests.child_factories import family
from tests.factories import settle, state_of


async def test_a_pass_cancels_the_children_of_tasks_that_have_ended() -> None:
    store = await SqliteStore.open(":memory:", clock=ManualClock())
    engine = Engine(store, NoQueue())
    found = await family(store, 3)
    await settle(store, found.lease, Act.FAIL)
    duty = ChildNotes(engine)

    assert await duty.pass_once() == 3
    assert await duty.pass_once() == 0

    assert [await state_of(store, child) for child in found.children] == [State.CANCELLED] * 3
    await engine.close()


async def test_more_children_than_one_transaction_has_room_for_are_cancelled_in_batches() -> None:
    store = await SqliteStore.open(":memory:", clock=ManualClock())
    found = await family(store, 25)
    await settle(store, found.lease, Act.COMPLETE)

    done = await store.children.work_notes(limit=10)

    assert len(done.changed) == 25
    assert {await state_of(store, child) for child in found.children} == {State.CANCELLED}
    await store.close()
