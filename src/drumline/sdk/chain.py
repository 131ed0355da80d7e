"""A row of tasks, each of which takes what the one before gave back: `a.call(1).then(b).then(c)`."""

from dataclasses import dataclass
from typing import Any, Concatenate, Final, Generic, ParamSpec, TypeVar, Unpack

from drumline.core.names import LONGEST_NAME
from drumline.sdk.dag import Dag, DagOptions
from drumline.sdk.job_handle import JobHandle
from drumline.sdk.node import Node
from drumline.sdk.task import Call, HasClient, Submittable

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")

ARROW: Final = " → "

Step = tuple[Submittable[..., Any], tuple[Any, ...], dict[str, Any]]
"""A task, and its arguments after the first."""


@dataclass(frozen=True, slots=True)
class Chain(Generic[R]):
    """Calls one after the other; `R` is what the last gives back."""

    app: HasClient
    first: Call[Any]
    steps: tuple[Step, ...]

    def then(self, task: Submittable[Concatenate[R, P], S], /, *args: P.args, **kwargs: P.kwargs) -> "Chain[S]":
        """Return the chain with one more task, whose first argument is the result so far."""
        return Chain(self.app, self.first, (*self.steps, (task, args, kwargs)))

    def submit(self, name: str | None = None, /, *, tx: object = None, **options: Unpack[DagOptions]) -> JobHandle[R]:
        """Submit the chain as a job; when this returns, it is durable with all its tasks. `tx` as in `Dag.submit`."""
        dag, last = self._built(name, options)
        return dag.submit(tx=tx).narrowed(last)

    async def asubmit(
        self, name: str | None = None, /, *, tx: object = None, **options: Unpack[DagOptions]
    ) -> JobHandle[R]:
        """Submit the chain as a job, as `submit` does."""
        dag, last = self._built(name, options)
        return (await dag.asubmit(tx=tx)).narrowed(last)

    def _built(self, name: str | None, options: DagOptions) -> tuple[Dag, Node[R]]:
        names = [self.first.definition.name, *(task.name for task, _, _ in self.steps)]
        dag = Dag(name or ARROW.join(one.rpartition(".")[2] for one in names)[:LONGEST_NAME], self.app, options)
        node: Node[Any] = dag.add_call(self.first)
        for task, args, kwargs in self.steps:
            node = dag.add(task, node.out, *args, **kwargs)
        return dag, node
