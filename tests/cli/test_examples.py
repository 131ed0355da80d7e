"""Every command's help has examples, and each of them is run against a real server, or at least understood."""

import json
import re
import shlex
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any
from uuid import uuid4

import click
import pytest

from drumline.cli.examples import all_examples, examples_of
from drumline.cli.main import command
from tests.black_box.server import Server, eventually
from tests.cli.conftest import Drumline

APP = """
from drumline import Context, Drumline, inject

app = Drumline("shop")


@app.task(name="order")
async def order(order_id: int, *, ctx: Context[None] = inject()) -> None:
    await ctx.step("charge", lambda: order_id)
    await ctx.wait_for("approved", bool)


@app.task(name="report")
async def report(*, ctx: Context[None] = inject()) -> None:
    ctx.put_artifact("report.csv", "a,b", "text/csv")
"""
JOB = {
    "name": "close the month",
    "tasks": {
        "extract": {"name": "shell", "payload": {"shell": "echo rows"}},
        "load": {"name": "shell", "payload": {"shell": "true"}, "needs": ["extract"]},
    },
}
FILES = {
    "app.py": APP,
    "src/tasks.py": "from celery import Celery\n",
    "tasks.jsonl": '{"name": "shell", "payload": {"shell": "true"}}\n',
    "job.json": json.dumps(JOB),
    "password.txt": "secret",
    "drumline.yaml": "worker:\n  concurrency: 4\n",
}
ONLY_PARSED = {
    "dev": "it runs until it is stopped",
    "demo": "it runs until it is stopped",
    "api": "it runs until it is stopped",
    "relay": "it runs until it is stopped, and needs PostgreSQL",
    "scheduler": "it runs until it is stopped, and needs PostgreSQL",
    "worker": "it runs until it is stopped, and needs PostgreSQL or a URL",
    "notifier": "it runs until it is stopped, and needs PostgreSQL",
    "top": "it needs a terminal: test_top.py",
    "docs": "it serves pages until it is stopped, and needs them built: test_docs.py",
    "events": "it waits for events: test_events.py",
    "outbox": "it needs PostgreSQL: test_outbox.py",
    "shards": "it needs PostgreSQL: test_shards.py",
    "secrets rotate": "it needs a server with two keys: test_secrets.py",
    "restored": "it needs a store that no server has open: test_restored.py",
    "consumers forget": "there is no consumer that has gone: test_events.py",
    "subscriptions test": "it fails where nothing is delivered: test_notifications.py",
}
"""Commands whose examples are not run, and why."""


SHORT = re.compile("[0-9a-f]{8}")
"""How examples write ids: the end of one, as the lists of a terminal are cut."""
PAGE = re.compile(r"/ui/(tasks|jobs|schedules|alerts|failures|queues|workers|bulk)/[^/?#]+")
"""The address of one thing in the interface."""


def leaves() -> Iterator[tuple[str, click.Command]]:
    """Yield every command that is no group, by its words."""

    def below(path: str, one: click.Command) -> Iterator[tuple[str, click.Command]]:
        inner = getattr(one, "all", None)
        if inner is None:
            yield path, one
            return
        for name, each in inner.items():
            yield from below(f"{path} {name}".strip(), each)

    yield from below("", command())


PATHS = [path for path, _ in leaves()]


def path_of(words: list[str]) -> str:
    """Return the command that an example calls."""
    text = " ".join(words) + " "
    found = [path for path in PATHS if f"{path} " in text and (text.startswith(f"{path} ") or words[0].startswith("-"))]
    return max(found, key=len, default="")


def parse(words: list[str]) -> None:
    """Let click read an example as far as it does without calling its command; raises `UsageError`."""
    one: click.Command = command()
    context = one.make_context("drumline", list(words), resilient_parsing=False)
    while isinstance(one, click.Group):
        name, found, rest = one.resolve_command(context, [*context._protected_args, *context.args])
        assert found is not None
        one, context = found, found.make_context(name, rest, parent=context)


def test_the_help_of_every_command_has_examples() -> None:
    assert [path for path in PATHS if not examples_of(path.split())] == []


def test_every_example_belongs_to_a_command_and_is_understood() -> None:
    wrong = {}
    for line in all_examples():
        words = shlex.split(line)[1:]
        try:
            assert path_of(words), "no such command"
            parse(words)
        except (click.UsageError, AssertionError) as error:
            wrong[line] = str(error)

    assert wrong == {}


class World:
    """A server with what the examples speak of, made anew for each."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self.made: dict[str, Callable[[], str]] = {
            "c3c0c9f4": self.completed, "8ab1d2e7": self.failed, "f00dcafe": self.waiting, "5ca1ab1e": self.durable,
            "51f0aa7b": self.job, "b07f4d7e8a99": self.group, "w-00c0ffee00c0ffee": self.worker,
            "b01dface-0000-7000-8000-000000000001": self.bulk, "b01dface-0000-7000-8000-000000000002": self.slow_bulk,
            "ce11f00d": self.key, "5ab5c21b": self.subscription, "de11ce7e": self.delivery,
            "https://drumline.example.com": lambda: server.url,
        }  # fmt: skip

    def completed(self) -> str:
        task = self._server.submit("report")
        self._server.until(task, "COMPLETED")
        return task

    def failed(self) -> str:
        task = self._server.submit("shell", payload={"shell": "echo timed out; exit 3"}, retries=0)
        self._server.until(task, "FAILED")
        return task

    def waiting(self) -> str:
        return self._server.submit("shell", payload={"shell": "true"}, delay=3600)

    def durable(self) -> str:
        task = self._server.submit("order", payload={"order_id": 17})
        eventually(lambda: [each["outcome"] for each in self._server.attempts(task)] == ["parked"], 30)
        return task

    def job(self) -> str:
        return str(self._posted("/api/v1/jobs", JOB)["id"])

    def group(self) -> str:
        self.failed()
        return str(self._server.ask("GET", "/api/v1/failures/groups")[1]["items"][0]["fingerprint"])

    def bulk(self, **options: object) -> str:
        self.waiting()
        wanted = {"act": "cancel", "filter": {"status": ["PENDING"], "name": "shell"}, **options}
        return str(self._posted("/api/v1/bulk", wanted)["id"])

    def slow_bulk(self) -> str:
        """A bulk operation that has not ended when the next command comes, however long that takes."""
        self.waiting()
        return self.bulk(rate=0.001)

    def key(self) -> str:
        return str(self._posted("/api/v1/keys", {"name": "short", "role": "viewer"})["id"])

    def subscription(self) -> str:
        made = {"name": f"hook {uuid4()}", "webhook": "http://127.0.0.1:9/hook"}
        return str(self._posted("/api/v1/subscriptions", made)["id"])

    def delivery(self) -> str:
        """A delivery that has failed: nothing may be sent to this machine itself."""
        return str(self._posted(f"/api/v1/subscriptions/{self.subscription()}/test?wait=20", None)["id"])

    @cache  # noqa: B019 - one world, one worker
    def worker(self) -> str:
        said = {"host": "h", "pid": 1, "version": "1", "queues": [], "types": [{"name": "none"}], "capacity": 1}
        return str(self._posted("/api/v1/worker/sessions", said)["session"])

    def _posted(self, path: str, body: object) -> Any:
        status, answer = self._server.ask("POST", path, body)
        assert status in {200, 201, 202}, answer
        return answer

    def real(self, word: str) -> str:
        """Return a word of an example with what exists in place of what stands for it, shortened as that is."""
        for name, make in self.made.items():
            if name in word:
                made = make()
                return word.replace(name, made[-len(name) :] if SHORT.fullmatch(name) else made)
        return word


@pytest.mark.timeout(300)
def test_every_example_runs(drumline: Drumline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setenv("DRUMLINE_DATA", str(tmp_path / "data"))
    failed = {}
    with Server(tmp_path / "data", app=tmp_path / "app.py") as server:
        world = World(server)
        drumline("queues", "pause", "reports", "--create")  # a queue that exists
        drumline("queues", "resume", "reports")
        drumline("login", server.url, "--name", "staging", "--api-key", server.key)
        for line in [*all_examples()[4:], *all_examples()[:4]]:
            words = shlex.split(line)[1:]
            if any(path_of(words) == each or path_of(words).startswith(f"{each} ") for each in ONLY_PARSED):
                continue
            ran = drumline(*map(world.real, words), stdin=server.key if words[0] == "login" else "")
            if ran.code != 0:
                failed[line] = (ran.code, ran.err)

    assert failed == {}


@pytest.mark.timeout(300)
def test_every_page_that_a_command_opens_is_an_address_of_the_interface(
    drumline: Drumline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []

    def opens(url: str) -> bool:
        opened.append(url)
        return True

    monkeypatch.setattr("webbrowser.open", opens)
    monkeypatch.setenv("DRUMLINE_DATA", str(tmp_path / "data"))
    (tmp_path / "app.py").write_text(APP)
    pages, wrong = [path for path, one in leaves() if any("--web" in flag.opts for flag in one.params)], {}
    with Server(tmp_path / "data", app=tmp_path / "app.py") as server:
        world = World(server)
        drumline("queues", "pause", "reports", "--create")
        drumline("schedules", "create", "nightly", "--every", "1h", "--task", "report")
        drumline("alerts", "create", "many-failures", "--on", "failure_rate", "--above", "5%")
        for line in [line for path in pages for line in examples_of(path.split())]:
            opened.clear()
            ran = drumline(*map(world.real, shlex.split(line)[1:]), "--web")
            if ran.code or [PAGE.fullmatch(url.removeprefix(server.url)) is None for url in opened] != [False]:
                wrong[line] = (ran.code, ran.err, list(opened))

    assert {"alerts get", "bulk get", "failures show", "queues get", "tasks get", "workers get"} <= set(pages)
    assert wrong == {}
