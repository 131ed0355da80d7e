"""The failure inbox: groups of failures with what people decided about them."""

from collections.abc import Collection, Sequence
from typing import Final

from msgspec import Struct

from drumline.core.clock import Clock, Instant
from drumline.core.errors import Invalid
from drumline.core.filters import Filter
from drumline.core.triage import GroupState, Triage, TriageChange, group_state
from drumline.engine.dead_letters import DeadLetterService, group_cursor
from drumline.ports.dead_letters import DeadLetterFilter, DeadLetterGroup, GroupOrder, Trend
from drumline.ports.store import Store

HOUR: Final = 3_600_000
TREND_HOURS: Final = 24
MOST_TRENDS: Final = 100
"""Groups whose trend is read for one page."""
MOST_PAGES: Final = 10
"""Pages that are read for one page of a state: it may be short, or empty, and still be followed by others."""


class InboxGroup(Struct, frozen=True, kw_only=True):
    """A group, and where it stands."""

    group: DeadLetterGroup
    state: GroupState
    triage: Triage | None
    trend: tuple[int, ...] | None = None
    """How many failed in each of the last 24 hours, the earliest first; None if it was not asked for."""


class InboxPage(Struct, frozen=True):
    """A stretch of the list of groups, and the cursor that continues it."""

    items: tuple[InboxGroup, ...]
    next_cursor: str | None


class InboxQuery(Struct, frozen=True, kw_only=True):
    """Which groups to list."""

    which: DeadLetterFilter
    home: str
    """The tenant under which decisions are kept."""
    states: Collection[GroupState] = ()
    """Only groups in one of these; empty for all."""
    order: GroupOrder = GroupOrder.LAST_SEEN
    limit: int = 100
    cursor: str | None = None
    trend: bool = False
    also: Filter | None = None
    """What else has to hold."""

    def wants(self, each: InboxGroup) -> bool:
        """Tell whether a group is one of those to list."""
        return (
            (not self.states or each.state in self.states)
            and (self.which.since is None or each.group.last_at >= self.which.since)
            and (self.which.until is None or each.group.first_at < self.which.until)
            and (self.also is None or self.also.matches(each, self.also.now))
        )

    def has_passed(self, groups: Sequence[InboxGroup]) -> bool:
        """Tell whether no group after these can be one of those to list."""
        since = self.which.since
        is_by_time = since is not None and self.order is GroupOrder.LAST_SEEN and bool(groups)
        return is_by_time and since is not None and groups[-1].group.last_at < since


class FailureInbox:
    """Groups with what was decided about them, and decisions."""

    def __init__(self, store: Store, letters: DeadLetterService, clock: Clock) -> None:
        self._store = store
        self._letters = letters
        self._clock = clock

    async def groups(self, query: InboxQuery) -> InboxPage:
        """Return a page of groups; with states it may be shorter than the limit, and have a cursor nevertheless."""
        if query.trend and query.limit > MOST_TRENDS:
            raise Invalid(f"must be at most {MOST_TRENDS} with `trend`", field="limit")
        found: list[InboxGroup] = []
        cursor = query.cursor
        for _ in range(MOST_PAGES):
            page = await self._letters.groups(query.which, order=query.order, limit=query.limit, cursor=cursor)
            judged = await self._judged(page.items, query.home)
            found += [each for each in judged if query.wants(each)]
            cursor = None if query.has_passed(judged) else page.next_cursor
            if cursor is None or len(found) >= query.limit:
                break
        if len(found) > query.limit:
            found = found[: query.limit]
            cursor = group_cursor(found[-1].group, query.order)
        items = await self._with_trends(found, query.which.tenant) if query.trend else found
        return InboxPage(tuple(items), cursor)

    async def group(self, fingerprint: str, *, tenant: str | None, home: str) -> InboxGroup:
        """Return one group with its trend, or raise `NotFound`."""
        group = await self._letters.group(fingerprint, tenant=tenant)
        (found,) = await self._with_trends(await self._judged((group,), home), tenant)
        return found

    async def decide(self, fingerprint: str, change: TriageChange, *, tenant: str | None, home: str) -> InboxGroup:
        """Change what was decided about a group, and return it; `NotFound` if it has no failures."""
        await self._letters.group(fingerprint, tenant=tenant)
        await self._store.triages.change_triage(fingerprint, change, tenant=home)
        return await self.group(fingerprint, tenant=tenant, home=home)

    async def _judged(self, groups: tuple[DeadLetterGroup, ...], home: str) -> list[InboxGroup]:
        if not groups:
            return []
        triages = await self._store.triages.find_triages([group.fingerprint for group in groups], tenant=home)
        now = self._clock.now()
        judged = []
        for group in groups:
            triage = triages.get(group.fingerprint)
            state = group_state(triage, last_at=group.last_at, now=now)
            judged.append(InboxGroup(group=group, state=state, triage=triage))
        return judged

    async def _with_trends(self, found: list[InboxGroup], tenant: str | None) -> list[InboxGroup]:
        if not found:
            return found
        hour = self._clock.now() // HOUR
        trend = Trend(since=Instant((hour - TREND_HOURS + 1) * HOUR), step=HOUR, count=TREND_HOURS)
        fingerprints = [each.group.fingerprint for each in found]
        trends = await self._store.dead_letters.group_trends(fingerprints, trend, tenant=tenant)
        none = (0,) * TREND_HOURS
        return [
            InboxGroup(
                group=each.group,
                state=each.state,
                triage=each.triage,
                trend=tuple(trends.get(each.group.fingerprint, none)),
            )
            for each in found
        ]
