"""Limits that stand in code: checked where they are written, set when a worker starts."""

import asyncio

import pytest

from drumline.core.errors import Invalid
from drumline.engine.engine import Engine
from drumline.lifecycle.schedule_registration import register_schedules
from drumline.sdk.app import Drumline
from drumline.sdk.embedded import EngineTransport
from drumline.stores.no_queue import NoQueue
from drumline.stores.sqlite import SqliteStore


def test_a_limit_that_makes_no_sense_is_refused_where_it_is_written() -> None:
    app = Drumline("shop")

    with pytest.raises(Invalid, match="rate"):
        app.task(name="charge", rate_limit="often")(lambda: None)
    with pytest.raises(Invalid, match="max_concurrent"):
        app.task(name="charge", limit_by="limit_key")(lambda: None)


async def test_limits_in_code_are_set_when_a_worker_starts() -> None:
    app = Drumline("shop")

    @app.task(name="send mail", max_concurrent=3, rate_limit="50/s", limit_by="payload.customer")
    def send(customer: str) -> None: ...

    @app.task(name="free")
    def free() -> None: ...

    engine = Engine(await SqliteStore.open(":memory:"), NoQueue())
    await register_schedules([app], EngineTransport(engine, asyncio.get_running_loop()))(asyncio.Event())

    ((limit, _),) = await engine.flow.list_limits()
    await engine.close()

    assert (limit.name, limit.task, limit.queue) == ("task:send-mail", "send mail", None)
    assert (limit.max_concurrent, limit.rate_text, limit.keyed_by) == (3, "50/1s", "payload.customer")


async def test_a_submission_brings_its_own_key() -> None:
    app = Drumline("shop")

    @app.task(name="send mail")
    def send() -> None: ...

    assert send.options(limit_key="acme")._request.limit_key == "acme"
