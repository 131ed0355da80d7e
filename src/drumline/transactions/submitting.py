"""Storing tasks and jobs in a transaction of the caller, by the statements of the servers.

What a server does before and after the commit is done here or left to it: the rules of the installation are checked
(`checking`), ids are made in slots that the database takes new work of, and those who wait for tasks are notified when
the caller commits. A notification that is lost costs a look: workers and the sweep find the task by themselves.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec.structs import replace

from drumline.core.accept_job import JobDefaults, accept_job, job_key_of
from drumline.core.errors import Conflict, DrumlineError, Invalid
from drumline.core.ids import IdSource, JobId, TaskId
from drumline.core.job import JobRequest
from drumline.core.shard_map import DIRECTORY
from drumline.core.slots import SLOTS, OpenSlots, slot_of, slot_of_key
from drumline.core.task import NewTask, Submitted, TaskRequest, accept, key_of
from drumline.core.task_type import UNKNOWN_TYPE
from drumline.engine.secrets import PayloadToCheck
from drumline.engine.submit import placed
from drumline.engine.submit_jobs import job_names
from drumline.ports.hint import Hint
from drumline.ports.shards import OwnEntry
from drumline.ports.store import Store
from drumline.sdk.jobs import SubmittedInfo
from drumline.transactions.checking import RequestRules, check_count, rules_for
from drumline.transactions.ids import SharedIds, new_source, shared_ids
from drumline.transactions.notifying import notify
from drumline.transactions.opening import Opened

KEYED: Final = "cannot be given with tx where several databases share the work: another may know the key"
TOO_ISOLATED: Final = (
    "must be a transaction of the isolation level READ COMMITTED where several databases share the work: "
    "another one does not see which of them takes new work now"
)


async def submit_tasks(opened: Opened, requests: Sequence[TaskRequest], tenant: str) -> list[TaskId | DrumlineError]:
    """Store tasks; each gets its id or the reason why not, in order."""
    store = opened.make_store()
    rules = await rules_for(store, tenant)
    check_count(len(requests), rules.limits)
    ids = await _id_source(opened, store)
    types = await rules.types(request.name for request in requests)

    def checked(request: TaskRequest) -> NewTask | DrumlineError:
        if request.collapse is not None:  # its key would stay locked until the caller commits
            return Invalid("cannot be used in a transaction of the caller", field="collapse")
        try:
            return accept(
                request,
                id=(id_ := ids.next(_slot_for(ids, tenant, key_of(request)))),
                slot_version=ids.version(id_),
                tenant=tenant,
                limits=rules.limits,
                retry=rules.tuning.retry,
                rules=types.get(request.name, UNKNOWN_TYPE),
            )
        except Invalid as error:
            return error

    answers = await _admitted([checked(request) for request in requests], rules)
    new = [task for task in answers if isinstance(task, NewTask)]
    stored = await store.submit(new)
    await notify(
        opened,
        [
            Hint(answer.id, task.lane, answer.due_at)
            for task, answer in zip(new, stored, strict=True)
            if isinstance(answer, Submitted) and answer.created and task.run_at is None and not task.delay_ms
        ],
    )
    told = iter(stored)
    return [
        _id_or_error(next(told)) if isinstance(answer, NewTask) else placed(answer, number)
        for number, answer in enumerate(answers)
    ]


async def submit_job(opened: Opened, request: JobRequest, tenant: str) -> SubmittedInfo:
    """Store a job with all its tasks, or raise the reason why not."""
    if request.schedule is not None:
        raise Invalid("belongs to a schedule: submit the job as the pattern of one", field="schedule")
    store = opened.make_store()
    rules = await rules_for(store, tenant)
    ids = await _id_source(opened, store)
    job_id = JobId(ids.next(_slot_for(ids, tenant, job_key_of(request))))
    made = iter(ids.take_in(slot_of(job_id), len(request.tasks)))
    defaults = JobDefaults(rules.tuning.retry, await rules.types(job_names(request)))
    job = replace(
        accept_job(request, id=job_id, new_id=made.__next__, tenant=tenant, limits=rules.limits, defaults=defaults),
        slot_version=ids.version(job_id),
    )
    payloads = [PayloadToCheck(each.task.payload, f"tasks.{each.key}.payload") for each in job.tasks]
    _raise_first(await rules.secret_errors(payloads))
    _raise_first(await rules.quota_errors([len(each.payload) for each in payloads]))
    (answer,) = await store.jobs.submit_jobs([job])
    if isinstance(answer, DrumlineError):
        raise answer
    await notify(opened, answer.effects.released)
    return SubmittedInfo(id=answer.id, status=answer.status, tasks=dict(answer.tasks), created=answer.created)


async def _admitted(checked: Sequence[NewTask | DrumlineError], rules: RequestRules) -> list[NewTask | DrumlineError]:
    """Return the tasks with the reason in the place of each that secrets or quotas do not let in."""
    new = [task for task in checked if isinstance(task, NewTask)]
    secrets = iter(await rules.secret_errors([PayloadToCheck(task.payload) for task in new]))
    checked = [next(secrets) or task if isinstance(task, NewTask) else task for task in checked]
    sizes = [len(task.payload) for task in checked if isinstance(task, NewTask)]
    quotas = iter(await rules.quota_errors(sizes))
    return [next(quotas) or task if isinstance(task, NewTask) else task for task in checked]


async def _id_source(opened: Opened, store: Store) -> IdSource | SharedIds:
    """Return a source of ids in slots of which the database takes new work."""
    identity = await store.slots.identity()
    if identity is None:
        return shared_ids()
    if not opened.state.sees_commits:
        raise Invalid(TOO_ISOLATED, field="tx")
    slots = open_slots(await store.slots.entries(), is_directory=identity.name == DIRECTORY)
    if not slots.slots:
        raise Conflict(f"the database is the shard {identity.name}, which takes no new work", field="tx")
    return new_source(slots)


def _slot_for(ids: IdSource | SharedIds, tenant: str, key: str | None) -> int | None:
    """Return the slot that a key belongs to."""
    if key is None:
        return None
    if isinstance(ids, IdSource):
        raise Invalid(KEYED, field="idempotency_key")
    return slot_of_key(tenant, key)


def open_slots(entries: Iterable[OwnEntry], *, is_directory: bool) -> OpenSlots:
    """Return the slots that a database's own entries open; a directory has those without an entry by version 0."""
    newest: dict[int, OwnEntry] = {}
    for entry in entries:
        if entry.slot not in newest or newest[entry.slot].version < entry.version:
            newest[entry.slot] = entry
    opened = {slot: entry for slot, entry in newest.items() if entry.closed_at is None}
    first = [slot for slot in range(SLOTS) if slot not in newest] if is_directory else []
    return OpenSlots(
        tuple(sorted([*first, *opened])),
        {slot: entry.version for slot, entry in opened.items() if entry.version},
        {slot: entry.since for slot, entry in opened.items() if entry.since},
    )


def _id_or_error(answer: Submitted | DrumlineError) -> TaskId | DrumlineError:
    return answer.id if isinstance(answer, Submitted) else answer


def _raise_first(errors: Iterable[DrumlineError | None]) -> None:
    for error in errors:
        if error is not None:
            raise error
