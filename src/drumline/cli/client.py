"""Talking to a server: requests of the public HTTP API, JSON in and out, problems as errors."""

import codecs
import json
import os
import time
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote, urlencode

import msgspec
import urllib3

from drumline._version import __version__
from drumline.core.errors import DrumlineError, Invalid, Overloaded, Unauthorized, Unavailable
from drumline.lifecycle.addresses import url_of
from drumline.lifecycle.data_folder import read_note, with_stored_key
from drumline.sdk.problems import error_of
from drumline.settings import load_settings
from drumline.settings.fields import KEY_FILE

PAUSES = (0.2, 0.6)
"""Seconds before a look that failed is repeated."""
CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 60.0
API = "/api/v1"
_KEY_HINT = "Set DRUMLINE_API_KEY; on the server's own machine, DRUMLINE_DATA to its data folder is enough."


class Client:
    """One server, as a command sees it."""

    def __init__(self, url: str, api_key: str | None, *, key_source: str, reason: str | None = None) -> None:
        self.url = url.rstrip("/")
        self._key_source = key_source
        self._headers = {"User-Agent": f"drumline-cli/{__version__}"}
        if api_key:
            self._headers["X-API-Key"] = api_key
        if reason:
            self._headers["X-Reason"] = quote(reason, safe=" ,.;:!?'()-")
        self._pool = urllib3.PoolManager(retries=False)

    def get(self, path: str, **query: object) -> Any:
        """Return what stands at a path; repeated when the connection breaks, for looking changes nothing."""
        for pause in PAUSES:
            try:
                return self._ask("GET", path, query=query)
            except (Unavailable, Overloaded):
                time.sleep(pause)
        return self._ask("GET", path, query=query)

    def fetch(self, path: str) -> bytes:
        """Return a file as it is."""
        timeout = urllib3.Timeout(connect=CONNECT_SECONDS, read=ANSWER_SECONDS)
        return self._request("GET", path, None, None, timeout).data

    def post(self, path: str, body: object = None) -> Any:
        """Ask for something to be done."""
        return self._ask("POST", path, body=body)

    def put(self, path: str, body: object) -> Any:
        """Ask for something to be as it is given."""
        return self._ask("PUT", path, body=body)

    def patch(self, path: str, body: object) -> Any:
        """Ask for something to be changed."""
        return self._ask("PATCH", path, body=body)

    def delete(self, path: str) -> Any:
        """Ask for something to be forgotten."""
        return self._ask("DELETE", path)

    def pages(self, path: str, *, limit: int, page: int = 200, **query: object) -> Iterator[dict[str, Any]]:
        """Yield up to `limit` items of a list, however many pages that takes."""
        cursor = None
        while limit > 0:
            answer = self.get(path, limit=min(limit, page), cursor=cursor, **query)
            yield from answer["items"]
            limit -= len(answer["items"])
            cursor = answer.get("next_cursor")
            if not cursor:
                return

    def stream(self, path: str, **query: object) -> Iterator[str]:
        """Yield text as it comes, until the server has said all."""
        timeout = urllib3.Timeout(connect=CONNECT_SECONDS, read=None)
        reply = self._request("GET", path, query, None, timeout, preload=False)
        decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        try:
            # read1 hands over what has arrived instead of waiting for a full buffer.
            while chunk := reply.read1(65_536):
                yield decoder.decode(chunk)
        except urllib3.exceptions.HTTPError as error:
            raise Unavailable(f"the connection to {self.url} broke: {error}") from error
        finally:
            reply.close()

    def _ask(self, method: str, path: str, *, body: object = None, query: Mapping[str, object] | None = None) -> Any:
        timeout = urllib3.Timeout(connect=CONNECT_SECONDS, read=ANSWER_SECONDS)
        data = self._request(method, path, query, body, timeout).data
        if not data:
            return None
        try:
            return json.loads(data)
        except ValueError as error:
            raise Unavailable(f"what answers at {self.url} is not Drumline") from error

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
        except urllib3.exceptions.HTTPError as error:
            raise Unavailable(f"the connection to {self.url} broke: {error}") from error
        if reply.status >= 400:
            raise self._explained(error_of(reply.status, reply.data if preload else reply.read()))
        return reply

    def _explained(self, error: DrumlineError) -> DrumlineError:
        if isinstance(error, Unauthorized):
            why = f"{self.url} does not take this API key ({self._key_source}): {error.message}"
            return Unauthorized(f"{why}\n{_KEY_HINT}")
        return error


def connect(url: str | None, api_key: str | None, *, reason: str | None = None) -> Client:
    """Return a client for the server that flags, environment, settings file or data folder name.

    `reason` is why the person does what they do, for the audit log.
    """
    settings = load_settings(os.environ, flags={"url": url, "api_key": api_key})
    note = read_note(settings.data) if settings.url is None else None
    server = settings.url or (note.url if note else url_of(settings.host, settings.port))
    if settings.api_key is not None:
        source = "the one given by --api-key, DRUMLINE_API_KEY or the settings file"
        return Client(server, settings.api_key, key_source=source, reason=reason)
    key = with_stored_key(settings).api_key
    source = "no key was found" if key is None else f"the one in {settings.data / KEY_FILE}"
    return Client(server, key, key_source=source, reason=reason)


def read_json(text: str, *, field: str) -> Any:
    """Return JSON that a person typed, or raise `Invalid` saying where it is wrong."""
    try:
        return json.loads(text)
    except ValueError as error:
        raise Invalid(f"is not JSON: {error}", field=field) from error
