"""The mail server and the gateway for text messages that the settings name."""

from drumline.core.errors import Invalid
from drumline.outbound.mail import MailServer
from drumline.outbound.sms import SmsGateway
from drumline.settings import Settings

NEAREST_MAIL_SERVER = MailServer(host="127.0.0.1", port=25, tls="none")


def mail_server(settings: Settings, *, is_embedded: bool) -> MailServer | None:
    """Return where mail is handed over; on one machine the nearest one, if no other is named."""
    smtp = settings.smtp
    if smtp.host is None:
        return NEAREST_MAIL_SERVER if is_embedded else None
    return MailServer(
        host=smtp.host,
        port=smtp.port,
        username=smtp.username,
        password=smtp.password,
        tls=smtp.tls,
        sender=smtp.sender,
    )


def sms_gateway(settings: Settings) -> SmsGateway | None:
    """Return the gateway for text messages, if there is one, or raise `Invalid` for one without credentials."""
    sms = settings.sms
    if sms.provider == "none":
        return None
    if (not sms.account) != (sms.token is None):
        raise Invalid("must be given with sms.account, or neither where each task names its own", field="sms.token")
    return SmsGateway(
        provider=sms.provider,
        url=sms.url,
        account=sms.account,
        token=sms.token or "",
        sender=sms.sender,
        timeout=sms.timeout.total_seconds(),
    )
