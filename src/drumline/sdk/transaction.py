"""Submitting in a transaction of the caller's own database: `tx=connection`.

A transport that answers submissions through the caller's connection, and all else as the app's own transport does.
What knows databases is above the SDK (`drumline.transactions`), and asked for by name when it is first needed.
"""

from importlib import import_module
from typing import Any, Final, Protocol, TypeVar, cast

from msgspec import Struct

from drumline.core.errors import DrumlineError, NotFound, Unavailable
from drumline.core.ids import JobId, TaskId
from drumline.core.task import DEFAULT_TENANT, TaskRequest
from drumline.sdk.client import Client
from drumline.sdk.traced import is_traced, trace_headers
from drumline.sdk.transport import Ask, JobAsk, SubmitMany, Transport

T = TypeVar("T")

TX: Final = "tx"


class Transaction(Struct, frozen=True):
    """A connection or session with an open transaction, and whose tasks are submitted in it.

    `tx=` takes the connection itself, too; then the tasks are those of the tenant `default`.
    """

    connection: Any
    tenant: str = DEFAULT_TENANT


class NotCommitted(NotFound):
    """The task or job is not stored: the transaction that submits it is still open, or was rolled back."""

    code = "not_committed"


class NotRelayed(Unavailable):
    """The task is not stored yet: its transaction is still open, was rolled back, or its outbox is not relayed yet."""

    code = "not_relayed"


class HasClient(Protocol):
    """Where a transaction finds the transport for all but submissions."""

    @property
    def client(self) -> Client:
        """The client, connected on first use."""
        ...

    async def aclient(self) -> Client:
        """Return the client, connecting without blocking the event loop."""
        ...


class Written(Struct, frozen=True):
    """What a transaction has written: the answer to the ask, and whether it waits in an outbox."""

    answer: Any
    is_in_outbox: bool = False


class TransactionTransport:
    """Answers submissions by writing them into the caller's transaction."""

    def __init__(self, app: HasClient, tx: object) -> None:
        self._app = app
        self._transaction: Transaction | None = tx if isinstance(tx, Transaction) else Transaction(tx)
        self._is_in_outbox = False

    def send(self, ask: Ask[T]) -> T:
        """Answer, blocking the calling thread."""
        if self._transaction is not None and _is_submission(ask):
            # The ask's type says what the answer is; the writer keeps to it case by case.
            return cast("T", self._noted(_writer().write(self._taken(), ask, trace=_trace())))
        try:
            return self._app.client.transport.send(ask)
        except NotFound as error:
            raise self._explained(ask, error) from error

    async def asend(self, ask: Ask[T]) -> T:
        """Answer, on the event loop of the connection."""
        if self._transaction is not None and _is_submission(ask):
            return cast("T", self._noted(await _writer().awrite(self._taken(), ask, trace=_trace())))
        try:
            return await (await self._app.aclient()).transport.asend(ask)
        except NotFound as error:
            raise self._explained(ask, error) from error

    def url_of(self, task: TaskId) -> str:
        """Return where the task can be looked at after the commit."""
        return self._app.client.transport.url_of(task)

    def url_of_job(self, job: JobId) -> str:
        """Return where the job can be looked at after the commit."""
        return self._app.client.transport.url_of_job(job)

    def close(self) -> None:
        """Do nothing: the connection is the caller's, the transport behind is the app's."""

    def _taken(self) -> Transaction:
        """Return the transaction, and keep nothing of it: handles live longer."""
        taken, self._transaction = self._transaction, None
        assert taken is not None  # noqa: S101 - as `send` has seen
        return taken

    def _noted(self, written: Written) -> Any:
        self._is_in_outbox = written.is_in_outbox
        return written.answer

    def _explained(self, ask: Ask[Any], error: NotFound) -> DrumlineError:
        """Return why something that was submitted here is not found."""
        subject = getattr(ask, "task", None) or getattr(ask, "job", None)
        if subject is None:
            return error
        what = f"the job {subject}" if isinstance(ask, JobAsk) else f"task {subject}"
        if self._is_in_outbox:
            return NotRelayed(
                f"{what} is not stored yet: its transaction is not committed, or its outbox has not been relayed"
            )
        return NotCommitted(
            f"{what} is not stored: the transaction that submits it is not committed yet, or was rolled back"
        )


def client_in(app: HasClient, tx: object) -> Client:
    """Return a client whose submissions go into the caller's transaction."""
    transport: Transport = TransactionTransport(app, tx)
    return Client(transport)


async def submit_one(client: Client, request: TaskRequest) -> TaskId | DrumlineError:
    """Submit one task, not joined with those of others: each has its transaction."""
    (answer,) = await client.transport.asend(SubmitMany((request,)))
    return answer


def _is_submission(ask: Ask[Any]) -> bool:
    return isinstance(ask, SubmitMany) or type(ask).__name__ == "SubmitJob"


def _trace() -> str | None:
    return trace_headers().get("traceparent") if is_traced() else None


def _writer() -> Any:
    return import_module("drumline.transactions.writing")
