"""Sends the requests of the scenario."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from secrets import token_hex
from typing import Any, Final

import httpx
import structlog

from drumline.core.errors import Conflict, Invalid, Overloaded, Unavailable
from drumline.core.problem import error_of
from drumline.demo.scenario import Request, closing, going_on, opening
from drumline.outbound.no_cookies import no_cookies

ANSWER_SECONDS: Final = 20.0
PROBE_SECONDS: Final = 10.0
SUBSCRIPTIONS: Final = "/subscriptions"
TROUBLED: Final = "search.reindex"
FAILURES: Final = 4
"""How many failures of the troubled task there must be before something is done about them."""
TOO_MANY: Final = 429
START_TRIES: Final = 100
PATIENCE: Final = 60
"""Seconds after which something is done about them even if there are fewer."""

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class Feed:
    """One server, as the shop uses it."""

    def __init__(self, url: str, api_key: str | None, *, seed: int) -> None:
        self._seed = seed
        self.sends_webhooks = True
        """Whether the server sends webhooks to this machine; known once the screens are filled."""
        headers = {"X-API-Key": api_key} if api_key else {}
        self._client = httpx.AsyncClient(
            base_url=f"{url.rstrip('/')}/api/v1",
            headers=headers,
            cookies=no_cookies(),
            timeout=ANSWER_SECONDS,
            trust_env=False,
        )

    async def close(self) -> None:
        """Let go of the connections."""
        await self._client.aclose()

    async def fill(self, receiver: str) -> None:
        """Send the requests that fill every screen, and wait until the first failures were handled."""
        await self._reach()
        self.sends_webhooks = await self._tells(receiver)
        for ask in opening(self._seed, receiver):
            if self.sends_webhooks or ask.path != SUBSCRIPTIONS:
                await self._ask(ask)
        for _ in range(PATIENCE):
            if await self._failures() >= FAILURES:
                break
            await asyncio.sleep(1.0)
        for ask in closing(self._seed):
            await self._ask(ask)

    async def _tells(self, receiver: str) -> bool:
        """Tell whether the server sends webhooks to this machine, by one that is taken away again."""
        body = {"name": f"demo probe {token_hex(4)}", "events": ["drumline.job.failed"], "webhook": f"{receiver}/probe"}
        try:
            made = await self._send("POST", SUBSCRIPTIONS, body)
        except Invalid:
            return False
        try:
            tried = await self._send("POST", f"{SUBSCRIPTIONS}/{made['id']}/test?wait={PROBE_SECONDS:g}")
        finally:
            await self._send("DELETE", f"{SUBSCRIPTIONS}/{made['id']}")
        return not str(tried.get("error") or "").startswith("refused")

    async def go_on(self, rate: float, stop: asyncio.Event) -> None:
        """Send more requests every second, until stopped."""
        loop = asyncio.get_running_loop()
        next_at = loop.time()
        for asks in going_on(self._seed, rate):
            await self._ask_all(asks)
            next_at = max(next_at + 1.0, loop.time())
            with suppress(TimeoutError):
                async with asyncio.timeout_at(next_at):
                    await stop.wait()
            if stop.is_set():
                return

    async def _reach(self) -> None:
        """Return once the server answers: it may be starting."""
        for _ in range(START_TRIES):
            with suppress(Unavailable):
                await self._send("GET", "/me")
                return
            await asyncio.sleep(0.1)
        await self._send("GET", "/me")

    async def _ask_all(self, asks: Sequence[Request]) -> None:
        try:
            for ask in asks:
                await self._ask(ask)
        except (Unavailable, Overloaded) as error:
            log.warning("demo.waiting", error=error.message)

    async def _ask(self, ask: Request, id: str = "") -> None:
        try:
            answer = await self._send(ask.method, ask.path.replace("{id}", id), ask.body)
        except Conflict:
            return  # an earlier demonstration has made it
        except Invalid as error:
            # A server elsewhere may refuse webhooks to this machine; then nobody is told.
            if error.field not in {"webhook", "url"}:
                raise
            log.warning("demo.refused", path=ask.path, error=error.message)
            return
        for following in ask.then:
            await self._ask(following, str(answer.get("id", "")))

    async def _failures(self) -> int:
        groups = (await self._send("GET", f"/failures/groups?name={TROUBLED}"))["items"]
        return sum(int(group["count"]) for group in groups)

    async def _send(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        while True:
            try:
                reply = await self._client.request(method, path, json=body)
            except httpx.HTTPError as error:
                raise Unavailable(f"the server cannot be reached: {error}") from error
            if reply.status_code != TOO_MANY:
                break
            # A key of its own may ask only so often; the demo then takes longer.
            await asyncio.sleep(float(reply.headers.get("retry-after", 1)))
        if reply.status_code >= 400:
            raise error_of(reply.status_code, reply.content)
        return dict(reply.json()) if reply.content else {}
