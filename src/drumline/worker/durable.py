"""Durable calls of an attempt: records are looked up here and kept by the engine, waits end the attempt."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final, NamedTuple, NoReturn, TypeVar

from msgspec import Raw

from drumline.aio.batcher import Batcher, BatchWeights
from drumline.core.children import ChildRequests, OutcomePage, StartedIds
from drumline.core.durable import Answered, NewRecord, Record, RecordStatus, RestartRequest, Wait, WaitRequest
from drumline.core.errors import Conflict, DrumlineError, Fenced, Unavailable
from drumline.core.task import ClaimedTask
from drumline.ports.gateway import Gateway
from drumline.ports.store import Artifact
from drumline.sdk.children import Outcomes, Start
from drumline.sdk.durable_steps import Save
from drumline.sdk.signals import Parked, Permanent, Restarted
from drumline.worker.gateway_retry import GatewayRetry

CALL_SECONDS: Final = 30.0
QUIET_SECONDS: Final = 0.1
"""How long no durable call is made before an attempt is parked whose branches run side by side."""
ROW_BYTES: Final = 500

T = TypeVar("T")
Name = tuple[str, str]


class RecordSender:
    """Sends records of all attempts of a worker, those that come at the same time together."""

    def __init__(self, gateway: Gateway, retry: GatewayRetry) -> None:
        self.gateway = gateway
        self.retry = retry
        self._batcher: Batcher[NewRecord, Record | DrumlineError] = Batcher(
            self._send, name="records", largest=200, parallel=4, weights=BatchWeights(_weight)
        )

    async def record(self, new: NewRecord) -> Record | DrumlineError:
        """Return what is recorded under a name, or why it is not; an outage is waited for."""
        return await self._batcher.joined(new)

    async def _send(self, records: list[NewRecord]) -> list[Record | DrumlineError]:
        answers = list(await self.retry.call(partial(self.gateway.record, records), seconds=CALL_SECONDS))
        while away := [place for place, answer in enumerate(answers) if isinstance(answer, Unavailable)]:
            if self.retry.is_stopped:
                return answers
            await self.retry.pause(1.0)
            again = [records[place] for place in away]
            told = await self.retry.call(partial(self.gateway.record, again), seconds=CALL_SECONDS)
            for place, answer in zip(away, told, strict=True):
                answers[place] = answer
        return answers


class _Waiting(NamedTuple):
    """A call that waits, and how it is told."""

    wait: Wait
    answer: "asyncio.Future[Record | None]"


class AttemptHooks(NamedTuple):
    """What durable calls need of their attempt."""

    take_artifacts: Callable[[], list[Artifact]]
    """Returns the files that are not stored yet; they are stored before a record is, for the step is not run again."""
    mask: Callable[[Raw], Raw]
    """Returns a value without the secrets that the attempt was given."""
    main: "Callable[[], asyncio.Task[Any] | None]"
    """The task in which the attempt runs."""


class DurableAttempt:
    """`sdk.durable.DurableCalls` of one attempt."""

    def __init__(self, task: ClaimedTask, sender: RecordSender, hooks: AttemptHooks) -> None:
        self._lease = task.lease
        self._sender = sender
        self._hooks = hooks
        self._records: dict[Name, Record] = {(each.name, each.key): each for each in task.records.records}
        self._last = task.records.records[-1].seq if task.records.records else 0
        self._has_more = task.records.has_more or (task.recorded > 0 and not task.records.records)
        self._loading = asyncio.Lock()
        self._used: set[Name] = set()
        self._busy = 0
        """Steps that are running."""
        self._calls = 0
        """How many durable calls were made: rises while there is something to do."""
        self._waiting: list[_Waiting] = []
        self._parking: asyncio.Task[None] | None = None
        self.is_parked = False
        """Whether the attempt has ended in the store: nothing is to be reported."""

    async def find(self, name: str, key: str) -> Record | None:
        """Return what is recorded under a name that this attempt has not used yet."""
        self._check(name, key)
        if self._has_more:
            self.begin()
            try:
                await self._load()
            finally:
                self.give_up()
        return self._records.get((name, key))

    def begin(self) -> None:
        """Note that a step begins."""
        self._calls += 1
        self._busy += 1

    def give_up(self) -> None:
        """Note that a step has ended."""
        self._calls += 1
        self._busy -= 1
        self._park_soon()

    async def save(self, save: Save) -> Record:
        """Keep how a step ended, and return what is recorded under its name."""
        try:
            await self._store_artifacts()
            value = self._hooks.mask(save.value)
            if save.status is RecordStatus.DONE and value != save.value:
                raise Permanent(f"the result of step {save.name!r} has a secret in it, which must not be recorded")
            answer = await self._sender.record(
                NewRecord(
                    lease=self._lease,
                    name=save.name,
                    key=save.key,
                    status=save.status,
                    value=value,
                    tries=save.tries,
                    took_ms=save.took_ms,
                    delay_ms=save.delay_ms,
                )
            )
        finally:
            self.give_up()
        if isinstance(answer, Record):
            self._records[save.name, save.key] = answer
            return answer
        raise self._refused(answer)

    async def start(self, start: Start) -> StartedIds:
        """Start children; those that are there already stay."""
        wanted = ChildRequests(
            lease=self._lease,
            name=start.name,
            key=start.key,
            first=start.first,
            on_end=start.on_end,
            tasks=start.tasks,
        )
        return await self._asked(partial(self._sender.gateway.start_children, wanted))

    async def outcomes(self, outcomes: Outcomes) -> OutcomePage:
        """Return how children ended, from a place on."""
        ask = self._sender.gateway.outcomes
        return await self._asked(partial(ask, self._lease, outcomes.name, outcomes.key, first=outcomes.first))

    async def _asked(self, ask: Callable[[], Awaitable[T]]) -> T:
        """Ask something of the engine about children; an outage is waited for."""
        if self.is_parked:
            raise Parked
        self.begin()
        try:
            return await self._sender.retry.call(ask, seconds=CALL_SECONDS)
        except DrumlineError as error:
            raise self._refused(error) from error
        finally:
            self.give_up()

    async def restart(self, payload: Raw) -> NoReturn:
        """End the round of the task; the attempt ends here by `Restarted`."""
        if self.is_parked:
            raise Parked
        if self._hooks.mask(payload) != payload:
            raise Permanent("the arguments of ctx.restart have a secret in them, which must not be stored")
        await self._store_artifacts()
        request = RestartRequest(lease=self._lease, payload=payload)
        ask = partial(self._sender.gateway.restart, request)
        self.begin()  # nothing is parked meanwhile
        try:
            answer = await self._sender.retry.call(ask, seconds=CALL_SECONDS)
        except DrumlineError as error:
            raise self._refused(error) from error
        finally:
            self.give_up()
        if isinstance(answer, DrumlineError):
            raise Permanent(answer.message) if isinstance(answer, Conflict) else self._refused(answer)
        self.is_parked = True
        raise Restarted(bytes(payload))

    async def wait(self, wait: Wait) -> Record | None:
        """Wait; if nothing else is left to do, the attempt ends here by `Parked`."""
        return await self.wait_in(wait, is_main=asyncio.current_task() is self._hooks.main())

    async def wait_in(self, wait: Wait, *, is_main: bool) -> Record | None:
        """Wait; `is_main` if nothing else can be under way but steps."""
        if self.is_parked:
            raise Parked
        self._calls += 1
        waiting = _Waiting(wait, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        self._park_soon(at_once=is_main)
        try:
            return await waiting.answer
        finally:
            if waiting in self._waiting:  # whoever waited was cancelled
                self._waiting.remove(waiting)

    async def close(self) -> None:
        """End what is under way: the function has ended."""
        if self._parking is not None:
            self._parking.cancel()
            await asyncio.wait({self._parking})

    def _check(self, name: str, key: str) -> None:
        if self.is_parked:
            raise Parked
        if (name, key) in self._used:
            with_key = f"with the key {key!r}" if key else "without a key"
            raise Permanent(
                f"the name {name!r} is used twice {with_key}: records are found by their names, "
                "so give each call in a loop a key= of its own"
            )
        self._used.add((name, key))

    async def _load(self) -> None:
        """Fetch the records that did not come with the claim."""
        if not self._has_more:
            return
        async with self._loading:
            while self._has_more:
                fetch = partial(self._sender.gateway.records, self._lease, after=self._last)
                try:
                    page = await self._sender.retry.call(fetch, seconds=CALL_SECONDS)
                except Fenced as error:
                    raise self._refused(error) from error
                self._records |= {(each.name, each.key): each for each in page.records}
                self._last = page.records[-1].seq if page.records else self._last
                self._has_more = page.has_more and bool(page.records)

    async def _store_artifacts(self) -> None:
        for artifact in self._hooks.take_artifacts():
            put = partial(self._sender.gateway.put_artifact, artifact)
            try:
                await self._sender.retry.call(put, seconds=CALL_SECONDS)
            except Fenced as error:
                raise self._refused(error) from error

    def _refused(self, error: DrumlineError) -> BaseException:
        """Return what a durable call raises whose record was refused."""
        if isinstance(error, Fenced):
            self.is_parked = True  # or reaped, or cancelled by force: whatever it was, there is nothing to report
            return Parked()
        if isinstance(error, Unavailable):
            return error
        if isinstance(error, Conflict):
            return error
        return Permanent(str(error))

    def _park_soon(self, *, at_once: bool = False) -> None:
        if self._waiting and not self._busy and self._parking is None:
            park = self._park(at_once=at_once)
            self._parking = asyncio.get_running_loop().create_task(park, name=f"wait of {self._lease.task}")

    async def _park(self, *, at_once: bool) -> None:
        """Ask for answers once nothing else is under way; the attempt ends if there is none."""
        try:
            while self._waiting and not self._busy:
                if not at_once and not await self._is_quiet():
                    continue
                if not self._busy:
                    await self._ask()
                at_once = False
        except BaseException as error:  # noqa: BLE001 - told to all who wait
            self._fail(error)
        finally:
            self._parking = None
            self._park_soon()

    async def _is_quiet(self) -> bool:
        calls = self._calls
        await asyncio.sleep(QUIET_SECONDS)
        return calls == self._calls

    async def _ask(self) -> None:
        asked = list(self._waiting)
        await self._store_artifacts()
        request = WaitRequest(lease=self._lease, waits=tuple(waiting.wait for waiting in asked))
        answer = await self._sender.retry.call(partial(self._sender.gateway.wait, request), seconds=CALL_SECONDS)
        if isinstance(answer, Answered):
            for place, record in answer.answers:
                waiting = asked[place]
                if waiting in self._waiting:
                    self._waiting.remove(waiting)
                if record is not None:
                    self._records[record.name, record.key] = record
                if not waiting.answer.done():
                    waiting.answer.set_result(record)
            return
        if isinstance(answer, DrumlineError):
            raise self._refused(answer)
        self.is_parked = True
        raise Parked

    def _fail(self, error: BaseException) -> None:
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            if not each.answer.done():
                each.answer.set_exception(error)


class ThreadCalls:
    """`sdk.durable.BlockingCalls` for a function in a thread: the loop does the work, the thread waits for it."""

    def __init__(self, attempt: DurableAttempt, loop: asyncio.AbstractEventLoop) -> None:
        self._attempt = attempt
        self._loop = loop

    def find(self, name: str, key: str) -> Record | None:
        """Return what is recorded under a name that this attempt has not used yet."""
        return self._run(self._attempt.find(name, key))

    def begin(self) -> None:
        """Note that a step begins."""
        self._loop.call_soon_threadsafe(self._attempt.begin)

    def save(self, save: Save) -> Record:
        """Keep how a step ended, and return what is recorded under its name."""
        return self._run(self._attempt.save(save))

    def give_up(self) -> None:
        """Note that a step has ended without a record."""
        self._loop.call_soon_threadsafe(self._attempt.give_up)

    def start(self, start: Start) -> StartedIds:
        """Start children; those that are there already stay."""
        return self._run(self._attempt.start(start))

    def outcomes(self, outcomes: Outcomes) -> OutcomePage:
        """Return how children ended, from a place on."""
        return self._run(self._attempt.outcomes(outcomes))

    def restart(self, payload: Raw) -> NoReturn:
        """End the round of the task; the attempt ends here by `Restarted`."""
        self._run(self._attempt.restart(payload))

    def wait(self, wait: Wait) -> Record | None:
        """Wait; the attempt ends here by `Parked`, unless the wait is over already."""
        return self._run(self._attempt.wait_in(wait, is_main=True))

    def _run(self, call: Awaitable[T]) -> T:
        async def run() -> T:
            return await call

        return asyncio.run_coroutine_threadsafe(run(), self._loop).result()


def _weight(new: NewRecord) -> int:
    return len(new.value) + ROW_BYTES
