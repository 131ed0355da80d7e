"""Child processes for functions that compute: started when first needed, kept, killed with the attempt they run."""

import asyncio
import contextlib
import os
import socket
import sys
import time
from asyncio.subprocess import DEVNULL, Process
from codecs import getincrementaldecoder
from collections.abc import Callable
from typing import Any, Final, Self

import msgspec

from drumline.core.errors import Invalid
from drumline.core.outcome import Failed, Outcome, Released, Snoozed, Stopped, Succeeded
from drumline.sdk.definition import TaskDefinition
from drumline.sdk.signals import Snooze
from drumline.worker.executors.durable_frames import answer_to
from drumline.worker.executors.executor import ExecutorCall
from drumline.worker.executors.frames import HEADER, Ended, File, Hidden, Order, ProgressFrame, decode_reply, frame
from drumline.worker.executors.programs import KILL_SECONDS, describe_exit, end_group
from drumline.worker.failures import ExecutorFailure, failure, refusal
from drumline.worker.hidden_environment import split_environment
from drumline.worker.logs import AttemptLog
from drumline.worker.watchdog import Watchdog

_decode_outcome: Final[Callable[[bytes], Outcome]] = msgspec.json.Decoder(Outcome).decode


class Processes:
    """A pool of child processes; how many there are is bounded by the gate in front of it."""

    def __init__(self, watchdog: Watchdog) -> None:
        self._watchdog = watchdog
        self._idle: list[ChildProcess] = []

    async def call(self, definition: TaskDefinition, call: ExecutorCall) -> Any:
        """Call a function in a child process.

        A child that dies is a failure like any other, worth a retry; one whose attempt is stopped is killed.
        """
        child = await self._take()
        try:
            outcome = await child.call(_order(definition, call), call)
        except asyncio.CancelledError:
            await child.end(call.grace)
            raise
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            code = await child.end(0)
            raise failure("ProcessDied", f"the child process ended: {describe_exit(code)}") from error
        except BaseException:
            await child.end(0)
            raise
        self._idle.append(child)
        return _value_of(outcome)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        idle, self._idle = self._idle, []
        await asyncio.gather(*(child.end(KILL_SECONDS) for child in idle))

    async def _take(self) -> "ChildProcess":
        while self._idle:
            child = self._idle.pop()
            if child.is_alive:
                return child
            await child.end(0)
        return await ChildProcess.start(self._watchdog)


class ChildProcess:
    """One child process, and the lines to it: a socket for orders and answers, a pipe for its output."""

    def __init__(self, process: Process, watchdog: Watchdog, output: int) -> None:
        self._process = process
        self._watchdog = watchdog
        self._output = output
        self._decoder = getincrementaldecoder("utf-8")("replace")
        self._log: AttemptLog | None = None
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    @classmethod
    async def start(cls, watchdog: Watchdog) -> "ChildProcess":
        """Start a child process."""
        shown, hidden = split_environment(os.environ)
        ours, theirs = socket.socketpair()
        output, their_output = os.pipe()
        try:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-u", "-m", "drumline.worker.executors.child", str(theirs.fileno())),
                stdin=DEVNULL,
                stdout=their_output,
                stderr=their_output,
                pass_fds=(theirs.fileno(),),
                env=shown,
                start_new_session=True,
            )
        except BaseException:
            ours.close()
            os.close(output)
            raise
        finally:
            theirs.close()
            os.close(their_output)
        watchdog.watch(process.pid)
        os.set_blocking(output, False)
        child = cls(process, watchdog, output)
        asyncio.get_running_loop().add_reader(output, child.read_output)
        child._reader, child._writer = await asyncio.open_connection(sock=ours)
        child._writer.write(frame(Hidden(hidden)))
        return child

    @property
    def is_alive(self) -> bool:
        """Whether the process can take an order."""
        return self._process.returncode is None and self._reader is not None and not self._reader.at_eof()

    async def call(self, order: Order, call: ExecutorCall) -> Outcome:
        """Give an order and return how it ended; its output goes to the attempt's log as it comes."""
        if self._reader is None or self._writer is None:
            raise ConnectionResetError
        self._log = call.log
        try:
            self._writer.write(frame(order))
            await self._writer.drain()
            while True:
                size = int.from_bytes(await self._reader.readexactly(HEADER), "big")
                reply = decode_reply(await self._reader.readexactly(size))
                if isinstance(reply, Ended):
                    return _decode_outcome(reply.outcome)
                if isinstance(reply, ProgressFrame):
                    call.note_progress(reply.done, reply.total, reply.message)
                elif isinstance(reply, File):
                    call.put_artifact(reply.name, reply.data, reply.content_type)
                elif (told := await answer_to(reply, call.durable_calls())) is not None:
                    self._writer.write(frame(told))
                    await self._writer.drain()
        except Invalid as error:
            raise refusal(error) from error
        finally:
            # The child flushes before it answers: all its output is in the pipe by now.
            self.read_output()
            self._log = None

    def read_output(self) -> None:
        """Read the child's output and write it to the attempt's log."""
        while True:
            try:
                data = os.read(self._output, 64 * 1024)
            except BlockingIOError:
                return
            if not data:
                asyncio.get_running_loop().remove_reader(self._output)
                return
            if self._log is not None:
                self._log.write(self._decoder.decode(data))

    async def end(self, grace: float) -> int:
        """End the process, with force after `grace` seconds, and return its exit code."""
        try:
            if self._process.returncode is None:
                await end_group(self._process, grace)
        finally:
            self._watchdog.unwatch(self._process.pid)
            await self._close()
        return self._process.returncode or 0

    async def _close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            with contextlib.suppress(ConnectionError):
                await self._writer.wait_closed()
            self._writer = None
            asyncio.get_running_loop().remove_reader(self._output)
            os.close(self._output)


def _order(definition: TaskDefinition, call: ExecutorCall) -> Order:
    task = call.task
    return Order(
        module=definition.module,
        qualname=definition.function.__qualname__,
        path=tuple(sys.path),
        task=task.lease.task,
        epoch=task.lease.epoch,
        nonce=task.lease.nonce,
        may_settle=call.mask is None,
        name=task.name,
        queue=task.queue,
        attempt=task.attempt,
        deadline=None if call.timeout is None else time.time() + call.timeout,
        fire_time=task.options.fire_time,
        payload=bytes(task.payload),
    )


def _value_of(outcome: Outcome) -> Any:
    match outcome:
        case Succeeded(result=result):
            return result
        case Failed():
            raise ExecutorFailure(outcome)
        case Snoozed(seconds=seconds):
            raise Snooze(seconds)
        case Stopped() | Released():
            raise failure("ProcessDied", "the child process was stopped from outside")
