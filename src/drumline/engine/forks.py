"""Makes tasks that begin with the records of others."""

import secrets
from functools import partial
from hashlib import sha256

from msgspec import Raw
from msgspec.structs import replace

from drumline.aio.threads import off_loop
from drumline.core.blob import full_size
from drumline.core.codec import check_json, encode_canonical
from drumline.core.durable import LONGEST_RECORD_NAME, check_record_name
from drumline.core.errors import Conflict, DrumlineError, Forbidden, Moved
from drumline.core.ids import IdSource, TaskId
from drumline.core.names import check_text
from drumline.core.redaction import REDACTED
from drumline.core.secret_references import has_secrets
from drumline.core.slots import slot_of
from drumline.core.task import NewTask, TaskRequest, TaskView, accept, encode_options
from drumline.core.trace import CARRIED_TRACE
from drumline.engine.blobs import Blobs
from drumline.engine.checks import RequestChecks
from drumline.engine.effects import EffectFollower
from drumline.engine.query import Queries
from drumline.engine.secrets import PayloadToCheck
from drumline.ports.forks import Forked, NewFork
from drumline.ports.hint import Hint
from drumline.ports.store import Store


class ForkService:
    """Makes a task from another: the same code, with the records before a step."""

    def __init__(
        self,
        store: Store,
        queries: Queries,
        effects: EffectFollower,
        *,
        checks: RequestChecks,
        ids: IdSource,
        blobs: Blobs,
    ) -> None:
        self._store = store
        self._queries = queries
        self._effects = effects
        self._limits, self._quotas, self._secrets, self._types, self._redaction, _ = checks
        self._ids = ids
        self._blobs = blobs

    async def fork(  # noqa: PLR0913 - what a request may say
        self,
        source: TaskId,
        step: str,
        *,
        key: str = "",
        payload: Raw | None = None,
        id: str | None = None,
        tenant: str | None = None,
        may_restore: bool = True,
    ) -> Forked:
        """Store a task like another, with the records that it has before a step, and offer it.

        `payload` takes the place of the other's; values that callers are not shown are put back if `may_restore`.
        Raises `NotFound`, `Conflict` if the payload needs results of a job, `KeyReused` if the id belongs to another
        fork, and `Invalid` naming the field at fault.
        """
        check_record_name(step, key)
        if id is not None:
            check_text(id, field="id", longest=LONGEST_RECORD_NAME)
        view = await self._queries.get(source, tenant=tenant)
        task = await self._task(view, payload, may_restore=may_restore)
        own = id or secrets.token_hex(16)
        asked = sha256(encode_canonical((step, key)) + b"\0" + bytes(payload or b"")).digest()
        new = NewFork(source=source, task=task, step=step, key=key, id=own, fingerprint=asked, tenant=tenant)
        await self._quotas.admit_all(view.lane.tenant, [full_size(task.payload)])
        with self._quotas.flying(view.lane.tenant, 1):
            answer = await self._store.forks.fork(new)
        if isinstance(answer, Moved):
            raise Conflict("the task is being moved to another database: fork it when it has arrived")
        if isinstance(answer, DrumlineError):
            raise answer
        if answer.submitted.created:
            self._effects.submitted([task], [answer.submitted])
            self._effects.offers.offer([Hint(answer.submitted.id, task.lane, answer.submitted.due_at, is_due=True)])
        return answer

    async def _task(self, view: TaskView, payload: Raw | None, *, may_restore: bool) -> NewTask:
        # A blob belongs to one task: the other has its own.
        lane, stored = view.lane, await self._blobs.read(view.payload or Raw(b"{}"))
        if payload is None and view.options.takes:
            raise Conflict("its payload takes results of its job: give a payload with the values")
        if payload is not None:
            given = payload
            payload = await off_loop(len(given) + len(stored), lambda: self._restored(given, stored))
            if not may_restore and bytes(payload) != bytes(given):
                raise Forbidden(
                    f"this key is for some tasks only: give the values in the place of {REDACTED}", field="payload"
                )
        request = TaskRequest(name=lane.name, payload=payload or stored, queue=lane.queue, priority=lane.priority)
        id_ = self._ids.next(slot_of(view.id))
        rules = await self._types.rules(lane.name, tenant=lane.tenant)
        check = partial(accept, request, id=id_, tenant=lane.tenant, limits=self._limits, rules=rules)
        accepted = await off_loop(len(request.payload) + rules.weight, check)
        if has_secrets(accepted.payload):
            await self._secrets.check([PayloadToCheck(accepted.payload)], tenant=lane.tenant)
        options = replace(
            view.options, job=None, key=None, takes=(), schedule=None, expires_at=None, collapse=None,
            trace=CARRIED_TRACE.get(), forked_from=view.id,
        )  # fmt: skip
        kept = accepted.payload
        if self._blobs.is_large(len(kept)):
            kept = await self._blobs.keep(id_, kept)
        return NewTask(
            id=id_,
            lane=lane,
            payload=kept,
            options=encode_options(options),
            slot_version=self._ids.version(id_),
        )

    def _restored(self, given: Raw, stored: Raw) -> Raw:
        check_json(bytes(given), field="payload", largest=self._limits.payload, deepest=self._limits.nesting)
        return self._redaction.restored(given, stored)
