"""Times of log lines, marks of attempts, and the logs of a job."""

from datetime import UTC, datetime, timedelta

from drumline.cli.log_lines import lines_of, stamped, time_of, timed
from tests.black_box.server import Server
from tests.cli.conftest import Drumline

START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def test_pieces_are_put_together_to_lines() -> None:
    assert list(lines_of(["a\nb", "c\n", "\nd"])) == ["a", "bc", "", "d"]


def test_a_line_without_a_time_has_that_of_the_line_before() -> None:
    lines = ["before", "2026-01-02T03:04:06.500Z INFO app: x", "after", "2026-02-31T00:00:00Z no time"]
    later = START + timedelta(seconds=1.5)

    assert [at for at, _ in timed(lines, START)] == [START, later, later, later]
    assert stamped(later, "after") == "2026-01-02T03:04:06.500Z after"
    assert stamped(START, lines[1]) == lines[1]
    assert time_of("2026-02-31T00:00:00Z no time") is None


def test_attempts_are_marked_and_lines_have_times(online: Drumline, server: Server) -> None:
    task = server.submit("shell", payload={"shell": "echo out; exit 3"}, retries=1, backoff=0)
    server.until_ended(task)

    stamped_log = online("logs", task, "--timestamps").out.splitlines()
    second = online("logs", task, "--timestamps", "--attempt", "2").out
    later = online("logs", task, "--since", "2099-01-01").out.splitlines()

    assert [line.split(":")[0] for line in stamped_log if line.startswith("-- attempt")] == [
        "-- attempt 1", "-- attempt 2",
    ]  # fmt: skip
    assert sum(time_of(line) is not None and line.endswith("Z out") for line in stamped_log) == 2
    assert second.count("-- attempt") == 1
    assert [line.startswith("-- attempt") for line in later] == [True, True]
    last = online("logs", task, "--timestamps", "--tail", "1").out.splitlines()
    assert [line.split(":")[0] for line in last[:1]] == ["-- attempt 2"]
    assert len(last) == 2


def test_a_followed_log_has_times_and_begins_at_a_time(online: Drumline, server: Server) -> None:
    task = server.submit("shell", payload={"shell": "echo one; echo two"})

    followed = online("logs", task, "--follow", "--timestamps").out.splitlines()
    later = online("logs", task, "--follow", "--since", "2099-01-01")

    assert [(time_of(line) is None, line.split()[-1]) for line in followed] == [(False, "one"), (False, "two")]
    assert (later.code, later.out) == (0, "")
    assert online("logs", task, "--timestamps", "--json").code == 2


def test_a_log_that_is_empty_is_said_to_be(online: Drumline, server: Server) -> None:
    task = server.submit("shell", payload={"shell": "true"})
    server.until(task, "COMPLETED")

    for flags in ([], ["--tail", "3"], ["--tail", "3", "--timestamps"]):
        ran = online("logs", task, *flags)
        assert (ran.out, ran.err) == ("", "Nothing was logged.\n")


def test_the_logs_of_a_job_name_its_tasks(online: Drumline, server: Server) -> None:
    def shell(text: str, *needs: str) -> dict[str, object]:
        return {"name": "shell", "payload": {"shell": text}, "retries": 0, "needs": needs}

    tasks = {"first": shell("echo one"), "second": shell("echo two; exit 3", "first")}
    job = server.ask("POST", "/api/v1/jobs", {"name": "logged", "tasks": tasks})[1]["id"]
    online("jobs", "watch", job)

    assert online("jobs", "logs", job).out == "[first] one\n[second] two\n"
    assert online("jobs", "logs", job, "--failed").out == "[second] two\n"
    assert online("jobs", "logs", job, "--key", "first", "--timestamps").out.endswith("Z one\n")


def test_the_logs_of_a_job_are_cut_to_their_ends_and_to_a_time(online: Drumline, server: Server) -> None:
    shell = {"name": "shell", "payload": {"shell": "echo begin; echo end"}}
    job = server.ask("POST", "/api/v1/jobs", {"name": "long", "tasks": {"a": shell, "b": shell}})[1]["id"]
    online("jobs", "watch", job)

    assert sorted(online("jobs", "logs", job, "--tail", "1").out.splitlines()) == ["[a] end", "[b] end"]
    assert len(online("jobs", "logs", job, "--since", "1d").out.splitlines()) == 4
    assert online("jobs", "logs", job, "--since", "2099-01-01").out == ""
