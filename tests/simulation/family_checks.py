"""Checks of families: what parents are told of children, how many they wait for, and what becomes of those left."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from tests.simulation.account import CANCELLED, COMPLETED, FAILED, FOREVER, Evidence, Row
from tests.simulation.families import NAME, tree_of

ABANDON: Final = 1
FIRST: Final = 6
DONE: Final = 1
BEGIN_SECONDS: Final = 6.0
"""Until no child begins any more that is to be cancelled: a pass of the duty for each generation."""
STOP_SECONDS: Final = 15.0
"""Until a running one has stopped: that, two beats, and the time that it may take to stop."""
HOLD_SECONDS: Final = 4.0
"""For how long a parent may hold a worker in one attempt: it only starts children, and reads what became of them."""
WRONG: Final = {
    "count of children": "waits for {before} children, and {after} have not ended",
    "second outcome": "has a second outcome, {after}, after {before}",
    "child of nobody": "was started as the child of a task that does not run",
}


class Link(NamedTuple):
    """A child, as its parent's database has it."""

    parent: str
    name: str
    place: int
    child: str
    epoch: int | None
    state: int | None
    on_end: int


def steps_of_families_are_right(evidence: Evidence) -> Iterator[str]:
    """Check each count of children that are waited for, and each outcome, as it is written."""
    for change in evidence.changes:
        if change.what in WRONG:
            told = WRONG[change.what].format(before=change.before, after=change.after)
            yield f"task {change.task} at {change.at} {told}"


def outcomes_are_those_of_children(evidence: Evidence) -> Iterator[str]:
    """Check that every link has the outcome of an attempt of its child."""
    returned = {change.task for change in evidence.changes if change.what == "return of a parent"}
    for link in _links(evidence):
        if link.state is None:
            yield f"child {link.child} of task {link.parent} has ended, and its parent does not know"
            continue
        found = [row.outcome for row in evidence.rows[link.child] if row.epoch == link.epoch]
        # One that was to be retried with its parent stays as it is when that ends before: it counts as cancelled.
        is_left = link.parent in returned and link.state == CANCELLED and found == [FAILED]
        if found != [link.state] and not is_left:
            yield f"child {link.child} counts as {link.state} by its attempt {link.epoch}, which ended by {found}"


def parents_are_told_each_outcome_once(evidence: Evidence) -> Iterator[str]:
    """Check that a parent that completed was told of each child what became of it, in its place."""
    links: defaultdict[str, dict[tuple[str, int], Link]] = defaultdict(dict)
    for link in _links(evidence):
        links[link.parent][link.name, link.place] = link
    for task, result in evidence.query(
        f"SELECT a.task_id, a.result FROM attempt AS a JOIN task ON task.id = a.task_id"
        f" JOIN lane ON lane.id = task.lane WHERE a.outcome = {COMPLETED} AND lane.name = '{NAME}'"
    ):
        calls = tree_of(evidence.plan, evidence.payloads[task]["label"])["calls"]
        told = json.loads(result)["told"]
        for number, (call, said) in enumerate(zip(calls, told, strict=True)):
            mine = [links[task].get((f"c{number}", place)) for place in range(len(call["members"]))]
            if call["how"] != "leave" and (wrong := _wrongly_told(evidence, call["how"], said, mine)):
                yield f"task {task} was told {said} of its call {number} ({call['how']}): {wrong}"


def _wrongly_told(evidence: Evidence, how: str, said: Any, links: list[Link | None]) -> str | None:
    """Say what is wrong with what a parent was told of a call."""
    known = [link for link in links if link is not None]
    if said is None:
        return "nothing"
    if len(known) < len(links):
        return f"{len(links) - len(known)} children were never started"
    if how == "first":
        is_right = any(_is_of(evidence, said, link) for link in known)
        return None if is_right and ("failed" in said) is _all_bad(known) else f"the children are {known}"
    if isinstance(said, list):
        right = [_is_of(evidence, each, link) for each, link in zip(said, known, strict=True)]
        return None if all(right) else f"the children are {known}"
    if how == "gather":  # it raises the first failure
        bad = [link for link in known if link.state != COMPLETED]
        return None if bad and _is_of(evidence, said, bad[0]) else f"the children are {known}"
    return None if _is_of(evidence, said, known[0]) else f"the child is {known[0]}"


def _all_bad(links: list[Link]) -> bool:
    return all(link.state != COMPLETED for link in links)


def _is_of(evidence: Evidence, said: dict[str, Any], link: Link) -> bool:
    """Tell whether a parent was told how the child of a link ended."""
    if "failed" in said:
        return said["child"] == link.child and link.state not in {None, COMPLETED}
    label = evidence.payloads[link.child]["label"]
    return (said["label"], said["epoch"], link.state) == (label, link.epoch, COMPLETED)


def no_orphan_lives_on(evidence: Evidence) -> Iterator[str]:
    """Check that children of a parent that has ended soon ran no more, where no fault could delay that."""
    gone = _times_without(evidence)
    for link in _links(evidence):
        for ended, revived in gone[link.parent] if link.on_end != ABANDON else ():
            yield from (
                f"{found}; its parent {link.parent} ended at {ended}"
                for found in _goes_on(evidence, link, ended, revived)
            )


def losers_of_a_race_stop(evidence: Evidence) -> Iterator[str]:
    """Check that of children of which the first counts the others soon ran no more."""
    if evidence.was_asked("bulk"):
        return
    decided = {
        (task, name): at
        for task, name, at in evidence.query(
            f"SELECT task_id, name, (at - 1767225600000) / 1000.0 FROM step_record"
            f" WHERE kind = {FIRST} AND status = {DONE}"
        )
    }
    for link in _links(evidence):
        at = None if evidence.was_retried(link.parent) else decided.get((link.parent, link.name))
        for found in _goes_on(evidence, link, at, FOREVER) if at is not None else ():
            yield f"{found}; the race was decided at {at}"


def _goes_on(evidence: Evidence, link: Link, since: float, until: float) -> Iterator[str]:
    """Say where a child was leased, or ran on, after it should have been cancelled."""
    if link.child in evidence.concerned("retry"):
        return
    for row in evidence.rows[link.child]:
        if row.started is None or row.started >= until:
            continue
        begins = row.started > since + BEGIN_SECONDS and evidence.is_calm(since - 1.0, since + BEGIN_SECONDS)
        stays = row.started < since and min(row.finished, until) > since + STOP_SECONDS
        if begins or (stays and evidence.is_calm(since - STOP_SECONDS, since + STOP_SECONDS)):
            yield f"child {link.child} was leased at {row.started} and ran until {row.finished}"


def only_those_left_are_cancelled(evidence: Evidence) -> Iterator[str]:
    """Check that nobody cancels a child that was told to go on alone, or whose parent lives."""
    if evidence.was_asked("bulk"):
        return
    gone = _times_without(evidence)
    asked = evidence.concerned("cancel")
    races = {(task, name) for task, name in evidence.query(f"SELECT task_id, name FROM step_record WHERE kind={FIRST}")}
    for link in _links(evidence):
        if link.child in asked or (link.parent, link.name) in races:
            continue
        for row in (each for each in evidence.rows[link.child] if each.outcome == CANCELLED):
            if link.on_end == ABANDON:
                yield f"child {link.child} was cancelled at {row.finished}, and should have been left alone"
            elif _is_queued(row) and not any(
                since - 0.01 <= row.finished < until for since, until in gone[link.parent]
            ):
                yield f"child {link.child} was cancelled at {row.finished}, and its parent {link.parent} had not ended"


def _is_queued(row: Row) -> bool:
    return row.started is None


def parents_hold_no_worker(evidence: Evidence) -> Iterator[str]:
    """Check that no attempt of a parent lasts while its children run: they may need the place that it holds."""
    for parent in {link.parent for link in _links(evidence)}:
        for row in evidence.rows[parent]:
            if row.started is None or row.finished - row.started < HOLD_SECONDS:
                continue
            if evidence.is_calm(row.started - HOLD_SECONDS, row.finished):
                yield f"parent {parent} held a worker from {row.started} to {row.finished}"


def _links(evidence: Evidence) -> list[Link]:
    return [
        Link(*row)
        for row in evidence.query("SELECT parent_id, name, place, child_id, epoch, state, on_end FROM task_link")
    ]


def _times_without(evidence: Evidence) -> defaultdict[str, list[tuple[float, float]]]:
    """Return from when to when each parent had ended."""
    gone: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
    for change in evidence.changes:
        if change.what == "end of a parent" and change.task is not None:
            gone[change.task].append((change.at, FOREVER))
        if change.what == "return of a parent" and change.task is not None and gone[change.task]:
            gone[change.task][-1] = (gone[change.task][-1][0], change.at)
    return gone


FAMILY_CHECKS: Final[tuple[Callable[[Evidence], Iterator[str]], ...]] = (
    steps_of_families_are_right,
    outcomes_are_those_of_children,
    parents_are_told_each_outcome_once,
    no_orphan_lives_on,
    losers_of_a_race_stop,
    only_those_left_are_cancelled,
    parents_hold_no_worker,
)
