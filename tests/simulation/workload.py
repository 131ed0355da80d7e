"""Makes plans from seeds: which processes there are, what clients do, and which faults occur."""

from random import Random
from typing import Any, Final

from tests.simulation.plan import FaultStep, Fleet, Plan, Step

BUSY_SECONDS: Final = 20.0
"""Clients act and faults occur in this time; then the system is left alone until all work has ended."""
QUEUES: Final = ("default", "mail", "slow")
EXTRA_DUTIES: Final = ("prune", "prune_events", "tidy", "stats", "depth", "queue_metrics")


def plan_of(seed: int) -> Plan:
    """Return the plan of a seed."""
    random = Random(f"plan {seed}")
    fleet = Fleet(
        servers=random.choice((1, 1, 2)),
        schedulers=random.choice((1, 1, 2)),
        workers=random.choice((1, 2, 2, 3)),
        capacity=random.choice((1, 2, 4, 8)),
        has_queue=random.random() < 0.75,
        limit=random.choice((None, 1, 2)),
        extra_duties=tuple(duty for duty in EXTRA_DUTIES if random.random() < 0.1),
    )
    steps = _Steps(random, fleet).make(random.randrange(6, 22))
    faults = _faults(random, fleet) if random.random() < 0.9 else ()
    return Plan(seed=seed, fleet=fleet, steps=steps, faults=faults)


class _Steps:
    """Makes the operations of clients."""

    def __init__(self, random: Random, fleet: Fleet) -> None:
        self._random = random
        self._fleet = fleet
        self._steps: list[Step] = []
        self._tasks: list[str] = []
        self._jobs: list[str] = []
        self._schedules: list[str] = []
        self._keys: list[tuple[str, str, dict[str, Any]]] = []

    def make(self, count: int) -> tuple[Step, ...]:
        """Return so many, in the order of their times."""
        makers = (
            (self._submit, 10), (self._again, 2), (self._batch, 2), (self._job, 3), (self._schedule, 1),
            (self._cancel, 2), (self._retry, 2), (self._read, 4), (self._pause, 1), (self._bulk, 1),
            (self._end_job, 1), (self._reschedule, 1),
        )  # fmt: skip
        chosen = [maker for maker, weight in makers for _ in range(weight)]
        for number in range(count):
            at = round(self._random.uniform(0.0, BUSY_SECONDS), 3)
            self._random.choice(chosen)(f"s{number}", at)
        return tuple(sorted(self._steps, key=lambda step: (step.at, step.label)))

    def _add(self, at: float, label: str, what: str, about: str | None = None, **body: Any) -> None:
        client = self._random.choice(("ada", "bob"))
        self._steps.append(Step(at=at, label=label, what=what, client=client, about=about, body=body))

    def _task(self, label: str) -> dict[str, Any]:
        random = self._random
        name = random.choice(("work", "work", "work", "limited"))
        fails = random.choice((0, 0, 0, 1, 2, 4))
        seconds = random.choice((0.0, 0.05, 0.5, 3.0, 8.0, 8.0))
        body: dict[str, Any] = {
            "name": name,
            "payload": {"label": label, "seconds": seconds, "fails": fails},
            "queue": random.choice(QUEUES),
            "retries": random.choice((0, 1, 3)),
            "backoff": {"base": random.choice((0.1, 1.0)), "factor": 1.0},
            "tags": [random.choice(("red", "blue"))],
        }
        if random.random() < 0.3:
            body["delay"] = round(random.uniform(0.1, 8.0), 2)
        if random.random() < 0.3:
            body["priority"] = random.choice(("low", "high", "critical"))
        if random.random() < 0.1:
            body["timeout"] = random.choice((0.2, 2.0, 5.0))
        if random.random() < 0.1:
            body["expires"] = random.choice((1.0, 10.0))
        return body

    def _submit(self, label: str, at: float) -> None:
        body = self._task(label)
        if self._random.random() < 0.4:
            body["idempotency_key"] = f"key {label}"
            self._keys.append((label, body["idempotency_key"], body))
        self._tasks.append(label)
        self._add(at, label, "submit", **body)

    def _again(self, label: str, at: float) -> None:
        """Submit once more what another client submits with the same key, perhaps at the same time."""
        if not self._keys:
            return
        first, _, body = self._random.choice(self._keys)
        at = next(step.at for step in self._steps if step.label == first) + self._random.choice((0.0, 0.001, 0.5, 5.0))
        self._add(at, label, "submit", **body)

    def _batch(self, label: str, at: float) -> None:
        tasks = [self._task(f"{label}.{number}") for number in range(self._random.randrange(2, 5))]
        if self._random.random() < 0.5:
            for number, task in enumerate(tasks):
                task["idempotency_key"] = f"key {label}.{number}"
        self._add(at, label, "batch", tasks=tasks)

    def _job(self, label: str, at: float) -> None:
        shape = self._random.choice(("chain", "fan", "diamond"))
        needs: dict[str, list[str]] = {
            "chain": {"a": [], "b": ["a"], "c": ["b"]},
            "fan": {"a": [], "b": [], "c": [], "d": ["a", "b", "c"]},
            "diamond": {"a": [], "b": ["a"], "c": ["a"], "d": ["b", "c"]},
        }[shape]
        tasks: dict[str, Any] = {}
        for key, parents in needs.items():
            task = self._task(f"{label}.{key}")
            task.pop("delay", None)
            task.pop("expires", None)
            tasks[key] = {**task, "needs": parents}
        self._jobs.append(label)
        once = {"idempotency_key": f"key {label}"} if self._random.random() < 0.5 else {}
        earlier = self._jobs[:-1]
        about = self._random.choice(earlier) if earlier and self._random.random() < 0.4 else None
        self._add(at, label, "job", about=about, name="report", tasks=tasks, **once)

    def _schedule(self, label: str, at: float) -> None:
        task = self._task(label)
        for field in ("delay", "expires"):
            task.pop(field, None)
        task["payload"]["seconds"] = min(task["payload"]["seconds"], 0.5)
        self._schedules.append(label)
        overlap = self._random.choice(("allow", "skip", "queue"))
        self._add(
            at, label, "schedule", name=label, interval=self._random.choice((2, 5)), task=task, overlap=overlap,
            max_runs=self._random.randrange(1, 4),
        )  # fmt: skip

    def _about_task(self, label: str, at: float, what: str, **body: Any) -> None:
        """Do something with a task soon after it was submitted; what is about none is left out."""
        if self._tasks:
            about = self._random.choice(self._tasks)
            self._add(self._after(about, at), label, what, about=about, **body)

    def _after(self, about: str, at: float) -> float:
        """Return a time after an earlier step: soon, or the one given."""
        begun = next(step.at for step in self._steps if step.label == about)
        return at if begun < at else round(begun + self._random.uniform(0.05, 6.0), 3)

    def _cancel(self, label: str, at: float) -> None:
        self._about_task(label, at, "cancel")

    def _retry(self, label: str, at: float) -> None:
        self._about_task(label, at, "retry")

    def _read(self, label: str, at: float) -> None:
        self._about_task(label, at, "read")

    def _reschedule(self, label: str, at: float) -> None:
        self._about_task(label, at, "reschedule", delay=round(self._random.uniform(0.1, 5.0), 2))

    def _pause(self, label: str, at: float) -> None:
        queue = self._random.choice(QUEUES)
        self._add(at, label, "pause", queue=queue)
        self._add(at + self._random.uniform(0.1, 6.0), f"{label}.resume", "resume", queue=queue)

    def _bulk(self, label: str, at: float) -> None:
        act = self._random.choice(("cancel", "retry"))
        self._add(at, label, "bulk", act=act, filter={"tag": self._random.choice(("red", "blue"))})

    def _end_job(self, label: str, at: float) -> None:
        if self._jobs:
            what = self._random.choice(("cancel_job", "resume_job"))
            about = self._random.choice(self._jobs)
            self._add(self._after(about, at), label, what, about=about)


def _faults(random: Random, fleet: Fleet) -> tuple[FaultStep, ...]:
    """Return a few faults of kinds that this seed favours."""
    workers = [f"worker{number}" for number in range(fleet.workers)]
    servers = [f"api{number}" for number in range(fleet.servers)]
    schedulers = [f"scheduler{number}" for number in range(fleet.schedulers)]
    anyone = workers * 4 + servers + schedulers
    kinds = ["kill", "kill", "kill", "cut", "cut", "lose", "slow", "clock", "drift", "stop", "outage", "upgrade"]
    if fleet.has_queue:
        kinds += ["flush", "freeze", "jumble"]
    favoured = random.sample(kinds, random.randrange(1, 5))
    faults = []
    for _ in range(random.randrange(1, 9)):
        kind = random.choice(favoured)
        at = round(random.uniform(0.0, BUSY_SECONDS), 3)
        # Some longer than a session lives without a heartbeat: then its tasks run elsewhere, and it comes back.
        longest = (3.0, 19.0, 24.0) if kind in {"cut", "stop"} else (0.5, 3.0, 10.0, 25.0)
        seconds = round(random.choice(longest) * random.uniform(0.8, 1.0), 2)
        target = {"outage": "database", "flush": "queue", "freeze": "queue", "jumble": "queue", "upgrade": "all"}.get(
            kind
        ) or random.choice(anyone)
        faults.append(FaultStep(at=at, kind=kind, target=target, seconds=seconds, amount=_amount(random, kind)))
    return tuple(sorted(faults, key=lambda fault: (fault.at, fault.target, fault.kind)))


def _amount(random: Random, kind: str) -> float:
    match kind:
        case "lose":
            return random.choice((0.02, 0.1, 0.4))
        case "slow":
            return random.choice((0.02, 0.2, 1.5))
        case "clock":
            return random.choice((-3600.0, -30.0, -1.0, 1.0, 30.0, 3600.0))
        case "drift":
            return random.choice((-0.05, 0.05, 0.2))
        case _:
            return 0.0
