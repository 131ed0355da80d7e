"""Executes `http` tasks. The response status decides whether a failure is retried."""

import asyncio
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, Self

import msgspec
from msgspec import Raw, Struct

from drumline.core.content_encoding import ACCEPTED, text_of
from drumline.core.errors import Invalid
from drumline.core.http_headers import check_header, signs_in_connection
from drumline.core.session import TaskType
from drumline.outbound.bodies import Body, read_body
from drumline.outbound.guard import AddressGuard, AddressRefused
from drumline.outbound.late_client import LateClient
from drumline.worker.executors.executor import ExecutorCall, published
from drumline.worker.failures import ExecutorFailure, failure, refusal

if TYPE_CHECKING:
    import httpx

NAME: Final = "http"
DOC: Final = """Make an HTTP request.

2xx is success, or the statuses in `expect`. 408, 425, 429, 5xx and network errors are retried, after `Retry-After`
where the server says so; other 4xx and redirects are permanent failures. No cookies are kept from one request to the
next; `Content-Length`, `Host` and other headers of the message itself or its connection cannot be set.
The result has the status, a few headers and the first 64 KB of the body, of which one layer of gzip or deflate is
undone. Text is read as UTF-8, ISO 8859-1 or ASCII.
"""
KEPT_BODY: Final = 64 * 1024
MOST_RAW: Final = 1024 * 1024
"""Bytes that are read of a body at most, however little they decompress to."""
KEPT_IN_ERROR: Final = 500
LONGEST_TIMEOUT: Final = 3600.0
LONGEST_RETRY_AFTER: Final = 86_400.0
KEPT_HEADERS: Final = frozenset(
    ("content-type", "content-length", "date", "etag", "last-modified", "location", "retry-after", "x-request-id")
)
HARMLESS_HEADERS: Final = frozenset(("accept", "accept-language", "content-type", "user-agent"))
"""Headers that are still sent after a redirect to another server."""
MOST_REDIRECTS: Final = 20
RETRYABLE: Final = frozenset((408, 425, 429))


class HttpPayload(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an `http` task is given."""

    url: str
    method: Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] = "GET"
    headers: dict[str, str] = {}
    body: str | None = None
    json: Raw = Raw()
    timeout: float = 30.0
    expect: tuple[int, ...] = ()
    follow_redirects: bool = False


class HttpExecutor:
    """Makes requests over connections that are kept while the worker lives. Proxies of the environment are not used.

    Nothing else is kept from one request to the next: no cookies, and no connection that a request has signed in.

    With a guard it reaches the public Internet and what an operator allowed; without one, whatever the machine reaches.
    """

    def __init__(self, guard: AddressGuard | None = None) -> None:
        self._guard = guard
        self._client = LateClient(partial(_new_client, guard))
        self.type: TaskType = published(NAME, _HttpSchema, doc=DOC)

    async def execute(self, call: ExecutorCall) -> Any:
        """Make the request and judge the answer."""
        payload = call.payload_as(HttpPayload)
        client = await self._client.open()
        import httpx  # noqa: PLC0415 - imported with the first client: most workers never make a request

        try:
            request = self._request(payload, client)
            async with asyncio.timeout(payload.timeout):
                response = await _sent(client, request, payload)
                try:
                    body = await _body_of(response)
                finally:
                    await response.aclose()
        except Invalid as error:
            raise refusal(error) from error
        except TimeoutError as error:
            raise failure("timeout", f"{payload.url} did not answer in {payload.timeout:g} s") from error
        except httpx.LocalProtocolError as error:
            raise refusal(Invalid(str(error), field="payload.headers")) from error
        except (httpx.UnsupportedProtocol, httpx.TooManyRedirects, AddressRefused) as error:
            raise refusal(Invalid(str(error), field="payload.url")) from error
        except httpx.HTTPError as error:
            raise failure(type(error).__name__, f"{payload.url}: {error}") from error
        return _result(payload, response, body)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._client.close()

    def _request(self, payload: HttpPayload, client: "httpx.AsyncClient") -> "httpx.Request":
        if self._guard is not None:
            self._guard.check_url(payload.url, field="payload.url")
        return _request(payload, client)


class _HttpSchema(HttpPayload, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The payload as it is published: JSON of any kind where it is kept as it came."""

    json: Any = None


def _new_client(guard: AddressGuard | None) -> "httpx.AsyncClient":
    import httpx  # noqa: PLC0415

    if guard is not None:
        from drumline.outbound.client import guarded_client  # noqa: PLC0415

        return guarded_client(guard)
    from drumline.outbound.no_cookies import no_cookies  # noqa: PLC0415

    # The whole exchange is under the payload's own timeout.
    return httpx.AsyncClient(cookies=no_cookies(), trust_env=False, timeout=None)  # noqa: S113


def _request(payload: HttpPayload, client: "httpx.AsyncClient") -> "httpx.Request":
    import httpx  # noqa: PLC0415

    _check(payload)
    headers = dict(payload.headers)
    content: bytes | None = None if payload.body is None else payload.body.encode()
    if bytes(payload.json):
        content = bytes(payload.json)
        headers.setdefault("content-type", "application/json")
    if not any(name.lower() == "accept-encoding" for name in headers):
        headers["accept-encoding"] = ACCEPTED
    if signs_in_connection(headers):
        headers["connection"] = "close"
    try:
        request = client.build_request(payload.method, payload.url, headers=headers, content=content)
    except (httpx.InvalidURL, ValueError) as error:
        raise Invalid(f"is no URL: {error}", field="payload.url") from error
    if (request.url.port or 0) > 65_535:
        raise Invalid("must have a port up to 65535", field="payload.url")
    return request


def _check(payload: HttpPayload) -> None:
    if not payload.url.lower().startswith(("http://", "https://")):
        raise Invalid("must start with http:// or https://", field="payload.url")
    if payload.body is not None and bytes(payload.json):
        raise Invalid("cannot be given together with json", field="payload.body")
    if not 0 < payload.timeout <= LONGEST_TIMEOUT:
        raise Invalid(f"must be more than 0 and at most {LONGEST_TIMEOUT:g} seconds", field="payload.timeout")
    for name, value in payload.headers.items():
        check_header(name, value, field="payload.headers")


async def _sent(client: "httpx.AsyncClient", request: "httpx.Request", payload: HttpPayload) -> "httpx.Response":
    """Send a request, and again to where it is sent on, if that is wanted."""
    import httpx  # noqa: PLC0415

    for _ in range(MOST_REDIRECTS + 1):
        response = await client.send(request, stream=True, follow_redirects=False)
        following = response.next_request
        if following is None or not payload.follow_redirects:
            return response
        await response.aclose()
        if _origin(following.url) != _origin(request.url):
            # Headers that were meant for one server are none of another's business.
            for name in payload.headers:
                if name.lower() not in HARMLESS_HEADERS:
                    following.headers.pop(name, None)
        request = following
    raise httpx.TooManyRedirects(f"was sent on more than {MOST_REDIRECTS} times", request=request)


def _origin(url: "httpx.URL") -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


async def _body_of(response: "httpx.Response") -> Body:
    """Return the start of the body, and whether there was more: no server can fill the worker's memory."""
    try:
        return await read_body(response, most=KEPT_BODY, most_raw=MOST_RAW)
    except Invalid as error:
        raise failure("UnreadableAnswer", f"{response.request.url}: {error}", permanent=True) from error


def _result(payload: HttpPayload, response: "httpx.Response", body: Body) -> dict[str, Any]:
    text = text_of(body.data, response.headers.get("content-type", ""))
    status = response.status_code
    if not (status in payload.expect if payload.expect else response.is_success):
        raise _judged(status, response, text)
    return {
        "status": status,
        "headers": {name: value for name, value in response.headers.items() if name in KEPT_HEADERS},
        "body": _as_json(response, text),
        "is_cut": body.is_cut,
    }


def _as_json(response: "httpx.Response", text: str) -> Any:
    if "json" in response.headers.get("content-type", ""):
        try:
            return msgspec.json.decode(text)
        except (msgspec.DecodeError, RecursionError):
            return text
    return text


def _judged(status: int, response: "httpx.Response", text: str) -> ExecutorFailure:
    """Return the failure that an unexpected status means."""
    message = f"{response.request.method} {response.request.url} answered {status}: {text[:KEPT_IN_ERROR]}"
    if response.is_redirect:
        location = response.headers.get("location", "")[:KEPT_IN_ERROR]
        message = f"{response.request.url} redirects to {location}; set follow_redirects"
    permanent = status < 500 and status not in RETRYABLE
    retry_after = None if permanent else _retry_after(response.headers.get("retry-after"))
    return failure(f"HTTP {status}", message, permanent=permanent, retry_after=retry_after)


def _retry_after(value: str | None) -> float | None:
    """Return the seconds that a server asks to wait, given as a number or a date."""
    if value is None:
        return None
    if value.strip().isascii() and value.strip().isdigit():
        return min(float(value[:100]), LONGEST_RETRY_AFTER)
    try:
        moment = parsedate_to_datetime(value[:100])
    except ValueError:
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return min(max((aware - datetime.now(UTC)).total_seconds(), 0.0), LONGEST_RETRY_AFTER)
