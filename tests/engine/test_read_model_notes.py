"""What the read model is told."""

from collections.abc import Iterable

from drumline.core.outcome import Released, Succeeded
from drumline.core.session import SessionSpec, TaskType
from drumline.core.state import Status
from drumline.engine.engine import Engine
from drumline.engine.gateway import LocalGateway
from drumline.engine.options import EngineOptions
from drumline.ports.gateway import Report
from drumline.ports.read_model import Note
from drumline.stores.no_queue import NoQueue
from drumline.stores.sqlite import SqliteStore
from tests.factories import request
from tests.harness.parts import NoReadModel

WORKER = SessionSpec(host="h", pid=1, version="0", queues=(), types=(TaskType(name="work"),), capacity=1)


class Notes(NoReadModel):
    """A read model that can be read."""

    def __init__(self) -> None:
        self.read: list[Status] = []

    def note(self, notes: Iterable[Note]) -> None:
        self.read += [note.status for note in notes]


async def test_a_report_that_comes_again_is_not_noted_over_what_happened_since() -> None:
    notes = Notes()
    engine = Engine(await SqliteStore.open(":memory:"), NoQueue(), EngineOptions(read_model=notes))
    gateway = LocalGateway(engine)
    await engine.submissions.submit(request())
    session = await gateway.open_session(WORKER)
    (first,) = await gateway.claim(session, limit=1, wait=0)
    await gateway.settle([Report(first.lease, Released())])
    (second,) = await gateway.claim(session, limit=1, wait=0)
    await gateway.settle([Report(second.lease, Succeeded())])

    await gateway.settle([Report(first.lease, Released())])

    assert notes.read[-1] is Status.COMPLETED
    assert notes.read.count(Status.QUEUED) == 2
    await engine.close()
