"""The life of one attempt: execute within its time, decide what that means, record it. Each step is one method."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import cached_property, partial
from typing import Any, Final

from msgspec import Raw, Struct

from drumline.core.bound import CURRENT_BOUND
from drumline.core.codec import check_json
from drumline.core.errors import Fenced, Invalid
from drumline.core.ids import SessionId, session_text
from drumline.core.lease import Lease
from drumline.core.metrics import Metrics
from drumline.core.outcome import Failed, Outcome, Released, Succeeded
from drumline.core.secret_references import has_secrets
from drumline.core.task import ClaimedTask
from drumline.ports.gateway import Acknowledged, Gateway
from drumline.ports.tracing import NO_TRACER, Kind, Tracer, messaging
from drumline.sdk.arguments import ENCODER
from drumline.worker.executors.executor import Call
from drumline.worker.executors.registry import Entry
from drumline.worker.failures import failure, outcome_of_error, refusal
from drumline.worker.holdings import Holdings
from drumline.worker.link import Link
from drumline.worker.logs import CURRENT_LOG, LogBook
from drumline.worker.progress import ProgressBook
from drumline.worker.reports import Reports
from drumline.worker.secrets import fill_in_call, masked_outcome
from drumline.worker.settings import WorkerSettings
from drumline.worker.stopping import StopReason, outcome_of

ARTIFACT_SECONDS: Final = 60.0
NO_RESULT: Final = Succeeded()

_log = logging.getLogger("drumline.worker")


class Desk:
    """What every attempt of a worker works with."""

    def __init__(self, gateway: Gateway, settings: WorkerSettings, metrics: Metrics) -> None:
        self.tracer: Tracer = NO_TRACER
        self.gateway = gateway
        self.limits = settings.limits
        self.stop_grace = settings.stop_grace
        self.link = Link(metrics=metrics)
        self.holdings = Holdings(settings.capacity)
        self.logs = LogBook(gateway, self.link, every=settings.log_every, largest=settings.limits.log)
        self.progress = ProgressBook(gateway, every=settings.progress_every)
        self.reports = Reports(gateway, self.link, metrics, largest=settings.report_batch)

    def attempt(self, task: ClaimedTask, entry: Entry | None, session: SessionId, received: str | None) -> "Attempt":
        """Return an attempt at a task, which is yet to be started."""
        call = Call(task, self.logs.open(task.lease), self.progress, self.limits, self.stop_grace)
        return Attempt(task.lease, session, task.tenant, self, entry, call, received)

    @cached_property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The loop that the worker runs on, asked for once: that is a call to the system."""
        return asyncio.get_running_loop()


class Attempt(Struct, eq=False):
    """One execution of a task, from the claim's answer until its report is acknowledged."""

    lease: Lease
    session: SessionId
    tenant: str
    _desk: Desk
    _entry: Entry | None
    _call: Call
    _received: str | None = None
    _is_executing: bool = False
    _running: asyncio.Task[None] | None = None

    def facts(self) -> dict[str, str | int]:
        """Return what log lines of this attempt have in common."""
        task = self._call.task
        return {
            "task_id": task.lease.task,
            "task": task.name,
            "queue": task.queue,
            "attempt": task.attempt,
            "worker": session_text(self.session),
        }

    def start(self) -> None:
        """Begin; from here on the attempt ends by itself."""
        self._desk.holdings.add(self)
        self._running = self._desk.loop.create_task(self._live(), name=self.lease.task)

    def stop(self, reason: StopReason) -> None:
        """Make the attempt end, for the first reason given; being lost beats every other."""
        stopping = self._call.stopping
        if stopping is StopReason.LOST or (stopping is not None and reason is not StopReason.LOST):
            return
        self._call.stopping = reason
        self.press()

    def press(self) -> None:
        """Interrupt what is executed, again if need be: the second time executors kill instead of asking."""
        if self._is_executing and self._running is not None:
            self._running.cancel()

    async def leave(self) -> None:
        """Give the task back although its code has not ended: the process is about to."""
        if self._is_executing and self._call.stopping is not StopReason.LOST:
            self._call.stopping = StopReason.LOST
            await self._desk.reports.report(self.lease, Released())

    # -- the steps

    async def _live(self) -> None:
        try:
            try:
                outcome = await (self._traced() if self._desk.tracer.is_on else self._executed())
            finally:
                self._when_over(self._desk.holdings.free_slot)
            # What follows is the worker's own doing, and must not end up in the task's log.
            CURRENT_LOG.set(None)
            CURRENT_BOUND.set(None)
            self._desk.progress.forget(self.lease)
            if outcome is not None and self._call.artifacts:
                outcome = await self._keep_artifacts(outcome)
            if not self._call.log.is_silent:
                await self._desk.logs.close(self._call.log)
        except Exception as error:  # noqa: BLE001 - a fault of ours, whatever it is
            # Saying nothing would have it given back and run again, without end and without counting.
            _log.exception("attempt.broken: task %s", self.lease.task)
            outcome = outcome_of_error(error)
        except BaseException as error:
            self._desk.holdings.drop(self)
            if isinstance(error, asyncio.CancelledError):
                raise
            _log.exception("attempt.broken: task %s", self.lease.task)
            return
        if outcome is None:
            self._desk.holdings.drop(self)
        else:
            if self._call.mask is not None:
                outcome = masked_outcome(outcome, self._call.mask)
            # Nobody need wait for the acknowledgement; the lease is held until it is there.
            self._desk.reports.send(self.lease, outcome, self._acknowledged)

    async def _traced(self) -> Outcome | None:
        """Execute, and make a span of it."""
        task = self._call.task
        facts = messaging(
            "process", task.queue, messaging__message__id=task.lease.task, drumline__task__name=task.name,
            drumline__task__attempt=task.attempt,
        )  # fmt: skip
        links = (task.options.trace,) if task.options.trace else ()
        with self._desk.tracer.span(
            f"process {task.name}", Kind.CONSUMER, parent=self._received, facts=facts, links=links
        ) as span:
            outcome = await self._executed()
            if isinstance(outcome, Failed):
                span.note("error.type", outcome.error.kind)
                span.fail(outcome.error.message)
            return outcome

    async def _executed(self) -> Outcome | None:
        """Run the executor and decide what its end means; None if there is nothing to report."""
        CURRENT_LOG.set(self._call.log)
        CURRENT_BOUND.set(self)
        outcome: Outcome | None = None
        self._is_executing = True
        try:
            if not self._call.is_stopping:  # it may have been stopped before its first step
                outcome = self._succeeded(await self._execution())
        except asyncio.CancelledError:
            outcome = self._interrupted()
        except (KeyboardInterrupt, GeneratorExit):
            raise  # the process or its loop is going down
        except BaseException as error:  # noqa: BLE001 - anything may come out of user code, sys.exit() too
            outcome = outcome_of_error(error)
        finally:
            self._is_executing = False
        reason = self._call.stopping
        if reason is None:
            return outcome
        self._forget_interruptions()
        # Whoever was told to stop and has ended was stopped, whatever it returned or raised on the way.
        return outcome_of(reason, timeout=self._call.timeout)

    def _execution(self) -> Awaitable[Any]:
        """Return what executes the task: the executor itself, where nothing has to be seen to around it."""
        entry, call = self._entry, self._call
        if entry is None:
            raise failure("UnknownTask", f"this worker has no task named {call.task.name!r}")
        timeout_ms = call.task.options.timeout_ms
        call.timeout = entry.timeout if timeout_ms is None else timeout_ms / 1000
        if call.timeout is None and entry.gate is None and not has_secrets(bytes(call.task.payload)):
            return entry.executor.execute(call)
        return self._execute_within(entry)

    async def _execute_within(self, entry: Entry) -> Any:
        """Execute when the gate lets it pass, within its time, and with its secrets."""
        call, gate = self._call, entry.gate
        if gate is not None:
            await gate.acquire()
        seconds = call.timeout
        timer = None if seconds is None else self._desk.loop.call_later(seconds, self.stop, StopReason.TIMED_OUT)
        try:
            if has_secrets(bytes(call.task.payload)):
                await fill_in_call(call, self._desk.gateway, self._desk.link)
            return await entry.executor.execute(call)
        finally:
            if timer is not None:
                timer.cancel()
            if gate is not None:
                self._when_over(gate.release)

    def _succeeded(self, value: Any) -> Outcome:
        if value is None:
            return NO_RESULT
        limits = self._desk.limits
        try:
            raw = ENCODER.encode(value)
            if len(raw) > limits.result or raw.count(b"[") + raw.count(b"{") > limits.nesting:
                check_json(raw, field="result", largest=limits.result, deepest=limits.nesting)
        except Invalid as error:
            raise refusal(error) from error
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            raise refusal(Invalid(f"cannot be written as JSON: {error}", field="result")) from error
        return Succeeded(Raw(raw))

    def _interrupted(self) -> Outcome | None:
        if self._call.stopping is not None:
            return None  # `stop` is the one who cancelled, and its reason decides
        if self._running is not None and self._running.cancelling():
            raise asyncio.CancelledError  # the whole process is ending
        return failure("CancelledError", "the task cancelled itself").outcome

    def _forget_interruptions(self) -> None:
        while self._running is not None and self._running.cancelling():
            self._running.uncancel()

    def _when_over(self, act: Callable[[], None]) -> None:
        """Do `act` when nothing of the execution runs any more: usually now."""
        lingering = self._call.lingering
        if lingering is None or lingering.done():
            act()
        else:
            lingering.add_done_callback(lambda _: act())

    async def _keep_artifacts(self, outcome: Outcome) -> Outcome:
        """Store the files; a success whose files cannot be stored is none."""
        desk = self._desk
        for artifact in tuple(self._call.artifacts.values()):  # a thread left behind may still add some
            put = partial(desk.gateway.put_artifact, artifact)
            try:
                await desk.link.ask(put, seconds=ARTIFACT_SECONDS)
            except Fenced:
                return outcome  # as its report will be
            except Exception as error:  # noqa: BLE001 - whatever kept it from being stored, the file is missing
                if isinstance(outcome, Succeeded):
                    permanent = isinstance(error, Invalid)
                    message = f"the artifact {artifact.name} could not be stored: {error}"
                    return failure("ArtifactNotStored", message, permanent=permanent).outcome
        return outcome

    def _acknowledged(self, answer: Acknowledged, error: BaseException | None) -> None:
        self._desk.holdings.drop(self)
        if isinstance(error, asyncio.CancelledError):
            return
        if error is not None:
            _log.warning("report.given_up: task %s: %s", self.lease.task, error)
        elif isinstance(answer, Fenced):
            _log.warning("report.fenced: task %s was taken over by another attempt", self.lease.task)
