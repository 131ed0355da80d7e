"""The demo as services: its workers, the receiver of its webhooks, and the feed.

They talk to a server over HTTP, whether it was there before or is started by the same command.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

import msgspec
from msgspec import Struct

from drumline.aio.events import wait_for_any
from drumline.demo.feed import Feed
from drumline.demo.tasks import app
from drumline.lifecycle.servers import run_dev
from drumline.lifecycle.stages import Service, Stage, run_in_stages
from drumline.lifecycle.stop_signals import stopping_by_signal
from drumline.lifecycle.worker_setup import assemble_worker
from drumline.observe.logging import ProcessHandler
from drumline.sdk.context import TASK_LOG
from drumline.settings import Settings
from drumline.settings.fields import Secret
from drumline.wiring import remote_gateway
from drumline.worker.executors.catalogue import BuiltIn
from drumline.worker.options import WorkerOptions

Say = Callable[[str], None]

VERSION: Final = "1.4.2"
NEXT_VERSION: Final = "1.5.0"
"""The version of the shop that is deployed once every screen has been filled."""
WORKERS: Final = (
    ("checkout-1", VERSION, ("orders", "mail", "newsletter", "default"), 6),
    ("checkout-2", NEXT_VERSION, ("orders", "mail", "newsletter", "default"), 6),
    ("studio-1", VERSION, ("media",), 4),
    ("back office", VERSION, ("reports", "search", "etl"), 6),
)
"""The workers: label, version, queues, and how many tasks at once. The back office has more to do than it can."""
GRACE: Final = 2.0
RECEIVER_PORT = 18_080
"""Where webhooks are received if nothing else is there: subscriptions of a demo that is started again stay right."""
ANSWER_SECONDS = 5.0
_OK = b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"
_BROKEN = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 15\r\nConnection: close\r\n\r\nout for lunch.\n"
REFUSED: Final = (
    "Only webhooks are left out: this server sends none to this machine, as it should.\n"
    "To see them, start it with DRUMLINE_NOTIFY_ALLOW=127.0.0.0/8, or let the demo run its own server."
)


class DemoOptions(Struct, frozen=True, kw_only=True):
    """What is to be shown."""

    seed: int = 7
    rate: float = 3.0
    """Tasks per second once every screen has been filled; none with 0."""
    seconds: float | None = None
    """How long it goes on after that; for ever when None."""


async def run_demo(settings: Settings, options: DemoOptions, *, say: Say) -> None:
    """Run the demo on a server that is running already."""
    with stopping_by_signal() as stopping:
        await run_in_stages([Stage(services_of(settings, options, say), is_purpose=True)], stopping)


async def run_demo_server(settings: Settings, options: DemoOptions, *, say: Say) -> None:
    """Run the demo on a server of its own."""
    notify = msgspec.structs.replace(settings.notify, allow=(*settings.notify.allow, "127.0.0.0/8"))

    def besides(url: str, key: str) -> dict[str, Service]:
        there = msgspec.structs.replace(settings, url=url, api_key=Secret(key))
        return services_of(there, options, say)

    await run_dev(msgspec.structs.replace(settings, notify=notify), [], say=say, besides=besides)


def services_of(settings: Settings, options: DemoOptions, say: Say) -> dict[str, Service]:
    """Return the workers and the feed; when the feed ends, all of them end."""
    _keep_terminal_quiet()
    filled, over = asyncio.Event(), asyncio.Event()
    workers: dict[str, Service] = {}
    for label, version, queues, capacity in WORKERS:
        how = WorkerOptions(
            capacity=capacity, threads=capacity, queues=queues, label=label, app_version=version, grace=GRACE
        )
        working = _working(settings, how, over)
        workers[f"demo worker {label}"] = working if version == VERSION else _after(filled, working, over)
    return {"demo": _feeding(settings, options, say, filled, over), **workers}


def _keep_terminal_quiet() -> None:
    """Let tasks log as they like: it is kept with them, and only trouble is for the terminal."""
    root = logging.getLogger()
    for handler in root.handlers:
        if isinstance(handler, ProcessHandler):
            handler.setLevel(max(root.level, logging.ERROR))
    TASK_LOG.setLevel(logging.INFO)


def _feeding(settings: Settings, options: DemoOptions, say: Say, filled: asyncio.Event, over: asyncio.Event) -> Service:
    async def service(stop: asyncio.Event) -> None:
        feed = Feed(str(settings.url), settings.api_key, seed=options.seed)
        try:
            async with receiving() as receiver:
                filling = asyncio.create_task(feed.fill(receiver), name="fill the screens")
                if await _unless(stop, filling):
                    filled.set()
                    say(f"The demo of seed {options.seed} has something on every screen.")
                    if not feed.sends_webhooks:
                        say(REFUSED)
                    await _go_on(feed, options, stop)
        finally:
            over.set()
            await feed.close()

    return service


async def _go_on(feed: Feed, options: DemoOptions, stop: asyncio.Event) -> None:
    try:
        async with asyncio.timeout(options.seconds):
            await (feed.go_on(options.rate, stop) if options.rate > 0 else stop.wait())
    except TimeoutError:
        return


def _after(begin: asyncio.Event, service: Service, over: asyncio.Event) -> Service:
    """Return a service that begins when `begin` is set."""

    async def later(stop: asyncio.Event) -> None:
        await wait_for_any(begin, stop, over)
        if begin.is_set():
            await service(stop)

    return later


def _working(settings: Settings, how: WorkerOptions, over: asyncio.Event) -> Service:
    async def service(stop: asyncio.Event) -> None:
        async with remote_gateway(settings) as gateway:
            worker = assemble_worker(gateway, [app], how, BuiltIn())
            ended = asyncio.Event()
            async with asyncio.TaskGroup() as group:
                watching = group.create_task(_either(stop, over, ended), name=f"watch over {how.label}")
                await worker.run(ended)
                watching.cancel()

    return service


async def _either(stop: asyncio.Event, over: asyncio.Event, ended: asyncio.Event) -> None:
    await _unless(stop, asyncio.create_task(_set(over), name="wait for the end of the demo"))
    ended.set()


async def _set(event: asyncio.Event) -> None:
    await event.wait()


async def _unless(stop: asyncio.Event, doing: "asyncio.Task[None]") -> bool:
    """Wait for a task, and return whether it was done before the stop."""
    stopping = asyncio.create_task(_set(stop), name="wait to be stopped")
    try:
        await asyncio.wait({doing, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if doing.done():
            doing.result()
            return True
        return False
    finally:
        doing.cancel()
        stopping.cancel()


@asynccontextmanager
async def receiving() -> AsyncIterator[str]:
    """Receive webhooks on this machine while inside, and give the address; the path /broken answers with an error."""
    try:
        server = await asyncio.start_server(_answer, "127.0.0.1", RECEIVER_PORT)
    except OSError:  # another demo has it
        server = await asyncio.start_server(_answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        yield f"http://127.0.0.1:{port}"


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            head = await reader.readuntil(b"\r\n\r\n")
            writer.write(_BROKEN if b" /broken" in head.partition(b"\r\n")[0] else _OK)
            await writer.drain()
    except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        return  # the sender has closed the connection
    finally:
        writer.close()
