"""What commands print where, and what their exit status says."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from drumline.cli.errors import ExitCode
from tests.black_box.server import Server
from tests.cli.conftest import Drumline

NOWHERE = "00000000-0000-7000-8000-000000000000"


def traced(tmp_path: Path, text: str = "one") -> tuple[str, ...]:
    return ("work.trace", "--arg", f"file={tmp_path / 'traces'}", "--arg", f"text={text}")


# -- submit


def test_submit_prints_the_id_and_nothing_else(online: Drumline, server: Server, tmp_path: Path) -> None:
    ran = online("submit", *traced(tmp_path))

    assert (ran.code, ran.err) == (0, "")
    assert server.until_ended(ran.out.strip())["status"] == "COMPLETED"


def test_submit_and_wait_says_the_id_beside_the_result(online: Drumline, tmp_path: Path) -> None:
    ran = online("submit", *traced(tmp_path, "seen"), "--wait")

    (id_,) = re.findall(r"^Submitted (\S+)$", ran.err, re.MULTILINE)
    assert online("tasks", "get", id_).code == ExitCode.OK


def test_submit_and_wait_prints_the_result(online: Drumline, tmp_path: Path) -> None:
    ran = online("submit", *traced(tmp_path, "seen"), "--wait")

    assert (ran.code, ran.json) == (0, "seen")


def test_submit_says_what_became_of_a_task_that_collapsed(online: Drumline) -> None:
    rule = ("--collapse", "debounce=1h,key=nightly,at_most=2h")
    first = online("submit", "work.sleep", "--arg", "seconds=0", *rule)
    second = online("submit", "work.sleep", "--arg", "seconds=1", *rule)
    wrong = online("submit", "work.sleep", "--collapse", "often")

    assert second.out == first.out
    assert "it has this payload now" in second.err
    assert wrong.code != ExitCode.OK
    assert "NAME=VALUE" in wrong.err


def test_submit_takes_every_option(online: Drumline, server: Server) -> None:
    ran = online(
        "tasks", "submit", "work.sleep", "--payload", '{"seconds": 0}', "--queue", "slow", "--priority", "high",
        "--delay", "1h", "--retries", "7", "--timeout", "90s", "--key", "once", "--tag", "a", "--tag", "b", "--json",
    )  # fmt: skip
    task = server.get(ran.json["id"])

    assert (task["queue"], task["priority"], task["retries"], task["timeout"]) == ("slow", 50, 7, 90.0)
    assert (task["idempotency_key"], task["tags"], task["status"]) == ("once", ["a", "b"], "PENDING")


def test_the_payload_may_come_from_a_file_or_from_standard_input(
    online: Drumline, server: Server, tmp_path: Path
) -> None:
    (tmp_path / "payload.json").write_text('{"seconds": 0}')

    by_file = online("submit", "work.sleep", "--payload", "@payload.json")
    by_pipe = online("submit", "work.sleep", "--payload", "-", stdin='{"seconds": 0}')

    assert server.get(by_file.out.strip())["payload"] == server.get(by_pipe.out.strip())["payload"] == {"seconds": 0}


def test_many_tasks_are_submitted_from_lines(online: Drumline, tmp_path: Path) -> None:
    lines = [json.dumps({"name": "work.sleep", "payload": {"seconds": 0}, "tags": [tmp_path.name[:60]]})] * 25

    ran = online("submit", "--file", "-", "--batch-size", "10", stdin="\n".join([*lines, "", ""]))
    listed = online("tasks", "list", "--tag", tmp_path.name[:60], "--limit", "100", "--jsonl")

    assert ran.code == 0
    assert len(set(ran.out.split())) == 25
    assert {json.loads(line)["id"] for line in listed.out.splitlines()} == set(ran.out.split())


def test_a_refused_line_is_named_and_does_not_hold_up_the_others(online: Drumline) -> None:
    ran = online("submit", "--file", "-", "--json", stdin='{"name": "other"}\n{"name": "x", "priorty": 1}\n')

    assert ran.code == ExitCode.FAILED
    assert ["error" in answer for answer in ran.json] == [False, True]
    assert "Line 2: priorty: is not a known field; did you mean priority?" in ran.err


def test_a_broken_file_submits_nothing(online: Drumline, server: Server) -> None:
    before = server.count("QUEUED", "PENDING", "COMPLETED")

    ran = online("submit", "--file", "-", stdin='{"name": "work.sleep"}\nnot json\n')

    assert ran.code == ExitCode.USAGE
    assert "line 2: is not JSON" in ran.err
    assert server.count("QUEUED", "PENDING", "COMPLETED") == before


# -- look


def test_lists_are_whole_in_a_pipe(online: Drumline, server: Server, tmp_path: Path) -> None:
    task = server.submit("work.sleep", payload={"seconds": 0}, tags=[tmp_path.name[:60]], delay=3600)

    plain = online("tasks", "list", "--tag", tmp_path.name[:60])
    as_json = online("tasks", "list", "--tag", tmp_path.name[:60], "--json")

    title, row = plain.out.splitlines()
    assert title.split()[:3] == ["ID", "STATUS", "NAME"]
    assert row.split()[:3] == [task, "PENDING", "work.sleep"]
    assert [item["id"] for item in as_json.json] == [task]


def test_fields_picks_from_every_item(online: Drumline, server: Server, tmp_path: Path) -> None:
    task = server.submit("work.sleep", payload={"seconds": 0}, tags=[tmp_path.name[:60]], delay=3600)

    listed = online("tasks", "list", "--tag", tmp_path.name[:60], "--fields", "payload,id", "--json")
    table = online("tasks", "list", "--tag", tmp_path.name[:60], "--fields", "id,status")
    one = online("tasks", "get", task, "--fields", "status")
    misspelt = online("tasks", "get", task, "--fields", "statsu")

    assert listed.json == [{"payload": {"seconds": 0}, "id": task}]
    assert table.out.split() == ["ID", "STATUS", task, "PENDING"]
    assert one.json == {"status": "PENDING"}
    assert misspelt.code == ExitCode.USAGE
    assert "did you mean status?" in misspelt.err


def test_files_that_a_task_made_are_listed_and_fetched(online: Drumline, server: Server, tmp_path: Path) -> None:
    task = server.submit("generate-pdf", payload={"template": "= Hello", "filename": "hello.pdf"})
    server.until_ended(task)

    listed = online("tasks", "artifacts", task, "--json")
    fetched = online("tasks", "download", task)
    again = online("tasks", "download", task)
    other = online("tasks", "download", task, "bye.pdf")

    assert [item["name"] for item in listed.json] == ["hello.pdf"]
    assert fetched.out == "hello.pdf\n"
    assert (tmp_path / "hello.pdf").read_bytes().startswith(b"%PDF")
    assert (again.code, other.code) == (ExitCode.USAGE, ExitCode.NOT_FOUND)


def test_an_empty_list_is_no_failure(online: Drumline) -> None:
    ran = online("tasks", "list", "--name", "no task has this name", "--json")

    assert (ran.code, ran.json) == (0, [])


def test_get_shows_a_task_with_its_attempts(online: Drumline, server: Server, tmp_path: Path) -> None:
    task = server.submit("work.refuse", payload={"file": str(tmp_path / "traces")})
    server.until_ended(task)

    plain = online("tasks", "get", task, "--attempts")
    as_json = online("tasks", "get", task, "--attempts", "--json")

    assert "Permanent: never" in plain.out
    assert plain.out.splitlines()[-1].split()[:2] == ["1", "failed"]
    assert [attempt["outcome"] for attempt in as_json.json["attempts"]] == ["failed"]


def test_logs_prints_what_the_task_printed(online: Drumline, tmp_path: Path) -> None:
    task = online("submit", *traced(tmp_path, "words"), "--delay", "0.3").out.strip()

    followed = online("logs", task, "--follow")
    read = online("tasks", "logs", task, "--json")

    assert followed.out == "tracing words\n"
    assert read.json == {"id": task, "log": "tracing words\n"}


def test_the_server_is_found_whatever_store_it_uses(online: Drumline, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRUMLINE_STORE_URL", "postgresql://nowhere.invalid/drumline")

    assert online("queues", "list").code == 0


# -- watch


@pytest.mark.parametrize(
    ("name", "payload", "code"),
    [
        ("work.sleep", {"seconds": 0.2}, ExitCode.OK),
        ("work.refuse", {"file": "/dev/null"}, ExitCode.TASK_FAILED),
    ],
)
def test_watch_ends_as_the_task_ends(
    online: Drumline, server: Server, name: str, payload: dict[str, object], code: ExitCode
) -> None:
    task = server.submit(name, payload=payload)

    assert online("watch", task, "--exit-status").code == code
    assert online("watch", task).code == ExitCode.OK


def test_watch_takes_tasks_and_jobs_and_short_ids(online: Drumline, server: Server) -> None:
    task = server.submit("shell", payload={"shell": "true"})
    tasks = {"only": {"name": "shell", "payload": {"shell": "true"}}}
    job = server.ask("POST", "/api/v1/jobs", {"name": "watched", "tasks": tasks})[1]["id"]

    both = online("watch", task, job[-12:])
    alone = online("watch", job, "--json")

    assert sorted(line.split()[0] for line in both.out.splitlines()) == sorted([task, job])
    assert alone.json["name"] == "watched"
    unknown = online("watch", "01890a5d-ac96-774b-bcce-b302099a8057")
    assert (unknown.code, "no task and no job" in unknown.err) == (ExitCode.NOT_FOUND, True)


def test_watch_tells_of_a_cancelled_task_and_of_time_that_is_up(online: Drumline, server: Server) -> None:
    task = server.submit("work.sleep", payload={"seconds": 0}, delay=3600)

    waiting = online("watch", task, "--timeout", "0.2")
    online("tasks", "cancel", task, "--yes")
    cancelled = online("watch", task, "--exit-status", "--json")

    assert waiting.code == ExitCode.TIMED_OUT
    assert (cancelled.code, cancelled.json["status"]) == (ExitCode.TASK_CANCELLED, "CANCELLED")


def test_watch_says_when_nobody_can_run_the_task(online: Drumline, server: Server) -> None:
    task = server.submit("nobody has this")

    ran = online("watch", task, "--timeout", "5")

    assert "No live worker has a task named nobody has this" in ran.err


def test_watch_streams_each_change_as_a_line(online: Drumline, server: Server) -> None:
    task = server.submit("work.sleep", payload={"seconds": 0.5}, delay=0.5)

    ran = online("watch", task, "--jsonl")
    statuses = [json.loads(line)["status"] for line in ran.out.splitlines()]

    assert statuses[-1] == "COMPLETED"
    assert len(statuses) >= 2


# -- steer


def test_cancel_needs_a_yes_and_without_a_terminal_the_flag(online: Drumline, server: Server) -> None:
    task = server.submit("work.sleep", payload={"seconds": 0}, delay=3600)

    asked = online("tasks", "cancel", task, "--json")
    untouched = server.get(task)["status"]
    agreed = online("tasks", "cancel", task, "--yes", "--json")

    assert (asked.code, asked.out, untouched) == (ExitCode.USAGE, "", "PENDING")
    assert "--yes" in asked.err
    assert (agreed.code, agreed.json[0]["status"]) == (0, "CANCELLED")


def test_a_dry_run_changes_nothing(online: Drumline, server: Server) -> None:
    task = server.submit("work.sleep", payload={"seconds": 0}, delay=3600)
    before = server.count("PENDING")

    cancelled = online("tasks", "cancel", task, "--dry-run", "--json")
    submitted = online("submit", "work.sleep", "--arg", "seconds=0", "--delay", "1h", "--dry-run")

    assert [item["id"] for item in cancelled.json] == [task]
    assert submitted.json == {"name": "work.sleep", "payload": {"seconds": 0}, "delay": "1h"}
    assert server.count("PENDING") == before


def test_retry_and_reschedule(online: Drumline, server: Server) -> None:
    task = server.submit("work.sleep", payload={"seconds": 0}, delay=3600)
    online("tasks", "cancel", task, "--yes")

    retried = online("tasks", "retry", task, "--json")
    server.until_ended(task)
    later = server.submit("work.sleep", payload={"seconds": 0}, delay=3600)
    sooner = online("tasks", "reschedule", later, "--delay", "0", "--priority", "critical", "--json")

    assert retried.json[0]["status"] in {"QUEUED", "PROCESSING", "COMPLETED"}
    assert sooner.json[0]["priority"] == 100
    assert server.until_ended(later)["status"] == "COMPLETED"


def test_queues_are_paused_and_resumed(online: Drumline) -> None:
    paused = online("queues", "pause", "side", "--create", "--reason", "repairs", "--json")
    listed = online("queues", "list")
    resumed = online("queues", "resume", "side")

    assert (paused.json["is_paused"], paused.json["reason"]) == (True, "repairs")
    assert "repairs" in listed.out
    assert resumed.out == "side  running\n"


def test_workers_are_listed(online: Drumline, server: Server) -> None:
    ran = online("workers", "list", "--json")

    assert server.pid in [worker["pid"] for worker in ran.json]


# -- what is said of mistakes


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("tasks", "get", NOWHERE), ExitCode.NOT_FOUND, "there is no task"),
        (("tasks", "get", "7"), ExitCode.USAGE, "must be a UUID"),
        (("tasks", "retry", NOWHERE), ExitCode.NOT_FOUND, "there is no task"),
        (("workers", "drain", "w-00c0ffee00c0ffee", "--yes"), ExitCode.NOT_FOUND, "worker"),
        (("tasks", "list", "--status", "COMPLETE"), ExitCode.USAGE, "did you mean COMPLETED?"),
        (("tasks", "lst"), ExitCode.USAGE, "Did you mean 'list'?"),
        (("subscriptions", "delete", "x"), ExitCode.USAGE, "Did you mean 'rm'?"),
        (("tenants", "edit", "x"), ExitCode.USAGE, "Did you mean 'change'?"),
        (("schedules", "create", "x"), ExitCode.USAGE, "say when: --cron"),
        (("schedules", "create", "x", "--every", "5m"), ExitCode.USAGE, "--task NAME or --job FILE"),
        (("limits", "set", "x"), ExitCode.USAGE, "--queue, --task, or both"),
        (("limits", "set", "x", "--queue", "q"), ExitCode.USAGE, "--max-concurrent 5, --rate 50/s, or both"),
        (("subscriptions", "create", "x"), ExitCode.USAGE, "--webhook URL or --email ADDRESS"),
        (("alerts", "create", "x", "--on", "wait", "--above", "5"), ExitCode.USAGE, "--on: must be one of"),
        (("failures", "show", "x"), ExitCode.USAGE, "neither a task's id nor a fingerprint"),
        (("slos", "create", "x", "--task", "t", "--target", "most"), ExitCode.USAGE, "99.5% or 0.995"),
        (("submit", "http"), ExitCode.USAGE, "--arg url=VALUE"),
        (("jobs", "submit", "nowhere.json"), ExitCode.USAGE, "nowhere.json cannot be read: No such file"),
        (("help", "taks"), ExitCode.USAGE, "did you mean tasks?"),
        (("submit", "shell", "--arg", "shell=true"), ExitCode.USAGE, "--arg 'shell=\"true\"'"),
        (("submit", "shell", "--arg", "program=ls"), ExitCode.USAGE, "known fields: command, shell, cwd, env, stdin"),
        (("tasks", "list", "--api-key", "sk_wrong"), ExitCode.AUTH, "DRUMLINE_API_KEY"),
        (("tasks", "list", "--url", "http://127.0.0.1:1"), ExitCode.UNREACHABLE, "drumline dev"),
        (("tasks", "reschedule", NOWHERE), ExitCode.USAGE, "--at, --delay or --priority"),
        (("submit",), ExitCode.USAGE, "give the task's name"),
        (("submit", "x", "--payload", "{"), ExitCode.USAGE, "--payload: is not JSON"),
        (("submit", "x", "--arg", "y"), ExitCode.USAGE, "NAME=VALUE"),
        (("submit", "x", "--delay", "-3"), ExitCode.USAGE, "--delay: '-3' lies in the past"),
        (("submit", "x", "--at", "tomorow"), ExitCode.USAGE, "--at: 'tomorow' is not a time; write 1h"),
        (("tasks", "download", NOWHERE), ExitCode.NOT_FOUND, "there is no task"),
        (("submit", "x", "--payload", "@nowhere"), ExitCode.USAGE, "nowhere cannot be read"),
        (("dev", "nowhere.py"), ExitCode.USAGE, "there is no file nowhere.py"),
        (("dev", "--log-level", "loud"), ExitCode.USAGE, "--log-level: must be one of debug, info"),
    ],
)
def test_a_mistake_has_its_status_and_says_what_to_do(
    online: Drumline, words: tuple[str, ...], code: ExitCode, says: str
) -> None:
    ran = online(*words)

    assert (ran.code, ran.out) == (code, "")
    assert says in ran.err


def test_one_task_that_refuses_does_not_hold_up_the_others(online: Drumline, server: Server) -> None:
    task = server.submit("work.sleep", payload={"seconds": 0}, delay=3600)

    ran = online("tasks", "cancel", NOWHERE, task, "--yes", "--json")

    assert (ran.code, [one["id"] for one in ran.json]) == (ExitCode.NOT_FOUND, [task])
    assert f"{NOWHERE}: there is no task" in ran.err


def test_a_worker_with_a_wrong_key_says_so_and_ends(drumline: Drumline, server: Server) -> None:
    ran = drumline("worker", "--url", server.url, "--api-key", "sk_wrong")

    assert ran.code == ExitCode.AUTH
    assert "does not take this API key" in ran.err


def test_an_act_that_the_state_forbids_is_a_conflict(online: Drumline, server: Server) -> None:
    task = server.submit("work.sleep", payload={"seconds": 0})
    server.until_ended(task)

    assert online("tasks", "retry", task).code == ExitCode.CONFLICT


def test_a_reused_key_is_a_conflict(online: Drumline, tmp_path: Path) -> None:
    first = online("submit", "work.sleep", "--arg", "seconds=0", "--key", str(tmp_path))
    again = online("submit", "work.sleep", "--arg", "seconds=0", "--key", str(tmp_path))
    other = online("submit", "work.sleep", "--arg", "seconds=1", "--key", str(tmp_path))

    assert (again.code, again.out) == (0, first.out)
    assert "same task" in again.err
    assert other.code == ExitCode.CONFLICT


def test_a_taken_port_is_said_clearly(drumline: Drumline, server: Server) -> None:
    port = server.url.rpartition(":")[2]

    ran = drumline("dev", "--port", port)

    assert ran.code == ExitCode.FAILED
    assert f"port {port} of 127.0.0.1 is taken" in ran.err


# -- the rest


def test_an_interrupted_command_says_so(server: Server) -> None:
    task = server.submit("work.sleep", payload={"seconds": 0}, delay=3600)
    command = [sys.executable, "-m", "drumline.cli.main", "watch", task, "--jsonl"]
    environment = {**os.environ, "DRUMLINE_DATA": str(server.data)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as watching:
        assert watching.stdout is not None
        watching.stdout.readline()

        watching.send_signal(signal.SIGINT)

        assert watching.wait(30) == ExitCode.INTERRUPTED


def test_version(drumline: Drumline) -> None:
    assert drumline("version", "--json").json == {"version": drumline("version").out.strip()}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_are_printed(drumline: Drumline, shell: str) -> None:
    ran = drumline("completion", shell)

    assert ran.code == 0
    assert "_DRUMLINE_COMPLETE" in ran.out


def test_migrate_makes_the_store(drumline: Drumline, tmp_path: Path) -> None:
    assert drumline("migrate").code == 0
    assert drumline("migrate").code == 0
    assert (tmp_path / ".drumline" / "drumline.db").exists()


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_a_number_that_json_has_not_is_refused_in_a_payload_and_is_a_text_as_an_argument(
    online: Drumline, number: str
) -> None:
    payload = online("submit", "other", "-p", f'{{"a": {number}}}')
    argument = online("submit", "other", "-a", f"a={number}", "--dry-run")

    assert payload.code == ExitCode.USAGE
    assert f"{number} is no number that JSON has" in payload.err
    assert f'"a": "{number}"' in argument.out
