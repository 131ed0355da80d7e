"""Explores the orders of threads in worker code with frontrun: `python -m tests.interleavings.orders`.

Each scenario has a state, functions that run at the same time in threads of their own, and what must hold after them.
frontrun runs them in each order that can make a difference (dynamic partial order reduction), with at most two
preemptions. Locks are replaced before the worker is imported, hence a process of its own. Prints a line of JSON.
"""

import asyncio
import json
import logging
import sys
from collections.abc import Callable
from typing import Any, Final, NamedTuple, cast

import frontrun
from frontrun._cooperative import patch_locks

patch_locks()

from drumline.core.ids import TaskId  # noqa: E402
from drumline.core.lease import Lease  # noqa: E402 - after the locks were replaced
from drumline.worker.capture import Routing, Tee  # noqa: E402
from drumline.worker.gateway_retry import GatewayRetry  # noqa: E402
from drumline.worker.logs import AttemptLogs  # noqa: E402
from drumline.worker.progress import ProgressReporter  # noqa: E402

ADA: Final = Lease(TaskId("01890a5d-ac96-774b-bcce-b302099a8057"), 1, 1)
BOB: Final = Lease(TaskId("01890a5d-ac96-774b-bcce-b302099a8058"), 1, 2)
NO_GATEWAY: Final = cast("Any", None)
"""Nothing here sends."""


class ClosingLoop:
    """What threads use of an event loop: it takes calls until it is closed, as asyncio's own does."""

    def __init__(self) -> None:
        self.calls = 0
        self.closed = False

    def is_closed(self) -> bool:
        """Tell whether it was closed."""
        return self.closed

    def call_soon_threadsafe(self, _call: Callable[[], None]) -> None:
        """Take a call, or raise as a closed loop does."""
        if self.closed:
            raise RuntimeError("Event loop is closed")
        self.calls += 1


class Progress:
    """A reporter of progress whose loop may be closed while user code goes on in a thread."""

    def __init__(self) -> None:
        self.loop = ClosingLoop()
        self.reporter = ProgressReporter(NO_GATEWAY, every=1)
        self.reporter._loop = cast("asyncio.AbstractEventLoop", self.loop)
        self.errors: list[Exception] = []

    def note(self, lease: Lease, done: float) -> None:
        """Report progress as user code does."""
        try:
            self.reporter.note(lease, done, 10, "")
        except RuntimeError as error:
            self.errors.append(error)

    def close(self) -> None:
        """Close the loop."""
        self.loop.closed = True

    def holds_all(self) -> bool:
        """Tell whether the latest of both is kept, and the loop was woken."""
        return set(self.reporter._latest) == {ADA, BOB} and self.loop.calls == 1


class Logs:
    """The log of one attempt, written by threads and taken by the loop."""

    def __init__(self) -> None:
        self.loop = ClosingLoop()
        self.logs = AttemptLogs(NO_GATEWAY, GatewayRetry(), every=1, largest=10_000)
        self.logs._loop = cast("asyncio.AbstractEventLoop", self.loop)
        self.log = self.logs.open(ADA)
        self.chunks: list[Any] = []
        self.errors: list[Exception] = []

    def write(self, *texts: str) -> None:
        """Write as user code does."""
        try:
            for text in texts:
                self.log.write(text)
        except RuntimeError as error:
            self.errors.append(error)

    def take(self) -> None:
        """Take what was written, as the loop does."""
        self.chunks.append(self.log.take())

    def close(self) -> None:
        """Close the loop."""
        self.loop.closed = True

    def has_everything(self) -> bool:
        """Tell whether each text is in one chunk, in the order of its thread, and the chunks are numbered."""
        chunks = [chunk for chunk in (*self.chunks, self.log.take(closing=True)) if chunk]
        text = "".join(chunk.text for chunk in chunks)
        is_whole = sorted(text) == sorted("a1b2x") and text.index("a") < text.index("b")
        return is_whole and [chunk.seq for chunk in chunks] == list(range(len(chunks))) and self.log in self.logs._noted


class Routes:
    """The routing of output that two workers of a process share."""

    def __init__(self) -> None:
        self.routing = Routing()
        self.before = (sys.stdout, sys.stderr, list(logging.getLogger().handlers))
        self.seen: list[bool] = []

    def work(self) -> None:
        """Route as a worker does, from its start to its end."""
        user = object()
        self.routing.begin(user)
        self.seen.append(isinstance(sys.stdout, Tee))
        self.routing.end(user)

    def is_restored(self) -> bool:
        """Tell whether both workers were routed, once, and all is as before."""
        return self.seen == [True, True] and (sys.stdout, sys.stderr, logging.getLogger().handlers) == self.before


class Scenario(NamedTuple):
    """What runs at the same time, and what must hold then."""

    setup: Callable[[], Any]
    workers: list[Callable[[Any], Any]]
    invariant: Callable[[Any], bool]


SCENARIOS: Final = {
    "progress of two attempts": Scenario(
        Progress, [lambda state: state.note(ADA, 1), lambda state: state.note(BOB, 2)], Progress.holds_all
    ),
    "progress while the loop is closed": Scenario(
        Progress, [lambda state: state.note(ADA, 1), Progress.close], lambda state: not state.errors
    ),
    "two threads write a log that the loop takes": Scenario(
        Logs,
        [lambda state: state.write("a1", "b2"), lambda state: state.write("x"), Logs.take],
        Logs.has_everything,
    ),
    "a log while the loop is closed": Scenario(
        Logs, [lambda state: state.write("a"), Logs.close], lambda state: not state.errors
    ),
    "two workers route output": Scenario(Routes, [Routes.work, Routes.work], Routes.is_restored),
}


def main() -> None:
    """Explore every scenario and print what was found."""
    found = {}
    for name, scenario in SCENARIOS.items():
        result = frontrun.explore(
            setup=scenario.setup, workers=scenario.workers, invariant=scenario.invariant,
            max_executions=150, detect_io=False, reproduce_on_failure=0,
        )  # fmt: skip
        explored = getattr(result, "num_explored", 0)
        why = "" if result.property_holds else str(result.explanation)
        found[name] = {"holds": result.property_holds, "orders": explored, "why": why}
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
