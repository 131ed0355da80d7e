"""The registry of workers, as the engine keeps it: who is open, what each can run, what each should hear."""

from collections.abc import Callable
from contextlib import suppress
from typing import Final

import msgspec

from drumline.aio.batcher import Batcher
from drumline.core.clock import Clock
from drumline.core.codec import NUL, decode, encode, without_nul
from drumline.core.errors import Forbidden, NotFound, Unavailable
from drumline.core.ids import SessionId, session_text
from drumline.core.limits import Limits
from drumline.core.session import NO_USAGE, Beat, BeatReply, SessionSpec, SessionView
from drumline.engine.session_cache import MOST_CACHED, SessionBounds, SpecCache
from drumline.engine.task_types import TypeRegistry
from drumline.ports.sessions import Left
from drumline.ports.store import Sessions as SessionStore

BEATS_EVERY: Final = 0.05
"""Seconds between two transactions with heartbeats: thousands of workers are written down some dozens at a time."""


class SessionService:
    """Opens, beats and closes sessions, and remembers what each one can run."""

    def __init__(
        self,
        store: SessionStore,
        types: TypeRegistry,
        *,
        new_id: Callable[[], SessionId],
        clock: Clock,
        limits: Limits,
    ) -> None:
        self._store = store
        self._types = types
        self._new_id = new_id
        self._specs = SpecCache()
        self._room = SessionBounds(limits.sessions, clock)
        self.paused_names: frozenset[str] = frozenset()
        """Task names that the configuration pauses in this process."""
        self._noted_pauses: dict[SessionId, frozenset[str]] = {}
        """What of that is noted in the sessions that were opened here."""
        self._batcher: Batcher[Beat, BeatReply] = Batcher(store.beat, name="beats", largest=500)
        self._batcher.pace = BEATS_EVERY
        # When a server starts, every worker of another one may come at once.
        self._questions: Batcher[SessionId, SessionSpec | None] = Batcher(
            store.session_specs, name="sessions", largest=500
        )

    async def open(self, spec: SessionSpec, session: SessionId | None = None) -> SessionId:
        """Register a worker, under an id that was never used before."""
        session = self._new_id() if session is None else session
        spec, size = self._checked(spec)
        self._room.opened(session, spec.tenant, size)
        try:
            await self._store.open_session(session, spec)
        except BaseException:
            self._room.closed(session)
            raise
        self._opened(session, spec, size)
        return session

    async def ensure(self, session: SessionId, spec: SessionSpec) -> bool:
        """Register a worker that has a session in another shard; tell whether it is open here now.

        One that was reaped here is opened again; one that was closed in order stays closed.
        """
        spec, size = self._checked(spec)
        if not await self._store.ensure_session(session, spec):
            return False
        self._room.opened(session, spec.tenant, size)
        self._opened(session, spec, size)
        return True

    def _checked(self, spec: SessionSpec) -> tuple[SessionSpec, int]:
        """Return a specification as it is stored and its bytes, or raise `QuotaExceeded`."""
        if self.paused_names:
            spec = msgspec.structs.replace(spec, paused=tuple(sorted(self.paused_names)))
        text = encode(spec)
        if NUL in text:  # in what a task says of itself; no store could look into the spec any more, nor past it
            spec = decode(encode(without_nul(decode(text, object))), SessionSpec)
        self._room.check(spec.tenant, len(text))
        return spec, len(text)

    def _opened(self, session: SessionId, spec: SessionSpec, size: int) -> None:
        self._noted_pauses[session] = frozenset(spec.paused)
        if len(self._noted_pauses) > MOST_CACHED:  # of workers that died without a word
            self._noted_pauses.pop(next(iter(self._noted_pauses)))
        self._types.published(spec)
        self._specs.put(session, spec, size)

    def known(self, session: SessionId) -> SessionSpec | None:
        """Return what a session can run, if that is in memory: it was open lately."""
        return self._specs.get(session)

    async def spec(self, session: SessionId) -> SessionSpec:
        """Return what a session can run, or raise `NotFound` if it is not open."""
        known = self._specs.get(session)
        if known is not None:
            return known
        spec = await self._questions.join(session)
        if spec is None:
            raise _not_open(session)
        self._specs.put(session, spec, len(encode(spec)))
        return spec

    async def beat(self, beat: Beat) -> BeatReply:
        """Note a sign of life."""
        reply = await self._batcher.join(beat)
        if reply.is_open:
            self._room.seen(beat.session)
        else:
            self._forget(beat.session)
            return reply
        if self._noted_pauses.get(beat.session, self.paused_names) != self.paused_names:
            with suppress(Unavailable):  # then at the next beat
                await self._note_pauses(beat.session)
        return reply

    async def _note_pauses(self, session: SessionId) -> None:
        """Note in a session that was opened here what the configuration pauses by now."""
        paused = self.paused_names
        await self._store.pause_in_session(session, names=sorted(paused))
        self._noted_pauses[session] = paused
        self._specs.pop(session)

    async def change(self, session: SessionId, *, queues: tuple[str, ...], capacity: int) -> None:
        """Note what a worker serves from now on; other servers go by what its claims say."""
        self._specs.pop(session)
        await self._store.change_session(session, queues=queues, capacity=capacity)

    async def close(self, session: SessionId) -> None:
        """Note that a worker has left in order."""
        self._forget(session)
        await self._store.close_session(session)

    def _forget(self, session: SessionId) -> None:
        self._specs.pop(session)
        self._room.closed(session)
        self._noted_pauses.pop(session, None)

    async def leave(self, session: SessionId) -> Left:
        """Close a session that was asked to drain, unless that was undone."""
        left = await self._store.leave_session(session)
        if left is not Left.KEPT:
            self._forget(session)
        return left

    async def drain(self, session: SessionId, *, tenant: str | None = None) -> None:
        """Ask a worker to finish what it holds and leave; a tenant can ask only its own."""
        await self._check_owned(session, tenant)
        await self._store.drain_session(session)

    async def undrain(self, session: SessionId, *, tenant: str | None = None) -> None:
        """Let a worker go on that was asked to drain; raises `Conflict` if it has left already."""
        await self._check_owned(session, tenant)
        await self._store.undrain_session(session)

    async def _check_owned(self, session: SessionId, tenant: str | None) -> None:
        """Raise unless a worker works for the tenant alone; None may control all."""
        if tenant is not None:
            spec = await self.spec(session)
            if spec.tenant is None:
                raise Forbidden(f"worker {session_text(session)} serves every tenant", field="id")
            if spec.tenant != tenant:
                raise _not_open(session)

    async def get(self, session: SessionId, *, tenant: str | None = None) -> SessionView:
        """Return a worker that is there or left lately, as `list` shows it, or raise `NotFound`."""
        for view in await self.list(closed=True, tenant=tenant, only=session):
            return view
        raise NotFound(f"there is no worker {session_text(session)}", field="id")

    async def list(
        self, *, closed: bool = False, tenant: str | None = None, only: SessionId | None = None
    ) -> list[SessionView]:
        """Return the workers there are; a tenant sees its own, and of those that serve everybody what they can run."""
        views = await self._store.sessions(closed=closed, tenant=tenant, only=only)
        if tenant is None:
            return views
        return [view if view.spec.tenant else _blurred(view) for view in views]


def _not_open(session: SessionId) -> NotFound:
    return NotFound(f"worker {session_text(session)} has no open session", field="session")


def _blurred(view: SessionView) -> SessionView:
    """Return a worker that serves everybody as a tenant may see it: not where it is, nor how busy others keep it."""
    spec = msgspec.structs.replace(view.spec, host="", pid=0, label="")
    return msgspec.structs.replace(view, spec=spec, held=0, usage=NO_USAGE)
