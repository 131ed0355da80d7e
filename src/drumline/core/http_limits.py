"""How many connections the API serves, and what it accepts on each: bytes and seconds."""

from msgspec import Struct


class HttpLimits(Struct, frozen=True, kw_only=True):
    """The limits of connections and requests. Times are seconds."""

    connections: int = 4096
    """Connections in all."""
    connections_per_address: int = 1024
    """Connections from one address, of IPv6 from one /64; trusted proxies may have as many as there may be."""
    header_bytes: int = 32 * 1024
    """Request line and headers together."""
    header_count: int = 128
    """Headers of one request."""
    url_bytes: int = 16 * 1024
    """The path with its query."""
    header_timeout: float = 10.0
    """From when a connection is opened, or from the first byte of a request, until its headers are complete."""
    body_timeout: float = 60.0
    """From complete headers until the body is complete."""
    keep_alive: float = 75.0
    """How long a connection may be idle between two requests."""
    write_timeout: float = 30.0
    """In which a client must accept 64 KiB of a response that waits for it, or all of it."""
    request_bytes: int = 256 * 1024 * 1024
    """Bodies that are held in memory, of all requests together."""


DEFAULT_HTTP_LIMITS = HttpLimits()
