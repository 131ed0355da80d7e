"""Limits from the command line."""

import pytest

from drumline.cli.errors import ExitCode
from drumline.cli.limits import print_limit
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


def test_what_each_shard_has_of_a_limit_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    shares = [
        {"shard": "main", "running": 2, "max_concurrent": 3, "rate": 40},
        {"shard": "pg2", "running": None, "max_concurrent": None, "rate": None},
        {"shard": "pg3", "running": 0, "max_concurrent": None, "rate": 10},
    ]
    limit = {"name": "few", "queue": "slow", "task": None, "max_concurrent": 3, "rate": "50/1s", "key": None}

    print_limit(limit | {"running": 2, "shards": shares})

    assert capsys.readouterr().out.splitlines() == [
        "few  queue slow: 3 at once, 50/1s; 2 running",
        "  main: 2 running, a share of 3; 40 starts of the rate",
        "  pg2: cannot be reached, or has not heard of it yet",
        "  pg3: 0 running; 10 starts of the rate",
    ]


def test_a_queue_is_shown_and_purged(online: Drumline) -> None:
    online("queues", "pause", "purged", "--create", "--reason", "a test")
    online("limits", "set", "purging", "--queue", "purged", "--max-concurrent", "2")
    online("limits", "set", "of-a-task", "--task", "charge", "--rate", "5/s")
    ids = [online("submit", "shell", "--arg", "shell=exit 0", "--queue", "purged").out.strip() for _ in range(2)]

    shown = online("queues", "get", "purged")
    refused = online("queues", "purge", "purged")
    done = online("queues", "purge", "purged", "--yes", "--json")

    assert "2 queued, 0 pending, 0 processing" in shown.out
    assert "paused: a test" in shown.out
    assert "limit      purging  queue purged: 2 at once" in shown.out
    assert "task limit of-a-task  task charge: 5/1s; 0 running, in all queues together" in shown.out
    assert (refused.code, done.json["done"]) == (ExitCode.USAGE, 2)
    assert {online("tasks", "get", task, "--json").json["status"] for task in ids} == {"CANCELLED"}
    online("limits", "delete", "purging")
    online("limits", "delete", "of-a-task")
    online("queues", "resume", "purged")
