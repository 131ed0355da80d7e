"""What the configuration of a worker's own process pauses is known to every server that is asked why a task waits."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec import Raw

from drumline.core.session import Beat, SessionSpec, TaskType
from drumline.core.task import TaskRequest
from drumline.core.tuning import Tuning
from drumline.core.wait_reasons import Cause
from drumline.engine.engine import Engine
from drumline.ports.store import Store
from drumline.stores.no_queue import NoQueue
from drumline.stores.postgres import PostgresStore
from drumline.stores.sqlite import SqliteStore
from tests.harness.sqlite import migrated

PAUSED = Tuning(paused_names=frozenset({"work", "other"}))
SPEC = SessionSpec(host="ada", pid=1, version="1", queues=(), types=(TaskType(name="work"),), capacity=4)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.services)])
def postgres(request: pytest.FixtureRequest) -> str | None:
    """Where PostgreSQL is; nothing for SQLite."""
    return request.getfixturevalue("postgres_url") if request.param == "postgres" else None


@pytest.fixture
async def engines(postgres: str | None, tmp_path: Path) -> AsyncIterator[tuple[Engine, Engine]]:
    """The engine of a server, and that of a worker's process."""

    async def store() -> Store:
        if postgres is not None:
            return await PostgresStore.open(postgres)
        return await SqliteStore.open(migrated(tmp_path / "drumline.db"))

    server, worker = Engine(await store(), NoQueue()), Engine(await store(), NoQueue())
    yield server, worker
    await worker.close()
    await server.close()


async def test_a_server_tells_what_a_worker_s_own_configuration_pauses_and_resumes(
    engines: tuple[Engine, Engine],
) -> None:
    server, worker = engines
    task = (await server.submissions.submit(TaskRequest(name="work", payload=Raw(b"{}")))).id
    worker.tune(PAUSED)
    session = await worker.sessions.open(SPEC)

    (paused,) = await server.wait_reasons.why(task)
    assert paused.cause is Cause.NAME_PAUSED
    assert await worker.claims.claim(session, await worker.sessions.spec(session), limit=1, wait=0) == ()

    worker.tune(Tuning())
    await worker.sessions.beat(Beat(session=session))
    (resumed,) = await server.wait_reasons.why(task)
    assert resumed.cause is Cause.NEXT

    worker.tune(PAUSED)
    await worker.sessions.beat(Beat(session=session))
    (again,) = await server.wait_reasons.why(task)
    assert again.cause is Cause.NAME_PAUSED
