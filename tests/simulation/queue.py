"""A simulated Redis: hints shared by all processes, which it may lose, freeze, double and give out of order."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from types import MappingProxyType
from typing import Any, NamedTuple

from drumline.core.clock import Instant
from drumline.core.ids import SessionId, TaskId
from drumline.core.task import ClaimedTask, Lane
from drumline.ports.queue import Handed, Leased, Popped, QueueState, Reservation, Woken
from drumline.ports.store import ClaimRequest, Hint
from drumline.redis.queue import HORIZON_MS
from drumline.testing.clock import SimulatedClock
from drumline.testing.loop import SimulatedLoop, SimulatedProcess

AHEAD_MS = 1500
"""Milliseconds by which the clock of a jumbled server is ahead: it gives hints before their time."""


class Idle(NamedTuple):
    """A session that waits for a task."""

    process: str
    request: ClaimRequest
    since: float


class Listener(NamedTuple):
    """A process that hears wake-ups."""

    process: SimulatedProcess
    woken: Woken
    handed: Handed | None
    leased: Leased | None


@dataclass
class QueueServer:
    """What the server holds, and the faults that it has at the moment."""

    loop: SimulatedLoop
    random: Random
    clock: SimulatedClock
    hints: dict[TaskId, Hint] = field(default_factory=dict)
    paused: set[tuple[str, str]] = field(default_factory=set)
    idle: dict[SessionId, Idle] = field(default_factory=dict)
    listeners: dict[str, Listener] = field(default_factory=dict)
    generation: str | None = None
    frozen_until: float = 0.0
    jumbled_until: float = 0.0

    @property
    def is_away(self) -> bool:
        """Whether it does not answer."""
        return self.loop.time() < self.frozen_until

    @property
    def is_jumbled(self) -> bool:
        """Whether it doubles, drops and reorders."""
        return self.loop.time() < self.jumbled_until

    def now(self) -> Instant:
        """Return what its clock shows: while it is jumbled, too much."""
        return Instant(self.clock.now() + (AHEAD_MS if self.is_jumbled else 0))

    def flush(self) -> None:
        """Forget everything."""
        self.hints.clear()
        self.paused.clear()
        self.idle.clear()
        self.generation = None

    def post(self, listener: Listener, call: Callable[..., object], *args: Any) -> None:
        """Call a process that listens, a moment later; messages may get lost."""
        if listener.process.is_alive and not (self.is_jumbled and self.random.random() < 0.5):
            self.loop.call_later(self.random.random() * 0.01, call, *args, context=listener.process.context.copy())


class SimulatedQueue:
    """`ports.queue.SweptQueue` as a process sees it."""

    def __init__(self, server: QueueServer, process: SimulatedProcess) -> None:
        self._server = server
        self._process = process

    @property
    def carries_signals(self) -> bool:
        """Whether processes that listen hear the signals of others."""
        return True

    async def _call(self) -> bool:
        """Let the time of a call pass; tell whether the server answers."""
        server = self._server
        await asyncio.sleep(server.random.random() * 0.004)
        if server.is_away:
            await asyncio.sleep(server.random.random())
            return False
        return True

    async def prepare(self) -> None:
        """Have nothing to prepare."""

    async def push(self, hints: Sequence[Hint]) -> bool:
        """Keep hints, or hand a lone one to a session that waits."""
        if not await self._call():
            return False
        server = self._server
        if len(hints) == 1 and self._hand(hints[0]):
            return True
        horizon = server.clock.now() + HORIZON_MS
        for hint in (each for each in hints if each.due_at <= horizon):
            if not (server.is_jumbled and server.random.random() < 0.3):
                server.hints[hint.task] = hint
        self._wake(hints)
        return False

    def _hand(self, hint: Hint) -> bool:
        """Hand a hint to a session that waits; tell whether there was one."""
        server = self._server
        idle = self._waiting_for(hint.lane) if hint.is_due else None
        if idle is None or (hint.lane.tenant, hint.lane.queue) in server.paused:
            return False
        listener = server.listeners.get(idle.process)
        if listener is None or listener.handed is None or not listener.process.is_alive:
            return False
        del server.idle[idle.request.session]
        server.post(listener, self._deliver, listener, idle.request.session, hint)
        return True

    def _deliver(self, listener: Listener, session: SessionId, hint: Hint) -> None:
        """Give a session its hint; one that waits no more has the hint offered again."""
        if listener.handed is not None and not listener.handed(session, hint):
            self._server.hints[hint.task] = hint

    def _waiting_for(self, lane: Lane) -> Idle | None:
        able = [idle for idle in self._server.idle.values() if _can_run(idle.request, lane)]
        return min(able, key=lambda idle: idle.since, default=None)

    def _wake(self, hints: Sequence[Hint]) -> None:
        server = self._server
        for name, listener in server.listeners.items():
            if name != self._process.name:
                for hint in hints:
                    server.post(listener, listener.woken, hint.lane.queue, 1)

    async def tell(self, hints: Sequence[Hint]) -> None:
        """Wake those who wait in other processes."""
        if await self._call():
            self._wake(hints)

    async def signal(self, word: str) -> None:
        """Send a word to every other process that listens."""
        if await self._call():
            for name, listener in self._server.listeners.items():
                if name != self._process.name:
                    self._server.post(listener, listener.woken, word, 1)

    async def pop(self, request: ClaimRequest) -> Popped | None:
        """Take due hints that the session can run."""
        server = self._server
        if not await self._call() or server.generation is None:
            return None
        now = server.now()
        able = [
            hint
            for hint in server.hints.values()
            if _can_run(request, hint.lane) and (hint.lane.tenant, hint.lane.queue) not in server.paused
        ]
        due = sorted(
            (hint for hint in able if hint.due_at <= now),
            key=lambda hint: (hint.due_at - hint.lane.priority * 60_000, hint.task),
        )
        if server.is_jumbled:
            server.random.shuffle(due)
        taken = due[: request.limit]
        for hint in taken:
            if not (server.is_jumbled and server.random.random() < 0.5):
                del server.hints[hint.task]
        if not taken and request.waits and self._process.name in server.listeners:
            server.idle[request.session] = Idle(self._process.name, request, server.loop.time())
        later = min((hint.due_at for hint in able if hint.due_at > now), default=None)
        return Popped(tuple(hint.task for hint in taken), later)

    async def reserve(self, lane: Lane) -> Reservation | None:
        """Take a session that waits off the list."""
        server = self._server
        if not await self._call() or (lane.tenant, lane.queue) in server.paused:
            return None
        idle = self._waiting_for(lane)
        if idle is None or any(hint.lane == lane for hint in server.hints.values()):
            return None
        del server.idle[idle.request.session]
        return Reservation(
            session=idle.request.session,
            nonce=idle.request.nonce,
            process=idle.process,
            listed=str(idle.request.session),
            since=Instant(round(idle.since * 1000)),
        )

    async def unreserve(self, reservation: Reservation) -> None:
        """Let go of a reservation: the session is listed again by its next claim."""
        del reservation
        await self._call()

    async def withdraw(self, request: ClaimRequest) -> None:
        """Take a session off the list of those that wait."""
        if await self._call():
            self._server.idle.pop(request.session, None)

    async def hand(self, reservation: Reservation, task: ClaimedTask) -> bool | None:
        """Tell a session of a task that is leased to it."""
        server = self._server
        if not await self._call():
            return None
        listener = server.listeners.get(reservation.process)
        if listener is None or listener.leased is None or not listener.process.is_alive:
            return False
        server.post(listener, listener.leased, reservation.session, task)
        return True

    async def drop(self, tasks: Sequence[TaskId]) -> None:
        """Forget hints."""
        if await self._call():
            for task in tasks:
                self._server.hints.pop(task, None)

    async def doubt(self) -> None:
        """Note that hints are missing."""
        if await self._call():
            self._server.generation = None

    async def listen(self, woken: Woken, handed: Handed | None = None, leased: Leased | None = None) -> None:
        """Hear of other processes, until cancelled."""
        self._server.listeners[self._process.name] = Listener(self._process, woken, handed, leased)
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            self._server.listeners.pop(self._process.name, None)

    async def pause_queue(self, queue: str, *, tenant: str) -> None:
        """Offer no more tasks of a queue."""
        if await self._call():
            self._server.paused.add((tenant, queue))

    async def resume_queue(self, queue: str, *, tenant: str) -> None:
        """Offer a queue's tasks again."""
        if await self._call():
            self._server.paused.discard((tenant, queue))

    async def check(self) -> dict[str, object] | None:
        """Return details for the health page."""
        return {"queue": "simulated"}

    async def close(self) -> None:
        """Stop listening."""
        self._server.listeners.pop(self._process.name, None)

    # -- for the sweep

    async def sync(self, *, now: Instant, paused: Sequence[tuple[str, str]] | None = None) -> QueueState | None:
        """Take over the paused queues."""
        del now
        if not await self._call():
            return None
        if paused is not None:
            self._server.paused = set(paused)
        return QueueState(self._server.generation)

    async def absent(self, hints: Sequence[Hint]) -> frozenset[TaskId] | None:
        """Return which hints are missing, or are there for a later time."""
        if not await self._call():
            return None
        held = self._server.hints
        return frozenset(hint.task for hint in hints if hint.task not in held or held[hint.task].due_at > hint.due_at)

    async def restore(
        self, hints: Sequence[Hint], *, bounds: Mapping[Lane, Instant | None] = MappingProxyType({})
    ) -> bool | None:
        """Take hints in again."""
        del bounds
        if not await self._call():
            return None
        self._server.hints.update({hint.task: hint for hint in hints})
        return True

    async def filled(self) -> str | None:
        """Note that a refill is complete."""
        if not await self._call():
            return None
        if self._server.generation is None:
            self._server.generation = f"generation {self._server.random.getrandbits(32):x}"
        return self._server.generation


def _can_run(request: ClaimRequest, lane: Lane) -> bool:
    return (
        lane.name in request.names
        and (not request.queues or lane.queue in request.queues)
        and request.tenant in {None, lane.tenant}
    )
