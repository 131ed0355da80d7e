"""The registry of workers. Heartbeats and reaping are in `sessions.py` of each store."""

from collections.abc import Sequence
from typing import Any, Final

from drumline.aio.threads import off_loop
from drumline.core.clock import Instant
from drumline.core.codec import decode, encode
from drumline.core.errors import Conflict, NotFound
from drumline.core.event import worker_closed, worker_draining, worker_opened, worker_undrained
from drumline.core.ids import SessionId, session_text
from drumline.core.session import SessionSpec, SessionView, Usage
from drumline.ports.sessions import Left
from drumline.stores.driver import Line, Part, Transaction, tell_facts
from drumline.stores.parts.task_types import publish_types

CLOSED_FOR_MS: Final = 24 * 3_600_000
"""How long a closed session is still shown."""


class SessionTables(Part):
    """`ports.sessions.Sessions`, but for heartbeats and reaping."""

    async def open_session(self, session: SessionId, spec: SessionSpec) -> None:
        """Register a worker under an id that was never used before."""
        text = encode(spec).decode()

        async def open_(transaction: Transaction) -> None:
            if await transaction.fetch("open_session", session=session, spec=text, now=self._now()):
                await publish_types(transaction, spec, self._now())
                await tell_facts(transaction, [] if spec.is_copy else [worker_opened(session, spec)], now=self._now())

        await self._database.transact(Line.SETTLE, open_, repeat=True)

    async def ensure_session(self, session: SessionId, spec: SessionSpec) -> bool:
        """Register a worker that has a session elsewhere, or open its session again; tell whether it is open now."""
        text = encode(spec).decode()

        async def ensure(transaction: Transaction) -> bool:
            if await transaction.fetch("ensure_session", session=session, spec=text, now=self._now()):
                await publish_types(transaction, spec, self._now())
                return True
            return bool(await transaction.fetch("session_specs", sessions=[session]))

        return await self._database.transact(Line.SETTLE, ensure, repeat=True)

    async def change_session(self, session: SessionId, *, queues: Sequence[str], capacity: int) -> None:
        """Note what a worker serves from now on, and how much; one that is not open is left as it is."""
        given: dict[str, Any] = {"session": session, "queues": encode(list(queues)).decode(), "capacity": capacity}
        await self._database.fetch(Line.REQUEST, "change_session", repeat=True, **given)

    async def pause_in_session(self, session: SessionId, *, names: Sequence[str]) -> None:
        """Note which task names a worker is not handed; one that is not open is left as it is."""
        text = encode(list(names)).decode()
        await self._database.fetch(Line.REQUEST, "pause_in_session", repeat=True, session=session, names=text)

    async def drain_session(self, session: SessionId) -> None:
        """Ask a worker to finish what it holds and take nothing more; raises `NotFound`."""

        async def drain(transaction: Transaction) -> bool:
            rows = await transaction.fetch("drain_session", session=session)
            facts = [worker_draining(session, spec) for spec in told_specs(rows)]
            await tell_facts(transaction, facts, now=self._now())
            return bool(rows)

        if not await self._database.transact(Line.REQUEST, drain, repeat=True):
            raise _not_open(session)

    async def undrain_session(self, session: SessionId) -> None:
        """Let a worker that was asked to drain go on; raises `Conflict` if it has left, and `NotFound`."""

        async def undrain(transaction: Transaction) -> list[tuple[bool, bool]]:
            rows = await transaction.fetch("undrain_session", session=session)
            facts = [worker_undrained(session, spec) for spec in told_specs(rows)]
            await tell_facts(transaction, facts, now=self._now())
            return list(await transaction.fetch("session_end", session=session))

        found = await self._database.transact(Line.REQUEST, undrain, repeat=True)
        is_open, was_reaped = found[0] if found else (False, True)
        if is_open:
            return
        if was_reaped:
            raise _not_open(session)
        raise Conflict(f"worker {session_text(session)} has left already; start it again", field="id")

    async def leave_session(self, session: SessionId) -> Left:
        """Close a session that was asked to drain, unless that was undone; asked again, it answers the same."""

        async def leave(transaction: Transaction) -> Left:
            rows = await transaction.fetch("leave_session", session=session, now=self._now())
            facts = [worker_closed(session, spec) for spec in told_specs(rows)]
            await tell_facts(transaction, facts, now=self._now())
            if rows:
                return Left.CLOSED
            for is_open, was_reaped in await transaction.fetch("session_end", session=session):
                if not was_reaped:
                    return Left.KEPT if is_open else Left.CLOSED
            return Left.NOT_OPEN

        return await self._database.transact(Line.SETTLE, leave, repeat=True)

    async def close_session(self, session: SessionId) -> None:
        """Note that a worker has left in order."""

        async def close(transaction: Transaction) -> None:
            rows = await transaction.fetch("close_session", session=session, now=self._now())
            facts = [worker_closed(session, spec) for spec in told_specs(rows)]
            await tell_facts(transaction, facts, now=self._now())

        await self._database.transact(Line.SETTLE, close, repeat=True)

    async def sessions(
        self, *, closed: bool = False, tenant: str | None = None, only: SessionId | None = None
    ) -> list[SessionView]:
        """Return the open sessions, and with `closed` those that ended lately too; `held` is as of the last beat."""
        since = await self._time() - CLOSED_FOR_MS if closed else None
        rows = await self._database.fetch(
            Line.BROAD, "sessions", repeat=True, within=tenant, closed_since=since, only=only
        )
        views = await off_loop(sum(len(row[1]) for row in rows), lambda: [
            SessionView(
                id=SessionId(session), spec=decode(spec, SessionSpec), opened_at=Instant(opened_at),
                beat_at=Instant(beat_at), beat=beat, should_drain=bool(should_drain), closed_at=closed_at, held=held,
                usage=Usage(memory=memory, cpu=cpu),
            )
            for session, spec, opened_at, beat_at, beat, should_drain, closed_at, memory, cpu, held in rows
        ])  # fmt: skip
        return [view for view in views if view.spec.serves(tenant)]

    async def session_specs(self, sessions: Sequence[SessionId]) -> list[SessionSpec | None]:
        """Return what each of these sessions can run; None for one that is not open."""
        rows = await self._database.fetch(Line.CLAIM, "session_specs", repeat=True, sessions=list(sessions))
        specs = await off_loop(
            sum(len(spec) for _, spec in rows),
            lambda: {session: decode(spec, SessionSpec) for session, spec in rows},
        )
        return [specs.get(session) for session in sessions]

    async def beat_numbers(self) -> dict[SessionId, int]:
        """Return the beat number of every open session."""
        rows = await self._database.fetch(Line.BROAD, "beat_numbers", repeat=True)
        return {SessionId(session): beat for session, beat in rows}


def _not_open(session: SessionId) -> NotFound:
    return NotFound(f"worker {session_text(session)} has no open session", field="id")


def told_specs(rows: Sequence[tuple[str]]) -> list[SessionSpec]:
    """Return the specifications of sessions of which this shard tells."""
    return [spec for (text,) in rows if not (spec := decode(text, SessionSpec)).is_copy]
