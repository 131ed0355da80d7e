"""Makes plans from seeds: which processes there are, what clients do, and which faults occur."""

from collections.abc import Callable
from random import Random
from typing import Any, Final

import msgspec

from tests.simulation.durable import durable_faults, durable_steps
from tests.simulation.families import family_steps, has_quiet_family
from tests.simulation.faults import KAFKA, RECEIVER
from tests.simulation.plan import FaultStep, Fleet, Plan, Step

BUSY_SECONDS: Final = 20.0
"""Clients act and faults occur in this time; then the system is left alone until all work has ended."""
SHARDS: Final = ("two", "three")
"""Shards besides the directory; some installations have the first of them alone."""
FAULT_SECONDS: Final = BUSY_SECONDS + 15.0
"""When the last fault ends."""
TENANTS: Final = ("acme", "umbrella")
WEBHOOK: Final = "https://hooks.example.com/drumline"
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
    fleet = _with_surroundings(random, fleet)
    steps = _Steps(random, fleet).make(random.randrange(6, 22))
    durable = durable_steps(seed, fleet, BUSY_SECONDS) + family_steps(seed, fleet, BUSY_SECONDS)
    steps = tuple(sorted((*steps, *durable), key=lambda step: (step.at, step.label)))
    faults = _faults(random, fleet) if random.random() < 0.9 else ()
    if has_quiet_family(seed):
        faults = ()
    faults = tuple(sorted((*faults, *durable_faults(seed, fleet, durable)), key=lambda fault: fault.at))
    return Plan(seed=seed, fleet=fleet, steps=steps, faults=faults)


def _with_surroundings(random: Random, fleet: Fleet) -> Fleet:
    """Add what not every installation has; some seeds have none of it, most have one."""
    remote = random.randrange(1, fleet.workers + 1) if random.random() < 0.25 else 0
    if random.random() < 0.08:
        # With shards there are no hints, limits and schedules: see shards.py.
        return msgspec.structs.replace(
            fleet,
            remote_workers=remote,
            shards=SHARDS[: random.choice((1, 2))],
            has_queue=False,
            limit=None,
            extra_duties=(),
        )
    return msgspec.structs.replace(
        fleet,
        remote_workers=remote,
        has_old_servers=bool(remote) and random.random() < 0.3,
        tenants=TENANTS if random.random() < 0.2 else (),
        notifiers=random.choice((1, 2)) if random.random() < 0.15 else 0,
        has_bus=random.random() < 0.15,
    )


class _Steps:
    """Makes the operations of clients."""

    def __init__(self, random: Random, fleet: Fleet) -> None:
        self._random = random
        self._fleet = fleet
        self._steps: list[Step] = []
        self._tasks: list[str] = []
        self._jobs: list[str] = []
        self._schedules: list[str] = []
        self._tenants: dict[str, str] = {}
        self._keys: list[tuple[str, str, dict[str, Any]]] = []

    def make(self, count: int) -> tuple[Step, ...]:
        """Return so many, in the order of their times."""
        makers: list[tuple[Callable[[str, float], None], int]] = [
            (self._submit, 10), (self._again, 2), (self._batch, 2), (self._job, 3), (self._schedule, 1),
            (self._cancel, 2), (self._retry, 2), (self._read, 4), (self._pause, 2), (self._bulk, 1),
            (self._end_job, 1), (self._reschedule, 1), (self._cancel_running, 1), (self._forge, 1),
            (self._postpone, 1), (self._let_expire, 1), (self._wait_for_two, 1),
        ]  # fmt: skip
        if self._fleet.tenants:
            makers.append((self._peek, 3))
        if self._fleet.notifiers:
            makers.append((self._subscribe, 4))
        if self._fleet.shards:
            alone = (self._schedule, self._pause, self._bulk, self._let_expire)
            makers = [(maker, weight) for maker, weight in makers if maker not in alone] + [
                (self._move, 4), (self._repeat_after_move, 3),
            ]  # fmt: skip
        chosen = [maker for maker, weight in makers for _ in range(weight)]
        for number in range(count):
            at = round(self._random.uniform(0.0, BUSY_SECONDS), 3)
            self._random.choice(chosen)(f"s{number}", at)
        return tuple(sorted(self._steps, key=lambda step: (step.at, step.label)))

    def _add(self, at: float, label: str, what: str, about: str | None = None, **body: Any) -> None:
        client = self._random.choice(("ada", "bob"))
        tenant = self._tenant_of(label, about)
        self._steps.append(Step(at=at, label=label, what=what, client=client, about=about, tenant=tenant, body=body))

    def _tenant_of(self, label: str, about: str | None) -> str:
        """Return the tenant of a step: that of what it is about, else any."""
        if not self._fleet.tenants:
            return ""
        if about is None:
            about = label
        return self._tenants.setdefault(about, self._random.choice(("", *self._fleet.tenants)))

    def _task(self, label: str, seconds: float | None = None) -> dict[str, Any]:
        random = self._random
        name = random.choice(("work", "work", "work", "limited"))
        fails = random.choice((0, 0, 0, 1, 2, 4))
        if seconds is None:
            seconds = 14.0 if random.random() < 0.06 else random.choice((0.0, 0.05, 0.5, 3.0, 8.0, 8.0))
        body: dict[str, Any] = {
            "name": name,
            "payload": {"label": label, "seconds": seconds, "fails": fails},
            "queue": random.choice(QUEUES),
            "retries": random.choice((0, 1, 3)),
            "backoff": {"base": random.choice((0.1, 1.0)), "factor": 1.0},
            "tags": [random.choice(("red", "blue"))],
        }
        if random.random() < 0.02:
            body["payload"]["kills"] = random.choice((1, 1, 3))
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
        # In an installation with tenants perhaps for another one, where the key means another task.
        if self._random.random() < 0.7:
            self._tenants[label] = self._tenants.get(first, "")
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
        about = self._random.choice(earlier) if earlier and self._random.random() < 0.5 else None
        if about is not None:
            self._tenants[label] = self._tenants.get(about, "")
            others = [each for each in earlier if each != about and self._tenants.get(each) == self._tenants.get(about)]
            once |= {"also": self._random.choice(others)} if others else {}
        self._add(at, label, "job", about=about, name="report", tasks=tasks, **once)

    def _schedule(self, label: str, at: float) -> None:
        task = self._task(label)
        for field in ("delay", "expires"):
            task.pop(field, None)
        task["payload"]["seconds"] = min(task["payload"]["seconds"], 0.5)
        task["payload"].pop("kills", None)
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

    def _cancel_running(self, label: str, at: float) -> None:
        """Submit a long task, and cancel it while it runs."""
        body = self._task(f"{label}long", seconds=16.0)
        for field in ("delay", "expires", "timeout"):
            body.pop(field, None)
        self._add(at, f"{label}long", "submit", **body)
        self._add(round(at + self._random.uniform(0.5, 3.0), 3), label, "cancel", about=f"{label}long")

    def _postpone(self, label: str, at: float) -> None:
        """Submit a task with a delay, and put it off shortly before it is due: hints of it are too early then."""
        body = self._task(f"{label}late")
        body["delay"] = round(self._random.uniform(1.0, 3.0), 2)
        body.pop("expires", None)
        self._add(at, f"{label}late", "submit", **body)
        later = round(at + body["delay"] * self._random.uniform(0.5, 1.0), 3)
        self._add(later, label, "reschedule", about=f"{label}late", delay=round(self._random.uniform(3.0, 8.0), 2))

    def _let_expire(self, label: str, at: float) -> None:
        """Submit a task that expires while its queue is paused, and resume the queue about then."""
        body = self._task(f"{label}brief", seconds=0.05)
        body.pop("delay", None)
        body["expires"] = 1.0
        self._add(at, label, "pause", queue=body["queue"])
        for each in (f"{label}brief", f"{label}.resume"):
            self._tenants[each] = self._tenants.get(label, "")
        self._add(round(at + 0.1, 3), f"{label}brief", "submit", **body)
        again = round(at + self._random.uniform(0.9, 2.6), 3)
        self._add(again, f"{label}.resume", "resume", queue=body["queue"])

    def _wait_for_two(self, label: str, at: float) -> None:
        """Submit two jobs of which one takes long, and one that waits for both."""
        self._tenants.setdefault(label, self._tenant_of(label, None))
        names = (f"{label}short", f"{label}long", label)
        for number, (each, seconds) in enumerate(zip(names, (0.0, 8.0, 0.0), strict=True)):
            task = self._task(f"{each}.a", seconds=seconds)
            for field in ("delay", "expires", "timeout"):
                task.pop(field, None)
            task["payload"] = {"label": f"{each}.a", "seconds": seconds, "fails": 0}
            self._tenants[each] = self._tenants[label]
            about, more = (names[0], {"also": names[1]}) if each == label else (None, {})
            self._add(round(at + 0.4 * number, 3), each, "job", about=about, name="report", tasks={"a": task}, **more)

    def _repeat_after_move(self, label: str, at: float) -> None:
        """Submit a task with a key, let a shard take most slots, and submit the same again."""
        body = self._task(f"{label}first")
        body["idempotency_key"] = f"key {label}"
        self._add(at, f"{label}first", "submit", **body)
        self._add(
            round(at + 0.5, 3),
            f"{label}.move",
            "move",
            taker=self._random.choice(("main", *self._fleet.shards)),
            slots=1000,
        )
        self._add(round(at + 0.6, 3), f"{label}.again", "move", taker=SHARDS[0], slots=2000)
        self._add(round(at + self._random.uniform(2.0, 6.0), 3), label, "submit", **body)

    def _retry(self, label: str, at: float) -> None:
        self._about_task(label, at, "retry")

    def _read(self, label: str, at: float) -> None:
        self._about_task(label, at, "read")

    def _peek(self, label: str, at: float) -> None:
        """Ask for a task of another tenant."""
        if self._tasks:
            about = self._random.choice(self._tasks)
            own = self._tenants.get(about, "")
            self._add(self._after(about, at), label, "peek", about=about)
            other = self._random.choice([each for each in self._fleet.tenants if each != own])
            self._steps[-1] = msgspec.structs.replace(self._steps[-1], tenant=other)

    def _move(self, label: str, at: float) -> None:
        """Let a shard take new work of many slots."""
        taker = self._random.choice(("main", *self._fleet.shards, None))
        body: dict[str, Any] = {} if taker is None else {"taker": taker, "slots": self._random.choice((64, 700, 1500))}
        self._add(at, label, "move", **body)

    def _forge(self, label: str, at: float) -> None:
        """Report on a running task with a nonce that was never given out."""
        self._about_task(label, at, "forge")

    def _subscribe(self, label: str, at: float) -> None:
        """Have ends of tasks told by webhook."""
        at = round(at / 4, 3)
        events = ["drumline.task.completed", "drumline.task.failed"]
        self._add(at, label, "subscribe", name=label, events=events, webhook=WEBHOOK)

    def _reschedule(self, label: str, at: float) -> None:
        self._about_task(label, at, "reschedule", delay=round(self._random.uniform(0.1, 5.0), 2))

    def _pause(self, label: str, at: float) -> None:
        queue = self._random.choice(QUEUES)
        self._add(at, label, "pause", queue=queue)
        self._tenants[f"{label}.resume"] = self._tenants.get(label, "")
        self._add(at + self._random.uniform(0.1, 6.0), f"{label}.resume", "resume", queue=queue)

    def _bulk(self, label: str, at: float) -> None:
        act = self._random.choice(("cancel", "retry"))
        self._add(at, label, "bulk", act=act, filter={"tag": self._random.choice(("red", "blue"))})

    def _end_job(self, label: str, at: float) -> None:
        if self._jobs:
            what = self._random.choice(("cancel_job", "resume_job"))
            about = self._random.choice(self._jobs)
            self._add(self._after(about, at), label, what, about=about)


WHOLE: Final = {"outage": "database", "flush": "queue", "freeze": "queue", "jumble": "queue", "upgrade": "all"}
"""Faults that hit one thing, whatever there is."""


def _faults(random: Random, fleet: Fleet) -> tuple[FaultStep, ...]:
    """Return a few faults of kinds that this seed favours."""
    workers = [f"worker{number}" for number in range(fleet.workers)]
    servers = [f"api{number}" for number in range(fleet.servers)]
    schedulers = [f"scheduler{number}" for number in range(fleet.schedulers)]
    anyone = workers * 4 + servers + schedulers
    kinds = ["kill", "kill", "kill", "cut", "cut", "lose", "slow", "clock", "drift", "stop", "outage", "upgrade"]
    if fleet.has_queue:
        kinds += ["flush", "freeze", "jumble"]
    anyone += [f"notifier{number}" for number in range(fleet.notifiers)] * 2
    outside = [KAFKA] * fleet.has_bus + [RECEIVER] * bool(fleet.notifiers)
    kinds += ["refuse"] * 3 if outside else []
    kinds += ["outage"] * 3 if fleet.shards else []
    favoured = random.sample(kinds, random.randrange(1, 5))
    faults = []
    for _ in range(random.randrange(1, 9)):
        kind = random.choice(favoured)
        at = round(random.uniform(0.0, BUSY_SECONDS), 3)
        # Some longer than a session lives without a heartbeat: then its tasks run elsewhere, and it comes back.
        longest = (3.0, 19.0, 24.0) if kind in {"cut", "stop"} else (0.5, 3.0, 10.0, 25.0)
        seconds = round(random.choice(longest) * random.uniform(0.8, 1.0), 2)
        target = random.choice(outside) if kind == "refuse" else WHOLE.get(kind) or random.choice(anyone)
        if kind == "outage" and fleet.shards:
            others = [f"database.{name}" for name in fleet.shards]
            target = random.choice(("database", "database.main", *others, *others))
        faults.append(FaultStep(at=at, kind=kind, target=target, seconds=seconds, amount=_amount(random, kind)))
    if random.random() < 0.2:
        faults += _late_return(random, workers, schedulers)
    return tuple(sorted(faults, key=lambda fault: (fault.at, fault.target, fault.kind)))


def _late_return(random: Random, workers: list[str], schedulers: list[str]) -> list[FaultStep]:
    """Return faults by which a worker comes back about when it is taken for dead, by schedulers that are slow."""
    at = round(random.uniform(0.0, BUSY_SECONDS - 12.0), 3)
    silent = FaultStep(at=at, kind="stop", target=random.choice(workers), seconds=round(random.uniform(11.0, 18.0), 2))
    slow = [FaultStep(at=at + 4.0, kind="slow", target=name, seconds=20.0, amount=0.5) for name in schedulers]
    return [silent, *slow]


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
