"""The worker: opens a session, claims tasks for free slots, sends heartbeats, and drains when it stops.

One session is served at a time. If it is lost, its attempts are stopped and a new session is opened.
"""

import asyncio
import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final

from drumline._version import __version__
from drumline.aio.events import wait_for_any
from drumline.core.clock import Clock, SystemClock
from drumline.core.errors import Unavailable
from drumline.core.ids import SessionId, session_text
from drumline.core.metrics import Metrics
from drumline.core.session import SessionSpec
from drumline.ports.gateway import Gateway
from drumline.ports.tracing import NO_TRACER, Tracer
from drumline.worker.attempt import start
from drumline.worker.capture import captured
from drumline.worker.claimer import Claimer
from drumline.worker.executors.registry import Executors
from drumline.worker.gateway_retry import ACTIVITY
from drumline.worker.heartbeat import Heartbeat
from drumline.worker.options import WorkerOptions
from drumline.worker.services import AttemptServices
from drumline.worker.stop_listener import StopListener
from drumline.worker.stop_reason import StopReason
from drumline.worker.usage import UsageMeter

OPEN_SECONDS: Final = 10.0
CLOSE_SECONDS: Final = 5.0
LONGEST_SILENCE: Final = 60.0
"""Seconds without a call to the engine, answered or not, after which the worker counts as stuck."""
LAST_SECONDS: Final = 1.0
"""How long a killed attempt may take to end, and the last reports to be sent."""

_log = logging.getLogger("drumline.worker")


class Worker:
    """Runs tasks for an engine, in the same process or over HTTP."""

    def __init__(
        self,
        gateway: Gateway,
        executors: Executors,
        options: WorkerOptions | None = None,
        *,
        clock: Clock | None = None,
        metrics: Metrics | None = None,
        tracer: Tracer = NO_TRACER,
    ) -> None:
        self._gateway = gateway
        self._executors = executors
        self._options = options or WorkerOptions()
        self._clock = clock or SystemClock()
        self.metrics = metrics or Metrics(clock)
        self._services = AttemptServices(gateway, self._options, self.metrics, tracer)
        self._claims = Claimer(
            gateway,
            self._services.retry,
            self._services.held_attempts,
            start=partial(start, self._services, executors),
            wait=self._options.claim_wait,
        )
        self._meter = UsageMeter(self._clock) if self._options.measures_usage else None
        self._changed = asyncio.Event()
        self._opened_with: tuple[str, ...] = ()
        self.session: SessionId | None = None
        """The open session, for people and tests."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the tasks that it can run."""
        return tuple(type_.name for type_ in self._executors.types)

    async def run(self, stop: asyncio.Event, hurry: asyncio.Event | None = None) -> None:
        """Work until `stop` is set or an operator asks to drain; then finish what runs, within the grace.

        `hurry` cuts the grace short: what still runs is stopped and given back at once.
        """
        hurry = hurry or asyncio.Event()
        is_drained = False
        self._services.owner = asyncio.current_task()
        with captured(), self._measured():
            async with self._executors, asyncio.TaskGroup() as group:
                sending = [
                    group.create_task(self._services.logs.run(), name="logs"),
                    group.create_task(self._services.progress.run(), name="progress"),
                ]
                while not stop.is_set() and not is_drained:
                    is_drained = await self._serve(stop, hurry)
                for each in sending:
                    each.cancel()

    @contextmanager
    def _measured(self) -> Iterator[None]:
        """Publish the worker's slot and session metrics while it runs."""
        metrics = self.metrics
        metrics.liveness.expect(ACTIVITY, within=LONGEST_SILENCE)
        metrics.before_reading.append(self._tell_slots)
        try:
            yield
        finally:
            metrics.liveness.end(ACTIVITY)
            metrics.before_reading.remove(self._tell_slots)
            self._tell_slots()

    def _tell_slots(self) -> None:
        busy = self._services.held_attempts.executing
        self.metrics.slots.replace({("busy",): busy, ("free",): max(self._services.held_attempts.free, 0)})
        self.metrics.worker_session.set(self.session is not None)

    def change(self, options: WorkerOptions) -> None:
        """Apply other options: capacity, queues and their weights, grace and the size of reports change at once.

        Running attempts go on, even beyond the new capacity; the other options hold from the next start.
        """
        if options == self._options:
            return
        self._options = options
        self._services.held_attempts.resize(options.capacity)
        self._services.reports.resize(options.report_batch)
        self._changed.set()

    async def _serve(self, stop: asyncio.Event, hurry: asyncio.Event) -> bool:
        """Serve one session until it ends; tell whether the worker should stop."""
        session = await self._open(stop)
        if session is None:
            return True
        self.session = session
        while True:
            heartbeat = Heartbeat(
                self._gateway,
                self._services.retry,
                self._services.held_attempts,
                self._options,
                clock=self._clock,
                meter=self._meter,
            )
            await self._work(session, heartbeat, stop, hurry)
            if heartbeat.lost.is_set():
                self.session = None
                return heartbeat.asked_to_drain.is_set()
            if await self._has_left(session, stop):
                self.session = None
                return True

    async def _work(self, session: SessionId, heartbeat: Heartbeat, stop: asyncio.Event, hurry: asyncio.Event) -> None:
        """Run tasks until the session is lost, or the worker should leave and holds nothing any more."""
        async with asyncio.TaskGroup() as group:
            beating = group.create_task(heartbeat.run(session), name="heartbeat")
            listener = StopListener(self._gateway, self._services.held_attempts, heartbeat)
            listening = group.create_task(listener.run(session), name="stops")
            is_over = False
            while not is_over:
                self._serve_queues()
                claiming = group.create_task(self._claims.run(session), name="claims")
                await wait_for_any(stop, heartbeat.lost, heartbeat.asked_to_drain, self._changed)
                # A claim that waits would wait for what was served before.
                claiming.cancel()
                if heartbeat.asked_to_drain.is_set() and not stop.is_set():
                    await self._finish(stop, heartbeat)
                is_over = stop.is_set() or heartbeat.lost.is_set() or heartbeat.asked_to_drain.is_set()
                if not is_over and self._changed.is_set():
                    self._changed.clear()
                    await self._tell_change(session)
            if not heartbeat.lost.is_set():
                await self._drain(hurry, heartbeat.lost, grace=self._options.grace if stop.is_set() else 0.0)
            beating.cancel()
            listening.cancel()

    async def _open(self, stop: asyncio.Event) -> SessionId | None:
        """Open a session, however long that takes; None if `stop` is set first."""
        while not stop.is_set():
            try:
                spec = self._spec()
                async with asyncio.timeout(OPEN_SECONDS):
                    session = await self._gateway.open_session(spec)
            except Exception as error:  # noqa: BLE001 - a worker outlives whatever its gateway raises
                await wait_for_any(stop, within=self._services.retry.note_failure(error))
            else:
                self._services.retry.note_answer()
                self._opened_with = spec.queues
                _log.info("session.opened: %s", session_text(session))
                return session
        return None

    def _serve_queues(self) -> None:
        weights = {queue: self._options.weights.get(queue, 1) for queue in self._options.queues}
        self._claims.serve(weights, opened_with=self._opened_with)

    async def _tell_change(self, session: SessionId) -> None:
        """Send the queues and capacity that are served now; they are only shown."""
        options = self._options
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await self._gateway.change_session(session, queues=options.queues, capacity=options.capacity)
        except Exception as error:  # noqa: BLE001 - an outage, or a server of yesterday: claims say it anyway
            _log.warning("session.change_not_told: %s: %s", session_text(session), error)

    def _spec(self) -> SessionSpec:
        return SessionSpec(
            host=socket.gethostname(),
            pid=os.getpid(),
            version=__version__,
            app_version=self._executors.app_version,
            queues=self._options.queues,
            types=self._executors.types,
            capacity=self._options.capacity,
            tenant=self._options.tenant,
            label=self._options.label,
        )

    # -- the end

    async def _finish(self, stop: asyncio.Event, heartbeat: Heartbeat) -> None:
        """Let attempts end after a request to drain, within the grace; return earlier if the request is undone."""
        self._tell_draining()
        empty = self._services.held_attempts.empty
        await wait_for_any(empty, stop, heartbeat.lost, heartbeat.may_stay, within=self._options.grace)
        if heartbeat.may_stay.is_set():
            _log.info("worker.drain_undone: it takes tasks again")

    async def _has_left(self, session: SessionId, stop: asyncio.Event) -> bool:
        """Close the session; False if the worker was asked to drain and that was undone before.

        The store decides, so that a worker does not leave after an operator was told that it stays. Without an answer
        it asks again, unless `stop` is set or attempts have not ended: then nothing can keep it.
        """
        while not stop.is_set() and not len(self._services.held_attempts):
            try:
                async with asyncio.timeout(CLOSE_SECONDS):
                    has_left = await self._gateway.leave(session)
            except Exception as error:  # noqa: BLE001 - a worker outlives whatever its gateway raises
                await wait_for_any(stop, within=self._services.retry.note_failure(error))
            else:
                self._services.retry.note_answer()
                _log.info("session.%s: %s", "closed" if has_left else "kept", session_text(session))
                return has_left
        await self._close(session)
        return True

    def _tell_draining(self) -> None:
        count = len(self._services.held_attempts)
        if count:
            _log.info("worker.draining: %d attempts have %g s", count, self._options.grace)

    async def _drain(self, hurry: asyncio.Event, lost: asyncio.Event, *, grace: float) -> None:
        """Let attempts end by themselves; then stop them, then kill them, then give them back."""
        held_attempts = self._services.held_attempts
        if grace:
            self._tell_draining()
        await wait_for_any(held_attempts.empty, hurry, lost, within=grace)
        held_attempts.stop_all(StopReason.RELEASED)
        await wait_for_any(held_attempts.empty, lost, within=self._options.stop_grace + LAST_SECONDS)
        for attempt in held_attempts:
            attempt.interrupt()
        await wait_for_any(held_attempts.empty, lost, within=LAST_SECONDS)
        if len(held_attempts) and not lost.is_set():
            await self._leave()

    async def _leave(self) -> None:
        """Give back what will not end; what the engine does not take now, it will reap."""
        held_attempts = self._services.held_attempts
        _log.warning("worker.leaving: %d attempts have not ended", len(held_attempts))
        self._services.retry.stop_retrying()
        try:
            async with asyncio.timeout(LAST_SECONDS):
                await asyncio.gather(*(attempt.give_back() for attempt in held_attempts))
        except (TimeoutError, Unavailable) as error:
            _log.warning("worker.left: %d leases were not given back: %s", len(held_attempts), error)

    async def _close(self, session: SessionId) -> None:
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await self._gateway.close_session(session)
        except Exception as error:  # noqa: BLE001 - leaving must not fail; a session left open is reaped
            _log.warning("session.not_closed: %s: %s", session_text(session), error)
        else:
            _log.info("session.closed: %s", session_text(session))
