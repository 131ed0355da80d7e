"""Bringing jobs in: validated, stored durably as a whole, then offered."""

from collections.abc import Container, Mapping
from typing import Final, Protocol

from msgspec.structs import replace

from drumline.aio.batcher import Batcher, BatchWeights
from drumline.aio.threads import off_loop
from drumline.core.accept_job import JobDefaults, accept_job, job_key_of, name_of
from drumline.core.errors import DrumlineError, Invalid
from drumline.core.ids import IdSource, JobId
from drumline.core.job import JobRequest, NewJob
from drumline.core.mapping import MAP, AllowTask, allow_task, names_in
from drumline.core.retry import DEFAULT_RETRY
from drumline.core.secret_references import has_secrets
from drumline.core.slots import slot_of, slot_of_key
from drumline.core.task import DEFAULT_QUEUE, DEFAULT_TENANT, Lane
from drumline.core.task_type import UNKNOWN_TYPE, TypeRules, weight_of_rules
from drumline.core.tuning import Tuning
from drumline.engine.blobs import BlobJobStoring
from drumline.engine.checks import RequestChecks
from drumline.engine.effects import EffectFollower
from drumline.engine.options import EngineOptions
from drumline.engine.secrets import PayloadToCheck
from drumline.engine.submit import MOST_BYTES_WAITING
from drumline.engine.tracing import sending
from drumline.ports.jobs import JobAnswer, Jobs, SubmittedJob

TASK_BYTES: Final = 600
"""What looking through a task of a job costs besides its payload, as bytes of JSON."""
ROW_BYTES: Final = 500
"""What a task weighs besides its payload."""


class JobStoring(Protocol):
    """Stores jobs that have been checked, together with others that come at the same time."""

    async def join(self, job: NewJob, /) -> JobAnswer:
        """Store one job."""
        ...


class JobSubmissions:
    """Accepts jobs. An answer means that the job is durable."""

    def __init__(
        self,
        jobs: Jobs,
        effects: EffectFollower,
        *,
        checks: RequestChecks,
        ids: IdSource,
        options: EngineOptions,
    ) -> None:
        self._jobs = jobs
        self._effects = effects
        self._ids = ids
        self._limits, self._quotas, self._secrets, self._types, _, self._lanes = checks
        self._tracer = options.tracer
        self._retry = DEFAULT_RETRY
        batcher = Batcher[NewJob, JobAnswer](
            self._flush, name="jobs", largest=100, weights=BatchWeights(_weight_of, MOST_BYTES_WAITING)
        )
        self.storing: JobStoring = BlobJobStoring(batcher, options.blobs) if options.blobs.is_on else batcher
        """Where checked jobs go: to the store in batches, or where `shards` route them."""

    def tune(self, tuning: Tuning) -> None:
        """Go by other defaults from now on."""
        self._retry = tuning.retry

    async def submit(
        self, request: JobRequest, *, tenant: str = DEFAULT_TENANT, allow: AllowTask | None = None
    ) -> SubmittedJob:
        """Store a job with all its tasks, or raise the reason why not; `allow` is asked first about each of them."""
        rules = await self._types.rules_of(job_names(request), tenant=tenant)
        if allow is not None:
            allow_job(request, rules, allow)
        if not self._tracer.is_on:
            return await self._submit(request, rules, tenant)
        with sending(self._tracer, "", messaging__batch__message_count=len(request.tasks)):
            return await self._submit(request, rules, tenant)

    async def _submit(self, request: JobRequest, rules: Mapping[str, TypeRules], tenant: str) -> SubmittedJob:
        job = await self._accept(request, rules, tenant)
        wanted = [
            PayloadToCheck(each.task.payload, f"tasks.{each.key}.payload")
            for each in job.tasks
            if has_secrets(each.task.payload)
        ]
        if wanted:
            await self._secrets.check(wanted, tenant=tenant)
        if not self._quotas.has_none(tenant):
            await self._quotas.admit_all(tenant, [len(each.task.payload) for each in job.tasks])
        with self._quotas.flying(tenant, len(job.tasks)):
            answer = await self.storing.join(job)
        if isinstance(answer, DrumlineError):
            raise answer
        return answer

    async def _accept(self, request: JobRequest, rules: Mapping[str, TypeRules], tenant: str) -> NewJob:
        if request.schedule is not None:
            raise Invalid("belongs to a schedule: submit the job as the pattern of one", field="schedule")
        # Ids are made here, since their source belongs to the loop; looking through thousands of tasks does not.
        key = job_key_of(request)
        job = JobId(self._ids.next(None if key is None else slot_of_key(tenant, key)))
        version = self._ids.version(job)
        ids = iter(self._ids.take_in(slot_of(job), len(request.tasks)))

        defaults = JobDefaults(self._retry, rules)

        def check() -> NewJob:
            new = accept_job(
                request, id=job, new_id=ids.__next__, tenant=tenant, limits=self._limits, defaults=defaults
            )
            return replace(new, slot_version=version) if version else new

        weight = sum(len(task.payload) + TASK_BYTES for task in request.tasks.values())
        return await off_loop(weight + weight_of_rules(rules.values()), check)

    async def _flush(self, jobs: list[NewJob]) -> list[JobAnswer]:
        refused = await self._lanes.refused(each.task.lane for job in jobs for each in job.tasks)
        errors = {job.id: refused[lane] for job in jobs if (lane := _first_of(job, refused)) is not None}
        allowed = [job for job in jobs if job.id not in errors]
        stored = iter(await self._store(allowed) if allowed else [])
        return [errors[job.id] if job.id in errors else next(stored) for job in jobs]

    async def _store(self, jobs: list[NewJob]) -> list[JobAnswer]:
        answers = await self._jobs.submit_jobs(jobs)
        # Committed: from here on nothing may fail the callers. A lost offer is found by the sweep.
        for job, answer in zip(jobs, answers, strict=True):
            if isinstance(answer, SubmittedJob) and answer.created:
                self._effects.job_submitted(job, answer.status, answer.effects)
        return answers


def job_names(request: JobRequest) -> set[str]:
    """Return the names of a job's tasks, and of those that they are known to start."""
    names = {name_of(key, task) for key, task in request.tasks.items()}
    if MAP in names:
        maps = [task for key, task in request.tasks.items() if name_of(key, task) == MAP]
        names = names.union(*(names_in(MAP, task.payload) for task in maps))
    return names


def allow_job(request: JobRequest, rules: Mapping[str, TypeRules], allow: AllowTask, *, field: str = "") -> None:
    """Ask about every task of a job: its name, and the queue that it will be in."""
    for key, task in request.tasks.items():
        name = name_of(key, task)
        declared = rules.get(name, UNKNOWN_TYPE).defaults.queue
        queue = task.queue or declared or DEFAULT_QUEUE
        allow_task(allow, name, queue, task.payload, rules, field=f"{field}tasks.{key}.")


def _first_of(job: NewJob, lanes: Container[Lane]) -> Lane | None:
    return next((each.task.lane for each in job.tasks if each.task.lane in lanes), None)


def _weight_of(job: NewJob) -> int:
    return sum(len(each.task.payload) + ROW_BYTES for each in job.tasks)
