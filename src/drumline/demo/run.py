"""The demonstration as services: its workers, the receiver of its webhooks, and the feed.

They talk to a server over HTTP, whether it was there before or is started by the same command.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Final

import msgspec
from msgspec import Struct

from drumline.demo.feed import Feed
from drumline.demo.receiver import receiving
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

CREWS: Final = (
    ("checkout-1", ("orders", "mail", "newsletter", "default"), 6),
    ("checkout-2", ("orders", "mail", "newsletter", "default"), 6),
    ("studio-1", ("media",), 4),
    ("back office", ("reports", "search", "etl"), 6),
)
"""The workers: label, queues, and how many tasks at once. The back office has more to do than it can."""
GRACE: Final = 2.0
REFUSED: Final = (
    "Only webhooks are left out: this server sends none to this machine, as it should.\n"
    "To see them, start it with DRUMLINE_NOTIFY_ALLOW=127.0.0.0/8, or let the demo run its own server."
)


class Story(Struct, frozen=True, kw_only=True):
    """What is to be shown."""

    seed: int = 7
    rate: float = 3.0
    """Tasks per second once every screen has been filled; none with 0."""
    seconds: float | None = None
    """How long it goes on after that; for ever when None."""


async def run_demo(settings: Settings, story: Story, *, say: Say) -> None:
    """Show a story on a server that is running already."""
    with stopping_by_signal() as stopping:
        await run_in_stages([Stage(services_of(settings, story, say), is_purpose=True)], stopping)


async def run_demo_server(settings: Settings, story: Story, *, say: Say) -> None:
    """Show a story on a server of its own."""
    notify = msgspec.structs.replace(settings.notify, allow=(*settings.notify.allow, "127.0.0.0/8"))

    def besides(url: str, key: str) -> dict[str, Service]:
        there = msgspec.structs.replace(settings, url=url, api_key=Secret(key))
        return services_of(there, story, say)

    await run_dev(msgspec.structs.replace(settings, notify=notify), [], say=say, besides=besides)


def services_of(settings: Settings, story: Story, say: Say) -> dict[str, Service]:
    """Return the workers and the feed; when the story is at its end, all of them end."""
    _keep_terminal_quiet()
    over = asyncio.Event()
    workers = {
        f"demo worker {label}": _working(settings, label, queues, capacity, over) for label, queues, capacity in CREWS
    }
    return {"demo": _feeding(settings, story, say, over), **workers}


def _keep_terminal_quiet() -> None:
    """Let tasks log as they like: it is kept with them, and only trouble is for the terminal."""
    root = logging.getLogger()
    for handler in root.handlers:
        if isinstance(handler, ProcessHandler):
            handler.setLevel(max(root.level, logging.ERROR))
    TASK_LOG.setLevel(logging.INFO)


def _feeding(settings: Settings, story: Story, say: Say, over: asyncio.Event) -> Service:
    async def service(stop: asyncio.Event) -> None:
        feed = Feed(str(settings.url), settings.api_key, seed=story.seed)
        try:
            async with receiving() as receiver:
                filling = asyncio.create_task(feed.fill(receiver), name="fill the screens")
                if await _unless(stop, filling):
                    say(f"The demo of seed {story.seed} has something on every screen.")
                    if not feed.is_told:
                        say(REFUSED)
                    await _go_on(feed, story, stop)
        finally:
            over.set()
            await feed.close()

    return service


async def _go_on(feed: Feed, story: Story, stop: asyncio.Event) -> None:
    try:
        async with asyncio.timeout(story.seconds):
            await (feed.go_on(story.rate, stop) if story.rate > 0 else stop.wait())
    except TimeoutError:
        return


def _working(settings: Settings, label: str, queues: tuple[str, ...], capacity: int, over: asyncio.Event) -> Service:
    async def service(stop: asyncio.Event) -> None:
        async with remote_gateway(settings) as gateway:
            how = WorkerOptions(capacity=capacity, threads=capacity, queues=queues, label=label, grace=GRACE)
            worker = assemble_worker(gateway, [app], how, BuiltIn())
            ended = asyncio.Event()
            async with asyncio.TaskGroup() as group:
                watching = group.create_task(_either(stop, over, ended), name=f"watch over {label}")
                await worker.run(ended)
                watching.cancel()

    return service


async def _either(stop: asyncio.Event, over: asyncio.Event, ended: asyncio.Event) -> None:
    await _unless(stop, asyncio.create_task(_set(over), name="wait for the end of the story"))
    ended.set()


async def _set(event: asyncio.Event) -> None:
    await event.wait()


async def _unless(stop: asyncio.Event, doing: "asyncio.Task[None]") -> bool:
    """Wait for something, and tell whether it was done; if told to stop first, it is left."""
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
