"""What the health page says of a Kafka that takes nothing."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from drumline.api.app import create_app
from drumline.api.configured_keys import ConfiguredKeys
from drumline.api.operation import Info
from drumline.core.clock import ManualClock
from drumline.engine.engine import Engine
from drumline.engine.options import EngineOptions
from drumline.ports.bus import CONSUMER
from drumline.stores.no_queue import NoQueue
from drumline.stores.sqlite import SqliteStore
from tests.api.conftest import KEY, submitted
from tests.harness.sqlite import migrated


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def engine(clock: ManualClock, tmp_path: Path) -> AsyncIterator[Engine]:
    engine = Engine(
        await SqliteStore.open(migrated(tmp_path / "drumline.db"), clock=clock), NoQueue(), EngineOptions(clock=clock)
    )
    yield engine
    await engine.close()


@pytest.fixture
async def http(engine: Engine, tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    app = create_app(engine, keys=ConfiguredKeys([KEY]), info=Info(version="1", disk=str(tmp_path)))
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://x", headers={"X-API-Key": KEY}) as client:
        yield client


async def test_without_a_relay_nothing_is_said_of_kafka(http: httpx.AsyncClient) -> None:
    assert "kafka" not in (await http.get("/actuator/health")).json()["components"]


async def test_events_that_wait_too_long_degrade_the_whole_and_are_counted(
    http: httpx.AsyncClient, engine: Engine, clock: ManualClock
) -> None:
    position = await engine.store.events.take_cursor(CONSUMER, holder=1, seconds=30)
    await submitted(http)
    young = (await http.get("/actuator/health")).json()
    clock.advance(31)
    late = await http.get("/actuator/health")
    await engine.store.events.move_cursor(
        CONSUMER, holder=1, old=position or 0, new=(await engine.store.events.log_span()).last
    )
    passed_on = (await http.get("/actuator/health")).json()

    assert (young["status"], young["components"]["kafka"]["status"]) == ("UP", "UP")
    assert (late.status_code, late.json()["status"]) == (200, "DEGRADED")
    assert late.json()["components"]["kafka"] == {
        "status": "DEGRADED", "details": {"rows_behind": 1, "seconds_behind": 31.0},
    }  # fmt: skip
    assert passed_on["components"]["kafka"]["details"] == {"rows_behind": 0, "seconds_behind": 0.0}


async def test_a_bus_that_is_away_is_down_at_once_though_nothing_waits(http: httpx.AsyncClient, engine: Engine) -> None:
    await engine.store.events.take_cursor(CONSUMER, holder=1, seconds=30)
    await engine.store.events.note_cursor(CONSUMER, holder=1, error="Kafka at k:9092 does not take events: refused")
    away = (await http.get("/actuator/health")).json()
    await engine.store.events.note_cursor(CONSUMER, holder=2, error=None)
    still_away = (await http.get("/actuator/health")).json()
    await engine.store.events.note_cursor(CONSUMER, holder=1, error=None)
    back = (await http.get("/actuator/health")).json()

    assert (away["status"], away["components"]["kafka"]["status"]) == ("DEGRADED", "DOWN")
    assert "does not take events" in away["components"]["kafka"]["details"]["error"]
    assert still_away["components"]["kafka"]["status"] == "DOWN", "only the holder of the cursor knows"
    assert back["components"]["kafka"]["status"] == "UP"


async def test_who_passes_events_on_is_listed_and_can_be_forgotten(http: httpx.AsyncClient, engine: Engine) -> None:
    await engine.store.events.take_cursor("old", holder=1, seconds=30)
    await submitted(http)

    listed = (await http.get("/api/v1/events/consumers")).json()["items"]
    first = await http.delete("/api/v1/events/consumers/old")
    again = await http.delete("/api/v1/events/consumers/old")

    assert [(item["name"], item["behind"]) for item in listed] == [("old", 1)]
    assert (first.status_code, again.status_code) == (204, 404)
