"""Every operation of the API, the hottest first: a request is matched from the top."""

from itertools import groupby

from starlette.routing import Route

from drumline.api import documentation, health, outputs, protocol, queues, short_paths, tasks, workers
from drumline.api.endpoint import Endpoint
from drumline.api.operation import Desk, Operation

OPERATIONS: tuple[Operation, ...] = (
    *tasks.OPERATIONS,
    *protocol.OPERATIONS,
    *outputs.OPERATIONS,
    *short_paths.OPERATIONS,
    *queues.OPERATIONS,
    *workers.OPERATIONS,
    *health.OPERATIONS,
    *documentation.OPERATIONS,
)

OPEN_PATHS = frozenset(operation.path for operation in OPERATIONS if operation.is_open) | documentation.ERROR_PAGES
"""The paths that are served without a key."""


def routes(desk: Desk) -> list[Route]:
    """Return one route per path, in the order in which the table first names it."""
    order = {path: place for place, path in reversed(list(enumerate(operation.path for operation in OPERATIONS)))}
    by_path = groupby(sorted(OPERATIONS, key=lambda op: order[op.path]), key=lambda op: op.path)
    return [Route(path, Endpoint(desk, operations)) for path, operations in by_path]
