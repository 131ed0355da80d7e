"""What an installation lets its keys do, as far as that can be set."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from drumline.core.access import Role
from drumline.core.rate import Rate

USUAL: Final = Rate(100, 60.0)
"""How often a key may ask that nobody has said more about."""
WORKING: Final = Rate(60_000, 60.0)
"""The same for workers: a fleet shares a key, and each of its members claims, beats and reports."""

DEFAULT_RATES: Final[Mapping[Role, Rate | None]] = MappingProxyType(
    {role: WORKING if role is Role.WORKER else USUAL for role in Role}
)


class KeyPolicy(Struct, frozen=True, kw_only=True):
    """How keys are made, and how often they may be used."""

    environment: str = "live"
    """The word in the middle of new keys."""
    rates: Mapping[Role, Rate | None] = DEFAULT_RATES
    """How often the keys of each role may ask that have no rate of their own; None means as often as they like."""
    first_rate: Rate | None = None
    """The same for the key that the server was started with."""
    anonymous_rate: Rate | None = Rate(1000, 60.0)
    """How often an address may ask an API server without anything that is good; None means as often as it likes."""
    tenant_keys: int = 10
    """The keys that a tenant made itself may together ask as often as so many keys of their role."""
    proxies: tuple[str, ...] = ()
    """Networks whose word is taken on where a request came from."""

    def shared_rate(self, role: Role) -> Rate | None:
        """Return how often the keys of a role that a tenant made itself may ask together."""
        usual = self.rates[role]
        return None if usual is None else Rate(usual.requests * self.tenant_keys, usual.seconds)


DEFAULT_POLICY: Final = KeyPolicy()
