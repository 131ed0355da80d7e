"""The examples of durable tasks, run in a world: months of waiting in no time."""

import importlib.util
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from drumline.testing import simulated

EXAMPLES = Path(__file__).parents[2] / "examples"


def load(name: str) -> Any:
    """Return an example as a module of its own."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module: ModuleType = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_an_order_is_shipped() -> None:
    saga = load("order_saga")
    with simulated(saga.app):
        assert saga.fulfil.submit(7).result() == "parcel-7"
    assert saga.Warehouse.done == ["charge 7", "reserve 7"]


def test_an_order_that_cannot_be_shipped_is_undone_backwards_and_once() -> None:
    saga = load("order_saga")
    saga.Warehouse.is_open = False
    with simulated(saga.app) as world:
        handle = saga.fulfil.submit(7)
        world.travel("30s")
        world.kill_worker()
        assert handle.result().startswith("undone: ")
    assert saga.Warehouse.done == ["charge 7", "reserve 7", "release shelf-7", "refund payment-7"]


@pytest.mark.parametrize(
    ("is_good", "told"),
    [(True, "article 7 was published, approved by ada"), (False, "article 7 was rejected by ada: too long")],
)
def test_a_person_decides(is_good: bool, told: str) -> None:
    press = load("human_approval")
    with simulated(press.app) as world:
        handle = press.publish.submit(7)
        world.signal("approved", press.Decision("ada", is_good, "too long"), to=handle, after="2d")
        assert handle.result() == told


def test_nobody_decides_for_a_week() -> None:
    press = load("human_approval")
    with simulated(press.app) as world:
        began = world.now
        assert press.publish.submit(7).result() == "article 7 was put away: nobody looked at it"
        assert (world.now - began).days == 7


def test_another_system_is_started_once_and_looked_at_now_and_then() -> None:
    exports = load("poll_until_done")
    with simulated(exports.app) as world:
        handle = exports.run_export.submit("orders")
        world.travel("15s")
        world.kill_worker()
        assert handle.result() == "s3://exports/export-orders.parquet"
    assert (exports.Exporter.started, exports.Exporter.looks) == (["orders"], 3)


def test_an_agent_answers_with_its_tools_and_stops_at_its_budget() -> None:
    agents = load("agent_loop")
    with simulated(agents.app):
        said = agents.answer.submit("Do I need an umbrella?").result()
        stopped = agents.answer.submit("Do I need an umbrella?", budget=200).result()
    assert said == "You asked 'Do I need an umbrella?': it rains in Oslo; it is noon in Oslo"
    assert stopped == "stopped: 270 of 200 tokens are spent"


def test_a_cron_waits_for_its_day_and_gives_up_at_two() -> None:
    books = load("cron_waits")
    with simulated(books.app, start=datetime(2026, 1, 2, 4, 0, tzinfo=UTC)) as world:
        world.signal("books closed", books.Books(4200), key="2026-01-02", after="3h")
        world.travel("47h")
        told = [books.app.handle(each.id).result() for each in world.submissions(books.report)]
    assert told == ["2026-01-02: 4200 cents", "2026-01-03: the books are still open at two"]


def test_a_task_runs_for_each_item_that_only_a_task_knows() -> None:
    pictures = load("fan_out")
    with simulated(pictures.app):
        job = pictures.album("/holidays").submit()
        assert job.result() == {"index": "50 thumbnails, 32000 bytes"}


def test_a_subscription_is_billed_for_years_in_rounds() -> None:
    subscriptions = load("subscription")
    with simulated(subscriptions.app) as world:
        handle = subscriptions.bill.submit("ada", 2027)
        world.travel("400d")
        world.kill_worker()
        world.signal("ended", to=handle, after="400d")
        paid = handle.result()
    charged = subscriptions.Bank.charged
    assert paid == 9 * len(charged)
    assert len(charged) == len(set(charged)) == 27  # two years and a quarter, each month once
