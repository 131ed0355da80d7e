"""Mail as it is asked for, and the server that it is handed to; `smtp.py` sends it."""

import asyncio
from importlib import import_module
from typing import Literal

from msgspec import Struct


class MailServer(Struct, frozen=True, kw_only=True):
    """Where mail is handed over, and as whom."""

    host: str
    port: int = 587
    username: str | None = None
    password: str | None = None
    tls: Literal["none", "starttls", "tls"] = "starttls"
    """`tls` encrypts from the first byte (port 465), `starttls` after a greeting (587), `none` not at all."""
    sender: str = "drumline@localhost"
    """The address that mail comes from unless it says otherwise."""
    timeout: float = 30.0
    """Seconds for the whole conversation."""


class Mail(Struct, frozen=True, kw_only=True):
    """A message to people; it has a text, an HTML form, or both."""

    to: tuple[str, ...]
    subject: str
    text: str | None = None
    html: str | None = None
    sender: str | None = None
    cc: tuple[str, ...] = ()
    bcc: tuple[str, ...] = ()
    reply_to: str | None = None
    message_id: str | None = None
    """The same for every try, so that a mail sent twice is recognised as one."""


class MailFailed(Exception):
    """The mail was not accepted; `permanent` tells whether trying again is of any use."""

    def __init__(self, message: str, *, permanent: bool, code: int | None = None) -> None:
        super().__init__(message)
        self.permanent = permanent
        self.code = code


async def send(mail: Mail, server: MailServer) -> dict[str, str]:
    """Hand the mail over, as `smtp.send` does, which the first mail imports: most processes never send one."""
    smtp = await asyncio.to_thread(import_module, "drumline.outbound.smtp")
    refused: dict[str, str] = await smtp.send(mail, server)
    return refused
