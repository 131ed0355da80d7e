"""Assembles a worker: its executors, from the apps it serves and the built-in kinds of tasks."""

from collections.abc import Sequence
from typing import Final

from drumline.core.errors import Invalid
from drumline.core.metrics import Metrics
from drumline.lifecycle.apps import App
from drumline.lifecycle.live import Live
from drumline.lifecycle.mail_server import mail_server, sms_gateway
from drumline.outbound.guard import AddressGuard, parse_allowed
from drumline.ports.gateway import Gateway
from drumline.ports.tracing import NO_TRACER, Tracer
from drumline.settings import Settings
from drumline.settings.fields import ShellSettings
from drumline.settings.queues import parse_queues
from drumline.worker.executors.catalogue import BuiltIn, assemble
from drumline.worker.executors.confinement import Confinement, check_variables, user_named
from drumline.worker.executors.pdf import PdfLimits
from drumline.worker.options import WorkerOptions
from drumline.worker.worker import Worker

MOST_THREADS: Final = 100_000
"""There are as many as there are tasks in them: the capacity, which may change, bounds those."""


def assemble_worker(
    gateway: Gateway,
    apps: Sequence[App],
    options: WorkerOptions,
    built_in: BuiltIn,
    metrics: Metrics | None = None,
    tracer: Tracer = NO_TRACER,
) -> Worker:
    """Return a worker that runs the tasks of the apps and the built-in ones."""
    try:
        executors = assemble(options, apps, built_in=built_in)
    except (TypeError, ValueError) as error:  # two tasks of one name, or a function that cannot be a task
        raise Invalid(str(error), field="app") from error
    return Worker(gateway, executors, options, metrics=metrics, tracer=tracer)


def follow_settings(worker: Worker, live: Live) -> None:
    """Apply changed settings to a worker, as far as they may change while tasks run."""
    live.follow(lambda settings: worker.change(worker_options(settings)))


def worker_options(settings: Settings) -> WorkerOptions:
    """Return the options of a worker that the settings say."""
    weights = parse_queues(settings.worker.queues)
    return WorkerOptions(
        capacity=settings.worker.concurrency,
        threads=MOST_THREADS,
        queues=tuple(weights),
        weights=weights,
        report_batch=settings.tune.report_batch,
        label=settings.worker.label,
        app_version=settings.app_version,
        measures_usage=True,
        grace=settings.worker.grace.total_seconds(),
        limits=settings.limits,
    )


def built_in_kinds(settings: Settings, *, is_embedded: bool) -> BuiltIn:
    """Return which built-in kinds a worker runs; on one machine everything that is there."""
    return BuiltIn(
        shell=is_embedded if settings.allow_shell is None else settings.allow_shell,
        walls=_walls(settings.shell),
        guard=_http_guard(settings, is_embedded=is_embedded),
        smtp=mail_server(settings, is_embedded=is_embedded),
        sms=sms_gateway(settings),
        sms_guard=AddressGuard(parse_allowed(settings.sms.allow, field="sms.allow"), setting="sms.allow"),
        pdf_limits=PdfLimits(max(round(settings.pdf.cpu.total_seconds()), 1), settings.pdf.memory),
    )


def _walls(shell: ShellSettings) -> Confinement:
    return Confinement(
        allow=shell.allow,
        env=check_variables(shell.env, field="shell.env"),
        cpu_seconds=None if shell.cpu is None else max(round(shell.cpu.total_seconds()), 1),
        memory=shell.memory,
        files=shell.files,
        file_size=shell.file_size,
        processes=shell.processes,
        user=None if shell.user is None else user_named(shell.user, field="shell.user"),
    )


def _http_guard(settings: Settings, *, is_embedded: bool) -> AddressGuard | None:
    """Return the address check of `http` tasks; None on one machine, whose tasks are its owner's."""
    if settings.allow_http is None and is_embedded:
        return None
    return AddressGuard(parse_allowed(settings.allow_http or (), field="allow_http"), setting="allow_http")
