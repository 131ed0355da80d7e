"""The network between clients, remote workers and API servers: it delays, loses, and breaks when a process dies."""

import asyncio
from random import Random
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import httpx
import msgspec

from drumline.core.errors import Unavailable
from drumline.testing.clock import current_process
from drumline.testing.loop import SimulatedProcess

if TYPE_CHECKING:
    from tests.simulation.world import Member, World

ANSWER_SECONDS: Final = 15.0
DELAY: Final = 0.01
"""Seconds that each way takes at most."""
NEWS: Final = ("wants_held", "wants_nonce", "tells_stops", "answers_partly", "wants_usage")
"""What servers say of themselves to a worker, and those of earlier versions do not."""


class Answer(NamedTuple):
    """What a server answers."""

    status: int
    headers: list[tuple[bytes, bytes]]
    content: bytes

    @property
    def body(self) -> Any:
        """What is in it, read as JSON."""
        return msgspec.json.decode(self.content) if self.content else None


class Request(NamedTuple):
    """What is asked of a server."""

    method: str
    path: str
    headers: list[tuple[bytes, bytes]]
    content: bytes = b""


class Refused(Exception):
    """No server took the request: it has had no effect."""


class NoAnswer(Exception):
    """It is unknown whether the request had an effect."""


class Exchange:
    """A request under way: its answer, and whether the caller has hung up."""

    def __init__(self, caller: SimulatedProcess | None, server: SimulatedProcess) -> None:
        loop = asyncio.get_running_loop()
        self.caller = caller
        self.server = server
        self.answer: asyncio.Future[Answer] = loop.create_future()
        self.gone: asyncio.Future[None] = loop.create_future()

    def hang_up(self) -> None:
        """Let the server know that nobody waits any more."""
        if not self.gone.done():
            self.gone.set_result(None)

    def reset(self) -> None:
        """Let the caller know that the connection broke."""
        if not self.answer.done():
            self.answer.set_exception(NoAnswer("the connection was reset"))


class Network:
    """Carries requests to servers, and answers back."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self._random = Random(f"network {world.plan.seed}")
        self._exchanges: dict[Exchange, None] = {}
        world.killed.append(self._end_connections_of)

    async def request(self, request: Request, *, seconds: float = ANSWER_SECONDS) -> Answer:
        """Send a request to any server, and return its answer."""
        world = self._world
        servers = [member for member in world.members.values() if member.kind == "api"]
        member = self._random.choice(servers)
        await asyncio.sleep(self._random.random() * DELAY)
        if not member.process.is_alive or member.app is None or member.stop.is_set():
            raise Refused(f"{member.name} is down")
        await self._pass(member, seconds)
        exchange = Exchange(current_process(), member.process)
        self._exchanges[exchange] = None
        world.loop.start(member.process, self._serve(member, request, exchange), name=request.path)
        try:
            async with asyncio.timeout(seconds):
                answer = await exchange.answer
        except TimeoutError:
            raise NoAnswer("the server did not answer") from None
        finally:
            self._exchanges.pop(exchange, None)
            exchange.hang_up()
        await self._pass(member, seconds)
        await asyncio.sleep(self._random.random() * DELAY)
        return answer

    async def _pass(self, member: "Member", seconds: float) -> None:
        """Lose what is on its way as often as the server's wires lose."""
        if member.wire.loss and self._random.random() < member.wire.loss:
            await asyncio.sleep(seconds)
            raise NoAnswer("lost on the way")

    def _end_connections_of(self, process: SimulatedProcess) -> None:
        """Reset what waits for a server that was killed, and hang up for a caller that was."""
        for exchange in list(self._exchanges):
            if exchange.server is process:
                exchange.reset()
            if exchange.caller is process:
                del self._exchanges[exchange]
                exchange.hang_up()

    async def _serve(self, member: "Member", request: Request, exchange: Exchange) -> None:
        """Have a server answer a request; this runs in the server's process."""
        route, _, query = request.path.partition("?")
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": request.method,
            "scheme": "http", "path": route, "raw_path": route.encode(), "query_string": query.encode(),
            "root_path": "", "headers": request.headers, "client": ("192.0.2.1", 4711), "server": ("drumline", 80),
            "state": {},
        }  # fmt: skip
        received = False
        parts: list[bytes] = []
        start: dict[str, Any] = {}

        async def receive() -> dict[str, Any]:
            nonlocal received
            if received:
                await asyncio.shield(exchange.gone)
                return {"type": "http.disconnect"}
            received = True
            return {"type": "http.request", "body": request.content, "more_body": False}

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                start.update(message)
            else:
                parts.append(message.get("body", b""))

        await member.app(scope, receive, send)
        if not exchange.answer.done():
            exchange.answer.set_result(Answer(start["status"], list(start["headers"]), b"".join(parts)))


class WorkerTransport(httpx.AsyncBaseTransport):
    """The way of a remote worker to the servers: the network, behind a wire of its own."""

    def __init__(self, network: Network, member: "Member", *, is_old: bool) -> None:
        self._network = network
        self._wire = member.wire
        self._is_old = is_old
        """Whether it speaks with servers of an earlier version."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Carry a request there and the answer back; whatever is lost is an error of httpx."""
        headers = [(name.lower(), value) for name, value in request.headers.raw]
        sent = Request(request.method, request.url.raw_path.decode(), headers, await request.aread())
        try:
            await self._wire.send()
            answer = await self._network.request(sent, seconds=request.extensions["timeout"]["read"])
            await self._wire.receive()
        except (Refused, Unavailable) as error:
            raise httpx.ConnectError(str(error)) from error
        except NoAnswer as error:
            raise httpx.ReadError(str(error)) from error
        content = _without_news(answer.content) if self._is_old else answer.content
        kept = [(name, value) for name, value in answer.headers if name != b"content-length"]
        return httpx.Response(answer.status, headers=kept, content=content)


def _without_news(content: bytes) -> bytes:
    """Return an answer as a server of an earlier version would give it."""
    body = msgspec.json.decode(content) if content else None
    if not isinstance(body, dict) or not body.keys() & set(NEWS):
        return content
    return msgspec.json.encode({key: value for key, value in body.items() if key not in NEWS})
