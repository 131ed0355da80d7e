"""Workers: the same session in every shard where it claims, shown as one."""

from collections.abc import Sequence

from msgspec.structs import replace

from drumline.core.errors import Conflict, NotFound, Unavailable
from drumline.core.ids import SessionId, TaskId
from drumline.core.session import Beat, BeatReply, SessionSpec, SessionView
from drumline.engine.incomplete import noting_missing
from drumline.ports.hint import NO_EFFECTS
from drumline.ports.sessions import Left, Reaped
from drumline.ports.store import Store
from drumline.shards.asking import Member
from drumline.shards.parts.merging import Part


class Sessions(Part):
    """`ports.sessions.Sessions`.

    A worker's leases are in the shards of its tasks, so each shard is given the beats with the leases that it holds.
    """

    async def open_session(self, session: SessionId, spec: SessionSpec) -> None:
        """Register a worker in every shard; repeat it if one could not be reached."""
        copy = replace(spec, is_copy=True)  # the events of the worker are in the directory's log
        directory = self._router.directory

        async def open_(store: Store) -> None:
            await store.sessions.open_session(session, spec if store is directory else copy)

        await self._router.all(open_)

    async def ensure_session(self, session: SessionId, spec: SessionSpec) -> bool:
        """Register a worker in every shard, or open its session again; tell whether it is open now in one of them."""
        return any(await self._router.all(lambda store: store.sessions.ensure_session(session, spec)))

    async def beat(self, beats: Sequence[Beat]) -> list[BeatReply]:
        """Note signs of life, and tell each session which leases it lost and which tasks should stop.

        A session is open while one shard has it open; what it held in one that closed it is lost.
        """
        answers: list[list[BeatReply]] = [[] for _ in beats]
        away: Unavailable | None = None
        for member in self._router.shards:
            part = [self._held_in(member, beat) for beat in beats]
            try:
                replies = await member.store.sessions.beat(part)
            except Unavailable as error:  # costs the tasks of this shard only, and those only if it lasts
                self._router.members.note_away(member.name)
                away = error
                continue
            for number, reply in enumerate(replies):
                answers[number].append(_with_losses(reply, part[number]))
        if away is not None and not all(answers):
            raise away
        return [_one_reply(replies) for replies in answers]

    async def change_session(self, session: SessionId, *, queues: Sequence[str], capacity: int) -> None:
        """Note what a worker serves from now on, and how much; one that is not open is left as it is."""
        await self._router.all(lambda store: store.sessions.change_session(session, queues=queues, capacity=capacity))

    async def pause_in_session(self, session: SessionId, *, names: Sequence[str]) -> None:
        """Note which task names a worker is not handed; one that is not open is left as it is."""
        await self._router.all(lambda store: store.sessions.pause_in_session(session, names=names))

    async def drain_session(self, session: SessionId) -> None:
        """Ask a worker to finish what it holds and take nothing more; raises `NotFound` if no shard has it open.

        The worker drains as a whole when one shard tells it so: a shard that cannot be reached need not know.
        """

        async def drain(store: Store) -> NotFound | Unavailable | None:
            try:
                await store.sessions.drain_session(session)
            except (NotFound, Unavailable) as error:
                return error
            return None

        answers = await self._router.all(drain)
        if None not in answers:
            raise next((each for each in answers if isinstance(each, Unavailable)), answers[0] or NotFound(""))

    async def undrain_session(self, session: SessionId) -> None:
        """Let a worker that was asked to drain go on.

        Every shard has to be reached: one that still asks it to drain would be followed. Raises `Conflict` if it has
        left, and `NotFound` if no shard has it open.
        """

        async def undrain(store: Store) -> Conflict | NotFound | Unavailable | None:
            try:
                await store.sessions.undrain_session(session)
            except (Conflict, NotFound, Unavailable) as error:
                return error
            return None

        answers = await self._router.all(undrain)
        for kind in (Conflict, Unavailable) if None in answers else (Conflict, Unavailable, NotFound):
            for answer in answers:
                if isinstance(answer, kind):
                    raise answer

    async def leave_session(self, session: SessionId) -> Left:
        """Close a session that was asked to drain, unless that was undone: it leaves while one shard asks it to.

        It stays only if every shard has said so.
        """
        found: list[Left] = []
        away: Unavailable | None = None
        for member in self._router.shards:
            try:
                found.append(await member.store.sessions.leave_session(session))
            except Unavailable as error:
                self._router.members.note_away(member.name)
                away = error
            if Left.CLOSED in found:
                await self.close_session(session)
                return Left.CLOSED
        if away is not None and (Left.KEPT in found or not found):
            raise away  # it may be about to close the session, or have done so: who asks again hears of it
        return Left.KEPT if Left.KEPT in found else Left.NOT_OPEN

    async def close_session(self, session: SessionId) -> None:
        """Note that a worker has left in order; a shard that cannot be reached finds its session silent."""
        await self._router.all(lambda store: store.sessions.close_session(session))

    async def sessions(
        self, *, closed: bool = False, tenant: str | None = None, only: SessionId | None = None
    ) -> list[SessionView]:
        """Return the open sessions, and with `closed` those that ended lately too; of a tenant, those that serve it."""
        known: dict[SessionId, SessionView] = {}
        # Those that one shard has closed and another has open are open: so all are asked for.
        for views in await self._router.each(
            lambda store: store.sessions.sessions(closed=closed, tenant=tenant, only=only)
        ):
            for view in views:
                known[view.id] = _one_view(known[view.id], view) if view.id in known else view
        return sorted(known.values(), key=lambda view: (view.opened_at, view.id))

    async def session_specs(self, sessions: Sequence[SessionId]) -> list[SessionSpec | None]:
        """Return what each of these sessions can run; None for one that is open nowhere."""
        with noting_missing() as missing:
            found = await self._router.each(lambda store: store.sessions.session_specs(sessions))
        specs = [next((spec for spec in specs if spec is not None), None) for specs in zip(*found, strict=True)]
        if missing and None in specs:
            raise Unavailable(f"shard {', '.join(sorted(missing))} cannot be reached, and might know the session")
        return specs

    async def beat_numbers(self) -> dict[SessionId, int]:
        """Return the beat number of every open session, the highest of all shards."""
        numbers: dict[SessionId, int] = {}
        for found in await self._router.each(lambda store: store.sessions.beat_numbers()):
            for session, number in found.items():
                numbers[session] = max(number, numbers.get(session, number))
        return numbers

    async def reap(self, dead: Sequence[tuple[SessionId, int]], *, poison_after: int) -> Reaped:
        """Close the sessions whose beat number is still the one given, and free what no live session holds.

        A shard where the session has another number leaves it to the duty that reads that shard's own numbers.
        """
        found = await self._router.all(lambda store: store.sessions.reap(dead, poison_after=poison_after))
        return Reaped(
            sessions=tuple(dict.fromkeys(session for reaped in found for session in reaped.sessions)),
            requeued=tuple(hint for reaped in found for hint in reaped.requeued),
            poisoned=tuple(task for reaped in found for task in reaped.poisoned),
            ghosts=sum(reaped.ghosts for reaped in found),
            effects=sum((reaped.effects for reaped in found), NO_EFFECTS),
        )

    def _held_in(self, member: Member, beat: Beat) -> Beat:
        return replace(
            beat, held=tuple(lease for lease in beat.held if self._router.members.of(lease.task).name == member.name)
        )


def _with_losses(reply: BeatReply, beat: Beat) -> BeatReply:
    if reply.is_open:
        return reply
    return replace(reply, lost=_distinct(reply.lost, tuple(lease.task for lease in beat.held)))


def _one_reply(replies: Sequence[BeatReply]) -> BeatReply:
    return BeatReply(
        is_open=any(reply.is_open for reply in replies),
        lost=_distinct(*(reply.lost for reply in replies)),
        cancelled=_distinct(*(reply.cancelled for reply in replies)),
        should_drain=any(reply.should_drain for reply in replies),
    )


def _distinct(*tasks: tuple[TaskId, ...]) -> tuple[TaskId, ...]:
    return tuple(dict.fromkeys(task for part in tasks for task in part))


def _one_view(one: SessionView, other: SessionView) -> SessionView:
    """Return a worker as two shards see it together."""
    is_open = one.closed_at is None or other.closed_at is None
    # What the worker serves by now is what the shard knows that it has beaten last.
    last = max(one, other, key=lambda view: (view.closed_at is None, view.beat_at))
    return replace(
        last,
        spec=replace(last.spec, is_copy=False),
        opened_at=min(one.opened_at, other.opened_at),
        beat_at=max(one.beat_at, other.beat_at),
        beat=max(one.beat, other.beat),
        held=one.held + other.held,
        should_drain=one.should_drain or other.should_drain,
        closed_at=None if is_open else max(one.closed_at or 0, other.closed_at or 0),
    )
