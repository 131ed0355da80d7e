"""Names that users choose cost bounded memory: however many there are, nothing in a process grows with them."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from drumline.core.metrics import MOST_QUEUES, MOST_TASKS, Metrics
from drumline.core.stats import Figure, Measure
from drumline.core.task import Lane, Submitted, TaskRequest
from drumline.engine import lane_limit
from drumline.engine.engine import Engine
from drumline.engine.gateway import LocalGateway
from drumline.stores.lane_cache import LaneCache
from drumline.stores.sqlite import SqliteStore
from tests.factories import claim_request, open_session

NAMES = 12_000
"""More than any bound that holds here."""


def containers(root: object) -> Iterator[tuple[str, int]]:
    """Yield each container that can be reached through our own objects, with its place and its size."""
    seen: set[int] = set()
    waiting: list[tuple[str, Any]] = [(type(root).__name__, root)]
    while waiting:
        place, value = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, Mapping | list | tuple | set | frozenset):
            yield place, len(value)
            inside = list(value.values()) if isinstance(value, Mapping) else list(value)
            waiting += [(f"{place}[]", each) for each in inside[:50]]
        elif type(value).__module__.startswith("drumline"):
            names = {*getattr(value, "__dict__", ()), *getattr(type(value), "__slots__", ())}
            waiting += [(f"{place}.{name}", getattr(value, name, None)) for name in names]


async def submit_all(engine: Engine) -> None:
    for start in range(0, NAMES, 3_000):
        requests = [
            TaskRequest(name=f"name-{n}", queue=f"queue-{n}", tags=(f"tag-{n}",)) for n in range(start, start + 3_000)
        ]
        answers = await engine.submissions.submit_many(requests)
        assert all(isinstance(answer, Submitted) for answer in answers)


async def test_no_memory_of_an_engine_grows_with_the_names_of_tasks_queues_and_tags(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = engine.submissions._store
    assert isinstance(store, SqliteStore)
    monkeypatch.setattr(store._lanes, "_cache", LaneCache(5_000))
    monkeypatch.setattr(lane_limit, "MOST_KNOWN", 5_000)
    session = await open_session(store, "name-1")
    gateway = LocalGateway(engine)

    await submit_all(engine)
    await engine.effects.offers.drained()
    for n in (0, 1, NAMES - 1):  # those that were forgotten are found again
        await gateway.claim(session, limit=1, wait=0, queues=(f"queue-{n}",))
    await store.claim([claim_request(session, "name-1", queues=["queue-1"])])

    grown = {place: size for place, size in containers(engine) if size >= NAMES - 100}
    assert grown == {}


def test_lanes_that_were_met_first_are_forgotten_first() -> None:
    cache = LaneCache(100)
    lanes = [Lane("t", "q", f"n{n}", 0) for n in range(250)]

    for number, lane in enumerate(lanes):
        cache.remember(number, lane)

    assert len(cache) == len(cache.numbers) <= 100
    assert cache.known([0, 249]) == {249: lanes[249]}
    assert lanes[0] not in cache.numbers


async def test_a_lane_that_was_forgotten_keeps_its_number(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    store = engine.submissions._store
    assert isinstance(store, SqliteStore)
    monkeypatch.setattr(store._lanes, "_cache", LaneCache(10))

    first = await engine.submissions.submit(TaskRequest(name="first"))
    for n in range(30):
        await engine.submissions.submit(TaskRequest(name=f"n{n}"))
    again = await engine.submissions.submit(TaskRequest(name="first"))

    views = await store.queries.get([first.id, again.id])
    assert [view.lane.name for view in views if view is not None] == ["first", "first"]
    assert len(store._lanes._cache) <= 10


def test_series_of_metrics_are_bounded() -> None:
    metrics = Metrics()

    for n in range(5_000):
        for measure in (Measure.SUBMITTED, Measure.WAIT, Measure.RUN):
            metrics.count(Figure(queue=f"q{n}", name=f"n{n}", measure=measure, count=1, total_ms=1))

    series = {
        family.name: len(getattr(family, "values", ()) or getattr(family, "series", ()))
        for family in metrics.families()
    }
    assert max(series.values()) <= max(MOST_TASKS, MOST_QUEUES) + 1
    assert series["drumline_tasks_submitted_total"] == MOST_TASKS + 1
