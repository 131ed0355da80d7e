"""Handles come back in the order in which their tasks end."""

import asyncio

import pytest
from msgspec import Raw

from drumline import Drumline, DrumlineError, Invalid, Task, TaskHandle, WaitTimeout, as_completed
from drumline.core.ids import TaskId
from drumline.core.outcome import ErrorInfo, Succeeded
from drumline.sdk import as_completed as module
from drumline.sdk.embedded import EmbeddedTransport
from drumline.sdk.task_asks import GetEnded
from tests.sdk.hand_worker import HandWorker

GONE = "01890a5d-ac96-774b-bcce-b302099a8057"


def plus(a: int, b: int) -> int:
    return a + b


@pytest.fixture
def add(app: Drumline[None]) -> Task[[int, int], int]:
    return app.task(name="add")(plus)


@pytest.fixture
def ada(house: EmbeddedTransport) -> HandWorker:
    return HandWorker(house, "add")


def test_handles_come_in_the_order_in_which_their_tasks_end(add: Task[[int, int], int], ada: HandWorker) -> None:
    handles = [add.submit(n, n) for n in range(3)]
    first, second, third = (ada.claim() for _ in handles)
    ada.settle(third, Succeeded(Raw(b"4")))
    seen = []

    for handle in as_completed(handles, timeout="20s"):
        seen.append((handle.id, handle.result()))
        if len(seen) == 1:
            ada.settle(first, Succeeded(Raw(b"0")))
        elif len(seen) == 2:
            ada.settle(second, Succeeded(Raw(b"2")))

    assert seen == [(third.lease.task, 4), (first.lease.task, 0), (second.lease.task, 2)]


async def test_an_async_loop_gets_them_as_they_come(add: Task[[int, int], int], ada: HandWorker) -> None:
    handles = [await add.asubmit(n, n) for n in range(2)]
    claimed = [await asyncio.to_thread(ada.claim) for _ in handles]
    await asyncio.to_thread(ada.settle_with, claimed[1], b"2")
    seen = []

    async for handle in as_completed(handles, timeout="20s"):
        seen.append(handle.id)
        if len(seen) == 1:
            await asyncio.to_thread(ada.settle_with, claimed[0], b"0")

    assert seen == [claimed[1].lease.task, claimed[0].lease.task]


def test_failed_tasks_and_those_that_are_gone_come_too(
    app: Drumline[None], add: Task[[int, int], int], ada: HandWorker
) -> None:
    failed = add.submit(1, 1)
    ada.fail(ErrorInfo("ValueError", "no"))

    came = {handle.id for handle in as_completed([failed, app.handle(GONE)], timeout="20s")}

    assert came == {failed.id, GONE}


def test_one_task_twice_comes_twice(add: Task[[int, int], int], ada: HandWorker) -> None:
    handle = add.submit(1, 1)
    ada.succeed(b"2")

    assert list(as_completed([handle, handle], timeout="20s")) == [handle, handle]


def test_no_handles_are_no_rounds() -> None:
    nothing: list[TaskHandle[int]] = []

    assert list(as_completed(nothing)) == []


def test_the_end_of_the_time_names_a_task_that_has_not_ended(add: Task[[int, int], int], ada: HandWorker) -> None:
    done, waiting = add.submit(1, 1), add.submit(2, 2)
    ada.succeed(b"2")
    seen: list[TaskHandle[int]] = []

    with pytest.raises(WaitTimeout, match=f"1 of the tasks have not ended after .*{waiting.id} is QUEUED") as caught:
        seen.extend(as_completed([done, waiting], timeout=0.05))

    assert caught.value.task == waiting.id
    assert seen == [done]


def test_many_tasks_are_asked_about_in_parts(
    app: Drumline[None], add: Task[[int, int], int], monkeypatch: pytest.MonkeyPatch, ada: HandWorker
) -> None:
    monkeypatch.setattr(module, "MOST_IDS", 2)
    handles = [
        each for each in app.submit_many([add.call(n, n) for n in range(5)]) if not isinstance(each, DrumlineError)
    ]
    for _ in handles:
        ada.succeed(b"1")

    assert {handle.id for handle in as_completed(handles, timeout="20s")} == {handle.id for handle in handles}


def test_what_is_no_handle_is_refused() -> None:
    with pytest.raises(TypeError, match="as_completed"):
        as_completed([TaskId(GONE)])  # type: ignore[arg-type]


def test_a_list_of_ids_has_a_limit_and_each_is_checked(app: Drumline[None]) -> None:
    transport = app.client.transport
    if type(transport).__name__ != "HttpTransport":
        pytest.skip("what HTTP checks")
    with pytest.raises(Invalid) as many:
        transport.send(GetEnded([TaskId(GONE)] * 1_001))
    with pytest.raises(Invalid) as odd:
        transport.send(GetEnded([TaskId(GONE), TaskId("x")]))

    assert (many.value.field, odd.value.field) == ("ids", "ids[1]")
