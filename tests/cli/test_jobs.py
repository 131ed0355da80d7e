"""The commands about jobs: what they print where, and what their exit status says."""

import json
from pathlib import Path
from typing import Any

import pytest

from drumline.cli.errors import ExitCode
from drumline.cli.job_submitting import read_job
from drumline.cli.picture import picture_of, remarks_on
from drumline.core.errors import Invalid
from tests.black_box.server import Server, eventually
from tests.cli.conftest import Drumline

NOWHERE = "00000000-0000-7000-8000-000000000000"


def traced(tmp_path: Path, text: str, *needs: str, **more: Any) -> dict[str, Any]:
    payload = {"file": str(tmp_path / "traces"), "text": text}
    return {"name": "work.trace", "needs": list(needs), "payload": payload, **more}


def diamond(tmp_path: Path) -> dict[str, Any]:
    return {
        "name": "nightly",
        "tasks": {
            "a": traced(tmp_path, "one"),
            "b": traced(tmp_path, "two", "a"),
            "c": traced(tmp_path, "three", "a"),
            "d": {"name": "work.trace", "needs": ["b", "c"], "payload": _joined(tmp_path)},
            "alarm": {"command": "false", "needs": ["d"], "run_if": "any_failed"},
        },
    }


def _joined(tmp_path: Path) -> dict[str, Any]:
    return {"file": str(tmp_path / "traces"), "text": {"$result": "b"}}


def broken(tmp_path: Path) -> dict[str, Any]:
    refuse = {"name": "work.refuse", "needs": ["a"], "payload": {"file": str(tmp_path / "refused")}}
    return {"name": "broken", "tasks": {"a": traced(tmp_path, "one"), "b": refuse, "c": traced(tmp_path, "two", "b")}}


@pytest.fixture
def submitted(online: Drumline, tmp_path: Path) -> Any:
    def submit(job: dict[str, Any], *words: str) -> str:
        (tmp_path / "job.json").write_text(json.dumps(job))
        ran = online("jobs", "submit", "job.json", *words)
        assert ran.code == 0, ran.err
        return ran.out.strip()

    return submit


def until_ended(online: Drumline, job: str) -> dict[str, Any]:
    body: dict[str, Any] = online("jobs", "watch", job, "--json", "--timeout", "30").json
    return body


# -- submit


def test_submit_prints_the_id_and_nothing_else(online: Drumline, tmp_path: Path) -> None:
    ran = online("jobs", "submit", "-", stdin=json.dumps(diamond(tmp_path)))

    assert (ran.code, ran.err) == (0, "")
    assert until_ended(online, ran.out.strip())["status"] == "COMPLETED"


def test_submit_and_wait_prints_what_the_last_tasks_gave_back(online: Drumline, tmp_path: Path) -> None:
    ran = online("jobs", "submit", "-", "--wait", stdin=json.dumps(diamond(tmp_path)))

    assert (ran.code, ran.json) == (0, {"d": "two"})


def test_submit_and_wait_exits_as_the_job_ends(online: Drumline, tmp_path: Path) -> None:
    ran = online("jobs", "submit", "-", "--wait", stdin=json.dumps(broken(tmp_path)))

    assert ran.code == ExitCode.TASK_FAILED
    assert ran.out.split()[1] == "FAILED"
    assert "b: Permanent: never" in ran.err
    assert "drumline jobs resume" in ran.err


def test_a_job_may_be_written_as_yaml(online: Drumline, tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(
        "name: nightly\ntasks:\n  a:\n    command: echo hello\n    run_at: 2020-01-02T03:04:05Z\n"
        "  b: {command: [echo, bye], needs: [a]}\n"
    )

    ran = online("jobs", "submit", "job.yaml", "--wait", "--owner", "me", "--name", "other", "--json")

    assert (ran.code, ran.json["status"], ran.json["owner"], ran.json["name"]) == (0, "COMPLETED", "me", "other")


@pytest.mark.parametrize(
    ("name", "text"), [("j.json", '{"tasks": {"a": {}, "a": {}}}'), ("j.yaml", "tasks:\n  a: {}\n  a: {}\n")]
)
def test_a_task_that_is_there_twice_is_refused(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)

    with pytest.raises(Invalid, match="an object has 'a' twice"):
        read_job(str(tmp_path / name))


def test_a_key_makes_one_job(online: Drumline, submitted: Any, tmp_path: Path) -> None:
    job = diamond(tmp_path)

    first = submitted(job, "--key", f"key {tmp_path.name}")
    again = online("jobs", "submit", "job.json", "--key", f"key {tmp_path.name}")

    assert again.out.strip() == first
    assert "the same job" in again.err


def test_a_dry_run_checks_and_draws_without_a_server(drumline: Drumline, tmp_path: Path) -> None:
    good = drumline("jobs", "submit", "-", "--dry-run", stdin=json.dumps(diamond(tmp_path)))
    bad = drumline("jobs", "submit", "-", "--dry-run", stdin='{"name": "x", "tasks": {"a": {"needs": ["b"]}}}')

    assert good.code == 0
    assert "│ a │" in good.out
    assert "if any_failed" in good.out
    assert "nothing was submitted" in good.err
    assert bad.code == ExitCode.USAGE
    assert "there is no task 'b' in this job" in bad.err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("not json", "standard input: is not JSON"),
        ("[]", "must hold one object"),
        ('{"name": "x", "tasks": {"a": {"needs": ["a"]}}}', "is the task itself"),
        ('{"name": "x", "tasks": {"a": {"needs": ["b"]}, "b": {"needs": ["a"]}}}', "form a cycle: a → b → a"),
    ],
)
def test_what_is_wrong_with_a_job_is_said(online: Drumline, text: str, words: str) -> None:
    ran = online("jobs", "submit", "-", stdin=text)

    assert ran.code == ExitCode.USAGE
    assert words in ran.err


# -- look


def test_jobs_are_listed_with_their_progress(online: Drumline, submitted: Any, tmp_path: Path) -> None:
    job = submitted(diamond(tmp_path), "--owner", tmp_path.name)
    until_ended(online, job)

    table = online("jobs", "list", "--owner", tmp_path.name)
    lines = online(
        "jobs", "list", "--owner", tmp_path.name, "--status", "completed", "--fields", "id,counts", "--jsonl"
    )
    none = online("jobs", "list", "--owner", tmp_path.name, "--status", "failed", "--json")
    wrong = online("jobs", "list", "--status", "faild")

    title, row = table.out.splitlines()
    assert title.split()[:4] == ["ID", "STATUS", "NAME", "PROGRESS"]
    assert row.split()[:2] == [job, "COMPLETED"]
    assert "5/5 tasks, 1 skipped" in row
    assert json.loads(lines.out)["id"] == job
    assert none.json == []
    assert wrong.code == ExitCode.USAGE
    assert "did you mean FAILED?" in wrong.err


def test_one_job_is_shown_with_what_failed_first(online: Drumline, submitted: Any, tmp_path: Path) -> None:
    job = submitted(broken(tmp_path), "--owner", "me")
    until_ended(online, job)

    page = online("jobs", "get", job).out
    picked = online("jobs", "get", job, "--fields", "status,owner")

    assert "status     FAILED" in page
    assert "progress   3/3 tasks, 1 failed, 1 skipped" in page
    first, second, third = page.split("REASON\n")[1].splitlines()
    assert first.split()[:2] == ["b", "FAILED"]
    assert "never" in first
    assert second.split()[:2] == ["c", "SKIPPED"]
    assert "b failed" in second
    assert third.split()[:2] == ["a", "COMPLETED"]
    assert picked.json == {"status": "FAILED", "owner": "me"}


def test_the_graph_is_drawn_and_written(online: Drumline, submitted: Any, tmp_path: Path) -> None:
    job = submitted(broken(tmp_path))
    until_ended(online, job)

    drawn = online("jobs", "graph", job).out
    mermaid = online("jobs", "graph", job, "--mermaid").out
    as_json = online("jobs", "graph", job, "--json").json
    followed = online("jobs", "graph", job, "--follow").out
    both = online("jobs", "graph", job, "--mermaid", "--json")

    assert "│ ✗ b" in drawn
    assert "│ ✓ a" in drawn
    assert "FAILED  b: " in drawn
    assert f"1 skipped because of that; run them again with: drumline jobs resume {job}" in drawn
    assert mermaid.startswith("flowchart TD\n")
    assert [node["key"] for node in as_json["nodes"]] == ["a", "b", "c"]
    assert "│ ✗ b" in followed
    assert both.code == ExitCode.USAGE


def test_the_tasks_of_a_job_are_listed(online: Drumline, submitted: Any, tmp_path: Path) -> None:
    job = submitted(broken(tmp_path))
    until_ended(online, job)

    listed = online("tasks", "list", "--job", job, "--fields", "key,status", "--json")

    assert listed.json == [
        {"key": "c", "status": "SKIPPED"}, {"key": "b", "status": "FAILED"}, {"key": "a", "status": "COMPLETED"},
    ]  # fmt: skip


def test_get_shows_the_executions_of_a_jobs_tasks_if_asked(online: Drumline, submitted: Any, tmp_path: Path) -> None:
    job = submitted(broken(tmp_path))
    until_ended(online, job)

    unasked = online("jobs", "get", job)
    page = online("jobs", "get", job, "--attempts")
    as_json = online("jobs", "get", job, "--attempts", "--json").json
    one_field = online("jobs", "get", job, "--attempts", "--fields", "status,attempts").json
    unasked_json = online("jobs", "get", job, "--json").json

    table = page.out.removeprefix(unasked.out)
    head, *rows = table.strip().splitlines()
    assert (page.code, page.err) == (0, "")
    assert head.split() == ["KEY", "#", "OUTCOME", "STARTED_AT", "TOOK", "WORKER", "REASON"]
    assert sorted(row.split()[:3] for row in rows) == [
        ["a", "1", "completed"], ["b", "1", "failed"],
    ]  # fmt: skip
    assert [row.split()[0] for row in rows] == [attempt["key"] for attempt in as_json["attempts"]]
    assert {attempt["key"]: attempt["reason"] for attempt in as_json["attempts"]}["b"] == "never"
    assert one_field == {"status": "FAILED", "attempts": as_json["attempts"]}
    assert "attempts" not in unasked_json


# -- wait and steer


def test_watch_ends_with_the_job_and_its_status(online: Drumline, submitted: Any, tmp_path: Path) -> None:
    good, bad = submitted(diamond(tmp_path)), submitted(broken(tmp_path))

    seen = online("jobs", "watch", good, "--exit-status")
    failed = online("jobs", "watch", bad, "--exit-status")
    unasked = online("jobs", "watch", bad)
    lines = online("jobs", "watch", good, "--jsonl")

    assert (seen.code, seen.out.split()) == (0, [good, "COMPLETED"])
    assert (failed.code, unasked.code) == (ExitCode.TASK_FAILED, 0)
    assert "b: Permanent: never" in failed.err
    assert json.loads(lines.out.splitlines()[-1])["status"] == "COMPLETED"


def test_watch_gives_up_and_the_job_lives_on(online: Drumline, submitted: Any, tmp_path: Path) -> None:
    job = submitted({"name": "later", "tasks": {"a": traced(tmp_path, "x", delay=3600)}})

    ran = online("jobs", "watch", job, "--timeout", "0.2")

    assert ran.code == ExitCode.TIMED_OUT
    assert "the job continues: 0/1 tasks" in ran.err


def test_cancel_asks_first_and_ends_what_waits(online: Drumline, submitted: Any, tmp_path: Path) -> None:
    job = submitted(
        {"name": "later", "tasks": {"a": traced(tmp_path, "x", delay=3600), "b": traced(tmp_path, "y", "a")}}
    )

    asked = online("jobs", "cancel", job)
    tried = online("jobs", "cancel", job, "--dry-run")
    done = online("jobs", "cancel", job, "--yes", "--reason", "wrong day")
    watched = online("jobs", "watch", job, "--exit-status")
    again = online("jobs", "cancel", job)

    assert asked.code == ExitCode.USAGE
    assert (again.code, again.err) == (0, "")  # nothing to lose, so nothing to ask
    assert "Cancel job later, of which 2 tasks have not ended?" in asked.err
    assert "nothing was changed" in tried.err
    assert done.out.split()[:2] == [job, "CANCELLED"]
    assert watched.code == ExitCode.TASK_CANCELLED
    assert "wrong day" in watched.err


def test_resume_runs_what_failed_again(online: Drumline, server: Server, submitted: Any, tmp_path: Path) -> None:
    job = submitted(broken(tmp_path))
    until_ended(online, job)

    resumed = online("jobs", "resume", job)
    again = until_ended(online, job)
    completed = submitted(diamond(tmp_path))
    until_ended(online, completed)
    refused = online("jobs", "resume", completed)

    assert (resumed.code, resumed.out.split()[0]) == (0, job)
    assert again["status"] == "FAILED"
    assert (
        len(server.attempts(online("tasks", "list", "--job", job, "--status", "failed", "--json").json[0]["id"])) == 2
    )
    assert refused.code == ExitCode.CONFLICT


def test_a_job_that_does_not_exist_is_not_found(online: Drumline) -> None:
    for command in (["get"], ["graph"], ["watch"], ["resume"], ["cancel", "--yes"]):
        assert online("jobs", *command, NOWHERE).code == ExitCode.NOT_FOUND

    several = online("jobs", "resume", NOWHERE, "no-id")
    assert several.code == ExitCode.NOT_FOUND
    assert f"{NOWHERE}: there is no job" in several.err


def test_a_job_that_waits_for_another_says_so(online: Drumline, submitted: Any, tmp_path: Path) -> None:
    first = submitted({"name": "later", "tasks": {"a": traced(tmp_path, "x", delay=3600)}})
    second = submitted(diamond(tmp_path), "--after", first)

    page = online("jobs", "get", second).out
    online("jobs", "cancel", first, "--yes")
    eventually(lambda: until_ended(online, second)["status"] == "FAILED", 20)

    assert "waits for 1 other job" in page
    assert f"after      {first}" in page
    assert first in online("jobs", "get", second).out.split("reason")[1].splitlines()[0]


# -- pictures


def node(key: str, *needs: str, status: str = "COMPLETED") -> dict[str, Any]:
    return {
        "key": key, "name": key.partition("-")[0], "needs": list(needs), "status": status, "run_if": "all_succeeded",
        "started_at": None, "finished_at": None, "reason": "boom", "cause": None,
    }  # fmt: skip


def graph_of(*nodes: dict[str, Any]) -> dict[str, Any]:
    return {"id": "ID", "nodes": list(nodes), "critical_path": {"keys": [], "seconds": 0}}


def test_a_fan_of_thousands_is_three_boxes() -> None:
    middle = [node(f"m-{number}", "a", status="COMPLETED" if number else "FAILED") for number in range(5000)]
    graph = graph_of(node("a"), *middle, node("z", *[one["key"] for one in middle], status="SKIPPED"))

    lines = picture_of(graph, width=80)

    assert lines is not None
    assert len(lines) < 20
    assert "│ 1 FAILED, 4,999 COMPLETED" in "\n".join(lines)
    assert list(remarks_on(graph)) == ["FAILED  m-0: boom"]


def test_a_graph_that_does_not_fit_is_not_drawn() -> None:
    tangle = graph_of(
        *[node(f"a{n}") for n in range(9)], *[node(f"b{n}", f"a{n}", f"a{(n + 1) % 9}") for n in range(9)]
    )

    assert picture_of(tangle, width=60) is None


def test_keys_cannot_play_tricks_on_a_terminal() -> None:
    lines = picture_of(graph_of(node("a\x1b[31m"), node("b", "a\x1b[31m")), width=80)

    assert lines is not None
    assert "\x1b" not in "".join(lines)


def test_a_timeline_has_every_attempt_of_a_job_on_one_axis(online: Drumline, submitted: Any, tmp_path: Path) -> None:
    job = submitted(broken(tmp_path))
    until_ended(online, job)

    shown = online("jobs", "timeline", job)
    rows = online("jobs", "timeline", job, "--json").json["items"]

    assert [(row["kind"], row["name"], row["status"]) for row in rows if row["kind"] == "task"] == [
        ("task", "a", "COMPLETED"), ("task", "b", "FAILED"), ("task", "c", "SKIPPED"),
    ]  # fmt: skip
    assert all(row["ready_at"] <= row["started_at"] <= row["finished_at"] for row in rows if row["started_at"])
    assert "█" in shown.out
    assert "COMPLETED" in shown.out


def test_why_names_the_tasks_that_a_job_waits_for(online: Drumline, submitted: Any) -> None:
    job = submitted({"name": "stuck", "tasks": {"a": {"name": "nobody.has"}, "b": {"command": "true", "needs": ["a"]}}})

    shown = online("jobs", "why", job)
    online("jobs", "cancel", job, "--yes")

    assert "It waits for these tasks (1 queued, 1 blocked):" in shown.out
    assert "a  QUEUED, 1 behind it" in shown.out
    assert "No live worker has the task nobody.has." in shown.out
    assert "It has ended: cancelled." in online("jobs", "why", job).out


def test_a_timeline_of_a_task_has_its_attempts(online: Drumline) -> None:
    task = online("submit", "shell", "--arg", "shell=echo hello", "--wait", "--json").json["id"]

    rows = online("tasks", "timeline", task, "--json").json["items"]

    assert [(row["kind"], row["name"], row["status"]) for row in rows] == [("attempt", "attempt 1", "completed")]
    assert "completed" in online("tasks", "timeline", task).out
