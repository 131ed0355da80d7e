"""What a worker is promised, near or far."""

import asyncio

from msgspec import Raw
from msgspec.structs import replace

from drumline.core.attempt import Progress, ProgressNote
from drumline.core.errors import Fenced
from drumline.core.lease import Lease
from drumline.core.outcome import ErrorInfo, Failed, Outcome, Released, Snoozed, Stopped, Succeeded
from drumline.core.retry import Backoff
from drumline.core.session import NO_USAGE, Beat, SessionSpec, TaskType, Usage
from drumline.core.state import State
from drumline.engine.configuration import ConfigState
from drumline.engine.engine import Engine
from drumline.ports.gateway import Acknowledged, Gateway, Report
from drumline.ports.store import Artifact, LogChunk
from drumline.remote import RemoteGateway
from tests.factories import request
from tests.gateway.conftest import KEY, engines_of
from tests.gateway.wire import Wire

WORKER = SessionSpec(
    host="h", pid=7, version="1", app_version="shop 2", queues=(), types=(TaskType(name="work", doc="d"),), capacity=3
)
A_WHILE = 30.0


async def take(gateway: Gateway) -> Lease:
    session = await gateway.open_session(WORKER)
    (task,) = await gateway.claim(session, limit=1, wait=10)
    return task.lease


async def settle(gateway: Gateway, lease: Lease, outcome: Outcome) -> Acknowledged:
    (answer,) = await gateway.settle([Report(lease, outcome)])
    return answer


async def test_a_session_is_registered_with_what_it_said(engine: Engine, gateway: Gateway) -> None:
    session = await gateway.open_session(WORKER)

    (view,) = await engine.sessions.list()

    assert view.id == session
    assert (view.spec.host, view.spec.pid, view.spec.types, view.spec.capacity) == ("h", 7, WORKER.types, 3)
    assert (view.spec.version, view.spec.app_version) == ("1", "shop 2")


async def test_a_claimed_task_comes_whole(engine: Engine, gateway: Gateway) -> None:
    asked = request(
        payload={"n": 12345678901234567890123}, queue="q", priority=5, retries=9, timeout=1.5, tags=("a",),
        backoff=Backoff(base=7),
    )  # fmt: skip
    submitted = await engine.submissions.submit(asked)
    session = await gateway.open_session(WORKER)

    (task,) = await gateway.claim(session, limit=5, wait=10)

    assert task.lease.task == submitted.id
    assert (task.name, task.queue, task.priority, task.attempt, task.tenant) == ("work", "q", 5, 1, "default")
    assert bytes(task.payload) == b'{"n":12345678901234567890123}'
    assert (task.options.retries, task.options.timeout_ms, task.options.tags) == (9, 1500, ("a",))
    assert task.options.backoff == Backoff(base=7)


async def test_a_waiting_claim_is_answered_when_a_task_comes(engine: Engine, gateway: Gateway) -> None:
    session = await gateway.open_session(WORKER)
    claiming = asyncio.create_task(gateway.claim(session, limit=1, wait=A_WHILE))
    while not all(each._waiters._idle for each in engines_of(engine)):  # noqa: ASYNC110 - nothing tells that somebody fell asleep
        await asyncio.sleep(0)

    submitted = await engine.submissions.submit(request())

    async with asyncio.timeout(A_WHILE):
        (task,) = await claiming
    assert task.lease.task == submitted.id


async def test_a_closed_session_is_given_nothing(engine: Engine, gateway: Gateway) -> None:
    session = await gateway.open_session(WORKER)
    await gateway.close_session(session)
    await engine.submissions.submit(request())

    assert list(await gateway.claim(session, limit=1, wait=0)) == []


async def test_each_outcome_is_recorded(engine: Engine, gateway: Gateway) -> None:
    expected: list[tuple[Outcome, State]] = [
        (Succeeded(Raw(b'{"a":[1]}')), State.COMPLETED),
        (Succeeded(), State.COMPLETED),
        (Failed(ErrorInfo("E", "m", "t")), State.QUEUED),
        (Failed(ErrorInfo("E", "m", "t"), permanent=True), State.FAILED),
        (Failed(ErrorInfo("E", "m", "t"), retry_after=60), State.QUEUED),
        (Snoozed(60), State.QUEUED),
        (Stopped(), State.CANCELLED),
    ]
    for outcome, state in expected:
        submitted = await engine.submissions.submit(request(backoff=Backoff(base=60)))

        assert await settle(gateway, await take(gateway), outcome) is state

        view = await engine.queries.get(submitted.id)
        assert view.state is state
        if isinstance(outcome, Succeeded):
            assert view.result == outcome.result
        if isinstance(outcome, Failed):
            assert view.error == outcome.error


async def test_a_released_task_can_be_claimed_again(engine: Engine, gateway: Gateway) -> None:
    await engine.submissions.submit(request())

    assert await settle(gateway, await take(gateway), Released()) is State.QUEUED
    assert (await take(gateway)).epoch > 1


async def test_a_stale_lease_is_fenced_beside_a_good_one(engine: Engine, gateway: Gateway) -> None:
    await engine.submissions.submit(request())
    lease = await take(gateway)
    stale = Lease(lease.task, lease.epoch, lease.nonce ^ 1)

    fenced, held = await gateway.settle([Report(stale, Succeeded()), Report(lease, Succeeded())])

    assert isinstance(fenced, Fenced)
    assert held is State.COMPLETED


async def test_a_report_sent_again_gets_the_first_answer(engine: Engine, gateway: Gateway) -> None:
    await engine.submissions.submit(request())
    lease = await take(gateway)

    assert await settle(gateway, lease, Succeeded()) is State.COMPLETED
    assert await settle(gateway, lease, Succeeded()) is State.COMPLETED


async def test_a_worker_leaves_after_a_drain_unless_it_was_undone(gateway: Gateway, engine: Engine) -> None:
    ada, bob = await gateway.open_session(WORKER), await gateway.open_session(WORKER)
    for session in (ada, bob):
        await engine.sessions.drain(session)
    await engine.sessions.undrain(bob)

    assert (await gateway.leave(ada), await gateway.leave(bob)) == (True, False)
    assert [view.id for view in await engine.sessions.list()] == [bob]
    assert await gateway.leave(ada)


async def test_a_beat_tells_what_was_lost_what_should_stop_and_whether_to_drain(
    engine: Engine, gateway: Gateway
) -> None:
    session = await gateway.open_session(WORKER)
    ids = [(await engine.submissions.submit(request())).id for _ in range(3)]
    held = {task.lease.task: task.lease for task in await gateway.claim(session, limit=3, wait=0)}
    kept, lost, asked = (held[task] for task in ids)
    await engine.control.cancel(lost.task, force=True)
    await engine.control.cancel(asked.task)
    await engine.sessions.drain(session)

    reply = await gateway.beat(Beat(session=session, held=(kept, lost, asked)))

    assert (reply.is_open, reply.lost, reply.cancelled, reply.should_drain) == (True, (lost.task,), (asked.task,), True)


async def test_a_beat_says_what_the_worker_uses(engine: Engine, gateway: Gateway) -> None:
    session = await gateway.open_session(WORKER)
    told = []

    for usage in (Usage(memory=84_000_000, cpu=1.5), Usage(memory=0), NO_USAGE):
        await gateway.beat(Beat(session=session, usage=usage))
        told.append((await engine.sessions.get(session)).usage)

    assert told == [Usage(memory=84_000_000, cpu=1.5), Usage(memory=0), NO_USAGE]


async def test_a_beat_after_one_that_was_not_answered_is_known_as_one(engine: Engine, gateway: Gateway) -> None:
    session = await gateway.open_session(WORKER)
    task = (await engine.submissions.submit(request())).id
    await gateway.claim(session, limit=1, wait=10)
    states = []

    for is_again in (False, True, False):
        await asyncio.sleep(0.01)
        await gateway.beat(Beat(session=session, again=is_again))
        await asyncio.gather(*(each.store.sessions.reap([], poison_after=5) for each in engines_of(engine)))
        states.append((await engine.queries.get(task)).state)

    assert states == [State.RUNNING, State.RUNNING, State.QUEUED]


async def test_a_beat_of_a_closed_session_is_told_so(gateway: Gateway) -> None:
    session = await gateway.open_session(WORKER)
    await gateway.close_session(session)

    assert not (await gateway.beat(Beat(session=session))).is_open


async def test_log_and_artifacts_are_kept(engine: Engine, gateway: Gateway) -> None:
    submitted = await engine.submissions.submit(request())
    lease = await take(gateway)
    data = b"%PDF\x00\xff"

    await gateway.append_log([LogChunk(task=lease.task, epoch=lease.epoch, seq=0, text="hällo\n")])
    await gateway.put_artifact(Artifact(task=lease.task, name="a b.pdf", content_type="application/pdf", data=data))

    assert await engine.queries.read_log(submitted.id) == "hällo\n"
    kept = await engine.queries.artifact(submitted.id, "a b.pdf")
    assert (kept.data, kept.content_type) == (data, "application/pdf")


async def test_how_far_an_attempt_is_reaches_the_store(engine: Engine, gateway: Gateway) -> None:
    stored = await engine.submissions.submit(request())
    lease = await take(gateway)

    await gateway.report_progress([ProgressNote(lease, Progress(1.5, None, "half way"))])
    await gateway.report_progress([ProgressNote(Lease(lease.task, lease.epoch, lease.nonce ^ 1), Progress(9))])

    assert await engine.store.outputs.progress([stored.id]) == [Progress(1.5, None, "half way")]


async def test_a_claim_may_name_other_queues_than_the_session_was_opened_with(engine: Engine, gateway: Gateway) -> None:
    for queue in ("a", "b"):
        await engine.submissions.submit(request(queue=queue))
    session = await gateway.open_session(replace(WORKER, queues=("a",)))

    (other,) = await gateway.claim(session, limit=5, wait=10, queues=("b",))
    await gateway.change_session(session, queues=("b",), capacity=9)
    await engine.submissions.submit(request(queue="b"))
    (again,) = await gateway.claim(session, limit=5, wait=10, queues=("b",))
    (rest,) = await gateway.claim(session, limit=5, wait=10, queues=())

    assert (other.queue, again.queue, rest.queue) == ("b", "b", "a")
    (view,) = await engine.sessions.list()
    assert (view.spec.queues, view.spec.capacity) == (("b",), 9)


async def test_a_remote_worker_hears_of_the_runtime_configuration_and_of_its_own_part_only(
    engine: Engine, wire: Wire
) -> None:
    engine.configuration._check = lambda _key, value: value
    async with RemoteGateway("http://drumline", api_key=KEY, transport=wire) as remote:
        session = await remote.open_session(WORKER)
        await engine.configuration.change({"worker.concurrency": 9, "access.admin_rate": "1/1s"}, by="ada")
        engine.configuration.state = ConfigState(version=1)
        await remote.beat(Beat(session=session))

        assert remote.config_version == 1
        config = await remote.runtime_config()

    assert (config.version, config.settings) == (1, {"worker.concurrency": 9})
