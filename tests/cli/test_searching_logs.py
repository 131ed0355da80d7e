"""Searching the logs of many tasks on the command line."""

import json

import pytest

from drumline.cli import client, log_search
from tests.black_box.server import Server
from tests.cli.conftest import Drumline

TAG = "cli-searches-logs"


@pytest.fixture(scope="module")
def tasks(server: Server) -> tuple[str, str]:
    """Two tasks that have written to their logs."""
    older = server.submit("shell", payload={"shell": "echo one; echo 'ERROR disk FULL'"}, retries=0, tags=[TAG])
    server.until_ended(older)
    newer = server.submit("shell", payload={"shell": "echo disk full; exit 3"}, retries=0, tags=[TAG])
    server.until_ended(newer)
    return older, newer


def test_lines_are_listed_with_their_tasks(online: Drumline, tasks: tuple[str, str]) -> None:
    older, newer = tasks

    table = online("search-logs", "Disk Full", "--tag", TAG).out.splitlines()
    lines = online("tasks", "search-logs", "disk full", "--tag", TAG, "--jsonl").out.splitlines()
    ids = online("search-logs", "disk full", "--tag", TAG, "-o", "name").out.split()

    assert table[0].split() == ["TASK_ID", "NAME", "ATTEMPT", "LINE", "LEVEL", "TEXT"]
    assert [row.split()[0] for row in table[1:]] == [newer, older]
    assert [(line["task_id"], line["line"], line["text"]) for line in map(json.loads, lines)] == [
        (newer, 1, "disk full"),
        (older, 2, "ERROR disk FULL"),
    ]
    assert ids == [newer, older]


def test_a_search_is_narrowed_as_lists_of_tasks_are(online: Drumline, tasks: tuple[str, str]) -> None:
    older, newer = tasks

    def found(*flags: str) -> list[str]:
        ran = online("search-logs", *flags, "--tag", TAG, "--json")
        assert ran.code == 0, ran.err
        return [line["task_id"] for line in ran.json]

    assert found("--level", "error") == [older]
    assert found("disk", "--status", "failed", "--since", "1h") == [newer]
    assert found("disk", "--filter", "-status:failed") == [older]
    assert found("disk", "--limit", "1") == [newer]
    assert found("disk", "--until", "2020-01-01") == []


def test_a_search_for_nothing_or_in_wrong_words_is_refused(online: Drumline) -> None:
    nothing = online("search-logs")
    loud = online("search-logs", "x", "--level", "loud")
    wrong = online("search-logs", "x", "--filter", "colour:red")
    none = online("search-logs", "no such line", "--tag", TAG)

    assert (nothing.code, loud.code, wrong.code) == (2, 2, 2)
    assert "give a text to search for, or --level" in nothing.err
    assert "there is no level loud; it is one of debug, info, warning, error" in loud.err
    assert "there is no field colour" in wrong.err
    assert (none.code, len(none.out.splitlines())) == (0, 1)


def test_a_search_goes_on_by_itself_and_says_where_it_gave_up(
    online: Drumline, tasks: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_search, "PAGE", 1)
    whole = online("search-logs", "disk", "--tag", TAG, "--json")
    monkeypatch.setattr(client, "MOST_SEARCHES", 1)
    given_up = online("search-logs", "disk", "--tag", TAG, "--json")

    assert [line["task_id"] for line in whole.json] == list(reversed(tasks))
    assert [line["task_id"] for line in given_up.json] == [tasks[1]]
    assert "Searched the logs of 1 task, back to " in given_up.err
