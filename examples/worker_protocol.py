"""A complete worker for Drumline in plain Python: it needs an address and a key, and nothing installed.

    DRUMLINE_URL=http://127.0.0.1:8080 DRUMLINE_API_KEY=sk_… python examples/worker_protocol.py

It runs tasks named "add" ({"a": 1, "b": 2} gives 3) and durable ones named "order" ({"order": 7}), which charge, sleep
and wait for the signal "packed". Stop it with Ctrl-C or SIGTERM: it finishes what it holds.
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
KEY = os.environ.get("DRUMLINE_API_KEY", "")
stop = threading.Event()


def call(method: str, path: str, body: dict[str, Any]) -> Any:
    """Send one request; repeat it while the server is away. Every call of the protocol may be repeated."""
    while True:
        headers = {"X-API-Key": KEY, "Content-Type": "application/json"}
        request = urllib.request.Request(URL + path, json.dumps(body).encode(), headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30) as reply:
                return json.loads(reply.read() or "null")
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return {"is_open": False}  # the session was taken for dead
            if error.code == 409:
                return {"state": "fenced"}  # another attempt owns the task
            if error.code < 500:
                raise SystemExit(f"{method} {path}: {error.read().decode()}") from error
        except OSError as error:
            print(f"the server does not answer: {error}")
        if path.endswith("/claim"):
            body = {**body, "again": True}  # the lost answer may have brought tasks: ask for the same ones
        time.sleep(1)


class Parked(Exception):
    """The attempt has ended in the server: the task waits, or another attempt owns it."""


class Steps:
    """Durable calls of an attempt: what is recorded under a name is not done again."""

    def __init__(self, path: str, task: dict[str, Any]) -> None:
        self.path, self.lease, self.known = path, task["lease"], dict[str, Any]()
        page, last = task.get("records") or {}, 0
        while task.get("recorded", 0) > last:
            for record in page.get("records", ()):
                self.known[record["name"]], last = record, record["seq"]
            if last < task["recorded"]:
                page = call("POST", f"{path}/records/list", {"lease": self.lease, "after": last})

    def step(self, name: str, function: Callable[[], Any]) -> Any:
        """Call a function once and record its result."""
        if name not in self.known:
            new = {"lease": self.lease, "name": name, "value": function()}
            (answer,) = call("POST", f"{self.path}/records", {"records": [new]})["records"]
            if "record" not in answer:
                raise Parked
            self.known[name] = answer["record"]
        return self.known[name].get("value")

    def wait(self, kind: str, name: str, **until: Any) -> Any:
        """Wait for a time or a signal, without a worker: the task is claimed again when it is there."""
        if name not in self.known:
            waits = [{"kind": kind, "name": name, **until}]
            answer = call("POST", f"{self.path}/waits", {"lease": self.lease, "waits": waits})
            if "answers" not in answer:
                raise Parked
            self.known[name] = answer["answers"][0]["record"]
        return self.known[name].get("value")


def order(payload: Any, steps: Steps) -> str:
    payment = steps.step("charge", lambda: f"payment-{payload['order']}")
    steps.wait("sleep", "until packed", delay=0.2)
    return f"{payment}, packed by {steps.wait('signal', 'packed')}"


HANDLERS: dict[str, Callable[..., Any]] = {"add": lambda payload, _: payload["a"] + payload["b"], "order": order}


def run(task: dict[str, Any], path: str) -> None:
    """Run one attempt and report how it ended, unless it has ended in the server."""
    try:
        report = {"outcome": "succeeded", "result": HANDLERS[task["name"]](task["payload"], Steps(path, task))}
    except Parked:
        return
    except Exception as error:  # noqa: BLE001 - whatever a handler raises is the task's failure
        told = {"kind": type(error).__name__, "message": str(error), "traceback": traceback.format_exc()}
        report = {"outcome": "failed", "error": told, "permanent": isinstance(error, (KeyError, TypeError))}
    call("POST", f"{path}/settle", {"reports": [{"lease": task["lease"], **report}]})


def work() -> None:
    """Run tasks in one session, until told to stop or taken for dead."""
    types = [{"name": name} for name in HANDLERS]
    opened = call("POST", "", {"types": types, "capacity": 4, "host": os.uname().nodename, "pid": os.getpid()})
    path, held, left = f"/{opened['session']}", dict[str, Any](), threading.Event()

    def beat() -> None:  # on its own thread, so that a long task does not look like a dead worker
        while not left.wait(opened["beat_every"]):
            known = call("POST", f"{path}/beat", {"held": list(held.values())})
            if known.get("should_drain"):
                stop.set()
            if not known["is_open"]:
                left.set()

    threading.Thread(target=beat, daemon=True).start()
    while not (stop.is_set() or left.is_set()):
        claim = {"limit": 4, "wait": 2, "claim_id": secrets.token_hex(8)}
        tasks = call("POST", f"{path}/claim", claim).get("tasks")
        if tasks is None:
            break
        held.update({task["lease"]["task"]: task["lease"] for task in tasks})
        for task in tasks:
            run(task, path)
            del held[task["lease"]["task"]]
    left.set()
    call("DELETE", path, {})


if __name__ == "__main__":
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, lambda *_: stop.set())
    while not stop.is_set():
        work()
