"""Dead letters: each is where its task is; those of one cause make one group over all shards."""

from collections.abc import Sequence
from typing import Final

from drumline.core.dead_letter import Reason
from drumline.core.errors import Conflict, NotFound
from drumline.core.ids import TaskId
from drumline.ports.changed import Changed
from drumline.ports.dead_letters import (
    DeadLetter,
    DeadLetterFilter,
    DeadLetterGroup,
    GroupMark,
    GroupOrder,
    Mark,
    PayloadEdit,
    Trend,
)
from drumline.shards.asking import is_not_found
from drumline.shards.parts.merging import Part, merged

MOST_GROUPS: Final = 10_000
"""Groups that are read of one shard. The store counts every group anyway, whatever number is asked for."""


class DeadLetters(Part):
    """`ports.dead_letters.DeadLetters`."""

    async def dead_letters(
        self, which: DeadLetterFilter, *, limit: int, before: Mark | None = None
    ) -> list[DeadLetter]:
        """Return dead letters, the latest first, starting below `before`."""
        lists = await self._router.each(
            lambda store: store.dead_letters.dead_letters(which, limit=limit, before=before)
        )
        return merged(lists, limit=limit, key=lambda letter: (letter.at, letter.task))

    async def get_dead_letters(self, tasks: Sequence[TaskId], *, tenant: str | None = None) -> list[DeadLetter | None]:
        """Return the dead letters of tasks; None for those that have none (for this tenant)."""
        return await self._router.split(
            tasks,
            lambda store, part: store.dead_letters.get_dead_letters(part, tenant=tenant),
            is_absent=lambda letter: letter is None,
        )

    async def dead_letter_groups(
        self,
        which: DeadLetterFilter,
        *,
        limit: int,
        order: GroupOrder = GroupOrder.LAST_SEEN,
        before: GroupMark | None = None,
    ) -> list[DeadLetterGroup]:
        """Return groups of one fingerprint each, starting below `before`.

        A group may be anywhere in the list of a shard, whatever its place among all: so every shard's groups are read.
        """

        def place(group: DeadLetterGroup) -> tuple[int, str]:
            return (group.count if order is GroupOrder.COUNT else group.last_at), group.fingerprint

        groups: dict[str, DeadLetterGroup] = {}
        for found in await self._router.each(
            lambda store: store.dead_letters.dead_letter_groups(which, limit=MOST_GROUPS, order=order)
        ):
            for group in found:
                known = groups.get(group.fingerprint)
                groups[group.fingerprint] = group if known is None else _together(known, group)
        ranked = sorted(groups.values(), key=place, reverse=True)
        mark = None if before is None else (before.value, before.fingerprint)
        return [group for group in ranked if mark is None or place(group) < mark][:limit]

    async def group_trends(
        self, fingerprints: Sequence[str], trend: Trend, *, tenant: str | None = None
    ) -> dict[str, list[int]]:
        """Return for each group how many of its dead letters are of each stretch of time, the earliest first."""
        trends: dict[str, list[int]] = {}
        for found in await self._router.each(
            lambda store: store.dead_letters.group_trends(fingerprints, trend, tenant=tenant)
        ):
            for fingerprint, counts in found.items():
                known = trends.get(fingerprint, [0] * trend.count)
                trends[fingerprint] = [min(trend.most, sum(pair)) for pair in zip(known, counts, strict=True)]
        return trends

    async def discard(
        self, tasks: Sequence[TaskId], *, tenant: str | None = None
    ) -> list[Changed | NotFound | Conflict]:
        """Resolve dead letters and leave their tasks failed; `Conflict` for a task that has none."""
        return await self._router.split(
            tasks, lambda store, part: store.dead_letters.discard(part, tenant=tenant), is_absent=is_not_found
        )

    async def reasons(self, deaths: Sequence[tuple[TaskId, int]]) -> list[Reason | None]:
        """Return why attempts, given by task and number, were the last of their tasks; None where that is not known."""
        return await self._router.split(
            deaths, lambda store, part: store.dead_letters.reasons(part), key=lambda death: death[0]
        )

    async def payload_edits(self, task: TaskId, *, tenant: str | None = None) -> list[PayloadEdit]:
        """Return what a task was given before, oldest first."""
        return await self._router.one(task, lambda store: store.dead_letters.payload_edits(task, tenant=tenant))


def _together(one: DeadLetterGroup, other: DeadLetterGroup) -> DeadLetterGroup:
    """Return a group as two shards have it together."""
    return DeadLetterGroup(
        fingerprint=one.fingerprint,
        kind=min(one.kind, other.kind),
        message=min(one.message, other.message),
        count=one.count + other.count,
        first_at=min(one.first_at, other.first_at),
        last_at=max(one.last_at, other.last_at),
        names=tuple(sorted({*one.names, *other.names})),
        queues=tuple(sorted({*one.queues, *other.queues})),
        example=max((one, other), key=lambda group: group.last_at).example or one.example or other.example,
    )
