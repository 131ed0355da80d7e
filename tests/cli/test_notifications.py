"""Subscriptions and deliveries on the command line."""

from uuid import uuid4

import pytest

from drumline.cli.errors import ExitCode
from tests.cli.conftest import Drumline

HOOK = "http://127.0.0.1:9/hook"


@pytest.fixture
def name() -> str:
    """A name that no other subscription of the shared server has."""
    return f"alerts {uuid4()}"


def test_a_subscription_is_made_shown_and_forgotten(online: Drumline, name: str) -> None:
    made = online("subscriptions", "create", name, "--webhook", HOOK, "--on", "task.*", "--tag", "vip", "--json").json
    assert made["secret"].startswith("whsec_")

    (listed,) = [each for each in online("subscriptions", "list", "--json").json if each["name"] == name]
    by_name = online("subscriptions", "get", name, "--json").json
    by_id = online("subscriptions", "get", made["id"][-12:], "--json").json
    gone = online("subscriptions", "rm", name, "--yes")

    assert listed == by_name == by_id == {key: value for key, value in made.items() if key != "secret"}
    assert (by_id["events"], by_id["tag"]) == (["drumline.task.*"], "vip")
    assert (gone.code, gone.out) == (0, "")
    assert online("subscriptions", "get", name).code == ExitCode.NOT_FOUND
    assert online("subscriptions", "get", made["id"]).code == ExitCode.NOT_FOUND


def test_the_secret_is_printed_once_for_people_too(online: Drumline, name: str) -> None:
    made = online("subscriptions", "create", name, "--webhook", HOOK)
    shown = online("subscriptions", "get", name)
    rotated = online("subscriptions", "rotate", name, "--overlap", "1h")
    for_tasks = online("subscriptions", "rotate", "--for-tasks", "--json")

    assert "secret  whsec_" in made.out
    assert "it is not shown again" in made.err
    assert "whsec_" not in shown.out + shown.err
    assert rotated.out.startswith("whsec_")
    assert for_tasks.json["secret"].startswith("whsec_")
    assert online("subscriptions", "rotate").code == ExitCode.USAGE


def test_a_subscription_is_changed_disabled_and_enabled(online: Drumline, name: str) -> None:
    online("subscriptions", "create", name, "--email", "ada@example.org", "--task", "charge")

    changed = online("subscriptions", "change", name, "--task", "", "--queue", "billing", "--json").json
    disabled = online("subscriptions", "disable", name, "--reason", "on holiday", "--json").json
    enabled = online("subscriptions", "enable", name, "--json").json

    assert (changed["task"], changed["queue"], changed["email"]) == (None, "billing", "ada@example.org")
    assert (disabled["enabled"], disabled["disabled_reason"]) == (False, "on holiday")
    assert (enabled["enabled"], enabled["disabled_reason"]) == (True, None)


def test_forgetting_asks_first(online: Drumline, name: str) -> None:
    online("subscriptions", "create", name, "--webhook", HOOK)

    refused = online("subscriptions", "rm", name)

    assert refused.code == ExitCode.USAGE
    assert "--yes" in refused.err
    assert online("subscriptions", "get", name).code == 0


def test_a_test_says_why_it_did_not_arrive_and_the_delivery_is_kept(online: Drumline, name: str) -> None:
    made = online("subscriptions", "create", name, "--webhook", HOOK, "--json").json

    tried = online("subscriptions", "test", name)
    (listed,) = online("deliveries", "list", "--subscription", made["id"], "--state", "failed", "--json").json
    shown = online("deliveries", "get", listed["id"], "--json").json
    resent = online("deliveries", "resend", listed["id"][-12:])

    assert tried.code == ExitCode.FAILED
    assert "127.0.0.1 is a loopback address; an operator can allow it with notify.allow" in tried.out
    assert shown["event"]["type"] == "drumline.subscription.tested"
    assert (resent.code, resent.out) == (0, f"{listed['id']}  pending\n")


@pytest.mark.parametrize(
    ("options", "field"),
    [
        (("--webhook", "ftp://example.org/"), "webhook"),
        (("--email", "nobody"), "email"),
        ((), "webhook"),
        (("--email", "a@example.org", "--on", "task.claimed"), "--on"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(
    online: Drumline, name: str, options: tuple[str, ...], field: str
) -> None:
    ran = online("subscriptions", "create", name, *options)

    assert ran.code != 0
    assert field in ran.err


def test_a_type_that_no_event_has_is_warned_of(online: Drumline, name: str) -> None:
    made = online("subscriptions", "create", name, "--webhook", HOOK, "--on", "job.faild", "--on", "job.*")

    assert made.code == 0
    assert made.err.count("Warning") == 1
    assert "no type of event is called job.faild; did you mean job.failed?" in made.err
    online("subscriptions", "rm", name, "--yes")
