"""Making, changing and replacing API keys."""

import secrets
from collections.abc import Callable
from typing import NamedTuple

from drumline.core.access import Caller
from drumline.core.api_key import SECRET_BYTES, ApiKey, KeyId, make_key
from drumline.core.clock import Clock
from drumline.core.errors import Invalid, NotFound
from drumline.core.new_key import (
    Asked,
    KeyRequest,
    RotateKeyRequest,
    accept_key,
    check_authority,
    overlap_of,
    replace_key,
)
from drumline.engine.identities import Identities
from drumline.engine.tenants import TenantService
from drumline.ports.access import KeyChange, Keys


class MadeKey(NamedTuple):
    """A new key as it is kept, and the key itself: it is shown once, and only its digest is stored."""

    kept: ApiKey
    secret: str


class KeyService:
    """Keys. A `tenant` of None sees every tenant's."""

    def __init__(
        self,
        store: Keys,
        identities: Identities,
        tenants: TenantService,
        *,
        clock: Clock,
        new_id: Callable[[], str],
    ) -> None:
        self._store = store
        self._identities = identities
        self._tenants = tenants
        self._clock = clock
        self._new_id = new_id

    async def create(self, request: KeyRequest, *, by: Caller) -> MadeKey:
        """Make a key; raises `Forbidden` if it could do what the caller may not."""
        secret = self._secret()
        new = accept_key(request, secret, id=KeyId(self._new_id()), asked=self._asked(by))
        if new.tenant is not None and await self._tenants.find(new.tenant) is None:
            raise Invalid(f"is not there: make the tenant {new.tenant} first", field="tenant")
        return MadeKey(await self._store.add_key(new), secret)

    async def rotate(self, key: KeyId, request: RotateKeyRequest, *, by: Caller) -> MadeKey:
        """Make a key in the place of an old one, which opens for a while more."""
        old = await self.get(key, tenant=by.tenant)
        secret = self._secret()
        new = replace_key(old, secret, id=KeyId(self._new_id()), asked=self._asked(by))
        kept = await self._store.rotate_key(key, new, overlap_ms=overlap_of(request), tenant=by.tenant)
        self._identities.forget(key)
        return MadeKey(kept, secret)

    async def change(self, key: KeyId, change: KeyChange, *, by: Caller) -> ApiKey:
        """Disable, enable or revoke a key; this server knows of it at once, all others in two seconds.

        Raises `Forbidden` for one that may do what the caller may not.
        """
        check_authority(by, await self.get(key, tenant=by.tenant))
        changed = await self._store.change_key(key, change, tenant=by.tenant)
        self._identities.forget(key)
        return changed

    async def get(self, key: KeyId, *, tenant: str | None = None) -> ApiKey:
        """Return a key, or raise `NotFound`."""
        found = await self._store.get_key(key, tenant=tenant)
        if found is None:
            raise NotFound(f"there is no key {key}", field="id")
        return found

    def _asked(self, by: Caller) -> Asked:
        return Asked(by, self._clock.now(), self._identities.policy)

    def _secret(self) -> str:
        return make_key(self._identities.policy.environment, secrets.token_bytes(SECRET_BYTES))
