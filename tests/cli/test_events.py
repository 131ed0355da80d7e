"""Following events from the command line."""

import json
import re
import threading
from pathlib import Path

import urllib3

from tests.black_box.server import Server
from tests.cli.conftest import Drumline


def mark(server: Server) -> str:
    """Return the id after which everything that happens from now on comes."""
    reply = urllib3.request(
        "GET", f"{server.url}/api/v1/events", headers={"X-API-Key": server.key}, preload_content=False
    )
    text = ""
    while (found := re.search(r"^id: (.+)$", text, flags=re.MULTILINE)) is None:
        text += reply.read1(1000).decode()
    reply.close()
    return found[1]


def test_what_happens_to_a_task_is_printed_line_by_line(online: Drumline, server: Server, tmp_path: Path) -> None:
    began = mark(server)
    task = online("submit", "work.trace", "--arg", f"file={tmp_path / 'f'}", "--arg", "text=x", "--wait", "--json").json

    ran = online("events", "--after", began, "--subject", task["id"], "--count", "3")

    lines = ran.out.splitlines()
    assert (ran.code, len(lines)) == (0, 3)
    assert [line.split()[1] for line in lines] == ["task.submitted", "task.claimed", "task.completed"]
    assert all(task["id"] in line and "work.trace" in line for line in lines)


def test_events_are_json_for_programs(online: Drumline, server: Server) -> None:
    began = mark(server)
    online("queues", "pause", "unused", "--create", "--reason", "why not")
    online("queues", "resume", "unused")

    by_line = online("events", "--after", began, "--type", "queue", "--count", "2", "--jsonl")
    one = online("events", "--after", began, "--type", "queue.resumed", "--count", "1", "--json")

    paused, resumed = map(json.loads, by_line.out.splitlines())
    assert (paused["type"], paused["data"]["reason"]) == ("drumline.queue.paused", "why not")
    assert one.json == resumed


def test_a_mistake_is_told_with_its_field(online: Drumline) -> None:
    ran = online("events", "--type", "Task")

    assert ran.code == 2
    assert ran.err.startswith("Error: --type: must be a kind of event")


def test_missed_events_are_said_to_be_missed(online: Drumline, server: Server) -> None:
    began = mark(server)
    online("queues", "pause", "unused", "--create")
    online("queues", "resume", "unused")
    # Of this log, but of a position that never was: nothing can be gone on from.
    future = re.sub(r"-\d+-\d+$", "-999999999-0", began)
    is_over = threading.Event()

    def go_on() -> None:
        while not is_over.wait(0.2):
            server.ask("POST", "/api/v1/tasks", {"name": "work.sleep", "payload": {"seconds": 0}})

    going_on = threading.Thread(target=go_on)
    going_on.start()
    followed = online("events", "--after", future, "--type", "task.completed", "-n", "1")
    is_over.set()
    going_on.join()

    assert "Some events were missed" in followed.err
    assert "task.completed" in followed.out


def test_who_passes_events_on_is_listed(online: Drumline) -> None:
    listed = online("consumers", "list", "--json")
    refused = online("consumers", "forget", "nobody", "--yes")

    assert listed.code == 0
    assert isinstance(listed.json, list)
    assert (refused.code, refused.err) == (3, "Error: there is no consumer nobody\n")
