"""A whole installation of real processes: PostgreSQL, Redis, API servers, schedulers, workers near and far."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import Any, Self

import urllib3

from tests.harness.postgres import PostgresServer
from tests.harness.programs import free_port
from tests.harness.redis import RedisServer

APP = Path(__file__).parent / "apps" / "traced.py"
KEY = "sk_faults"
START_SECONDS = 60.0
LAST_LINES = 60
CUT_OFF_SECONDS = 8.0
"""A remote worker whose server is away for longer may be taken for dead: its last heartbeat is some seconds old."""

Body = dict[str, Any]


@dataclass
class Member:
    """One process, which keeps its name, its port and its log when it is started again."""

    name: str
    command: tuple[str, ...]
    environment: dict[str, str]
    log: Path
    port: int = 0
    python: str = sys.executable
    """The interpreter of its next start: other versions have environments of their own."""
    process: "subprocess.Popen[bytes] | None" = None
    killed: list[int] = field(default_factory=list)
    killed_at: float = 0.0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self.process is not None, f"{self.name} does not run"
        return self.process.pid

    @property
    def text(self) -> str:
        return self.log.read_text(errors="replace") if self.log.exists() else ""


class Fleet:
    """The processes by name: `api-1`, `scheduler-1`, `notifier-1`, `near-1` (on the store itself), `far-1`."""

    def __init__(
        self,
        folder: Path,
        *,
        apis: int,
        schedulers: int,
        near: int,
        far: int,
        notifiers: int = 0,
        monitored: bool = False,
        app: Path = APP,
        postgres: PostgresServer | None = None,
        concurrency: int = 8,
        **settings: str,
    ) -> None:
        self._monitored = monitored
        self.traces = folder / "traces"
        self.traces.touch()
        self._folder = folder
        self._http = urllib3.PoolManager(maxsize=32, retries=False, timeout=urllib3.Timeout(connect=5, read=30))
        self.members: dict[str, Member] = {}
        self.cut_off: set[int] = set()
        """The remote workers whose server was away for so long that they may have been taken for dead."""
        self.python = sys.executable
        """The interpreter of processes that are enlisted from now on."""
        self.postgres = postgres or PostgresServer(durable=True)
        try:
            self.redis = RedisServer()
        except BaseException:
            self.postgres.remove()
            raise
        store = {"store_url": self.postgres.url(), "queue_url": self.redis.url()}
        common = {"api_key": KEY, "log_level": "info", "log_format": "text", "allow_shell": "1", **settings}
        for name in _names("api", apis):
            port = free_port()
            self._enlist(name, "api", "--port", str(port), **common, **store).port = port
        for name in _names("scheduler", schedulers):
            self._enlist(name, "scheduler", **common, **store)
        for name in _names("notifier", notifiers):
            self._enlist(name, "notifier", **common, **store)
        for name in _names("near", near):
            self._enlist(
                name, "worker", str(app), "--concurrency", str(concurrency), **common, **store, worker_label=name
            )
        for number, name in enumerate(_names("far", far)):
            url = self.apis[number % apis].url
            self._enlist(
                name, "worker", str(app), "--concurrency", str(concurrency), **common, url=url, worker_label=name
            )

    # -- the processes

    def start(self, seconds: float = START_SECONDS) -> Self:
        """Bring the schema in, start everybody, and return once all are at work."""
        migrate = self._enlist("migrate", "migrate", store_url=self.postgres.url())
        self.restart("migrate")
        assert migrate.process is not None
        assert migrate.process.wait(seconds) == 0, migrate.text
        del self.members["migrate"]
        for name in self.members:
            self.restart(name)
        self.until_at_work(seconds)
        return self

    def restart(self, name: str) -> None:
        """Start a process that does not run."""
        member = self.members[name]
        assert member.process is None or member.process.poll() is not None, f"{name} runs already"
        with member.log.open("ab") as log:
            member.process = subprocess.Popen(
                [member.python, "-m", "drumline.cli.main", *member.command],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                env=member.environment,
                cwd=self._folder,
            )
        if member in self.apis and member.killed_at:
            Thread(target=self._note_outage, args=(member,), daemon=True).start()

    def kill(self, name: str) -> int:
        """End a process without a word, as a power cut would; return which it was."""
        member = self.members[name]
        member.killed.append(member.pid)
        self.signal(name, signal.SIGKILL)
        assert member.process is not None
        member.process.wait(30)
        member.killed_at = time.monotonic()
        return member.killed[-1]

    def signal(self, name: str, number: int) -> None:
        os.kill(self.members[name].pid, number)

    def terminate(self, name: str, seconds: float = 60.0) -> int:
        """Ask a process to stop, and return its exit status."""
        process = self.members[name].process
        assert process is not None
        process.terminate()
        return process.wait(seconds)

    def fallen(self) -> list[str]:
        """Return the processes that should run and do not."""
        return [name for name, member in self.members.items() if member.process and member.process.poll() is not None]

    def close(self) -> None:
        """End everything."""
        for member in self.members.values():
            if member.process is not None and member.process.poll() is None:
                with suppress(ProcessLookupError):
                    os.kill(member.pid, signal.SIGKILL)
                member.process.wait(30)
        self.redis.remove()
        self.postgres.remove()

    def logs(self) -> Iterator[tuple[str, str]]:
        """Give the last lines of each process."""
        for name, member in self.members.items():
            yield name, "\n".join(member.text.splitlines()[-LAST_LINES:])

    @property
    def killed(self) -> set[int]:
        """Every process that was killed."""
        return {pid for member in self.members.values() for pid in member.killed}

    @property
    def apis(self) -> list[Member]:
        return [member for name, member in self.members.items() if name.startswith("api-")]

    # -- what they say

    def ask(self, method: str, path: str, body: object = None, *, api: int = 0) -> tuple[int, Any]:
        """Return status and body of one request to one of the API servers."""
        reply = self._http.request(
            method,
            f"{self.apis[api].url}{path}",
            body=None if body is None else json.dumps(body).encode(),
            headers={"X-API-Key": KEY, "Content-Type": "application/json"},
        )
        is_json = "json" in reply.headers.get("Content-Type", "")
        return reply.status, json.loads(reply.data) if is_json else reply.data.decode()

    def get(self, path: str, *, api: int = 0) -> Body:
        """Return what is there, asking again while it cannot be had."""
        deadline = time.monotonic() + START_SECONDS
        while True:
            with suppress(urllib3.exceptions.HTTPError):
                status, body = self.ask("GET", path, api=api)
                if status == 200:
                    return dict(body)
            assert time.monotonic() < deadline, f"{path} cannot be had"
            time.sleep(0.2)

    def health(self, *, api: int = 0) -> Body:
        """Return the status of the whole, and of each part by its name."""
        body = self.ask("GET", "/actuator/health", api=api)[1]
        return {"whole": body["status"], **{name: part["status"] for name, part in body["components"].items()}}

    def workers(self) -> dict[int, str]:
        """Return the open sessions by process."""
        return {worker["pid"]: worker["id"] for worker in self.get("/api/v1/workers")["items"]}

    def until_at_work(self, seconds: float = START_SECONDS) -> None:
        """Wait until every API server answers and every worker is registered."""
        for number in range(len(self.apis)):
            until(lambda api=number: self._is_up(api), seconds, self._explain)  # type: ignore[misc]
        until(lambda: self._crew() <= self.workers().keys(), seconds, self._explain)

    def tasks(self, *statuses: str) -> dict[str, Body]:
        """Return all tasks that have one of these statuses, or all there are, by id."""
        found: dict[str, Body] = {}
        query = "".join(f"&status={status}" for status in statuses)
        cursor = ""
        while True:
            page = self.get(f"/api/v1/tasks?limit=1000{query}{cursor}")
            found |= {task["id"]: task for task in page["items"]}
            if not page["next_cursor"]:
                return found
            cursor = f"&cursor={page['next_cursor']}"

    def attempts(self, tasks: list[str]) -> dict[str, list[Body]]:
        """Return the executions of tasks, as the store recorded them, by task."""
        with ThreadPoolExecutor(8) as callers:
            lists = callers.map(lambda task: self.get(f"/api/v1/tasks/{task}/attempts")["items"], tasks)
            return dict(zip(tasks, lists, strict=True))

    def _is_up(self, api: int) -> bool:
        with suppress(urllib3.exceptions.HTTPError):
            return self.ask("GET", "/readyz", api=api)[0] == 200
        return False

    def _note_outage(self, api: Member) -> None:
        """Wait until a server answers that was killed, and note which workers it has cut off for how long."""
        number, began = self.apis.index(api), api.killed_at
        while not self._is_up(number) and time.monotonic() < began + START_SECONDS:
            time.sleep(0.1)
        if time.monotonic() - began > CUT_OFF_SECONDS:
            workers = [each for each in self.members.values() if each.environment.get("DRUMLINE_URL") == api.url]
            self.cut_off |= {each.process.pid for each in workers if each.process is not None}

    def _crew(self) -> set[int]:
        return {member.pid for name, member in self.members.items() if name.startswith(("near-", "far-"))}

    def _explain(self) -> str:
        return f"not at work: {self.fallen() or 'all run'}; workers {self.workers()}, expected {self._crew()}"

    def _enlist(self, name: str, *command: str, **settings: str) -> Member:
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("DRUMLINE_", "DATABASE_URL"))},
            **{f"DRUMLINE_{name.upper()}": value for name, value in settings.items()},
        }
        if self._monitored:
            environment["DRUMLINE_MONITOR_PORT"] = str(free_port())
        self.members[name] = Member(name, command, environment, self._folder / f"{name}.log", python=self.python)
        return self.members[name]


def until(look: Callable[[], bool], seconds: float, explain: Callable[[], object] = lambda: "") -> float:
    """Look again and again until it is so, and return how long that took; fail after a time."""
    began = time.monotonic()
    while not look():
        assert time.monotonic() < began + seconds, explain()
        time.sleep(0.05)
    return time.monotonic() - began


def _names(kind: str, count: int) -> list[str]:
    return [f"{kind}-{number}" for number in range(1, count + 1)]
