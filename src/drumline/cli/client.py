"""Talking to a server: requests of the public HTTP API, JSON in and out, problems as errors."""

import codecs
import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import BadStatusLine
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

import click
import msgspec
import urllib3

from drumline._version import __version__
from drumline.cli.context_store import NO_CONTEXT, ContextStore
from drumline.cli.invocation import invocation
from drumline.cli.output import confirm, say
from drumline.cli.tables import tidy
from drumline.core.errors import DrumlineError, Invalid, Overloaded, Unauthorized, Unavailable
from drumline.core.problem import error_of
from drumline.lifecycle.addresses import url_of
from drumline.lifecycle.data_folder import read_note, with_stored_key
from drumline.settings import load_settings
from drumline.settings.fields import KEY_FILE

PAUSES = (0.2, 0.6)
"""Seconds before a look that failed is repeated."""
CONNECT_SECONDS = 5.0
READ_SECONDS = 10.0
"""How long a server may take to answer a question."""
WRITE_SECONDS = 30.0
"""How long it may take to do something."""
MOST_SEARCHES = 50
"""Answers to a search that may be without a whole page."""
QUIET_SECONDS = 300.0
"""How long nothing may come on a stream that is followed, until it is opened again."""
AWAY_PAUSES = (0.5, 1.0, 2.0, 3.0)
"""Seconds before a server that went away is asked again, the last of them again and again."""
API = "/api/v1"
_KEY_HINT = "Set DRUMLINE_API_KEY; on the server's own machine, DRUMLINE_DATA to its data folder is enough."


class NoAnswer(Unavailable):
    """The server accepts the connection and does not answer."""


class Answer(dict[str, Any]):
    """A JSON object of the server; a missing field raises `Unavailable`, since every Drumline server sends it."""

    def __missing__(self, name: str) -> Any:
        raise Unavailable(f"the server's answer has no field {name!r}: it is not a Drumline server, or an older one")


class Timeouts(NamedTuple):
    """How many seconds the server may take."""

    connect: float = CONNECT_SECONDS
    read: float = READ_SECONDS
    write: float = WRITE_SECONDS

    @classmethod
    def of(cls, seconds: float | None) -> "Timeouts":
        """Return what `--timeout` says, or the defaults."""
        return cls() if seconds is None else cls(min(seconds, CONNECT_SECONDS), seconds, seconds)

    def urllib3(self, method: str) -> urllib3.Timeout:
        """Return the timeouts of one request."""
        return urllib3.Timeout(connect=self.connect, read=self.read if method == "GET" else self.write)


class ApiClient:
    """One server, as a command sees it."""

    def __init__(
        self,
        url: str,
        api_key: str | None,
        *,
        key_source: str,
        reason: str | None = None,
        timeouts: Timeouts = Timeouts(),  # noqa: B008 - it cannot change
        production: str | None = None,
    ) -> None:
        """Talk to `url`; if `production` names a context, the first request that changes something asks first."""
        self.url = url.rstrip("/")
        self._timeouts = timeouts
        self._key_source = key_source
        self._headers = {"User-Agent": f"drumline-cli/{__version__}"}
        if api_key:
            self._headers["X-API-Key"] = api_key
        if reason:
            self._headers["X-Reason"] = _header_text(reason)
        self._pool = urllib3.PoolManager(retries=False)
        self._missed: set[str] = set()
        self._production = production

    @property
    def production(self) -> str | None:
        """The name of the context if it is a production one whose changes have to be confirmed."""
        return self._production

    @contextmanager
    def confirmed(self) -> Iterator[None]:
        """Do not ask again in the block: what it changes was confirmed."""
        before, self._production = self._production, None
        try:
            yield
        finally:
            self._production = before

    @contextmanager
    def because(self, reason: str | None) -> Iterator[None]:
        """Send a reason along with the requests of the block, for the audit log."""
        before = dict(self._headers)
        if reason:
            self._headers["X-Reason"] = _header_text(reason)
        try:
            yield
        finally:
            self._headers = before

    def get(self, path: str, **query: object) -> Any:
        """Return the resource at a path; a GET is repeated when the connection breaks."""
        for pause in PAUSES:
            try:
                return self._ask("GET", path, query=query)
            except NoAnswer:
                raise  # it had its time
            except (Unavailable, Overloaded):
                time.sleep(pause)
        return self._ask("GET", path, query=query)

    def fetch(self, path: str) -> bytes:
        """Return a file as it is."""
        return self._request("GET", path, None, None, self._timeouts.urllib3("GET")).data

    def post(self, path: str, body: object = None) -> Any:
        """Ask for something to be done."""
        return self._ask("POST", path, body=body)

    def put(self, path: str, body: object) -> Any:
        """Ask for something to be as it is given."""
        return self._ask("PUT", path, body=body)

    def patch(self, path: str, body: object) -> Any:
        """Ask for something to be changed."""
        return self._ask("PATCH", path, body=body)

    def delete(self, path: str, **query: object) -> Any:
        """Ask for something to be forgotten."""
        return self._ask("DELETE", path, query=query)

    def pages(self, path: str, *, limit: int, page: int = 200, **query: object) -> Iterator[dict[str, Any]]:
        """Yield up to `limit` items of a list, however many pages that takes; a search is given up at some time."""
        cursor, searches = None, 0
        while limit > 0:
            answer = self.get(path, limit=min(limit, page), cursor=cursor, **query)
            yield from answer["items"]
            limit -= len(answer["items"])
            cursor = answer.get("next_cursor")
            searches += bool(answer.get("is_partial"))
            if not cursor:
                return
            if searches >= MOST_SEARCHES:
                say("Searched far enough back; there may be older ones. Narrow it: --since, --until, --status, --name.")
                return

    def stream(self, path: str, **query: object) -> Iterator[str]:
        """Yield text as it comes, until the server has said all; `NoAnswer` if nothing came for long."""
        timeout = urllib3.Timeout(connect=self._timeouts.connect, read=QUIET_SECONDS)
        reply = self._request("GET", path, query, None, timeout, preload=False)
        decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        try:
            # read1 hands over what has arrived instead of waiting for a full buffer.
            while chunk := reply.read1(65_536):
                yield decoder.decode(chunk)
        except urllib3.exceptions.ReadTimeoutError as error:
            raise NoAnswer(f"{self.url} has said nothing for {QUIET_SECONDS:g} s") from error
        except urllib3.exceptions.HTTPError as error:
            raise self._broken(error) from error
        finally:
            reply.close()

    def _ask(self, method: str, path: str, *, body: object = None, query: Mapping[str, object] | None = None) -> Any:
        reply = self._request(method, path, query, body, self._timeouts.urllib3(method))
        if not reply.data:
            if "X-Request-ID" not in reply.headers:  # every answer of Drumline has one
                raise self._stranger(reply)
            return None
        try:
            answer = json.loads(reply.data, object_hook=Answer)
        except ValueError as error:
            raise self._stranger(reply) from error
        if not isinstance(answer, dict):
            raise self._stranger(reply)
        self._warn_of_missing(answer)
        return answer

    def _warn_of_missing(self, answer: dict[str, Any]) -> None:
        """Say once of each shard that an answer misses what it holds."""
        for shard in answer.get("incomplete", ()):
            if shard not in self._missed:
                self._missed.add(shard)
                say(f"The shard {shard} cannot be reached: what it holds is missing here.")

    def _request(
        self,
        method: str,
        path: str,
        query: Mapping[str, object] | None,
        body: object,
        timeout: urllib3.Timeout,
        *,
        preload: bool = True,
    ) -> urllib3.BaseHTTPResponse:
        if self._production is not None and _is_change(method, path, body):
            confirm(f"{self._production} ({self.url}) is production. Run {_command_path()}?", yes=False)
            self._production = None  # once for each command
        pairs = {name: value for name, value in (query or {}).items() if value is not None}
        url = f"{self.url}{API}{path}" + (f"?{urlencode(pairs, doseq=True)}" if pairs else "")
        sent = None if body is None else msgspec.json.encode(body)
        headers = self._headers if sent is None else {**self._headers, "Content-Type": "application/json"}
        try:
            reply = self._pool.request(
                method, url, body=sent, headers=headers, timeout=timeout, preload_content=preload
            )
        except (urllib3.exceptions.NewConnectionError, urllib3.exceptions.ConnectTimeoutError) as error:
            raise Unavailable(
                f"no Drumline server answers at {self.url}\n"
                "Start one with `drumline dev`, or name yours with --url or DRUMLINE_URL."
            ) from error
        except urllib3.exceptions.ReadTimeoutError as error:
            raise NoAnswer(self._silence(method, timeout)) from error
        except urllib3.exceptions.HTTPError as error:
            raise self._broken(error) from error
        if reply.status >= 400:
            body = reply.data if preload else reply.read()
            if not _is_problem(body):
                raise self._stranger(reply)
            raise self._explained(error_of(reply.status, body))
        return reply

    def _silence(self, method: str, timeout: urllib3.Timeout) -> str:
        doubt = "" if method == "GET" else "; what was asked for may have been done"
        return (
            f"{self.url} takes the connection, but did not answer within {timeout.read_timeout:g} s{doubt}\n"
            "Wait longer with --timeout SECONDS."
        )

    def _stranger(self, reply: urllib3.BaseHTTPResponse) -> Unavailable:
        kind = reply.headers.get("Content-Type", "nothing that it names").partition(";")[0]
        return Unavailable(
            f"{self.url} does not answer like a Drumline server: status {reply.status}, {tidy(kind)[:60]}\n"
            "Is the address right? Name another with --url or DRUMLINE_URL."
        )

    def _broken(self, error: urllib3.exceptions.HTTPError) -> Unavailable:
        if isinstance(error, urllib3.exceptions.ProtocolError) and isinstance(error.args[-1], BadStatusLine):
            return Unavailable(f"{self.url} does not answer like a Drumline server: it does not speak HTTP")
        return Unavailable(f"the connection to {self.url} broke: {error}")

    def _explained(self, error: DrumlineError) -> DrumlineError:
        if isinstance(error, Unauthorized):
            why = f"{self.url} does not take this API key ({self._key_source}): {error.message}"
            return Unauthorized(f"{why}\n{_KEY_HINT}")
        return error


def _header_text(text: str) -> str:
    return quote(text, safe=" ,.;:!?'()-")


def _command_path() -> str:
    """Return the command that is running, such as `drumline queues pause`."""
    context = click.get_current_context(silent=True)
    return "this" if context is None else context.command_path


def _is_change(method: str, path: str, body: object) -> bool:
    """Tell whether a request changes something."""
    is_trial = path.endswith("/preview") or (isinstance(body, dict) and bool(body.get("dry_run")))
    return method != "GET" and not is_trial


def _is_problem(body: bytes) -> bool:
    """Tell whether the body of an error is one of Drumline's."""
    try:
        problem = json.loads(body)
    except ValueError:
        return False
    return isinstance(problem, dict) and isinstance(problem.get("code"), str)


class RetryingClient(ApiClient):
    """A client that waits for a server which cannot be reached, and repeats the request when it is back."""

    deadline: float | None = None
    """When to give up, by the monotonic clock."""

    def get(self, path: str, **query: object) -> Any:
        """Return the resource at a path, however long the server cannot be reached."""
        with_news = False
        pauses = iter(AWAY_PAUSES)
        while True:
            try:
                answer = super().get(path, **query)
            except (Unavailable, Overloaded) as error:
                pause = next(pauses, AWAY_PAUSES[-1])
                if self.deadline is not None and time.monotonic() + pause > self.deadline:
                    raise
                if not with_news:
                    say(f"{error.message.splitlines()[0]}; trying again until it is back")
                with_news = True
                time.sleep(pause)
            else:
                if with_news:
                    say(f"{self.url} is back")
                return answer


def retrying(client: ApiClient, *, deadline: float | None = None) -> RetryingClient:
    """Return a client for the same server that waits for it; to be used once it has answered."""
    made = RetryingClient.__new__(RetryingClient)
    made.__dict__.update(client.__dict__)
    made.deadline = deadline
    return made


def connect(
    url: str | None,
    api_key: str | None,
    *,
    reason: str | None = None,
    timeout: float | None = None,
    is_confirmed: bool = False,
) -> ApiClient:
    """Return a client for the server that flags, environment, settings file, context or data folder name.

    `reason` is why the person does what they do, for the audit log. Unless it `is_confirmed`, what changes something in
    a production context asks first.
    """
    chosen = _chosen_context(url)
    if chosen is not None:
        store = ContextStore.of_user()
        context = store.get(chosen)
        return ApiClient(
            context.url,
            api_key or store.key_of(chosen),
            key_source=f"that of the context {chosen}",
            reason=reason,
            timeouts=Timeouts.of(timeout),
            production=chosen if context.is_production and not is_confirmed else None,
        )
    settings = load_settings(os.environ, flags={"url": url, "api_key": api_key})
    note = read_note(settings.data) if settings.url is None else None
    server = settings.url or (note.url if note else url_of(settings.host, settings.port))
    key = settings.api_key
    source = "the one given by --api-key, DRUMLINE_API_KEY or the settings file"
    if key is None:
        key = with_stored_key(settings).api_key
        source = "no key was found" if key is None else f"the one in {settings.data / KEY_FILE}"
    return ApiClient(server, key, key_source=source, reason=reason, timeouts=Timeouts.of(timeout))


def _chosen_context(url: str | None) -> str | None:
    """Return the context to use: that of --context or DRUMLINE_CONTEXT, else the current one if nothing names a server.

    What names a server is --url, DRUMLINE_URL, DRUMLINE_DATA or the settings file of DRUMLINE_CONFIG.
    """
    named = invocation().context or os.environ.get("DRUMLINE_CONTEXT")
    if url is not None:
        return None
    if named is None and not any(os.environ.get(f"DRUMLINE_{name}") for name in ("URL", "DATA", "CONFIG")):
        named = ContextStore.of_user().current
    return None if named == NO_CONTEXT else named


def read_json(text: str, *, field: str) -> Any:
    """Return JSON that a person typed, or raise `Invalid` saying where it is wrong."""
    try:
        return json.loads(text, parse_constant=refuse_constant)
    except ValueError as error:
        raise Invalid(f"is not JSON: {error}", field=field) from error


def refuse_constant(word: str) -> Any:
    """Refuse NaN and Infinity, which Python reads and JSON has not: they would arrive as null."""
    raise ValueError(f"{word} is no number that JSON has")
