"""The target of a notification: the URL of a webhook, or a mail address."""

import re
from enum import IntEnum
from typing import Final

from msgspec import Struct

from drumline.core.errors import Invalid
from drumline.core.url import parse_url

LONGEST_ADDRESS: Final = 254

_ADDRESS: Final = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*")


class TargetKind(IntEnum):
    """The kind of a target. The numbers are stored: never reuse one."""

    WEBHOOK = 0
    EMAIL = 1

    @property
    def word(self) -> str:
        """The channel as people read it."""
        return self.name.lower()


class Target(Struct, frozen=True):
    """A channel, and the URL or address at the end of it."""

    channel: TargetKind
    address: str


def target_of(webhook: str | None, email: str | None, *, field: str = "") -> Target:
    """Return the one target that is given, or raise `Invalid` naming the field at fault, inside of `field`."""
    if (webhook is None) == (email is None):
        raise Invalid("must have either webhook or email", field=field or "webhook")
    prefix = f"{field}." if field else ""
    if webhook is not None:
        return Target(TargetKind.WEBHOOK, check_webhook(webhook, field=f"{prefix}webhook"))
    return Target(TargetKind.EMAIL, check_email(email or "", field=f"{prefix}email"))


def check_webhook(url: str, *, field: str) -> str:
    """Return a URL that may be called, as far as its form goes, or raise `Invalid` naming `field`."""
    parse_url(url, field=field)
    if not url.isascii():
        raise Invalid("must be written in ASCII; escape the rest with %", field=field)
    return url


def check_email(address: str, *, field: str) -> str:
    """Return a mail address, or raise `Invalid` naming `field`; one address and nothing else."""
    if len(address) > LONGEST_ADDRESS or _ADDRESS.fullmatch(address) is None:
        raise Invalid("must be one mail address such as ada@example.org", field=field)
    return address
