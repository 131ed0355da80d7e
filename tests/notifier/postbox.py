"""A real SMTP server that takes mail, and refuses what it is told to."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import cast

from aiosmtpd.smtp import SMTP as SmtpServer  # noqa: N811 - an acronym, not a constant
from aiosmtpd.smtp import Envelope, Session

from drumline.outbound.mail import MailServer


class Postbox:
    """What came, by the order in which it came."""

    def __init__(self) -> None:
        self.settings = MailServer(host="127.0.0.1", port=9, tls="none")
        self.answers = ["250 OK"]
        self.messages: list[EmailMessage] = []

    async def handle_DATA(self, _server: SmtpServer, _session: Session, envelope: Envelope) -> str:  # noqa: N802
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if answer.startswith("250"):
            self.messages.append(message_from_bytes(cast("bytes", envelope.content), policy=policy.default))
        return answer

    def only(self) -> EmailMessage:
        (message,) = self.messages
        return message


def texts(message: EmailMessage) -> tuple[str, str]:
    """Return a mail's plain text and its HTML."""
    plain, html = message.iter_parts()
    return plain.get_content(), html.get_content()


@asynccontextmanager
async def open_postbox() -> AsyncIterator[Postbox]:
    postbox = Postbox()
    server = await asyncio.get_running_loop().create_server(lambda: SmtpServer(postbox), "127.0.0.1", 0)
    async with server:
        host, port = server.sockets[0].getsockname()
        postbox.settings = MailServer(
            host=host, port=port, tls="none", timeout=5, sender="Drumline <drumline@example.org>"
        )
        yield postbox
