"""Durable calls of functions in child processes: asked for by the child, carried out by its worker."""

from collections.abc import Callable
from queue import SimpleQueue
from threading import Lock
from typing import NoReturn

import msgspec
from msgspec import Raw

from drumline.core.children import OutcomePage, StartedIds
from drumline.core.durable import Record, Wait
from drumline.core.errors import Conflict, DrumlineError
from drumline.sdk.children import Outcomes, Start
from drumline.sdk.durable_steps import Save
from drumline.sdk.signals import Parked, Permanent
from drumline.worker.durable import DurableAttempt
from drumline.worker.executors.frames import (
    BeganFrame,
    DurableFrame,
    FindFrame,
    GaveUpFrame,
    OutcomesFrame,
    Reply,
    RestartFrame,
    SaveFrame,
    StartFrame,
    Told,
    WaitFrame,
)


class FrameCalls:
    """`sdk.durable.BlockingCalls` in a child process."""

    def __init__(self, send: Callable[[Reply], None], answers: "SimpleQueue[Told]", lock: Lock) -> None:
        self._send = send
        self._answers = answers
        self._lock = lock

    def find(self, name: str, key: str) -> Record | None:
        """Return what is recorded under a name that this attempt has not used yet."""
        return self._ask(FindFrame(name, key))

    def begin(self) -> None:
        """Note that the function of a step begins."""
        self._send(BeganFrame())

    def save(self, save: Save) -> Record:
        """Keep how a step ended, and return what is recorded under its name."""
        record = self._ask(SaveFrame(msgspec.json.encode(save)))
        if record is None:
            raise TypeError("the worker has kept no record")
        return record

    def give_up(self) -> None:
        """Note that a step has ended without a record."""
        self._send(GaveUpFrame())

    def wait(self, wait: Wait) -> Record | None:
        """Wait; the attempt ends here by `Parked`, unless the wait is over already."""
        return self._ask(WaitFrame(wait))

    def restart(self, payload: Raw) -> NoReturn:
        """End the round of the task; the attempt ends here by `Parked`."""
        self._told(RestartFrame(bytes(payload)))
        raise TypeError("the worker has not ended the round")

    def start(self, start: Start) -> StartedIds:
        """Start children; those that are there already stay."""
        return msgspec.json.decode(self._answer(StartFrame(msgspec.json.encode(start))), type=StartedIds)

    def outcomes(self, outcomes: Outcomes) -> OutcomePage:
        """Return how children ended, from a place on."""
        return msgspec.json.decode(self._answer(OutcomesFrame(outcomes)), type=OutcomePage)

    def _ask(self, question: DurableFrame) -> Record | None:
        answer = self._told(question)
        return None if answer is None else msgspec.json.decode(answer, type=Record)

    def _answer(self, question: DurableFrame) -> bytes:
        answer = self._told(question)
        if answer is None:
            raise TypeError("the worker has no answer about children")
        return answer

    def _told(self, question: DurableFrame) -> bytes | None:
        with self._lock:  # threads of the function may ask at the same time
            self._send(question)
            told = self._answers.get()
        if told.is_parked:
            raise Parked
        if told.error is not None:
            raise Permanent(told.error) if told.is_permanent else Conflict(told.error)
        return told.record


async def answer_to(asked: DurableFrame, attempt: DurableAttempt) -> Told | None:
    """Carry out what a child process asks for; None if it does not wait for an answer."""
    if isinstance(asked, BeganFrame):
        attempt.begin()
        return None
    if isinstance(asked, GaveUpFrame):
        attempt.give_up()
        return None
    try:
        record = await _record(asked, attempt)
    except Parked:
        return Told(is_parked=True)
    except Permanent as error:
        return Told(error=error.message, is_permanent=True)
    except DrumlineError as error:
        return Told(error=str(error))
    return Told(record=None if record is None else msgspec.json.encode(record))


async def _record(
    asked: FindFrame | SaveFrame | WaitFrame | StartFrame | OutcomesFrame | RestartFrame, attempt: DurableAttempt
) -> Record | StartedIds | OutcomePage | None:
    match asked:
        case FindFrame(name=name, key=key):
            return await attempt.find(name, key)
        case SaveFrame(save=save):
            return await attempt.save(msgspec.json.decode(save, type=Save))
        case WaitFrame(wait=wait):
            return await attempt.wait_in(wait, is_main=True)
        case StartFrame(start=start):
            return await attempt.start(msgspec.json.decode(start, type=Start))
        case OutcomesFrame(outcomes=outcomes):
            return await attempt.outcomes(outcomes)
        case RestartFrame(payload=payload):
            return await attempt.restart(Raw(payload))
