"""What the shop asks of Drumline: made from a seed, and from nothing else."""

import itertools
from collections.abc import Iterator
from random import Random
from typing import Any, Final

from msgspec import Struct

from drumline.demo.graphs import jobs_of, wide_job

Body = dict[str, Any]

NAMES: Final = ("ada", "bob", "chloé", "dmitri", "eun-ji", "fátima", "grace", "håkon", "ines", "jörg", "kemal", "李雷")
COUNTRIES: Final = ("DE", "FR", "IN", "CA", "JP", "BR", "SE")
CHANNELS: Final = ("web", "app", "shop", "phone")
FIRST_ORDER: Final = 9_007_199_254_740_993
"""More than a float can count to, so that whoever rounds ids is found out."""


class Request(Struct, frozen=True, kw_only=True):
    """One request, and those that follow on its answer: `{id}` in their path is the id in it."""

    path: str
    body: Body | None = None
    method: str = "POST"
    then: tuple["Request", ...] = ()


def opening(seed: int, receiver: str) -> list[Request]:
    """Return what fills every screen, in the order in which to ask for it."""
    luck = Random(f"opening {seed}")  # noqa: S311 - a demo, not a secret
    return [
        Request(path="/queues/newsletter/pause", body={"reason": "bounces of issue 41 are looked into"}),
        Request(method="PUT", path="/limits/reports", body={"queue": "reports", "max_concurrent": 3}),
        Request(method="PUT", path="/limits/payment-provider", body={"task": "shop.charge", "rate": "20/1s"}),
        *_watchers(receiver),
        *_alerts(),
        *_keys(),
        Request(method="PUT", path="/secrets/payment-token", body={"value": f"made up for the demo {seed}"}),
        Request(method="PUT", path="/secrets/warehouse-password", body={"value": f"nothing opens with this {seed}"}),
        *_schedules(),
        *(Request(path="/tasks", body=body) for body in _oddities(luck)),
        Request(path="/tasks/batch", body={"tasks": _orders(luck, 200)}),
        Request(path="/tasks/batch", body={"tasks": _batch_work(luck)}),
        *(Request(path="/jobs", body=job) for job in jobs_of(seed)),
    ]


def closing(seed: int) -> list[Request]:
    """Return what is done about the first failures, once there are some."""
    return [
        Request(path="/bulk", body={"act": "cancel", "filter": {"tag": "withdrawn"}, "reason": "the customer wrote"}),
        Request(
            path="/bulk",
            body={
                "act": "retry",
                "filter": {"name": "search.reindex"},
                "rate": 2.0,
                "reason": f"the search cluster is back (story {seed})",
            },
        ),
    ]


def going_on(seed: int, rate: float) -> Iterator[list[Request]]:
    """Yield the requests of each second, for ever."""
    luck = Random(f"going on {seed}")  # noqa: S311
    owed = 0.0
    for second in itertools.count(1):
        owed += rate
        tasks = _orders(luck, int(owed))
        owed -= int(owed)
        if second % 8 == 0:
            tasks.append(_report(luck))
        if second % 40 == 0:
            tasks += [_reindex(luck) for _ in range(12)]
        asks = [Request(path="/tasks/batch", body={"tasks": tasks})] if tasks else []
        if second % 30 == 0:
            asks.append(Request(path="/jobs", body=jobs_of(seed + second)[second // 30 % 3]))
        if second % 300 == 0:
            asks.append(Request(path="/jobs", body=wide_job(seed + second)))
        yield asks


def _orders(luck: Random, count: int) -> list[Body]:
    """Return the tasks that orders make: money, parcels, mails and pictures."""
    tasks: list[Body] = []
    while len(tasks) < count:
        order = FIRST_ORDER + luck.randrange(10**9)
        name, channel = luck.choice(NAMES), luck.choice(CHANNELS)
        address = f"{name}@example.org" if luck.random() > 0.1 else f"{name} at example"
        priority = luck.choice((0, 0, 0, 5, -5))
        tasks += [
            {
                "name": "shop.charge",
                "queue": "orders",
                "payload": {"order_id": order, "cents": luck.randrange(199, 99_000)},
                "tags": [channel, *(["vip"] if luck.random() < 0.1 else [])],
                "priority": priority,
                "retries": 2,
                "backoff": 2,
            },
            {
                "name": "shop.ship",
                "queue": "orders",
                "payload": {"order_id": order, "country": luck.choice(COUNTRIES)},
                "tags": [channel],
                "retries": 1,
            },
            {"name": "mail.receipt", "queue": "mail", "payload": {"to": address, "order_id": order}, "retries": 0},
            {
                "name": "media.thumbnail",
                "queue": "media",
                "payload": {"image": f"IMG_{luck.randrange(10_000):04d}.jpg", "width": luck.choice((160, 320, 640))},
                "retries": 1,
                "backoff": 3,
            },
        ]
    return tasks[:count]


def _batch_work(luck: Random) -> list[Body]:
    """Return work of the back office, more than its workers can do at once."""
    return [
        *(_reindex(luck) for _ in range(24)),
        *(_report(luck) for _ in range(14)),
        *(
            {
                "name": "import.rows",
                "queue": "etl",
                "payload": {"file": f"supplier-{luck.randrange(4)}.jsonl", "line": line},
                "retries": 0,
                "tags": ["import"],
            }
            for line in range(1, 41)
        ),
    ]


def _reindex(luck: Random) -> Body:
    payload = {"shard": luck.randrange(64), "documents": luck.randrange(1_000, 50_000)}
    return {"name": "search.reindex", "queue": "search", "payload": payload, "retries": 1, "backoff": 1, "priority": 5}


def _report(luck: Random) -> Body:
    payload = {"day": f"2026-11-{luck.randrange(1, 29):02d}", "region": luck.choice(("north", "south", "east", "up"))}
    return {"name": "report.sales", "queue": "reports", "payload": payload, "retries": 1, "backoff": 5, "timeout": 120}


def _oddities(luck: Random) -> list[Body]:
    """Return a task for each way to wait, and for each way to be hard to show."""
    return [
        {"name": "ml.train", "queue": "reports", "payload": {"model": "demand"}, "priority": 9, "tags": ["weekly"]},
        {"name": "report.sales", "queue": "reports", "payload": {"day": "2026-12-01"}, "delay": "2h"},
        {"name": "legacy.fax", "queue": "mail", "payload": {"to": "+49 30 901820"}, "tags": ["nobody has this type"]},
        {
            "name": "shop.charge",
            "queue": "orders",
            "payload": {"order_id": FIRST_ORDER, "cents": 4_200, "note": "<b>not bold</b> & \"quoted\" 'text' 🥁"},
            "tags": ["a tag of some length, with a comma", "<i>", "tag-3", "tag-4", "tag-5"],
            "idempotency_key": "order 9007199254740993",
        },
        *(
            {
                "name": "shop.ship",
                "queue": "orders",
                "payload": {"order_id": FIRST_ORDER + number},
                "delay": "30m",
                "tags": ["withdrawn"],
            }
            for number in range(8)
        ),
        *(
            {
                "name": "mail.newsletter",
                "queue": "newsletter",
                "payload": {"to": f"{luck.choice(NAMES)}@example.org", "issue": 42},
            }
            for _ in range(30)
        ),
    ]


def _watchers(receiver: str) -> list[Request]:
    return [
        Request(
            path="/subscriptions",
            body={
                "name": "on-call",
                "events": ["drumline.job.failed", "drumline.task.failed"],
                "queue": "search",
                "webhook": f"{receiver}/on-call",
            },
        ),
        Request(
            path="/subscriptions",
            body={"name": "data team", "events": ["drumline.job.*"], "webhook": f"{receiver}/data-team"},
        ),
        Request(
            path="/subscriptions",
            body={"name": "incidents", "events": ["drumline.alert.*"], "webhook": f"{receiver}/incidents"},
        ),
        Request(
            path="/subscriptions",
            body={"name": "old chat", "events": ["drumline.job.failed"], "webhook": f"{receiver}/broken"},
        ),
    ]


def _alerts() -> list[Request]:
    """Return alerts of which some fire, and objectives of which one is missed."""
    return [
        *(
            Request(path="/alerts", body=body)
            for body in (
                {"name": "reindexing fails", "measure": "failure_rate", "threshold": "10%", "task": "search.reindex",
                 "window": "15m", "severity": "critical", "note": "Look at the search cluster first."},
                {"name": "newsletter waits", "measure": "oldest_wait", "threshold": "1m", "queue": "newsletter",
                 "severity": "warning", "note": "The queue is paused on purpose now and then."},
                {"name": "orders wait", "measure": "wait_p95", "threshold": "30s", "queue": "orders", "window": "10m"},
                {"name": "digest is late", "measure": "late_schedule", "threshold": "10m", "schedule": "weekly digest"},
            )
        ),
        Request(path="/slos", body={"name": "parcels are shipped", "task": "shop.ship", "target": 0.99}),
        Request(
            path="/slos",
            body={"name": "charges start in time", "task": "shop.charge", "objective": "start", "within": "5s",
                  "target": 0.95, "period": "7d"},
        ),
        Request(path="/slos", body={"name": "receipts are sent", "task": "mail.receipt", "target": 0.95}),
    ]  # fmt: skip


def _keys() -> list[Request]:
    return [
        Request(path="/keys", body={"name": "wall screen", "role": "viewer"}),
        Request(path="/keys", body={"name": "shop backend", "role": "submitter"}),
        Request(
            path="/keys",
            body={"name": "former colleague", "role": "operator"},
            then=(Request(path="/keys/{id}/revoke"),),
        ),
    ]


def _schedules() -> list[Request]:
    closing_time = {"name": "report.sales", "queue": "reports", "payload": {"day": "today"}, "retries": 1}
    digest = {"name": "etl.notify", "queue": "mail", "payload": {"whom": "everybody", "subject": "the week"}}
    beat = {"name": "etl.extract", "queue": "etl", "payload": {"table": "orders"}}
    rest = {"name": "search.reindex", "queue": "search", "payload": {"shard": 1, "documents": 10}}
    return [
        Request(
            path="/schedules",
            body={"name": "sales of the day", "cron": "30 18 * * mon-fri", "timezone": "Europe/Berlin",
                  "task": closing_time, "overlap": "skip"},
            then=(Request(path="/schedules/{id}/trigger"),),
        ),
        Request(
            path="/schedules",
            body={"name": "weekly digest", "cron": "0 7 * * mon", "timezone": "America/St_Johns", "task": digest},
        ),
        Request(path="/schedules", body={"name": "look for new orders", "interval": "15s", "task": beat}),
        Request(
            path="/schedules",
            body={"name": "night watch", "cron": "*/20 22-23,0-5 * * *", "timezone": "Asia/Kolkata", "task": rest,
                  "misfire": "skip", "jitter": "2m"},
        ),
        Request(
            path="/schedules",
            body={"name": "stock taking", "cron": "0 6 1 * *", "timezone": "Europe/Berlin", "job": jobs_of(0)[0],
                  "paused": True},
        ),
    ]  # fmt: skip
