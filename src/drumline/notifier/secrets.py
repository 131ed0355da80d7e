"""Signing secrets for webhooks that tasks and jobs name: one per tenant, made when it is first needed."""

import secrets
from typing import Final

from drumline.core.signing import SigningSecret, secret_text
from drumline.engine.signing import seal_signing, signing_purpose
from drumline.ports.notifications import Subscriptions
from drumline.ports.sealing import Box, NoBox

KEY_BYTES: Final = 32


class SigningSecrets:
    """Makes a tenant's signing secret if it has none."""

    def __init__(self, store: Subscriptions, box: Box | None = None) -> None:
        self._store = store
        self._box = box or NoBox()
        self._known: set[str] = set()

    async def ensure(self, tenant: str) -> None:
        """Make a tenant's secret if it has none; of two who do so at once, the first one's holds."""
        if tenant in self._known:
            return
        if await self._store.secrets(None, tenant=tenant) is None:
            text = secret_text(secrets.token_bytes(KEY_BYTES))
            made = SigningSecret(seal_signing(self._box, text, signing_purpose(tenant, None)))
            await self._store.put_secrets(None, (made,), old=None, tenant=tenant)
        self._known.add(tenant)
