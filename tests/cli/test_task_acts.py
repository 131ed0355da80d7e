"""Cancel, retry and reschedule: by id, or everything that a filter finds, after a count and a question."""

import pytest

from tests.cli.conftest import Drumline

NAME = "nothing.runs.acts"


@pytest.fixture
def queue(online: Drumline, request: pytest.FixtureRequest) -> str:
    """A queue of this test's own, with three tasks that no worker runs."""
    name = f"acts-{abs(hash(request.node.name)) % 10**8}"
    for _ in range(3):
        online("submit", NAME, "--queue", name)
    return name


def statuses(online: Drumline, queue: str) -> set[str]:
    return {task["status"] for task in online("tasks", "list", "--queue", queue, "--json").json}


def test_a_dry_run_counts_and_names_some_and_changes_nothing(online: Drumline, queue: str) -> None:
    dry = online("tasks", "cancel", "--queue", queue, "--dry-run")

    assert dry.code == 0
    assert "3 tasks" in dry.out
    assert "would be cancelled" in dry.out
    assert dry.out.count(f"  QUEUED      {NAME}\n") == 3
    assert statuses(online, queue) == {"QUEUED"}


def test_a_filter_is_repeated_as_it_was_written(online: Drumline, queue: str) -> None:
    dry = online("tasks", "cancel", "--filter", f"status:queued queue:{queue}", "--dry-run")
    none = online("tasks", "cancel", "--filter", f"status:failed queue:{queue}", "--dry-run")

    assert f"3 tasks (status:queued queue:{queue})" in dry.out
    assert none.out == "No tasks match.\n"


def test_what_a_filter_finds_is_cancelled_and_run_again(online: Drumline, queue: str) -> None:
    assert online("tasks", "cancel", "--queue", queue, "--yes").code == 0
    assert statuses(online, queue) == {"CANCELLED"}

    assert online("tasks", "retry", "--queue", queue, "--status", "cancelled", "--yes").code == 0
    assert statuses(online, queue) == {"QUEUED"}


def test_what_a_filter_finds_is_rescheduled(online: Drumline, queue: str) -> None:
    assert online("tasks", "reschedule", "--queue", queue, "--delay", "1h", "--yes").code == 0

    assert statuses(online, queue) == {"PENDING"}


def test_without_a_terminal_and_without_yes_a_filter_is_refused(online: Drumline, queue: str) -> None:
    refused = online("tasks", "cancel", "--queue", queue)

    assert refused.code == 2
    assert "--yes" in refused.err
    assert statuses(online, queue) == {"QUEUED"}


@pytest.mark.parametrize("act", ["cancel", "retry"])
def test_neither_ids_nor_filters_or_both_are_refused(online: Drumline, act: str) -> None:
    assert online("tasks", act, "--yes").code == 2
    assert online("tasks", act, "01a1eaf2-db4c-71a3-856e-c79c3560a543", "--queue", "x", "--yes").code == 2


def test_terms_choose_tasks_for_lists_and_acts(online: Drumline, queue: str) -> None:
    task = online("submit", NAME, "--queue", queue, "--arg", "order=17", "--arg", "path=a").out.strip()
    where = f"queue:{queue} payload.order=17"

    listed = online("tasks", "list", "--filter", where, "--json").json
    dry = online("tasks", "cancel", "--filter", where, "--dry-run")
    done = online("tasks", "cancel", "--filter", where, "--since", "1h", "--yes")

    assert [each["id"] for each in listed] == [task]
    assert "1 task" in dry.out
    assert task in dry.out
    assert done.code == 0
    assert [each["status"] for each in online("tasks", "list", "--filter", where, "--json").json] == ["CANCELLED"]
    assert online("tasks", "list", "--queue", queue, "--error", "nothing like it", "--json").json == []


def test_a_filter_that_is_wrong_is_refused_with_its_place(online: Drumline) -> None:
    refused = online("tasks", "list", "--filter", "stauts:failed")

    assert refused.code == 2
    assert "at character 1, stauts:failed: there is no field stauts; did you mean status?" in refused.err


def test_a_list_is_sorted_by_a_field(online: Drumline, queue: str) -> None:
    online("submit", NAME, "--queue", queue, "--priority", "7")

    up = [each["priority"] for each in online("tasks", "list", "-q", queue, "--sort", "priority", "--json").json]
    down = [each["priority"] for each in online("tasks", "list", "-q", queue, "--sort", "-priority", "--json").json]

    assert up == sorted(up)
    assert down == up[::-1]
    assert online("tasks", "list", "--queue", queue, "--sort", "colour").code == 2
