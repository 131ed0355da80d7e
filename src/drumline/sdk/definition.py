"""What a task is made of: a function, its name, where it runs, and what is the default for its submissions."""

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw, Struct

from drumline.core.codec import explain
from drumline.core.errors import Invalid, NotFound
from drumline.core.flow import LimitRequest
from drumline.core.names import check_name
from drumline.core.retry import Backoff
from drumline.core.session import TaskType
from drumline.core.task_type import TypeDefaults
from drumline.sdk.arguments import Arguments, encode_result, resolve_hints, unwritable
from drumline.sdk.context import Context
from drumline.sdk.hooks import decode_hook, readable_hint
from drumline.sdk.signals import Permanent, Signal


class Mode(StrEnum):
    """Where a worker runs the function."""

    ASYNC = "async"  # on its event loop
    THREAD = "thread"  # in a thread, for functions that block
    PROCESS = "process"  # in a child process, for functions that compute


class Defaults(Struct, frozen=True, kw_only=True):
    """What a submission of the task gets unless it says otherwise, and which of its errors are worth a retry.

    What is None is left to the type as workers publish it, and else to the installation.
    """

    queue: str | None = None
    priority: int | None = None
    retries: int | None = None
    backoff: Backoff | None = None
    timeout: timedelta | None = None
    tags: tuple[str, ...] | None = None
    expires: timedelta | None = None
    retry_on: tuple[type[BaseException], ...] | None = None
    """If given, only these errors are retried; None retries every error."""
    give_up_on: tuple[type[BaseException], ...] = ()
    """Errors that are never retried, whatever `retry_on` says."""
    limit: LimitRequest | None = None
    """How many of it run at once and how often they start, if its code says so."""

    def published(self) -> TypeDefaults:
        """Return them as a worker publishes them, for submissions from elsewhere."""
        return TypeDefaults(
            queue=self.queue,
            priority=self.priority,
            retries=self.retries,
            backoff=self.backoff,
            timeout=None if self.timeout is None else self.timeout.total_seconds(),
            tags=self.tags,
            expires=None if self.expires is None else self.expires.total_seconds(),
        )


class BatchSettings(Struct, frozen=True, kw_only=True):
    """A function that handles many tasks in one call, and how many are gathered for how long."""

    function: Callable[..., Any]
    most: int
    seconds: float


@dataclass(frozen=True, kw_only=True)
class TaskDefinition:
    """A function as a task. Made by `define`; workers read it, nothing changes it."""

    name: str
    function: Callable[..., Any] = field(repr=False)
    mode: Mode
    doc: str = field(default="", repr=False)
    defaults: Defaults = field(default_factory=Defaults, repr=False)
    arguments: Arguments = field(repr=False, compare=False)
    batch: BatchSettings | None = field(default=None, repr=False, compare=False)
    """Set for a function that handles many tasks in one call; `function` is then that of one item."""

    def payload(self, *args: Any, **kwargs: Any) -> Raw:
        """Return a call as the JSON object of its arguments; a call that does not fit raises `TypeError`."""
        return self.arguments.payload(args, kwargs)

    def bind(self, payload: bytes | Raw) -> dict[str, Any]:
        """Return a payload's values by parameter, checked by their annotations, or raise `Invalid` naming the field."""
        return self.arguments.bind(payload)

    def invoke(self, bound: Mapping[str, Any], context: Context[Any] | None) -> Any:
        """Call the function with bound values, its injected parameters filled; an async one returns its coroutine.

        A function that has no injected parameters needs no context here.
        """
        arguments = self.arguments
        if arguments.is_plain and not arguments.injected:
            return self.function(**bound)
        args, kwargs = arguments.spread(bound)
        for name in arguments.injected:
            kwargs[name] = context
        return self.function(*args, **kwargs)

    def encode_result(self, value: Any) -> Raw:
        """Return what the function returned as JSON, or raise `Invalid`."""
        try:
            return Raw(encode_result(value))
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            raise Invalid(unwritable(error), field="result") from error

    def decode_result(self, result: bytes | Raw) -> Any:
        """Return a result as the type that the function is annotated to return."""
        try:
            return self._decode_result(result)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise explain(error, field="result") from error

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the payload."""
        return self.arguments.schema()

    def published(self) -> TaskType:
        """Return the task as a worker publishes it when it starts."""
        return TaskType(name=self.name, doc=self.doc, schema=self.schema(), defaults=self.defaults.published())

    def is_permanent(self, error: BaseException) -> bool:
        """Tell whether an error of the function means that trying again is of no use."""
        if isinstance(error, Signal):
            return isinstance(error, Permanent)
        if isinstance(error, self.defaults.give_up_on):
            return True
        return self.defaults.retry_on is not None and not isinstance(error, self.defaults.retry_on)

    @property
    def module(self) -> str:
        """The module from which another process imports the function."""
        return module_of(self.function)

    @cached_property
    def _decode_result(self) -> Callable[[bytes | Raw], Any]:
        function = inspect.unwrap(self.function)
        others = tuple(name for name in inspect.get_annotations(function) if name != "return")
        hint = resolve_hints(function, self.name, leave_out=others).get("return", Any)
        return msgspec.json.Decoder(readable_hint(hint), dec_hook=decode_hook).decode


def define(
    function: Callable[..., Any],
    *,
    name: str | None = None,
    mode: Mode | None = None,
    defaults: Defaults | None = None,
    batch: BatchSettings | None = None,
) -> TaskDefinition:
    """Return a function as a task definition; raises `TypeError` for what cannot be one."""
    _check_function(function, name)
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError(f"{function.__qualname__} is a generator; a task must return its result")
    name = default_name(function) if name is None else check_name(name)
    is_async = inspect.iscoroutinefunction(function)
    mode = mode or (Mode.ASYNC if is_async else Mode.THREAD)
    if is_async is not (mode is Mode.ASYNC):
        kind = "an async function" if is_async else "a plain function"
        raise TypeError(f"{name} is {kind} and cannot run in mode {mode.value!r}")
    arguments = Arguments(function, task=name)
    arguments.check()
    return TaskDefinition(
        name=name,
        function=function,
        mode=mode,
        doc=inspect.getdoc(function) or "",
        defaults=defaults or Defaults(),
        arguments=arguments,
        batch=batch,
    )


def _check_function(function: Any, name: str | None) -> None:
    """Raise `TypeError` for what is not a function, and for a function that needs a name and has none."""
    if isinstance(function, str):
        raise TypeError(f"@app.task takes a function, not {function!r}: write @app.task(name={function!r})")
    if not callable(function) or isinstance(function, type):
        raise TypeError(f"@app.task takes a function, not {function!r}")
    if name is None and getattr(function, "__name__", "<lambda>") == "<lambda>":
        raise TypeError(
            f"{function!r} has no name by which a worker could find it: define it with def, or write "
            'app.task(name="…")(…)'
        )


def default_name(function: Callable[..., Any]) -> str:
    """Return `module.qualname`; a function of the program itself gets the name it has when a worker imports it."""
    return check_name(f"{module_of(function)}.{function.__qualname__}")


def module_of(function: Callable[..., Any]) -> str:
    """Return the module to import a function from; `__main__` is known by another name to other processes."""
    if function.__module__ != "__main__":
        return function.__module__
    main = sys.modules["__main__"]
    spec = getattr(main, "__spec__", None)
    file = getattr(main, "__file__", None)
    if spec is not None:
        return str(spec.name)
    return Path(file).stem if file else "__main__"


class Registry:
    """The functions of an app by task name."""

    def __init__(self) -> None:
        self._definitions: dict[str, TaskDefinition] = {}

    def add(self, definition: TaskDefinition) -> None:
        """Register a definition; a name has one function, which a reload of its module may replace."""
        known = self._definitions.get(definition.name)
        if known is not None and _place(known) != _place(definition):
            owner = ".".join(_place(known))
            raise ValueError(f"the task name {definition.name!r} is taken by {owner}; give one of them another name=")
        self._definitions[definition.name] = definition

    def get(self, name: str) -> TaskDefinition:
        """Return the definition of a name, or raise `NotFound`."""
        definition = self._definitions.get(name)
        if definition is None:
            raise NotFound(f"there is no task named {name!r} here", field="name")
        return definition

    def published(self) -> tuple[TaskType, ...]:
        """Return every task as a worker publishes it; raises `TypeError` for annotations that make no sense."""
        return tuple(definition.published() for definition in self)

    @property
    def names(self) -> tuple[str, ...]:
        """The registered names."""
        return tuple(self._definitions)

    def __contains__(self, name: str) -> bool:
        return name in self._definitions

    def __iter__(self) -> Iterator[TaskDefinition]:
        return iter(tuple(self._definitions.values()))

    def __len__(self) -> int:
        return len(self._definitions)


def _place(definition: TaskDefinition) -> tuple[str, str]:
    return definition.function.__module__, definition.function.__qualname__
