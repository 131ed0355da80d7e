"""The secrets that sign what tasks and jobs name themselves: each tenant has one, made when it is first needed."""

import secrets
from typing import Final, Protocol

from drumline.core.signing import Secret, Secrets, secret_text
from drumline.engine.signing import seal_signing, signing_purpose
from drumline.ports.sealing import Box, NoBox

KEY_BYTES: Final = 32


class SecretStore(Protocol):
    """What is asked of the store; `ports.notifications.Subscribing` is it."""

    async def secrets(self, id: None, *, tenant: str | None) -> Secrets | None:
        """Return what signs the webhooks that a tenant's tasks name themselves."""
        ...

    async def put_secrets(self, id: None, secrets: Secrets, *, old: Secrets | None, tenant: str | None) -> bool:
        """Replace secrets that still are the `old` ones; tell whether they were."""
        ...


class SigningSecrets:
    """Sees to it that tenants have one."""

    def __init__(self, store: SecretStore, box: Box | None = None) -> None:
        self._store = store
        self._box = box or NoBox()
        self._known: set[str] = set()

    async def ensure(self, tenant: str) -> None:
        """Make a tenant's secret if it has none; of two who do so at once, the first one's holds."""
        if tenant in self._known:
            return
        if await self._store.secrets(None, tenant=tenant) is None:
            text = secret_text(secrets.token_bytes(KEY_BYTES))
            made = Secret(seal_signing(self._box, text, signing_purpose(tenant, None)))
            await self._store.put_secrets(None, (made,), old=None, tenant=tenant)
        self._known.add(tenant)
