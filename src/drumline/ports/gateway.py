"""The engine as a worker sees it: in the same process, or behind HTTP. The worker cannot tell which."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, Protocol

from msgspec import Struct

from drumline.core.attempt import ProgressNote
from drumline.core.children import ChildRequests, OutcomePage, StartedIds
from drumline.core.durable import Answered, NewRecord, Record, RecordPage, RestartRequest, WaitRequest
from drumline.core.errors import DrumlineError, Fenced, Unavailable
from drumline.core.ids import SessionId
from drumline.core.lease import Lease
from drumline.core.mapping import AllowTask
from drumline.core.outcome import Outcome, Succeeded
from drumline.core.session import Beat, BeatReply, SessionSpec, Stops
from drumline.core.state import State
from drumline.core.task import ClaimedTask
from drumline.ports.store import Artifact, LogChunk

NOTHING_HELD: Final[Mapping[str, int]] = MappingProxyType({})


Acknowledged = State | Fenced | Unavailable | None
"""How a report was taken: the task's state after it, `Fenced`, or None for a state that only a later version knows.

`Unavailable` means that the task's shard is away: nothing was recorded, send this report again.
"""


class Report(Struct, frozen=True, gc=False):
    """A worker's word on how an attempt ended."""

    lease: Lease
    outcome: Outcome


def weight_of(report: Report) -> int:
    """Return the bytes of what may be large about a report: its result."""
    return len(report.outcome.result) if isinstance(report.outcome, Succeeded) else 0


class Gateway(Protocol):
    """What a worker may ask of the engine. `Unavailable` means try again; nothing was lost."""

    async def open_session(self, spec: SessionSpec) -> SessionId:
        """Register, and return the session to use in all that follows."""
        ...

    async def claim(
        self,
        session: SessionId,
        *,
        limit: int,
        wait: float,
        held: Mapping[str, int] = NOTHING_HELD,
        queues: tuple[str, ...] | None = None,
    ) -> Sequence[ClaimedTask]:
        """Return up to `limit` tasks, waiting up to `wait` seconds for the first; nothing if the session is closed.

        `held` is how many tasks of each tenant the worker has: who has much in flight comes after who has little.
        `queues` says from which, where that differs from what the session was opened with; empty means all.
        """
        ...

    async def change_session(self, session: SessionId, *, queues: tuple[str, ...], capacity: int) -> None:
        """Say what the worker serves from now on, for those who look at it; a session that is closed stays so."""
        ...

    async def beat(self, beat: Beat) -> BeatReply:
        """Say what is held, and learn what was lost or should stop."""
        ...

    async def stops(self, session: SessionId, held: Sequence[Lease], *, wait: float) -> Stops:
        """Return which attempts should stop now, waiting up to `wait` seconds until there may be some.

        A hint only: it changes nothing and is not a sign of life, and beats tell the same a little later. It may return
        nothing before the time is over, when something was cancelled: ask again with what is held then.
        """
        ...

    async def settle(self, reports: Sequence[Report]) -> Sequence[Acknowledged]:
        """Report ends of attempts; the answer is the task's state, or `Fenced` for a lease that is not current.

        Where only some tasks can be reached, the reports of the others are answered with `Unavailable`.
        """
        ...

    async def record(self, records: Sequence[NewRecord]) -> Sequence[Record | DrumlineError]:
        """Write records of durable tasks; the answer is what is recorded under the name, or why it is not written.

        `Fenced` for a lease that is not current, `QuotaExceeded` for a task that has too many, `Unavailable` where
        the task's shard is away: then nothing was recorded, send it again.
        """
        ...

    async def wait(self, request: WaitRequest) -> Answered | State | DrumlineError | None:
        """Answer what an attempt waits for, or end the attempt; the answer is the task's state then.

        None is a state that only a later version knows. `Fenced` for a lease that is not current.
        """
        ...

    async def restart(self, request: RestartRequest) -> State | DrumlineError | None:
        """End the round of a task; the answer is the task's state then, None one that only a later version knows.

        `Fenced` for a lease that is not current, `Conflict` for a task of a job. Raises `Invalid` naming what is wrong
        with the payload.
        """
        ...

    async def records(self, lease: Lease, *, after: int) -> RecordPage:
        """Return records of a task after a place, or raise `Fenced`."""
        ...

    async def start_children(self, wanted: ChildRequests) -> StartedIds:
        """Start children of a task; those that are there already under their places stay.

        Raises `Fenced` for a lease that is not current, and `Invalid` or `QuotaExceeded` naming what is wrong.
        """
        ...

    async def outcomes(self, lease: Lease, name: str, key: str, *, first: int) -> OutcomePage:
        """Return how children of a call ended, from a place on, or raise `Fenced`."""
        ...

    async def append_log(self, chunks: Sequence[LogChunk]) -> Sequence[LogChunk]:
        """Keep log output; return the pieces of tasks that cannot be reached now, to be sent again."""
        ...

    async def report_progress(self, notes: Sequence[ProgressNote]) -> None:
        """Say how far attempts are; of a lease that is not current nothing is kept."""
        ...

    async def put_artifact(self, artifact: Artifact) -> None:
        """Keep a file that a task made; `Fenced` if its attempt does not hold the task any more."""
        ...

    async def reveal(self, lease: Lease) -> Mapping[str, str] | None:
        """Return the secrets that a task refers to by name, to be used at once and kept nowhere; None if it has none.

        `Fenced` if its attempt does not hold the task any more, `NotFound` for a secret that was deleted, `Conflict`
        for one that cannot be opened.
        """
        ...

    async def leave(self, session: SessionId) -> bool:
        """Leave in order because of a request to drain; False if that was undone: the session is open, work on."""
        ...

    async def close_session(self, session: SessionId) -> None:
        """Leave in order, whatever was asked."""
        ...


class ServerGateway(Gateway, Protocol):
    """The gateway of an API server: what it needs besides to serve workers over HTTP."""

    async def spec(self, session: SessionId) -> SessionSpec:
        """Return what a session can run, or raise `NotFound` if it is not open."""
        ...

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
        """Return up to `limit` tasks that `spec` says the session can run, waiting up to `wait` seconds for the first.

        `nonce` names the claim. With `again` the claim of that name is repeated because its answer was lost: it
        returns what that one took, or if that took nothing, claims anew.
        """
        ...

    def note_held(self, session: SessionId, held: Mapping[str, int]) -> None:
        """Note how many tasks of each tenant a worker says it holds."""
        ...

    async def join_records(self, records: Sequence[NewRecord]) -> Sequence[Record | DrumlineError]:
        """Write records of durable tasks, together with those of other workers that come at the same time."""
        ...

    async def start_children(self, wanted: ChildRequests, *, allow: AllowTask | None = None) -> StartedIds:
        """Start children of a task; `allow` raises `Forbidden` for names and queues that are not the caller's."""
        ...

    async def join(self, reports: Sequence[Report]) -> Sequence[Acknowledged]:
        """Report ends of attempts, together with those of other workers that come at the same time."""
        ...
