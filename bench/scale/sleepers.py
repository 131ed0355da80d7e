"""A hundred thousand tasks asleep for 30 days, or `--tasks`: nothing is slower or larger, and all wake in time.

`sleepers` has them in PostgreSQL, with a Redis beside it; the clocks of all processes are set a month on by a preloaded
library, which needs a C compiler. `sleepers-virtual` has them in the embedded store and in virtual time.
"""

import asyncio
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from itertools import chain
from pathlib import Path
from statistics import fmean
from typing import Any, Final

from msgspec import Raw

from bench.scale.meter import cpu_seconds, percentiles, private_mb
from bench.scale.rack import BATCH, Scale, System, wait_until
from bench.scale.report import say
from bench.services import postgres, redis
from drumline import Context, Drumline, inject
from drumline.core.outcome import Succeeded
from drumline.core.session import SessionSpec, TaskType
from drumline.core.task import TaskRequest
from drumline.engine.engine import Engine
from drumline.engine.gateway import gateway_of
from drumline.ports.gateway import Report, ServerGateway
from drumline.testing import simulated
from tests.chaos.clocks import Clocks

COUNT: Final = 100_000
WORKERS: Final = 2
ROUNDS: Final = 40
CLAIMS: Final = 100
"""Claims in each round, by one caller, one after the other."""
MOST: Final = 1.05
"""What the full system may have of the empty one's memory and claim times."""
IDLE_SECONDS: Final = 8.0
LIMIT_SECONDS: Final = 600.0
MONTH: Final = timedelta(days=30).total_seconds()
LATER: Final = MONTH + 3600
CLOCK: Final = "all"
APP: Final = Path(__file__).parent / "sleeping_app.py"
ASLEEP: Final = "SELECT count(*) FROM drumline.task_wait"
COMPLETED: Final = "SELECT count(*) FROM drumline.attempt WHERE outcome = 3"


def run(scale: Scale) -> dict[str, Any]:
    """Measure."""
    count = scale.tasks or scale.of(COUNT)
    with _clock() as clock, postgres() as server, redis() as one, redis() as other:
        empty = System(name="empty", server=server, broker=one)
        full = System(name="full", server=server, broker=other)
        empty.create()
        full.create()
        _fall_asleep(empty, 1)  # so that both have a lane for such tasks, which a claim looks at
        parked = _fall_asleep(full, count)
        memory = {system.name: _idle_memory(system) for system in (empty, full)}
        say(f"memory of idle processes, MB: {memory}")
        claims = _claims(empty, full)
        awake = _wake(full, count, clock)
    memory_ratio = round(memory["full"]["worker"] / memory["empty"]["worker"], 3)
    holds = {
        "memory_within_5_percent": memory_ratio <= MOST,
        "claim_p99_within_5_percent": claims["p99_ratio"] <= MOST,
        "claim_cost_within_5_percent": claims["cost_ratio"] <= MOST,
        "all_awake": awake.get("completed", count) == count and awake.get("early", 0) == 0,
    }
    _say_verdict("memory of an idle worker", memory_ratio, noise=1.0)
    _say_verdict("claim p99", claims["p99_ratio"], noise=claims["p99_noise"])
    _say_verdict("database's processor time of a claim", claims["cost_ratio"], noise=claims["cost_noise"])
    say(f"verdict: all woke, none early: {'holds' if holds['all_awake'] else 'DOES NOT HOLD'}")
    return {
        "tasks": count, "parks_per_s": parked, "memory_mb": memory, "claims": claims, "awake": awake, "holds": holds,
    }  # fmt: skip


@contextmanager
def _clock() -> Iterator[Clocks]:
    """Let all processes that are started in the block, the database too, have one clock that can be stepped."""
    with tempfile.TemporaryDirectory(prefix="drumline-clock-") as folder:
        clocks = Clocks(Path(folder))
        environ = clocks.environment(CLOCK)
        for path in (Path(folder), *Path(folder).iterdir()):
            path.chmod(0o755)  # the database runs as another user
        os.environ.update(environ)
        try:
            yield clocks
        finally:
            for name in environ:
                del os.environ[name]


@contextmanager
def _processes(system: System) -> Iterator[dict[str, int]]:
    """Run a scheduler and workers; give their process ids."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="drumline-sleepers-")))
        words: dict[str, tuple[str, ...]] = {"scheduler": ("scheduler",)}
        words |= {f"worker{n}": ("worker", str(APP), "--concurrency", "500") for n in range(WORKERS)}
        yield {
            name: stack.enter_context(system.process(*command, log=folder / name)).pid
            for name, command in words.items()
        }


def _fall_asleep(system: System, count: int) -> int:
    """Let tasks be run until all are asleep; return how many fall asleep in a second."""
    asyncio.run(_submit(system, "nap", count))
    say(f"{count:,} tasks submitted")
    with _processes(system):
        wait_until(lambda: int(system.execute(ASLEEP)) >= max(count // 20, 1), LIMIT_SECONDS, "no task falls asleep")
        began, first = time.perf_counter(), int(system.execute(ASLEEP))
        wait_until(lambda: int(system.execute(ASLEEP)) == count, LIMIT_SECONDS, "not all tasks fell asleep")
        rate = round((count - first) / (time.perf_counter() - began))
    say(f"all are asleep, {rate:,} a second")
    system.settle_down()
    return rate


def _idle_memory(system: System) -> dict[str, float]:
    """Return the private memory of a scheduler and a worker that have nothing to do."""
    with _processes(system) as pids:
        time.sleep(IDLE_SECONDS)
        workers = [private_mb(pid) for name, pid in pids.items() if name.startswith("worker")]
        return {"worker": max(workers), "scheduler": private_mb(pids["scheduler"])}


def _say_verdict(what: str, ratio: float, *, noise: float) -> None:
    """Say whether a ratio holds; not if the empty system differs from itself by more than what is asked for."""
    otherwise = "DOES NOT HOLD" if noise <= MOST else "cannot be told on this machine now"
    said = "holds" if ratio <= MOST else otherwise
    say(f"verdict: {what}, full against empty: {ratio} x (at most {MOST}; empty against itself {noise} x): {said}")


def _claims(empty: System, full: System) -> dict[str, Any]:
    """Claim single tasks from both systems, by turns; return how long a claim takes, and what it costs the database.

    Both have the same load: tasks that are submitted, claimed and settled one after the other, and nothing else. As
    noise the rounds of the empty system are compared with each other, every other one with those between.
    """
    systems = {empty.name: empty, full.name: full}
    taken: dict[str, list[list[float]]] = {name: [] for name in systems}
    costs: dict[str, list[float]] = {name: [] for name in systems}

    async def measure() -> None:
        async with empty.engine() as one, full.engine() as other:
            sessions = {empty.name: await _Session.open(one), full.name: await _Session.open(other)}
            for number in range(ROUNDS + 1):
                for name in sorted(systems, reverse=bool(number % 2)):
                    spent = cpu_seconds([systems[name].server.pid])
                    times = await sessions[name].claim(CLAIMS)
                    if number:  # connections are opened and statements planned by then
                        taken[name].append(times)
                        costs[name].append((cpu_seconds([systems[name].server.pid]) - spent) / CLAIMS * 1e6)

    asyncio.run(measure())
    spread = {name: percentiles(chain.from_iterable(rounds)) for name, rounds in taken.items()}
    cost = {name: round(fmean(each)) for name, each in costs.items()}  # of many: the kernel counts in hundredths
    halves = [percentiles(chain.from_iterable(taken[empty.name][start::2]))["p99"] for start in (0, 1)]
    half_costs = [fmean(costs[empty.name][start::2]) for start in (0, 1)]
    found = {
        "ms": spread,
        "p50_ratio": round(spread["full"]["p50"] / spread["empty"]["p50"], 3),
        "p99_ratio": round(spread["full"]["p99"] / spread["empty"]["p99"], 3),
        "p99_noise": round(max(halves) / min(halves), 3),
        "database_us": cost,
        "cost_ratio": round(cost["full"] / cost["empty"], 3),
        "cost_noise": round(max(half_costs) / min(half_costs), 3),
    }
    say(f"claims: {found}")
    return found


class _Session:
    """A worker in this process that claims one task after the other."""

    def __init__(self, engine: Engine, gateway: ServerGateway, session: Any) -> None:
        self._engine, self._gateway, self._session = engine, gateway, session

    @classmethod
    async def open(cls, engine: Engine) -> "_Session":
        gateway = gateway_of(engine)
        types = (TaskType(name="noop"), TaskType(name="nap"))
        spec = SessionSpec(types=types, queues=(), capacity=1, host="bench", pid=1, version="bench")
        return cls(engine, gateway, await gateway.open_session(spec))

    async def claim(self, count: int) -> list[float]:
        """Submit tasks, claim and settle each, and return the milliseconds that claims took."""
        await self._engine.submissions.submit_many(_requests("noop", count))
        times: list[float] = []
        while len(times) < count:
            began = time.perf_counter()
            claimed = await self._gateway.claim(self._session, limit=1, wait=1.0)
            if claimed:
                times.append((time.perf_counter() - began) * 1000)
            await self._gateway.settle([Report(task.lease, Succeeded()) for task in claimed])
        return times


def _wake(system: System, count: int, clock: Clocks) -> dict[str, Any]:
    """Set the clock of all processes a month on, and wait until every task has completed."""
    if clock.reason is not None:
        return {"skipped": clock.reason}
    before = int(system.execute(COMPLETED))
    with _processes(system):
        time.sleep(IDLE_SECONDS)
        early = int(system.execute(COMPLETED)) - before
        began = time.perf_counter()
        clock.step(CLOCK, LATER)
        wait_until(lambda: int(system.execute(COMPLETED)) - before >= count, LIMIT_SECONDS, "not all tasks have woken")
        seconds = time.perf_counter() - began
    completed = int(system.execute(COMPLETED)) - before
    say(f"{completed:,} tasks have woken in {seconds:.0f} s, {early} too early")
    return {"completed": completed, "early": early, "seconds": round(seconds, 1), "per_s": round(count / seconds)}


def run_virtual(scale: Scale) -> dict[str, Any]:
    """Let tasks sleep in a world of virtual time; return when they woke, in seconds from when they should."""
    count = scale.tasks or scale.of(COUNT)
    app = Drumline("virtual")
    woken: list[float] = []

    @app.task
    async def doze(*, ctx: Context[None] = inject()) -> None:
        await ctx.sleep("month", days=30)
        woken.append(world.now.timestamp() - submitted - MONTH)

    began = time.perf_counter()
    with simulated(app) as world:
        submitted = world.now.timestamp()
        for _ in range(0, count, BATCH):
            app.submit_many([doze.call() for _ in range(BATCH)])
        world.travel(timedelta(days=29, hours=23))
        early = len(woken)
        world.travel("2h")
    holds = {"all_awake": len(woken) == count and early == 0, "on_time": max(woken) <= 1.0}
    seconds = round(time.perf_counter() - began, 1)
    return {
        "tasks": count, "early": early, "woken": len(woken), "late_s": percentiles(woken), "seconds": seconds,
        "holds": holds,
    }  # fmt: skip


async def _submit(system: System, name: str, count: int) -> None:
    async with system.engine() as engine:
        for start in range(0, count, BATCH):
            await engine.submissions.submit_many(_requests(name, min(BATCH, count - start)))


def _requests(name: str, count: int) -> list[TaskRequest]:
    return [TaskRequest(name=name, payload=Raw(b"{}")) for _ in range(count)]
