"""Every operation of the API, the hottest first: a request is matched from the top."""

from starlette.routing import Route, Router
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
    stats,
    subscriptions,
    task_queries,
    tasks,
    tenants,
    workers,
)
from drumline.api.endpoint import Endpoint
from drumline.api.operation import ApiContext, Operation

OPERATIONS: tuple[Operation, ...] = (
    *tasks.OPERATIONS,
    *protocol.OPERATIONS,
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
    """Leads each request to its path's endpoint: fixed paths by one look, the others by matching from the top."""

    def __init__(self, context: ApiContext, *, otherwise: ASGIApp) -> None:
        by_path: dict[str, list[Operation]] = {}
        for operation in OPERATIONS:
            by_path.setdefault(operation.path, []).append(operation)
        endpoints = {path: Endpoint(context, operations) for path, operations in by_path.items()}
        self._fixed = {path: endpoint for path, endpoint in endpoints.items() if "{" not in path}
        routes = [Route(path, endpoint) for path, endpoint in endpoints.items() if "{" in path]
        self._matched = Router(routes, redirect_slashes=False, default=otherwise)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        endpoint = self._fixed.get(scope["path"])
        if endpoint is None:
            await self._matched(scope, receive, send)
        else:
            scope["path_params"] = {}
            await endpoint(scope, receive, send)
