"""Remote workers as light as can be: the worker protocol over two bare connections each, all in one event loop."""

import asyncio
import random
import resource
import sys
import time
from collections import Counter
from typing import Any, Final, cast

import msgspec
import uvloop

BEAT_EVERY: Final = 5.0
WAIT: Final = 20
RUN_SECONDS: Final = (0.02, 0.3)
AT_ONCE: Final = 50
FILES: Final = 20_000
SESSIONS: Final = "/api/v1/worker/sessions"


class Refused(Exception):
    """The server answered with an error."""


class Wire(asyncio.Protocol):
    """One connection that is kept; a request at a time."""

    def __init__(self, port: int, key: str) -> None:
        self._port = port
        self._head = f"Host: 127.0.0.1\r\nX-API-Key: {key}\r\nContent-Type: application/json\r\n"
        self._transport: asyncio.Transport | None = None
        self._turn = asyncio.Lock()
        self._answer: asyncio.Future[tuple[int, bytes]] | None = None
        self._received = b""

    async def ask(self, method: str, path: str, said: Any = None) -> Any:
        """Send a request and return its answer; a wire that breaks raises."""
        async with self._turn:
            loop = asyncio.get_running_loop()
            if self._transport is None:
                await loop.create_connection(lambda: self, "127.0.0.1", self._port)
            body = b"" if said is None else msgspec.json.encode(said)
            head = f"{method} {path} HTTP/1.1\r\n{self._head}Content-Length: {len(body)}\r\n\r\n"
            self._answer = loop.create_future()
            if self._transport is None:
                raise ConnectionResetError
            self._transport.write(head.encode() + body)
            status, content = await self._answer
        if status >= 300:
            raise Refused(f"{status} {content[:200]!r}")
        return msgspec.json.decode(content) if content else None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the connection."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's are none by name

    def data_received(self, data: bytes) -> None:
        """Give the answer to who asked, when it is complete."""
        self._received += data
        end = self._received.find(b"\r\n\r\n")
        if end < 0:
            return
        head = self._received[:end].lower()
        at = head.find(b"content-length:")
        length = 0 if at < 0 else int(head[at + 15 :].split(b"\r\n", 1)[0])
        if len(self._received) < end + 4 + length:
            return
        content, self._received = self._received[end + 4 : end + 4 + length], b""
        if self._answer is not None and not self._answer.done():
            self._answer.set_result((int(head[9:12]), content))

    def connection_lost(self, error: Exception | None) -> None:
        """Fail what waits for an answer."""
        self._transport = None
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error or ConnectionResetError("hung up"))

    def close(self) -> None:
        """Hang up."""
        if self._transport is not None:
            self._transport.close()


class Fleet:
    """Workers that wait for tasks, pretend to run them, and settle; what went wrong is counted in `troubles`."""

    def __init__(self, ports: list[int], key: str) -> None:
        self._ports = ports
        self._key = key
        self._members: list[Member] = []
        self._chance = random.Random(7)
        self.troubles: Counter[str] = Counter()
        self.latencies: list[float] = []
        self.beats: list[float] = []
        self.submitted = 0
        self.done = 0

    async def open(self, count: int, first: int = 0) -> None:
        """Register so many workers, some at a time."""
        room = asyncio.Semaphore(AT_ONCE)
        self._members = [Member(self, number) for number in range(first, first + count)]

        async def open_one(member: "Member") -> None:
            async with room:
                await member.open()

        await asyncio.gather(*[open_one(member) for member in self._members])

    def wire(self, number: int) -> Wire:
        """Return a wire to one of the servers."""
        return Wire(self._ports[number % len(self._ports)], self._key)

    def chance(self, low: float, high: float) -> float:
        """Return a number in between."""
        return self._chance.uniform(low, high)

    async def work(self) -> None:
        """Let all of them claim, until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                for member in self._members:
                    group.create_task(member.claim())
        except asyncio.CancelledError:
            return

    async def submit(self, rate: float, seconds: float) -> None:
        """Submit tasks at a steady rate, one by one."""
        wires = [self.wire(number) for number in range(8)]
        loop = asyncio.get_running_loop()
        began = loop.time()
        under_way: set[asyncio.Task[Any]] = set()
        for turn in range(int(rate * seconds)):
            await asyncio.sleep(max(0.0, began + turn / rate - loop.time()))
            said = {"name": "noop", "payload": {"sent_ns": time.time_ns()}}
            sending = asyncio.create_task(self._submit(wires[turn % len(wires)], said))
            under_way.add(sending)
            sending.add_done_callback(under_way.discard)
        await asyncio.gather(*under_way)
        for wire in wires:
            wire.close()

    async def _submit(self, wire: Wire, said: dict[str, Any]) -> None:
        try:
            await wire.ask("POST", "/api/v1/tasks", said)
        except (OSError, EOFError, Refused) as error:
            self.troubles[f"submit: {type(error).__name__} {error}"[:120]] += 1
        else:
            self.submitted += 1

    async def close(self) -> None:
        """Let all of them leave in order."""
        room = asyncio.Semaphore(AT_ONCE)

        async def close_one(member: "Member") -> None:
            async with room:
                await member.close()

        await asyncio.gather(*[close_one(member) for member in self._members], return_exceptions=True)


class Member:
    """One worker: a connection for its long polls, one for all else, to two different servers."""

    def __init__(self, fleet: Fleet, number: int) -> None:
        self._fleet = fleet
        self._number = number
        self._polls = fleet.wire(number + 1)
        self._talks = fleet.wire(number)
        self._path = ""
        self._held: dict[str, Any] = {}
        self._running: set[asyncio.Task[None]] = set()
        self._beating: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Register."""
        said = {"types": [{"name": "noop"}], "capacity": 4, "host": "fleet", "pid": self._number}
        self._path = f"{SESSIONS}/{(await self._talks.ask('POST', SESSIONS, said))['session']}"
        self._beating = asyncio.create_task(self.beat())

    async def beat(self) -> None:
        """Beat every five seconds, until cancelled."""
        await asyncio.sleep(self._fleet.chance(0, BEAT_EVERY))
        while True:
            began = time.perf_counter()
            try:
                answer = await self._talks.ask("POST", f"{self._path}/beat", {"held": list(self._held.values())})
            except (OSError, EOFError, Refused) as error:
                self._trouble("beat", error)
            else:
                self._fleet.beats.append((time.perf_counter() - began) * 1000)
                self._fleet.troubles.update({"closed": 1} if not answer["is_open"] else {})
                self._fleet.troubles.update(["lost" for task in answer["lost"] if task in self._held])
            await asyncio.sleep(BEAT_EVERY)

    async def claim(self) -> None:
        """Wait for tasks by long polls, until cancelled."""
        while True:
            said = {"limit": 4, "wait": WAIT, "claim_id": f"{random.getrandbits(64):016x}"}
            try:
                answer = await self._polls.ask("POST", f"{self._path}/claim", said)
            except (OSError, EOFError, Refused) as error:
                self._trouble("claim", error)
                await asyncio.sleep(1)
                continue
            for task in answer["tasks"]:
                self._fleet.latencies.append((time.time_ns() - task["payload"]["sent_ns"]) / 1e6)
                self._held[task["lease"]["task"]] = task["lease"]
                running = asyncio.create_task(self._run(task["lease"]))
                self._running.add(running)
                running.add_done_callback(self._running.discard)

    async def close(self) -> None:
        """Leave in order."""
        if self._beating is not None:
            self._beating.cancel()
        self._polls.close()  # hangs up in the middle of a poll
        wire = self._fleet.wire(self._number)
        await wire.ask("DELETE", self._path)
        wire.close()
        self._talks.close()

    async def _run(self, lease: dict[str, Any]) -> None:
        await asyncio.sleep(self._fleet.chance(*RUN_SECONDS))
        said = {"reports": [{"lease": lease, "outcome": "succeeded", "result": None}]}
        try:
            answer = await self._talks.ask("POST", f"{self._path}/settle", said)
        except (OSError, EOFError, Refused) as error:
            self._trouble("settle", error)
            return
        del self._held[lease["task"]]
        if answer["reports"][0].get("state") == "completed":
            self._fleet.done += 1
        else:
            self._fleet.troubles[f"settled: {answer['reports'][0]}"] += 1

    def _trouble(self, what: str, error: Exception) -> None:
        self._fleet.troubles[f"{what}: {type(error).__name__} {error}"[:120]] += 1


async def _serve(ports: list[int], key: str, first: int, count: int) -> None:
    """Be a part of the fleet, told by lines what to do: open, then work, and when told to stop, leave and tell all."""
    fleet = Fleet(ports, key)
    loop = asyncio.get_running_loop()
    commands = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(commands), sys.stdin)
    await fleet.open(count, first)
    print("opened", flush=True)
    await commands.readline()
    working = asyncio.create_task(fleet.work())
    await commands.readline()
    working.cancel()
    await working
    await fleet.close()
    told = {"latencies": fleet.latencies, "beats": fleet.beats, "troubles": fleet.troubles, "done": fleet.done}
    print(msgspec.json.encode(told).decode(), flush=True)


def main() -> None:
    """Run the workers that the command line names: ports, key, number of the first, and how many."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, FILES), hard))
    ports, key, first, count = sys.argv[1:]
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve([int(port) for port in ports.split(",")], key, int(first), int(count)))


if __name__ == "__main__":
    main()
