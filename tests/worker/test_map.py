"""The built-in `map`: a task for each item of a list that only a task before it knows."""

import asyncio
from typing import Any

import pytest
from msgspec import Raw

from drumline.core.codec import encode
from drumline.core.ids import JobId, TaskId
from drumline.core.job import JobRequest, JobStatus, JobTaskRequest, NodeView
from drumline.core.mapping import MOST_ITEMS, NodeItems
from drumline.core.state import State
from drumline.stores.sealing import AesBox
from tests.harness.parts import use_box
from tests.worker.house import House, result_of, until

EACH = {"name": "double"}


def double(house: House, *, bad: set[int] | None = None) -> list[int]:
    """Have a task `double` in the app, and return what it is called with; it fails for what is in `bad`."""
    seen: list[int] = []

    @house.app.task(name="double", retries=0)
    async def double(number: int, times: int = 2) -> int:
        seen.append(number)
        if bad and number in bad:
            raise ValueError(f"{number} is bad")
        return number * times

    return seen


def around(house: House, result: Any) -> None:
    """Have the tasks before and after the map in the app."""

    @house.app.task(name="list")
    async def list_() -> Any:
        return result

    @house.app.task(name="show")
    async def show(all: Any) -> Any:
        return all


async def children_of(house: House, task: TaskId) -> list[TaskId]:
    return [link.child for link in (await house.engine.children.links(task, limit=1000)).links]


async def submit_job(house: House, mapped: dict[str, Any]) -> JobId:
    """Submit a job of a task that gives a list, a map over it, and a task that takes what the map gives."""

    def task(payload: Any, name: str | None = None, **more: Any) -> JobTaskRequest:
        return JobTaskRequest(name=name, payload=Raw(encode(payload)), **more)

    payload = {"items": {"$result": "list"}, "into": "number", **mapped}
    tasks = {
        "list": task({}),
        "each": task(payload, "map", needs=("list",)),
        "show": task({"all": {"$result": "each"}}, needs=("each",)),
    }
    return (await house.engine.jobs.submit(JobRequest(name="job", tasks=tasks))).id


async def ended(house: House, job: JobId) -> dict[str, NodeView]:
    async with asyncio.timeout(20):
        await house.engine.jobs.wait(job, seconds=20)
    return {node.key: node for node in await house.engine.jobs.nodes(job)}


async def test_a_map_gives_the_results_in_the_order_of_the_items(house: House) -> None:
    double(house)
    mapped = {"each": {**EACH, "payload": {"times": 3}, "queue": "other", "tags": ["a"]}}
    around(house, [5, 1, 4, 1])
    async with house.worker():
        job = await submit_job(house, mapped)
        nodes = await ended(house, job)

    assert result_of(await house.get(nodes["show"].task)) == [15, 3, 12, 3]
    assert nodes["each"].items == NodeItems(total=4, ended=4, failed=0)
    assert nodes["show"].items is None
    views = [await house.get(child) for child in await children_of(house, nodes["each"].task)]
    assert [(view.lane.queue, view.options.tags) for view in views] == [("other", ("a",))] * 4


async def test_a_map_over_nothing_completes_with_nothing(house: House) -> None:
    double(house)
    around(house, [])
    async with house.worker():
        nodes = await ended(house, await submit_job(house, {"each": EACH}))

    assert result_of(await house.get(nodes["show"].task)) == []
    assert await children_of(house, nodes["each"].task) == []


async def test_an_item_may_be_the_whole_payload(house: House) -> None:
    double(house)
    async with house.worker():
        view = await house.run("map", {"items": [{"number": 1}, {"number": 2, "times": 5}], "each": EACH})

    assert result_of(view) == [2, 10]


async def test_no_more_tasks_than_the_window_has_room_for_are_there_at_a_time(house: House) -> None:
    running, most = 0, 0

    @house.app.task(name="double")
    async def double(number: int) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        return number

    async with house.worker():
        view = await house.run("map", {"items": list(range(20)), "each": EACH, "into": "number", "window": 2})

    assert result_of(view) == list(range(20))
    assert most <= 2


async def test_a_map_that_waits_says_how_far_it_is_and_takes_no_slot(house: House) -> None:
    gate = asyncio.Event()

    @house.app.task(name="double")
    async def double(number: int) -> int:
        if number:
            await gate.wait()
        return number

    around(house, [0, 1, 2])
    async with house.worker(capacity=1):
        job = await submit_job(house, {"each": EACH, "window": 2})

        async def first_has_ended() -> bool:
            (node,) = [node for node in await house.engine.jobs.nodes(job) if node.key == "each"]
            return node.items == NodeItems(total=3, ended=1, failed=0)

        await until(first_has_ended)
        gate.set()
        nodes = await ended(house, job)

    assert nodes["each"].items == NodeItems(total=3, ended=3, failed=0)


async def test_an_item_that_fails_fails_the_map_and_a_resume_runs_it_alone(house: House) -> None:
    bad = {2, 3}
    seen = double(house, bad=bad)
    around(house, [1, 2, 3, 4])
    async with house.worker():
        job = await submit_job(house, {"each": EACH})
        nodes = await ended(house, job)

        assert nodes["each"].state is State.FAILED
        assert nodes["each"].attempt == 1  # the items had retries of their own
        assert (nodes["show"].state, nodes["show"].cause) == (State.SKIPPED, "each")
        first = (await children_of(house, nodes["each"].task))[1]
        assert nodes["each"].reason == (
            f"2 of 4 items failed; the first: item 1 (task {first}) failed: ValueError: 2 is bad"
        )
        assert nodes["each"].items == NodeItems(total=4, ended=4, failed=2)

        seen.clear()
        bad.clear()
        await house.engine.jobs.resume(job)
        await house.engine.children.work_notes()
        nodes = await ended(house, job)

    assert sorted(seen) == [2, 3]
    assert (await house.engine.jobs.get(job)).status is JobStatus.COMPLETED
    assert result_of(await house.get(nodes["show"].task)) == [2, 4, 6, 8]


async def test_cancelling_the_job_cancels_what_the_map_has_started(house: House) -> None:
    begun = asyncio.Event()

    @house.app.task(name="double")
    async def double(number: int) -> None:
        del number
        begun.set()
        await asyncio.sleep(60)

    around(house, list(range(10)))
    async with house.worker(capacity=2):
        job = await submit_job(house, {"each": EACH})
        await begun.wait()
        await until(lambda: _is_parked(house, job))
        await house.engine.jobs.cancel(job)
        await house.engine.children.work_notes()
        nodes = await ended(house, job)
        for child in await children_of(house, nodes["each"].task):
            assert (await house.ended(child)).state is State.CANCELLED

    assert nodes["each"].state is State.CANCELLED


async def _is_parked(house: House, job: JobId) -> bool:
    (node,) = [node for node in await house.engine.jobs.nodes(job) if node.key == "each"]
    return node.state is State.QUEUED and node.items == NodeItems(total=10, ended=0, failed=0)


@pytest.mark.parametrize(
    ("result", "kind"), [({"a": 1}, "an object"), ("abc", "a text"), (None, "null"), (7, "a number"), (True, "true")]
)
async def test_a_result_that_is_no_list_fails_the_map_and_says_so(house: House, result: Any, kind: str) -> None:
    double(house)
    around(house, result)
    async with house.worker():
        nodes = await ended(house, await submit_job(house, {"each": EACH}))

    assert nodes["each"].state is State.FAILED
    assert nodes["each"].reason == (
        f"payload.items: must be a list, and is {kind}: a map needs a result that is a list"
    )


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"items": [0] * (MOST_ITEMS + 1)}, f"payload.items: has {MOST_ITEMS + 1:,} items; at most {MOST_ITEMS:,}"),
        ({"window": 0}, "payload.window: "),
        ({"each": {"payload": {}}}, "payload.each"),
        ({"each": {**EACH, "payload": {"number": 1}}}, "payload.into: 'number' is in each.payload already"),
        ({"each": {**EACH, "payload": {"times": 1}}, "into": None}, "payload.into: must say where in each.payload"),
        ({"each": {**EACH, "payload": [1]}}, "payload.each.payload"),
        ({"each": {**EACH, "idempotency_key": "k"}}, "is not for children"),
        ({"each": {**EACH, "queue": "a queue"}}, "queue"),
        ({"other": 1}, "payload.other"),
    ],
)
async def test_a_payload_that_makes_no_sense_fails_for_good_naming_the_field(
    house: House, wrong: dict[str, Any], message: str
) -> None:
    double(house)
    async with house.worker():
        view = await house.run("map", {"items": [1], "each": EACH, "into": "number", **wrong})

    assert view.state is State.FAILED
    assert view.attempt == 1
    assert view.error is not None
    assert message in view.error.message


async def test_a_lost_answer_starts_nothing_twice(house: House) -> None:
    seen = double(house)
    async with house.worker():
        house.line.lose_answers = 3
        view = await house.run("map", {"items": [1, 2, 3], "each": EACH, "into": "number"})

    assert result_of(view) == [2, 4, 6]
    assert sorted(seen) == [1, 2, 3]


# -- secrets


@pytest.fixture
async def secret(house: House) -> str:
    use_box(house.engine, AesBox([b"k" * 32]))
    await house.engine.secrets.put("api", "hunter2", tenant="default")
    return "hunter2"


def pay(house: House) -> list[Any]:
    seen: list[Any] = []

    @house.app.task(name="pay")
    async def pay(number: Any, token: Any = None) -> None:
        seen.append((number, token))

    return seen


async def test_a_secret_is_filled_in_where_each_task_runs_and_is_stored_nowhere(house: House, secret: str) -> None:
    seen = pay(house)
    odd = {"$secret": "api"}
    mapped = {"each": {"name": "pay", "payload": {"token": odd}}}
    around(house, [1, odd, {"$literal": 3}])
    async with house.worker():
        nodes = await ended(house, await submit_job(house, mapped))

    assert sorted(map(str, seen)) == sorted(map(str, [(1, secret), (odd, secret), ({"$literal": 3}, secret)]))
    for task in (nodes["each"].task, *await children_of(house, nodes["each"].task)):
        assert secret.encode() not in bytes((await house.get(task)).payload or b"")


async def test_data_that_looks_like_a_secret_stays_data(house: House, secret: str) -> None:
    del secret
    seen = pay(house)
    odd = {"$secret": "api"}
    around(house, [odd, [odd], {"$literal": odd}])
    async with house.worker():
        await ended(house, await submit_job(house, {"each": {"name": "pay"}}))

    assert sorted(map(str, seen)) == sorted(map(str, [(odd, None), ([odd], None), ({"$literal": odd}, None)]))
