"""The engine as a worker in the same process sees it."""

from collections.abc import Mapping, Sequence

import msgspec

from drumline.core.attempt import ProgressNote
from drumline.core.children import ChildRequests, OutcomePage, StartedIds
from drumline.core.durable import Answered, NewRecord, Record, RecordPage, RestartRequest, WaitRequest
from drumline.core.errors import DrumlineError, Fenced, Invalid, NotFound
from drumline.core.ids import SessionId
from drumline.core.lease import Lease
from drumline.core.mapping import AllowTask
from drumline.core.session import Beat, BeatReply, SessionSpec, Stops
from drumline.core.state import State
from drumline.core.task import ClaimedTask
from drumline.engine.engine import Engine
from drumline.ports.gateway import NOTHING_HELD, Report, ServerGateway
from drumline.ports.sessions import Left
from drumline.ports.store import Artifact, LogChunk


class LocalGateway:
    """The engine as a worker in the same process sees it."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def open_session(self, spec: SessionSpec) -> SessionId:
        """Register, and return the session to use in all that follows."""
        return await self._engine.sessions.open(spec)

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
        try:
            spec = await self._engine.sessions.spec(session)
        except NotFound:
            return ()
        self._engine.claims.note_held(session, held)
        if queues is not None:
            spec = msgspec.structs.replace(spec, queues=queues)
        return await self._engine.claims.claim(session, spec, limit=limit, wait=wait)

    async def spec(self, session: SessionId) -> SessionSpec:
        """Return what a session can run, or raise `NotFound` if it is not open."""
        return await self._engine.sessions.spec(session)

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
        """Return up to `limit` tasks that `spec` says the session can run; `nonce` names the claim."""
        return await self._engine.claims.claim(session, spec, limit=limit, wait=wait, nonce=nonce, again=again)

    def note_held(self, session: SessionId, held: Mapping[str, int]) -> None:
        """Note how many tasks of each tenant a worker says it holds."""
        self._engine.claims.note_held(session, held)

    async def join(self, reports: Sequence[Report]) -> list[State | Fenced]:
        """Report ends of attempts, together with those of other workers that come at the same time."""
        return await self._engine.settlements.join(reports)

    async def change_session(self, session: SessionId, *, queues: tuple[str, ...], capacity: int) -> None:
        """Say what the worker serves from now on."""
        await self._engine.sessions.change(session, queues=queues, capacity=capacity)

    async def beat(self, beat: Beat) -> BeatReply:
        """Say what is held, and learn what was lost or should stop."""
        self._engine.notes.held([lease.task for lease in beat.held])
        return await self._engine.sessions.beat(beat)

    async def stops(self, session: SessionId, held: Sequence[Lease], *, wait: float) -> Stops:  # noqa: ARG002 - by lease
        """Return which attempts should stop now, waiting until there may be some."""
        return await self._engine.stops.wait(held, seconds=wait)

    async def settle(self, reports: Sequence[Report]) -> list[State | Fenced]:
        """Report ends of attempts."""
        return await self._engine.settlements.settle(reports)

    async def record(self, records: Sequence[NewRecord]) -> Sequence[Record | DrumlineError]:
        """Write records of durable tasks."""
        return await self._engine.durable.record(records)

    async def join_records(self, records: Sequence[NewRecord]) -> Sequence[Record | DrumlineError]:
        """Write records of durable tasks, together with those of other workers that come at the same time."""
        return await self._engine.durable.join(records)

    async def wait(self, request: WaitRequest) -> Answered | State | DrumlineError:
        """Answer what an attempt waits for, or end the attempt; returns the task's state then."""
        return await self._engine.durable.wait(request)

    async def restart(self, request: RestartRequest) -> State | DrumlineError:
        """End the round of a task; returns its state then."""
        return await self._engine.durable.restart(request)

    async def records(self, lease: Lease, *, after: int) -> RecordPage:
        """Return records of a task after a place, or raise `Fenced`."""
        return await self._engine.durable.records(lease, after=after)

    async def start_children(self, wanted: ChildRequests, *, allow: AllowTask | None = None) -> StartedIds:
        """Start children of a task, or raise why they cannot be; `allow` is asked about their names and queues."""
        started = await self._engine.children.start(wanted, allow=allow)
        return StartedIds(started.ids, started.count)

    async def outcomes(self, lease: Lease, name: str, key: str, *, first: int) -> OutcomePage:
        """Return how children of a call ended, from a place on, or raise `Fenced`."""
        return await self._engine.children.outcomes(lease, name, key, first=first)

    async def append_log(self, chunks: Sequence[LogChunk]) -> Sequence[LogChunk]:
        """Keep log output."""
        await self._engine.store.outputs.append_log(chunks)
        self._engine.notes.logged(chunks)
        return ()

    async def report_progress(self, notes: Sequence[ProgressNote]) -> None:
        """Say how far attempts are."""
        await self._engine.store.outputs.put_progress(notes)

    async def put_artifact(self, artifact: Artifact) -> None:
        """Keep a file that a task made; `Fenced` if its attempt does not hold the task any more."""
        if len(artifact.data) > self._engine.limits.artifact:
            raise Invalid(f"is more than {self._engine.limits.artifact:,} bytes", field="artifact", code="too_large")
        if artifact.lease is not None and await self._engine.store.lease_states([artifact.lease]) == [None]:
            raise Fenced(f"another attempt owns task {artifact.task} now", field="task")
        await self._engine.store.outputs.put_artifact(artifact)

    async def reveal(self, lease: Lease) -> Mapping[str, str] | None:
        """Return the secrets that a task refers to, by name; None if it has none."""
        return await self._engine.secrets.reveal(lease)

    async def leave(self, session: SessionId) -> bool:
        """Leave in order because of a request to drain; False if that was undone."""
        return await self._engine.sessions.leave(session) is not Left.KEPT

    async def close_session(self, session: SessionId) -> None:
        """Leave in order."""
        await self._engine.sessions.close(session)


def gateway_of(engine: Engine) -> ServerGateway:
    """Return how workers in this process reach the tasks: the engine itself, or all shards behind it."""
    return engine.gateway or LocalGateway(engine)
