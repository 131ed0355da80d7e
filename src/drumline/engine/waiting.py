"""Idle claimers, and how they are woken: one per task that arrives, longest waiting first, never the whole herd.

A task that falls due by time wakes no claimer by itself, and a wake-up can be lost. So a claimer has to look from time
to time; but of thousands who wait for the same, one is enough. That one keeps watch: it has an alarm, for when the next
task is due or else for the safety net. When it leaves, another of its kind takes over. If a look by the alarm finds
so much that the hands are full, two more are called, who call two more each if there is still enough.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import Final

from drumline.core.ids import SessionId, TaskId
from drumline.core.session import SessionSpec
from drumline.core.task import ClaimedTask
from drumline.engine.idle_claimers import IdleClaimers
from drumline.ports.claim import ClaimRequest
from drumline.ports.hint import Hint

Kind = tuple[tuple[str, ...], tuple[str, ...], str | None]
"""What a claimer can be given: queues, names, tenant. Those of one kind are as good as each other."""

CALLED: Final = 2
MOST_KINDS: Final = 8
"""Kinds of claimers of which one is named to a settlement that may release tasks."""
MOST_OF_KIND: Final = 4
"""Claimers of a kind that are looked at for it."""
MOST_SATED: Final = 10_000
"""Sessions that are remembered; if one is forgotten, a task may be leased to it in vain."""
SAME_SECONDS: Final = 0.002
"""Two alarms that are no further apart are for the same task."""


class Waiter:
    """One claimer. It may be woken as soon as it is added, so that no wake-up falls between its claim and its wait."""

    def __init__(self, kind: Kind, nonce: int = 0) -> None:
        self.kind = kind
        self.nonce = nonce
        """The name of its claim."""
        self.queues = kind[0]
        self.is_woken = False
        self.woken_for: str | None = None
        """The queue that it was woken for, until it claims again."""
        self.looks_for_all = False
        """Whether it claims because time has passed: no other claimer may know of what it finds."""
        self.handed: Hint | None = None
        """What it was woken with: a task that was offered to no other claimer."""
        self.leased: tuple[ClaimedTask, ...] = ()
        """What was leased to its claim while it waited."""
        self.is_asleep = False
        """Whether it waits to be woken; else it is asking the store."""
        self.request: ClaimRequest | None = None
        """What it claims, if it waits when it finds nothing."""
        self.has_found_all = False
        """Whether it found as much as it could take when it looked."""
        self.is_likely_to_wait = False
        """Whether there was not enough for it the last time."""
        self.is_taker = False
        """Whether a settlement is under way that may lease it tasks."""
        self.place = 0
        """Where it is among those who wait: the lower, the longer."""
        self._sleep: asyncio.Future[None] | None = None

    def take(self) -> "tuple[TaskId, ...] | None":
        """Return what it was handed, if anything, which is then its own."""
        hint, self.handed = self.handed, None
        return None if hint is None else (hint.task,)

    def take_leased(self, room: int, given: Sequence[ClaimedTask] = ()) -> tuple[ClaimedTask, ...]:
        """Return what was leased to its claim, as far as there is room, which is then its own.

        What the store has `given` for the same claim, because an answer was lost, is not given a second time.
        """
        if self.leased and given:
            leases = {task.lease for task in given}
            self.leased = tuple(task for task in self.leased if task.lease not in leases)
        taken, self.leased = self.leased[:room], self.leased[room:]
        return taken

    def can_run(self, task: ClaimedTask) -> bool:
        """Tell whether a task is for this claimer."""
        _, names, tenant = self.kind
        return self.serves(task.queue) and task.name in names and tenant in {None, task.tenant}

    @property
    def may_take(self) -> bool:
        """Whether tasks can be leased to its claim: it sleeps, or will soon, and no settlement may do so already."""
        waits = self.request is not None and (self.is_asleep or self.is_likely_to_wait)
        return waits and not self.is_woken and not self.is_taker

    def serves(self, queue: str) -> bool:
        """Tell whether a task in `queue` may be for this claimer."""
        return not self.queues or queue in self.queues

    async def wait(self, seconds: float) -> bool:
        """Wait to be woken, at most this long; tell whether that was so."""
        if not self.is_woken:
            loop = asyncio.get_running_loop()
            self._sleep = loop.create_future()
            alarm = loop.call_later(max(seconds, 0.0), self._end_sleep)
            self.is_asleep = True
            try:
                await self._sleep
            finally:
                self.is_asleep = False
                alarm.cancel()
        return self.is_woken

    def wake(self) -> None:
        """End its waiting, or the next if it does not wait now."""
        self.is_woken = True
        self._end_sleep()

    def _end_sleep(self) -> None:
        if self._sleep is not None and not self._sleep.done():
            self._sleep.set_result(None)


class Waiters:
    """The claimers of this process that wait for a task.

    `poll` is how long the one who keeps watch sleeps when it is not woken: the safety net under the wake-ups.
    """

    def __init__(self, *, poll: float = 1.0, clock: Callable[[], float] = monotonic) -> None:
        self.poll = poll
        self._clock = clock
        self._idle = IdleClaimers()
        self._watches: dict[Kind, tuple[Waiter, float]] = {}
        """Who keeps watch for a kind, and until when."""
        self._sessions: dict[SessionId, Waiter] = {}
        """The claimers to whom a task can be handed."""
        self._sated: OrderedDict[SessionId, None] = OrderedDict()
        """The sessions whose last claim found all that it could take: the next one will hardly wait."""

    @property
    def are_any(self) -> bool:
        """Whether any claimer waits."""
        return len(self._idle) > 0

    @contextmanager
    def waiting(self, spec: SessionSpec, session: SessionId, nonce: int = 0) -> Iterator[Waiter]:
        """Give a claimer that can be woken, for as long as it needs."""
        waiter = Waiter((spec.queues, spec.names, spec.tenant), nonce)
        waiter.is_likely_to_wait = session not in self._sated
        self.add(waiter)
        self._sessions[session] = waiter
        try:
            yield waiter
        finally:
            if self._sessions.get(session) is waiter:
                del self._sessions[session]
            self._note_sated(session, waiter.has_found_all)
            self.remove(waiter)

    def add(self, waiter: Waiter) -> None:
        """Let `waiter` be woken."""
        self._idle.add(waiter)

    def remove(self, waiter: Waiter) -> None:
        """Stop waking `waiter`, and let another keep watch if it did.

        A wake-up that found it busy with a claim, whose answer may be older than the task, is passed on to another.
        """
        self._idle.discard(waiter)
        if waiter.handed is None and waiter.woken_for is not None:
            self.wake(waiter.woken_for, 1)
        watch = self._watches.get(waiter.kind)
        if watch is not None and watch[0] is waiter:
            del self._watches[waiter.kind]
            for successor in self._call(waiter.kind, 1):
                # From now on, though it has yet to look: should it leave before it waits, the next one is called.
                self._watches[waiter.kind] = (successor, self._clock())

    async def wait(self, waiter: Waiter, *, left: float, until: float) -> bool:
        """Wait until woken, at most for the time that is `left`; the claimer with the alarm, only `until` that.

        Tell whether the caller should claim again, for which a wake-up is then used. It need not if its time is over
        and another of its kind keeps watch: of thousands who wait each would look once more, for nothing.
        """
        is_woken = await waiter.wait(min(left, until) if self._watch(waiter, until) else left)
        if not is_woken:
            waiter.looks_for_all = True
        waiter.is_woken = False
        if not waiter.leased:  # else it claims nothing now, and the wake-up goes to another claimer
            waiter.woken_for = None
        self._idle.add(waiter)  # where it was, unless it was woken
        watch = self._watches.get(waiter.kind)
        return is_woken or watch is None or watch[0] is waiter

    def found_all(self, waiter: Waiter) -> None:
        """Note that `waiter` has found as much as it can take: if it was not woken for it, wake others."""
        waiter.has_found_all = True
        if waiter.looks_for_all:
            self._call(waiter.kind, CALLED)

    def wake(self, queue: str, count: int) -> None:
        """Wake up to `count` claimers who serve `queue`."""
        for waiter in self._idle.serving(queue, count):
            waiter.looks_for_all = False
            self._wake(waiter, queue)

    def hand(self, session: SessionId, hint: Hint) -> bool:
        """Wake the claimer of a session with a task that was offered to it alone; tell whether it waits."""
        waiter = self._sessions.get(session)
        if waiter is None or waiter not in self._idle:
            return False
        waiter.looks_for_all = False
        waiter.handed = hint
        self._wake(waiter, None)
        return True

    def lease(self, session: SessionId, task: ClaimedTask) -> bool:
        """Wake the claimer of a session with a task that is leased to it; tell whether that very claim waits."""
        waiter = self._sessions.get(session)
        if waiter is None or waiter.nonce != task.lease.nonce or not waiter.can_run(task):
            return False
        waiter.leased += (task,)
        if waiter in self._idle:
            waiter.looks_for_all = False
            self._wake(waiter, None)
        return True

    @contextmanager
    def takers(self) -> Iterator[list[ClaimRequest]]:
        """Give claims to which tasks may be leased meanwhile: of each kind the one that has waited longest."""
        kinds = self._idle.by_kind(MOST_KINDS, MOST_OF_KIND)
        firsts = [next((waiter for waiter in those if waiter.may_take), None) for those in kinds]
        takers = [waiter for waiter in firsts if waiter is not None]
        for waiter in takers:
            waiter.is_taker = True
        try:
            yield [waiter.request for waiter in takers if waiter.request is not None]
        finally:
            for waiter in takers:
                waiter.is_taker = False

    def is_asleep(self, session: SessionId, nonce: int) -> bool:
        """Tell whether a claim of this process waits to be woken, so that it is given nothing by itself now."""
        waiter = self._sessions.get(session)
        return waiter is not None and waiter.nonce == nonce and waiter.is_asleep and not waiter.is_woken

    def wake_all(self) -> None:
        """Wake everyone: something changed that is not about one queue."""
        for waiter in list(self._idle):
            self._wake(waiter, "")

    def _note_sated(self, session: SessionId, is_sated: bool) -> None:
        self._sated.pop(session, None)
        if is_sated:
            self._sated[session] = None
            if len(self._sated) > MOST_SATED:
                self._sated.popitem(last=False)

    def _watch(self, waiter: Waiter, seconds: float) -> bool:
        """Tell whether `waiter` has the alarm of its kind: no other has it, or only for a later time."""
        alarm = self._clock() + seconds
        watch = self._watches.get(waiter.kind)
        if watch is not None and watch[0] is not waiter and watch[1] <= alarm + SAME_SECONDS:
            return False
        self._watches[waiter.kind] = (waiter, alarm)
        return True

    def _call(self, kind: Kind, count: int) -> list[Waiter]:
        """Let some of a kind look for themselves, and return them."""
        called = self._idle.of_kind(kind, count)
        for waiter in called:
            waiter.looks_for_all = True
            self._wake(waiter, None)
        return called

    def _wake(self, waiter: Waiter, queue: str | None) -> None:
        self._idle.discard(waiter)
        waiter.woken_for = queue
        waiter.wake()
