"""What a store that is always one shard says about shards."""

from collections.abc import Mapping, Sequence
from typing import NoReturn

from drumline.core.errors import Invalid
from drumline.core.ids import TaskId
from drumline.core.shard_map import ShardMap
from drumline.ports.drain import Copy, Forward, Trace, Unit
from drumline.ports.shards import KnownKey, OwnEntry, ShardIdentity, ShardRow


class LoneShard:
    """`ports.shards.ShardDirectory` and `SlotEntries` of SQLite: there is one shard, which has every slot."""

    async def shards(self) -> list[ShardRow]:
        """Return none besides the directory."""
        return []

    async def map_number(self) -> int:
        """Return 0: nothing ever changes."""
        return 0

    async def shard_map(self) -> ShardMap:
        """Return the map in which the directory has every slot."""
        return ShardMap()

    async def identity(self) -> ShardIdentity | None:
        """Return None, as a lone database does."""
        return None

    async def entries(self) -> list[OwnEntry]:
        """Return none: the first entries of a directory are not kept."""
        return []

    async def add_shard(self, name: str, *, store_url: bytes, queue_url: bytes | None) -> NoReturn:  # noqa: ARG002
        """Refuse."""
        _refuse()

    async def change_shard(self, name: str, **_: object) -> NoReturn:  # noqa: ARG002
        """Refuse."""
        _refuse()

    async def remove_shard(self, name: str) -> NoReturn:  # noqa: ARG002
        """Refuse."""
        _refuse()

    async def add_owners(self, owners: Sequence[object]) -> NoReturn:  # noqa: ARG002
        """Refuse."""
        _refuse()

    async def rename_owners(self, name: str, owners: Mapping[int, str]) -> NoReturn:  # noqa: ARG002
        """Refuse."""
        _refuse()

    async def join(self, identity: object) -> NoReturn:  # noqa: ARG002
        """Refuse."""
        _refuse()

    async def leave(self, identity: object) -> NoReturn:  # noqa: ARG002
        """Refuse."""
        _refuse()

    async def close_slots(self, slots: Sequence[tuple[int, int]], *, taker: str) -> NoReturn:  # noqa: ARG002
        """Refuse."""
        _refuse()

    async def open_slots(self, entries: Sequence[OwnEntry]) -> NoReturn:  # noqa: ARG002
        """Refuse."""
        _refuse()

    async def find_keys(self, keys: Sequence[tuple[str, str]]) -> list[KnownKey | None]:
        """Return that no key is known by a former owner: there is none."""
        return [None for _ in keys]

    async def forget_keys(self, keys: Sequence[tuple[str, TaskId]]) -> None:
        """Forget none: keys are deleted with their tasks."""


class LoneDrainage:
    """`ports.drain.Drainage` of SQLite: nothing comes from elsewhere, and nothing leaves."""

    async def movable(self, *, limit: int, schedules_only: bool = False) -> list[str]:  # noqa: ARG002
        """Return none: there is no other database."""
        return []

    async def copies(self, *, limit: int) -> list[Copy]:  # noqa: ARG002
        """Return none."""
        return []

    async def count_copies(self, giver: str) -> int:  # noqa: ARG002
        """Return 0."""
        return 0

    async def forwards(self, ids: Sequence[str]) -> list[Forward]:  # noqa: ARG002
        """Return none: nothing was taken out."""
        return []

    async def traces(self, ids: Sequence[str]) -> list[Trace]:  # noqa: ARG002
        """Return none: nothing was taken out."""
        return []

    async def reserved(self, names: Sequence[str]) -> Mapping[str, str]:  # noqa: ARG002
        """Return none."""
        return {}

    async def all_forwards(
        self,
        *,
        limit: int,  # noqa: ARG002
        after: str | None = None,  # noqa: ARG002
        shard: str | None = None,  # noqa: ARG002
    ) -> list[Forward]:
        """Return none."""
        return []

    async def read(self, ids: Sequence[str]) -> NoReturn:  # noqa: ARG002
        """Refuse."""
        _refuse()

    async def put_copies(self, giver: str, units: Sequence[Unit]) -> NoReturn:  # noqa: ARG002
        """Refuse."""
        _refuse()

    async def take_copies(self, *, takes: bool) -> NoReturn:  # noqa: ARG002
        """Refuse."""
        _refuse()

    async def take_out(self, taker: str, copies: Sequence[Copy]) -> NoReturn:  # noqa: ARG002
        """Refuse."""
        _refuse()

    async def activate(self, copies: Sequence[tuple[str, int]]) -> NoReturn:  # noqa: ARG002
        """Refuse."""
        _refuse()

    async def discard(self, copies: Sequence[Copy]) -> NoReturn:  # noqa: ARG002
        """Refuse."""
        _refuse()

    async def add_forwards(self, forwards: Sequence[Forward]) -> NoReturn:  # noqa: ARG002
        """Refuse."""
        _refuse()

    async def held(self) -> NoReturn:
        """Refuse."""
        _refuse()


def _refuse() -> NoReturn:
    raise Invalid("shards need PostgreSQL: SQLite is always one database", field="store_url")
