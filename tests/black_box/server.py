"""A real server process, used the way people use it: started, asked over HTTP, signalled, killed."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import urllib3

APP = Path(__file__).parent / "apps" / "work.py"
START_SECONDS = 30.0
ENDED = frozenset({"COMPLETED", "FAILED", "CANCELLED", "SKIPPED"})


class Server:
    """`drumline dev` in a process of its own, on a free port; or another program that runs a server."""

    def __init__(
        self, data: Path, *options: str, app: Path | None = APP, program: str = "dev", **settings: str
    ) -> None:
        self.data = data
        self.log = data.parent / f"{data.name}.log"
        self._program = program
        self._options = options
        self._app = [str(app)] if app else []
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("DRUMLINE_", "DATABASE_URL"))},
            "DRUMLINE_LOG_LEVEL": "warning",
            **{f"DRUMLINE_{name.upper()}": value for name, value in settings.items()},
        }
        self._process: subprocess.Popen[str] | None = None
        self._http = urllib3.PoolManager(retries=False, timeout=30)
        self.url = ""
        self.key = ""
        self.banner = ""

    # -- the process

    def start(self) -> Self:
        """Start it, and return once it answers."""
        command = [sys.executable, "-m", "drumline.cli.main", self._program, *self._app, "--port", "0", "--data"]
        with self.log.open("a") as errors:
            self._process = subprocess.Popen(
                [*command, str(self.data), *self._options],
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env=self.environment,
                cwd=self.data.parent,
            )
        lines: list[str] = []
        assert self._process.stdout is not None
        for line in self._process.stdout:
            lines.append(line)
            if "Ctrl-C" in line:
                break
        self.banner = "".join(lines)
        found = re.search(r"API +(http\S+)", self.banner)
        assert found, f"it did not start: {self.errors}"
        self.url = found[1]
        self.key = self.environment.get("DRUMLINE_API_KEY") or (self.data / "api-key").read_text().strip()
        return self

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def errors(self) -> str:
        return self.log.read_text()

    def signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def kill(self) -> None:
        """End it without a word, as a power cut would."""
        self.signal(signal.SIGKILL)
        self.wait()

    def terminate(self) -> int:
        """Ask it to stop, and return its exit status."""
        self.signal(signal.SIGTERM)
        return self.wait()

    def wait(self, seconds: float = 60.0) -> int:
        assert self._process is not None
        code = self._process.wait(seconds)
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._process = None
        return code

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *error: object) -> None:
        if self._process is not None:
            self.kill()

    # -- its API

    def ask(self, method: str, path: str, body: object = None, *, key: str | None = None) -> tuple[int, Any]:
        """Return status and body of one request."""
        reply = self._http.request(
            method,
            f"{self.url}{path}",
            body=None if body is None else json.dumps(body).encode(),
            headers={"X-API-Key": key or self.key, "Content-Type": "application/json"},
        )
        is_json = "json" in reply.headers.get("Content-Type", "")
        return reply.status, json.loads(reply.data) if is_json else reply.data.decode()

    def submit(self, name: str, **options: Any) -> str:
        """Submit a task of the app and return its id."""
        payload = options.pop("payload", {})
        status, body = self.ask("POST", "/api/v1/tasks", {"name": name, "payload": payload, **options})
        assert status in {200, 201}, body
        return str(body["id"])

    def get(self, id: str) -> dict[str, Any]:
        status, body = self.ask("GET", f"/api/v1/tasks/{id}")
        assert status == 200, body
        return dict(body)

    def attempts(self, id: str) -> list[dict[str, Any]]:
        return list(self.ask("GET", f"/api/v1/tasks/{id}/attempts")[1]["items"])

    def until(self, id: str, *statuses: str, seconds: float = 60.0) -> dict[str, Any]:
        """Return the task once it has one of these statuses."""
        task: dict[str, Any] = {}

        def look() -> bool:
            nonlocal task
            task = self.get(id)
            return task["status"] in statuses

        eventually(look, seconds, lambda: f"{task}\n{self.errors}")
        return task

    def until_ended(self, id: str, seconds: float = 60.0) -> dict[str, Any]:
        return self.until(id, *ENDED, seconds=seconds)

    def count(self, *statuses: str) -> int:
        """Return how many tasks have one of these statuses."""
        total, cursor = 0, ""
        query = "&".join(f"status={status}" for status in statuses)
        while True:
            page = self.ask("GET", f"/api/v1/tasks?limit=1000&{query}{cursor}")[1]
            total += len(page["items"])
            if not page["next_cursor"]:
                return total
            cursor = f"&cursor={page['next_cursor']}"

    def ids(self, *statuses: str) -> set[str]:
        """Return the newest thousand tasks that have one of these statuses."""
        query = "&".join(f"status={status}" for status in statuses)
        return {task["id"] for task in self.ask("GET", f"/api/v1/tasks?limit=1000&{query}")[1]["items"]}


def eventually(look: Callable[[], bool], seconds: float, explain: Callable[[], object] = lambda: "") -> None:
    """Poll a condition until it is true, or fail after a time."""
    deadline = time.monotonic() + seconds
    while not look():
        assert time.monotonic() < deadline, explain()
        time.sleep(0.05)


def lines_of(file: Path) -> list[list[str]]:
    """Return what was left: text, process, time."""
    return [line.split() for line in file.read_text().splitlines()] if file.exists() else []
