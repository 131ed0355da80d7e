"""The limits of connections and requests, as the API takes them, from the settings."""

from drumline.core.limits import HttpLimits
from drumline.settings.fields import HttpSettings


def http_limits_of(settings: HttpSettings) -> HttpLimits:
    """Return the limits that the settings say."""
    return HttpLimits(
        connections=settings.connections,
        connections_per_address=settings.connections_per_address,
        header_bytes=settings.header_bytes,
        url_bytes=settings.url_bytes,
        header_timeout=settings.header_timeout.total_seconds(),
        body_timeout=settings.body_timeout.total_seconds(),
        keep_alive=settings.keep_alive.total_seconds(),
        write_timeout=settings.write_timeout.total_seconds(),
        request_bytes=settings.request_bytes,
    )
