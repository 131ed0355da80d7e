"""Functions that handle many tasks in one call: `@app.batch(max=100, within="200ms")`.

Each task has one item. A worker gathers items that come within the time, calls the function with their list, and each
task gets its own outcome from the list that is returned.
"""

import inspect
from collections.abc import Callable, Coroutine, Sequence
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Any,
    Generic,
    TypeVar,
    Union,
    Unpack,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

from drumline.core.duration import Duration, parse_duration
from drumline.core.errors import Invalid
from drumline.sdk.checking import DURATION, WHOLE, check_kind
from drumline.sdk.definition import BatchSettings, Mode, define
from drumline.sdk.options import BatchOptions, DecoratorOptions, defaults_of, request_of
from drumline.sdk.task import Submittable

if TYPE_CHECKING:
    from drumline.sdk.app import Drumline

A = TypeVar("A")
R = TypeVar("R")

OF = "@app.batch"
MOST_ITEMS = 10_000
LONGEST_SECONDS = 60.0


class BatchTask(Submittable[[A], R], Generic[A, R]):
    """A function of many items as a task of one: calling it calls the function, with a list."""

    def __init__(
        self, function: Callable[..., Any], app: "Drumline[Any]", settings: BatchSettings, options: BatchOptions
    ) -> None:
        defaults = defaults_of(cast("DecoratorOptions", options))  # of which they are a part; it checks them
        definition = define(
            item_function(function),
            name=options.get("name"),
            mode=Mode.ASYNC if inspect.iscoroutinefunction(function) else Mode.THREAD,
            defaults=defaults,
            batch=settings,
        )
        super().__init__(definition, app, request_of(definition.name, definition.defaults))
        self._function = function
        self.__doc__ = function.__doc__
        self.__name__ = function.__name__

    def __call__(self, items: list[A]) -> Any:
        """Call the function here and now, with a list of items."""
        return self._function(items)


class BatchDecorator:
    """`@app.batch(…)` with settings: takes the function, async or not."""

    def __init__(self, app: "Drumline[Any]", settings: tuple[int, float], options: BatchOptions) -> None:
        self._app = app
        self._settings = settings
        self._options = options

    # An exception in the returned list is the outcome of its item, and no result.
    @overload
    def __call__(
        self, function: Callable[[list[A]], Coroutine[Any, Any, Sequence[R | Exception]]]
    ) -> BatchTask[A, R]: ...
    @overload
    def __call__(self, function: Callable[[list[A]], Sequence[R | Exception]]) -> BatchTask[A, R]: ...
    def __call__(self, function: Callable[..., Any]) -> BatchTask[Any, Any]:
        """Define the function as a task of one item."""
        most, seconds = self._settings
        task: BatchTask[Any, Any] = BatchTask(
            function, self._app, BatchSettings(function=function, most=most, seconds=seconds), self._options
        )
        self._app.registry.add(task.definition)
        return task


def batch_decorator(
    app: "Drumline[Any]", *, most: int, within: Duration, **options: Unpack[BatchOptions]
) -> BatchDecorator:
    """Return the decorator, or raise `TypeError` or `Invalid` for settings that make no sense."""
    check_kind("max", most, WHOLE, of=OF)
    check_kind("within", within, DURATION, of=OF)
    if not 1 <= most <= MOST_ITEMS:
        raise Invalid(f"must be from 1 to {MOST_ITEMS}", field="max")
    seconds = parse_duration(within, field="within").total_seconds()
    if seconds > LONGEST_SECONDS:
        raise Invalid(f"must be at most {LONGEST_SECONDS:g} s", field="within")
    return BatchDecorator(app, (most, seconds), options)


def item_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of one item, with the annotations of the items of a function of a list."""
    parameters = list(inspect.signature(function).parameters.values())
    if len(parameters) != 1:
        raise TypeError(f"{OF}: {function.__qualname__} must have one parameter, the list of items")
    try:
        hints = get_type_hints(function, include_extras=True)
    except NameError as error:
        raise TypeError(
            f"{function.__qualname__}: an annotation cannot be read: {error}; import it for real"
        ) from error
    item_type = _element(hints.get(parameters[0].name, Any), function, parameters[0].name)
    result_type = _without_errors(_element(hints.get("return", Any), function, "return"))
    if inspect.iscoroutinefunction(function):

        async def of_one(item: Any) -> Any:
            (result,) = await function([item])
            return result

        made: Callable[..., Any] = of_one
    else:

        def of_one_blocking(item: Any) -> Any:
            (result,) = function([item])
            return result

        made = of_one_blocking
    made.__annotations__ = {"item": item_type, "return": result_type}
    made.__module__, made.__doc__ = function.__module__, function.__doc__
    made.__name__, made.__qualname__ = function.__name__, function.__qualname__
    return made


def _element(hint: Any, function: Callable[..., Any], where: str) -> Any:
    """Return the type of the elements of a list that a parameter or the result is annotated with."""
    if hint is Any or hint is list or hint is None or hint is type(None):
        return Any
    if get_origin(hint) in {list, Sequence} and get_args(hint):
        return get_args(hint)[0]
    raise TypeError(f"{OF}: {function.__qualname__}: annotate {where} as a list, not {hint}")


def _without_errors(hint: Any) -> Any:
    """Return a union without its exceptions, which are outcomes and no results."""
    if get_origin(hint) not in {Union, UnionType}:
        return hint
    kept = [each for each in get_args(hint) if not (isinstance(each, type) and issubclass(each, BaseException))]
    return Union[tuple(kept)] if kept else Any  # noqa: UP007 - of a list that is known at run time only
