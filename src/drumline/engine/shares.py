"""What each tenant has in flight, as far as this process handed it out: dispatch is fair by it.

Workers say with each claim what they hold, so nothing has to be counted when attempts end, and a word that was lost is
corrected by the next. Each process shares out fairly what goes through it, and so all of them together.
"""

from collections import Counter, OrderedDict
from collections.abc import Iterable, Mapping
from typing import Final, Protocol

from drumline.core.clock import Clock
from drumline.core.fair_shares import DEFAULT_WEIGHT, MOST_TURNS, Share, step_of
from drumline.core.ids import SessionId
from drumline.core.task import ClaimedTask

LASTS: Final = 60.0
"""Seconds for which a worker's word counts: longer than any claim waits."""
WEIGHTS_LAST: Final = 5.0
MOST_TENANTS: Final = 256
"""Those served last: of the others nothing is said, so they stand lowest."""


class Weights(Protocol):
    """The part of a store that knows the weights of tenants."""

    async def weights(self) -> dict[str, int]:
        """Return the weight of each tenant that has one."""
        ...


class Shares:
    """Counts what each tenant has in flight through this process."""

    def __init__(self, store: Weights, *, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._held: OrderedDict[SessionId, tuple[float, Mapping[str, int]]] = OrderedDict()
        self._in_flight: Counter[str] = Counter()
        self._turns: OrderedDict[str, None] = OrderedDict()
        """Tenants, the one served last at the end."""
        self._weights: dict[str, int] = {}
        self._read_at: float | None = None

    def holds(self, session: SessionId, held: Mapping[str, int]) -> None:
        """Note what a worker says it holds, by tenant."""
        now = self._clock.monotonic()
        self._forget(session)
        while self._held and now - next(iter(self._held.values()))[0] > LASTS:
            self._forget(next(iter(self._held)))
        if held:
            self._held[session] = (now, held)
            self._in_flight.update(held)

    def gave(self, session: SessionId, tasks: Iterable[ClaimedTask]) -> None:
        """Note what a worker was given."""
        held = dict(self._held.get(session, (0.0, {}))[1])
        # Counted from the end on, and noted the other way round: whose task was given last comes last.
        given = Counter(reversed([task.tenant for task in tasks]))
        for tenant, count in reversed(given.items()):
            held[tenant] = held.get(tenant, 0) + count
            self._turns[tenant] = None
            self._turns.move_to_end(tenant)
        while len(self._turns) > MOST_TENANTS:
            self._turns.popitem(last=False)
        self.holds(session, held)

    async def levels(self) -> tuple[Share, ...]:
        """Return the levels of tenants that were served lately, and of those with a weight of their own."""
        await self._read_weights()
        shares = [self._share(tenant, min(turn, MOST_TURNS)) for turn, tenant in enumerate(self._turns, 1)]
        shares += [
            Share(tenant, 0, step_of(weight)) for tenant, weight in self._weights.items() if tenant not in self._turns
        ]
        return tuple(shares)

    def _share(self, tenant: str, turn: int) -> Share:
        step = step_of(self._weights.get(tenant, DEFAULT_WEIGHT))
        return Share(tenant, self._in_flight[tenant] * step + turn, step)

    def _forget(self, session: SessionId) -> None:
        _, held = self._held.pop(session, (0.0, {}))
        if held:
            self._in_flight.subtract(held)
            for tenant in held:
                if self._in_flight[tenant] <= 0:
                    del self._in_flight[tenant]

    async def _read_weights(self) -> None:
        now = self._clock.monotonic()
        if self._read_at is None or now - self._read_at > WEIGHTS_LAST:
            self._read_at = now
            self._weights = await self._store.weights()
