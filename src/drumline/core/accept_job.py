"""Accepting a job: everything about it is checked before anything of it is stored."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from hashlib import sha256
from types import MappingProxyType
from typing import Final, NamedTuple

from msgspec import Raw
from msgspec.structs import replace

from drumline.core.codec import decode, encode, encode_canonical
from drumline.core.errors import Invalid
from drumline.core.graph import check_graph
from drumline.core.ids import JobId, TaskId, parse_job_id
from drumline.core.job import (
    MOST_JOBS_NEEDED,
    SHARED_FIELDS,
    JobOptions,
    JobRequest,
    JobTaskRequest,
    NewJob,
    NewJobTask,
    RunIf,
)
from drumline.core.limits import DEFAULT_LIMITS, Limits
from drumline.core.names import LONGEST_NAME, check_key, check_name, check_text
from drumline.core.references import LITERAL_MARK, LONGEST_KEY, MARK, SECRET_MARK, fill_in, find_references
from drumline.core.retry import DEFAULT_RETRY, RetryDefaults
from drumline.core.task import (
    DEFAULT_QUEUE,
    DEFAULT_TENANT,
    EMPTY_PAYLOAD,
    NewTask,
    TaskRequest,
    accept,
    decode_options,
    encode_options,
    options_of,
)
from drumline.core.task_type import UNKNOWN_TYPE, TypeDefaults, TypeRules

SHELL: Final = "shell"
"""The name of the tasks that `command` is short for."""
NO_RULES: Final[Mapping[str, TypeRules]] = MappingProxyType({})


class JobDefaults(NamedTuple):
    """Defaults for tasks of a job: those of the installation, and those of their types."""

    retry: RetryDefaults = DEFAULT_RETRY
    rules: Mapping[str, TypeRules] = NO_RULES


NO_DECLARATIONS: Final = JobDefaults()


def accept_job(
    request: JobRequest,
    *,
    id: JobId,
    new_id: Callable[[], TaskId],
    tenant: str = DEFAULT_TENANT,
    limits: Limits = DEFAULT_LIMITS,
    defaults: JobDefaults = NO_DECLARATIONS,
) -> NewJob:
    """Return the request as a job that can be stored, or raise `Invalid` naming the field at fault.

    What a task does not say is as its type declares it, then as the job has it for all its tasks, and then as the
    installation is set to. A schedule is not looked at: what it makes of the request is a job for each firing.
    """
    if request.idempotency_key is not None and request.idempotency_key_alias is not None:
        raise Invalid("is given twice, as idempotency_key and idempotencyKey", field="idempotency_key")
    needs = {key: task.needs for key, task in request.tasks.items()}
    check_graph(needs, most=limits.job_tasks, most_edges=limits.job_edges)
    ids = {check_text(key, field="tasks", longest=LONGEST_KEY): new_id() for key in request.tasks}
    accept_task = partial(accept, tenant=tenant, limits=limits, retry=defaults.retry)
    plain = _TasksOf(request, accept_task, id, limits, defaults.rules)
    idempotency_key = job_key_of(request)
    return NewJob(
        id=id,
        tenant=tenant,
        name=check_name(request.name),
        owner=None if request.owner is None else check_text(request.owner, field="owner", longest=LONGEST_NAME),
        options=_options_of(request, defaults.retry),
        depends_on=_jobs_needed(request.depends_on),
        idempotency_key=None if idempotency_key is None else check_key(idempotency_key),
        fingerprint=None if idempotency_key is None else _fingerprint(request),
        tasks=tuple(
            NewJobTask(
                task=plain.accept(key, task, ids[key]),
                key=key,
                needs=tuple(ids[need] for need in task.needs),
                run_if=task.run_if,
            )
            for key, task in request.tasks.items()
        ),
    )


class _TasksOf:
    """Accepts the tasks of one job."""

    def __init__(
        self,
        request: JobRequest,
        accept_task: Callable[..., NewTask],
        job: JobId,
        limits: Limits,
        rules: Mapping[str, TypeRules],
    ) -> None:
        self._request = request
        self._accept = accept_task
        self._job = job
        self._limits = limits
        self._rules = rules

    def accept(self, key: str, task: JobTaskRequest, id: TaskId) -> NewTask:
        """Return one task of the job, or raise `Invalid` naming the field by the task's key."""
        try:
            rules = self._rules.get(name_of(key, task), UNKNOWN_TYPE)
            plain = self._accept(self._plain(key, task, rules.defaults), id=id, rules=rules)
            taken = self._taken(plain.payload, task.needs)
            options = replace(decode_options(plain.options), job=self._job, key=key, takes=taken)
            payload = plain.payload
            # Nothing will be filled in later, so this is the time; unless the worker has secrets to fill in.
            if not taken and LITERAL_MARK in payload and SECRET_MARK not in payload:
                payload = bytes(fill_in(payload, (), {}, self._limits))
        except Invalid as error:
            where = f"tasks.{key}" + (f".{error.field}" if error.field else "")
            raise Invalid(error.message, field=where, code=error.code) from error
        return replace(plain, payload=payload, options=encode_options(options))

    def _plain(self, key: str, task: JobTaskRequest, declared: TypeDefaults) -> TaskRequest:
        if task.run_if is RunIf.ANY_FAILED and not task.needs:
            raise Invalid("has nothing that could fail: give it needs", field="run_if")
        said = {name: getattr(task, name) for name in SHARED_FIELDS}
        said["payload"] = _payload_of(task)
        for name, for_all in (("retries", self._request.retries), ("backoff", self._request.backoff)):
            if said[name] is None and getattr(declared, name) is None:
                said[name] = for_all
        return TaskRequest(name=name_of(key, task), **said)

    def _taken(self, payload: bytes, needs: tuple[str, ...]) -> tuple[str, ...]:
        """Return the keys of the parents whose results the payload refers to."""
        if MARK not in payload:
            return ()
        found = find_references(decode(payload, object), needs)
        return tuple(dict.fromkeys(reference.parent for reference in found))


def job_key_of(request: JobRequest) -> str | None:
    """Return the idempotency key of a job, by either of its names."""
    return request.idempotency_key if request.idempotency_key is not None else request.idempotency_key_alias


def with_new_ids(job: NewJob, *, id: JobId, tasks: Sequence[TaskId]) -> NewJob:
    """Return a job that was not stored with other ids, as if it had been accepted with those."""
    new = dict(zip((each.task.id for each in job.tasks), tasks, strict=True))
    return replace(
        job,
        id=id,
        tasks=tuple(
            replace(
                each,
                task=replace(
                    each.task,
                    id=new[each.task.id],
                    options=encode_options(replace(decode_options(each.task.options), job=id)),
                ),
                needs=tuple(new[need] for need in each.needs),
            )
            for each in job.tasks
        ),
    )


def name_of(key: str, task: JobTaskRequest) -> str:
    """Return the name of a task of a job: given, `shell` for a command, or else its key."""
    if task.name is not None:
        return task.name
    return key if task.command is None else SHELL


def _payload_of(task: JobTaskRequest) -> Raw:
    if task.command is None:
        return task.payload
    if task.payload != EMPTY_PAYLOAD:
        raise Invalid("cannot be given together with payload", field="command")
    if task.name not in {None, SHELL}:
        raise Invalid("is short for a shell task, which has another name", field="command")
    return Raw(encode({"shell" if isinstance(task.command, str) else "command": task.command}))


def _options_of(request: JobRequest, retry: RetryDefaults) -> JobOptions:
    plain = options_of(
        TaskRequest(
            name=request.name,
            retries=request.retries,
            backoff=request.backoff,
            tags=request.tags,
            notify=request.notify,
        ),
        retry,
    )
    return JobOptions(retries=plain.retries, backoff=plain.backoff, tags=plain.tags, notify=plain.notify)


def _jobs_needed(needed: tuple[str, ...]) -> tuple[JobId, ...]:
    if len(needed) > MOST_JOBS_NEEDED:
        raise Invalid(f"must be at most {MOST_JOBS_NEEDED}", field="depends_on")
    ids = [parse_job_id(text, field=f"depends_on[{place}]") for place, text in enumerate(needed)]
    return tuple(dict.fromkeys(ids))


def _as_defaults_were(task: JobTaskRequest) -> JobTaskRequest:
    """Return a task that leaves out what was the default before types could declare one: a key outlives an upgrade."""
    was = {"queue": DEFAULT_QUEUE, "priority": 0, "tags": (), "notify": ()}
    said = {name: None for name, default in was.items() if getattr(task, name) == default}
    return replace(task, **said) if said else task


def _fingerprint(request: JobRequest) -> bytes:
    """Digest what the caller asked for; key order and white space inside it do not matter."""
    tasks = {key: _as_defaults_were(task) for key, task in request.tasks.items()}
    keyless = replace(request, tasks=tasks, idempotency_key=None, idempotency_key_alias=None)
    return sha256(encode_canonical(decode(encode(keyless), object))).digest()
