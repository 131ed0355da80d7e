"""Jobs that wait for jobs of other shards, passed on by processes that may die at every step."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence

import pytest
from msgspec.structs import replace

from drumline.core.clock import ManualClock
from drumline.core.errors import Unavailable
from drumline.core.ids import JobId
from drumline.core.job import JobStatus
from drumline.engine.engine import Engine
from drumline.ports.jobs import SubmittedJob
from drumline.ports.waits import FarWait
from drumline.scheduler.waits import WaitExchange
from drumline.stores.no_queue import NoQueue
from drumline.stores.sqlite import SqliteStore
from tests.factories import new_id, open_session
from tests.job_factories import claim_keys, job_of, job_view, run_all, submit_job
from tests.wait_world import Place, Places, World


@pytest.fixture
async def stores() -> AsyncIterator[dict[str, SqliteStore]]:
    clock = ManualClock()
    opened = {name: await SqliteStore.open(":memory:", clock=clock) for name in "abc"}
    yield opened
    await asyncio.gather(*(store.close() for store in opened.values()))


@pytest.mark.parametrize("seed", range(24))
async def test_in_any_order_and_whoever_dies_a_job_begins_once_after_all_have_completed(
    stores: dict[str, SqliteStore], seed: int
) -> None:
    world = World(stores, seed)
    await world.begin()

    for _ in range(120):
        await world.step()

    await world.settle_down()


class Moving(Places):
    """A map that is behind until it is read again, and shards that may be away."""

    def __init__(self, places: Mapping[str, Place], home: Mapping[str, str], *, newer: Mapping[str, str]) -> None:
        super().__init__(places, home)
        self._newer = newer
        self.away: set[str] = set()

    async def refresh(self) -> None:
        self._home = self._newer

    def is_away(self, name: str, /) -> bool:
        return name in self.away

    def note_away(self, name: str, /) -> None:
        self.away.add(name)


def places_of(stores: Mapping[str, SqliteStore]) -> dict[str, Place]:
    return {name: Place(name, store, Engine(store, NoQueue())) for name, store in stores.items()}


async def waiting_job(store: SqliteStore, needs: JobId) -> SubmittedJob:
    return await submit_job(store, replace(job_of({"w": ()}, depends_on=(needs,)), elsewhere=frozenset({needs})))


async def test_a_job_that_a_map_behind_the_times_looks_for_elsewhere_is_found(stores: dict[str, SqliteStore]) -> None:
    needed = await submit_job(stores["c"], job_of({"x": ()}))
    job = await waiting_job(stores["b"], needed.id)
    behind: dict[str, str] = {needed.id: "a", job.id: "a"}
    shards = [Moving(places_of(stores), behind, newer={needed.id: "c", job.id: "b"}) for _ in range(2)]

    await WaitExchange(shards[0]).pass_once()
    assert (await job_view(stores["b"], job.id)).status is JobStatus.PENDING
    await WaitExchange(shards[0]).pass_once()
    await run_all(stores["c"], await open_session(stores["c"]))
    await WaitExchange(shards[1]).pass_once()
    assert len(await stores["c"].waits.ripples(limit=9)) == 1
    await WaitExchange(shards[1]).pass_once()

    assert list(await claim_keys(stores["b"], await open_session(stores["b"]))) == ["w"]


async def test_a_shard_that_is_away_costs_its_own_waits_only(stores: dict[str, SqliteStore]) -> None:
    here, there = await submit_job(stores["a"], job_of({"x": ()})), await submit_job(stores["c"], job_of({"y": ()}))
    first, second = await waiting_job(stores["b"], there.id), await waiting_job(stores["b"], here.id)
    home: dict[str, str] = {here.id: "a", there.id: "c", first.id: "b", second.id: "b"}
    places = places_of(stores)
    gone = await SqliteStore.open(":memory:", clock=ManualClock())
    await gone.close()
    shards = Moving(places | {"c": Place("c", gone, places["c"].engine)}, home, newer=home)
    await run_all(stores["a"], await open_session(stores["a"]))

    await WaitExchange(shards).pass_once()

    assert shards.away == {"c"}
    assert (await job_view(stores["b"], second.id)).waits_for == 0
    assert [wait.needs for wait in await stores["b"].waits.unregistered(limit=9)] == [there.id]
    await WaitExchange(Moving(places, home, newer=home)).pass_once()
    assert await stores["b"].waits.unregistered(limit=9) == []


async def test_ripples_for_jobs_that_were_pruned_are_deleted(stores: dict[str, SqliteStore]) -> None:
    needed = await submit_job(stores["a"], job_of({"x": ()}))
    wait = FarWait(job=JobId(new_id()), needs=needed.id, life=1, tenant="default")
    await stores["a"].waits.register([wait])
    await run_all(stores["a"], await open_session(stores["a"]))
    home: dict[str, str] = {wait.job: "b", needed.id: "a"}

    assert await WaitExchange(Moving(places_of(stores), home, newer=home)).pass_once() == 1

    assert await stores["a"].waits.ripples(limit=9) == []


async def test_what_cannot_be_followed_costs_the_waits_of_its_own_shard_only(stores: dict[str, SqliteStore]) -> None:
    here, there = await submit_job(stores["a"], job_of({"x": ()})), await submit_job(stores["c"], job_of({"y": ()}))
    await waiting_job(stores["b"], there.id)
    second = await waiting_job(stores["b"], here.id)
    home: dict[str, str] = {here.id: "a", there.id: "c", second.id: "b"}
    shards = Moving(places_of(stores), home, newer=home)

    async def forwarded(ids: Sequence[str]) -> Mapping[str, Place]:
        if there.id in ids:
            raise Unavailable("shard c cannot be reached")
        return {}

    await run_all(stores["a"], await open_session(stores["a"]))
    await WaitExchange(shards, forwarded=forwarded).pass_once()

    assert shards.away == {"c"}
    assert (await job_view(stores["b"], second.id)).waits_for == 0
