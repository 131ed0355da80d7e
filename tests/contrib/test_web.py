"""The examples with FastAPI, Litestar and Flask, and the parts for web frameworks."""

import asyncio
import warnings
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from drumline import Drumline, DrumlineError, Unavailable
from drumline.contrib.asgi import answer_error, dependency, lifespan
from drumline.testing import simulated

ORDER = 7
NO_TASK = "01890000-0000-7000-8000-000000000000"


@pytest.fixture(autouse=True)
def _data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DRUMLINE_URL", "DRUMLINE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DRUMLINE_DATA", str(tmp_path / "data"))


@asynccontextmanager
async def asked(web: Any, opened: Any) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a web application whose lifespan is open."""
    transport = httpx.ASGITransport(web, raise_app_exceptions=False)
    async with opened(web), httpx.AsyncClient(transport=transport, base_url="http://shop.example") as client:
        yield client


@pytest.fixture
def fastapi_shop() -> Iterator[Any]:
    pytest.importorskip("fastapi")
    from examples import fastapi_shop

    yield fastapi_shop
    fastapi_shop.app.close()


@pytest.fixture
def litestar_shop() -> Iterator[Any]:
    pytest.importorskip("litestar")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of Litestar's own imports
        from examples import litestar_shop

    yield litestar_shop
    litestar_shop.app.close()


async def invoice(shop: Any, opened: Any) -> None:
    """Request an invoice twice, and read it."""
    async with asked(shop.web, opened) as client:
        first, second = [await client.post(f"/orders/{ORDER}/invoice") for _ in range(2)]
        assert first.status_code == 202, first.text
        assert first.json() == second.json()
        await asyncio.to_thread(work_until_ended, shop.app, first.json()["task"])
        answer = await client.get(f"/invoices/{first.json()['task']}")
        assert (answer.status_code, answer.json()) == (200, {"text": "invoice of order 7"})


def work_until_ended(app: Drumline[Any], task: str) -> None:
    """Run the app's tasks in a worker of their own until one has ended."""
    other: Drumline[Any] = Drumline("worker")
    for definition in app.registry:
        other.registry.add(definition)
    with other.running():
        other.handle(task).result(timeout="30s")


async def test_the_example_with_fastapi_submits_and_reads(fastapi_shop: Any) -> None:
    await invoice(fastapi_shop, fastapi_shop.web.router.lifespan_context)


async def test_the_example_with_litestar_submits_and_reads(litestar_shop: Any) -> None:
    await invoice(litestar_shop, lambda web: web.lifespan())


def test_a_web_application_is_tested_in_a_world(fastapi_shop: Any) -> None:
    testclient = pytest.importorskip("starlette.testclient")

    with simulated(fastapi_shop.app) as world, testclient.TestClient(fastapi_shop.web) as client:
        task = client.post(f"/orders/{ORDER}/invoice").json()["task"]
        answer = client.get(f"/invoices/{task}")

        assert world.submitted(fastapi_shop.write_invoice, ORDER).id == task
    assert answer.json() == {"text": "invoice of order 7"}


async def test_errors_of_drumline_are_answered(fastapi_shop: Any) -> None:
    async with asked(fastapi_shop.web, fastapi_shop.web.router.lifespan_context) as client:
        missing = await client.get(f"/invoices/{NO_TASK}")
        wrong = await client.get("/invoices/nonsense")

    assert (missing.status_code, missing.json()["code"]) == (404, "not_found")
    assert wrong.status_code in {404, 422}


async def test_an_application_s_own_lifespan_goes_on_inside(tmp_path: Path) -> None:
    seen: list[str] = []

    @asynccontextmanager
    async def own(_web: Any) -> AsyncIterator[dict[str, int]]:
        seen.append("opened" if app.client_at_hand is not None else "not connected")
        yield {"own": 1}
        seen.append("closed" if app.client_at_hand is not None else "not connected")

    app = Drumline("shop", data=tmp_path / "other")

    async with lifespan(app, around=own)(None) as state:
        assert state == {"own": 1}

    assert seen == ["opened", "closed"]
    assert dependency(app)() is app


async def test_a_server_that_is_away_is_answered_with_503() -> None:
    async def submit(_request: Request) -> JSONResponse:
        raise Unavailable("no answer")

    async def broken(_request: Request) -> JSONResponse:
        raise DrumlineError("the key is wrong: sk_…")

    web = Starlette(
        routes=[Route("/", submit), Route("/broken", broken)],
        exception_handlers={DrumlineError: answer_error},
    )
    transport = httpx.ASGITransport(web, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://shop.example") as client:
        away, fault = await client.get("/"), await client.get("/broken")

    assert (away.status_code, away.json()) == (503, {"detail": "no answer", "code": "unavailable"})
    assert fault.status_code == 500
    assert "sk_" not in fault.text


def test_the_example_with_flask_submits_and_reads() -> None:
    from examples import flask_shop

    client = flask_shop.web.test_client()
    with flask_shop.app.running():
        first, second = (client.post(f"/orders/{ORDER}/invoice") for _ in range(2))
        assert first.status_code == 202
        assert first.json == second.json
        assert first.json is not None
        answer = client.get(f"/invoices/{first.json['task']}")
        assert answer.json == {"text": "invoice of order 7"}
        assert client.get(f"/invoices/{NO_TASK}").status_code == 404
