import asyncio
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from drumline import (
    Conflict,
    Context,
    Drumline,
    DrumlineError,
    Invalid,
    KeyReused,
    NotFound,
    Status,
    Task,
    TaskCancelled,
    TaskFailed,
    TaskHandle,
    WaitTimeout,
)
from drumline.core.ids import TaskId
from drumline.core.outcome import ErrorInfo
from drumline.sdk.context import activated
from drumline.sdk.embedded import EmbeddedTransport
from tests.sdk.hand_worker import HandWorker

ID = TaskId("01890a5d-ac96-774b-bcce-b302099a8057")


@dataclass
class Sum:
    total: int


def plus(a: int, b: int = 1) -> Sum:
    return Sum(a + b)


@pytest.fixture
def add(app: Drumline[None]) -> Task[[int, int], Sum]:
    return app.task(name="add")(plus)


@pytest.fixture
def ada(house: EmbeddedTransport) -> HandWorker:
    return HandWorker(house, "add")


def test_a_submitted_task_gives_its_typed_result(add: Task[[int, int], Sum], ada: HandWorker) -> None:
    handle = add.submit(2, 3)
    before = handle.status()
    ada.succeed(b'{"total": 5}')

    assert before is Status.QUEUED
    assert handle.result(timeout=30) == Sum(5)
    assert handle.status() is Status.COMPLETED


def test_waiting_ends_as_soon_as_the_task_does(add: Task[[int, int], Sum], ada: HandWorker) -> None:
    handle = add.submit(2, 3)
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(handle.result, 30)
        ada.succeed(b'{"total": 5}')

        assert waiting.result(5) == Sum(5)


async def test_async_twins_work_on_the_callers_loop(add: Task[[int, int], Sum], ada: HandWorker) -> None:
    handle = await add.asubmit(2, 3)
    await asyncio.to_thread(ada.succeed, b'{"total": 5}')

    assert await handle == Sum(5)
    assert await handle.aresult(timeout=30) == Sum(5)
    assert await handle.astatus() is Status.COMPLETED
    assert (await handle.ainfo()).attempt == 1


def test_a_failed_task_raises_what_the_worker_saw(add: Task[[int, int], Sum], ada: HandWorker) -> None:
    handle = add.submit(2, 3)
    ada.fail(ErrorInfo("ValueError", "no", "Traceback: line 7"))

    with pytest.raises(TaskFailed, match="ValueError: no") as caught:
        handle.result(timeout=30)

    error = caught.value
    assert (error.kind, error.remote_message, error.traceback) == ("ValueError", "no", "Traceback: line 7")
    assert "line 7" in error.__notes__[0]


def test_a_failed_task_can_be_run_again(add: Task[[int, int], Sum], ada: HandWorker) -> None:
    handle = add.submit(2, 3)
    ada.fail(ErrorInfo("ValueError", "no"))

    handle.retry()
    ada.succeed(b'{"total": 5}')

    assert handle.result(timeout=30) == Sum(5)
    with pytest.raises(Conflict):
        handle.retry()


def test_a_cancelled_task_has_no_result(add: Task[[int, int], Sum]) -> None:
    handle = add.submit(2, 3)

    handle.cancel()
    handle.cancel()

    with pytest.raises(TaskCancelled, match="was cancelled"):
        handle.result(timeout=30)


def test_a_completed_task_cannot_be_cancelled(add: Task[[int, int], Sum], ada: HandWorker) -> None:
    handle = add.submit(2, 3)
    ada.succeed(b"null")

    with pytest.raises(Conflict):
        handle.cancel()


def test_waiting_in_vain_says_that_no_worker_can_run_the_task(add: Task[[int, int], Sum]) -> None:
    with pytest.raises(WaitTimeout, match="no live worker can run 'add'") as caught:
        add.submit(2, 3).result(timeout=0)

    assert caught.value.has_worker is False
    assert isinstance(caught.value, TimeoutError)


def test_waiting_in_vain_for_a_running_task_says_so(add: Task[[int, int], Sum], ada: HandWorker) -> None:
    handle = add.submit(2, 3)
    ada.claim()

    with pytest.raises(WaitTimeout, match=r"is still PROCESSING after 0\.01s") as caught:
        handle.result(timeout=0.01)

    assert caught.value.status is Status.PROCESSING


def test_a_busy_worker_is_not_mistaken_for_a_missing_one(
    add: Task[[int, int], Sum],
    ada: HandWorker,  # noqa: ARG001
) -> None:
    with pytest.raises(WaitTimeout) as caught:
        add.submit(2, 3).result(timeout=0)

    assert caught.value.has_worker is True


def test_the_log_can_be_read_while_the_task_runs(add: Task[[int, int], Sum], ada: HandWorker) -> None:
    handle = add.submit(2, 3)
    ada.log(ada.claim(), "half way\n")

    assert handle.log() == "half way\n"


def test_many_are_submitted_in_order_and_a_bad_one_holds_up_nobody(
    app: Drumline[None], add: Task[[int, int], Sum]
) -> None:
    calls = [add.call(1, 1), add.options(priority=1000).call(2, 2), add.call(3, 3)]

    first, second, third = app.submit_many(calls)

    assert isinstance(first, TaskHandle)
    assert isinstance(second, Invalid)
    assert second.field == "tasks[1].priority"
    assert isinstance(third, TaskHandle)
    assert bytes(first.info().payload) == b'{"a":1,"b":1}'
    assert bytes(third.info().payload) == b'{"a":3,"b":3}'


def test_more_than_the_engine_takes_at_once_is_sent_in_parts(app: Drumline[None], add: Task[[int, int], Sum]) -> None:
    handles = app.submit_many([add.call(n, n) for n in range(10_500)])

    ids = [handle.id for handle in handles if isinstance(handle, TaskHandle)]
    assert len(ids) == 10_500
    assert ids == sorted(ids)


async def test_concurrent_submissions_are_joined_and_keep_their_own_answers(
    app: Drumline[None], add: Task[[int, int], Sum]
) -> None:
    bad = add.options(queue="no spaces")
    answers = await asyncio.gather(*(add.asubmit(n, n) for n in range(50)), bad.asubmit(1, 1), return_exceptions=True)

    *handles, refused = answers
    assert isinstance(refused, Invalid)
    infos = await asyncio.gather(*(handle.ainfo() for handle in handles if isinstance(handle, TaskHandle)))
    assert [bytes(info.payload) for info in infos] == [b'{"a":%d,"b":%d}' % (n, n) for n in range(50)]
    assert await app.asubmit_many([]) == []


def test_one_app_serves_threads_and_loops_at_once(add: Task[[int, int], Sum]) -> None:
    def on_a_loop(number: int) -> str:
        return asyncio.run(add.asubmit(number, 0)).id

    with ThreadPoolExecutor(8) as pool:
        ids = [*pool.map(on_a_loop, range(20)), *(h.id for h in pool.map(add.submit, range(20), range(20)))]

    assert len(set(ids)) == 40


def test_the_same_key_gives_the_same_task(add: Task[[int, int], Sum]) -> None:
    once = add.options(key="once")

    assert once.submit(1, 1) == once.submit(1, 1)
    with pytest.raises(KeyReused):
        once.submit(2, 2)


def test_tasks_without_a_local_function_are_submitted_by_name(app: Drumline[None]) -> None:
    handle = app.submit_task("shell", {"command": ["true"]}, queue="ops", retries=0)

    info = handle.info()
    assert (info.name, info.queue, info.retries) == ("shell", "ops", 0)
    assert bytes(info.payload) == b'{"command":["true"]}'
    assert app.handle(handle.id).status() is Status.QUEUED


async def test_async_submission_by_name(app: Drumline[None]) -> None:
    assert await (await app.asubmit_task("ping")).astatus() is Status.QUEUED


def test_an_unknown_task_is_not_found(app: Drumline[None]) -> None:
    with pytest.raises(NotFound):
        app.handle("01890a5d-ac96-774b-bcce-b302099a8057").status()


async def test_a_blocking_call_on_a_loop_warns_at_the_callers_line(add: Task[[int, int], Sum]) -> None:
    with pytest.warns(RuntimeWarning, match="asubmit") as submitting:
        handle = add.submit(2, 3)
    with pytest.warns(RuntimeWarning, match="astatus") as looking:
        handle.status()

    assert {warning.filename for warning in [*submitting, *looking]} == {__file__}


async def test_a_blocking_call_inside_an_async_task_is_refused(add: Task[[int, int], Sum]) -> None:
    handle = await add.asubmit(2, 3)

    with activated(Context(id=handle.id, state=None)), pytest.raises(RuntimeError, match="asubmit"):
        add.submit(2, 3)


async def test_a_handle_of_a_closed_app_says_so(app: Drumline[None]) -> None:
    handle = await app.asubmit_task("ping")
    await asyncio.to_thread(app.close)

    with pytest.raises(RuntimeError, match="the connection was closed"):
        await handle.astatus()


@pytest.mark.parametrize(
    "error",
    [
        TaskFailed(ID, ErrorInfo("ValueError", "no", "line 7")),
        TaskCancelled(ID, Status.SKIPPED),
        WaitTimeout("late", ID, Status.QUEUED, has_worker=False),
    ],
)
def test_errors_survive_a_process_border(error: DrumlineError) -> None:
    copy = pickle.loads(pickle.dumps(error))

    assert str(copy) == str(error)
    assert vars(copy) == vars(error)
