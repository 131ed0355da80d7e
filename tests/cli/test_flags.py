"""Flags of commands: what they understand, and errors that name them."""

from pathlib import Path

import pytest

from drumline.cli.errors import ExitCode, message_of
from drumline.core.errors import Invalid
from tests.cli.conftest import Drumline


@pytest.mark.parametrize(
    ("field", "message", "given", "told"),
    [
        ("run_at", "must be a time", ["submit", "x", "--at", "q"], "--at: must be a time"),
        ("idempotency_key", "must not be blank", ["--key="], "--key: must not be blank"),
        ("delay", "cannot be given together with run_at", ["--delay", "1", "--at", "2"],
         "--delay: cannot be given together with --at"),
        ("filter.since", "must be a time", ["--since", "q"], "--since: must be a time"),
        ("tags[0]", "must not be blank", ["--tag", ""], "--tag: must not be blank"),
        ("payload.to", "is missing", ["-p", "{}"], "-p: to: is missing"),
        ("payload.shell", "must be a text, not true or false", ["submit", "shell", "--arg", "shell=true"],
         """--arg shell=true: must be a text, not true or false; for the text write --arg 'shell="true"'"""),
        ("payload.to.city", "is required", ["-a", "n=1", "-a", "to={}"], "--arg to={}: city: is required"),
        ("payload.cmd", "is not a known field", ["--arg=cmd=ls"], "--arg cmd=ls: is not a known field"),
        ("task.payload.cmd", "is not a known field", ["-a", "cmd=ls"], "--arg cmd=ls: is not a known field"),
        ("payload.url", "is required", ["submit", "http"], "the argument url is required: --arg url=VALUE"),
        ("measure", "must be one of backlog", ["--on", "x"], "--on: must be one of backlog"),
        ("payload.to", "is required", ["-a", "n=1"], "the argument to is required: --arg to=VALUE"),
        ("limit_key", "must not be blank", ["--limit-key", ""], "--limit-key: must not be blank"),
        ("name", "must not be blank", ["submit", ""], "name: must not be blank"),
        (None, "there is no such thing", ["x"], "there is no such thing"),
    ],
)  # fmt: skip
def test_errors_name_the_flag_that_was_given(field: str | None, message: str, given: list[str], told: str) -> None:
    assert message_of(Invalid(message, field=field), given) == told


@pytest.mark.parametrize(
    "words",
    [
        ("failures", "list", "--since"), ("failures", "list", "--until"), ("audit", "list", "--since"),
        ("audit", "list", "--until"), ("submit", "work.sleep", "-a", "seconds=0", "--dry-run", "--at"),
        ("schedules", "preview", "@daily", "--after"),
    ],
)  # fmt: skip
def test_every_flag_understands_every_form(online: Drumline, words: tuple[str, ...]) -> None:
    codes = {text: online(*words, text).code for text in ("1h", "2026-10-01", "tomorrow", "30d", "2026-10-01T09:00Z")}

    assert set(codes.values()) == {ExitCode.OK}, codes
    refused = online(*words, "tomorow")
    assert refused.code == ExitCode.USAGE
    assert f"{words[-1]}: 'tomorow' is not a time" in refused.err


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"name": "j", "tasks": {"load": {"command": "true", "needs": ["extrat"]}, "extract": {"command": "true"}}}',
         "job.json: task load: needs[0]: there is no task 'extrat' in this job; did you mean extract?"),
        ('{"name": "j", "tasks": {"load": {"command": "true", "retrys": 3}}}',
         "job.json: task load: retrys: is not a known field; did you mean retries?"),
        ('{"name": "j", "tasks": {"load": {"command": "true", "retries": -3}}}', "job.json: task load: retries: must"),
        ('{"name": "j", "tasks": {"load": ', "job.json: is not JSON"),
        ('{"name": "j", "tasks": {"a": {"command": "true"}, "a": {}}}', "job.json: an object has 'a' twice"),
        ('{"name": "j", "task": {}}', "job.json: task: is not a known field; did you mean tasks?"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("how", [(), ("--dry-run",)])
def test_errors_of_a_job_file_name_file_task_and_the_nearest_word(
    online: Drumline, how: tuple[str, ...], text: str, told: str
) -> None:
    Path("job.json").write_text(text)

    ran = online("jobs", "submit", "job.json", *how)

    assert ran.code == ExitCode.USAGE
    assert told in ran.err
