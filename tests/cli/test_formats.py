"""Data in other forms than tables: -o, --jq, and the web interface."""

import pytest
import yaml

from scripts import programs
from tests.cli.conftest import Drumline

NAME = "nothing.runs.formats"


@pytest.fixture
def task(online: Drumline) -> str:
    return online("submit", NAME, "--payload", '{"text": "\u00e9"}').out.strip()


def test_names_are_what_other_commands_take(online: Drumline, task: str) -> None:
    assert online("tasks", "list", "--name", NAME, "--limit", "1", "-o", "name").out == f"{task}\n"
    assert online("tasks", "get", task, "--output", "name").out == f"{task}\n"


def test_yaml_has_what_json_has(online: Drumline, task: str) -> None:
    as_json = online("tasks", "get", task, "-o", "json").json

    assert yaml.safe_load(online("tasks", "get", task, "-o", "yaml").out) == as_json
    assert yaml.safe_load(online("tasks", "list", "--name", NAME, "-o", "yaml").out)[0]["id"] == task


def test_json_lines_of_an_object_are_one_line(online: Drumline, task: str) -> None:
    assert online("tasks", "get", task, "-o", "jsonl").out.count("\n") == 1


def test_an_unknown_format_is_answered_with_those_there_are(online: Drumline, task: str) -> None:
    wrong = online("tasks", "get", task, "-o", "xml")

    assert wrong.code == 2
    assert "yaml" in wrong.err


def test_an_expression_picks_from_the_json(online: Drumline, task: str) -> None:
    if reason := programs.missing("jq"):
        pytest.skip(reason)

    assert online("tasks", "get", task, "--jq", ".name").out == f"{NAME}\n"
    assert online("tasks", "list", "--name", NAME, "--jq", ".[0].id").out == f"{task}\n"
    wrong = online("tasks", "get", task, "--jq", ".[")
    assert wrong.code == 2
    assert "jq" in wrong.err


def test_without_jq_the_message_names_it(online: Drumline, task: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")

    missing = online("tasks", "get", task, "--jq", ".name")

    assert missing.code == 2
    assert "jq" in missing.err


def test_where_there_is_no_browser_the_address_of_the_page_is_printed(
    online: Drumline, task: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setenv("BROWSER", "/nonexistent/browser")

    assert online("tasks", "get", task, "--web").out.endswith(f"/ui/tasks/{task}\n")
