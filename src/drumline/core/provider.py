"""An OpenID Connect provider, and the rules that map its claims to roles and tenants."""

import re
from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

from drumline.core.access import EVERY_TENANT, Role
from drumline.core.errors import Forbidden, Invalid
from drumline.core.globs import globs_of
from drumline.core.task import DEFAULT_TENANT
from drumline.core.tenant import check_tenant

ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""How an ID token may be signed at all: by a key that only its issuer has. Shared secrets and nothing are not here."""
BY_KEY: Final = "key"
"""What stands in a provider's place for those who came with a key."""
NAME_PATTERN: Final = r"[a-z0-9][a-z0-9-]{0,31}"

Claims = Mapping[str, Any]


class RoleRule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whom a claim makes what."""

    value: str
    """What the claim must be, or have among its values; `*` stands for anything in it."""
    role: Role
    """What a matching user gets."""
    claim: str = "groups"
    """The claim that is looked at; a dot leads into an object, as in `realm_access.roles`."""
    tenant: str | None = None
    """The tenant that they belong to then; `*` is the whole installation."""


class Provider(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An OpenID Connect issuer that is trusted for sign-ins."""

    name: str
    """A word for it in addresses: lower-case letters, digits and `-`."""
    issuer: str
    """Its address, exactly as its tokens name it; the rest is found from there."""
    client_id: str
    """What it knows this installation as."""
    client_secret: str | None = None
    """The secret that goes with it; none for a public client, which PKCE protects alone."""
    client_secret_file: str | None = None
    """A file with that secret, instead."""
    label: str | None = None
    """What its button says."""
    scopes: tuple[str, ...] = ("openid", "profile", "email")
    """What is asked for."""
    algorithms: tuple[str, ...] = ("RS256", "PS256", "ES256", "EdDSA")
    """How its tokens may be signed."""
    rules: tuple[RoleRule, ...]
    """Who may come in, and as what: the first rule that fits. Whom none fits is refused."""
    tenant: str = DEFAULT_TENANT
    """The tenant of those whose rule names none."""
    tenant_claim: str | None = None
    """A claim that names their tenant instead."""
    leeway: int = 60
    """Seconds by which its clock and ours may differ."""

    def __repr__(self) -> str:
        return f"Provider({self.name})"

    @property
    def title(self) -> str:
        """What its button says."""
        return self.label or self.name.capitalize()


class Grant(Struct, frozen=True):
    """The role and tenant of a signed-in user. A `tenant` of None is the whole installation."""

    role: Role
    tenant: str | None


def check_provider(provider: Provider, *, field: str) -> Provider:
    """Return a provider as it is, or raise `Invalid` naming what cannot be meant."""
    if re.fullmatch(NAME_PATTERN, provider.name) is None or provider.name == BY_KEY:
        raise Invalid(f"must be up to 32 lower-case letters, digits and -, and not {BY_KEY}", field=f"{field}.name")
    if not provider.issuer.startswith(("https://", "http://")):
        raise Invalid("must be an address such as https://login.example.com", field=f"{field}.issuer")
    if not provider.client_id:
        raise Invalid("must not be empty", field=f"{field}.client_id")
    if not provider.rules:
        raise Invalid("must have a rule, or no user could sign in", field=f"{field}.rules")
    if not provider.algorithms or not set(provider.algorithms) <= set(ALGORITHMS):
        raise Invalid(f"must be some of {', '.join(ALGORITHMS)}", field=f"{field}.algorithms")
    if "openid" not in provider.scopes:
        raise Invalid("must have openid among them", field=f"{field}.scopes")
    _check_tenants(provider, field)
    return provider


def grant_of(provider: Provider, claims: Claims) -> Grant:
    """Return the grant of the first rule that matches a user's claims, or raise `Forbidden` with the reason."""
    rule = next((rule for rule in provider.rules if _fits(rule, claims)), None)
    if rule is None:
        looked = " or ".join(dict.fromkeys(f"“{rule.claim}”" for rule in provider.rules))
        is_there = any(claim_of(claims, rule.claim) is not None for rule in provider.rules)
        what = "says nothing that gives" if is_there else "is missing, so nothing gives"
        raise Forbidden(f"{looked} of your account {what} you a role here")
    return Grant(rule.role, _tenant_of(provider, rule, claims))


def claim_of(claims: Claims, path: str) -> Any:
    """Return a claim: by its whole name, as in `https://example.com/roles`, or by the way into an object."""
    if path in claims:
        return claims[path]
    found: Any = claims
    for part in path.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def values_of(claim: object) -> list[str]:
    """Return the texts of a claim; other values are ignored."""
    many = claim if isinstance(claim, list | tuple) else [claim]
    return [each for each in many if isinstance(each, str)]


def _check_tenants(provider: Provider, field: str) -> None:
    named = {f"{field}.tenant": provider.tenant}
    named |= {f"{field}.rules[{n}].tenant": rule.tenant for n, rule in enumerate(provider.rules) if rule.tenant}
    for place, name in named.items():
        if name != EVERY_TENANT:
            check_tenant(name, field=place)


def _fits(rule: RoleRule, claims: Claims) -> bool:
    # An unverified address is whatever the user typed.
    if rule.claim == "email" and claims.get("email_verified") not in {True, "true"}:
        return False
    allowed = globs_of((rule.value,))
    return any(map(allowed.match, values_of(claim_of(claims, rule.claim))))


def _tenant_of(provider: Provider, rule: RoleRule, claims: Claims) -> str | None:
    if rule.tenant is not None:
        return None if rule.tenant == EVERY_TENANT else rule.tenant
    if provider.tenant_claim is None:
        return None if provider.tenant == EVERY_TENANT else provider.tenant
    named = values_of(claim_of(claims, provider.tenant_claim))
    if len(named) != 1:
        raise Forbidden(f"“{provider.tenant_claim}” of your account does not name one tenant")
    try:  # no claim makes anybody the master of the whole installation: that is for the settings to say
        return check_tenant(named[0])
    except Invalid as error:
        raise Forbidden(f"“{provider.tenant_claim}” of your account names no tenant that there could be") from error
