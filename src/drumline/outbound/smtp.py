"""Sending mail: a message that cannot be forged by its fields, and one SMTP conversation under a deadline."""

import asyncio
import re
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import formatdate, getaddresses
from typing import Final

import aiosmtplib

from drumline.core.errors import Invalid
from drumline.outbound.mail import Mail, MailFailed, MailServer

LONGEST_HEADER: Final = 998
MOST_RECIPIENTS: Final = 100

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
_ADDRESS: Final = re.compile(r"[^\s@<>,;:\"()\[\]\\]+@[^\s@<>,;:\"()\\]+")


def recipients_of(mail: Mail) -> list[str]:
    """Return everyone who gets the mail, each once, or raise `Invalid` naming the field."""
    named = {"to": mail.to, "cc": mail.cc, "bcc": mail.bcc}
    if not mail.to:
        raise Invalid("must have at least one address", field="to")
    addresses = [
        _address(text, field=f"{field}[{number}]").addr_spec
        for field, texts in named.items()
        for number, text in enumerate(texts)
    ]
    unique = list(dict.fromkeys(addresses))
    if len(unique) > MOST_RECIPIENTS:
        raise Invalid(f"must be at most {MOST_RECIPIENTS} addresses together with cc and bcc", field="to")
    return unique


def compose(mail: Mail, *, sender: str) -> EmailMessage:
    """Return the mail as a message, or raise `Invalid` naming the field; no field can add a header of its own."""
    if mail.text is None and mail.html is None:
        raise Invalid("must be given, or html", field="text")
    message = EmailMessage()
    message["Subject"] = _line(mail.subject, field="subject")
    message["From"] = _address(mail.sender or sender, field="from")
    message["To"] = [_address(text, field=f"to[{number}]") for number, text in enumerate(mail.to)]
    if mail.cc:
        message["Cc"] = [_address(text, field=f"cc[{number}]") for number, text in enumerate(mail.cc)]
    if mail.reply_to is not None:
        message["Reply-To"] = _address(mail.reply_to, field="reply_to")
    message["Date"] = formatdate(usegmt=True)
    if mail.message_id is not None:
        message["Message-ID"] = f"<{_line(mail.message_id, field='message_id')}>"
    if mail.text is not None:
        message.set_content(_body(mail.text))
        if mail.html is not None:
            message.add_alternative(_body(mail.html), subtype="html")
    elif mail.html is not None:
        message.set_content(_body(mail.html), subtype="html")
    return message


async def send(mail: Mail, settings: MailServer) -> dict[str, str]:
    """Hand the mail over and return the recipients that were refused, with the reasons.

    Raises `Invalid` for a mail that makes no sense, and `MailFailed` if no recipient was accepted.
    """
    recipients = recipients_of(mail)
    message = compose(mail, sender=settings.sender)
    try:
        async with asyncio.timeout(settings.timeout):
            return await _converse(message, recipients, settings)
    except TimeoutError as error:
        raise MailFailed(f"{settings.host} did not answer in {settings.timeout:g} s", permanent=False) from error


async def _converse(message: EmailMessage, recipients: list[str], settings: MailServer) -> dict[str, str]:
    client = aiosmtplib.SMTP(
        hostname=settings.host,
        port=settings.port,
        username=settings.username,
        password=settings.password,
        use_tls=settings.tls == "tls",
        start_tls=settings.tls == "starttls",
        timeout=settings.timeout,
    )
    try:
        await client.connect()
        refused, _ = await client.send_message(message, recipients=recipients)
    except aiosmtplib.SMTPRecipientsRefused as error:
        reasons = [f"{one.recipient}: {one.code} {one.message}" for one in error.recipients]
        permanent = all(one.code >= 500 for one in error.recipients)
        raise MailFailed("; ".join(reasons), permanent=permanent, code=error.recipients[0].code) from error
    except aiosmtplib.SMTPResponseException as error:
        raise MailFailed(f"{error.code} {error.message}", permanent=error.code >= 500, code=error.code) from error
    except (aiosmtplib.SMTPException, OSError) as error:
        raise MailFailed(f"{settings.host}:{settings.port}: {error}", permanent=False) from error
    finally:
        await _leave(client)
    return {address: f"{response.code} {response.message}" for address, response in refused.items()}


async def _leave(client: aiosmtplib.SMTP) -> None:
    """Say goodbye if the server still listens; the mail's fate is known already."""
    try:
        await client.quit()
    except (aiosmtplib.SMTPException, OSError):
        client.close()


def _line(text: str, *, field: str) -> str:
    if _CONTROL.search(text):
        raise Invalid("must be one line without control characters", field=field)
    if len(text) > LONGEST_HEADER:
        raise Invalid(f"must be at most {LONGEST_HEADER} characters", field=field)
    return text


def _address(text: str, *, field: str) -> Address:
    found = getaddresses([_line(text, field=field)])
    name, spec = found[0] if len(found) == 1 else ("", "")
    if _ADDRESS.fullmatch(spec) is None:
        raise Invalid("must be one address such as ada@example.org or Ada <ada@example.org>", field=field)
    try:
        return Address(display_name=name, addr_spec=spec)
    except (ValueError, IndexError) as error:
        raise Invalid(f"is not a mail address: {error}", field=field) from error


def _body(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
