"""Judges what Kafka has of the events: no task and no end may be missing, and the events of a task are in order."""

from collections.abc import Iterable
from typing import Any

from tests.chaos.judge import ENDED
from tests.evidence.trace import Ending, Line
from tests.kafka.reading import firsts, read_topic

TOPIC = "chaos"
Message = dict[str, Any]


class Awaited:
    """The events that must come: the submission of every task, and the end of every one that has ended."""

    def __init__(self, lines: Iterable[Line]) -> None:
        endings = [line for line in lines if isinstance(line, Ending)]
        self.missing = {(ending.task, "submitted") for ending in endings}
        self.missing |= {(ending.task, ending.state.lower()) for ending in endings if ending.state in ENDED}
        self.count = len(self.missing)
        self._seen = 0

    def are_there(self, messages: list[Message]) -> bool:
        """Tell whether all are among the messages; those that were looked at before are not looked at again."""
        for message in messages[self._seen :]:
            self.missing.discard((message["subject"], message["type"].removeprefix("drumline.task.")))
        self._seen = len(messages)
        return not self.missing


def judge_events(broker: str, lines: Iterable[Line]) -> dict[str, Any]:
    """Read the topic, and return the verdict on it."""
    awaited = Awaited(lines)
    messages = read_topic(broker, TOPIC, awaited.are_there)
    findings = [f"{task}: no event {event}" for task, event in sorted(awaited.missing)] + disordered(messages)
    said = f"{len(messages)} messages of {len(firsts(messages))} events, {len(findings)} findings"
    return {"good": not findings, "said": said, "findings": findings[:20]}


def disordered(messages: list[Message]) -> list[str]:
    """Return the tasks whose events came in another order than they happened, repetitions left out."""
    last: dict[str, str] = {}
    found = []
    for message in firsts(messages):
        task, sequence = message["subject"], message["sequence"]
        if last.get(task, "") > sequence:
            found.append(f"{task}: event {sequence} came after {last[task]}")
        last[task] = sequence
    return found
