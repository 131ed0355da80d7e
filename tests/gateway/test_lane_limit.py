"""Queues and task names are limited: what exists goes on, what would be new is refused with the setting's name."""

from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from drumline.core.children import ChildRequests
from drumline.core.codec import decode, encode
from drumline.core.errors import Invalid
from drumline.core.job import JobRequest
from drumline.core.limits import Limits
from drumline.core.session import SessionSpec, TaskType
from drumline.core.task import Submitted, TaskRequest
from drumline.engine.engine import Engine
from drumline.engine.gateway import LocalGateway
from drumline.settings.fields import Secret, Settings
from drumline.stores.sealing import new_key_text
from drumline.wiring import wire

LIMITS = Limits(lanes=10, tenant_lanes=4)
REASON = r"name: 'new' in the queue 'default' would be new: there are 10 combinations .*\(limits\.lanes\)"


@pytest.fixture
async def engine(store_urls: tuple[str, ...], tmp_path: Path) -> AsyncIterator[Engine]:
    settings = Settings(data=tmp_path, limits=LIMITS)
    if store_urls:
        url, key = Secret(store_urls[0]), Secret(new_key_text())
        settings = Settings(data=tmp_path, store_url=url, secret_key=key, limits=LIMITS)
    made = (await wire(settings)).engine
    yield made
    await made.close()


async def fill(engine: Engine) -> None:
    for n in range(10):
        await engine.submissions.submit(TaskRequest(name=f"old-{n}"))


async def skip_numbers(url: str) -> None:
    """Leave the first numbers of lanes unused, as transactions do that are rolled back."""
    connection = await asyncpg.connect(url)
    await connection.execute("SELECT setval(pg_get_serial_sequence('drumline.lane', 'id'), 5)")
    await connection.close()


async def test_what_exists_goes_on_and_what_would_be_new_is_refused(engine: Engine) -> None:
    await fill(engine)

    with pytest.raises(Invalid, match=REASON) as caught:
        await engine.submissions.submit(TaskRequest(name="new"))
    again = await engine.submissions.submit(TaskRequest(name="old-3"))

    assert caught.value.code == "too_many"
    assert again.created


async def test_numbers_that_were_given_and_not_used_take_no_room(engine: Engine, store_urls: tuple[str, ...]) -> None:
    for url in store_urls:
        await skip_numbers(url)

    await fill(engine)

    with pytest.raises(Invalid, match=REASON):
        await engine.submissions.submit(TaskRequest(name="new"))


async def test_one_of_a_list_does_not_hold_up_the_others(engine: Engine) -> None:
    await fill(engine)

    names = ["old-1", "new", "old-2", "newer"]
    answers = await engine.submissions.submit_many([TaskRequest(name=name) for name in names])

    assert [isinstance(answer, Submitted) for answer in answers] == [True, False, True, False]


async def test_a_job_with_a_new_name_is_refused_as_a_whole(engine: Engine) -> None:
    await fill(engine)
    tasks = {"a": {"name": "old-1"}, "b": {"name": "new"}}

    with pytest.raises(Invalid, match=REASON):
        await engine.jobs.submit(decode(encode({"name": "two", "tasks": tasks}), JobRequest))
    stored = await engine.jobs.submit(decode(encode({"name": "one", "tasks": {"a": {"name": "old-1"}}}), JobRequest))

    assert stored.created


async def test_children_of_a_task_are_counted_as_any_others(engine: Engine) -> None:
    await fill(engine)
    gateway = engine.gateway or LocalGateway(engine)
    types = (TaskType(name="old-0", doc=""),)
    session = await gateway.open_session(SessionSpec(host="h", pid=7, version="1", queues=(), types=types, capacity=1))
    (parent,) = await gateway.claim(session, limit=1, wait=10)
    known, new = TaskRequest(name="old-1"), TaskRequest(name="new")

    with pytest.raises(Invalid, match=r"tasks\[1\]\." + REASON) as caught:
        await gateway.start_children(ChildRequests(lease=parent.lease, name="c", tasks=(known, new)))
    started = await gateway.start_children(ChildRequests(lease=parent.lease, name="c", tasks=(known,)))

    assert caught.value.code == "too_many"
    assert started.count == 1


async def test_a_process_that_has_just_started_knows_what_exists(
    engine: Engine, store_urls: tuple[str, ...], tmp_path: Path
) -> None:
    await fill(engine)
    url = Secret(store_urls[0]) if store_urls else None
    other = (await wire(Settings(data=tmp_path, store_url=url, limits=LIMITS))).engine

    assert (await other.submissions.submit(TaskRequest(name="old-9"))).created
    with pytest.raises(Invalid, match=REASON):
        await other.submissions.submit(TaskRequest(name="new"))
    await other.close()


async def test_one_tenant_leaves_room_for_the_others(engine: Engine) -> None:
    for n in range(4):
        await engine.submissions.submit(TaskRequest(name=f"old-{n}"), tenant="acme")

    with pytest.raises(Invalid, match=r"the tenant 'acme' has 4 combinations .*\(limits\.tenant_lanes\)") as caught:
        await engine.submissions.submit(TaskRequest(name="new"), tenant="acme")
    again = await engine.submissions.submit(TaskRequest(name="old-3"), tenant="acme")
    other = await engine.submissions.submit(TaskRequest(name="new"), tenant="umbrella")

    assert caught.value.code == "too_many"
    assert again.created
    assert other.created


async def test_a_tenant_is_let_in_up_to_its_part_of_a_batch(engine: Engine) -> None:
    requests = [TaskRequest(name=f"name-{n}") for n in range(6)]

    answers = await engine.submissions.submit_many(requests, tenant="acme")

    assert [isinstance(answer, Submitted) for answer in answers] == [True] * 4 + [False] * 2


async def test_the_tenant_of_an_installation_without_tenants_may_use_all(engine: Engine) -> None:
    await fill(engine)

    assert await engine.store.queries.count_lanes(up_to=100, tenant="default") == 10
    assert await engine.store.queries.count_lanes(up_to=100, tenant="acme") == 0
