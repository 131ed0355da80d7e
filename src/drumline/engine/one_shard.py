"""Shards of an installation that has one database and can have no more, such as SQLite's."""

from typing import NoReturn

from drumline.core.errors import Conflict, NotFound
from drumline.core.shard_map import DIRECTORY
from drumline.core.slots import SLOTS
from drumline.ports.query import Querying
from drumline.ports.shards import ShardState, ShardStatus


class OneShard:
    """`ports.shards.ShardOperations` where there is nothing to do with shards but to look at the one."""

    def __init__(self, queries: Querying, address: str = "this process's database") -> None:
        self._queries = queries
        self._address = address

    async def list(self) -> "list[ShardStatus]":
        """Return the directory."""
        queues = await self._queries.queues()
        status = ShardStatus(
            name=DIRECTORY,
            state=ShardState.ACTIVE,
            slots=SLOTS,
            address=self._address,
            queued=sum(queue.pending + queue.queued for queue in queues),
            running=sum(queue.processing for queue in queues),
        )
        return [status]

    async def check(self) -> dict[str, str | None]:
        """Return nothing: there is only the directory."""
        return {}

    async def get(self, name: str) -> ShardStatus:
        """Return the directory, under its name."""
        if name != DIRECTORY:
            raise NotFound(f"there is no shard {name}", field="name")
        return (await self.list())[0]

    def holder(self, id: str) -> None:
        """Return None: there is no choice."""

    async def add(self, name: str, *, store_url: str, queue_url: str | None = None) -> NoReturn:  # noqa: ARG002
        """Refuse."""
        _refuse()

    async def change(self, name: str, **addresses: object) -> NoReturn:  # noqa: ARG002
        """Refuse."""
        _refuse()

    async def move(self, *, taker: str | None, giver: str | None = None, slots: int | None = None) -> NoReturn:  # noqa: ARG002
        """Refuse."""
        _refuse()

    async def drain(self, name: str) -> NoReturn:  # noqa: ARG002
        """Refuse."""
        _refuse()

    async def keep(self, name: str) -> NoReturn:  # noqa: ARG002
        """Refuse."""
        _refuse()

    async def remove(self, name: str) -> NoReturn:  # noqa: ARG002
        """Refuse."""
        _refuse()


def _refuse() -> NoReturn:
    raise Conflict("shards need PostgreSQL: SQLite is always one database")
