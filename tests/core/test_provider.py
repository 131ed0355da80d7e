"""Who may sign in by a provider, as what, and where."""

from typing import Any

import pytest
from msgspec.structs import replace

from drumline.core.access import Role
from drumline.core.errors import Forbidden, Invalid
from drumline.core.provider import Grant, Provider, RoleRule, check_provider, claim_of, grant_of, values_of

RULE = RoleRule(value="ops-*", role=Role.OPERATOR)
CORP = Provider(name="corp", issuer="https://login.example.com", client_id="c", client_secret="s3cret", rules=(RULE,))


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"name": "a" * 32},
        {"name": "0-a"},
        {"issuer": "http://localhost:8080"},
        {"tenant": "*"},
        {"rules": (replace(RULE, tenant="*"), replace(RULE, tenant="acme"))},
        {"algorithms": ("EdDSA",)},
        {"scopes": ("openid",)},
    ],
)
def test_a_provider_that_can_be_meant_is_taken_as_it_is(fields: dict[str, Any]) -> None:
    provider = replace(CORP, **fields)
    assert check_provider(provider, field="auth.providers[0]") is provider


NAME = "must be up to 32 lower-case letters, digits and -, and not key"
ALGORITHMS = "must be some of RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512, EdDSA"


@pytest.mark.parametrize(
    ("fields", "field", "message"),
    [
        ({"name": "key"}, "name", NAME),
        ({"name": "Corp"}, "name", NAME),
        ({"name": "a" * 33}, "name", NAME),
        ({"name": ""}, "name", NAME),
        ({"issuer": "login.example.com"}, "issuer", "must be an address such as https://login.example.com"),
        ({"client_id": ""}, "client_id", "must not be empty"),
        ({"rules": ()}, "rules", "must have a rule, or no user could sign in"),
        ({"algorithms": ()}, "algorithms", ALGORITHMS),
        ({"algorithms": ("RS256", "HS256")}, "algorithms", ALGORITHMS),
        ({"algorithms": ("none",)}, "algorithms", ALGORITHMS),
        ({"scopes": ("email",)}, "scopes", "must have openid among them"),
    ],
)
def test_a_provider_that_cannot_be_meant_is_refused_by_its_field(
    fields: dict[str, Any], field: str, message: str
) -> None:
    with pytest.raises(Invalid) as caught:
        check_provider(replace(CORP, **fields), field="auth.providers[0]")
    assert (caught.value.field, caught.value.message) == (f"auth.providers[0].{field}", message)


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"tenant": "No Tenant!"}, "tenant"),
        ({"rules": (RULE, replace(RULE, tenant="No Tenant!"))}, "rules[1].tenant"),
    ],
)
def test_a_tenant_that_cannot_be_is_refused_by_its_field(fields: dict[str, Any], field: str) -> None:
    with pytest.raises(Invalid) as caught:
        check_provider(replace(CORP, **fields), field="p")
    assert caught.value.field == f"p.{field}"


def test_a_provider_does_not_show_its_secret() -> None:
    assert repr(CORP) == "Provider(corp)"


def test_the_button_of_a_provider_has_its_label_or_its_name() -> None:
    assert (CORP.title, replace(CORP, label="Our company").title) == ("Corp", "Our company")


@pytest.mark.parametrize(
    ("path", "claim"),
    [
        ("groups", ["ops-eu", 5]),
        ("realm.roles", ["admin"]),
        ("https://example.com/roles", "viewer"),
        ("a.b", "whole"),
        ("realm.none", None),
        ("groups.none", None),
        ("none", None),
        ("none.none.none", None),
    ],
)
def test_a_claim_is_found_by_its_whole_name_or_by_the_way_into_an_object(path: str, claim: Any) -> None:
    claims = {
        "groups": ["ops-eu", 5], "realm": {"roles": ["admin"]}, "https://example.com/roles": "viewer", "a.b": "whole",
        "a": {"b": "parts"},
    }  # fmt: skip
    assert claim_of(claims, path) == claim


@pytest.mark.parametrize(
    ("claim", "values"),
    [("a", ["a"]), (["a", 5, None, "b"], ["a", "b"]), (("a",), ["a"]), (None, []), (5, []), ({"a": 1}, [])],
)
def test_only_texts_of_a_claim_count(claim: Any, values: list[str]) -> None:
    assert values_of(claim) == values


def test_the_first_rule_that_fits_gives_the_role() -> None:
    rules = (RoleRule(value="boss", role=Role.ADMIN), RULE, RoleRule(value="*", role=Role.VIEWER, claim="sub"))
    provider = replace(CORP, rules=rules)
    assert grant_of(provider, {"groups": ["ops-eu", "boss"], "sub": "1"}).role is Role.ADMIN
    assert grant_of(provider, {"groups": ["ops-eu"], "sub": "1"}).role is Role.OPERATOR
    assert grant_of(provider, {"sub": "1"}).role is Role.VIEWER


@pytest.mark.parametrize(
    ("claims", "message"),
    [
        ({"groups": ["dev"]}, "“groups” or “sub” of your account says nothing that gives you a role here"),
        ({"sub": "x"}, "“groups” or “sub” of your account says nothing that gives you a role here"),
        ({"name": "x"}, "“groups” or “sub” of your account is missing, so nothing gives you a role here"),
    ],
)
def test_a_user_whom_no_rule_fits_is_refused_with_the_claims_that_were_looked_at(
    claims: dict[str, Any], message: str
) -> None:
    provider = replace(CORP, rules=(RULE, replace(RULE, value="x"), RoleRule(value="y", role=Role.ADMIN, claim="sub")))
    with pytest.raises(Forbidden) as caught:
        grant_of(provider, claims)
    assert caught.value.message == message


@pytest.mark.parametrize(
    ("verified", "is_let_in"), [(True, True), ("true", True), (False, False), ("yes", False), (None, False)]
)
def test_an_address_that_was_not_verified_gives_nothing(verified: Any, is_let_in: bool) -> None:
    provider = replace(CORP, rules=(RoleRule(value="*@example.com", role=Role.ADMIN, claim="email"),))
    claims = {"email": "ada@example.com", "email_verified": verified}
    if is_let_in:
        assert grant_of(provider, claims).role is Role.ADMIN
        return
    with pytest.raises(Forbidden):
        grant_of(provider, claims)


@pytest.mark.parametrize(
    ("of_rule", "of_provider", "claim", "tenant"),
    [
        (None, "default", None, "default"),
        (None, "*", None, None),
        ("acme", "default", None, "acme"),
        ("*", "default", None, None),
        ("acme", "default", "org", "acme"),
        (None, "*", "org", "globex"),
    ],
)
def test_the_tenant_of_a_user_is_that_of_the_rule_the_claim_or_the_provider(
    of_rule: str | None, of_provider: str, claim: str | None, tenant: str | None
) -> None:
    provider = replace(CORP, rules=(replace(RULE, tenant=of_rule),), tenant=of_provider, tenant_claim=claim)
    assert grant_of(provider, {"groups": "ops-eu", "org": "globex"}) == Grant(Role.OPERATOR, tenant)


@pytest.mark.parametrize(
    ("org", "message"),
    [
        (None, "“org” of your account does not name one tenant"),
        (["a", "b"], "“org” of your account does not name one tenant"),
        ("*", "“org” of your account names no tenant that there could be"),
        ("No Tenant!", "“org” of your account names no tenant that there could be"),
    ],
)
def test_a_claim_names_one_tenant_and_never_the_whole_installation(org: Any, message: str) -> None:
    provider = replace(CORP, tenant_claim="org", tenant="*")
    with pytest.raises(Forbidden) as caught:
        grant_of(provider, {"groups": "ops-eu", "org": org})
    assert caught.value.message == message
