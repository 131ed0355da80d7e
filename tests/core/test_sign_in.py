"""When a sign-in is over, and what its user may do."""

import pytest
from msgspec.structs import replace

from drumline.core.access import Role, permissions_of
from drumline.core.clock import Instant
from drumline.core.delivery import ClaimedDelivery, DeliveryId, DeliveryState
from drumline.core.rate import Rate
from drumline.core.sign_in import SignIn, mark_of_sign_in, mark_of_state, mark_of_user
from drumline.core.subscription import TEST_EVENT
from drumline.core.target import Target, TargetKind

RATE = Rate(5, 1.0)
SIGN_IN = SignIn(
    id="s", user="corp:42", name="Ada", created_at=Instant(0), seen_at=Instant(1000), ends_at=Instant(9000),
    role=Role.OPERATOR, tenant="t",
)  # fmt: skip


@pytest.mark.parametrize(
    ("now", "is_over"), [(1000, False), (5999, False), (6000, True), (8000, True), (8999, True), (9000, True)]
)
def test_a_sign_in_ends_when_it_was_not_used_for_a_while(now: int, is_over: bool) -> None:
    assert SIGN_IN.is_over(Instant(now), 5000) is is_over


@pytest.mark.parametrize(("now", "is_over"), [(8999, False), (9000, True), (9001, True)])
def test_a_sign_in_that_is_used_ends_after_its_lifetime(now: int, is_over: bool) -> None:
    assert replace(SIGN_IN, seen_at=Instant(8990)).is_over(Instant(now), 5000) is is_over


@pytest.mark.parametrize(
    ("sign_in", "is_by_key", "provider"),
    [
        (SIGN_IN, False, "corp"),
        (replace(SIGN_IN, user="key:1", digest=b"d"), True, None),
        (replace(SIGN_IN, user="key:1", proof="p"), True, None),
        (replace(SIGN_IN, user="corp:a:b"), False, "corp"),
    ],
)
def test_a_sign_in_is_by_a_key_or_by_a_provider(sign_in: SignIn, is_by_key: bool, provider: str | None) -> None:
    assert (sign_in.is_by_key, sign_in.provider) == (is_by_key, provider)


def test_the_user_of_a_provider_may_do_what_their_role_may_in_their_tenant() -> None:
    caller = SIGN_IN.caller(RATE)
    assert caller.permissions == permissions_of(Role.OPERATOR, (), "t")
    assert (caller.name, caller.tenant, caller.id, caller.role, caller.rate) == (
        "Ada", "t", "corp:42", Role.OPERATOR, RATE,
    )  # fmt: skip
    assert caller.is_of_tenant


def test_the_user_of_no_tenant_may_do_what_their_role_may_in_all_of_them() -> None:
    caller = replace(SIGN_IN, tenant=None).caller(None)
    assert caller.permissions == permissions_of(Role.OPERATOR, (), None)
    assert (caller.tenant, caller.rate, caller.is_of_tenant) == (None, None, False)


def test_marks_of_ends_are_told_apart() -> None:
    assert [mark_of_sign_in("x"), mark_of_user("x"), mark_of_state("x")] == ["sign-in x", "user x", "state x"]


@pytest.mark.parametrize("state", DeliveryState)
def test_the_state_of_a_delivery_is_written_in_small_letters(state: DeliveryState) -> None:
    assert state.word == state.name.lower()


@pytest.mark.parametrize(("kind", "is_test"), [(TEST_EVENT, True), ("drumline.task.failed", False)])
def test_a_test_of_a_subscription_is_known_by_its_event(kind: str, is_test: bool) -> None:
    delivery = ClaimedDelivery(
        id=DeliveryId("d"), tenant="t", event_id="e", event_type=kind, target=Target(TargetKind.WEBHOOK, "x"),
        event=b"{}", attempt=1, now=Instant(0),
    )  # fmt: skip
    assert delivery.is_test is is_test
