"""The table of rules: every operation has its row, and no row is without its operation."""

import pytest

from drumline.api.operation import Operation
from drumline.api.routes import OPERATIONS
from drumline.core.access import INSTALLATION, ROLES, Permission, Role
from drumline.core.rules import RULES, rule_of

GUARDED = [operation for operation in OPERATIONS if not operation.is_open]

UNWRITTEN = {
    Permission.TASKS_SUBMIT,  # the hot path: what was submitted is there to be seen
    Permission.WORKERS_PROTOCOL,  # programs, not people
    Permission.SCHEDULES_READ,  # a preview is asked for with a body, and changes nothing
}
"""Permissions whose operations are written into no audit log, GET or not."""


def name_of(operation: Operation) -> str:
    return f"{operation.method} {operation.path}"


@pytest.mark.parametrize("operation", GUARDED, ids=name_of)
def test_every_operation_says_which_permission_it_needs(operation: Operation) -> None:
    assert name_of(operation) in RULES, "add it to core/rules.py: who may do it, and is it an act for the audit log?"


def test_no_rule_is_about_an_operation_that_is_gone() -> None:
    assert set(RULES) - {name_of(operation) for operation in GUARDED} == set()


@pytest.mark.parametrize("operation", GUARDED, ids=name_of)
def test_whatever_changes_something_for_a_person_is_written_down(operation: Operation) -> None:
    rule = rule_of(operation.method, operation.path)

    if operation.method == "GET":
        assert rule.act is None
    elif rule.permission not in UNWRITTEN:
        assert rule.act is not None, "whatever is not GET needs an act in core/rules.py"


def test_an_operation_that_nobody_listed_is_closed_to_all_but_the_installation() -> None:
    rule = rule_of("POST", "/api/v1/surprise")

    assert rule.permission in INSTALLATION
    assert rule.act == "POST /api/v1/surprise"


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
