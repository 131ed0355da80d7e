"""What a worker and the server write to each other comes back as it was."""

from typing import Any

import pytest
from msgspec import UNSET, Raw
from msgspec.structs import replace

from drumline.core.attempt import Progress, ProgressNote
from drumline.core.clock import Instant, moment_of
from drumline.core.durable import Record, RecordPage
from drumline.core.errors import Invalid
from drumline.core.ids import TaskId
from drumline.core.lease import Lease
from drumline.core.outcome import ErrorInfo, Failed, Outcome, Released, Snoozed, Stopped, Succeeded
from drumline.core.protocol import (
    BeatBody,
    FailedReport,
    LeaseBody,
    ReleasedReport,
    SnoozedReport,
    StoppedReport,
    SucceededReport,
    beat_reply,
    claimed_body,
    claimed_task,
    lease_body,
    lease_of,
    open_request,
    outcome_of,
    progress_note,
    progress_report,
    report_body,
    state_of,
    without_nul,
)
from drumline.core.retry import Backoff
from drumline.core.session import SessionSpec, TaskType
from drumline.core.state import State
from drumline.core.task import DEFAULT_OPTIONS, ClaimedTask, NotifyTarget, TaskOptions

TASK = TaskId("01890a5d-ac96-774b-bcce-b302099a8057")
LEASE = Lease(TASK, 3, 0xABC)
ON_WIRE = LeaseBody(TASK, 3, "0000000000000abc")
ERROR = ErrorInfo("E", "m", "tb")


def test_a_lease_comes_back_as_it_was() -> None:
    assert lease_body(LEASE) == ON_WIRE
    assert lease_of(ON_WIRE, field="lease") == LEASE


def test_the_highest_bit_of_a_nonce_is_left_out() -> None:
    assert lease_of(LeaseBody(TASK, 3, "f" * 16), field="lease").nonce == (1 << 63) - 1


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (LeaseBody(TaskId("no id"), 3, "0" * 16), "lease.task"),
        (LeaseBody(TASK, 3, "0" * 15), "lease.nonce"),
        (LeaseBody(TASK, 3, "g" * 16), "lease.nonce"),
    ],
)
def test_a_lease_that_is_none_is_refused_by_its_field(body: LeaseBody, field: str) -> None:
    with pytest.raises(Invalid) as caught:
        lease_of(body, field="lease")
    assert caught.value.field == field


def test_what_a_nonce_must_be_is_told() -> None:
    with pytest.raises(Invalid, match="must be 16 hex digits"):
        lease_of(LeaseBody(TASK, 3, ""), field="lease")


PLAIN = ClaimedTask(
    lease=LEASE, name="charge", queue="q", payload=Raw(b"[1]"), attempt=2, priority=7, tenant="default",
    options=DEFAULT_OPTIONS,
)  # fmt: skip
OPTIONS = TaskOptions(
    retries=4, backoff=Backoff(base=1.5, factor=3, cap=60), timeout_ms=1500, tags=("eu",), fire_time=Instant(5000),
    trace="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
)  # fmt: skip
RECORDS = RecordPage((Record(name="n", seq=1),), has_more=True)


@pytest.mark.parametrize(
    "task",
    [
        PLAIN,
        replace(PLAIN, tenant="acme"),
        replace(PLAIN, recorded=1, records=RECORDS),
        replace(PLAIN, options=OPTIONS),
        replace(PLAIN, options=OPTIONS, tenant="acme", recorded=1, records=RECORDS),
        replace(PLAIN, options=TaskOptions(tags=("eu",))),
    ],
)
def test_a_claimed_task_comes_back_as_it_was(task: ClaimedTask) -> None:
    assert claimed_task(claimed_body(task)) == task


def test_a_claimed_task_is_written_without_what_is_usual() -> None:
    body = claimed_body(PLAIN)
    assert (body.lease, body.tenant, body.records, body.backoff) == (ON_WIRE, UNSET, None, None)
    usual = claimed_body(replace(PLAIN, options=TaskOptions(tags=("eu",))))
    assert (usual.tenant, usual.backoff, usual.timeout, usual.fire_time) == (UNSET, None, None, None)


def test_a_claimed_task_is_written_in_seconds_and_utc_times() -> None:
    notify = NotifyTarget(email="ada@example.org")
    body = claimed_body(replace(PLAIN, options=replace(OPTIONS, notify=(notify,))))
    assert (body.timeout, body.fire_time) == (1.5, moment_of(Instant(5000)))
    assert [target.email for target in body.notify] == ["ada@example.org"]


@pytest.mark.parametrize(
    ("outcome", "report"),
    [
        (Succeeded(Raw(b"[1]")), SucceededReport(ON_WIRE, Raw(b"[1]"))),
        (Failed(ERROR), FailedReport(ON_WIRE, ERROR)),
        (Failed(ERROR, permanent=True, retry_after=2.5), FailedReport(ON_WIRE, ERROR, permanent=True, retry_after=2.5)),
        (Snoozed(2.5), SnoozedReport(ON_WIRE, 2.5)),
        (Released(), ReleasedReport(ON_WIRE)),
        (Stopped(), StoppedReport(ON_WIRE)),
    ],
)
def test_the_end_of_an_attempt_comes_back_as_it_was(outcome: Outcome, report: Any) -> None:
    assert report_body(LEASE, outcome) == report
    assert outcome_of(report) == outcome


def test_an_error_is_kept_without_nul() -> None:
    report = FailedReport(ON_WIRE, ErrorInfo("E\0", "m\0n\0", "\0tb"))
    assert outcome_of(report) == Failed(ErrorInfo("E\ufffd", "m\ufffdn\ufffd", "\ufffdtb"))
    assert without_nul("plain") == "plain"


def test_progress_comes_back_as_it_was() -> None:
    note = ProgressNote(LEASE, Progress(3, 10, "half"))
    report = progress_report(note)
    assert (report.lease, report.done, report.total, report.message) == (ON_WIRE, 3, 10, "half")
    assert progress_note(report, field="reports[0]") == note


@pytest.mark.parametrize(
    ("fields", "field"),
    [({"done": float("nan")}, "reports[1].done"), ({"lease": LeaseBody(TaskId("x"), 1, "")}, "reports[1].lease.task")],
)
def test_progress_that_is_none_is_refused_by_its_field(fields: dict[str, Any], field: str) -> None:
    report = progress_report(ProgressNote(LEASE, Progress(3, 10, "half")))
    with pytest.raises(Invalid) as caught:
        progress_note(replace(report, **fields), field="reports[1]")
    assert caught.value.field == field


def test_progress_without_end_is_told_to_be_so() -> None:
    report = replace(progress_report(ProgressNote(LEASE, Progress(3, 10, "half"))), done=float("inf"))
    with pytest.raises(Invalid, match="must be a finite number"):
        progress_note(report, field="r")


def test_a_worker_says_all_of_itself_but_whose_it_is() -> None:
    spec = SessionSpec(
        host="h", pid=5, version="v", queues=("q",), types=(TaskType(name="charge"),), capacity=9, tenant="t",
        label="blue", app_version="shop 1.4.2",
    )  # fmt: skip
    asked = open_request(spec)
    assert (asked.host, asked.pid, asked.version, asked.queues, asked.types, asked.capacity, asked.label) == (
        "h", 5, "v", ("q",), spec.types, 9, "blue",
    )  # fmt: skip
    assert asked.app_version == "shop 1.4.2"


def test_states_are_known_by_their_names() -> None:
    assert [state_of(state.name.lower()) for state in State] == list(State)
    assert state_of("levitating") is None


def test_the_answer_to_a_heartbeat_is_read_with_all_its_parts() -> None:
    body = BeatBody(is_open=True, lost=(TASK,), cancelled=(), should_drain=True)
    reply = beat_reply(body)
    assert (reply.is_open, reply.lost, reply.cancelled, reply.should_drain) == (True, (TASK,), (), True)
    other = beat_reply(BeatBody(is_open=False, lost=(), cancelled=(TASK,), should_drain=False))
    assert (other.is_open, other.lost, other.cancelled, other.should_drain) == (False, (), (TASK,), False)
