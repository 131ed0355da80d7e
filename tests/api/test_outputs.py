import asyncio

import httpx
import pytest

from drumline.core.ids import TaskId
from drumline.core.outcome import ErrorInfo, Failed, Released, Succeeded
from drumline.core.task import ClaimedTask
from drumline.engine.engine import Engine
from drumline.ports.store import Artifact, LogChunk
from tests.api.conftest import Ada, problem, submitted


async def say(ada: Ada, task: ClaimedTask, seq: int, text: str) -> None:
    await ada.gateway.append_log([LogChunk(task=task.lease.task, epoch=task.lease.epoch, seq=seq, text=text)])


async def test_a_log_is_plain_text_and_readable_while_the_task_runs(http: httpx.AsyncClient, ada: Ada) -> None:
    task = await submitted(http)
    claimed = await ada.claim()
    await say(ada, claimed, 0, "grüße\n")

    reply = await http.get(f"/api/v1/tasks/{task}/log")

    assert reply.headers["content-type"] == "text/plain; charset=utf-8"
    assert reply.text == "grüße\n"


async def test_the_log_of_one_attempt_has_what_a_released_try_of_it_said_too(http: httpx.AsyncClient, ada: Ada) -> None:
    task = await submitted(http, backoff=0)
    for outcome, text in (
        (Released(), "one, given back\n"),
        (Failed(ErrorInfo("E", "x")), "one\n"),
        (Failed(ErrorInfo("E", "x")), "two\n"),
    ):
        claimed = await ada.claim()
        await say(ada, claimed, 0, text)
        await ada.settle(claimed, outcome)

    log = f"/api/v1/tasks/{task}/log"
    assert (await http.get(log)).text == "one, given back\none\ntwo\n"
    assert (await http.get(f"{log}?attempt=1")).text == "one, given back\none\n"
    assert (await http.get(f"{log}?attempt=2")).text == "two\n"
    problem(await http.get(f"{log}?attempt=3"), 404, "not_found", "attempt")
    problem(await http.get(f"{log}?attempt=1&follow=true"), 422, "invalid", "attempt")


async def test_a_followed_log_goes_on_until_the_task_has_ended(http: httpx.AsyncClient, ada: Ada) -> None:
    task = await submitted(http)
    claimed = await ada.claim()
    await say(ada, claimed, 0, "start\n")
    following = asyncio.create_task(http.get(f"/api/v1/tasks/{task}/log?follow=true"))
    await asyncio.sleep(0)

    await say(ada, claimed, 1, "end\n")
    await ada.settle(claimed, Succeeded())

    async with asyncio.timeout(5):
        assert (await following).text == "start\nend\n"


async def test_a_followed_log_ends_at_once_when_the_server_stops(
    http: httpx.AsyncClient, ada: Ada, stop: asyncio.Event
) -> None:
    task = await submitted(http)
    await say(ada, await ada.claim(), 0, "start\n")
    following = asyncio.create_task(http.get(f"/api/v1/tasks/{task}/log?follow=true"))
    await asyncio.sleep(0)

    stop.set()

    async with asyncio.timeout(5):
        assert (await following).status_code == 200


async def put(engine: Engine, task: TaskId, name: str, content_type: str = "application/pdf") -> None:
    await engine.store.outputs.put_artifact(Artifact(task=task, name=name, content_type=content_type, data=b"%PDF"))


async def test_artifacts_are_listed_and_downloaded(http: httpx.AsyncClient, engine: Engine) -> None:
    task = await submitted(http)
    await put(engine, task, "invoice 7.pdf")

    (item,) = (await http.get(f"/api/v1/tasks/{task}/artifacts")).json()["items"]
    reply = await http.get(f"/api/v1/tasks/{task}/artifacts/invoice 7.pdf")

    assert (item["name"], item["content_type"], item["size"]) == ("invoice 7.pdf", "application/pdf", 4)
    assert item["created_at"].endswith("Z")
    assert (reply.status_code, reply.content) == (200, b"%PDF")
    assert reply.headers["content-type"] == "application/pdf"
    assert reply.headers["content-disposition"] == 'attachment; filename="invoice 7.pdf"'
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in reply.headers["content-security-policy"]


@pytest.mark.parametrize("name", ['a".html', "naïve.txt", "a;b=c.txt", "x'y", "100%"])
async def test_no_file_name_escapes_its_header(http: httpx.AsyncClient, engine: Engine, name: str) -> None:
    task = await submitted(http)
    await put(engine, task, name)

    reply = await http.get(httpx.URL("http://drumline").copy_with(path=f"/api/v1/tasks/{task}/artifacts/{name}"))

    assert reply.status_code == 200
    header = reply.headers["content-disposition"]
    assert header.startswith("attachment; filename=\"download\"; filename*=UTF-8''")
    assert header.isascii()


async def test_a_made_up_content_type_becomes_a_plain_download(http: httpx.AsyncClient, engine: Engine) -> None:
    task = await submitted(http)
    await put(engine, task, "a", "text/html\r\nSet-Cookie: a=b")

    reply = await http.get(f"/api/v1/tasks/{task}/artifacts/a")

    assert reply.headers["content-type"] == "application/octet-stream"


async def test_an_artifact_that_is_not_there_is_not_found(http: httpx.AsyncClient) -> None:
    task = await submitted(http)

    problem(await http.get(f"/api/v1/tasks/{task}/artifacts/a"), 404, "not_found", "name")
    problem(await http.get(f"/api/v1/tasks/{task}/artifacts/%5Ca"), 422, "invalid", "name")
