"""Schedules that stand in the code of an app: made, changed and put to rest as the code changes.

An app registers, for the modules of it that are loaded, the schedules that stand there. A schedule of such a module
that is not there any more is paused, with the reason, and not deleted: its history stays, and if the code comes back
it goes on. What a person has paused stays paused.
"""

from collections.abc import Sequence
from functools import partial
from typing import Final

from msgspec.structs import replace

from drumline.aio.threads import off_loop
from drumline.core.app_schedules import GONE, MOST, Registered, RegisterRequest
from drumline.core.clock import Instant
from drumline.core.errors import Conflict, Invalid
from drumline.core.names import LONGEST_NAME, check_name, check_text
from drumline.core.schedule import NewSchedule, Origin, ScheduleEdit, ScheduleRequest, ScheduleState, ScheduleView
from drumline.engine.schedules import TRIES, ScheduleService, or_raise, pausing, resuming, weight_of
from drumline.ports.schedules import Definition, ScheduleChange, ScheduleFilter
from drumline.ports.store import Store

PAGE: Final = 1000


class Registrar:
    """Keeps schedules in step with code. Every step may be repeated, and is repeated until all is as it should be."""

    def __init__(self, store: Store, schedules: ScheduleService) -> None:
        self._store = store
        self._schedules = schedules

    async def register(self, request: RegisterRequest, *, tenant: str) -> Registered:
        """Make, change, resume and pause what has to be; raises `Invalid` before anything is done."""
        await self._check(request, tenant, await self._store.queries.now())
        done: dict[str, list[str]] = {}
        for each in request.schedules:
            word = await self._keep(each.schedule, Origin(request.app, each.module), tenant)
            done.setdefault(word, []).append(each.schedule.name)
        for view in await self._gone(request, tenant):
            if await self._try(view, pausing(view, f"{GONE} from {view.origin and view.origin.module}")):
                done.setdefault("paused", []).append(view.name)
        return Registered(**{word: tuple(names) for word, names in done.items() if word})

    async def _check(self, request: RegisterRequest, tenant: str, now: Instant) -> None:
        check_name(request.app, field="app")
        for number, module in enumerate(request.modules):
            check_text(module, field=f"modules[{number}]", longest=LONGEST_NAME)
        if len(request.schedules) > MOST:
            raise Invalid(f"must be at most {MOST}", field="schedules")
        names = set()
        for number, each in enumerate(request.schedules):
            where = f"schedules[{number}]"
            if each.module not in request.modules:
                raise Invalid("must be one of modules", field=f"{where}.module")
            if each.schedule.name in names:
                raise Invalid(f"is there twice: {each.schedule.name}", field=f"{where}.schedule.name")
            names.add(each.schedule.name)
            try:
                new = await self._accepted(each.schedule, tenant, now)
                await self._schedules.check_payloads(new.target, tenant=tenant)
            except Invalid as error:
                raise Invalid(error.message, field=f"{where}.schedule.{error.field}", code=error.code) from error

    async def _accepted(self, request: ScheduleRequest, tenant: str, now: Instant) -> NewSchedule:
        accept = partial(self._schedules.accept, request, tenant=tenant, now=now)
        return await off_loop(weight_of(request.task, request.job), accept)

    async def _keep(self, request: ScheduleRequest, origin: Origin, tenant: str) -> str:
        """Make a schedule be as its code says, and return what that took; nothing if it was so already."""
        for _ in range(TRIES):
            found = await self._store.schedules.list_schedules(
                ScheduleFilter(tenant=tenant, name=request.name), limit=1
            )
            now = await self._store.queries.now()
            if found:
                word = await self._change(found[0], request, origin, now)
            else:
                new = replace(await self._accepted(request, tenant, now), origin=origin)
                (added,) = await self._schedules.add(new)
                word = "created" if isinstance(added, ScheduleView) else None
            if word is not None:
                return word
        raise Conflict(f"the schedule {request.name!r} is being changed by others; try again", field="schedules")

    async def _change(self, view: ScheduleView, request: ScheduleRequest, origin: Origin, now: Instant) -> str | None:
        """Return what was done; None if another process changed the schedule meanwhile."""
        if view.origin is None or view.origin.app != origin.app:
            return "refused"
        editing = partial(self._schedules.editing, view, _edit_of(request), now)
        change = await off_loop(weight_of(request.task, request.job), editing)
        definition = None if change.definition is None else replace(change.definition, origin=origin)
        was_gone = view.state is ScheduleState.PAUSED and (view.reason or "").startswith(GONE)
        if definition != Definition(
            name=view.name, rule=view.rule, policy=view.policy, target=view.target, origin=view.origin
        ):
            is_changed = await self._try(view, replace(change, definition=definition))
            return "changed" if is_changed and not was_gone else None
        if not was_gone:
            return ""
        return "resumed" if await self._try(view, resuming(view, now)) else None

    async def _gone(self, request: RegisterRequest, tenant: str) -> list[ScheduleView]:
        """Return the active schedules of loaded modules that do not stand there any more."""
        names = {each.schedule.name for each in request.schedules}
        which = ScheduleFilter(tenant=tenant, app=request.app, state=ScheduleState.ACTIVE)
        found: list[ScheduleView] = []
        page = await self._store.schedules.list_schedules(which, limit=PAGE)
        while page:
            found += page
            page = await self._store.schedules.list_schedules(which, limit=PAGE, before=page[-1].id)
        modules = frozenset(request.modules)
        return [view for view in found if view.origin and view.origin.module in modules and view.name not in names]

    async def _try(self, view: ScheduleView, change: ScheduleChange | None) -> bool:
        """Make a change, unless another process changed the schedule meanwhile."""
        if change is None:
            return False
        answers = await self._store.schedules.change_schedules([change], tenant=view.tenant)
        if isinstance(answers[0], Conflict) and answers[0].field == "version":
            return False
        or_raise(answers)
        return True


def _edit_of(request: ScheduleRequest) -> ScheduleEdit:
    """Return the edit that makes a schedule be what is asked for, whatever it was."""
    fields: Sequence[str] = ScheduleEdit.__struct_fields__
    optional = {"start", "end", "max_runs"}
    given = {field: getattr(request, field) for field in fields}
    return ScheduleEdit(**{field: value for field, value in given.items() if value is not None or field in optional})
