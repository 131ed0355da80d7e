"""What authentication, limits and tenancy cost on single submissions.

    python -m bench.access                  on SQLite
    python -m bench.access --postgres       on PostgreSQL with the limits counted in Redis

A server in a process of its own gets single submissions over sixty-four connections that stay open; its CPU time is
measured. *bare* lets everybody in and knows no tenants; the others authenticate as servers do, with the first
key, and with a key of the store that has a limit. The variants take turns on one server.
"""

import argparse
import asyncio
import multiprocessing
import statistics
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from random import random
from typing import Any

import psutil
import structlog

from bench.services import postgres, redis
from drumline.api.app import create_app
from drumline.api.authentication import Authentication
from drumline.api.configured_keys import FIRST, ConfiguredKeys
from drumline.api.middleware import Middleware
from drumline.api.operation import Info
from drumline.api.server import Server
from drumline.core.new_key import KeyRequest
from drumline.engine.engine import Engine
from drumline.engine.options import EngineOptions
from drumline.engine.quota_counts import QuotaCounts
from drumline.engine.quotas import QuotaService
from drumline.stores.no_queue import NoQueue
from drumline.stores.sqlite import SqliteStore

AT_ONCE = 64
KEY = "first"
BODY = b'{"name":"nothing","payload":{"a":1}}'

Opened = Callable[[], AbstractAsyncContextManager[Engine]]


class Bare(Authentication):
    """Accepts every request."""

    async def authenticate(self, scope: Any) -> Any:
        """Return the first key's caller."""
        del scope
        return FIRST


class NoQuotas(QuotaService):
    """Knows no tenants."""

    def has_none(self, tenant: str) -> bool:
        """Say so."""
        del tenant
        return True


@asynccontextmanager
async def on_sqlite() -> AsyncIterator[Engine]:
    """Give an engine on a file."""
    with tempfile.TemporaryDirectory() as folder:
        engine = Engine(await SqliteStore.open(Path(folder) / "d.db"), NoQueue())
        yield engine
        await engine.close()


@asynccontextmanager
async def on_postgres() -> AsyncIterator[Engine]:
    """Give an engine on PostgreSQL, limits in Redis."""
    from drumline.redis import RedisLimiter  # noqa: PLC0415
    from drumline.stores.postgres import PostgresStore  # noqa: PLC0415

    with postgres() as database, redis() as counts:
        store = await PostgresStore.open(database.url())
        await store.migrate()
        engine = Engine(store, NoQueue(), EngineOptions(parallel=2, limiter=await RedisLimiter.open(counts.url)))
        yield engine
        await engine.close()


async def serve(opened: Opened, pipe: Connection) -> None:
    """Serve the API, barely or as it is, whichever is asked for, until told to stop."""
    async with opened() as engine:
        app: Any = create_app(engine, keys=ConfiguredKeys([KEY]), info=Info(version="bench"))
        made = await engine.access.keys.create(KeyRequest(name="bench", rate_limit="900000000/60s"), by=FIRST)
        # The same application, route and connection for all: only what is measured is exchanged.
        front, submissions = _middleware_of(app), engine.submissions
        usual = (front._authentication, submissions._quotas)  # noqa: SLF001
        bare = (
            Bare(ConfiguredKeys([KEY]), engine.access, clock=engine.clock),
            NoQuotas(engine.store.tenants, engine.access.tenants, QuotaCounts(), clock=engine.clock),
        )
        server = Server(app, port=0)
        stop = asyncio.Event()
        running = asyncio.create_task(server.run(stop))
        pipe.send((server.port, made.secret))
        while (word := await asyncio.to_thread(pipe.recv)) != "stop":
            front._authentication, submissions._quotas = bare if word == "bare" else usual  # noqa: SLF001
            pipe.send("ready")
        stop.set()
        await running


def _middleware_of(app: Any) -> Middleware:
    """Return the part of an application that authenticates, from inside what is around it."""
    while not isinstance(app, Middleware):
        app = next(inner for name in ("_api", "_inner", "_app") if (inner := getattr(app, name, None)) is not None)
    return app


def serve_apart(opened: Opened, pipe: Connection) -> None:
    """Be the server's process."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(30))
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(serve(opened, pipe))


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    from uvloop import new_event_loop  # noqa: PLC0415

    return new_event_loop


async def load(port: int, key: str, count: int) -> None:
    """Submit so many tasks, one by one on each of the connections."""
    request = (
        f"POST /api/v1/tasks HTTP/1.1\r\nhost: x\r\nx-api-key: {key}\r\ncontent-type: application/json\r\n"
        f"content-length: {len(BODY)}\r\n\r\n"
    ).encode() + BODY
    left = count

    async def caller() -> None:
        nonlocal left
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while left > 0:
            left -= 1
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 201"), head
            length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
            await reader.readexactly(length)
        writer.close()
        await writer.wait_closed()

    await asyncio.gather(*(caller() for _ in range(AT_ONCE)))


def measure(opened: Opened, rounds: int, count: int) -> None:
    """Measure all variants in turn, and print them."""
    ours, theirs = multiprocessing.Pipe()
    child = multiprocessing.get_context("spawn").Process(target=serve_apart, args=(opened, theirs))
    child.start()
    port, limited = ours.recv()
    process = psutil.Process(child.pid)
    variants = {"bare": KEY, "first key": KEY, "limited key": limited}
    times: dict[str, list[float]] = {name: [] for name in variants}
    for number in range(rounds + 1):
        for name in sorted(variants, key=lambda _: random()):
            ours.send(name)
            ours.recv()
            before = process.cpu_times()
            asyncio.run(load(port, variants[name], count))
            after = process.cpu_times()
            if number:  # the first round warms everything up
                times[name].append((after.user + after.system - before.user - before.system) / count)
    ours.send("stop")
    child.join()
    # Whatever else runs on the machine only ever adds: the quickest quarter of the rounds was disturbed the least.
    quick = {name: statistics.mean(sorted(taken)[: max(len(taken) // 4, 1)]) for name, taken in times.items()}
    for name, taken in quick.items():
        print(f"{name:12} {taken * 1e6:7.1f} us of CPU each   {(taken / quick['bare'] - 1) * 100:+5.1f} %")


def main() -> None:
    """Read the flags and measure."""
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--postgres", action="store_true", help="on PostgreSQL, with the limits counted in Redis")
    flags.add_argument("--rounds", type=int, default=15)
    flags.add_argument("--count", type=int, default=3000)
    given = flags.parse_args()
    measure(on_postgres if given.postgres else on_sqlite, given.rounds, given.count)


if __name__ == "__main__":
    main()
