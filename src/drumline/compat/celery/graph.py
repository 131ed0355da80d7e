"""Makes a job of a canvas: each signature becomes a task that needs those whose results it takes.

A task gets the results before it as `feed`, apart from its own arguments, also if it is immutable and only waits for
them: a result may say that its task was replaced, and the task that takes it then waits for the replacement.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from drumline.compat.celery.canvas import chain, chord, group
from drumline.compat.celery.envelope import envelope
from drumline.compat.celery.options import drumline_options, merged_options
from drumline.compat.celery.result import AsyncResult, GroupResult
from drumline.compat.celery.signature import Signature, as_list, signature
from drumline.compat.celery.state import new_id
from drumline.core.names import LONGEST_NAME
from drumline.sdk.node import Node

if TYPE_CHECKING:
    from drumline.compat.celery.app import Celery


@dataclass
class Leaf:
    """One task of the job."""

    node: Node[Any]
    result: AsyncResult
    header: tuple[str, ...] = ()
    """The keys of the chord's header, if it is the body of one."""

    @property
    def feed(self) -> Any:
        """Its result, to be handed to others."""
        return self.node.out

    @property
    def leaves(self) -> list["Leaf"]:
        """The tasks whose results it is made of."""
        return [self]


@dataclass
class Many:
    """The members of a group."""

    members: Sequence["Leaf | Many"]
    keys: tuple[str, ...]
    """Every task that was added for it."""
    result: GroupResult = field(default_factory=lambda: GroupResult(new_id(), []))

    @property
    def feed(self) -> Any:
        """The list of results."""
        return [member.feed for member in self.members]

    @property
    def leaves(self) -> list[Leaf]:
        """The tasks whose results it is made of."""
        return [leaf for member in self.members for leaf in member.leaves]


Output = Leaf | Many


@dataclass
class Inherited:
    """What a canvas hands down to the tasks in it."""

    errbacks: tuple[Any, ...] = ()
    group: str | None = None
    is_member: bool = False
    """Whether it begins a member of a group: the group has a parent then, and the member has none."""

    header: tuple[str, ...] = ()
    """The keys of the headers of chords around, of whose failure the body of a chord is told."""

    def with_errbacks(self, options: Mapping[str, Any]) -> "Inherited":
        """Return it with the errbacks of a canvas inside."""
        return replace(self, errbacks=(*self.errbacks, *as_list(options.get("link_error"))))


class GraphBuilder:
    """Adds signatures to a job."""

    def __init__(
        self, app: "Celery", name: str, lineage: Mapping[str, Any] | None = None, *, key: str | None = None
    ) -> None:
        self._app = app
        drumline = app.drumline
        self.dag = drumline.dag(name[:LONGEST_NAME]) if key is None else drumline.dag(name[:LONGEST_NAME], key=key)
        self.added: list[Leaf] = []
        self._numbers: dict[str, int] = {}
        self._lineage = dict(lineage or {})

    def add(self, sig: Signature, before: Output | None, inherited: Inherited) -> Output | None:
        """Add a signature after what came before it; None if it is empty."""
        match sig:
            case chain():
                return self._chain(sig, before, inherited)
            case group():
                return self._group(sig, before, inherited)
            case chord():
                return self._chord(sig, before, inherited)
            case _:
                return self._task(sig, before, inherited)

    def _chain(self, sig: chain, before: Output | None, inherited: Inherited) -> Output | None:
        inner = inherited.with_errbacks(sig.options)
        output: Output | None = before
        for number, step in enumerate(sig.tasks):
            name = inner.group if number == len(sig.tasks) - 1 else None
            is_first = output is before
            within = Inherited(inner.errbacks, name, inherited.is_member and is_first, inner.header if is_first else ())
            output = self.add(step, output, within) or output
        return self._linked(sig, None if output is before else output)

    def _group(self, sig: group, before: Output | None, inherited: Inherited) -> Many | None:
        first = len(self.added)
        name = str(sig.options.get("task_id") or new_id())
        inner = inherited.with_errbacks(sig.options)
        within = Inherited(inner.errbacks, name, is_member=True, header=inherited.header)
        members = [output for each in sig.tasks if (output := self.add(each, before, within)) is not None]
        if not members:
            return None
        keys = tuple(leaf.node.key for leaf in self.added[first:])
        parent = None if before is None or inherited.is_member else before.result
        result = GroupResult(name, [member.result for member in members], app=self._app, parent=parent)
        many = Many(members, keys, result)
        self._linked(sig, many)
        return many

    def _chord(self, sig: chord, before: Output | None, inherited: Inherited) -> Output | None:
        header = self._group(group(sig.tasks), before, Inherited((), None, inherited.is_member))
        body = sig.body
        if header is None:
            body = body.with_arguments(([],), {})
        outer = (*inherited.header, *(before.keys if isinstance(before, Many) else ()))
        within = replace(inherited.with_errbacks(sig.options), is_member=False, header=outer)
        output = self.add(body, header or before, within)
        return self._linked(sig, output)

    def _task(self, sig: Signature, before: Output | None, inherited: Inherited) -> Leaf:
        app, errbacks = self._app, (*as_list(sig.options.get("link_error")), *inherited.errbacks)
        options = merged_options(app, sig.task, sig.options)
        options["group_id"] = inherited.group or options.get("group_id")
        header = (*inherited.header, *(before.keys if isinstance(before, Many) else ()))
        key = self._key(sig.task)
        lineage = self._lineage_of(key, sig, before)
        payload = envelope(app, sig, options, errbacks=errbacks, lineage=lineage)
        if before is not None:
            payload |= {"feed": before.feed, "takes_feed": not sig.immutable}
        node = self.dag.options(key=key).add_task(sig.task, payload, **drumline_options(app, options))
        parent = None if before is None or inherited.is_member else before.result
        result = AsyncResult(str(sig.id or node.key), app=app, parent=parent)
        result.ignored = bool(options.get("ignore_result"))
        leaf = Leaf(node, result, header)
        self.added.append(leaf)
        self._linked(sig, leaf)
        for errback in errbacks:
            self._errback(signature(errback), leaf)
        return leaf

    def _linked(self, sig: Signature, output: Output | None) -> Output | None:
        """Add the callbacks of a signature."""
        if output is not None:
            for callback in as_list(sig.options.get("link")):
                self.add(signature(callback), output, Inherited())
        return output

    def _errback(self, sig: Signature, failed: Leaf) -> None:
        """Add a signature that runs if a task fails, or the header of the chord whose body it is."""
        first = sig
        while isinstance(first, chain) and first.tasks:
            first = first.tasks[0]
        options = merged_options(self._app, first.task, first.options)
        payload = envelope(self._app, first, options, lineage={"root": self._lineage.get("root")})
        payload["errback"] = {
            "of": failed.node.key, "header": list(failed.header), "immutable": first.immutable, "id": failed.result.id,
        }  # fmt: skip
        placed = self.dag.options(key=self._key(first.task), after=[failed.node], run_if="any_failed")
        node = placed.add_task(first.task, payload, **drumline_options(self._app, options))
        if isinstance(sig, chain):
            self.add(chain(*sig.tasks[1:]), Leaf(node, AsyncResult(node.key, app=self._app)), Inherited())

    def _lineage_of(self, key: str, sig: Signature, before: Output | None) -> dict[str, Any]:
        """Return which tasks came before one: the first of the job, and the one whose result it takes."""
        if "root" not in self._lineage:
            self._lineage["root"] = key
            if sig.id is not None:
                self._lineage.setdefault("root_id", sig.id)
        lineage = {**self._lineage, "key": key}
        if before is not None:
            leaf = before.leaves[-1]
            lineage["parent"] = leaf.node.key
            lineage.pop("parent_id", None)
            if leaf.result.id != leaf.node.key:
                lineage["parent_id"] = leaf.result.id
        return lineage

    def _key(self, name: str) -> str:
        short = "".join(char if char.isalnum() or char == "_" else "_" for char in name.rpartition(".")[2]) or "task"
        number = self._numbers[short] = self._numbers.get(short, 0) + 1
        return f"{short}-{number}"
