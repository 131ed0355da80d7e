"""From an ASGI request to a handler and back: the same few steps for every operation."""

import asyncio
from collections.abc import AsyncGenerator, Iterable
from time import monotonic
from typing import Any

import msgspec
from starlette.types import Receive, Scope, Send

from drumline.api.auditing import entry_of, recorded
from drumline.api.authentication import CREDENTIAL, RATE_HEADERS
from drumline.api.browser_sessions import COOKIES
from drumline.api.compression import exchange_for
from drumline.api.exchange import exchange_of, header_lines
from drumline.api.operation import SANDBOX, ApiCall, ApiContext, AuditDetail, Operation, Reach, Reply, Stream
from drumline.api.problems import Headers, Refused
from drumline.api.reading import (
    AnyQuery,
    Bounds,
    check_length,
    check_media,
    decode_body,
    read_any_query,
    read_body,
    read_query,
)
from drumline.api.request_bytes import HeldBytes
from drumline.api.stopping import each_while
from drumline.core.access import EVERY_TENANT, Caller
from drumline.core.codec import encode
from drumline.core.trace import CURRENT_TRACE, read_traceparent
from drumline.engine.incomplete import noting_missing

CALLER = "drumline.caller"
REQUEST_ID = "drumline.request_id"
STARTED = "drumline.started"
ROUTE = "drumline.route"
STATUS = "drumline.status"

LONG_SECONDS = 1.0
"""After so long a key is checked once more before the answer goes out: it may have been revoked meanwhile."""

LARGE_BODY = 1024 * 1024

SECURITY: Headers = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)


class Endpoint:
    """All operations of one path, as an ASGI application."""

    def __init__(self, context: ApiContext, operations: Iterable[Operation]) -> None:
        self._steps = {operation.method: _Steps(context, operation) for operation in operations}
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
        scope[ROUTE] = steps.operation.path
        if steps.context.engine.tracer.is_on:
            _enter_trace(scope)
        if steps.permission is not None:
            scope[CALLER].check(steps.permission)
        if steps.is_whole:
            scope[CALLER].check_whole()
        held = steps.context.request_bytes.holding(_owner_of(scope[CALLER]))
        try:
            call = await steps.read(scope, receive, held)
            reply = await (steps.answer_merged if steps.operation.merges else steps.answer)(call, scope)
        finally:
            held.release()
        if isinstance(reply, Stream):
            await send_stream(steps.watched(reply, scope), scope, send)
        else:
            await send_reply(reply, scope, send)


def _owner_of(caller: Caller | None) -> str | None:
    """Return whom the bytes of a request count for."""
    return None if caller is None else caller.tenant or EVERY_TENANT


def _enter_trace(scope: Scope) -> None:
    """Go on in the trace that the caller is in; each request is served in a context of its own."""
    given = next((value for name, value in scope["headers"] if name == b"traceparent"), b"")
    CURRENT_TRACE.set(read_traceparent(given.decode("latin-1")))


class _Steps:
    """How one operation's requests are read."""

    def __init__(self, context: ApiContext, operation: Operation) -> None:
        self.operation = operation
        self.context = context
        self.permission = operation.permission or None
        self.is_whole = operation.reach is Reach.WHOLE
        self._bounds = Bounds(operation.largest(context.limits), operation.bulk)
        self._is_json = operation.body not in (None, bytes)
        self._decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(operation.body if self._is_json else object)

    async def read(self, scope: Scope, receive: Receive, held: HeldBytes) -> ApiCall[Any, Any]:
        """Return the request, checked, or raise what is wrong with it."""
        operation = self.operation
        headers: list[tuple[bytes, bytes]] = scope["headers"]
        text = scope["query_string"]
        query = read_any_query(text) if operation.query is AnyQuery else read_query(text, operation.query)
        body = None if operation.body is None else await self._body(headers, receive, held)
        return ApiCall(
            context=self.context,
            caller=scope[CALLER],
            params=scope["path_params"],
            query=query,
            body=body,
            headers=headers,
            receive=receive,
            scope=scope,
            audit_detail=None if self._act(body) is None else AuditDetail(),
        )

    async def answer(self, call: ApiCall[Any, Any], scope: Scope) -> Reply | Stream:
        """Return the answer to a request that was read."""
        began = monotonic()
        reply = await (self.operation.handler(call) if call.audit_detail is None else self.recorded(call, scope))
        if CREDENTIAL in scope and monotonic() - began > LONG_SECONDS:
            await self.context.authentication.recheck(scope)
        return reply

    async def answer_merged(self, call: ApiCall[Any, Any], scope: Scope) -> Reply | Stream:
        """Return an answer that several shards have a part in, with those that are missing."""
        with noting_missing() as missing:
            reply = await self.answer(call, scope)
        return _incomplete(reply, missing) if missing else reply

    async def recorded(self, call: ApiCall[Any, Any], scope: Scope) -> Reply | Stream:
        """Do an act between the two rows that the audit log gets of it."""
        address = self.context.authentication.addresses.of(scope)
        act = self._act(call.body) or ""
        entry = entry_of(call, act, path=scope["path"], address=address, request_id=scope[REQUEST_ID])
        return await recorded(call, entry, self.operation.handler)

    def _act(self, body: Any) -> str | None:
        """Return the act that the audit log records for a request with this body; None if it records nothing."""
        act = self.operation.audit_act
        if not act or getattr(body, "dry_run", False):
            return None
        return act if isinstance(act, str) else act(body)

    def watched(self, reply: Stream, scope: Scope) -> Stream:
        """Return a stream that ends when its caller's key or sign-in does."""
        if CREDENTIAL not in scope:
            return reply
        chunks = each_while(reply.chunks, lambda: self.context.authentication.recheck(scope))
        return msgspec.structs.replace(reply, chunks=chunks)

    async def _body(self, headers: list[tuple[bytes, bytes]], receive: Receive, held: HeldBytes) -> Any:
        length = media = None
        for name, value in headers:
            if name == b"content-length":
                length = value
            elif name == b"content-type":
                media = value
        if self._is_json:
            check_media(media)
        body = await self._received(length, receive, held)
        if not self._is_json:
            return body
        if not body and not self.operation.body_required:
            return self.operation.body()
        return decode_body(self._decoder, body) if len(body) < LARGE_BODY else await self._decoded(body)

    async def _received(self, length: bytes | None, receive: Receive, held: HeldBytes) -> bytes:
        """Return a body as it came; nearly always it has come with its headers."""
        exchange = exchange_of(receive)
        body = None if exchange is None else exchange.take_body()
        if body is not None:
            check_length(len(body), self._bounds)
            held.add(len(body))
            return body
        try:
            async with asyncio.timeout(self.context.body_timeout):
                return await read_body(receive, self._bounds, length=length, held=held)
        except TimeoutError as error:
            raise Refused("the body did not come in time", code="too_slow", field="body") from error

    async def _decoded(self, body: bytes) -> Any:
        """Return a large body; before and after it other requests get their turn."""
        await asyncio.sleep(0)
        decoded = decode_body(self._decoder, body)
        await asyncio.sleep(0)
        return decoded


def _incomplete(reply: Reply | Stream, missing: Iterable[str]) -> Reply | Stream:
    """Return an answer that says which shards it misses: an object gets the field `incomplete`."""
    if isinstance(reply, Stream) or not reply.body.endswith(b"}"):
        return reply
    body = b'%b,"incomplete":%b}' % (reply.body[:-1], encode(sorted(missing)))
    return msgspec.structs.replace(reply, body=body)


async def send_reply(reply: Reply, scope: Scope, send: Send) -> None:
    """Send an answer that is there as a whole."""
    scope[STARTED] = True
    scope[STATUS] = reply.status
    exchange = exchange_for(send, len(reply.body))
    if exchange is not None and RATE_HEADERS not in scope and COOKIES not in scope:
        always = header_lines(((b"content-type", reply.media), (b"content-security-policy", reply.policy), *SECURITY))
        more = ((b"x-request-id", scope[REQUEST_ID]), *reply.headers)
        if exchange.respond(reply.status, always, more, reply.body):
            return
    headers = [
        (b"content-type", reply.media),
        (b"content-length", b"%d" % len(reply.body)),
        (b"content-security-policy", reply.policy),
        (b"x-request-id", scope[REQUEST_ID]),
        *SECURITY,
        *reply.headers,
        *scope.get(RATE_HEADERS, ()),
        *scope.get(COOKIES, ()),
    ]
    if reply.status == 204:
        del headers[:2]
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
        *scope.get(RATE_HEADERS, ()),
    ]
    scope[STARTED] = True
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    if scope["method"] != "HEAD":
        await _send_chunks(reply, send)
    await send({"type": "http.response.body", "body": b""})


async def _send_chunks(reply: Stream, send: Send) -> None:
    try:
        async for chunk in reply.chunks:
            try:
                async with asyncio.timeout(reply.patience):
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
            except TimeoutError as error:
                raise ConnectionAbortedError("the client takes nothing more") from error
    finally:
        # Now, not when it is garbage collected: the generator may hold resources.
        if isinstance(reply.chunks, AsyncGenerator):
            await reply.chunks.aclose()
