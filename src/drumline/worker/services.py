"""The gateway, reporter, logs and limits that a worker's attempts share."""

import asyncio
from functools import cached_property
from typing import Any

from drumline.core.metrics import Metrics
from drumline.ports.gateway import Gateway
from drumline.ports.tracing import NO_TRACER, Tracer
from drumline.worker.durable import RecordSender
from drumline.worker.gateway_retry import GatewayRetry
from drumline.worker.held_attempts import HeldAttempts
from drumline.worker.logs import AttemptLogs
from drumline.worker.options import WorkerOptions
from drumline.worker.process_log import FailureLog
from drumline.worker.progress import ProgressReporter
from drumline.worker.reporter import Reporter


class AttemptServices:
    """The gateway, reporter, logs and limits that a worker's attempts share."""

    def __init__(self, gateway: Gateway, options: WorkerOptions, metrics: Metrics, tracer: Tracer = NO_TRACER) -> None:
        self.tracer = tracer
        self.gateway = gateway
        self.limits = options.limits
        self.stop_grace = options.stop_grace
        self.retry = GatewayRetry(metrics=metrics)
        self.held_attempts = HeldAttempts(options.capacity)
        self.logs = AttemptLogs(gateway, self.retry, every=options.log_every, largest=options.limits.log)
        self.progress = ProgressReporter(gateway, every=options.progress_every)
        self.failures = FailureLog()
        self.owner: asyncio.Task[Any] | None = None
        """The task in which the worker runs, while it does."""
        self.records = RecordSender(gateway, self.retry)
        self.reports = Reporter(gateway, self.retry, self.held_attempts, metrics, largest=options.report_batch)

    @cached_property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The loop that the worker runs on, asked for once: that is a call to the system."""
        return asyncio.get_running_loop()

    @cached_property
    def has_task_factory(self) -> bool:
        """Whether the loop has a task factory."""
        return self.loop.get_task_factory() is not None
