"""Where a request came from: the peer, or through proxies that are trusted, the address that they pass on."""

from functools import lru_cache
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final

from starlette.types import Scope

from drumline.core.errors import Invalid

UNKNOWN: Final = "unknown"

Network = IPv4Network | IPv6Network


def parse_networks(texts: tuple[str, ...], *, field: str) -> tuple[Network, ...]:
    """Return networks such as `10.0.0.0/8`, or raise `Invalid` naming `field`."""
    try:
        return tuple(ip_network(text, strict=False) for text in texts)
    except ValueError as error:
        raise Invalid(f"must be networks such as 10.0.0.0/8: {error}", field=field) from error


class Addresses:
    """Tells where requests came from."""

    def __init__(self, proxies: tuple[str, ...]) -> None:
        self._proxies = parse_networks(proxies, field="proxies")

    def is_passed_on(self, scope: Scope) -> bool:
        """Tell whether a request comes from a trusted proxy, whose forwarding headers are believed."""
        client = scope.get("client")
        return client is not None and bool(self._proxies) and _is_within(_unmapped(client[0]), self._proxies)

    def is_proxy(self, address: str) -> bool:
        """Tell whether an address is a trusted proxy's."""
        return bool(self._proxies) and _is_within(_unmapped(address), self._proxies)

    def of(self, scope: Scope) -> str:
        """Return the nearest address that is no trusted proxy's; whatever lies behind it may be invented."""
        client = scope.get("client")
        address: str = _unmapped(client[0]) if client else UNKNOWN
        if not self._proxies or not _is_within(address, self._proxies):
            return address
        passed = b",".join(value for name, value in scope["headers"] if name == b"x-forwarded-for")
        for each in reversed(passed.decode("latin-1").split(",")):
            nearer = _plain(each.strip())
            if nearer is None:
                break
            address = nearer
            if not _is_within(address, self._proxies):
                break
        return address


def group_of(address: str) -> str:
    """Return the group that an address is counted in: of IPv6 its /64, since one client has all of it."""
    if ":" not in address:
        return address
    try:
        return str(ip_network(f"{address.partition('%')[0]}/64", strict=False))
    except ValueError:
        return address


def _plain(text: str) -> str | None:
    """Return an address without port and brackets; None if it is none."""
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        return _unmapped(str(ip_address(text)))
    except ValueError:
        return None


@lru_cache(maxsize=4096)
def _unmapped(address: str) -> str:
    """Return an IPv4 address as such: a socket for both kinds shows it inside an IPv6 one, where all look alike."""
    if not address.lower().startswith("::ffff:"):
        return address
    try:
        mapped = IPv6Address(address).ipv4_mapped
    except ValueError:
        return address
    return address if mapped is None else str(mapped)


@lru_cache(maxsize=4096)
def _is_within(address: str, networks: tuple[Network, ...]) -> bool:
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    return any(parsed.version == network.version and parsed in network for network in networks)
