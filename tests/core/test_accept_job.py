"""Accepting a job: everything is checked before anything is stored, and every fault is told by its field."""

from typing import Any

import pytest

from drumline.core.accept_job import accept_job, with_new_ids
from drumline.core.codec import decode, encode
from drumline.core.errors import Invalid
from drumline.core.ids import JobId, TaskId
from drumline.core.job import JobRequest, JobTaskRequest, NewJob, RunIf
from drumline.core.limits import Limits
from drumline.core.task import decode_options
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
    ("request_", "field"),
    [
        ({"tasks": {"a": {"needs": ["b"]}, "b": {"needs": ["a"]}}}, "tasks"),
        ({"tasks": {"a": {"needs": ["nope"]}}}, "tasks.a.needs[0]"),
        ({"tasks": {}}, "tasks"),
        ({"tasks": {"a": {"retries": -1}}}, "tasks.a.retries"),
        ({"tasks": {"a": {"queue": "no spaces"}}}, "tasks.a.queue"),
        ({"tasks": {"a": {"payload": {"$result": "b"}}, "b": {}}}, "tasks.a.payload"),
        ({"tasks": {"a": {"run_if": "any_failed"}}}, "tasks.a.run_if"),
        ({"tasks": {"a": {"command": ["ls"], "payload": {"x": 1}}}}, "tasks.a.command"),
        ({"tasks": {"a": {"command": ["ls"], "name": "work"}}}, "tasks.a.command"),
        ({"tasks": {"a": {"delay": 1, "run_at": "2030-01-01T00:00:00Z"}}}, "tasks.a.delay"),
        ({"tasks": {" ": {}}}, "tasks"),
        ({"tasks": {"a": {}}, "name": ""}, "name"),
        ({"tasks": {"a": {}}, "owner": " "}, "owner"),
        ({"tasks": {"a": {}}, "depends_on": ["x"]}, "depends_on[0]"),
        ({"tasks": {"a": {}}, "retries": -1}, "retries"),
        ({"tasks": {"a": {}}, "notify": [{}]}, "notify[0]"),
        ({"tasks": {"a": {}}, "notify": [{"email": "a@b.c", "on": []}]}, "notify[0].on"),
        ({"tasks": {"a": {}}, "tags": [""]}, "tags[0]"),
        ({"tasks": {"a": {}}, "idempotency_key": "k", "idempotencyKey": "k"}, "idempotency_key"),
    ],
)
def test_every_fault_is_told_by_its_field(request_: dict[str, Any], field: str) -> None:
    assert refused(request_).field == field


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
