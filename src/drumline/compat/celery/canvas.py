"""Signatures and how they are put together: `add.s(1) | mul.s(2)`, `group(…)`, `chord(header, body)`.

A signature is a dictionary, as in Celery, so that it can be an argument or a result. Nothing here talks to Drumline:
`compat/celery/graph.py` makes a job of a signature, and `compat/celery/eager.py` runs one on the spot.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

from drumline.compat.celery.state import current_app, new_id

if TYPE_CHECKING:
    from drumline.compat.celery.app import Celery

_KINDS: Final[dict[str, type["Signature"]]] = {}


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
            _KINDS.setdefault(cls.KIND, cls)

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
        _append(self.options, "link", callback)
        return callback

    def link_error(self, errback: "Signature | Mapping[str, Any]") -> Any:
        """Submit another signature when this one has failed."""
        _append(self.options, "link_error", errback)
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
        return chain(self, signature(other))

    def __ror__(self, other: Any) -> Any:
        return chain(signature(other), self) if isinstance(other, Mapping) else NotImplemented

    def __ior__(self, other: Any) -> Any:
        return self.__or__(other)

    def flatten_links(self) -> list["Signature"]:
        """Return it and all signatures that are linked to it."""
        linked = [signature(each) for each in _as_list(self.options.get("link"))]
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


class Canvas(Signature):
    """Several signatures as one."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Submit it, as Celery does for everything but a single task."""
        return self.apply_async(args, **kwargs)

    @property
    def tasks(self) -> list[Signature]:
        """The signatures."""
        return self.kwargs["tasks"]  # type: ignore[no-any-return]

    @tasks.setter
    def tasks(self, value: Iterable[Any]) -> None:
        self.kwargs["tasks"] = [signature(each) for each in value]

    def copied(self) -> Self:
        """Return a copy with copies of its signatures."""
        copy = super().copied()
        copy.tasks = [each.copied() for each in self.tasks]
        return copy

    def __repr__(self) -> str:
        return f"{self.KIND}({', '.join(map(repr, self.tasks))})"

    def __len__(self) -> int:
        return len(self.tasks)

    def __bool__(self) -> bool:
        return True


class chain(Canvas):  # noqa: N801 - Celery's name
    """Signatures one after the other: each takes the result of the one before."""

    KIND = "chain"

    def __init__(self, *tasks: Any, app: "Celery | None" = None, **options: Any) -> None:
        given = tasks[0] if len(tasks) == 1 and not isinstance(tasks[0], Mapping) else tasks
        super().__init__("celery.chain", kwargs={"tasks": []}, options=options, app=app)
        none: list[Signature] = []
        self.kwargs["tasks"] = reduce(_joined, (signature(each) for each in given), none)

    def with_arguments(self, args: Iterable[Any], kwargs: Mapping[str, Any]) -> Self:
        """Return it with arguments before those of its first task."""
        copy = self.copied()
        first = next((number for number, each in enumerate(copy.tasks) if not _is_empty(each)), None)
        if first is not None:
            copy.tasks[first] = copy.tasks[first].with_arguments(args, kwargs)
        return copy

    def set_id(self, task_id: str) -> None:
        """Give the id to the last task."""
        if self.tasks:
            self.tasks[-1].set_id(task_id)

    def freeze(self, _id: str | None = None, **_: Any) -> Any:
        """Give ids to all tasks, and return the result of the last."""
        result = None
        for number, each in enumerate(self.tasks):
            before, result = result, each.freeze(_id if number == len(self.tasks) - 1 else None)
            result.parent = before
        if result is not None:
            self.options["task_id"] = result.id
        return result

    def unchain_tasks(self) -> list[Signature]:
        """Return copies of the signatures with the errbacks of the chain."""
        copies = [each.copied() for each in self.tasks]
        for errback in _as_list(self.options.get("link_error")):
            for copy in copies:
                copy.link_error(errback)
        return copies


_chain = chain


class group(Canvas):  # noqa: N801 - Celery's name
    """Signatures that run at the same time; the result is the list of results."""

    KIND = "group"

    def __init__(self, *tasks: Any, app: "Celery | None" = None, **options: Any) -> None:
        given = tasks[0] if len(tasks) == 1 and not isinstance(tasks[0], Mapping) else tasks
        if len(tasks) == 1 and isinstance(tasks[0], group):
            given = tasks[0].tasks
        super().__init__("celery.group", kwargs={"tasks": []}, options=options, app=app)
        self.tasks = _unrolled(given)

    def with_arguments(self, args: Iterable[Any], kwargs: Mapping[str, Any]) -> Self:
        """Return it with arguments before those of each task."""
        args, copy = tuple(args), self.copied()
        copy.kwargs["tasks"] = [each.with_arguments(args, kwargs) for each in copy.tasks]
        return copy

    def link(self, callback: Any) -> Any:
        """Link to the first task, as Celery does."""
        return self.tasks[0].link(callback) if self.tasks else callback

    def link_error(self, errback: Any) -> Any:
        """Link to each task."""
        for each in self.tasks:
            each.link_error(errback)
        return errback

    def __or__(self, other: Any) -> Any:
        """Return a chord with the other as its body, so that an empty group gives it an empty list."""
        is_body = isinstance(other, Mapping) and not isinstance(signature(other), chain | group)
        return chord(self, signature(other)) if is_body else super().__or__(other)

    def set_id(self, task_id: str) -> None:
        """Give the group an id."""
        self.options["task_id"] = task_id

    def freeze(self, _id: str | None = None, **_: Any) -> Any:
        """Give ids to all tasks, and return the result of the group."""
        from drumline.compat.celery.result import GroupResult  # noqa: PLC0415 - which imports this module

        name = self.options.setdefault("task_id", _id or new_id())
        return GroupResult(name, [each.freeze() for each in self.tasks], app=self.given_app)

    def skew(self, start: float = 1.0, stop: float | None = None, step: float = 1.0) -> Self:
        """Delay each task a little more than the one before."""
        for number, each in enumerate(self.tasks):
            delay = start + number * step
            each.set(countdown=delay if stop is None else min(delay, stop))
        return self


class chord(Canvas):  # noqa: N801 - Celery's name
    """A group (the header), and a signature that takes the list of its results (the body)."""

    KIND = "chord"

    def __init__(self, header: Any, body: Any = None, *, app: "Celery | None" = None, **options: Any) -> None:
        super().__init__("celery.chord", kwargs={"header": [], "body": None}, options=options, app=app)
        self.tasks = _unrolled(_members(header))
        if body is not None:
            self.body = signature(body)

    @property
    def tasks(self) -> list[Signature]:
        """The header."""
        return self.kwargs["header"]  # type: ignore[no-any-return]

    @tasks.setter
    def tasks(self, value: Iterable[Any]) -> None:
        self.kwargs["header"] = [signature(each) for each in value]

    @property
    def body(self) -> Any:
        """What takes the results."""
        return self.kwargs["body"]

    @body.setter
    def body(self, value: Any) -> None:
        self.kwargs["body"] = value

    def __call__(self, body: Any = None, **options: Any) -> Any:
        """Submit it, with this body if one is given."""
        return (self if body is None else self.with_body(body)).apply_async(**options)

    def set_id(self, task_id: str) -> None:
        """Give the id to the body."""
        self.body.set_id(task_id)

    def freeze(self, _id: str | None = None, **_: Any) -> Any:
        """Give ids to all tasks, and return the result of the body."""
        from drumline.compat.celery.result import GroupResult  # noqa: PLC0415 - which imports this module

        header = GroupResult(new_id(), [each.freeze() for each in self.tasks], app=self.given_app)
        result = self.body.freeze(_id)
        result.parent = header
        return result

    def with_body(self, body: Any) -> Self:
        """Return it with another body."""
        copy = self.copied()
        copy.body = signature(body)
        return copy

    def with_arguments(self, args: Iterable[Any], kwargs: Mapping[str, Any]) -> Self:
        """Return it with arguments before those of each task of the header."""
        args, copy = tuple(args), self.copied()
        copy.kwargs["header"] = [each.with_arguments(args, kwargs) for each in copy.tasks]
        return copy

    def link(self, callback: Any) -> Any:
        """Link to the body."""
        return self.body.link(callback)

    def link_error(self, errback: Any) -> Any:
        """Link to the body; and to each task of the header, if `task_allow_error_cb_on_chord_header` is set."""
        if self.app.conf.task_allow_error_cb_on_chord_header:
            for each in self.tasks:
                each.link_error(signature(errback).copied())
        return self.body.link_error(errback)

    def copied(self) -> Self:
        """Return a copy with copies of its signatures."""
        copy = super().copied()
        if self.body is not None:
            copy.body = self.body.copied()
        return copy

    def __repr__(self) -> str:
        return f"chord({self.tasks!r}, {self.body!r})"


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
    kind = _KINDS.get(written.get("subtask_type") or "", Signature)
    new = kind.__new__(kind)
    dict.__init__(
        new,
        {
            "subtask_type": None, "immutable": False, **written, "args": tuple(written.get("args") or ()),
            "kwargs": dict(written.get("kwargs") or {}), "options": dict(written.get("options") or {}),
        },
    )  # fmt: skip
    new.given_app = app
    if isinstance(new, Canvas):
        new.tasks = _members(new.kwargs["header" if isinstance(new, chord) else "tasks"])
    if isinstance(new, chord) and new.body is not None:
        new.body = signature(new.body, app=app)
    return new


def _members(header: Any) -> list[Any]:
    """Return the signatures of a header: a group, a group as a dictionary, a list, or one signature."""
    if isinstance(header, Mapping):
        known = signature(header)
        return list(known.tasks) if isinstance(known, group) else [known]
    return list(header)


def _unrolled(tasks: Iterable[Any]) -> list[Signature]:
    """Return copies of signatures, with the members of groups among them in their place, as Celery does."""
    known = [signature(each).copied() for each in tasks if each is not None]
    return [deep for each in known for deep in (_unrolled(each.tasks) if isinstance(each, group) else [each])]


def _joined(steps: list[Signature], step: Signature) -> list[Signature]:
    """Append a step to those of a chain; a chain inside that says nothing of its own is taken apart."""
    is_plain_chain = isinstance(step, chain) and not set(step.options) - {"task_id"}
    return [*steps, *(step.tasks if isinstance(step, chain) and is_plain_chain else [step])]


def _is_empty(sig: Signature) -> bool:
    return isinstance(sig, chain | group) and all(map(_is_empty, sig.tasks))


def _append(options: dict[str, Any], name: str, value: Any) -> None:
    known = _as_list(options.get(name))
    if value not in known:
        options[name] = [*known, value]


def _as_list(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


as_list: Final[Callable[[Any], list[Any]]] = _as_list
union: Final = or_
