"""What is leased to a claim that waits is taken by that claim, or given back; and a wake-up is nobody's loss."""

import asyncio

import pytest
from msgspec import Raw
from msgspec.structs import replace

from drumline.core.ids import SessionId
from drumline.core.lease import Lease
from drumline.core.session import SessionSpec, TaskType
from drumline.core.task import ClaimedTask
from drumline.engine.waiting import Waiters
from tests.factories import new_id

ADA, BOB = SessionId(1), SessionId(2)
NONCE = 11
SPEC = SessionSpec(
    host="ada", pid=1, version="0", queues=("default",), types=(TaskType(name="work"),), capacity=5, tenant="acme"
)
TASK = ClaimedTask(
    lease=Lease(new_id(), 1, NONCE), name="work", queue="default", payload=Raw(b"{}"), attempt=1, tenant="acme"
)


class House:
    """Waiters."""

    def __init__(self) -> None:
        self.waiters = Waiters()


@pytest.fixture
def house() -> House:
    return House()


def test_a_claim_that_waits_takes_what_is_leased_to_it(house: House) -> None:
    with house.waiters.waiting(SPEC, ADA, NONCE) as waiter:
        assert house.waiters.lease(ADA, TASK)
        assert waiter.is_woken
        assert waiter.take_leased(5) == (TASK,)

    assert waiter.leased == ()


def test_what_the_store_has_given_already_is_not_given_twice(house: House) -> None:
    other = replace(TASK, lease=Lease(new_id(), 1, NONCE))
    with house.waiters.waiting(SPEC, ADA, NONCE) as waiter:
        assert house.waiters.lease(ADA, TASK)
        assert house.waiters.lease(ADA, other)

        assert waiter.take_leased(5, [TASK]) == (other,)

    assert waiter.leased == ()


@pytest.mark.parametrize(
    "task",
    [
        replace(TASK, lease=Lease(TASK.lease.task, 1, NONCE + 1)),
        replace(TASK, name="other"),
        replace(TASK, queue="mail"),
        replace(TASK, tenant="default"),
    ],
    ids=["an earlier claim", "another name", "another queue", "another tenant"],
)
def test_what_is_for_others_is_not_taken(house: House, task: ClaimedTask) -> None:
    with house.waiters.waiting(SPEC, ADA, NONCE) as waiter:
        assert not house.waiters.lease(ADA, task)
        assert not house.waiters.lease(BOB, TASK)
        assert waiter.take_leased(5) == ()


def test_what_a_claimer_has_no_room_for_stays_with_it(house: House) -> None:
    second = replace(TASK, lease=Lease(new_id(), 1, NONCE))
    with house.waiters.waiting(SPEC, ADA, NONCE) as waiter:
        assert house.waiters.lease(ADA, TASK)
        assert house.waiters.lease(ADA, second)
        assert waiter.take_leased(1) == (TASK,)

    assert waiter.leased == (second,)
    assert not house.waiters.lease(ADA, TASK)


async def test_a_wake_up_is_passed_on_by_whoever_leaves_with_what_was_leased_to_it(house: House) -> None:
    with house.waiters.waiting(replace(SPEC, queues=()), BOB, NONCE) as bob:  # who would not keep watch for ada
        with house.waiters.waiting(SPEC, ADA, NONCE) as ada:
            house.waiters.remove(bob)
            house.waiters.wake("default", 1)
            house.waiters.lease(ADA, TASK)
            house.waiters.add(bob)
            await house.waiters.wait(ada, left=1.0, until=1.0)
            assert ada.take_leased(5) == (TASK,)

        assert bob.is_woken


async def test_whose_time_is_over_looks_no_more_while_another_keeps_watch(house: House) -> None:
    with house.waiters.waiting(SPEC, ADA, NONCE) as ada, house.waiters.waiting(SPEC, BOB, NONCE + 1) as bob:
        watching = asyncio.create_task(house.waiters.wait(ada, left=3600, until=3600))
        await asyncio.sleep(0)

        assert not await house.waiters.wait(bob, left=0.0, until=3600)

        house.waiters.wake("default", 1)
        assert await watching


async def test_whose_time_is_over_looks_once_more_if_it_keeps_watch_itself(house: House) -> None:
    with house.waiters.waiting(SPEC, ADA, NONCE) as ada:
        assert await house.waiters.wait(ada, left=0.0, until=3600)
