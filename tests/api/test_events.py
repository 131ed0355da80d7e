"""The stream of events: everything that changes, resumed where it was cut, for many at once."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from drumline.aio.events import StopEvent
from drumline.api import events as events_module
from drumline.api.app import create_app
from drumline.api.configured_keys import ConfiguredKeys
from drumline.api.operation import Info
from drumline.api.server import Server
from drumline.core.clock import Instant
from drumline.core.ids import TaskId
from drumline.core.outcome import ErrorInfo, Failed
from drumline.core.session import SessionSpec
from drumline.core.task import Submitted, TaskRequest
from drumline.engine import feed as feed_module
from drumline.engine.engine import Engine
from tests.api.conftest import KEY, Ada, problem

Body = dict[str, Any]
SECONDS = 20.0


@pytest.fixture
async def address(engine: Engine, stop: StopEvent, tmp_path: Path) -> AsyncIterator[str]:
    """A real server: streams need connections that can be cut."""
    app = create_app(engine, keys=ConfiguredKeys([KEY]), info=Info(version="1", disk=str(tmp_path)), stop=stop)
    server = Server(app, port=0)
    serving = asyncio.create_task(server.run(stop))
    yield f"http://127.0.0.1:{server.port}"
    stop.set()
    await serving


class Stream:
    """An open stream, as a client reads it."""

    def __init__(self, reply: httpx.Response) -> None:
        self.reply = reply
        self._lines = reply.aiter_lines()
        self.last_id: str | None = None

    async def message(self) -> Body:
        """Return the next message: its fields by name, and comments as `comment`."""
        fields: Body = {}
        async with asyncio.timeout(SECONDS):
            async for line in self._lines:
                if not line:
                    if fields:
                        break
                    continue
                name, _, value = line.partition(": ")
                fields[name or "comment"] = value
            else:
                raise EOFError
        self.last_id = fields.get("id", self.last_id)
        return fields

    async def event(self) -> Body:
        """Return the next event, passing over comments."""
        while True:
            message = await self.message()
            if "data" in message:
                return {"sse": message["event"], **json.loads(message["data"])}

    async def events(self, count: int) -> list[Body]:
        return [await self.event() for _ in range(count)]


@asynccontextmanager
async def following(
    address: str, last_id: str | None = None, tenant: str | None = None, key: str = KEY, **query: Any
) -> AsyncIterator[Stream]:
    given = {"X-API-Key": key, "Last-Event-ID": last_id, "X-Tenant": tenant}
    headers = {name: value for name, value in given.items() if value is not None}
    async with (
        httpx.AsyncClient(timeout=SECONDS) as client,
        client.stream("GET", f"{address}/api/v1/events", headers=headers, params=query) as reply,
    ):
        assert reply.status_code == 200, await reply.aread()
        stream = Stream(reply)
        await stream.message()  # the greeting: from here on it hears
        stream.last_id = last_id
        yield stream


async def submit(engine: Engine, name: str = "work", *, tenant: str = "default", **fields: Any) -> TaskId:
    submitted = await engine.submissions.submit(TaskRequest(name=name, **fields), tenant=tenant)
    return submitted.id


async def test_what_changes_is_told_as_it_changes(engine: Engine, address: str, ada: Ada) -> None:
    async with following(address) as stream:
        task = await submit(engine)
        claimed = await ada.claim()
        await ada.settle(claimed, Failed(ErrorInfo("ValueError", "no"), permanent=True))
        events = await stream.events(3)

    assert stream.reply.headers["content-type"] == "text/event-stream"
    assert [event["type"] for event in events] == [
        "drumline.task.submitted", "drumline.task.claimed", "drumline.task.failed",
    ]  # fmt: skip
    assert {event["subject"] for event in events} == {task}
    assert [event["sse"] for event in events] == [event["type"] for event in events]
    assert events[2]["data"]["error"]["message"] == "no"
    assert stream.last_id == events[2]["id"]


async def test_a_stream_that_was_cut_goes_on_where_it_was(engine: Engine, address: str) -> None:
    tasks = [await submit(engine) for _ in range(3)]
    async with following(address) as stream:
        tasks.append(await submit(engine))
        first = await stream.event()
    tasks += [await submit(engine) for _ in range(5)]

    async with following(address, stream.last_id) as stream:
        missed = await stream.events(5)
        tasks.append(await submit(engine))
        live = await stream.event()

    assert first["subject"] == tasks[3]
    assert [event["subject"] for event in [*missed, live]] == tasks[4:]


async def test_a_stream_resumes_on_another_server(engine: Engine, address: str) -> None:
    async with following(address) as stream:
        await submit(engine)
        await stream.event()
    missed = [await submit(engine) for _ in range(1200)]
    engine.feed = feed_module.EventFeed(engine.store.events)  # as another process would have it: it remembers nothing

    async with following(address, stream.last_id) as stream:
        events = await stream.events(1200)

    assert [event["subject"] for event in events] == missed


async def test_what_is_missed_within_one_row_is_told(engine: Engine, address: str) -> None:
    async with following(address) as stream:
        await engine.submissions.submit_many([TaskRequest(name="work") for _ in range(4)], tenant="default")
        second = (await stream.events(2))[1]

    async with following(address, second["id"]) as stream:
        rest = await stream.events(2)

    positions = {event["id"].split("-")[1] for event in [second, *rest]}
    assert len(positions) == 1, "the four were not one row, and nothing was tested"
    assert [int(event["id"].split("-")[2]) for event in rest] == [2, 3]


@pytest.mark.parametrize("last_id", ["00000000-1-0", "{log}-0-0", "{log}-999999-0"])
async def test_a_stream_that_cannot_go_on_says_so(engine: Engine, address: str, last_id: str) -> None:
    await submit(engine)
    log = (await engine.store.events.log_span()).name

    async with following(address, last_id.format(log=log)) as stream:
        resync = await stream.event()
        task = await submit(engine)
        live = await stream.event()

    assert resync["sse"] == "resync"
    assert live["subject"] == task


async def test_events_that_were_dropped_are_said_to_be_missed(engine: Engine, address: str) -> None:
    async with following(address) as stream:
        await submit(engine)
        await stream.event()
    await submit(engine)
    await engine.store.events.prune_events(written_before=engine.clock.now(), most=0, limit=1000)

    async with following(address, stream.last_id) as stream:
        assert (await stream.event())["sse"] == "resync"


async def test_only_what_was_asked_for_is_told(engine: Engine, address: str, ada: Ada) -> None:
    async with (
        following(address, type="task.completed,drumline.task.failed") as ends,
        following(address, name="mail") as mails,
        following(address, queue="slow", tag="red") as red,
        following(address, status="PROCESSING") as running,
        following(address, type="queue") as queues,
    ):
        work = await submit(engine)
        mail = await submit(engine, "mail")
        red_one = await submit(engine, "mail", queue="slow", tags=("red",))
        await ada.claim()
        await engine.control.pause_queue("slow", tenant="default")
        await engine.control.cancel(work, force=True)
        await engine.control.retry(work)
        await ada.settle(await ada.claim(), Failed(ErrorInfo("E", "m"), permanent=True))
        found = [
            (await ends.event())["subject"],
            [event["subject"] for event in await mails.events(2)],
            (await red.event())["subject"],
            (await running.event())["subject"],
            (await queues.event())["type"],
        ]

    assert found == [work, [mail, red_one], red_one, work, "drumline.queue.paused"]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"type": "Task"}, "type"),
        ({"type": "task.failed.again"}, "type"),
        ({"status": "DONE"}, "status[0]"),
        ({"tags": "red"}, "tags"),
        ({"name": ["a"] * 51}, "name"),
        ({"last_event_id": "yesterday"}, "Last-Event-ID"),
    ],
)
async def test_what_cannot_be_followed_is_refused(http: httpx.AsyncClient, query: Body, field: str) -> None:
    reply = await http.get("/api/v1/events", params=query)

    problem(reply, 422, "invalid", field)


async def test_a_tenant_hears_of_its_own_only(engine: Engine, http: httpx.AsyncClient, address: str) -> None:
    for tenant in ("acme", "beta"):
        assert (await http.post("/api/v1/tenants", json={"name": tenant})).status_code == 201
    async with following(address, tenant="acme") as stream:
        await submit(engine, tenant="beta")
        await engine.control.pause_queue("mail", tenant="beta")
        await engine.sessions.open(SessionSpec(host="h", pid=1, version="1", queues=(), types=(), capacity=1))
        ours = await submit(engine, tenant="acme")
        event = await stream.event()
    async with following(address, stream.last_id, tenant="beta") as stream:
        await submit(engine, tenant="acme")
        theirs = await submit(engine, tenant="beta")
        other = await stream.event()

    assert (event["subject"], other["subject"]) == (ours, theirs)


async def test_who_has_a_key_is_told_only_to_those_who_manage_keys(
    engine: Engine, http: httpx.AsyncClient, address: str
) -> None:
    made = await http.post("/api/v1/keys", json={"name": "a viewer", "role": "viewer"})
    viewer = made.json()["key"]
    async with following(address) as admin, following(address, key=viewer) as stream:
        await http.post("/api/v1/keys", json={"name": "another", "role": "viewer"})
        task = await submit(engine)
        heard = (await stream.event())["subject"]

        assert (await admin.event())["type"] == "drumline.key.created"
    assert heard == task


async def test_silence_is_filled_with_comments(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events_module, "BEAT_SECONDS", 0.05)

    async with following(address) as stream:
        messages = [await stream.message() for _ in range(3)]

    assert [set(message) for message in messages] == [{"id"}, {"comment", "id"}, {"comment", "id"}]


async def test_a_stream_that_was_told_nothing_goes_on_where_it_began(engine: Engine, address: str) -> None:
    async with following(address, type="job") as stream:
        mark = (await stream.message())["id"]
    task = await submit(engine)

    async with following(address, mark) as stream:
        assert (await stream.event())["subject"] == task


async def test_a_log_that_is_empty_can_be_gone_on_from(engine: Engine, address: str) -> None:
    await submit(engine)
    await engine.store.events.prune_events(written_before=Instant(engine.clock.now() + 1), most=0, limit=1000)
    async with following(address) as stream:
        mark = (await stream.message())["id"]

    async with following(address, mark) as stream:
        task = await submit(engine)
        assert (await stream.event())["subject"] == task


async def test_a_client_that_is_too_slow_is_cut_and_goes_on(
    engine: Engine, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed_module, "MOST_WAITING", 20)
    async with following(address) as stream:
        first = await submit(engine)
        assert (await stream.event())["subject"] == first
        tasks = await engine.submissions.submit_many([TaskRequest(name="work")] * 60, tenant="default")
        cut = await stream.event()
        with pytest.raises(EOFError):
            await stream.message()

    async with following(address, stream.last_id) as stream:
        missed = await stream.events(60)

    assert cut["sse"] == "cut"
    assert "Last-Event-ID" in cut["reason"]
    assert [event["subject"] for event in missed] == [task.id for task in tasks if isinstance(task, Submitted)]


async def test_a_client_that_takes_nothing_at_all_is_let_go(
    engine: Engine, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events_module, "SEND_SECONDS", 0.2)
    reader, writer = await asyncio.open_connection("127.0.0.1", int(address.rpartition(":")[2]), limit=1024)
    writer.write(f"GET /api/v1/events HTTP/1.1\r\nHost: x\r\nX-API-Key: {KEY}\r\n\r\n".encode())
    await reader.readuntil(b"from here on\n\n")
    payload = [TaskRequest(name="work", tags=tuple(f"{number}-" + "x" * 50 for number in range(10)))] * 2000
    for _ in range(5):
        await engine.submissions.submit_many(payload, tenant="default")

        await _looked(engine)

    assert await _empties(engine)
    writer.close()


async def test_streams_end_with_the_server(address: str, engine: Engine, stop: asyncio.Event) -> None:
    async with following(address) as stream:
        stop.set()

        last = await stream.event()

        with pytest.raises((EOFError, httpx.HTTPError)):
            await stream.message()
    assert last["sse"] == "over"
    assert await _empties(engine)


async def test_nobody_is_remembered_who_has_left(address: str, engine: Engine) -> None:
    async with following(address), following(address, type="job"):
        assert engine.feed.count == 2

    assert await _empties(engine)


async def test_two_hundred_follow_at_once(engine: Engine, address: str) -> None:
    count = 200
    limits = httpx.Limits(max_connections=count, max_keepalive_connections=count)
    async with httpx.AsyncClient(timeout=60, limits=limits, headers={"X-API-Key": KEY}) as client:

        async def follow(tell: asyncio.Semaphore) -> list[str]:
            async with client.stream("GET", f"{address}/api/v1/events") as reply:
                stream = Stream(reply)
                await stream.message()
                tell.release()
                return [event["subject"] for event in await stream.events(30)]

        ready = asyncio.Semaphore(0)
        streams = [asyncio.create_task(follow(ready)) for _ in range(count)]
        for _ in range(count):
            await ready.acquire()
        tasks = [await submit(engine) for _ in range(30)]
        told = await asyncio.gather(*streams)

    assert told == [tasks] * count


async def _looked(engine: Engine) -> None:
    """Wait until the feed has read all there is, or has nobody left to read for."""
    await engine.store.events.sequence()
    last = (await engine.store.events.log_span()).last
    assert isinstance(engine.feed, feed_module.EventFeed)
    async with asyncio.timeout(SECONDS):
        while engine.feed.count and (engine.feed._position or 0) < last:  # noqa: ASYNC110 - it looks by itself
            await asyncio.sleep(0.01)


async def _empties(engine: Engine) -> bool:
    async with asyncio.timeout(SECONDS):
        while engine.feed.count:  # noqa: ASYNC110 - the server hears of it when the network tells
            await asyncio.sleep(0.01)
    return True
