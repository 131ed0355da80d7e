"""What every attempt of a worker works with."""

import asyncio
from functools import cached_property
from typing import Any

from drumline.core.metrics import Metrics
from drumline.ports.gateway import Gateway
from drumline.ports.tracing import NO_TRACER, Tracer
from drumline.worker.failure_log import FailureLog
from drumline.worker.holdings import Holdings
from drumline.worker.link import Link
from drumline.worker.logs import LogBook
from drumline.worker.progress import ProgressBook
from drumline.worker.reports import Reports
from drumline.worker.settings import WorkerSettings


class Desk:
    """What every attempt of a worker works with."""

    def __init__(self, gateway: Gateway, settings: WorkerSettings, metrics: Metrics) -> None:
        self.tracer: Tracer = NO_TRACER
        self.gateway = gateway
        self.limits = settings.limits
        self.stop_grace = settings.stop_grace
        self.link = Link(metrics=metrics)
        self.holdings = Holdings(settings.capacity)
        self.logs = LogBook(gateway, self.link, every=settings.log_every, largest=settings.limits.log)
        self.progress = ProgressBook(gateway, every=settings.progress_every)
        self.failures = FailureLog()
        self.owner: asyncio.Task[Any] | None = None
        """The task in which the worker runs, while it does."""
        self.reports = Reports(gateway, self.link, self.holdings, metrics, largest=settings.report_batch)

    @cached_property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The loop that the worker runs on, asked for once: that is a call to the system."""
        return asyncio.get_running_loop()

    @cached_property
    def has_task_factory(self) -> bool:
        """Whether somebody has a say in how the loop's tasks are made."""
        return self.loop.get_task_factory() is not None
