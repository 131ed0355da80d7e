"""Runs one attempt: execute within its timeout, decide the outcome, report it. Each step is one method."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from msgspec import Raw

from drumline.core.codec import check_json
from drumline.core.current_attempt import CURRENT_ATTEMPT
from drumline.core.errors import Fenced, Invalid
from drumline.core.ids import SessionId
from drumline.core.outcome import Failed, Outcome, Released, Succeeded
from drumline.core.secret_references import any_has_secrets, has_secrets
from drumline.core.task import ClaimedTask
from drumline.core.task_log import COMPLETED, TASK_LOG
from drumline.ports.tracing import TraceKind, Tracer, messaging
from drumline.sdk.arguments import encode_result, unwritable
from drumline.worker.executors.executor import ExecutorCall
from drumline.worker.executors.registry import Executors, RegisteredExecutor
from drumline.worker.failures import failure, outcome_of_error, refusal
from drumline.worker.process_log import facts_of, log_processing
from drumline.worker.secrets import fill_in_call, look_for_secrets, masked_outcome
from drumline.worker.services import AttemptServices
from drumline.worker.stop_reason import StopReason, outcome_of

ARTIFACT_SECONDS: Final = 60.0
NO_RESULT: Final = Succeeded()

_log = logging.getLogger("drumline.worker")


def start(services: AttemptServices, executors: Executors, tasks: Sequence[ClaimedTask], session: SessionId) -> None:
    """Begin attempts at tasks; from here on they end by themselves."""
    have_secrets = any_has_secrets([task.payload for task in tasks])
    if TASK_LOG.is_on:
        log_processing(tasks, session)
    for task in tasks:
        with_secrets = have_secrets and has_secrets(bytes(task.payload))
        received = _received(task, services.tracer) if services.tracer.is_on else None
        entry = executors.get(task.name)
        Attempt(task, services, with_secrets, session=session, _entry=entry, _received=received).start()


def _received(task: ClaimedTask, tracer: Tracer) -> str | None:
    """Record a `receive` span in the task's trace, and return its traceparent."""
    facts = messaging("receive", task.queue, messaging__message__id=task.lease.task)
    with tracer.span(f"receive {task.queue}", TraceKind.CONSUMER, parent=task.options.trace, facts=facts) as span:
        return span.traceparent


class Attempt(ExecutorCall, eq=False, kw_only=True):
    """One execution of a task, from the claim's answer until its report is acknowledged."""

    session: SessionId
    _entry: RegisteredExecutor | None
    _received: str | None = None
    _is_executing: bool = False
    _began: float = 0.0
    _running: asyncio.Task[None] | None = None

    def facts(self) -> dict[str, str | int]:
        """Return the fields that all log lines of this attempt share."""
        return facts_of(self.task, self.session)

    def _log_end(self, outcome: Outcome) -> None:
        """Log the end of the attempt: failures always, completions if task logging is on."""
        if isinstance(outcome, Failed):
            self._services.failures.write(self.facts(), outcome, seconds=self._services.loop.time() - self._began)
        elif isinstance(outcome, Succeeded):
            TASK_LOG.write(COMPLETED, self._completed())

    def _completed(self) -> Iterator[Mapping[str, str | int | float]]:
        """Yield the fields of the completion line; computed only if the line is written."""
        yield {**self.facts(), "seconds": round(self._services.loop.time() - self._began, 6)}

    def write(self, text: str) -> None:
        """Add output to the attempt's log; safe from any thread."""
        self.log.write(text)

    def start(self) -> None:
        """Begin; from here on the attempt ends by itself."""
        services, name = self._services, self.task.lease.task
        services.held_attempts.add(self)
        self._began = services.loop.time()
        if services.has_task_factory:
            self._running = services.loop.create_task(self._live(), name=name)
        else:  # asked for a task, the loop would make up a name before it takes ours
            self._running = asyncio.Task(self._live(), loop=services.loop, name=name)

    def stop(self, reason: StopReason) -> None:
        """Stop the attempt. The first reason counts, except that `LOST` overrides every other."""
        if self.stopping is StopReason.LOST or (self.stopping is not None and reason is not StopReason.LOST):
            return
        self.stopping = reason
        self.interrupt()

    def main_task(self) -> asyncio.Task[Any] | None:
        """Return the task in which the attempt runs."""
        return self._running

    @property
    def _is_parked(self) -> bool:
        return self.durable is not None and self.durable.is_parked

    @property
    def is_stoppable(self) -> bool:
        """Whether it is executing and no stop was requested."""
        return self._is_executing and self.stopping is None

    def interrupt(self) -> None:
        """Interrupt what is executed, again if need be: the second time executors kill instead of asking."""
        if self._is_executing and self._running is not None:
            self._running.cancel()

    async def give_back(self) -> None:
        """Release the task although its code is still running: the process is about to end."""
        if self._is_executing and self.stopping is not StopReason.LOST:
            self.stopping = StopReason.LOST
            await self._services.reports.report(self.task.lease, Released())

    # -- the steps

    async def _live(self) -> None:
        services, lease = self._services, self.task.lease
        try:
            try:
                outcome = await (self._traced() if services.tracer.is_on else self._executed())
            finally:
                self._when_over(services.held_attempts.free_slot)
            # What follows is the worker's own doing, and must not end up in the task's log.
            CURRENT_ATTEMPT.set(None)
            if self.opened is not None or self.artifacts or self.has_progress:
                outcome = await self._store_outputs(outcome)
        except Exception as error:  # noqa: BLE001 - a fault of ours, whatever it is
            # Without a report the task would be given back and run again, forever, without counting attempts.
            _log.exception("attempt.broken: task %s", lease.task)
            outcome = outcome_of_error(error)
        except BaseException as error:
            if self._is_process_ending(error):
                services.held_attempts.drop(lease)
                raise
            _log.exception("attempt.broken: task %s", lease.task)
            outcome = outcome_of_error(error)
        self._running = self._context = None  # which know the attempt: they would keep each other
        if outcome is None:
            self._drop()
        else:
            if self.mask is not None:
                outcome = masked_outcome(outcome, self.mask)
            if TASK_LOG.is_on or outcome.__class__ is Failed:
                self._log_end(outcome)
            # Not awaited; the attempt is held until the report is acknowledged.
            services.reports.send(lease, outcome)

    def _drop(self) -> None:
        """Let go of the task without a report: another attempt owns it, or it waits."""
        lease = self.task.lease
        if not self._is_parked:
            _log.warning("attempt.lost: task %s was stopped, since its lease is not current any more", lease.task)
        self._services.held_attempts.drop(lease)

    async def _traced(self) -> Outcome | None:
        """Execute, and make a span of it."""
        task = self.task
        facts = messaging(
            "process", task.queue, messaging__message__id=task.lease.task, drumline__task__name=task.name,
            drumline__task__attempt=task.attempt,
        )  # fmt: skip
        links = (task.options.trace,) if task.options.trace else ()
        with self._services.tracer.span(
            f"process {task.name}", TraceKind.CONSUMER, parent=self._received, facts=facts, links=links
        ) as span:
            outcome = await self._executed()
            if isinstance(outcome, Failed):
                span.note("error.type", outcome.error.kind)
                span.fail(outcome.error.message)
            return outcome

    async def _executed(self) -> Outcome | None:
        """Run the executor and return the outcome; None if there is nothing to report."""
        CURRENT_ATTEMPT.set(self)
        outcome: Outcome | None = None
        self._is_executing = True
        try:
            if self.stopping is None:  # it may have been stopped before its first step
                value = await self._execution()
                outcome = NO_RESULT if value is None else self._succeeded(value)
        except asyncio.CancelledError as error:
            outcome = self._interrupted(error)
        except BaseException as error:  # anything may come out of user code, sys.exit() too
            if self._is_process_ending(error):
                raise
            outcome = None if self._is_parked else outcome_of_error(error)  # nobody reads the error of one that waits
        finally:
            self._is_executing = False
        if self._running is not None and self._running.cancelling():
            await self._absorb_cancellation()
        if self.durable is None and self.stopping is None:
            return outcome
        return await self._reported(outcome)

    async def _reported(self, outcome: Outcome | None) -> Outcome | None:
        """Return what is reported of an attempt whose function has ended, if it is durable or was asked to stop."""
        if self.durable is not None:
            await self.durable.close()
            if self._is_parked:
                return None  # it has ended in the store: its function is begun anew when it goes on
        if self.stopping is None:
            return outcome
        # An attempt that was asked to stop and has ended counts as stopped, whatever it returned or raised.
        return outcome_of(self.stopping, timeout=self.timeout)

    def _execution(self) -> Awaitable[Any]:
        """Return the awaitable that executes the task: the executor's own, if it needs no gate, timeout or secrets."""
        entry = self._entry
        if entry is None:
            raise failure("UnknownTask", f"this worker has no task named {self.task.name!r}")
        timeout_ms = self.task.options.timeout_ms
        self.timeout = entry.timeout if timeout_ms is None else timeout_ms / 1000
        if self.timeout is None and entry.gate is None and not self.has_secrets:
            return entry.executor.execute(self)
        return self._execute_within(entry)

    async def _execute_within(self, entry: RegisteredExecutor) -> Any:
        """Execute when the gate lets it pass, within its time, and with its secrets."""
        gate, seconds = entry.gate, self.timeout
        if gate is not None:
            await gate.acquire()
        timer = None if seconds is None else self._services.loop.call_later(seconds, self.stop, StopReason.TIMED_OUT)
        try:
            if self.has_secrets:
                fill = fill_in_call if entry.fills_secrets else look_for_secrets
                await fill(self, self._services.gateway, self._services.retry)
            return await entry.executor.execute(self)
        finally:
            if timer is not None:
                timer.cancel()
            if gate is not None:
                self._when_over(gate.release)

    def _succeeded(self, value: Any) -> Outcome:
        limits = self._services.limits
        try:
            raw = encode_result(value)
            if len(raw) > limits.result or raw.count(b"[") + raw.count(b"{") > limits.nesting:
                check_json(raw, field="result", largest=limits.result, deepest=limits.nesting)
        except Invalid as error:
            raise refusal(error) from error
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            raise refusal(Invalid(unwritable(error), field="result")) from error
        return Succeeded(Raw(raw))

    def _interrupted(self, error: asyncio.CancelledError) -> Outcome | None:
        if self.stopping is not None:
            return None  # `stop` is the one who cancelled, and its reason decides
        if self._is_process_ending(error):
            raise error
        return failure("CancelledError", "the task cancelled itself").outcome

    def _is_process_ending(self, error: BaseException) -> bool:
        """Tell an end that comes from outside from what user code raised itself, which counts like any failure."""
        if isinstance(error, asyncio.CancelledError):
            # When the loop is shut down, the worker's own task is cancelled together with those of its attempts.
            owner = self._services.owner
            return owner is None or owner.done() or owner.cancelling() > 0
        if isinstance(error, GeneratorExit):
            # A coroutine that is closed has closed what it waits for before: no frame below its own has raised it.
            return error.__traceback__ is None or error.__traceback__.tb_next is None
        return isinstance(error, KeyboardInterrupt) and _is_from_runner(error)

    async def _absorb_cancellation(self) -> None:
        """Undo cancellations of this task, including one that was requested but not raised yet."""
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError as error:
            if self.stopping is None and self._is_process_ending(error):
                raise
        while self._running is not None and self._running.cancelling():
            self._running.uncancel()

    def _when_over(self, act: Callable[[], None]) -> None:
        """Call `act` when no thread of the execution is left running: usually now."""
        lingering = self.lingering
        if lingering is None or lingering.done():
            act()
        else:
            lingering.add_done_callback(lambda _: act())

    async def _store_outputs(self, outcome: Outcome | None) -> Outcome | None:
        """Store the artifacts, if the attempt is reported, and the rest of the log."""
        self._services.progress.forget(self.task.lease)
        if outcome is not None and self.artifacts:
            outcome = await self._store_artifacts(outcome)
        if self.opened is not None:
            await self._services.logs.close(self.opened)
        return outcome

    async def _store_artifacts(self, outcome: Outcome) -> Outcome:
        """Store the files; a success whose files cannot be stored is none."""
        services = self._services
        for artifact in tuple(self.artifacts.values()):  # a thread left behind may still add some
            put = partial(services.gateway.put_artifact, artifact)
            try:
                await services.retry.call(put, seconds=ARTIFACT_SECONDS)
            except Fenced:
                return outcome  # as its report will be
            except Exception as error:  # noqa: BLE001 - whatever kept it from being stored, the file is missing
                if isinstance(outcome, Succeeded):
                    permanent = isinstance(error, Invalid)
                    message = f"the artifact {artifact.name} could not be stored: {error}"
                    return failure("ArtifactNotStored", message, permanent=permanent).outcome
        return outcome


def _is_from_runner(error: KeyboardInterrupt) -> bool:
    """Tell whether a second Ctrl-C was raised by the signal handler of `asyncio.run`."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and trace.tb_frame.f_code.co_filename == asyncio.runners.__file__
