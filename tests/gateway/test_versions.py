"""Workers and servers of different ages understand each other: the protocol of `/api/v1` only ever grows.

`FIRST` is the protocol as it was first published. It is not to be changed: whoever wrote a worker then still runs it.
"""

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

import httpx
import pytest
from msgspec.structs import replace

from drumline.core.attempt import ProgressNote, progress_of
from drumline.core.codec import decode
from drumline.core.outcome import ErrorInfo, Failed, Outcome, Released, Snoozed, Stopped, Succeeded
from drumline.core.session import NO_USAGE, Beat, SessionSpec, TaskType, Usage
from drumline.core.state import State
from drumline.engine.engine import Engine
from drumline.ports.gateway import Report
from drumline.ports.store import Artifact, LogChunk
from drumline.remote import RemoteGateway
from tests.factories import request
from tests.gateway.conftest import KEY

SESSIONS: Final = "/api/v1/worker/sessions"
SPEC: Final = SessionSpec(
    host="ada", pid=7, version="2", app_version="shop 3", queues=(), types=(TaskType(name="work"),), capacity=4
)
FIRST: Final[Mapping[str, Any]] = {
    "register": {
        "said": {
            "types": [{"name": "work"}, {"name": "resize image", "doc": "Make it smaller."}], "capacity": 4,
            "queues": ["default", "mail"], "host": "ada", "pid": 4711, "version": "1.0", "label": "in the cellar",
        },
        "answered": {"session": str, "beat_every": float, "ttl": float},
    },
    "claim": {
        "said": {"limit": 4, "wait": 0, "claim_id": "8f14e45fceea167a"},
        "answered": {"tasks": list},
        "task": {"lease": dict, "name": str, "queue": str, "payload": dict, "attempt": int},
        "lease": {"task": str, "epoch": int, "nonce": str},
    },
    "beat": {"answered": {"is_open": bool, "lost": list, "cancelled": list, "should_drain": bool}},
    "reports": [
        ({"outcome": "succeeded", "result": 3}, "completed"),
        ({"outcome": "failed", "error": {"kind": "ValueError", "message": "no such order"}}, "queued"),
        ({"outcome": "failed", "error": {"kind": "K", "message": "m", "traceback": "t"}, "permanent": True}, "failed"),
        ({"outcome": "failed", "error": {"kind": "K", "message": "m"}, "retry_after": 60.0}, "queued"),
        ({"outcome": "snoozed", "seconds": 5}, "queued"),
        ({"outcome": "released"}, "queued"),
        ({"outcome": "stopped"}, "cancelled"),
    ],
}  # fmt: skip
FIRST_WORDS: Final = {
    "sessions": {"types", "capacity", "queues", "host", "pid", "version", "label"},
    "claim": {"limit", "wait", "claim_id", "again"},
    "beat": {"held"},
    "settle": {"reports"},
    "log": {"chunks"},
}
"""What the first server took, by the last part of the path; it refused every other word."""
FIRST_ANSWERS: Final = {
    "session",
    "beat_every",
    "ttl",
    "tasks",
    "is_open",
    "lost",
    "cancelled",
    "should_drain",
    "reports",
}


def keeps(answer: Mapping[str, Any], shape: Mapping[str, type]) -> bool:
    """Tell whether an answer still has all that it had."""
    return all(type(answer[word]) is kind for word, kind in shape.items())


def grown(value: Any) -> Any:
    """Return an answer as it may look one day: every object has more in it, but for what users put there."""
    if isinstance(value, list):
        return [grown(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        "not_known_yet": {"deep": [1, {"er": None}]},
        **{word: each if word in {"payload", "settings", "secrets"} else grown(each) for word, each in value.items()},
    }


class Later(httpx.AsyncBaseTransport):
    """A server of some years ahead."""

    def __init__(self, inner: httpx.AsyncBaseTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        answer = await self._inner.handle_async_request(request)
        body = await answer.aread()
        content = json.dumps(grown(json.loads(body))).encode() if body else b""
        return httpx.Response(answer.status_code, content=content)


class Earlier(httpx.AsyncBaseTransport):
    """The first server: it has only the first paths, refuses words that it does not know, and tells less."""

    def __init__(self, inner: httpx.AsyncBaseTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        last = request.url.path.rpartition("/")[2]
        body = await request.aread()
        if request.method not in {"POST", "DELETE"} or (request.method == "POST" and last not in FIRST_WORDS):
            return httpx.Response(404, json={"code": "not_found", "title": "Not found", "status": 404})
        if unknown := json.loads(body or b"{}").keys() - FIRST_WORDS.get(last, set()):
            problem = {"code": "invalid", "title": f"unknown: {unknown}", "status": 422, "field": min(unknown)}
            return httpx.Response(422, json=problem)
        answer = await self._inner.handle_async_request(request)
        told = await answer.aread()
        if answer.status_code == 204:
            return httpx.Response(204)
        less = {word: value for word, value in json.loads(told).items() if word in FIRST_ANSWERS}
        return httpx.Response(answer.status_code, json=less)


@pytest.fixture
async def http(wire: httpx.AsyncBaseTransport) -> AsyncIterator[httpx.AsyncClient]:
    headers = {"X-API-Key": KEY}
    async with httpx.AsyncClient(transport=wire, base_url="http://drumline", headers=headers) as client:
        yield client


async def submit(engine: Engine, count: int = 1) -> None:
    await engine.submissions.submit_many([request(payload={"a": 1}, retries=3, tags=("vip",))] * count)


async def test_a_worker_of_the_first_protocol_works_with_the_server_of_today(
    http: httpx.AsyncClient, engine: Engine
) -> None:
    opened = await http.post(SESSIONS, json=FIRST["register"]["said"])
    assert opened.status_code == 201
    assert keeps(opened.json(), FIRST["register"]["answered"])
    path = f"{SESSIONS}/{opened.json()['session']}"

    for place, (report, state) in enumerate(FIRST["reports"]):
        await submit(engine)
        said = FIRST["claim"]["said"] | {"claim_id": f"{place + 1:016x}"}
        claimed = (await http.post(f"{path}/claim", json=said)).json()
        assert keeps(claimed, FIRST["claim"]["answered"])
        task = claimed["tasks"][0]
        assert keeps(task, FIRST["claim"]["task"])
        lease = {word: task["lease"][word] for word in FIRST["claim"]["lease"]}
        assert keeps(lease, FIRST["claim"]["lease"])
        assert (await http.post(f"{path}/claim", json=said | {"again": True})).json()["tasks"][0]["lease"] == lease
        beaten = (await http.post(f"{path}/beat", json={"held": [lease]})).json()
        assert keeps(beaten, FIRST["beat"]["answered"])
        chunk = {"task": lease["task"], "epoch": lease["epoch"], "seq": 0, "text": "started\n"}
        assert (await http.post(f"{path}/log", json={"chunks": [chunk]})).status_code == 204
        artifact = await http.put(f"{path}/artifacts/{lease['task']}/a.pdf", content=b"%PDF")
        assert artifact.status_code == 204
        settled = (await http.post(f"{path}/settle", json={"reports": [{"lease": lease, **report}]})).json()
        assert settled["reports"][0]["state"] == state
        other = {**lease, "nonce": "0" * 16}
        late = (await http.post(f"{path}/settle", json={"reports": [{"lease": other, **report}]})).json()
        assert late["reports"][0]["error"]["code"] == "fenced"
        # What waits again is not to be claimed in place of the next one.
        if state == "queued":
            await engine.store.control.cancel([lease["task"]])

    assert (await http.delete(path)).status_code == 204
    assert (await http.post(f"{path}/claim", json={"limit": 1})).json()["code"] == "not_found"


async def work_with(gateway: RemoteGateway, engine: Engine) -> None:
    """Do everything that every server has had, once."""
    session = await gateway.open_session(SPEC)
    await submit(engine, 5)
    tasks = await gateway.claim(session, limit=5, wait=0, held={"default": 1})
    assert [task.name for task in tasks] == ["work"] * 5
    assert [decode(bytes(task.payload), dict[str, int]) for task in tasks] == [{"a": 1}] * 5
    leases = [task.lease for task in tasks]
    reply = await gateway.beat(Beat(session=session, held=tuple(leases), usage=Usage(memory=7, cpu=0.5)))
    assert (reply.is_open, reply.lost, reply.cancelled, reply.should_drain) == (True, (), (), False)
    await gateway.append_log([LogChunk(task=leases[0].task, epoch=leases[0].epoch, seq=0, text="started\n")])
    outcomes: list[Outcome] = [Succeeded(), Failed(ErrorInfo("K", "m")), Snoozed(60.0), Released(), Stopped()]
    states = await gateway.settle([Report(lease, how) for lease, how in zip(leases, outcomes, strict=True)])
    assert states == [State.COMPLETED, State.QUEUED, State.QUEUED, State.QUEUED, State.CANCELLED]
    assert await gateway.claim(session, limit=1, wait=0) != ()
    await gateway.close_session(session)
    assert await gateway.claim(session, limit=1, wait=0) == ()


async def test_our_worker_passes_over_what_later_servers_will_say(
    wire: httpx.AsyncBaseTransport, engine: Engine
) -> None:
    async with RemoteGateway("http://drumline", api_key=KEY, transport=Later(wire)) as gateway:
        await work_with(gateway, engine)
        session = await gateway.open_session(SPEC)
        await submit(engine)
        (task,) = await gateway.claim(session, limit=1, wait=10)
        progress = progress_of(1.0, 2.0, "rows")
        assert progress is not None
        await gateway.report_progress([ProgressNote(task.lease, progress)])
        await gateway.put_artifact(Artifact(task=task.lease.task, name="a", content_type="text/plain", data=b"a"))
        assert await gateway.reveal(task.lease) is None
        assert (await gateway.runtime_config()).settings == {}


class Renaming(httpx.AsyncBaseTransport):
    """A server that has a state more than we do."""

    def __init__(self, inner: httpx.AsyncBaseTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        answer = await self._inner.handle_async_request(request)
        body = await answer.aread()
        return httpx.Response(answer.status_code, content=body.replace(b'"state":"queued"', b'"state":"parked"'))


async def test_a_state_that_only_a_later_server_knows_is_taken_and_said_once(
    wire: httpx.AsyncBaseTransport, engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    async with RemoteGateway("http://drumline", api_key=KEY, transport=Renaming(wire)) as gateway:
        session = await gateway.open_session(SPEC)
        await submit(engine, 3)
        snoozed, released, done = [task.lease for task in await gateway.claim(session, limit=3, wait=0)]

        taken = await gateway.settle(
            [Report(snoozed, Snoozed(60.0)), Report(released, Released()), Report(done, Succeeded())]
        )

    assert taken == [None, None, State.COMPLETED]
    assert [record.getMessage() for record in caplog.records if "state_unknown" in record.msg] == [
        "report.state_unknown: 'parked': taken, but the server is of a later version"
    ]


async def test_our_worker_works_with_the_first_server(wire: httpx.AsyncBaseTransport, engine: Engine) -> None:
    async with RemoteGateway("http://drumline", api_key=KEY, transport=Earlier(wire)) as gateway:
        await work_with(gateway, engine)
        assert (await gateway.runtime_config()).version == 0
        session = await gateway.open_session(SPEC)
        assert replace((await engine.sessions.get(session)).spec, key="") == replace(SPEC, app_version="", tenant=None)


class Mixed(httpx.AsyncBaseTransport):
    """Servers of today and the first one behind one address, while they are upgraded or rolled back."""

    def __init__(self, inner: httpx.AsyncBaseTransport) -> None:
        self._now, self._first = inner, Earlier(inner)
        self.is_first = False

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return await (self._first if self.is_first else self._now).handle_async_request(request)


async def test_a_worker_that_registered_with_a_new_server_works_with_an_old_one_beside_it(
    wire: httpx.AsyncBaseTransport, engine: Engine
) -> None:
    servers = Mixed(wire)
    async with RemoteGateway("http://drumline", api_key=KEY, transport=servers) as gateway:
        session = await gateway.open_session(SPEC)
        await submit(engine, 2)
        servers.is_first = True
        (first,) = await gateway.claim(session, limit=1, wait=10, held={"default": 1})
        lease = first.lease
        chunk = LogChunk(task=lease.task, epoch=lease.epoch, seq=0, text="started\n", nonce=lease.nonce)
        assert await gateway.append_log([chunk]) == []
        assert await gateway.settle([Report(lease, Succeeded())]) == [State.COMPLETED]

        beat = Beat(session=session, usage=Usage(memory=7, cpu=0.5), again=True)
        assert (await gateway.beat(beat)).is_open
        assert (await engine.sessions.get(session)).usage == NO_USAGE

        again = await gateway.open_session(SPEC)
        assert (await engine.sessions.get(again)).spec.app_version == ""

        servers.is_first = False
        (second,) = await gateway.claim(session, limit=1, wait=10, held={"default": 1})
        assert await gateway.settle([Report(second.lease, Succeeded())]) == [State.COMPLETED]
        latest = await gateway.open_session(SPEC)
        assert (await engine.sessions.get(latest)).spec.app_version == "shop 3"
