"""A complete worker for Drumline in plain Python: it needs an address and a key, and nothing installed.

    DRUMLINE_URL=http://127.0.0.1:8080 DRUMLINE_API_KEY=sk_… python examples/worker_protocol.py

It runs tasks named "add" ({"a": 1, "b": 2} gives 3). Stop it with Ctrl-C or SIGTERM: it finishes what it holds.
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
from typing import Any

URL = os.environ.get("DRUMLINE_URL", "http://127.0.0.1:8080") + "/api/v1/worker/sessions"
KEY = os.environ.get("DRUMLINE_API_KEY", "")
HANDLERS = {"add": lambda payload: payload["a"] + payload["b"]}
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
            if error.code < 500:
                raise SystemExit(f"{method} {path}: {error.read().decode()}") from error
        except OSError as error:
            print(f"the server does not answer: {error}")
        if path.endswith("/claim"):
            body = {**body, "again": True}  # the lost answer may have brought tasks: ask for the same ones
        time.sleep(1)


def run(task: dict[str, Any]) -> dict[str, Any]:
    """Return the report on one attempt."""
    try:
        return {"outcome": "succeeded", "result": HANDLERS[task["name"]](task["payload"])}
    except Exception as error:  # noqa: BLE001 - whatever a handler raises is the task's failure
        told = {"kind": type(error).__name__, "message": str(error), "traceback": traceback.format_exc()}
        return {"outcome": "failed", "error": told, "permanent": isinstance(error, (KeyError, TypeError))}


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
            call("POST", f"{path}/settle", {"reports": [{"lease": task["lease"], **run(task)}]})
            del held[task["lease"]["task"]]
    left.set()
    call("DELETE", path, {})


if __name__ == "__main__":
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, lambda *_: stop.set())
    while not stop.is_set():
        work()
