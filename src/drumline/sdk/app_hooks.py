"""Hooks of an app: what runs before each submission, and around each execution.

    @app.before_submit
    def tag(request: TaskRequest) -> TaskRequest: ...

    @app.around
    def timed(execution: Execution) -> Generator[None, ExecutionEnd]:
        begun = time.monotonic()
        end = yield                     # the task runs here
        report(execution.name, end.outcome, time.monotonic() - begun)

Both may be async as well. An app without hooks pays one comparison for each submission and nothing for an execution.
"""

import asyncio
import inspect
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Sequence
from contextvars import copy_context
from threading import Thread
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Raw, Struct

from drumline.core.ids import TaskId
from drumline.core.outcome import Failed, Outcome, Succeeded
from drumline.core.task import TaskRequest
from drumline.sdk.checking import wrong
from drumline.sdk.context import Context
from drumline.sdk.threads import running_loop

_log: Final = logging.getLogger("drumline.hooks")


class Execution(Struct, frozen=True, kw_only=True):
    """An attempt that is about to run, as hooks see it."""

    id: TaskId
    name: str
    queue: str
    attempt: int
    payload: Raw
    """The arguments as JSON. Secrets are filled in after hooks have begun."""
    tags: tuple[str, ...] = ()
    traceparent: str | None = None
    """The span that submitted the task (W3C Trace Context), if that was traced."""
    get_context: Callable[[], Context[Any] | None] = lambda: None

    @property
    def context(self) -> Context[Any] | None:
        """The context that the function gets; None before it has been made."""
        return self.get_context()

    @property
    def arguments(self) -> Any:
        """The payload, decoded."""
        return msgspec.json.decode(self.payload)


class ExecutionEnd(Struct, frozen=True, kw_only=True):
    """How an attempt ended: sent into the hook where it yielded."""

    outcome: Outcome | None
    """What is reported; None if the lease was lost and nothing is."""
    value: Any = None
    """What the function returned."""
    error: BaseException | None = None
    """What it raised; of a function in a child process only its description is known."""

    @property
    def is_completed(self) -> bool:
        """Whether the function returned."""
        return isinstance(self.outcome, Succeeded)

    @property
    def is_failed(self) -> bool:
        """Whether the attempt failed: by an error or by its timeout, and not by a stop or a snooze."""
        return isinstance(self.outcome, Failed)


BeforeSubmit = Callable[[TaskRequest], TaskRequest | Awaitable[TaskRequest | None] | None]
"""Returns the request to submit, or None to leave it as it is; raises to refuse it."""
Around = Callable[[Execution], Generator[None, ExecutionEnd, None] | AsyncGenerator[None, ExecutionEnd]]
"""A generator, async or not, that yields once: where the task runs."""
BeforeSubmitT = TypeVar("BeforeSubmitT", bound=BeforeSubmit)
AroundT = TypeVar("AroundT", bound=Around)


class AppHooks:
    """The hooks of one app, in the order in which they were added."""

    def __init__(self) -> None:
        self.before_submit: list[BeforeSubmit] = []
        self.around: list[Around] = []

    def add_before_submit(self, hook: BeforeSubmitT) -> BeforeSubmitT:
        """Call the hook before each submission."""
        if not callable(hook):
            raise wrong("the hook", "a function of a TaskRequest", hook, of="@app.before_submit")
        self.before_submit.append(hook)
        return hook

    def add_around(self, hook: AroundT) -> AroundT:
        """Run the hook around each execution."""
        if not (inspect.isgeneratorfunction(hook) or inspect.isasyncgenfunction(hook)):
            raise wrong("the hook", "a generator function, async or not, that yields once", hook, of="@app.around")
        self.around.append(hook)
        return hook

    def prepare(self, request: TaskRequest) -> TaskRequest:
        """Return a request as the hooks leave it, blocking the calling thread while async ones run."""
        for hook in self.before_submit:
            answer = hook(request)
            request = _checked(_run(answer) if inspect.isawaitable(answer) else answer, request, hook)
        return request

    async def aprepare(self, request: TaskRequest) -> TaskRequest:
        """Return a request as the hooks leave it."""
        for hook in self.before_submit:
            answer = hook(request)
            request = _checked(await answer if inspect.isawaitable(answer) else answer, request, hook)
        return request

    def prepare_many(self, requests: Sequence[TaskRequest]) -> Sequence[TaskRequest]:
        """Return requests as the hooks leave them; an error of a hook refuses all of them."""
        return [self.prepare(request) for request in requests] if self.before_submit else requests

    async def aprepare_many(self, requests: Sequence[TaskRequest]) -> Sequence[TaskRequest]:
        """Return requests as the hooks leave them, as `prepare_many` does."""
        return [await self.aprepare(request) for request in requests] if self.before_submit else requests


def _checked(answer: object, request: TaskRequest, hook: BeforeSubmit) -> TaskRequest:
    if answer is None:
        return request
    if not isinstance(answer, TaskRequest):
        raise wrong("the answer of a hook", "a TaskRequest or None", answer, of=_name(hook))
    return answer


def _run(work: Awaitable[TaskRequest | None]) -> TaskRequest | None:
    """Run what an async hook returned for a blocking caller, in the caller's context."""

    async def awaited() -> TaskRequest | None:
        return await work

    if running_loop() is None:
        return asyncio.run(awaited())
    # A notebook submits on its event loop, which cannot run another inside.
    answers: list[TaskRequest | None] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            answers.append(asyncio.run(awaited()))
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
            errors.append(error)

    context = copy_context()
    thread = Thread(target=lambda: context.run(run), name="drumline-hook", daemon=True)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return answers[0]


class AroundExecution:
    """The hooks around one execution: begun in order, ended in reverse order with how it ended."""

    def __init__(self, hooks: Sequence[Around]) -> None:
        self._hooks = hooks
        self._begun: list[tuple[Around, Generator[None, ExecutionEnd, None] | AsyncGenerator[None, ExecutionEnd]]] = []

    async def begin(self, execution: Execution) -> None:
        """Run each hook to its yield; what one raises fails the attempt, after those that had begun are ended."""
        for hook in self._hooks:
            made = hook(execution)
            self._begun.append((hook, made))
            try:
                if isinstance(made, AsyncGenerator):
                    await anext(made)
                else:
                    next(made)
            except (StopIteration, StopAsyncIteration) as error:
                self._begun.pop()
                raise RuntimeError(f"the hook {_name(hook)} did not yield") from error
            except BaseException:
                self._begun.pop()
                raise

    async def end(self, end: ExecutionEnd) -> None:
        """Tell each hook how the execution ended. What one raises is logged: the task has had its effect."""
        while self._begun:
            hook, made = self._begun.pop()
            try:
                await _finish(made, end)
            except Exception:  # noqa: BLE001 - anything may come out of user code, and must not change an outcome
                _log.exception("the hook %s raised after its task had ended", _name(hook))


async def _finish(
    made: Generator[None, ExecutionEnd, None] | AsyncGenerator[None, ExecutionEnd], end: ExecutionEnd
) -> None:
    try:
        if isinstance(made, AsyncGenerator):
            await made.asend(end)
            await made.aclose()
        else:
            made.send(end)
            made.close()
    except (StopIteration, StopAsyncIteration):
        return
    raise RuntimeError("it yielded twice")


def _name(hook: Callable[..., object]) -> str:
    return getattr(hook, "__qualname__", repr(hook))
