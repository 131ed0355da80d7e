"""Jobs from Python to their end, in this process and over HTTP."""

import asyncio
import pickle
from typing import Any

import pytest

from drumline import (
    Conflict,
    Drumline,
    Invalid,
    JobCancelled,
    JobFailed,
    JobStatus,
    KeyReused,
    NotFound,
    TaskCancelled,
    TaskFailed,
    WaitTimeout,
)
from drumline.core.errors import DrumlineError
from drumline.core.ids import JobId
from drumline.core.outcome import ErrorInfo
from drumline.sdk.dag import Dag
from drumline.sdk.embedded import EmbeddedTransport
from tests.sdk.hand_worker import HandWorker

NOWHERE = "01890a5d-ac96-774b-bcce-b302099a8057"
BOOM = ErrorInfo("ValueError", "boom", "Traceback: boom")


class Shop:
    """An app with two tasks, and a worker who runs them by hand."""

    def __init__(self, app: Drumline[None], house: EmbeddedTransport) -> None:
        self.app = app
        self.worker = HandWorker(house, "charge", "total")

        @app.task(name="charge")
        def charge(order: int) -> dict[str, int]:
            return {"cents": order}

        @app.task(name="total")
        def total(amounts: list[int]) -> int:
            return sum(amounts)

        self.charge = charge
        self.total = total

    def dag(self, **options: Any) -> Dag:
        with self.app.dag("closing", **options) as dag:
            self.charges = dag.map(self.charge, [1, 2])
            self.sum = dag.add(self.total, [one["cents"] for one in self.charges.out])
        return dag


@pytest.fixture
def shop(app: Drumline[None], house: EmbeddedTransport) -> Shop:
    return Shop(app, house)


def test_a_job_runs_to_its_result(shop: Shop) -> None:
    job = shop.dag(owner="me").submit()
    before = job.info()
    shop.worker.succeed(b'{"cents": 10}')
    shop.worker.succeed(b'{"cents": 20}')
    last = shop.worker.claim()
    during = job.status()
    shop.worker.settle_with(last, b"30")

    assert job.result(timeout=30) == {"total": 30}
    assert job.result_of(shop.sum) == 30
    assert job.result_of(shop.charges) == [{"cents": 10}, {"cents": 20}]
    assert (before.status, before.owner, before.counts.total) == (JobStatus.PENDING, "me", 3)
    assert during is JobStatus.PROCESSING
    assert bytes(last.payload) == b'{"amounts":[10,20]}'
    assert job.wait(timeout=30).counts.completed == 3
    assert job.url.endswith(job.id)


def test_every_execution_of_its_tasks_is_told_the_latest_first(shop: Shop) -> None:
    job = shop.dag().submit()
    shop.worker.succeed(b'{"cents": 10}')
    shop.worker.fail(BOOM)
    job.wait(timeout=30)
    job.resume()
    running = shop.worker.claim()

    told = job.attempts()

    begun = [one for one in told if one.started_at]
    assert [(one.key, one.attempt, one.outcome, one.reason) for one in begun] == [
        ("charge-1", 2, "running", None),
        ("charge-1", 1, "failed", "boom"),
        ("charge-0", 1, "completed", None),
    ]
    assert (begun[0].task_id, begun[0].finished_at) == (running.lease.task, None)
    assert begun[0].worker == job.task("charge-1").info().worker
    assert job.attempts(limit=1) == told[:1]


def test_executions_are_asked_for_within_bounds(shop: Shop) -> None:
    job = shop.dag().submit()

    for limit in (0, 1001):
        with pytest.raises(Invalid) as caught:
            job.attempts(limit)
        assert caught.value.field == "limit"
    with pytest.raises(NotFound):
        shop.app.job(NOWHERE).attempts()


async def test_the_same_without_blocking(shop: Shop) -> None:
    job = await shop.dag().asubmit()
    for result in (b'{"cents": 10}', b'{"cents": 20}', b"30"):
        await asyncio.to_thread(shop.worker.succeed, result)

    assert await job == {"total": 30}
    assert await job.aresult_of(shop.charges) == [{"cents": 10}, {"cents": 20}]
    assert (await job.await_end(timeout=30)).status is JobStatus.COMPLETED
    assert await job.astatus() is JobStatus.COMPLETED
    assert (await job.ainfo()).name == "closing"
    assert [node.key for node in await job.anodes()] == ["charge-0", "charge-1", "total"]
    assert {(one.key, one.outcome) for one in await job.aattempts()} == {
        ("charge-0", "completed"), ("charge-1", "completed"), ("total", "completed"),
    }  # fmt: skip
    assert (await job.amermaid()).startswith("flowchart")
    assert await (await job.atask(shop.sum)) == 30
    with pytest.raises(Conflict):
        await job.aresume()
    with pytest.raises(Conflict):
        await job.acancel()


def test_a_chain_gives_the_result_of_its_last_task(shop: Shop) -> None:
    job = shop.total.call([1]).then(shop.charge).submit("row", owner="me")
    shop.worker.succeed(b"7")
    claimed = shop.worker.claim()
    shop.worker.settle_with(claimed, b'{"cents": 700}')

    assert job.result(timeout=30) == {"cents": 700}
    assert bytes(claimed.payload) == b'{"order":7}'
    assert job.info().name == "row"


def test_results_of_many_tasks_come_in_order(shop: Shop) -> None:
    with shop.app.dag("many") as dag:
        many = dag.map(shop.charge, range(250))
    job = dag.submit()
    for _ in range(250):
        claimed = shop.worker.claim()
        shop.worker.settle_with(claimed, bytes(claimed.payload).replace(b"order", b"cents"))

    assert job.result_of(many, timeout=30) == [{"cents": number} for number in range(250)]
    assert len(job.result(timeout=30)) == 250


def test_a_node_has_its_result_before_the_job_has_ended(shop: Shop) -> None:
    job = shop.dag().submit()
    shop.worker.succeed(b'{"cents": 10}')
    shop.worker.succeed(b'{"cents": 20}')

    assert job.result_of(shop.charges, timeout=30) == [{"cents": 10}, {"cents": 20}]
    with pytest.raises(WaitTimeout, match="'total' has not ended"):
        job.result_of(shop.sum, timeout=0)


def test_a_failed_job_tells_what_failed(shop: Shop) -> None:
    job = shop.dag().submit()
    shop.worker.fail(BOOM)

    shop.worker.succeed(b'{"cents": 20}')
    with pytest.raises(JobFailed, match=r"task 'charge-0' failed: ValueError: boom") as caught:
        job.result(timeout=30)

    assert caught.value.failed == ("charge-0",)
    assert (caught.value.kind, caught.value.traceback) == ("ValueError", "Traceback: boom")
    assert "On the worker of 'charge-0'" in caught.value.__notes__[0]
    with pytest.raises(TaskFailed, match="ValueError: boom"):
        job.result_of(shop.charges)
    with pytest.raises(TaskCancelled, match="was skipped: charge-0 failed"):
        job.result_of(shop.sum)
    assert {node.key: node.cause for node in job.nodes()}["total"] == "charge-0"


def test_a_failed_job_is_resumed(shop: Shop) -> None:
    job = shop.dag().submit()
    shop.worker.fail(BOOM)
    shop.worker.succeed(b'{"cents": 20}')
    job.wait(timeout=30)

    job.resume()
    shop.worker.succeed(b'{"cents": 10}')
    shop.worker.succeed(b"30")

    assert job.result(timeout=30) == {"total": 30}


def test_a_job_is_cancelled_once_or_twice(shop: Shop) -> None:
    job = shop.dag().submit()

    job.cancel(reason="wrong day")
    job.cancel()

    with pytest.raises(JobCancelled, match="was cancelled: wrong day"):
        job.result(timeout=30)
    with pytest.raises(TaskCancelled, match="was cancelled"):
        job.result_of(shop.sum)


def test_only_the_waiting_ends_with_its_time(shop: Shop) -> None:
    job = shop.dag().submit()

    with pytest.raises(WaitTimeout, match="is still PENDING after 0s: 3 of 3 tasks have not ended") as caught:
        job.result(timeout=0)

    assert (caught.value.job, caught.value.task, caught.value.status) == (job.id, None, JobStatus.PENDING)


def test_a_key_makes_one_job(shop: Shop) -> None:
    first = shop.dag(key="once").submit()

    assert shop.dag(key="once").submit() == first
    with pytest.raises(KeyReused):
        shop.dag(key="once", owner="else").submit()


def test_a_job_waits_for_another(shop: Shop) -> None:
    first = shop.dag().submit()
    second = shop.dag(depends_on=[first]).submit()

    assert second.info().depends_on == (first.id,)
    assert second.info().waits_for == 1
    with pytest.raises(Invalid) as caught:
        shop.dag(depends_on=[first, NOWHERE]).submit()
    assert caught.value.field == "depends_on[1]"


def test_an_earlier_job_is_found_again(shop: Shop) -> None:
    first = shop.dag().submit()
    for result in (b'{"cents": 10}', b'{"cents": 20}', b"30"):
        shop.worker.succeed(result)

    again = shop.app.job(first.id)

    assert again.result(timeout=30) == {"total": 30}
    assert again.task("charge-1").result() == {"cents": 20}
    with pytest.raises(Invalid, match=r"has no task 'totl'; did you mean total\?"):
        again.task("totl")
    with pytest.raises(Invalid, match="belongs to another job"):
        again.result_of(shop.sum)
    with pytest.raises(NotFound):
        shop.app.job(NOWHERE).status()
    with pytest.raises(Invalid):
        shop.app.job("no id")


def test_tasks_of_a_job_are_tasks(shop: Shop) -> None:
    job = shop.dag().submit()

    task = job.task(shop.sum)

    assert (task.info().job_id, task.info().key) == (job.id, "total")
    with pytest.raises(TypeError, match="is 2 tasks"):
        job.task(shop.charges)


def test_the_graph_is_drawn_with_where_each_task_stands(shop: Shop) -> None:
    job = shop.dag().submit()
    shop.worker.succeed(b'{"cents": 10}')

    text = job.mermaid()

    assert '"charge-0<br/>charge<br/>COMPLETED"' in text
    assert '"total<br/>PENDING"' in text


def test_a_result_that_is_not_there_fails_the_task_for_good(shop: Shop) -> None:
    with shop.app.dag("missing") as dag:
        dag.add(shop.total, [dag.add(shop.charge, 1).out["dollars"]])
    job = dag.submit()
    shop.worker.succeed(b'{"cents": 10}')
    shop.worker.claim_nothing()

    with pytest.raises(JobFailed, match=r"the result of 'charge' has nothing at charge\.dollars"):
        job.result(timeout=30)


def test_data_that_looks_like_a_reference_arrives_as_it_is(shop: Shop) -> None:
    with shop.app.dag("literal") as dag:
        dag.add_task("total", {"amounts": [{"$result": "charge"}]})
        dag.add_task("total", {"amounts": [{"$literal": 1}, dag.add(shop.charge, 1).out]})
    dag.submit()
    payloads = []
    for _ in range(3):
        claimed = shop.worker.claim()
        payloads.append(bytes(claimed.payload))
        shop.worker.settle_with(claimed, b"5")

    assert b'{"amounts":[{"$result":"charge"}]}' in payloads
    assert b'{"amounts":[{"$literal":1},5]}' in payloads


@pytest.mark.parametrize(
    "error",
    [
        JobFailed(JobId("id"), "why", ("a",), BOOM),
        JobCancelled(JobId("id"), "why"),
        WaitTimeout("late", None, JobStatus.PENDING, job=JobId("id")),
    ],
)
def test_errors_cross_to_other_processes(error: DrumlineError) -> None:
    again = pickle.loads(pickle.dumps(error))

    assert str(again) == str(error)
    assert vars(again).keys() == vars(error).keys()
