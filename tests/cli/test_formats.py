"""Data in other forms than tables: -o, --jq, and the web interface."""

import pytest
import yaml

from scripts import programs
from tests.cli.conftest import Drumline
from tests.cli.test_examples import leaves

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


def test_commands_that_print_by_themselves_take_a_format_too(online: Drumline, task: str) -> None:
    online("tasks", "cancel", task, "--yes")
    rule = ("schedules", "preview", "@daily", "--count", "2")

    watched = yaml.safe_load(online("watch", task, "-o", "yaml").out)
    dry = yaml.safe_load(online("submit", NAME, "--dry-run", "-o", "yaml").out)

    assert watched["status"] == "CANCELLED"
    assert dry == {"name": NAME, "payload": {}}
    assert online("submit", NAME, "-o", "name").out.count("-") == 4
    assert online("watch", task, "-o", "jsonl").out.count("\n") == 1
    assert len(yaml.safe_load(online(*rule, "-o", "yaml").out)["items"]) == 2
    assert yaml.safe_load(online("context", "list", "-o", "yaml").out) == []
    assert yaml.safe_load(online("config", "show", "--all", "-o", "yaml").out)[0]["key"]
    assert online("config", "show", "--all", "-o", "jsonl").out.startswith('{"key":')
    assert online("tasks", "list", "--name", NAME, "--limit", "1", "--json").out.startswith("[")


def test_every_command_with_json_has_the_other_formats() -> None:
    flags = {path: {flag for each in one.params for flag in each.opts} for path, one in leaves()}

    assert [path for path, has in flags.items() if "--json" in has and not {"--output", "--jq"} <= has] == []


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
