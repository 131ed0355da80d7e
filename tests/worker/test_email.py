"""Mail, sent to a real SMTP server."""

import asyncio
from collections.abc import AsyncIterator
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any, cast

import pytest
from aiosmtpd.smtp import SMTP as SmtpServer  # noqa: N811 - an acronym, not a constant
from aiosmtpd.smtp import Envelope, Session

from drumline.core.state import State
from drumline.outbound.mail import MailServer
from drumline.worker.executors.catalogue import BuiltIn
from tests.worker.house import House, result_of


class Postbox:
    """Takes mail, and refuses what it is told to."""

    def __init__(self) -> None:
        self.envelopes: list[Envelope] = []
        self.refusals: dict[str, str] = {}
        self.data_answer = "250 OK"

    async def handle_RCPT(  # noqa: N802 - the server calls it so
        self, _server: SmtpServer, _session: Session, envelope: Envelope, address: str, _options: list[str]
    ) -> str:
        if address in self.refusals:
            return self.refusals[address]
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, _server: SmtpServer, _session: Session, envelope: Envelope) -> str:  # noqa: N802
        if self.data_answer.startswith("250"):
            self.envelopes.append(envelope)
        return self.data_answer

    def only_message(self) -> EmailMessage:
        (envelope,) = self.envelopes
        return message_from_bytes(cast("bytes", envelope.content), policy=policy.default)


@pytest.fixture
def postbox() -> Postbox:
    return Postbox()


@pytest.fixture
async def mail(postbox: Postbox) -> AsyncIterator[BuiltIn]:
    server = await asyncio.get_running_loop().create_server(lambda: SmtpServer(postbox), "127.0.0.1", 0)
    async with server:
        host, port = server.sockets[0].getsockname()
        yield BuiltIn(http=False, pdf=False, smtp=MailServer(host=host, port=port, tls="none", timeout=5))


LETTER = {"to": "ada@example.org", "subject": "Hello", "text": "How are you?"}


async def test_a_mail_is_delivered(house: House, mail: BuiltIn, postbox: Postbox) -> None:
    payload = {
        "to": ["Ada Löwe <ada@example.org>", "bob@example.org"],
        "cc": "cay@example.org",
        "bcc": ["dan@example.org"],
        "from": "Shop <shop@example.org>",
        "reply_to": "help@example.org",
        "subject": "Grüße",
        "text": "plain ä\n.\nend",
        "html": "<b>rich</b>",
    }
    async with house.worker(mail):
        view = await house.run("send-email", payload)

    assert result_of(view)["refused"] == {}
    message = postbox.only_message()
    assert postbox.envelopes[0].rcpt_tos == [f"{name}@example.org" for name in ("ada", "bob", "cay", "dan")]
    assert message["subject"] == "Grüße"
    assert message["from"] == "Shop <shop@example.org>"
    assert message["to"] == "Ada Löwe <ada@example.org>, bob@example.org"
    assert message["reply-to"] == "help@example.org"
    assert message["bcc"] is None
    assert message["message-id"] == f"<{view.id}@127.0.0.1>"
    text, html = message.iter_parts()
    assert text.get_payload(decode=True) == b"plain \xc3\xa4\r\n.\r\nend\r\n"
    assert html.get_content_type() == "text/html"


@pytest.mark.parametrize(
    ("answer", "kind", "state"),
    [("451 try later", "SMTP 451", State.QUEUED), ("550 no such user", "SMTP 550", State.FAILED)],
)
@pytest.mark.parametrize("where", ["recipient", "data"])
async def test_a_refusal_is_retried_if_it_is_temporary(  # noqa: PLR0917 - fixtures and parameters
    house: House, mail: BuiltIn, postbox: Postbox, answer: str, kind: str, state: State, where: str
) -> None:
    if where == "recipient":
        postbox.refusals["ada@example.org"] = answer
    else:
        postbox.data_answer = answer

    async with house.worker(mail):
        view = await (
            house.run("send-email", LETTER) if state is State.FAILED else house.try_once("send-email", LETTER)
        )

    assert view.state is state
    (attempt,) = await house.engine.queries.attempts(view.id)
    assert attempt.error is not None
    assert attempt.error.kind == kind


async def test_recipients_that_were_refused_are_named_when_others_were_accepted(
    house: House, mail: BuiltIn, postbox: Postbox
) -> None:
    postbox.refusals["bob@example.org"] = "550 unknown"

    async with house.worker(mail):
        view = await house.run("send-email", {**LETTER, "to": ["ada@example.org", "bob@example.org"]})

    assert result_of(view)["refused"] == {"bob@example.org": "550 unknown"}


async def test_a_server_that_is_not_there_is_retried(house: House) -> None:
    nowhere = BuiltIn(http=False, pdf=False, smtp=MailServer(host="127.0.0.1", port=9, tls="none"))

    async with house.worker(nowhere):
        view = await house.try_once("send-email", LETTER)

    assert view.state is State.QUEUED


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"to": []}, "payload.to"),
        ({"to": "not an address"}, "payload.to[0]"),
        ({"to": "a@example.org, b@example.org"}, "payload.to[0]"),
        ({"to": "a@example.org\r\nBcc: eve@example.org"}, "payload.to[0]"),
        ({"cc": ["a@example.org", "b@"]}, "payload.cc[1]"),
        ({"subject": "hi\nBcc: eve@example.org"}, "payload.subject"),
        ({"subject": "x" * 2000}, "payload.subject"),
        ({"from": "a@example.org\nX: y"}, "payload.from"),
        ({"reply_to": "nobody"}, "payload.reply_to"),
        ({"text": None}, "payload.text"),
        ({"oops": 1}, "payload.oops"),
    ],
)
async def test_a_mail_that_makes_no_sense_fails_for_good_naming_the_field(
    house: House, mail: BuiltIn, postbox: Postbox, changes: dict[str, Any], field: str
) -> None:
    async with house.worker(mail):
        view = await house.run("send-email", {**LETTER, **changes})

    assert view.state is State.FAILED
    assert view.error is not None
    assert view.error.message.startswith(f"{field}: ")
    assert postbox.envelopes == []
