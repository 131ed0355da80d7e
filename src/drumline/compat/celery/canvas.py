"""How signatures are put together: `add.s(1) | mul.s(2)`, `group(…)`, `chord(header, body)`.

The module has the names of `celery.canvas`.
"""

from collections.abc import Iterable, Mapping
from functools import reduce
from typing import TYPE_CHECKING, Any, Self

from drumline.compat.celery.signature import (
    Signature,
    as_list,
    maybe_signature,
    signature,
    subtask,
)
from drumline.compat.celery.state import new_id

if TYPE_CHECKING:
    from drumline.compat.celery.app import Celery

__all__ = ["Canvas", "Signature", "chain", "chord", "group", "maybe_signature", "signature", "subtask"]


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

    def restore(self) -> None:
        """Make signatures of its members."""
        self.tasks = _members(self.kwargs["tasks"])

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
        for errback in as_list(self.options.get("link_error")):
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

    def restore(self) -> None:
        """Make signatures of its header and its body."""
        self.tasks = _members(self.kwargs["header"])
        if self.body is not None:
            self.body = signature(self.body, app=self.given_app)

    def copied(self) -> Self:
        """Return a copy with copies of its signatures."""
        copy = super().copied()
        if self.body is not None:
            copy.body = self.body.copied()
        return copy

    def __repr__(self) -> str:
        return f"chord({self.tasks!r}, {self.body!r})"


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
