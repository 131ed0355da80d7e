"""Two busy workers, one tenant with thousands of tasks, another with a few: through every gateway, on every store."""

import pytest

from drumline.core.outcome import Succeeded
from drumline.core.session import SessionSpec, TaskType
from drumline.engine.engine import Engine
from drumline.engine.submit import Submissions
from drumline.ports.gateway import Gateway, Report
from tests.factories import request

SLOTS = 8
MANY, FEW = 1_000, 12

# Tenants share each database by itself.
pytestmark = pytest.mark.parametrize("store_urls", ["sqlite", "postgres"], indirect=True)


async def submit(submissions: Submissions, tenant: str, count: int) -> None:
    await submissions.submit_many([request() for _ in range(count)], tenant=tenant)


@pytest.mark.parametrize("slots", [1, SLOTS])
async def test_a_few_tasks_do_not_wait_behind_anothers_thousands(engine: Engine, gateway: Gateway, slots: int) -> None:
    spec = SessionSpec(
        host="ada", pid=1, version="0", queues=(), types=(TaskType(name="work"),), capacity=slots, label="w"
    )
    sessions = [await gateway.open_session(spec) for _ in range(2)]
    await submit(engine.submissions, "acme", MANY)
    running = {session: list(await gateway.claim(session, limit=slots, wait=1)) for session in sessions}
    assert {task.tenant for tasks in running.values() for task in tasks} == {"acme"}

    await submit(engine.submissions, "bolt", FEW)
    started: list[str] = []
    while started.count("bolt") < FEW:
        for session in sessions:  # each ends the task that it has had longest, and claims another
            await gateway.settle([Report(running[session].pop(0).lease, Succeeded())])
            held = {tenant: sum(task.tenant == tenant for task in running[session]) for tenant in ("acme", "bolt")}
            tasks = await gateway.claim(session, limit=1, wait=1, held=held)
            running[session] += tasks
            started += [task.tenant for task in tasks]

    assert len(started) <= 2 * FEW + 2
