"""Settings that change while a process runs: taken over as a whole, or refused as a whole."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from structlog.testing import capture_logs

from drumline.core.errors import Unavailable
from drumline.core.retry import Backoff
from drumline.core.runtime_config import RuntimeConfig
from drumline.engine.configuration import ConfigState
from drumline.engine.engine import Engine
from drumline.lifecycle.live import Live, following
from drumline.settings import Secret, Settings, Sources
from drumline.settings.sources import check_runtime
from drumline.stores.no_queue import NoQueue
from drumline.stores.sqlite import SqliteStore
from tests.harness.parameters import Parameters

SOON = {"DRUMLINE_WATCH_FILE_EVERY": "1ms", "DRUMLINE_WATCH_RUNTIME_EVERY": "1ms"}
SOON |= {"DRUMLINE_WATCH_PARAMETERS_EVERY": "1ms"}


class Fleet:
    """A runtime configuration in memory, which may be away."""

    def __init__(self) -> None:
        self.config = RuntimeConfig(version=0)
        self.is_away = False
        self.is_cut_off = False
        """Whether it can say which version is the newest, and no more."""

    def set(self, settings: Mapping[str, Any]) -> None:
        self.config = RuntimeConfig(version=self.config.version + 1, settings=settings)

    async def version(self) -> int:
        if self.is_away:
            raise Unavailable("the store is away")
        return self.config.version

    async def get(self) -> RuntimeConfig:
        if self.is_cut_off:
            raise Unavailable("the store has just gone away")
        return self.config


@pytest.fixture
def fleet() -> Fleet:
    return Fleet()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "drumline.yaml"
    write(file, "worker: {concurrency: 2}\n")
    return file


def write(file: Path, text: str | None) -> None:
    """Change the file, or take it away."""
    if text is None:
        file.unlink()
    else:
        file.write_text(text)


async def begun(fleet: Fleet, *, config: object = None, **environ: str) -> tuple[Live, list[Settings]]:
    """Return live settings that have begun, and where followers note what they were told."""
    sources = Sources(SOON | environ, config=None if config is None else str(config))
    live = Live(sources.load().settings, sources, fleet)
    told: list[Settings] = []
    live.follow(told.append)
    await live.begin()
    return live, told


async def look(live: Live) -> bool:
    for looked in live._looked:
        looked.due = 0.0
    return await live.pass_once()


async def test_a_changed_file_is_taken_over(fleet: Fleet, file: Path) -> None:
    live, told = await begun(fleet, config=file)

    assert not await look(live)
    write(file, "worker: {concurrency: 20, queues: [mail=3, b]}\n")
    assert await look(live)

    assert [(new.worker.concurrency, new.worker.queues) for new in told] == [(20, ("mail=3", "b"))]
    assert live.settings == told[0]
    assert live.state == ConfigState()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("worker: {concurrency: [", "is not YAML"),
        ("worker: {concurrency: 0}", "must be at least 1"),
        ("worker: {concurrency: 30}\nacess: {}", "did you mean access?"),
        ("worker: {concurrency: 30}\naccess: {admin_rate: often}", "must be a rate"),
        ("- a list", "must hold keys and values"),
    ],
)
async def test_a_broken_file_changes_nothing_and_says_why(fleet: Fleet, file: Path, text: str, reason: str) -> None:
    live, told = await begun(fleet, config=file)
    before = live.settings

    write(file, text)
    await look(live)
    await look(live)

    assert (live.settings, told) == (before, [])
    assert reason in (live.state.refused or "")
    write(file, "worker: {concurrency: 3}\n")
    await look(live)
    assert (live.state.refused, live.settings.worker.concurrency) == (None, 3)


async def test_a_file_that_is_gone_changes_nothing(fleet: Fleet, file: Path) -> None:
    live, told = await begun(fleet, config=file)

    write(file, None)
    await look(live)

    assert told == []
    assert "cannot be read" in (live.state.refused or "")


async def test_what_is_not_live_waits_for_a_restart(fleet: Fleet, file: Path) -> None:
    live, told = await begun(fleet, config=file)

    write(file, "port: 9999\nworker: {concurrency: 4, label: other}\n")
    await look(live)

    assert (told[-1].worker.concurrency, told[-1].port, told[-1].worker.label) == (4, 8080, "")
    assert live.state.restart == ("port", "worker.label")
    write(file, "worker: {concurrency: 4}\n")
    await look(live)
    assert not live.state.restart


async def test_what_a_process_found_out_by_itself_needs_no_restart(fleet: Fleet, file: Path) -> None:
    sources = Sources(SOON, config=str(file))
    found = replace(sources.load().settings, api_key=Secret("sk_of_the_data_folder"))
    live = Live(found, sources, fleet)

    await live.begin()
    write(file, "worker: {concurrency: 5}\n")
    await look(live)

    assert not live.state.restart
    assert (live.settings.api_key, live.settings.worker.concurrency) == ("sk_of_the_data_folder", 5)


async def test_the_fleets_configuration_wins_and_gives_back(fleet: Fleet, file: Path) -> None:
    fleet.set({"worker.concurrency": 7})
    live, told = await begun(fleet, config=file, DRUMLINE_TASKS_RETRIES="1")
    assert (live.settings.worker.concurrency, live.state.version) == (7, 1)

    fleet.set({"worker.concurrency": 9, "tasks.retries": 5, "from.the.future": 1})
    await look(live)
    write(file, "worker: {concurrency: 4}\n")
    await look(live)
    both = (live.settings.worker.concurrency, live.settings.tasks.retries)
    fleet.set({})
    await look(live)

    assert both == (9, 5)
    assert (live.settings.worker.concurrency, live.settings.tasks.retries) == (4, 1)
    assert len(told) == 3
    assert live.state.version == 3


async def test_while_the_store_is_away_what_was_known_holds(fleet: Fleet, file: Path) -> None:
    fleet.set({"worker.concurrency": 7})
    live, _ = await begun(fleet, config=file)

    fleet.is_away = True
    fleet.set({"worker.concurrency": 8})
    await look(live)
    write(file, "log: {level: debug}\n")
    await look(live)
    assert (live.settings.worker.concurrency, live.settings.log.level) == (7, "debug")
    fleet.is_away = False
    await look(live)

    assert live.settings.worker.concurrency == 8


async def test_a_configuration_that_was_cut_off_at_the_start_is_taken_over_later(fleet: Fleet, file: Path) -> None:
    fleet.is_cut_off = True
    fleet.set({"worker.concurrency": 8})
    live, _ = await begun(fleet, config=file)
    with capture_logs() as meanwhile:
        await look(live)

    fleet.is_cut_off = False
    await look(live)

    assert [log["event"] for log in meanwhile] == []  # nothing is reachable that could not be read
    assert live.settings.worker.concurrency == 8


async def test_a_process_starts_although_nobody_can_tell_the_fleets_configuration(fleet: Fleet, file: Path) -> None:
    fleet.is_away = True
    fleet.set({"worker.concurrency": 8})
    live, _ = await begun(fleet, config=file)
    assert live.settings.worker.concurrency == 2

    fleet.is_away = False
    await look(live)

    assert live.settings.worker.concurrency == 8


async def test_parameters_are_taken_over_and_an_outage_of_aws_changes_nothing(
    fleet: Fleet, parameters: Parameters, monkeypatch: pytest.MonkeyPatch
) -> None:
    parameters.put({"worker/concurrency": "2"})
    live, told = await begun(fleet, config=parameters.config)

    parameters.put({"worker/concurrency": "20"})
    await look(live)
    parameters.put({"worker/concurrency": "many"})
    await look(live)
    refused = live.state.refused
    client = live._sources.outside[0]._client  # type: ignore[attr-defined]
    monkeypatch.setattr(client.meta, "_endpoint_url", "http://127.0.0.1:1")
    monkeypatch.setattr(client._endpoint, "host", "http://127.0.0.1:1")
    await look(live)

    assert [new.worker.concurrency for new in told] == [20]
    assert "must be a whole number" in (refused or "")
    assert live.settings.worker.concurrency == 20


@pytest.fixture
async def engine() -> AsyncIterator[Engine]:
    engine = Engine(await SqliteStore.open(":memory:"), NoQueue())
    engine.configuration._check = check_runtime
    yield engine
    await engine.close()


async def test_an_engine_goes_by_what_is_set_for_the_fleet_within_a_second(engine: Engine) -> None:
    settings = Sources(SOON).load().settings
    async with following(engine, settings, None):
        wanted = {"tasks.retries": 9, "tasks.backoff_base": "1.5", "tune.poll": "50ms", "pauses.names": ["a"]}
        await engine.configuration.change(wanted, by="ada")
        async with asyncio.timeout(5):
            while engine.tuning.retry.retries != 9:  # noqa: ASYNC110 - it is told by nobody, but looked at
                await asyncio.sleep(0.001)

    assert engine.tuning.retry.backoff == Backoff(base=1.5)
    assert engine.tuning.paused_names == {"a"}
    assert engine._waiters.poll == 0.05
    assert engine.configuration.state == ConfigState(version=1)
    assert engine.metrics.config_version.values == {(): 1}
    assert engine.metrics.config_refused.values == {(): False}
