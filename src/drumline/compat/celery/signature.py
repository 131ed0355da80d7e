"""A signature: a call of a task that is not submitted yet.

It is a dictionary, as in Celery, so that it can be an argument or a result. Nothing here talks to Drumline:
`compat/celery/graph.py` makes a job of a signature, and `compat/celery/eager.py` runs one on the spot.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

from drumline.compat.celery.state import current_app, new_id

if TYPE_CHECKING:
    from drumline.compat.celery.app import Celery

KINDS: Final[dict[str, type["Signature"]]] = {}
"""How signatures are put together (`canvas.py`), by name."""


class Signature(dict[str, Any]):
    """A call of a task that is not submitted yet."""

    KIND: ClassVar[str | None] = None

    def __init__(
        self,
        task: Any = None,
        args: Iterable[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
        options: Mapping[str, Any] | None = None,
        *,
        immutable: bool = False,
        app: "Celery | None" = None,
        **more: Any,
    ) -> None:
        if isinstance(task, Mapping):
            super().__init__(task)
        else:
            super().__init__(
                task=getattr(task, "name", task),
                args=tuple(args or ()),
                kwargs=dict(kwargs or {}),
                options={**(options or {}), **more},
                subtask_type=self.KIND,
                immutable=immutable,
            )
        self.given_app = app if app is not None else getattr(task, "bound_app", None)

    def __init_subclass__(cls) -> None:
        if cls.KIND is not None:
            KINDS.setdefault(cls.KIND, cls)

    # -- look

    @property
    def task(self) -> str:
        """The task's name."""
        return str(self["task"])

    @property
    def args(self) -> tuple[Any, ...]:
        """The positional arguments."""
        return tuple(self["args"])

    @args.setter
    def args(self, value: Iterable[Any]) -> None:
        self["args"] = tuple(value)

    @property
    def kwargs(self) -> dict[str, Any]:
        """The keyword arguments."""
        return dict.setdefault(self, "kwargs", {})

    @property
    def options(self) -> dict[str, Any]:
        """What is said about the submission."""
        return dict.setdefault(self, "options", {})

    @property
    def immutable(self) -> bool:
        """Whether it takes no result of the task before it."""
        return bool(self.get("immutable"))

    @property
    def id(self) -> str | None:
        """The id that `freeze` or `task_id` gave it."""
        return self.options.get("task_id")

    @property
    def app(self) -> "Celery":
        """The app that it is submitted through."""
        return self.given_app if self.given_app is not None else current_app()

    @property
    def type(self) -> Any:
        """The task, if this program has it."""
        return self.app.tasks[self.task]

    @property
    def name(self) -> str:
        """The task's name."""
        return self.task

    # -- change

    def clone(self, args: Iterable[Any] = (), kwargs: Mapping[str, Any] | None = None, **options: Any) -> Self:
        """Return a copy with arguments before its own, and with options over its own."""
        copy = self.copied()
        if not self.immutable:
            copy.args = (*args, *copy.args)
            copy.kwargs.update(kwargs or {})
        copy.options.update(options)
        return copy

    partial = clone

    def set(self, immutable: bool | None = None, **options: Any) -> Self:
        """Say something about the submission, and return the signature."""
        if immutable is not None:
            self["immutable"] = immutable
        self.options.update(options)
        return self

    def set_immutable(self, immutable: bool) -> None:
        """Let it take no result of the task before it."""
        self["immutable"] = immutable

    def link(self, callback: "Signature | Mapping[str, Any]") -> Any:
        """Submit another signature with the result, when this one has completed."""
        append_option(self.options, "link", callback)
        return callback

    def link_error(self, errback: "Signature | Mapping[str, Any]") -> Any:
        """Submit another signature when this one has failed."""
        append_option(self.options, "link_error", errback)
        return errback

    def on_error(self, errback: "Signature | Mapping[str, Any]") -> Self:
        """Do what `link_error` does, and return the signature."""
        self.link_error(errback)
        return self

    # -- submit

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the task here and now."""
        merged = self.clone(args, kwargs)
        return self.type(*merged.args, **merged.kwargs)

    def delay(self, *args: Any, **kwargs: Any) -> Any:
        """Submit it, with arguments before its own."""
        return self.apply_async(args, kwargs)

    def apply_async(self, args: Iterable[Any] = (), kwargs: Mapping[str, Any] | None = None, **options: Any) -> Any:
        """Submit it, with arguments before its own and options over its own."""
        from drumline.compat.celery.submit import submit  # noqa: PLC0415 - which imports this module

        return submit(self.with_arguments(args, kwargs or {}), options)

    def apply(self, args: Iterable[Any] = (), kwargs: Mapping[str, Any] | None = None, **options: Any) -> Any:
        """Run it here and now, and return what happened as a result."""
        from drumline.compat.celery.eager import run_eagerly  # noqa: PLC0415 - which imports this module

        return run_eagerly(self.with_arguments(args, kwargs or {}).set(**options))

    def freeze(self, _id: str | None = None, **_: Any) -> Any:
        """Give it an id before it is submitted, and return its result."""
        from drumline.compat.celery.result import AsyncResult  # noqa: PLC0415 - which imports this module

        task_id = self.options.setdefault("task_id", _id or new_id())
        return AsyncResult(task_id, app=self.given_app)

    def set_id(self, task_id: str) -> None:
        """Give it an id."""
        self.options["task_id"] = task_id

    def with_arguments(self, args: Iterable[Any], kwargs: Mapping[str, Any]) -> Self:
        """Return it with arguments before its own: of a canvas, before those of the tasks that run first."""
        return self.clone(args, kwargs)

    # -- together

    def __or__(self, other: Any) -> Any:  # a chain, and not the union of two dictionaries
        if not isinstance(other, Mapping):
            return NotImplemented
        return KINDS["chain"](self, signature(other))

    def __ror__(self, other: Any) -> Any:
        return KINDS["chain"](signature(other), self) if isinstance(other, Mapping) else NotImplemented

    def __ior__(self, other: Any) -> Any:
        return self.__or__(other)

    def flatten_links(self) -> list["Signature"]:
        """Return it and all signatures that are linked to it."""
        linked = [signature(each) for each in as_list(self.options.get("link"))]
        return [self, *(deep for each in linked for deep in each.flatten_links())]

    def election(self) -> Any:
        """Refuse: Drumline has no counterpart."""
        raise NotImplementedError("Drumline has no counterpart to election()")

    def stamp(self, *_: Any, **__: Any) -> Any:
        """Refuse: Drumline has no counterpart to stamps; `headers` travel with a task."""
        raise NotImplementedError("Drumline has no counterpart to stamps; use headers=, which travel with a task")

    @classmethod
    def from_dict(cls, written: Mapping[str, Any], app: "Celery | None" = None) -> "Signature":
        """Return a signature from its dictionary."""
        found: Signature = signature(written, app=app)
        return found

    def restore(self) -> None:
        """Make signatures of what it contains, after it was read from a dictionary: a single task contains none."""

    def __deepcopy__(self, _: Any) -> "Signature":
        return self.copied()

    def __copy__(self) -> "Signature":
        return self.copied()

    def __repr__(self) -> str:
        inside = [*map(repr, self.args), *(f"{name}={value!r}" for name, value in self.kwargs.items())]
        return f"{self.task}({', '.join(inside)})"

    def copied(self) -> Self:
        """Return a copy that shares no list of links with it."""
        options = {
            name: list(value) if name in {"link", "link_error"} and isinstance(value, list) else value
            for name, value in self.options.items()
        }
        written = {**self, "args": tuple(self["args"]), "kwargs": dict(self["kwargs"]), "options": options}
        copy = type(self).__new__(type(self))
        dict.__init__(copy, written)
        copy.given_app = self.given_app
        return copy


def signature(task: Any, args: Any = None, kwargs: Any = None, **options: Any) -> Any:
    """Return a signature: of a task or its name, or from the dictionary of one."""
    if isinstance(task, Signature):
        return task
    if isinstance(task, Mapping):
        return _from_dict(task, options.get("app"))
    app, immutable = options.pop("app", None), options.pop("immutable", False)
    more = options.pop("options", None) or {}
    return Signature(task, args, kwargs, {**more, **options}, immutable=immutable, app=app)


subtask = maybe_signature = signature


def _from_dict(written: Mapping[str, Any], app: "Celery | None") -> Signature:
    kind = KINDS.get(written.get("subtask_type") or "", Signature)
    new = kind.__new__(kind)
    dict.__init__(
        new,
        {
            "subtask_type": None, "immutable": False, **written, "args": tuple(written.get("args") or ()),
            "kwargs": dict(written.get("kwargs") or {}), "options": dict(written.get("options") or {}),
        },
    )  # fmt: skip
    new.given_app = app
    new.restore()
    return new


def append_option(options: dict[str, Any], name: str, value: Any) -> None:
    """Append a signature to an option that is a list of them, if it is not there yet."""
    known = as_list(options.get(name))
    if value not in known:
        options[name] = [*known, value]


def as_list(value: Any) -> list[Any]:
    """Return an option that is one thing, several or nothing, as a list."""
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]
