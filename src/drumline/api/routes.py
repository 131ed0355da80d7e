"""Every operation of the API, and how a request finds its own."""

from starlette.types import ASGIApp, Receive, Scope, Send

from drumline.api import (
    audit,
    bulk,
    config,
    deliveries,
    documentation,
    events,
    failures,
    health,
    jobs,
    keys,
    limits,
    metrics,
    outputs,
    protocol,
    queues,
    schedules,
    secrets,
    shards,
    short_paths,
    sign_in,
    sign_in_with,
    signals,
    stats,
    steps,
    subscriptions,
    task_queries,
    tasks,
    tenants,
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
    *steps.OPERATIONS,
    *signals.OPERATIONS,
    *outputs.OPERATIONS,
    *jobs.OPERATIONS,
    *schedules.OPERATIONS,
    *short_paths.OPERATIONS,
    *failures.OPERATIONS,
    *bulk.OPERATIONS,
    *queues.OPERATIONS,
    *limits.OPERATIONS,
    *workers.OPERATIONS,
    *task_queries.OPERATIONS,
    *events.OPERATIONS,
    *subscriptions.OPERATIONS,
    *deliveries.OPERATIONS,
    *stats.OPERATIONS,
    *keys.OPERATIONS,
    *sign_in.OPERATIONS,
    *sign_in_with.OPERATIONS,
    *tenants.OPERATIONS,
    *secrets.OPERATIONS,
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
        self._others = PathNode()
        for path, operations in by_path.items():
            endpoint = Endpoint(context, operations)
            if "{" in path:
                self._others.add(path, endpoint)
            else:
                self._fixed[path] = endpoint
        self._otherwise = otherwise

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        path: str = scope["path"]
        fixed = self._fixed.get(path)
        endpoint, scope["path_params"] = (fixed, {}) if fixed else self._others.find(path) or (self._otherwise, {})
        await endpoint(scope, receive, send)
