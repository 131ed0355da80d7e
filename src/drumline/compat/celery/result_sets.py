"""The results of several tasks, and of a group."""

import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from drumline.compat.celery.result_base import ResultBase

if TYPE_CHECKING:
    from drumline.compat.celery.app import Celery


class ResultSet(ResultBase):
    """The results of several tasks."""

    def __init__(self, results: Iterable[Any], app: "Celery | None" = None, **_: Any) -> None:
        self.results: list[Any] = list(results)
        self._app = app

    def add(self, result: Any) -> None:
        """Add a result, if it is not there yet."""
        if result not in self.results:
            self.results.append(result)

    def remove(self, result: Any) -> None:
        """Take a result out."""
        self.results.remove(result)

    def update(self, results: Iterable[Any]) -> None:
        """Add results."""
        for result in results:
            self.add(result)

    def clear(self) -> None:
        """Take all results out."""
        self.results.clear()

    def successful(self) -> bool:
        """Tell whether all returned."""
        return all(result.successful() for result in self.results)

    def failed(self) -> bool:
        """Tell whether one failed."""
        return any(result.failed() for result in self.results)

    def waiting(self) -> bool:
        """Tell whether one has not ended."""
        return any(not result.ready() for result in self.results)

    def ready(self) -> bool:
        """Tell whether all have ended."""
        return all(result.ready() for result in self.results)

    def completed_count(self) -> int:
        """Return how many have returned."""
        return sum(bool(result.successful()) for result in self.results)

    def revoke(self, **options: Any) -> None:
        """Cancel them all."""
        for result in self.results:
            result.revoke(**options)

    def forget(self) -> None:
        """Do nothing, as for a single result."""

    def get(
        self, timeout: float | None = None, propagate: bool = True, callback: Callable[..., Any] | None = None, **_: Any
    ) -> list[Any]:
        """Wait for all and return their results in order."""
        deadline = None if timeout is None else time.monotonic() + timeout
        values = []
        for result in self.results:
            left = None if deadline is None else max(deadline - time.monotonic(), 0.0)
            value = result.get(timeout=left, propagate=propagate)
            if callback is not None:
                callback(getattr(result, "id", None), value)
            values.append(value)
        return values

    join = join_native = get

    def maybe_throw(self, **options: Any) -> Any:
        """Raise the exception of the first that failed."""
        return [result.maybe_throw(**options) for result in self.results]

    maybe_reraise = maybe_throw

    def wait_for_end(self, timeout: float | None = None) -> None:
        """Wait for all, however they end."""
        deadline = None if timeout is None else time.monotonic() + timeout
        for result in self.results:
            result.wait_for_end(None if deadline is None else max(deadline - time.monotonic(), 0.0))

    def __len__(self) -> int:
        return len(self.results)

    def __bool__(self) -> bool:
        return bool(self.results)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.results)

    def __getitem__(self, index: int) -> Any:
        return self.results[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ResultSet) and other.results == self.results

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.results!r}>"


class GroupResult(ResultSet):
    """The results of a group."""

    def __init__(
        self, id: str | None = None, results: Iterable[Any] = (), parent: Any = None, app: "Celery | None" = None
    ) -> None:
        super().__init__(results, app)
        self.id = id
        self.parent = parent

    @property
    def children(self) -> list[Any]:
        """The results."""
        return self.results

    def as_tuple(self) -> Any:
        """Return the ids as JSON can hold them."""
        parent = None if self.parent is None else self.parent.as_tuple()
        return (self.id, parent), [result.as_tuple() for result in self.results]

    as_wire = as_tuple

    __hash__ = ResultSet.__hash__
