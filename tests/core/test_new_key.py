"""A key gives no more than the key that it is made with has."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from drumline.core.access import ROLES, Caller, KeyPolicy, Permission, Role, permissions_of
from drumline.core.api_key import ApiKey, KeyId, NewKey, digest_of, make_key, prefix_of
from drumline.core.clock import LATEST, Instant, to_datetime
from drumline.core.errors import Conflict, DrumlineError, Forbidden, Invalid
from drumline.core.new_key import (
    Asked,
    KeyRequest,
    RotateKeyRequest,
    accept_key,
    check_authority,
    overlap_of,
    replace_key,
)
from drumline.core.rate import Rate

KEY = make_key("live", bytes(range(32)))
NOW = Instant(1_000_000)
ROOT = Caller("root")
OWN = "this key can only make keys of its own tenant, acme"


def caller(role: Role = Role.ADMIN, *, tenant: str | None = "acme", **more: Any) -> Caller:
    held = permissions_of(role, (), tenant)
    return Caller("ada", tenant, "k-ada", role, held, is_of_tenant=tenant is not None, **more)


def asked(by: Caller = ROOT, **policy: Any) -> Asked:
    return Asked(by, NOW, KeyPolicy(**policy))


def accepted(by: Caller = ROOT, **request: Any) -> NewKey:
    return accept_key(KeyRequest(**{"name": "mine", **request}), KEY, id=KeyId("k"), asked=asked(by))


def stored(made: NewKey, **more: Any) -> ApiKey:
    return ApiKey(
        id=made.id,
        tenant=made.tenant,
        digest=made.digest,
        spec=made.spec,
        created_at=Instant(NOW - 1000),
        expires_at=made.expires_at,
        **more,
    )


def told(error: DrumlineError) -> tuple[str | None, str]:
    return error.field, error.message


def test_a_key_is_kept_as_it_was_asked_for() -> None:
    made = accepted(
        tenant="acme",
        role=Role.OPERATOR,
        scopes=(Permission.TASKS_READ, Permission.TASKS_READ, Permission.TASKS_CONTROL),
        names=("mail.*", "mail.*", "x"),
        queues=("a*", "b"),
        rate_limit="5/10s",
    )

    assert (made.id, made.tenant, made.digest) == ("k", "acme", digest_of(KEY.encode()))
    assert (made.spec.name, made.spec.role, made.spec.prefix) == ("mine", Role.OPERATOR, prefix_of(KEY))
    assert made.spec.scopes == (Permission.TASKS_READ, Permission.TASKS_CONTROL)
    assert (made.spec.names, made.spec.queues) == (("mail.*", "x"), ("a*", "b"))
    assert (made.spec.rate, made.spec.created_by, made.spec.is_own) == ("5/10s", "first", False)
    assert made.expires_at is None


def test_a_key_is_of_the_callers_tenant_unless_it_says_otherwise() -> None:
    assert accepted().tenant == "default"
    assert accepted(tenant="*").tenant is None
    assert accepted(tenant="other").tenant == "other"
    assert accepted(caller()).tenant == "acme"
    assert accepted(caller(), tenant="acme").tenant == "acme"


def test_a_key_that_a_tenant_or_another_key_for_all_made_is_its_own() -> None:
    assert accepted(caller()).spec.is_own
    assert accepted(caller(tenant=None), tenant="*").spec.is_own
    assert not accepted(caller(tenant=None), tenant="acme").spec.is_own
    assert not accepted(tenant="*").spec.is_own


@pytest.mark.parametrize(
    ("by", "request_", "field", "message"),
    [
        (caller(), {"tenant": "*"}, "tenant", OWN),
        (caller(), {"tenant": "other"}, "tenant", OWN),
        (
            msgspec.structs.replace(caller(), permissions=frozenset({Permission.TASKS_READ})),
            {"role": Role.VIEWER, "scopes": (Permission.TASKS_READ, Permission.QUEUES_READ, Permission.EVENTS_READ)},
            "scopes",
            "this key cannot give what it lacks: events:read, queues:read",
        ),
        (caller(names=("a", "b*")), {"names": ("c",)}, "names", "this key can only give a or b*"),
        (caller(names=("a", "b*")), {}, "names", "this key can only give a or b*"),
        (caller(queues=("q",)), {"queues": ("q", "r")}, "queues", "this key can only give q"),
        (
            caller(rate=Rate(10, 60.0), is_bounded=True),
            {"rate_limit": "11/60s"},
            "rate_limit",
            "this key can only allow the 10/1m that it has itself",
        ),
        (
            caller(rate=Rate(10, 60.0), is_bounded=True),
            {"rate_limit": "unlimited"},
            "rate_limit",
            "this key can only allow the 10/1m that it has itself",
        ),
        (
            caller(),
            {"rate_limit": "1000000/60s"},
            "rate_limit",
            "only a key for every tenant can allow more than the usual 100/1m of this role",
        ),
        (
            caller(ends_at=Instant(NOW + 5000)),
            {"expires_in": 6},
            "expires_in",
            "a key cannot outlive the one that it is made with, which ends at 1970-01-01T00:16:45.000Z",
        ),
        (
            caller(ends_at=Instant(NOW + 5000)),
            {"expires_at": datetime.fromtimestamp(1006, UTC)},
            "expires_at",
            "a key cannot outlive the one that it is made with, which ends at 1970-01-01T00:16:45.000Z",
        ),
    ],
)
def test_what_the_caller_lacks_cannot_be_given(by: Caller, request_: dict[str, Any], field: str, message: str) -> None:
    with pytest.raises(Forbidden) as caught:
        accepted(by, **request_)

    assert told(caught.value) == (field, message)


@pytest.mark.parametrize(
    ("request_", "field", "message"),
    [
        ({"name": " "}, "name", "must not be blank"),
        ({"name": "x" * 101}, "name", "must be at most 100 characters"),
        (
            {"tenant": "No"},
            "tenant",
            "must be lower-case letters, digits and _ . - only, and start with a letter or digit",
        ),
        (
            {"role": Role.VIEWER, "scopes": (Permission.TASKS_READ, Permission.KEYS_MANAGE)},
            "scopes[1]",
            "must be a permission of its role, and viewer has no keys:manage",
        ),
        ({"names": ("x",) * 101}, "names", "must be at most 100"),
        ({"queues": ("x",) * 101}, "queues", "must be at most 100"),
        ({"names": ("a", "")}, "names[1]", "must not be blank"),
        ({"names": ("x" * 256,)}, "names[0]", "must be at most 255 characters"),
        ({"queues": ("a", "b c")}, "queues[1]", "must be letters, digits, _ . : @ - and *"),
        ({"queues": ("-a",)}, "queues[0]", "must be letters, digits, _ . : @ - and *"),
        ({"rate_limit": "x"}, "rate_limit", 'must be a rate such as "100/60s", or "unlimited"'),
        ({"expires_in": 0}, "expires_in", "must be more than zero"),
        ({"expires_in": "x"}, "expires_in", None),
        ({"expires_at": datetime.fromtimestamp(1000, UTC)}, "expires_at", "must be in the future"),
        (
            {"expires_at": datetime.fromtimestamp(2000, UTC), "expires_in": 5},
            "expires_in",
            "cannot be given together with expires_at",
        ),
    ],
)
def test_a_request_that_cannot_be_is_refused_by_its_field(
    request_: dict[str, Any], field: str, message: str | None
) -> None:
    with pytest.raises(Invalid) as caught:
        accepted(**request_)

    assert caught.value.field == field
    assert message is None or caught.value.message == message


def test_bounds_themselves_are_allowed() -> None:
    assert accepted(name="x" * 100, names=("x" * 255,) * 100, queues=("*",)).spec.names == ("x" * 255,)
    assert accepted(caller(names=("a*",), queues=("q",)), names=("a", "ab*"), queues=("q",)).spec.names == ("a", "ab*")
    assert accepted(caller(), rate_limit="100/60s").spec.rate == "100/60s"
    assert accepted(caller(rate=Rate(10, 60.0), is_bounded=True), rate_limit="10/60s").spec.rate == "10/60s"


def test_a_key_with_a_rate_of_its_own_cannot_get_a_wider_one() -> None:
    bounded = caller(rate=Rate(10, 60.0), is_bounded=True)
    wide = caller(rate=Rate(1_000_000, 60.0), is_bounded=True)

    assert accepted(bounded).spec.rate == "10/1m"
    assert accepted(wide).spec.rate is None
    assert accepted(msgspec.structs.replace(bounded, is_bounded=False)).spec.rate is None
    with pytest.raises(Forbidden):  # as many in a second, and more of them at once
        accepted(bounded, rate_limit="20/120s")
    with pytest.raises(Forbidden):  # no more at once, and more in a second
        accepted(bounded, rate_limit="10/10s")


def test_a_key_ends_when_it_is_to_end_and_not_after_the_one_it_was_made_with() -> None:
    ends = caller(ends_at=Instant(NOW + 5000))

    assert accepted(expires_in="2s").expires_at == NOW + 2000
    assert accepted(expires_at=datetime.fromtimestamp(1000.001, UTC)).expires_at == NOW + 1
    assert accepted(ends).expires_at == NOW + 5000
    assert accepted(ends, expires_in=5).expires_at == NOW + 5000
    assert accepted(ends, expires_in=4).expires_at == NOW + 4000


def replaced(old: ApiKey, by: Caller = ROOT) -> NewKey:
    return replace_key(old, make_key("live", bytes(32)), id=KeyId("new"), asked=asked(by))


def test_a_rotated_key_is_like_the_old_one_and_lives_as_long() -> None:
    old = stored(accepted(tenant="acme", role=Role.VIEWER, rate_limit="5/10s", expires_in=60))

    new = replaced(old, caller())

    assert (new.id, new.tenant, new.digest) == ("new", "acme", digest_of(make_key("live", bytes(32)).encode()))
    assert new.spec == msgspec.structs.replace(
        old.spec, prefix=prefix_of(make_key("live", bytes(32))), created_by="k-ada", replaces=KeyId("k")
    )
    assert new.expires_at == NOW + 61_000


def test_a_key_that_ends_at_the_end_of_the_year_9999_is_replaced_by_one_that_does_too() -> None:
    old = stored(accepted(expires_at=to_datetime(LATEST)))

    assert (old.expires_at, replaced(old).expires_at) == (LATEST, LATEST)


def test_an_expiring_key_cannot_outlive_itself_by_rotation() -> None:
    ends = caller(ends_at=Instant(NOW + 5000))

    assert replaced(stored(accepted(tenant="acme"))).expires_at is None
    assert replaced(stored(accepted(tenant="acme")), ends).expires_at == NOW + 5000
    assert replaced(stored(accepted(tenant="acme", expires_in=60)), ends).expires_at == NOW + 5000
    assert replaced(stored(accepted(tenant="acme", expires_in=1)), ends).expires_at == NOW + 2000


def test_a_key_that_opens_nothing_any_more_is_not_rotated() -> None:
    old = stored(accepted(tenant="acme", expires_in=1))

    with pytest.raises(Conflict) as caught:
        replace_key(old, KEY, id=KeyId("new"), asked=Asked(ROOT, Instant(NOW + 1000), KeyPolicy()))

    assert caught.value.field == "id"
    assert caught.value.message.endswith("; make a new one")


def test_a_key_that_can_do_more_than_the_caller_is_not_its_to_change() -> None:
    admin, viewer = stored(accepted(tenant="acme", role=Role.ADMIN)), stored(accepted(tenant="acme", role=Role.VIEWER))
    by = msgspec.structs.replace(caller(), permissions=ROLES[Role.VIEWER])

    check_authority(by, viewer)
    for change in (lambda: check_authority(by, admin), lambda: replaced(admin, by)):
        with pytest.raises(Forbidden):
            change()
    with pytest.raises(Forbidden) as caught:
        check_authority(by, admin)
    assert told(caught.value) == ("id", "this key may only change keys that can do no more than it can itself")


@pytest.mark.parametrize(("overlap", "milliseconds"), [("1h", 3_600_000), (0, 0), (2.5, 2500), ("30d", 2_592_000_000)])
def test_both_keys_open_for_a_while(overlap: float | str, milliseconds: int) -> None:
    assert overlap_of(RotateKeyRequest(overlap=overlap)) == milliseconds


def test_both_keys_open_for_an_hour_unless_asked_otherwise_and_for_30_days_at_most() -> None:
    assert overlap_of(RotateKeyRequest()) == 3_600_000
    with pytest.raises(Invalid) as caught:
        overlap_of(RotateKeyRequest(overlap=2_592_000.001))
    assert str(caught.value) == "overlap: must be at most 30 days"
    with pytest.raises(Invalid, match=r"^overlap: "):
        overlap_of(RotateKeyRequest(overlap="x"))
