"""`ctx.call`, `ctx.map`, `ctx.gather` and `ctx.first`, awaited and blocking, typed by the tasks that they start."""

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, overload

from drumline.core.errors import Invalid
from drumline.core.mapping import WINDOW
from drumline.sdk.children import (
    ChildOperation,
    LazyCalls,
    OnEndWord,
    call_in_steps,
    first_in_steps,
    group_in_steps,
    on_end_of,
)
from drumline.sdk.errors import ChildFailed

if TYPE_CHECKING:
    from drumline.sdk.task import Call, Submittable

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")

Key = str | int
"""Tells calls of one name apart."""
Steps = Generator[ChildOperation, Any, Any]


class ChildContext:
    """The calls of a `Context` that start other tasks and wait for them."""

    __slots__ = ()

    async def _arun(self, steps: Steps) -> Any:
        raise NotImplementedError

    @overload
    async def call(self, task: "Submittable[P, R]", /, *args: P.args, **kwargs: P.kwargs) -> R: ...
    @overload
    async def call(
        self, task: "Call[R]", /, *, name: str | None = None, key: Key | None = None, on_end: OnEndWord = "cancel"
    ) -> R: ...
    async def call(self, task: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Start a task as a child and return its result; no worker is occupied while it is waited for.

        `ctx.call(task, 1, 2)` is told apart by the name of the task; `ctx.call(task.call(1, 2), key=…)` takes a `key`
        for calls in loops, another `name`, and `on_end="abandon"` for a child that the end of this task does not
        cancel. A child that fails or is cancelled raises `ChildFailed`, each time that the task runs.
        """
        return await self._arun(_call(task, args, kwargs))

    async def map(
        self,
        task: "Submittable[[T], R]",
        items: Sequence[T],
        *,
        name: str | None = None,
        key: Key | None = None,
        window: int = WINDOW,
        on_end: OnEndWord = "cancel",
    ) -> list[R]:
        """Start a task for each item as children, and return their results in order, when all have ended.

        At most `window` of them have not ended at a time. All together are one record. If one of them failed,
        `ChildFailed` is raised, of the first that did.
        """
        results: list[R] = await self._arun(_map(task, items, name, key, window, on_end, keep_errors=False))
        return results

    async def map_outcomes(
        self,
        task: "Submittable[[T], R]",
        items: Sequence[T],
        *,
        name: str | None = None,
        key: Key | None = None,
        window: int = WINDOW,
        on_end: OnEndWord = "cancel",
    ) -> "list[R | ChildFailed]":
        """Do as `map`, with the error in the place of each child that failed."""
        results: list[R | ChildFailed] = await self._arun(
            _map(task, items, name, key, window, on_end, keep_errors=True)
        )
        return results

    @overload
    async def gather(
        self, one: "Call[A]", two: "Call[B]", /, *, name: str = ..., key: Key | None = ..., on_end: OnEndWord = ...
    ) -> tuple[A, B]: ...
    @overload
    async def gather(
        self,
        one: "Call[A]",
        two: "Call[B]",
        three: "Call[C]",
        /,
        *,
        name: str = ...,
        key: Key | None = ...,
        on_end: OnEndWord = ...,
    ) -> tuple[A, B, C]: ...
    @overload
    async def gather(
        self, *calls: "Call[R]", name: str = ..., key: Key | None = ..., on_end: OnEndWord = ...
    ) -> tuple[R, ...]: ...
    async def gather(
        self, *calls: "Call[Any]", name: str = "gather", key: Key | None = None, on_end: OnEndWord = "cancel"
    ) -> Any:
        """Start several tasks as children, and return their results when all have ended; all together are one record.

        If one of them failed, `ChildFailed` is raised, of the first that did.
        """
        return tuple(await self._arun(_gather(calls, name, key, on_end)))

    async def first(
        self, *calls: "Call[R]", name: str = "first", key: Key | None = None, on_end: OnEndWord = "cancel"
    ) -> R:
        """Start several tasks as children, and return the result of the first that completes; cancel the others.

        If none of them completes, `ChildFailed` is raised.
        """
        result: R = await self._arun(_first(calls, name, key, on_end))
        return result


class BlockingChildren:
    """The same for functions that are not async; each blocks its thread until it is done."""

    __slots__ = ()

    def _run(self, steps: Steps) -> Any:
        raise NotImplementedError

    @overload
    def call(self, task: "Submittable[P, R]", /, *args: P.args, **kwargs: P.kwargs) -> R: ...
    @overload
    def call(
        self, task: "Call[R]", /, *, name: str | None = None, key: Key | None = None, on_end: OnEndWord = "cancel"
    ) -> R: ...
    def call(self, task: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Start a task as a child and return its result; see `Context.call`."""
        return self._run(_call(task, args, kwargs))

    def map(
        self,
        task: "Submittable[[T], R]",
        items: Sequence[T],
        *,
        name: str | None = None,
        key: Key | None = None,
        window: int = WINDOW,
        on_end: OnEndWord = "cancel",
    ) -> list[R]:
        """Start a task for each item as children, and return their results in order; see `Context.map`."""
        results: list[R] = self._run(_map(task, items, name, key, window, on_end, keep_errors=False))
        return results

    def map_outcomes(
        self,
        task: "Submittable[[T], R]",
        items: Sequence[T],
        *,
        name: str | None = None,
        key: Key | None = None,
        window: int = WINDOW,
        on_end: OnEndWord = "cancel",
    ) -> "list[R | ChildFailed]":
        """Do as `map`, with the error in the place of each child that failed."""
        results: list[R | ChildFailed] = self._run(_map(task, items, name, key, window, on_end, keep_errors=True))
        return results

    @overload
    def gather(
        self, one: "Call[A]", two: "Call[B]", /, *, name: str = ..., key: Key | None = ..., on_end: OnEndWord = ...
    ) -> tuple[A, B]: ...
    @overload
    def gather(
        self,
        one: "Call[A]",
        two: "Call[B]",
        three: "Call[C]",
        /,
        *,
        name: str = ...,
        key: Key | None = ...,
        on_end: OnEndWord = ...,
    ) -> tuple[A, B, C]: ...
    @overload
    def gather(
        self, *calls: "Call[R]", name: str = ..., key: Key | None = ..., on_end: OnEndWord = ...
    ) -> tuple[R, ...]: ...
    def gather(
        self, *calls: "Call[Any]", name: str = "gather", key: Key | None = None, on_end: OnEndWord = "cancel"
    ) -> Any:
        """Start several tasks as children, and return their results when all have ended; see `Context.gather`."""
        return tuple(self._run(_gather(calls, name, key, on_end)))

    def first(self, *calls: "Call[R]", name: str = "first", key: Key | None = None, on_end: OnEndWord = "cancel") -> R:
        """Return the result of the first child that completes; see `Context.first`."""
        result: R = self._run(_first(calls, name, key, on_end))
        return result


def key_text(key: Key | None) -> str:
    """Return a key as it is recorded."""
    return "" if key is None else str(key)


def _call(task: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Steps:
    from drumline.sdk.task import Call, Submittable  # noqa: PLC0415 - it imports this module's context

    if isinstance(task, Submittable):
        return call_in_steps(task.name, "", task.call(*args, **kwargs), on_end_of("cancel"))
    if not isinstance(task, Call):
        raise TypeError(f"ctx.call takes a task and its arguments, or task.call(…), not {type(task).__name__}")
    return _call_with(task, *args, **kwargs)


def _call_with(
    call: "Call[Any]", *, name: str | None = None, key: Key | None = None, on_end: OnEndWord = "cancel"
) -> Steps:
    return call_in_steps(name or call.definition.name, key_text(key), call, on_end_of(on_end))


def _map(  # noqa: PLR0913 - one for each word of the call
    task: "Submittable[[T], R]",
    items: Sequence[T],
    name: str | None,
    key: Key | None,
    window: int,
    on_end: OnEndWord,
    *,
    keep_errors: bool,
) -> Steps:
    if not isinstance(items, Sequence):
        raise TypeError(f"ctx.map takes a list of items, not {type(items).__name__}: it is needed again after a crash")
    calls = LazyCalls(len(items), lambda place: task.call(items[place]), lambda _: task.definition.decode_result)
    return group_in_steps(
        name or task.name, key_text(key), calls, on_end=on_end_of(on_end), window=window, keep_errors=keep_errors
    )


def _gather(calls: "Sequence[Call[Any]]", name: str, key: Key | None, on_end: OnEndWord) -> Steps:
    _check(calls, "gather")
    lazy = LazyCalls(len(calls), lambda place: calls[place], lambda place: calls[place].definition.decode_result)
    return group_in_steps(
        name, key_text(key), lazy, on_end=on_end_of(on_end), window=max(len(calls), 1), keep_errors=False
    )


def _first(calls: "Sequence[Call[Any]]", name: str, key: Key | None, on_end: OnEndWord) -> Steps:
    _check(calls, "first")
    return first_in_steps(name, key_text(key), calls, on_end_of(on_end))


def _check(calls: "Sequence[Call[Any]]", of: str) -> None:
    from drumline.sdk.task import Call  # noqa: PLC0415 - it imports this module's context

    for number, call in enumerate(calls):
        if not isinstance(call, Call):
            raise Invalid("must be a call, as task.call(…) gives it", field=f"ctx.{of}[{number}]")
