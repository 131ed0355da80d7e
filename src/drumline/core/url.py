"""URLs that others write and Drumline calls: read so strictly that no two programs can read them differently."""

import re
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import Final

from msgspec import Struct

from drumline.core.errors import Invalid

LONGEST_URL: Final = 2048

_URL: Final = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<authority>[^/?#]*).*")
_UNSAFE: Final = re.compile(r"[\x00-\x20\x7f-\xa0\\\u2028\u2029\ud800-\udfff\ufeff]")
_AUTHORITY: Final = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::(?P<port>[0-9]{1,5}))?")
_NAME: Final = re.compile(r"(?=.{1,253}\Z)[a-z0-9_]([a-z0-9_-]{0,62})(\.[a-z0-9_]([a-z0-9_-]{0,62}))*")
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")
_PORTS: Final = {"http": 80, "https": 443}


class UrlParts(Struct, frozen=True):
    """Where a URL leads: the host is a lower-case name, or an address in its usual form."""

    scheme: str
    host: str
    port: int


def parse_url(url: str, *, field: str) -> UrlParts:
    """Return where a URL leads, or raise `Invalid` naming `field`.

    Refused is what programs read differently: user names, escapes and foreign letters in the host, addresses written
    in another way than the usual one, blanks and backslashes anywhere.
    """
    if len(url) > LONGEST_URL:
        raise Invalid(f"must be at most {LONGEST_URL} characters", field=field)
    if _UNSAFE.search(url):
        raise Invalid("must not have blanks, control characters or backslashes in it", field=field)
    found = _URL.fullmatch(url)
    scheme = found["scheme"].lower() if found else ""
    if found is None or scheme not in _PORTS:
        raise Invalid("must start with http:// or https://", field=field)
    parts = _AUTHORITY.fullmatch(_checked_authority(found["authority"], field))
    if parts is None:
        raise Invalid("must have a host after //, and after that nothing but a port", field=field)
    port = _PORTS[scheme] if parts["port"] is None else int(parts["port"])
    if not 0 < port <= 65_535:
        raise Invalid("must have a port from 1 to 65535", field=field)
    return UrlParts(scheme, parse_host(parts["host"], field=field), port)


def parse_host(text: str, *, field: str) -> str:
    """Return a host in the one form that is asked for, or raise `Invalid` if it can be read in two ways."""
    host = text.lower()
    if host.startswith("["):
        try:
            return str(IPv6Address(host[1:-1]))
        except AddressValueError:
            raise Invalid(f"has {text[:100]} in it, which is no IPv6 address", field=field) from None
    host = host.removesuffix(".")
    if ends_in_number(host):
        try:
            return str(IPv4Address(host))
        except AddressValueError:
            raise Invalid(f"has an address in it that is written unusually: {text[:100]}", field=field) from None
    if _NAME.fullmatch(host) is None:
        raise Invalid(f"has {text[:100]} in it, which is no host name", field=field)
    return host


def ends_in_number(host: str) -> bool:
    """Tell whether some programs would take a host for an IPv4 address, however it is written."""
    return _NUMBER.fullmatch(host.rpartition(".")[2]) is not None


def _checked_authority(authority: str, field: str) -> str:
    if "@" in authority:
        raise Invalid("must not carry a user name or password", field=field)
    if not authority.isascii():
        raise Invalid("must have its host in ASCII; international names are written xn--…", field=field)
    return authority
