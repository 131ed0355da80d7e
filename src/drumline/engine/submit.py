"""Bringing tasks in: validated, stored durably, then offered."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import repeat
from typing import Final, Protocol, TypeVar, cast

from msgspec.structs import replace

from drumline.aio.batcher import Batcher, BatchWeights
from drumline.aio.threads import LARGE, in_thread, off_loop
from drumline.core.children import ParentTask, as_child, inherit
from drumline.core.errors import DrumlineError, Forbidden, Invalid, Unavailable
from drumline.core.ids import IdSource, TaskId, made_at
from drumline.core.mapping import MAP, AllowTask, allow_task, names_in
from drumline.core.secret_references import any_has_secrets, has_secrets
from drumline.core.slots import STAYS, slot_of, slot_of_key
from drumline.core.task import (
    DEFAULT_TENANT,
    Lane,
    NewTask,
    SubmitAnswer,
    Submitted,
    TaskRequest,
    accept,
    placing_key,
    queue_of,
)
from drumline.core.task_type import UNKNOWN_TYPE, TypeRules, weight_of_rules
from drumline.core.tuning import DEFAULT_TUNING, Tuning
from drumline.engine.blobs import BlobTaskStoring, TaskBatches
from drumline.engine.checks import RequestChecks
from drumline.engine.collapsing import CollapsingSubmissions
from drumline.engine.effects import EffectFollower
from drumline.engine.lease_on_submit import LeaseOnSubmit
from drumline.engine.options import EngineOptions
from drumline.engine.secrets import PayloadToCheck
from drumline.engine.tracing import sending
from drumline.ports.collapsing import Collapsing
from drumline.ports.store import Hint, Submitting

E = TypeVar("E", bound=DrumlineError | None)

Allow = AllowTask

LIGHT: Final = 1000
"""Bytes of payloads, on average, up to which a batch of tasks is checked between two turns of the event loop."""
ROW: Final = 100
"""What checking a task costs besides its payload, as bytes of JSON."""
MOST_EXPLAINED: Final = 200
"""Tasks of one list that do not fit their types and are told why; the others are told that they do not."""
MOST_BYTES_WAITING: Final = 256 * 1024 * 1024
"""Payloads that may wait for the store; callers beyond that are asked to come again."""


class TaskStoring(Protocol):
    """Stores tasks that have been checked, together with others that come at the same time."""

    async def join(self, task: NewTask, /) -> SubmitAnswer:
        """Store one task."""
        ...

    async def join_each(self, tasks: Iterable[NewTask], /) -> list[SubmitAnswer | DrumlineError]:
        """Store many; each has its own answer, in order."""
        ...


class SubmittingStore(Submitting, Protocol):
    """The part of a store that takes tasks in."""

    @property
    def collapsing(self) -> Collapsing:
        """Submissions that may collapse into earlier ones."""
        ...


class Submissions:
    """Accepts tasks. An answer means that the task is durable."""

    def __init__(
        self,
        store: SubmittingStore,
        lease_on_submit: LeaseOnSubmit,
        effects: EffectFollower,
        *,
        checks: RequestChecks,
        ids: IdSource,
        options: EngineOptions,
    ) -> None:
        self._store = store
        self._lease_on_submit = lease_on_submit
        self._effects = effects
        self._collapse = CollapsingSubmissions(store.collapsing, effects)
        self._ids = ids
        self._limits, self._quotas, self._secrets, self._types, _, self._lanes = checks
        self._tracer = options.tracer
        self._retry = DEFAULT_TUNING.retry
        self.batcher: Batcher[NewTask, SubmitAnswer] = Batcher(
            self._flush,
            name="submissions",
            largest=DEFAULT_TUNING.submit_batch,
            parallel=options.parallel,
            weights=BatchWeights(lambda task: len(task.payload), MOST_BYTES_WAITING),
        )
        self.batcher.meter = options.metrics.batch.of("submissions")
        self.batches: TaskBatches = (
            BlobTaskStoring(self.batcher, options.blobs) if options.blobs.is_on else self.batcher
        )
        """Stores tasks here in batches, large payloads as blobs."""
        self.storing: TaskStoring = self.batches
        """Where checked tasks go: to the store in batches, or where `shards` route them."""

    def tune(self, tuning: Tuning) -> None:
        """Go by other defaults and sizes from now on."""
        self._retry = tuning.retry
        self.batcher.resize(tuning.submit_batch)

    async def prepare(self) -> None:
        """Have ready what the first task needs, so that it takes no longer than any other.

        A store that is unavailable now is not waited for: it may be available when the first task comes.
        """
        with suppress(Unavailable):
            await self._store.prepare()
            await self._quotas.of(DEFAULT_TENANT)
            await self._lease_on_submit.prepare()

    async def submit(
        self, request: TaskRequest, *, tenant: str = DEFAULT_TENANT, allow: Allow | None = None
    ) -> Submitted:
        """Store one task, or raise the reason why not; `allow` is asked first about its name and queue."""
        rules = await self._types.rules(request.name, tenant=tenant)
        if allow is not None:
            started = await self._types.rules_of(names_in(request.name, request.payload), tenant=tenant)
            allow_task(allow, request.name, queue_of(request, rules), request.payload, started)
        if not self._tracer.is_on:
            return await self._submit(request, rules, tenant)
        with sending(self._tracer, queue_of(request, rules), drumline__task__name=request.name) as span:
            submitted = await self._submit(request, rules, tenant)
            span.note("messaging.message.id", submitted.id)
            return submitted

    async def _submit(self, request: TaskRequest, rules: TypeRules, tenant: str) -> Submitted:
        key = placing_key(request)  # a task with a key is in the slot of its key, so that the key has one home
        task_id = self._ids.next() if key is None else self._ids.next(slot_of_key(tenant, key))
        check = partial(
            accept,
            request,
            id=task_id,
            slot_version=self._ids.version(task_id),
            tenant=tenant,
            limits=self._limits,
            retry=self._retry,
            rules=rules,
        )
        task = check() if len(request.payload) + rules.weight < LARGE else await in_thread(check)
        if has_secrets(task.payload):
            await self._secrets.check([PayloadToCheck(task.payload)], tenant=tenant)
        if self._quotas.has_none(tenant):
            answer = await self.storing.join(task)
        else:
            await self._quotas.admit_all(tenant, [len(task.payload)])
            with self._quotas.flying(tenant, 1):
                answer = await self.storing.join(task)
        if not isinstance(answer, Submitted):
            raise answer
        return answer

    async def submit_many(
        self,
        requests: Sequence[TaskRequest | DrumlineError],
        *,
        tenant: str = DEFAULT_TENANT,
        allow: Allow | None = None,
        ids: Sequence[TaskId] | None = None,
    ) -> list[Submitted | DrumlineError]:
        """Store many tasks; each gets its own answer, in order, and a bad one does not hold up the others.

        What could not be read stands in the list as the error that says so, its answer; `allow` raises `Forbidden` for
        names and queues that are not the caller's. `ids` are those of the tasks where they were made before, in the
        slots of their keys. If the store goes away in the middle of a long list, what was stored before has its id,
        and only the rest the error.
        """
        if len(requests) > self._limits.batch:
            raise Invalid(f"has {len(requests):,} tasks; at most {self._limits.batch:,} are accepted", field="tasks")
        names = {request.name for request in requests if isinstance(request, TaskRequest)}
        if allow is not None and MAP in names:
            maps = [request for request in requests if isinstance(request, TaskRequest) and request.name == MAP]
            names = names.union(*(names_in(MAP, request.payload) for request in maps))
        found = await self._types.rules_of(names, tenant=tenant)
        rules = {name: each.telling("brief") if each.check is not None else each for name, each in found.items()}
        if allow is not None:
            requests = [_allowed(request, rules, allow) for request in requests]
        if not self._tracer.is_on:
            return await self._submit_many(requests, rules, tenant, ids)
        with sending(self._tracer, "", messaging__batch__message_count=len(requests)):
            return await self._submit_many(requests, rules, tenant, ids)

    async def _submit_many(
        self,
        requests: Sequence[TaskRequest | DrumlineError],
        rules: Mapping[str, TypeRules],
        tenant: str,
        ids: Sequence[TaskId] | None,
    ) -> list[Submitted | DrumlineError]:
        weight = sum(len(request.payload) for request in requests if isinstance(request, TaskRequest))
        weight += weight_of_rules(rules.values())
        is_light = weight <= max(LARGE, LIGHT * len(requests))
        if ids is None and is_light and self._quotas.has_none(tenant) and not _may_have_secrets(requests):
            return await self._submit_plain(requests, rules, tenant)
        accept_one = self._accepting(rules, tenant)
        numbered = [
            (number, request, made if ids is None else ids[number])
            for number, request, made in self._numbered(requests, tenant)
        ]

        def check() -> list[NewTask | DrumlineError]:
            return [accept_one(request, number, task_id) for number, request, task_id in numbered]

        checked = await off_loop(weight + ROW * len(requests), check)
        if any(isinstance(task, NewTask) and has_secrets(task.payload) for task in checked):
            checked = await self._with_secrets(checked, tenant)
        if not self._quotas.has_none(tenant):
            checked = await self._admit(checked, tenant)
        new = [task for task in checked if isinstance(task, NewTask)]
        with self._quotas.flying(tenant, len(new)):
            answers = await self.storing.join_each(new)
        if len(new) == len(checked):
            return answers
        stored = iter(answers)
        return [next(stored) if isinstance(task, NewTask) else task for task in checked]

    async def accept_children(
        self, requests: Sequence[TaskRequest], parent: TaskId, heritage: ParentTask, *, allow: Allow | None = None
    ) -> list[NewTask]:
        """Return children of a task as they can be stored, in its slot; raise `Invalid` naming one that cannot be."""
        tenant = heritage.lane.tenant
        names = {request.name for request in requests}
        rules = await self._types.rules_of(names, tenant=tenant)
        told: list[TaskRequest | DrumlineError] = [
            inherit(request, rules.get(request.name, UNKNOWN_TYPE), heritage) for request in requests
        ]
        if allow is not None:
            told = [_allowed(request, rules, allow) for request in told]
        ids = self._ids.take_in(slot_of(parent), len(requests))
        accept_one = self._accepting(rules, tenant)

        def check() -> list[NewTask | DrumlineError]:
            found = [
                accept_one(request, number, made) for number, (request, made) in enumerate(zip(told, ids, strict=True))
            ]
            return [as_child(task, parent, heritage) if isinstance(task, NewTask) else task for task in found]

        weight = sum(ROW + len(request.payload) for request in requests) + weight_of_rules(rules.values())
        checked = await off_loop(weight, check)
        if any(isinstance(task, NewTask) and has_secrets(task.payload) for task in checked):
            checked = await self._with_secrets(checked, tenant)
        if not self._quotas.has_none(tenant):
            checked = await self._admit(checked, tenant)
        for task in checked:
            if isinstance(task, DrumlineError):
                raise task
        children = [task for task in checked if isinstance(task, NewTask)]
        if self._lanes.has_new(children) and (refused := await self._lanes.refused(task.lane for task in children)):
            raise next(placed(refused[task.lane], at) for at, task in enumerate(children) if task.lane in refused)
        return children

    def beside(self, parent: TaskId, children: Sequence[NewTask], since: int) -> list[NewTask]:
        """Return children as they are stored in their parent's database when that takes no new work of the slot.

        They are looked for where their ids were made, by the map: so these are as old as the parent, or as the entry by
        which that was moved there.
        """
        ids = self._ids.take_at(slot_of(parent), len(children), max(made_at(parent), since))
        return [replace(child, id=made, slot_version=STAYS) for child, made in zip(children, ids, strict=True)]

    async def _submit_plain(
        self, requests: Sequence[TaskRequest | DrumlineError], rules: Mapping[str, TypeRules], tenant: str
    ) -> list[Submitted | DrumlineError]:
        """Store tasks without quotas and secrets: the first are being stored while the next are checked."""
        refused: dict[int, DrumlineError] = {}
        accept_one = self._accepting(rules, tenant)

        def accepted() -> Iterator[NewTask]:
            for number, request, task_id in self._numbered(requests, tenant):
                task = accept_one(request, number, task_id)
                if isinstance(task, NewTask):
                    yield task
                else:
                    refused[number] = task

        with self._quotas.flying(tenant, len(requests)):
            answers = await self.storing.join_each(accepted())
        if not refused:
            return answers
        stored = iter(answers)
        return [refused[number] if number in refused else next(stored) for number in range(len(requests))]

    async def _with_secrets(
        self, checked: Sequence[NewTask | DrumlineError], tenant: str
    ) -> list[NewTask | DrumlineError]:
        """Return the tasks with the reason in the place of each that refers to a secret that there is not."""
        payloads = [task.payload for task in checked if isinstance(task, NewTask)]
        answers = iter(await self._secrets.check_each(payloads, tenant=tenant))
        return [
            placed(next(answers), number) or task if isinstance(task, NewTask) else task
            for number, task in enumerate(checked)
        ]

    async def _admit(self, checked: Sequence[NewTask | DrumlineError], tenant: str) -> list[NewTask | DrumlineError]:
        """Return the tasks with the reason in the place of each that the tenant's quotas do not let in."""
        new = [task for task in checked if isinstance(task, NewTask)]
        answers = iter(await self._quotas.admit(tenant, [len(task.payload) for task in new]))
        return [
            placed(next(answers), number) or task if isinstance(task, NewTask) else task
            for number, task in enumerate(checked)
        ]

    def _numbered(
        self, requests: Sequence[TaskRequest | DrumlineError], tenant: str
    ) -> Iterator[tuple[int, TaskRequest | DrumlineError, TaskId]]:
        """Return each request with its place, and with the id that its task will have."""
        ids = self._ids
        for number, (request, made) in enumerate(zip(requests, ids.take(len(requests)), strict=True)):
            key = placing_key(request) if isinstance(request, TaskRequest) else None
            yield number, request, made if key is None else ids.in_slot(made, slot_of_key(tenant, key))

    def _accepting(
        self, rules: Mapping[str, TypeRules], tenant: str
    ) -> Callable[[TaskRequest | DrumlineError, int, TaskId], NewTask | DrumlineError]:
        """Return what accepts one task of a list, by its place there."""
        limits, retry, version_of = self._limits, self._retry, self._ids.version
        known, refused = rules, 0

        def accept_one(request: TaskRequest | DrumlineError, number: int, id: TaskId) -> NewTask | DrumlineError:
            nonlocal known, refused
            if isinstance(request, DrumlineError):
                return placed(request, number)
            try:
                declared = known.get(request.name, UNKNOWN_TYPE)
                return accept(
                    request,
                    id=id,
                    slot_version=version_of(id),
                    tenant=tenant,
                    limits=limits,
                    retry=retry,
                    rules=declared,
                )
            except Invalid as error:
                refused += 1
                if refused == MOST_EXPLAINED:  # thousands of reasons would keep others waiting
                    known = {name: each.telling("none") for name, each in rules.items()}
                return placed(error, number)

        return accept_one

    async def _flush(self, tasks: list[NewTask]) -> list[SubmitAnswer]:
        if self._lanes.has_new(tasks) and (refused := await self._lanes.refused(task.lane for task in tasks)):
            return await self._flush_but(tasks, refused)
        if len(tasks) == 1:
            is_plain = tasks[0].collapse is None
            if is_plain and (stored := await self._lease_on_submit.submit(tasks[0])) is not None:
                return [stored]
        else:
            is_plain = [task.collapse for task in tasks].count(None) == len(tasks)
        if not is_plain:
            return await self._flush_collapsing(tasks)
        answers = await self._store.submit(tasks)
        self._stored(tasks, answers)
        return answers

    async def _flush_but(self, tasks: list[NewTask], refused: Mapping[Lane, Invalid]) -> list[SubmitAnswer]:
        """Store a batch but for tasks of some lanes."""
        allowed = [task for task in tasks if task.lane not in refused]
        stored = iter(await self._flush(allowed) if allowed else [])
        # Whatever is no answer is raised where it was asked for.
        return [cast("SubmitAnswer", refused[task.lane]) if task.lane in refused else next(stored) for task in tasks]

    async def _flush_collapsing(self, tasks: list[NewTask]) -> list[SubmitAnswer]:
        """Store a batch in which some may collapse; each of the two parts has its own answers, or its own error."""
        plain = [task for task in tasks if task.collapse is None]
        parts = await asyncio.gather(
            self._collapse.submit([task for task in tasks if task.collapse is not None]),
            self._flush_plain(plain) if plain else _nothing(),
            return_exceptions=True,
        )
        answers: list[Iterator[SubmitAnswer]] = []
        for part in parts:
            if not isinstance(part, BaseException):
                answers.append(iter(part))
            elif isinstance(part, DrumlineError) and plain:
                # The callers of one part must not be told of the other's error. Whatever is no answer is raised there.
                answers.append(repeat(cast("SubmitAnswer", part)))
            else:
                raise part
        of_collapsing, of_plain = answers
        return [next(of_plain if task.collapse is None else of_collapsing) for task in tasks]

    async def _flush_plain(self, tasks: list[NewTask]) -> list[SubmitAnswer]:
        answers = await self._store.submit(tasks)
        self._stored(tasks, answers)
        return answers

    def _stored(self, tasks: Sequence[NewTask], answers: Sequence[SubmitAnswer]) -> None:
        """Offer what is committed. From here on nothing may fail the callers: a lost offer is found by the sweep."""
        self._effects.submitted(tasks, answers)
        self._effects.offers.offer(
            [
                Hint(answer.id, task.lane, answer.due_at, is_due=task.run_at is None and not task.delay_ms)
                for task, answer in zip(tasks, answers, strict=True)
                if isinstance(answer, Submitted) and answer.created
            ]
        )


async def _nothing() -> list[SubmitAnswer]:
    return []


def _allowed(
    request: TaskRequest | DrumlineError, rules: Mapping[str, TypeRules], allow: Allow
) -> TaskRequest | DrumlineError:
    """Return a request, or the reason why its caller may not make it."""
    if isinstance(request, TaskRequest):
        try:
            queue = queue_of(request, rules.get(request.name, UNKNOWN_TYPE))
            allow_task(allow, request.name, queue, request.payload, rules)
        except Forbidden as error:
            return error
    return request


def _may_have_secrets(requests: Sequence[TaskRequest | DrumlineError]) -> bool:
    return any_has_secrets([request.payload for request in requests if isinstance(request, TaskRequest)])


def placed(error: E, number: int) -> E | Invalid | Forbidden:
    """Return an error about a task with the place that the task has in its list."""
    where = f"tasks[{number}]"
    if isinstance(error, Invalid):
        return Invalid(error.message, field=f"{where}.{error.field}" if error.field else where, code=error.code)
    if isinstance(error, Forbidden):
        return Forbidden(error.message, field=f"{where}.{error.field}" if error.field else where)
    return error
