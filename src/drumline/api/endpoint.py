"""From an ASGI request to a handler and back: the same few steps for every operation."""

import asyncio
from collections.abc import Iterable
from typing import Any

import msgspec
from starlette.types import Receive, Scope, Send

from drumline.api.operation import SANDBOX, Call, Desk, Operation, Reply, Stream
from drumline.api.problems import Headers, Refused
from drumline.api.reading import check_media, decode_body, read_body, read_query

CALLER = "drumline.caller"
REQUEST_ID = "drumline.request_id"
STARTED = "drumline.started"

BODY_PATIENCE = 60.0
"""Seconds in which a body must have come."""

SECURITY: Headers = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
)


class Endpoint:
    """All operations of one path, as an ASGI application."""

    def __init__(self, desk: Desk, operations: Iterable[Operation]) -> None:
        self._steps = {operation.method: _Steps(desk, operation) for operation in operations}
        if "GET" in self._steps:
            self._steps["HEAD"] = self._steps["GET"]
        self._allow = ", ".join(sorted(self._steps)).encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        steps = self._steps.get(scope["method"])
        if steps is None:
            raise Refused(
                f"{scope['path']} takes {self._allow.decode()}, not {scope['method']}",
                code="method_not_allowed",
                headers=((b"allow", self._allow),),
            )
        call = await steps.read(scope, receive)
        reply = await steps.operation.handler(call)
        if isinstance(reply, Stream):
            await send_stream(reply, scope, send)
        else:
            await send_reply(reply, scope, send)


class _Steps:
    """How one operation's requests are read."""

    def __init__(self, desk: Desk, operation: Operation) -> None:
        self.operation = operation
        self._desk = desk
        self._largest = operation.largest(desk.limits)
        self._is_json = operation.body not in (None, bytes)
        self._decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(operation.body if self._is_json else object)

    async def read(self, scope: Scope, receive: Receive) -> Call[Any, Any]:
        """Return the request, checked, or raise what is wrong with it."""
        operation = self.operation
        headers: list[tuple[bytes, bytes]] = scope["headers"]
        query = read_query(scope["query_string"], operation.query)
        body = None if operation.body is None else await self._body(headers, receive)
        return Call(
            desk=self._desk,
            caller=scope[CALLER],
            params=scope["path_params"],
            query=query,
            body=body,
            headers=headers,
            receive=receive,
        )

    async def _body(self, headers: list[tuple[bytes, bytes]], receive: Receive) -> Any:
        length = media = None
        for name, value in headers:
            if name == b"content-length":
                length = value
            elif name == b"content-type":
                media = value
        if self._is_json:
            check_media(media)
        try:
            async with asyncio.timeout(BODY_PATIENCE):
                body = await read_body(receive, length=length, largest=self._largest, field=self.operation.bulk)
        except TimeoutError as error:
            raise Refused("the body did not come in time", code="too_slow", field="body") from error
        if not self._is_json:
            return body
        if not body and not self.operation.body_required:
            return self.operation.body()
        return decode_body(self._decoder, body)


async def send_reply(reply: Reply, scope: Scope, send: Send) -> None:
    """Send an answer that is there as a whole."""
    headers = [
        (b"content-type", reply.media),
        (b"content-length", b"%d" % len(reply.body)),
        (b"content-security-policy", reply.policy),
        (b"x-request-id", scope[REQUEST_ID]),
        *SECURITY,
        *reply.headers,
    ]
    if reply.status == 204:
        del headers[:2]
    scope[STARTED] = True
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else reply.body})


async def send_stream(reply: Stream, scope: Scope, send: Send) -> None:
    """Send an answer that comes bit by bit."""
    headers = [
        (b"content-type", reply.media),
        (b"content-security-policy", SANDBOX),
        (b"x-request-id", scope[REQUEST_ID]),
        (b"x-accel-buffering", b"no"),
        *SECURITY,
    ]
    scope[STARTED] = True
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    if scope["method"] != "HEAD":
        async for chunk in reply.chunks:
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
    await send({"type": "http.response.body", "body": b""})
