"""The secrets that sign webhooks, sealed while the store has them: a reader of the database cannot sign in our name.

Without a key they are kept as they are, and sealed by `drumline secrets rotate` once there is one.
"""

import base64
import binascii
from typing import Final

from msgspec.structs import replace

from drumline.core.errors import Unreadable
from drumline.core.signing import Secrets
from drumline.ports.sealing import Box, Purpose

SEALED: Final = "sealed:"
"""What a sealed secret begins with; others begin with `whsec_`."""


def signing_purpose(tenant: str, subscription: str | None) -> Purpose:
    """Return what a signing secret is bound to; without a subscription it is that of the tenant's own tasks."""
    return ("webhook", tenant, subscription or "")


def seal_signing(box: Box, text: str, purpose: Purpose) -> str:
    """Return a secret as it is to be kept."""
    return SEALED + base64.b64encode(box.seal(text, purpose)).decode() if box.is_ready else text


def open_signing(box: Box, text: str, purpose: Purpose) -> str:
    """Return a secret that was kept, or raise `Unreadable`."""
    return box.open(_bytes_of(text), purpose) if text.startswith(SEALED) else text


def resealed(box: Box, secrets: Secrets, purpose: Purpose) -> Secrets:
    """Return secrets sealed with the first key, each as it was if that is so already; raises `Unreadable`."""
    return tuple(
        secret
        if secret.text.startswith(SEALED) and box.key_of(_bytes_of(secret.text)) == box.key_id
        else replace(secret, text=seal_signing(box, open_signing(box, secret.text, purpose), purpose))
        for secret in secrets
    )


def _bytes_of(text: str) -> bytes:
    try:
        return base64.b64decode(text.removeprefix(SEALED), validate=True)
    except (binascii.Error, ValueError):
        raise Unreadable("it is not in a form that this version knows") from None
