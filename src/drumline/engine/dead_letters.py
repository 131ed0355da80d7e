"""Dead letters: looking at them, and resolving them one by one. Many at once: `bulk.py`."""

from collections.abc import Sequence
from functools import partial

from msgspec import Raw, Struct
from msgspec.structs import replace

from drumline.aio.threads import off_loop
from drumline.core.attempt import AttemptView
from drumline.core.blob import without_space
from drumline.core.clock import Instant
from drumline.core.codec import check_json, decode, encode
from drumline.core.errors import BlobMissing, Conflict, Forbidden, Invalid, NotFound
from drumline.core.filters import Filter
from drumline.core.fingerprint import is_fingerprint
from drumline.core.http_headers import HTTP, check_given_headers
from drumline.core.ids import TaskId, parse_task_id
from drumline.core.redaction import REDACTED
from drumline.core.references import MARK, find_references
from drumline.core.secret_references import has_secrets
from drumline.core.task import TaskView
from drumline.engine.blobs import Blobs
from drumline.engine.checks import RequestChecks
from drumline.engine.control import TaskControl
from drumline.engine.filtering import letters_narrowed_by
from drumline.engine.read_model_notes import ReadModelNotes
from drumline.engine.searching import search
from drumline.engine.secrets import PayloadToCheck
from drumline.ports.changed import Changed
from drumline.ports.dead_letters import (
    DeadLetter,
    DeadLetterFilter,
    DeadLetterGroup,
    GroupMark,
    GroupOrder,
    Mark,
    PayloadEdit,
)
from drumline.ports.store import Store


class LetterPage(Struct, frozen=True):
    """A stretch of the list of dead letters, and the cursor that continues it."""

    items: tuple[DeadLetter, ...]
    next_cursor: str | None
    is_partial: bool = False
    """Whether a search stopped before it had found a whole page: the cursor goes on with it."""


class GroupPage(Struct, frozen=True):
    """A stretch of the list of groups, and the cursor that continues it."""

    items: tuple[DeadLetterGroup, ...]
    next_cursor: str | None


class LetterFile(Struct, frozen=True, kw_only=True):
    """All that is known about one dead letter."""

    letter: DeadLetter
    task: TaskView
    attempts: tuple[AttemptView, ...]
    edits: tuple[PayloadEdit, ...]


class DeadLetterService:
    """What people do about tasks that failed for good. A `tenant` of None sees every tenant's."""

    def __init__(
        self, store: Store, control: TaskControl, notes: ReadModelNotes, checks: RequestChecks, blobs: Blobs
    ) -> None:
        self._store = store
        self._blobs = blobs
        self._control = control
        self._notes = notes
        self._limits, self._quotas, self._secrets, self._types, self._redaction, _ = checks

    async def list(
        self, which: DeadLetterFilter, *, also: Filter | None = None, limit: int = 100, cursor: str | None = None
    ) -> LetterPage:
        """Return a page of dead letters, the latest first; those that a filter means, if there is one."""
        self._check_limit(limit)
        before = None if cursor is None else _mark(cursor)
        if also is not None:
            return await self._search(letters_narrowed_by(which, also), also, limit=limit, before=before)
        letters = await self._store.dead_letters.dead_letters(which, limit=limit + 1, before=before)
        last = letters[limit - 1] if len(letters) > limit else None
        return LetterPage(tuple(letters[:limit]), None if last is None else f"{last.at}.{last.task}")

    async def _search(self, which: DeadLetterFilter, also: Filter, *, limit: int, before: Mark | None) -> LetterPage:
        async def read(count: int, last: DeadLetter | None) -> Sequence[DeadLetter]:
            start = before if last is None else Mark(last.at, last.task)
            return await self._store.dead_letters.dead_letters(which, limit=count, before=start)

        found, last = await search(read, lambda letter: also.matches(letter, also.now), limit=limit)
        rest = None if last is None else f"{last.at}.{last.task}"
        return LetterPage(tuple(found), rest, rest is not None and len(found) < limit)

    async def groups(
        self,
        which: DeadLetterFilter,
        *,
        order: GroupOrder = GroupOrder.LAST_SEEN,
        limit: int = 100,
        cursor: str | None = None,
    ) -> GroupPage:
        """Return a page of groups: what was seen last, or is the most, first."""
        self._check_limit(limit)
        before = None if cursor is None else _group_mark(cursor)
        groups = await self._store.dead_letters.dead_letter_groups(which, limit=limit + 1, order=order, before=before)
        last = groups[limit - 1] if len(groups) > limit else None
        if last is None:
            return GroupPage(tuple(groups), None)
        return GroupPage(tuple(groups[:limit]), group_cursor(last, order))

    async def group(self, fingerprint: str, *, tenant: str | None = None) -> DeadLetterGroup:
        """Return one group, or raise `NotFound`."""
        which = DeadLetterFilter(tenant=tenant, fingerprint=fingerprint)
        groups = (
            await self._store.dead_letters.dead_letter_groups(which, limit=1) if is_fingerprint(fingerprint) else []
        )
        if not groups:
            raise NotFound(f"no failure has the fingerprint {fingerprint}", field="fingerprint")
        return groups[0]

    async def get(self, task: TaskId, *, tenant: str | None = None) -> LetterFile:
        """Return a dead letter with its task, or raise `NotFound`."""
        (letter,) = await self._store.dead_letters.get_dead_letters([task], tenant=tenant)
        (view,) = await self._store.queries.get([task], tenant=tenant)
        if letter is None or view is None:
            raise await self._absence(task, tenant)
        attempts = [
            ran for ran in await self._store.queries.attempts(task, tenant=tenant) if ran.started_at is not None
        ]
        edits = [await self._opened(edit) for edit in await self._store.dead_letters.payload_edits(task, tenant=tenant)]
        shown = await self._blobs.open_view(view)
        return LetterFile(letter=letter, task=shown, attempts=tuple(attempts), edits=tuple(edits))

    async def retry(
        self, task: TaskId, *, payload: Raw | None = None, tenant: str | None = None, may_restore: bool = True
    ) -> Changed:
        """Run the task of a dead letter again, with another payload if one is given.

        What the caller was not shown of the old one is put back where it stood, if it `may_restore`: with it the rest
        of an edited payload can send values somewhere that the caller was not shown.
        """
        (letter,) = await self._store.dead_letters.get_dead_letters([task], tenant=tenant)
        if letter is None:
            raise await self._absence(task, tenant)
        if payload is None:
            return await self._control.retry(task, tenant=tenant)
        payload = await self._checked(task, payload, tenant, may_restore=may_restore)
        changed = await self._store.control.retry_edited(task, payload, tenant=tenant)
        self._control.follow([changed])
        self._notes.letters_changed([task])
        return changed

    async def discard(self, task: TaskId, *, tenant: str | None = None) -> None:
        """Resolve a dead letter and leave its task failed; raises `NotFound`."""
        (answer,) = await self._store.dead_letters.discard([task], tenant=tenant)
        self._notes.letters_changed([task])
        if isinstance(answer, NotFound | Conflict):
            raise await self._absence(task, tenant)

    def _check_limit(self, limit: int) -> None:
        if not 1 <= limit <= self._limits.page:
            raise Invalid(f"must be from 1 to {self._limits.page}", field="limit")

    async def _checked(self, task: TaskId, payload: Raw, tenant: str | None, *, may_restore: bool) -> Raw:
        """Return an edited payload with the values that the caller was not shown; raises `Invalid`."""
        payload = Raw(without_space(bytes(payload)))
        limits, weight = self._limits, len(payload)
        await off_loop(
            weight,
            lambda: check_json(bytes(payload), field="payload", largest=limits.payload, deepest=limits.nesting),
        )
        # Another tenant's task is not looked at: what its payload and secrets are must not show in what is refused.
        (view,) = await self._store.queries.get([task], tenant=tenant)
        if view is None:
            return payload
        await self._quotas.check_payloads(view.lane.tenant, {"payload": len(payload)})
        old = (await self._blobs.open_view(view)).payload
        if old is not None:
            restored = await off_loop(weight + len(old), partial(self._redaction.restored, payload, old))
            if not may_restore and await off_loop(weight, partial(_differ, restored, payload)):
                raise Forbidden(
                    f"this key is for some tasks only, and is given nothing that it was not shown: "
                    f"give the values in the place of {REDACTED}",
                    field="payload",
                )
            payload = restored
        if view.lane.name == HTTP:
            check_given_headers(decode(bytes(payload), object))
        if view.options.takes and MARK in bytes(payload):
            raw, takes = bytes(payload), view.options.takes
            await off_loop(len(raw), lambda: find_references(decode(raw, object), takes))
        if has_secrets(bytes(payload)):
            await self._secrets.check([PayloadToCheck(bytes(payload))], tenant=view.lane.tenant)
        rules = await self._types.rules(view.lane.name, tenant=view.lane.tenant)
        if rules.check is not None:
            await off_loop(len(payload) + rules.weight, partial(rules.check.check, bytes(payload)))
        return payload

    async def _opened(self, edit: PayloadEdit) -> PayloadEdit:
        """Return an earlier payload; of one that is missing, the reason in its place."""
        try:
            return replace(edit, payload=await self._blobs.read(edit.payload))
        except BlobMissing as error:
            return replace(edit, payload=Raw(encode(error.message)))

    async def _absence(self, task: TaskId, tenant: str | None) -> NotFound:
        (view,) = await self._store.queries.get([task], tenant=tenant, payload=False)
        if view is None:
            return NotFound(f"there is no task {task}", field="id")
        return NotFound(f"task {task} is {view.state.name.lower()} and has no dead letter", field="id")


def group_cursor(group: DeadLetterGroup, order: GroupOrder) -> str:
    """Return the cursor that continues a list of groups after this one."""
    return f"{group.count if order is GroupOrder.COUNT else group.last_at}.{group.fingerprint}"


def _mark(cursor: str) -> Mark:
    at, _, task = cursor.partition(".")
    return Mark(Instant(_number(at)), parse_task_id(task, field="cursor"))


def _group_mark(cursor: str) -> GroupMark:
    value, _, fingerprint = cursor.partition(".")
    if not is_fingerprint(fingerprint):
        raise Invalid("is not a cursor of this list", field="cursor")
    return GroupMark(_number(value), fingerprint)


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise Invalid("is not a cursor of this list", field="cursor")
    return int(text)


def _differ(one: Raw, other: Raw) -> bool:
    return bool(decode(bytes(one), object) != decode(bytes(other), object))
