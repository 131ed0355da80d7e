"""Tasks in three databases that wait for signals by correlation, and processes that pass these on and may die.

The order of the steps is drawn from a seed. Tasks time out, are cancelled and lose their workers meanwhile. In the end
every signal was taken by one wait, or is kept and there for the next who waits.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from random import Random
from types import SimpleNamespace
from typing import Any, cast

from msgspec import Raw

from drumline.core.clock import ManualClock
from drumline.core.codec import decode, encode
from drumline.core.durable import Answered, NewSignal, RecordKind, RecordStatus, Wait, WaitKind, WaitRequest
from drumline.core.ids import SessionId, TaskId
from drumline.core.shard_map import ShardMap
from drumline.core.state import Act, State
from drumline.core.task import ClaimedTask
from drumline.engine.engine import Engine
from drumline.ports.durable import Signalled
from drumline.ports.store import Store
from drumline.scheduler.signals import SignalDuty
from drumline.stores.no_queue import NoQueue
from tests.durable_factories import steps_of
from tests.factories import claim, open_session, settle, state_of, submit
from tests.wait_world import InTurn, Place, Steps

KEYS = ("k1", "k2")
ROUNDS = 2
"""Signals that each task waits for, one after the other."""
MOST_SIGNALS = 10
TASKS = 6
TIMEOUT_MS = 20_000


class SignalPlaces:
    """The shards, as the duty sees them."""

    def __init__(self, places: Mapping[str, Place], home: Mapping[TaskId, str]) -> None:
        self._places = places
        self._home = home
        self.map = ShardMap(1)
        self.missing: tuple[str, ...] = ()
        self.away: set[str] = set()

    def __iter__(self) -> Iterator[Place]:
        return iter(self._places.values())

    def of(self, id: str, /) -> Place:
        return self._places[self._home[TaskId(id)]]

    async def refresh(self) -> None:
        """Nothing moves here."""

    def is_away(self, name: str, /) -> bool:
        return name in self.away

    def note_away(self, name: str, /) -> None:
        raise AssertionError(name)


async def _nothing_moved(ids: Sequence[str]) -> Mapping[str, Place]:
    del ids
    return {}


async def send(store: Store, key: str, payload: object, *, id: str) -> Signalled:
    """Send a signal by correlation to one database."""
    answer = await store.durable.signal(
        NewSignal(id=id, name="paid", key=key, payload=Raw(encode(payload)), tenant="default")
    )
    assert isinstance(answer, Signalled)
    return answer


def wait_for(key: str, round_: int = 0, timeout_ms: int | None = None) -> Wait:
    """Return a wait for a signal by correlation."""
    return Wait(kind=WaitKind.SIGNAL, name="paid", key=str(round_), correlation=key, delay_ms=timeout_ms)


class SignalWorld:
    """The databases, the tasks, the signals and the processes."""

    def __init__(self, stores: Mapping[str, Store], clock: ManualClock, seed: int) -> None:
        self._stores = stores
        self._clock = clock
        self._random = Random(seed)
        self._steps = Steps()
        self._engines = {name: Engine(store, NoQueue()) for name, store in stores.items()}
        self._sessions: dict[str, SessionId] = {}
        self._home: dict[TaskId, str] = {}
        self._key: dict[TaskId, str] = {}
        self._sent: set[int] = set()
        self._processes: list[asyncio.Task[None]] = []
        self._kills = 6
        self._cancels = 2
        self.places = self._places(stores)

    async def begin(self) -> None:
        """Submit the tasks, and start the processes."""
        for number in range(TASKS):
            await self.new_task(self._random.choice(list(self._stores)), KEYS[number % len(KEYS)])
        for _ in range(3):
            self._start()

    async def new_task(self, place: str, key: str) -> TaskId:
        """Submit a task that waits for signals by a key."""
        task = await submit(self._stores[place])
        self._home[task], self._key[task] = place, key
        return task

    async def step(self) -> None:
        """Do one thing at random."""
        acts: list[Callable[[], Awaitable[None]]] = [self._let_some_go_on] * 12
        acts += [self._send_one] * 2 + [self._attempt_one] * 6 + [self._pass_time, self._cancel_one, self._kill_one]
        await self._random.choice(acts)()

    async def settle_down(self) -> None:
        """Let everything go on without faults; then take what is kept, and check that all was taken once."""
        for process in self._processes:
            process.cancel()
        await asyncio.gather(*self._processes, return_exceptions=True)
        await self.go_on()
        taken = await self.taken()
        for _ in range(len(self._sent) - len(taken)):
            for key in KEYS:
                await self.new_task(self._random.choice(list(self._stores)), key)
        await self.go_on()
        taken = await self.taken()
        assert [payload for payload, count in taken.items() if count > 1] == [], "a signal was taken twice"
        assert set(taken) == self._sent, "a signal was lost"
        for store in self._stores.values():
            assert await store.signal_exchange.given(limit=9) == []
            assert await store.signal_exchange.unregistered(number=1, limit=9) == []

    async def go_on(self) -> None:
        """Let tasks run and processes pass on what there is, until nothing changes any more."""
        duty = SignalDuty(self.places, forwarded=_nothing_moved)
        for _ in range(12):
            for place in self._stores:
                await self._attempts_in(place, is_faulty=False)
            await duty.pass_once()
            self._clock.advance(1.1)
        for engine in self._engines.values():
            await engine.effects.drained()

    async def taken(self) -> Counter[int]:
        """Return how often each signal was taken."""
        counts: Counter[int] = Counter()
        for task, place in self._home.items():
            for record in (await steps_of(self._stores[place], task)).page.records:
                if record.kind is RecordKind.SIGNAL and record.status is RecordStatus.DONE:
                    counts[decode(bytes(record.value), int)] += 1
        return counts

    def _places(self, stores: Mapping[str, Any]) -> SignalPlaces:
        places = {name: Place(name, cast("Store", store), self._engines[name]) for name, store in stores.items()}
        return SignalPlaces(places, self._home)

    def _start(self) -> None:
        in_turn = {
            name: SimpleNamespace(signal_exchange=InTurn(store.signal_exchange, self._steps))
            for name, store in self._stores.items()
        }
        duty = SignalDuty(self._places(in_turn), forwarded=_nothing_moved)

        async def process() -> None:
            while True:
                await duty.pass_once()

        self._processes.append(asyncio.create_task(process()))

    async def _let_some_go_on(self) -> None:
        await self._steps.idle()
        waiting = self._steps.waiting
        for future in self._random.sample(waiting, min(len(waiting), self._random.choice((1, 1, 1, 2, 3)))):
            self._steps.begin(future)
        await self._steps.idle()

    async def _send_one(self) -> None:
        if len(self._sent) < MOST_SIGNALS:
            number = len(self._sent)
            self._sent.add(number)
            store = self._stores[self._random.choice(list(self._stores))]
            await send(store, self._random.choice(KEYS), number, id=f"s{number}")

    async def _attempt_one(self) -> None:
        await self._attempts_in(self._random.choice(list(self._stores)), is_faulty=True)

    async def _attempts_in(self, place: str, *, is_faulty: bool) -> None:
        store = self._stores[place]
        if place not in self._sessions:
            self._sessions[place] = await open_session(store)
        for task in await claim(store, self._sessions[place]):
            if is_faulty and self._random.random() < 0.3:
                act = self._random.choice((Act.RELEASE, Act.BACK_OFF))
                await settle(store, task.lease, act, due_at=self._clock.now())
                continue
            await self._attempt(store, task)

    async def _attempt(self, store: Store, task: ClaimedTask) -> None:
        """Run a task: it waits for some signals, one after the other, and completes."""
        key = self._key[task.lease.task]
        recorded = {record.key for record in (await steps_of(store, task.lease.task)).page.records}
        for number in range(ROUNDS):
            if str(number) in recorded:
                continue
            wait = wait_for(key, number, TIMEOUT_MS if self._random.random() < 0.5 else None)
            answer = await store.durable.wait(WaitRequest(lease=task.lease, waits=(wait,)))
            if not isinstance(answer, Answered):
                return
        await settle(store, task.lease, Act.COMPLETE)

    async def _pass_time(self) -> None:
        self._clock.advance(self._random.choice((0.1, 2.0, 8.0)))

    async def _cancel_one(self) -> None:
        if self._cancels:
            self._cancels -= 1
            task, place = self._random.choice(list(self._home.items()))
            if await state_of(self._stores[place], task) is State.QUEUED:
                await self._stores[place].control.cancel([task])

    async def _kill_one(self) -> None:
        if self._kills:
            self._kills -= 1
            process = self._processes.pop(self._random.randrange(len(self._processes)))
            process.cancel()
            await asyncio.gather(process, return_exceptions=True)
            self._start()
