"""Explores the models of shards, one line for each set of rules.

    python -m tests.model.shards                all of them, also the large ones: some minutes
    python -m tests.model.shards -v drains      one model, with the shortest trace of each counterexample

The suite (`test_shards.py`) explores all but the large ones; each protection is turned off in one of those.
"""

import sys
import time
from collections.abc import Iterator
from typing import NamedTuple

from tests.model import drained_schedules, drained_waits, drains, job_waits, limit_shares, rate_shares, slot_moves
from tests.model.explore import Verdict, explore

Rules = (
    slot_moves.Rules
    | drains.Rules
    | drained_waits.Rules
    | drained_schedules.Rules
    | limit_shares.Rules
    | rate_shares.Rules
    | job_waits.Rules
)


class Check(NamedTuple):
    """One set of rules, and what is expected of it."""

    name: str
    rules: Rules
    complaint: str | None = None
    """What the explorer has to find if a protection is off; None if all promises have to hold."""
    is_large: bool = False
    """Whether it takes longer than a test should."""


def explored(rules: Rules) -> Verdict:
    """Visit every state of the model that these rules belong to."""
    match rules:
        case slot_moves.Rules():
            return explore(
                slot_moves.start(rules),
                lambda world: slot_moves.steps(world, rules),
                broken=slot_moves.broken,
                ended=lambda world: slot_moves.has_ended(world, rules),
                cut=lambda _: False,
            )
        case drains.Rules() | drained_waits.Rules() | drained_schedules.Rules():
            return _explored_drain(rules)
        case limit_shares.Rules():
            return explore(
                limit_shares.start(rules),
                lambda world: limit_shares.steps(world, rules),
                broken=lambda world: limit_shares.broken(world, rules),
                ended=lambda world: limit_shares.has_ended(world, rules),
                cut=lambda world: limit_shares.is_cut(world, rules),
            )
        case rate_shares.Rules():
            return explore(
                rate_shares.World(),
                lambda world: rate_shares.steps(world, rules),
                broken=lambda world: rate_shares.broken(world, rules),
                ended=rate_shares.has_ended,
                cut=lambda _: False,
            )
        case job_waits.Rules():
            return explore(
                job_waits.start(rules),
                lambda world: job_waits.steps(world, rules),
                broken=lambda world: world.broken,
                ended=job_waits.has_ended,
                cut=lambda _: False,
            )


def _explored_drain(rules: drains.Rules | drained_waits.Rules | drained_schedules.Rules) -> Verdict:
    match rules:
        case drains.Rules():
            return explore(
                drains.start(rules),
                lambda world: drains.steps(world, rules),
                broken=lambda world: drains.broken(world, rules),
                ended=drains.has_ended,
                cut=lambda world: drains.is_cut(world, rules),
            )
        case drained_waits.Rules():
            return explore(
                drained_waits.World(faults=rules.faults),
                lambda world: drained_waits.steps(world, rules),
                broken=drained_waits.broken,
                ended=lambda world: drained_waits.has_ended(world, rules),
                cut=lambda _: False,
            )
        case drained_schedules.Rules():
            return explore(
                drained_schedules.World(faults=rules.faults),
                lambda world: drained_schedules.steps(world, rules),
                broken=drained_schedules.broken,
                ended=lambda world: drained_schedules.has_ended(world, rules),
                cut=lambda _: False,
            )


def checks() -> Iterator[Check]:
    """Yield every set of rules that is of interest."""
    yield from _slot_moves()
    yield from _drains()
    yield from _drained_waits()
    yield from _drained_schedules()
    yield from _limit_shares()
    yield Check("a rate in a window of 2", rate_shares.Rules())
    yield Check("a share lowered under what the window has used", rate_shares.Rules(counts_window=False), "more starts")
    yield from _job_waits()


def _slot_moves() -> Iterator[Check]:
    rules, lost = slot_moves.Rules, "stored, and a reader with the newest map does not find it"
    yield Check("keyed, 3 shards, 2 moves", rules(), is_large=True)
    yield Check("keyed, there and back and there", rules(shards=2, moves=3, faults=1), is_large=True)
    yield Check("unkeyed, 3 shards, 2 moves", rules(kinds="U"), is_large=True)
    yield Check("keyed and unkeyed, 2 shards, 2 faults", rules(kinds="KU", shards=2, moves=1), is_large=True)
    yield Check("keyed and unkeyed, 2 shards, 1 move", rules(kinds="KU", shards=2, moves=1, faults=0))
    yield Check("keyed, 2 shards, 1 move, 1 fault", rules(shards=2, moves=1, faults=1))
    yield Check("unkeyed, 2 shards, there and back", rules(kinds="U", shards=2, faults=1))
    yield Check("a task starts a child, 2 shards, there and back", rules(kinds="UC", shards=2, faults=0))
    yield Check("a task starts a child, 2 shards, 1 move, 1 fault", rules(kinds="UC", shards=2, moves=1, faults=1))
    yield Check("a child after the slot has left", rules(kinds="UC", children_stay=False, shards=2, faults=0), "stuck")
    yield Check("such a child by the clock", rules(kinds="UC", children_as_old=False, shards=2, faults=0), lost)
    yield Check("closed by the giver's clock", rules(closes_after_ids=False, shards=2, faults=0), lost)
    yield Check("closed before it was opened", rules(closes_after_since=False, faults=0), lost)
    yield Check("fenced by any interval", rules(fence="any interval", shards=2, faults=0), lost)
    yield Check(
        "fenced whatever the id's time is", rules(fences_time=False, clamps_ids=False, shards=2, faults=0), lost
    )
    yield Check("fenced whatever the version is", rules(fences_version=False, shards=2, moves=3, faults=0), lost)
    yield Check("closing does not wait", rules(close_waits=False, shards=2, faults=0), lost)
    yield Check("ids made by the clock alone", rules(clamps_ids=False, kinds="U", shards=2, moves=1, faults=0), "stuck")
    yield Check("key not looked for elsewhere", rules(former_owners="none", shards=2, moves=1, faults=0), "one key")
    yield Check("key looked for at the last owner", rules(former_owners="last", shards=3, faults=0), "one key")
    yield Check(
        "fence before what is stored", rules(answers_stored_first=False, kinds="U", shards=2, faults=1), "twice"
    )
    yield Check("opening overwrites", rules(opening_inserts_only=False, shards=2, moves=3, faults=0), "404")
    yield Check("map written before the giver is closed", rules(map_comes_last=False, shards=2, faults=0), lost)


def _drains() -> Iterator[Check]:
    rules, every = drains.Rules, ("cancel", "reschedule", "retry", "read")
    yield Check("every act, the slot moves on, 1 fault", rules(acts=every, faults=1), is_large=True)
    yield Check("5 epochs, 2 faults", rules(acts=every, latest_epoch=5, moves=0, faults=2), is_large=True)
    yield Check("there, back and there again", rules(acts=("cancel", "read"), moves=2), is_large=True)
    yield Check("the same key, 1 fault", rules(acts=("cancel", "read"), keys=True, faults=1), is_large=True)
    yield Check("the key expires", rules(acts=("cancel", "read"), keys=True, expires=True), is_large=True)
    yield Check("3 shards", rules(acts=("cancel", "read"), shards=3), is_large=True)
    yield Check("3 shards, the slot moves twice", rules(acts=("read",), shards=3, moves=2), is_large=True)
    yield Check("3 shards, the same key", rules(acts=("read",), shards=3, keys=True), is_large=True)
    yield Check("the slot moves on", rules(acts=("cancel", "reschedule"), latest_epoch=3))
    yield Check("2 faults", rules(acts=("reschedule", "read"), latest_epoch=3, moves=0, faults=2))
    yield Check("3 shards, 3 epochs", rules(acts=("read",), latest_epoch=3, shards=3))
    yield Check("the same key", rules(acts=("read",), latest_epoch=3, keys=True))
    yield Check("the key expires, 3 epochs", _expiring())
    yield Check("taken out whatever the epoch is", rules(takes_by_epoch=False), "change is lost")
    yield Check("an act that does not raise the epoch", rules(edits_raise=False), "change is lost")
    yield Check("a move that does not raise the epoch", rules(taking_raises=False), "circles")
    yield Check("activated before the giver's commit", rules(activates_last=False), "two places")
    yield Check("any copy activated", rules(activates_by_epoch=False, acts=("read",), moves=2), "two places")
    yield Check("a row activated", rules(activates_copies_only=False), "cancel was undone")
    yield Check("an older copy over a newer", rules(copies_over_older=False), "404")
    yield Check("a copy over an ended task", rules(copies_over_no_row=False), "404")
    yield Check("a copy after the task has left again", rules(copies_after_forward=False), "two places")
    yield Check("discarded though taken out", rules(looks_why=False), "404")
    yield Check("any copy discarded", rules(discards_by_epoch=False), "404")
    yield Check("no mover carries on", rules(carries_on=False, acts=("read",), moves=0, faults=1), "stuck")
    yield Check("inactive copies not found", rules(acts_activate=False), "404")
    yield Check("forwarding row before the row", rules(row_first=False), "circles")
    yield Check("a shard removed that the map names", rules(removes_unnamed=False), "was removed")
    yield Check(
        "a shard removed that a row leads to", rules(removes_unled=False, acts=("read",), shards=3), "was removed"
    )
    yield Check("a shard removed with copies from it", rules(removes_without_copies=False, shards=3), "404")
    yield Check("a removed shard takes copies", rules(removed_takes_none=False, acts=("read",), shards=3), "two places")
    yield Check("the map names whoever owns the slot", rules(names_who_has_forwards=False, shards=3), "404")
    yield Check("forwarding rows pruned", rules(forwards_stay=False), "two places")
    yield Check("the map names an inactive copy", rules(names_active=False), "404")
    yield Check("forwarding rows not handed over", rules(hands_forwards_over=False, shards=3), "404")
    yield Check("the key stays behind", rules(key_goes_along=False, keys=True, acts=("read",)), "one key")
    yield Check("the giver forgets the key", rules(key_stays=False, keys=True, acts=("read",)), "one key")
    yield Check("an expired key over a later one", _expiring()._replace(key_over_nothing=False), "one key")
    yield Check("a later key discarded", _expiring()._replace(key_goes_by_task=False), "one key")


def _expiring() -> drains.Rules:
    return drains.Rules(acts=("cancel",), latest_epoch=3, moves=0, keys=True, expires=True)


def _drained_waits() -> Iterator[Check]:
    rules = drained_waits.Rules
    yield Check("both jobs move", rules())
    yield Check("the awaited job moves", rules(moves_w=False, faults=3))
    yield Check("taken out whatever the version is", rules(takes_by_version=False), "before P has ended")
    yield Check("registering does not raise the version", rules(registering_raises=False), "stuck")
    yield Check("unblocking does not raise the version", rules(telling_raises=False), "stuck")
    yield Check("waits that are registered stay behind", rules(watchers_go_along=False), "stuck")
    yield Check("waits for a job that leaves stay near", rules(leaving_p_makes_far=False, moves_w=False), "stuck")
    yield Check("waits of a job that leaves stay near", rules(leaving_w_makes_far=False), "stuck")
    yield Check("registering does not look", rules(registering_looks=False), "stuck")
    yield Check("ripples do not follow", rules(ripples_follow=False), "stuck")


def _drained_schedules() -> Iterator[Check]:
    rules = drained_schedules.Rules
    yield Check("a schedule follows its slot", rules(latest=3, faults=3))
    yield Check("taken out whatever the version is", rules(takes_by_version=False), "change is lost")
    yield Check("a change that does not raise the version", rules(editing_raises=False), "change is lost")
    yield Check("an inactive copy fires", rules(copies_rest=False), "handled twice")
    yield Check("fired where the slot is closed", rules(firing_is_fenced=False), "does not find the run")
    yield Check("moved while a run goes on", rules(waits_for_runs=False), "while another goes on")
    yield Check("name not looked for elsewhere", rules(looks_for_name=False), "one name, two schedules")
    yield Check("the giver forgets the name", rules(name_stays=False), "one name, two schedules")
    yield Check("schedules move with a drain only", rules(moves_without_drain=False), "stuck")


def _limit_shares() -> Iterator[Check]:
    rules, more = limit_shares.Rules, "more runs than the limit"
    yield Check("3 shards, 2 faults", rules(shards=3, transfers=1), is_large=True)
    yield Check("limit of 3, 3 faults", rules(limit=3, transfers=3, faults=3), is_large=True)
    yield Check("the limit is lowered", rules(transfers=3, lowerings=1), is_large=True)
    yield Check("3 shards, one of them away", rules(shards=3, transfers=1, absences=1, faults=1), is_large=True)
    yield Check("2 shards, 2 faults", rules())
    yield Check("the limit is lowered, 1 fault", rules(lowerings=1, faults=1))
    yield Check("a busy giver", rules(is_greedy=True))
    yield Check("a shard is away", rules(absences=1, faults=1))
    yield Check("what is missing handed out", rules(has_transfers=False), more)
    yield Check("raised before lowered", rules(lowers_first=False), more)
    yield Check("lowered under what runs", rules(not_under_use=False), more)
    yield Check("transfers without a number", rules(applies_once=False), more)
    yield Check("no mover carries on", rules(carries_on=False), "stuck")
    yield Check("transfer deleted whatever its number is", rules(deletes_by_number=False), "stuck")
    yield Check("a busy giver is not asked", rules(is_greedy=True, asks_busy=False), "stuck")
    yield Check("a busy giver is asked for ever", rules(is_greedy=True, lifts_ceiling=False), "stuck")
    yield Check("the share of an absent shard taken over", rules(absences=1, absent_keep_shares=False), more)
    yield Check("a transfer to an absent shard taken back", rules(absences=1, transfers_stay=False), more)


def _job_waits() -> Iterator[Check]:
    rules, early, over = job_waits.Rules, "before all have completed", "an end that was over"
    yield Check("both resumed", rules(), is_large=True)
    yield Check("P resumed twice, 2 faults", rules(revivals_of_p=2, tellers=1, faults=2), is_large=True)
    yield Check("both resumed, 1 teller", rules(tellers=1))
    yield Check("2 tellers, P resumed", rules(revivals_of_w=0, faults=0))
    yield Check("registered before it is stored", rules(stores_first=False), over)
    yield Check("registering does not look", rules(registering_looks=False, tellers=1, revivals_of_w=0), "stuck")
    yield Check("registered once", rules(registers_again=False, tellers=1, revivals_of_w=0), "stuck")
    yield Check("told after the commit only", rules(end_writes_ripple=False, tellers=1, revivals_of_w=0), "stuck")
    yield Check("a bare counter", rules(marks_told=False), early)
    yield Check("ripples of another life", rules(names_life=False), over)
    yield Check("resumed without registering", rules(resume_registers=False), early)
    yield Check("ripples deleted by pair", rules(deletes_by_number=False, faults=0), "stuck")


def _main() -> int:
    wanted = [argument for argument in sys.argv[1:] if argument != "-v"]
    surprises = visited = 0
    for check in checks():
        model = check.rules.__class__.__module__.rpartition(".")[2]
        if wanted and model not in wanted:
            continue
        began = time.process_time()
        verdict = explored(check.rules)
        is_expected = (verdict.broken is None) if check.complaint is None else check.complaint in (verdict.broken or "")
        surprises += not is_expected
        visited += verdict.states
        spent = time.process_time() - began
        line = f"{model:13} {check.name:45} {verdict.states:8} states {spent:6.1f} s  {verdict.broken or 'holds'}"
        print(line if is_expected else f"{line}  SURPRISE", flush=True)  # noqa: T201
        if verdict.broken and ("-v" in sys.argv or not is_expected):
            print("    " + " > ".join(verdict.story))  # noqa: T201
    print(f"{visited} states, {surprises} surprises")  # noqa: T201
    return 1 if surprises else 0


if __name__ == "__main__":
    sys.exit(_main())
