from drumline.core.clock import Instant
from drumline.core.ids import SessionId
from drumline.core.session import Served, SessionSpec, SessionView, TaskType, served_of

WAITING = (("mail", 2, Instant(5_000)), ("fax", 3, Instant(1_000)))


def worker(*names: str, queues: tuple[str, ...] = (), tenant: str | None = None) -> SessionView:
    types = tuple(TaskType(name=name) for name in names)
    spec = SessionSpec(host="h", pid=1, version="1", queues=queues, types=types, capacity=1, tenant=tenant)
    return SessionView(id=SessionId(1), spec=spec, opened_at=Instant(0), beat_at=Instant(0), beat=0, held=0)


def served(*workers: SessionView) -> Served:
    return served_of(WAITING, tenant="red", queue="q", workers=workers)


def test_a_type_that_no_worker_has_does_not_make_its_queue_late() -> None:
    assert served(worker("mail")) == Served(unserved=3, oldest_due_at=Instant(5_000))


def test_workers_of_other_queues_and_tenants_serve_nothing_here() -> None:
    others = (worker("fax", queues=("other",)), worker("fax", tenant="blue"))

    assert served(worker("mail", queues=("q",), tenant="red"), *others) == Served(3, Instant(5_000))


def test_without_workers_nothing_is_served() -> None:
    assert served() == Served(unserved=5, oldest_due_at=None)


def test_with_all_types_served_the_oldest_of_all_counts() -> None:
    assert served(worker("mail"), worker("fax")) == Served(unserved=0, oldest_due_at=Instant(1_000))
