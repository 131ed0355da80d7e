"""Building a job: tasks that take each other's results, submitted as one.

    with app.dag("report") as dag:
        rows = dag.add(extract, "orders")
        parts = dag.map(clean, rows.out)  # as many as there are then
        dag.add(publish, rows.out, parts.out)
    job = dag.submit()

What a task needs is read off its arguments; `options(after=…)` adds an order that no result tells. Nodes can only
refer to nodes that are there, so a cycle cannot be written.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Any, Concatenate, Final, ParamSpec, Self, TypedDict, TypeVar, Unpack

from msgspec import Raw

from drumline.core.errors import Invalid
from drumline.core.graph_folding import Vertex
from drumline.core.job import SHARED_FIELDS, JobRequest, JobTaskRequest, RunIf
from drumline.core.json_errors import suggestion
from drumline.core.mermaid import mermaid
from drumline.core.names import check_name
from drumline.core.retry import Backoff
from drumline.core.task import NotifyTarget, TaskRequest
from drumline.sdk.checking import TEXT, check_kind, check_options, kinds_of, wrong
from drumline.sdk.client import Client, warn_if_blocking
from drumline.sdk.handle import decode_any
from drumline.sdk.job_handle import JobHandle
from drumline.sdk.job_steps import whole_of
from drumline.sdk.jobs import SubmitJob, SubmittedInfo
from drumline.sdk.mapping import list_decoder, mapping_of
from drumline.sdk.node import Node, NodeOptions
from drumline.sdk.options import Options, apply
from drumline.sdk.placeholder import Placeholder, ReferenceEncoder
from drumline.sdk.task import Call, HasClient, Submittable
from drumline.sdk.transaction import client_in

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
T = TypeVar("T")

_NOT_IN_KEYS: Final = re.compile(r"[^A-Za-z0-9_]+")


class DagOptions(TypedDict, total=False):
    """What `app.dag(name, …)` takes."""

    owner: str
    """Who answers for the job."""
    key: str
    """The idempotency key: the same key and the same graph give the same job."""
    depends_on: Sequence[JobHandle[Any] | str]
    """Jobs that must have completed before this one begins."""
    retries: int
    """For tasks that do not say otherwise."""
    backoff: Backoff | float
    """The pause before retries, for tasks that do not say otherwise."""
    notify: Sequence[NotifyTarget]
    """Whom to tell when the job has ended."""
    tags: Sequence[str]
    """Words by which the job can be found."""


class Dag:
    """A job that is being built."""

    def __init__(self, name: str, app: HasClient, options: DagOptions) -> None:
        check_kind("name", name, TEXT, of="app.dag")
        check_options(options, kinds_of(DagOptions), of="app.dag")
        _check_needed(options.get("depends_on", ()))
        check_name(name)
        self.name = name
        self._app = app
        self._options = options
        self._tasks: dict[str, JobTaskRequest] = {}
        self._decoders: dict[str, Callable[[Raw], Any]] = {}
        self._bases: set[str] = set()
        self._is_closed = False

    # -- build

    def add(self, task: Submittable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Node[R]:
        """Add a call of a task; results of other nodes are handed over as `node.out`."""
        return self.options().add(task, *args, **kwargs)

    def map(
        self, task: Submittable[Concatenate[T, Q], R], items: Iterable[T], /, *args: Q.args, **kwargs: Q.kwargs
    ) -> Node[list[R]]:
        """Add a call of a task for each of the items, which is its first argument; `out` is the list of results.

        Items that are known now are as many tasks of the job. If they are a result, `dag.map(clean, rows.out)`, the
        node is one task of the job, which starts a child for each item when it runs; `dag.options(window=…)` says how
        many of these have not ended at the same time.
        """
        return self.options().map(task, items, *args, **kwargs)

    def add_task(self, name: str, payload: Any = None, **options: Unpack[Options]) -> Node[Any]:
        """Add a task by name: one of Drumline's own, or one whose function lives elsewhere."""
        return self.options().add_task(name, payload, **options)

    def add_call(self, call: Call[R]) -> Node[R]:
        """Add a call that was written down before, as `task.call(…)` gives it."""
        return self.options().add_call(call)

    def options(self, **options: Unpack[NodeOptions]) -> "Adder":
        """Return the dag with something said about the tasks that are added through it."""
        return Adder(self, options)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_closed = True

    # -- look

    @property
    def request(self) -> JobRequest:
        """The job as it would be submitted now."""
        options = self._options
        needed = [job if isinstance(job, str) else job.id for job in options.get("depends_on", ())]
        return JobRequest(
            name=self.name,
            owner=options.get("owner"),
            tasks=dict(self._tasks),
            retries=options.get("retries"),
            backoff=options.get("backoff"),
            notify=tuple(options.get("notify", ())),
            depends_on=tuple(needed),
            idempotency_key=options.get("key"),
            tags=tuple(options.get("tags", ())),
        )

    def mermaid(self, *, folded: bool = True) -> str:
        """Return the graph as a Mermaid flowchart; alike tasks are one box unless `folded` is false."""
        vertices = [
            Vertex(key=key, name=task.name or "", needs=task.needs, run_if=_said(task.run_if))
            for key, task in self._tasks.items()
        ]
        return mermaid(vertices, folded=folded)

    def __len__(self) -> int:
        return len(self._tasks)

    def __repr__(self) -> str:
        return f"<Dag {self.name}: {len(self._tasks)} tasks>"

    # -- submit

    def submit(self, *, tx: object = None) -> JobHandle[dict[str, Any]]:
        """Submit the job; when this returns, it is durable with all its tasks. Each submission is a job of its own.

        With `tx`, a connection or session, it is stored in the transaction that is open there.
        """
        warn_if_blocking("asubmit")
        request = self.request
        client = self._app.client if tx is None else client_in(self._app, tx)
        return self._handle(client.transport.send(SubmitJob(request)), client)

    async def asubmit(self, *, tx: object = None) -> JobHandle[dict[str, Any]]:
        """Submit the job, as `submit` does."""
        request = self.request
        client = await self._app.aclient() if tx is None else client_in(self._app, tx)
        return self._handle(await client.transport.asend(SubmitJob(request)), client)

    def _handle(self, answer: SubmittedInfo, client: Client) -> JobHandle[dict[str, Any]]:
        result_plan = whole_of({key: (task.needs, task.run_if) for key, task in self._tasks.items()}, self._decoders)
        return JobHandle(answer.id, client, result_plan, owner=self, tasks=answer.tasks)

    # -- for `Adder`

    @property
    def defaults(self) -> dict[str, Any]:
        """What holds for tasks that do not say otherwise."""
        return {name: self._options.get(name) for name in ("retries", "backoff")}

    def free_base(self, wanted: str) -> str:
        """Return a name that no other node has: this one, or with a number behind it."""
        base, number = wanted, 1
        while base in self._bases or base in self._tasks:
            number += 1
            base = f"{wanted}_{number}"
        self._bases.add(base)
        return base

    def put(self, key: str, task: JobTaskRequest, decode: Callable[[Raw], Any]) -> None:
        """Take a task into the job; `decode` reads its result."""
        if self._is_closed:
            raise RuntimeError(f"the dag {self.name!r} is complete: add tasks inside its `with` block")
        if key in self._tasks:
            raise Invalid(f"there are two tasks with the key {key!r}", field="key")
        self._tasks[key] = task
        self._decoders[key] = decode

    def encoder(self) -> ReferenceEncoder:
        """Return what writes the arguments of one task."""
        return ReferenceEncoder(self, self._tasks)

    def keys_of(self, nodes: Sequence[Node[Any]]) -> list[str]:
        """Return the keys of nodes of this dag."""
        if isinstance(nodes, Node | str | Placeholder):
            raise TypeError("after= takes a list of nodes")
        keys: list[str] = []
        for node in nodes:
            if not isinstance(node, Node):
                raise TypeError(f"after= takes nodes, as dag.add gives them, not {node!r}")
            keys += node.result_plan(self).keys
        return keys


class Adder:
    """A dag with something said about the tasks that are added through it."""

    def __init__(self, dag: Dag, options: NodeOptions) -> None:
        check_options(options, kinds_of(NodeOptions), of="dag.options")
        self._dag = dag
        self._key = options.get("key")
        self._after = dag.keys_of(options.get("after", ()))
        self._run_if = _run_if(options.get("run_if", RunIf.ALL_SUCCEEDED))
        self._window = options.get("window")

    def add(self, task: Submittable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Node[R]:
        """Add a call of a task, as `Dag.add` does."""
        _check_task(task, "dag.add")
        self._put(key := self._new_key(task.name), task, args, kwargs)
        return Node(self._dag, (key,), task.definition.decode_result)

    def map(
        self, task: Submittable[Concatenate[T, Q], R], items: Iterable[T], /, *args: Q.args, **kwargs: Q.kwargs
    ) -> Node[list[R]]:
        """Add a call of a task for each of the items, as `Dag.map` does."""
        _check_task(task, "dag.map")
        if isinstance(items, Placeholder):
            return self._map_later(task, items, args, kwargs)
        if self._window is not None:
            raise Invalid("is for a map over a result: the tasks of this one are tasks of the job", field="window")
        known = list(items)
        base = self._new_key(task.name)
        keys = tuple(f"{base}-{number}" for number in range(len(known)))
        for key, item in zip(keys, known, strict=True):
            self._put(key, task, (item, *args), kwargs)
        return Node(self._dag, keys, task.definition.decode_result, is_many=True)

    def _map_later(
        self, task: Submittable[..., R], items: Placeholder, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Node[list[R]]:
        """Add a task that starts a child for each item of a result."""
        encoder = self._dag.encoder()
        request = mapping_of(
            task, items, args, kwargs, encoder.encode, window=self._window, defaults=self._dag.defaults
        )
        key = self._new_key(task.name)
        decode = list_decoder(task.definition.decode_result)
        self._dag.put(key, self._placed(request, encoder.parents), decode)
        return Node(self._dag, (key,), decode)

    def add_call(self, call: Call[R]) -> Node[R]:
        """Add a call that was written down before, as `Dag.add_call` does."""
        if not isinstance(call, Call):
            raise wrong("the first argument", "a call, as task.call(…) gives it", call, of="dag.add_call")
        decode = call.definition.decode_result
        key = self._new_key(call.definition.name)
        self._dag.put(key, self._placed(call.request, ()), decode)
        return Node(self._dag, (key,), decode)

    def add_task(self, name: str, payload: Any = None, **options: Unpack[Options]) -> Node[Any]:
        """Add a task by name, as `Dag.add_task` does."""
        encoder = self._dag.encoder()
        written = payload if isinstance(payload, Raw) else Raw(encoder.encode({} if payload is None else payload))
        request = apply(TaskRequest(name=name, payload=written), options, of="dag.add_task")
        key = self._new_key(name)
        self._dag.put(key, self._placed(request, encoder.parents), decode_any)
        return Node(self._dag, (key,), decode_any)

    def _new_key(self, name: str) -> str:
        if self._key is not None:
            return self._key
        return self._dag.free_base(_NOT_IN_KEYS.sub("_", name.rpartition(".")[2]).strip("_") or "task")

    def _put(self, key: str, task: Submittable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        encoder = self._dag.encoder()
        request = task.request_for(args, kwargs, encoder.encode)
        self._dag.put(key, self._placed(request, encoder.parents), task.definition.decode_result)

    def _placed(self, request: TaskRequest, parents: Iterable[str]) -> JobTaskRequest:
        """Return a task's request as that of a task of the job."""
        if request.idempotency_key is not None:
            raise Invalid("belongs to the whole job here: app.dag(name, key=…)", field="key")
        if request.collapse is not None:
            raise Invalid("is not for a task of a job", field="collapse")
        return JobTaskRequest(
            name=request.name,
            needs=tuple(dict.fromkeys([*parents, *self._after])),
            run_if=self._run_if,
            **{name: getattr(request, name) for name in SHARED_FIELDS},
        )


def _check_needed(jobs: Any) -> None:
    is_list = isinstance(jobs, Sequence) and not isinstance(jobs, str)
    if not is_list or not all(isinstance(job, JobHandle | str) for job in jobs):
        raise wrong("depends_on", "a list of jobs or of their ids", jobs, of="app.dag")


def _check_task(task: Any, of: str) -> None:
    if not isinstance(task, Submittable):
        raise wrong("the first argument", "a task, as @app.task makes it", task, of=of)


def _run_if(word: str) -> RunIf:
    try:
        return RunIf(word)
    except ValueError:
        near = suggestion(str(word), list(RunIf))
        raise Invalid(f"must be one of {', '.join(RunIf)}{near}", field="run_if") from None


def _said(run_if: RunIf) -> str:
    return "" if run_if is RunIf.ALL_SUCCEEDED else run_if.value
