"""The state of an installation in one screen."""

from drumline.cli.overview import _rates
from tests.cli.conftest import Drumline


def point(**counts: float | None) -> dict[str, float | None]:
    return {"submitted": 0, "completed": 0, "failed": 0, "retried": 0, "wait_p95": None, **counts}


def test_rates_are_those_of_the_last_whole_minute() -> None:
    points = [point(submitted=999), *[point(submitted=10, wait_p95=0.5)] * 6, point(submitted=500)]

    rates = _rates(points, step=10)

    assert (rates["submitted"], rates["wait_p95"]) == (1.0, 0.5)


def test_without_a_whole_bucket_rates_are_unknown() -> None:
    assert _rates([point()], step=10)["completed"] is None
    assert _rates([], step=0)["completed"] is None


def test_status_shows_a_queue_with_what_waits_in_it(online: Drumline) -> None:
    online("submit", "nothing.runs.this", "--queue", "overviewed")

    shown = online("status")
    data = online("status", "--json").json

    assert "overviewed" in shown.out
    (queue,) = [queue for queue in data["queues"] if queue["name"] == "overviewed"]
    assert queue["queued"] >= 1
    assert data["workers"]["open"] >= 1
