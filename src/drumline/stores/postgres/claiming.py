"""Leasing due tasks to sessions."""

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Raw
from msgspec.structs import replace

from drumline.core.clock import Instant
from drumline.core.errors import Unavailable
from drumline.core.ids import TaskId
from drumline.core.lease import Lease
from drumline.core.priority import score
from drumline.core.state import Act
from drumline.core.task import DEFAULT_OPTIONS, ClaimedTask, decode_options
from drumline.ports.store import Claim, ClaimRequest
from drumline.stores.driver import Line, Transaction
from drumline.stores.parts.limits import write_slots
from drumline.stores.postgres.acts import NUMBER_OF
from drumline.stores.postgres.connection import Rows
from drumline.stores.postgres.cursors import LanePosition
from drumline.stores.postgres.limiting import Limiting

Able = tuple[tuple[str, ...], tuple[str, ...], str | None]
"""What a request can run: queues, names, tenant."""
Kind = tuple[Able, bool]
"""What requests have in common that are served together: what they can run, and whether it is under limits."""
Numbered = tuple[int, ClaimRequest]
"""A request and its place in the call."""
Ranked = tuple[int, TaskId, ClaimedTask]
"""A task after what it is ranked by: its score, then its id."""

MOST_AT_ONCE = 10_000
LARGE = Raw()
"""Stands for a payload that did not come with the claim."""
LARGEST_ANSWER = 16 * 1024 * 1024
"""Bytes of large payloads that one answer carries; the tasks of the others have to be released."""
TENANTS_LAST = 0.2
"""Seconds after which it is asked again whether there are several tenants."""


class Claiming(Limiting):
    """The claiming part of `ports.store.Executing` on PostgreSQL."""

    async def claim(self, requests: Sequence[ClaimRequest]) -> list[Claim]:
        """Give each request due tasks that it can run, best score first, and lease them to its session."""
        try:
            return await self._claim(requests, again=False)
        except Unavailable as error:
            if isinstance(error.__cause__, TimeoutError):
                raise  # asking again would wait as long again
            # The claim may have been kept although its answer was lost; then these are the tasks to run.
            return await self._claim(requests, again=True)

    async def _claim(self, requests: Sequence[ClaimRequest], *, again: bool) -> list[Claim]:
        taken: defaultdict[int, list[Ranked]] = defaultdict(list)
        alike: defaultdict[Kind, list[Numbered]] = defaultdict(list)
        for place, request in enumerate(requests):
            if again or request.again:
                await self._hand_over_again((place, request), taken)
            if not taken.get(place):
                alike[(request.queues, request.names, request.tenant), request.limited].append((place, request))
        claims = await self._answers({place: ranked for place, ranked in taken.items() if ranked})
        for (able, limited), group in alike.items():
            try:
                claims |= await (self._claim_limited(able, group) if limited else self._claim_alike(able, group))
            except Unavailable:
                if not claims:
                    raise
                break  # what was claimed is leased: it has to be handed over, whatever became of the rest
        return [claims.get(place, Claim(())) for place in range(len(requests))]

    async def _claim_alike(self, able: Able, group: list[Numbered]) -> dict[int, Claim]:
        """Claim for requests that can run the same."""
        hinted = [numbered for numbered in group if numbered[1].hints is not None]
        choosing = [numbered for numbered in group if numbered[1].hints is None]
        taken: defaultdict[int, list[Ranked]] = defaultdict(list)
        rounds = 0
        while remaining := _next_hints(hinted, taken, rounds):
            await self._claim_hinted(able, group, remaining, taken)
            rounds += 1
        if choosing:
            await self._claim_due(able, choosing, taken)
        claims = await self._answers({place: taken[place] for place, _ in group})
        hungry = [place for place, _ in choosing if not taken[place]]
        if hungry:
            ((next_due,),) = await self._database.fetch(
                Line.CLAIM, "next_due", repeat=True, **_ability(able), now=self._now()
            )
            claims |= {place: Claim((), next_due) for place in hungry}
        return claims

    async def _claim_hinted(
        self,
        able: Able,
        group: list[Numbered],
        hints: dict[TaskId, int],
        taken: defaultdict[int, list[Ranked]],
    ) -> None:
        if len(hints) == len(group) == 1:
            await self._claim_lone(able, group, next(iter(hints)), taken)
            return
        numbers = {place: number for number, (place, _) in enumerate(group, 1)}
        tasks = sorted(hints)
        places = [numbers[hints[task]] for task in tasks] if len(group) > 1 else ()
        columns = self._hinted_columns(able, [request for _, request in group], tasks, places)
        await self._hand_over(await self._database.fetch(Line.CLAIM, "claim_hinted", **columns), group, taken)

    async def _claim_lone(
        self, able: Able, group: list[Numbered], hint: TaskId, taken: defaultdict[int, list[Ranked]]
    ) -> None:
        ((_, request),) = group
        rows = await self._database.fetch(Line.CLAIM, "claim_lone", **self._lone_columns(able, request, hint))
        await self._hand_over(rows, group, taken)

    async def _lease_released(self, transaction: Transaction, request: ClaimRequest) -> Rows:
        """Lease tasks to a claim in the transaction that has released them: those of its hints that it may be given."""
        able, tasks = (request.queues, request.names, request.tenant), sorted(request.hints or ())
        if len(tasks) == 1:
            return await transaction.fetch("claim_lone", **self._lone_columns(able, request, tasks[0]))
        return await transaction.fetch("claim_hinted", **self._hinted_columns(able, [request], tasks))

    async def _claimed(self, request: ClaimRequest, rows: Rows) -> Claim:
        """Return what a claim was given."""
        taken: defaultdict[int, list[Ranked]] = defaultdict(list)
        await self._hand_over(rows, [(0, request)], taken)
        return (await self._answers(taken))[0]

    def _hinted_columns(
        self,
        able: Able,
        requests: Sequence[ClaimRequest],
        tasks: Sequence[TaskId],
        places: Sequence[int] = (),
        *,
        limited: bool = False,
    ) -> dict[str, Any]:
        """Return the parameters of `claim_hinted`; `places` has the request of each task, if there are several."""
        return {
            "sessions": [request.session for request in requests],
            "nonces": [request.nonce for request in requests],
            "hints": tasks,
            "requests": places,
            **_ability(able),
            "act": NUMBER_OF[Act.CLAIM],
            "limited": limited,
            "now": self._now(),
        }

    def _lone_columns(self, able: Able, request: ClaimRequest, hint: TaskId) -> dict[str, Any]:
        """Return the parameters of `claim_lone`."""
        return {
            "session": request.session,
            "nonce": request.nonce,
            "hint": hint,
            **_ability(able),
            "act": NUMBER_OF[Act.CLAIM],
            "now": self._now(),
        }

    async def _claim_limited(self, able: Able, group: list[Numbered]) -> dict[int, Claim]:
        """Claim tasks under limits for requests that can run the same: choose, lease and note the slots in one."""
        requests = [request for _, request in group]

        async def act(transaction: Transaction) -> tuple[Rows, Instant | None]:
            choice = await self._choose_limited(transaction, _ability(able), requests)
            if not choice.chosen:
                return [], choice.next_at
            tasks = sorted(candidate.task for candidate in choice.chosen)
            places = _shared_out(tasks, requests) if len(group) > 1 else ()
            columns = self._hinted_columns(able, requests, tasks, places, limited=True)
            rows = await transaction.fetch("claim_hinted", **columns)
            counted = {candidate.task: candidate.slots for candidate in choice.chosen}
            epochs = {TaskId(str(row[1])): row[4] for row in rows}
            slots = [(limit, key, task, epoch, None) for task, epoch in epochs.items() for limit, key in counted[task]]
            await write_slots(transaction, slots, self._now())
            return rows, choice.next_at

        rows, next_at = await self._database.transact(Line.CLAIM, act)
        taken: defaultdict[int, list[Ranked]] = defaultdict(list)
        await self._hand_over(rows, group, taken)
        return await self._answers({place: taken[place] for place, _ in group}, next_at)

    async def _claim_due(self, able: Able, group: list[Numbered], taken: defaultdict[int, list[Ranked]]) -> None:
        places = self._cursors.places()
        missing = await self._look(able, group, taken, places)
        if missing and places and self._cursors.may_look():
            await self._look(able, group, taken, {})

    async def _look(
        self, able: Able, group: list[Numbered], taken: defaultdict[int, list[Ranked]], places: dict[int, LanePosition]
    ) -> int:
        """Claim what is still wanted, beginning at `places`; return how much that found too little."""
        limits = [max(0, min(request.limit, MOST_AT_ONCE) - len(taken[place])) for place, request in group]
        shares = group[-1][1].shares
        began = time.monotonic()
        is_shared = able[2] is None and await self._has_tenants()
        standing: dict[str, Any] = {
            "share_tenants": [share.tenant for share in shares],
            "share_levels": [share.level for share in shares],
            "share_steps": [share.step for share in shares],
        }
        rows = await self._database.fetch(
            Line.CLAIM,
            "claim_shared" if is_shared else "claim_due",
            sessions=[request.session for _, request in group],
            nonces=[request.nonce for _, request in group],
            limits=limits,
            **(standing if is_shared else {}),
            cursor_lanes=list(places),
            cursor_due_at=[place.due_at for place in places.values()],
            cursor_tasks=[place.task for place in places.values()],
            **_ability(able),
            act=NUMBER_OF[Act.CLAIM],
            now=self._now(),
        )
        if not places:
            self._cursors.looked(began)
        self._cursors.found(_firsts(rows))
        await self._hand_over(rows, group, taken)
        return sum(limits) - len(rows)

    async def _has_tenants(self) -> bool:
        """Tell whether there are tasks of several tenants: once there are, there always will be."""
        if self._are_tenants or len(self._lanes.tenants) > 1:
            return True
        now = time.monotonic()
        if now - self._tenants_at > TENANTS_LAST:
            self._tenants_at = now
            ((self._are_tenants,),) = await self._database.fetch(Line.CLAIM, "has_tenants", repeat=True)
        return self._are_tenants

    async def _hand_over(self, rows: Rows, group: list[Numbered], taken: defaultdict[int, list[Ranked]]) -> None:
        lanes = await self._lanes.lanes({row[2] for row in rows})
        for number, task, lane_number, due_at, epoch, attempt, payload, options, records in rows:
            place, request = group[number - 1]
            lane = lanes[lane_number]
            id_ = TaskId(str(task))
            claimed = ClaimedTask(
                lease=Lease(id_, epoch, request.nonce),
                name=lane.name,
                queue=lane.queue,
                payload=LARGE if payload is None else Raw(payload),
                attempt=attempt,
                priority=lane.priority,
                tenant=lane.tenant,
                options=DEFAULT_OPTIONS if options is None else decode_options(options),
                recorded=records,
            )
            taken[place].append((score(due_at, lane.priority), id_, claimed))

    async def _answers(self, taken: Mapping[int, list[Ranked]], next_due: Instant | None = None) -> dict[int, Claim]:
        """Return what requests were given as answers to them, best first and with the large payloads, if they fit."""
        for ranked in taken.values():
            ranked.sort()
        large = [task.lease.task for ranked in taken.values() for _, _, task in ranked if task.payload is LARGE]
        if not large:
            return {place: Claim(tuple([task for _, _, task in ranked]), next_due) for place, ranked in taken.items()}
        rows = await self._database.fetch(Line.CLAIM, "large_payloads", repeat=True, ids=large, most=LARGEST_ANSWER)
        read = {TaskId(str(task)): Raw(payload) for task, payload in rows}
        return {place: _filled([task for _, _, task in ranked], read, next_due) for place, ranked in taken.items()}

    async def _hand_over_again(self, numbered: Numbered, taken: defaultdict[int, list[Ranked]]) -> None:
        """Give a request what it was given before, if it is one whose answer was lost."""
        _, request = numbered
        rows = await self._database.fetch(
            Line.CLAIM, "claimed_before", repeat=True, session=request.session, nonce=request.nonce
        )
        await self._hand_over(rows, [numbered], taken)


def _ability(able: Able) -> dict[str, Any]:
    queues, names, tenant = able
    return {"queues": queues, "names": names, "tenant": tenant}


def _shared_out(tasks: Sequence[TaskId], requests: Sequence[ClaimRequest]) -> list[int]:
    """Return for each task the number of the request that it is for: served in order, each as far as it wants."""
    numbers = [number for number, request in enumerate(requests, 1) for _ in range(request.limit)]
    return numbers[: len(tasks)]


def _next_hints(hinted: list[Numbered], taken: dict[int, list[Ranked]], rounds: int) -> dict[TaskId, int]:
    """Return the hints to try next, each for one request: as many as its limit at a time, until it has enough."""
    hints: dict[TaskId, int] = {}
    for place, request in hinted:
        if len(taken.get(place, ())) < request.limit:
            following = (request.hints or ())[rounds * request.limit : (rounds + 1) * request.limit]
            if not hints:
                hints = dict.fromkeys(following, place)
                continue
            for task in following:
                hints.setdefault(task, place)
    return hints


def _firsts(rows: Rows) -> dict[int, LanePosition]:
    """Return a place in each lane before which this claim left nothing: whatever row comes first will do."""
    firsts: dict[int, LanePosition] = {}
    for row in rows:
        lane = row[2]
        if lane not in firsts:
            firsts[lane] = LanePosition(row[3], str(row[1]))
    return firsts


def _filled(tasks: Sequence[ClaimedTask], read: Mapping[TaskId, Raw], next_due: Instant | None) -> Claim:
    """Return an answer with large payloads in their places; what has none is left."""
    whole = [
        task if task.payload is not LARGE else replace(task, payload=read[task.lease.task])
        for task in tasks
        if task.payload is not LARGE or task.lease.task in read
    ]
    left = tuple(task.lease for task in tasks if task.payload is LARGE and task.lease.task not in read)
    return Claim(tuple(whole), next_due, left)
