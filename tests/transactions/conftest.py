"""Databases with a store and a table of the caller's own in them."""

import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from drumline.engine.engine import Engine
from drumline.ports.store import Store
from drumline.stores.no_queue import NoQueue
from drumline.stores.postgres import PostgresStore
from drumline.stores.sqlite import SqliteStore
from tests.harness.sqlite import migrated
from tests.transactions.world import World, connecting


@pytest.fixture
async def shop_postgres(postgres_url: str) -> AsyncIterator[str]:
    connection = await asyncpg.connect(postgres_url)
    await connection.execute("DROP TABLE IF EXISTS public.orders; CREATE TABLE public.orders (id int PRIMARY KEY)")
    yield postgres_url
    await connection.execute("DROP TABLE public.orders")
    await connection.close()


@pytest.fixture
def shop_sqlite(tmp_path: Path) -> str:
    path = migrated(tmp_path / "drumline.db")
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE orders (id int PRIMARY KEY)")
    connection.close()
    return f"sqlite:///{path}"


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.services)])
def shop_url(request: pytest.FixtureRequest) -> str:
    """The database of a store, with the caller's table in it."""
    url: str = request.getfixturevalue(f"shop_{request.param}")
    return url


@pytest.fixture
async def world(shop_url: str) -> AsyncIterator[World]:
    store: Store
    if shop_url.startswith("sqlite:"):
        store = await SqliteStore.open(shop_url.removeprefix("sqlite:///"))
    else:
        store = await PostgresStore.open(shop_url)
    engine = Engine(store, NoQueue())
    yield World(shop_url, store, engine, connecting(shop_url))
    await engine.close()
