"""A remote worker whose answers get lost on the way loses no task."""

import inspect
from types import SimpleNamespace

import anyio.abc
import httpx
import pytest

from drumline.core.errors import Unavailable
from drumline.core.outcome import Succeeded
from drumline.core.state import State
from drumline.engine.engine import Engine
from drumline.ports.gateway import Report
from drumline.remote import RemoteGateway
from tests.factories import request
from tests.gateway.conftest import KEY
from tests.gateway.test_gateway import WORKER
from tests.gateway.wire import Wire


@pytest.fixture
def remote(wire: Wire) -> RemoteGateway:
    return RemoteGateway("http://drumline", api_key=KEY, transport=wire)


async def test_a_claim_whose_answer_was_lost_is_asked_for_again(
    engine: Engine, remote: RemoteGateway, wire: Wire
) -> None:
    session = await remote.open_session(WORKER)
    ids = {(await engine.submissions.submit(request())).id for _ in range(2)}
    wire.lose_answers = 2

    for _ in range(2):
        with pytest.raises(Unavailable):
            await remote.claim(session, limit=2, wait=0)
    tasks = await remote.claim(session, limit=2, wait=0)

    assert {task.lease.task for task in tasks} == ids
    assert {task.attempt for task in tasks} == {1}


async def test_a_settlement_whose_answer_was_lost_is_settled_once(
    engine: Engine, remote: RemoteGateway, wire: Wire
) -> None:
    session = await remote.open_session(WORKER)
    submitted = await engine.submissions.submit(request())
    (task,) = await remote.claim(session, limit=1, wait=0)
    report = Report(task.lease, Succeeded())
    wire.lose_answers = 1

    with pytest.raises(Unavailable):
        await remote.settle([report])

    assert await remote.settle([report]) == [State.COMPLETED]
    assert len(await engine.queries.attempts(submitted.id)) == 1


async def test_a_wrong_key_is_told_plainly(wire: Wire) -> None:
    stranger = RemoteGateway("http://drumline", api_key="sk_wrong", transport=wire)

    with pytest.raises(Exception, match="key"):
        await stranger.open_session(WORKER)


class ResetWhileOpened(httpx.AsyncBaseTransport):
    """A connection that was reset before anyio looked at its socket, which uvloop has dropped by then."""

    async def handle_async_request(self, _request: httpx.Request) -> httpx.Response:
        inspect.getattr_static(anyio.abc.SocketStream, "extra_attributes").fget(SimpleNamespace(_raw_socket=None))
        raise AssertionError("anyio does not mind a connection without a socket any more")


async def test_a_connection_that_is_reset_while_it_is_opened_is_an_outage() -> None:
    async with RemoteGateway("http://drumline", api_key=KEY, transport=ResetWhileOpened()) as gateway:
        with pytest.raises(Unavailable, match="the connection was reset"):
            await gateway.runtime_config()
