"""A lone producer that awaits each submission before the next, beside the bare limit: one durable commit at a time.

    python -m bench.one_by_one                 embedded: SQLite
    python -m bench.one_by_one --postgres      PostgreSQL and Redis

The limit is an INSERT of one small row with its COMMIT by the driver alone: `sqlite3` with the pragmas of the store,
and asyncpg. Beside it: the engine in the same process (what the SDK does with `direct=`), and `POST /api/v1/tasks` on
one connection that stays open. They take turns, and each share is of the median round. Processor time is that of this
process, for HTTP that of the server.
"""

import argparse
import asyncio
import sqlite3
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Final

import asyncpg
from uvloop import new_event_loop

from bench.http import TASK, Connection, Run, Served, distributed, embedded
from bench.scale.meter import cpu_seconds
from bench.services import HOST
from drumline.core.task import TaskRequest
from drumline.engine.engine import Engine
from drumline.settings import Settings
from drumline.settings.fields import Secret
from drumline.stores.sqlite.database import PRAGMAS
from drumline.wiring import open_engine

ROUND_SECONDS: Final = 1.0
REQUEST: Final = TaskRequest(name="noop")

Round = Callable[[float], Awaitable[tuple[float, float]]]
"""Works for so many seconds, and returns how many a second there were and the processor seconds of each."""


def _counted(one: Callable[[], Awaitable[Any]]) -> Round:
    async def run(seconds: float) -> tuple[float, float]:
        count, began, used = 0, time.perf_counter(), time.process_time()
        while time.perf_counter() - began < seconds:
            await one()
            count += 1
        return count / (time.perf_counter() - began), (time.process_time() - used) / count

    return run


def _over_http(served: Served) -> Round:
    submission = served.request("POST", "/api/v1/tasks", TASK)

    async def run(seconds: float) -> tuple[float, float]:
        rounds = Run(lambda _: submission, 1)
        began, used = time.perf_counter(), cpu_seconds([served.pid])
        await asyncio.get_running_loop().create_connection(lambda: Connection(rounds), HOST, served.port)
        await asyncio.wait([rounds.done], timeout=seconds)
        rounds.is_over = True
        took = time.perf_counter() - began
        await rounds.done
        count = len(rounds.latencies)
        return count / took, (cpu_seconds([served.pid]) - used) / count

    return run


@contextmanager
def _bare_sqlite(folder: str) -> Any:
    connection = sqlite3.connect(Path(folder) / "bare.db", isolation_level=None)
    for pragma in PRAGMAS:
        connection.execute(pragma)
    connection.execute("CREATE TABLE bare (id INTEGER PRIMARY KEY, payload TEXT)")

    async def one() -> None:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO bare (payload) VALUES ('{}')")
        connection.execute("COMMIT")

    yield one
    connection.close()


@asynccontextmanager
async def _bare_postgres(url: str) -> AsyncIterator[Callable[[], Awaitable[Any]]]:
    connection = await asyncpg.connect(url)
    await connection.execute("CREATE TABLE bare (id int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY, payload text)")
    statement = await connection.prepare("INSERT INTO bare (payload) VALUES ('{}')")
    yield statement.fetch
    await connection.close()


async def measure(settings: Settings, served: Served, rounds: int) -> dict[str, tuple[float, float]]:
    """Return, for each way, the median rate and processor time."""
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="drumline-bench-"))
        if settings.store_url is None:
            bare = stack.enter_context(_bare_sqlite(folder))
        else:
            bare = await stack.enter_async_context(_bare_postgres(str(settings.store_url)))
        engine: Engine = await open_engine(settings)
        stack.push_async_callback(engine.close)
        ways = {
            "one durable commit": _counted(bare),
            "engine (SDK direct)": _counted(lambda: engine.submissions.submit(REQUEST)),
            "POST /tasks": _over_http(served),
        }
        seen: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
        for number in range(rounds + 1):
            for name, run in ways.items():
                found = await run(ROUND_SECONDS)
                if number:  # the first round warms everything up
                    seen[name].append(found)
    return {
        name: (statistics.median(rate for rate, _ in found), statistics.median(used for _, used in found))
        for name, found in seen.items()
    }


def main() -> None:
    """Read the flags, measure and print."""
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--postgres", action="store_true", help="on PostgreSQL and Redis")
    flags.add_argument("--rounds", type=int, default=5)
    given = flags.parse_args()
    with distributed() if given.postgres else embedded() as served, tempfile.TemporaryDirectory() as folder:
        places = served.environment
        settings = (
            Settings(store_url=Secret(places["DRUMLINE_STORE_URL"]), queue_url=Secret(places["DRUMLINE_QUEUE_URL"]))
            if given.postgres
            else Settings(data=Path(folder))
        )
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            found = runner.run(measure(settings, served, given.rounds))
    limit, _ = found["one durable commit"]
    for name, (rate, used) in found.items():
        print(f"{name:22} {rate:8,.0f}/s  {rate / limit:6.1%} of the limit  {used * 1e6:7.1f} us of processor time")


if __name__ == "__main__":
    main()
