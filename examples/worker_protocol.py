"""A worker for Drumline in plain Python: it needs an address and a key, and nothing installed.

    DRUMLINE_URL=http://127.0.0.1:8080 DRUMLINE_API_KEY=sk_… python examples/worker_protocol.py

It runs tasks named "add" ({"a": 1, "b": 2} gives 3), one at a time. Stop it with Ctrl-C or SIGTERM: it finishes first.
`worker_protocol_durable.py` is built on it, and records steps.
"""

import json
import os
import secrets
import signal
import threading
import time
import traceback
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any

URL = os.environ.get("DRUMLINE_URL", "http://127.0.0.1:8080") + "/api/v1/worker/sessions"
HEADERS = {"X-API-Key": os.environ.get("DRUMLINE_API_KEY", ""), "Content-Type": "application/json"}
Run = Callable[[dict[str, Any], str], dict[str, Any] | None]
stop = threading.Event()


def call(method: str, path: str, body: Any = None, again: Callable[[], Any] | None = None) -> Any:
    """Send a request until it is answered: every call may be repeated, if need be with what `again` gives."""
    while True:
        request = urllib.request.Request(URL + path, json.dumps(body or {}).encode(), HEADERS, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30) as reply:
                return json.loads(reply.read() or "{}")
        except urllib.error.HTTPError as error:
            if error.code in {404, 409}:  # the session was taken for dead, or another attempt owns the task
                return {"is_open": False}
            if error.code < 500 and error.code != 429:
                raise SystemExit(f"{method} {path}: {error.read().decode()}") from error
        except OSError as error:
            print(f"the server does not answer: {error}")
        time.sleep(1)
        body = again() if again else body


def attempt(task: dict[str, Any], function: Callable[[Any], Any]) -> dict[str, Any]:
    """Run a function once, and return the report of how that ended."""
    try:
        return {"lease": task["lease"], "outcome": "succeeded", "result": function(task["payload"])}
    except Exception as error:  # noqa: BLE001 - whatever a function raises is the task's failure
        told = {"kind": type(error).__name__, "message": str(error), "traceback": traceback.format_exc()}
        return {"lease": task["lease"], "outcome": "failed", "error": told, "permanent": isinstance(error, KeyError)}


class Session:
    """What the server knows of the worker: which tasks it runs, what it holds, and that it is alive."""

    def __init__(self, names: list[str]) -> None:
        self.opened = call("POST", "", {"types": [{"name": name} for name in names], "capacity": 1, "pid": os.getpid()})
        self.path, self.held = f"/{self.opened['session']}", list[Any]()
        self.over, self.draining = threading.Event(), threading.Event()
        threading.Thread(target=self.beat, daemon=True).start()  # so that a long task does not look like a dead worker

    def beat(self) -> None:
        doubt = {"again": True} if self.opened.get("wants_usage") else {}
        while not self.over.wait(self.opened["beat_every"]):
            known = call("POST", f"{self.path}/beat", {"held": self.held[:]}, lambda: {"held": self.held[:], **doubt})
            (self.draining.set if known.get("should_drain") else self.draining.clear)()
            if not known["is_open"]:
                self.over.set()

    def claim(self) -> list[dict[str, Any]]:
        """Return the next task, if there is one; none while the worker drains, which an operator may undo."""
        if self.draining.is_set():
            asks = self.opened.get("undoes_drains")
            has_left = not asks or call("POST", f"{self.path}/leave").get("has_left", True)
            (stop.set if has_left else self.draining.clear)()
            return []
        body = {"limit": 1, "wait": 2, "claim_id": secrets.token_hex(8)}
        answer = call("POST", f"{self.path}/claim", body, again=lambda: {**body, "again": True})
        if "tasks" not in answer:
            self.over.set()
        tasks: list[dict[str, Any]] = answer.get("tasks", [])
        self.held[:] = [task["lease"] for task in tasks]
        return tasks


def main(handlers: dict[str, Run]) -> None:
    """Run tasks until a signal or an operator ends it; a session that was taken for dead is followed by another."""
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, lambda *_: stop.set())
    while not stop.is_set():
        session = Session(list(handlers))
        while not (stop.is_set() or session.over.is_set()):
            for task in session.claim():
                if report := handlers[task["name"]](task, session.path):
                    call("POST", f"{session.path}/settle", {"reports": [report]})
                session.held.clear()
        session.over.set()
        call("DELETE", session.path)


if __name__ == "__main__":
    main({"add": lambda task, _: attempt(task, lambda payload: payload["a"] + payload["b"])})
