"""Alerts and objectives on the command line."""

from uuid import uuid4

import pytest

from drumline.cli.errors import ExitCode
from tests.cli.conftest import Drumline


@pytest.fixture
def name() -> str:
    """A name that nothing else of the shared server has."""
    return f"alert {uuid4()}"


def test_an_alert_is_made_shown_changed_and_deleted(online: Drumline, name: str) -> None:
    made = online(
        "alerts", "create", name, "--on", "failure_rate", "--above", "5%", "--task", "charge", "--for", "2m", "--json"
    ).json  # fmt: skip

    (listed,) = [each for each in online("alerts", "list", "--json").json if each["name"] == name]
    shown = online("alerts", "get", name)
    changed = online("alerts", "edit", name, "--task", "", "--above", "0.1", "--severity", "critical", "--json").json
    gone = online("alerts", "delete", made["id"], "--yes")

    assert (listed["id"], listed["for"], listed["summary"]) == (
        made["id"], 120.0, "failure rate of task charge above 5 % over 5m, for 2m",
    )  # fmt: skip
    assert "failure rate of task charge above 5 % over 5m, for 2m" in shown.out
    assert (changed["task"], changed["threshold"], changed["severity"]) == (None, 0.1, "critical")
    assert (gone.code, gone.out) == (0, "")
    assert online("alerts", "get", name).code == ExitCode.NOT_FOUND


def test_an_alert_is_muted_and_paused_and_back(online: Drumline, name: str) -> None:
    online("alerts", "create", name, "--on", "oldest_wait", "--above", "30s", "-q", "mail")

    muted = online("alerts", "mute", name, "--until", "2h")
    unmuted = online("alerts", "unmute", name, "--json").json
    paused = online("alerts", "pause", name)
    resumed = online("alerts", "resume", name, "--json").json

    assert "(muted)" in muted.out
    assert unmuted["muted_until"] is None
    assert paused.out.endswith("paused\n")
    assert resumed["enabled"] is True
    assert online("alerts", "history", name, "--json").json == []


def test_a_wrong_threshold_is_refused_with_the_field(online: Drumline, name: str) -> None:
    wrong = online("alerts", "create", name, "--on", "failure_rate", "--above", "much")
    missing = online("alerts", "create", name, "--on", "failure_rate")

    assert (wrong.code, missing.code) == (ExitCode.USAGE, ExitCode.USAGE)
    assert "--above: must be a share" in wrong.err
    assert "--above" in missing.err


def test_an_objective_comes_with_its_alerts_and_goes_with_them(online: Drumline, name: str) -> None:
    made = online("slos", "create", name, "--task", "charge", "--target", "0.995", "--period", "7d", "--json").json
    burn = online("alerts", "create", f"{name} own", "--on", "burn_rate", "--above", "3", "--slo", name, "--json").json

    shown = online("slos", "get", name)
    changed = online("slos", "edit", name, "--target", "0.9", "--json").json
    (listed,) = [each for each in online("slos", "list", "--task", "charge", "--json").json if each["name"] == name]
    gone = online("slos", "delete", name, "--yes")

    assert "99.5 % of charge succeed over 7d" in shown.out
    assert burn["slo"] == made["id"]
    assert (changed["target"], listed["target"]) == (0.9, 0.9)
    assert gone.code == 0
    assert online("alerts", "get", f"{name}: fast burn").code == ExitCode.NOT_FOUND


def test_an_objective_of_starts(online: Drumline, name: str) -> None:
    made = online("slos", "create", name, "--task", "charge", "--target", "0.95", "--start-within", "5s", "--no-alerts")

    assert "95 % of charge start within 5 s over 30d" in made.out
    assert online("slos", "edit", name, "--start-within", "7s").code == ExitCode.USAGE
