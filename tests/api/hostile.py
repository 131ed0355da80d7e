"""Requests that nobody sends by chance: in every place of every operation what stores, parsers and clocks choke on."""

import asyncio
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote, unquote

import msgspec
from msgspec import inspect

from drumline.api.operation import Operation
from drumline.api.reading import AnyQuery

LONG: Final = "x" * 10_240
TEXTS: Final = (
    "a\0b",
    "\0",
    LONG,
    "\x1b[31m\x07\x9b\x85",
    "",
    " ",
    "\u202e\u2028\ufeff",
    "\U0001f4a5",
    "'; DROP TABLE task; --",
    "../../x",
    "%00",
    "null",
    "NaN",
    "-1",
    "1e400",
    "9" * 400,
    "0001-01-01T00:00:00Z",
    "0001-01-01T00:00:00+23:59",
    "9999-12-31T23:59:59.999999-23:59",
    "9999-12-31T23:59:59Z",
    "2026-02-30T25:61:61Z",
    "99999999999999999999d",
    "1e308s",
    "00000000-0000-0000-0000-000000000000",
    "ffffffff-ffff-ffff-ffff-ffffffffffff",
    "w-ffffffffffffffff",
    "* * * * *",
    "0 0 31 2 *",
    "https://[::1",
    "http://a b",
    "*a*a*a*a*b",
)
"""Texts, for fields, parameters, paths and headers."""
RAW: Final = (
    r'"\ud800"',
    r'"a\udfffb"',
    r'{"\ud800": 1}',
    '"\\u0000"',
    "9" * 400,
    str(2**63),
    str(2**64),
    str(-(2**63) - 1),
    "-1",
    "0",
    "1e308",
    "-1e400",
    "NaN",
    "Infinity",
    "null",
    "true",
    "[]",
    "{}",
    "[[]]",
    '{"":""}',
    '{"a":1,"a":2}',
    "[" * 3000 + "]" * 3000,
    '{"a":' * 3000 + "1" + "}" * 3000,
    '"\ufeff"',
    "1.5",
    '["a\\u0000"]',
    '{"a\\u0000b": "c"}',
    '{"$secret": "x"}',
    '{"$result": "x.y"}',
    '{"$literal": {"$secret": 1}}',
    '{"$secret": {"$secret": "x"}}',
)
"""JSON, as it is written."""
FEW_TEXTS: Final = (
    "a\0b",
    LONG,
    "\x1b[31m\x07\x9b\x85",
    "",
    "9" * 400,
    "0001-01-01T00:00:00+23:59",
    "9999-12-31T23:59:59.999999-23:59",
    "9999-12-31T23:59:59Z",
    "1e308s",
)
FEW_RAW: Final = (
    r'"\ud800"',
    "9" * 400,
    str(2**63),
    "-1",
    "NaN",
    "null",
    "[]",
    "[" * 3000 + "]" * 3000,
    '{"a\\u0000b": "c"}',
    "1e308",
)
"""Those of each kind that different parts choke on; DRUMLINE_TEST_EXPLORE=1 sends all."""
CLOSED: Final = (
    inspect.StructType,
    inspect.CollectionType,
    inspect.DictType,
    inspect.BoolType,
    inspect.EnumType,
    inspect.LiteralType,
    inspect.NoneType,
)
"""Kinds of values that the decoder itself refuses everything else for: there a few of each kind will do."""
CLOSED_RAW: Final = ('"a\\u0000b"', r'"\ud800"', "9" * 400, "null", "[]", '{"a\\u0000b": "c"}')
KEYS: Final = ("a\0b", LONG, "9" * 400, r"\ud800")

BASES: Final[Mapping[str, Mapping[str, Any]]] = {
    "POST /api/v1/schedules": {"name": "s", "cron": "0 3 * * *", "task": {"name": "work"}},
    "POST /api/v1/schedules/preview": {"cron": "0 3 * * *"},
    "POST /api/v1/subscriptions": {"name": "s", "webhook": "https://example.com/hook"},
    "POST /api/v1/bulk": {"act": "cancel", "filter": {"tag": "none"}},
    "POST /api/v1/failures/retry": {"filter": {"tag": "none"}},
    "POST /api/v1/failures/discard": {"filter": {"tag": "none"}},
    "POST /api/v1/failures/purge": {"older_than": "365d"},
    "POST /api/v1/worker/sessions": {"types": [{"name": "work"}], "capacity": 1},
    "POST /api/v1/jobs": {"name": "j", "tasks": {"one": {"name": "work"}}},
    "PUT /api/v1/limits/{name}": {"queue": "default", "max_concurrent": 1},
    "PATCH /api/v1/config": {"set": {"worker.concurrency": 3}},
    "POST /api/v1/schedules/{id}/backfill": {
        "start": "2026-01-01T00:00:00Z",
        "end": "2026-01-02T00:00:00Z",
        "dry_run": True,
    },
}
"""Bodies that are accepted, where the fields that are required do not make one."""


@dataclass(frozen=True)
class Request:
    """A request as it goes over the wire."""

    method: str
    path: str
    query: bytes = b""
    body: bytes = b""
    headers: tuple[tuple[bytes, bytes], ...] = field(default=())

    def __str__(self) -> str:
        return f"{self.method} {self.path[:200]}?{self.query[:200]!r} {self.headers!r:.200} {self.body[:300]!r}"


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[bytes, bytes]
    body: bytes


async def answer(app: Any, request: Request, *, key: str | None) -> Answer:
    """Send a request to an application as the server would."""
    parts = [{"type": "http.request", "body": request.body, "more_body": False}]
    sent: list[Any] = []
    is_over = asyncio.Event()

    async def receive() -> Any:
        if parts:
            return parts.pop()
        await is_over.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)
        if message["type"] == "http.response.body" and not message.get("more_body"):
            is_over.set()

    own = () if key is None else ((b"x-api-key", key.encode()),)
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": "http",
        "path": unquote(request.path),
        "raw_path": request.path.encode(),
        "query_string": request.query,
        "root_path": "",
        "headers": [*own, *request.headers],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }
    async with asyncio.timeout(60):
        await app(scope, receive, send)
    body = b"".join(message.get("body", b"") for message in sent[1:])
    return Answer(sent[0]["status"], dict(sent[0]["headers"]), body)


SIMPLE: Final = (inspect.StrType, inspect.IntType, inspect.FloatType, inspect.NoneType)
PLAIN: Final[tuple[tuple[type[inspect.Type], Callable[[Any], Any]], ...]] = (
    (inspect.UnionType, lambda kind: example(next(one for one in kind.types if not isinstance(one, inspect.NoneType)))),
    (inspect.Metadata, lambda kind: example(kind.type)),
    (inspect.CollectionType, lambda kind: [example(kind.item_type)]),
    (inspect.DictType, lambda kind: {"one": example(kind.value_type)}),
    (inspect.EnumType, lambda kind: next(iter(kind.cls)).value),
    (inspect.LiteralType, lambda kind: kind.values[0]),
    (inspect.IntType, lambda kind: max(kind.ge or 0, 1)),
    (inspect.FloatType, lambda _kind: 1.0),
    (inspect.BoolType, lambda _kind: False),
    (inspect.NoneType, lambda _kind: None),
    (inspect.DateTimeType, lambda _kind: "2026-01-01T00:00:00Z"),
    (inspect.StrType, lambda _kind: "x"),
)


def example(kind: inspect.Type) -> Any:
    """Return a plain value of a type."""
    if isinstance(kind, inspect.StructType):
        required = {each.encode_name: example(each.type) for each in kind.fields if each.required}
        return ({kind.tag_field: kind.tag} if kind.tag_field else {}) | required
    return next((made(kind) for type_, made in PLAIN if isinstance(kind, type_)), {"k": "v"})


def places(kind: inspect.Type, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], inspect.Type]]:
    """Yield every place in a body of a type, by its path."""
    yield path, kind
    inner: list[tuple[tuple[Any, ...], inspect.Type]] = []
    match kind:
        case inspect.StructType():
            inner = [((*path, each.encode_name), each.type) for each in kind.fields]
        case inspect.UnionType():
            inner = [(path, each) for each in kind.types if not isinstance(each, SIMPLE)]
        case inspect.Metadata():
            inner = [(path, kind.type)]
        case inspect.ListType() | inspect.VarTupleType() | inspect.CollectionType():
            inner = [((*path, 0), kind.item_type)]
        case inspect.DictType():
            inner = [((*path, "one"), kind.value_type)]
        case _:
            return
    for place, type_ in inner:
        yield from places(type_, place)


def body_with(base: Any, path: tuple[Any, ...], written: str) -> bytes:
    """Return a body as JSON that has `written` at a place; what leads there is made if it is missing."""
    mark = "@@here@@"

    def put(value: Any, rest: tuple[Any, ...]) -> Any:
        if not rest:
            return mark
        step, *more = rest
        if isinstance(step, int):
            inner = value[0] if isinstance(value, list) and value else None
            return [put(inner, tuple(more))]
        known = dict(value) if isinstance(value, dict) else {}
        return {**known, step: put(known.get(step), tuple(more))}

    return json.dumps(put(base, path)).replace(f'"{mark}"', written).encode()


def bodies(operation: Operation, texts: tuple[str, ...] = TEXTS, raws: tuple[str, ...] = RAW) -> Iterator[bytes]:
    """Yield bodies of an operation with something hostile in each place, and keys and encodings likewise."""
    if operation.body is None:
        return
    if operation.body is bytes:
        yield from (b"", b"\0" * 100, LONG.encode())
        return
    kind = inspect.type_info(operation.described or operation.body)
    base = dict(BASES.get(f"{operation.method} {operation.path}") or example(kind))
    seen: set[bytes] = set()
    for path, place in places(kind):
        is_closed = isinstance(place, CLOSED)
        for written in CLOSED_RAW if is_closed else (*(json.dumps(text) for text in texts), *raws):
            seen.add(body_with(base, path, written))
        for text in KEYS:
            seen.add(body_with(base, (*path, text), '"x"').replace(b"\\\\ud800", b"\\ud800"))
    plain = json.dumps(base)
    seen |= {
        b"",
        b"{",
        b"\xff\xfe",
        b"\xef\xbb\xbf" + plain.encode(),
        plain.encode("utf-16"),
        plain.encode("utf-32"),
        plain.replace('"', '"\xe9', 1).encode("latin-1"),
        plain.encode() * 2,
        b"\0" + plain.encode(),
    }
    yield from sorted(seen)


def queries(operation: Operation) -> Iterator[bytes]:
    """Yield query strings of an operation with something hostile in each parameter."""
    names = [each.encode_name for each in msgspec.structs.fields(operation.query)]
    if operation.query is AnyQuery:
        names = ["state", "code"]
    for name in names:
        for text in TEXTS:
            yield f"{name}={quote(text, safe='')}".encode()
        yield from (name.encode(), f"{name}=%ff".encode(), f"{name}=%zz%".encode(), f"{name}=a&{name}=b".encode())
        yield from (
            f"{name}=%ed%a0%80".encode(),
            f"{name}=\x00".encode(),
            f"{name}=+,,+".encode(),
            f"{name}={2**63}".encode(),
        )
    yield from (b"%", b"=", b"&&&", b"%00=%00", b"\xff=\xff", b"a=1&" * 300, b"x" * 10_000, b"%ed%a0%80=1")


def paths(operation: Operation, whole: str) -> Iterator[str]:
    """Yield the path of an operation with something hostile in the place of each of its words."""
    template, given = operation.path.split("/"), whole.split("/")
    for place, word in enumerate(template):
        if word.startswith("{"):
            for text in (*TEXTS, "\ufffd", "a/b", "..", "."):
                yield "/".join((*given[:place], quote(text, safe="") or "%20", *given[place + 1 :]))
            for raw in ("%ff", "%", "%zz", "%ed%a0%80", "%c0%80", "a%0d%0ax:y"):
                yield "/".join((*given[:place], raw, *given[place + 1 :]))


HEADERS: Final = (
    b"range",
    b"last-event-id",
    b"if-none-match",
    b"if-modified-since",
    b"host",
    b"origin",
    b"referer",
    b"cookie",
    b"forwarded",
    b"x-forwarded-for",
    b"x-forwarded-host",
    b"x-forwarded-proto",
    b"x-forwarded-prefix",
    b"x-reason",
    b"x-tenant",
    b"traceparent",
    b"accept",
    b"accept-encoding",
    b"accept-language",
    b"authorization",
    b"idempotency-key",
    b"content-type",
    b"content-length",
    b"x-csrf-token",
    b"x-lease",
    b"user-agent",
    b"sec-fetch-site",
    b"transfer-encoding",
)
VALUES: Final = (
    b"",
    b"\xff\xfe",
    b"a%00b",
    b"%ed%a0%80",
    b"9" * 400,
    b"-1",
    b"bytes=0-,-1,9-1",
    b"bytes=" + b"9" * 300 + b"-",
    b"x" * 9000,
    b"\x1b[31m",
    b";;;=;,,",
    b"a=b; a=c; =; drumline=\xff",
    b"[::1",
    b"http://[",
    b"Bearer ",
    b'for="[::1";by=',
    b'"\\',
    b'W/"',
    b"00-" + b"0" * 32 + b"-" + b"0" * 16 + b"-00",
    b"log-99999999999999999999",
    b"*",
    b"text/html;q=NaN",
    b"999.999.999.999",
    b"multipart/form-data; boundary=",
    b"application/json; charset=utf-16",
    b"1 zz",
    b"1 0000000000000000",
)


def header_requests(operation: Operation, path: str) -> Iterator[Request]:
    """Yield requests of an operation with hostile headers, some of them twice."""
    body = b"{}" if operation.body is not None else b""
    for name in HEADERS:
        for value in VALUES:
            yield Request(operation.method, path, body=body, headers=((name, value),))
        yield Request(operation.method, path, body=body, headers=((name, b"a"), (name, b"b")))


def method_requests(path: str) -> Iterator[Request]:
    """Yield requests of a path with methods that it may not take."""
    for method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "BREW", "get"):
        yield Request(method, path)


def is_template(path: str) -> bool:
    """Tell whether a path has words to be filled in."""
    return re.search(r"{\w+}", path) is not None
