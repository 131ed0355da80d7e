"""What sessions can run, as the pop script looks it up.

A worker may have hundreds of task names; sending them with every pop would cost more than the pop. So they are written
into Redis once, under a digest that all workers of the kind share, and a pop names only the digest. Redis forgets
them after a while, or loses them; then the next pop brings them along.
"""

from collections import OrderedDict
from typing import Final

from msgspec import Struct

from drumline.ports.store import ClaimRequest
from drumline.redis.keys import QueueKeys, word

MOST: Final = 1_000

Kind = tuple[str | None, tuple[str, ...], tuple[str, ...]]


class Ability(Struct, frozen=True):
    """The key of an ability, and the fields and values to write there."""

    key: str
    fields: tuple[str, ...]


class Abilities:
    """Those that this process has met lately."""

    def __init__(self, keys: QueueKeys) -> None:
        self._keys = keys
        self._known: OrderedDict[Kind, Ability] = OrderedDict()

    def of(self, request: ClaimRequest) -> Ability:
        """Return what the session of a request can run."""
        kind = (request.tenant, request.queues, request.names)
        known = self._known.get(kind)
        if known is None:
            fields = _fields(kind)
            known = self._known[kind] = Ability(self._keys.ability(fields), fields)
            if len(self._known) > MOST:
                self._known.popitem(last=False)
        return known


def _fields(kind: Kind) -> tuple[str, ...]:
    tenant, queues, names = kind
    fields = {"known": "1", "tenant": "" if tenant is None else word(tenant), "queues": "some" if queues else "all"}
    fields |= {f"q:{word(queue)}": "1" for queue in sorted(queues)}
    fields |= {f"n:{name}": "1" for name in sorted(names)}
    return tuple(part for field in fields.items() for part in field)
