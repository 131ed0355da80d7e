"""One claim over all shards: those that have work in turn, and if none has, all at once."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from msgspec import Struct

from drumline.core.errors import DrumlineError, Unavailable
from drumline.core.ids import SessionId
from drumline.core.session import SessionSpec
from drumline.core.task import ClaimedTask
from drumline.shards.claim_order import ClaimOrder
from drumline.shards.lease_homes import LeaseHomes
from drumline.shards.shard_set import Shard, ShardSet

PATIENCE: Final = 1.0
"""Seconds that a claim which does not wait may take before the next shard is asked."""
RETRY_EVERY: Final = 1.0
"""Seconds until a shard that could not be reached is asked again while the others are waited for."""
COLLECT: Final = 0.05
"""Seconds for which a claim that was given tasks waits for shards that it is asking at that moment."""
COLLECT_STEP: Final = 0.002
LATE: Final = 1.0
"""Seconds after the end of the wait in which shards that are slow may still answer."""

IsOpen = Callable[[Shard], Awaitable[bool]]


class ClaimTerms(Struct, frozen=True, kw_only=True):
    """What is claimed: as in `engine.claim`."""

    session: SessionId
    spec: SessionSpec
    limit: int
    nonce: int


class _Asked(Struct, frozen=True, eq=False):
    shard: Shard
    limit: int


_Answer = tuple[ClaimedTask, ...] | None
"""What a shard gave; None if the session is not open there."""


class ShardedClaim:
    """One claim: it never takes more than its limit, and what it was given too much is released."""

    def __init__(
        self, shards: ShardSet, terms: ClaimTerms, order: ClaimOrder, homes: LeaseHomes, *, is_open: IsOpen
    ) -> None:
        self._shards = shards
        self._terms = terms
        self._order = order
        self._homes = homes
        self._is_open = is_open
        self._loop = asyncio.get_running_loop()
        self._tasks: list[ClaimedTask] = []
        self._given: list[tuple[Shard, tuple[ClaimedTask, ...]]] = []
        self._pending: dict[asyncio.Task[_Answer], _Asked] = {}
        self._retry_at: dict[str, float] = {}
        self._closed: set[str] = set()
        """The shards in which the session was closed in order."""
        self._unclear: set[str] = set()
        """The shards in which the claim may have taken tasks though it failed."""
        self._error: DrumlineError | None = None
        self._changed: asyncio.Future[None] = self._loop.create_future()

    def shards_changed(self) -> None:
        """Ask shards that were added, and leave those that were removed."""
        if not self._changed.done():
            self._changed.set_result(None)

    async def repeat(self) -> list[ClaimedTask]:
        """Return what the claim of this name took in any shard, because its answer was lost."""
        for shard in self._shards:
            self._start(self._repeated(shard), _Asked(shard, self._terms.limit))
        with self._released_on_error():
            await self._first(seconds=PATIENCE, return_when=asyncio.ALL_COMPLETED)
        return self._tasks

    async def run(self, wait: float) -> list[ClaimedTask]:
        """Return up to as many tasks as were asked for, waiting up to `wait` seconds for the first."""
        with self._released_on_error():
            await self._ask_in_turn(is_last=wait <= 0)
            if not self._tasks and wait > 0:
                await self._wait_in_all(wait)
                await self._collect()
        if not self._tasks and self._error is not None and not self._has_answer():
            raise self._error
        return self._tasks

    def leave(self) -> None:
        """Cancel what is under way: what it is given is released."""
        for task, asked in self._pending.items():
            if task.done() and not task.cancelled() and task.exception() is None:
                self._release(asked.shard, task.result() or ())
            task.cancel()
        self._pending.clear()

    @contextmanager
    def _released_on_error(self) -> Iterator[None]:
        """Release what was taken if the claim is cancelled or fails."""
        try:
            yield
        except BaseException:
            self.leave()
            for shard, tasks in self._given:
                self._release(shard, tasks)
            raise

    def _release(self, shard: Shard, tasks: tuple[ClaimedTask, ...]) -> None:
        if tasks:
            shard.engine.settlements.release(tasks)

    @property
    def _room(self) -> int:
        return self._terms.limit - len(self._tasks)

    def _has_answer(self) -> bool:
        """Tell whether any shard has answered."""
        return any(shard.name not in self._retry_at for shard in self._shards)

    async def _ask_in_turn(self, *, is_last: bool) -> None:
        """Ask shards one after the other, without waiting, until there is no more room.

        If this is the last look, all of them, also those that are not likely to have any.
        """
        shards = {shard.name: shard for shard in self._shards}
        names = list(shards)
        order = self._order.all(names) if is_last else self._order.likely(names, now=self._loop.time())
        for name in order:
            if self._room and not self._is_pending(shards[name]):
                await self._ask_now(shards[name])

    async def _ask_now(self, shard: Shard) -> None:
        """Ask a shard without waiting; one that is slow is left, and releases what it takes."""
        asked = _Asked(shard, self._room)
        try:
            async with asyncio.timeout(PATIENCE):
                tasks = await self._claim(shard, asked.limit, 0.0)
        except TimeoutError:
            self._failed(shard.name, Unavailable(f"shard {shard.name} does not answer within {PATIENCE:g} s"))
            self._unclear.discard(shard.name)
        except DrumlineError as error:
            self._failed(shard.name, error)
        else:
            self._answered(asked, tasks)

    async def _wait_in_all(self, wait: float) -> None:
        """Wait in all shards at once for the first that gives something."""
        deadline = self._loop.time() + wait
        while not self._tasks:
            self._ask_missing(deadline)
            now = self._loop.time()
            if not self._pending and (not self._retry_at or not self._has_answer()):
                return  # the session is closed everywhere, or no shard can be reached
            if now >= deadline + LATE or (now >= deadline and not self._pending):
                return
            retries = self._retries() if now < deadline else []
            await self._first(seconds=min([*retries, deadline + LATE]) - now, wakes=True)

    def _retries(self) -> list[float]:
        """Return when shards that failed are to be asked again; one that is asked already has no time to wait for."""
        asked = {asked.shard.name for asked in self._pending.values()}
        return [at for name, at in self._retry_at.items() if name not in asked]

    async def _collect(self) -> None:
        """Take what shards give that are being asked just now: it would have to be released, and rates count it."""
        deadline = self._loop.time() + COLLECT
        while self._tasks and self._room and self._loop.time() < deadline:
            asking = [task for task, asked in self._pending.items() if self._is_asking(asked.shard)]
            if not asking:
                return
            await asyncio.wait(asking, timeout=COLLECT_STEP, return_when=asyncio.FIRST_COMPLETED)
            self._take([task for task in self._pending if task.done()])

    def _is_asking(self, shard: Shard) -> bool:
        return not shard.engine.claims.is_asleep(self._terms.session, self._terms.nonce)

    def _ask_missing(self, deadline: float) -> None:
        """Ask each shard that is not asked now; leave those that were removed."""
        if self._changed.done():
            self._changed = self._loop.create_future()
            self._leave_all_but({shard.name for shard in self._shards})
        now = self._loop.time()
        asked = {asked.shard.name for asked in self._pending.values()} | self._closed
        for shard in self._shards:
            if shard.name not in asked and self._retry_at.get(shard.name, now) <= now < deadline:
                self._ask(shard, wait=deadline - now)

    def _leave_all_but(self, names: set[str]) -> None:
        for task, asked in list(self._pending.items()):
            if asked.shard.name not in names:
                del self._pending[task]
                task.cancel()
        for name in self._retry_at.keys() - names:
            del self._retry_at[name]

    def _ask(self, shard: Shard, *, wait: float) -> None:
        if not self._is_pending(shard):
            self._start(self._claim(shard, self._room, wait), _Asked(shard, self._room))

    def _is_pending(self, shard: Shard) -> bool:
        return any(asked.shard is shard for asked in self._pending.values())

    def _start(self, claim: "Coroutine[None, None, _Answer]", asked: _Asked) -> None:
        task = self._loop.create_task(claim, name=f"claim in {asked.shard.name}")
        task.add_done_callback(_retrieve)
        self._pending[task] = asked

    async def _claim(self, shard: Shard, limit: int, wait: float) -> _Answer:
        terms = self._terms
        if not await self._is_open(shard):
            return None
        return await shard.engine.claims.claim(
            terms.session, terms.spec, limit=limit, wait=wait, nonce=terms.nonce, again=shard.name in self._unclear
        )

    async def _repeated(self, shard: Shard) -> _Answer:
        terms = self._terms
        return await shard.engine.claims.repeat(terms.session, terms.spec, limit=terms.limit, nonce=terms.nonce)

    async def _first(self, *, seconds: float, wakes: bool = False, return_when: str = asyncio.FIRST_COMPLETED) -> None:
        """Wait until a shard has answered, and take what those gave that have."""
        waited: set[asyncio.Future[Any]] = set(self._pending)
        if wakes:
            waited.add(self._changed)
        if waited:
            await asyncio.wait(waited, timeout=max(seconds, 0.0), return_when=return_when)
        self._take([task for task in self._pending if task.done()])

    def _take(self, answered: "Iterable[asyncio.Task[_Answer]]") -> None:
        for task in answered:
            asked = self._pending.pop(task)
            name = asked.shard.name
            error = None if task.cancelled() else task.exception()
            if error is not None:
                self._failed(name, error)
            elif not task.cancelled():
                self._answered(asked, task.result())

    def _failed(self, name: str, error: BaseException) -> None:
        if not isinstance(error, DrumlineError):
            raise error
        if isinstance(error, Unavailable):
            self._shards.note_away(name)
        self._error = error
        self._unclear.add(name)
        self._retry_at[name] = self._loop.time() + RETRY_EVERY

    def _answered(self, asked: _Asked, tasks: _Answer) -> None:
        """Keep what a shard gave, as far as there is room; release the rest."""
        self._retry_at.pop(asked.shard.name, None)
        self._unclear.discard(asked.shard.name)
        if tasks is None:
            self._closed.add(asked.shard.name)
            return
        self._order.note(asked.shard.name, wanted=asked.limit, given=len(tasks), now=self._loop.time())
        kept, surplus = tasks[: self._room], tasks[self._room :]
        self._release(asked.shard, surplus)
        self._homes.note(asked.shard, kept)
        self._given.append((asked.shard, kept))
        self._tasks += kept


def _retrieve(task: "asyncio.Task[_Answer]") -> None:
    """Take note of how a claim ended that is not waited for any more."""
    if not task.cancelled():
        task.exception()
