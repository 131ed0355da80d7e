"""The runtime configuration: look, change, look back."""

from typing import Annotated, Any

from msgspec import Meta, Struct

from drumline.api.operation import ApiCall, NoQuery, Operation, Reach, Reply, Tag
from drumline.core.access import Permission
from drumline.core.audit import LONGEST_REASON, REASON
from drumline.core.clock import moment_of
from drumline.core.codec import encode
from drumline.core.errors import Invalid
from drumline.core.field_schema import PAGE_SIZE, page_cursor
from drumline.core.names import check_text
from drumline.core.runtime_config import RuntimeConfig, differences
from drumline.core.views import Moment

_CONFIG = "/api/v1/config"


class ConfigBody(Struct, frozen=True, kw_only=True):
    """A version of the runtime configuration; 0 is that nothing was ever set."""

    version: int
    settings: dict[str, Any]
    """What is set, by key: such as `worker.concurrency`, or `worker.concurrency@gpu` for workers with that label."""
    changed_at: Moment | None
    changed_by: str | None
    reason: str | None


class ConfigChange(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Keys to set and keys to unset, all or none."""

    set: dict[str, Any] = {}
    unset: tuple[str, ...] = ()
    version: Annotated[int, Meta(ge=0)] | None = None
    """The version that is to be changed; if it is not the newest any more, the answer is 409."""
    reason: Annotated[str | None, REASON] = None


class ConfigHistory(Struct, frozen=True):
    """Versions, newest first."""

    items: tuple[ConfigBody, ...]
    next_cursor: str | None


class HistoryQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Which page of versions."""

    limit: Annotated[int, Meta(ge=1), PAGE_SIZE] = 20
    cursor: Annotated[str | None, page_cursor(pattern="^[0-9]{1,18}$")] = None


async def get_config(call: ApiCall[None, NoQuery]) -> Reply:
    """Return the newest version of the runtime configuration."""
    return Reply(encode(_body(await call.engine.configuration.get())))


async def change_config(call: ApiCall[ConfigChange, NoQuery]) -> Reply:
    """Change the runtime configuration; every process of the fleet goes by it within seconds."""
    wanted = call.body
    if wanted.reason is not None:
        check_text(wanted.reason, field="reason", longest=LONGEST_REASON)
    if not wanted.set and not wanted.unset:
        raise Invalid("must set or unset something", field="body")
    if both := sorted(set(wanted.unset).intersection(wanted.set)):
        raise Invalid(f"{both[0]} cannot be set and unset at once", field="unset")
    before, after = await call.engine.configuration.change(
        wanted.set, wanted.unset, by=call.by.name, reason=wanted.reason, version=wanted.version
    )
    changed = differences(before.settings, after.settings)
    call.note(
        before={key: values["before"] for key, values in changed.items()},
        after={key: values["after"] for key, values in changed.items()},
    )
    return Reply(encode(_body(after)))


async def config_history(call: ApiCall[None, HistoryQuery]) -> Reply:
    """Return the versions of the runtime configuration, newest first."""
    limit = call.query.limit
    if limit > call.context.limits.page:
        raise Invalid(f"must be from 1 to {call.context.limits.page}", field="limit")
    cursor = call.query.cursor
    if cursor is not None and (not cursor.isdecimal() or len(cursor) > 18):
        raise Invalid("must be what an answer gave as next_cursor", field="cursor")
    before = None if cursor is None else int(cursor)
    found = await call.engine.store.config.runtime_history(limit=limit + 1, before=before)
    items = tuple(_body(config) for config in found[:limit])
    return Reply(encode(ConfigHistory(items, str(items[-1].version) if len(found) > limit else None)))


def _body(config: RuntimeConfig) -> ConfigBody:
    return ConfigBody(
        version=config.version,
        settings=dict(config.settings),
        changed_at=None if config.changed_at is None else moment_of(config.changed_at),
        changed_by=config.changed_by or None,
        reason=config.reason,
    )


OPERATIONS = (
    Operation(
        method="GET", path=_CONFIG, handler=get_config, tag=Tag.CONFIG,
        summary="Look at the runtime configuration of the fleet", answer=ConfigBody, permission=Permission.CONFIG_READ,
    ),
    Operation(
        method="PATCH", path=_CONFIG, handler=change_config, tag=Tag.CONFIG,
        summary="Change the runtime configuration of the fleet",
        largest=lambda limits: limits.request_lists, body=ConfigChange, answer=ConfigBody,
        permission=Permission.CONFIG_WRITE, audit_act="config.change", reach=Reach.WHOLE,
    ),
    Operation(
        method="GET", path=_CONFIG + "/history", handler=config_history, tag=Tag.CONFIG,
        summary="List the versions of the runtime configuration", query=HistoryQuery, answer=ConfigHistory,
        permission=Permission.CONFIG_READ,
    ),
)  # fmt: skip
