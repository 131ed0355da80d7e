"""What is told to a tenant was looked up from within its wall: PostgreSQL itself says who asked for what."""

from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import httpx
import pytest

from drumline.api.app import create_app
from drumline.api.configured_keys import ConfiguredKeys
from drumline.api.operation import Info
from drumline.engine.engine import Engine
from drumline.stores.no_queue import NoQueue
from drumline.stores.postgres import PostgresStore
from tests.api.neighbours import UNLIMITED, Tenancy
from tests.api.test_matrix import GUARDED, KEY, path_of
from tests.postgres.conftest import LIMITED

OUTSIDE = {
    # Who is who: asked for whoever knocks, many at a time.
    "find_keys", "find_tenants",
    # How often each key knocked: written for all keys together, every few seconds.
    "note_uses",
    # Find ids: what stands behind them is then looked up within.
    "find_by_job", "find_by_key", "find_by_state", "find_by_tag", "find_by_worker", "find_in_lanes", "find_tasks",
    "find_dead_letters", "find_dead_letters_of_causes", "find_dead_letters_of_job",
    # Count, in lanes and under limits that were looked up within.
    "count_live", "count_ended", "count_lanes", "running_under",
    # The names of paused queues, in which the queue of a task is looked for that was looked up within.
    "paused_queues",
}  # fmt: skip
"""Statements that look at rows of tenants from outside the walls though a tenant asked, and why that is right."""

SPY = f"""
CREATE TABLE spied (statement text, is_within bool, PRIMARY KEY (statement, is_within));
CREATE FUNCTION spy() RETURNS bool LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    INSERT INTO public.spied
    SELECT coalesce(substring(current_query() FROM 'drumline (\\w+) '), current_query()),
        current_setting('role') = 'drumline_tenant_{LIMITED}'
    ON CONFLICT DO NOTHING;
    RETURN true;
END
$$;
DO $$
DECLARE
    walled regclass;
BEGIN
    FOR walled IN SELECT polrelid FROM pg_policy WHERE polname = 'wall' LOOP
        EXECUTE format('CREATE POLICY spy ON %s AS RESTRICTIVE FOR SELECT USING (public.spy())', walled);
        EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', walled);
    END LOOP;
END
$$;
"""
"""Notes which statement has looked at a row of a tenant, and whether from within a wall."""


@pytest.fixture
async def spied(limited_url: str, postgres_server_url: str) -> str:
    """A database with a wall, in which every look at a row of a tenant is noted."""
    server = await asyncpg.connect(postgres_server_url)
    await server.execute(f"CREATE ROLE drumline_tenant_{LIMITED} NOLOGIN; GRANT drumline_tenant_{LIMITED} TO {LIMITED}")
    await server.close()
    store = await PostgresStore.open(limited_url)
    await store.migrate()
    await store.close()
    connection = await asyncpg.connect(limited_url)
    await connection.execute(SPY)
    await connection.close()
    return limited_url


@pytest.fixture
async def tenancy(spied: str, tmp_path: Path) -> AsyncIterator[Tenancy]:
    engine = Engine(await PostgresStore.open(spied), NoQueue())
    engine.access.use_policy(UNLIMITED)
    info = Info(version="1", disk=str(tmp_path), longest_wait=0.01, longest_stream=0.01)
    transport = httpx.ASGITransport(app=create_app(engine, keys=ConfiguredKeys([KEY]), info=info))
    async with httpx.AsyncClient(transport=transport, base_url="http://x", headers={"X-API-Key": KEY}) as http:
        made = Tenancy(engine, http)
        await made.furnish()
        yield made
    await engine.close()


async def test_what_a_tenant_is_shown_is_looked_up_within_its_wall(tenancy: Tenancy, spied: str) -> None:
    connection = await asyncpg.connect(spied)
    await connection.execute("TRUNCATE spied")

    for operation in GUARDED:
        if operation.method == "GET":
            reply = await tenancy.ask("GET", path_of(operation, tenancy), by="acme admin")
            assert reply.status_code < 500, (operation.path, reply.text)

    rows = await connection.fetch("SELECT statement, is_within FROM spied")
    await connection.close()
    outside = {statement for statement, is_within in rows if not is_within}
    within = {statement for statement, is_within in rows if is_within}
    assert outside <= OUTSIDE, "let them ask within the tenant, or say in OUTSIDE why not"
    assert within >= {
        "get", "attempts", "log_from", "artifacts", "artifact", "jobs", "nodes", "schedules", "list_schedules",
        "list_jobs", "get_dead_letters", "dead_letter_groups", "get_bulk", "list_bulks", "subscriptions", "deliveries",
        "get_key", "list_keys", "list_secrets", "limits", "list_audit", "queue_lanes", "sessions", "find_lanes",
        "find_causes",
    }  # fmt: skip
