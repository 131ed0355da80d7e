"""Which addresses are not public: the special-purpose registries of IANA, and the addresses that clouds add."""

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_network
from typing import Final

Address = IPv4Address | IPv6Address

_KINDS: Final = (
    ("168.63.129.16/32", "a cloud's metadata address"),  # Azure's, which looks like any public one
    ("169.254.169.254/32", "a cloud's metadata address"),
    ("100.100.100.200/32", "a cloud's metadata address"),
    ("192.0.0.192/32", "a cloud's metadata address"),
    ("fd00:ec2::/32", "a cloud's metadata address"),
    ("0.0.0.0/8", "an address of this very machine"),
    ("10.0.0.0/8", "a private address"),
    ("100.64.0.0/10", "a provider's inside address"),
    ("127.0.0.0/8", "a loopback address"),
    ("169.254.0.0/16", "a link-local address"),
    ("172.16.0.0/12", "a private address"),
    ("192.0.0.0/24", "a reserved address"),
    ("192.0.2.0/24", "an address for documentation"),
    ("192.88.99.0/24", "a reserved address"),
    ("192.168.0.0/16", "a private address"),
    ("198.18.0.0/15", "an address for measurements"),
    ("198.51.100.0/24", "an address for documentation"),
    ("203.0.113.0/24", "an address for documentation"),
    ("224.0.0.0/4", "a multicast address"),
    ("240.0.0.0/4", "a reserved address"),
    ("::1/128", "a loopback address"),
    ("::/128", "an address of this very machine"),
    ("::ffff:0:0/96", "an IPv4 address in IPv6 clothes"),
    ("::/96", "an IPv4 address in IPv6 clothes"),
    ("::ffff:0:0:0/96", "an IPv4 address in IPv6 clothes"),
    ("64:ff9b::/96", "an IPv4 address in IPv6 clothes"),  # NAT64
    ("64:ff9b:1::/48", "an IPv4 address in IPv6 clothes"),
    ("2002::/16", "an IPv4 address in IPv6 clothes"),  # 6to4
    ("2001::/32", "an IPv4 address in IPv6 clothes"),  # Teredo
    ("2001::/23", "a reserved address"),
    ("2001:db8::/32", "an address for documentation"),
    ("3fff::/20", "an address for documentation"),
    ("fc00::/7", "a private address"),
    ("fe80::/10", "a link-local address"),
    ("fec0::/10", "a private address"),
    ("ff00::/8", "a multicast address"),
)
"""Networks that are not the public Internet; the first that fits says why."""
_NETWORKS: Final = tuple((ip_network(network), kind) for network, kind in _KINDS)
_PUBLIC_V6: Final = IPv6Network("2000::/3")
_ISATAP: Final = frozenset({0x0000_5EFE, 0x0200_5EFE})


def kind_of(address: Address) -> str | None:
    """Return what kind of non-public address it is, such as `a private address`; None if it is public."""
    for network, kind in _NETWORKS:
        if address.version == network.version and address in network:
            return kind
    if isinstance(address, IPv4Address):
        return None
    if address not in _PUBLIC_V6:
        return "a reserved address"
    if (int(address) >> 32) & 0xFFFF_FFFF in _ISATAP:
        return "an IPv4 address in IPv6 clothes"
    return None
