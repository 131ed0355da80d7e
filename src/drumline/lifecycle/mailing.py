"""The mail server that the settings name."""

from drumline.outbound.smtp import SmtpSettings
from drumline.settings import Settings

NEAREST_MAIL_SERVER = SmtpSettings(host="127.0.0.1", port=25, tls="none")


def mail_server(settings: Settings, *, is_embedded: bool) -> SmtpSettings | None:
    """Return where mail is handed over; on one machine the nearest one, if no other is named."""
    smtp = settings.smtp
    if smtp.host is None:
        return NEAREST_MAIL_SERVER if is_embedded else None
    return SmtpSettings(
        host=smtp.host,
        port=smtp.port,
        username=smtp.username,
        password=smtp.password,
        tls=smtp.tls,
        sender=smtp.sender,
    )
