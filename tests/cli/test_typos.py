"""Typing errors are not taken for wishes."""

import json
from pathlib import Path

import pytest

from drumline.cli.errors import ExitCode
from drumline.cli.failures import COLUMNS as FAILURES
from drumline.cli.tables import Column, print_table
from drumline.cli.task_columns import COLUMNS as TASKS
from tests.black_box.server import Server
from tests.cli.conftest import Drumline

ID = "01890a5d-ac96-774b-bcce-b302099a8057"


def task(**fields: object) -> dict[str, object]:
    return {
        "id": ID, "status": "PROCESSING", "name": "shop.orders.charge_customer", "queue": "default", "priority": 0,
        "attempt": 1, "retries": 3, "created_at": "2026-01-02T03:04:05.000Z", "due_at": "2026-01-02T03:04:05.000Z",
        "error": None, **fields,
    }  # fmt: skip


@pytest.mark.parametrize("width", [76, 80, 100, 120])
def test_errors_are_shown_on_a_terminal_of_80_columns(width: int, capsys: pytest.CaptureFixture[str]) -> None:
    error = {"kind": "ConnectionError", "message": "the payment provider does not answer", "traceback": ""}

    print_table([task(), task(error=error)], TASKS, width=width, is_relative=True)

    title, _, line = capsys.readouterr().out.splitlines()
    assert "ERROR" in title
    assert "ConnectionError" in line
    assert ID in line
    assert len(line) <= width


def test_where_nothing_failed_there_is_room_for_the_rest(capsys: pytest.CaptureFixture[str]) -> None:
    print_table([task(), task()], TASKS, width=80, is_relative=True)

    title = capsys.readouterr().out.splitlines()[0]
    assert "ERROR" not in title
    assert "CREATED" in title


def test_failures_are_listed_with_their_errors_at_80_columns(capsys: pytest.CaptureFixture[str]) -> None:
    failure = {
        "id": ID, "failed_at": "2026-01-02T03:04:05.000Z", "name": "shop.orders.charge", "queue": "default",
        "reason": "retries_exhausted", "attempts": 4, "fingerprint": "0123456789ab", "kind": "ConnectionError",
        "message": "the payment provider does not answer",
    }  # fmt: skip

    print_table([failure], FAILURES, width=80, is_relative=True)

    assert "ConnectionError: th" in capsys.readouterr().out


def test_a_column_without_news_goes_first() -> None:
    columns: tuple[Column, ...] = TASKS
    assert any(column.is_news for column in columns)


def test_a_queue_that_nobody_knows_is_not_paused(online: Drumline, server: Server) -> None:
    ran = online("queues", "pause", "defalt")

    assert ran.code == ExitCode.NOT_FOUND
    assert "did you mean default?" in ran.err
    assert "defalt" not in {queue["name"] for queue in server.ask("GET", "/api/v1/queues")[1]["items"]}


def test_a_queue_can_be_paused_before_its_first_task(online: Drumline) -> None:
    refused = online("queues", "pause", "zz-to-come")
    made = online("queues", "pause", "zz-to-come", "--create", "--json")
    resumed = online("queues", "resume", "zz-to-come")
    again = online("queues", "resume", "zz-to-come")

    assert refused.code == ExitCode.NOT_FOUND
    assert "--create" in refused.err
    assert made.json["is_paused"]
    assert resumed.code == ExitCode.OK
    assert again.code == ExitCode.NOT_FOUND


def test_a_queue_whose_tasks_have_all_ended_is_known(online: Drumline, server: Server) -> None:
    server.until_ended(server.submit("shell", payload={"command": ["true"]}, queue="once-used"))

    assert online("queues", "pause", "once-used").code == ExitCode.OK
    online("queues", "resume", "once-used")


@pytest.mark.parametrize("words", [("list",), ("retry", "--yes"), ("discard", "--yes"), ("retry", "--dry-run")])
@pytest.mark.parametrize("fingerprint", ["0123456789ab", "nonsense"])
def test_a_group_that_is_not_there_is_an_error(online: Drumline, words: tuple[str, ...], fingerprint: str) -> None:
    ran = online("failures", *words, "--fingerprint", fingerprint)

    assert ran.code == ExitCode.NOT_FOUND
    assert fingerprint in ran.err


def test_a_name_that_no_worker_has_is_warned_of_with_the_nearest(online: Drumline) -> None:
    ran = online("submit", "work.slep", "-a", "seconds=1", "--delay", "1h")

    assert ran.code == ExitCode.OK
    assert "Warning: no worker has published a task named work.slep" in ran.err
    assert "work.slep; did you mean work.sleep?" in ran.err
    assert "Warning" not in online("submit", "work.sleep", "-a", "seconds=0").err


def test_arguments_that_do_not_fit_are_warned_of_or_refused(online: Drumline) -> None:
    ran = online("submit", "work.sleep", "-a", "secnds=0", "--delay", "1h")

    assert "secnds" in ran.err or "seconds" in ran.err


def test_names_in_files_are_warned_of(online: Drumline) -> None:
    Path("tasks.jsonl").write_text(json.dumps({"name": "work.slep", "delay": "1h"}) + "\n")
    Path("job.json").write_text(json.dumps({"name": "j", "tasks": {"a": {"name": "work.slep", "delay": "1h"}}}))

    for words in (("submit", "--file", "tasks.jsonl"), ("jobs", "submit", "job.json")):
        ran = online(*words)
        assert ran.code == ExitCode.OK
        assert "no worker has published a task named work.slep" in ran.err
        assert "did you mean work.sleep?" in ran.err


def test_a_schedule_of_a_name_that_no_worker_has_is_warned_of(online: Drumline) -> None:
    ran = online("schedules", "create", "typo", "--cron", "@yearly", "--task", "work.slep")

    assert ran.code == ExitCode.OK
    assert "did you mean work.sleep?" in ran.err
