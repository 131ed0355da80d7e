"""Large payloads and results on their way: submitted, claimed, settled, shown, handed on, pruned."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest
from msgspec import Raw

from drumline.api.app import create_app
from drumline.api.configured_keys import ConfiguredKeys
from drumline.api.operation import Info
from drumline.core.blob import is_reference, read_reference, write_reference
from drumline.core.children import ChildRequests
from drumline.core.clock import Instant, ManualClock, SystemClock
from drumline.core.codec import decode, encode
from drumline.core.collapse import Collapse
from drumline.core.durable import Answered, RestartRequest, Wait, WaitKind, WaitRequest
from drumline.core.errors import DrumlineError
from drumline.core.ids import TaskId
from drumline.core.job import JobRequest
from drumline.core.outcome import ErrorInfo, Failed, Released, Succeeded
from drumline.core.session import SessionSpec, TaskType
from drumline.core.state import State, Status
from drumline.core.task import ClaimedTask, Submitted
from drumline.engine.blobs import MOST_OPENED
from drumline.engine.engine import Engine
from drumline.engine.gateway import gateway_of
from drumline.ports.gateway import Gateway, Report
from drumline.remote import RemoteGateway
from drumline.scheduler.blobs import BlobSweeper
from drumline.settings.fields import BlobSettings, Secret, Settings
from drumline.stores.sealing import new_key_text
from drumline.wiring import Opened, wire
from tests.durable_factories import step
from tests.factories import request

KEY = "sk_test"
LARGE = "x" * 200_000
SPEC = SessionSpec(host="h", pid=1, version="0", queues=(), types=(TaskType(name="work"),), capacity=500)
MISSING = "cannot be read: the blob {} is missing in "


@pytest.fixture(params=["sqlite", "postgres", "shards"])
def store_urls(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """The databases to use; none for SQLite."""
    if request.param == "sqlite":
        return ()
    if request.param == "postgres":
        return (request.getfixturevalue("postgres_url"),)
    urls: tuple[str, ...] = request.getfixturevalue("shard_urls")
    return urls


@pytest.fixture
async def opened(store_urls: tuple[str, ...], bucket_url: str, tmp_path: Path) -> AsyncIterator[Opened]:
    """An installation on SQLite with its folder, or on PostgreSQL with a bucket."""
    blobs = BlobSettings(over=100_000, access_key="testing", secret_key=Secret("testing"))
    settings = Settings(data=tmp_path, blobs=blobs)
    if store_urls:
        key, url = Secret(new_key_text()), Secret(store_urls[0])
        settings = Settings(data=tmp_path, store_url=url, secret_key=key, blob_url=bucket_url, blobs=blobs)
    made = await wire(settings)
    for name, other in zip(("pg2", "pg3"), store_urls[1:], strict=False):
        await made.engine.shards.add(name, store_url=other)
    if store_urls[1:]:
        await made.engine.shards.move(taker=None)
    yield made
    await made.engine.close()


@pytest.fixture
def engine(opened: Opened) -> Engine:
    return opened.engine


@pytest.fixture
async def http(engine: Engine, tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    app = create_app(engine, keys=ConfiguredKeys([KEY]), info=Info(version="0", disk=str(tmp_path)))
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://drumline", headers={"X-API-Key": KEY}) as made:
        yield made


@pytest.fixture(params=["local", "remote"])
async def gateway(request: pytest.FixtureRequest, engine: Engine, http: httpx.AsyncClient) -> AsyncIterator[Gateway]:
    if request.param == "local":
        yield gateway_of(engine)
    else:
        async with RemoteGateway("http://drumline", api_key=KEY, transport=http._transport) as remote:
            yield remote


async def claim(gateway: Gateway, limit: int = 1, *, wait: float = 10.0) -> list[ClaimedTask]:
    return list(await gateway.claim(await gateway.open_session(SPEC), limit=limit, wait=wait))


async def claim_all(gateway: Gateway, count: int) -> list[ClaimedTask]:
    """Claim until there are so many: one claim may be answered by some of several databases."""
    session, claimed = await gateway.open_session(SPEC), list[ClaimedTask]()
    for _ in range(20):
        claimed += await gateway.claim(session, limit=count - len(claimed), wait=0.5)
        if len(claimed) == count:
            break
    return claimed


async def finish(gateway: Gateway, task: ClaimedTask, result: Any) -> None:
    (state,) = await gateway.settle([Report(task.lease, Succeeded(Raw(encode(result))))])
    assert state is State.COMPLETED


async def names(engine: Engine) -> list[str]:
    assert engine.blobs.store is not None
    return [entry.name for entry in await engine.blobs.store.list(await engine.blobs.home(), after="", limit=1000)]


async def lose_blobs(engine: Engine) -> str:
    """Delete every blob, and return the name of the first."""
    assert engine.blobs.store is not None
    found = await names(engine)
    await engine.blobs.store.delete(found)
    return found[0]


async def stored(engine: Engine, task: TaskId) -> tuple[Raw | None, Raw | None]:
    (view,) = await engine.store.queries.get([task])
    assert view is not None
    return view.payload, view.result


async def test_large_payloads_and_results_pass_through_the_blob_store(
    engine: Engine, gateway: Gateway, http: httpx.AsyncClient
) -> None:
    reply = await http.post("/api/v1/tasks", json={"name": "work", "payload": {"text": LARGE}})
    task = TaskId(reply.json()["id"])

    (claimed,) = await claim(gateway)
    await finish(gateway, claimed, [LARGE])
    shown = (await http.get(f"/api/v1/tasks/{task}")).json()
    listed = (await http.get("/api/v1/tasks", params={"payload": "true"})).json()["items"]

    assert decode(bytes(claimed.payload), object) == {"text": LARGE}
    assert (shown["payload"], shown["result"]) == ({"text": LARGE}, [LARGE])
    assert (listed[0]["payload"], listed[0]["result"]) == ({"text": LARGE}, [LARGE])
    assert [each is not None and is_reference(each) for each in await stored(engine, task)] == [True, True]
    assert len(await names(engine)) == 2


async def test_small_ones_stay_in_the_database(engine: Engine, gateway: Gateway) -> None:
    submitted = await engine.submissions.submit(request(payload={"text": "x" * 90_000}))

    (claimed,) = await claim(gateway)
    await finish(gateway, claimed, "small")

    assert await names(engine) == []
    assert [each is not None and is_reference(each) for each in await stored(engine, submitted.id)] == [False, False]


async def test_a_payload_that_looks_like_a_reference_is_data(
    engine: Engine, gateway: Gateway, http: httpx.AsyncClient
) -> None:
    other = await engine.submissions.submit(request(payload=LARGE))
    payload, _ = await stored(engine, other.id)
    assert payload is not None
    (answer,) = await engine.submissions.submit_many([request("work")])
    assert isinstance(answer, Submitted)
    forged = (await http.post("/api/v1/tasks", content=b'{"name": "work", "payload": %s}' % bytes(payload))).json()[
        "id"
    ]
    inside = await engine.submissions.submit(request(payload=Raw(bytes(payload))))

    claimed = {task.lease.task: bytes(task.payload) for task in await claim_all(gateway, 4)}

    reference = read_reference(payload)
    assert reference is not None
    assert decode(claimed[forged], object) == {"blob": reference.blob, "size": reference.size}
    assert decode(claimed[inside.id], object) == {"blob": reference.blob, "size": reference.size}


async def test_each_of_many_goes_where_it_belongs(engine: Engine, gateway: Gateway) -> None:
    requests = [request(payload={"number": n, "text": LARGE if n % 3 == 0 else ""}) for n in range(9)]

    answers = await engine.submissions.submit_many(requests)
    claimed = await claim_all(gateway, 9)

    assert all(isinstance(answer, Submitted) for answer in answers)
    payloads: list[dict[str, Any]] = [decode(bytes(task.payload), dict) for task in claimed]
    assert sorted(payload["number"] for payload in payloads) == list(range(9))
    assert all(payload["text"] == (LARGE if payload["number"] % 3 == 0 else "") for payload in payloads)
    assert len(await names(engine)) == 3


async def test_a_job_hands_large_results_on(engine: Engine, gateway: Gateway) -> None:
    wanted = {
        "tasks": {
            "first": {"name": "work", "payload": {"text": LARGE}},
            "second": {"name": "work", "payload": {"got": {"$result": "first"}}, "needs": ["first"]},
        }
    }
    job = await engine.jobs.submit(decode(encode({"name": "two", **wanted}), JobRequest))
    (first,) = await claim(gateway)
    await finish(gateway, first, [LARGE])

    (second,) = await claim(gateway)
    await finish(gateway, second, LARGE + "y")
    page = await engine.jobs.results(job.id)

    assert decode(bytes(first.payload), object) == {"text": LARGE}
    assert decode(bytes(second.payload), object) == {"got": [LARGE]}
    assert {len(bytes(view.result or b"")) for view in page.items} == {200_004, 200_003}


async def test_a_parent_gets_the_large_results_of_its_children(engine: Engine, gateway: Gateway) -> None:
    await engine.submissions.submit(request())
    (parent,) = await claim(gateway)
    large = request(payload={"text": LARGE})
    call, group = Wait(kind=WaitKind.CALL, name="one"), Wait(kind=WaitKind.GROUP, name="both")
    (one,) = (await gateway.start_children(ChildRequests(lease=parent.lease, name="one", tasks=(large,)))).ids
    await gateway.start_children(ChildRequests(lease=parent.lease, name="both", tasks=(large, request())))
    for child in await claim(gateway, 3):
        await finish(gateway, child, [LARGE])

    answered = await gateway.wait(WaitRequest(lease=parent.lease, waits=(call, group)))
    page = await gateway.outcomes(parent.lease, "both", "", first=0)
    await gateway.settle([Report(parent.lease, Released())])
    (again,) = await claim(gateway)

    assert isinstance(answered, Answered)
    record = answered.answers[0][1]
    assert record is not None
    assert [decode(bytes(each.result), object) for each in page.outcomes] == [[LARGE], [LARGE]]
    assert decode(bytes(record.value), object) == [LARGE]
    assert decode(bytes(again.records.records[0].value), object) == [LARGE]
    assert [each is not None and is_reference(each) for each in await stored(engine, one)] == [True, True]


async def test_large_payloads_of_rounds_and_results_of_their_children_pass_through_the_blob_store(
    engine: Engine, gateway: Gateway, http: httpx.AsyncClient
) -> None:
    task = (await engine.submissions.submit(request(payload={"first": LARGE}))).id
    (parent,) = await claim(gateway)
    await gateway.start_children(ChildRequests(lease=parent.lease, name="one", tasks=(request(),)))
    (child,) = await claim(gateway)
    await finish(gateway, child, [LARGE])
    await gateway.wait(WaitRequest(lease=parent.lease, waits=(Wait(kind=WaitKind.CALL, name="one"),)))

    await gateway.restart(RestartRequest(lease=parent.lease, payload=Raw(encode({"second": LARGE}))))

    (again,) = await claim(gateway)
    assert decode(bytes(again.payload), object) == {"second": LARGE}
    assert [each is not None and is_reference(each) for each in await stored(engine, task)] == [True, False]
    first = (await http.get(f"/api/v1/tasks/{task}/steps", params={"round": 1})).json()
    assert (first["payload"], first["items"][0]["result"]) == ({"first": LARGE}, [LARGE])
    assert engine.blobs.store is not None
    await engine.blobs.store.delete([name for name in await names(engine) if child.lease.task in name])
    later = (await http.get(f"/api/v1/tasks/{task}/steps", params={"round": 1})).json()
    assert (later["payload"], later["items"][0]["result"]) == ({"first": LARGE}, None)  # the child was pruned


async def test_a_task_whose_payload_was_lost_fails_and_names_the_blob(engine: Engine, gateway: Gateway) -> None:
    submitted = await engine.submissions.submit(request(payload=LARGE))
    name = await lose_blobs(engine)

    claimed = await claim(gateway, wait=0.5)

    view = await engine.queries.get(submitted.id)
    assert claimed == []
    assert view.state is State.FAILED
    assert view.error is not None
    assert f"the payload {MISSING.format(name)}" in view.error.message


async def test_a_lost_result_is_told_where_it_is_asked_for(
    engine: Engine, gateway: Gateway, http: httpx.AsyncClient
) -> None:
    submitted = await engine.submissions.submit(request())
    (claimed,) = await claim(gateway)
    await finish(gateway, claimed, LARGE)
    name = await lose_blobs(engine)

    shown = (await http.get(f"/api/v1/tasks/{submitted.id}")).json()

    assert shown["status"] == Status.COMPLETED.value
    assert "result" not in shown
    assert f"the result {MISSING.format(name)}" in shown["error"]["message"]


async def test_a_child_of_a_lost_result_fails_and_names_the_blob(engine: Engine, gateway: Gateway) -> None:
    tasks = {"a": {"name": "work"}, "b": {"name": "work", "payload": {"got": {"$result": "a"}}, "needs": ["a"]}}
    job = await engine.jobs.submit(decode(encode({"name": "two", "tasks": tasks}), JobRequest))
    (first,) = await claim(gateway)
    await finish(gateway, first, LARGE)
    name = await lose_blobs(engine)

    assert await claim(gateway, wait=0.5) == []

    view = await engine.queries.get(job.tasks["b"])
    assert view.error is not None
    assert f"refers to the result of a, which {MISSING.format(name)}" in view.error.message


async def test_a_blob_that_was_changed_is_not_handed_out(engine: Engine, gateway: Gateway) -> None:
    submitted = await engine.submissions.submit(request(payload=LARGE))
    assert engine.blobs.store is not None
    (name,) = await names(engine)
    await engine.blobs.store.delete([name])
    await engine.blobs.store.put(name, encode(LARGE.replace("x", "y")))

    assert await claim(gateway, wait=0.5) == []

    error = (await engine.queries.get(submitted.id)).error
    assert error is not None
    assert "was changed: its digest differs" in error.message


async def test_a_claim_carries_a_bounded_amount(engine: Engine) -> None:
    size = 1_000_000
    most = MOST_OPENED // size
    for number in range(most + 3):
        await engine.submissions.submit(request(payload="x" * (size - 10) + f"{number:08}"))
    gateway = gateway_of(engine)

    claimed = await claim(gateway, 100)
    rest = await claim_all(gateway, most + 3 - len(claimed))

    assert sum(len(task.payload) for task in claimed) <= 3 * MOST_OPENED
    assert len({task.lease.task for task in (*claimed, *rest)}) == most + 3


async def test_the_secrets_of_a_large_payload_are_revealed(engine: Engine, gateway: Gateway) -> None:
    await engine.secrets.put("token", "hush", tenant="default")
    await engine.submissions.submit(request(payload={"text": LARGE, "token": {"$secret": "token"}}))

    (claimed,) = await claim(gateway)

    assert await gateway.reveal(claimed.lease) == {"token": "hush"}


async def test_an_edited_payload_restores_and_keeps_the_old_one(
    engine: Engine, gateway: Gateway, http: httpx.AsyncClient
) -> None:
    old = {"text": LARGE, "password": "hidden"}
    submitted = await engine.submissions.submit(request(payload=old, retries=0))
    (claimed,) = await claim(gateway)
    await gateway.settle([Report(claimed.lease, Failed(ErrorInfo("ValueError", "oops")))])

    shown = (await http.get(f"/api/v1/failures/{submitted.id}")).json()["task"]["payload"]
    await http.post(f"/api/v1/failures/{submitted.id}/retry", json={"payload": {**shown, "text": "short"}})
    (again,) = await claim(gateway)
    await gateway.settle([Report(again.lease, Failed(ErrorInfo("ValueError", "oops")))])
    file = (await http.get(f"/api/v1/failures/{submitted.id}")).json()

    assert shown["text"] == LARGE
    assert decode(bytes(again.payload), object) == {"text": "short", "password": "hidden"}
    assert [edit["payload"]["text"] for edit in file["edits"]] == [LARGE]


async def test_blobs_of_pruned_tasks_and_of_none_are_deleted_after_the_grace(engine: Engine, gateway: Gateway) -> None:
    assert engine.blobs.store is not None
    gone = (await engine.submissions.submit(request(payload=LARGE))).id
    (claimed,) = await claim(gateway)
    await finish(gateway, claimed, [LARGE])
    kept = (await engine.submissions.submit(request(payload=LARGE))).id
    orphan = await engine.blobs.keep(TaskId("01890a5d-ac96-774b-bcce-b302099a8057"), b'"never committed"')
    assert is_reference(orphan)
    clock = ManualClock(SystemClock().now())
    sweeper = BlobSweeper(engine.blobs, engine.store, clock=clock, grace=timedelta(hours=1), page=2)
    while await engine.store.prune(ended_before=Instant(SystemClock().now() + 1000), limit=100):
        pass

    early = await sweeper.pass_once()
    clock.advance(2 * 3600)
    late = await sweeper.pass_once()

    assert (early, late) == (0, 3)
    assert [name.split("/")[1] for name in await names(engine)] == [kept]
    assert await engine.store.queries.get([gone]) == [None]


async def test_a_duplicate_submission_keeps_the_blob_of_the_first(engine: Engine, gateway: Gateway) -> None:
    for _ in range(2):
        await engine.submissions.submit(request(payload=LARGE, idempotency_key="k"))
    clock = ManualClock(SystemClock().now() + 3_600_000)

    await BlobSweeper(engine.blobs, engine.store, clock=clock, grace=timedelta(0)).pass_once()

    (claimed,) = await claim(gateway, 10)
    assert decode(bytes(claimed.payload), object) == LARGE


async def test_while_the_blob_store_is_away_the_database_keeps_everything(tmp_path: Path) -> None:
    url = "s3://bucket?endpoint=http://127.0.0.1:1"
    blobs = BlobSettings(over=100_000, access_key="k", secret_key=Secret("s"))
    engine = (await wire(Settings(data=tmp_path, blob_url=url, blobs=blobs))).engine
    gateway = gateway_of(engine)

    submitted = await engine.submissions.submit(request(payload=LARGE))
    (claimed,) = await claim(gateway)
    await finish(gateway, claimed, [LARGE])

    payload, result = await stored(engine, submitted.id)
    assert payload is not None
    assert result is not None
    assert (decode(bytes(payload), object), decode(bytes(result), object)) == (LARGE, [LARGE])
    await engine.close()


async def test_without_a_blob_store_a_reference_is_told_and_not_shown(postgres_url: str, tmp_path: Path) -> None:
    engine = (await wire(Settings(data=tmp_path, store_url=Secret(postgres_url)))).engine
    submitted = await engine.submissions.submit(request())
    name = f"home/{submitted.id}/{'0' * 64}"
    connection = await asyncpg.connect(postgres_url)
    await connection.execute("UPDATE drumline.task SET payload = $1", write_reference(name, 10))
    await connection.close()

    view = await engine.queries.opened(await engine.queries.get(submitted.id))

    assert view.payload is None
    assert view.error is not None
    assert f"the blob {name} cannot be read: blob_url is not set here" in view.error.message
    await engine.close()


async def test_a_collapsing_task_keeps_its_payload_in_the_database(engine: Engine, gateway: Gateway) -> None:
    asked = request(payload=LARGE, collapse=Collapse(singleton="queued", key="one"))
    answer: Submitted | DrumlineError = await engine.submissions.submit(asked)

    (claimed,) = await claim(gateway)

    assert isinstance(answer, Submitted)
    assert decode(bytes(claimed.payload), object) == LARGE
    assert await names(engine) == []


async def test_a_fork_has_a_blob_of_its_own(engine: Engine, gateway: Gateway) -> None:
    source = (await engine.submissions.submit(request(payload=LARGE))).id
    (claimed,) = await claim(gateway)
    await gateway.record([step(claimed.lease, "a", 1)])
    await finish(gateway, claimed, "done")

    forked = await engine.forks.fork(source, "a")
    (again,) = await claim(gateway)

    assert again.lease.task == forked.submitted.id
    assert decode(bytes(again.payload), object) == LARGE
    assert {name.split("/")[1] for name in await names(engine)} == {source, forked.submitted.id}
