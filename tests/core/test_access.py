"""A key opens what its role, its scopes, its tenant, its names and its queues all allow, and a refusal says why."""

from collections.abc import Callable
from typing import Any

import pytest

from drumline.core.access import (
    INSTALLATION,
    ROLES,
    Caller,
    KeyPolicy,
    Permission,
    Role,
    are_within,
    permissions_of,
)
from drumline.core.errors import Forbidden
from drumline.core.rate import Rate

NAMED = Caller("ada", names=("mail.*", "report"))
QUEUED = Caller("ada", queues=("mail*", "slow"))
BOTH = Caller("ada", names=("mail.*", "report"), queues=("mail*", "slow"))
ANY = Caller("ada")


def refusal(act: Callable[..., Any], *arguments: Any, **more: Any) -> tuple[str | None, str]:
    """Return the field and the message of the refusal that a call ends with."""
    with pytest.raises(Forbidden) as caught:
        act(*arguments, **more)
    return caught.value.field, caught.value.message


def test_what_a_caller_makes_is_kept_under_its_tenant_or_the_usual_one() -> None:
    assert Caller("ada", "acme").home == "acme"
    assert ANY.home == "default"


def test_names_or_queues_narrow_a_key() -> None:
    assert not ANY.is_narrowed
    assert all(caller.is_narrowed for caller in (NAMED, QUEUED, BOTH))


def test_without_scopes_a_key_may_do_all_that_its_role_may() -> None:
    for role in Role:
        assert permissions_of(role, (), None) == ROLES[role]
        assert permissions_of(role, (), "acme") == ROLES[role] - INSTALLATION


def test_who_acts_for_a_tenant_keeps_its_key_and_loses_what_is_the_installations() -> None:
    caller = Caller("ada", None, "k", Role.OPERATOR, ROLES[Role.OPERATOR], ("mail.*",), ("slow",), Rate(1, 2.0))

    acting = caller.acting_for("acme")

    assert (acting.tenant, acting.home) == ("acme", "acme")
    assert acting.permissions == ROLES[Role.OPERATOR] - INSTALLATION
    assert (acting.name, acting.id, acting.role) == ("ada", "k", Role.OPERATOR)
    assert (acting.names, acting.queues, acting.rate) == (("mail.*",), ("slow",), Rate(1, 2.0))


def test_what_is_permitted_passes() -> None:
    Caller("ada", permissions=frozenset({Permission.TASKS_READ})).check(Permission.TASKS_READ)


@pytest.mark.parametrize(
    ("role", "scopes", "tenant", "permission", "why"),
    [
        (Role.OPERATOR, (Permission.TASKS_READ,), None, Permission.SYSTEM_READ, "this key is for one tenant only"),
        (Role.OPERATOR, (), "acme", Permission.CONFIG_WRITE, "this key is for one tenant only"),
        (Role.OPERATOR, (Permission.TASKS_READ,), None, Permission.TASKS_CONTROL, "its scopes leave that out"),
        (Role.WORKER, (), "acme", Permission.TASKS_SUBMIT, "its role is worker; admin, operator, submitter may"),
        (Role.OPERATOR, (), "acme", Permission.WORKERS_PROTOCOL, "its role is operator; admin, worker may"),
    ],
)
def test_a_refusal_says_whether_role_scopes_or_tenant_is_the_reason(
    role: Role, scopes: tuple[Permission, ...], tenant: str | None, permission: Permission, why: str
) -> None:
    caller = Caller("ada", tenant, "k", role, permissions_of(role, scopes, tenant))

    assert refusal(caller.check, permission) == (None, f"this key lacks the permission {permission}: {why}")


@pytest.mark.parametrize(
    ("caller", "name", "queue", "covers"),
    [
        (ANY, "x", "y", True),
        (NAMED, "mail.send", "y", True),
        (NAMED, "report", "y", True),
        (NAMED, "x", "slow", False),
        (QUEUED, "x", "mail-1", True),
        (QUEUED, "mail.send", "y", False),
        (BOTH, "report", "slow", True),
        (BOTH, "report", "y", False),
        (BOTH, "x", "slow", False),
        (BOTH, "x", "y", False),
    ],
)
def test_a_key_reaches_the_tasks_whose_name_and_queue_it_is_meant_for(
    caller: Caller, name: str, queue: str, covers: bool
) -> None:
    assert caller.covers(name, queue) is covers
    for check in (caller.check_reach, caller.check_submission):
        if covers:
            check(name, queue)
        else:
            refusal(check, name, queue)


def test_a_refusal_says_which_names_and_queues_the_key_is_for() -> None:
    tasks = "this key is for tasks named mail.* or report only, not x"
    queues = "this key is for queues named mail* or slow only, not y"

    assert refusal(BOTH.check_reach, "x", "y") == (None, tasks), "the name is the first thing to mend"
    assert refusal(NAMED.check_reach, "x", "slow") == (None, tasks)
    assert refusal(BOTH.check_reach, "report", "y") == (None, queues)
    assert refusal(QUEUED.check_reach, "x", "y") == (None, queues)


def test_a_refused_submission_says_which_field_to_change() -> None:
    name = "this key may only submit tasks named mail.* or report, not x"
    queue = "this key may only submit into queues named mail* or slow, not y"

    assert refusal(BOTH.check_submission, "x", "y") == ("name", name)
    assert refusal(BOTH.check_submission, "report", "y") == ("queue", queue)
    assert refusal(BOTH.check_submission, "x", "y", field="tasks[2].") == ("tasks[2].name", name)
    assert refusal(BOTH.check_submission, "report", "y", field="tasks[2].") == ("tasks[2].queue", queue)


def test_what_is_about_all_tasks_is_not_for_a_narrowed_key() -> None:
    ANY.check_whole()
    for caller in (NAMED, QUEUED, BOTH):
        assert refusal(caller.check_whole) == (
            None, "this key is for some tasks only, and this is about all of them",
        )  # fmt: skip


def test_a_worker_that_asks_for_queues_serves_those_or_none() -> None:
    assert ANY.narrow_queues(("x", "y")) == ("x", "y")
    assert QUEUED.narrow_queues(("slow", "mail-2")) == ("slow", "mail-2")
    assert refusal(QUEUED.narrow_queues, ("slow", "y", "z")) == (
        "queues", "this key may only serve queues named mail* or slow, not y",
    )  # fmt: skip


def test_a_worker_whose_key_has_patterns_of_queues_names_those_to_serve() -> None:
    assert refusal(QUEUED.narrow_queues, ()) == (
        "queues", "this key may only serve queues named mail* or slow: name those to serve",
    )  # fmt: skip


def test_a_worker_serves_and_runs_what_its_key_is_meant_for() -> None:
    assert ANY.may_serve("x")
    assert ANY.may_run("x")
    assert [QUEUED.may_serve(queue) for queue in ("mail-1", "slow", "x")] == [True, True, False]
    assert [NAMED.may_run(name) for name in ("mail.send", "report", "x")] == [True, True, False]
    assert NAMED.may_serve("x")
    assert QUEUED.may_run("x")


def test_patterns_lie_within_others_if_every_one_of_them_does() -> None:
    assert are_within(("mail.a", "mail.b*"), ("x", "mail.*"))
    assert not are_within(("mail.a", "y"), ("x", "mail.*"))


def test_the_keys_that_a_tenant_made_share_the_rate_of_so_many_keys() -> None:
    policy = KeyPolicy(rates={Role.VIEWER: Rate(30, 20.0), Role.WORKER: None}, tenant_keys=7)

    assert policy.shared_rate(Role.VIEWER) == Rate(210, 20.0)
    assert policy.shared_rate(Role.WORKER) is None
