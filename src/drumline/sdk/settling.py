"""`ctx.settling(connection)`: an attempt records its own end in the transaction of its work.

What knows databases is above the SDK (`drumline.transactions`), and asked for by name.
"""

from collections.abc import Callable
from importlib import import_module
from types import TracebackType
from typing import Any, Self

from drumline.core.errors import Invalid
from drumline.core.lease import Lease
from drumline.sdk.arguments import encode_result, unwritable


class Settling:
    """A block at whose end the task is completed, in the caller's transaction; `with` or `async with`.

    The transaction is the caller's: the task is completed when it commits, and not if it is rolled back.
    """

    def __init__(self, lease: Lease | None, tx: object, check: Callable[[bytes], bytes]) -> None:
        self._lease = lease
        self._tx = tx
        self._check = check
        self.result: Any = None
        """The task's result. What its function returns afterwards is not looked at."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None and self._lease is not None:
            _settling().settle(self._tx, self._lease, self._written())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None and self._lease is not None:
            await _settling().asettle(self._tx, self._lease, self._written())

    def _written(self) -> bytes:
        try:
            written = encode_result(self.result)
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            raise Invalid(unwritable(error), field="result") from error
        return self._check(written)


def _settling() -> Any:
    return import_module("drumline.transactions.settling")
