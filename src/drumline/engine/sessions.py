"""The registry of workers, as the engine keeps it: who is open, what each can run, what each should hear."""

from collections import OrderedDict
from collections.abc import Callable

from drumline.core.errors import NotFound
from drumline.core.ids import SessionId, session_text
from drumline.core.session import Beat, BeatReply, SessionSpec, SessionView
from drumline.ports.store import Sessions as SessionStore
from drumline.sdk.batcher import Batcher

MOST_CACHED = 20_000


class SessionDesk:
    """Opens, beats and closes sessions, and remembers what each one can run."""

    def __init__(self, store: SessionStore, *, new_id: Callable[[], SessionId]) -> None:
        self._store = store
        self._new_id = new_id
        self._specs: OrderedDict[SessionId, SessionSpec] = OrderedDict()
        self._batcher: Batcher[Beat, BeatReply] = Batcher(store.beat, name="beats", largest=500)
        # When a server starts, every worker of another one may come at once.
        self._questions: Batcher[SessionId, SessionSpec | None] = Batcher(
            store.session_specs, name="sessions", largest=500
        )

    async def open(self, spec: SessionSpec) -> SessionId:
        """Register a worker."""
        session = self._new_id()
        await self._store.open_session(session, spec)
        self._remember(session, spec)
        return session

    async def spec(self, session: SessionId) -> SessionSpec:
        """Return what a session can run, or raise `NotFound` if it is not open."""
        known = self._specs.get(session)
        if known is not None:
            return known
        spec = await self._questions.join(session)
        if spec is None:
            raise NotFound(f"worker {session_text(session)} has no open session", field="session")
        self._remember(session, spec)
        return spec

    async def beat(self, beat: Beat) -> BeatReply:
        """Note a sign of life."""
        reply = await self._batcher.join(beat)
        if not reply.is_open:
            self._specs.pop(beat.session, None)
        return reply

    async def close(self, session: SessionId) -> None:
        """Note that a worker has left in order."""
        self._specs.pop(session, None)
        await self._store.close_session(session)

    async def drain(self, session: SessionId) -> None:
        """Ask a worker to finish what it holds and leave."""
        await self._store.drain_session(session)

    async def list(self, *, closed: bool = False) -> list[SessionView]:
        """Return the workers there are."""
        return await self._store.sessions(closed=closed)

    def _remember(self, session: SessionId, spec: SessionSpec) -> None:
        self._specs[session] = spec
        if len(self._specs) > MOST_CACHED:
            self._specs.popitem(last=False)
