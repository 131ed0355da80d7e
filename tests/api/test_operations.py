"""Every operation states its permission and whether the audit log records it."""

from typing import Any

import pytest
from msgspec import UNSET

from drumline.api.health import alive
from drumline.api.operation import Operation, Reach, Tag
from drumline.api.routes import OPERATIONS
from drumline.core.access import ROLES, Permission, Role

UNWRITTEN = {
    Permission.TASKS_SUBMIT,  # the hot path: what was submitted is there to be seen
    Permission.WORKERS_PROTOCOL,  # programs, not people
    Permission.SCHEDULES_READ,  # a preview is asked for with a body, and changes nothing
}
"""Permissions whose operations are written into no audit log, GET or not."""


def operation(**more: Any) -> Operation:
    return Operation(method="POST", path="/new", handler=alive, summary="New", tag=Tag.TASKS, **more)


@pytest.mark.parametrize(
    ("stated", "missing"),
    [
        ({}, "permission"),
        ({"audit_act": "new.make", "reach": Reach.OWN}, "permission"),
        ({"permission": None}, "audit_act"),
        ({"permission": None, "audit_act": "new.make"}, "reach"),
        ({"permission": None, "reach": Reach.OWN}, "audit_act"),
    ],
)
def test_an_operation_without_permission_or_audit_decision_is_refused(stated: dict[str, Any], missing: str) -> None:
    with pytest.raises(TypeError, match=f"POST /new: state its .*{missing}"):
        operation(**stated)


def test_an_operation_that_states_them_is_accepted() -> None:
    operation(permission=None, audit_act=None, reach=Reach.OWN)
    operation(is_open=True)


READS = {"/api/v1/tasks/ended"}
"""What only reads and is a POST, since it names too much for an address."""


def test_all_operations_state_permission_and_audit_act() -> None:
    closed = [each for each in OPERATIONS if not each.is_open]

    unstated = [f"{each.method} {each.path}" for each in closed if each.permission is UNSET]
    unrecorded = [
        f"{each.method} {each.path}"
        for each in closed
        if each.method != "GET" and not each.audit_act and each.permission not in UNWRITTEN and each.path not in READS
    ]
    recorded_reads = [each.path for each in closed if each.method == "GET" and each.audit_act]

    assert (unstated, unrecorded, recorded_reads) == ([], [], [])


def test_roles_are_what_they_say() -> None:
    assert ROLES[Role.WORKER] == {Permission.WORKERS_PROTOCOL}
    assert ROLES[Role.ADMIN] == set(Permission)
    assert {permission for permission in ROLES[Role.VIEWER] if not permission.endswith(":read")} == set()
    assert ROLES[Role.VIEWER] < ROLES[Role.OPERATOR] < ROLES[Role.ADMIN]
    assert Permission.TASKS_SUBMIT in ROLES[Role.SUBMITTER]
    assert Permission.TASKS_CONTROL not in ROLES[Role.SUBMITTER]
    for role in Role:
        assert (Permission.KEYS_MANAGE in ROLES[role]) is (role is Role.ADMIN)
        assert (Permission.WORKERS_PROTOCOL in ROLES[role]) is (role in {Role.ADMIN, Role.WORKER})
