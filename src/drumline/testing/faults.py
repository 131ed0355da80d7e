"""The faults of a world: what a test asks for, and what the schedule of an exploration says."""

from collections import defaultdict
from collections.abc import Callable

from drumline.testing.explore import KILL, LOSE, CrashSchedule
from drumline.testing.loop import PROCESS, SimulatedProcess
from drumline.testing.world_loop import SimulatedCrash


class WorldFaults:
    """Decides what fails, which replies are lost, and when the worker is killed."""

    def __init__(self, kill_worker: Callable[[], None]) -> None:
        self._kill_worker = kill_worker
        self._failures: defaultdict[str, list[Exception]] = defaultdict(list)
        self._lost = {"app": 0, "worker": 0}
        self._messages = 0
        self.schedule: CrashSchedule | None = None
        """The faults of an exploration."""

    def fail_next(self, task: str, error: Exception, times: int) -> None:
        """Let the next executions of a task fail."""
        self._failures[task] += [error] * times

    def lose_reply(self, to: str) -> None:
        """Lose the next reply to the app or to the worker."""
        if to not in self._lost:
            raise ValueError(f"replies go to the app or to the worker, not to {to!r}")
        self._lost[to] += 1

    # -- called by the parts of the world

    def failure_of(self, task: str) -> Exception | None:
        """Return what the next execution of a task should fail with, if anything."""
        failures = self._failures.get(task)
        return failures.pop(0) if failures else None

    def loses_reply(self) -> bool:
        """Tell whether the reply to the app's request that was just carried out gets lost."""
        if not self._lost["app"]:
            return False
        self._lost["app"] -= 1
        return True

    def pass_message(self, process: SimulatedProcess, way: str) -> str | None:
        """Return the fault that hits a message of the worker: `lost`, `killed`, or None."""
        if way == "reply" and self._lost["worker"]:
            self._lost["worker"] -= 1
            return "lost"
        if self.schedule is None or not process.is_alive:
            return None
        if way == "request":
            self._messages += 1
        fault = self.schedule.reach(f"{way} {self._messages}")
        if fault == KILL:
            self._kill_worker()
            return "killed"
        return "lost" if fault == LOSE else None

    def reach(self, point: str) -> None:
        """Note that the task that runs here has reached a point; the worker may be killed at it."""
        process = PROCESS.get()
        if process is None:
            return
        if process.is_alive and self.schedule is not None and self.schedule.reach(point) == KILL:
            self._kill_worker()
        if not process.is_alive:
            raise SimulatedCrash(f"{process.name} was killed")
