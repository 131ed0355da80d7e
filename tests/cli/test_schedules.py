"""Commands about schedules."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.black_box.server import Server
from tests.cli.conftest import Drumline

CREATE = ("schedules", "create", "nightly", "--cron", "30 2 * * *", "--tz", "Europe/Berlin", "--task", "work")


@pytest.fixture(autouse=True)
def tidied(online: Drumline) -> Iterator[None]:
    """The server is shared by all tests of commands: find no schedules of theirs there, and leave none."""

    def delete_all() -> None:
        for schedule in online("schedules", "list", "--json").json:
            online("schedules", "delete", schedule["id"], "--yes")

    delete_all()
    yield
    delete_all()


def test_create_prints_the_id_and_says_when(online: Drumline) -> None:
    ran = online(*CREATE, "-a", "n=1", "--overlap", "skip", "--misfire", "all", "--jitter", "5s", "--max-runs", "9")

    assert ran.code == 0
    assert ran.err.startswith("nightly: every day at 02:30, Europe/Berlin; next at ")
    made = online("schedules", "get", "nightly", "--json").json
    assert made["id"] == ran.out.strip()
    assert made["task"] == {"name": "work", "payload": {"n": 1}}
    assert (made["overlap"], made["misfire"], made["jitter"], made["max_runs"]) == ("skip", "all", 5.0, 9)


def test_a_dry_run_shows_what_would_be_sent(online: Drumline) -> None:
    ran = online("schedules", "create", "x", "--every", "5m", "--task", "work", "--queue", "mail", "--dry-run")

    task = {"name": "work", "payload": {}, "queue": "mail"}
    assert ran.json == {"name": "x", "interval": "5m", "task": task}
    assert online("schedules", "list", "--json").json == []


def test_a_job_comes_from_a_file(online: Drumline, tmp_path: Path) -> None:
    job = {"name": "report", "tasks": {"a": {"name": "work"}}}
    (tmp_path / "job.json").write_text(json.dumps(job))

    online("schedules", "create", "x", "--cron", "@daily", "--job", "job.json", "--paused")

    made = online("schedules", "get", "x", "--json").json
    assert (made["job"]["name"], made["state"]) == ("report", "paused")


@pytest.mark.parametrize(
    ("arguments", "code", "reason"),
    [
        (("create", "x", "--cron", "61 * * * *", "--task", "work"), 2, "minute 61 is not from 0 to 59"),
        (("create", "x", "--cron", "@daily"), 2, "--task NAME or --job FILE"),
        (("create", "x", "--cron", "@daily", "-a", "n=1"), 2, "give --task too"),
        (("create", "x", "--cron", "@daily", "--task", "a", "--job", "j.json"), 2, "give --task or --job, not both"),
        (("get", "nothing"), 3, "there is no schedule named nothing"),
        (("list", "--state", "asleep"), 2, "--state: must be one of active, paused, finished"),
        (("preview", "@dayly"), 2, "did you mean @daily"),
        (("edit", "x"), 2, "say what to change"),
    ],
)
def test_a_mistake_is_said_and_has_its_status(
    online: Drumline, arguments: tuple[str, ...], code: int, reason: str
) -> None:
    ran = online("schedules", *arguments)

    assert ran.code == code
    assert reason in ran.err


def test_a_taken_name_is_a_conflict(online: Drumline) -> None:
    online(*CREATE)

    assert online(*CREATE).code == 9


def test_schedules_are_listed_for_people_and_for_programs(online: Drumline) -> None:
    online(*CREATE)

    table = online("schedules", "list").out.splitlines()
    assert table[0].split()[:3] == ["ID", "NAME", "STATE"]
    assert "every day at 02:30, Europe/Berlin" in table[1]
    (item,) = online("schedules", "list", "--json").json
    assert item["name"] == "nightly"
    assert online("schedules", "list", "--jsonl", "--fields", "name,state").json == {
        "name": "nightly",
        "state": "active",
    }


def test_a_schedule_on_a_page_has_its_next_times(online: Drumline) -> None:
    online(*CREATE)

    page = online("schedules", "get", "nightly").out

    assert "when       every day at 02:30, Europe/Berlin" in page
    assert page.count("T02:30:00+0") == 5


def test_next_and_preview_show_both_zones(online: Drumline) -> None:
    online(*CREATE)
    after = ("--after", "2026-03-28T12:00:00Z", "--tz", "Europe/Berlin", "-n", "1")

    assert len(online("schedules", "next", "nightly", "-n", "3", "--json").json) == 3
    ran = online("schedules", "preview", "30 2 * * *", *after)
    assert ran.out.splitlines()[1].split()[:2] == ["2026-03-29T03:00:00+02:00", "2026-03-29T01:00:00.000Z"]
    assert ran.err.strip() == "every day at 02:30, Europe/Berlin"
    assert "the clock skips this time" in ran.out


def test_pause_resume_and_edit(online: Drumline) -> None:
    online(*CREATE)

    assert online("schedules", "pause", "nightly", "--reason", "holidays").out == "nightly  paused\n"
    assert online("schedules", "get", "nightly", "--json").json["reason"] == "holidays"
    assert online("schedules", "resume", "nightly").out.startswith("nightly  active  next ")
    assert online("schedules", "edit", "nightly", "--every", "1h", "--name", "hourly").out.startswith(
        "hourly  every hour  next "
    )


def test_run_prints_what_was_made_and_runs_lists_it(online: Drumline) -> None:
    online(*CREATE)

    ran = online("schedules", "run", "nightly")

    (run,) = online("schedules", "runs", "nightly", "--json").json
    assert (run["task_id"], run["kind"]) == (ran.out.strip(), "trigger")


def test_a_backfill_is_counted_and_needs_a_yes(online: Drumline) -> None:
    online(*CREATE)
    span = ("--from", "2026-01-01T00:00:00Z", "--to", "2026-01-10T00:00:00Z")

    assert online("schedules", "backfill", "nightly").code == 2
    assert online("schedules", "backfill", "nightly", *span, "--dry-run").out == "9 of 9 fire times have no run.\n"
    assert online("schedules", "backfill", "nightly", *span).code == 2
    assert online("schedules", "runs", "nightly", "--json").json == []
    assert online("schedules", "backfill", "nightly", *span, "--rate", "0.01", "--yes").out == "9 runs will start.\n"
    assert online("schedules", "backfill", "nightly", *span, "--yes").out == "0 of 9 fire times have no run.\n"
    dropped = online("schedules", "backfill", "nightly", "--abort", "--json").json["dropped"]
    assert dropped in {8, 9}  # the first may have started


@pytest.mark.parametrize(("command", "code", "said"), [("exit 0", 0, "4 completed"), ("exit 3", 5, "4 failed")])
def test_a_backfill_is_awaited(online: Drumline, server: Server, command: str, code: int, said: str) -> None:
    name = f"awaited {command}"
    task = {"name": "shell", "payload": {"shell": command}, "retries": 0}
    status, made = server.ask("POST", "/api/v1/schedules", {"name": name, "cron": "0 0 * * *", "task": task})
    assert status == 201, made

    span = ("--from", "2026-01-01T00:00:00Z", "--to", "2026-01-04T00:00:00Z")
    ran = online("schedules", "backfill", name, *span, "--rate", "100", "--wait", "--yes")

    assert (ran.code, said in ran.out) == (code, True), (ran.out, ran.err)
    assert "--abort" in ran.err


def test_delete_needs_a_yes(online: Drumline) -> None:
    online(*CREATE)

    assert online("schedules", "delete", "nightly").code == 2
    assert online("schedules", "delete", "nightly", "--yes").code == 0
    assert online("schedules", "get", "nightly").code == 3
