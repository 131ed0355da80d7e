"""The doctor finds what is wrong: on real services with a mistake in each, and by facts where no service can be had."""

import socket
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any

import asyncpg
import pytest
import redis.asyncio

from drumline.core.clock import Instant, SystemClock
from drumline.core.doctor_report import Finding, PostgresFacts, RedisFacts, Severity, TableFacts
from drumline.core.ids import SessionId
from drumline.core.session import SessionSpec, SessionView, TaskType
from drumline.lifecycle.doctor.examining import dated_distance, examine
from drumline.lifecycle.doctor.fleet import judge_cursors, judge_scheduler, judge_workers
from drumline.lifecycle.doctor.services import judge_clock, judge_postgres, judge_redis
from drumline.ports.outbox import CursorView
from drumline.ports.schedules import Watch
from drumline.settings import Sources
from drumline.stores.postgres import PostgresStore
from drumline.stores.sqlite import SqliteStore
from tests.factories import open_session, submit
from tests.harness import postgres as postgres_harness
from tests.harness import redis as redis_harness
from tests.harness.pgbouncer import PgBouncer
from tests.harness.pgbouncer import missing as no_pgbouncer
from tests.harness.postgres import PostgresServer
from tests.harness.redis import RedisServer

BAD = {Severity.WARNING, Severity.PROBLEM}


@pytest.fixture(autouse=True)
def _apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


async def found(**settings: Any) -> dict[str, Finding]:
    """Return what is wrong, by what was looked at; the port is a free one unless the test names one."""
    given = {"port": "0", **{name: str(value) for name, value in settings.items()}}
    findings = await examine(Sources({f"DRUMLINE_{name.upper()}": value for name, value in given.items()}))
    return {finding.check: finding for finding in findings if finding.severity in BAD}


@pytest.fixture(scope="module")
def careless() -> Iterator[PostgresServer]:
    """A PostgreSQL that somebody has made fast."""
    if reason := postgres_harness.missing():
        pytest.skip(reason)
    settings = {"autovacuum": "off", "max_connections": "25", "statement_timeout": "5000"}
    server = PostgresServer(durable=False, settings=settings)
    yield server
    server.remove()


@pytest.fixture
async def careless_url(careless: PostgresServer) -> AsyncIterator[str]:
    connection = await asyncpg.connect(careless.url())
    await connection.execute("CREATE DATABASE careless")
    yield careless.url("careless")
    await connection.execute("DROP DATABASE careless WITH (FORCE)")
    await connection.close()


async def migrated(url: str) -> None:
    store = await PostgresStore.open(url)
    await store.migrate()
    await store.close()


def test_a_missing_wall_is_told_with_its_reason() -> None:
    facts = PostgresFacts(
        version=150_004, clock=0, is_pooled=False, is_by_statement=False, is_standby=False, settings={}, connections=1,
        applied=(1,), major=1, tables=(), transactions=(), wall="there is no role drumline_tenant_x",
    )  # fmt: skip

    by_check = {finding.check: finding for finding in judge_postgres(facts, known=frozenset({1}), major=1)}

    assert by_check["postgres.wall"].severity is Severity.WARNING
    assert "there is no role drumline_tenant_x" in by_check["postgres.wall"].text


@pytest.mark.services
async def test_a_careless_postgresql_is_found_out(careless_url: str) -> None:
    without = await found(store_url=careless_url)
    await migrated(careless_url)
    connection = await asyncpg.connect(careless_url, server_settings={"application_name": "forgotten"})
    await connection.execute("ALTER TABLE drumline.task_live SET (autovacuum_enabled = false)")
    await connection.execute("DELETE FROM drumline.migration WHERE number > 5")

    wrong = await found(store_url=careless_url)
    await connection.close()

    assert without["schema"].advice == "Run `drumline migrate`."
    assert wrong["schema"].text.startswith("the schema lacks what this version needs (migrations 6, 7, ")
    assert wrong["postgres.fsync"].severity is Severity.PROBLEM
    assert wrong["postgres.full_page_writes"].severity is Severity.PROBLEM
    assert wrong["postgres.synchronous_commit"].severity is Severity.PROBLEM
    assert "ALTER TABLE drumline.task_live RESET (autovacuum_enabled);" in wrong["postgres.autovacuum"].advice
    assert "of 25 connections are in use" in wrong["postgres.connections"].text
    assert "5000 ms" in wrong["postgres.statement_timeout"].text


@pytest.mark.services
async def test_a_forgotten_transaction_is_found_out(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("drumline.lifecycle.doctor.services.IDLE_SECONDS", 0.0)
    monkeypatch.setitem(_statements(), "examine_transactions", _without_patience())
    connection = await asyncpg.connect(postgres_url, server_settings={"application_name": "forgotten"})
    async with connection.transaction():
        await connection.execute("SELECT 1")
        wrong = await found(store_url=postgres_url)
    await connection.close()

    assert "a transaction of forgotten (pid " in wrong["postgres.long_transaction"].text
    assert "idle in transaction" in wrong["postgres.long_transaction"].text


def _statements() -> dict[str, Any]:
    from drumline.stores.postgres.statements import SQL  # noqa: PLC0415

    return SQL._statements


def _without_patience() -> Any:
    from drumline.stores.postgres.statements import Statement  # noqa: PLC0415
    from drumline.stores.sql_files import named  # noqa: PLC0415

    source = named("drumline.stores.postgres")["examine_transactions"]
    return Statement("examine_transactions", source.replace("30 seconds", "0 seconds"))


@pytest.mark.services
async def test_a_pooler_by_statement_is_found_out(postgres_server_url: str) -> None:
    if reason := no_pgbouncer():
        pytest.skip(reason)
    pooler = PgBouncer(postgres_server_url, settings={"pool_mode": "statement"})
    try:
        wrong = await found(store_url=pooler.url("postgres"))
    finally:
        pooler.remove()

    assert "pool_mode = transaction" in wrong["postgres.pooler"].advice


@pytest.mark.services
async def test_a_redis_that_forgets_is_found_out(postgres_url: str) -> None:
    if reason := redis_harness.missing():
        pytest.skip(reason)
    server = RedisServer()
    client = redis.asyncio.Redis.from_url(server.url())
    try:
        before = await found(store_url=postgres_url, queue_url=server.url())
        await client.config_set("maxmemory-policy", "allkeys-lru")
        await client.config_set("maxmemory", int((await client.info("memory"))["used_memory"] * 1.1))
        wrong = await found(store_url=postgres_url, queue_url=server.url())
    finally:
        await client.aclose()
        server.remove()
    away = await found(store_url=postgres_url, queue_url="redis://127.0.0.1:1")

    assert not [check for check in before if check.startswith("redis")]
    assert "allkeys-lru" in wrong["redis.eviction"].text
    assert "% of maxmemory" in wrong["redis.memory"].text
    assert "nothing is lost" in away["redis"].advice


@pytest.mark.services
async def test_workers_and_queues_that_miss_each_other_are_found_out(postgres_url: str) -> None:
    store = await PostgresStore.open(postgres_url)
    await submit(store, "mail it", queue="mail")
    await submit(store, "print it", queue="reports")
    await open_session(store, "mail it", queues=["mial"])
    await open_session(store, "something else", queues=["reports"])
    await store.control.pause_queue("paused", tenant="default")
    await submit(store, "later", queue="paused")
    await store.config.put_runtime_config({"worker.concurrency": 0}, after=0, by="ada")
    findings = await examine(Sources({"DRUMLINE_PORT": "0", "DRUMLINE_STORE_URL": postgres_url}))
    texts = {finding.text for finding in findings if finding.severity in BAD}
    await store.close()

    assert "no worker serves the queue mail, where tasks are due" in texts
    assert "no worker of the queue reports has the task print it, which is due" in texts
    assert any("serves only mial, where there is no task" in text for text in texts)
    assert any("worker.concurrency: must be at least 1" in text for text in texts)
    assert not [text for text in texts if "paused" in text]


@pytest.mark.services
async def test_an_outbox_that_nobody_reads_on_is_found_out(postgres_url: str) -> None:
    store = await PostgresStore.open(postgres_url)
    await store.events.take_cursor("kafka", holder=1, seconds=1)
    await submit(store, "work")
    await store.events.sequence()
    connection = await asyncpg.connect(postgres_url)
    await connection.execute("UPDATE drumline.outbox SET at = at - 600000")
    await connection.close()
    wrong = await found(store_url=postgres_url)
    await store.close()

    assert wrong["outbox"].text.startswith("kafka is 60")
    assert "drumline consumers forget kafka" in wrong["outbox"].advice


async def test_a_taken_port_a_full_disk_and_an_unknown_setting_are_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        wrong = await found(port=taken.getsockname()[1], data=tmp_path)
    unknown = await found(worker_concurency=3)
    monkeypatch.setattr("drumline.lifecycle.doctor.machine.LEAST_FREE", 1 << 60)
    full = await found(data=tmp_path / "not" / "there")

    assert "is taken by another program" in wrong["port"].text
    assert "did you mean DRUMLINE_WORKER_CONCURRENCY?" in unknown["settings"].text
    assert full["disk"].severity is Severity.PROBLEM


async def test_an_embedded_installation_that_is_well_is_said_to_be_so(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir(mode=0o700)
    store = await SqliteStore.open(tmp_path / "data" / "drumline.db")
    await store.schedules.note_watch()
    spec = SessionSpec(host="h", pid=1, version="1", queues=(), types=(TaskType(name="work"),), capacity=1)
    await store.sessions.open_session(SessionId(7), spec)
    await submit(store, "work")
    await store.close()

    assert await found(data=tmp_path / "data") == {}


async def test_a_server_that_is_not_there_is_found_out() -> None:
    wrong = await found(url="http://127.0.0.1:1")

    assert "does not answer" in wrong["server"].text


async def test_a_database_that_is_not_there_is_a_finding_and_no_error() -> None:
    wrong = await found(store_url="postgresql://drumline@127.0.0.1:1/drumline")

    assert wrong["store"].text.count("cannot be reached") == 1


@pytest.mark.parametrize(
    ("milliseconds", "severity"),
    [(0, "ok"), (-400, "ok"), (1_500, "warning"), (-3_000, "warning"), (60_000, "problem"), (-60_000, "problem")],
)
def test_clocks_that_differ_are_found_out(milliseconds: int, severity: str) -> None:
    assert judge_clock("PostgreSQL", milliseconds).severity == severity


@pytest.mark.parametrize(
    ("date", "began", "ended", "distance"),
    [
        (100.0, 100.9, 101.0, 0.0),  # cut to the second
        (100.0, 101.8, 101.9, 0.0),  # and written a second ago
        (100.0, 99.9, 108.0, 0.0),  # the answer took its time
        (100.0, 132.0, 132.1, -30.0),
        (130.0, 100.0, 100.5, 29.5),
    ],
)
def test_a_date_that_is_as_old_as_dates_are_does_not_make_a_clock_wrong(
    date: float, began: float, ended: float, distance: float
) -> None:
    assert dated_distance(date, began, ended) == distance


def test_the_facts_of_a_postgresql_mean_what_they_mean() -> None:
    facts = PostgresFacts(
        version=120_004, clock=20_000, is_pooled=True, is_by_statement=False, is_standby=True, settings={},
        connections=1, applied=(99,), major=7, transactions=(),
        tables=(TableFacts("task_live", live=10, dead=500_000, is_vacuumed=True),),
    )  # fmt: skip
    wrong = {
        finding.check for finding in judge_postgres(facts, known=frozenset({14}), major=1) if finding.severity in BAD
    }

    assert wrong == {"clock", "postgres.version", "postgres.read_only", "postgres.dead_rows", "schema"}


def test_the_facts_of_a_redis_mean_what_they_mean() -> None:
    facts = RedisFacts(
        version=(6, 0, 9), clock=-2_000, role="slave", is_cluster=True, policy="volatile-ttl", memory=1, most_memory=0
    )
    wrong = {finding.check for finding in judge_redis(facts, is_cluster=False) if finding.severity in BAD}

    assert wrong == {"clock", "redis.version", "redis.eviction", "redis.role", "redis.cluster"}


def test_a_scheduler_that_is_gone_is_found_out() -> None:
    now = SystemClock().now()
    spec = SessionSpec(host="h", pid=1, version="1", queues=(), types=(), capacity=1)
    dead = SessionView(id=SessionId(7), spec=spec, opened_at=Instant(0), beat_at=Instant(now - 90_000), beat=1, held=1)

    def severity(seen_at: int | None, *, has_schedules: bool, sessions: Sequence[SessionView] = ()) -> Severity:
        seen = None if seen_at is None else Instant(seen_at)
        due = Instant(now + 5_000) if has_schedules else None
        watch = Watch(now=now, seen_at=seen, words=1, next_due=due, next_start=None, has_waiting=False)
        return judge_scheduler(watch, sessions).severity

    assert severity(now - 5_000, has_schedules=True) is Severity.OK
    assert severity(now - 100_000, has_schedules=True) is Severity.PROBLEM
    assert severity(None, has_schedules=True) is Severity.PROBLEM
    assert severity(None, has_schedules=False) is Severity.OK  # nobody leaves word where nothing can be missed
    assert severity(None, has_schedules=False, sessions=[dead]) is Severity.PROBLEM


def test_a_worker_of_a_queue_that_is_empty_for_now_is_no_reason_to_worry() -> None:
    now = SystemClock().now()
    spec = SessionSpec(host="h", pid=1, version="1", queues=("mail",), types=(TaskType(name="a"),), capacity=1)
    view = SessionView(id=SessionId(7), spec=spec, opened_at=now, beat_at=now, beat=1, held=0)

    severities = {finding.check: finding.severity for finding in judge_workers([view], [], now)}

    assert severities["worker.no_queue"] is Severity.NOTE


def test_a_consumer_that_is_a_little_behind_is_no_news() -> None:
    now = SystemClock().now()
    view = CursorView(consumer="kafka", position=1, behind=3, oldest_at=Instant(now - 2_000), moved_at=now)

    assert [finding.severity for finding in judge_cursors([view], now)] == [Severity.OK]
