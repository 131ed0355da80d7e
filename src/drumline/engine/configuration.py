"""The runtime configuration: reading and changing it, and which version of it this process uses."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from drumline.core.errors import Conflict, Invalid
from drumline.core.json_errors import suggestion
from drumline.core.runtime_config import RuntimeConfig
from drumline.ports.runtime_config import RuntimeConfigs

TRIES: Final = 5
MOST_KEYS: Final = 500


class ConfigState(Struct, frozen=True):
    """Which version of the runtime configuration a process uses, and what it could not apply."""

    version: int = 0
    """The version of the runtime configuration that it goes by."""
    refused: str | None = None
    """Why it does not go by the newest configuration; the one before it holds."""
    restart: tuple[str, ...] = ()
    """Settings that were changed outside and hold only after a restart."""


class ConfigService:
    """Looks at the runtime configuration and changes it."""

    def __init__(self, store: RuntimeConfigs, check: Callable[[str, Any], object]) -> None:
        self._store = store
        self._check = check
        self.state: ConfigState | None = None
        """The state of this process; None where the configuration is not watched."""

    async def version(self) -> int:
        """Return the number of the newest version."""
        return await self._store.runtime_version()

    async def get(self) -> RuntimeConfig:
        """Return the newest version."""
        return await self._store.runtime_config()

    async def change(
        self,
        set: Mapping[str, Any],
        unset: Sequence[str] = (),
        *,
        by: str,
        reason: str | None = None,
        version: int | None = None,
    ) -> tuple[RuntimeConfig, RuntimeConfig]:
        """Set and unset keys, all or none; return the version before and the one after.

        With `version` only if that is the newest one, or `Conflict`; without, what others set meanwhile stays. A
        change that changes nothing makes no new version.
        """
        checked = {key: self._check(key, value) for key, value in set.items()}
        for _ in range(TRIES):
            before = await self._store.runtime_config()
            _check_unset(unset, before.settings)
            left = {key: value for key, value in before.settings.items() if key not in unset}
            wanted = left | checked
            if len(wanted) > MOST_KEYS:
                raise Invalid(f"must be at most {MOST_KEYS} keys in all", field="set")
            if version is not None and version != before.version:
                raise Conflict(f"the newest version is {before.version}, not {version}", field="version")
            if wanted == before.settings:
                return before, before
            try:
                return before, await self._store.put_runtime_config(wanted, after=before.version, by=by, reason=reason)
            except Conflict:
                if version is not None:
                    raise
        raise Conflict("others keep changing the runtime configuration; try again", field="version")


def _check_unset(unset: Sequence[str], settings: Mapping[str, Any]) -> None:
    for key in unset:
        if key not in settings:
            raise Invalid(f"{key} is not set{suggestion(key, settings)}", field="unset")
