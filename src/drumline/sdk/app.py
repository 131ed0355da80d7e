"""The app: where tasks are defined, and how they reach Drumline."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from functools import cached_property, partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Generic, Never, ParamSpec, TypeVar, Unpack, overload

from msgspec import Raw

from drumline.core.duration import Duration
from drumline.core.ids import parse_job_id, parse_task_id
from drumline.core.names import check_name, check_version
from drumline.core.task import TaskRequest
from drumline.sdk.app_hooks import AppHooks, AroundT, BeforeSubmitT
from drumline.sdk.arguments import encode_arguments
from drumline.sdk.checking import TEXT, check_kind, check_options, wrong
from drumline.sdk.client import Client, Forks, id_or_raise, warn_if_blocking
from drumline.sdk.context import current_or_none
from drumline.sdk.definition import Registry, define
from drumline.sdk.embedded import open_embedded, opened_here, worker_running
from drumline.sdk.handle import TaskHandle
from drumline.sdk.http import HttpTransport
from drumline.sdk.locate import Direct, check_asked, locate
from drumline.sdk.options import BatchOptions, DecoratorOptions, Options, SubmitOptions, apply, defaults_of, mode_of
from drumline.sdk.submit_many import SubmitsMany
from drumline.sdk.task import AsyncTask, Submittable, Task
from drumline.sdk.transaction import client_in, submit_one
from drumline.sdk.transport import Transport

if TYPE_CHECKING:
    from drumline.sdk.batch import BatchDecorator
    from drumline.sdk.cron import CronDecorator, CronOptions, ScheduleRegistry
    from drumline.sdk.dag import Dag, DagOptions
    from drumline.sdk.job_handle import JobHandle

P = ParamSpec("P")
if TYPE_CHECKING:
    from typing_extensions import TypeVar as TypeVarWithDefault

    # What an async generic function returns is not known before it is called: Any, not Never.
    R = TypeVarWithDefault("R", default=Any)
else:
    R = TypeVar("R")
StateT = TypeVar("StateT")
T = TypeVar("T")

Lifespan = Callable[[], AbstractAsyncContextManager[StateT]]
"""Opened once per worker process; what it yields is `Context.state`."""


class Decorator:
    """`@app.task(…)` with settings: takes the function, async or not."""

    def __init__(self, app: "Drumline[Any]", settings: DecoratorOptions) -> None:
        self._app = app
        self._settings = settings

    # A generic function fits the first form, since its result may be anything; type checkers cannot carry it on.
    # An async function is a plain one that returns a coroutine, so the last form takes in the one before; that wins.
    @overload
    def __call__(self, function: Callable[..., Never]) -> Task[..., Any]: ...  # type: ignore[overload-overlap]
    @overload
    def __call__(self, function: Callable[P, Coroutine[Any, Any, R]]) -> AsyncTask[P, R]: ...  # type: ignore[overload-overlap]
    @overload
    def __call__(self, function: Callable[P, R]) -> Task[P, R]: ...
    def __call__(self, function: Callable[..., Any]) -> AsyncTask[..., Any] | Task[..., Any]:
        """Define the function as a task."""
        if isinstance(function, Submittable):
            raise TypeError(
                f"{function.name} is a task already: put all settings into one @app.task(…), below @app.cron and "
                "@app.every; for other settings of single submissions use .options(…)"
            )
        definition = define(
            function,
            name=self._settings.get("name"),
            mode=mode_of(self._settings),
            defaults=defaults_of(self._settings),
        )
        self._app.registry.add(definition)
        kind = AsyncTask if inspect.iscoroutinefunction(function) else Task
        return kind(definition, self._app)


class Drumline(SubmitsMany, Generic[StateT]):
    """Tasks of one program, and the way to Drumline.

    Without a `url` (nor DRUMLINE_URL) it looks for a server that runs on the data folder (`data`, DRUMLINE_DATA, or
    `./.drumline`), and without one opens the data folder itself; one that was not named must be there already, or
    `NoServer` is raised. With `direct` (or DRUMLINE_STORE_URL) it uses the
    database and the queue itself, without a server between. Nothing is opened before it is needed.

    Workers that serve the app are shown with its `version`, and charts mark when the first one of a new version comes;
    without it the version is that of the worker's settings (DRUMLINE_APP_VERSION).
    """

    @overload
    def __init__(
        self: "Drumline[None]",
        name: str,
        *,
        version: str | None = None,
        url: str | None = None,
        api_key: str | None = None,
        data: Path | str | None = None,
        direct: Direct | None = None,
        lifespan: None = None,
    ) -> None: ...
    @overload
    def __init__(
        self,
        name: str,
        *,
        version: str | None = None,
        url: str | None = None,
        api_key: str | None = None,
        data: Path | str | None = None,
        direct: Direct | None = None,
        lifespan: Lifespan[StateT],
    ) -> None: ...
    def __init__(  # noqa: PLR0913 - what a program may say of itself
        self,
        name: str,
        *,
        version: str | None = None,
        url: str | None = None,
        api_key: str | None = None,
        data: Path | str | None = None,
        direct: Direct | None = None,
        lifespan: Lifespan[StateT] | None = None,
    ) -> None:
        check_app(name, version=version, url=url, api_key=api_key, data=data, direct=direct, lifespan=lifespan)
        self.name = name
        self.version = version
        self.registry = Registry()
        self.hooks = AppHooks()
        self.lifespan = lifespan
        self._names_its_place = url is not None or direct is not None
        self._locate = partial(locate, url=url, api_key=api_key, data=data, direct=direct)
        self._lock = Lock()
        self._client: Client | None = None
        self._owner = 0
        self._is_lent = False
        """Whether the client is that of a `using` block."""

    # -- define

    @overload
    def task(self, function: Callable[..., Never], /) -> Task[..., Any]: ...  # type: ignore[overload-overlap]
    @overload
    def task(self, function: Callable[P, Coroutine[Any, Any, R]], /) -> AsyncTask[P, R]: ...  # type: ignore[overload-overlap]
    @overload
    def task(self, function: Callable[P, R], /) -> Task[P, R]: ...
    @overload
    def task(self, /, **settings: Unpack[DecoratorOptions]) -> Decorator: ...
    def task(self, function: Callable[..., Any] | None = None, /, **settings: Unpack[DecoratorOptions]) -> Any:
        """Define a function as a task: `@app.task`, or `@app.task(queue=…, retries=…)`.

        The function can still be called; `submit` and `asubmit` let a worker run it. Async functions run on the event
        loop of the worker, others in threads, and with `process=True` in child processes. The settings are in
        `DecoratorOptions`; a wrong one raises here.
        """
        decorator = Decorator(self, settings)
        return decorator if function is None else decorator(function)

    def batch(self, *, max: int, within: Duration, **options: Unpack[BatchOptions]) -> "BatchDecorator":
        """Define a function that handles many tasks in one call: `@app.batch(max=100, within="200ms")`.

        It takes a list of items and returns a list of as many results; an exception in the list is the outcome of its
        item. Each task has one item: `charge.submit(order)`. A worker calls it with the items that come within the
        time, at most `max`. If a call raises, its halves are called, until what raises is alone.
        """
        from drumline.sdk.batch import batch_decorator  # noqa: PLC0415 - only those who use it pay for it

        return batch_decorator(self, most=max, within=within, **options)

    def cron(self, expression: str, /, **options: Unpack["CronOptions"]) -> "CronDecorator":
        """Let a function run at times: `@app.cron("30 9 * * MON-FRI", tz="Europe/Berlin")`. It becomes a task."""
        from drumline.sdk.cron import CronDecorator, rule_for  # noqa: PLC0415 - only for those who use schedules

        return CronDecorator(self, rule_for(options, cron=expression), options)

    def every(self, interval: Duration, /, **options: Unpack["CronOptions"]) -> "CronDecorator":
        """Let a function run every so often: `@app.every("5m")`. It becomes a task."""
        from drumline.sdk.cron import CronDecorator, rule_for  # noqa: PLC0415 - only for those who use schedules

        return CronDecorator(self, rule_for(options, interval=interval), options)

    @cached_property
    def schedules(self) -> "ScheduleRegistry":
        """The schedules in this app's code; `app.schedules.preview(task)` says when one fires next."""
        from drumline.sdk.cron import ScheduleRegistry  # noqa: PLC0415 - only for those who use schedules

        return ScheduleRegistry()

    # -- hooks

    def before_submit(self, hook: BeforeSubmitT) -> BeforeSubmitT:
        """Call a function with the request of each task before it is submitted: `@app.before_submit`.

        It returns the request to submit, or None for no change; what it raises refuses the submission. It may be
        async. It is called for tasks that are submitted by themselves or with others, and not for those of jobs and
        schedules.
        """
        return self.hooks.add_before_submit(hook)

    def around(self, hook: AroundT) -> AroundT:
        """Run a generator around each execution of this app's tasks: `@app.around`.

        It gets an `Execution`, yields once, where the task runs, and is sent the `ExecutionEnd`. It may be async. What
        it raises before the yield fails the attempt; what it raises after is logged.
        """
        return self.hooks.add_around(hook)

    # -- values

    def codec(
        self,
        type: type[T],
        *,
        encode: Callable[[T], Any] | None = None,
        decode: Callable[[Any], T] | None = None,
        schema: Mapping[str, Any] | None = None,
    ) -> None:
        """Let arguments and results be of a type that JSON does not know: `app.codec(Money, encode=str, decode=Money)`.

        `encode` returns what can be written as JSON, `decode` the value again. Without them a known codec is used: for
        `pandas.DataFrame`, `pyarrow.Table` and `numpy.ndarray`. A codec holds for the whole process; call this where
        tasks are defined, so that workers and clients have it.
        """
        from drumline.sdk.codecs import Codec, register  # noqa: PLC0415 - only those who use it pay for it

        if (encode is None) is not (decode is None):
            raise TypeError("app.codec: give encode and decode, or neither")
        if encode is None or decode is None:
            register(type)
        else:
            register(type, Codec(encode=encode, decode=decode, schema=schema or {}))

    # -- submit

    def submit_task(self, name: str, payload: Any = None, **options: Unpack[SubmitOptions]) -> TaskHandle[Any]:
        """Submit a task by name: one of Drumline's own, or one whose function lives elsewhere."""
        warn_if_blocking("asubmit_task")
        tx = options.pop("tx", None)
        request = self.hooks.prepare(_request(name, payload, options))
        client = self.client if tx is None else client_in(self, tx)
        return TaskHandle(client.submit(request), client)

    async def asubmit_task(self, name: str, payload: Any = None, **options: Unpack[SubmitOptions]) -> TaskHandle[Any]:
        """Submit a task by name, as `submit_task` does."""
        tx = options.pop("tx", None)
        request = await self.hooks.aprepare(_request(name, payload, options))
        if tx is not None:
            client = client_in(self, tx)
            return TaskHandle(id_or_raise(await submit_one(client, request)), client)
        client = await self.aclient()
        return TaskHandle(await client.asubmit(request), client)

    def signal(self, name: str, payload: Any = None, *, key: str, id: str | None = None) -> bool:
        """Send a signal to whichever task waits for it with this key as its correlation; return whether it is new.

        It is kept if none does yet. The same `id` twice is one signal.
        """
        warn_if_blocking("asignal")
        from drumline.sdk.sending import send_signal  # noqa: PLC0415 - only those who send signals pay for it

        return self.client.transport.send(send_signal(name, payload, id=id, key=key)).created

    async def asignal(self, name: str, payload: Any = None, *, key: str, id: str | None = None) -> bool:
        """Send a signal by its key, as `signal` does."""
        from drumline.sdk.sending import send_signal  # noqa: PLC0415

        client = await self.aclient()
        return (await client.transport.asend(send_signal(name, payload, id=id, key=key))).created

    def handle(self, id: str) -> TaskHandle[Any]:
        """Return the handle of a task that was submitted earlier, or elsewhere."""
        return TaskHandle(parse_task_id(id), self.client)

    # -- jobs, whose modules only those load who use them

    def dag(self, name: str, **options: Unpack["DagOptions"]) -> "Dag":
        """Begin a job: tasks that take each other's results, submitted as one. Use it in a `with` statement."""
        from drumline.sdk.dag import Dag  # noqa: PLC0415

        return Dag(name, self, options)

    def job(self, id: str) -> "JobHandle[Any]":
        """Return the handle of a job that was submitted earlier, or elsewhere."""
        from drumline.sdk.job_handle import JobHandle  # noqa: PLC0415

        return JobHandle(parse_job_id(id), self.client)

    # -- connect

    @property
    def client(self) -> Client:
        """The client, connected on first use; a forked child gets its own."""
        client = self.client_at_hand
        if client is not None:
            return client
        with self._lock:
            if self._client is None or self._owner != Forks.count:
                self._client, self._owner = Client(self._connect()), Forks.count
            return self._client

    @property
    def client_at_hand(self) -> Client | None:
        """The client, if it is connected already."""
        return self._client if self._owner == Forks.count else None

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run a worker for this app in this process inside the block: for scripts and tests.

        It works on the data folder; an app that names a server leaves the work to that server's workers.
        """
        place = self._locate()
        if place.is_sure:
            raise RuntimeError(f"this app submits to {place.url}: start a worker there, with `drumline worker`")
        transport = open_embedded(place)
        try:
            with self._lock:
                before, self._client, self._owner = self._client, Client(transport), Forks.count
            with worker_running(self, transport, frozenset(self.registry.names)):
                yield
        finally:
            with self._lock:
                self._client = before
            transport.close()

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[None]:
        """Stay connected inside the block, for async programs: enter it where the program starts.

        An app that uses the backends itself (`direct`, or a data folder without a server) does so on this event
        loop, with no thread between: the fastest way to submit. When the block begins, what the first task needs is
        ready. Inside `using`, such as in a world of `drumline.testing`, it keeps the client of that block.
        """
        if self._is_lent:
            yield
            return
        place = self._locate()
        if place.url is not None:
            await self.aclient()
            yield
            return
        check_asked(place)
        async with opened_here(place) as transport:
            self.use(transport)
            try:
                yield
            finally:
                self.close()

    async def aclient(self) -> Client:
        """Return the client, connecting without blocking the event loop."""
        # The server to find may be served by this very loop: a blocking look would wait for itself.
        client = self.client_at_hand
        return client if client is not None else await asyncio.to_thread(lambda: self.client)

    def use(self, transport: Transport, *, unless_named: bool = False) -> None:
        """Use this transport from now on, instead of finding one.

        A process that works for the app hands it the way to its own engine with `unless_named`, so that tasks submit
        to where they came from; an app that names a server or backends keeps them.
        """
        if unless_named and self._names_its_place:
            return
        with self._lock:
            self._client, self._owner = Client(transport), Forks.count

    @contextmanager
    def using(self, client: Client) -> Iterator[None]:
        """Use this client inside the block, and the former one after it: for tests."""
        with self._lock:
            before = self._client, self._owner, self._is_lent
            self._client, self._owner, self._is_lent = client, Forks.count, True
        try:
            yield
        finally:
            with self._lock:
                self._client, self._owner, self._is_lent = before

    def close(self) -> None:
        """Let go of connections; the app connects again when it is used again."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None and self._owner == Forks.count:
            client.close()

    def _connect(self) -> Transport:
        place = self._locate()
        if place.url is not None:
            transport = HttpTransport(place.url, api_key=place.api_key)
            if place.is_sure or transport.is_answering():
                return transport
            transport.close()
        if current_or_none() is not None and place.direct is None and not place.data.exists():
            # The task came from some other store: one made here would swallow what it submits.
            raise RuntimeError(
                f"a task cannot submit from here: no server is named and there is no data folder {place.data}; "
                "set DRUMLINE_URL, or DRUMLINE_DATA to the worker's data folder"
            )
        check_asked(place)
        return open_embedded(place)

    def __repr__(self) -> str:
        return f"<Drumline {self.name}: {len(self.registry)} tasks>"


def check_app(name: Any, **given: Any) -> None:
    """Raise `TypeError` or `Invalid` for what `Drumline(…)` cannot be made with."""
    of = "Drumline"
    check_kind("name", name, TEXT, of=of)
    check_name(name)
    kinds = {**dict.fromkeys(given), "version": TEXT, "url": TEXT, "api_key": TEXT}
    check_options({key: value for key, value in given.items() if value is not None}, kinds, of=of)
    if given["version"]:
        check_version(given["version"])
    if not isinstance(given["data"], Path | str | None):
        raise wrong("data", "a path", given["data"], of=of)
    if not isinstance(given["direct"], Direct | None):
        raise wrong("direct", 'a Direct, such as Direct(store="postgresql://…")', given["direct"], of=of)
    if given["lifespan"] is not None and not callable(given["lifespan"]):
        raise wrong("lifespan", "an async context manager function", given["lifespan"], of=of)


def _request(name: str, payload: Any, options: Options) -> TaskRequest:
    check_kind("name", name, TEXT, of="submit_task")
    check_name(name)
    raw = payload if isinstance(payload, Raw) else Raw(encode_arguments({} if payload is None else payload))
    return apply(TaskRequest(name=name, payload=raw), options, of="submit_task")
