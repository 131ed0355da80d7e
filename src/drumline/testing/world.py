"""A world: an app with a scheduler, a worker and a database of its own, in virtual time."""

import inspect
import logging
from collections.abc import Collection, Coroutine, Hashable
from datetime import datetime
from typing import Any, Literal, ParamSpec, TypeVar, overload

from drumline.core.clock import to_datetime
from drumline.core.duration import Duration, parse_duration
from drumline.core.errors import Invalid
from drumline.sdk.handle import TaskHandle
from drumline.sdk.sending import send_signal
from drumline.sdk.task import Submittable
from drumline.testing.effects import shortened, wrapped
from drumline.testing.explore import CrashSchedule, Exploration, Scenario, Trial, explore
from drumline.testing.host import Host
from drumline.testing.submissions import Submission, find_submission, read_submissions
from drumline.testing.world_loop import left_loop

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

_worker_log = logging.getLogger("drumline.worker")


class World:
    """An app and all that it needs to run, in virtual time: what the block of `simulated(app)` is given."""

    def __init__(self, host: Host) -> None:
        self._host = host

    # -- time

    @property
    def now(self) -> datetime:
        """The virtual time, in UTC."""
        return to_datetime(self._host.installation.clock.now())

    def travel(self, duration: Duration, *, step: Duration | None = None) -> None:
        """Let virtual time pass, with all that falls due meanwhile: `world.travel("400d")`.

        Each event happens at its own time. With a `step` the clock moves by that much at once, and what fell due
        meanwhile runs then, in its order: of many firings this is some twenty times as fast, and `ctx.fire_time` tells
        each what time it is for.
        """
        seconds = parse_duration(duration, field="duration").total_seconds()
        if step is None:
            self._host.drive(self._host.timeline.travel(seconds))
            return
        stride = parse_duration(step, field="step").total_seconds()
        if stride <= 0:
            raise Invalid("must be positive", field="step")
        self._host.drive(self._host.timeline.stride(seconds, stride))

    def run_until_idle(self) -> None:
        """Run every task that is due now, and what comes of it; tasks that are due later wait."""
        self._host.drive(self._host.timeline.idle())

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the world's event loop, in virtual time, and return its result."""
        return self._host.drive(work)

    # -- tasks

    def submitted(self, task: Submittable[P, R], *args: P.args, **kwargs: P.kwargs) -> TaskHandle[R]:
        """Return the handle of a task that was submitted with these arguments, the last one if there are several.

        Raises `AssertionError` with what was submitted instead if there is none.
        """
        payload = task.request_for(args, kwargs).payload
        found = find_submission(self.submissions(), task.name, payload)
        return TaskHandle(found.id, self._host.client, task.definition.decode_result)

    def submissions(self, task: Submittable[..., Any] | None = None) -> list[Submission]:
        """Return what was submitted so far, in order; of one task or of all."""
        engine = self._host.installation.engine
        return self._host.drive(read_submissions(engine, None if task is None else task.name))

    def signal(
        self,
        name: str,
        payload: Any = None,
        *,
        to: TaskHandle[Any] | None = None,
        key: str | None = None,
        after: Duration | None = None,
    ) -> None:
        """Send a signal as another system would: to a task, or by correlation; then run what is due.

        With `after` it is sent when so much virtual time has passed, while the test waits for something or travels; a
        task that has ended by then does not get it. Otherwise a task that has ended raises `Conflict`.
        """
        if (to is None) is (key is None):
            raise Invalid("give a task, or else the key of a correlation", field="to")
        sent = send_signal(name, payload, id=None, task=None if to is None else to.id, key=key)
        seconds = None if after is None else parse_duration(after, field="after").total_seconds()
        self._host.send(sent, after=seconds)
        if seconds is None:
            self.run_until_idle()

    # -- faults

    def fail_next(self, task: Submittable[..., Any], error: Exception, *, times: int = 1) -> None:
        """Let the next executions of a task fail with an error instead of running its function."""
        self._host.faults.fail_next(task.name, error, times)

    def lose_reply(self, to: Literal["app", "worker"] = "app") -> None:
        """Lose the reply to the next request, which is carried out nevertheless.

        To the `app`: to its next submission, which raises `Unavailable`, or is repeated if it has a key, as with a
        server. To the `worker`: to what it asks or reports next.
        """
        self._host.faults.lose_reply(to)

    def kill_worker(self, *, restart: bool = True) -> None:
        """Kill the worker as `kill -9` does, in the middle of what it runs, and start another one."""
        self._host.kill_worker(restart=restart)

    # -- effects

    def effect(self, what: str, *key: Hashable) -> None:
        """Note that the task that runs here does something outside of Drumline: call it in a fake, where it is done.

        `explore` kills the worker before and after it, and tells if it happens in two executions of a task.
        """
        shown = shortened(f"{what}({', '.join(repr(each) for each in key)})")
        self._host.reach(f"before {shown}")
        self._host.effects.add((what, key), shown)
        self._host.reach(f"after {shown}")

    @overload
    def outside(self, target: type[T], *, keyed_by: str | None = None, reads: Collection[str] = ()) -> T: ...
    @overload
    def outside(self, target: T, *, keyed_by: str | None = None, reads: Collection[str] = ()) -> T: ...
    def outside(self, target: Any, *, keyed_by: str | None = None, reads: Collection[str] = ()) -> Any:
        """Return what stands for another system, such as a fake: each call of a method by a task is an effect.

        `keyed_by` names the argument by which that system recognises a repeated call, which is no second effect then;
        `reads` are methods without effects. Given a class, or else by copying, each run of `explore` has a fresh one.
        """
        return wrapped(target, keyed_by=keyed_by, reads=reads)

    def explore(
        self, runs: int = 200, scenario: Scenario | None = None, *, seed: int = 0, only: int | None = None
    ) -> Exploration:
        """Run a scenario many times, killing the worker at another point each time; raise `EffectRepeated`.

        Each run has a new world. It is given what the test has submitted to this one so far; or `scenario`, a
        function, is called with it. Then all tasks are run to their end. `only` repeats a single run.
        """
        return explore(lambda schedule: self._try(schedule, scenario), runs=runs, seed=seed, only=only)

    def _try(self, schedule: CrashSchedule, scenario: Scenario | None) -> Trial:
        """Run a scenario, or what was submitted to this world, in a new world under a schedule."""
        host = Host(self._host.apps, start=self._host.start, eager=False)
        host.open()
        was_disabled, _worker_log.disabled = _worker_log.disabled, True
        try:
            host.faults.schedule = schedule
            if scenario is None:
                host.drive(host.replay(self._host.asked))
            else:
                _play(scenario, host)
            host.drive(host.timeline.finish())
            return Trial(schedule, len(host.effects.done), host.effects.repetitions())
        finally:
            host.close()
            _worker_log.disabled = was_disabled


def _play(scenario: Scenario, host: Host) -> None:
    """Call a scenario with a world; an async one on the world's event loop."""
    with left_loop():
        done = scenario(World(host))
        if inspect.iscoroutine(done):
            host.drive(done)
