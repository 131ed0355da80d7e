"""Copies: every shard has the directory's paused queues, subscriptions and signing secrets.

They are written in all shards at once when they change. This brings a shard in line that could not be reached then, or
was added since. The directory is right; what a shard has beyond that goes.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Final, Protocol

import structlog

from drumline.core.errors import Conflict, NotFound, Unavailable
from drumline.core.subscription import NewSubscription, Subscription, SubscriptionChange, SubscriptionId
from drumline.core.task import DEFAULT_TENANT
from drumline.ports.store import Store
from drumline.shards.parts.deliveries import copy_secrets

PASS_SECONDS: Final = 60.0
THOROUGH_EVERY: Final = 30
"""Every so many passes secrets are compared, too."""
TENANTS_AT_ONCE: Final = 1000

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class CopyShard(Protocol):
    """What of a shard takes part."""

    @property
    def name(self) -> str:
        """The name of the shard."""
        ...

    @property
    def store(self) -> Store:
        """Its own database."""
        ...


class CopyShards(Protocol):
    """The shards of an installation."""

    @property
    def directory(self) -> CopyShard:
        """The one that is right."""
        ...

    def __iter__(self) -> Iterator[CopyShard]:
        """Return all of them that are open here."""
        ...

    def note_away(self, name: str, /) -> None:
        """Note that a shard could not be reached just now."""
        ...


class DirectoryCopies:
    """Makes the copies in every shard what the directory has: a duty."""

    name = "copies"

    def __init__(self, shards: CopyShards, *, every: float = 2.0) -> None:
        self.every = every
        self._shards = shards
        self._passes = 0
        self._thorough: set[str] = set()
        """The shards whose secrets were compared since they were last away."""

    async def pass_once(self) -> int:
        """Compare every shard with the directory, and return how much was changed."""
        directory = self._shards.directory
        others = [shard for shard in self._shards if shard.name != directory.name]
        if not others:
            return 0
        self._passes += 1
        if self._passes % THOROUGH_EVERY == 0:
            self._thorough.clear()
        changed = 0
        async with asyncio.timeout(PASS_SECONDS):
            paused = set(await directory.store.paused_queues())
            subscriptions = {each.id: each for each in await directory.store.subscriptions.subscriptions()}
            for shard in others:
                try:
                    changed += await self._bring_in_line(shard, paused, subscriptions)
                except Unavailable:
                    self._shards.note_away(shard.name)
                    self._thorough.discard(shard.name)
        if changed:
            log.info("copies.written", count=changed)
        return changed

    async def _bring_in_line(
        self,
        shard: CopyShard,
        paused: set[tuple[str, str]],
        subscriptions: dict[SubscriptionId, Subscription],
    ) -> int:
        changed = await self._pauses(shard.store, paused)
        changed += await self._subscriptions(shard.store, subscriptions)
        if shard.name not in self._thorough:
            await self._secrets(shard.store, subscriptions)
            self._thorough.add(shard.name)
        return changed

    async def _pauses(self, store: Store, paused: set[tuple[str, str]]) -> int:
        present = set(await store.paused_queues())
        for tenant, queue in paused - present:
            reason = await self._reason(tenant, queue)
            await store.control.pause_queue(queue, tenant=tenant, reason=reason, is_copy=True)
        for tenant, queue in present - paused:
            await store.control.resume_queue(queue, tenant=tenant, is_copy=True)
        return len(paused ^ present)

    async def _reason(self, tenant: str, queue: str) -> str | None:
        views = await self._shards.directory.store.queries.queues(tenant=tenant)
        return next((view.reason for view in views if view.name == queue), None)

    async def _subscriptions(self, store: Store, wanted: dict[SubscriptionId, Subscription]) -> int:
        present = {each.id: each for each in await store.subscriptions.subscriptions()}
        for extra in present.keys() - wanted.keys():
            await store.subscriptions.delete_subscription(extra)
        different = [each for each in wanted.values() if each.id not in present or _differ(each, present[each.id])]
        for each in different:
            try:
                await self._write(store, each, is_new=each.id not in present)
            except (Conflict, NotFound) as error:  # another process changes it, or names are swapped: the next pass
                log.warning("copies.put_off", subscription=each.id, error=error.message)
        return len(different) + len(present.keys() - wanted.keys())

    async def _write(self, store: Store, wanted: Subscription, *, is_new: bool) -> None:
        if is_new:
            secrets = await self._shards.directory.store.subscriptions.secrets(wanted.id, tenant=None)
            await store.subscriptions.create_subscription(
                NewSubscription(
                    id=wanted.id,
                    tenant=wanted.tenant,
                    name=wanted.name,
                    filter=wanted.filter,
                    target=wanted.target,
                    secrets=secrets or (),
                )
            )
        if not is_new or not wanted.is_enabled:
            change = SubscriptionChange(
                name=wanted.name,
                filter=wanted.filter,
                address=wanted.target.address,
                is_enabled=wanted.is_enabled,
                reason=wanted.disabled_reason,
            )
            await store.subscriptions.change_subscription(wanted.id, change)

    async def _secrets(self, store: Store, subscriptions: dict[SubscriptionId, Subscription]) -> None:
        """Compare all secrets: of subscriptions, and those that sign what tenants' tasks name themselves."""
        directory = self._shards.directory.store
        for each in subscriptions:
            if (own := await directory.subscriptions.secrets(each, tenant=None)) is not None:
                await copy_secrets(store, each, own, tenant=None)
        async for tenant in self._tenants():
            if (own := await directory.subscriptions.secrets(None, tenant=tenant)) is not None:
                await copy_secrets(store, None, own, tenant=tenant)

    async def _tenants(self) -> AsyncIterator[str]:
        yield DEFAULT_TENANT
        after: str | None = None
        while page := await self._shards.directory.store.tenants.list_tenants(limit=TENANTS_AT_ONCE, after=after):
            for tenant in page:
                if tenant.name != DEFAULT_TENANT:
                    yield tenant.name
            after = page[-1].name


def _differ(one: Subscription, other: Subscription) -> bool:
    """Tell whether two are not the same but for when they were made."""
    return (one.name, one.filter, one.target, one.is_enabled, one.disabled_reason) != (
        other.name,
        other.filter,
        other.target,
        other.is_enabled,
        other.disabled_reason,
    )
