"""What a server checks before it stores tasks, checked in a caller's transaction: types, secrets, quotas, settings."""

import os
from collections.abc import Iterable, Sequence
from functools import cache

from drumline.core.errors import DrumlineError, Invalid, NotFound
from drumline.core.limits import Limits
from drumline.core.secret_references import SecretReference
from drumline.core.task import DEFAULT_TENANT
from drumline.core.task_type import UNKNOWN_TYPE, TypeRules, rules_of
from drumline.core.tenant import NO_QUOTAS
from drumline.core.tuning import Tuning
from drumline.engine.quotas import too_large, too_many
from drumline.engine.secrets import PayloadToCheck, first_absent, references_in
from drumline.ports.store import Store
from drumline.settings.convert import tuning_of
from drumline.settings.sources import Loaded, Sources


class RequestRules:
    """The rules of an installation, as far as its database and the settings of this process say them."""

    def __init__(self, store: Store, tenant: str, tuning: Tuning, limits: Limits) -> None:
        self._store = store
        self._tenant = tenant
        self.limits = limits
        self.tuning = tuning

    async def types(self, names: Iterable[str]) -> dict[str, TypeRules]:
        """Return what tasks of these names go by."""
        keys = [(self._tenant, name) for name in sorted(set(names))]
        found = await self._store.task_types.find_types(keys)
        mode = self.tuning.payload_check
        return {
            name: UNKNOWN_TYPE if stored is None else rules_of(stored, mode=mode)
            for (_, name), stored in zip(keys, found, strict=True)
        }

    async def secret_errors(self, payloads: Sequence[PayloadToCheck]) -> list[Invalid | None]:
        """Return for each payload what is wrong with the secrets that it refers to, by one look at the store."""
        found = [_references(each) for each in payloads]
        names = sorted({each.name for some in found if isinstance(some, list) for each in some})
        if not names:
            return [some if isinstance(some, Invalid) else None for some in found]
        secrets = await self._store.secrets.find_secrets(names, tenant=self._tenant)
        absent = {name for name, secret in zip(names, secrets, strict=True) if secret is None}
        return [some if isinstance(some, Invalid) else first_absent(some, absent) for some in found]

    async def quota_errors(self, payloads: Sequence[int]) -> list[DrumlineError | None]:
        """Return for each task, given by the bytes of its payload, why it is not let in, if it is not."""
        (tenant,) = await self._store.tenants.find_tenants([self._tenant])
        if tenant is None and self._tenant != DEFAULT_TENANT:
            raise NotFound(f"there is no tenant {self._tenant}", field="tenant")
        quotas = NO_QUOTAS if tenant is None else tenant.quotas
        errors: list[DrumlineError | None] = [too_large(self._tenant, size, quotas.payload_bytes) for size in payloads]
        if quotas.queued is None:
            return errors
        room = quotas.queued - await self._store.tenants.count_queued(self._tenant, most=quotas.queued)
        for place, error in enumerate(errors):
            if error is None:
                errors[place] = None if room > 0 else too_many(self._tenant, quotas.queued)
                room -= 1
        return errors


async def rules_for(store: Store, tenant: str) -> RequestRules:
    """Return the rules for a tenant's submissions: the runtime configuration wins over the settings of this process."""
    config = await store.config.runtime_config()
    loaded = _sources().load(config.settings) if config.settings else _own_settings()
    return RequestRules(store, tenant, tuning_of(loaded.settings), loaded.settings.limits)


@cache
def _sources() -> Sources:
    return Sources(os.environ)


@cache
def _own_settings() -> Loaded:
    return _sources().load()


def own_limits() -> Limits:
    """Return the limits by the settings of this process."""
    return _own_settings().settings.limits


def _references(wanted: PayloadToCheck) -> list[SecretReference] | Invalid:
    try:
        return references_in(wanted)
    except Invalid as error:
        return error


def check_count(count: int, limits: Limits) -> None:
    """Raise `Invalid` for more tasks than one call may submit."""
    if count > limits.batch:
        raise Invalid(f"has {count:,} tasks; at most {limits.batch:,} are accepted", field="tasks")
