"""A worker driven by hand: the real engine, without the timing of a real worker."""

from msgspec import Raw

from drumline.core.outcome import ErrorInfo, Failed, Outcome, Succeeded
from drumline.core.session import SessionSpec, TaskType
from drumline.core.task import ClaimedTask
from drumline.engine.engine import Engine
from drumline.engine.gateway import LocalGateway
from drumline.ports.gateway import Report
from drumline.ports.store import LogChunk
from drumline.sdk.embedded import EmbeddedTransport


class HandWorker:
    """Claims and settles tasks one by one, when a test says so."""

    def __init__(self, house: EmbeddedTransport, *names: str) -> None:
        assert isinstance(house.engine, Engine)
        self._gateway = LocalGateway(house.engine)
        self._thread = house.thread
        types = tuple(TaskType(name=name) for name in names)
        spec = SessionSpec(host="here", pid=1, version="0", queues=(), types=types, capacity=10)
        self._session = self._thread.wait(self._gateway.open_session(spec))

    def claim(self) -> ClaimedTask:
        """Take the next task."""
        (claimed,) = self._thread.wait(self._gateway.claim(self._session, limit=1, wait=5))
        return claimed

    def settle(self, claimed: ClaimedTask, outcome: Outcome) -> None:
        """Report how it ended."""
        self._thread.wait(self._gateway.settle([Report(claimed.lease, outcome)]))

    def settle_with(self, claimed: ClaimedTask, result: bytes) -> None:
        """Complete a task that was taken."""
        self.settle(claimed, Succeeded(Raw(result)))

    def claim_nothing(self) -> None:
        """Ask for a task when none can be had."""
        assert self._thread.wait(self._gateway.claim(self._session, limit=1, wait=0)) == ()

    def succeed(self, result: bytes) -> None:
        """Take the next task and complete it."""
        self.settle(self.claim(), Succeeded(Raw(result)))

    def fail(self, error: ErrorInfo) -> None:
        """Take the next task and fail it for good."""
        self.settle(self.claim(), Failed(error, permanent=True))

    def log(self, claimed: ClaimedTask, text: str) -> None:
        """Log something for a task."""
        chunk = LogChunk(task=claimed.lease.task, epoch=claimed.lease.epoch, seq=0, text=text)
        self._thread.wait(self._gateway.append_log([chunk]))
