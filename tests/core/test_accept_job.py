"""Accepting a job: everything is checked before anything is stored, and every fault is told by its field."""

from typing import Any

import pytest

from drumline.core.accept_job import JobDefaults, accept_job, with_new_ids
from drumline.core.codec import decode, encode
from drumline.core.errors import Invalid
from drumline.core.ids import JobId, TaskId
from drumline.core.job import MOST_JOBS_NEEDED, JobRequest, JobTaskRequest, NewJob, RunIf
from drumline.core.limits import Limits
from drumline.core.retry import Backoff, RetryDefaults
from drumline.core.task import decode_options
from drumline.core.task_type import TypeDefaults, TypeRules
from tests.factories import new_id


def accepted(request: dict[str, Any], **limits: int) -> NewJob:
    asked = decode(encode({"name": "job"} | request), JobRequest)
    return accept_job(asked, id=JobId(new_id()), new_id=new_id, limits=Limits(**limits))


def refused(request: dict[str, Any], **limits: int) -> Invalid:
    with pytest.raises(Invalid) as caught:
        accepted(request, **limits)
    return caught.value


def test_tasks_keep_their_order_and_need_one_another_by_id() -> None:
    job = accepted({"tasks": {"load": {"needs": ["extract"], "run_if": "all_done"}, "extract": {}}})

    load, extract = job.tasks
    assert (load.key, extract.key) == ("load", "extract")
    assert load.needs == (extract.task.id,)
    assert load.run_if is RunIf.ALL_DONE
    assert load.task.id < extract.task.id


def test_a_task_is_named_by_its_key_unless_it_says_otherwise() -> None:
    job = accepted({"tasks": {"a": {}, "b": {"name": "work"}, "c": {"command": ["ls"]}}})

    assert [each.task.lane.name for each in job.tasks] == ["a", "work", "shell"]


def test_a_command_is_a_shell_task() -> None:
    job = accepted({"tasks": {"list": {"command": ["ls", "-l"]}, "pipe": {"command": "ls | wc"}}})

    assert [each.task.payload for each in job.tasks] == [b'{"command":["ls","-l"]}', b'{"shell":"ls | wc"}']


def test_a_job_s_retries_hold_for_tasks_that_say_nothing() -> None:
    job = accepted({"retries": 7, "backoff": 5, "tasks": {"a": {}, "b": {"retries": 0, "backoff": {"base": 1}}}})

    first, second = [decode_options(each.task.options) for each in job.tasks]
    assert (first.retries, first.backoff.base) == (7, 5)
    assert (second.retries, second.backoff.base) == (0, 1)
    assert (job.options.retries, job.options.backoff.base) == (7, 5)


def test_a_task_knows_its_job_its_key_and_whose_results_it_takes() -> None:
    payload = {"rows": {"$result": "a.rows"}, "more": [{"$result": "a"}]}
    job = accepted({"tasks": {"a": {}, "b": {}, "c": {"needs": ["a", "b"], "payload": payload}}})

    options = decode_options(job.tasks[2].task.options)
    assert (options.job, options.key, options.takes) == (job.id, "c", ("a",))


@pytest.mark.parametrize(
    ("request_", "told"),
    [
        ({"tasks": {"a": {"needs": ["b"]}, "b": {"needs": ["a"]}}}, "tasks: "),
        ({"tasks": {"a": {"needs": ["nope"]}}}, "tasks.a.needs[0]: "),
        ({"tasks": {}}, "tasks: "),
        ({"tasks": {"a": {"retries": -1}}}, "tasks.a.retries: "),
        ({"tasks": {"a": {"queue": "no spaces"}}}, "tasks.a.queue: "),
        ({"tasks": {"a": {"payload": {"$result": "b"}}, "b": {}}}, "tasks.a.payload: "),
        ({"tasks": {"a": {"run_if": "any_failed"}}}, "tasks.a.run_if: has nothing that could fail: give it needs"),
        (
            {"tasks": {"a": {"command": ["ls"], "payload": {"x": 1}}}},
            "tasks.a.command: cannot be given together with payload",
        ),
        (
            {"tasks": {"a": {"command": ["ls"], "name": "work"}}},
            "tasks.a.command: is short for a shell task, which has another name",
        ),
        ({"tasks": {"a": {"delay": 1, "run_at": "2030-01-01T00:00:00Z"}}}, "tasks.a.delay: cannot be"),
        ({"tasks": {" ": {}}}, "tasks: "),
        ({"tasks": {"a": {}}, "name": ""}, "name: "),
        ({"tasks": {"a": {}}, "owner": " "}, "owner: "),
        ({"tasks": {"a": {}}, "depends_on": ["x"]}, "depends_on[0]: "),
        ({"tasks": {"a": {}}, "retries": -1}, "retries: "),
        ({"tasks": {"a": {}}, "notify": [{}]}, "notify[0]: "),
        ({"tasks": {"a": {}}, "notify": [{"email": "a@b.c", "on": []}]}, "notify[0].on: "),
        ({"tasks": {"a": {}}, "tags": [""]}, "tags[0]: "),
        (
            {"tasks": {"a": {}}, "idempotency_key": "k", "idempotencyKey": "k"},
            "idempotency_key: is given twice, as idempotency_key and idempotencyKey",
        ),
        ({"tasks": {"a": {}}, "owner": "o" * 256}, "owner: must be at most 255 characters"),
        ({"tasks": {"a": {}}, "depends_on": ["x"] * (MOST_JOBS_NEEDED + 1)}, "depends_on: must be at most 100"),
    ],
)
def test_every_fault_is_told_by_its_field(request_: dict[str, Any], told: str) -> None:
    assert str(refused(request_)).startswith(told)


def test_a_job_has_as_many_tasks_as_the_limit_says() -> None:
    tasks: dict[str, Any] = {f"k{number}": {} for number in range(11)}

    assert refused({"tasks": tasks}, job_tasks=10).field == "tasks"
    assert len(accepted({"tasks": tasks}, job_tasks=11).tasks) == 11


def test_a_key_goes_with_a_digest_that_order_and_spaces_do_not_change() -> None:
    one = accepted({"tasks": {"a": {}, "b": {"payload": {"x": 1, "y": 2}}}, "idempotency_key": "k"})
    same = accepted({"idempotencyKey": "k", "tasks": {"b": {"payload": {"y": 2, "x": 1}}, "a": {}}})
    other = accepted({"tasks": {"a": {}, "b": {"payload": {"x": 2}}}, "idempotency_key": "k"})

    assert one.fingerprint == same.fingerprint
    assert one.fingerprint != other.fingerprint
    assert accepted({"tasks": {"a": {}}}).fingerprint is None


def test_a_job_with_other_ids_is_as_if_it_had_been_accepted_with_them() -> None:
    request = JobRequest(name="j", tasks={"a": JobTaskRequest(), "b": JobTaskRequest(needs=("a",))})
    ids = [new_id() for _ in range(6)]

    def with_ids(job: TaskId, *tasks: TaskId) -> NewJob:
        return accept_job(request, id=JobId(job), new_id=iter(tasks).__next__)

    assert with_new_ids(with_ids(*ids[:3]), id=JobId(ids[3]), tasks=ids[4:]) == with_ids(*ids[3:])


def test_other_ids_are_needed_for_every_task() -> None:
    job = accepted({"tasks": {"a": {}, "b": {}}})

    for ids in ([new_id()], [new_id() for _ in range(3)]):
        with pytest.raises(ValueError, match="zip"):
            with_new_ids(job, id=JobId(new_id()), tasks=ids)


def test_a_job_has_as_many_needs_as_the_limit_says_and_waits_for_so_many_jobs() -> None:
    tasks = {"a": {}, "b": {"needs": ["a"]}, "c": {"needs": ["a", "b"]}}
    jobs = [JobId(new_id()) for _ in range(MOST_JOBS_NEEDED)]

    assert refused({"tasks": tasks}, job_edges=2).field == "tasks"
    assert len(accepted({"tasks": tasks}, job_edges=3).tasks) == 3
    assert accepted({"tasks": tasks, "depends_on": jobs}).depends_on == tuple(jobs)
    assert accepted({"tasks": tasks, "depends_on": [jobs[1], jobs[0], jobs[1]]}).depends_on == (jobs[1], jobs[0])


def test_what_a_limit_refuses_in_a_task_keeps_its_code() -> None:
    wrong = refused({"tasks": {"a": {"payload": {"x": "long"}}}}, payload=8)

    assert (wrong.field, wrong.code) == ("tasks.a.payload", "too_large")
    assert wrong.message.startswith("is 12 bytes of JSON")


def test_a_job_keeps_what_it_was_asked_for_with_and_its_tasks_are_of_its_tenant() -> None:
    asked = JobRequest(
        name="job", tasks={"a": JobTaskRequest()}, owner="ada", tags=("t",), notify=(), idempotency_key_alias="k"
    )

    job = accept_job(asked, id=JobId(new_id()), new_id=new_id, tenant="acme")

    assert (job.tenant, job.name, job.owner, job.idempotency_key) == ("acme", "job", "ada", "k")
    assert job.options.tags == ("t",)
    assert job.tasks[0].task.lane.tenant == "acme"
    assert accepted({"tasks": {"a": {}}}).idempotency_key is None


def test_a_job_tells_those_whom_it_names() -> None:
    (target,) = accepted({"tasks": {"a": {}}, "notify": [{"email": "a@b.c"}]}).options.notify

    assert target.email == "a@b.c"


def test_what_a_task_leaves_out_is_as_its_type_declares_it_then_as_its_job_and_then_as_the_installation() -> None:
    retry = RetryDefaults(retries=9, backoff=Backoff(base=9))
    rules = {name: TypeRules(defaults=TypeDefaults(retries=1, queue=name)) for name in ("typed", "key")}
    tasks = {"a": JobTaskRequest(name="typed"), "key": JobTaskRequest(), "c": JobTaskRequest(name="other")}

    def retries_of(retries: int | None = None) -> list[int]:
        job = accept_job(
            JobRequest(name="job", tasks=tasks, retries=retries),
            id=JobId(new_id()),
            new_id=new_id,
            defaults=JobDefaults(retry, rules),
        )
        assert [each.task.lane.queue for each in job.tasks] == ["typed", "key", "default"]
        return [decode_options(each.task.options).retries for each in job.tasks] + [job.options.retries]

    assert retries_of(5) == [1, 1, 5, 5]
    assert retries_of() == [1, 1, 9, 9]


def payload_of(payload: object, **task: Any) -> bytes:
    return accepted({"tasks": {"a": {}, "b": {"payload": payload, **task}}}).tasks[1].task.payload


def test_what_is_marked_as_data_is_unmarked_once_nothing_is_to_be_filled_in() -> None:
    literal = {"$literal": {"$result": "a"}}

    assert payload_of({"x": literal}) == b'{"x":{"$result":"a"}}'
    assert payload_of({"x": literal}, needs=["a"]) == b'{"x":{"$result":"a"}}'
    for kept in ({"x": literal, "y": {"$result": "a"}}, {"x": literal, "y": {"$secret": "s"}}):
        assert payload_of(kept, needs=["a"]) == encode(kept)
    assert payload_of({"price": "$5"}) == b'{"price":"$5"}'


def test_a_payload_without_references_stays_as_it_was_written() -> None:
    written = '{"name": "j", "tasks": {"a": {"payload": {"x": 1.50, "x": 2}}}}'
    job = accept_job(decode(written, JobRequest), id=JobId(new_id()), new_id=new_id)

    assert job.tasks[0].task.payload == b'{"x": 1.50, "x": 2}'


def test_to_say_what_was_always_the_default_changes_no_digest() -> None:
    def digest(**task: Any) -> bytes | None:
        return accepted({"tasks": {"a": task}, "idempotency_key": "k"}).fingerprint

    usual = digest()

    assert digest(queue="default", priority=0, tags=[], notify=[]) == usual
    others: list[dict[str, Any]] = [{"queue": "other"}, {"priority": 1}, {"tags": ["x"]}, {"retries": 3}]
    assert all(digest(**task) != usual for task in others)
