"""API, scheduler and workers as processes of their own."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Self

from urllib3.exceptions import HTTPError

from tests.black_box.server import APP, Server, eventually


class Apart(Server):
    """An API server, and beside it whatever else is started, all on one store."""

    def __init__(self, data: Path, **settings: str) -> None:
        super().__init__(data, app=APP, **{"log_level": "info", **settings})
        self._processes: dict[str, subprocess.Popen[str]] = {}

    def start(self) -> Self:
        """Start the API alone."""
        self.run("api", "api", "--port", "0")
        eventually(lambda: " on http" in self.errors, 30, lambda: self.errors)
        self.url = re.findall(r" on (http\S+)", self.errors)[-1]
        eventually(self._answers, 30, lambda: self.errors)
        return self

    def run(self, name: str, *words: str) -> None:
        """Start one more process under a name."""
        with self.log.open("a") as log:
            self._processes[name] = subprocess.Popen(
                [sys.executable, "-m", "drumline.cli.main", *words, "--data", str(self.data)],
                stdout=log,
                stderr=log,
                text=True,
                env=self.environment,
                cwd=self.data.parent,
            )

    def run_worker(self, name: str, *, remote: bool) -> int:
        """Start a worker, through the API or on the store itself; return its process once it is registered."""
        where = ["--url", self.url] if remote else []
        self.run(name, "worker", str(APP), "--concurrency", "4", *where)
        pid = self._processes[name].pid
        eventually(lambda: pid in self.workers(), 30, lambda: self.errors)
        return pid

    def workers(self) -> set[int]:
        """Return the processes of all open workers."""
        return {worker["pid"] for worker in self.ask("GET", "/api/v1/workers")[1]["items"]}

    def kill_one(self, name: str) -> None:
        """End one process without a word."""
        process = self._processes.pop(name)
        process.kill()
        process.wait(30)

    def wait_for(self, name: str) -> int:
        """Wait until one process ends by itself."""
        return self._processes.pop(name).wait(60)

    def terminate_all(self) -> list[int]:
        """Ask all to stop, the API last, and return how they ended."""
        codes = []
        for name in sorted(self._processes, key=lambda name: name == "api"):
            self._processes[name].terminate()
            codes.append(self._processes[name].wait(60))
        self._processes.clear()
        return codes

    def __exit__(self, *error: object) -> None:
        for name in list(self._processes):
            self.kill_one(name)

    def _answers(self) -> bool:
        try:
            self.key = self.environment.get("DRUMLINE_API_KEY") or (self.data / "api-key").read_text().strip()
            return self.ask("GET", "/livez")[0] == 200
        except (OSError, HTTPError):
            return False
