"""Every disguise that the guard knows, tried by `http` tasks and by webhooks, with somebody listening inside."""

import asyncio
import socket
from collections.abc import AsyncIterator, Sequence

import pytest

from drumline.core.clock import SystemClock
from drumline.core.state import State
from drumline.core.task import TaskRequest
from drumline.outbound.guard import AddressGuard
from drumline.outbound.webhook import WebhookFailed, WebhookMessage, WebhookSender
from drumline.worker.executors.catalogue import BuiltIn
from tests.factories import request
from tests.outbound import vectors
from tests.outbound.test_guard import Names, Resolver
from tests.worker.house import House

MESSAGE = WebhookMessage(id="m", body=b"{}", secrets=())


class Trap:
    """Listens on this machine, at the ports that the disguises name as far as they are free."""

    def __init__(self) -> None:
        self.visits = 0

    async def visit(self, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.visits += 1
        writer.close()


@pytest.fixture
async def trap() -> AsyncIterator[tuple[Trap, int]]:
    trap = Trap()
    async with await asyncio.start_server(trap.visit, "127.0.0.1", 0) as listening:
        yield trap, listening.sockets[0].getsockname()[1]


def disguises(port: int) -> list[str]:
    """Return the URLs, also at the port where somebody listens."""
    plain = [*vectors.forbidden_urls(), *(f"http://{name}/" for name in vectors.NAMES)]
    aimed = [url.removesuffix("/") + f":{port}/" for url in plain if url.endswith("/") and url.count(":") == 1]
    return [*plain, *aimed]


async def test_no_http_task_gets_inside(house: House, trap: tuple[Trap, int]) -> None:
    urls = [url for url in disguises(trap[1]) if "\ud800" not in url]
    requests: list[TaskRequest] = [request(name="http", payload={"url": url, "timeout": 5}, retries=0) for url in urls]

    async with house.worker(BuiltIn(http=True, pdf=False, guard=AddressGuard(resolve=Names())), capacity=64):
        submitted = await house.engine.submissions.submit_many(requests)
        views = [await house.ended(each.id) for each in submitted]  # type: ignore[union-attr]

    reached = [
        (url, view.error)
        for url, view in zip(urls, views, strict=True)
        if view.state is not State.FAILED or view.error is None or view.error.kind != "Invalid"
    ]
    assert reached == []
    assert len(urls) >= 600
    assert trap[0].visits == 0


async def test_no_webhook_gets_inside(trap: tuple[Trap, int]) -> None:
    sender = WebhookSender(AddressGuard(resolve=Names()), clock=SystemClock(), timeout=5, follow_redirects=True)
    urls = disguises(trap[1])

    answers = [await refusal(sender, url) for url in urls]
    await sender.close()

    assert [url for url, answer in zip(urls, answers, strict=True) if answer is None or not answer.permanent] == []
    assert trap[0].visits == 0


async def refusal(sender: WebhookSender, url: str) -> WebhookFailed | None:
    try:
        await sender.send(url, MESSAGE)
    except WebhookFailed as error:
        return error
    return None


async def test_a_name_that_changes_its_answer_does_not_get_a_task_inside(house: House, trap: tuple[Trap, int]) -> None:
    """The first answer is judged and connected to; the second one, which leads inside, is judged when it comes."""
    resolver = Flipping(rebind=[["192.0.2.1"], ["127.0.0.1"]])
    guard = AddressGuard(resolve=resolver)

    async with house.worker(BuiltIn(http=True, pdf=False, guard=guard)):
        views = [
            await house.run("http", {"url": f"http://rebind:{trap[1]}/", "timeout": 2}, retries=0) for _ in range(3)
        ]

    assert {view.state for view in views} == {State.FAILED}
    assert trap[0].visits == 0


class Flipping(Resolver):
    """Gives another answer each time, as a name server that means harm does."""

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        answer = await super().__call__(host, port)
        socket.inet_aton(answer[0])
        return answer
