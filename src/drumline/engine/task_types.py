"""Types of tasks: what their workers declare, and whether payloads fit.

Every submission asks for its type. Answers come from memory, as those about tenants do: no caller waits for the store
under steady use, and what a worker has published holds on every server within two seconds.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Raw

from drumline.aio.caching import CachedLookup
from drumline.aio.threads import off_loop
from drumline.core.clock import Clock
from drumline.core.errors import Invalid
from drumline.core.names import check_name
from drumline.core.payload_check import Detail
from drumline.core.session import SessionSpec
from drumline.core.task_type import (
    UNKNOWN_TYPE,
    PayloadMode,
    SubmissionWarning,
    TypeRules,
    rules_of,
    unfit_payload,
    unknown_type,
    weight_of_rules,
)
from drumline.core.tuning import Tuning
from drumline.ports.task_types import TaskTypes, TypeKey

Submission = tuple[str, Raw]
"""A task's name and payload."""

ASKED_AT_ONCE: Final = 500
MOST_REMEMBERED: Final = 2000
MOST_EXPLAINED: Final = 200
"""Submissions in a list up to which each warning says why."""


class TypeRegistry:
    """What is known of types of tasks."""

    def __init__(self, store: TaskTypes, *, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._mode = PayloadMode.REFUSE
        self._known: CachedLookup[TypeKey, TypeRules] = CachedLookup(
            self._find, name="task types", clock=clock, most=MOST_REMEMBERED
        )

    def tune(self, tuning: Tuning) -> None:
        """Check payloads otherwise from now on."""
        if tuning.payload_check is not self._mode:
            self._mode = tuning.payload_check
            self._known.clear()

    def published(self, spec: SessionSpec) -> None:
        """Forget what was known of the types that a worker has just published."""
        names = frozenset(spec.names)
        self._known.forget_keys(lambda key: key[1] in names)

    async def rules(self, name: str, *, tenant: str) -> TypeRules:
        """Return what submissions of a type go by."""
        key = tenant, name
        memory = self._known.recall(key)
        if memory is not None:
            return memory.value or UNKNOWN_TYPE
        if not _is_name(name):  # nothing to look for: accepting the task says what is wrong with it
            return UNKNOWN_TYPE
        return await self._known.get(key) or UNKNOWN_TYPE

    async def rules_of(self, names: Iterable[str], *, tenant: str) -> dict[str, TypeRules]:
        """Return what submissions of some types go by."""
        rules: dict[str, TypeRules] = {}
        missing: list[TypeKey] = []
        for name in set(names):
            memory = self._known.recall((tenant, name))
            if memory is not None:
                rules[name] = memory.value or UNKNOWN_TYPE
            elif _is_name(name):
                missing.append((tenant, name))
        for start in range(0, len(missing), ASKED_AT_ONCE):
            keys = missing[start : start + ASKED_AT_ONCE]
            asked_at = self._clock.monotonic()
            for key, found in zip(keys, await self._find(keys), strict=True):
                self._known.learn(key, found, asked_at)
                rules[key[1]] = found or UNKNOWN_TYPE
        return rules

    async def warnings(self, requests: Sequence[Submission], *, tenant: str) -> list[tuple[SubmissionWarning, ...]]:
        """Return what is doubtful about each of some submissions that were accepted."""
        found = await self.rules_of({name for name, _ in requests}, tenant=tenant)
        detail: Detail = "full" if len(requests) == 1 else "brief" if len(requests) <= MOST_EXPLAINED else "none"
        rules = {name: each.telling(detail) if each.warn is not None else each for name, each in found.items()}

        def warnings() -> list[tuple[SubmissionWarning, ...]]:
            return [_warnings(name, payload, rules.get(name, UNKNOWN_TYPE)) for name, payload in requests]

        if all(each.warn is None for each in rules.values()):
            return warnings()
        weight = sum(len(payload) for _, payload in requests) + weight_of_rules(rules.values())
        return await off_loop(weight, warnings)

    async def warnings_of_one(self, name: str, payload: Raw, *, tenant: str) -> tuple[SubmissionWarning, ...]:
        """Return what is doubtful about one submission that was accepted."""
        rules = await self.rules(name, tenant=tenant)
        if rules.warn is None:
            return _warnings(name, payload, rules)
        telling = rules.telling("full")
        return await off_loop(len(payload) + rules.weight, lambda: _warnings(name, payload, telling))

    async def close(self) -> None:
        """Ask nothing more."""
        await self._known.close()

    async def _find(self, keys: Sequence[TypeKey]) -> list[TypeRules | None]:
        found = await self._store.find_types(keys)
        return [None if stored is None else rules_of(stored, mode=self._mode) for stored in found]


def _warnings(name: str, payload: Raw, rules: TypeRules) -> tuple[SubmissionWarning, ...]:
    if not rules.is_known:
        return (unknown_type(name),)
    try:
        if rules.warn is not None:
            rules.warn.check(bytes(payload))
    except Invalid as error:
        return (unfit_payload(error),)
    return ()


def _is_name(name: str) -> bool:
    try:
        check_name(name)
    except Invalid:
        return False
    return True
