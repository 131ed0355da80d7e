"""The program of a child process: waits for orders, calls functions, answers. Ends with its worker.

Standard output and error belong to the function that runs; the worker reads them into the attempt's log. Orders come
over a socket; a thread of its own listens there, so that the worker's death is noticed while a function computes.
"""

import importlib
import logging
import os
import signal
import socket
import sys
import threading
import time
from datetime import UTC, datetime
from functools import partial
from queue import SimpleQueue
from typing import Any, Final

import msgspec
from msgspec import Raw

from drumline.core.clock import Instant, to_datetime
from drumline.core.codec import check_bounds
from drumline.core.errors import Invalid
from drumline.core.ids import TaskId
from drumline.core.lease import Lease
from drumline.core.limits import DEFAULT_LIMITS
from drumline.core.outcome import Failed, Outcome, Succeeded
from drumline.sdk.context import Context, activated
from drumline.sdk.definition import Mode, TaskDefinition, define
from drumline.sdk.signals import Cancelled, Signal
from drumline.worker.capture import LineFormatter
from drumline.worker.executors.durable_frames import FrameCalls
from drumline.worker.executors.frames import (
    HEADER,
    Ended,
    File,
    Order,
    ProgressFrame,
    Reply,
    Told,
    decode_hidden,
    decode_order,
    frame,
)
from drumline.worker.failures import describe, outcome_of_error, refusal
from drumline.worker.hidden_environment import protect_process

TELL_SECONDS: Final = 0.05
"""How often a function's word on how far it is is passed on, at most."""


class FunctionServer:
    """Calls one function at a time."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        self._orders: SimpleQueue[Order] = SimpleQueue()
        self.answers: SimpleQueue[Told] = SimpleQueue()
        self._known: dict[tuple[str, str], TaskDefinition] = {}
        self._is_busy = False
        self._is_cancelled = False
        self._told_at = -TELL_SECONDS
        self._has_files = False
        self._sending = threading.Lock()
        self._asking = threading.Lock()

    def run(self) -> None:
        """Serve until the worker hangs up."""
        signal.signal(signal.SIGTERM, self._terminate)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        threading.Thread(target=self._listen, name="orders", daemon=True).start()
        while True:
            order = self._orders.get()
            outcome = self._obey(order)
            sys.stdout.flush()
            sys.stderr.flush()
            self.send(Ended(msgspec.json.encode(outcome)))
            if self._is_cancelled:
                os._exit(0)  # its function was interrupted anywhere: start afresh

    def _listen(self) -> None:
        while header := _receive(self._line, HEADER):
            said = decode_order(_receive(self._line, int.from_bytes(header, "big")))
            if isinstance(said, Told):
                self.answers.put(said)
            else:
                self._orders.put(said)
        os._exit(0)  # the worker has closed the socket or died: nothing waits for the result

    def _terminate(self, _number: int, _frame: object) -> None:
        if not self._is_busy:
            os._exit(0)
        self._is_cancelled = True
        raise Cancelled("the attempt was stopped")

    def _obey(self, order: Order) -> Outcome:
        definition: TaskDefinition | None = None
        try:
            self._is_busy = True
            self._told_at = -TELL_SECONDS
            self._has_files = False
            definition = self._definition(order)
            return self._call(definition, order)
        except BaseException as error:  # noqa: BLE001 - anything may come out of user code, sys.exit() too
            if definition is None or isinstance(error, Signal) or not definition.is_permanent(error):
                return outcome_of_error(error)
            return Failed(describe(error), permanent=True)
        finally:
            self._is_busy = False

    def _call(self, definition: TaskDefinition, order: Order) -> Outcome:
        context: Context[Any] = Context(
            id=TaskId(order.task),
            state=None,
            name=order.name,
            attempt=order.attempt,
            queue=order.queue,
            deadline=None if order.deadline is None else datetime.fromtimestamp(order.deadline, UTC),
            fire_time=None if order.fire_time is None else to_datetime(Instant(order.fire_time)),
            on_progress=self._send_progress,
            on_artifact=self._send_file,
            on_look=lambda: self._is_cancelled,
            on_settle=partial(self._check_settlement, order),
            lease=Lease(TaskId(order.task), order.epoch, order.nonce),
            on_blocking=lambda: FrameCalls(self.send, self.answers, self._asking),
        )
        try:
            bound = definition.bind(order.payload)
        except Invalid as error:
            return refusal(error).outcome
        with activated(context):
            value = definition.invoke(bound, context)
        try:
            return Succeeded(Raw(bytes(definition.encode_result(value))))
        except Invalid as error:
            return refusal(error).outcome

    def _check_settlement(self, order: Order, result: bytes) -> bytes:
        """Return a result that the attempt records itself, or raise `Invalid`."""
        if not order.may_settle:
            raise Invalid("cannot be recorded by a child process that was given secrets", field="result")
        if self._has_files:
            raise Invalid("are stored with the worker's report: an attempt that settles itself has none", field="files")
        check_bounds(result, field="result", largest=DEFAULT_LIMITS.result, deepest=DEFAULT_LIMITS.nesting)
        return result

    def _send_file(self, name: str, data: bytes, content_type: str) -> None:
        self._has_files = True
        self.send(File(name, data, content_type))

    def _send_progress(self, done: float, total: float | None, message: str) -> None:
        # A tight loop must not fill the socket: who says so much says something newer soon.
        now = time.monotonic()
        if now - self._told_at >= TELL_SECONDS:
            self._told_at = now
            self.send(ProgressFrame(done, total, message))

    def send(self, reply: Reply) -> None:
        """Send something to the worker."""
        with self._sending:  # threads of the function may send at the same time
            self._line.sendall(frame(reply))

    def _definition(self, order: Order) -> TaskDefinition:
        where = order.module, order.qualname
        if where not in self._known:
            sys.path[:] = order.path
            found: Any = importlib.import_module(order.module)
            for part in order.qualname.split("."):
                found = getattr(found, part)
            # The name stands for the task that the decorator made, or for the bare function.
            made = getattr(found, "definition", None)
            self._known[where] = (
                made if isinstance(made, TaskDefinition) else define(found, name=order.name, mode=Mode.PROCESS)
            )
        return self._known[where]


def _receive(line: socket.socket, size: int) -> bytes:
    """Return exactly `size` bytes, or nothing when the other side has gone."""
    data = bytearray()
    while len(data) < size:
        try:
            part = line.recv(size - len(data))
        except ConnectionResetError:
            return b""
        if not part:
            return b""
        data += part
    return bytes(data)


def main() -> None:
    """Serve the worker at the other end of the socket whose number is the first argument."""
    protect_process()
    handler: Final = logging.StreamHandler(sys.stderr)
    handler.setFormatter(LineFormatter())
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    line = socket.socket(fileno=int(sys.argv[1]))
    if header := _receive(line, HEADER):
        os.environ.update(decode_hidden(_receive(line, int.from_bytes(header, "big"))).variables)
        FunctionServer(line).run()


if __name__ == "__main__":
    main()
