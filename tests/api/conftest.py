"""The API on a real SQLite store, called through HTTP semantics."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from drumline.aio.events import StopEvent
from drumline.api.app import create_app
from drumline.api.configured_keys import ConfiguredKeys
from drumline.api.operation import Info
from drumline.core.ids import SessionId, TaskId
from drumline.core.outcome import Outcome
from drumline.core.session import SessionSpec, TaskType
from drumline.core.state import State
from drumline.core.task import ClaimedTask
from drumline.engine.engine import Engine
from drumline.engine.gateway import LocalGateway
from drumline.ports.gateway import Report
from drumline.stores.no_queue import NoQueue
from drumline.stores.sqlite import SqliteStore
from tests.harness.sqlite import migrated

KEY = "sk_test_key"


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[Engine]:
    engine = Engine(await SqliteStore.open(migrated(tmp_path / "drumline.db")), NoQueue())
    yield engine
    await engine.close()


@pytest.fixture
def stop() -> StopEvent:
    return StopEvent()


@pytest.fixture
def app(engine: Engine, stop: StopEvent, tmp_path: Path) -> Any:
    return create_app(engine, keys=ConfiguredKeys([KEY]), info=Info(version="1.2.3", disk=str(tmp_path)), stop=stop)


@pytest.fixture
async def http(app: Any) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://drumline", headers={"X-API-Key": KEY}) as client:
        yield client


@pytest.fixture
async def stranger(app: Any) -> AsyncIterator[httpx.AsyncClient]:
    """Yield a client without a key."""
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://drumline") as client:
        yield client


class Ada:
    """A worker in this process, who can run any task of the names given."""

    def __init__(self, engine: Engine, session: SessionId) -> None:
        self.gateway = LocalGateway(engine)
        self.session = session

    async def claim(self) -> ClaimedTask:
        (task,) = await self.gateway.claim(self.session, limit=1, wait=0)
        return task

    async def settle(self, task: ClaimedTask, outcome: Outcome) -> State:
        (answer,) = await self.gateway.settle([Report(task.lease, outcome)])
        assert isinstance(answer, State)
        return answer


@pytest.fixture
async def ada(engine: Engine) -> Ada:
    spec = SessionSpec(host="ada", pid=7, version="1", queues=(), types=(TaskType(name="work"),), capacity=4)
    return Ada(engine, await engine.sessions.open(spec))


async def submitted(http: httpx.AsyncClient, **fields: Any) -> TaskId:
    reply = await http.post("/api/v1/tasks", json={"name": "work", **fields})
    assert reply.status_code == 201, reply.text
    return TaskId(reply.json()["id"])


def problem(reply: httpx.Response, status: int, code: str, field: str | None = None) -> dict[str, Any]:
    """Check that a reply is a problem of this kind, and return it."""
    body: dict[str, Any] = reply.json()
    assert (reply.status_code, body["code"]) == (status, code), reply.text
    assert reply.headers["content-type"] == "application/problem+json"
    assert set(body) - {"request_id"} == {"type", "title", "status", "code", "detail", "field"}
    assert (body["status"], body["type"]) == (status, f"/errors/{code}")
    assert body["field"] == field
    return body
