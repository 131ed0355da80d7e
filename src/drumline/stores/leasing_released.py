"""Tasks of jobs that are leased in the transaction that releases them: to which claim, and what is left to offer."""

from collections.abc import Sequence
from heapq import nsmallest

from msgspec.structs import replace

from drumline.core.priority import score
from drumline.ports.claim import Claim, ClaimRequest
from drumline.ports.hint import Effects, Hint


def choose_taker(takers: Sequence[ClaimRequest], released: Sequence[Hint]) -> ClaimRequest | None:
    """Return the first claim that can run some of the released tasks, with these as its hints, best first."""
    lanes = {hint.lane for hint in released}
    for taker in takers:
        theirs = {lane for lane in lanes if taker.can_run(lane)}
        if theirs:
            mine = [hint for hint in released if hint.lane in theirs]
            return replace(taker, hints=tuple(hint.task for hint in nsmallest(taker.limit, mine, key=_rank)))
    return None


def with_claim(effects: Effects, claim: Claim) -> Effects:
    """Return effects with what a claim was given of the released tasks, which need not be offered then."""
    leased = {lease.task for lease in claim.leases}
    if not leased:
        return effects
    return replace(effects, released=tuple(hint for hint in effects.released if hint.task not in leased), claim=claim)


def _rank(hint: Hint) -> tuple[int, str]:
    return score(hint.due_at, hint.lane.priority), hint.task
