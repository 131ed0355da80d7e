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
