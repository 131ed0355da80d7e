"""The doctor looks at every shard: on three real databases with a mistake in each, and by facts."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from uuid import uuid4

import pytest

from drumline.core.doctor_report import Finding, PostgresFacts, Severity
from drumline.core.shard_map import ShardMap, SlotEntry
from drumline.core.slots import SLOTS
from drumline.lifecycle.doctor import asking_shards
from drumline.lifecycle.doctor.examining import examine
from drumline.lifecycle.doctor.shards import ShardFacts, judge_shards, judge_slots, open_slots
from drumline.ports.shards import OwnEntry, ShardIdentity, ShardState, SlotOwner
from drumline.settings import Sources
from drumline.shards.service import seal_urls
from drumline.stores.postgres import PostgresStore
from drumline.stores.sealing import AesBox, new_key_text, parse_keys

KEY = new_key_text()
BOX = AesBox(parse_keys(KEY))
HERE = str(uuid4())
BAD = {Severity.WARNING, Severity.PROBLEM}


@pytest.fixture(autouse=True)
def _apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(asking_shards, "MOVE_SECONDS", 0.0)


class Installation:
    """Three databases, the first of which is the directory."""

    def __init__(self, urls: Sequence[str], stores: Sequence[PostgresStore]) -> None:
        self.urls = urls
        self.main, self.pg2, self.pg3 = stores

    async def add(self, name: str, url: str) -> None:
        store_url, queue_url = seal_urls(BOX, name, url, None)
        await self.main.shards.add_shard(name, store_url=store_url, queue_url=queue_url)

    async def findings(self) -> list[Finding]:
        environment = {"STORE_URL": self.urls[0], "SECRET_KEY": KEY, "PORT": "0"}
        return await examine(Sources({f"DRUMLINE_{name}": value for name, value in environment.items()}))

    async def wrong(self) -> dict[str, Finding]:
        """Return what is wrong with shards as such; the servers of tests are made fast, and that is found too."""
        found = [finding for finding in await self.findings() if finding.check.startswith("shard.")]
        return {finding.check: finding for finding in found if finding.severity in BAD}


@pytest.fixture
async def installation(shard_urls: tuple[str, ...]) -> AsyncIterator[Installation]:
    """A directory and two shards, of which `pg2` has a quarter of the slots."""
    stores = [await PostgresStore.open(url) for url in shard_urls]
    here = Installation(shard_urls, stores)
    for name, url, store in zip(("main", "pg2", "pg3"), shard_urls, stores, strict=True):
        await store.slots.join(ShardIdentity(name, HERE))
        if name != "main":
            await here.add(name, url)
    await move(here, range(SLOTS // 4))
    yield here
    for store in stores:
        await store.close()


async def move(here: Installation, slots: Sequence[int], *, steps: int = 3) -> None:
    """Move slots from the directory to `pg2`, or begin to."""
    closed = await here.main.slots.close_slots([(slot, 0) for slot in slots], taker="pg2")
    opened = [OwnEntry(slot=each.slot, version=1, since=each.closed_at or 0) for each in closed]
    if steps > 1:
        await here.pg2.slots.open_slots(opened)
    if steps > 2:
        await here.main.shards.add_owners(
            [SlotOwner(slot=each.slot, version=1, shard="pg2", since=each.since) for each in opened]
        )


async def test_shards_that_are_well_are_told_with_their_slots(installation: Installation) -> None:
    findings = await installation.findings()

    assert await installation.wrong() == {}
    (slots,) = [finding.text for finding in findings if finding.check == "shard.slots"]
    assert slots == "the 4096 slots of new work: main 3072, pg2 1024, pg3 0"
    assert [finding.text.split()[1] for finding in findings if finding.check == "shard.store"] == ["pg2", "pg3"]


async def test_one_database_is_not_asked_for_shards(postgres_url: str) -> None:
    found = await examine(Sources({"DRUMLINE_STORE_URL": postgres_url, "DRUMLINE_PORT": "0"}))

    assert [finding for finding in found if finding.check.startswith("shard")] == []


async def test_a_shard_that_cannot_be_reached_is_found_out(installation: Installation) -> None:
    await installation.add("pg4", "postgresql://127.0.0.1:1/nowhere")

    wrong = await installation.wrong()

    assert wrong.keys() == {"shard.store"}
    assert "shard pg4 cannot be reached" in wrong["shard.store"].text


async def test_an_address_of_another_shard_or_installation_is_found_out(installation: Installation) -> None:
    store_url, _ = seal_urls(BOX, "pg3", installation.urls[1], None)
    await installation.main.shards.change_shard("pg3", store_url=store_url)

    wrong = await installation.wrong()

    assert wrong["shard.identity"].text == "the database of shard pg3 is that of shard pg2"


async def test_an_address_that_is_sealed_with_another_key_is_found_out(installation: Installation) -> None:
    strange = AesBox(parse_keys(new_key_text()))
    store_url, _ = seal_urls(strange, "pg3", installation.urls[2], None)
    await installation.main.shards.change_shard("pg3", store_url=store_url)

    assert "its address cannot be read" in (await installation.wrong())["shard.store"].text


@pytest.mark.parametrize("steps", [1, 2])
async def test_a_move_that_did_not_end_is_found_out(installation: Installation, steps: int) -> None:
    await move(installation, [4000, 4001], steps=steps)

    wrong = await installation.wrong()

    assert wrong.keys() == {"shard.moves"}
    assert wrong["shard.moves"].text == "the move of slots 4000, 4001 has not ended"


async def test_a_shard_that_is_drained_is_told(installation: Installation) -> None:
    await installation.main.shards.change_shard("pg3", state=ShardState.DRAINING)

    assert "shard pg3 is being drained" in [finding.text for finding in await installation.findings()]


def facts(
    name: str, *, clock: int = 0, applied: tuple[int, ...] = (1,), who: ShardIdentity | None = None
) -> ShardFacts:
    postgres = PostgresFacts(
        version=170_002, clock=clock, is_pooled=False, is_by_statement=False, is_standby=False,
        settings={}, connections=1, applied=applied, major=1, tables=(), transactions=(),
    )  # fmt: skip
    return ShardFacts(name=name, postgres=postgres, identity=who or ShardIdentity(name, HERE), entries=())


def judged(*shards: ShardFacts) -> dict[str, Finding]:
    found = judge_shards(shards, ShardMap(), known=frozenset({1}), major=1)
    return {finding.check: finding for finding in found if finding.severity in BAD}


@pytest.mark.parametrize(
    ("main", "other", "severity"), [(0, 900, None), (-600, 600, "warning"), (5_000, -6_000, "problem")]
)
def test_clocks_of_two_databases_are_compared_with_each_other(main: int, other: int, severity: str | None) -> None:
    found = judged(facts("main", clock=main), facts("pg2", clock=other))

    assert (found["shard.clock"].severity if severity else None) == severity
    assert ("shard.clock" in found) == (severity is not None)


def test_a_shard_with_an_old_schema_is_named() -> None:
    found = judged(facts("main"), facts("pg2", applied=()))

    assert found["schema"].text == "shard pg2: the database has no schema"


def test_a_database_of_another_installation_is_found_out() -> None:
    found = judged(facts("main"), facts("pg2", who=ShardIdentity("pg2", str(uuid4()))))

    assert "is of another installation" in found["shard.identity"].text


def test_a_slot_that_is_open_in_two_databases_is_a_problem() -> None:
    entries = {"main": [], "pg2": [OwnEntry(slot=7, version=1, since=5)]}

    found = {finding.check: finding for finding in judge_slots(entries, ShardMap())}

    assert found["shard.slots"].severity is Severity.PROBLEM
    assert found["shard.slots"].text == "two shards take new work of slot 7"


def test_a_map_that_names_a_shard_that_is_not_there_is_a_problem() -> None:
    shard_map = ShardMap(1, {7: (SlotEntry("main"), SlotEntry("pg9", 5, 1))})

    texts = [finding.text for finding in judge_slots({"main": []}, shard_map)]

    assert "the map names shard pg9, which is not in the list" in texts


def test_slots_of_a_shard_that_is_away_are_not_taken_for_unfinished_moves() -> None:
    shard_map = ShardMap(1, {7: (SlotEntry("main"), SlotEntry("pg2", 5, 1))})
    closed = OwnEntry(slot=7, version=0, since=0, closed_at=5, taker="pg2")

    (found,) = judge_slots({"main": [closed], "pg2": None}, shard_map)

    assert (found.severity, found.text) == (
        Severity.OK, "the 4096 slots of new work: main 4095, pg2 1; pg2 could not be asked",
    )  # fmt: skip


def test_the_newest_entry_of_a_slot_decides() -> None:
    there_and_back = [
        OwnEntry(slot=7, version=2, since=9), OwnEntry(slot=7, version=0, since=0, closed_at=5, taker="pg2"),
    ]  # fmt: skip
    takers = open_slots(
        {"main": there_and_back, "pg2": [OwnEntry(slot=7, version=1, since=5, closed_at=9, taker="main")]}
    )

    assert takers[7] == ["main"]
