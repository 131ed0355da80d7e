"""The log of each attempt: gathered as it is written, sent about twice a second and before the attempt is settled.

Written to from the loop, from threads and from readers of child processes; sent by the loop only. Of a log beyond the
limit the beginning and the end are kept. The beginning is sent as it is written; the end is held here, since more may
come, and is sent with the number of bytes that were left out before it when the attempt is over.
"""

import asyncio
import contextlib
import logging
from collections.abc import Sequence
from threading import Lock
from typing import Final

from msgspec import Struct

from drumline.aio.batcher import Batcher, BatchWeights
from drumline.core.lease import Lease
from drumline.core.masking import MASK, Mask
from drumline.ports.gateway import Gateway
from drumline.ports.store import LogChunk
from drumline.worker.gateway_retry import GatewayRetry
from drumline.worker.log_tail import LogTail
from drumline.worker.texts import size_of, storable

SEND_SECONDS: Final = 30.0
NOTES: Final = 200
"""Bytes for the notes of what was left out."""
GAP: Final = "\n[this log is longer than its limit: its end follows when the attempt is over]\n"

_log = logging.getLogger("drumline.worker")


class AttemptLog(Struct, eq=False):
    """The log output of one attempt that was not sent yet."""

    _logs: "AttemptLogs"
    _lease: Lease
    _room: int
    """Bytes that may still be sent as they are written."""
    _tail: LogTail
    _is_gap_due: bool = False
    _is_gap_told: bool = False
    _seq: int = 0
    _parts: list[str] = []
    _held: str = ""
    """The end of what was taken, as long as it may be the beginning of a secret."""
    mask: Mask | None = None
    """What to blot out, in an attempt that was given secrets."""

    def write(self, text: str) -> None:
        """Add output; safe from any thread, and never waits for the network."""
        if not text:
            return
        text = storable(text)
        with self._logs.lock:
            size = size_of(text)
            if size > self._room:
                head = text.encode()[: self._room].decode("utf-8", "ignore")
                self._tail.write(text[len(head) :])
                self._room = 0
                text = head
                self._is_gap_due = bool(self._tail.left_out) and not self._is_gap_told
            else:
                self._room -= size
            if not text and (self._parts or not self._is_gap_due):
                return
            is_first = not self._parts
            self._parts.append(text)
        if is_first:
            self._logs.note(self)

    @property
    def lease(self) -> Lease:
        """The lease of the attempt."""
        return self._lease

    @property
    def is_silent(self) -> bool:
        """Whether there is nothing to send."""
        return not self._parts and not self._tail and not self._held

    def take(self, *, closing: bool = False) -> LogChunk | None:
        """Return what was written since the last take as the next chunk; when closing, with the end of the log."""
        with self._logs.lock:
            text = "".join(self._parts)
            self._parts.clear()
            end = self._tail.text() if closing else ""
            left_out = self._tail.left_out
            if not left_out:
                text, end = text + end, ""
            if self.mask is not None:
                text = self._masked(text, self.mask, closing=closing)
                end = self.mask.text(end)
            if self._is_gap_due:
                text += (MASK if self._held else "") + GAP
                self._held, self._is_gap_due, self._is_gap_told = "", False, True
            if closing and left_out:
                text += f"[{left_out:,} bytes of log were left out here]\n{end}"
            if closing:
                self._tail = LogTail(0)
            if not text:
                return None
            lease = self._lease
            chunk = LogChunk(task=lease.task, epoch=lease.epoch, seq=self._seq, text=text, nonce=lease.nonce)
            self._seq += 1
            return chunk

    def _masked(self, text: str, mask: Mask, *, closing: bool) -> str:
        """Return a text without secrets; an end that may be the beginning of one waits for what follows."""
        text = mask.complete(self._held + text)
        begun = mask.begun(text)
        self._held = text[len(text) - begun :]
        text = text[: len(text) - begun]
        if closing and self._held:
            # It was not the whole of one; unless the rest was cut off.
            text += MASK if self._tail.left_out else self._held
            self._held = ""
        return text


class AttemptLogs:
    """The logs of all attempts of a worker, and their way to the engine."""

    def __init__(self, gateway: Gateway, retry: GatewayRetry, *, every: float, largest: int) -> None:
        self.lock = Lock()
        self._gateway = gateway
        self._retry = retry
        self._every = every
        self._largest = largest
        self._noted: set[AttemptLog] = set()
        self._written = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        # One flight at a time: when a batch is acknowledged, so is every one that joined before it.
        self._left: list[LogChunk] = []
        """Pieces whose shard is away: sent again with the next ones."""
        self._batcher: Batcher[LogChunk, bool] = Batcher(
            self._send,
            name="logs",
            largest=200,
            most_waiting=1_000_000,
            weights=BatchWeights(lambda chunk: len(chunk.text)),
        )

    def open(self, lease: Lease) -> AttemptLog:
        """Return the log of a new attempt."""
        end = self._largest // 4
        return AttemptLog(self, lease, self._largest - end, LogTail(max(end - NOTES, 0)))

    def note(self, log: AttemptLog) -> None:
        """Remember that `log` has something to send; safe from any thread."""
        with self.lock:
            self._noted.add(log)
        if self._loop is not None:
            # The loop may be closed at any moment while a thread goes on: then nothing is sent any more.
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._written.set)

    async def run(self) -> None:
        """Send new log output about every half second, until cancelled; sleep while there is none."""
        self._loop = asyncio.get_running_loop()
        while True:
            await self._written.wait()
            await asyncio.sleep(self._every)
            await self.pass_once()

    async def pass_once(self) -> int:
        """Send the new output of every attempt; return the number of chunks."""
        self._written.clear()
        with self.lock:
            noted, self._noted = self._noted, set()
        left, self._left = self._left, []
        chunks = left + [chunk for log in noted if (chunk := log.take())]
        self._left += await self._send_once(chunks)
        if self._left:
            self._written.set()
        return len(chunks)

    async def close(self, log: AttemptLog) -> None:
        """Send the rest of an attempt's log; when this returns, all of it is stored (or cannot be)."""
        self._noted.discard(log)
        chunk = log.take(closing=True)
        unsent = self._taken_back(log.lease) + ([] if chunk is None else [chunk])
        while unsent:
            # Those in flight have joined before, so they are stored or in `_left` when this returns.
            unsent = await self._send_once(unsent) + self._taken_back(log.lease)
            if unsent and self._retry.is_stopped:
                _log.warning("log.dropped: %d chunks: their shard is away", len(unsent))
                return
            if unsent:
                await self._retry.pause(self._every)

    def _taken_back(self, lease: Lease) -> list[LogChunk]:
        """Return the pieces of an attempt that are left to send again, which is then up to the caller."""
        if not self._left:
            return []
        taken = [chunk for chunk in self._left if (chunk.task, chunk.epoch) == (lease.task, lease.epoch)]
        self._left = [chunk for chunk in self._left if chunk not in taken]
        return taken

    async def _send_once(self, chunks: list[LogChunk]) -> list[LogChunk]:
        """Send pieces of logs; return those whose shard is away."""
        stored = await self._batcher.join_many(chunks)
        return [chunk for chunk, is_stored in zip(chunks, stored, strict=True) if not is_stored]

    async def _send(self, chunks: list[LogChunk]) -> Sequence[bool]:
        try:
            left = await self._retry.call(lambda: self._gateway.append_log(chunks), seconds=SEND_SECONDS)
        except Exception as error:  # noqa: BLE001 - the log is for people: losing a piece must not fail the task
            _log.warning("log.dropped: %d chunks: %s", len(chunks), error)
            left = ()
        return [chunk not in left for chunk in chunks]
