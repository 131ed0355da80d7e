"""Reading the log: who is told of what, once, by whichever notifier is alive."""

from collections.abc import Sequence
from typing import Any

import pytest

from drumline.core.clock import Instant, ManualClock
from drumline.core.delivery import NewDelivery
from drumline.core.event import Event, EventPosition, TaskChange
from drumline.core.ids import TaskId
from drumline.core.state import Act, Status
from drumline.core.subscription import EventFilter, Subscription, SubscriptionId, check_filter, is_told
from drumline.core.target import Target, TargetKind
from drumline.core.task import NotifyTarget
from drumline.ports.notifications import CursorMove, Deliveries
from drumline.ports.store import Store
from tests.factories import submit
from tests.notifier.office import Office
from tests.notifier.receiver import Receiver

HOOK = "http://127.0.0.1:9/"


async def test_whoever_subscribes_is_told_from_then_on(office: Office, clock: ManualClock) -> None:
    await office.run(Act.FAIL)
    clock.advance(1)
    await office.subscribe(webhook=HOOK)
    clock.advance(1)
    told = await office.run(Act.FAIL)

    await office.reader.pass_once()

    assert (await office.only()).subject == told


async def test_reading_again_makes_nothing_twice(office: Office) -> None:
    await office.subscribe(webhook=HOOK)
    await office.run(Act.FAIL)

    assert [await office.reader.pass_once() for _ in range(3)] == [1, 0, 0]


async def test_a_subscriber_and_the_task_itself_are_both_told(office: Office, receiver: Receiver) -> None:
    await office.subscribe(webhook=receiver.url)
    await office.run(Act.FAIL, notify=(NotifyTarget(webhook=receiver.url), NotifyTarget(email="ada@example.org")))

    await office.deliver()

    assert len(await office.deliveries()) == 3
    assert len({each.headers["webhook-id"] for each in receiver.received}) == 2


async def test_one_notifier_reads_and_another_takes_over_when_it_is_gone(
    office: Office, store: Store, clock: ManualClock
) -> None:
    other = Office(store, clock)
    await office.subscribe(webhook=HOOK)
    await office.run(Act.FAIL)
    assert await office.reader.pass_once() == 1

    await office.run(Act.FAIL)
    assert await other.reader.pass_once() == 0, "the first one holds the cursor"
    clock.advance(11)
    assert await other.reader.pass_once() == 1

    await other.reader.leave()
    await office.run(Act.FAIL)
    assert await office.reader.pass_once() == 1, "left in order, it is free at once"


class Killed(Exception):
    """The process ends here."""


class Dying:
    """A store whose notifier is killed right before or right after it has written."""

    def __init__(self, store: Store, *, after: bool) -> None:
        self._store = store
        self._after = after

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    @property
    def deliveries(self) -> "DyingDeliveries":
        return DyingDeliveries(self._store.deliveries, after=self._after)


class DyingDeliveries:
    def __init__(self, deliveries: Deliveries, *, after: bool) -> None:
        self._deliveries = deliveries
        self._after = after

    def __getattr__(self, name: str) -> Any:
        return getattr(self._deliveries, name)

    async def queue_deliveries(self, deliveries: Sequence[NewDelivery], *, move: CursorMove | None = None) -> bool:
        if self._after:
            await self._deliveries.queue_deliveries(deliveries, move=move)
        raise Killed


@pytest.mark.parametrize("after", [False, True])
async def test_a_reader_that_is_killed_loses_and_doubles_nothing(
    office: Office, store: Store, clock: ManualClock, after: bool
) -> None:
    dying = Office(Dying(store, after=after), clock)
    await office.subscribe(webhook=HOOK)
    tasks = [await office.run(Act.FAIL) for _ in range(3)]

    with pytest.raises(Killed):
        await dying.reader.pass_once()
    clock.advance(11)
    await office.reader.pass_once()

    assert [each.subject for each in await office.deliveries()] == tasks


async def test_a_long_log_is_read_to_its_end(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("drumline.notifier.reader.ROWS_AT_ONCE", 3)
    await office.subscribe(webhook=HOOK)
    tasks = [await office.run(Act.FAIL) for _ in range(5)]
    waiting = [await submit(office.store) for _ in range(7)]

    assert await office.reader.pass_once() == 5
    assert [each.subject for each in await office.deliveries()] == tasks
    await office.store.control.cancel(waiting)
    assert await office.reader.pass_once() == 0


def event(**fields: Any) -> Event:
    usual: dict[str, Any] = {
        "log": "abcd0123",
        "place": EventPosition(1, 0),
        "type": "drumline.task.failed",
        "at": Instant(100),
        "subject": "t",
        "tenant": "default",
        "data": TaskChange(
            id=TaskId("t"), status=Status.FAILED, name="charge", queue="billing", job="j-1", tags=("vip", "eu")
        ),
    }
    return Event(**{**usual, **fields})


def order(**wanted: Any) -> Subscription:
    return Subscription(
        id=SubscriptionId("s"),
        tenant="default",
        name="s",
        filter=check_filter(EventFilter(**wanted)),
        target=Target(TargetKind.WEBHOOK, HOOK),
        created_at=Instant(100),
    )


JOB = event(type="drumline.job.failed", subject="j-1", data={"name": "nightly", "tags": ["vip"]})
WORKER = event(type="drumline.worker.reaped", subject="w-1", tenant="", data={"host": "h"})


@pytest.mark.parametrize(
    "wanted",
    [
        {},
        {"events": ("task.failed",)},
        {"events": ("drumline.task.*",)},
        {"task": "charge", "queue": "billing", "job": "j-1", "tag": "eu"},
    ],
)
def test_what_was_asked_for_is_told(wanted: dict[str, Any]) -> None:
    assert is_told(order(**wanted), event())


@pytest.mark.parametrize(
    "wanted",
    [
        {"events": ("task.completed", "job.*")},
        {"task": "charg"},
        {"queue": "bill"},
        {"job": "j-2"},
        {"tag": "us"},
        {"task": "charge", "tag": "us"},
    ],
)
def test_what_was_not_asked_for_is_not_told(wanted: dict[str, Any]) -> None:
    assert not is_told(order(**wanted), event())


def test_a_tenant_is_told_of_its_own_only_and_not_of_the_past() -> None:
    assert not is_told(order(), event(tenant="other"))
    assert not is_told(order(), event(at=Instant(99)))


@pytest.mark.parametrize("wanted", [{}, {"job": "j-1"}, {"job": "nightly"}, {"tag": "vip"}, {"events": ("job.*",)}])
def test_jobs_are_told_by_id_and_by_name(wanted: dict[str, Any]) -> None:
    assert is_told(order(**wanted), JOB)


@pytest.mark.parametrize("wanted", [{"job": "j-2"}, {"task": "charge"}, {"events": ("task.*",)}])
def test_other_jobs_are_not_told(wanted: dict[str, Any]) -> None:
    assert not is_told(order(**wanted), JOB)


def test_what_belongs_to_nobody_is_told_to_the_home_tenant() -> None:
    assert is_told(order(events=("worker.*",)), WORKER)
