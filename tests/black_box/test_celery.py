"""Celery's interface through a server in another process, on every store."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from drumline.compat.celery import Celery, chain, chord, group, signature, state
from tests.black_box.server import APP, Server, eventually
from tests.harness import postgres

pytestmark = pytest.mark.faults

SECONDS = 60
SHOP = APP.parent / "celery_shop.py"


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.services)])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    if request.param == "sqlite":
        with Server(tmp_path / "data", app=SHOP) as server:
            yield server
        return
    if reason := postgres.missing():
        pytest.skip(reason)
    database = postgres.PostgresServer(durable=False)
    try:
        with Server(tmp_path / "data", app=SHOP, store_url=database.url()) as server:
            yield server
    finally:
        database.stop()
        database.remove()


@pytest.fixture
def client(server: Server) -> Iterator[Celery]:
    """An app that has none of the tasks, as another program would."""
    app = Celery("client", drumline_url=server.url, drumline_api_key=server.key)
    yield app
    app.close()
    state.forget(app)


def test_another_program_submits_a_canvas_and_gets_its_results(server: Server, client: Celery) -> None:
    add, total = signature("celery_shop.add"), signature("celery_shop.total")
    header = [add.clone((1, 1)), signature("celery_shop.lazily", (4,))]

    assert client.send_task("celery_shop.add", (1, 2)).get(timeout=SECONDS) == 3
    assert chord(header, total).delay().get(timeout=SECONDS) == 7
    assert chain(add.clone((1, 1)), group(add.clone((1,)), add.clone((2,))), total).delay().get(timeout=SECONDS) == 7
    with pytest.raises(LookupError) as raised:
        chain(signature("celery_shop.fail"), total).delay().get(timeout=SECONDS)
    assert raised.value.args == ("no such order", 7)
    assert [one["name"] for one in server.ask("GET", "/api/v1/schedules")[1]["items"]] == ["nightly"]


@pytest.mark.usefixtures("client")
def test_a_canvas_goes_on_after_its_server_was_killed(server: Server, tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    slowly = signature("celery_shop.slowly", (5, str(begun)))
    last = chain(slowly, signature("celery_shop.add", (1,))).delay().id
    eventually(begun.exists, SECONDS)

    server.kill()
    server.start()

    again = Celery("again", drumline_url=server.url, drumline_api_key=server.key)
    try:
        assert again.AsyncResult(last).get(timeout=SECONDS) == 6
    finally:
        again.close()
        state.forget(again)
