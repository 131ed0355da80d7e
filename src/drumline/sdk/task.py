"""A function as a task: call it as ever, or submit it.

`Task` and `AsyncTask` differ only in what a plain call gives, so that type checkers see the function's own signature;
everything else is `Submittable`, which is also what `.options(…)` gives.
"""

from collections.abc import Callable, Coroutine
from functools import update_wrapper
from typing import TYPE_CHECKING, Any, Concatenate, Final, Generic, ParamSpec, Protocol, TypeVar, Unpack, cast, overload

from msgspec import Raw, Struct
from msgspec.structs import replace

from drumline.core.ids import TaskId
from drumline.core.task import TaskRequest
from drumline.sdk.app_hooks import AppHooks
from drumline.sdk.arguments import Encode, encode_arguments
from drumline.sdk.client import Client, id_or_raise, warn_if_blocking
from drumline.sdk.context import current_or_none
from drumline.sdk.definition import TaskDefinition
from drumline.sdk.handle import TaskHandle
from drumline.sdk.options import SubmitOptions, apply, request_of
from drumline.sdk.transaction import TX, client_in, submit_one

if TYPE_CHECKING:
    from drumline.sdk.chain import Chain

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
S = TypeVar("S")
_CELERY: Final = {
    "delay": "submit(…)",
    "apply_async": "options(delay=…).submit(…)",
    "apply": "submit(…).result()",
    "s": "call(…)",
    "si": "call(…)",
    "signature": "call(…)",
}
"""What replaces Celery's methods of a task."""
R_co = TypeVar("R_co", covariant=True)
"""Calls of tasks with different results may stand in one list."""


class HasClient(Protocol):
    """Where a task gets its client when it needs one, and the hooks of its submissions."""

    @property
    def hooks(self) -> AppHooks:
        """The hooks of the app."""
        ...

    @property
    def client(self) -> Client:
        """The client, connected on first use."""
        ...

    @property
    def client_at_hand(self) -> Client | None:
        """The client, if it is connected already."""
        ...

    async def aclient(self) -> Client:
        """Return the client, connecting without blocking the event loop."""
        ...


class Call(Struct, Generic[R_co], frozen=True):
    """A call that is not submitted yet, for `submit_many` or as the first of a chain."""

    request: TaskRequest
    definition: TaskDefinition
    app: HasClient

    def then(self, task: "Submittable[Concatenate[R_co, Q], S]", /, *args: Q.args, **kwargs: Q.kwargs) -> "Chain[S]":
        """Return a chain: the task gets this call's result as its first argument, and these as the others."""
        from drumline.sdk.chain import Chain  # noqa: PLC0415 - only those who use jobs pay for them

        return Chain(self.app, self, ((task, args, kwargs),))

    def handle(self, id: TaskId, client: Client) -> TaskHandle[R_co]:
        """Return the handle of the task that the call became."""
        return TaskHandle(id, client, self.definition.decode_result)


class Submittable(Generic[P, R]):
    """A task with what is said about its submissions."""

    def __init__(self, definition: TaskDefinition, app: HasClient, request: TaskRequest, *, tx: object = None) -> None:
        self.definition = definition
        self._app = app
        self._request = request
        self._tx = tx
        self._payload = definition.arguments.payload
        self._decode: Callable[[Raw], Any] = definition.decode_result

    @property
    def name(self) -> str:
        """The task's name."""
        return self.definition.name

    @overload
    def submit(self, *args: P.args, **kwargs: P.kwargs) -> TaskHandle[R]: ...
    @overload
    def submit(self, *args: Any, tx: object, **kwargs: Any) -> TaskHandle[R]: ...
    def submit(self, *args: Any, **kwargs: Any) -> TaskHandle[R]:
        """Submit a call; when this returns, the task is durable.

        With `tx`, a connection or session, it is stored in the transaction that is open there, and starts after the
        commit. Prefer `.options(tx=…).submit(…)`, in which type checkers see the arguments.
        """
        warn_if_blocking("asubmit")
        tx = self._tx if TX not in kwargs else self._taken_tx(kwargs)
        request = self.request_for(args, kwargs)
        self.definition.arguments.refuse_unfit(request.payload)
        request = self._app.hooks.prepare(request)
        client = self._app.client if tx is None else client_in(self._app, tx)
        return TaskHandle(client.submit(request), client, self.definition.decode_result)

    @overload
    async def asubmit(self, *args: P.args, **kwargs: P.kwargs) -> TaskHandle[R]: ...
    @overload
    async def asubmit(self, *args: Any, tx: object, **kwargs: Any) -> TaskHandle[R]: ...
    async def asubmit(self, *args: Any, **kwargs: Any) -> TaskHandle[R]:
        """Submit a call; concurrent ones on this event loop travel together. `tx` as in `submit`."""
        tx = self._tx if TX not in kwargs else self._taken_tx(kwargs)
        request = self.request_for(args, kwargs)
        self.definition.arguments.refuse_unfit(request.payload)
        hooks = self._app.hooks
        if hooks.before_submit:
            request = await hooks.aprepare(request)
        if tx is not None:
            client = client_in(self._app, tx)
            return TaskHandle(id_or_raise(await submit_one(client, request)), client, self._decode)
        client = self._app.client_at_hand or await self._app.aclient()
        answer = await client.joined(request)  # no coroutine between: this is done for every task
        return TaskHandle(id_or_raise(answer), client, self._decode)

    def call(self, *args: P.args, **kwargs: P.kwargs) -> Call[R]:
        """Return a call for `submit_many`, or to begin a chain: `a.call(1).then(b)`."""
        return Call(self.request_for(args, kwargs), self.definition, self._app)

    def options(self, **options: Unpack[SubmitOptions]) -> "Submittable[P, R]":
        """Return the task with other settings for its submissions: `charge.options(delay="1m").submit(7)`.

        It takes `queue`, `priority`, `delay` or `run_at`, `retries`, `backoff`, `timeout`, `expires`, `key` (the
        idempotency key), `collapse`, `limit_key`, `tags`, `notify` and `tx`. The task itself stays as it is.
        """
        tx = options.pop("tx", self._tx)
        return Submittable(self.definition, self._app, apply(self._request, options), tx=tx)

    def handle(self, id: str) -> TaskHandle[R]:
        """Return the handle of a task that was submitted earlier, or elsewhere."""
        return TaskHandle(TaskId(id), self._app.client, self.definition.decode_result)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"

    if not TYPE_CHECKING:  # a type checker that saw it would take every name for an attribute

        def __getattr__(self, name: str) -> Any:
            """Say what Celery's methods are called here."""
            hint = _CELERY.get(name)
            raise AttributeError(
                f"{type(self).__name__!r} object has no attribute {name!r}"
                + (f": write task.{hint}; Celery's own interface is drumline.compat.celery" if hint else ""),
                name=name,
                obj=self,
            )

    def _taken_tx(self, kwargs: dict[str, Any]) -> object:
        """Return the transaction of a call, taken from its arguments; a parameter called `tx` is the task's own."""
        return self._tx if self.definition.arguments.has(TX) else kwargs.pop(TX)

    def request_for(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], encode: Encode = encode_arguments
    ) -> TaskRequest:
        """Return the request of one call, its arguments written by `encode`."""
        return replace(self._request, payload=self._payload(args, kwargs, encode))


class _Callable(Submittable[P, R]):
    """Keeps the function's name and documentation, and calls it in place."""

    __wrapped__: Callable[..., Any]

    def __init__(self, definition: TaskDefinition, app: HasClient) -> None:
        super().__init__(definition, app, request_of(definition.name, definition.defaults))
        # Tasks are callable; this class leaves to its two kinds what a call gives.
        update_wrapper(cast("Callable[..., Any]", self), definition.function)

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        # Inside another task the caller's context serves; elsewhere the function keeps its marker, or gets a fake.
        context = current_or_none() if self.definition.arguments.injected else None
        if context is not None:
            kwargs = dict.fromkeys(self.definition.arguments.injected, context) | kwargs
        return self.definition.function(*args, **kwargs)


class Task(_Callable[P, R]):
    """A plain function as a task; calling it calls the function, here and now."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function here and now."""
        result: R = self._call(args, kwargs)
        return result


class AsyncTask(_Callable[P, R]):
    """An async function as a task; calling it gives the function's coroutine."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, R]:
        """Return the function's coroutine, to be awaited here and now."""
        coroutine: Coroutine[Any, Any, R] = self._call(args, kwargs)
        return coroutine
