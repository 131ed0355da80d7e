"""The guard at the door: requests that others write must not reach the inside.

A user who may name a URL that this machine calls could otherwise reach through it what only this machine reaches: the
database beside it, the cloud's metadata, the router. So a URL is read strictly (`core/url.py`), its host is resolved
once, every address that comes back is judged, and the connection goes to a judged address: an answer that changes
between the look and the connection changes nothing. The same holds for each redirect, since the guard stands where
connections are made (`client.py`).

An operator may allow networks (`10.0.0.0/8`, `127.0.0.1`), hosts (`hooks.internal`, `*.svc.cluster.local`) or
everything (`*`); a place that is allowed is reached at any port.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Final

from msgspec import Struct

from drumline.core.errors import Invalid
from drumline.core.url import UrlParts, parse_host, parse_url
from drumline.outbound.addresses import Address, kind_of

RESOLVE_SECONDS: Final = 5.0
MOST_ADDRESSES: Final = 6
"""Addresses of one host that are tried."""
EVERYTHING: Final = "*"
USUAL_PORTS: Final = frozenset({80, 443})
FIRST_FREE_PORT: Final = 1024
"""Below it mail, shells and name servers listen, which might take a request for something else."""

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""Returns the addresses of a host, best first, or raises `OSError`."""


class AddressRefused(Exception):
    """A place that may not be reached, and why; trying again does not help."""


class Allowed(Struct, frozen=True, kw_only=True):
    """Addresses that an operator allows besides the public Internet."""

    networks: tuple[IPv4Network | IPv6Network, ...] = ()
    hosts: frozenset[str] = frozenset()
    suffixes: tuple[str, ...] = ()
    is_all: bool = False

    def has_host(self, host: str) -> bool:
        """Tell whether a host is allowed by its name."""
        return self.is_all or host in self.hosts or host.endswith(self.suffixes)

    def has_address(self, address: Address) -> bool:
        """Tell whether an address is allowed."""
        return self.is_all or any(address.version == net.version and address in net for net in self.networks)


NOTHING: Final = Allowed()


def parse_allowed(entries: Sequence[str], *, field: str) -> Allowed:
    """Parse an operator's list of allowed addresses, or raise `Invalid` naming the wrong entry."""
    networks: list[IPv4Network | IPv6Network] = []
    hosts: set[str] = set()
    suffixes: list[str] = []
    for number, entry in enumerate(entries):
        text = entry.strip().lower()
        if text == EVERYTHING:
            continue
        try:
            networks.append(ip_network(text.strip("[]")))
        except ValueError:
            name = _checked_name(text.removeprefix("*."), field=f"{field}[{number}]")
            suffixes.append(f".{name}") if text.startswith("*.") else hosts.add(name)
    is_all = any(entry.strip() == EVERYTHING for entry in entries)
    return Allowed(networks=tuple(networks), hosts=frozenset(hosts), suffixes=tuple(suffixes), is_all=is_all)


def _checked_name(text: str, *, field: str) -> str:
    try:
        return parse_host(text, field=field)
    except Invalid as error:
        raise Invalid(
            "must be a network such as 10.0.0.0/8, a host such as hooks.internal or *.internal, or *", field=field
        ) from error


async def resolve(host: str, port: int) -> Sequence[str]:
    """Return a host's addresses as the machine's own resolver knows them."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(address[0]) for *_, address in found]


class AddressGuard:
    """Judges where requests may go."""

    def __init__(
        self, allowed: Allowed = NOTHING, *, resolve: Resolve = resolve, setting: str = "notify.allow"
    ) -> None:
        self._allowed = allowed
        self._resolve = resolve
        self._setting = setting
        """What an operator has to change, for those who wonder."""

    def check_url(self, url: str, *, field: str) -> UrlParts:
        """Return the parts of a URL; raise `Invalid` or `AddressRefused` if that is known without DNS."""
        place = parse_url(url, field=field)
        address = _address_of(place.host)
        if address is not None:
            self._judge(place.host, [address], place.port)
        return place

    async def addresses(self, host: str, port: int) -> tuple[str, ...]:
        """Return the addresses to connect to, best first, or raise `AddressRefused`, or `OSError` if it is unknown.

        One forbidden address among several is enough to refuse: no public service has one.
        """
        try:
            name = parse_host(f"[{host}]" if ":" in host else host, field="host")
        except Invalid as error:
            raise AddressRefused(str(error)) from error
        address = _address_of(name)
        addresses = [address] if address is not None else await self._look_up(name, port)
        self._judge(name, addresses, port)
        return tuple(map(str, addresses[:MOST_ADDRESSES]))

    def _judge(self, host: str, addresses: Sequence[Address], port: int) -> None:
        foreign = [address for address in addresses if not self._allowed.has_address(address)]
        if not foreign or self._allowed.has_host(host):
            return
        for address in foreign:
            kind = kind_of(address)
            if kind is not None:
                subject = f"{host} is" if host == str(address) else f"{host} resolves to {address}, which is"
                raise AddressRefused(f"{subject} {kind}; an operator can allow it with {self._setting}")
        if port < FIRST_FREE_PORT and port not in USUAL_PORTS:
            raise AddressRefused(
                f"{host} may be reached at ports 80, 443 and from {FIRST_FREE_PORT} on, not at {port}; "
                f"an operator can allow it with {self._setting}"
            )

    async def _look_up(self, host: str, port: int) -> list[Address]:
        async with asyncio.timeout(RESOLVE_SECONDS):
            found = await self._resolve(host, port)
        # A link-local answer names its interface behind a percent sign; the judgement is about the address.
        addresses = [ip_address(text.partition("%")[0]) for text in dict.fromkeys(found)]
        if not addresses:
            raise OSError(f"{host} has no address")
        return addresses


def _address_of(host: str) -> Address | None:
    try:
        return ip_address(host)
    except ValueError:
        return None
