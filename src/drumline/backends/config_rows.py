"""The runtime configuration as both databases keep it."""

from collections.abc import Iterable
from typing import Any

from drumline.core.clock import Instant
from drumline.core.codec import decode
from drumline.core.errors import Conflict
from drumline.core.runtime_config import RuntimeConfig


def config_of(row: Iterable[Any]) -> RuntimeConfig:
    """Return a row as a version."""
    version, changed_at, changed_by, reason, settings = row
    return RuntimeConfig(
        version=version,
        settings=decode(settings, dict[str, Any]),
        changed_at=Instant(changed_at),
        changed_by=changed_by,
        reason=reason,
    )


def overtaken(after: int, newest: int) -> Conflict:
    """Return why a version cannot follow another."""
    return Conflict(f"the runtime configuration is at version {newest}, not {after}: look at it again", field="version")
