"""What a schedule is asked for as, what is refused, and what becomes of an edit."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec import Raw

from drumline.core.accept_schedule import accept_schedule, check_target, due_at, edited, request_of, schedule_for
from drumline.core.clock import LATEST, Instant, to_datetime
from drumline.core.collapse import Collapse
from drumline.core.errors import Invalid
from drumline.core.firing_policy import MOST_RUNS, FiringPolicy, JobSchedule, Misfire, Overlap
from drumline.core.ids import ScheduleId
from drumline.core.job import JobRequest, JobTaskRequest
from drumline.core.limits import Limits
from drumline.core.payload_check import PayloadCheck
from drumline.core.schedule import ScheduleEdit, ScheduleRequest, ScheduleState, ScheduleTarget, ScheduleView
from drumline.core.task import TaskRequest
from drumline.core.task_type import TypeRules
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


JUST_NOW = to_datetime(NOW)
NO_ZONE = datetime(2030, 1, 1)  # noqa: DTZ001 - that is what is wrong with it
OF_ITS_OWN = "is not for a schedule's task: each firing is a task of its own"


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"cron": None}, "cron: is required, or interval, or run_at: something has to say when"),
        (
            {"cron": "@daily", "run_at": TOMORROW},
            "run_at: cannot be given together with cron: a schedule has one rule",
        ),
        (
            {"interval": 60, "run_at": TOMORROW},
            "run_at: cannot be given together with interval: a schedule has one rule",
        ),
        ({"interval": 0}, "interval: must be at least 1 second"),
        ({"interval": 0.999}, "interval: must be at least 1 second"),
        ({"interval": "often"}, "interval: "),
        ({"run_at": YESTERDAY}, "run_at: is in the past"),
        ({"run_at": JUST_NOW}, "run_at: is in the past"),
        ({"run_at": NO_ZONE}, "run_at: must have a time zone"),
        ({"start": NO_ZONE}, "start: must have a time zone"),
        ({"end": NO_ZONE}, "end: must have a time zone"),
        ({"end": YESTERDAY}, "end: is in the past"),
        ({"end": JUST_NOW}, "end: is in the past"),
        ({"start": TOMORROW, "end": TOMORROW - timedelta(seconds=1)}, "end: is before start"),
        (
            {"start": TOMORROW, "end": TOMORROW + timedelta(seconds=1)},
            "end: never fires: there is no fire time between start and end",
        ),
        (
            {"run_at": TOMORROW, "start": TOMORROW + timedelta(days=1)},
            "start: never fires: there is no fire time between start and end",
        ),
        ({"timezone": "Nowhere"}, "timezone: "),
        ({"jitter": "25h"}, "jitter: must be at most a day"),
        ({"jitter": "much"}, "jitter: "),
        ({"max_runs": 0}, "max_runs: must be from 1 to "),
        ({"max_runs": MOST_RUNS + 1}, "max_runs: must be from 1 to "),
        (
            {"task": TASK, "job": JOB},
            "job: cannot be given together with task: a schedule makes one or the other",
        ),
        ({"task": None}, "task: is required, or job: something has to be made"),
        ({"task": TaskRequest(name="work", idempotency_key="k")}, f"task.idempotency_key: {OF_ITS_OWN}"),
        ({"task": TaskRequest(name="work", idempotency_key_alias="k")}, f"task.idempotency_key: {OF_ITS_OWN}"),
        ({"task": TaskRequest(name="work", collapse=Collapse(unique=60))}, f"task.collapse: {OF_ITS_OWN}"),
        (
            {"task": TaskRequest(name="work", run_at=TOMORROW)},
            "task.run_at: is not for a schedule's task: each firing has its own time",
        ),
        ({"task": TaskRequest(name="work", queue="no no")}, "task.queue: must be letters"),
        (
            {"job": JobRequest(name="j", tasks=JOB.tasks, idempotency_key="k")},
            "job.idempotency_key: is not for a schedule's job: each firing is a job of its own",
        ),
        (
            {"job": JobRequest(name="j", tasks=JOB.tasks, idempotency_key_alias="k")},
            "job.idempotency_key: is not for a schedule's job: each firing is a job of its own",
        ),
        (
            {"job": JobRequest(name="j", tasks=JOB.tasks, schedule=JobSchedule(cron="@daily"))},
            "job.schedule: is not for a schedule's job: this is the schedule",
        ),
        ({"job": JobRequest(name="j", tasks={"a": JobTaskRequest(needs=("b",))})}, "job.tasks.a.needs[0]: "),
        ({"name": " "}, "name: "),
    ],
)
def test_what_is_wrong_is_named_and_why(fields: dict[str, Any], told: str) -> None:
    field, message = refused(**fields)

    assert f"{field}: {message}".startswith(told)


def test_bounds_themselves_are_accepted() -> None:
    once = accept_schedule(request(interval=1, start=TOMORROW, end=TOMORROW), id=ID, now=NOW)

    assert once.turn is not None
    assert timetable(once.rule).next_after(once.turn.fire_at) is None
    assert accept_schedule(request(jitter="24h"), id=ID, now=NOW).policy.jitter_ms == 86_400_000
    for most in (1, MOST_RUNS):
        assert accept_schedule(request(max_runs=most), id=ID, now=NOW).policy.max_runs == most


def test_a_schedule_is_its_tenants_and_has_its_id_and_the_due_time_of_its_jitter() -> None:
    other = ScheduleId("01890a5d-ac96-774b-bcce-b302099a8058")
    asked = request(jitter="10s", misfire=Misfire.ALL, overlap=Overlap.SKIP)

    new, second = (accept_schedule(asked, id=id_, now=NOW, tenant="acme") for id_ in (ID, other))

    assert (new.id, new.tenant) == (ID, "acme")
    assert new.policy == FiringPolicy(misfire=Misfire.ALL, overlap=Overlap.SKIP, jitter_ms=10_000)
    assert new.turn is not None
    assert second.turn is not None
    assert new.turn.due_at == due_at(ID, new.policy, new.turn.fire_at) > new.turn.fire_at
    assert second.turn.fire_at == new.turn.fire_at
    assert second.turn.due_at != new.turn.due_at


def test_only_intervals_without_a_start_are_counted_from_now() -> None:
    rules = [
        accept_schedule(request(**fields), id=ID, now=NOW).rule
        for fields in ({"interval": 60}, {"interval": 60, "start": TOMORROW}, {"cron": "@daily"}, {"run_at": TOMORROW})
    ]

    assert [rule.anchor for rule in rules] == [NOW, 0, 0, 0]


def test_what_a_schedule_makes_goes_by_limits_and_by_the_rules_of_its_types() -> None:
    schema = b'{"type": "object", "properties": {"rows": {"type": "integer"}}}'
    rules = {"work": TypeRules(check=PayloadCheck(schema))}
    long, wrong = Raw(b'{"rows": "many"}'), Raw(b'{"rows":"x"}')

    def told(target: ScheduleTarget) -> tuple[str | None, str]:
        with pytest.raises(Invalid) as caught:
            check_target(target, tenant="default", limits=Limits(payload=14), rules=rules)
        return caught.value.field, caught.value.code

    def both(payload: Raw) -> list[tuple[str | None, str]]:
        job = JobRequest(name="j", tasks={"a": JobTaskRequest(name="work", payload=payload)})
        return [told(ScheduleTarget(task=TaskRequest(name="work", payload=payload))), told(ScheduleTarget(job=job))]

    assert both(long) == [("task.payload", "too_large"), ("job.tasks.a.payload", "too_large")]
    assert both(wrong) == [("task.payload.rows", "invalid"), ("job.tasks.a.payload.rows", "invalid")]


def test_what_a_schedule_makes_is_told_as_it_is_without_one() -> None:
    assert refused(task=TaskRequest(name="work", retries=-1)) == ("task.retries", "must be from 0 to 1000")
    assert refused(job=JobRequest(name="j", tasks=JOB.tasks, retries=-1)) == (
        "job.retries", "must be from 0 to 1000",
    )  # fmt: skip


def test_what_a_schedule_makes_may_expire() -> None:
    job = JobRequest(name="j", tasks={"a": JobTaskRequest(name="work", expires=60)})

    for fields in ({"task": TaskRequest(name="work", expires=60)}, {"job": job}):
        assert accept_schedule(request(**fields), id=ID, now=NOW).turn is not None


def test_each_firing_has_its_own_share_of_the_jitter() -> None:
    policy = FiringPolicy(jitter_ms=10_000)
    times = [Instant(NOW + number * 60_000) for number in range(200)]

    shares = [due_at(ID, policy, time) - time for time in times]

    assert shares == [due_at(ID, policy, time) - time for time in times]
    assert min(shares) >= 0
    assert max(shares) <= 10_000
    assert len(set(shares)) > 150
    assert due_at(ID, FiringPolicy(), NOW) == NOW


def test_the_share_of_a_firing_stays_what_it_was_over_upgrades() -> None:
    assert [due_at(ID, FiringPolicy(jitter_ms=most), NOW) - NOW for most in (10_000, 7)] == [3841, 2]


def test_no_share_of_the_jitter_is_after_the_year_9999() -> None:
    policy = FiringPolicy(jitter_ms=86_400_000)

    assert due_at(ID, policy, Instant(LATEST - 1)) == due_at(ID, policy, LATEST) == LATEST


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


def test_the_request_of_a_schedule_would_make_it_again() -> None:
    said = {"cron": "0 5 * * *", "timezone": "Europe/Berlin", "start": TOMORROW, "end": TOMORROW + timedelta(days=9)}
    policy = {"misfire": Misfire.ALL, "overlap": Overlap.SKIP, "jitter": 2.5, "max_runs": 5}

    for fields in ({**said, **policy, "job": JOB}, {"interval": 1.5}, {"run_at": TOMORROW}):
        assert request_of(view(**fields)) == request(**{"jitter": 0, **fields})


def test_a_new_rule_or_target_takes_the_place_of_the_old_one() -> None:
    from_cron = edited(view(cron="@daily"), ScheduleEdit(interval=60))
    from_time = edited(view(run_at=TOMORROW), ScheduleEdit(cron="@daily"))
    from_job = edited(view(job=JOB), ScheduleEdit(task=TASK))

    assert (from_cron.cron, from_cron.interval, from_cron.run_at) == (None, 60, None)
    assert (from_time.cron, from_time.interval, from_time.run_at) == ("@daily", None, None)
    assert (from_job.task, from_job.job) == (TASK, None)


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
