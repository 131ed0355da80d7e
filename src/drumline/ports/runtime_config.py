"""The part of the store that holds the runtime configuration."""

from collections.abc import Mapping
from typing import Any, Final, Protocol

from drumline.core.runtime_config import RuntimeConfig

MOST_VERSIONS: Final = 1000
"""How many versions are kept."""


class RuntimeConfigs(Protocol):
    """Settings for the whole fleet. Every change is a new version; the newest one holds."""

    async def runtime_version(self) -> int:
        """Return the number of the newest version, 0 if there is none. Cheap: every process asks each second."""
        ...

    async def runtime_config(self) -> RuntimeConfig:
        """Return the newest version."""
        ...

    async def put_runtime_config(
        self, settings: Mapping[str, Any], *, after: int, by: str, reason: str | None = None
    ) -> RuntimeConfig:
        """Keep a new version; raises `Conflict` if `after` is not the newest one, so that no change is overwritten."""
        ...

    async def runtime_history(self, *, limit: int, before: int | None = None) -> list[RuntimeConfig]:
        """Return versions, newest first, starting below `before`."""
        ...
