"""What wraps every request: request id, authentication, metrics, and errors turned into problem replies."""

import asyncio
import itertools
import secrets
from collections.abc import Awaitable
from time import monotonic

import structlog
from starlette.types import ASGIApp, Receive, Scope, Send

from drumline.api.authentication import Authentication
from drumline.api.endpoint import CALLER, REQUEST_ID, ROUTE, STARTED, STATUS, send_reply
from drumline.api.operation import Reply
from drumline.api.problems import Refused, headers_of, to_problem
from drumline.api.reading import ClientGone
from drumline.core.access import Caller
from drumline.core.codec import encode
from drumline.core.errors import DrumlineError, Unauthorized
from drumline.core.meters import OTHER
from drumline.core.metrics import Metrics

log: structlog.stdlib.BoundLogger = structlog.get_logger()

CLASSES = ("", "1xx", "2xx", "3xx", "4xx", "5xx")
PROBLEM = b"application/problem+json"
PROBES = frozenset({"/livez", "/readyz"})
"""What load balancers and orchestrators ask all day, of all servers."""


class Middleware:
    """The outermost ASGI application. Query strings are never logged: a start URL may carry a key."""

    def __init__(
        self, inner: ASGIApp, *, authentication: Authentication, open_paths: frozenset[str], metrics: Metrics
    ) -> None:
        self._observe = metrics.http.observe
        self._inner = inner
        self._authentication = authentication
        self._open = open_paths
        self._prefix = secrets.token_hex(4).encode()
        self._numbers = itertools.count(1)

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Serve a request, or the server's own lifespan."""
        if scope["type"] == "http":
            return self._serve(scope, receive, send)
        if scope["type"] == "lifespan":
            return _live(receive, send)
        return send({"type": "websocket.close", "code": 1000})

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope[REQUEST_ID] = b"%b-%x" % (self._prefix, next(self._numbers))
        began = monotonic()
        try:
            scope[CALLER] = await self._caller(scope)
            await self._inner(scope, receive, send)
        except ClientGone:
            return
        except Exception as error:  # noqa: BLE001 - whatever it is, the caller gets a problem and the log the rest
            if scope.get(STARTED):
                await _break_off(error, scope)
            else:
                await send_reply(_error_reply(error, scope), scope, send)
        finally:
            if (status := scope.get(STATUS)) is not None:  # streams take as long as their readers like
                labels = (scope["method"] if ROUTE in scope else OTHER, scope.get(ROUTE, OTHER), CLASSES[status // 100])
                self._observe(monotonic() - began, labels)

    async def _caller(self, scope: Scope) -> Caller | None:
        """Return who asks. An address that asks without anything that is good may do so only so often."""
        if scope["path"] not in self._open:
            try:
                return await self._authentication.authenticate(scope)
            except Unauthorized:
                self._authentication.limit_anonymous(scope)
                raise
        caller = await self._authentication.identify(scope)
        if caller is None and scope["path"] not in PROBES:
            self._authentication.limit_anonymous(scope)
        return caller


async def no_such_path(scope: Scope, _receive: Receive, _send: Send) -> None:
    """Refuse a path that no operation has."""
    raise Refused(f"there is nothing at {scope['path']}; /docs lists all paths", code="unknown_path")


async def _live(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return


def _error_reply(error: Exception, scope: Scope) -> Reply:
    if isinstance(error, DrumlineError):
        problem = to_problem(error)
        return Reply(encode(problem), problem.status, PROBLEM, headers_of(error))
    _log_failure(error, scope)
    request_id = scope[REQUEST_ID].decode()
    told = Refused(f"the error is in the server's log under request {request_id}", code="internal")
    problem = to_problem(told, request_id=request_id)
    return Reply(encode(problem), problem.status, PROBLEM)


async def _break_off(error: Exception, scope: Scope) -> None:
    """End an answer that has begun: close the connection, so that the client does not take a part for the whole."""
    if isinstance(error, OSError) or (isinstance(error, RuntimeError) and "handler is closed" in str(error)):
        # The client has closed the connection; the server hears of it one turn of the loop later.
        await asyncio.sleep(0)
        return
    _log_failure(error, scope)
    raise error


def _log_failure(error: Exception, scope: Scope) -> None:
    log.error(
        "request.failed",
        request_id=scope[REQUEST_ID].decode(),
        method=scope["method"],
        path=scope["path"],
        exc_info=error,
    )
