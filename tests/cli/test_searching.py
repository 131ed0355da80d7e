"""Short ids, watching several, exports and saved views on the command line."""

import csv
import io
import json
from pathlib import Path

from tests.cli.conftest import Drumline

NAME = "nothing.runs.searches"


def submitted(online: Drumline, *flags: str) -> str:
    return online("submit", NAME, *flags).out.strip()


def test_an_id_can_be_shortened_to_its_beginning_or_its_end(online: Drumline) -> None:
    task = submitted(online)

    assert online("tasks", "get", task[-10:], "--json").json["id"] == task
    assert online("tasks", "get", task[:23], "--json").json["id"] == task
    assert online("tasks", "cancel", task[-12:], "--yes", "--json").json[0]["status"] == "CANCELLED"


def test_a_short_id_of_several_is_refused_with_the_candidates(online: Drumline) -> None:
    first, second = submitted(online), submitted(online)

    refused = online("tasks", "get", first[:6])

    assert refused.code == 2
    assert "several tasks have an id with" in refused.err
    assert second in refused.err


def test_a_short_id_of_nothing_is_not_found(online: Drumline) -> None:
    missing = online("tasks", "get", "ffffffff")

    assert missing.code == 3
    assert "begins or ends with ffffffff" in missing.err
    assert online("tasks", "get", "zebra").code == 2


def test_several_tasks_are_watched_to_their_ends(online: Drumline) -> None:
    first, second = submitted(online), submitted(online)
    online("tasks", "cancel", first, second, "--yes")

    watched = online("tasks", "watch", first, second, "--exit-status")
    lines = online("watch", first, second, "--jsonl")

    assert watched.code == 6
    assert [line.split()[:2] for line in watched.out.splitlines()] == [[first, "CANCELLED"], [second, "CANCELLED"]]
    assert [json.loads(line)["id"] for line in lines.out.splitlines()] == [first, second]


def test_watching_several_ends_with_the_time(online: Drumline) -> None:
    ended, waiting = submitted(online), submitted(online)
    online("tasks", "cancel", ended, "--yes")

    watched = online("tasks", "watch", ended, waiting, "--timeout", "0.1")

    assert watched.code == 7
    assert watched.out.split()[0] == ended
    assert "1 of 2 have not ended" in watched.err


def test_tasks_are_exported_to_a_file_and_to_standard_output(online: Drumline, tmp_path: Path) -> None:
    task = submitted(online, "--tag", "exported")
    file = tmp_path / "tasks.csv"

    assert online("tasks", "export", "--filter", "tag:exported", "--file", str(file)).code == 0
    lines = online("tasks", "export", "--tag", "exported", "--format", "jsonl").out.splitlines()

    assert [row["id"] for row in csv.DictReader(io.StringIO(file.read_text("utf-8")))] == [task]
    assert [json.loads(line)["id"] for line in lines] == [task]


def test_views_are_saved_listed_and_deleted(online: Drumline) -> None:
    saved = online("views", "save", "Slow ones", "--filter", "duration>5s", "--columns", "Name, Error", "--share")
    listed = online("views", "list", "--page", "tasks", "--json").json
    gone = online("views", "delete", "Slow ones")

    assert saved.code == 0
    assert ("Slow ones", "duration>5s", ["Name", "Error"], True) in [
        (view["name"], view["filter"], view["columns"], view["is_shared"]) for view in listed
    ]
    assert gone.code == 0
    assert online("views", "delete", "Slow ones").code == 3
    assert online("views", "save", "x", "--filter", "foo:1").code == 2
