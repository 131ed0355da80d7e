"""The line to Redis: short budgets, calls that join, and a breaker, so that an outage costs nobody more than a moment.

No error of Redis leaves this file but by `check`: a call that could not be made is answered with None.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, Final

import structlog
from msgspec import Struct
from redis.exceptions import NoScriptError, RedisError

from drumline.backends.redis.address import Address
from drumline.backends.redis.scripts import SCRIPTS
from drumline.core.errors import Overloaded, Unavailable
from drumline.sdk.batcher import Batcher

CONNECT_SECONDS: Final = 0.25
ANSWER_SECONDS: Final = 0.5
REST_SECONDS: Final = 1.0
"""How long Redis is left alone after a failure."""
MOST_JOINED: Final = 64
MOST_WAITING: Final = 10_000

FAILURES: Final = (RedisError, OSError, TimeoutError)

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class Call(Struct, frozen=True):
    """A script to run, or with `plain` a command of Redis itself."""

    name: str
    keys: tuple[str, ...] = ()
    args: Sequence[str | int | bytes] = ()
    plain: bool = False

    def words(self, *, text: bool = False) -> tuple[Any, ...]:
        """Return the command; with `text` the whole script goes along, for a server that does not know it."""
        if self.plain:
            return (self.name, *self.keys, *self.args)
        script = SCRIPTS[self.name]
        head = ("EVAL", script.text) if text else ("EVALSHA", script.sha)
        return (*head, len(self.keys), *self.keys, *self.args)


class Line:
    """Calls to one Redis or one cluster.

    After a failure Redis is left alone but for a probe each second; `recovered` is called when that is answered.
    """

    def __init__(
        self, address: Address, *, probe: Call, recovered: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        self._address = address
        self._client = address.connect(connect=CONNECT_SECONDS, answer=ANSWER_SECONDS)
        self._probe = probe
        self._recovered = recovered
        self._is_down = False
        self._probing: asyncio.Task[None] | None = None
        self._joined: Batcher[Call, Any] = Batcher(
            self._send, name="redis", largest=MOST_JOINED, parallel=2, most_waiting=MOST_WAITING
        )

    @property
    def is_down(self) -> bool:
        """Whether the last that was heard of Redis is a failure."""
        return self._is_down

    async def run(self, call: Call) -> Any | None:
        """Return the answer to a call, or None if Redis is away. Calls made at the same time go together."""
        answers = await self.run_all((call,))
        return None if answers is None else answers[0]

    async def run_all(self, calls: Sequence[Call]) -> list[Any] | None:
        """Return the answers to calls that belong together, or None if Redis is away or one of them failed."""
        return None if self._is_down or not calls else await self._try(calls)

    async def check(self) -> None:
        """Ask whether Redis is there, whatever the breaker says; raises `Unavailable`."""
        try:
            await self._ask()
        except FAILURES as error:
            self._failed(error)
            raise Unavailable(f"Redis does not answer: {_reason(error)}") from error

    async def close(self) -> None:
        """Let go of every connection."""
        if self._probing is not None:
            self._probing.cancel()
            await asyncio.gather(self._probing, return_exceptions=True)
        await self._joined.drained()
        await self._client.aclose()

    async def _try(self, calls: Sequence[Call]) -> list[Any] | None:
        try:
            answers = await self._joined.join_many(calls)
        except FAILURES as error:
            self._failed(error)
            return None
        except Overloaded:
            return None  # thousands wait for an answer already: as good as away
        wrong = next((answer for answer in answers if isinstance(answer, RedisError)), None)
        if wrong is not None:
            self._failed(wrong)
            return None
        return answers

    async def _send(self, calls: list[Call]) -> Sequence[Any]:
        async with asyncio.timeout(CONNECT_SECONDS + ANSWER_SECONDS * 2):
            answers = await self._send_all([call.words() for call in calls])
            unknown = [place for place, answer in enumerate(answers) if isinstance(answer, NoScriptError)]
            if unknown:
                again = await self._send_all([calls[place].words(text=True) for place in unknown])
                for place, answer in zip(unknown, again, strict=True):
                    answers[place] = answer
            return answers

    async def _send_all(self, commands: list[tuple[Any, ...]]) -> list[Any]:
        """Return an answer or an error for each command; raise only if the server cannot be reached."""
        if len(commands) > 1 and not self._address.is_cluster:
            pipeline = self._client.pipeline(transaction=False)
            for command in commands:
                pipeline.execute_command(*command)
            return list(await pipeline.execute(raise_on_error=False))
        # redis-py sends no scripts in pipelines to a cluster.
        return await asyncio.gather(*[self._send_one(command) for command in commands])

    async def _send_one(self, command: tuple[Any, ...]) -> Any:
        try:
            return await self._client.execute_command(*command)
        except NoScriptError as error:
            return error

    def _failed(self, error: BaseException) -> None:
        if not self._is_down:
            self._is_down = True
            log.warning("redis.unavailable", error=_reason(error))
        if self._probing is None:
            self._probing = asyncio.get_running_loop().create_task(self._probe_until_answered(), name="probe redis")

    async def _probe_until_answered(self) -> None:
        while self._is_down:
            await asyncio.sleep(REST_SECONDS)
            with suppress(*FAILURES):  # it was told when it began
                await self._ask()
        self._probing = None

    async def _ask(self) -> None:
        async with asyncio.timeout(CONNECT_SECONDS + ANSWER_SECONDS):
            await self._client.execute_command(*self._probe.words())
        if self._is_down:
            self._is_down = False
            log.warning("redis.available")
            if self._recovered is not None:
                await self._recovered()


def _reason(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
