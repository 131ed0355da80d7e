"""Submits tasks of every kind over HTTP, one by one and in small batches, and remembers what was acknowledged.

Whatever was not acknowledged is sent again under the same idempotency key, through the next API server.
"""

import itertools
import json
import threading
import time
from dataclasses import dataclass
from random import Random
from typing import Any, Self

import urllib3

from tests.faults.fleet import KEY, Body, Fleet, until
from tests.faults.traces import runs_of

SHELL = "printf '%s %s begin %s\\n' {key} $$ $(date +%s.%3N) >> {file}"
BATCH = 8
REFUSED = frozenset({502, 503, 504})
"""Answers that say: nothing was decided, try again."""
TRY_SECONDS = 20.0
LAST_SECONDS = 60.0


@dataclass(frozen=True)
class Answer:
    """When a request was first sent, and how long its acknowledgement took, and after how many tries it came."""

    sent: float
    took: float
    tries: int


class Load:
    """A few threads that submit, at a steady pace."""

    def __init__(self, fleet: Fleet, random: Random, *, per_second: float = 100.0, threads: int = 4) -> None:
        self.name = f"{random.randrange(1 << 32):08x}"
        """What all its keys begin with."""
        self.acknowledged: dict[str, str] = {}
        """The task of each key."""
        self.kinds: dict[str, str] = {}
        self.answers: list[Answer] = []
        self.faults: list[str] = []
        """Answers that should never come."""
        self.fleet = fleet
        self._http = urllib3.PoolManager(maxsize=threads * 2, retries=False)
        self._stop = threading.Event()
        # Of nine tasks one goes alone and eight together: two requests.
        self._pace = threads * (BATCH + 1) / 2 / per_second
        self._threads = [
            threading.Thread(target=self._run, args=(number, Random(random.random())), daemon=True)
            for number in range(threads)
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Finish what was begun, and begin nothing more."""
        self._stop.set()
        for thread in self._threads:
            thread.join(LAST_SECONDS)
        assert not any(thread.is_alive() for thread in self._threads), "a submission is never acknowledged"

    def since(self, moment: float) -> list[Answer]:
        """Return what was sent since a (monotonic) time and has been acknowledged."""
        return [answer for answer in self.answers if answer.sent >= moment]

    def hold(self, count: int, *, seconds: float) -> set[str]:
        """Submit tasks that take long, all at once, and return their keys once all of them have begun."""
        keys = [f"{self.name}-held-{len(self.kinds)}-{number}" for number in range(count)]
        kinds = dict(zip(keys, itertools.cycle(("wait", "block")), strict=False))
        self.kinds |= kinds
        tasks = [self._traced(kind, key, seconds, {"idempotency_key": key}) for key, kind in kinds.items()]
        self._send(tasks, itertools.cycle(range(len(self.fleet.apis))))
        held = set(keys)
        until(lambda: held <= runs_of(self.fleet.traces).keys(), 30, lambda: held - runs_of(self.fleet.traces).keys())
        return held

    def _run(self, thread: int, random: Random) -> None:
        servers = itertools.cycle(range(len(self.fleet.apis)))
        for number in itertools.count():
            if self._stop.wait(self._pace * random.uniform(0.5, 1.5)):
                return
            size = BATCH if number % 2 else 1
            self._send([self._task(f"{self.name}-{thread}-{number}-{place}", random) for place in range(size)], servers)

    def _task(self, key: str, random: Random) -> Body:
        file = str(self.fleet.traces)
        (kind,) = random.choices(["wait", "block", "stumble", "shell"], weights=[55, 30, 10, 5])
        self.kinds[key] = kind
        options: Body = {"idempotency_key": key, "backoff": {"base": 0.2}}
        if kind == "shell":
            return {"name": "shell", "payload": {"shell": SHELL.format(key=key, file=file)}, **options}
        seconds = random.choices([random.uniform(0.0, 0.01), random.uniform(0.2, 0.6)], weights=[9, 1])[0]
        return self._traced(kind, key, seconds, options)

    def _traced(self, kind: str, key: str, seconds: float, options: Body) -> Body:
        payload = {"file": str(self.fleet.traces), "key": key, "seconds": seconds}
        return {"name": f"traced.{kind}", "payload": payload, **options}

    def _send(self, tasks: list[Body], servers: "itertools.cycle[int]") -> None:
        sent = time.monotonic()
        for tries in itertools.count(1):
            ids = self._try(tasks, next(servers))
            if ids is not None:
                self.answers.append(Answer(sent, time.monotonic() - sent, tries))
                self.acknowledged |= zip([task["idempotency_key"] for task in tasks], ids, strict=True)
                return
            time.sleep(0.1)

    def _try(self, tasks: list[Body], server: int) -> list[str] | None:
        path, body = ("/batch", {"tasks": tasks}) if len(tasks) > 1 else ("", tasks[0])
        try:
            reply = self._http.request(
                "POST",
                f"{self.fleet.apis[server].url}/api/v1/tasks{path}",
                body=json.dumps(body).encode(),
                headers={"X-API-Key": KEY, "Content-Type": "application/json"},
                timeout=urllib3.Timeout(connect=2.0, read=TRY_SECONDS),
            )
        except urllib3.exceptions.HTTPError:
            return None
        if reply.status in REFUSED:
            return None
        if reply.status not in {200, 201}:
            self.faults.append(f"{reply.status} {reply.data.decode(errors='replace')}")
            return None
        answer: Any = json.loads(reply.data)
        answers = answer["tasks"] if len(tasks) > 1 else [answer]
        errors = [each["error"] for each in answers if "error" in each]
        if any(error["status"] in REFUSED for error in errors):  # of one shard only: the others have theirs
            return None
        self.faults += [json.dumps(error) for error in errors]
        return [str(each.get("id")) for each in answers]
