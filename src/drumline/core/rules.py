"""Which permission each operation needs, and which of them are written into the audit log. One table.

An operation that is not in it may be used only with a key for the whole installation, and is written down; the test
`tests/api/test_rules.py` fails until it has a row. Whatever changes something on behalf of a person has an act.
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from drumline.core.access import Permission


class Reach(StrEnum):
    """How far an operation reaches, and so what it means for a key with names or queues."""

    TASKS = "tasks"
    """It makes, runs or changes certain tasks: those that the key is meant for, which its handler checks."""
    WHOLE = "whole"
    """It is about a whole tenant, or the installation: such a key is refused."""
    OWN = "own"
    """It is about the caller's own key, sign-in or session, or changes nothing."""


class Rule(Struct, frozen=True):
    """What an operation needs. No permission means that any valid key will do."""

    permission: Permission | None
    act: str | None = None
    """The word under which the audit log has it: noun and verb."""
    reach: Reach | None = None
    """What a key that is meant for some names and queues only may do with it. Whatever changes something has to say it;
    what says nothing and changes something is refused."""


_READ = Rule(Permission.TASKS_READ)
_SUBMIT = Rule(Permission.TASKS_SUBMIT, reach=Reach.TASKS)
_WORK = Rule(Permission.WORKERS_PROTOCOL, reach=Reach.OWN)

RULES: Final[Mapping[str, Rule]] = MappingProxyType(
    {
        "POST /api/v1/tasks": _SUBMIT,
        "POST /api/v1/tasks/batch": _SUBMIT,
        "GET /api/v1/tasks": _READ,
        "GET /api/v1/tasks/counts": _READ,
        "GET /api/v1/tasks/{id}": _READ,
        "GET /api/v1/tasks/{id}/status": _READ,
        "GET /api/v1/tasks/{id}/attempts": _READ,
        "GET /api/v1/tasks/{id}/log": _READ,
        "GET /api/v1/tasks/{id}/why": _READ,
        "GET /api/v1/tasks/{id}/artifacts": _READ,
        "GET /api/v1/tasks/{id}/artifacts/{name}": _READ,
        "PATCH /api/v1/tasks/{id}": Rule(Permission.TASKS_CONTROL, "task.reschedule", Reach.TASKS),
        "POST /api/v1/tasks/{id}/cancel": Rule(Permission.TASKS_CONTROL, "task.cancel", Reach.TASKS),
        "POST /api/v1/tasks/{id}/retry": Rule(Permission.TASKS_CONTROL, "task.retry", Reach.TASKS),
        # Failures and bulk operations.
        "GET /api/v1/failures": _READ,
        "GET /api/v1/failures/groups": _READ,
        "GET /api/v1/failures/groups/{fingerprint}": _READ,
        "GET /api/v1/failures/{id}": _READ,
        "POST /api/v1/failures/retry": Rule(Permission.TASKS_CONTROL, "failures.retry", Reach.TASKS),
        "POST /api/v1/failures/discard": Rule(Permission.TASKS_CONTROL, "failures.discard", Reach.TASKS),
        "POST /api/v1/failures/purge": Rule(Permission.TASKS_CONTROL, "failures.purge", Reach.TASKS),
        "POST /api/v1/failures/{id}/retry": Rule(Permission.TASKS_CONTROL, "failure.retry", Reach.TASKS),
        "POST /api/v1/failures/{id}/discard": Rule(Permission.TASKS_CONTROL, "failure.discard", Reach.TASKS),
        "GET /api/v1/bulk": _READ,
        "GET /api/v1/bulk/{id}": _READ,
        "GET /api/v1/bulk/{id}/items": _READ,
        "POST /api/v1/bulk": Rule(Permission.TASKS_CONTROL, "bulk.begin", Reach.TASKS),
        "POST /api/v1/bulk/{id}/abort": Rule(Permission.TASKS_CONTROL, "bulk.abort", Reach.TASKS),
        # Jobs are tasks together.
        "POST /api/v1/jobs": _SUBMIT,  # with a schedule it needs schedules:write too, and is written down as one
        "GET /api/v1/jobs": _READ,
        "GET /api/v1/jobs/{id}": _READ,
        "GET /api/v1/jobs/{id}/graph": _READ,
        "GET /api/v1/jobs/{id}/attempts": _READ,
        "POST /api/v1/jobs/{id}/cancel": Rule(Permission.TASKS_CONTROL, "job.cancel", Reach.TASKS),
        "POST /api/v1/jobs/{id}/resume": Rule(Permission.TASKS_CONTROL, "job.resume", Reach.TASKS),
        # Schedules. Whoever may write them may have any task made, whenever.
        "POST /api/v1/schedules": Rule(Permission.SCHEDULES_WRITE, "schedule.create", Reach.TASKS),
        "GET /api/v1/schedules": Rule(Permission.SCHEDULES_READ),
        "POST /api/v1/schedules/preview": Rule(Permission.SCHEDULES_READ, reach=Reach.OWN),
        "POST /api/v1/schedules/register": Rule(Permission.SCHEDULES_WRITE, "schedules.register", Reach.TASKS),
        "GET /api/v1/schedules/{id}": Rule(Permission.SCHEDULES_READ),
        "PATCH /api/v1/schedules/{id}": Rule(Permission.SCHEDULES_WRITE, "schedule.edit", Reach.TASKS),
        "DELETE /api/v1/schedules/{id}": Rule(Permission.SCHEDULES_WRITE, "schedule.delete", Reach.TASKS),
        "POST /api/v1/schedules/{id}/pause": Rule(Permission.SCHEDULES_WRITE, "schedule.pause", Reach.TASKS),
        "POST /api/v1/schedules/{id}/resume": Rule(Permission.SCHEDULES_WRITE, "schedule.resume", Reach.TASKS),
        "POST /api/v1/schedules/{id}/trigger": Rule(Permission.SCHEDULES_WRITE, "schedule.trigger", Reach.TASKS),
        "POST /api/v1/schedules/{id}/backfill": Rule(Permission.SCHEDULES_WRITE, "schedule.backfill", Reach.TASKS),
        "DELETE /api/v1/schedules/{id}/backfill": Rule(
            Permission.SCHEDULES_WRITE, "schedule.drop_backfill", Reach.TASKS
        ),
        "GET /api/v1/schedules/{id}/runs": Rule(Permission.SCHEDULES_READ),
        # The short paths.
        "POST /tasks": _SUBMIT,
        "POST /scheduleTask": _SUBMIT,
        "GET /taskStatus/{task_id}": _READ,
        "DELETE /cancelTask/{task_id}": Rule(Permission.TASKS_CONTROL, "task.cancel", Reach.TASKS),
        # Queues and workers.
        "GET /api/v1/queues": Rule(Permission.QUEUES_READ),
        "POST /api/v1/queues/{name}/pause": Rule(Permission.QUEUES_CONTROL, "queue.pause", Reach.TASKS),
        "POST /api/v1/queues/{name}/resume": Rule(Permission.QUEUES_CONTROL, "queue.resume", Reach.TASKS),
        "GET /api/v1/limits": Rule(Permission.QUEUES_READ),
        "GET /api/v1/limits/{name}": Rule(Permission.QUEUES_READ),
        "PUT /api/v1/limits/{name}": Rule(Permission.QUEUES_CONTROL, "limit.set", Reach.TASKS),
        "DELETE /api/v1/limits/{name}": Rule(Permission.QUEUES_CONTROL, "limit.delete", Reach.TASKS),
        "GET /api/v1/workers": Rule(Permission.WORKERS_READ),
        "GET /api/v1/types": Rule(Permission.WORKERS_READ),
        "GET /api/v1/stats": Rule(Permission.METRICS_READ),
        # How the installation fares, of all tenants together.
        "GET /metrics": Rule(Permission.SYSTEM_READ),
        "GET /actuator/metrics": Rule(Permission.SYSTEM_READ),
        "GET /actuator/metrics/{name}": Rule(Permission.SYSTEM_READ),
        "POST /api/v1/workers/{id}/drain": Rule(Permission.WORKERS_CONTROL, "worker.drain", Reach.TASKS),
        # Events. Who passes them on is the installation's own business.
        "GET /api/v1/events": Rule(Permission.EVENTS_READ),
        "GET /api/v1/events/consumers": Rule(Permission.SYSTEM_READ),
        "DELETE /api/v1/events/consumers/{name}": Rule(Permission.TENANTS_MANAGE, "consumer.forget", Reach.WHOLE),
        # Subscriptions and deliveries.
        "POST /api/v1/subscriptions": Rule(Permission.SUBSCRIPTIONS_WRITE, "subscription.create", Reach.TASKS),
        "GET /api/v1/subscriptions": Rule(Permission.SUBSCRIPTIONS_READ),
        "GET /api/v1/subscriptions/{id}": Rule(Permission.SUBSCRIPTIONS_READ),
        "PATCH /api/v1/subscriptions/{id}": Rule(Permission.SUBSCRIPTIONS_WRITE, "subscription.change", Reach.TASKS),
        "DELETE /api/v1/subscriptions/{id}": Rule(Permission.SUBSCRIPTIONS_WRITE, "subscription.delete", Reach.TASKS),
        "POST /api/v1/subscriptions/{id}/rotate": Rule(
            Permission.SUBSCRIPTIONS_WRITE, "subscription.rotate", Reach.TASKS
        ),
        "POST /api/v1/subscriptions/{id}/test": Rule(Permission.SUBSCRIPTIONS_WRITE, "subscription.test", Reach.TASKS),
        "POST /api/v1/notify/rotate": Rule(Permission.SUBSCRIPTIONS_WRITE, "notify.rotate", Reach.WHOLE),
        "GET /api/v1/deliveries": Rule(Permission.SUBSCRIPTIONS_READ),
        "GET /api/v1/deliveries/{id}": Rule(Permission.SUBSCRIPTIONS_READ),
        "POST /api/v1/deliveries/{id}/resend": Rule(Permission.SUBSCRIPTIONS_WRITE, "delivery.resend", Reach.TASKS),
        # The configuration of the whole fleet.
        "GET /api/v1/config": Rule(Permission.CONFIG_READ),
        "PATCH /api/v1/config": Rule(Permission.CONFIG_WRITE, "config.change", Reach.WHOLE),
        "GET /api/v1/config/history": Rule(Permission.CONFIG_READ),
        # What workers themselves say.
        "POST /api/v1/worker/sessions": _WORK,
        "POST /api/v1/worker/sessions/{session}/claim": _WORK,
        "POST /api/v1/worker/sessions/{session}/settle": _WORK,
        "POST /api/v1/worker/sessions/{session}/beat": _WORK,
        "POST /api/v1/worker/sessions/{session}/stops": _WORK,
        "POST /api/v1/worker/sessions/{session}/log": _WORK,
        "POST /api/v1/worker/sessions/{session}/progress": _WORK,
        "POST /api/v1/worker/sessions/{session}/secrets": _WORK,
        "PUT /api/v1/worker/sessions/{session}/artifacts/{task}/{name}": _WORK,
        "PATCH /api/v1/worker/sessions/{session}": _WORK,
        "DELETE /api/v1/worker/sessions/{session}": _WORK,
        "GET /api/v1/worker/config": _WORK,
        # Keys, tenants, audit.
        "GET /api/v1/me": Rule(None),
        "POST /api/v1/keys": Rule(Permission.KEYS_MANAGE, "key.create", Reach.OWN),
        "GET /api/v1/keys": Rule(Permission.KEYS_MANAGE),
        "GET /api/v1/keys/{id}": Rule(Permission.KEYS_MANAGE),
        "POST /api/v1/keys/{id}/disable": Rule(Permission.KEYS_MANAGE, "key.disable", Reach.OWN),
        "POST /api/v1/keys/{id}/enable": Rule(Permission.KEYS_MANAGE, "key.enable", Reach.OWN),
        "POST /api/v1/keys/{id}/revoke": Rule(Permission.KEYS_MANAGE, "key.revoke", Reach.OWN),
        "POST /api/v1/keys/{id}/rotate": Rule(Permission.KEYS_MANAGE, "key.rotate", Reach.OWN),
        "POST /api/v1/sign-out": Rule(None, "sign_in.close", Reach.OWN),
        "POST /api/v1/sign-ins/revoke": Rule(Permission.TENANTS_MANAGE, "sign_in.revoke", Reach.WHOLE),
        "POST /api/v1/tenants": Rule(Permission.TENANTS_MANAGE, "tenant.create", Reach.WHOLE),
        "GET /api/v1/tenants": Rule(Permission.TENANTS_READ),
        "GET /api/v1/tenants/{name}": Rule(Permission.TENANTS_READ),
        "PATCH /api/v1/tenants/{name}": Rule(Permission.TENANTS_MANAGE, "tenant.change", Reach.WHOLE),
        "GET /api/v1/secrets": Rule(Permission.SECRETS_READ),
        "PUT /api/v1/secrets/{name}": Rule(Permission.SECRETS_WRITE, "secret.set", Reach.WHOLE),
        "DELETE /api/v1/secrets/{name}": Rule(Permission.SECRETS_WRITE, "secret.delete", Reach.WHOLE),
        "POST /api/v1/secret-key/rotate": Rule(Permission.TENANTS_MANAGE, "secret_key.rotate", Reach.WHOLE),
        "GET /api/v1/audit": Rule(Permission.AUDIT_READ),
        "GET /api/v1/audit/export": Rule(Permission.AUDIT_READ),
        "GET /api/v1/audit/verify": Rule(Permission.AUDIT_READ),
    }
)
"""Each operation, as its method and path, with what it needs."""


def rule_of(method: str, path: str) -> Rule:
    """Return what an operation needs; one that nobody has listed is for the installation's own keys."""
    name = f"{method} {path}"
    return RULES.get(name) or Rule(Permission.TENANTS_MANAGE, None if method == "GET" else name, Reach.WHOLE)
