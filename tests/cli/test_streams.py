"""Commands whose standard streams are closed, full or too narrow: one line that says so, and a status."""

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from drumline.cli.main import main
from drumline.cli.streams import CheckedOutput
from tests.black_box.server import Server

READING = (
    ("tasks", "list"),
    ("tasks", "list", "--json"),
    ("tasks", "list", "--jsonl"),
    ("tasks", "counts"),
    ("tasks", "get", "{task}"),
    ("tasks", "get", "{task}", "--json"),
    ("tasks", "why", "{task}"),
    ("tasks", "artifacts", "{task}"),
    ("watch", "{task}"),
    ("logs", "{task}"),
    ("logs", "{task}", "--json"),
    ("jobs", "list"),
    ("jobs", "get", "{job}"),
    ("jobs", "graph", "{job}"),
    ("jobs", "graph", "{job}", "--mermaid"),
    ("jobs", "watch", "{job}"),
    ("failures", "list"),
    ("failures", "groups"),
    ("bulk", "list"),
    ("schedules", "list"),
    ("queues", "list"),
    ("limits", "list"),
    ("workers", "list"),
    ("consumers", "list"),
    ("subscriptions", "list"),
    ("deliveries", "list"),
    ("keys", "list"),
    ("tenants", "list"),
    ("secrets", "list"),
    ("audit", "list"),
    ("config", "get", "--json"),
    ("version",),
    ("completion", "bash"),
    ("--help",),
    ("tasks", "--help"),
    ("submit", "shell", "-p", '{"command": ["true"]}'),
)


@pytest.fixture(scope="module")
def known(server: Server) -> dict[str, str]:
    """A task and a job with names that no narrow encoding has."""
    task = server.submit("shell", payload={"command": ["printf", "héllo → 日本\\n"]})
    first = {"name": "shell", "payload": {"command": ["true"]}}
    tasks = {"a": first, "b": {**first, "needs": ["a"]}, "c": {**first, "needs": ["a"]}}
    status, job = server.ask("POST", "/api/v1/jobs", {"name": "hello", "owner": "日本", "tasks": tasks})
    assert status == 201, str(job)
    server.until_ended(task)
    return {"task": task, "job": job["id"]}


@pytest.fixture
def run_on(server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable[..., tuple[int, str]]]:
    """Run a command with another standard output, and return its status and what it said on standard error."""
    opened: list[io.TextIOWrapper] = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DRUMLINE_DATA", str(server.data))
    handler = signal.getsignal(signal.SIGINT)

    def run(words: tuple[str, ...], out: io.TextIOWrapper | None) -> tuple[int, str]:
        if out is not None:
            opened.append(out)
        monkeypatch.setattr(sys, "argv", ["drumline", *words])
        monkeypatch.setattr(sys, "stdout", out)
        monkeypatch.setattr(sys, "stderr", err := io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True))
        code = 0
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
        err.seek(0)
        return code, err.read()

    yield run
    signal.signal(signal.SIGINT, handler)
    for stream in opened:
        stream.close()


@pytest.mark.parametrize("words", READING, ids=" ".join)
def test_every_command_says_that_its_output_is_closed(
    run_on: Callable[..., tuple[int, str]], known: dict[str, str], words: tuple[str, ...]
) -> None:
    code, said = run_on(tuple(word.format(**known) if "{t" in word or "{j" in word else word for word in words), None)

    assert (code, said.splitlines()[-1:]) == (1, ["Error: standard output is closed"])


@pytest.mark.parametrize("words", READING, ids=" ".join)
def test_every_command_says_that_the_disk_is_full(
    run_on: Callable[..., tuple[int, str]], known: dict[str, str], words: tuple[str, ...]
) -> None:
    full = open("/dev/full", "w", encoding="utf-8")  # noqa: SIM115, PTH123 - closed by the fixture

    code, said = run_on(tuple(word.format(**known) if "{t" in word or "{j" in word else word for word in words), full)

    assert code == 1
    assert said.splitlines()[-1] == "Error: cannot write to standard output: No space left on device"


@pytest.mark.parametrize("encoding", ["latin-1", "ascii", "cp1252"])
@pytest.mark.parametrize("words", READING, ids=" ".join)
def test_every_command_writes_what_a_narrow_encoding_can_show(
    run_on: Callable[..., tuple[int, str]], known: dict[str, str], words: tuple[str, ...], encoding: str
) -> None:
    raw = io.BytesIO()
    narrow = io.TextIOWrapper(raw, encoding=encoding)

    code, said = run_on(tuple(word.format(**known) if "{t" in word or "{j" in word else word for word in words), narrow)

    assert (code, said.count("Traceback")) == (0, 0), said
    assert raw.getvalue()
    if "--json" in words:
        json.loads(raw.getvalue().decode(encoding))


def ran(*words: str, redirect: str, data: Path) -> "subprocess.CompletedProcess[str]":
    """Run a command as a shell does, with its streams redirected."""
    command = ["sh", "-c", f'exec "$@" {redirect}', "sh", sys.executable, "-m", "drumline.cli.main", *words]
    environment = {**os.environ, "DRUMLINE_DATA": str(data)}
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60, check=False)


@pytest.mark.parametrize(
    ("words", "redirect", "code", "said"),
    [
        (("tasks", "list"), ">&-", 1, "Error: standard output is closed\n"),
        (("tasks", "list"), ">/dev/full", 1, "Error: cannot write to standard output: No space left on device\n"),
        (("submit", "a", "-p", "-"), "<&-", 2, "Error: --payload should come from standard input, which is closed\n"),
        (("submit", "--file", "-"), "<&-", 2, "Error: --file should come from standard input, which is closed\n"),
        (("jobs", "submit", "-"), "<&-", 2, "Error: the job should come from standard input, which is closed\n"),
        (("secrets", "set", "x"), "<&-", 2, "Error: the value should come from standard input, which is closed\n"),
        (("tasks", "get", "nothing"), "2>&-", 2, ""),
        (("tasks", "get", "nothing"), "2>/dev/full", 2, ""),
        (("version",), ">/dev/full 2>/dev/full", 1, ""),
    ],
)  # fmt: skip
def test_a_process_with_bad_streams_ends_with_one_line_and_its_status(
    server: Server, words: tuple[str, ...], redirect: str, code: int, said: str
) -> None:
    process = ran(*words, redirect=redirect, data=server.data)

    assert (process.returncode, process.stderr) == (code, said)


def test_a_question_without_an_input_is_no_yes(server: Server) -> None:
    failing = server.submit("work.refuse", payload={"file": str(server.data.parent / "refused")})
    server.until_ended(failing)

    process = ran("failures", "retry", "--name", "work.refuse", redirect="<&-", data=server.data)

    assert process.returncode == 2
    assert "add --yes" in process.stderr
    assert "Traceback" not in process.stderr


def test_a_reader_that_has_seen_enough_is_no_error(server: Server) -> None:
    process = ran("--help", redirect="| head -n 1", data=server.data)

    assert process.stderr == ""


def test_the_end_of_a_command_neither_closes_nor_uses_the_stream_of_the_process() -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")

    CheckedOutput(stream).close()
    assert not stream.closed

    stream.close()
    CheckedOutput(stream).close()  # as happens when the object goes, and Python 3.13 tells of errors then
