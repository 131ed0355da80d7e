"""Every operation of the API, and how a request finds its own."""

from collections.abc import Awaitable

from starlette.types import ASGIApp, Receive, Scope, Send

from drumline.api import (
    alerts,
    audit,
    bulk,
    children,
    config,
    deliveries,
    documentation,
    events,
    failure_groups,
    failures,
    forks,
    health,
    job_questions,
    jobs,
    keys,
    limits,
    logs,
    metrics,
    outputs,
    protocol,
    queue_details,
    queues,
    schedules,
    secrets,
    shards,
    short_paths,
    sign_in,
    sign_in_with,
    signals,
    slos,
    stats,
    steps,
    subscriptions,
    task_export,
    task_queries,
    tasks,
    tenants,
    views,
    worker_children,
    worker_records,
    workers,
)
from drumline.api.endpoint import Endpoint
from drumline.api.operation import ApiContext, Operation
from drumline.api.path_tree import PathNode

OPERATIONS: tuple[Operation, ...] = (
    *tasks.OPERATIONS,
    *protocol.OPERATIONS,
    *worker_records.OPERATIONS,
    *worker_children.OPERATIONS,
    *children.OPERATIONS,
    *steps.OPERATIONS,
    *signals.OPERATIONS,
    *forks.OPERATIONS,
    *outputs.OPERATIONS,
    *logs.OPERATIONS,
    *jobs.OPERATIONS,
    *job_questions.OPERATIONS,
    *schedules.OPERATIONS,
    *short_paths.OPERATIONS,
    *failure_groups.OPERATIONS,
    *failures.OPERATIONS,
    *bulk.OPERATIONS,
    *queues.OPERATIONS,
    *queue_details.OPERATIONS,
    *limits.OPERATIONS,
    *workers.OPERATIONS,
    *task_queries.OPERATIONS,
    *events.OPERATIONS,
    *subscriptions.OPERATIONS,
    *deliveries.OPERATIONS,
    *alerts.OPERATIONS,
    *slos.OPERATIONS,
    *stats.OPERATIONS,
    *keys.OPERATIONS,
    *sign_in.OPERATIONS,
    *sign_in_with.OPERATIONS,
    *tenants.OPERATIONS,
    *secrets.OPERATIONS,
    *views.OPERATIONS,
    *task_export.OPERATIONS,
    *audit.OPERATIONS,
    *config.OPERATIONS,
    *shards.OPERATIONS,
    *health.OPERATIONS,
    *metrics.OPERATIONS,
    *documentation.OPERATIONS,
)

OPEN_PATHS = frozenset(operation.path for operation in OPERATIONS if operation.is_open) | documentation.ERROR_PAGES
"""The paths that are served without a key."""


class Paths:
    """Leads each request to its path's endpoint."""

    def __init__(self, context: ApiContext, *, otherwise: ASGIApp) -> None:
        by_path: dict[str, list[Operation]] = {}
        for operation in OPERATIONS:
            by_path.setdefault(operation.path, []).append(operation)
        self._fixed: dict[str, ASGIApp] = {}
        self._one: dict[str, tuple[str, ASGIApp]] = {}
        """Endpoints of paths whose last part alone is a parameter, by what is before it, with the parameter's name."""
        self._others = PathNode()
        for path, operations in by_path.items():
            endpoint = Endpoint(context, operations)
            before, _, last = path.rpartition("/")
            if "{" in path:
                self._others.add(path, endpoint)
                if "{" not in before:
                    self._one[before] = (last.strip("{}"), endpoint)
            else:
                self._fixed[path] = endpoint
        self._otherwise = otherwise

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Serve one request."""
        path: str = scope["path"]
        fixed = self._fixed.get(path)
        if fixed is not None:
            scope["path_params"] = {}
            return fixed(scope, receive, send)
        before, _, last = path.rpartition("/")
        if last and (found := self._one.get(before)) is not None:
            name, endpoint = found
            scope["path_params"] = {name: last}
        else:
            endpoint, scope["path_params"] = self._others.find(path) or (self._otherwise, {})
        return endpoint(scope, receive, send)
