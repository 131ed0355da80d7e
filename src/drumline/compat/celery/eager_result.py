"""The result of a task that ran on the spot."""

from typing import Any

from drumline.compat.celery import states
from drumline.compat.celery.async_result import AsyncResult


class EagerResult(AsyncResult):
    """The result of a task that ran on the spot."""

    def __init__(self, id: str, value: Any, state: str, traceback: str | None = None, name: str = "") -> None:
        super().__init__(id)
        self._value = value
        self._word = state
        self._traceback = traceback
        self._name = name

    @property
    def traceback(self) -> str | None:
        """The traceback of its failure."""
        return self._traceback

    @property
    def name(self) -> str:
        """The task's name."""
        return self._name

    def wait_for_end(self, timeout: float | None = None) -> None:
        """Return at once."""

    def revoke(self, *_: Any, **__: Any) -> None:
        """Call the result revoked."""
        self._word = states.REVOKED

    def get(self, timeout: float | None = None, propagate: bool = True, callback: Any = None, **_: Any) -> Any:
        """Return the result, or raise the exception."""
        if self._word in states.PROPAGATE_STATES and propagate:
            raise self._value if isinstance(self._value, BaseException) else RuntimeError(self._value)
        if callback is not None:
            callback(self.id, self._value)
        return self._value

    wait = get

    def outcome(self) -> tuple[str, Any]:
        """Return the state, and the result or the exception."""
        return self._word, self._value

    def __repr__(self) -> str:
        return f"<EagerResult: {self.id}>"
