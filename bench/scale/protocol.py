"""What a remote worker's requests cost: processor time of one API server, PostgreSQL and Redis for each."""

import asyncio
import random
import re
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import msgspec
import uvloop

from bench.scale.fleet import KEY
from bench.scale.fleet_worker import SESSIONS, Connection, Fleet
from bench.scale.meter import cpu_seconds
from bench.scale.rack import Scale, System, wait_until
from bench.scale.report import say
from bench.services import postgres, redis

WORKERS: Final = 400
RATE: Final = 1000.0
"""Heartbeats a second; a fleet of 10,000 has as many at each of two servers."""
SECONDS: Final = 10.0
SETTLED_SECONDS: Final = 2.0
WAIT: Final = 0.5
"""Seconds that a long poll waits; short, so that there are enough of them."""
_URL = re.compile(r" on http://127\.0\.0\.1:(\d+)")


def run(scale: Scale) -> dict[str, Any]:
    """Measure."""
    most = {"DRUMLINE_HTTP_CONNECTIONS_PER_ADDRESS": "4000"}
    with postgres() as server, redis() as broker, ExitStack() as stack:
        system = System(name="protocol", server=server, broker=broker)
        system.create()
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="drumline-protocol-")))
        words = ["--data", str(folder)]
        stack.enter_context(system.process("scheduler", *words, log=folder / "scheduler"))
        log = folder / "api"
        api = stack.enter_context(system.process("api", "--port", "0", *words, log=log, DRUMLINE_API_KEY=KEY, **most))
        wait_until(lambda: bool(_URL.search(log.read_text())), 60, "the server does not start")
        port = int(_URL.findall(log.read_text())[0])
        pids = {"api": api.pid, "postgres": server.pid, "redis": broker.pid}
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(_measure(port, pids, scale))


class Caller:
    """One worker, whose requests are counted when they are answered."""

    def __init__(self, fleet: Fleet, connection: Connection, path: str) -> None:
        self._connection = connection
        self._beat = fleet.request("POST", f"{path}/beat", b'{"held":[]}')
        self._claim = fleet.request("POST", f"{path}/claim", _claim("0" * 16))
        self.answered = 0

    @classmethod
    async def open(cls, fleet: Fleet, port: int) -> "Caller":
        """Connect and register."""
        connection = Connection(port, lambda what: say(f"lost: {what}"))
        await connection.connect()
        said = {"types": [{"name": "noop"}], "capacity": 1, "host": "bench", "pid": 1}
        answer = await connection.ask(fleet.request("POST", SESSIONS, msgspec.json.encode(said)))
        return cls(fleet, connection, f"{SESSIONS}/{msgspec.json.decode(answer)['session']}")

    def beat(self) -> None:
        """Send a heartbeat."""
        self._connection.send(self._beat, self._count)

    def poll(self) -> None:
        """Send a long poll, and after it the next."""
        self._connection.send(b'%b%016x"}' % (self._claim[:-18], random.getrandbits(64)), self._poll_again)

    def _poll_again(self, status: int, content: bytes) -> None:
        self._count(status, content)
        self.poll()

    def _count(self, status: int, content: bytes) -> None:
        if status != 200:
            raise RuntimeError(f"{status} {content[:200]!r}")
        self.answered += 1


def _claim(name: str) -> bytes:
    return msgspec.json.encode({"limit": 1, "wait": WAIT, "claim_id": name})


async def _measure(port: int, pids: dict[str, int], scale: Scale) -> dict[str, Any]:
    fleet = Fleet([port], KEY)
    callers = [await Caller.open(fleet, port) for _ in range(scale.of(scale.workers or WORKERS))]
    seconds = scale.seconds or SECONDS

    def answered() -> int:
        return sum(caller.answered for caller in callers)

    async def window(name: str, act: Callable[[], Any]) -> dict[str, float]:
        before, count = {who: cpu_seconds([pid]) for who, pid in pids.items()}, answered()
        await act()
        count = answered() - count
        cost = {f"{who}_us": round((cpu_seconds([pid]) - before[who]) / count * 1e6, 1) for who, pid in pids.items()}
        say(f"{name}: {count:,}, {cost}")
        return {"count": count, **cost}

    async def beat() -> None:
        loop = asyncio.get_running_loop()
        began, sent = loop.time(), 0
        while (passed := loop.time() - began) < seconds:
            while sent < passed * (scale.rate or RATE):
                callers[sent % len(callers)].beat()
                sent += 1
            await asyncio.sleep(0.002)

    await asyncio.sleep(SETTLED_SECONDS)
    beats = await window("heartbeats", beat)
    for caller in callers:
        caller.poll()
    await asyncio.sleep(SETTLED_SECONDS)
    polls = await window("long polls", lambda: asyncio.sleep(seconds))
    return {"workers": len(callers), "heartbeat": beats, "long_poll": polls}
