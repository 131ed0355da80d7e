"""What can be said of a task is understood everywhere: a field that one place forgets fails here."""

import inspect
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import Raw, structs

from drumline import Backoff, Drumline, NotifyTarget
from drumline.api.job_shapes import JobBody
from drumline.api.shapes import TaskBody, task_body
from drumline.cli.submitting import submit
from drumline.core.accept_job import accept_job
from drumline.core.clock import Instant
from drumline.core.collapse import Collapse
from drumline.core.ids import JobId, TaskId
from drumline.core.job import SHARED_FIELDS, JobRequest, JobTaskRequest
from drumline.core.lease import Lease
from drumline.core.protocol import ClaimedBody, claimed_body, claimed_task
from drumline.core.state import State
from drumline.core.task import ClaimedTask, NewTask, TaskOptions, TaskRequest, TaskView, accept, decode_options
from drumline.core.task_type import TypeDefaults
from drumline.sdk.jobs import JobInfo
from drumline.sdk.options import DecoratorOptions, Options, apply
from drumline.sdk.transport import TaskInfo, task_info

ROOT = Path(__file__).resolve().parents[2]
ID = TaskId("00000000-0000-7000-8000-000000000000")
AT = datetime(2030, 1, 2, tzinfo=UTC)

SAID: dict[str, Any] = {
    "name": "charge",
    "payload": Raw(b'{"order":1}'),
    "queue": "billing",
    "priority": 7,
    "delay": 60.0,
    "run_at": AT,
    "retries": 5,
    "backoff": Backoff(base=9.0),
    "timeout": 30.0,
    "idempotency_key": "k",
    "idempotency_key_alias": "k",
    "tags": ("money",),
    "notify": (NotifyTarget(email="ada@example.com"),),
    "limit_key": "acme",
    "expires": 90.0,
    "collapse": Collapse(unique=60.0, key="k"),
}
"""A value for each field, none of them the default."""
OF_THE_WHOLE_JOB = {"idempotency_key", "idempotency_key_alias", "collapse"}
ONCE_STORED = {
    "delay": "due_at", "run_at": "due_at", "idempotency_key_alias": "idempotency_key", "expires": "expires_at",
}  # fmt: skip
"""What a field has become in what is shown of a task."""


def request(*, without: str = "delay", field: str = "") -> TaskRequest:
    # A collapse rule and an idempotency key do not go together.
    other = {"idempotency_key_alias", without, "idempotency_key" if field == "collapse" else "collapse"}
    return TaskRequest(**{name: value for name, value in SAID.items() if name not in other})


def view_of(task: NewTask) -> TaskView:
    return TaskView(
        id=task.id, lane=task.lane, state=State.QUEUED, created_at=Instant(0), due_at=task.run_at, epoch=0, attempt=0,
        options=decode_options(task.options), idempotency_key=task.idempotency_key, payload=Raw(task.payload),
    )  # fmt: skip


def test_every_field_of_a_request_has_a_value_here() -> None:
    assert set(SAID) == set(TaskRequest.__struct_fields__), "a new field needs a value in SAID, and the places below"


def test_a_task_of_a_job_can_say_all_that_a_task_can() -> None:
    assert set(SHARED_FIELDS) | OF_THE_WHOLE_JOB | {"name"} == set(SAID)


@pytest.mark.parametrize("field", sorted(set(SHARED_FIELDS)))
def test_a_task_of_a_job_becomes_what_the_same_task_becomes_alone(field: str) -> None:
    alone = accept(TaskRequest(name="charge", **{field: SAID[field]}), id=ID)
    job = JobRequest(name="j", tasks={"a": JobTaskRequest(name="charge", **{field: SAID[field]})})
    ((of_job,),) = (accept_job(job, id=JobId(ID), new_id=lambda: ID).tasks,)

    options = msgspec.structs.replace(decode_options(of_job.task.options), job=None, key=None)
    kept = of_job.task
    assert (kept.lane, kept.payload, kept.run_at, kept.delay_ms) == (
        alone.lane, alone.payload, alone.run_at, alone.delay_ms,
    )  # fmt: skip
    assert options == decode_options(alone.options)
    assert alone != accept(TaskRequest(name="charge"), id=ID), "the value in SAID must not be the default"


@pytest.mark.parametrize("field", sorted(set(SHARED_FIELDS) - {"payload"}))
def test_a_node_of_a_dag_has_what_the_options_of_its_task_say(field: str) -> None:
    app = Drumline("shop")

    @app.task(name="charge")
    def charge(order: int) -> None: ...

    with app.dag("job") as dag:
        dag.add(charge.options(**{field: SAID[field]}), 1)
        dag.map(charge.options(**{field: SAID[field]}), [1])
        dag.add_task("other", **{field: SAID[field]})
        dag.add_call(charge.options(**{field: SAID[field]}).call(1))

    nodes = dag.request.tasks.values()
    assert [getattr(node, field) for node in nodes] == [SAID[field]] * 4


@pytest.mark.parametrize("field", sorted(set(SAID) - {"name", "payload", "idempotency_key_alias"}))
def test_options_of_the_sdk_say_every_field(field: str) -> None:
    option = "key" if field == "idempotency_key" else field

    said = apply(TaskRequest(name="charge"), {option: SAID[field]})  # type: ignore[misc]

    assert option in Options.__annotations__
    assert getattr(said, field) == SAID[field]


def test_the_command_line_says_every_field() -> None:
    named = {"at": "run_at", "key": "idempotency_key"}
    options = {named.get(name, name) for name in inspect.signature(submit).parameters}

    assert set(SAID) - {"idempotency_key_alias"} <= options


@pytest.mark.parametrize("field", sorted(set(SAID) - {"idempotency_key_alias"}))
def test_the_form_of_the_interface_takes_every_field(field: str) -> None:
    form = (ROOT / "ui" / "src" / "screens" / "tasks" / "SubmitSheet.tsx").read_text(encoding="utf-8")

    is_option = f"\n  {field}: {{" in form
    is_sent_by_itself = re.search(rf"body: \{{(?s:.*?)\b{field}\b(?s:.*?)\.\.\.optionsOf", form) is not None
    assert is_option or is_sent_by_itself


@pytest.mark.parametrize("field", structs.fields(TaskRequest), ids=lambda field: field.encode_name)
def test_the_reference_describes_every_field(field: structs.FieldInfo) -> None:
    page = (ROOT / "docs" / "reference" / "http.md").read_text(encoding="utf-8")

    assert re.search(rf"\| `{field.encode_name}` \| .+ \|", page)


@pytest.mark.parametrize("field", sorted(set(SAID) - {"delay", "run_at"}))
def test_people_and_programs_are_shown_every_field(field: str) -> None:
    view = view_of(accept(request(field=field), id=ID))
    shown = ONCE_STORED.get(field, field)

    body, info = task_body(view, now=Instant(0)), task_info(view, Instant(0))

    assert shown in TaskBody.__struct_fields__
    assert shown in TaskInfo.__struct_fields__
    assert getattr(info, shown) == (AT + timedelta(seconds=90) if field == "expires" else SAID[field])
    sent = msgspec.json.decode(msgspec.json.encode(body), type=TaskInfo)
    assert getattr(sent, shown) == getattr(info, shown)


def test_the_sdk_shows_all_that_the_api_shows() -> None:
    assert set(TaskBody.__struct_fields__) == set(TaskInfo.__struct_fields__)
    assert set(JobBody.__struct_fields__) == set(JobInfo.__struct_fields__)


def test_a_client_reads_what_an_older_and_a_newer_server_write() -> None:
    older = b'{"id":"i","name":"n","queue":"q","status":"QUEUED"}'
    newer = (
        b'{"id":"i","name":"n","queue":"q","status":"QUEUED","created_at":"2026-01-02T03:04:05.678Z","colour":"red"}'
    )

    assert msgspec.json.decode(older, type=TaskInfo).progress is None
    assert msgspec.json.decode(newer, type=TaskInfo).created_at == datetime(2026, 1, 2, 3, 4, 5, 678_000, tzinfo=UTC)


NOT_FOR_WORKERS = {
    "collapse",
    "expires_at",
    "notify",
    "job",
    "key",
    "takes",
    "schedule",
    "limit_key",
    "parent",
    "forked_from",
}
"""Options that the server acts on, or that no worker has to know."""


def test_a_remote_worker_is_told_every_option_that_it_acts_on() -> None:
    said = TaskOptions(
        retries=5, backoff=Backoff(base=9.0), timeout_ms=30_000, tags=("money",), fire_time=Instant(1000),
        trace="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    )  # fmt: skip
    silent = {name for name in TaskOptions.__struct_fields__ if getattr(said, name) == getattr(TaskOptions(), name)}
    assert silent == NOT_FOR_WORKERS, "a new option is told to remote workers, or is named in NOT_FOR_WORKERS"
    task = ClaimedTask(
        lease=Lease(ID, 1, 2), name="charge", queue="billing", payload=Raw(b"{}"), attempt=1, priority=7, options=said
    )

    body = msgspec.json.encode(claimed_body(task))

    assert claimed_task(msgspec.json.decode(body, type=ClaimedBody)) == task


def test_a_type_declares_what_its_decorator_takes() -> None:
    spoken_otherwise = {"max_attempts", "max_concurrent", "rate_limit", "limit_by", "mode", "process", "name"}
    of_the_worker = {"retry_on", "give_up_on"}

    declared = set(DecoratorOptions.__annotations__) - spoken_otherwise - of_the_worker

    assert declared == set(TypeDefaults.__struct_fields__)
