"""The runtime configuration: settings that the store holds for the whole fleet, version by version."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from drumline.core.clock import Instant
from drumline.core.event import Fact


class RuntimeConfig(Struct, frozen=True, kw_only=True):
    """One version of the runtime configuration. Version 0 is empty: nothing was ever set."""

    version: int
    settings: Mapping[str, Any] = {}
    """What is set, by key: the path of a setting, or `path@label` for workers with that label."""
    changed_at: Instant | None = None
    changed_by: str = ""
    reason: str | None = None


NO_CONFIG = RuntimeConfig(version=0)


def config_changed(before: RuntimeConfig, after: RuntimeConfig) -> Fact:
    """The runtime configuration was changed."""
    keys = sorted({*before.settings, *after.settings})
    changed = [key for key in keys if before.settings.get(key) != after.settings.get(key)]
    details = {"version": after.version, "keys": changed, "by": after.changed_by, "reason": after.reason}
    return Fact("drumline.config.changed", "config", "", details)


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the changes from one version to another, by key: the value before and after, null where there is none."""
    keys = sorted({*before, *after})
    return {
        key: {"before": before.get(key), "after": after.get(key)} for key in keys if before.get(key) != after.get(key)
    }
