"""The outbox: a table in a database of a program, for tasks on their way to Drumline's store in another one.

A submission with `tx` writes a row, in the program's transaction. A relay (`relay.py`) stores the task and deletes the
row. The row has the task's id, and the task an idempotency key that is made of it: stored twice, it is one task.
"""

from collections.abc import Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final

from drumline.core.codec import encode
from drumline.core.errors import DrumlineError, Invalid
from drumline.core.ids import TaskId
from drumline.core.limits import Limits
from drumline.core.slots import slot_of_key
from drumline.core.task import TaskRequest, accept, key_of
from drumline.engine.submit import placed
from drumline.stores.sql_files import statements
from drumline.stores.sqlite.database import run_statement
from drumline.stores.statements import Dialect, SqliteStatement
from drumline.transactions.checking import check_count, own_limits
from drumline.transactions.drivers import Aiosqlite, Driver, Sqlite
from drumline.transactions.ids import shared_ids

if TYPE_CHECKING:
    from drumline.stores.postgres.statements import Statement

NO_KEY: Final = "cannot be given with an outbox: its row is the key, and another task may have this one already"
NO_JOBS: Final = (
    "leads to an outbox, which takes single tasks: submit a job in the database of the store, or from a task"
)


class OutboxStatements:
    """Runs the statements of an outbox on a connection."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    async def fetch(self, name: str, /, **values: Any) -> list[Any]:
        """Run a statement."""
        driver = self._driver
        if isinstance(driver, Sqlite | Aiosqlite):
            return await driver.run(partial(run_statement, _for_sqlite()[name], values))
        statement = _for_postgres()[name]
        return await driver.fetch(statement.text, statement.arguments(values))


@cache
def _for_postgres() -> "Mapping[str, Statement]":
    from drumline.stores.postgres.statements import Statement  # noqa: PLC0415 - its package needs asyncpg

    return {name: Statement(name, text) for name, text in _texts("postgres").items()}


@cache
def _for_sqlite() -> Mapping[str, SqliteStatement]:
    return {name: SqliteStatement(name, text) for name, text in _texts("sqlite").items()}


def _texts(dialect: Dialect) -> dict[str, str]:
    return {name: text for name, only, text in statements("drumline.transactions") if only in {None, dialect}}


def outbox_key(id: TaskId) -> str:
    """Return the idempotency key of a row: its id without the slot, which is the slot of this key."""
    return f"outbox:{id[:20]}{id[23:]}"


async def write_to_outbox(driver: Driver, requests: Sequence[TaskRequest], tenant: str) -> list[TaskId | DrumlineError]:
    """Write tasks into the outbox; each gets its id or the reason why not, in order.

    What only the store knows (types, secrets, quotas) is checked when they are relayed.
    """
    limits = own_limits()
    check_count(len(requests), limits)
    answers: list[TaskId | DrumlineError] = []
    rows: list[tuple[TaskId, str]] = []
    for number, request in enumerate(requests):
        made = shared_ids().next()
        id_ = TaskId(f"{made[:20]}{slot_of_key(tenant, outbox_key(made)):03x}{made[23:]}")
        try:
            _check(request, id_, limits)
        except Invalid as error:
            answers.append(placed(error, number))
        else:
            answers.append(id_)
            rows.append((id_, encode(request).decode()))
    if rows:
        await OutboxStatements(driver).fetch(
            "put_in_outbox",
            ids=[id_ for id_, _ in rows],
            tenants=[tenant] * len(rows),
            requests=[text for _, text in rows],
        )
    return answers


def _check(request: TaskRequest, id: TaskId, limits: Limits) -> None:
    if request.collapse is not None:
        raise Invalid("cannot be used with an outbox: the task may collapse into another", field="collapse")
    if key_of(request) is not None:
        raise Invalid(NO_KEY, field="idempotency_key")
    accept(request, id=id, limits=limits)
