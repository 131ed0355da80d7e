"""What a shell completes a command line to."""

from click.shell_completion import BashComplete

from drumline.cli.main import command
from tests.cli.conftest import Drumline


def completed(*words: str) -> list[str]:
    *before, text = words
    found = BashComplete(command(), {}, "drumline", "_DRUMLINE_COMPLETE").get_completions(before, text)
    return [item.value for item in found]


def test_statuses_are_completed_in_the_case_that_was_begun() -> None:
    assert completed("tasks", "list", "--status", "comp") == ["completed"]
    assert completed("tasks", "list", "--status", "C") == ["COMPLETED", "CANCELLED"]


def test_queues_task_names_and_ids_are_those_that_the_server_knows(online: Drumline) -> None:
    task = online("submit", "nothing.runs.this", "--queue", "completing-queue").out.strip()

    assert completed("queues", "pause", "completing") == ["completing-queue"]
    assert completed("tasks", "get", task[:-1]) == [task]
    assert "shell" in completed("submit", "sh")


def test_without_a_server_nothing_is_completed_and_nothing_fails(drumline: Drumline) -> None:
    assert drumline("version").code == 0
    assert completed("queues", "pause", "--url", "http://127.0.0.1:9", "x") == []


def test_words_that_do_not_depend_on_the_server_are_completed(drumline: Drumline) -> None:
    assert drumline("version").code == 0
    assert completed("failures", "groups", "--state", "re") == ["resolved", "regressed"]
    assert completed("alerts", "create", "slow", "--on", "wait") == ["wait_p95"]
    assert completed("submit", "shell", "--priority", "c") == ["critical"]
    assert completed("config", "docs", "worker.conc") == ["worker.concurrency"]
    assert completed("config", "set", "worker.conc") == ["worker.concurrency="]
    assert completed("schedules", "preview", "--tz", "Europe/Berl") == ["Europe/Berlin"]


def test_views_and_the_fields_of_a_list_are_those_that_the_server_knows(online: Drumline) -> None:
    online("submit", "nothing.runs.this", "--queue", "completing-queue")
    online("views", "save", "completing tasks", "--filter", "status:failed")
    online("views", "save", "completing jobs", "--page", "jobs")

    assert completed("views", "delete", "completing") == ["completing tasks"]
    assert completed("views", "delete", "--page", "jobs", "completing") == ["completing jobs"]
    assert completed("tasks", "list", "--sort", "created") == ["created_at"]
    assert "payload" not in completed("tasks", "list", "--sort", "")
