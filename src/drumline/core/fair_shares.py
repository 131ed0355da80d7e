"""Fair shares: which tenant's task comes next where several have some waiting.

Every tenant has a level: its running tasks, divided by its weight. Each task that it is given raises it by one step,
and the next task goes to the tenant with the lowest level. So running tasks are shared by weight among tenants that
have tasks waiting, however many those are; and with one tenant alone nothing changes.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeVar

from msgspec import Struct

T = TypeVar("T")

STEP: Final = 1_000_000
"""What a task raises a tenant of weight 1 by."""
DEFAULT_WEIGHT: Final = 1
MOST_WEIGHT: Final = 1_000
MOST_TURNS: Final = STEP // MOST_WEIGHT - 1
"""Below a step come the turns: of tenants that stand alike, the one served longest ago is next."""


class Share(Struct, frozen=True, gc=False):
    """A tenant's level, and the step by which a task raises it. An unknown tenant is at 0."""

    tenant: str
    level: int
    step: int = STEP


def step_of(weight: int) -> int:
    """Return what a task raises a tenant of some weight by."""
    return STEP // weight


def by_share(ranked: Mapping[str, Sequence[T]], shares: Iterable[Share]) -> list[T]:
    """Return what waits, by tenant best first, in the order in which it should be handed out."""
    known = {share.tenant: share for share in shares}
    keys = []
    for tenant, waiting in ranked.items():
        share = known.get(tenant) or Share(tenant, 0)
        keys += [(share.level + share.step * place, tenant, place) for place in range(len(waiting))]
    keys.sort()
    return [ranked[tenant][place] for _, tenant, place in keys]
