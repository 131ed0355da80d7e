"""All shards as a worker sees them: one gateway, with a session of the same id in each.

A shard that is away costs its own tasks only: others are claimed, beaten for and settled meanwhile.
"""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from random import SystemRandom
from typing import Any, Final, TypeVar

from msgspec.structs import replace

from drumline.core.attempt import ProgressNote
from drumline.core.children import ChildRequests, OutcomePage, StartedIds
from drumline.core.durable import Answered, NewRecord, Record, RecordPage, RestartRequest, WaitRequest
from drumline.core.errors import DrumlineError, Fenced, NotFound, Overloaded, Unavailable
from drumline.core.ids import SessionId, TaskId, session_text
from drumline.core.lease import Lease
from drumline.core.mapping import AllowTask
from drumline.core.session import Beat, BeatReply, SessionSpec, Stops
from drumline.core.state import State
from drumline.core.task import ClaimedTask
from drumline.engine.gateway import LocalGateway
from drumline.ports.gateway import NOTHING_HELD, Acknowledged, Report
from drumline.ports.sessions import Left
from drumline.ports.store import Artifact, LogChunk
from drumline.shards.claim import ClaimTerms, ShardedClaim
from drumline.shards.claim_order import ClaimOrders
from drumline.shards.lease_homes import LeaseHomes
from drumline.shards.shard_set import Shard, ShardSet

T = TypeVar("T")
Item = TypeVar("Item")
Leased = TypeVar("Leased", Report, NewRecord)
Answer = TypeVar("Answer")

SHARD_SECONDS: Final = 10.0
"""Seconds after which a shard that does not answer a report counts as away; the report is repeated."""
OPEN_SECONDS: Final = 3.0
"""The same for opening a session."""
BEAT_SECONDS: Final = 2.0
"""The same for a heartbeat, whose sender waits four seconds for the answers of all."""
PASSING: Final = (Unavailable, Overloaded)

_random = SystemRandom()


class ShardedGateway:
    """`ports.gateway.ServerGateway` over the engines of all shards."""

    def __init__(self, shards: ShardSet) -> None:
        self._shards = shards
        self._lone = LocalGateway(shards.directory.engine)
        """The gateway while there is one shard."""
        self._homes = LeaseHomes(shards)
        self._orders = ClaimOrders()
        self._claims: set[ShardedClaim] = set()
        self._slow: set[asyncio.Task[Any]] = set()
        """Calls of shards that were not waited for to the end."""
        self._was_lone = shards.is_lone
        shards.on_change(self._shards_changed)

    async def open_session(self, spec: SessionSpec) -> SessionId:
        """Register in every shard that can be reached; the first of them, mostly the directory, tells of the worker."""
        if self._shards.is_lone:
            return await self._lone.open_session(spec)
        session = SessionId(_random.getrandbits(63))
        shards, answer = list(self._shards), Unavailable("no shard can be reached")
        while shards:
            first = shards.pop(0)
            opened = await self._in_each(
                [first], lambda shard: shard.engine.sessions.open(spec, session), seconds=OPEN_SECONDS
            )
            told = opened[first.name]
            if not isinstance(told, DrumlineError):
                await self._in_each(shards, lambda shard: self._ensure(shard, session, spec), seconds=OPEN_SECONDS)
                return session
            if not isinstance(told, Unavailable):
                raise told
            answer = told
        raise answer

    async def spec(self, session: SessionId) -> SessionSpec:
        """Return what a session can run, or raise `NotFound` if it is open in no shard that can be reached."""
        for shard in self._shards:
            known = shard.engine.sessions.known(session)
            if known is not None:
                return known
        error: DrumlineError | None = None
        for shard in self._shards:
            try:
                return await shard.engine.sessions.spec(session)
            except NotFound as unknown:
                error = unknown
            except Unavailable as away:
                self._shards.note_away(shard.name)
                error = error or away
        raise error or NotFound(f"worker {session_text(session)} has no open session", field="session")

    async def claim(
        self,
        session: SessionId,
        *,
        limit: int,
        wait: float,
        held: Mapping[str, int] = NOTHING_HELD,
        queues: tuple[str, ...] | None = None,
    ) -> Sequence[ClaimedTask]:
        """Return up to `limit` tasks, waiting up to `wait` seconds for the first."""
        if self._shards.is_lone:
            return await self._lone.claim(session, limit=limit, wait=wait, held=held, queues=queues)
        try:
            spec = await self.spec(session)
        except NotFound:
            return ()
        self.note_held(session, held)
        if queues is not None:
            spec = replace(spec, queues=queues)
        return await self.claim_as(session, spec, limit=limit, wait=wait)

    async def claim_as(
        self,
        session: SessionId,
        spec: SessionSpec,
        *,
        limit: int,
        wait: float,
        nonce: int | None = None,
        again: bool = False,
    ) -> Sequence[ClaimedTask]:
        """Return up to `limit` tasks that `spec` says the session can run; `nonce` names the claim in every shard."""
        if self._shards.is_lone:
            return await self._lone.claim_as(session, spec, limit=limit, wait=wait, nonce=nonce, again=again)
        name = _random.getrandbits(63) if nonce is None else nonce
        terms = ClaimTerms(session=session, spec=spec, limit=limit, nonce=name)
        claim = ShardedClaim(
            self._shards,
            terms,
            self._orders.of(spec),
            self._homes,
            is_open=lambda shard: self._is_open(shard, session, spec),
        )
        self._claims.add(claim)
        try:
            return (await claim.repeat() if again else None) or await claim.run(wait)
        finally:
            # Not now: each shard that is left takes its turn of the event loop, and the task given begins before them.
            asyncio.get_running_loop().call_soon(self._leave, claim)

    def _leave(self, claim: ShardedClaim) -> None:
        claim.leave()
        self._claims.discard(claim)

    def note_held(self, session: SessionId, held: Mapping[str, int]) -> None:
        """Note how many tasks of each tenant a worker says it holds, in all shards together."""
        for shard in self._shards:
            shard.engine.claims.note_held(session, held)

    async def change_session(self, session: SessionId, *, queues: tuple[str, ...], capacity: int) -> None:
        """Say what the worker serves from now on."""
        await self._in_any(
            lambda shard: LocalGateway(shard.engine).change_session(session, queues=queues, capacity=capacity)
        )

    async def leave(self, session: SessionId) -> bool:
        """Leave in order because of a request to drain; False if that was undone in every shard.

        The first shard that still asks the worker to drain closes the session, and so decides: undoing it there comes
        too late from then on. The worker stays only if every shard has said so: one that does not answer may be about
        to close the session, and says that it has when it is asked again.
        """
        if self._shards.is_lone:
            return await self._lone.leave(session)
        answers: dict[str, Left | DrumlineError] = {}
        for each in self._shards:
            answers |= await self._in_each(
                [each], lambda shard: shard.engine.sessions.leave(session), seconds=BEAT_SECONDS
            )
            if answers[each.name] is Left.CLOSED:
                await self.close_session(session)
                return True
        if Left.KEPT not in answers.values():
            _raise_if_all_failed(answers)
            return True
        if any(isinstance(answer, DrumlineError) for answer in answers.values()):
            raise _first_error(answers)
        return False

    async def close_session(self, session: SessionId) -> None:
        """Leave in order; a shard that is away reaps the session later."""
        await self._in_any(lambda shard: LocalGateway(shard.engine).close_session(session))

    async def beat(self, beat: Beat) -> BeatReply:
        """Say what is held, each shard its own, and learn what was lost or should stop.

        The session is open if one shard says so. Where it was reaped, the leases are lost and it is opened again. A
        lease that several shards may have is told to all of them: one that has it and is not told frees it.
        """
        if self._shards.is_lone:
            return await self._lone.beat(beat)
        homes = dict(zip(beat.held, await self._homes.possible(beat.held), strict=True))
        replies = await self._in_each(
            self._shards,
            lambda shard: LocalGateway(shard.engine).beat(
                replace(beat, held=tuple(lease for lease in beat.held if shard.name in homes[lease]))
            ),
            seconds=BEAT_SECONDS,
        )
        told = {name: reply for name, reply in replies.items() if not isinstance(reply, DrumlineError)}
        if not told:
            raise _first_error(replies)
        if not any(reply.is_open for reply in told.values()):
            return BeatReply(is_open=False, lost=tuple(lease.task for lease in beat.held))
        await self._open_again(beat.session, [name for name, reply in told.items() if not reply.is_open])
        return BeatReply(
            is_open=True,
            lost=await self._really_lost(homes, {name: frozenset(reply.lost) for name, reply in told.items()}),
            cancelled=tuple(task for reply in told.values() for task in reply.cancelled),
            should_drain=any(reply.should_drain for reply in told.values()),
        )

    async def stops(self, session: SessionId, held: Sequence[Lease], *, wait: float) -> Stops:
        """Return which attempts should stop now, waiting until there may be some in any shard."""
        if self._shards.is_lone:
            return await self._lone.stops(session, held, wait=wait)
        parts = await self._by_home(held, held)
        if not parts:
            return await LocalGateway(self._shards.directory.engine).stops(session, (), wait=wait)
        asking = [
            asyncio.create_task(
                LocalGateway(shard.engine).stops(session, part, wait=wait), name=f"stops in {shard.name}"
            )
            for name, part in parts.items()
            if (shard := self._reachable(name)) is not None
        ]
        return await _first_stops(asking)

    async def settle(self, reports: Sequence[Report]) -> Sequence[Acknowledged]:
        """Report ends of attempts; those whose shard is away are answered with `Unavailable`."""
        if self._shards.is_lone:
            return await self._lone.settle(reports)
        return _acknowledged(await self._told(reports, lambda shard, part: LocalGateway(shard.engine).settle(part)))

    async def join(self, reports: Sequence[Report]) -> Sequence[Acknowledged]:
        """Report ends of attempts, together with those of other workers that come at the same time."""
        if self._shards.is_lone:
            return await self._lone.join(reports)
        return _acknowledged(await self._told(reports, lambda shard, part: LocalGateway(shard.engine).join(part)))

    async def record(self, records: Sequence[NewRecord]) -> Sequence[Record | DrumlineError]:
        """Write records of durable tasks; those whose shard is away are answered with `Unavailable`."""
        if self._shards.is_lone:
            return await self._lone.record(records)
        return await self._told(records, lambda shard, part: LocalGateway(shard.engine).record(part))

    async def join_records(self, records: Sequence[NewRecord]) -> Sequence[Record | DrumlineError]:
        """Write records of durable tasks, together with those of other workers that come at the same time."""
        if self._shards.is_lone:
            return await self._lone.join_records(records)
        return await self._told(records, lambda shard, part: LocalGateway(shard.engine).join_records(part))

    async def wait(self, request: WaitRequest) -> Answered | State | DrumlineError:
        """Answer what an attempt waits for, or end the attempt; returns the task's state then."""
        try:
            return await self._at_home(request.lease, lambda home: home.wait(request))
        except Fenced as refusal:
            return refusal

    async def restart(self, request: RestartRequest) -> State | DrumlineError:
        """End the round of a task, where it is; returns its state then."""
        try:
            return await self._at_home(request.lease, lambda home: home.restart(request))
        except Fenced as refusal:
            return refusal

    async def start_children(self, wanted: ChildRequests, *, allow: AllowTask | None = None) -> StartedIds:
        """Start children of a task, where it is."""
        return await self._at_home(wanted.lease, lambda home: home.start_children(wanted, allow=allow))

    async def outcomes(self, lease: Lease, name: str, key: str, *, first: int) -> OutcomePage:
        """Return how children of a call ended, from a place on, or raise `Fenced`."""
        return await self._at_home(lease, lambda home: home.outcomes(lease, name, key, first=first))

    async def records(self, lease: Lease, *, after: int) -> RecordPage:
        """Return records of a task after a place, or raise `Fenced`."""
        return await self._at_home(lease, lambda home: home.records(lease, after=after))

    async def append_log(self, chunks: Sequence[LogChunk]) -> Sequence[LogChunk]:
        """Keep log output; return the pieces whose shard is away."""
        if self._shards.is_lone:
            return await self._lone.append_log(chunks)
        leases = [Lease(chunk.task, chunk.epoch, chunk.nonce or 0) for chunk in chunks]
        parts = await self._by_home(leases, chunks)
        answers = await self._in_parts(parts, lambda shard, part: LocalGateway(shard.engine).append_log(part))
        left: list[LogChunk] = []
        for name, answer in answers.items():
            if isinstance(answer, PASSING):
                left += parts[name]
            elif isinstance(answer, DrumlineError):
                raise answer
        return left

    async def report_progress(self, notes: Sequence[ProgressNote]) -> None:
        """Say how far attempts are; those whose shard is away are passed over."""
        parts = await self._by_home([note.lease for note in notes], notes)
        answers = await self._in_parts(parts, lambda shard, part: LocalGateway(shard.engine).report_progress(part))
        _raise_if_all_failed(answers)

    async def put_artifact(self, artifact: Artifact) -> None:
        """Keep a file that a task made; `Fenced` if its attempt does not hold the task any more."""
        lease = artifact.lease or Lease(artifact.task, 0, 0)
        await self._at_home(lease, lambda home: home.put_artifact(artifact))

    async def reveal(self, lease: Lease) -> Mapping[str, str] | None:
        """Return the secrets that a task refers to, by name; None if it has none."""
        (name,) = await self._homes.of([lease])
        return await LocalGateway(self._shards.named(name).engine).reveal(lease)

    async def _at_home(self, lease: Lease, call: Callable[[LocalGateway], Awaitable[T]]) -> T:
        """Call the shard that holds a lease.

        Where that shard refuses the lease, perhaps the map was old, and it never had the task: others are asked too.
        """
        (name,) = await self._homes.of([lease])
        asked: set[str] = set()
        while True:
            asked.add(name)
            try:
                answer = await call(LocalGateway(self._shards.named(name).engine))
            except Fenced as error:
                refusal = error
            else:
                if not isinstance(answer, Fenced):
                    return answer
                refusal = answer
            if len(asked) == 1:
                await self._homes.refresh()
            another = self._homes.another(lease, asked)
            if another is None:
                raise refusal
            name = another

    async def _told(
        self, told: Sequence[Leased], tell: Callable[[Shard, Sequence[Leased]], Awaitable[Sequence[Answer]]]
    ) -> list[Answer | DrumlineError]:
        """Tell the shards of leases what attempts report; what these refuse is told to others that may have it."""
        homes = await self._homes.of([each.lease for each in told])
        answers = await self._told_at(told, homes, tell)
        tried = {n: {homes[n]} for n, answer in enumerate(answers) if isinstance(answer, Fenced)}
        if tried:
            await self._homes.refresh()  # perhaps the map was old, and the shard that refused never had the task
        while places := {n: name for n, asked in tried.items() if (name := self._homes.another(told[n].lease, asked))}:
            later = await self._told_at([told[n] for n in places], list(places.values()), tell)
            for (n, name), answer in zip(places.items(), later, strict=True):
                tried[n].add(name)
                if not isinstance(answer, Fenced):
                    answers[n] = answer
                    del tried[n]
        return answers

    async def _told_at(
        self,
        told: Sequence[Leased],
        homes: Sequence[str],
        tell: Callable[[Shard, Sequence[Leased]], Awaitable[Sequence[Answer]]],
    ) -> list[Answer | DrumlineError]:
        places: defaultdict[str, list[int]] = defaultdict(list)
        for n, name in enumerate(homes):
            places[name].append(n)
        answers: dict[int, Answer | DrumlineError] = {}
        parts = {name: [told[n] for n in numbers] for name, numbers in places.items()}
        for name, answer in (await self._in_parts(parts, tell)).items():
            if isinstance(answer, PASSING):
                answers |= dict.fromkeys(places[name], Unavailable(f"shard {name}: {answer.message}"))
            elif isinstance(answer, DrumlineError):
                answers |= dict.fromkeys(places[name], answer)
            else:
                answers |= dict(zip(places[name], answer, strict=True))
        return [answers[n] for n in range(len(told))]

    async def _really_lost(
        self, homes: Mapping[Lease, tuple[str, ...]], lost: Mapping[str, frozenset[TaskId]]
    ) -> tuple[TaskId, ...]:
        """Return tasks whose leases are current in no shard, of those that no shard has which may."""
        gone = {
            lease: names
            for lease, names in homes.items()
            if all(lease.task in lost.get(name, frozenset()) for name in names)
        }
        elsewhere = await self._homes.elsewhere(gone) if gone else set()
        return tuple(dict.fromkeys(lease.task for lease in gone if lease not in elsewhere))

    async def _open_again(self, session: SessionId, names: Sequence[str]) -> None:
        """Open a session in shards where it is not open: they were added since, or have reaped it."""
        if names:
            spec = await self.spec(session)
            shards = [shard for shard in self._shards if shard.name in names]
            await self._in_each(shards, lambda shard: self._ensure(shard, session, spec), seconds=BEAT_SECONDS)

    async def _is_open(self, shard: Shard, session: SessionId, spec: SessionSpec) -> bool:
        """Tell whether a session is open in a shard; it is opened there if it never was, or was reaped."""
        if shard.engine.sessions.known(session) is not None:
            return True
        try:
            await shard.engine.sessions.spec(session)
        except NotFound:
            return await self._ensure(shard, session, spec)
        return True

    async def _ensure(self, shard: Shard, session: SessionId, spec: SessionSpec) -> bool:
        return await shard.engine.sessions.ensure(session, replace(spec, is_copy=True))

    async def _by_home(self, leases: Sequence[Lease], items: Sequence[Item]) -> dict[str, list[Item]]:
        """Return items by the shards that hold their leases."""
        parts: defaultdict[str, list[Item]] = defaultdict(list)
        for name, item in zip(await self._homes.of(leases), items, strict=True):
            parts[name].append(item)
        return parts

    async def _in_parts(
        self, parts: Mapping[str, Sequence[Item]], call: Callable[[Shard, Sequence[Item]], Awaitable[T]]
    ) -> dict[str, T | DrumlineError]:
        """Call each shard with its part, all at once; return the answers and errors by shard."""
        answers = dict.fromkeys(parts, Unavailable("cannot be reached"))
        shards = [shard for name in parts if (shard := self._reachable(name)) is not None]
        return answers | await self._in_each(shards, lambda shard: call(shard, parts[shard.name]))

    async def _in_any(self, call: Callable[[Shard], Awaitable[None]]) -> None:
        """Call all shards at once; raise if none could be reached."""
        _raise_if_all_failed(await self._in_each(self._shards, call, seconds=BEAT_SECONDS))

    async def _in_each(
        self,
        shards: "ShardSet | Sequence[Shard]",
        call: Callable[[Shard], Awaitable[T]],
        *,
        seconds: float = SHARD_SECONDS,
    ) -> dict[str, T | DrumlineError]:
        """Call shards all at once; return the answers and errors by shard. One that is slow is left behind."""
        calls = {shard.name: asyncio.create_task(_caught(call(shard)), name=f"call {shard.name}") for shard in shards}
        if calls:
            _, slow = await asyncio.wait(calls.values(), timeout=seconds)
            for task in slow:  # it goes on: what it does may be half done
                self._slow.add(task)
                task.add_done_callback(self._slow.discard)
        answers: dict[str, T | DrumlineError] = {}
        for name, task in calls.items():
            answer = task.result() if task.done() else Unavailable(f"does not answer within {seconds:g} s")
            if isinstance(answer, Unavailable):
                self._shards.note_away(name)
            answers[name] = answer
        return answers

    def _reachable(self, name: str) -> Shard | None:
        try:
            return self._shards.named(name)
        except (Unavailable, NotFound):
            return None

    def _shards_changed(self) -> None:
        if not self._shards.is_lone and self._was_lone:
            self._was_lone = False
            self._shards.directory.engine.claims.end_waits()  # those who wait there should wait in all
        for claim in self._claims:
            claim.shards_changed()


async def _caught(call: Awaitable[T]) -> T | DrumlineError:
    try:
        return await call
    except DrumlineError as error:
        return error


async def _first_stops(asking: "list[asyncio.Task[Stops]]") -> Stops:
    """Return what the first shard says that answers; raise if none does."""
    left = set(asking)
    error: BaseException = Unavailable("no shard can be reached")
    try:
        while left:
            done, left = await asyncio.wait(left, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                error = task.exception() or error
                if task.exception() is None:
                    return task.result()
    finally:
        for task in left:
            task.cancel()
    raise error


def _acknowledged(answers: Sequence[Acknowledged | DrumlineError]) -> list[Acknowledged]:
    """Return the answers to reports; raise an error that a shard has answered to all of its part."""
    acknowledged: list[Acknowledged] = []
    for answer in answers:
        if isinstance(answer, DrumlineError) and not isinstance(answer, Fenced | Unavailable):
            raise answer
        acknowledged.append(answer)
    return acknowledged


def _first_error(answers: Mapping[str, object]) -> DrumlineError:
    return next(
        (each for each in answers.values() if isinstance(each, DrumlineError)), Unavailable("no shard is known")
    )


def _raise_if_all_failed(answers: Mapping[str, object]) -> None:
    if answers and all(isinstance(answer, DrumlineError) for answer in answers.values()):
        raise _first_error(answers)
