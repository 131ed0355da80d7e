"""Checks of tenants, of what the notifier and the relay tell the outside, and of reports that were made up."""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from typing import Final

from drumline.core.shard_map import ShardMap
from drumline.ports.bus import Channel
from tests.evidence.trace import Phase
from tests.simulation.account import Evidence, seconds_of

TOLD: Final = {"complete": "drumline.task.completed", "fail": "drumline.task.failed"}
DELIVERED: Final = 1


def tenants_are_apart(evidence: Evidence) -> Iterator[str]:
    """Check that no tenant saw a task of another, and that a worker of one tenant ran no task of another."""
    for line in evidence.operations:
        if line.what == "peek" and line.phase is Phase.OK:
            yield f"{line.detail['label']} saw task {line.task} of another tenant at {line.at}"
    bound, tenants = evidence.plan.fleet.bound_worker, evidence.plan.fleet.tenants
    for run in evidence.executions:
        if bound is not None and run.worker.startswith(f"{bound}.") and evidence.tenants[run.task] != tenants[0]:
            yield f"{run.worker} works for {tenants[0]}, and ran task {run.task} of {evidence.tenants[run.task]}"
    for line in evidence.operations:
        step = evidence.steps.get(line.detail["label"])
        if line.what == "submit" and line.phase is Phase.OK and step is not None and line.task is not None:
            stored = evidence.tenants.get(line.task, "none")
            if stored != (step.tenant or "default"):
                yield f"{step.label} was submitted for {step.tenant or 'default'} and is one of {stored}"


def every_task_is_in_one_shard(evidence: Evidence) -> Iterator[str]:
    """Check that no task is in two databases, and that each is in the one that had its slot when it was made."""
    places: dict[str, list[str]] = defaultdict(list)
    for name, server in evidence.databases.servers.items():
        for (task,) in server.connection.execute("SELECT id FROM task"):
            places[task].append(name)
    holder = ShardMap(0, evidence.databases.directory.histories).holder
    for task, names in places.items():
        if names != [holder(task)]:
            yield f"task {task} is in {names}, and by the map in {holder(task)}"


def made_up_reports_are_refused(evidence: Evidence) -> Iterator[str]:
    """Check that no report was taken whose nonce is not that of the lease."""
    for line in evidence.acknowledged("forge"):
        for answer in line.detail["accepted"]:
            yield f"a made-up report on task {line.task} was taken at {line.at}: {answer}"


def deliveries_are_delivered(evidence: Evidence) -> Iterator[str]:
    """Check that each delivery was delivered, and that its receiver has it."""
    accepted = frozenset(evidence.receiver.accepted)
    for delivery, name, state, *_ in _deliveries(evidence):
        if state != DELIVERED:
            yield f"delivery {delivery} of {name} ended in state {state}"
        elif delivery not in accepted:
            yield f"delivery {delivery} counts as delivered, and its receiver has never taken it"


def subscribers_are_told(evidence: Evidence) -> Iterator[str]:
    """Check that each end since a subscription gave one delivery."""
    if not evidence.plan.fleet.notifiers:
        return
    deliveries = _deliveries(evidence)
    for (name, event), count in Counter((name, event) for _, name, _, _, event in deliveries).items():
        if count > 1:
            yield f"subscription {name} was told {count} times of event {event}"
    queued = Counter((name, subject) for _, name, _, subject, _ in deliveries)
    for name, tenant, ended in _ends_since(evidence):
        for task, (least, most) in ended.items():
            if evidence.tenants[task] == tenant and not least <= queued[name, task] <= most:
                yield f"subscription {name} was told {queued[name, task]} times of task {task}, and not {least}"


def _deliveries(evidence: Evidence) -> list[tuple[str, str, int, str, str]]:
    """Return id, subscription, state, subject and event of each delivery."""
    return evidence.query(
        "SELECT d.id, s.name, d.state, d.subject, d.event_id FROM delivery AS d JOIN subscription AS s"
        " ON s.id = d.subscription"
    )


def _ends_since(evidence: Evidence) -> Iterator[tuple[str, str, dict[str, tuple[int, int]]]]:
    """Yield each subscription, its tenant, and how many ends of each task are after its answer, and after its begin."""
    begun = {line.op: line.at for line in evidence.operations if line.phase is Phase.INVOKE}
    ends = [
        (seconds_of(at), task)
        for at, events in evidence.query("SELECT at, events FROM outbox ORDER BY seq")
        for task, act, *_ in json.loads(events)
        if act in TOLD
    ]
    for line in evidence.acknowledged("subscribe"):
        step = evidence.steps[line.detail["label"]]
        counts: dict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
        for at, task in ends:
            least, most = counts[task]
            counts[task] = (least + (at > line.at), most + (at >= begun[line.op]))
        yield step.label, step.tenant or "default", counts


def the_bus_is_told_all(evidence: Evidence) -> Iterator[str]:
    """Check that Kafka has every change of every task, those of one task in their order, dead letters too."""
    if not evidence.plan.fleet.has_bus:
        return
    kept: dict[str, dict[str, None]] = defaultdict(dict)
    for message in evidence.broker.kept:
        if message.channel is Channel.EVENTS:
            kept[message.key].setdefault(json.loads(message.value)["id"])
    letters = {message.key for message in evidence.broker.kept if message.channel is Channel.DEAD_LETTERS}
    log = [
        (task, act)
        for (events,) in evidence.query("SELECT events FROM outbox ORDER BY seq")
        for task, act, *_ in json.loads(events)
    ]
    facts = [
        subject
        for (told,) in evidence.query("SELECT facts FROM outbox WHERE facts IS NOT NULL")
        for _, subject, *_ in json.loads(told)
    ]
    failed = {task for task, act in log if act == "fail"}
    tasks = {task for task, _ in log}
    for task, count in Counter([*(task for task, _ in log), *(each for each in facts if each in tasks)]).items():
        if len(kept[task]) != count:
            yield f"Kafka has {len(kept[task])} events of task {task}, and the log {count}"
        if list(kept[task]) != sorted(kept[task], key=_place):
            yield f"the events of task {task} came to Kafka in another order: {list(kept[task])}"
    for task in failed - letters:
        yield f"task {task} failed, and Kafka has no dead letter of it"


def _place(event: str) -> tuple[int, ...]:
    """Return where an event is in the log, by its id."""
    return tuple(int(part) for part in event.replace("-", ".").split(".") if part.isdigit())


OUTSIDE_CHECKS: Final[tuple[Callable[[Evidence], Iterator[str]], ...]] = (
    tenants_are_apart,
    every_task_is_in_one_shard,
    made_up_reports_are_refused,
    deliveries_are_delivered,
    subscribers_are_told,
    the_bus_is_told_all,
)
