"""Bulk operations: each runs in every shard that has tasks of it, under the same id, and is shown as one."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Final

import structlog
from msgspec.structs import replace

from drumline.core.bulk import BulkId, BulkItem, BulkState, BulkView, ItemOutcome, NewBulk
from drumline.core.clock import Instant
from drumline.core.errors import Conflict, DrumlineError, NotFound
from drumline.core.ids import TaskId
from drumline.ports.bulk import Advanced, Survey, too_many
from drumline.ports.dead_letters import DeadLetterFilter
from drumline.ports.store import Store
from drumline.shards.asking import Member
from drumline.shards.parts.merging import Part, earliest

PAGE: Final = 200
"""Operations that are read at once where only some states are wanted."""

TAKE_BACK_SECONDS: Final = 5.0
"""How long the shards may take to abort an operation that could not be stored in all of them."""

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class Bulks(Part):
    """`ports.bulk.Bulks`.

    An operation has ended when it has ended in every shard. Its tasks are numbered shard by shard: those of the first
    shard come first.
    """

    async def survey(self, which: DeadLetterFilter, *, most: int) -> Survey:
        """Return what a filter finds now, looking no further than `most` + 1."""
        found = await self._router.each(lambda store: store.bulks.survey(which, most=most))
        return Survey(
            count=min(most + 1, sum(survey.count for survey in found)),
            oldest_at=earliest(survey.oldest_at for survey in found),
            newest_at=max((survey.newest_at for survey in found if survey.newest_at is not None), default=None),
        )

    async def begin_bulk(
        self, bulk: NewBulk, *, which: DeadLetterFilter | None = None, tasks: Sequence[TaskId] = (), most: int
    ) -> BulkView:
        """Store an operation with the dead letters that a filter finds, the oldest first, or with these tasks.

        It is stored in every shard that has some of them. Where that fails, or the request is cancelled, it is aborted
        in those that have it, also if the answer of one was lost. Its rate is divided by how many tasks each shard has.
        """
        places = await self._router.places(tasks)
        if which is None:
            counts = dict(Counter(places[task].name for task in tasks))
        else:
            counts = await self._count_found(which, most)
        total = sum(counts.values())
        if total > most:
            raise too_many(most)
        members = [member for member in self._router.shards if counts.get(member.name)]
        begun: list[Member] = []
        try:
            for member in members or [self._router.members.directory]:
                share = counts.get(member.name, 0) / (total or 1)
                part = replace(bulk, rate=None if bulk.rate is None else bulk.rate * share) if total else bulk
                own = [task for task in tasks if places[task].name == member.name]
                begun.append(member)  # before it is asked: it may be stored though no answer comes
                await member.store.bulks.begin_bulk(part, which=which, tasks=own, most=most)
        except BaseException:
            await self._take_back(begun, bulk.id)
            raise
        return await self.get_bulk(bulk.id)

    async def advance_bulk(self, bulk: BulkId, *, limit: int) -> Advanced | None:
        """Deal with the next tasks of an operation, shard by shard, at most `limit` and what its rate allows."""
        found = await self._router.in_turn(
            limit,
            lambda store, left: store.bulks.advance_bulk(bulk, limit=left),
            count=lambda advanced: 0 if advanced is None else len(advanced.changed),
        )
        changed = [each for advanced in found if advanced is not None for each in advanced.changed]
        if all(advanced is None for advanced in found):
            return None
        return Advanced(view=await self.get_bulk(bulk), changed=tuple(changed))

    async def abort_bulk(self, bulk: BulkId, *, tenant: str | None = None) -> BulkView:
        """Deal with no more tasks of an operation. Raises `NotFound`, and `Conflict` if it has ended everywhere.

        A shard that cannot be reached makes it `Unavailable` after the others have aborted: repeat it.
        """

        async def abort(store: Store) -> BulkView | NotFound | Conflict:
            try:
                return await store.bulks.abort_bulk(bulk, tenant=tenant)
            except (NotFound, Conflict) as error:
                return error

        found = await self._router.all(abort)
        if not any(isinstance(answer, BulkView) for answer in found):
            raise next((each for each in found if isinstance(each, Conflict)), _not_there(bulk))
        return await self.get_bulk(bulk, tenant=tenant)

    async def take_back_bulk(self, bulk: BulkId) -> None:
        """Abort an operation, if it was or is being stored, and has not ended."""
        await self._router.all(lambda store: store.bulks.take_back_bulk(bulk))

    async def get_bulk(self, bulk: BulkId, *, tenant: str | None = None) -> BulkView:
        """Return an operation, or raise `NotFound`."""
        parts = [view for _, view in await self._parts(bulk, tenant) if view is not None]
        if not parts:
            raise _not_there(bulk)
        return _together(parts)

    async def bulks(
        self,
        *,
        tenant: str | None = None,
        states: frozenset[BulkState] = frozenset(),
        limit: int,
        before: BulkId | None = None,
    ) -> list[BulkView]:
        """Return operations, newest first, starting below `before`."""
        if not states:
            return await self._page(tenant, limit, before)
        # The state of an operation is known only when all its parts are: so none is left out by a shard.
        found: list[BulkView] = []
        while len(found) < limit:
            page = await self._page(tenant, PAGE, before)
            found += [view for view in page if view.state in states]
            if len(page) < PAGE:
                break
            before = page[-1].id
        return found[:limit]

    async def bulk_items(
        self,
        bulk: BulkId,
        *,
        outcomes: frozenset[ItemOutcome] = frozenset(),
        limit: int,
        after: int = 0,
        tenant: str | None = None,
    ) -> list[BulkItem]:
        """Return the tasks of an operation in their order, behind a place; those with certain outcomes, if named."""
        items: list[BulkItem] = []
        first = 0
        stores = {member.name: member.store for member in self._router.shards}
        for name, view in await self._parts(bulk, tenant):
            if view is None:
                continue
            if after < first + view.total and len(items) < limit:
                found = await stores[name].bulks.bulk_items(
                    bulk, outcomes=outcomes, limit=limit - len(items), after=max(after - first, 0), tenant=tenant
                )
                items += [replace(item, seq=item.seq + first) for item in found]
            first += view.total
        return items

    async def running_bulks(self) -> list[BulkId]:
        """Return the operations that have not ended, oldest first."""
        found = await self._router.each(lambda store: store.bulks.running_bulks())
        return sorted({bulk for bulks in found for bulk in bulks})

    async def prune_bulks(self, *, ended_before: Instant) -> int:
        """Forget operations that ended before a time, and causes of failures that were last seen before it.

        Returns how many parts of operations that were in the shard that had the most.
        """
        return max(await self._router.all(lambda store: store.bulks.prune_bulks(ended_before=ended_before)))

    async def _count_found(self, which: DeadLetterFilter, most: int) -> dict[str, int]:
        names = [member.name for member in self._router.shards]
        found = await self._router.all(lambda store: store.bulks.survey(which, most=most))
        return {name: survey.count for name, survey in zip(names, found, strict=True)}

    async def _take_back(self, members: Sequence[Member], bulk: BulkId) -> None:
        """Abort an operation that was not stored in every shard, also if its request is cancelled meanwhile."""
        aborting = asyncio.gather(*(_take_back(member, bulk) for member in members))
        try:
            await asyncio.shield(aborting)
        except asyncio.CancelledError:
            await aborting  # it takes seconds at most, and nobody else knows of it
            raise

    async def _parts(self, bulk: BulkId, tenant: str | None) -> list[tuple[str, BulkView | None]]:
        """Return an operation as each shard has it, with the names of the shards, in their order."""

        async def part(store: Store) -> BulkView | None:
            try:
                return await store.bulks.get_bulk(bulk, tenant=tenant)
            except NotFound:
                return None

        return await self._router.each_by_name(part)

    async def _page(self, tenant: str | None, limit: int, before: BulkId | None) -> list[BulkView]:
        parts: dict[BulkId, list[BulkView]] = {}
        for views in await self._router.each(
            lambda store: store.bulks.bulks(tenant=tenant, limit=limit, before=before)
        ):
            for view in views:
                parts.setdefault(view.id, []).append(view)
        return [_together(parts[bulk]) for bulk in sorted(parts, reverse=True)[:limit]]


async def _take_back(member: Member, bulk: BulkId) -> None:
    try:
        async with asyncio.timeout(TAKE_BACK_SECONDS):
            await member.store.bulks.take_back_bulk(bulk)
    except (DrumlineError, TimeoutError) as error:  # it is away: what it has of the operation goes on there
        log.warning("bulk.not_taken_back", shard=member.name, bulk=bulk, error=str(error))


def _not_there(bulk: BulkId) -> NotFound:
    return NotFound(f"there is no bulk operation {bulk}", field="id")


def _together(parts: Sequence[BulkView]) -> BulkView:
    """Return an operation from its parts."""
    states = {part.state for part in parts}
    ends = [part.finished_at for part in parts if part.finished_at is not None]
    rates = [part.rate for part in parts if part.rate is not None]
    return replace(
        parts[0],
        state=next(state for state in (BulkState.RUNNING, BulkState.ABORTED, BulkState.COMPLETED) if state in states),
        rate=round(sum(rates), 6) if rates else None,
        total=sum(part.total for part in parts),
        done=sum(part.done for part in parts),
        skipped=sum(part.skipped for part in parts),
        failed=sum(part.failed for part in parts),
        created_at=min(part.created_at for part in parts),
        finished_at=max(ends) if len(ends) == len(parts) else None,
    )
