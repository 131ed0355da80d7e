"""What carries out durable calls: the worker's side of them, and one driver each for async and other functions.

What durable calls do is written once, as generators of operations (`sdk.durable_steps`, `sdk.children`). `carry_out`
turns an operation into a call of a worker, and returns its answer, or for a worker's loop an awaitable of it.
"""

import time
from collections.abc import Awaitable, Callable, Generator
from types import TracebackType
from typing import Any, NoReturn, Protocol, Self, TypeVar

from msgspec import Raw

from drumline.core.children import OutcomePage, StartedIds
from drumline.core.durable import Record, RecordStatus, Wait, WaitKind
from drumline.sdk.children import ChildOperation, Outcomes, Prepare, Start
from drumline.sdk.durable_steps import Find, Ran, Run, Save, WaitFor
from drumline.sdk.signals import Restarted

T = TypeVar("T")
Steps = Generator[ChildOperation, Any, T]


class DurableCalls(Protocol):
    """What a worker does for durable calls on its loop."""

    async def find(self, name: str, key: str) -> Record | None:
        """Return what is recorded under a name that this attempt has not used yet."""
        ...

    def begin(self) -> None:
        """Note that the function of a step begins."""
        ...

    async def save(self, save: Save) -> Record:
        """Keep how a step ended, and return what is recorded under its name."""
        ...

    def give_up(self) -> None:
        """Note that a step has ended without a record."""
        ...

    async def start(self, start: Start) -> StartedIds:
        """Start children; those that are there already stay."""
        ...

    async def outcomes(self, outcomes: Outcomes) -> OutcomePage:
        """Return how children ended, from a place on."""
        ...

    async def wait(self, wait: Wait) -> Record | None:
        """Wait; if nothing else is left to do, the attempt ends here by `Parked`."""
        ...

    async def restart(self, payload: Raw) -> NoReturn:
        """End the round of the task; the attempt ends here by `Restarted`."""
        ...


class BlockingCalls(Protocol):
    """The same for functions that are not async."""

    def find(self, name: str, key: str) -> Record | None:
        """Return what is recorded under a name that this attempt has not used yet."""
        ...

    def begin(self) -> None:
        """Note that the function of a step begins."""
        ...

    def save(self, save: Save) -> Record:
        """Keep how a step ended, and return what is recorded under its name."""
        ...

    def give_up(self) -> None:
        """Note that a step has ended without a record."""
        ...

    def start(self, start: Start) -> StartedIds:
        """Start children; those that are there already stay."""
        ...

    def outcomes(self, outcomes: Outcomes) -> OutcomePage:
        """Return how children ended, from a place on."""
        ...

    def wait(self, wait: Wait) -> Record | None:
        """Wait; the attempt ends here by `Parked`, unless the wait is over already."""
        ...

    def restart(self, payload: Raw) -> NoReturn:
        """End the round of the task; the attempt ends here by `Restarted`."""
        ...


class BlockingAtOnce:
    """Durable calls without a worker: steps run, and waits are over at once."""

    def find(self, name: str, key: str) -> Record | None:
        """Return nothing: nothing is recorded."""
        del name, key
        return None

    def begin(self) -> None:
        """Do nothing."""

    def save(self, save: Save) -> Record:
        """Return the record without keeping it."""
        return Record(name=save.name, key=save.key, status=save.status, value=save.value, tries=save.tries)

    def give_up(self) -> None:
        """Do nothing."""

    def start(self, start: Start) -> StartedIds:
        """Refuse: there is no worker to run them."""
        raise RuntimeError(f"nobody runs the children of {start.name!r} here: run the task in a worker to test it")

    def outcomes(self, outcomes: Outcomes) -> OutcomePage:
        """Refuse: there are no children."""
        raise RuntimeError(f"there are no children of {outcomes.name!r} here: run the task in a worker to test it")

    def wait(self, wait: Wait) -> Record | None:
        """Return at once; there are no signals."""
        if wait.kind is WaitKind.SIGNAL:
            raise RuntimeError(f"nobody sends the signal {wait.name!r} here: run the task in a worker to test it")
        return Record(name=wait.name, key=wait.key, status=RecordStatus.DONE)

    def restart(self, payload: Raw) -> NoReturn:
        """Leave the function, with what the next round would be given."""
        raise Restarted(bytes(payload))


class AtOnce:
    """The same for async functions."""

    def __init__(self) -> None:
        self._calls = BlockingAtOnce()

    async def find(self, name: str, key: str) -> Record | None:
        """Return nothing: nothing is recorded."""
        return self._calls.find(name, key)

    def begin(self) -> None:
        """Do nothing."""

    async def save(self, save: Save) -> Record:
        """Return the record without keeping it."""
        return self._calls.save(save)

    def give_up(self) -> None:
        """Do nothing."""

    async def start(self, start: Start) -> StartedIds:
        """Refuse: there is no worker to run them."""
        return self._calls.start(start)

    async def outcomes(self, outcomes: Outcomes) -> OutcomePage:
        """Refuse: there are no children."""
        return self._calls.outcomes(outcomes)

    async def wait(self, wait: Wait) -> Record | None:
        """Return at once."""
        return self._calls.wait(wait)

    async def restart(self, payload: Raw) -> NoReturn:
        """Leave the function, with what the next round would be given."""
        self._calls.restart(payload)


async def arun_steps(steps: Steps[T], calls: DurableCalls, call: Callable[[], Awaitable[Any]] | None = None) -> T:
    """Carry out the operations of a durable call, and return what it gives; `call` is the function of a step."""

    async def run() -> Ran:
        with _StepRun(calls) as step:
            step.value = None if call is None else await call()
        return step.ran()

    async def prepare(wanted: Prepare) -> Any:
        return tuple([await each.app.hooks.aprepare(each.request) for each in wanted.calls])

    answer: Any = None
    try:
        while True:
            answer = await carry_out(steps.send(answer), calls, run, prepare)
    except StopIteration as end:
        result: T = end.value
        return result
    finally:
        steps.close()


def run_steps(steps: Steps[T], calls: BlockingCalls, call: Callable[[], Any] | None = None) -> T:
    """Do the same for a function that is not async."""

    def run() -> Ran:
        with _StepRun(calls) as step:
            step.value = None if call is None else call()
        return step.ran()

    def prepare(wanted: Prepare) -> Any:
        return tuple(each.app.hooks.prepare(each.request) for each in wanted.calls)

    answer: Any = None
    try:
        while True:
            answer = carry_out(steps.send(answer), calls, run, prepare)
    except StopIteration as end:
        result: T = end.value
        return result
    finally:
        steps.close()


def carry_out(  # noqa: PLR0911 - one case for each kind of operation
    operation: ChildOperation,
    calls: DurableCalls | BlockingCalls,
    run: Callable[[], Any],
    prepare: Callable[[Prepare], Any],
) -> Any:
    """Carry out one operation of a durable call; return its answer, or an awaitable of it if the calls are async."""
    match operation:
        case Find(name=name, key=key):
            return calls.find(name, key)
        case Run():
            return run()
        case Save() as save:
            return calls.save(save)
        case WaitFor(wait=wait):
            return calls.wait(wait)
        case Start() as start:
            return calls.start(start)
        case Outcomes() as outcomes:
            return calls.outcomes(outcomes)
        case Prepare() as wanted:
            return prepare(wanted)


class _StepRun:
    """A step's function while it runs: an `Exception` is the step's, and judged by its policy; others pass."""

    def __init__(self, calls: DurableCalls | BlockingCalls) -> None:
        self._calls = calls
        self._began = time.monotonic()
        self._error: Exception | None = None
        self.value: Any = None

    def __enter__(self) -> Self:
        self._calls.begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> bool:
        if isinstance(error, Exception):
            self._error = error
            return True
        if error is not None:
            self._calls.give_up()
        return False

    def ran(self) -> Ran:
        """Return how it ended."""
        return Ran(self.value, self._error, time.monotonic() - self._began, self._calls.give_up)
