"""Mail: `send-email`."""

from typing import Any, Final

from msgspec import Struct, field

from drumline.core.errors import Invalid
from drumline.core.session import TaskType
from drumline.outbound.mail import Mail, MailFailed, MailServer, send
from drumline.worker.executors.executor import ExecutorCall, published
from drumline.worker.failures import failure, refusal

NAME: Final = "send-email"
DOC: Final = """Send a mail as text, HTML or both.

A refusal with a 4xx code and an unreachable server are retried; a 5xx code is a permanent failure.
"""


class EmailPayload(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a `send-email` task is given. Addresses are `ada@example.org` or `Ada <ada@example.org>`."""

    to: str | tuple[str, ...]
    subject: str
    text: str | None = None
    html: str | None = None
    sender: str | None = field(default=None, name="from")
    cc: str | tuple[str, ...] = ()
    bcc: str | tuple[str, ...] = ()
    reply_to: str | None = None


class EmailExecutor:
    """Hands mail to an SMTP server."""

    def __init__(self, server: MailServer) -> None:
        self._server = server
        self.type: TaskType = published(NAME, EmailPayload, doc=DOC)

    async def execute(self, call: ExecutorCall) -> Any:
        """Send the mail; every attempt of a task sends it under the same message id."""
        payload = call.payload_as(EmailPayload)
        mail = Mail(
            to=_listed(payload.to),
            subject=payload.subject,
            text=payload.text,
            html=payload.html,
            sender=payload.sender,
            cc=_listed(payload.cc),
            bcc=_listed(payload.bcc),
            reply_to=payload.reply_to,
            message_id=f"{call.task.lease.task}@{self._server.host}",
        )
        try:
            refused = await send(mail, self._server)
        except Invalid as error:
            raise refusal(Invalid(error.message, field=f"payload.{error.field}")) from error
        except MailFailed as error:
            kind = "MailFailed" if error.code is None else f"SMTP {error.code}"
            raise failure(kind, str(error), permanent=error.permanent) from error
        return {"message_id": mail.message_id, "refused": refused}


def _listed(addresses: str | tuple[str, ...]) -> tuple[str, ...]:
    return (addresses,) if isinstance(addresses, str) else addresses
