"""Remote workers as light as can be: the worker protocol by callbacks on two bare connections each, in one event loop.

The simulated side must not be what fills the processors, so a worker here has no task, no lock and no HTTP client: its
requests are bytes that are made once, and an answer is looked into only if it has a task.
"""

import asyncio
import gc
import random
import resource
import sys
import time
from collections import Counter, deque
from collections.abc import Callable
from typing import Any, Final, cast

import msgspec
import uvloop

BEAT_EVERY: Final = 5.0
WAIT: Final = 20
RUN_SECONDS: Final = (0.02, 0.3)
AT_ONCE: Final = 50
AGAIN_SECONDS: Final = 1.0
"""After which a worker connects again whose connection was closed."""
FILES: Final = 20_000
SESSIONS: Final = "/api/v1/worker/sessions"
LENGTH: Final = b"content-length: "
NO_TASKS: Final = b'{"tasks":[]}'
NOTHING_NEW: Final = b'{"is_open":true,"lost":[],"cancelled":[],"should_drain":false'

Answered = Callable[[int, bytes], None]


class Connection(asyncio.Protocol):
    """A connection that is kept, one request at a time: those that come meanwhile wait."""

    def __init__(self, port: int, lost: Callable[[str], None]) -> None:
        self._port = port
        self._lost = lost
        self._transport: asyncio.Transport | None = None
        self._received = b""
        self._answered: Answered | None = None
        self._waiting: deque[tuple[bytes, Answered]] = deque()
        self._is_left = False

    async def connect(self) -> None:
        """Connect, and send what waits."""
        await asyncio.get_running_loop().create_connection(lambda: self, "127.0.0.1", self._port)

    def send(self, request: bytes, answered: Answered) -> None:
        """Send a request when the one before it is answered; `answered` is called with its status and content."""
        if self._answered is None and self._transport is not None:
            self._answered = answered
            self._transport.write(request)
        else:
            self._waiting.append((request, answered))

    async def ask(self, request: bytes) -> bytes:
        """Send a request and return what it is answered with."""
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

        def answered(status: int, content: bytes) -> None:
            if status < 300:
                answer.set_result(content)
            else:
                answer.set_exception(OSError(f"{status} {content[:200]!r}"))

        self.send(request, answered)
        return await answer

    def leave(self) -> None:
        """Hang up, on purpose."""
        self._is_left = True
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the connection, and send what waits."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's are none by name
        self._next()

    def data_received(self, data: bytes) -> None:
        """Give the answer to the request's callback, when it is complete."""
        if self._received:
            data = self._received + data
        end = data.find(b"\r\n\r\n")
        at = data.find(LENGTH, 0, end) if end > 0 else -1
        length = int(data[at + len(LENGTH) : data.find(b"\r", at)]) if at > 0 else 0
        if end < 0 or len(data) < end + 4 + length:
            self._received = data
            return
        self._received = b""
        answered, self._answered = self._answered, None
        if answered is not None:
            answered(int(data[9:12]), data[end + 4 :])
        if self._waiting and self._answered is None:
            self._next()

    def connection_lost(self, error: Exception | None) -> None:
        """Say so, and connect again after a while."""
        self._transport, self._answered, self._received = None, None, b""
        if not self._is_left:
            self._lost(f"hung up {error or ''}")
            asyncio.get_running_loop().call_later(AGAIN_SECONDS, self._connect_again)

    def _next(self) -> None:
        if self._waiting:
            self.send(*self._waiting.popleft())

    def _connect_again(self) -> None:
        connecting = asyncio.get_running_loop().create_task(self.connect())
        connecting.add_done_callback(self._connected)

    def _connected(self, connecting: "asyncio.Task[None]") -> None:
        if connecting.exception() is not None:
            self._lost(f"refused {connecting.exception()}")
            asyncio.get_running_loop().call_later(AGAIN_SECONDS, self._connect_again)


class Fleet:
    """Workers that wait for tasks, pretend to run them, and settle; what went wrong is counted in `troubles`."""

    def __init__(self, ports: list[int], key: str) -> None:
        self._ports = ports
        self._head = f" HTTP/1.1\r\nHost: 127.0.0.1\r\nX-API-Key: {key}\r\nContent-Type: application/json\r\n"
        self._members: list[Member] = []
        self._chance = random.Random(7)
        self.troubles: Counter[str] = Counter()
        self.latencies: list[float] = []
        self.beats: list[float] = []
        self.polls = 0
        self.done = 0
        self.refused = 0
        """Registrations that were sent again."""

    async def open(self, count: int, first: int = 0) -> None:
        """Register so many workers, some at a time."""
        self._members = [Member(self, number) for number in range(first, first + count)]
        failed = await self._each(Member.open)
        if failed:
            raise failed[0]

    async def close(self) -> None:
        """Let all of them leave in order; all at once, so some may be refused, and are reaped later."""
        await self._each(Member.close)

    def work(self) -> None:
        """Let all of them claim."""
        for member in self._members:
            member.claim()

    def port(self, number: int) -> int:
        """Return one of the servers."""
        return self._ports[number % len(self._ports)]

    def request(self, method: str, path: str, body: bytes = b"") -> bytes:
        """Return a request as it goes over the wire."""
        return f"{method} {path}{self._head}Content-Length: {len(body)}\r\n\r\n".encode() + body

    def chance(self, low: float, high: float) -> float:
        """Return a number in between."""
        return self._chance.uniform(low, high)

    def counts(self) -> dict[str, int]:
        """Return how many requests were answered so far."""
        return {"beats": len(self.beats), "polls": self.polls, "done": self.done}

    async def _each(self, act: Callable[["Member"], Any]) -> list[BaseException]:
        """Let each of them do something, some at a time; return what went wrong."""
        room = asyncio.Semaphore(AT_ONCE)

        async def act_in_turn(member: "Member") -> None:
            async with room:
                await act(member)

        done = await asyncio.gather(*map(act_in_turn, self._members), return_exceptions=True)
        return [error for error in done if error is not None]


class Member:
    """One worker: a connection for its long polls, one for all else, to two different servers."""

    def __init__(self, fleet: Fleet, number: int) -> None:
        self._fleet = fleet
        self._number = number
        self._polls = Connection(fleet.port(number + 1), self._poll_lost)
        self._talks = Connection(fleet.port(number), self._talk_lost)
        self._path = ""
        self._claim, self._idle_beat = b"", b""
        self._held: dict[str, Any] = {}
        self._beat_at = 0.0
        self._is_beating = False
        self._timer: asyncio.TimerHandle | None = None

    async def open(self) -> None:
        """Register, and beat from then on."""
        said = {"types": [{"name": "noop"}], "capacity": 4, "host": "fleet", "pid": self._number}
        await asyncio.gather(self._talks.connect(), self._polls.connect())
        answer = await self._register(self._fleet.request("POST", SESSIONS, msgspec.json.encode(said)))
        self._path = f"{SESSIONS}/{msgspec.json.decode(answer)['session']}"
        body = msgspec.json.encode({"limit": 4, "wait": WAIT, "claim_id": "0" * 16})
        self._claim = self._fleet.request("POST", f"{self._path}/claim", body)
        self._idle_beat = self._fleet.request("POST", f"{self._path}/beat", b'{"held":[]}')
        self._beat_after(self._fleet.chance(0, BEAT_EVERY))

    async def _register(self, request: bytes) -> bytes:
        """Register, as the protocol says: what is answered with an error of the server is sent again after a second."""
        while True:
            try:
                return await self._talks.ask(request)
            except OSError as error:
                if not str(error).startswith("503"):
                    raise
                self._fleet.refused += 1
                await asyncio.sleep(AGAIN_SECONDS)

    async def close(self) -> None:
        """Leave in order; the connection of the polls is closed in the middle of one."""
        if self._timer is not None:
            self._timer.cancel()
        self._polls.leave()
        await self._talks.ask(self._fleet.request("DELETE", self._path))
        self._talks.leave()

    def claim(self) -> None:
        """Wait for tasks by a long poll, and after it by the next."""
        # The last bytes of the body are the name of the claim, a quote and a brace.
        self._polls.send(b'%b%016x"}' % (self._claim[:-18], random.getrandbits(64)), self._claimed)

    def _claimed(self, status: int, content: bytes) -> None:
        self._fleet.polls += 1
        if content != NO_TASKS:
            self._take(status, content)
        self.claim()

    def _take(self, status: int, content: bytes) -> None:
        if status != 200:
            self._trouble("claim", status, content)
            return
        now = time.time_ns()
        for task in msgspec.json.decode(content)["tasks"]:
            lease = task["lease"]
            self._fleet.latencies.append((now - task["payload"]["sent_ns"]) / 1e6)
            self._held[lease["task"]] = lease
            running = self._fleet.chance(*RUN_SECONDS)
            asyncio.get_running_loop().call_later(running, self._settle, lease)

    def _settle(self, lease: dict[str, Any]) -> None:
        said = {"reports": [{"lease": lease, "outcome": "succeeded", "result": None}]}
        request = self._fleet.request("POST", f"{self._path}/settle", msgspec.json.encode(said))
        self._talks.send(request, lambda status, content: self._settled(lease, status, content))

    def _settled(self, lease: dict[str, Any], status: int, content: bytes) -> None:
        if status != 200:
            self._trouble("settle", status, content)
            return
        del self._held[lease["task"]]
        if b'"state":"completed"' in content:
            self._fleet.done += 1
        else:
            self._trouble("settled", status, content)

    def _beat_after(self, seconds: float) -> None:
        self._timer = asyncio.get_running_loop().call_later(seconds, self._beat)

    def _beat(self) -> None:
        self._beat_after(BEAT_EVERY)
        if self._is_beating:
            self._fleet.troubles["beat: no answer in time"] += 1
            return
        self._is_beating, self._beat_at = True, time.perf_counter()
        request = self._idle_beat
        if self._held:
            body = msgspec.json.encode({"held": list(self._held.values())})
            request = self._fleet.request("POST", f"{self._path}/beat", body)
        self._talks.send(request, self._beaten)

    def _beaten(self, status: int, content: bytes) -> None:
        self._is_beating = False
        self._fleet.beats.append((time.perf_counter() - self._beat_at) * 1000)
        if content.startswith(NOTHING_NEW):
            return
        answer = msgspec.json.decode(content) if status == 200 else {}
        if not answer.get("is_open") or any(task in self._held for task in answer["lost"]):
            self._trouble("beat", status, content)

    def _poll_lost(self, what: str) -> None:
        self._fleet.troubles[f"claim: {what}"] += 1
        asyncio.get_running_loop().call_later(AGAIN_SECONDS, self.claim)

    def _talk_lost(self, what: str) -> None:
        self._is_beating = False
        self._fleet.troubles[f"beat or settle: {what}"] += 1

    def _trouble(self, what: str, status: int, content: bytes) -> None:
        self._fleet.troubles[f"{what}: {status} {content[:80].decode()}"] += 1


async def _serve(ports: list[int], key: str, first: int, count: int) -> None:
    """Be a part of the fleet: open, then do what each line says: work, count, or leave and tell all."""
    fleet = Fleet(ports, key)
    commands = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(commands), sys.stdin)
    await fleet.open(count, first)
    _tell("opened")
    while (command := await commands.readline()) == b"count\n" or command == b"work\n":
        if command == b"work\n":
            fleet.work()
        _tell(fleet.counts())
    await fleet.close()
    told = {"latencies": fleet.latencies, "beats": fleet.beats, "troubles": fleet.troubles}
    _tell(told | {"done": fleet.done, "refused": fleet.refused})


def _tell(said: Any) -> None:
    print(msgspec.json.encode(said).decode(), flush=True)


def main() -> None:
    """Run the workers that the command line names: ports, key, number of the first, and how many."""
    gc.disable()  # it would stop all of them for half a second at a time, which no real worker does
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, FILES), hard))
    ports, key, first, count = sys.argv[1:]
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve([int(port) for port in ports.split(",")], key, int(first), int(count)))


if __name__ == "__main__":
    main()
