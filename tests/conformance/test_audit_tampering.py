"""Whoever changes the audit log behind the store's back is found out."""

import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import asyncpg
import pytest

from drumline.core.audit import AuditHead, Verifier, link
from drumline.core.clock import Instant
from drumline.ports.store import Store
from drumline.stores.postgres import PostgresStore
from drumline.stores.sqlite import SqliteStore
from tests.conformance.test_audit import entry, verified
from tests.harness.sqlite import migrated

Tamper = Callable[[str], Awaitable[None]]
"""Runs statements on the database behind the store's back."""


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.services)])
def url(request: pytest.FixtureRequest) -> str | None:
    found: str | None = request.getfixturevalue("postgres_url") if request.param == "postgres" else None
    return found


@pytest.fixture
async def store(url: str | None, tmp_path: Path) -> AsyncIterator[Store]:
    opened: Store = await (PostgresStore.open(url) if url else SqliteStore.open(migrated(tmp_path / "d.db")))
    await opened.audit.append_audit([entry(act=f"act{n}") for n in range(1, 6)])
    await opened.audit.append_audit([entry("other")])
    yield opened
    await opened.close()


@pytest.fixture
def rudely(url: str | None, tmp_path: Path) -> Tamper:
    """Run statements as somebody who has the database and knows how to switch off its protection."""

    async def on_postgres(statements: str) -> None:
        connection = await asyncpg.connect(url)
        await connection.execute(f"SET session_replication_role = replica; SET search_path = drumline; {statements}")
        await connection.close()

    async def on_sqlite(statements: str) -> None:
        connection = sqlite3.connect(tmp_path / "d.db")
        triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        dropped = "; ".join(f"DROP TRIGGER {name}" for name, _ in triggers)
        connection.executescript(f"{dropped}; {statements}; {'; '.join(sql for _, sql in triggers)}")
        connection.close()

    return on_postgres if url else on_sqlite


@pytest.fixture
def politely(url: str | None, tmp_path: Path) -> Tamper:
    """Run statements as somebody who merely has the database."""

    async def on_postgres(statements: str) -> None:
        connection = await asyncpg.connect(url)
        try:
            await connection.execute(f"SET search_path = drumline; {statements}")
        finally:
            await connection.close()

    async def on_sqlite(statements: str) -> None:
        connection = sqlite3.connect(tmp_path / "d.db")
        try:
            connection.executescript(statements)
        finally:
            connection.close()

    return on_postgres if url else on_sqlite


@pytest.mark.parametrize("statement", ["UPDATE audit SET text = '{}' WHERE seq = 2", "DELETE FROM audit WHERE seq = 2"])
async def test_the_database_itself_refuses_to_change_the_log(store: Store, politely: Tamper, statement: str) -> None:
    with pytest.raises((sqlite3.IntegrityError, asyncpg.PostgresError), match="only ever added to"):
        await politely(statement)

    assert (await verified(store))[1] is None


@pytest.mark.parametrize(
    ("statement", "seq"),
    [
        ("UPDATE audit SET text = replace(text, 'act3', 'act9') WHERE tenant = 'acme' AND seq = 3", 3),
        ("UPDATE audit SET text = text || ' ' WHERE tenant = 'acme' AND seq = 1", 1),
        ("UPDATE audit SET hash = (SELECT hash FROM audit AS a WHERE a.tenant = 'other') WHERE seq = 4", 4),
        ("UPDATE audit SET asks = id WHERE tenant = 'acme' AND seq = 2", 2),
        ("DELETE FROM audit WHERE tenant = 'acme' AND seq = 3", 3),
        ("DELETE FROM audit WHERE tenant = 'acme' AND seq = 1", 1),
        ("DELETE FROM audit WHERE tenant = 'acme' AND seq = 5", 5),
        ("DELETE FROM audit WHERE tenant = 'acme' AND seq > 2", 3),
        ("DELETE FROM audit WHERE tenant = 'acme'", 1),
        ("DELETE FROM audit WHERE tenant = 'acme' AND seq = 5; UPDATE audit SET seq = 5 WHERE tenant = 'other'", 5),
        ("UPDATE audit_head SET count = 4 WHERE tenant = 'acme'", 6),
        ("DELETE FROM audit_head WHERE tenant = 'acme'", 6),
        ("UPDATE audit SET tenant = 'acme', seq = 6 WHERE tenant = 'other'", 6),
        ("UPDATE audit SET seq = 9 WHERE tenant = 'acme' AND seq = 4", 4),
        ("DELETE FROM audit_head WHERE tenant = 'acme'; DELETE FROM audit WHERE tenant = 'acme' AND seq > 1", 2),
    ],
)
async def test_a_row_that_was_changed_taken_out_or_put_in_is_found(
    store: Store, rudely: Tamper, statement: str, seq: int
) -> None:
    assert (await verified(store))[1] is None

    await rudely(statement)

    fault = (await verified(store))[1]
    assert fault is not None
    assert fault.seq == seq


async def test_a_chain_forged_as_a_whole_is_found_by_a_head_kept_elsewhere(store: Store) -> None:
    honest = await store.audit.audit_chain("acme", after=0, limit=100)
    kept = AuditHead("acme", 3, honest[2].hash)
    forged, head = [], AuditHead("acme")
    for number in range(1, 6):
        row, head = link(head, entry(act=f"forged{number}"), Instant(number))
        forged.append(row)

    unaware, aware, loyal = Verifier("acme"), Verifier("acme", expected=kept), Verifier("acme", expected=kept)
    unaware.follow(forged)
    aware.follow(forged)
    loyal.follow(honest)

    assert unaware.close(head) is None
    fault = aware.close(head)
    assert fault is not None
    assert fault.seq == 3
    assert loyal.close(AuditHead("acme", 5, honest[4].hash)) is None


async def test_a_chain_cut_off_with_its_head_is_found_by_a_head_kept_elsewhere(store: Store) -> None:
    honest = await store.audit.audit_chain("acme", after=0, limit=100)
    verifier = Verifier("acme", expected=AuditHead("acme", 5, honest[4].hash))

    verifier.follow(honest[:4])

    fault = verifier.close(AuditHead("acme", 4, honest[3].hash))
    assert fault is not None
    assert fault.seq == 5
