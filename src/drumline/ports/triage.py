"""The part of the store that keeps what people decided about failure groups, by tenant and fingerprint."""

from collections.abc import Sequence
from typing import Protocol

from drumline.core.triage import Triage, TriageChange


class Triages(Protocol):
    """Decisions about failure groups. They outlive the failures, so that a cause that comes back is recognised."""

    async def change_triage(self, fingerprint: str, change: TriageChange, *, tenant: str) -> Triage:
        """Change what was decided about a group, and return all of it. A decision has the store's time.

        Of more than `MOST_TRIAGED` groups of a tenant the ones that were changed longest ago are forgotten.
        """
        ...

    async def find_triages(self, fingerprints: Sequence[str], *, tenant: str) -> dict[str, Triage]:
        """Return what was decided about groups; those without are left out."""
        ...
