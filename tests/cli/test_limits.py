"""Limits from the command line."""

from drumline.cli.errors import ExitCode
from tests.cli.conftest import Drumline


def test_a_limit_is_set_listed_and_deleted(online: Drumline) -> None:
    made = online("limits", "set", "reports", "--task", "report", "--max-concurrent", "2", "--by", "payload.customer")
    changed = online("limits", "set", "reports", "--queue", "slow", "--rate", "50/s", "--json").json
    listed = online("limits", "list", "--json").json
    gone = online("limits", "delete", "reports")

    assert made.out == "reports  task report: 2 at once for each payload.customer; 0 running\n"
    assert (changed["queue"], changed["task"], changed["rate"]) == ("slow", None, "50/1s")
    assert "reports" in [limit["name"] for limit in listed]
    assert gone.out == "reports is deleted.\n"
    assert online("limits", "delete", "reports").code == ExitCode.NOT_FOUND


def test_a_limit_about_nothing_is_refused_by_name(online: Drumline) -> None:
    refused = online("limits", "set", "few", "--max-concurrent", "2")
    wrong = online("limits", "set", "few", "--queue", "slow", "--rate", "often")

    assert "queue" in refused.err
    assert "rate" in wrong.err


def test_why_names_the_limit(online: Drumline) -> None:
    online("limits", "set", "never", "--task", "tests.held", "--rate", "1/d")
    ids = [online("submit", "tests.held", "--limit-key", "acme").out.strip() for _ in range(2)]

    told = online("tasks", "why", ids[1], "--json").json
    online("limits", "delete", "never")

    assert {reason["cause"] for reason in told["reasons"]} <= {"limited", "no_worker"}
