"""A task in a job that is being built, or many alike."""

from collections.abc import Callable, Sequence
from typing import Any, Generic, Literal, TypedDict, TypeVar, cast

from msgspec import Raw

from drumline.core.errors import Invalid
from drumline.core.job import RunIf
from drumline.sdk.job_steps import ResultPlan
from drumline.sdk.placeholder import place
from drumline.sdk.transport import NULL

R = TypeVar("R")


class Node(Generic[R]):
    """A task of a job that is being built, or many alike; `R` is what it gives back."""

    __slots__ = ("_decode", "_is_many", "_owner", "keys")

    def __init__(
        self, owner: object, keys: tuple[str, ...], decode: Callable[[Raw], Any], *, is_many: bool = False
    ) -> None:
        self.keys = keys
        """The keys of its tasks in the job: one, or one for each item of a map."""
        self._owner = owner
        self._decode = decode
        self._is_many = is_many

    @property
    def key(self) -> str:
        """The key of its task in the job."""
        if self._is_many:
            raise TypeError(f"this node is {len(self.keys)} tasks; their keys are in `keys`")
        return self.keys[0]

    @property
    def out(self) -> R:
        """The result, to be handed to other tasks of the job; of a map, the list of the results."""
        return self._one_or_all([place(self._owner, key) for key in self.keys])

    def result_plan(self, owner: object) -> ResultPlan[R]:
        """Return where the job keeps the result, or raise `Invalid` for a node of another job."""
        if owner is not self._owner:
            raise Invalid(f"{self!r} belongs to another job")
        return ResultPlan(self.keys, self._build)

    def _build(self, raws: Sequence[Raw | None]) -> R:
        return self._one_or_all([self._decode(raw or NULL) for raw in raws])

    def _one_or_all(self, values: list[Any]) -> R:
        # The node was made with an R to fit: a list for a map.
        return cast("R", values if self._is_many else values[0])

    def __repr__(self) -> str:
        many = f" and {len(self.keys) - 1} more" if len(self.keys) > 1 else ""
        return f"<Node {self.keys[0] if self.keys else 'of nothing'}{many}>"


class NodeOptions(TypedDict, total=False):
    """What `dag.options(…)` takes: the place of a task in its job."""

    key: str
    """Its name in the job; made from the task's name otherwise. The tasks of a map get a number behind it."""
    after: Sequence[Node[Any]]
    """What must have ended first, besides the tasks whose results it takes."""
    run_if: Literal["all_succeeded", "all_done", "any_failed"] | RunIf
    """When it runs, once all that it needs has ended."""
    window: int
    """How many tasks of a map over a result have not ended at the same time; 1,000 when absent."""
