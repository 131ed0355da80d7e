"""A client of Redis with short timeouts, joined calls and a circuit breaker: an outage costs callers a moment.

No error of Redis leaves this file but by `check`: a call that could not be made is answered with None.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from time import monotonic
from typing import Any, Final

import structlog
from hiredis import pack_command
from msgspec import Struct
from redis.asyncio import ConnectionPool, Redis
from redis.exceptions import ConnectionError as LostConnection
from redis.exceptions import NoScriptError, RedisError, ResponseError

from drumline.aio.batcher import Batcher
from drumline.core.errors import Overloaded, Unavailable
from drumline.core.metrics import Metrics
from drumline.redis.address import Address
from drumline.redis.connection import CommandConnection, opened
from drumline.redis.scripts import SCRIPTS

CONNECT_SECONDS: Final = 0.25
ANSWER_SECONDS: Final = 0.5
REST_SECONDS: Final = 1.0
"""How long no calls are made after a failure."""
REFUSED_SECONDS: Final = 5.0
"""How long a refusal is reported after it was last heard."""
MOST_JOINED: Final = 64
SIDE_BY_SIDE: Final = 8
MOST_WAITING: Final = 10_000

FAILURES: Final = (RedisError, OSError, TimeoutError)

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class RedisCall(Struct, frozen=True):
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


class Meter:
    """The metrics of one client."""

    def __init__(self, metrics: Metrics, line: str) -> None:
        self.observe = metrics.redis.of(line)
        self._labels = (line,)
        self._errors, self._up = metrics.redis_errors, metrics.redis_up
        self._errors.add(0, self._labels)
        self.recovered()

    def failed(self) -> None:
        """Count a failure."""
        self._errors.add(1, self._labels)
        self._up.set(0, self._labels)

    def recovered(self) -> None:
        """Note that Redis is there."""
        self._up.set(1, self._labels)


class RedisClient:
    """Calls to one Redis or one cluster.

    After a failure Redis is left alone but for a probe each second; `recovered` is called when that is answered.
    """

    def __init__(
        self,
        address: Address,
        *,
        probe: RedisCall,
        recovered: Callable[[], Awaitable[None]] | None = None,
        meter: Meter | None = None,
    ) -> None:
        self._meter = meter or Meter(Metrics(), "queue")
        self._address = address
        self._client = address.connect(connect=CONNECT_SECONDS)
        self._probe = probe
        self._recovered = recovered
        self._is_down = False
        self._refusal: tuple[float, str] | None = None
        """When a server that is there last refused a call, and why."""
        self._is_probe_refused = False
        self._idle: list[CommandConnection] = []
        self._side_by_side = asyncio.Semaphore(SIDE_BY_SIDE)
        self._alone = asyncio.Lock()
        self._probing: asyncio.Task[None] | None = None
        self._joined: Batcher[RedisCall, Any] = Batcher(
            self._send, name="redis", largest=MOST_JOINED, parallel=2, most_waiting=MOST_WAITING
        )

    @property
    def is_down(self) -> bool:
        """Whether the last that was heard of Redis is a failure."""
        return self._is_down

    async def run(self, call: RedisCall) -> Any | None:
        """Return the answer to a call, or None if Redis is away. Calls made at the same time go together."""
        answers = await self.run_all((call,))
        return None if answers is None else answers[0]

    async def run_all(self, calls: Sequence[RedisCall]) -> Sequence[Any] | None:
        """Return the answers to calls that belong together, or None if Redis is away or one of them failed."""
        return None if self._is_down or not calls else await self._try(calls)

    async def run_once(self, call: RedisCall) -> Any | None:
        """Return the answer to a call that must not be made twice, or None if Redis is away or its answer was lost."""
        if self._is_down:
            return None
        try:
            async with asyncio.timeout(CONNECT_SECONDS + ANSWER_SECONDS):
                if not isinstance(self._client, Redis):
                    return await self._send_one(call.words())
                (answer,) = await self._pipelined(self._client.connection_pool, [call.words()])
        except Exception as error:  # noqa: BLE001 - on broken connections redis-py raises whatever it stumbles over
            self._failed(error)
            return None
        if isinstance(answer, RedisError):
            self._failed(answer)
            return None
        return answer

    async def check(self) -> None:
        """Ask whether Redis is there and takes writes, whatever the breaker says; raises `Unavailable`."""
        try:
            await self._ask()
        except FAILURES as error:
            self._failed(error)
            word = "refuses" if _is_said(error) else "does not answer"
            raise Unavailable(f"Redis {word}: {_reason(error)}") from error
        if self._refusal is not None and monotonic() - self._refusal[0] < REFUSED_SECONDS:
            raise Unavailable(f"Redis refuses: {self._refusal[1]}")

    async def close(self) -> None:
        """Let go of every connection."""
        if self._probing is not None:
            self._probing.cancel()
            await asyncio.gather(self._probing, return_exceptions=True)
        await self._joined.drained()
        async with self._alone:
            pass  # the sender has its answer
        if isinstance(self._client, Redis):
            await self._let_go(self._client.connection_pool)
        await self._client.aclose()

    async def _try(self, calls: Sequence[RedisCall]) -> Sequence[Any] | None:
        try:
            answers = await self._send_now(calls) if self._is_quiet else await self._joined.join_many(calls)
        except Overloaded:
            return None  # thousands wait for an answer already: as good as away
        except Exception as error:  # noqa: BLE001 - on broken connections redis-py raises whatever it stumbles over
            self._failed(error)
            return None
        wrong = next((answer for answer in answers if isinstance(answer, RedisError)), None)
        if wrong is not None:
            self._failed(wrong)
            return None
        return answers

    @property
    def _is_quiet(self) -> bool:
        """Whether a connection is free and no other call waits: then there is nothing to join."""
        return bool(self._idle) and not self._alone.locked() and self._joined.is_idle

    async def _send_now(self, calls: Sequence[RedisCall]) -> Sequence[Any]:
        async with self._alone:
            return await self._send(calls)

    async def _send(self, calls: Sequence[RedisCall]) -> Sequence[Any]:
        began = monotonic()
        async with asyncio.timeout(CONNECT_SECONDS + ANSWER_SECONDS):
            answers = await self._send_all([call.words() for call in calls])
            unknown = [place for place, answer in enumerate(answers) if isinstance(answer, NoScriptError)]
            if unknown:
                again = await self._send_all([calls[place].words(text=True) for place in unknown])
                for place, answer in zip(unknown, again, strict=True):
                    answers[place] = answer
        self._meter.observe(monotonic() - began)
        return answers

    async def _send_all(self, commands: list[tuple[Any, ...]]) -> list[Any]:
        """Return an answer or an error for each command; raise only if the server cannot be reached."""
        if isinstance(self._client, Redis):
            try:
                return await self._pipelined(self._client.connection_pool, commands)
            except LostConnection:  # it may have broken long ago, unused: once more, with a new one
                await self._let_go(self._client.connection_pool)
                return await self._pipelined(self._client.connection_pool, commands)
        # redis-py sends no scripts in pipelines to a cluster: side by side, each needs a connection of its own.
        answers = await asyncio.gather(*[self._send_one(command) for command in commands], return_exceptions=True)
        lost = next((answer for answer in answers if isinstance(answer, BaseException) and not _is_said(answer)), None)
        if lost is not None:
            raise lost
        return answers

    async def _pipelined(self, pool: ConnectionPool, commands: list[tuple[Any, ...]]) -> list[Any]:
        """Send commands together and read their answers.

        The client's own way packs each word in Python, which for a push of hundreds of hints costs more than all the
        rest, and reads each answer through a stream. And its pool looks at a connection before it hands it out and
        after; ours come back only when all of their answers were read.
        """
        talk = self._idle.pop() if self._idle else CommandConnection(await opened(pool))
        try:
            answers = await talk.ask([pack_command(command) for command in commands])
        except BaseException:
            await talk.stop_retrying(pool)  # unread answers would be taken for those to later commands
            raise
        self._idle.append(talk)
        return answers

    async def _let_go(self, pool: ConnectionPool) -> None:
        """Close the idle connections."""
        while self._idle:
            await self._idle.pop().stop_retrying(pool)

    async def _send_one(self, command: tuple[Any, ...]) -> Any:
        async with self._side_by_side:
            return await self._client.execute_command(*command)

    def _failed(self, error: BaseException) -> None:
        self._meter.failed()
        if _is_said(error):
            self._refusal = monotonic(), _reason(error)
        if not self._is_down:
            self._is_down = True
            log.warning("redis.unavailable", error=_reason(error))
        if self._probing is None:
            self._probing = asyncio.get_running_loop().create_task(self._probe_until_answered(), name="probe redis")

    async def _probe_until_answered(self) -> None:
        try:
            while self._is_down:
                await asyncio.sleep(REST_SECONDS)
                with suppress(*FAILURES):  # it was told when it began
                    await self._ask()
        finally:
            self._probing = None  # whatever `recovered` raised: the next outage must be probed too

    async def _send_probe(self) -> None:
        async with asyncio.timeout(CONNECT_SECONDS + ANSWER_SECONDS):
            try:
                await self._client.execute_command(*self._probe.words())
            except NoScriptError:
                await self._client.execute_command(*self._probe.words(text=True))

    async def _ask(self) -> None:
        try:
            await self._send_probe()
        except FAILURES as error:
            self._is_probe_refused = _is_said(error)
            raise
        if self._is_probe_refused:  # what was refused before is allowed now
            self._is_probe_refused, self._refusal = False, None
        if self._is_down:
            self._is_down = False
            self._meter.recovered()
            log.warning("redis.available")
            if self._recovered is not None:
                await self._recovered()


def _is_said(error: BaseException) -> bool:
    """Tell whether the server itself answered with this error: it is there, and refuses what it is asked for."""
    return isinstance(error, ResponseError)


def _reason(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
