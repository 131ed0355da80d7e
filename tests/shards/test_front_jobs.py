"""Jobs and schedules of a whole installation, through the engine that API servers have."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from drumline.core.errors import Conflict, Invalid
from drumline.core.ids import JobId
from drumline.core.job import JobRequest, JobStatus, JobTaskRequest, JobView
from drumline.core.schedule import RunState, ScheduleEdit
from drumline.core.slots import slot_of_key
from drumline.ports.jobs import SubmittedJob
from drumline.ports.schedules import ScheduleFilter
from drumline.scheduler.ripple import Ripple
from drumline.scheduler.waits import WaitExchange
from drumline.settings import load_settings
from drumline.shards.forwarding import Forwarding
from drumline.wiring import Opened, wire
from tests.factories import new_id, open_session
from tests.job_factories import fails, run_all
from tests.schedule_factories import schedule_request

KEY = "a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s="


@pytest.fixture
async def opened(shard_urls: tuple[str, ...], tmp_path: Path) -> AsyncIterator[Opened]:
    """Three shards, each with a third of the slots."""
    settings = load_settings(
        {"DRUMLINE_STORE_URL": shard_urls[0], "DRUMLINE_SECRET_KEY": KEY, "DRUMLINE_DATA": str(tmp_path)}
    )
    wired = await wire(settings)
    for name, url in zip(("pg2", "pg3"), shard_urls[1:], strict=True):
        await wired.engine.shards.add(name, store_url=url)
    await wired.engine.shards.move(taker=None)
    yield wired
    await wired.engine.close()


async def submit(opened: Opened, key: str, *depends_on: JobId) -> SubmittedJob:
    request = JobRequest(
        name="job", tasks={key: JobTaskRequest(name="work")}, depends_on=depends_on, idempotency_key=key
    )
    return await opened.engine.jobs.submit(request)


async def keys_of(opened: Opened, prefix: str) -> dict[str, SubmittedJob]:
    """Submit a job to each shard, and return them by its name."""
    found: dict[str, SubmittedJob] = {}
    for number in range(100):
        job = await submit(opened, f"{prefix}{number}")
        found.setdefault(opened.shards.of(job.id).name, job)
    assert len(found) == 3
    return found


async def pass_on(opened: Opened) -> None:
    await WaitExchange(opened.shards, forwarded=Forwarding(opened.shards).forwarded).pass_once()
    for shard in opened.shards:
        await Ripple(shard.engine).pass_once()


async def run(opened: Opened, *failing: str) -> None:
    for shard in opened.shards:
        await run_all(shard.store, await open_session(shard.store), fails(*failing))


async def view(opened: Opened, job: SubmittedJob) -> JobView:
    return await opened.engine.jobs.get(job.id)


async def test_a_job_of_any_shard_waits_for_jobs_of_all_of_them(opened: Opened) -> None:
    needed = await keys_of(opened, "p")
    last = await submit(opened, "last", *(job.id for job in needed.values()))
    after = [await submit(opened, f"after{number}", last.id) for number in range(8)]
    again = await submit(opened, "last", *(job.id for job in needed.values()))
    assert (again.id, again.created) == (last.id, False)
    await pass_on(opened)
    assert (await view(opened, last)).waits_for == 3

    await run(opened)
    await pass_on(opened)
    await run(opened)
    await pass_on(opened)
    await run(opened)

    assert len({opened.shards.of(job.id).name for job in after}) > 1
    assert {(await view(opened, job)).status for job in (last, *after)} == {JobStatus.COMPLETED}


async def test_a_failure_in_one_shard_fails_those_that_wait_in_others_until_both_are_resumed(opened: Opened) -> None:
    needed = await submit(opened, "first")
    waiting = [await submit(opened, f"w{number}", needed.id) for number in range(8)]
    await pass_on(opened)
    await run(opened, "first")
    await pass_on(opened)
    assert {(await view(opened, job)).reason for job in waiting} == {f"job job ({needed.id}) failed"}

    await opened.engine.jobs.resume(needed.id)
    for job in waiting:
        await opened.engine.jobs.resume(job.id)
    await pass_on(opened)
    await run(opened)
    await pass_on(opened)
    await run(opened)

    assert {(await view(opened, job)).status for job in waiting} == {JobStatus.COMPLETED}


async def test_a_job_that_no_shard_knows_is_refused(opened: Opened) -> None:
    unknown = JobId(new_id())

    with pytest.raises(Invalid, match=f"there is no job {unknown}"):
        await submit(opened, "w", unknown)


async def test_schedules_of_all_shards_are_created_once_listed_triggered_and_renamed(opened: Opened) -> None:
    engine = opened.engine
    names = [f"s{number}" for number in range(12)]
    views = {name: await engine.schedules.create(schedule_request(name), tenant="default") for name in names}
    assert len({opened.shards.of(each.id).name for each in views.values()}) == 3
    for name in names:
        with pytest.raises(Conflict, match="already"):
            await engine.schedules.create(schedule_request(name), tenant="default")

    for each in views.values():
        triggered = await engine.runs.trigger(each.id, tenant="default")
        assert triggered.state is RunState.STARTED
        page = await engine.runs.list_runs(each.id, tenant="default")
        assert list(page.statuses.values()) == ["QUEUED"]
    listed = await engine.schedules.list_schedules(ScheduleFilter(tenant="default"), limit=50)
    assert {each.name for each in listed.items} == set(names)
    with pytest.raises(Conflict, match="already"):
        await engine.schedules.edit(views["s0"].id, ScheduleEdit(name="s1"), tenant="default")
    home = opened.shards.of(views["s0"].id).name
    owners = {f"t{n}": opened.shards.map.entry(slot_of_key("default", f"t{n}")).shard for n in range(20)}
    near = next(name for name, owner in owners.items() if owner == home)
    far = next(name for name, owner in owners.items() if owner != home)
    with pytest.raises(Conflict, match="belong to another shard"):
        await engine.schedules.edit(views["s0"].id, ScheduleEdit(name=far), tenant="default")
    renamed = await engine.schedules.edit(views["s0"].id, ScheduleEdit(name=near), tenant="default")
    assert renamed.name == near
    with pytest.raises(Conflict, match="already"):
        await engine.schedules.create(schedule_request(near), tenant="default")
