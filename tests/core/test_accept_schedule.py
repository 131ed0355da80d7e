"""What a schedule is asked for as, what is refused, and what becomes of an edit."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec import Raw

from drumline.core.accept_schedule import accept_schedule, due_at, edited, schedule_for
from drumline.core.clock import Instant, to_datetime
from drumline.core.collapse import Collapse
from drumline.core.errors import Invalid
from drumline.core.firing_policy import FiringPolicy, JobSchedule, Misfire, Overlap
from drumline.core.ids import ScheduleId
from drumline.core.job import JobRequest, JobTaskRequest
from drumline.core.schedule import ScheduleEdit, ScheduleRequest, ScheduleState, ScheduleView
from drumline.core.task import TaskRequest
from drumline.core.timetable import Rule, timetable

NOW = Instant(1_700_000_000_000)
ID = ScheduleId("01890a5d-ac96-774b-bcce-b302099a8057")
TASK = TaskRequest(name="work", payload=Raw(b"{}"))
JOB = JobRequest(name="report", tasks={"a": JobTaskRequest(name="work")})
TOMORROW = to_datetime(Instant(NOW + 86_400_000))
YESTERDAY = to_datetime(Instant(NOW - 86_400_000))


def request(**fields: Any) -> ScheduleRequest:
    rule = {} if {"cron", "interval", "run_at"} & fields.keys() else {"cron": "@daily"}
    target = {} if {"task", "job"} & fields.keys() else {"task": TASK}
    return ScheduleRequest(**{"name": "nightly", **rule, **target, **fields})


def refused(**fields: Any) -> tuple[str | None, str]:
    with pytest.raises(Invalid) as wrong:
        accept_schedule(request(**fields), id=ID, now=NOW)
    return wrong.value.field, wrong.value.message


def test_a_schedule_starts_with_its_first_fire_time() -> None:
    new = accept_schedule(request(cron="0 0 1 1 *", timezone="utc"), id=ID, now=NOW)

    assert new.turn is not None
    assert to_datetime(new.turn.fire_at) == datetime(2024, 1, 1, tzinfo=UTC)
    assert (new.rule.timezone, new.state) == ("UTC", ScheduleState.ACTIVE)


def test_a_paused_one_is_checked_and_does_not_fire() -> None:
    new = accept_schedule(request(paused=True), id=ID, now=NOW)

    assert (new.state, new.turn) == (ScheduleState.PAUSED, None)
    assert refused(paused=True, run_at=YESTERDAY) == ("run_at", "is in the past")


def test_an_interval_is_counted_from_its_start_or_from_now() -> None:
    bare = accept_schedule(request(interval=90), id=ID, now=NOW)
    started = accept_schedule(request(interval="1h", start=TOMORROW), id=ID, now=NOW)
    long_ago = accept_schedule(request(interval="1h", start=YESTERDAY), id=ID, now=NOW)

    assert [new.turn and new.turn.fire_at - NOW for new in (bare, started, long_ago)] == [90_000, 86_400_000, 3_600_000]


def test_bounds_are_included() -> None:
    at = to_datetime(Instant(NOW + 60_000))
    rule = accept_schedule(request(interval=10, start=at, end=at + timedelta(seconds=20)), id=ID, now=NOW).rule

    times = [time - NOW for time in timetable(rule).times(NOW)]

    assert times == [60_000, 70_000, 80_000]


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"cron": None}, "cron"),
        ({"cron": "@daily", "run_at": TOMORROW}, "run_at"),
        ({"interval": 60, "run_at": TOMORROW}, "run_at"),
        ({"interval": 0}, "interval"),
        ({"interval": 0.999}, "interval"),
        ({"run_at": YESTERDAY}, "run_at"),
        ({"end": YESTERDAY}, "end"),
        ({"start": TOMORROW, "end": NOW and TOMORROW - timedelta(seconds=1)}, "end"),
        ({"run_at": TOMORROW, "start": TOMORROW + timedelta(days=1)}, "start"),
        ({"timezone": "Nowhere"}, "timezone"),
        ({"jitter": "25h"}, "jitter"),
        ({"max_runs": 0}, "max_runs"),
        ({"task": TASK, "job": JOB}, "job"),
        ({"task": None}, "task"),
        ({"task": TaskRequest(name="work", idempotency_key="k")}, "task.idempotency_key"),
        ({"task": TaskRequest(name="work", collapse=Collapse(unique=60))}, "task.collapse"),
        ({"task": TaskRequest(name="work", run_at=TOMORROW)}, "task.run_at"),
        ({"task": TaskRequest(name="work", queue="no no")}, "task.queue"),
        ({"job": JobRequest(name="j", tasks=JOB.tasks, idempotency_key="k")}, "job.idempotency_key"),
        ({"job": JobRequest(name="j", tasks=JOB.tasks, schedule=JobSchedule(cron="@daily"))}, "job.schedule"),
        ({"job": JobRequest(name="j", tasks={"a": JobTaskRequest(needs=("b",))})}, "job.tasks.a.needs[0]"),
        ({"name": " "}, "name"),
    ],
)
def test_what_is_wrong_is_named(fields: dict[str, Any], field: str) -> None:
    assert refused(**fields)[0] == field


def test_each_firing_has_its_own_share_of_the_jitter() -> None:
    policy = FiringPolicy(jitter_ms=10_000)
    times = [Instant(NOW + number * 60_000) for number in range(200)]

    shares = [due_at(ID, policy, time) - time for time in times]

    assert shares == [due_at(ID, policy, time) - time for time in times]
    assert min(shares) >= 0
    assert max(shares) <= 10_000
    assert len(set(shares)) > 150
    assert due_at(ID, FiringPolicy(), NOW) == NOW


def view(**fields: Any) -> ScheduleView:
    new = accept_schedule(request(**fields), id=ID, now=NOW)
    return ScheduleView(
        id=ID, tenant="default", name=new.name, rule=new.rule, policy=new.policy, target=new.target, state=new.state,
        turn=new.turn, version=1, created_at=NOW, changed_at=NOW,
    )  # fmt: skip


def test_an_edit_changes_what_it_names_and_nothing_else() -> None:
    stored = view(interval="90s", start=TOMORROW, end=TOMORROW + timedelta(days=9), overlap=Overlap.SKIP, max_runs=5)

    plain = accept_schedule(edited(stored, ScheduleEdit()), id=ID, now=NOW)
    changed = edited(stored, ScheduleEdit(cron="@hourly", end=None, misfire=Misfire.ALL, job=JOB))

    assert (plain.rule, plain.policy, plain.target) == (stored.rule, stored.policy, stored.target)
    assert (changed.cron, changed.interval, changed.end, changed.start) == ("@hourly", None, None, TOMORROW)
    assert (changed.misfire, changed.overlap, changed.max_runs) == (Misfire.ALL, Overlap.SKIP, 5)
    assert (changed.task, changed.job) == (None, JOB)


def test_single_times_survive_an_edit() -> None:
    assert edited(view(run_at=TOMORROW), ScheduleEdit(name="x")).run_at == TOMORROW


def test_a_jobs_schedule_makes_the_job() -> None:
    job = JobRequest(name="report", tasks=JOB.tasks, schedule=JobSchedule(cron="@daily", overlap=Overlap.SKIP))

    made = schedule_for(job)
    named = schedule_for(JobRequest(name="report", tasks=JOB.tasks, schedule=JobSchedule(name="n", cron="@daily")))

    assert (made.name, made.cron, made.overlap, made.job) == ("report", "@daily", Overlap.SKIP, JOB)
    assert named.name == "n"


def test_a_rule_that_says_nothing_is_a_fault_of_ours() -> None:
    with pytest.raises(ValueError, match="cron, interval_ms or run_at"):
        timetable(Rule())
