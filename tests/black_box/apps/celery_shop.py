"""Tasks with Celery's interface, for a server in a process of its own."""

import time
from pathlib import Path
from typing import Any

from drumline.compat.celery import Celery, Task, crontab

app = Celery("celery_shop")
app.conf.beat_schedule = {"nightly": {"task": "celery_shop.add", "schedule": crontab(minute=0, hour=2), "args": (1, 2)}}


@app.task
def add(x: int, y: int) -> int:
    return x + y


@app.task
def slowly(x: int, begun: str) -> int:
    Path(begun).touch()
    time.sleep(1)
    return x


@app.task
def total(numbers: list[int]) -> int:
    return sum(numbers)


@app.task(bind=True)
def lazily(self: Task, x: int) -> None:
    self.replace(add.s(x, 1))


@app.task
def fail(*_: Any) -> None:
    raise LookupError("no such order", 7)
