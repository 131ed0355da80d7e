"""The witness: a process outside of the system that sends requests at a bounded rate and records every answer.

    python -m tests.chaos.witness FOLDER SETTINGS

It appends operations to `operations.jsonl` until it is told to stop (SIGTERM). A request whose answer is lost is
recorded as `unknown`; submissions with a key are then sent again under this key, to another server, and signals under
their id. Families of tasks are submitted as soon as there is a file named `families`: see `tests/chaos/run.py`.
"""

import heapq
import itertools
import json
import os
import signal
import sys
import threading
import time
from collections import deque
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import msgspec
import urllib3

from tests.evidence.trace import Operation, Phase
from tests.faults.fleet import KEY

Body = dict[str, Any]
CLIENTS = 12
TRY_SECONDS = 6.0
TRIES = 8
REMEMBERED = 400
"""Tasks that later operations are about."""
SUBMISSIONS = {"wait": 34, "block": 18, "stumble": 8, "fail": 3, "limited": 7, "delayed": 10}
DURABLE = {"durable": 9, "durable_blocking": 5}
FAMILY = "family"
FAMILIES = "families"
OPERATIONS = "operations.jsonl"
STEPS = 3
SIGNALS = 3
WITHIN = 8.0
"""Seconds in which the signals of a task are sent, while it acts, sleeps, waits, or has not begun."""
OTHERS = {FAMILY: 4, "job": 4, "cancel": 6, "retry": 3, "read": 20}
DECIDED = frozenset({400, 404, 409, 413, 422, 429})
"""Answers that say: it has had no effect."""


class Settings(msgspec.Struct, frozen=True):
    """What a witness is started with."""

    servers: tuple[str, ...]
    epoch: float
    """The monotonic time at which the trace began."""
    seed: str
    rate: float
    first: int = 0
    """The number of its first operation."""


class Signal(NamedTuple):
    """A signal to a task, and when it is to be sent."""

    at: float
    task: str
    correlation: str
    number: int
    tries: int = 0


def signal_request(task: str, correlation: str, number: int) -> tuple[str, Body]:
    """Return path and body of a signal: to the task itself, or to whoever waits for its correlation."""
    body: Body = {"payload": number, "id": f"{correlation}.{number}"}
    if number % 2:
        return f"/tasks/{task}/signals/go", body
    return "/signals/go", {**body, "key": correlation}


class Witness:
    """Several clients, each with one operation at a time."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        self._settings = settings
        self._file = os.open(folder / OPERATIONS, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self._numbers = itertools.count(settings.first)
        self._http = urllib3.PoolManager(maxsize=CLIENTS, retries=False)
        self._tasks: deque[str] = deque(maxlen=REMEMBERED)
        self._families = folder / FAMILIES
        self._signals: list[Signal] = []
        self._lock = threading.Lock()
        self.stop = threading.Event()

    def run(self) -> None:
        """Send requests until it is told to stop."""
        threads = [threading.Thread(target=self._client, args=(number,)) for number in range(CLIENTS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _client(self, number: int) -> None:
        random = Random(f"{self._settings.seed}-{number}")
        choices = SUBMISSIONS | DURABLE | OTHERS
        for count in itertools.count():
            if self.stop.wait(CLIENTS / self._settings.rate * random.uniform(0.5, 1.5)):
                return
            (what,) = random.choices(list(choices), weights=list(choices.values()))
            client = Client(self, f"c{number}", random, f"{self._settings.first}-{number}-{count}")
            for due in self._due_signals():
                client.signal(due)
            self._do(client, what, random)

    def _do(self, client: "Client", what: str, random: Random) -> None:
        if what in SUBMISSIONS:
            client.submit(what)
        elif what in DURABLE:
            client.submit_durable(what)
        elif what == FAMILY:
            if self._families.exists():
                client.submit_family()
        elif what == "job":
            client.submit_job()
        elif task := self._any_task(random):
            client.act(what, task)

    def _any_task(self, random: Random) -> str | None:
        known = list(self._tasks)
        return random.choice(known) if known else None

    def remember(self, tasks: list[str]) -> None:
        """Let later operations be about these tasks."""
        self._tasks.extend(tasks)

    def plan(self, signal: Signal) -> None:
        """Let some client send a signal later."""
        with self._lock:
            heapq.heappush(self._signals, signal)

    def _due_signals(self) -> list[Signal]:
        found = []
        with self._lock:
            while self._signals and self._signals[0].at <= self.now():
                found.append(heapq.heappop(self._signals))
        return found

    def next_number(self) -> int:
        """Return the number of a new operation."""
        return next(self._numbers)

    def record(self, operation: Operation) -> None:
        """Append a line; a short append is whole or not there."""
        os.write(self._file, msgspec.json.encode(operation) + b"\n")

    def now(self) -> float:
        """Return the seconds since the trace began."""
        return time.monotonic() - self._settings.epoch

    def ask(self, server: int, method: str, path: str, body: Body | None) -> tuple[Phase, int, Any]:
        """Return what became of a request, with status and body of the answer."""
        url = self._settings.servers[server % len(self._settings.servers)]
        try:
            reply = self._http.request(
                method,
                f"{url}/api/v1{path}",
                body=None if body is None else json.dumps(body).encode(),
                headers={"X-API-Key": KEY, "Content-Type": "application/json"},
                timeout=urllib3.Timeout(connect=2.0, read=TRY_SECONDS),
            )
        except (urllib3.exceptions.NewConnectionError, urllib3.exceptions.ConnectTimeoutError) as error:
            return Phase.FAIL, 0, str(error)
        except urllib3.exceptions.HTTPError as error:
            return Phase.UNKNOWN, 0, str(error)
        if reply.status in {200, 201, 202}:
            return Phase.OK, reply.status, json.loads(reply.data)
        phase = Phase.FAIL if reply.status in DECIDED else Phase.UNKNOWN
        return phase, reply.status, reply.data.decode(errors="replace")[:300]


class Client:
    """One client's next request, with its repetitions."""

    def __init__(self, witness: Witness, name: str, random: Random, key: str) -> None:
        self._witness = witness
        self._name = name
        self._random = random
        self._key = key
        self._server = random.randrange(2)

    def submit(self, kind: str) -> None:
        """Submit a task, most often under a key."""
        key = self._key if self._random.random() < 0.7 else None
        seconds = self._random.choices([self._random.uniform(0, 0.05), self._random.uniform(0.2, 2.0)], [8, 2])[0]
        name = "wait" if kind == "delayed" else kind
        body: Body = {"name": f"witnessed.{name}", "payload": {"seconds": seconds}, "backoff": {"base": 0.2}}
        if kind == "delayed":
            body["delay"] = round(self._random.uniform(0.5, 8.0), 3)
        if kind == "fail":
            body["retries"] = 1
        self._send("submit", "/tasks", body, key, {"kind": kind})

    def submit_durable(self, name: str) -> None:
        """Submit a task that acts in steps, sleeps and waits; its signals are sent by whoever is free then."""
        payload = {
            "steps": STEPS, "signals": SIGNALS, "nap": round(self._random.uniform(0.3, 4.0), 3),
            "seconds": self._random.choice([0.0, 0.05, 0.3]), "correlation": self._key,
        }  # fmt: skip
        body: Body = {"name": f"witnessed.{name}", "payload": payload, "backoff": {"base": 0.2}}
        task = self._send("submit", "/tasks", body, self._key, {"kind": name})
        for number in range(SIGNALS) if task else ():
            at = self._witness.now() + self._random.uniform(0, WITHIN)
            self._witness.plan(Signal(at, str(task), self._key, number))

    def submit_family(self) -> None:
        """Submit a task that starts others, which start others."""
        seconds = self._random.choice([0.0, 0.02, 0.3])
        payload = {"depth": self._random.choice([1, 2]), "width": self._random.choice([1, 3]), "seconds": seconds}
        body: Body = {"name": "witnessed.family", "payload": payload, "backoff": {"base": 0.2}}
        self._send("submit", "/tasks", body, self._key, {"kind": FAMILY})

    def signal(self, due: Signal) -> None:
        """Send a signal; it is sent again by its id if it is not known to have arrived, and sometimes though it is."""
        path, body = signal_request(due.task, due.correlation, due.number)
        number = self._begin("signal", task=due.task, detail={"id": body["id"]})
        phase, status, answer = self._witness.ask(self._server + due.tries, "POST", path, body)
        error = {} if phase is Phase.OK else {"error": answer}
        self._end(number, "signal", phase, status, task=due.task, detail={"id": body["id"]} | error)
        is_known = phase is Phase.OK or status in DECIDED
        if (not is_known and due.tries < TRIES) or (is_known and not due.tries and self._random.random() < 0.2):
            self._witness.plan(due._replace(at=self._witness.now() + 1.0, tries=due.tries + 1))

    def submit_job(self) -> None:
        """Submit a diamond or a chain."""
        chain = {f"s{number}": [f"s{number - 1}"] if number else [] for number in range(4)}
        diamond: dict[str, list[str]] = {"a": [], "b": ["a"], "c": ["a"], "d": ["b", "c"]}
        needs = self._random.choice([chain, diamond])
        kinds = {key: self._random.choices(["wait", "block", "stumble"], [6, 3, 1])[0] for key in needs}
        tasks = {
            key: {"name": f"witnessed.{kinds[key]}", "needs": parents, "payload": {"seconds": 0.02}, "backoff": 0.2}
            for key, parents in needs.items()
        }
        self._send("submit_job", "/jobs", {"name": "chaos", "tasks": tasks}, self._key, {"needs": needs})

    def act(self, what: str, task: str) -> None:
        """Cancel, retry or read a task."""
        method, path = ("GET", f"/tasks/{task}") if what == "read" else ("POST", f"/tasks/{task}/{what}")
        number = self._begin(what, task=task)
        phase, status, body = self._witness.ask(self._server, method, path, None if what == "read" else {})
        state = body["status"] if phase is Phase.OK else "none" if status == 404 else None
        if what == "read" and status == 404:
            phase = Phase.OK
        self._end(number, what, phase, status, task=task, state=state)

    def _send(self, what: str, path: str, body: Body, key: str | None, detail: Body) -> str | None:
        """Send a submission, again while its answer is lost, and return the id that was answered."""
        if key is not None:
            body = {**body, "idempotency_key": key}
        for attempt in range(TRIES):
            number = self._begin(what, key=key, detail=detail)
            phase, status, answer = self._witness.ask(self._server + attempt, "POST", path, body)
            task = str(answer["id"]) if phase is Phase.OK else None
            if phase is Phase.OK:
                tasks = answer.get("tasks")
                self._witness.remember([task] if task and tasks is None else list((tasks or {}).values()))
                detail = detail | ({"tasks": tasks} if tasks else {})
            error = {} if phase is Phase.OK else {"error": answer}
            self._end(number, what, phase, status, task=task, key=key, detail=detail | error)
            if phase is Phase.OK or status in DECIDED or key is None or self._witness.stop.wait(0.3):
                return task
        return None

    def _begin(self, what: str, **more: Any) -> int:
        number = self._witness.next_number()
        self._record(number, what, Phase.INVOKE, **more)
        return number

    def _end(
        self, number: int, what: str, phase: Phase, status: int, *, detail: Body | None = None, **more: Any
    ) -> None:
        self._record(number, what, phase, detail=(detail or {}) | {"status": status}, **more)

    def _record(self, number: int, what: str, phase: Phase, **more: Any) -> None:
        at = self._witness.now()
        self._witness.record(Operation(at=at, op=number, client=self._name, what=what, phase=phase, **more))


def main() -> None:
    """Run until SIGTERM."""
    witness = Witness(Path(sys.argv[1]), msgspec.json.decode(sys.argv[2], type=Settings))
    signal.signal(signal.SIGTERM, lambda _number, _frame: witness.stop.set())
    witness.run()


if __name__ == "__main__":
    main()
