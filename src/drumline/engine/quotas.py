"""Quotas: how much each tenant may have waiting.

A tenant without quotas costs one look into memory. For the others what waits is counted now and then, the more often
the nearer the quota is, and what this process has let in since is added; so one server never lets in too much, and
several together no more than what comes in between two counts.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from drumline.aio.batcher import Batcher
from drumline.core.clock import Clock
from drumline.core.errors import DrumlineError, Invalid, QuotaExceeded
from drumline.core.tenant import NO_QUOTAS, Quotas
from drumline.engine.quota_counts import QuotaCount, QuotaCounts
from drumline.engine.tenants import TenantService
from drumline.ports.access import Tenants

MOST_COUNTED: Final = 10_000


class QuotaService:
    """Lets in what tenants may have."""

    def __init__(self, store: Tenants, tenants: TenantService, counts: QuotaCounts, *, clock: Clock) -> None:
        self._store = store
        self._tenants = tenants
        self._clock = clock
        self._counts, self._flying = counts.counts, counts.flying
        self._counting: Batcher[tuple[str, int], QuotaCount] = Batcher(self._count, name="quotas", largest=100)

    def has_none(self, tenant: str) -> bool:
        """Tell whether a tenant surely has no quotas: nearly always, and at once."""
        memory = self._tenants.recall(tenant)
        return memory is not None and (memory.value is None or not memory.value.quotas.are_about_tasks)

    async def of(self, tenant: str) -> Quotas:
        """Return a tenant's quotas."""
        found = await self._tenants.find(tenant)
        return NO_QUOTAS if found is None else found.quotas

    async def admit(self, tenant: str, payloads: Sequence[int]) -> list[DrumlineError | None]:
        """Return for each of some tasks, given by the bytes of its payload, why it is not let in, if it is not."""
        quotas = await self.of(tenant)
        answers: list[DrumlineError | None] = [too_large(tenant, size, quotas.payload_bytes) for size in payloads]
        if quotas.queued is None:
            return answers
        room = await self._room(tenant, quotas.queued, answers.count(None))
        for place, answer in enumerate(answers):
            if answer is None and room <= 0:
                answers[place] = too_many(tenant, quotas.queued)
            elif answer is None:
                room -= 1
        return answers

    async def admit_all(self, tenant: str, payloads: Sequence[int]) -> None:
        """Let in tasks that belong together, or raise why not."""
        answers = await self.admit(tenant, payloads)
        for error in answers:
            if error is not None:
                self._give_back(tenant, answers.count(None))
                raise error

    async def check_payloads(self, tenant: str, payloads: Mapping[str, int]) -> None:
        """Raise `Invalid` naming the field of a payload, given by its bytes, that is larger than a tenant may have."""
        most = (await self.of(tenant)).payload_bytes
        for field, size in payloads.items():
            if (error := too_large(tenant, size, most)) is not None:
                raise Invalid(error.message, field=field, code=error.code)

    async def admit_schedule(self, tenant: str) -> None:
        """Let in one more schedule, or raise why not. Two at the same instant may both be the last."""
        quota = (await self.of(tenant)).schedules
        if quota is not None and await self._store.count_schedules(tenant) >= quota:
            raise QuotaExceeded(f"tenant {tenant} has {quota:,} schedules, its quota; some have to be deleted first")

    @contextmanager
    def flying(self, tenant: str, count: int) -> Iterator[None]:
        """Mark tasks that were let in as on their way into the store."""
        self._flying[tenant] = self._flying.get(tenant, 0) + count
        try:
            yield
        finally:
            self._flying[tenant] -= count
            if not self._flying[tenant]:
                del self._flying[tenant]

    async def _room(self, tenant: str, quota: int, wanted: int) -> int:
        count = self._counts.get(tenant)
        if count is None or not count.is_good(quota, self._clock.monotonic()):
            count = await self._counting.join((tenant, quota))
        room = max(min(quota - count.counted - count.since, wanted), 0)
        count.since += room
        return room

    def _give_back(self, tenant: str, count: int) -> None:
        if tenant in self._counts:
            self._counts[tenant].since -= count

    async def _count(self, asked: list[tuple[str, int]]) -> list[QuotaCount]:
        most: dict[str, int] = {}
        for tenant, quota in asked:
            most[tenant] = max(most.get(tenant, 0), quota)
        if len(self._counts) > MOST_COUNTED:
            self._counts.clear()
        for tenant, quota in most.items():
            began = self._clock.monotonic()
            counted = await self._store.count_queued(tenant, most=quota)
            now = self._clock.monotonic()
            self._counts[tenant] = QuotaCount(counted, quota, now, now - began, self._flying.get(tenant, 0))
        return [self._counts[tenant] for tenant, _ in asked]


def too_large(tenant: str, size: int, most: int | None) -> Invalid | None:
    """Return the reason to refuse a payload, if it is larger than its tenant may have."""
    if most is None or size <= most:
        return None
    return Invalid(
        f"is {size:,} bytes of JSON; the quota of tenant {tenant} is {most:,}", field="payload", code="too_large"
    )


def too_many(tenant: str, quota: int) -> QuotaExceeded:
    """Return the reason to refuse a task of a tenant that has as many waiting as it may have."""
    return QuotaExceeded(f"tenant {tenant} has {quota:,} tasks waiting, its quota; some have to be run first")
